"""The sheet on which people say whether paraphrases are valid: which items are drawn, how it is filled in and read.

Items are drawn at random within each task, dataset, language and paraphraser, an item in one run at a time. The sheet
goes round these groups, so that filled in from the top it is a random sample of each, wherever a rater stops.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from embassay.data.rows import SourceRow, make_missing_column_error, unescape_spreadsheet_formula
from embassay.errors import DataError
from embassay.protocols.kernel.tables import ColumnTable, replace_control_characters, text
from embassay.protocols.pteb.conclusions import list_tasks_scored_per_text
from embassay.protocols.pteb.plan import ParaphraserWithPrompt, PtebPlan
from embassay.protocols.wordings.pairs import open_rating_table, read_stripped_cell
from embassay.protocols.wordings.protocol import PlannedDatasetToParaphrase, Seeds
from embassay.protocols.wordings.sets import ParaphraseSet
from embassay.protocols.wordings.work import find_registered_task as task_named
from embassay.randomness import draw_random_bytes

TABLE = "pteb_to_rate"
COLUMNS = ("task", "dataset", "language", "paraphraser", "run", "item", "part", "text", "paraphrase", "valid")
ANSWERS: Mapping[str, float | None] = {
    **dict.fromkeys(("yes", "y", "valid", "true", "1", "1.0"), 1.0),
    **dict.fromkeys(("no", "n", "invalid", "false", "0", "0.0"), 0.0),
    **dict.fromkeys(("?", "unsure", "cannot say"), None),
}
"""What may be written into `valid`; None where the rater cannot say."""
PARTS: Mapping[str, Mapping[str, str]] = {
    "sts": {"first": "item", "second": "item"},
    "pair_classification": {"first": "item", "second": "item"},
    "classification": {"test": "item"},
    "retrieval": {"query": "item"},
    "reranking": {"query": "group", "candidate": "group"},
    "summarization": {"summary": "item", "reference": "group"},
}
"""Task -> the kinds of texts that an item's own score is made of: those of the `item`, or of its `group`."""


class ParaphraseRatingGroup(NamedTuple):
    """What is rated by itself: a task on a dataset in a language (empty where there is one), by one paraphraser."""

    task: str
    dataset: str
    lang: str
    source: str


class RunItemToRate(NamedTuple):
    """An item of a group in the run with this seed."""

    group: ParaphraseRatingGroup
    seed: int
    item: str


class TextWithParaphrase(NamedTuple):
    """A text of a unit with its paraphrase; `part` says which, as `first` or `candidate 3`."""

    part: str
    text: str
    paraphrase: str


Drawn = Mapping[RunItemToRate, Sequence[TextWithParaphrase]]
"""The units of one group in the order in which they are drawn, with their texts."""


def order_rating_units_randomly(
    plan: PtebPlan, paraphrases: ParaphraseSet, sources: Sequence[ParaphraserWithPrompt], seeds: Seeds
) -> dict[ParaphraseRatingGroup, Drawn]:
    """All units of every group whose texts all have a usable paraphrase, in random order. Controls, which nobody would
    call paraphrases, are left out."""
    drawn: dict[ParaphraseRatingGroup, Drawn] = {}
    for task, dataset in list_tasks_scored_per_text(plan):
        for lang, items in _group_texts_by_language_and_item(plan, task, dataset).items():
            for source in sources:
                group = ParaphraseRatingGroup(task, dataset.name, lang, source.name)
                units: dict[RunItemToRate, list[TextWithParaphrase]] = {}
                for seed in () if source.is_control else seeds[source.name, dataset.name]:
                    if paraphrases.has_all_wordings_of_run(source.name, dataset.name, seed):
                        units |= _collect_usable_units_of_run(paraphrases, group, seed, items)
                if units:
                    order = sorted(units, key=lambda unit: _hash_draw_order(plan.request.seed, unit))
                    drawn[group] = {unit: units[unit] for unit in order}
    return drawn


def _hash_draw_order(seed: int, unit: RunItemToRate) -> bytes:
    return draw_random_bytes(8, seed, "to rate", *unit.group, str(unit.seed), unit.item)


class _TextOfSheetPart(NamedTuple):
    part: str
    text: str
    place: str


def _group_texts_by_language_and_item(
    plan: PtebPlan, task: str, dataset: PlannedDatasetToParaphrase
) -> dict[str, dict[str, list[_TextOfSheetPart]]]:
    """Language (empty where there is one) -> item -> the texts that its score is made of."""
    parts, kinds = plan.parts(dataset, task), PARTS[task]
    kept = task_named(task).unworded(plan.request.options)
    by_lang: dict[str, dict[str, list[_TextOfSheetPart]]] = {}
    for part in parts:
        items = by_lang.setdefault(part.lang if len(parts) > 1 else "", {})
        shared: dict[str, list[_TextOfSheetPart]] = {}
        for place, written in task_named(task).texts(part.data):
            kind, _, key = place.partition(":")
            if kind not in kinds or place.startswith(kept):
                continue
            if kinds[kind] == "item":
                items.setdefault(key, []).append(_TextOfSheetPart(kind, written, place))
            else:
                owner, _, number = key.rpartition(":")
                shared.setdefault(owner, []).append(_TextOfSheetPart(f"{kind} {int(number) + 1}", written, place))
        _add_shared_texts_to_items(items, shared)
    return by_lang


