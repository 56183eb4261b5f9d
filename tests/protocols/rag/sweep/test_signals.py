"""Signals of routing: names that queries hang on, and files of them."""

from __future__ import annotations

import numpy as np
import pytest

from embassay.errors import DataError, UsageError
from embassay.protocols.rag.probes.bundles import AuthorName
from embassay.protocols.rag.sweep.findings.advice import find_signal_threshold, mark_queries_where_signal_fires
from embassay.protocols.rag.sweep.signals import (
    check_ablation_name,
    measure_name_margin_changes,
    read_author_names_by_query,
)
from embassay.systems.cosine import scale_rows_to_unit_length

ANN = AuthorName("Ann", "Hill")


def embed(texts, role):
    """Counts of words: the author's name is worth what it is."""
    del role
    return scale_rows_to_unit_length(
        np.array([[t.lower().count(w) for w in VOCABULARY] for t in texts], dtype=np.float32) + 1e-3
    )


VOCABULARY = ("ann", "hill", "tides", "author", "works", "id-", "paper")


def test_a_query_that_hangs_on_a_name_loses_it_under_gibberish():
    """Its margin over impostors is gone; one without a name, and one that does not hold its own, have no signal."""
    queries = {"a": "Which works by Ann Hill on tides?", "b": "What makes tides?", "c": "Who was Bea Cole?"}
    names = {"a": (ANN, "tides"), "c": (AuthorName("Dan", "Ford"), "")}
    found = measure_name_margin_changes(names, queries, "gibberish_name", 1, embed)
    assert found[0] < -0.5
    assert np.isnan(found[1:]).all()
    assert measure_name_margin_changes(names, queries, "author_position_shift", 1, embed)[0] == pytest.approx(
        0, abs=1e-6
    )
    limit = find_signal_threshold("sea", "name", found)
    assert limit is not None
    assert mark_queries_where_signal_fires(limit, found).tolist() == [True, False, False]


def test_files_of_names(tmp_path):
    """An author in one column or two, a topic or none; a query twice is an error with its line."""
    (tmp_path / "one.csv").write_text("query_id,author,topic\nq1,Ann Hill,tides\n7,Bea,\n")
    assert read_author_names_by_query(tmp_path / "one.csv") == {"q1": (ANN, "tides"), "7": (AuthorName("", "Bea"), "")}
    (tmp_path / "two.csv").write_text("query_id,given,family\nq1,Ann,Hill\n")
    assert read_author_names_by_query(tmp_path / "two.csv") == {"q1": (ANN, "")}
    (tmp_path / "twice.csv").write_text("query_id,author\nq1,Ann Hill\nq1,Bea Cole\n")
    with pytest.raises(DataError, match=r"twice.csv:3"):
        read_author_names_by_query(tmp_path / "twice.csv")
    (tmp_path / "none.csv").write_text("query_id,name\nq1,Ann Hill\n")
    with pytest.raises(DataError, match="author"):
        read_author_names_by_query(tmp_path / "none.csv")


def test_ablations_by_name():
    """The base is none."""
    check_ablation_name("initials_form")
    for name in ("base", "gibberish"):
        with pytest.raises(UsageError, match="ablation"):
            check_ablation_name(name)
