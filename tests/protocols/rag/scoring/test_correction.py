"""A judge's grades corrected by people's: against direct computation, with judges of no use, and at the gate."""

from __future__ import annotations

import csv
import json
import math
import re

import numpy as np
import pytest
import scipy.stats

import embassay as eb
from embassay.errors import DataError
from embassay.protocols.compare import compare_systems
from embassay.protocols.gate import judge_against_baseline
from embassay.protocols.rag.scoring.correction import (
    CorrectedRunEstimate,
    _forecast_labels_to_decide_differences,
    read_judge_corrections,
)
from embassay.protocols.rag.scoring.score import read_scoring_record
from embassay.protocols.rag.scoring.tables import build_score_tables
from embassay.protocols.run_values import read_comparable_run
from embassay.runs.folder import RunFolder
from stub.ranked import qrels, run

POOL = qrels(60, 3)
RUNS = {"good": run(POOL, 1, skill=3.0), "poor": run(POOL, 2, skill=0.1)}


def filled(pool, runs, depth=5):
    """The judgements with the lowest grade for every other passage among the first of a run."""
    judged = {query: dict(docs) for query, docs in pool.items()}
    for ranked in runs.values():
        for query, scores in ranked.items():
            for doc in sorted(scores, key=scores.__getitem__)[-depth:]:
                judged[query].setdefault(doc, 1)
    return judged


SAME = {"one": RUNS["poor"], "two": run(POOL, 7, skill=0.1)}
JUDGED = filled(POOL, RUNS | SAME)
WHOLE = [f"q{i}" for i in range(0, 60, 3)]
"""The queries that people have graded."""


def people(queries=WHOLE):
    return {query: JUDGED[query] for query in queries}


def scattered():
    """Half of the passages of the longer queries."""
    rng = np.random.default_rng(1)
    return {
        query: own
        for query, docs in JUDGED.items()
        if (own := {doc: grade for doc, grade in docs.items() if rng.random() < 0.5 and len(docs) > 4})
    }


