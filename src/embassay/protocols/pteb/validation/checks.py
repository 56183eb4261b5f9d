"""The five steps from ratings to results (spec section 10): dummies, estimates, low ratings, inspection, rejection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from embassay.protocols.pteb.validation.pairs import Item
from embassay.protocols.pteb.validation.rules import Rules

Fate = Literal["kept", "cleared", "rejected"]


@dataclass(frozen=True)
class Rating:
    """What one rater said of one pair, from 0 to 5; of a language model, its estimate."""

    pair_id: str
    rater_id: str
    value: float
    ts: str = ""


@dataclass(frozen=True)
class Decisions:
    """What the inspector wrote down: a rating of their own per pair, and raters cleared or rejected with the reason."""

    inspected: Mapping[str, float]
    cleared: Mapping[str, str]
    rejected: Mapping[str, str]


NO_DECISIONS = Decisions({}, {}, {})


@dataclass(frozen=True)
class Flag:
    """A rating to be inspected: why, and what the models said of the pair."""

    rating: Rating
    reasons: tuple[str, ...]
    estimates: Mapping[str, float]


@dataclass(frozen=True)
class RaterVerdict:
    """What became of one rater.

    `ratings` counts ratings of pairs proper, `missing` pairs and dummies of the rater's languages that were left
    blank; `far` are the pairs rated far from the inspector and from all models.
    """

    rater_id: str
    langs: tuple[str, ...]
    ratings: int
    missing: int
    dummies_passed: int
    dummies_failed: int
    dummies_missing: int
    flagged: int
    far: tuple[str, ...]
    fate: Fate
    reason: str


@dataclass(frozen=True)
class Checked:
    """The ratings that count, what is to be inspected, and every rater's verdict. `not_inspected` are flagged pairs
    that the inspector has not rated yet."""

    kept: tuple[Rating, ...]
    flags: tuple[Flag, ...]
    raters: tuple[RaterVerdict, ...]
    not_inspected: tuple[str, ...]


def check(
    ratings: Sequence[Rating],
    items: Mapping[str, Item],
    rules: Rules,
    *,
    estimates: Iterable[Rating] = (),
    decisions: Decisions = NO_DECISIONS,
) -> Checked:
    """Apply the five steps to the ratings of pairs and dummies alike. `items` is the key by pair id.

    `kept` are the ratings of pairs proper by raters who were not rejected.
    """
    said: dict[str, dict[str, float]] = {}
    for one in estimates:
        said.setdefault(one.pair_id, {})[one.rater_id] = one.value
    flags = tuple(
        Flag(one, reasons, said.get(one.pair_id, {}))
        for one in ratings
        if (reasons := _reasons(one, items[one.pair_id], said.get(one.pair_id, {}), rules))
    )
    raters = tuple(
        _verdict(rater, ratings, flags, items, rules, decisions)
        for rater in dict.fromkeys(one.rater_id for one in ratings)
    )
    out = {one.rater_id for one in raters if one.fate == "rejected"}
    kept = (one for one in ratings if one.rater_id not in out and not items[one.pair_id].is_dummy)
    waiting = dict.fromkeys(flag.rating.pair_id for flag in flags if not items[flag.rating.pair_id].is_dummy)
    return Checked(
        tuple(kept), flags, raters, tuple(pair for pair in waiting if pair not in decisions.inspected)
    )


def fails(rating: Rating, item: Item, rules: Rules) -> bool:
    """Whether this is a dummy rated too far from what is expected (step 1)."""
    return item.expected is not None and _apart(rating.value, item.expected, rules.dummy_tolerance)


def _reasons(rating: Rating, item: Item, estimates: Mapping[str, float], rules: Rules) -> tuple[str, ...]:
    """Why a rating is to be inspected (steps 1 to 3); a dummy that passes never is."""
    if item.expected is not None:
        far = fails(rating, item, rules)
        return (f"a dummy, expected {item.expected:g}",) if far else ()
    far_from = [
        f"{judge} estimates {value:g}"
        for judge, value in estimates.items()
        if _apart(rating.value, value, rules.deviation)
    ]
    return (*far_from, *((f"rated {rules.low:g} or lower",) if rating.value <= rules.low else ()))


def _is_far(flag: Flag, rules: Rules, decisions: Decisions) -> bool:
    """Whether the rating is far both from the inspector's and from every model's (step 5); not where one of the two
    is missing."""
    inspected = decisions.inspected.get(flag.rating.pair_id)
    if inspected is None or not flag.estimates:
        return False
    others = (inspected, *flag.estimates.values())
    return all(_apart(flag.rating.value, other, rules.deviation) for other in others)


def _apart(a: float, b: float, limit: float) -> bool:
    """Whether two ratings differ by more than `limit`; the last bits of 4.2 - 2.2 do not count."""
    return abs(a - b) > limit + 1e-9


def _verdict(
    rater: str,
    ratings: Sequence[Rating],
    flags: Sequence[Flag],
    items: Mapping[str, Item],
    rules: Rules,
    decisions: Decisions,
) -> RaterVerdict:
    own = [one for one in ratings if one.rater_id == rater]
    langs = tuple(dict.fromkeys(items[one.pair_id].lang for one in own))
    due = [item for item in items.values() if item.lang in langs]
    dummies = [one for one in own if items[one.pair_id].is_dummy]
    failed = [one for one in dummies if fails(one, items[one.pair_id], rules)]
    flagged = [flag for flag in flags if flag.rating.rater_id == rater]
    far = tuple(
        flag.rating.pair_id
        for flag in flagged
        if not items[flag.rating.pair_id].is_dummy and _is_far(flag, rules, decisions)
    )
    fate, reason = _fate(rater, failed, far, items, rules, decisions)
    return RaterVerdict(
        rater_id=rater,
        langs=langs,
        ratings=len(own) - len(dummies),
        missing=len(due) - len(own),
        dummies_passed=len(dummies) - len(failed),
        dummies_failed=len(failed),
        dummies_missing=sum(item.is_dummy for item in due) - len(dummies),
        flagged=len(flagged),
        far=far,
        fate=fate,
        reason=reason,
    )


def _fate(
    rater: str,
    failed: Sequence[Rating],
    far: Sequence[str],
    items: Mapping[str, Item],
    rules: Rules,
    decisions: Decisions,
) -> tuple[Fate, str]:
    """Step 5. The inspector's word stands above the rules, and both are told."""
    found = [
        f"rated the {items[one.pair_id].kind} pair {one.pair_id} {one.value:g}, expected "
        f"{items[one.pair_id].expected:g}"
        for one in failed
    ]
    if len(far) >= rules.repeated:
        found.append(
            f"{len(far)} ratings are more than {rules.deviation:g} from the inspector's and from every model's"
        )
    reason = "; ".join(found)
    if rater in decisions.rejected:
        return "rejected", "; ".join(filter(None, (f"inspector: {decisions.rejected[rater]}", reason)))
    if rater in decisions.cleared and reason:
        return "cleared", f"inspector: {decisions.cleared[rater]} (otherwise: {reason})"
    return ("rejected" if reason else "kept"), reason