def _add_shared_texts_to_items(
    items: dict[str, list[_TextOfSheetPart]], shared: Mapping[str, list[_TextOfSheetPart]]
) -> None:
    """Give each item what its group has; where texts are of groups alone, a group is an item."""
    if not items:
        items.update(shared)
        return
    for item, parts in items.items():
        parts += shared.get(item.rpartition(":")[0], ())


def _collect_usable_units_of_run(
    paraphrases: ParaphraseSet, group: ParaphraseRatingGroup, seed: int, items: Mapping[str, Sequence[_TextOfSheetPart]]
) -> dict[RunItemToRate, list[TextWithParaphrase]]:
    rows = paraphrases.rows(group.source, group.dataset, seed)
    usable = {(row.text, row.place): row.wording for row in rows if row.usable}

    def find_wording(part: _TextOfSheetPart) -> str | None:
        return usable.get((part.text, "")) or usable.get((part.text, f"{group.task}:{part.place}"))

    units = {}
    for item, parts in items.items():
        written = [find_wording(part) for part in parts]
        if all(written):
            units[RunItemToRate(group, seed, item)] = [
                TextWithParaphrase(part.part, part.text, again or "")
                for part, again in zip(parts, written, strict=True)
            ]
    return units


def make_blank_rating_sheet(drawn: Mapping[ParaphraseRatingGroup, Drawn], items: int) -> ColumnTable:
    """The first `items` units of each group, a line for each text, for people to fill in."""
    rows = list(_make_sheet_rows(drawn, items))
    columns = (text(name, itemgetter(place)) for place, name in enumerate(COLUMNS))
    return ColumnTable.of(
        TABLE, "Which paraphrases are valid?", rows, *columns,
        note="Copy the CSV and fill in the valid column from the top: yes if the paraphrase means the same as the "
            "text, no if it does not, ? if you cannot tell. The order is random, so you can stop after any item. "
        "Then run the same command with --ratings COPY."
    )  # fmt: skip


def _make_sheet_rows(drawn: Mapping[ParaphraseRatingGroup, Drawn], items: int) -> Iterator[tuple[str, ...]]:
    columns = (list(units.items())[:items] for units in drawn.values())
    for same_turn in zip_longest(*columns):
        for entry in filter(None, same_turn):
            unit, texts = entry
            for rated in texts:
                where = (*unit.group, str(unit.seed), unit.item, rated.part)
                yield (*where, _clean_sheet_text(rated.text), _clean_sheet_text(rated.paraphrase), "")


def _clean_sheet_text(written: str) -> str:
    """As the sheet has it: blanks are one, and what steers a terminal is replaced."""
    return " ".join(replace_control_characters(" ".join(written.split())).split())


@dataclass(frozen=True)
class RatingSheetLine:
    """A line of a filled-in sheet: what it is of, what the rater saw, and the answer, None where they could not say.
    `blank` where nothing is filled in."""

    unit: RunItemToRate
    part: str
    texts: tuple[str, str]
    answer: float | None
    blank: bool
    path: Path
    line: int


def read_rating_sheet(path: Path) -> list[RatingSheetLine]:
    """The lines of one rater's sheet, blank ones included. DataError with file and line for a column that is missing,
    a run that is no number, and an answer that is none."""
    source = open_rating_table(path)
    for column in COLUMNS:
        if column not in source.columns():
            raise make_missing_column_error(source, column)
    return [
        _parse_sheet_line(row)
        for row in source.rows(COLUMNS)
        if any(read_stripped_cell(row, column) for column in COLUMNS)
    ]


def _parse_sheet_line(row: SourceRow) -> RatingSheetLine:
    words = {column: unescape_spreadsheet_formula(read_stripped_cell(row, column)) for column in COLUMNS}
    if not words["run"].isdigit():
        raise DataError(
            "the run is not a valid seed", path=row.path, line=row.line, found=repr(words["run"]),
            mend=f"Leave all columns except valid as they are in {TABLE}.csv."
        )  # fmt: skip
    group = ParaphraseRatingGroup(words["task"], words["dataset"], words["language"], words["paraphraser"])
    unit, answer = RunItemToRate(group, int(words["run"]), words["item"]), words["valid"].lower()
    if answer and answer not in ANSWERS:
        raise DataError(
            "the value of valid cannot be read", path=row.path, line=row.line, expected="yes, no or ?",
            found=repr(words["valid"]), mend="Ask the rater, or leave it blank to count it as unrated."
        )  # fmt: skip
    texts = words["text"], words["paraphrase"]
    return RatingSheetLine(unit, words["part"], texts, ANSWERS.get(answer), not answer, row.path, row.line)


