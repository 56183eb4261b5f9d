"""Rows over runs, datasets and tasks, and the comparisons: from cells to what is said of a run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from embassay.protocols.pteb.conclusions import make_pteb_summary_and_comparisons
from embassay.records import HeadlineComponent, Score
from embassay.runs.folder import format_value_as_json

RUNS = (0.70, 0.72, 0.77)


def score(dataset, system, _, run):
    """`b` is 0.05 above `a` everywhere; on the second dataset all are 0.1 lower."""
    return RUNS[run] + 0.05 * (system == "b") - 0.1 * (dataset == "two")


def found(rows, task, dataset, variant, system, measure, subset=""):
    """The one row."""
    key = ("pteb", task, dataset, subset)
    [row] = [
        row for row in rows
        if (row.key[:4], row.variant, row.system, row.measure) == (key, variant, system, measure)
    ]  # fmt: skip
    return row


@pytest.fixture
def summed(made):
    """Two STS datasets and one to classify, three runs."""
    layout = made.layout({"one": "sts", "two": "sts", "bank": "classification"}, ["a", "b", "lexical", "constant"])
    rows, comparisons = make_pteb_summary_and_comparisons(layout, made.records(layout, score))
    return layout, rows, comparisons


def test_a_dataset_has_its_score_its_drop_and_its_spread(summed):
    """PTEB = mean over runs, delta to the original, sd with n - 1, all as fractions with intervals and methods."""
    _, rows, _ = summed
    pteb = found(rows, "sts", "two", "", "a", "spearman")
    assert pteb.value == pytest.approx(np.mean(RUNS) - 0.1)
    assert pteb.ci_low < pteb.value < pteb.ci_high
    assert (pteb.lang, pteb.seed, pteb.n) == ("eng", 1337, 100)
    assert pteb.method == "mean over 3 runs; runs resampled with the items; bootstrap over pairs"
    assert found(rows, "sts", "two", "", "a", "delta").value == pytest.approx(np.mean(RUNS) - 0.9)
    assert found(rows, "sts", "two", "", "a", "sd").value == pytest.approx(np.std(RUNS, ddof=1))


def test_means_over_datasets_and_tasks_are_unweighted(summed):
    """STS is the mean of its two datasets, overall the mean of the two tasks; the originals likewise."""
    _, rows, _ = summed
    sts = found(rows, "sts", "", "", "b", "spearman").value
    assert sts == pytest.approx(np.mean(RUNS) + 0.05 - 0.05)
    assert found(rows, "sts", "", "original", "b", "spearman").value == pytest.approx(0.8)
    bank = found(rows, "classification", "", "", "b", "accuracy").value
    assert found(rows, "overall", "", "", "b", "overall").value == pytest.approx((sts + bank) / 2)
    assert found(rows, "overall", "", "", "b", "delta").value == pytest.approx((sts + bank) / 2 - 0.8)
    assert found(rows, "overall", "", "original", "b", "overall").value == pytest.approx(0.8)
    assert found(rows, "overall", "", "", "b", "sd").value == pytest.approx(np.std(RUNS, ddof=1))


def test_rows_are_unique_and_those_without_a_value_say_why(made):
    """Whatever is missing: a failed cell, a cell without a score, a cell not run yet."""
    layout = made.layout({"one": "sts", "two": "sts"}, ["a", "b", "c"], runs=2)
    records = made.records(layout, score)
    none = HeadlineComponent(None, 90, reason="7 of 100 texts without usable wording")
    for place, record in enumerate(records):
        if (record.dataset, record.system, record.variant) == ("one", "a", "paraphrase:seed=1337"):
            records[place] = replace(record, status="failed", reason="out of memory", components={})
        if (record.dataset, record.system, record.variant) == ("two", "b", "paraphrase:seed=1338"):
            row = Score("spearman", None, 90, reason=none.reason)
            records[place] = replace(record, components={"score": none, "original": none}, scores=(row,))
    records = [one for one in records if (one.system, one.dataset, one.variant) != ("c", "two", "original")]
    rows, comparisons = make_pteb_summary_and_comparisons(layout, records)
    assert len({row.key for row in rows}) == len(rows)
    assert all(row.reason for row in rows if row.value is None)
    assert found(rows, "sts", "", "", "a", "spearman").reason == "one: paraphrase:seed=1337: out of memory"
    reason = found(rows, "overall", "", "", "b", "delta").reason
    assert reason == "sts: two: paraphrase:seed=1338: 7 of 100 texts without usable wording"
    assert found(rows, "sts", "", "", "b", "delta_mixed").reason
    assert found(rows, "sts", "", "original", "c", "spearman").reason == "two: not run yet"
    assert found(rows, "sts", "", "", "c", "spearman").value is not None
    assert comparisons["scopes"]["sts"]["systems"] == ["c"]
    assert comparisons["baseline"]["scopes"]["sts"]["reason"].startswith("a: one: ")
    format_value_as_json(comparisons)


def test_no_cells_yet(made):
    """A run that was killed at once: every row says so, nothing breaks."""
    layout = made.layout({"one": "sts", "bank": "classification"}, labels=["by=x", "by=y"])
    rows, comparisons = make_pteb_summary_and_comparisons(layout, [])
    assert all(row.value is None and row.reason.endswith("not run yet") for row in rows)
    assert all(scope["reason"] for scope in comparisons["scopes"].values())
    assert all(scope["reason"] for scope in comparisons["rank_stability"].values())


def test_several_sources_have_rows_of_their_own(made):
    """`by=NAME` beside the mean over both, which counts each source alike."""
    layout = made.layout({"one": "sts", "two": "sts"}, labels=["by=x", "by=y"])
    records = made.records(
        layout, lambda dataset, system, label, run: score(dataset, system, "", run) - 0.1 * (label == "by=y")
    )
    rows, comparisons = make_pteb_summary_and_comparisons(layout, records)
    for dataset in ("one", ""):
        whole, x, y = (found(rows, "sts", dataset, variant, "a", "spearman").value for variant in ("", "by=x", "by=y"))
        assert x - y == pytest.approx(0.1)
        assert whole == pytest.approx((x + y) / 2)
        assert found(rows, "sts", dataset, "", "a", "sd").value == pytest.approx(np.std(RUNS, ddof=1))
    assert found(rows, "overall", "", "by=y", "a", "delta").value == pytest.approx(np.mean(RUNS) - 0.15 - 0.8)
    assert comparisons["baseline"]["scopes"]["sts"]["systems"][0]["pooled"]["n"] == 2 * 2 * 3
    assert comparisons["rank_stability"]["sts"]["tau_sources"] == 1


def test_controls_stand_beside_the_paraphrasers(made):
    """A control has its own rows and changes neither the score nor the comparisons; controls alone are averaged."""
    layout = made.layout({"one": "sts", "two": "sts"}, labels=["by=x", "by=copied"])
    sources = (layout.sources[0], replace(layout.sources[1], control=True))
    records = made.records(
        layout, lambda dataset, system, label, run: 0.8 if label == "by=copied" else score(dataset, system, "", run)
    )
    rows, comparisons = make_pteb_summary_and_comparisons(replace(layout, sources=sources), records)
    whole, own = (found(rows, "sts", "one", label, "a", "spearman").value for label in ("", "by=x"))
    assert whole == own == pytest.approx(np.mean(RUNS))
    assert found(rows, "overall", "", "by=copied", "a", "delta").value == pytest.approx(0)
    assert comparisons["baseline"]["scopes"]["sts"]["systems"][0]["pooled"]["n"] == 2 * 3
    alone = tuple(replace(source, control=True) for source in layout.sources)
    rows, _ = make_pteb_summary_and_comparisons(replace(layout, sources=alone), records)
    assert found(rows, "sts", "one", "", "a", "spearman").value == pytest.approx((np.mean(RUNS) + 0.8) / 2)


def test_datasets_may_have_other_numbers_of_runs(made):
    """As --until-ci leaves them: the mean over all runs of each, the spread over those that both have."""
    layout = made.layout({"one": "sts", "two": "sts"}, runs={"one": 2, "two": 3})
    rows, comparisons = make_pteb_summary_and_comparisons(layout, made.records(layout, score))
    one, two = (found(rows, "sts", name, "", "a", "spearman").value for name in ("one", "two"))
    assert one == pytest.approx(np.mean(RUNS[:2]))
    assert found(rows, "sts", "", "", "a", "spearman").value == pytest.approx((one + two) / 2)
    sd = found(rows, "sts", "", "", "a", "sd")
    assert (sd.value, sd.n) == (pytest.approx(np.std(RUNS[:2], ddof=1)), 2)
    mixed = found(rows, "sts", "", "", "a", "delta_mixed")
    assert (mixed.value, mixed.n) == (pytest.approx((one + two) / 2 - 0.8), 5)
    assert comparisons["baseline"]["scopes"]["sts"]["systems"][0]["pooled"]["n"] == 5


def test_languages_of_a_dataset(made):
    """Where cells have them, each language has its rows; the dataset's are the mean that the cells hold."""
    layout = made.layout({"sts17": "sts"}, runs=2)
    records = []
    for record in made.records(layout, score):
        parts = dict(record.components)
        for name, part in record.components.items():
            parts |= {f"{name}:ara": replace(part, value=part.value - 0.1), f"{name}:eng": part}
        records.append(replace(record, components=parts))
    rows, _ = make_pteb_summary_and_comparisons(layout, records)
    row = found(rows, "sts", "sts17", "", "a", "spearman", subset="ara")
    assert (row.value, row.lang) == (pytest.approx(np.mean(RUNS[:2]) - 0.1), "ara")
    assert found(rows, "sts", "sts17", "", "a", "delta", subset="ara").value == pytest.approx(np.mean(RUNS[:2]) - 0.8)


