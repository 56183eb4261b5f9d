"""Human scores by family: the spec's check values, scikit-learn, the conventions, and the docstrings' examples."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import UsageError
from embassay.protocols.hume.scoring import (
    classification_scores,
    clustering_scores,
    majority_vote,
    pool_annotator_answers,
    score_people_answers,
    sts_scores,
)
from embassay.protocols.hume.study import TaskSpec


def by_item(values: list) -> dict[str, object]:
    """Values under the ids 00, 01, ..."""
    return {f"{i:02}": value for i, value in enumerate(values)}


def test_classification_check_values() -> None:
    """HUME section 6: 4/6 for both and for the vote, whose macro F1 is .655556."""
    task = TaskSpec("sentiment", "classification", "eng", labels=("neg", "neu", "pos"))
    one, other = ["neg", "pos", "pos", "pos", "neu", "neg"], ["neg", "neg", "neu", "pos", "pos", "neu"]
    gold = by_item(["neg", "neg", "pos", "pos", "neu", "neu"])
    answers = {"a": by_item(one), "b": by_item(other)}
    assert list(pool_annotator_answers(task, answers).values()) == ["neg", "neg", "neu", "pos", "neu", "neg"]
    found = score_people_answers(task, gold, answers)
    assert [*found.main_score_per_annotator(), found.score()] == pytest.approx([4 / 6] * 3)
    assert found.scores()["f1"] == pytest.approx(0.655556, abs=1e-6)
    assert found.score("mean") == pytest.approx(sum(found.main_score_per_annotator()) / 2)


# How often gold, the first and the second annotator said so: solved out of the published scores of the pair.
TOXIC = {
    **{(0, 0, 0): 14, (1, 0, 0): 1, (0, 0, 1): 2, (1, 0, 1): 2, (0, 1, 0): 3, (1, 1, 0): 3},
    **{(0, 1, 1): 6, (1, 1, 1): 14},
}
SENTIMENT = {**{(0, 0, 0): 10, (0, 0, 1): 6, (1, 0, 1): 4, (0, 1, 0): 2, (1, 1, 0): 3, (0, 1, 1): 2, (1, 1, 1): 13}}


@pytest.mark.parametrize(
    ("counts", "annotators", "vote", "vote_recall"),
    [(TOXIC, [0.733333, 0.733333], 0.733333, 0.73), (SENTIMENT, [0.8, 0.725], 0.775, 0.775)],
    ids=["toxic", "sentiment eng"],
)
def test_published_votes(counts: dict, annotators: list[float], vote: float, vote_recall: float) -> None:
    """HUME section 4: only ties to the smallest label give these."""
    triples = [triple for triple, times in counts.items() for _ in range(times)]
    gold, one, other = [by_item(list(side)) for side in zip(*triples, strict=True)]
    found = score_people_answers(TaskSpec("task", "classification", "eng"), gold, {"1": one, "2": other})
    assert found.main_score_per_annotator() == pytest.approx(annotators, abs=1e-6)
    assert found.score() == pytest.approx(vote, abs=1e-6)
    assert found.scores()["recall"] == pytest.approx(vote_recall, abs=1e-6)
    turned = TaskSpec("task", "classification", "eng", labels=(1, 0))
    assert score_people_answers(turned, gold, {"1": one, "2": other}).scores()["recall"] != pytest.approx(vote_recall)


def test_sts_check_values() -> None:
    """HUME section 6: the rating is averaged, not the correlation."""
    gold = by_item([0, 1, 2, 3, 4, 5, 2.5, 3.5])
    answers = {"r1": by_item([0, 1, 1, 3, 5, 4, 2, 4]), "r2": by_item([2, 0, 2, 1, 4, 5, 4, 3])}
    found = score_people_answers(TaskSpec("sts", "sts", "eng"), gold, answers)
    assert found.main_score_per_annotator() == pytest.approx([0.951876, 0.710895], abs=1e-6)
    assert found.score() == pytest.approx(0.946125, abs=1e-6)
    assert found.score("mean") == pytest.approx((0.951876 + 0.710895) / 2, abs=1e-6)
    assert found.score("first") == found.main_score_per_annotator()[0]


def test_a_rating_that_one_annotator_left_out_is_the_others() -> None:
    """Each annotator over own items, the pool over all."""
    gold = by_item([1.0, 2.0, 3.0])
    answers = {"a": by_item([1.0, 3.0]), "b": by_item([2.0, 2.0, 5.0]), "c": {}}
    task = TaskSpec("sts", "sts", "eng")
    assert pool_annotator_answers(task, answers) == {"00": 1.5, "01": 2.5, "02": 5.0}
    found = score_people_answers(task, gold, answers)
    assert {name: one.items for name, one in found.annotators.items()} == {"a": 2, "b": 3}
    assert (found.items, found.pooled.items) == (3, 3)
    assert found.score() == pytest.approx(1)


def test_clusters_are_averaged_over_annotators_and_never_pooled() -> None:
    """HUME section 4; an annotator's ids mean nothing to another."""
    gold = by_item([0, 0, 0, 1, 1, 1, 2, 2, 2])
    answers = {"a": by_item(list("555577999")), "b": by_item(list("xxxyyyzzz"))}
    found = score_people_answers(TaskSpec("topics", "clustering", "eng"), gold, answers)
    assert found.score() == pytest.approx((0.786013 + 1) / 2, abs=1e-6)
    assert found.scores()["ari"] == pytest.approx((0.642857 + 1) / 2, abs=1e-6)
    with pytest.raises(UsageError, match="cannot be pooled"):
        found.score("pooled")


