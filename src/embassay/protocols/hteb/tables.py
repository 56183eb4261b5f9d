"""The tables of an HTEB run. Scores and changes are in points (x 100): exact in CSV, two decimals in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

from embassay.protocols.hteb.options import AXES, TRANSFORMATIONS
from embassay.protocols.hteb.profiles import TOTAL, TransformationScoreLevels, format_axis_part_name
from embassay.protocols.kernel.tables import (
    ColumnTable,
    ComputedColumn,
    Style,
    number_column,
    text,
    whole_number_column,
)
from embassay.protocols.wordings.scores import OVERALL, SystemScoreAndDrop
from embassay.protocols.wordings.tables import (
    POINTS,
    iterate_columns_of_sequence_values,
    make_points_column,
    make_signed_points_column,
)

MACRO = "mean over datasets"


@dataclass(frozen=True)
class TransformedTextCounts:
    """What came of the distinct texts of a dataset in one run of a transformation. `ratio` is the median length of a
    transformed text over that of its text; `wrong_way` of them went the other way than was meant; `no_question` of the
    `questions` lost their question mark; `languages` are those drawn, with their texts."""

    transformation: str
    axis: str
    dataset: str
    seed: int
    texts: int
    usable: int
    outcomes: Mapping[str, int]
    retried: int = 0
    ratio: float | None = None
    wrong_way: int = 0
    questions: int = 0
    no_question: int = 0
    distance: float | None = None
    languages: Mapping[str, int] = field(default_factory=dict)

    @property
    def unchanged(self) -> int:
        """Texts that came back as they were."""
        return self.outcomes.get("copied", 0)


def make_hteb_tables(
    profiles: TransformationScoreLevels, comparisons: Mapping[str, Any], texts: Sequence[TransformedTextCounts]
) -> Iterator[ColumnTable]:
    """All tables that the run can fill."""
    if not profiles.layout.datasets or not profiles.present_transformations:
        return
    shares = compute_unchanged_and_failed_shares(texts)
    yield _make_transformation_effect_grid(profiles, "hteb_scores", "HTEB: scores, x 100", "score", shares)
    yield _make_transformation_effect_grid(
        profiles, "hteb_changes", "HTEB: transformed minus original, points", "delta", shares
    )
    yield _make_level_table_by_transformation(profiles, shares)
    yield _make_change_tests_table(comparisons["tests"])
    yield _make_transformation_axes_table(comparisons["axes"])
    if comparisons["axes"]["spearman"]:
        yield _make_axis_coupling_table(comparisons["axes"]["spearman"])
    if comparisons["families"]:
        yield _make_model_families_table(comparisons["families"])
    if comparisons["groups"]:
        yield _make_language_groups_table(comparisons["groups"])
    if texts:
        yield _make_text_outcome_counts_table(texts)
        if any(row.languages for row in texts):
            yield _make_drawn_languages_table(texts)


Shares = Mapping[tuple[str, str], tuple[float, float]]
"""(transformation, dataset) -> the shares of unchanged and of failed texts, all runs together."""


def compute_unchanged_and_failed_shares(texts: Sequence[TransformedTextCounts]) -> Shares:
    """The shares of unchanged and failed texts, by transformation and dataset ("" for all)."""
    groups: dict[tuple[str, str], list[TransformedTextCounts]] = {}
    for row in texts:
        for dataset in (row.dataset, ""):
            groups.setdefault((row.transformation, dataset), []).append(row)
    return {key: _share_unchanged_and_failed(own) for key, own in groups.items() if any(row.texts for row in own)}


def _share_unchanged_and_failed(texts: Sequence[TransformedTextCounts]) -> tuple[float, float]:
    total = sum(row.texts for row in texts)
    unchanged, usable = sum(row.unchanged for row in texts), sum(row.usable for row in texts)
    return unchanged / total, (total - usable) / total


def format_profile_part_title(part: str) -> str:
    """Format the title of a part of a profile."""
    if part == TOTAL:
        return "total"
    return part if part in TRANSFORMATIONS else AXES[part.removeprefix("axis:")].lower()


class SystemLevelsByPart(NamedTuple):
    """A system on a dataset, or over all of a task where that is empty: its level by part."""

    task: str
    dataset: str
    system: str
    levels: Mapping[str, SystemScoreAndDrop]


_SCOPE = (text("task"), text("dataset", lambda row: row.dataset or MACRO), text("system"))


def _make_transformation_effect_grid(
    profiles: TransformationScoreLevels, name: str, title: str, what: str, shares: Shares
) -> ColumnTable:
    """A row for every system on every dataset, over each task, and over all; beside it how many texts were unchanged,
    and how many failed."""
    style: Style = "signed" if what == "delta" else "number"
    mean_shares = partial(_average_unchanged_and_failed_shares, shares, profiles.present_transformations)
    return ColumnTable.of(
        name,
        title,
        _iterate_system_levels_per_dataset(profiles),
        *_SCOPE,
        make_points_column("original", lambda row: row.levels[TOTAL].original.value),
        *(
            make_points_column(format_profile_part_title(part), partial(_read_score_level_of_part, what, part), style)
            for part in profiles.parts
        ),
        *iterate_columns_of_sequence_values(("unchanged %", "failed %"), mean_shares),
        text("reason", lambda row: row.levels[TOTAL].score.reason),
        note="For a dataset, an axis is the mean of its transformations, and the total is the mean of its "
        "axes. Datasets have equal weight. The original is scored on the items that have a transformed text "
        "and is not part of the total.",
    )


def _read_score_level_of_part(what: str, part: str, row: SystemLevelsByPart) -> float | None:
    value: float | None = getattr(row.levels[part], what).value
    return value


def _average_unchanged_and_failed_shares(
    shares: Shares, transformations: Sequence[str], row: SystemLevelsByPart
) -> Sequence[float | None]:
    """The means over transformations of the shares of unchanged and of failed texts, in percent."""
    # Of transformations alone: an axis has no texts of its own.
    drops = [shares[name, row.dataset] for name in transformations if (name, row.dataset) in shares]
    return [100 * sum(column) / len(drops) for column in zip(*drops, strict=True)] if drops else (None, None)


def _iterate_system_levels_per_dataset(profiles: TransformationScoreLevels) -> Iterator[SystemLevelsByPart]:
    for task, dataset in profiles.layout.list_scope_datasets(OVERALL):
        for system in profiles.layout.systems:
            find = partial(profiles.on_dataset, task, dataset.name, system.name)
            yield SystemLevelsByPart(task, dataset.name, system.name, {part: find(part) for part in profiles.parts})
    tasks = [run_task.name for run_task in profiles.layout.tasks]
    for task in (*(tasks if len(tasks) > 1 else ()), OVERALL):
        for system in profiles.layout.systems:
            find = partial(profiles.in_scope, task, system.name)
            yield SystemLevelsByPart(task, "", system.name, {part: find(part) for part in profiles.parts})


class SystemScoreAtTransformation(NamedTuple):
    """A system at one part: a transformation, an axis or the total; with the intervals of its score and its change,
    and the shares of unchanged and of failed texts."""

    task: str
    dataset: str
    system: str
    part: str
    level: SystemScoreAndDrop
    score_ends: tuple[float | None, float | None]
    change_ends: tuple[float | None, float | None]
    shares: tuple[float | None, float | None]


def _make_level_table_by_transformation(profiles: TransformationScoreLevels, shares: Shares) -> ColumnTable:
    """Make the table of every level with its intervals, spread, and texts unchanged or failed."""
    rows = []
    for task, dataset, system, levels in _iterate_system_levels_per_dataset(profiles):
        for part, level in levels.items():
            share = shares.get((part, dataset), (None, None))
            ends = level.score.interval, level.delta.interval
            rows.append(SystemScoreAtTransformation(task, dataset, system, part, level, *ends, share))
    score_ends, change_ends = ("score_low", "score_high"), ("change_low", "change_high")
    return ColumnTable.of(
        "hteb_cells",
        "HTEB: every score and change with its 95% interval",
        rows,
        *_SCOPE,
        text("part", lambda row: format_profile_part_title(row.part)),
        make_points_column("original", "level.original.value"),
        make_points_column("score", "level.score.value"),
        *iterate_columns_of_sequence_values(score_ends, attrgetter("score_ends"), factor=POINTS),
        make_signed_points_column("change", "level.delta.value"),
        *iterate_columns_of_sequence_values(change_ends, attrgetter("change_ends"), "signed", POINTS),
        make_points_column("sd", "level.sd"),
        make_points_column("change_sd", "level.delta_sd"),
        whole_number_column("n", "level.score.n"),
        *iterate_columns_of_sequence_values(("unchanged %", "failed %"), attrgetter("shares"), factor=POINTS),
        text("method", "level.delta.method"),
        text("reason", "level.score.reason"),
    )


_PART = text("part", lambda row: format_profile_part_title(row["part"]))
_ENDS = (make_signed_points_column("low", "ci_low"), make_signed_points_column("high", "ci_high"))


def _make_change_tests_table(tests: Sequence[Mapping[str, Any]]) -> ColumnTable:
    return ColumnTable.of(
        "hteb_tests", "HTEB: changes over datasets", tests, _PART, text("system"),
        make_signed_points_column("shift"), *_ENDS,
        number_column("p", style="p"), number_column("p_holm", style="p"),
        whole_number_column("datasets", "n"), text("method"), text("reason"),
        note="Hodges-Lehmann shift of the change over datasets, with a bootstrap interval over datasets; Wilcoxon "
        "signed-rank test, with Holm's correction over the systems of a part. We could not see which tests the paper "
        "uses; these are ours.",
    )  # fmt: skip


def _make_transformation_axes_table(axes: Mapping[str, Any]) -> ColumnTable:
    rows = []
    for system in axes["systems"]:
        for axis in axes["axes"]:
            low, high = system["interval"][axis]
            values = {name: system[name][axis] for name in ("change", "relative", "rank")}
            rows.append({"system": system["system"], "axis": AXES[axis], "ci_low": low, "ci_high": high, **values})
    return ColumnTable.of(
        "hteb_profiles", "HTEB: profile of each system", rows, text("system"), text("axis"),
        make_signed_points_column("change"), *_ENDS, make_signed_points_column("relative"),
        whole_number_column("rank"),
        note="Relative: the change minus the system's mean over its axes. Rank 1 loses least; ranks are not tested.",
    )  # fmt: skip


def _make_axis_coupling_table(pairs: Sequence[Mapping[str, Any]]) -> ColumnTable:
    return ColumnTable.of(
        "hteb_axes", "HTEB: how strongly the axes are correlated", pairs, text("axis", lambda pair: AXES[pair["a"]]),
        text("other", lambda pair: AXES[pair["b"]]), number_column("spearman", "rho"),
        whole_number_column("systems", "n"),
        note=("Spearman correlation, over systems, between the changes on two axes; a low value means that the axes "
            "differ."),
    )  # fmt: skip


def _make_model_families_table(families: Sequence[Mapping[str, Any]]) -> ColumnTable:
    axes = [axis for axis in AXES if axis in families[0]["members"][0]["axes"]]
    rows: list[dict[str, Any]] = []
    for family in families:
        rows += [{**member, "family": family["family"]} for member in family["members"]]
        shift = {name: family[name] for name in ("family", "ci_low", "ci_high", "slope")}
        # A family has a shift, and neither a size nor a total: these cells stay empty.
        rows.append({**shift, "system": "largest minus smallest", "change": family["shift"]})
    return ColumnTable.of(
        "hteb_families", "HTEB: does the gap shrink with size?", rows, text("family"), text("system"),
        number_column("billions", decimals=3), make_points_column("total"), make_signed_points_column("change"),
        *(make_signed_points_column(AXES[axis].lower(), f"axes.{axis}") for axis in axes), *_ENDS,
        make_signed_points_column("per doubling", "slope"),
        note="Above 0, the largest model loses less. Hodges-Lehmann shift over datasets, bootstrap interval.",
    )  # fmt: skip


def _make_language_groups_table(groups: Sequence[Mapping[str, Any]]) -> ColumnTable:
    return ColumnTable.of(
        "hteb_groups", "HTEB: English and multilingual datasets", groups, text("group"), _PART,
        whole_number_column("datasets"),
        make_signed_points_column("change"), *_ENDS,
        note="Each dataset's change, averaged over systems; this compares two groups of datasets and is not a paired "
            "test.",
    )  # fmt: skip


_TEXTS = (text("transformation"), text("dataset"), whole_number_column("seed"))


def _make_text_outcome_counts_table(texts: Sequence[TransformedTextCounts]) -> ColumnTable:
    kinds = dict.fromkeys(kind for row in texts for kind in row.outcomes if kind not in ("ok", "copied"))
    return ColumnTable.of(
        "hteb_texts", "HTEB: texts by outcome", texts, *_TEXTS, whole_number_column("texts"),
        number_column("unchanged %", lambda row: _compute_percentage_or_none(row.unchanged, row.texts)),
        number_column("failed %", lambda row: _compute_percentage_or_none(row.texts - row.usable, row.texts)),
        number_column("retried %", lambda row: _compute_percentage_or_none(row.retried, row.texts)),
        number_column("length ratio", "ratio"),
        number_column("wrong way %", _compute_wrong_length_percentage),
        number_column("questions lost %", lambda row: _compute_percentage_or_none(row.no_question, row.questions)),
        number_column("edit distance", "distance"),
        *(_make_count_column(kind, attrgetter("outcomes")) for kind in kinds),
        note="Only distinct texts are counted. Length ratio: median over the texts. Wrong way: texts that should be "
            "longer or shorter but are not.",
    )  # fmt: skip


def _compute_percentage_or_none(part: int, n: int) -> float | None:
    return 100 * part / n if n else None


def _compute_wrong_length_percentage(row: TransformedTextCounts) -> float | None:
    return (
        _compute_percentage_or_none(row.wrong_way, row.usable) if TRANSFORMATIONS[row.transformation].length else None
    )


def _make_count_column(name: str, find: Callable[[Any], Mapping[str, int]]) -> ComputedColumn:
    return whole_number_column(name, lambda row: find(row).get(name, 0))


def _make_drawn_languages_table(texts: Sequence[TransformedTextCounts]) -> ColumnTable:
    drawn = [row for row in texts if row.languages]
    names = dict.fromkeys(name for row in drawn for name in row.languages)
    return ColumnTable.of(
        "hteb_languages", "HTEB: languages drawn", drawn, *_TEXTS,
        *(_make_count_column(name, attrgetter("languages")) for name in names),
        note="Number of texts by target language or, for back-translation, by intermediate language.",
    )  # fmt: skip


__all__ = [
    "TransformedTextCounts",
    "compute_unchanged_and_failed_shares",
    "format_axis_part_name",
    "format_profile_part_title",
    "make_hteb_tables",
]
