"""What the ceilings say: no claim that its interval does not hold, no number that is not in the record."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import numpy as np
import pytest

import embassay as eb
from embassay.protocols.kernel.tables import format_score as printed
from embassay.protocols.rag.scoring.conclusions import format_percent
from embassay.protocols.rag.scoring.score import NumberInSentence, ScoringRecord
from stub.ranked import by_query, qrels, run

K = 5
GRADES = {f"g{i}": grade for i, grade in enumerate([5] * 3 + [4] * 4 + [1] * 20)}
GOOD, BAD = ([doc for doc, grade in GRADES.items() if grade > 3], [doc for doc, grade in GRADES.items() if grade < 4])
JUDGED = {f"q{i}": GRADES for i in range(40)}


def lists(draw: int, good: int, first: bool, depth: int = 20) -> dict[str, list[str]]:
    """Runs with so many good documents (one more or less by query) in front or at the end of the list."""
    rng = np.random.default_rng(draw)
    made = {}
    for query in JUDGED:
        held = rng.permutation(GOOD)[: max(0, good + int(rng.integers(-1, 2)))].tolist()
        rest = rng.permutation(BAD)[: depth - len(held)].tolist()
        made[query] = held + rest if first else rest + held
    return made


def reading(runs: dict[str, object], **arguments: object) -> ScoringRecord:
    """Of questions that share no document."""
    own = {name: by_query(run) for name, run in runs.items()}
    if "pools" in arguments:
        arguments["pools"] = [by_query(pool) for pool in arguments["pools"]]  # type: ignore[attr-defined]
    found = eb.rag.score(by_query(JUDGED), own, measures=[f"RA-nWG@{K}"], resamples=500, **arguments)  # type: ignore[arg-type]
    return found.record


@pytest.mark.parametrize(
    ("retrieved", "finding", "words"),
    [
        (lists(1, 2, True), "pool", "improve the pool"),
        (lists(1, 6, False), "ordering", "improve the ordering"),
        (dict.fromkeys(JUDGED, GOOD + BAD[:13]), "little", "little is left to improve"),
        (dict.fromkeys(JUDGED, GOOD[:3]), "untold", "no list is longer than 5"),
    ],
    ids=["pool", "ordering", "little", "untold"],
)
def test_findings(retrieved: dict[str, list[str]], finding: str, words: str) -> None:
    """Few good ones in the list: the pool. Many at its end: the ordering. A short list cannot tell."""
    score = reading({"r": retrieved})
    [found] = score.readings
    assert (found.finding, found.cutoff) == (finding, K)
    assert words in found.text
    assert found.text in score.lede[1]


def test_the_losses_add_up() -> None:
    """What the pool loses and what the ordering loses is all that is lost, from the values of the record."""
    score = reading({"r": lists(3, 4, False)})
    known = {one.what: one.value for one in score.readings[0].evidence}
    assert known["lost in the pool@5"] == pytest.approx(1 - known["PROC@5"])
    assert known["lost in the ordering@5"] == pytest.approx(known["PROC@5"] - known["RA-nWG@5"])
    assert known["%PROC@5"] == pytest.approx(known["RA-nWG@5"] / known["PROC@5"])
    value = score.value("r", "RA-nWG@5")
    assert value is not None
    assert known["RA-nWG@5"] == value.value


def test_a_finding_holds_with_its_interval() -> None:
    """Pool or ordering only where the whole interval of their difference says so."""
    findings = set()
    for seed in range(25):
        judged = qrels(25, seed)
        retrieved = run(judged, seed, depth=12 + 2 * seed, skill=0.2 * (seed % 4))
        score = eb.rag.score(judged, {"r": retrieved}, cutoffs=[5], resamples=300).record
        for one in score.readings:
            [excess] = [each for each in one.evidence if each.what == "ordering less pool@5"]
            assert excess.low is not None
            assert excess.high is not None
            assert (one.finding == "ordering") == (excess.low > 0)
            assert (one.finding == "pool") == (excess.high < 0)
            findings.add(one.finding)
    assert len(findings) >= 3


def test_hybrid_from_two_runs() -> None:
    """Two lists in turn against the better one; it helps where the lists hold different documents."""
    half = dict.fromkeys(JUDGED, GOOD[:3] + BAD[:17])
    other = dict.fromkeys(JUDGED, GOOD[3:] + BAD[-16:])
    advice = {one.knob: one for one in reading({"a": half, "b": other}).guidance}
    assert advice["hybrid"].status == "holds"
    assert "A hybrid pool of 20 distinct documents, alternating a and b" in advice["hybrid"].text
    assert advice["reranker"].status == "not tested"


def test_pools_are_compared_at_equal_numbers_of_distinct_documents() -> None:
    """Two lists that share most of their documents: their halves would be fewer than either, and lose for that."""
    shared = [doc for pair in zip(BAD[:9], BAD[9:18], strict=True) for doc in pair]
    a = {query: [*shared[:10], GOOD[0], *shared[10:], GOOD[1]] for query in JUDGED}
    b = {query: [*shared[:10], GOOD[0], GOOD[2], GOOD[1], *shared[10:17]] for query in JUDGED}
    advice = {one.knob: one for one in reading({"a": a, "b": b}).guidance}
    ceiling = next(one for one in advice["hybrid"].evidence if one.what.startswith("PROC"))
    direct = reading({"pool": dict.fromkeys(JUDGED, in_turn(a, b, 20))})
    value = next(one for one in direct.readings[0].evidence if one.what.startswith("PROC")).value
    assert ceiling.value == value


def in_turn(a: dict[str, list[str]], b: dict[str, list[str]], depth: int) -> list[str]:
    """The lists of the first query, one from each in turn, each document once."""
    query = next(iter(a))
    turns = [doc for two in zip(a[query], b[query], strict=True) for doc in two]
    return list(dict.fromkeys(turns))[:depth]


def test_hybrid_from_a_fusion_among_the_runs() -> None:
    """A run whose documents all come from two others is their fusion, and is compared with the better of them."""
    a = dict.fromkeys(JUDGED, GOOD[:3] + BAD[:17])
    b = dict.fromkeys(JUDGED, GOOD[3:] + BAD[-16:])
    fused = {query: [doc for two in zip(a[query], b[query], strict=True) for doc in two][:20] for query in JUDGED}
    advice = {one.knob: one for one in reading({"a": a, "b": b, "both": fused}).guidance}
    assert "both combines a and b" in advice["hybrid"].text
    assert advice["hybrid"].status == "holds"


def test_a_reranking_is_seen() -> None:
    """The same documents in another order: what that changes."""
    poor = lists(5, 5, False)
    better = {query: docs[::-1] for query, docs in poor.items()}
    [found] = [one for one in reading({"first": poor, "then": better}).guidance if one.knob == "reranker"]
    assert found.status == "holds"
    assert "then reorders the documents of first" in found.text
    [turned] = [one for one in reading({"then": better, "first": poor}).guidance if one.knob == "reranker"]
    assert turned.status == "does not hold"
    assert "lower" in turned.text


def test_depth() -> None:
    """50 candidates for @10: does not hold where the good ones stand behind them, holds where they do not."""
    grades = {f"g{i}": grade for i, grade in enumerate([5] * 10 + [1] * 90)}
    judged = {f"q{i}": grades for i in range(20)}
    good, bad = list(grades)[:10], list(grades)[10:]
    for retrieved, status in ((bad[:60] + good, "does not hold"), (good + bad, "holds")):
        runs = {"r": dict.fromkeys(judged, retrieved)}
        own = {name: by_query(run) for name, run in runs.items()}
        score = eb.rag.score(by_query(judged), own, measures=["RA-nWG@10"], resamples=200).record
        [found] = [one for one in score.guidance if one.knob == "depth"]
        assert found.status == status
        assert found.text.startswith("50 candidates for @10: cutting r to that depth loses")


def test_what_is_not_tested_says_so() -> None:
    """Every piece of the source's advice is there; without numbers there is no claim."""
    advice = reading({"r": lists(1, 2, True)}).guidance
    assert {"hybrid", "reranker", "depth", "ANN index", "rewriting", "near-duplicates", "shorter chunks"} <= {
        one.knob for one in advice
    }
    for one in advice:
        assert (one.status == "not tested") == (not one.evidence)
        assert one.text.startswith("Not tested on this data: ") == (not one.evidence)