def test_other_methods_are_never_ranked_together(summed):
    """On classification, and overall, systems without vectors are a scope of their own; on STS all are one."""
    _, _, comparisons = summed
    scopes = comparisons["scopes"]
    assert scopes["sts"]["systems"] == ["b", "a", "lexical"]
    assert scopes["classification"]["systems"] == scopes["overall"]["systems"] == ["b", "a"]
    assert scopes["classification:classical"]["systems"] == ["lexical"]
    assert "constant" not in format_value_as_json(comparisons)
    classical = comparisons["baseline"]["scopes"]["overall:classical"]
    assert classical["reason"] == "the baseline, a, is evaluated by a different method"


def test_without_embeddings_there_is_one_scope(made):
    """Lexical systems alone: their scope has the plain name, and the first of them is the baseline."""
    layout = made.layout({"bank": "classification"}, ["lexical one", "lexical two"])
    _, comparisons = make_pteb_summary_and_comparisons(layout, made.records(layout, score))
    assert list(comparisons["scopes"]) == ["overall", "classification"]
    assert comparisons["baseline"]["system"] == "lexical one"


def test_the_baseline_may_be_chosen(made):
    """`d` is baseline less system: positive where the baseline is better."""
    layout = made.layout({"one": "sts", "two": "sts"}, ["a", "b", "lexical"], baseline="b")
    _, comparisons = make_pteb_summary_and_comparisons(layout, made.records(layout, score))
    compared = comparisons["baseline"]["scopes"]["sts"]
    assert [one["system"] for one in compared["systems"]] == ["a", "lexical"]
    assert all(one["pooled"]["shift"] == pytest.approx(0.05) for one in compared["systems"])


