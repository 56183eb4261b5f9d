"""Selections over real HTTP: every table against a direct computation, and what happens when something is wrong."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from embassay.errors import BudgetExceeded, UsageError
from embassay.measures.correlation import edit_distance
from embassay.protocols.pteb.candidates import (
    ParaphraserSelectionOptions,
    ParaphraserSelectionRequest,
    forecast_selection_cost,
    make_plan,
)
from embassay.protocols.pteb.paraphrasing import open_paraphraser
from embassay.protocols.pteb.selection import paraphrasers
from embassay.protocols.wordings.records import ParaphraseSamplingAndRetryOptions, TextToParaphrase
from embassay.runs.folder import RunFolder
from embassay.stats import hodges_lehmann
from embassay.systems.remote import NoCallsLedger
from stub import StubServer

from .conftest import Models, pairs_in, rating, reworded, spec_at

QUICK = ParaphraserSelectionOptions(resamples=100)
FOUR = ("free-27b", "timid-20b", "copier-1b", "inventor-8b")


def table(run, name):
    return pl.read_csv(run.path / "tables" / f"{name}.csv")


def rows_of(run):
    return {(row.system, row.dataset, row.variant, row.measure): row for row in RunFolder(run.path).read_results()}


def texts_of(path):
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return list(dict.fromkeys(text for row in rows for text in (row["text"], row["text2"])))


@pytest.fixture(scope="module")
def four(tmp_path_factory):
    """A finished run of four candidates with two further judges, its data, its models and what they saw."""
    folder, models = tmp_path_factory.mktemp("four"), Models()
    write = pairs_in(folder)
    paths = [write(name, 12) for name in ("one", "second", "the-third")]
    with StubServer(chat=models, latency=0.002) as stub:
        spec = spec_at(stub)
        run = paraphrasers(
            [spec(name) for name in FOUR], judge=spec("fair"), cross_judges=[spec("kind"), spec("harsh")],
            datasets=paths, out=folder / "run", cache=folder / "cache.sqlite", options=QUICK,
        )  # fmt: skip
    return run, paths, spec, models


def test_tables_4_and_5_are_direct_computations(four):
    """Means over the distinct texts, then over datasets; the selected one by every judge, with the estimate of
    Hodges and Lehmann over the datasets' means."""
    run, paths, spec, _ = four
    shown = table(run, "pteb_table4")
    for i, name in enumerate(FOUR):
        texts = [texts_of(path) for path in paths]
        similar = [np.mean([rating("fair", t, reworded(name, t)) for t in some]) for some in texts]
        distant = [np.mean([edit_distance(t, reworded(name, t)) for t in some]) for some in texts]
        assert shown["Paraphraser"][i] == spec(name)
        assert shown["Similarity"][i] == pytest.approx(np.mean(similar))
        assert shown["Edit distance"][i] == pytest.approx(np.mean(distant))
        assert shown["Runtime (s)"][i] > 0.001
    five = table(run, "pteb_table5")
    assert five["Judge"].to_list() == [spec("fair"), spec("kind"), spec("harsh")]
    for i, judge in enumerate(("fair", "kind", "harsh")):
        means = [np.mean([rating(judge, t, reworded("free-27b", t)) for t in texts_of(path)]) for path in paths]
        direct = hodges_lehmann(means, n_resamples=1000, seed=1337)
        assert five["Average"][i] == pytest.approx(np.mean(means))
        assert five["HL"][i] == pytest.approx(direct.value)
        assert (five["CI low"][i], five["CI high"][i]) == pytest.approx((direct.low, direct.high))
        assert five["Datasets"][i] == 3


def test_who_copies_or_invents_is_not_selected(four):
    """The one that rewords most and keeps the meaning is; the manifest says by which rule and why."""
    run, _, spec, _ = four
    selection = run.manifest["selection"]
    assert selection["selected"] == spec("free-27b")
    assert "the largest edit distance of the 2 that meet the rule" in selection["because"]
    assert "it copies" in selection["rejected"][spec("copier-1b")]
    assert "changes the meaning" in selection["rejected"][spec("inventor-8b")]
    assert selection["rule"].startswith("The rule selects the largest edit distance among candidates")
    rows = rows_of(run)
    copied = rows[spec("copier-1b"), "", "", "copied"]
    assert (copied.value, copied.ci_low) == (1.0, None)
    assert rows[spec("copier-1b"), "one", "", "copied"].ci_low < 0.9
    assert rows[spec("copier-1b"), "", "", "edit_distance"].value == 0.0
    assert table(run, "pteb_table4")["Selected"].to_list()[:2] == ["yes", "no"]
    scopes = json.loads((run.path / "comparisons.json").read_text())["scopes"]
    assert scopes["edit_distance"]["systems"][0] == spec("inventor-8b")
    assert scopes["similarity"]["pairs"][0]["ci_low"] is not None


