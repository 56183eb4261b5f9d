"""Adjudication: the items that annotators answered differently, most disputed first, and the gold that comes of it.

Whoever adjudicates sees what people answered, never who, and decides as an annotator answers. A decision replaces the
gold of its item; an item that cannot be judged is left out; gold that nobody disputes, or whose dispute is open, stays.
Clusters are decided as one: a text alone has no right group.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from embassay.protocols.hume.answers.store import Saved
from embassay.protocols.hume.folder import AnnotationRow, StudyFolder, Task
from embassay.protocols.hume.options import GoldKind
from embassay.protocols.hume.study import Answers, Gold, Item, read_value
from embassay.protocols.hume.tables import how_apart
from embassay.randomness import random_bytes

GOLD: tuple[GoldKind, ...] = get_args(GoldKind)
"""Gold as it was; with decisions in it; and also with what two or more people all say against it."""
Why = Literal["undisputed", "kept", "changed", "left out", "open", "split", "consensus", "contradicted"]
"""What became of an item's gold: nobody disputes it; a decision says the same, or another; it cannot be judged; no
decision yet; adjudicators decided differently; all people say another and are believed, or are only counted."""


@dataclass(frozen=True)
class Dispute:
    """An item to decide, and what people answered: `given` are their values, of clusters with a `letter` for each
    person that is the same on all items; `refused` said that it cannot be judged, `remarks` are flags and comments."""

    item: str
    apart: float
    given: tuple[tuple[str, Any], ...]
    refused: int = 0
    remarks: tuple[str, ...] = ()


def answers_of(folder: StudyFolder, task: Task, rows: Iterable[AnnotationRow]) -> dict[str, dict[str, Any]]:
    """What everybody answered to a task, as its family compares it; items left open are not there. No gold is read.

    Raises DataError for a value that the task does not know.
    """
    payloads = {item.id: item.payload for item in folder.items_of(task.name)}
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row.item_id not in payloads or row.value is None:
            continue
        like = (0,) * len(payloads[row.item_id].get("documents", ())) if task.family == "reranking" else None
        where = f"The answer of {row.annotator_id} to {row.item_id}"
        value = read_value(task.spec, row.value, where, like=like)
        if value is not None:
            found.setdefault(row.annotator_id, {})[row.item_id] = value
    return found


def disputes(folder: StudyFolder, task: Task, rows: Sequence[AnnotationRow]) -> tuple[Dispute, ...]:
    """The items of a task that people answered differently, or that some could not judge, the farthest apart first,
    ties by id; of clusters all items where there is one."""
    items = folder.items_of(task.name)
    answers = answers_of(folder, task, rows)
    apart = how_apart(task.family, items, answers)
    refused = Counter(row.item_id for row in rows if row.value is None and row.flag)
    for item, times in refused.items():
        if item in apart and (answered := sum(item in own for own in answers.values())):
            n = times + answered
            apart[item] = max(apart[item], times * answered / (n * (n - 1) / 2))
    if not any(apart.values()):
        return ()
    letters = _letters(folder.study.seed, task.name, answers)
    wanted = [item for item in items if apart[item.id] > 0 or task.family == "clustering"]
    found = [
        Dispute(
            item.id, apart[item.id], tuple(_given(task, item, answers, letters)), refused[item.id],
            tuple(_remarks(row for row in rows if row.item_id == item.id)),
        )
        for item in wanted
    ]  # fmt: skip
    return tuple(sorted(found, key=lambda one: (-one.apart, one.item)))


def _letters(seed: int, task: str, answers: Answers) -> dict[str, str]:
    """A letter for everybody, by a draw: neither the order of names nor that of links tells whose it is."""
    drawn = sorted(answers, key=lambda name: random_bytes(16, seed, "adjudication", task, name))
    return {name: _numbered(place) for place, name in enumerate(drawn)}


def _numbered(place: int) -> str:
    turn, letter = divmod(place, 26)
    return chr(ord("A") + letter) + (str(turn + 1) if turn else "")


def _given(task: Task, item: Item, answers: Answers, letters: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    if task.family == "clustering":
        yield from sorted((letters[name], own[item.id]) for name, own in answers.items() if item.id in own)
        return
    yield from (("", value) for value in _plainly(answers, item.id))


def _plainly(answers: Answers, item: str) -> tuple[Any, ...]:
    """What people answered, in an order that says nothing of who."""
    given = [values[item] for values in answers.values() if item in values]
    plain = [list(value) if isinstance(value, tuple) else value for value in given]
    return tuple(sorted(plain, key=lambda value: (isinstance(value, str), value)))


def _remarks(rows: Iterable[AnnotationRow | Saved]) -> Iterator[str]:
    yield from sorted({text for row in rows for text in (row.flag, row.comment) if text})


@dataclass(frozen=True)
class Correction:
    """What became of the gold of an item. `reasons` are the flags and comments of those who decided."""

    item: str
    before: Any
    after: Any
    why: Why
    reasons: tuple[str, ...] = ()
    answers: tuple[Any, ...] = field(default=())


def corrections(
    folder: StudyFolder,
    task: Task,
    gold: Gold,
    rows: Sequence[AnnotationRow],
    decisions: Mapping[str, Mapping[str, Saved]],
    kind: GoldKind = "adjudicated",
) -> tuple[Correction, ...]:
    """The gold of every item of a task after adjudication, in the order of the items. `decisions` are those of each
    adjudicator, by item."""
    items = folder.items_of(task.name)
    answers = answers_of(folder, task, rows)
    disputed = {one.item for one in disputes(folder, task, rows)}
    own = {
        name: {item.id: made[item.id] for item in items if item.id in made}
        for name, made in decisions.items()
    }
    own = {name: {key: one for key, one in made.items() if one.is_decided} for name, made in own.items()}
    if kind == "original":
        found = {item.id: (gold[item.id], "undisputed") for item in items}
    elif task.family == "clustering":
        found = _partition(items, gold, disputed, own)
    else:
        found = {item.id: _decided(task, item, gold, answers, disputed, own, kind) for item in items}
    return tuple(
        Correction(
            item.id, gold[item.id], after, why,  # type: ignore[arg-type]
            tuple(_remarks(made[item.id] for made in own.values() if item.id in made)),
            () if task.family == "clustering" else _plainly(answers, item.id),
        )
        for item in items
        for after, why in (found[item.id],)
    )  # fmt: skip


def _decided(
    task: Task, item: Item, gold: Gold, answers: Answers, disputed: set[str],
    own: Mapping[str, Mapping[str, Saved]], kind: GoldKind,
) -> tuple[Any, str]:  # fmt: skip
    before, made = gold[item.id], [one[item.id] for one in own.values() if item.id in one]
    if made:
        values = [_like_gold(task, item, one.value, before) for one in made]
        if any(value != values[0] for value in values[1:]):
            return before, "split"
        if values[0] is None:
            return None, "left out"
        return values[0], "kept" if values[0] == before else "changed"
    if item.id in disputed:
        return before, "open"
    said = [values[item.id] for values in answers.values() if item.id in values]
    if len(said) < 2 or (value := _like_gold(task, item, said[0], before)) == before:
        return before, "undisputed"
    return (value, "consensus") if kind == "consensus" and value is not None else (before, "contradicted")


def _like_gold(task: Task, item: Item, value: Any, before: Any) -> Any:
    """An answer in the form of gold. Marks that say what grades say are those grades; no relevant document is none."""
    if value is None:
        return None
    like = before if task.family == "reranking" else None
    read = read_value(task.spec, tuple(value) if isinstance(value, list) else value, item.id, like=like)
    if task.family != "reranking":
        return read
    if list(read) == [int(grade > 0) for grade in before]:
        return before
    return read if any(read) else None


def _partition(
    items: Sequence[Item], gold: Gold, disputed: set[str], own: Mapping[str, Mapping[str, Saved]]
) -> dict[str, tuple[Any, str]]:
    """All groups or none: those of the adjudicators who have sorted everything, if they agree."""
    whole = [made for made in own.values() if all(item.id in made for item in items)]
    if not disputed or not whole:
        why = "open" if disputed else "undisputed"
        return {item.id: (gold[item.id], why) for item in items}
    values = {item.id: whole[0][item.id].value for item in items}
    if any(_mates({item.id: made[item.id].value for item in items}) != _mates(values) for made in whole[1:]):
        return {item.id: (gold[item.id], "split") for item in items}
    before, after = _mates(gold), _mates(values)
    if before == after:
        return {item.id: (gold[item.id], "kept") for item in items}
    return {
        item: (None, "left out") if value is None
        else (value, "kept" if after[item] == before[item] else "changed")
        for item, value in values.items()
    }  # fmt: skip


def _mates(groups: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    """The items that each item is with; one without a group is with none, not even itself."""
    members: dict[Any, set[str]] = {}
    for item, group in groups.items():
        if group is not None:
            members.setdefault(group, set()).add(item)
    return {item: frozenset(members.get(group, ())) for item, group in groups.items()}