def test_a_reference_is_no_baseline(made):
    """It is not ranked, and so nobody is compared with it."""
    layout = made.layout({"one": "sts"}, ["a", "b", "constant"], baseline="constant")
    _, comparisons = make_pteb_summary_and_comparisons(layout, made.records(layout, score))
    assert comparisons["baseline"]["scopes"]["sts"]["reason"] == "the baseline, constant, is not ranked"


def test_mixed_effects_of_dataset_and_run(made):
    """The value is that of `delta`; its interval holds for other datasets and is wider where these differ."""
    layout = made.layout(dict.fromkeys(("one", "two", "three", "four"), "sts"))
    drops = {"one": 0.0, "two": 0.1, "three": 0.2, "four": 0.05}
    records = made.records(layout, lambda dataset, system, _, run: 0.8 - drops[dataset] + 0.001 * run)
    rows, _ = make_pteb_summary_and_comparisons(layout, records)
    delta, mixed = (found(rows, "sts", "", "", "a", name) for name in ("delta", "delta_mixed"))
    assert mixed.value == pytest.approx(delta.value)
    assert mixed.ci_high - mixed.ci_low > 3 * (delta.ci_high - delta.ci_low)
    assert found(rows, "sts", "", "", "a", "delta_sd:datasets").value == pytest.approx(
        np.std(list(drops.values()), ddof=1)
    )
    assert found(rows, "sts", "", "", "a", "delta_sd:runs").value == pytest.approx(0.001)


