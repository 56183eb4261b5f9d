"""Items to practise on, which do not count: of the data's other rows with their gold, or our own where it has none."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from embassay.protocols.hume.folder.formats import LabelChoice, Practice, Scale
from embassay.protocols.hume.simulated import on_scale
from embassay.protocols.hume.study import Family

SHORT = 400
"""Characters up to which a text is preferred for practice: it is to show the page, not to take time."""


def short_first(places: Sequence[int], texts: Sequence[str]) -> list[int]:
    """Places of short texts before long ones, else in their order."""
    return sorted(places, key=lambda place: len(texts[place]) > SHORT)


def label_practice(text: str, label: LabelChoice) -> Practice:
    """A text whose label is told."""
    means = f" {label.description}" if label.description else ""
    return Practice(
        payload={"text": text}, answer=label.value, explanation=f"In the data this is {label.name}.{means}"
    )


def rating_practice(one: str, other: str, score: float, scale: Scale) -> Practice:
    """A pair whose rating is told."""
    answer = on_scale(score, scale)
    words = scale.anchors.get(f"{answer:g}") or scale.anchors.get(f"{int(answer + 0.5)}", "")
    near = "" if answer == score else f", which is nearest to {answer:g}"
    return Practice(
        payload={"text1": one, "text2": other}, answer=answer,
        explanation=f"In the data the rating is {score:g}{near}. {words}".strip(),
    )  # fmt: skip


def marks_practice(payload: dict[str, Any], marks: Sequence[int]) -> Practice:
    """A query whose relevant documents are told."""
    places = [str(place) for place, mark in enumerate(marks, 1) if mark]
    which = f"document {places[0]} is" if len(places) == 1 else f"documents {' and '.join(places)} are"
    return Practice(
        payload=payload, answer=list(marks),
        explanation=f"In the data {which} relevant. The others have words in common with the query, but do not "
        "answer it.",
    )  # fmt: skip


def groups_practice(texts: Sequence[str], groups: Sequence[str]) -> Practice:
    """Texts whose groups are told by number, since the names of gold clusters may come back in the study."""
    numbers = {group: f"{place}" for place, group in enumerate(dict.fromkeys(groups), 1)}
    return Practice(
        payload={"texts": list(texts)}, answer=[numbers[group] for group in groups],
        explanation=f"In the data these texts are of {len(numbers)} topics. Other ways to sort them may make sense "
        "too: how broad a topic is, is up to you.",
    )  # fmt: skip


def own_practice(family: Family) -> list[Practice]:
    """Our own practice items in English: none for a classification, whose labels are the data's."""
    from embassay.data.yaml import read_yaml

    path = files("embassay.protocols.hume.sampling") / "guidelines" / "practice.yaml"
    return [Practice.model_validate(one) for one in read_yaml(path).get(family, ())]  # type: ignore[arg-type]
