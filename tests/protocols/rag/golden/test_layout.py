"""Folders of queries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.protocols.rag.golden.stages import SingleQueryFolder, make_query_folder_names


def test_numbered_questions_have_short_names():
    """Q7 is q07, as the spec has it, and so is Q07; three digits stay three."""
    assert make_query_folder_names(["Q7", "Q12", "Q112"]) == {"Q7": "q07", "Q12": "q12", "Q112": "q112"}
    assert make_query_folder_names(["Q01", "Q02"]) == {"Q01": "q01", "Q02": "q02"}


@given(st.lists(st.text(max_size=12), unique=True, max_size=30))
def test_no_two_ids_share_a_folder(ids):
    """Whatever the ids: safe names, all different, also on a disk that does not know upper from lower case."""
    names = make_query_folder_names(ids)
    assert len({name.casefold() for name in names.values()}) == len(ids)
    assert all(name.startswith("q") and "/" not in name and name not in (".", "..") for name in names.values())


@pytest.mark.parametrize(
    ("made", "name"),
    [
        (lambda folder: folder.rewrite_path, "q07/s1_rewrites/q07.json"),
        (lambda folder: folder.dense_hits_path(50), "q07/s2_candidates/dense/q07.top50.jsonl"),
        (lambda folder: folder.sparse_hits_path(20), "q07/s2_candidates/sparse/q07.top20.jsonl"),
        (lambda folder: folder.fused_list_path, "q07/s3_merge/q07.merge.jsonl"),
        (lambda folder: folder.scores, "q07/s4_scores/q07.scores.jsonl"),
        (lambda folder: folder.get_path_of_best_grade_buckets(35), "q07/s5_pruned/q07.top35plus.jsonl"),
        (lambda folder: folder.ranked(20), "q07/s6_ranked/q07.top20.jsonl"),
    ],
)
def test_artefacts_are_where_the_spec_says(tmp_path, made, name):
    """The table of spec rag, section 4."""
    assert made(SingleQueryFolder(tmp_path, "q07")).relative_to(tmp_path).as_posix() == name
