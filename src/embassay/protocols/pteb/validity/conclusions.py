"""What ratings say of a run: for every system the change on valid paraphrases, and what invalid ones add to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import NamedTuple

import numpy as np

from embassay.protocols.kernel.tables import ColumnTable, number_column, text, whole_number_column
from embassay.protocols.pteb.conclusions import VALUES, read_item_values
from embassay.protocols.pteb.drops import SCORES, Score
from embassay.protocols.pteb.plan import ParaphraserWithPrompt, PtebPlan
from embassay.protocols.pteb.validity.change import (
    METHOD,
    OriginalAndParaphrasedValues,
    ScoreChangeOnValidUnits,
    ValidityShareByUnit,
    estimate_valid_change,
)
from embassay.protocols.pteb.validity.sheet import Drawn, GroupValidityRatings, ParaphraseRatingGroup, RunItemToRate
from embassay.protocols.wordings.scores import ORIGINAL
from embassay.protocols.wordings.tables import make_signed_points_column
from embassay.records import ResultRow
from embassay.runs.folder import CellRecord, RunFolder
from embassay.stats import Estimate
from embassay.stats.intervals import average_independent_estimates

VALID, INVALID, SHARE, DOUBT = "delta_valid", "delta_invalid", "valid", "in_doubt"
"""The measures: the change on valid paraphrases, what invalid ones add to the change, the share of rated items that is
valid, and the share of items on the sheet about which nobody could say, or which were left blank before others."""
VALID_ENDS = (("valid_change", "value"), ("valid_low", "low"), ("valid_high", "high"))
INVALID_ENDS = (("added", "value"), ("added_low", "low"), ("added_high", "high"))
NOT_DRAWN = "the rated items are not the first ones on the sheet, so they may not be a random sample"


Changes = Mapping[tuple[str, str, str, str, str], float | None]
"""(task, dataset, language, paraphraser's label, system) -> the run's change."""


class ScoreChangeWithValidity(NamedTuple):
    """What the ratings of a group say of a system. `change` is the run's own, on all paraphrases."""

    group: ParaphraseRatingGroup
    system: str
    variant: str
    change: float | None
    valid: ScoreChangeOnValidUnits
    ratings: GroupValidityRatings

    @property
    def notes(self) -> list[str]:
        """Notes on what is to be said of the ratings."""
        valid, ratings = self.valid, self.ratings
        notes = [valid.reason] if valid.reason else []
        if not ratings.is_drawn:
            notes.append(NOT_DRAWN)
        if ratings.twice:
            notes.append(f"raters agree on {ratings.agreed:,} of {ratings.twice:,} texts")
        return notes


@dataclass(frozen=True)
class RatedRun:
    """A run whose cells are done, with the units of each group and what raters say of some."""

    plan: PtebPlan
    folder: RunFolder
    sources: Sequence[ParaphraserWithPrompt]
    records: Sequence[CellRecord]
    drawn: Mapping[ParaphraseRatingGroup, Drawn]
    ratings: Mapping[ParaphraseRatingGroup, GroupValidityRatings]

    def lines(self, rows: Sequence[ResultRow]) -> list[ScoreChangeWithValidity]:
        """One for each rated group and system, after the means over datasets; `rows` are those of the run, for its
        changes. Baselines that ignore the text are left out."""
        changes = {
            (row.task, row.dataset, row.subset, row.variant, row.system): row.value
            for row in rows
            if row.measure == "delta"
        }
        systems = [system.name for system in self.plan.systems if system.kind != "reference"]
        lines = list(self._list_validity_checked_changes(changes, systems))
        return [*_average_changes_over_datasets(lines), *lines]

    def _list_validity_checked_changes(
        self, changes: Changes, systems: Sequence[str]
    ) -> Iterator[ScoreChangeWithValidity]:
        done = {(cell.task, cell.dataset, cell.system, cell.variant) for cell in self.records if cell.done}
        counted = [source for source in self.sources if not source.is_control]
        for group, ratings in self.ratings.items():
            source = next(source for source in self.sources if source.name == group.source)
            # A single source beside controls is all of the mean, which has no label.
            label = source.label if len(counted) > 1 else ""
            for system in systems:
                variants = {seed: source.variant(seed) for seed in {unit.seed for unit in self.drawn[group]}}
                where = (group.task, group.dataset, system)
                if all((*where, variant) in done for variant in (ORIGINAL, *variants.values())):
                    change = changes.get((group.task, group.dataset, group.lang, label, system))
                    yield self._estimate_valid_change_of_system(group, system, label, change, ratings, variants)

    def _estimate_valid_change_of_system(
        self,
        group: ParaphraseRatingGroup,
        system: str,
        label: str,
        change: float | None,
        ratings: GroupValidityRatings,
        variants: Mapping[int, str],
    ) -> ScoreChangeWithValidity:
        order, units = self._read_units_with_values(group, system, variants)
        place = {unit: row for row, unit in enumerate(order)}
        rated = [unit for unit in ratings.valid if unit in place]
        said = [ratings.valid[unit] for unit in rated]
        values = np.array([np.nan if answer is None else answer for answer in said], dtype=np.float64)
        result = estimate_valid_change(
            SCORES[group.task],
            units,
            ValidityShareByUnit(np.array([place[unit] for unit in rated], dtype=np.int64), values),
        )
        return ScoreChangeWithValidity(
            group,
            system,
            label,
            change,
            _subtract_invalid_part_from_run_change(result, change, SCORES[group.task]),
            ratings,
        )

    def _read_units_with_values(
        self, group: ParaphraseRatingGroup, system: str, variants: Mapping[int, str]
    ) -> tuple[list[RunItemToRate], OriginalAndParaphrasedValues]:
        """The units with a value on both sides, and their values."""
        measure, gold = VALUES[group.task]
        where = (group.task, group.dataset, system)
        original = read_item_values(self.folder, where, ORIGINAL, measure)
        golds = read_item_values(self.folder, where, ORIGINAL, gold) if gold else {}
        runs = {seed: read_item_values(self.folder, where, name, measure) for seed, name in variants.items()}
        table: list[tuple[RunItemToRate, float, float, float]] = []
        for unit in self.drawn[group]:
            key = (group.lang, unit.item)
            before, after = original.get(key, np.nan), runs[unit.seed].get(key, np.nan)
            if not (np.isnan(before) or np.isnan(after)):
                table.append((unit, before, after, golds.get(key, np.nan)))
        # Without rows the array would have no columns.
        columns = np.array([row[1:] for row in table], dtype=np.float64).reshape(-1, 3).T
        items = {item: number for number, item in enumerate(dict.fromkeys(row[0].item for row in table))}
        numbers = np.array([items[row[0].item] for row in table], dtype=np.int64)
        return [row[0] for row in table], OriginalAndParaphrasedValues(
            numbers, columns[0], columns[1], columns[2] if gold else None
        )


def _subtract_invalid_part_from_run_change(
    result: ScoreChangeOnValidUnits, change: float | None, score: Score
) -> ScoreChangeOnValidUnits:
    """With the run's own change, the mean over its runs, less what invalid paraphrases add; ends are cut at what a
    change can be."""
    if result.invalid is None or change is None:
        return result
    most, n = 1.0 if score == "mean" else 2.0, result.invalid.n
    value, low, high = (
        max(min(change - number, most), -most) for number in (result.invalid.point, *reversed(result.invalid.ends))
    )
    added = Estimate(change - value, change - high, change - low, n, METHOD)
    return replace(result, valid=Estimate(value, low, high, n, METHOD), invalid=added)


def _average_changes_over_datasets(lines: Sequence[ScoreChangeWithValidity]) -> Iterator[ScoreChangeWithValidity]:
    """Of several datasets of a task the mean of each system, where all have a value: one dataset's ratings are few."""
    of_task: dict[tuple[str, str, str, str], list[ScoreChangeWithValidity]] = {}
    for line in lines:
        group = line.group
        of_task.setdefault((group.task, group.lang, group.source, line.system), []).append(line)
    for (task, lang, source, system), parts in of_task.items():
        results = [part.valid for part in parts]
        changes = [part.change for part in parts if part.change is not None]
        valid, invalid, share = (
            [estimate for result in results if (estimate := getattr(result, name)) is not None]
            for name in ("valid", "invalid", "share")
        )
        # A mean over the sets that happen to have a value would be of other sets for each system.
        if len(parts) == 1 or not len(changes) == len(valid) == len(invalid) == len(share) == len(parts):
            continue
        method = f"mean of {len(parts)} datasets; {METHOD} of each"
        average = ScoreChangeOnValidUnits(
            all=fmean(result.all for result in results),
            valid=average_independent_estimates(valid, method),
            invalid=average_independent_estimates(invalid, method),
            share=average_independent_estimates(share, method),
            rated=sum(result.rated for result in results),
            refused=sum(result.refused for result in results),
            units=sum(result.units for result in results),
        )
        ratings = GroupValidityRatings(
            {},
            sum(part.ratings.skipped for part in parts),
            sum(part.ratings.twice for part in parts),
            sum(part.ratings.agreed for part in parts),
            all(part.ratings.is_drawn for part in parts),
        )
        group = ParaphraseRatingGroup(task, "", lang, source)
        yield ScoreChangeWithValidity(group, system, parts[0].variant, fmean(changes), average, ratings)


def make_validity_checked_change_rows(
    lines: Sequence[ScoreChangeWithValidity], langs: Mapping[str, str], seed: int
) -> Iterator[ResultRow]:
    """The measures of each line; `langs` are the datasets' languages."""
    for line in lines:
        group, result = line.group, line.valid
        lang = group.lang or langs.get(group.dataset, "")
        where = ("pteb", group.task, group.dataset, group.lang, lang, line.variant, line.system)
        method = f"{result.rated:,} of {result.units:,} items rated, {result.refused:,} more in doubt; {METHOD}"
        for measure, estimate in ((VALID, result.valid), (INVALID, result.invalid), (SHARE, result.share)):
            if estimate is None:
                yield ResultRow(*where, measure, None, result.rated, method=method, seed=seed, reason=result.reason)
            else:
                yield ResultRow(*where, measure, estimate.value, estimate.n, estimate.low, estimate.high, method, seed)
        asked = result.rated + result.refused
        yield ResultRow(*where, DOUBT, result.refused / asked if asked else None, asked, method=method, seed=seed)


def make_valid_change_table(lines: Sequence[ScoreChangeWithValidity]) -> ColumnTable:
    """Make the table `pteb_valid`, a line for each group and system."""
    return ColumnTable.of(
        "pteb_valid", "Change on valid paraphrases only, x 100, with 95% intervals", lines,
        text("task", "group.task"), text("dataset", "group.dataset"), text("language", "group.lang"),
        text("paraphraser", "group.source"), text("system"), make_signed_points_column("change"),
        *(make_signed_points_column(name, f"valid.valid.{end}") for name, end in VALID_ENDS),
        *(make_signed_points_column(name, f"valid.invalid.{end}") for name, end in INVALID_ENDS),
        number_column("share_valid", "valid.share.value", 3),
        number_column("share_low", "valid.share.low", 3),
        number_column("share_high", "valid.share.high", 3),
        whole_number_column("rated", "valid.rated"), whole_number_column("in_doubt", "valid.refused"),
        whole_number_column("left_blank", "ratings.skipped"),
        whole_number_column("items", "valid.units"), text("notes", _join_notes),
        note="Change: the run's change on all paraphrases. Added: the part due to invalid paraphrases (change minus "
            "change on valid ones). The columns rated, in_doubt and items count an item once per run. In doubt: "
            "nobody could tell, or the item was left blank although later ones were rated. The intervals cover both "
            "extremes: all of these are valid, or none are."
    )  # fmt: skip


def _join_notes(line: ScoreChangeWithValidity) -> str:
    return "; ".join(line.notes)