def test_with_a_pool_the_pool_is_named() -> None:
    """PROC is then about that pool, and lists are no pools."""
    score = reading({"r": lists(1, 2, True)}, pools=[lists(1, 7, False)])
    assert score.runs[0].pool == "the pool (in memory)" or score.runs[0].pool.startswith("the pool")
    assert score.readings[0].finding == "ordering"
    assert {one.status for one in score.guidance if one.knob in ("hybrid", "depth")} == {"not tested"}


def sentences(score: ScoringRecord) -> Iterator[str]:
    yield score.verdict
    yield from score.lede
    yield from (one.text for one in (*score.readings, *score.guidance, *score.notes))


def numbers(score: ScoringRecord) -> set[str]:
    """Every number of the record, as sentences write it."""
    found: set[float] = set()
    shares: set[float] = set()

    def take(value: object) -> None:
        if isinstance(value, bool) or value is None or isinstance(value, str):
            return
        if isinstance(value, int | float):
            found.update((abs(value), abs(1 - value)))
            shares.add(value)
        elif isinstance(value, dict):
            for one in value.values():
                take(one)
        elif isinstance(value, list | tuple):
            for one in value:
                take(one)

    take(score.as_dict())
    whole = {f"{round(value):,}" for value in found if float(value).is_integer()}
    return (
        {printed(value) for value in found}
        | {format_percent(value)[:-1] for value in shares}
        | {format_percent(1 - value)[:-1] for value in shares}
        | whole
    )


