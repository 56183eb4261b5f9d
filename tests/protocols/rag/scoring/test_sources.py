"""Which documents are of one source is told from their ids, and discounted as the measures themselves do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import embassay as eb
from embassay.errors import UsageError
from embassay.measures import evaluate_graded, grade
from embassay.protocols.rag.scoring.inputs import write_trec

IDS = [f"p{paper}{mark}{chunk}" for paper in "123" for mark in "#/" for chunk in "12"]
pools = st.dictionaries(st.sampled_from(IDS), st.integers(1, 5), min_size=1)
lists = st.lists(st.sampled_from([*IDS, "alone"]), min_size=1, max_size=8, unique=True)
MEASURES = ["RA-nWG-novelty@3", "RA-nWG-novelty(beta=0.25)@5", "RA-nWG@5"]


def values(qrels: Any, runs: Any, **arguments: Any) -> list[float | None]:
    scored = eb.rag.score(qrels, runs, measures=MEASURES, resamples=10, grades="identity", **arguments)
    return scored.per_query["value"].to_list()


@given(st.lists(st.tuples(pools, lists), min_size=1, max_size=4), st.sampled_from("#/"))
def test_novelty_is_that_of_the_measure(queries: list[tuple[dict[str, int], list[str]]], separator: str) -> None:
    qrels = {f"q{i}": pool for i, (pool, _) in enumerate(queries)}
    run = {f"q{i}": found for i, (_, found) in enumerate(queries)}
    graded = grade(qrels, run, source=lambda key: key.rpartition(separator)[0] or key)
    expected = evaluate_graded(MEASURES, graded)
    found = values(qrels, {"run": run}, separator=separator)
    wanted = [value for name in MEASURES for value in expected[name]]
    assert found == pytest.approx([None if value != value else value for value in wanted])


def test_a_run_and_its_separator_on_the_command_line(tmp_path: Path) -> None:
    qrels = tmp_path / "qrels.tsv"
    qrels.write_text("query-id\tcorpus-id\tscore\nq\ta#1\t5\nq\ta#2\t5\nq\tb#1\t4\n")
    run = write_trec(tmp_path / "run.trec", "run", {"q": [("a#1", 3.0), ("a#2", 2.0), ("b#1", 1.0)]})
    apart = values(qrels, run, separator="|")
    together = values(qrels, run)
    assert apart[0] == pytest.approx(1)
    assert together[0] == pytest.approx(1)
    assert values(qrels, run, cutoffs=(2,)) == together


def test_an_empty_separator_is_refused() -> None:
    with pytest.raises(UsageError, match="separator"):
        eb.rag.score({"q": {"a": 5}}, {"r": {"q": ["a"]}}, separator="")