def written(path, grades):
    rows = (
        {"query_id": query, "doc_id": doc, "relevance": grade}
        for query, docs in grades.items()
        for doc, grade in docs.items()
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def noisy(kappa, seed=5):
    """A judge that is right with this chance, and otherwise gives any grade."""
    rng = np.random.default_rng(seed)
    return {
        query: {doc: grade if rng.random() < kappa else int(rng.integers(1, 6)) for doc, grade in docs.items()}
        for query, docs in JUDGED.items()
    }


def scored(tmp_path, judge, own=None, measures=("nDCG@5", "Precision4+@5"), name="scored", runs=RUNS):
    found = eb.rag.score(
        people() if own is None else own, runs, measures=list(measures), resamples=200,
        judge_grades=written(tmp_path / f"{name}.jsonl", judge), out=tmp_path / name,
    )  # fmt: skip
    return found, read_judge_corrections(tmp_path / name / "corrected.json")


def row(corrections, run, measure, other=""):
    return next(one for one in corrections.rows if (one.run, one.other, one.measure) == (run, other, measure))


def per_query(grades, measure, name):
    found = eb.rag.score(grades, RUNS, measures=[measure], resamples=10)
    frame = found.per_query.filter(found.per_query["run"] == name)
    return dict(zip(frame["query_id"], frame["value"], strict=True))


def test_a_value_is_that_of_the_regression(tmp_path) -> None:
    """Mean of people, plus slope times how far the judge's mean over all is from its mean where people graded too."""
    judge = noisy(0.6)
    found, corrections = scored(tmp_path, judge, measures=["Precision4+@5"])
    one = row(corrections, "good", "Precision4+@5")
    y, x = (per_query(grades, "Precision4+@5", "good") for grades in (people(), judge))
    own = np.array([y[query] for query in WHOLE])
    same = np.array([x[query] for query in WHOLE])
    slope = np.cov(own, same)[0, 1] / same.var(ddof=1)
    expected = own.mean() + slope * (np.mean(list(x.values())) - same.mean())
    assert one.value == pytest.approx(expected, abs=1e-9)
    assert (one.unit, one.n, one.total) == ("queries", len(WHOLE), len(JUDGED))
    assert one.alone == pytest.approx(own.mean())
    assert one.judge == pytest.approx(np.mean(list(x.values())))
    assert one.low < one.value < one.high
    assert one.high - one.low < one.alone_high - one.alone_low
    value = found.record.value("good", "Precision4+@5")
    assert (value.value, value.low, value.high) == (one.value, one.low, one.high)


def test_a_judge_who_is_right_is_worth_all_labels(tmp_path) -> None:
    """The corrected values are then those of all grades, and nearly certain beside people's alone."""
    _, corrections = scored(tmp_path, JUDGED)
    everything = eb.rag.score(JUDGED, RUNS, measures=["nDCG@5"], resamples=10)
    one = row(corrections, "good", "nDCG@5")
    assert one.value == pytest.approx(everything.record.value("good", "nDCG@5").value, abs=1e-6)
    assert one.effective > 2.5 * one.n
    assert corrections.exact == 1.0
    assert all(part.mean == 0 for part in corrections.off)


def test_a_judge_who_always_says_five_is_of_no_use(tmp_path) -> None:
    """And is told to be: the corrected values are people's."""
    fives = {query: dict.fromkeys(docs, 5) for query, docs in JUDGED.items()}
    rng = np.random.default_rng(2)
    known = {
        name: {
            query: {doc: skill * grade + rng.normal() for doc, grade in docs.items()} for query, docs in JUDGED.items()
        }
        for name, skill in (("good", 1.0), ("poor", 0.0))
    }
    _, corrections = scored(tmp_path, fives, measures=["nDCG@5"], runs=known)
    one = row(corrections, "good", "nDCG@5")
    assert (one.slope, one.effective) == (0.0, one.n)
    assert (one.value, one.low, one.high) == pytest.approx((one.alone, one.alone_low, one.alone_high))
    assert "does not help" in corrections.use
    bias = {part.kind: part.mean for part in corrections.off}
    assert (bias["grade 1"], bias["grade 5"]) == (4.0, 0.0)


def test_differences_are_corrected_and_what_is_open_has_an_outlook(tmp_path) -> None:
    """Two runs that are equal cannot be told apart; more queries are priced in labels."""
    found, corrections = scored(tmp_path, noisy(0.5))
    gap = row(corrections, "good", "nDCG@5", "poor")
    assert gap.value == pytest.approx(
        row(corrections, "good", "nDCG@5").value - row(corrections, "poor", "nDCG@5").value, abs=0.05
    )
    pair = found.record.find_measure_comparison("nDCG@5").pairs[0]
    assert (pair.difference, pair.better) == (gap.value, "good")
    again = eb.rag.score(
        people(), SAME, measures=["nDCG@5"], resamples=50, out=tmp_path / "same",
        judge_grades=written(tmp_path / "judge.jsonl", noisy(0.5)),
    )  # fmt: skip
    bought = read_judge_corrections(tmp_path / "same" / "corrected.json").ahead
    assert again.record.find_measure_comparison("nDCG@5").pairs[0].better == ""
    assert [one.more for one in bought] == sorted({one.more for one in bought})
    assert all(one.unit == "queries" and one.labels > 1 for one in bought)


def test_single_passages_do_for_precision_and_for_nothing_else(tmp_path) -> None:
    """A measure of a whole pool has then no value, and says what the judge alone would."""
    some = scattered()
    found, corrections = scored(tmp_path, noisy(0.7), some)
    one = row(corrections, "good", "Precision4+@5")
    assert (one.unit, one.n < one.total) == ("passages", True)
    undefined = found.record.value("good", "nDCG@5")
    assert undefined.value is None
    assert "judge alone: " in undefined.reason
    assert [one.measure for one in corrections.lacking] == ["nDCG@5"]
    assert "nDCG@5" in found.verdict
    with (tmp_path / "scored" / "tables" / "rag_to_grade.csv").open(newline="") as lines:
        wanted = list(csv.DictReader(lines))
    [query] = {one["query_id"] for one in wanted[:1]}
    proposed = {one["doc_id"] for one in wanted if one["query_id"] == query}
    assert proposed | some.get(query, {}).keys() == JUDGED[query].keys()


def test_what_people_should_grade_is_filled_in_and_given_back(tmp_path) -> None:
    """The first words say how many passages that takes; the file has their texts and all that is graded already, and
    filled in from the top it makes nDCG's value that of the regression."""
    (tmp_path / "corpus.jsonl").write_text(
        "".join(
            json.dumps({"id": doc, "text": f"On {doc},\nin two lines."}) + "\n"
            for doc in sorted({doc for docs in JUDGED.values() for doc in docs})
        )
    )
    (tmp_path / "queries.jsonl").write_text(
        "".join(json.dumps({"id": query, "text": f"What of {query}?"}) + "\n" for query in JUDGED)
    )
    texts = {"corpus": str(tmp_path / "corpus.jsonl"), "queries": str(tmp_path / "queries.jsonl")}
    judge, some = noisy(0.7), scattered()
    given = {
        "measures": ["nDCG@5"], "resamples": 50, "judge_grades": written(tmp_path / "judge.jsonl", judge), **texts,
    }  # fmt: skip
    first = eb.rag.score(some, RUNS, out=tmp_path / "first", **given).record
    with (tmp_path / "first" / "tables" / "rag_to_grade.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    wanted = [row for row in rows if row["why"] == "whole query"]
    assert all(row["grade"] == "" for row in wanted)
    assert wanted[0]["question"] == f"What of {wanted[0]['query_id']}?"
    assert wanted[0]["passage"] == f"On {wanted[0]['doc_id']}, in two lines."
    assert len(rows) == len(wanted) + sum(map(len, some.values()))
    said = " ".join(first.lede)
    assert re.search(rf"\b{len(wanted)} (passages|of)", said), said
    queries = list(dict.fromkeys(row["query_id"] for row in wanted))[:8]
    for row in wanted:
        row["grade"] = str(JUDGED[row["query_id"]].get(row["doc_id"], 1)) if row["query_id"] in queries else ""
    sheet = tmp_path / "graded.csv"
    with sheet.open("w", newline="") as out:
        writer = csv.DictWriter(out, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    again = eb.rag.score(str(sheet), RUNS, out=tmp_path / "again", **given).record
    value = again.value("good", "nDCG@5")
    assert value.unit == "queries"
    assert value.n >= len(queries)
    assert any("have no grade yet" in note.text for note in again.notes)


def test_a_file_that_nobody_has_filled_in(tmp_path) -> None:
    """It is refused with what to do."""
    (tmp_path / "graded.csv").write_text("query_id,doc_id,grade,why\nq0,d0,,whole query\n")
    with pytest.raises(DataError, match="none of 1 rows has a grade"):
        eb.rag.score(str(tmp_path / "graded.csv"), RUNS, measures=["nDCG@5"])


def test_what_is_counted_is_called_what_it_is(tmp_path) -> None:
    """69 labelled passages are no queries, in no table; and the footers name the test that was made."""
    found, corrections = scored(tmp_path, noisy(0.5), own=scattered())
    one = row(corrections, "good", "Precision4+@5")
    value = found.record.value("good", "Precision4+@5")
    assert (value.n, value.total, value.unit) == (one.n, one.total, "passages")
    [pair] = found.record.find_measure_comparison("Precision4+@5").pairs
    assert pair.unit == "passages"
    made = {table.name: table for table in build_score_tables(found.record)}
    for name in ("rag_score", "rag_pairs"):
        heads = [column.name for column in made[name].columns]
        assert "Queries" not in heads
        assert "Unit" in heads
        assert "np.float64" not in made[name].as_csv()
        assert "bootstrap" not in made[name].note


def test_grades_of_other_passages_are_refused(tmp_path) -> None:
    others = {query: {f"x{doc}": grade for doc, grade in docs.items()} for query, docs in JUDGED.items()}
    with pytest.raises(DataError, match=r"no document of the run is judged .*such as 'x"):
        scored(tmp_path, others)
    with pytest.raises(DataError, match="graded by both people and the judge"):
        scored(tmp_path, JUDGED, others)


@pytest.mark.parametrize(("p", "open_"), [(0.04, 2), (0.02, 0)])
def test_what_more_would_buy_is_told_of_all_that_is_open(p, open_) -> None:
    """By Holm over the differences: the interval of one alone may leave 0 outside."""
    rows = [
        CorrectedRunEstimate(
            0.1,
            0.01,
            0.19,
            40,
            run="a",
            other=other,
            measure="nDCG@5",
            alone=0.1,
            alone_low=0.01,
            alone_high=0.19,
            judge=0.1,
            slope=1.0,
            unit="queries",
            total=400,
            effective=50,
            p=p,
        )
        for other in ("b", "c")
    ]
    found = list(_forecast_labels_to_decide_differences(rows, "nDCG@5", 8.0))
    assert len({one.other for one in found}) == open_
    assert all(0 <= one.chance <= 1 for one in found)


def test_a_bar_is_held_against_the_corrected_value(tmp_path) -> None:
    """What `embassay gate` reads of the folder is the corrected score with its interval."""
    _, corrections = scored(tmp_path, noisy(0.6))
    one = row(corrections, "good", "nDCG@5")
    rows = [found for found in RunFolder(tmp_path / "scored").read_results() if found.measure == "nDCG@5"]
    [own] = [found for found in rows if found.system == "good" and found.dataset]
    assert (own.value, own.ci_low, own.ci_high) == (one.value, one.low, one.high)
    name = "rag.score.nDCG@5[good]"
    for bar, met in ((one.low - 0.01, True), (one.low + 0.01, False)):
        found = eb.gate(tmp_path / "scored", f"{name}>={bar}@lower")
        assert found.passed is met
    [told] = found.judge
    for kind in ("all", "grade 5", "ranks 1 to 3"):
        [off] = [one for one in corrections.off if one.kind == kind]
        assert f"{kind} {off.mean:+.2f}" in told
        assert f"{kind} {off.mean:+.2f}" in found.markdown()
    assert corrections.use in told


def refusing(judge, share, seed=4):
    """The judge without so many of its grades of relevant passages."""
    rng = np.random.default_rng(seed)
    return {
        query: {
            doc: grade
            for doc, grade in docs.items()
            if JUDGED[query][doc] < 4 or rng.random() >= share or len(docs) < 3
        }
        for query, docs in judge.items()
    }


def test_what_a_judge_refuses_is_no_zero(tmp_path) -> None:
    """People graded what the judge graded, of whole queries: nothing tells what it refused, and no value is shown."""
    judge = refusing(noisy(0.8), 0.5)
    own = {query: {doc: JUDGED[query][doc] for doc in judge[query]} for query in WHOLE}
    found, corrections = scored(tmp_path, judge, own)
    assert found.record.value("good", "Precision4+@5").value is None
    assert {one.measure for one in corrections.lacking} == {"nDCG@5", "Precision4+@5"}
    # Graded whole, each run's first five as well, they are people's once more.
    found, corrections = scored(tmp_path, judge, people(), name="whole")
    truth = eb.rag.score(JUDGED, RUNS, measures=["Precision4+@5"], resamples=10)
    value = found.record.value("good", "Precision4+@5")
    assert value.low < truth.record.value("good", "Precision4+@5").value < value.high
    assert not corrections.lacking


def test_passages_that_the_judge_refused_count_as_people_say(tmp_path) -> None:
    """Half of the passages are graded by people, refused or not: the interval holds all of people's grades."""
    rng = np.random.default_rng(6)
    some = {
        query: own
        for query, docs in JUDGED.items()
        if (own := {doc: grade for doc, grade in docs.items() if rng.random() < 0.5})
    }
    found, corrections = scored(tmp_path, refusing(noisy(0.8), 0.5), some, measures=["Precision4+@5"])
    truth = eb.rag.score(JUDGED, RUNS, measures=["Precision4+@5"], resamples=10)
    one = row(corrections, "good", "Precision4+@5")
    assert one.unit == "passages"
    assert one.low < truth.record.value("good", "Precision4+@5").value < one.high
    # Of the other run's refusals fewer than ten are labelled.
    assert [lacking.measure for lacking in corrections.lacking] == ["Precision4+@5"]
    assert found.record.value("poor", "Precision4+@5").value is None


def test_compare_says_what_the_scoring_says(tmp_path) -> None:
    """Of two corrected runs: the same difference, interval and p, not those of the judge's own values; so do ranks."""
    found, _ = scored(tmp_path, noisy(0.6))
    comparison = found.record.find_measure_comparison("nDCG@5")
    assert comparison is not None
    for pair in comparison.pairs:
        told = eb.compare(tmp_path / "scored", a=pair.a, b=pair.b, measures=["nDCG@5"]).leading
        assert (told.difference, told.low, told.high, told.p) == (pair.difference, pair.low, pair.high, pair.p)
        turned = eb.compare(tmp_path / "scored", a=pair.b, b=pair.a, measures=["nDCG@5"]).leading
        assert (turned.difference, turned.low, turned.high) == (-pair.difference, -pair.high, -pair.low)
    [field] = eb.compare(tmp_path / "scored", measures=["nDCG@5"]).fields
    assert [entrant.system for entrant in field.entrants] == list(comparison.runs)
    assert [entrant.rank_low for entrant in field.entrants] == list(comparison.rank_low)
    assert [entrant.rank_high for entrant in field.entrants] == list(comparison.rank_high)
    for entrant in field.entrants:
        value = found.record.value(entrant.system, "nDCG@5")
        assert (entrant.value, entrant.low, entrant.high) == (value.value, value.low, value.high)


def test_a_gate_of_corrected_runs_tests_the_corrected_values(tmp_path) -> None:
    """Against another run the errors of both corrections add up, and the verdict says so."""
    scored(tmp_path, noisy(0.6))
    [verdict] = eb.gate(
        tmp_path / "scored", no_worse_than=tmp_path / "scored", measures=["nDCG@5"], systems=["good"]
    ).verdicts
    [standing] = [
        one for one in read_comparable_run(tmp_path / "scored").standings
        if (one.system, one.place[2]) == ("good", "nDCG@5")
    ]  # fmt: skip
    value = next(
        one
        for one in read_scoring_record(tmp_path / "scored" / "score.json").values
        if (one.run, one.measure) == ("good", "nDCG@5")
    )
    assert "corrected by people" in verdict.unpaired
    assert float(np.std(standing.headline.replicates, ddof=1)) * np.sqrt((value.df + 1) / value.df) == (
        pytest.approx(value.error)
    )
    half = scipy.stats.t.ppf(0.975, 2 * value.df) * value.error * 2**0.5
    assert verdict.high == pytest.approx(half, rel=0.1)


def test_two_corrected_scorings_are_compared_and_gated_alike(tmp_path) -> None:
    """People graded 20 queries of one and 40 of the other: the errors of both add up, in `compare` as at the gate."""
    few, _ = scored(tmp_path, noisy(0.6), people(), measures=["nDCG@5"], name="few")
    more = people([f"q{i}" for i in range(60) if i % 3])
    many, _ = scored(tmp_path, noisy(0.6), more, measures=["nDCG@5"], name="many", runs={"good": RUNS["poor"]})
    now, base = (read_comparable_run(tmp_path / name) for name in ("many", "few"))
    assert not now.ungraded
    [one] = compare_systems(now, "good", "good", base).contrasts
    first, second = many.record.value("good", "nDCG@5"), few.record.value("good", "nDCG@5")
    assert one.difference == pytest.approx(first.value - second.value)
    assert one.error == pytest.approx(math.hypot(first.error, second.error), rel=0.02)
    [verdict] = judge_against_baseline(now, base, systems=["good"])
    assert (verdict.value, verdict.low, verdict.high) == (one.difference, one.low, one.high)
    assert verdict.unpaired
    assert verdict.met == (scipy.stats.t.cdf(one.difference / one.error, one.df) >= 0.05)