@pytest.mark.parametrize(
    ("datasets", "runs", "method"),
    [
        (1, 3, "one dataset: applies to other runs on it; t with 2.0 degrees"),
        (3, 1, "one run: applies to other datasets; t with 2.0 degrees"),
        (3, 2, "dataset and run as random effects; t with"),
        (1, 1, "one dataset and one run say nothing about others"),
    ],
)
def test_the_mixed_interval_says_what_it_holds_for(made, datasets, runs, method):
    """One dataset is no sample of datasets, and one run none of runs."""
    layout = made.layout(dict.fromkeys(("one", "two", "three")[:datasets], "sts"), runs=runs)
    records = made.records(layout, lambda dataset, *_: score(dataset, *_) - 0.01 * len(dataset))
    mixed = found(make_pteb_summary_and_comparisons(layout, records)[0], "sts", "", "", "a", "delta_mixed")
    assert mixed.method.startswith(method)
    assert (mixed.ci_low is None) == (datasets == runs == 1)


def test_a_copying_paraphraser_changes_nothing(made):
    """All originals again: delta and sd are 0, nobody gains a rank."""
    layout = made.layout({"one": "sts", "two": "sts"})
    before = {"a": 0.8, "b": 0.7}
    records = made.records(layout, lambda dataset, system, *_: before[system], lambda dataset, system: before[system])
    rows, comparisons = make_pteb_summary_and_comparisons(layout, records)
    values = {row.measure: row.value for row in rows if row.system == "a" and row.measure.startswith(("delta", "sd"))}
    assert values.pop("delta_sd:runs") == 0
    assert set(values.values()) == {0.0}
    stability = comparisons["rank_stability"]["sts"]
    assert (stability["tau_original"], stability["tau_runs"], stability["rank"]) == (1, 1, [1, 2])


def test_rank_stability(made):
    """A run in which two systems change places, and originals in the other order."""
    layout = made.layout({"one": "sts"}, ["a", "b", "c"], runs=2)
    made.items = 0.0
    table = {"a": (0.7, 0.6), "b": (0.65, 0.64), "c": (0.1, 0.1)}
    records = made.records(
        layout,
        lambda dataset, system, _, run: table[system][run],
        lambda _, system: {"a": 0.7, "b": 0.8, "c": 0.9}[system],
    )
    found = make_pteb_summary_and_comparisons(layout, records)[1]["rank_stability"]["sts"]
    assert found["systems"] == ["a", "b", "c"]
    assert (found["rank"], found["original_rank"]) == ([1, 2, 3], [3, 2, 1])
    assert (found["tau_original"], found["tau_runs"]) == (-1, pytest.approx(1 / 3))
    # Both runs once in half of the resamples: a is above. The first twice in a quarter: above; the second: below.
    assert found["beats"][0][1] == pytest.approx(0.75, abs=0.1)
    assert found["beats"][0][2] == 1
    assert found["beats"][1][1] is None
    assert (found["rank_low"], found["rank_high"]) == ([1, 1, 3], [2, 2, 3])


def test_intervals_of_drops_hold_what_a_drop_can_be(made):
    """Two runs that differ much: t with one degree of freedom would reach past every score, and says nothing then."""
    layout = made.layout({"one": "sts"}, runs=2)
    wide = made.records(layout, lambda dataset, system, _, run: 0.5 - 0.4 * run)
    rows, _ = make_pteb_summary_and_comparisons(layout, wide)
    for measure, dataset in (("delta", "one"), ("delta_runs", "one"), ("delta_mixed", "")):
        row = found(rows, "sts", dataset, "", "a", measure)
        assert row.value is not None
        assert (row.ci_low, row.ci_high) == (None, None)
        assert "no interval" in row.method
    near = made.records(layout, lambda dataset, system, _, run: 0.9 - 0.05 * run)
    row = found(make_pteb_summary_and_comparisons(layout, near)[0], "sts", "one", "", "a", "delta_runs")
    original = found(make_pteb_summary_and_comparisons(layout, near)[0], "sts", "one", "", "a", "original").value
    assert -1 - original <= row.ci_low < row.value < row.ci_high <= 1 - original
