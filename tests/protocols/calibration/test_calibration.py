"""A calibration from the command or the call to the saved file, its page and its view."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import embassay as eb
from embassay.errors import DataError, UsageError
from embassay.protocols.calibration import CalibrationOptions, translate_thresholds
from embassay.protocols.calibration.probability import read_pair_scores_from_cell
from embassay.protocols.calibration.slices import PairsWithSliceColumns, list_pair_kinds_with_masks
from embassay.protocols.kernel import inputs
from embassay.protocols.kernel.outcome import Run
from embassay.records import LabelledTextPairs, ResultRow
from embassay.runs.folder import RunFolder
from report.pages import printed

WORDS = [
    "amber",
    "basin",
    "cedar",
    "delta",
    "ember",
    "field",
    "grove",
    "haven",
    "inlet",
    "jetty",
    "knoll",
    "larch",
    "mango",
    "north",
    "ocean",
    "pearl",
]


def rows(n: int = 240, seed: int = 1) -> list[dict[str, object]]:
    """Pairs that share the more words the likelier they are the same, in every degree."""
    rng = np.random.default_rng(seed)
    found = []
    for place in range(n):
        share = rng.random()
        first = [str(word) for word in rng.choice(WORDS, 8, replace=False)]
        rest = [word for word in WORDS if word not in first]
        kept = round(8 * share)
        second = [*first[:kept], *(str(word) for word in rng.choice(rest, 8 - kept, replace=False))]
        same = rng.random() < 1 / (1 + np.exp(-12 * (share - 0.5)))
        pair = {"id": f"p{place}", "text": f"It is {' '.join(first)} {place}.", "text2": f"It is {' '.join(second)}."}
        found.append({**pair, "label": int(same)})
    return found


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("calibration")
    (folder / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows()))
    options = CalibrationOptions(precision=0.8, recall=0.8, cost="wrong=5,missed=1", resamples=100)
    return eb.calibrate(
        ["jaccard", "rouge"], datasets=[str(folder / "pairs.jsonl")], out=folder / "run", tokenizer="words",
        options=options,
    )  # fmt: skip


def found(run: Run, measure: str, system: str = "jaccard", **where: str) -> ResultRow:
    wanted = {"measure": measure, "system": system, "dataset": "pairs", **where}
    [row] = [
        row for row in RunFolder(run.path).read_results()
        if all(getattr(row, name) == value for name, value in {"variant": "", "subset": "", **wanted}.items())
    ]  # fmt: skip
    return row


def test_every_pair_and_every_promise_is_told(run: Run) -> None:
    """Skill with an interval; thresholds that the saved file repeats; what the sample has above them."""
    skill = found(run, "skill")
    assert skill.n == 240
    assert skill.ci_low is not None
    assert skill.value is not None
    assert 0.2 < skill.ci_low < skill.value < 0.9
    saved = eb.calibration(run.path / "calibrations" / "jaccard--pairs.json")
    for measure in ("precision", "recall"):
        row = found(run, "threshold", variant=measure)
        assert saved.threshold(measure) == row.value
        seen = found(run, f"sample_{measure}", variant=measure)
        assert seen.value is not None
        assert seen.value >= 0.8
    assert saved.curve.cost is not None
    assert saved.curve.cost.most < saved.curve.cost.always


def test_a_saved_curve_answers_for_texts(run: Run) -> None:
    """Equal texts are likelier the same than different ones; the rule is the threshold's; a list gives a list."""
    saved = eb.calibration(run.path / "calibrations" / "jaccard--pairs.json")
    alike, apart = (saved.probability("amber basin cedar", "amber basin cedar"), saved.probability("amber", "jetty"))
    assert apart.low <= apart.value <= apart.high < alike.low <= alike.value <= alike.high
    assert saved.accepts_as_same(["amber basin", "amber"], ["amber basin", "jetty"]) == [True, False]
    assert [one.value for one in saved.probability(["amber"], ["jetty"])] == [apart.value]
    with pytest.raises(UsageError, match="same length"):
        saved.probability(["a", "b"], ["a"])