def test_every_number_in_a_sentence_is_in_the_record() -> None:
    """Sentences are filled from the record: values to three decimals, percentages to one, counts as they are."""
    judged = qrels(40)
    runs = {name: run(judged, len(name), skill=2 - len(name) / 2, levels=4) for name in ("x", "yy", "zzz")}
    del runs["yy"]["q7"]
    score = eb.rag.score(judged, runs, resamples=400, sensitivity=True).record
    known = numbers(score) | {"0.2", "1", "2", "3", "4", "5", "50", "95", "1024", "2048", "100", "0", "10", "30"}
    for sentence in sentences(score):
        for written in re.findall(r"(?<![\w.])\d[\d,]*(?:\.\d+)?", sentence):
            assert written.rstrip(",") in known, (written, sentence)


def test_evidence_in_words() -> None:
    """An interval follows its number; %PROC is a percentage."""
    from embassay.protocols.rag.scoring.conclusions import format_number_with_interval

    assert format_number_with_interval(NumberInSentence(0.5, 0.4, 0.6, what="PROC@10")) == "0.500 (0.400–0.600)"
    assert format_number_with_interval(NumberInSentence(0.5, 0.4, 0.6, what="%PROC@10")) == "50.0% (40.0–60.0%)"
    assert format_number_with_interval(NumberInSentence(-0.5, -0.6, 0.1, what="gain")) == "−0.500 (−0.600 to 0.100)"


def test_too_few_queries_for_an_interval_leave_none_in_the_record() -> None:
    """A query whose documents are all worthless is alone in a quarter of the resamples of two: no interval, no NaN."""
    rng = np.random.default_rng(0)
    docs = [f"d{i}" for i in range(40)]
    grades = {"q1": np.ones(40, int), "q2": rng.choice([1, 2, 3, 4, 5], size=40)}
    judged = {query: dict(zip(docs, own.tolist(), strict=True)) for query, own in grades.items()}
    runs = {
        name: {
            query: [docs[i] for i in np.argsort(-(own + rng.normal(0, noise, 40)))[:35].tolist()]
            for query, own in grades.items()
        }
        for name, noise in (("dense", 1.0), ("bm25", 2.0))
    }
    record = eb.rag.score(judged, runs, cutoffs=(5, 10), resamples=300).record
    hybrid = [gain for one in record.guidance if one.knob == "hybrid" for gain in one.evidence]
    assert hybrid
    assert "NaN" not in json.dumps(record.as_dict())
