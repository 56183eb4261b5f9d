"""Texts to label: as many of every label, from what is tested on; practice from what is trained on."""

from __future__ import annotations

from embassay.protocols.hume.folder.formats import Practice
from embassay.protocols.hume.sampling.choosing import Choice, equal_per_label, seeded
from embassay.protocols.hume.sampling.drawn import Chosen, Drawn, counted
from embassay.protocols.hume.sampling.practice import label_practice, short_first
from embassay.protocols.hume.sampling.repeats import contradicted, first_of_each, plain
from embassay.protocols.hume.sampling.request import TaskRequest
from embassay.protocols.hume.sampling.told import label_choices
from embassay.records import LabelledTexts


def draw_classification(
    tested: LabelledTexts, trained: LabelledTexts | None, request: TaskRequest, n: int, seed: int
) -> Drawn:
    """`n` texts of `tested`, equal per label. A text that is there with several labels is left out; one that `trained`
    has with another label is kept and marked as ambiguous."""
    wrong = contradicted(tested.texts, tested.labels)
    pool = [place for place in first_of_each(tested.texts) if plain(tested.texts[place]) not in wrong]
    choice = _chosen(tested, pool, n, seed)
    taken = set(choice.positions)
    other = {} if trained is None else _labels_of(trained)
    items = tuple(_item(tested, place, other) for place in choice.positions)
    labels = sorted({*tested.labels, *(trained.labels if trained else ())})
    rest = [place for place in pool if place not in taken]
    notes = (
        *choice.notes,
        *counted(len(wrong), "text", "with several labels left out"),
        *counted(len(tested) - len(set(map(plain, tested.texts))), "repeated text", "left out"),
        *(() if trained else ("no training rows: models train on rows that were not drawn",)),
    )
    shown = {item.text for item in items}
    practice = _practice(trained or tested, None if trained else rest, shown, labels, request, seed)
    return Drawn(items, practice, tuple(labels), notes, trained=trained.texts if trained else ())


def _chosen(tested: LabelledTexts, pool: list[int], n: int, seed: int) -> Choice:
    choice = equal_per_label(
        [tested.ids[place] for place in pool], [tested.labels[place] for place in pool], n, seed
    )
    return Choice(tuple(pool[place] for place in choice.positions), choice.notes)


def _item(tested: LabelledTexts, place: int, other: dict[str, set[str]]) -> Chosen:
    text, label = tested.texts[place], tested.labels[place]
    ambiguous = bool(other.get(plain(text), set()) - {label})
    return Chosen({"text": text}, label, tested.ids[place], defects=("ambiguous_label",) if ambiguous else ())


def _labels_of(texts: LabelledTexts) -> dict[str, set[str]]:
    """Text, as compared -> the labels it has."""
    labels: dict[str, set[str]] = {}
    for text, label in zip(texts.texts, texts.labels, strict=True):
        labels.setdefault(plain(text), set()).add(label)
    return labels


def _practice(
    source: LabelledTexts, places: list[int] | None, shown: set[str], labels: list[str],
    request: TaskRequest, seed: int,
) -> tuple[Practice, ...]:  # fmt: skip
    """One text each of some labels, from rows that are no items."""
    seen = {plain(text) for text in shown}
    rows = range(len(source)) if places is None else places
    free = [place for place in rows if plain(source.texts[place]) not in seen]
    order = [free[place] for place in seeded([source.ids[place] for place in free], seed, "practice")]
    first: dict[str, int] = {}
    for place in short_first(order, source.texts):
        first.setdefault(source.labels[place], place)
    choices = {str(one.value): one for one in label_choices(labels, request.labels)}
    drawn = [sorted(first)[place] for place in seeded(sorted(first), seed, "practice labels")]
    return tuple(
        label_practice(source.texts[first[label]], choices[label]) for label in drawn[: request.practice]
    )