def test_what_is_no_two_texts_has_no_probability(run: Run) -> None:
    """No labelled pair had an empty text, so nothing is known of one."""
    saved = eb.calibration(run.path / "calibrations" / "jaccard--pairs.json")
    for first, second in (("", ""), ("amber", " "), (["amber", ""], ["amber", "basin"])):
        with pytest.raises(DataError, match="empty"):
            saved.probability(first, second)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="the other a list"):
        saved.probability("amber", ["amber"])  # type: ignore[call-overload]
    with pytest.raises(DataError, match="not a number"):
        saved.of([0.5, float("nan")])
    for similarities in (None, ["amber"]):
        with pytest.raises(DataError, match="not a number"):
            saved.of(similarities)  # type: ignore[arg-type]
    for texts in (None, 3, np.array("amber")):
        with pytest.raises(UsageError, match="not a list of texts"):
            saved.probability(texts, texts)  # type: ignore[call-overload]
    assert saved.probability([], []) == []
    assert saved.probability(np.array([], dtype=str), np.array([], dtype=str)) == []


def test_texts_may_be_in_any_row_of_texts(run: Run) -> None:
    """Two texts are one pair, also where they are accepted; arrays and what is used up by reading are lists."""
    saved = eb.calibration(run.path / "calibrations" / "jaccard--pairs.json")
    first, second = ["amber basin", "cedar"], ["amber basin", "amber"]
    wanted = saved.probability(first, second)
    assert saved.probability(np.array(first), np.array(second, dtype=object)) == wanted
    assert saved.probability((one for one in first), tuple(second)) == wanted
    assert saved.probability(first[0], second[0]) == wanted[0]
    assert saved.accepts_as_same(np.array(first), second, "recall") == [True, False]
    assert saved.accepts_as_same(first[0], second[0], "recall") is True
    assert saved.accepts_as_same("amber", "cedar", "recall") is False
    assert saved.of(saved.similarity(first[0], second[0])[0]) == wanted[:1]


@pytest.mark.parametrize(
    ("line", "change"),
    [
        ("low", lambda line: line[:-1]),
        ("scores", lambda line: line[::-1]),
        ("scores", lambda line: [float("nan"), *line[1:]]),
        ("probabilities", lambda line: [1.5, *line[1:]]),
        ("thresholds", lambda line: [{**one, "value": "high"} for one in line]),
    ],
)
def test_an_edited_file_is_refused(run: Run, tmp_path: Path, line, change) -> None:
    """Where what stands in it can be no calibration's."""
    plain = json.loads((run.path / "calibrations" / "jaccard--pairs.json").read_text())
    plain["curve"][line] = change(plain["curve"][line])
    (tmp_path / "edited.json").write_text(json.dumps(plain))
    with pytest.raises(DataError, match="not a calibration"):
        eb.calibration(tmp_path / "edited.json")


@pytest.mark.slow
def test_labels_in_words_and_a_column_of_weights(run: Run, tmp_path: Path) -> None:
    """The same calibration once it is said which word is alike; that weights are not used is said."""
    from embassay.cli.main import build_app_with_commands

    words = {1: "duplicate", 0: "not duplicate"}
    lines = [{**row, "label": words[int(str(row["label"]))], "weight": 2} for row in rows()]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    asked = ["calibrate", "-s", "jaccard", "-d", str(tmp_path / "pairs.jsonl"), "--tokenizer", "words"]
    asked += ["--precision", "0.8", "--recall", "0.8", "--cost", "wrong=5,missed=1", "--resamples", "100"]
    told = CliRunner().invoke(build_app_with_commands("calibrate", "list"), [*asked, "--out", str(tmp_path / "none")])
    assert isinstance(told.exception, DataError)
    out = tmp_path / "run"
    told = CliRunner().invoke(
        build_app_with_commands("calibrate", "list"), [*asked, "--positive", "duplicate", "--out", str(out)]
    )
    assert told.exit_code == 0, told.output
    assert "the column weight is ignored" in " ".join(told.output.split())
    saved, plain = (eb.calibration(one / "calibrations" / "jaccard--pairs.json") for one in (out, run.path))
    assert saved.curve == plain.curve


