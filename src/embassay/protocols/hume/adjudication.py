"""Adjudication: the items that annotators answered differently, most disputed first, and the gold that comes of it.

Whoever adjudicates sees what people answered, never who, and decides as an annotator answers. A decision replaces the
gold of its item; an item that cannot be judged is left out; gold that nobody disputes, or whose dispute is open, stays.
Clusters are decided as one: a text alone has no right group.

Writes gold after adjudication: data that every run reads, a study with it, and what became of each item and why.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from embassay.errors import UsageError
from embassay.protocols.hume.collection import read_answers_of_files_and_store
from embassay.protocols.hume.options import GoldKind
from embassay.protocols.hume.store import SavedAnswer, check_annotators_independent, has_answer_store, open_answer_store
from embassay.protocols.hume.study import GOLD as GOLD_FILE
from embassay.protocols.hume.study import (
    AnnotationRow,
    Answers,
    Gold,
    ItemGoldAnswer,
    ShownItemRow,
    StudyFolder,
    StudyItem,
    StudyTask,
    convert_value_for_scoring,
    hash_items_and_gold,
    read_jsonl_rows,
    read_study,
    write_annotations,
    write_study,
)
from embassay.protocols.hume.tables import compute_disagreement_per_item
from embassay.randomness import draw_random_bytes
from embassay.runs.folder import write_json_lines

GOLD: tuple[GoldKind, ...] = get_args(GoldKind)
"""Gold as it was; with decisions in it; and also with what two or more people all say against it."""
Why = Literal["undisputed", "kept", "changed", "left out", "open", "split", "consensus", "contradicted"]
"""What became of an item's gold: nobody disputes it; a decision says the same, or another; it cannot be judged; no
decision yet; adjudicators decided differently; all people say another and are believed, or are only counted."""


@dataclass(frozen=True)
class ItemToAdjudicate:
    """An item to decide, and what people answered: `given` are their values, of clusters with a `letter` for each
    person that is the same on all items; `refused` said that it cannot be judged, `remarks` are flags and comments.
    `simulated`: scripts answered, no people."""

    item: str
    apart: float
    given: tuple[tuple[str, Any], ...]
    refused: int = 0
    remarks: tuple[str, ...] = ()
    simulated: bool = False


def collect_task_answers(
    folder: StudyFolder, task: StudyTask, rows: Iterable[AnnotationRow]
) -> dict[str, dict[str, Any]]:
    """What everybody answered to a task, as its family compares it; items left open are not there. No gold is read.

    Raises DataError for a value that the task does not know.
    """
    payloads = {item.id: item.payload for item in folder.select_task_items(task.name)}
    by_name: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row.item_id not in payloads or row.value is None:
            continue
        like = (0,) * len(payloads[row.item_id].get("documents", ())) if task.family == "reranking" else None
        where = f"The answer by {row.annotator_id} to {row.item_id}"
        value = convert_value_for_scoring(task.spec, row.value, where, like=like)
        if value is not None:
            by_name.setdefault(row.annotator_id, {})[row.item_id] = value
    return by_name


def list_disputed_items(
    folder: StudyFolder, task: StudyTask, rows: Sequence[AnnotationRow]
) -> tuple[ItemToAdjudicate, ...]:
    """The items of a task that people answered differently, or that some could not judge, the farthest apart first,
    ties by id; of clusters all items where there is one."""
    items = folder.select_task_items(task.name)
    answers = collect_task_answers(folder, task, rows)
    apart = compute_disagreement_per_item(task.family, items, answers)
    refused = Counter(row.item_id for row in rows if row.value is None and row.flag)
    for item, times in refused.items():
        if item in apart and (answered := sum(item in given for given in answers.values())):
            n = times + answered
            # The share of pairs of people of whom one could judge the item and the other could not.
            apart[item] = max(apart[item], times * answered / (n * (n - 1) / 2))
    if not any(apart.values()):
        return ()
    letters = _draw_annotator_letters(folder.study.seed, task.name, answers)
    by_scripts = {row.item_id for row in rows if row.kind == "simulated"}
    by_people = {row.item_id for row in rows if row.kind != "simulated"}
    wanted = [item for item in items if apart[item.id] > 0 or task.family == "clustering"]
    found = [
        ItemToAdjudicate(
            item.id,
            apart[item.id],
            tuple(_list_anonymous_answers_of_item(task, item, answers, letters)),
            refused[item.id],
            # Simulated only where no person answered the item.
            tuple(_list_flags_and_comments(row for row in rows if row.item_id == item.id)),
            item.id in by_scripts - by_people,
        )
        for item in wanted
    ]
    return tuple(sorted(found, key=lambda dispute: (-dispute.apart, dispute.item)))


def _draw_annotator_letters(seed: int, task: str, answers: Answers) -> dict[str, str]:
    """Draw a letter for every annotator, which does not tell whose it is."""
    drawn = sorted(answers, key=lambda name: draw_random_bytes(16, seed, "adjudication", task, name))
    return {name: _format_position_letter(place) for place, name in enumerate(drawn)}


def _format_position_letter(place: int) -> str:
    turn, letter = divmod(place, 26)
    return chr(ord("A") + letter) + (str(turn + 1) if turn else "")


def _list_anonymous_answers_of_item(
    task: StudyTask, item: StudyItem, answers: Answers, letters: Mapping[str, str]
) -> Iterator[tuple[str, Any]]:
    if task.family == "clustering":
        yield from sorted((letters[name], said[item.id]) for name, said in answers.items() if item.id in said)
        return
    yield from (("", value) for value in _anonymize_answer_order(answers, item.id))


def _anonymize_answer_order(answers: Answers, item: str) -> tuple[Any, ...]:
    """What people answered, in an order that says nothing of who."""
    given = [values[item] for values in answers.values() if item in values]
    plain = [_convert_tuple_to_list(value) for value in given]
    # Labels may be numbers and texts in one task, which Python does not compare.
    return tuple(sorted(plain, key=lambda value: (isinstance(value, str), value)))


def _list_flags_and_comments(rows: Iterable[AnnotationRow | SavedAnswer]) -> Iterator[str]:
    yield from sorted({text for row in rows for text in (row.flag, row.comment) if text})


@dataclass(frozen=True)
class GoldCorrection:
    """What became of the gold of an item. `reasons` are the flags and comments of those who decided."""

    item: str
    before: Any
    after: Any
    why: Why
    reasons: tuple[str, ...] = ()
    answers: tuple[Any, ...] = field(default=())


def correct_gold_by_adjudication(
    folder: StudyFolder,
    task: StudyTask,
    gold: Gold,
    rows: Sequence[AnnotationRow],
    decisions: Mapping[str, Mapping[str, SavedAnswer]],
    kind: GoldKind = "adjudicated",
) -> tuple[GoldCorrection, ...]:
    """The gold of every item of a task after adjudication, in the order of the items. `decisions` are those of each
    adjudicator, by item."""
    items = folder.select_task_items(task.name)
    answers = collect_task_answers(folder, task, rows)
    disputed = {dispute.item for dispute in list_disputed_items(folder, task, rows)}
    decided = {
        name: {
            item.id: fix
            for item in items
            if (fix := saved.get(item.id)) is not None and fix.is_annotator_done_with_item
        }
        for name, saved in decisions.items()
    }
    if kind == "original":
        outcomes = {item.id: (gold[item.id], "undisputed") for item in items}
    elif task.family == "clustering":
        outcomes = _decide_cluster_gold(items, gold, disputed, decided)
    else:
        outcomes = {item.id: _decide_item_gold(task, item, gold, answers, disputed, decided, kind) for item in items}
    return tuple(
        GoldCorrection(
            item.id, gold[item.id], after, why,  # type: ignore[arg-type]
            tuple(_list_flags_and_comments(saved[item.id] for saved in decided.values() if item.id in saved)),
            () if task.family == "clustering" else _anonymize_answer_order(answers, item.id),
        )
        for item in items
        for after, why in (outcomes[item.id],)
    )  # fmt: skip


def _decide_item_gold(
    task: StudyTask, item: StudyItem, gold: Gold, answers: Answers, disputed: set[str],
    decisions: Mapping[str, Mapping[str, SavedAnswer]], kind: GoldKind
) -> tuple[Any, str]:  # fmt: skip
    before, made = gold[item.id], [fixes[item.id] for fixes in decisions.values() if item.id in fixes]
    if made:
        values = [_convert_to_gold_form(task, item, fix.value, before) for fix in made]
        # Adjudicators who disagree decide nothing.
        if any(value != values[0] for value in values[1:]):
            return before, "split"
        if values[0] is None:
            return None, "left out"
        return values[0], "kept" if values[0] == before else "changed"
    if item.id in disputed:
        return before, "open"
    labels = [values[item.id] for values in answers.values() if item.id in values]
    if len(labels) < 2 or (value := _convert_to_gold_form(task, item, labels[0], before)) == before:
        return before, "undisputed"
    return (value, "consensus") if kind == "consensus" and value is not None else (before, "contradicted")


def _convert_to_gold_form(task: StudyTask, item: StudyItem, value: Any, before: Any) -> Any:
    """An answer in the form of gold. Marks that say what grades say are those grades; no relevant document is none."""
    if value is None:
        return None
    like = before if task.family == "reranking" else None
    read = convert_value_for_scoring(task.spec, tuple(value) if isinstance(value, list) else value, item.id, like=like)
    if task.family != "reranking":
        return read
    # Adjudicators mark 0 or 1: grades that say the same are not thrown away for it.
    if list(read) == [int(grade > 0) for grade in before]:
        return before
    return read if any(read) else None


def _decide_cluster_gold(
    items: Sequence[StudyItem], gold: Gold, disputed: set[str], decisions: Mapping[str, Mapping[str, SavedAnswer]]
) -> dict[str, tuple[Any, str]]:
    """Decide the gold groups of clusters: all those that the adjudicators agree on, or none."""
    whole = [fixes for fixes in decisions.values() if all(item.id in fixes for item in items)]
    if not disputed or not whole:
        why = "open" if disputed else "undisputed"
        return {item.id: (gold[item.id], why) for item in items}
    values = {item.id: whole[0][item.id].value for item in items}
    if any(
        _map_group_mates({item.id: fixes[item.id].value for item in items}) != _map_group_mates(values)
        for fixes in whole[1:]
    ):
        return {item.id: (gold[item.id], "split") for item in items}
    before, after = _map_group_mates(gold), _map_group_mates(values)
    if before == after:
        return {item.id: (gold[item.id], "kept") for item in items}
    return {
        item: (None, "left out") if value is None
        else (value, "kept" if after[item] == before[item] else "changed")
        for item, value in values.items()
    }  # fmt: skip


def _map_group_mates(groups: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    """The items that each item is with; one without a group is with none, not even itself."""
    members: dict[Any, set[str]] = {}
    for item, group in groups.items():
        if group is not None:
            members.setdefault(group, set()).add(item)
    return {item: frozenset(members.get(group, ())) for item, group in groups.items()}


DATA, CORRECTIONS = "data", "corrections.jsonl"
_SAID: Mapping[Why, str] = {
    "changed": "changed", "kept": "kept by an adjudicator", "left out": "left out as impossible to judge",
    "consensus": "changed to the unanimous answer", "contradicted": "kept although all annotators contradict it",
    "open": "disputed but undecided", "split": "split between adjudicators", "undisputed": "not disputed"
}  # fmt: skip


@dataclass(frozen=True)
class AdjudicatedGoldExport:
    """The export of adjudicated gold: files, what became of items, and tasks left without any."""

    files: tuple[Path, ...]
    counts: Mapping[str, Mapping[Why, int]]
    emptied: tuple[str, ...] = ()

    def describe_task_outcomes(self) -> Iterator[str]:
        """A line for every task: `mood: 3 changed, 9 not disputed`."""
        for task, counts in self.counts.items():
            yield f"{task}: " + ", ".join(f"{counts[why]} {words}" for why, words in _SAID.items() if counts.get(why))


def export_gold(
    study: Path, kind: GoldKind, out: Path, *, tasks: Sequence[str] = (), answers: bool = False, exposed: bool = False
) -> AdjudicatedGoldExport:
    """Write the gold of a study into the new folder `out`.

    `data/TASK.jsonl` are the items with their gold as a dataset, which `-d` of every run takes; `study.json`,
    `items.jsonl` and `gold.jsonl` a study, which `hume score` takes, with people's `answers` where asked for;
    `corrections.jsonl` says of every item what its gold was and is, why, and what people answered, without names.

    UsageError for another kind, an unknown task, a folder that holds something else, and, unless `exposed`, where
    somebody may have seen another's answers.
    """
    if kind not in GOLD:
        raise UsageError(f"Unknown kind of gold: {kind!r}.", mend=f"Use one of {', '.join(GOLD)}.")
    folder = read_study(study)
    if not exposed:
        check_annotators_independent(folder)
    if out.resolve() == study.resolve():
        raise UsageError(
            f"{out} is the study's own folder.", mend="Choose another --out: a study's gold is never changed."
        )
    chosen = [folder.task(name) for name in dict.fromkeys(tasks)] or list(folder.study.tasks)
    rows, decisions = read_answers_of_files_and_store(folder), _read_adjudicator_decisions(folder)
    by_task = {
        task.name: correct_gold_by_adjudication(folder, task, folder.gold(task.name), rows, decisions, kind)
        for task in chosen
    }
    left = [task for task in chosen if any(correction.after is not None for correction in by_task[task.name])]
    if not left:
        raise UsageError(
            "No items are left because none can be judged.", mend="Check the decisions, or use --gold original."
        )
    written = _write_study_with_corrected_gold(folder, left, by_task, out, kind)
    if answers:
        kept = {fix.item for task in left for fix in by_task[task.name] if fix.after is not None}
        written += _write_annotation_files_by_annotator(out, rows, kept)
    counts = {name: Counter(correction.why for correction in fixes) for name, fixes in by_task.items()}
    return AdjudicatedGoldExport(tuple(written), counts, tuple(task.name for task in chosen if task not in left))


def _read_adjudicator_decisions(folder: StudyFolder) -> dict[str, dict[str, SavedAnswer]]:
    if not has_answer_store(folder):
        return {}
    store = open_answer_store(folder, read_only=True)
    try:
        return store.list_adjudicator_decisions()
    finally:
        store.close()


def _write_study_with_corrected_gold(
    folder: StudyFolder,
    tasks: Sequence[StudyTask],
    by_task: Mapping[str, Sequence[GoldCorrection]],
    out: Path,
    kind: GoldKind,
) -> list[Path]:
    after = {fix.item: fix.after for task in tasks for fix in by_task[task.name] if fix.after is not None}
    items = [item for task in tasks for item in folder.select_task_items(task.name) if item.id in after]
    held = {row.id: row for _, row in read_jsonl_rows(folder.path / GOLD_FILE, ItemGoldAnswer)}
    gold = [held[item.id].model_copy(update={"gold": _convert_tuple_to_list(after[item.id])}) for item in items]
    shown = [ShownItemRow(id=item.id, task=item.task, payload=dict(item.payload)) for item in items]
    told = [
        task.model_copy(update={"n": n, "notes": [*task.notes, *_list_gold_correction_notes(by_task[task.name], kind)]})
        for task in tasks
        for n in (sum(item.task == task.name for item in items),)
    ]
    # Without the questions of profiles: what people said of themselves is not copied.
    new = {
        "name": f"{folder.study.name}-{kind}",
        "content": hash_items_and_gold(shown, gold),
        "tasks": told,
        "profile": [],
    }
    study = folder.study.model_copy(update=new)
    write_study(out, study, shown, gold)
    files = [out / name for name in ("study.json", "items.jsonl", GOLD_FILE)]
    for task in tasks:
        lines = (
            row for item in items if item.task == task.name for row in _build_dataset_rows(task, item, after[item.id])
        )
        files.append(_write_json_lines(out / DATA / f"{task.name}.jsonl", lines))
    files.append(_write_json_lines(out / CORRECTIONS, _correction_rows(tasks, by_task, held)))
    return files


def _list_gold_correction_notes(corrections: Sequence[GoldCorrection], kind: GoldKind) -> list[str]:
    counts = Counter(correction.why for correction in corrections)
    notes = [f"{counts[why]} {_SAID[why]}" for why in _SAID if counts[why] and why != "undisputed"]
    return [f"gold {kind}: {', '.join(notes)}"] if notes else []


def _build_dataset_rows(task: StudyTask, item: StudyItem, gold: Any) -> Iterator[dict[str, Any]]:
    """The rows of an item as a dataset has them: of a query one for each document."""
    payload = item.payload
    if task.family == "sts":
        yield {"id": item.id, "text": payload["text1"], "text2": payload["text2"], "score": gold, "lang": task.lang}
    elif task.family == "reranking":
        for document, grade in zip(payload["documents"], gold, strict=True):
            yield {"query": payload["query"], "text": document["text"], "label": int(grade), "lang": task.lang}
    else:
        yield {"id": item.id, "text": payload["text"], "label": str(gold), "lang": task.lang}


def _correction_rows(
    tasks: Sequence[StudyTask], by_task: Mapping[str, Sequence[GoldCorrection]], held: Mapping[str, ItemGoldAnswer]
) -> Iterator[dict[str, Any]]:
    for task in tasks:
        for correction in by_task[task.name]:
            yield {
                "item_id": correction.item, "task": task.name, "source_id": held[correction.item].source_id,
                "before": _convert_tuple_to_list(correction.before), "after": _convert_tuple_to_list(correction.after),
                "why": correction.why,
                "reasons": list(correction.reasons),
                "answers": [_convert_tuple_to_list(value) for value in correction.answers]
            }  # fmt: skip


def _write_annotation_files_by_annotator(out: Path, rows: Sequence[AnnotationRow], items: set[str]) -> list[Path]:
    names = dict.fromkeys(row.annotator_id for row in rows)
    return [
        write_annotations(out, name, [row for row in rows if row.annotator_id == name and row.item_id in items])
        for name in names
    ]


def _write_json_lines(path: Path, rows: Iterator[dict[str, Any]]) -> Path:
    write_json_lines(path, rows)
    return path


def _convert_tuple_to_list(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
