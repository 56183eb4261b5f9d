"""The sentences of claims that several pages make: who may be first, and what lies between the two best."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from embassay.document.blocks import Part, Sentence, join_names_with_and
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.claims import EQUAL, VERBS, Claim, split_first_place_sentence_at_name
from embassay.protocols.kernel.tables import POINTS, MeasureFormat

Naming = Callable[[str], Part]
"""A system's name as a sentence shows it."""


def describe_first_ranked(
    claims: Sequence[Claim],
    naming: Naming,
    on: str,
    *,
    every: str = "system",
    noun: str = "system",
    anyone: str = "system",
) -> Sentence:
    """Who is first, alone may be, or may be beside others. `every` names those that the first one beats, `noun` those
    that may be first, `anyone` what is ranked."""
    before, after = split_first_place_sentence_at_name(claims[0], on, every=every, noun=noun, anyone=anyone)
    named: tuple[Part, ...] = (naming(claims[0].subject), after) if after else ()
    return (*([before] if before else []), *named)


def describe_others_maybe_first(
    claims: Sequence[Claim], named: Sequence[str], naming: Naming, most: int = 4
) -> Sentence:
    """Who may be first beside those that are `named` already; empty where nobody."""
    others = [claim.subject for claim in claims if claim.subject not in named]
    if not others:
        return ()
    parts: list[Part] = [naming(name) for name in others[:most]]
    if len(others) > most:
        parts.append(f"{numbers.format_small_count_in_words(len(others) - most)} more")
    return (" ", *join_names_with_and(parts), " may also be first.")


def describe_gap_of_best_two(
    claim: Claim,
    naming: Naming,
    value: Callable[[str], float],
    unit: MeasureFormat,
    apart: str,
    first: Sequence[Claim] = (),
) -> Sentence:
    """The distance of the two best, with what the test says of it in the words `apart`, and who else of the `first` may
    be so."""
    a, b = claim.subject, claim.others[0]
    size, low, high = claim.value or 0.0, claim.low or 0.0, claim.high or 0.0
    gap = unit.format_value_in_text(size) + (" points" if unit is POINTS else "")
    if claim.relation == "untested":
        alike = f" both score {unit.format_value_in_text(value(a))}" if abs(size) < EQUAL else f" differ by {gap}"
        return (naming(a), " and ", naming(b), f"{alike} in every resample, so nothing is tested.")
    is_certain = high - low <= EQUAL
    gap += " in every resample" if is_certain else f" (95% interval {unit.format_interval_in_text(low, high)})"
    values: list[Sentence] = [(naming(name), f" {unit.format_value_in_text(value(name))}") for name in (a, b)]
    if claim.relation == "beats":
        more = describe_others_maybe_first(first, (a,), naming)
        return (*values[0], f" {VERBS['beats']} ", *values[1], f", the next, by {gap}.", *more)
    more = describe_others_maybe_first(first, (a, b), naming)
    return (*values[0], " and ", *values[1], f" differ by {gap} and {apart}.", *more)