def test_the_order_of_the_pairs_and_a_resume_change_nothing(run: Run, tmp_path: Path) -> None:
    """Same request, same bytes."""
    options = CalibrationOptions(precision=0.8, recall=0.8, cost="wrong=5,missed=1", resamples=100)
    data = str(run.path.parent / "pairs.jsonl")
    for _ in range(2):
        eb.calibrate(["jaccard"], datasets=[data], out=tmp_path / "again", tokenizer="words", options=options)
    name = "calibrations/jaccard--pairs.json"
    assert (tmp_path / "again" / name).read_bytes() == (run.path / name).read_bytes()


def test_negated_copies_are_where_words_fail(run: Run) -> None:
    """A pair that was the same and is negated means another thing; a metric of words hardly sees it."""
    gap = found(run, "gap", subset="negated copies")
    assert gap.value is not None
    assert gap.value < -0.3
    assert {row.subset for row in RunFolder(run.path).read_results() if row.measure == "gap"} >= {
        "short pairs", "copies with letters lost", "negated copies",
    }  # fmt: skip


@pytest.mark.slow
def test_pairs_that_share_texts_count_once(tmp_path: Path) -> None:
    """Five copies of forty pairs are forty units, and the run says so."""
    few = rows(40)
    copies = [{**row, "id": f"{row['id']}-{i}", "text2": f"{row['text2']}{'!' * i}"} for row in few for i in range(5)]
    made = eb.calibrate(["jaccard"], datasets={"copies": copies}, out=tmp_path / "run", tokenizer="words")
    saved = eb.calibration(next((made.path / "calibrations").glob("jaccard*")))
    assert (saved.curve.n, saved.curve.units) == (200, 40)
    assert "200 pairs form 40 groups" in str(made)


def test_too_few_of_a_label_has_a_reason_and_no_file(tmp_path: Path) -> None:
    few = [{**row, "label": int(place < 3)} for place, row in enumerate(rows(60))]
    made = eb.calibrate(["jaccard"], datasets={"few": few}, out=tmp_path / "run", tokenizer="words")
    [row] = [
        one
        for one in RunFolder(made.path).read_results()
        if one.measure == "skill" and one.system == "jaccard" and one.dataset
    ]
    assert "3 pairs are the same" in row.reason
    assert not (made.path / "calibrations").exists()


def test_grades_need_a_cut(tmp_path: Path) -> None:
    """Said before any work; with one, grades are labels."""
    graded = [
        {**{k: v for k, v in row.items() if k != "label"}, "score": 4.5 if row["label"] else place % 4}
        for place, row in enumerate(rows(120))
    ]
    with pytest.raises(UsageError, match=r"grades from 0 to 4\.5(.|\n)*--same-from 3\.6"):
        eb.calibrate(["jaccard"], datasets={"graded": graded}, out=tmp_path / "a", tokenizer="words")
    options = CalibrationOptions(same_from=4, resamples=50)
    made = eb.calibrate(
        ["jaccard"], datasets={"graded": graded}, out=tmp_path / "b", tokenizer="words", options=options
    )
    pairs = read_pair_scores_from_cell(RunFolder(made.path).locate_cell_items("pairs", "graded", "jaccard"))
    assert pairs is not None
    assert pairs.same.sum() == sum(row["score"] == 4.5 for row in graded)


def test_a_threshold_in_another_scale_accepts_as_many(run: Run) -> None:
    [told] = translate_thresholds(run.path, "jaccard", 0.6)
    pairs = {
        name: read_pair_scores_from_cell(RunFolder(run.path).locate_cell_items("pairs", "pairs", name))
        for name in ("jaccard", "rouge")
    }
    a, b = pairs["jaccard"], pairs["rouge"]
    assert a is not None
    assert b is not None
    assert told.target == "rouge"
    assert told.low <= told.value <= told.high
    assert abs((b.similar >= told.value).mean() - (a.similar >= 0.6).mean()) < 0.05
    assert told.agree > 0.8
    with pytest.raises(UsageError, match="accepts none"):
        translate_thresholds(run.path, "jaccard", 2.0)
    with pytest.raises(UsageError, match="no system 'nobody'"):
        translate_thresholds(run.path, "jaccard", 0.6, ["nobody"])