def test_marks_are_averaged_as_scores_and_pooled_as_mean_marks() -> None:
    """The mean of the two MAPs is the paper's; the mean mark ranks what both marked first."""
    gold = {"q": (1, 1, 1, 0, 0, 0, 0)}
    answers = {"a": {"q": (1, 1, 0, 1, 0, 0, 0)}, "b": {"q": (1, 1, 1, 1, 0, 0, 0)}}
    found = score_people_answers(TaskSpec("ranked", "reranking", "eng"), gold, answers)
    assert found.score() == pytest.approx((0.587302 + 0.75) / 2, abs=1e-6)
    # Scores 1 1 .5 1 0 0 0: three at the top, two relevant; then the third.
    assert found.score("pooled") == pytest.approx(2 / 3 * 2 / 3 + 1 / 3 * 3 / 4)
    in_order = score_people_answers(
        TaskSpec("ranked", "reranking", "eng"), gold, answers, human_ap_mode="display_order"
    )
    assert in_order.main_score_per_annotator() == pytest.approx([(1 + 1 + 3 / 4) / 3, 1])


def test_constant_answers_score_zero() -> None:
    """The zero rules of HUME section 4: one id, one gold group, one rating."""
    assert set(clustering_scores([0, 0, 1], ["x", "x", "x"]).values()) == {0.0}
    assert set(clustering_scores([0, 0], ["x", "x"]).values()) == {0.0}
    flat = sts_scores([1, 2, 3], [2, 2, 2])
    assert (flat["spearman"], flat["pearson"]) == (0, 0)
    assert flat["mse"] == pytest.approx(2 / 3)
    assert sts_scores([2, 2], [1, 3])["spearman"] == 0


labelled = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=20)


@given(labelled, st.permutations("vwxyz"))
def test_classification_agrees_with_scikit_learn(pairs: list[tuple[int, int]], names: list[str]) -> None:
    """With zero_division=0; labels may be renamed."""
    from sklearn.metrics import accuracy_score, f1_score, precision_score, recall_score

    gold, said = [list(side) for side in zip(*pairs, strict=True)]
    found = classification_scores(gold, said)
    options = {"average": "macro", "zero_division": 0}
    assert found == pytest.approx(
        {
            "accuracy": accuracy_score(gold, said),
            "f1": f1_score(gold, said, **options),
            "f1_weighted": f1_score(gold, said, average="weighted", zero_division=0),
            "precision": precision_score(gold, said, **options),
            "recall": recall_score(gold, said, **options),
        }
    )
    renamed = classification_scores([names[i] for i in gold], [names[i] for i in said])
    assert renamed == pytest.approx(found)


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=7), st.permutations("abc"))
def test_the_vote(votes: list[str], order: list[str]) -> None:
    """Nobody has more votes than the winner, nobody before it in the order as many; the order of votes is nothing."""
    winner = majority_vote(votes, order)
    assert all(votes.count(other) < votes.count(winner) for other in order[: order.index(winner)])
    assert all(votes.count(other) <= votes.count(winner) for other in order)
    assert majority_vote(votes[::-1], order) == winner
    assert majority_vote(votes) == majority_vote(votes, "abc")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: majority_vote([]), "Nobody voted"),
        (lambda: majority_vote([1, "a"]), "cannot be ordered"),
        (lambda: majority_vote(["c"], ["a", "b"]), "Not a label.*: c"),
        (lambda: classification_scores([1], []), "1 gold labels and 0 answers"),
        (lambda: clustering_scores([], []), "0 gold values"),
        (lambda: sts_scores([1.0], []), "1 gold values"),
        (lambda: score_people_answers(TaskSpec("t", "sts", "eng"), {}, {"a": {}}), "Nobody answered any item of t"),
        (lambda: score_people_answers(TaskSpec("t", "sts", "eng"), {}, {"a": {"1": 2.0}}), "Item 1 of t has no gold"),
        (
            lambda: score_people_answers(TaskSpec("t", "sts", "eng"), {"1": 1.0}, {"a": {"1": 2.0}}).score("best"),
            "aggregation is 'best'",
        ),
    ],
)
def test_refused(call, message: str) -> None:
    """With what is wrong."""
    with pytest.raises(UsageError, match=message):
        call()
