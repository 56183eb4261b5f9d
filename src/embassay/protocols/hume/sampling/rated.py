"""Pairs to rate: spread over the gold scores; practice of a low, a middle and a high one."""

from __future__ import annotations

from collections.abc import Sequence

from embassay.protocols.hume.folder.formats import Practice, Scale
from embassay.protocols.hume.sampling.choosing import by_bins, seeded
from embassay.protocols.hume.sampling.drawn import Chosen, Drawn, counted, pair_text
from embassay.protocols.hume.sampling.practice import own_practice, rating_practice, short_first
from embassay.protocols.hume.sampling.repeats import contradicted, first_of_each, plain
from embassay.protocols.hume.sampling.request import TaskRequest
from embassay.protocols.hume.simulated import on_scale
from embassay.records import ScoredPairs


def draw_pairs(pairs: ScoredPairs, scale: Scale, request: TaskRequest, n: int, seed: int) -> Drawn:
    """`n` pairs, spread evenly over five bins of the gold score; each pair once, in either order of its texts, and
    texts in one pair only as far as there are enough."""
    joined = [pair_text(one, other) for one, other in zip(pairs.first, pairs.second, strict=True)]
    scores = [float(score) for score in pairs.scores]
    wrong = contradicted(joined, [repr(score) for score in scores])
    pool = [place for place in first_of_each(joined) if plain(joined[place]) not in wrong]
    choice = by_bins(
        [pairs.ids[place] for place in pool], [scores[place] for place in pool],
        [(plain(pairs.first[place]), plain(pairs.second[place])) for place in pool], n, seed,
    )  # fmt: skip
    taken = [pool[place] for place in choice.positions]
    low, high = min(scores), max(scores)
    off = (low, high) != (scale.low, scale.high)
    notes = (
        *choice.notes,
        *counted(len(wrong), "pair", "with several scores left out"),
        *counted(len(joined) - len(set(map(plain, joined))), "repeated pair", "left out"),
        *((f"gold {low:g} to {high:g}, rated {scale.low:g} to {scale.high:g}",) if off else ()),
    )
    items = tuple(_item(pairs, place, scores[place]) for place in taken)
    rest = [place for place in pool if place not in set(taken)]
    return Drawn(items, _practice(pairs, rest, scores, scale, request, seed), notes=notes)


def _item(pairs: ScoredPairs, place: int, score: float) -> Chosen:
    one, other = pairs.first[place], pairs.second[place]
    same = plain(one) == plain(other)
    return Chosen(
        {"text1": one, "text2": other}, score, pairs.ids[place], defects=("same_text",) if same else ()
    )


def _practice(
    pairs: ScoredPairs, rest: Sequence[int], scores: Sequence[float], scale: Scale,
    request: TaskRequest, seed: int,
) -> tuple[Practice, ...]:  # fmt: skip
    """Pairs nearest to evenly spaced levels of the scale, one each, in a drawn order."""
    order = [rest[place] for place in seeded([pairs.ids[place] for place in rest], seed, "practice")]
    short = short_first(order, [one + other for one, other in zip(pairs.first, pairs.second, strict=True)])
    if len(short) < request.practice:
        return tuple(own_practice("sts"))[: request.practice]
    steps = max(request.practice - 1, 1)
    taken: list[int] = []
    for number in range(request.practice):
        level = on_scale(scale.low + (scale.high - scale.low) * number / steps, scale)
        free = [place for place in short if place not in taken]
        taken.append(min(free, key=lambda place: abs(scores[place] - level)))
    mixed = [taken[place] for place in seeded([pairs.ids[place] for place in taken], seed, "practice order")]
    return tuple(
        rating_practice(pairs.first[place], pairs.second[place], scores[place], scale) for place in mixed
    )