def test_another_file_is_no_calibration(run: Run, tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"format": "other", "version": 1}')
    for path, said in (
        (tmp_path / "other.json", "not a calibration"),
        (run.path, "several calibrations"),
        (tmp_path, "no calib"),
        (tmp_path / "nowhere.json", "no such file"),
    ):
        with pytest.raises(DataError, match=said):
            eb.calibration(path)


def test_a_changed_system_is_refused(run: Run, tmp_path: Path) -> None:
    """A probability of another model would be silently wrong."""
    plain = json.loads((run.path / "calibrations" / "jaccard--pairs.json").read_text())
    (tmp_path / "old.json").write_text(json.dumps({**plain, "identity": "another"}))
    with pytest.raises(DataError, match="no longer the system"):
        eb.calibration(tmp_path / "old.json").probability("a", "b")


def test_the_page_has_thresholds_and_the_view_fits(run: Run) -> None:
    from embassay.report.terminal import make_run_terminal_blocks

    page = run.report().read_text("utf-8")
    assert "id=calibration " in page
    assert "Thresholds with a guarantee" in page
    text = printed(make_run_terminal_blocks(run.path))
    saved = eb.calibration(run.path / "calibrations" / "jaccard--pairs.json")
    assert f"{saved.threshold():.3f}" in text
    first = page[page.index("<h1") :].partition("</h1>")[0]
    assert "or above, at least 80% of pairs mean" in first, "the answer, and not which system has the most skill"
    assert all(len(line) <= 80 for line in text.splitlines() if str(run.path) not in line)


def test_the_command_says_thresholds_and_translations(run: Run, tmp_path: Path) -> None:
    from embassay.cli.main import build_app_with_commands

    data = str(run.path.parent / "pairs.jsonl")
    words = ["calibrate", "-s", "jaccard", "-s", "rouge", "-d", data, "--tokenizer", "words", "--precision", "0.8",
             "--resamples", "50", "--out", str(tmp_path / "run")]  # fmt: skip
    told = CliRunner().invoke(build_app_with_commands("calibrate", "list"), [*words, "--from", "jaccard=0.6"])
    assert told.exit_code == 0, told.output
    assert "on the scales of other systems" in told.output
    assert (tmp_path / "run" / "calibrations" / "rouge--pairs.json").exists()


@pytest.mark.parametrize("cost", ["wrong=5", "wrong=5,missed=-1", "5,1", "wrong=0,missed=0"])
def test_a_cost_names_both_mistakes(cost: str) -> None:
    with pytest.raises(UsageError, match="cost"):
        CalibrationOptions(cost=cost)


@pytest.mark.slow
def test_a_cut_reads_grades_where_there_are_labels_too(tmp_path: Path) -> None:
    """And where there are labels alone, it is told to change nothing."""
    both = [{**row, "score": place % 5} for place, row in enumerate(rows(120))]
    found = {}
    for cut in (2.0, 4.0):
        options = CalibrationOptions(same_from=cut, resamples=20, edits=False)
        made = eb.calibrate(
            ["jaccard"], datasets={"both": both}, out=tmp_path / f"{cut}", tokenizer="words", options=options
        )
        pairs = read_pair_scores_from_cell(RunFolder(made.path).locate_cell_items("pairs", "both", "jaccard"))
        assert pairs is not None
        found[cut] = int(pairs.same.sum())
    assert found == {2.0: 72, 4.0: 24}
    made = eb.calibrate(
        ["jaccard"], datasets={"labels": rows(60)}, out=tmp_path / "labels", tokenizer="words", options=options
    )
    assert "has no effect" in str(made.manifest["cells"])


