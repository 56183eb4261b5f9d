"""Labels that people chose, against gold: accuracy, the F1s, and the vote of several people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from embassay.errors import UsageError
from embassay.protocols.hume.study import Label


def classification_scores(gold: Sequence[Label], answers: Sequence[Label]) -> dict[str, float]:
    """`accuracy`, macro `f1`, `precision` and `recall`, and `f1_weighted` (by how often gold has a label), 0 to 1.

    Over the labels that gold or answers hold; 0 where a label was never answered (precision) or is never gold (recall).
    Source: spec hume 4, with scikit-learn's names and zero_division=0. Raises UsageError for unequal lengths or no
    items.

    >>> round(classification_scores(list("nnppuu"), list("nnupun"))["f1"], 6)
    0.655556
    """
    if len(gold) != len(answers) or not len(gold):
        raise UsageError(
            f"There are {len(gold)} gold labels and {len(answers)} answers.",
            mend="Give one of each per item, and at least one.",
        )
    true, said = Counter(gold), Counter(answers)
    right = Counter(a for a, b in zip(gold, answers, strict=True) if a == b)
    labels = list(true | said)
    f1 = {label: 2 * right[label] / (true[label] + said[label]) for label in labels}
    return {
        "accuracy": right.total() / len(gold),
        "f1": sum(f1.values()) / len(labels),
        "f1_weighted": sum(true[label] * f1[label] for label in labels) / len(gold),
        "precision": sum(right[label] / said[label] for label in labels if said[label]) / len(labels),
        "recall": sum(right[label] / true[label] for label in labels if true[label]) / len(labels),
    }


def majority_vote(votes: Iterable[Label], order: Sequence[Label] = ()) -> Label:
    """The label with the most votes; among equals the first in `order`, or the smallest where no order is given.

    Two people who disagree are always a tie: so the order decides on half of a hard task. Source: spec hume 4, 11.5.
    Raises UsageError for no votes, a vote that is not in the order, or labels that cannot be sorted.

    >>> majority_vote(["b", "a"]), majority_vote(["b", "a"], order=["b", "a"])
    ('a', 'b')
    """
    counted = Counter(votes)
    if not counted:
        raise UsageError("Nobody voted.", mend="Leave out the items without an answer.")
    best = [label for label, times in counted.items() if times == max(counted.values())]
    if order:
        unknown = counted.keys() - set(order)
        if unknown:
            raise UsageError(
                f"{sorted(map(str, unknown))} is no label of the task.", mend="Name every label in its order."
            )
        return min(best, key=list(order).index)
    try:
        return min(best)
    except TypeError:
        raise UsageError(
            "Labels that are numbers and texts have no order.", mend="Name the labels of the task in order."
        ) from None
