"""Texts to group: a few gold clusters with as many texts each; practice from clusters that were not drawn."""

from __future__ import annotations

from collections.abc import Sequence

from embassay.protocols.hume.folder.formats import Practice
from embassay.protocols.hume.sampling.choosing import gold_groups, seeded
from embassay.protocols.hume.sampling.drawn import Chosen, Drawn, counted
from embassay.protocols.hume.sampling.practice import groups_practice, own_practice, short_first
from embassay.protocols.hume.sampling.repeats import contradicted, first_of_each, plain
from embassay.protocols.hume.sampling.request import TaskRequest
from embassay.records import LabelledTexts

EACH = 3
"""Texts of each cluster to practise on."""


def draw_clustering(texts: LabelledTexts, request: TaskRequest, n: int, seed: int) -> Drawn:
    """`n` texts of 6 or 5 gold clusters, or of as many as are asked for. Texts of several clusters are left out."""
    wrong = contradicted(texts.texts, texts.labels)
    pool = [place for place in first_of_each(texts.texts) if plain(texts.texts[place]) not in wrong]
    labels = [texts.labels[place] for place in pool]
    choice = gold_groups([texts.ids[place] for place in pool], labels, n, seed, request.groups)
    taken = [pool[place] for place in choice.positions]
    drawn = {texts.labels[place] for place in taken}
    spare = [place for place in pool if texts.labels[place] not in drawn]
    notes = (
        *choice.notes,
        *counted(len(wrong), "text", "of several clusters left out"),
        *counted(len(texts) - len(set(map(plain, texts.texts))), "repeated text", "left out"),
    )
    items = tuple(
        Chosen({"text": texts.texts[place]}, texts.labels[place], texts.ids[place]) for place in taken
    )
    about = (f"{len(drawn)} of {len(set(texts.labels))} gold clusters",)
    return Drawn(items, _practice(texts, spare, request, seed), tuple(sorted(drawn)), notes, about)


def _practice(
    texts: LabelledTexts, spare: Sequence[int], request: TaskRequest, seed: int
) -> tuple[Practice, ...]:
    """One exercise with texts of two clusters that are not in the study, which would tell how broad its topics are; our
    own where there are no two."""
    members: dict[str, list[int]] = {}
    order = [spare[place] for place in seeded([texts.ids[place] for place in spare], seed, "practice")]
    for place in short_first(order, texts.texts):
        members.setdefault(texts.labels[place], []).append(place)
    full = sorted(label for label, held in members.items() if len(held) >= EACH)
    if not request.practice:
        return ()
    if len(full) < 2:
        return tuple(own_practice("clustering"))
    pair = [full[place] for place in seeded(full, seed, "practice clusters")[:2]]
    shown = [place for label in pair for place in members[label][:EACH]]
    mixed = [shown[place] for place in seeded([texts.ids[place] for place in shown], seed, "practice order")]
    return (
        groups_practice([texts.texts[place] for place in mixed], [texts.labels[place] for place in mixed]),
    )