def test_every_text_once_and_only_the_selected_one_by_the_others(four):
    """A text in two pairs is worded once; other judges see no other candidate."""
    _, paths, _, models = four
    n = sum(len(texts_of(path)) for path in paths)
    assert n == 3 * 23
    calls = {name: sum(model == name for model, _ in models.seen) for name in (*FOUR, "fair", "kind", "harsh")}
    # Two candidates that write the same are rated once.
    written = {(text, reworded(name, text)) for name in FOUR for path in paths for text in texts_of(path)}
    assert calls == {**dict.fromkeys(FOUR, n), "fair": len(written), "kind": n, "harsh": n}
    assert all("invented" not in text for model, text in models.seen if model in ("kind", "harsh"))


def test_the_paraphrases_are_kept(four):
    """As a set that replays them without a language model."""
    run, paths, _, _ = four
    replayed = open_paraphraser(f"stored:{run.path}?source=free")
    text = texts_of(paths[0])[3]
    [(_, found)] = replayed.write([TextToParaphrase(text, "en")], seed=1337, run=0, dataset="one")
    assert found.wording == reworded("free-27b", text)


@pytest.mark.slow
def test_it_goes_on_where_it_was_stopped(write_pairs, spec, models, tmp_path):
    """Nothing is asked twice, in either stage; other arguments are refused."""
    paths = [write_pairs("one", 10), write_pairs("second", 10)]
    price = "&price=1&price_output=1"
    arguments = {
        "judge": spec("fair", price), "cross_judges": [spec("kind", price)], "datasets": paths, "options": QUICK,
    }  # fmt: skip
    candidates = [spec("free-27b", price), spec("timid-20b", price)]
    whole = paraphrasers(candidates, out=tmp_path / "whole", cache=tmp_path / "whole.sqlite", **arguments)
    total, asked = whole.manifest["spent"]["usd"], sorted(models.seen)
    models.seen.clear()
    # The most that an answer may cost is put aside for each call in flight.
    for share in (0.3, 0.6, 0.95):
        with pytest.raises(BudgetExceeded):
            paraphrasers(
                candidates, out=tmp_path / "run", cache=tmp_path / "run.sqlite", max_usd=share * total, **arguments
            )
    run = paraphrasers(candidates, out=tmp_path / "run", cache=tmp_path / "run.sqlite", max_usd=9 * total, **arguments)
    assert sorted(models.seen) == asked
    assert run.manifest["status"] == "finished"
    without = [[row for row in RunFolder(one.path).read_results() if row.measure != "seconds"] for one in (run, whole)]
    assert without[0] == without[1]
    with pytest.raises(UsageError, match="other arguments: seed was 1337, now 1"):
        paraphrasers(candidates, out=tmp_path / "run", seed=1, **arguments)


def test_what_fails_is_counted(write_pairs, spec, models, tmp_path):
    """Texts without a paraphrase and paraphrases without a rating: up to 5% left out, above no value and not selected;
    the shares are told either way."""
    path = write_pairs("one", 50)
    texts = texts_of(path)
    for text in texts[:6]:
        models.spoil["timid-20b", text] = " "
    models.spoil["free-27b", texts[0]] = "word " * 200
    for text in texts[1:5]:
        models.spoil["fair", text] = "4/5"
    options = ParaphraserSelectionOptions(resamples=50, attempts=2)
    run = paraphrasers(
        [spec("timid-20b"), spec("free-27b")], judge=spec("fair"), datasets=[path], out=tmp_path / "run",
        options=options, generation=ParaphraseSamplingAndRetryOptions(retries=1),
    )  # fmt: skip
    rows = rows_of(run)
    assert len(texts) == 99
    free = {
        measure: row
        for (system, dataset, _, measure), row in rows.items()
        if (system, dataset) == (spec("free-27b"), "one")
    }
    assert (free["similarity"].n, free["edit_distance"].n, free["failed"].n) == (94, 98, 99)
    assert free["failed"].value == pytest.approx(1 / 99)
    assert free["failed_ratings"].value == pytest.approx(4 / 98)
    timid = rows[spec("timid-20b"), "one", "", "similarity"]
    assert timid.value is None
    assert timid.reason.startswith("6 of 99 texts had no usable paraphrase, mostly: empty (over 5%")
    assert run.manifest["selection"]["selected"] == spec("free-27b")
    assert run.manifest["selection"]["rejected"][spec("timid-20b")] == f"one: {timid.reason}"
    cell = next(one for one in run.manifest["cells"] if one["system"] == spec("free-27b"))
    assert {one["reason"]: one["count"] for one in cell["skipped"]} == {
        "texts without a paraphrase: too long": 1, "paraphrases without a rating: an answer that is not a rating": 4,
    }  # fmt: skip


