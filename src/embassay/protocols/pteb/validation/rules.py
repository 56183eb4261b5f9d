"""The rules of a human check, fixed and written down before anybody rates."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from embassay.errors import UsageError
from embassay.protocols.kernel.request import check_options, option

LOWEST, HIGHEST = 0.0, 5.0
"""The scale of ratings: from nothing in common to the same meaning."""
VERSION = "1"


@dataclass(frozen=True)
class Rules:
    """When a language is accepted and a rater rejected. The paper's threshold is lost in our source and deduced
    (docs/pteb.md); how often is `repeatedly` is ours."""

    threshold: float = option(3.0, "Mean rating that accepts a language.")
    dummy_tolerance: float = option(1.0, "Largest error on a dummy pair.")
    deviation: float = option(2.0, "Inspect a rating farther than this from a language model's estimate.")
    low: float = option(2.0, "Inspect a rating this low or lower.")
    repeated: int = option(3, "This many ratings far from the inspector and all estimates reject a rater.")

    def __post_init__(self) -> None:
        check_options(self)
        for name in ("threshold", "dummy_tolerance", "deviation", "low"):
            if not LOWEST <= getattr(self, name) <= HIGHEST:
                raise UsageError(f"{name} is {getattr(self, name)}.", mend="Use a number from 0 to 5.")

    def as_dict(self) -> dict[str, Any]:
        """As saved in `rules.json`."""
        return {"version": VERSION, **asdict(self)}

    def in_words(self) -> list[str]:
        """The rules as sentences, in the order in which they are applied."""
        return [
            f"A language is accepted when its mean rating is {self.threshold:g} or more, on a scale of 0 to 5. "
            "The mean is over pairs, a pair being the mean of its ratings by raters who were not rejected.",
            f"Step 1. A rater fails who rates a dummy pair more than {self.dummy_tolerance:g} away from what is "
            "expected (5 for a nearly identical pair, 0 for an unrelated one), and is rejected. A dummy that was not "
            "rated is told, and rejects nobody.",
            "Step 2. Language models estimate every pair. A rating more than "
            f"{self.deviation:g} away from any of their estimates is flagged.",
            f"Step 3. A rating of {self.low:g} or lower is flagged.",
            "Step 4. What steps 1 to 3 flag is translated and inspected by hand; the inspector writes down a rating "
            "of their own.",
            f"Step 5. A rater with {self.repeated} or more ratings that are more than {self.deviation:g} away both "
            "from the inspector's and from every model's estimate of the pair is rejected. The inspector may clear a "
            "rater, or reject one, with a reason. Every rejection is logged with its reason, and all ratings of a "
            "rejected rater are left out.",
            "Where over 5% of a language's pairs have no rating left, there is no verdict on it.",
        ]


def rules_from(plain: dict[str, Any]) -> Rules:
    """The inverse of `Rules.as_dict`; KeyError, TypeError or ValueError for what is not one."""
    if plain["version"] != VERSION:
        raise ValueError(f"version {plain['version']}")
    return Rules(**{name: value for name, value in plain.items() if name != "version"})
