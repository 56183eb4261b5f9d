"""Runs (what was retrieved, with scores) and qrels (what is judged, with grades), read as columns.

    read_run(Path("bm25.trec")).frame       # query, doc, value
    read_qrels_entries(Path("qrels/test.tsv"))

TREC files, BEIR's qrels, JSON Lines, CSV and Parquet, packed or not; what engines answer with, as JSON; judgements of
spans of documents. What a file is, its content shows.
"""

from embassay.data.judged_runs.runs import (
    RunOrQrelsEntries,
    rank_passages_by_question,
    read_entries_in_memory,
    read_qrels_entries,
    read_run_entries,
    sort_run_entries_by_score,
)
from embassay.data.judged_runs.texts import AnswerTextMatcher

__all__ = [
    "AnswerTextMatcher",
    "RunOrQrelsEntries",
    "rank_passages_by_question",
    "read_entries_in_memory",
    "read_qrels_entries",
    "read_run_entries",
    "sort_run_entries_by_score",
]