def test_a_judge_of_its_own_paraphrases(write_pairs, spec, tmp_path):
    """Is warned of, in the run and on the candidate's cells; other settings of the model do not hide it."""
    path = write_pairs("one", 10)
    run = paraphrasers(
        [spec("free-27b"), spec("timid-20b")], judge=spec("free-27b", "&timeout=30"), datasets=[path],
        out=tmp_path / "run", options=QUICK,
    )  # fmt: skip
    [warning] = run.manifest["warnings"]
    assert warning.startswith("openai:free-27b judges its own paraphrases")
    assert [len(one["warnings"]) for one in run.manifest["cells"]] == [1, 0]


def test_controls_and_recorded_wordings_are_candidates_too(spec, tmp_path):
    """Without a runtime; the words in another order are far away, and copies are never taken."""
    run = paraphrasers(
        ["copied", "permuted", "recorded"], judge=spec("fair"), datasets=["sample"], out=tmp_path / "run", options=QUICK
    )
    shown = table(run, "pteb_table4")
    assert shown["Runtime (s)"].to_list() == [None] * 3
    assert shown["Edit distance"][0] == 0
    assert "n/a" in (run.path / "tables" / "pteb_table4.md").read_text()
    assert run.manifest["selection"]["selected"] in ("permuted", "recorded")
    assert rows_of(run)["recorded", "", "", "seconds"].reason == "sample: nothing was requested"


def test_two_languages(write_pairs, spec, stub, tmp_path):
    """Paraphrasers are told not to translate; the same word in two languages is two texts."""
    path = write_pairs("one", 6)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows += [{**row, "id": f"de-{row['id']}", "lang": "de"} for row in rows]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = paraphrasers([spec("free-27b")], judge=spec("fair"), datasets=[path], out=tmp_path / "run", options=QUICK)
    assert rows_of(run)[spec("free-27b"), "one", "", "failed"].n == 22
    system = {body["messages"][0]["content"] for body in stub.bodies if body["model"] == "free-27b"}
    assert [text.endswith("do not translate it.") for text in system] == [True]


def test_the_forecast(write_pairs, spec, models, tmp_path):
    """Counts paraphrases and ratings; nothing is sent."""
    request = ParaphraserSelectionRequest(
        (spec("free-27b"), "copied"), datasets=(str(write_pairs("one", 10)),),
        judge=spec("fair", "&price=1&price_output=1"), cross_judges=(spec("kind"),),
    )  # fmt: skip
    cells = forecast_selection_cost(make_plan(request, ledger=NoCallsLedger())).cells
    assert [(one.system.partition("?")[0], one.requests) for one in cells] == [
        ("openai:free-27b", 19), ("copied", None), ("openai:fair", 38), ("openai:kind", 19),
    ]  # fmt: skip
    assert cells[0].usd is None
    assert cells[2].usd > 0
    assert not models.seen


def test_what_cannot_be_selected_from(spec, tmp_path):
    """Is refused before anything is asked."""
    for candidates, judge, said in (
        ([], spec("fair"), "No paraphraser was given"),
        (["copied"], "", "No judge was given"),
        (["copied"], "copied", "no llm called 'copied'"),
        (["coppied"], spec("fair"), r"no paraphraser called 'coppied'.*copied"),
    ):
        with pytest.raises(UsageError, match=said):
            paraphrasers(candidates, judge=judge, out=tmp_path / "run")
    with pytest.raises(UsageError, match="price of"):
        paraphrasers([spec("free-27b")], judge=spec("fair", "&price=0"), out=tmp_path / "run", max_usd=1.0)
    with pytest.raises(UsageError, match="least_edit_distance"):
        ParaphraserSelectionOptions(least_edit_distance=0.0)
    assert not (tmp_path / "run").exists()