@dataclass(frozen=True)
class GroupValidityRatings:
    """What raters say of the units of one group, in the order of the draw: `valid` is the share of raters who call all
    texts valid, None where nobody could say, and where a unit was left blank before others that are rated: of these
    there are `skipped`. `agreed` of `twice` texts were answered alike by two raters or more. `is_drawn` says whether
    the rated units are the first of the draw."""

    valid: Mapping[RunItemToRate, float | None]
    skipped: int
    twice: int
    agreed: int
    is_drawn: bool


def collect_sheet_ratings(
    lines: Iterable[RatingSheetLine], drawn: Mapping[ParaphraseRatingGroup, Drawn]
) -> dict[ParaphraseRatingGroup, GroupValidityRatings]:
    """What the lines of all sheets, one a rater, say of each group. DataError with file and line for a unit or text
    that the run does not have, and for a text that one sheet has twice."""
    by_text: dict[ParaphraseRatingGroup, dict[tuple[RunItemToRate, str], dict[Path, float | None]]] = {}
    for line in lines:
        _check_sheet_line(line, drawn)
        answers = by_text.setdefault(line.unit.group, {}).setdefault((line.unit, line.part), {})
        if line.path in answers:
            raise DataError(
                f"{line.part} of {line.unit.item} appears twice", path=line.path, line=line.line,
                mend="Keep one line; each rater needs a separate sheet."
            )  # fmt: skip
        if not line.blank:
            answers[line.path] = line.answer
    return {group: _collect_validity_ratings_of_group(drawn[group], answers) for group, answers in by_text.items()}


def _check_sheet_line(line: RatingSheetLine, drawn: Mapping[ParaphraseRatingGroup, Drawn]) -> None:
    texts = drawn.get(line.unit.group, {}).get(line.unit)
    ours = next((rated for rated in texts or () if rated.part == line.part), None)
    if ours is None:
        raise DataError(
            f"the run has no paraphrase of {line.part} in item {line.unit.item!r} of {line.unit.group.dataset} "
            f"({line.unit.group.task}) for run {line.unit.seed}",
            path=line.path, line=line.line, mend=f"Pass a copy of this run's own tables/{TABLE}.csv."
        )  # fmt: skip
    if tuple(map(_clean_sheet_text, (ours.text, ours.paraphrase))) != tuple(map(_clean_sheet_text, line.texts)):
        raise DataError(
            f"the texts differ from those of the run ({line.part} of the item {line.unit.item})", path=line.path,
            line=line.line, mend="Rows were moved, texts were edited, or the sheet belongs to another run."
        )  # fmt: skip


def _collect_validity_ratings_of_group(
    units: Drawn, answers: Mapping[tuple[RunItemToRate, str], Mapping[Path, float | None]]
) -> GroupValidityRatings:
    said_whole = {
        unit: answer for unit, texts in units.items() if (answer := _collect_full_rater_answers(unit, texts, answers))
    }
    order = list(units)
    last = max((place for place, unit in enumerate(order) if unit in said_whole), default=-1) + 1
    listed = {unit for unit, _ in answers}
    skipped = [unit for unit in order[:last] if unit in listed and unit not in said_whole]
    valid = {
        unit: _compute_share_of_raters_calling_valid(said_whole.get(unit, ()))
        for unit in order[:last]
        if unit in listed
    }
    several = [list(said.values()) for said in answers.values() if len(said) > 1]
    agreed = sum(len(set(said)) == 1 for said in several)
    return GroupValidityRatings(valid, len(skipped), len(several), agreed, len(valid) == last)


def _collect_full_rater_answers(
    unit: RunItemToRate,
    texts: Sequence[TextWithParaphrase],
    answers: Mapping[tuple[RunItemToRate, str], Mapping[Path, float | None]],
) -> list[list[float | None]]:
    """The answers of each rater who filled in all texts of the unit."""
    of_texts = [answers.get((unit, rated.part), {}) for rated in texts]
    raters = dict.fromkeys(rater for said in of_texts for rater in said)
    return [[said[rater] for said in of_texts] for rater in raters if all(rater in said for said in of_texts)]


def _compute_share_of_raters_calling_valid(by_rater: Sequence[Sequence[float | None]]) -> float | None:
    """The share of raters who call all texts valid, of those who call any invalid or all valid."""
    said = []
    for answers in by_rater:
        if 0.0 in answers:
            said.append(0.0)
        elif None not in answers:
            said.append(1.0)
    return sum(said) / len(said) if said else None
