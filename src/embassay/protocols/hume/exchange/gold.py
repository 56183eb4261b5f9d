"""Writes gold after adjudication: data that every run reads, a study with it, and what became of each item and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embassay.errors import UsageError
from embassay.protocols.hume.adjudication import GOLD, Correction, Why, corrections
from embassay.protocols.hume.answers.store import Saved, check_independent, has_store, open_store
from embassay.protocols.hume.collection import all_rows
from embassay.protocols.hume.folder import GOLD as GOLD_FILE
from embassay.protocols.hume.folder import (
    AnnotationRow,
    GoldRow,
    ItemRow,
    StudyFolder,
    Task,
    content_hash,
    read_rows,
    read_study,
    write_annotations,
    write_study,
)
from embassay.protocols.hume.options import GoldKind
from embassay.protocols.hume.study import Item
from embassay.runs.folder import to_json, write_atomic

DATA, CORRECTIONS = "data", "corrections.jsonl"
_SAID: Mapping[Why, str] = {
    "changed": "changed", "kept": "kept by a decision", "left out": "left out: cannot be judged",
    "consensus": "changed to what all people say", "contradicted": "against what all people say, and left as it was",
    "open": "disputed and not decided", "split": "decided differently by adjudicators", "undisputed": "not disputed",
}  # fmt: skip


@dataclass(frozen=True)
class GoldExport:
    """The files, what became of the items of every task, and the tasks that nothing is left of."""

    files: tuple[Path, ...]
    counts: Mapping[str, Mapping[Why, int]]
    emptied: tuple[str, ...] = ()

    def in_words(self) -> Iterator[str]:
        """A line for every task: `mood: 3 changed, 9 not disputed`."""
        for task, counts in self.counts.items():
            yield f"{task}: " + ", ".join(
                f"{counts[why]} {words}" for why, words in _SAID.items() if counts.get(why)
            )


def export_gold(
    study: Path,
    kind: GoldKind,
    out: Path,
    *,
    tasks: Sequence[str] = (),
    answers: bool = False,
    exposed: bool = False,
) -> GoldExport:
    """Write the gold of a study into the new folder `out`.

    `data/TASK.jsonl` are the items with their gold as a dataset, which `-d` of every run takes; `study.json`,
    `items.jsonl` and `gold.jsonl` a study, which `hume score` takes, with people's `answers` where asked for;
    `corrections.jsonl` says of every item what its gold was and is, why, and what people answered, without names.

    UsageError for another kind, an unknown task, a folder that holds something else, and, unless `exposed`, where
    somebody may have seen another's answers.
    """
    if kind not in GOLD:
        raise UsageError(f"There is no gold {kind!r}.", mend=f"Use one of {', '.join(GOLD)}.")
    folder = read_study(study)
    if not exposed:
        check_independent(folder)
    if out.resolve() == study.resolve():
        raise UsageError(f"{out} is the study itself.", mend="Name another --out: its gold stays as it is.")
    chosen = [folder.task(name) for name in dict.fromkeys(tasks)] or list(folder.study.tasks)
    rows, decisions = all_rows(folder), _decisions(folder)
    made = {
        task.name: corrections(folder, task, folder.gold(task.name), rows, decisions, kind) for task in chosen
    }
    left = [task for task in chosen if any(one.after is not None for one in made[task.name])]
    if not left:
        raise UsageError(
            "No item is left: none can be judged.", mend="Look at the decisions, or export --gold original."
        )
    written = _write(folder, left, made, out, kind)
    if answers:
        kept = {one.item for task in left for one in made[task.name] if one.after is not None}
        written += _write_answers(out, rows, kept)
    counts = {name: Counter(one.why for one in own) for name, own in made.items()}
    return GoldExport(tuple(written), counts, tuple(task.name for task in chosen if task not in left))


def _decisions(folder: StudyFolder) -> dict[str, dict[str, Saved]]:
    if not has_store(folder):
        return {}
    store = open_store(folder, read_only=True)
    try:
        return store.decisions()
    finally:
        store.close()


def _write(
    folder: StudyFolder,
    tasks: Sequence[Task],
    made: Mapping[str, Sequence[Correction]],
    out: Path,
    kind: GoldKind,
) -> list[Path]:
    after = {one.item: one.after for task in tasks for one in made[task.name] if one.after is not None}
    items = [item for task in tasks for item in folder.items_of(task.name) if item.id in after]
    held = {row.id: row for _, row in read_rows(folder.path / GOLD_FILE, GoldRow)}
    gold = [held[item.id].model_copy(update={"gold": _plain(after[item.id])}) for item in items]
    shown = [ItemRow(id=item.id, task=item.task, payload=dict(item.payload)) for item in items]
    told = [
        task.model_copy(update={"n": n, "notes": [*task.notes, *_notes(made[task.name], kind)]})
        for task in tasks
        for n in (sum(item.task == task.name for item in items),)
    ]
    # Without the questions of profiles: what people said of themselves is not copied.
    new = {
        "name": f"{folder.study.name}-{kind}",
        "content": content_hash(shown, gold),
        "tasks": told,
        "profile": [],
    }
    study = folder.study.model_copy(update=new)
    write_study(out, study, shown, gold)
    files = [out / name for name in ("study.json", "items.jsonl", GOLD_FILE)]
    for task in tasks:
        lines = (row for item in items if item.task == task.name for row in _data(task, item, after[item.id]))
        files.append(_lines(out / DATA / f"{task.name}.jsonl", lines))
    files.append(_lines(out / CORRECTIONS, _told(tasks, made, held)))
    return files


def _notes(made: Sequence[Correction], kind: GoldKind) -> list[str]:
    counts = Counter(one.why for one in made)
    said = [f"{counts[why]} {_SAID[why]}" for why in _SAID if counts[why] and why != "undisputed"]
    return [f"gold {kind}: {', '.join(said)}"] if said else []


def _data(task: Task, item: Item, gold: Any) -> Iterator[dict[str, Any]]:
    """The rows of an item as a dataset has them: of a query one for each document."""
    payload = item.payload
    if task.family == "sts":
        yield {
            "id": item.id,
            "text": payload["text1"],
            "text2": payload["text2"],
            "score": gold,
            "lang": task.lang,
        }
    elif task.family == "reranking":
        for document, grade in zip(payload["documents"], gold, strict=True):
            yield {
                "query": payload["query"],
                "text": document["text"],
                "label": int(grade),
                "lang": task.lang,
            }
    else:
        yield {"id": item.id, "text": payload["text"], "label": str(gold), "lang": task.lang}


def _told(
    tasks: Sequence[Task], made: Mapping[str, Sequence[Correction]], held: Mapping[str, GoldRow]
) -> Iterator[dict[str, Any]]:
    for task in tasks:
        for one in made[task.name]:
            yield {
                "item_id": one.item, "task": task.name, "source_id": held[one.item].source_id,
                "before": _plain(one.before), "after": _plain(one.after), "why": one.why,
                "reasons": list(one.reasons), "answers": [_plain(value) for value in one.answers],
            }  # fmt: skip


def _write_answers(out: Path, rows: Sequence[AnnotationRow], items: set[str]) -> list[Path]:
    names = dict.fromkeys(row.annotator_id for row in rows)
    return [
        write_annotations(
            out, name, [row for row in rows if row.annotator_id == name and row.item_id in items]
        )
        for name in names
    ]


def _lines(path: Path, rows: Iterator[dict[str, Any]]) -> Path:
    write_atomic(path, "".join(to_json(row) + "\n" for row in rows))
    return path


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