def test_kinds_that_rows_name_are_slices(tmp_path: Path) -> None:
    """Languages and domains; one of few pairs is left out, as is a column in which every row differs."""
    named = [
        {**row, "domain": ("shop", "bank", "rare")[0 if place % 2 else 1 if place else 2], "source": f"s{place}"}
        for place, row in enumerate(rows(120))
    ]
    options = CalibrationOptions(resamples=20, edits=False)
    made = eb.calibrate(
        ["jaccard"], datasets={"named": named}, out=tmp_path / "run", tokenizer="words", options=options
    )
    kinds = {row.subset for row in RunFolder(made.path).read_results() if row.measure == "gap"}
    assert {"domain shop", "domain bank", "pairs in other words"} <= kinds
    assert not {one for one in kinds if one.startswith("source") or "rare" in one}


@pytest.mark.slow
def test_a_translation_has_the_error_of_other_data(tmp_path: Path) -> None:
    """With several datasets the threshold that the others give, and how far off it is."""
    options = CalibrationOptions(resamples=20, edits=False)
    made = eb.calibrate(
        ["jaccard", "rouge"], datasets={"one": rows(120, 1), "two": rows(120, 2)}, out=tmp_path / "run",
        tokenizer="words", options=options,
    )  # fmt: skip
    for told in translate_thresholds(made.path, "jaccard", 0.6, ["rouge"]):
        assert told.elsewhere is not None
        assert told.off is not None
        assert abs(told.off) < 0.2
        assert abs(told.elsewhere - told.value) < 0.2


def test_precision_and_recall_of_all_thresholds(run: Run) -> None:
    """Recall rises to 1 as more is accepted, precision to the share that is the same."""
    every = [row for row in RunFolder(run.path).read_results() if row.system == "jaccard" and row.dataset]
    recall, precision = (
        [row for row in every if row.measure == measure and row.subset] for measure in ("recall", "precision")
    )
    values = [row.value for row in recall]
    assert values == sorted(values)
    assert values[-1] == 1
    assert precision[-1].value == found(run, "share_same").value
    assert all(row.ci_low <= row.value <= row.ci_high for row in precision)
    assert "the exact 95% interval of each point" in run.report().read_text("utf-8")


def test_what_mistakes_cost_is_told(run: Run) -> None:
    """The cheapest threshold beside accepting all and nothing, and what a mistake of either kind costs: in the results,
    in a table, on the page and on the terminal."""
    least, threshold = found(run, "cost", variant="cost"), found(run, "threshold", variant="cost")
    assert least.value < found(run, "cost", variant="accept all").value
    table = csv.DictReader((run.path / "tables" / "calibration_costs.csv").read_text("utf-8").splitlines())
    line = next(one for one in table if one["system"] == "jaccard")
    assert line["costs"] == "wrong 5, missed 1"
    assert [float(line[name]) for name in ("accept from", "cost", "at most")] == pytest.approx(
        [threshold.value, least.value, least.ci_high]
    )
    for told in (str(run), run.report().read_text("utf-8")):
        assert "does not mean the same costs 5; missing a pair that does costs 1" in " ".join(told.split())
        assert f"{least.value:.3f}" in told
        assert f"{least.ci_high:.3f}" in told


