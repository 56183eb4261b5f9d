"""What a comparison says on a terminal."""

from __future__ import annotations

import math
from dataclasses import replace

from embassay.protocols.compare import (
    RankedSystemGroup,
    ReplicatePairingVerdict,
    SystemContrast,
    SystemPairComparison,
    SystemRankAtPlace,
)
from embassay.protocols.kernel.quantities import forecast_difference_with_more_items
from embassay.report.terminal import choose_verdict_contrast, compared_pair_view, ranked_groups_view
from report.pages import printed

NONE = SystemContrast(
    "a", "b", "overall", "", "overall", None, None, None, reason="a: preference was not part of the run"
)
ON_SET = SystemContrast(
    "a", "b", "sts", "one", "spearman", 0.8, 0.7, 0.1, 0.05, 0.15, 0.02, 0.001, 0.002, 0.06, 40,
    "t test", df=39.0,
)  # fmt: skip
OVER = replace(ON_SET, dataset="", df=12.4)


def test_the_verdict_is_on_the_first_difference_over_datasets() -> None:
    """A run of few tasks has no overall score; that is said below, not in place of the finding."""
    pair = SystemPairComparison((NONE, ON_SET, OVER), (), ReplicatePairingVerdict(True))
    assert choose_verdict_contrast(pair.contrasts) is OVER
    text = printed(compared_pair_view(pair, "sage"))
    assert text.startswith("a beats b on sts by 0.100")
    assert "t test, 12 to 39 degrees of freedom" in " ".join(text.split())
    assert "overall: a: preference was not part of the run." in text
    alone = SystemPairComparison((NONE,), (), ReplicatePairingVerdict(True))
    assert printed(compared_pair_view(alone, "sage")).startswith("a and b cannot be compared overall: a: preference")


def test_known_errors_have_no_degrees() -> None:
    pair = SystemPairComparison((replace(OVER, df=math.inf),), (), ReplicatePairingVerdict(True))
    assert "degrees" not in printed(compared_pair_view(pair, "sage"))


def test_what_more_items_would_buy_is_in_the_units_of_the_run() -> None:
    """HUME speaks in points, SAGE in scores."""
    open_ = SystemPairComparison(
        (replace(OVER, p=0.2, p_adjusted=0.2, low=-0.05, high=0.25),), (), ReplicatePairingVerdict(True)
    )
    half = forecast_difference_with_more_items(0.1, 0.15, 40)[0].half
    assert f"± {half:.3f}" in printed(compared_pair_view(open_, "sage"))
    assert f"± {100 * half:.2f}" in printed(compared_pair_view(open_, "hume"))


def _entrant(
    system: str, value: float, low: float | None, high: float | None, first: int, last: int, best: float
) -> SystemRankAtPlace:
    return SystemRankAtPlace(value, low, high, 9, system=system, rank_low=first, rank_high=last, best=best)


def test_what_has_no_ranks_comes_last() -> None:
    bare = RankedSystemGroup(
        "overall", "", "overall", "", (), (), (("a", "not run"),), "fewer than two systems with a value"
    )
    full = RankedSystemGroup(
        "sts", "", "sts", "", (_entrant("a", 0.5, 0.4, 0.6, 1, 1, 0.99), _entrant("b", 0.2, 0.1, 0.3, 2, 2, 0.01))
    )
    text = printed(ranked_groups_view([bare, full], "sage"))
    assert text.index("sts. a beats every other system.") < text.index("overall. No ranks")


def test_who_alone_may_be_first_is_not_said_to_be_first() -> None:
    """No test sets a apart from b, another one sets b behind c: a may be first, and does not beat all. A system under a
    reference is not named."""
    rows = [("a", 0.5, 1, 2), ("b", 0.4, 2, 3), ("c", 0.3, 1, 3)]
    entrants = tuple(_entrant(name, value, None, None, low, high, 0.3) for name, value, low, high in rows)
    below = RankedSystemGroup("sts", "", "sts", "", entrants, floor=0.35)
    assert "sts. Only a may be first and scores above the baselines." in printed(ranked_groups_view([below], "sage"))
    assert "sts. a and c may be first." in printed(ranked_groups_view([replace(below, floor=None)], "sage"))
