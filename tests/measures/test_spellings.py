"""The names that measures go by elsewhere."""

from __future__ import annotations

import pytest

from embassay.errors import UsageError
from embassay.measures import MEASURES, evaluate, evaluate_graded, grade
from embassay.spec import CALL

SPELLINGS = {
    "RAnWG(alpha=1)@10": "RA-nWG@10",
    "RAnWG(alpha=0.5,cap3=0.33)@30": "RA-nWG(alpha=0.5, cap3=0.33)@30",
    "RAnWG(beta=0.5)@10": "RA-nWG-novelty@10",
    "RA-nWG(occurrence='rank')@10": "RA-nWG-novelty(occurrence='rank')@10",
    "RAnWGNovelty(beta=0.2)@10": "RA-nWG-novelty(beta=0.2)@10",
    "NRecall(rel=4)@10": "N-Recall4+@10",
    "NRecall@10": "N-Recall4+@10",
    "NRecall(rel=5, unjudged='condense')@10": "N-Recall5(unjudged='condense')@10",
    "NRecall(rel=3)@10": "N-Recall(rel=3)@10",
    "N-Recall3+@10": "N-Recall(rel=3)@10",
    "N-Recall5+@10": "N-Recall5@10",
    "N-Recall(rel=4)@10": "N-Recall4+@10",
    "Precision4(rel=4)@10": "Precision4+@10",
    "Harm(rel=2)@10": "Harm@10",
    "Hit(rel=4)@10": "Hit@10",
    "PROC_RA@10": "PROC@10",
    "PROC_NR4@10": "PROC(of='N-Recall4+')@10",
    "PROC_NR5@10": "PROC(of='N-Recall5')@10",
    "PROC_P4@10": "PROC(of='Precision4+')@10",
    "PROC(of='RA-nWG')@10": "PROC@10",
    "MAP": "AP",
    "MAP@100": "AP@100",
    "MRR@10": "RR@10",
    "NDCG@10": "nDCG@10",
    "Recall@10": "R@10",
    "Recall(rel=2)@10": "R(rel=2)@10",
    "Precision@5": "P@5",
    "Recall": "Recall",
    "Precision(positive='spam')": "Precision(positive='spam')",
    "ndcg_cut_10": "nDCG@10",
    "ndcg_cut.10": "nDCG@10",
    "map_cut_100": "AP@100",
    "map": "AP",
    "recip_rank": "RR",
    "recall_100": "R@100",
    "P_5": "P@5",
}


@pytest.mark.parametrize(("given", "ours"), SPELLINGS.items())
def test_both_spellings_are_one_measure(given: str, ours: str) -> None:
    """What is read is written as the paper does, and reads back as the same."""
    assert str(MEASURES.build(given)) == ours
    assert MEASURES.build(given) == MEASURES.build(ours) == MEASURES.build(CALL.parse(given))


def test_values_stand_under_the_name_that_was_given() -> None:
    """So that whoever asked finds them."""
    found = grade({"a": 5, "b": 1}, ["b"])
    assert list(evaluate_graded(["RAnWG@1", "recall_1"], found)) == ["RAnWG@1", "recall_1"]
    assert list(evaluate(["MRR@10"], {"q": {"a": 1}}, {"q": ["a"]})) == ["MRR@10"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("RAnWGG@10", "Did you mean"),
        ("N-Recall4@10", "Did you mean N-Recall4"),
        ("N-Recall9+@10", "There is no measure called"),
        ("NRecall(rel='four')@10", "needs rel as int"),
        ("NRecall(rel=7)@10", "rel is 7"),
        ("ndgc@10", "Did you mean nDCG"),
        ("PROC_HARM@10", "PROC"),
        ("P_0", "cutoff is 0"),
        ("Harm", "needs a cutoff"),
    ],
)
def test_near_names_are_suggested(given: str, message: str) -> None:
    """A name that is none says which it may be."""
    with pytest.raises(UsageError, match=message):
        MEASURES.build(given)({"a": 5}, ["a"])