def test_a_cell_is_fitted_once_and_resampled_in_one_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a cell finds is what its file has, from one fit; large kinds of pairs share one resample. Two references are
    cells as well."""
    from embassay.protocols.calibration import protocol, slices
    from embassay.stats import resampling

    passes: list[int] = []
    monkeypatch.setattr(slices, "TOGETHER", 50)
    drawn = resampling.resample_means
    monkeypatch.setattr(
        inputs, "resample_means", lambda columns, **more: passes.append(len(columns)) or drawn(columns, **more)
    )
    protocol._fit_dataset_curve.cache_clear()
    data = tmp_path / "pairs.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows()))
    options = CalibrationOptions(edits=False, resamples=100)
    made = eb.calibrate(
        ["jaccard"], datasets=[str(data)], out=tmp_path / "run", tokenizer="words", options=options,
    )  # fmt: skip
    kept = protocol._fit_dataset_curve.cache_info()
    assert (kept.misses, kept.hits) == (3, 3)
    assert passes == [240, 240] * 3
    alone = found(made, "gap", subset="short pairs")
    monkeypatch.setattr(slices, "TOGETHER", 10_000)
    again = eb.calibrate(
        ["jaccard"], datasets=[str(data)], out=tmp_path / "again", tokenizer="words", options=options,
    )  # fmt: skip
    other = found(again, "gap", subset="short pairs")
    assert (alone.value, alone.n) == (pytest.approx(other.value), other.n)
    assert (alone.ci_low, alone.ci_high) == pytest.approx((other.ci_low, other.ci_high), abs=0.04)


def test_without_a_cost_there_is_no_table_of_costs(tmp_path: Path) -> None:
    data = tmp_path / "pairs.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows(60)))
    made = eb.calibrate(["jaccard"], datasets=[str(data)], out=tmp_path / "run", tokenizer="words")
    assert not (made.path / "tables" / "calibration_costs.csv").exists()
    assert "Thresholds with the lowest cost" not in made.report().read_text("utf-8")


@pytest.fixture
def retrieved(tmp_path: Path) -> dict[str, str]:
    """Two runs of 200 questions: scores of one tell whether the evidence is among the first, the other's nothing."""
    rng = np.random.default_rng(3)
    lines: dict[str, list[str]] = {"telling": [], "mute": []}
    judged = []
    for query in range(200):
        good = bool(rng.random() < 0.6)
        best = rng.normal(3.0 if good else 0.0)
        for rank in range(5):
            score = {"telling": best - rank, "mute": (37 * query % 101) / 101 - rank}
            for name, own in lines.items():
                own.append(f"q{query} Q0 d{query}-{rank} {rank + 1} {score[name]} {name}\n")
            judged.append(f"q{query}\td{query}-{rank}\t{5 if good and rank == 1 else 1}\n")
    judged.append("unanswered\td\t5\n")
    for name, own in lines.items():
        (tmp_path / f"{name}.trec").write_text("".join(own))
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(judged))
    return {name: str(tmp_path / f"{name}.trec") for name in lines} | {"qrels": str(tmp_path / "qrels.tsv")}


def test_scores_of_a_run_say_when_to_answer(retrieved: dict[str, str], tmp_path: Path) -> None:
    """From the command to the saved file: a threshold where scores tell, none where they say nothing; a question
    without a list is told of."""
    from embassay.cli.main import build_app_with_commands

    words = ["calibrate", "--run", retrieved["telling"], "--run", retrieved["mute"], "--qrels", retrieved["qrels"],
             "--precision", "0.8", "--resamples", "50", "--out", str(tmp_path / "run")]  # fmt: skip
    told = CliRunner().invoke(build_app_with_commands("calibrate", "list"), words)
    assert told.exit_code == 0, told.output
    assert "have evidence among the" in told.output
    assert "1 judged queries have no list" in told.output
    saved = eb.calibration(tmp_path / "run" / "calibrations" / "telling--qrels.json")
    bar = saved.threshold()
    assert 0 < bar < 3
    high, low = saved.of([4.0, -1.0])
    assert low.value < 0.3 < 0.9 < high.value
    with pytest.raises(UsageError, match="is a run"):
        saved.probability("a", "b")
    with pytest.raises(UsageError, match="No threshold guarantees"):
        eb.calibration(tmp_path / "run" / "calibrations" / "mute--qrels.json").threshold()
    # Of one passage the evidence, which is second, is never found.
    told = CliRunner().invoke(
        build_app_with_commands("calibrate", "list"), [*words[:-1], str(tmp_path / "one"), "-k", "1"]
    )
    assert "0 queries have evidence" in told.output


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--run", "a.trec"],
        ["-s", "jaccard", "--qrels", "q"],
        ["-s", "jaccard", "--run", "a", "--qrels", "q"],
        ["-s", "jaccard", "-s", "rouge", "--from", "jacard=0.5"],
        ["-s", "jaccard", "-s", "rouge", "--from", "jaccard=0.5", "--to", "wordllama"],
        ["-s", "jaccard", "--from", "jaccard=0.5"],
        ["-s", "jaccard", "-s", "rouge", "--to", "rouge"],
    ],
)
def test_what_is_calibrated_is_one_thing(words: list[str]) -> None:
    from embassay.cli.main import build_app_with_commands

    told = CliRunner().invoke(build_app_with_commands("calibrate", "list"), ["calibrate", *words])
    assert isinstance(told.exception, UsageError)
    assert "cells" not in told.output, "before any work"


def test_what_more_labels_would_buy_is_told_with_every_promise_that_is_missing(tmp_path: Path) -> None:
    """In the results, the saved file, the table, the page and on the terminal, where it costs money: the same numbers;
    intervals narrow, and the number of labels that is told is where the chance passes .8."""
    from embassay.cli.main import build_app_with_commands

    data = tmp_path / "pairs.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows(60)))
    words = ["calibrate", "-s", "jaccard", "-d", str(data), "--tokenizer", "words", "--precision", "0.95"]
    out = tmp_path / "run"
    shown = CliRunner().invoke(
        build_app_with_commands("calibrate"), [*words, "--out", str(out), "--label-price", "0.5"]
    )
    assert shown.exit_code == 0, shown.output
    made = Run(out)
    threshold = _saved(out).threshold("precision")
    assert threshold.value is None
    assert [one.more for one in threshold.ahead] == [50, 100, 200, 400]
    halves, chances = ([getattr(one, name) for one in threshold.ahead] for name in ("half", "chance"))
    assert halves == sorted(halves, reverse=True)
    assert chances == sorted(chances)
    assert threshold.labels is not None
    more = threshold.labels - 60
    assert f"about {round(more, 2 - len(str(more))):,} more" in " ".join(shown.output.split()), "in two figures"
    assert all((one.chance >= 0.8) == (60 + one.more >= threshold.labels) for one in threshold.ahead)
    for one in threshold.ahead:
        row = found(made, "chance_of_threshold", variant="precision", subset=f"{one.more} more labels")
        assert (row.value, row.n) == (one.chance, 60 + one.more)
    table = (out / "tables" / "calibration_next_labels.csv").read_text().splitlines()
    assert sum("precision" in line for line in table[1:]) == 4
    assert "$25.00" in shown.output
    assert "50 more" in (out / "report.html").read_text()


def _saved(out: Path):
    return eb.calibration(out / "calibrations" / "jaccard--pairs.json").curve


def test_where_nothing_can_be_calibrated_the_data_are_at_fault(tmp_path: Path) -> None:
    """Exit code 4, and a count in the right number."""
    from embassay.cli.main import build_app_with_commands

    few = [{**row, "label": int(place == 0)} for place, row in enumerate(rows(20))]
    data = tmp_path / "pairs.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in few))
    words = ["calibrate", "-s", "jaccard", "-d", str(data), "--tokenizer", "words", "--out", str(tmp_path / "run")]
    result = CliRunner().invoke(build_app_with_commands("calibrate"), words)
    assert isinstance(result.exception, DataError) or result.exit_code == DataError.exit_code
    rows_of = RunFolder(tmp_path / "run").read_results()
    [reason] = {row.reason for row in rows_of if row.system == "jaccard" and row.dataset}
    assert reason.startswith("1 pair is the same and 19 are not")


@pytest.mark.parametrize("negated", ["It isn't low.", "It isn\N{RIGHT SINGLE QUOTATION MARK}t low."])
def test_a_negation_is_one_with_either_apostrophe(negated: str) -> None:
    """The kinds of pairs that are looked at by themselves: one side denies, whatever the apostrophe."""
    pairs = LabelledTextPairs(("a", "b"), ("It is low.",) * 2, (negated, "It was low."), np.array([0, 1]))
    kinds = dict(list_pair_kinds_with_masks(PairsWithSliceColumns(pairs, {}), np.arange(2)))
    assert kinds["pairs with one negation"].tolist() == [True, False]
