"""The tables of an HTEB run. Scores and changes are in points (x 100): exact in CSV, two decimals in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from embassay.protocols.hteb.options import AXES, TRANSFORMATIONS
from embassay.protocols.hteb.profiles import TOTAL, Profiles, axis_part
from embassay.protocols.kernel.tables import Column, ColumnTable, Style, Value
from embassay.protocols.wordings.scores import OVERALL, Level

MACRO = "mean over datasets"


@dataclass(frozen=True)
class Texts:
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


def tables(
    profiles: Profiles, comparisons: Mapping[str, Any], texts: Sequence[Texts]
) -> Iterator[ColumnTable]:
    """All tables that the run can fill."""
    if not profiles.layout.datasets or not profiles.transformations:
        return
    shares = shares_of(texts)
    yield _grid(profiles, "hteb_scores", "HTEB: scores, x 100", "score", shares)
    yield _grid(profiles, "hteb_changes", "HTEB: transformed minus original, points", "delta", shares)
    yield _long(profiles, shares)
    yield _tests(comparisons["tests"])
    yield _axes(comparisons["axes"])
    if comparisons["axes"]["spearman"]:
        yield _coupling(comparisons["axes"]["spearman"])
    if comparisons["families"]:
        yield _families(comparisons["families"])
    if comparisons["groups"]:
        yield _groups(comparisons["groups"])
    if texts:
        yield _texts(texts)
        if any(text.languages for text in texts):
            yield _languages(texts)


Shares = Mapping[tuple[str, str], tuple[float, float]]
"""(transformation, dataset) -> the shares of unchanged and of failed texts, all runs together."""


def shares_of(texts: Sequence[Texts]) -> Shares:
    """Of every transformation on every dataset, and with the dataset "" on all."""
    groups: dict[tuple[str, str], list[Texts]] = {}
    for text in texts:
        for dataset in (text.dataset, ""):
            groups.setdefault((text.transformation, dataset), []).append(text)
    return {
        key: (sum(row.unchanged for row in own) / total, sum(row.texts - row.usable for row in own) / total)
        for key, own in groups.items()
        if (total := sum(row.texts for row in own))
    }


def title_of(part: str) -> str:
    """What a part of a profile is called."""
    if part == TOTAL:
        return "total"
    return part if part in TRANSFORMATIONS else AXES[part.removeprefix("axis:")].lower()


def points(value: float | None) -> float | None:
    """A fraction in points."""
    return None if value is None else 100 * value


def _grid(profiles: Profiles, name: str, title: str, what: str, shares: Shares) -> ColumnTable:
    """A row for every system on every dataset, over each task, and over all; beside it how many texts were unchanged,
    and how many failed."""
    rows: list[tuple[Value, ...]] = []
    for task, dataset, system, levels in _levels(profiles):
        first = levels[TOTAL]
        values = [getattr(levels[part], what).value for part in profiles.parts]
        drops = [shares[name, dataset] for name in profiles.transformations if (name, dataset) in shares]
        beside = (
            [100 * sum(column) / len(drops) for column in zip(*drops, strict=True)] if drops else [None, None]
        )
        rows.append((task, dataset or MACRO, system, points(first.original.value), *map(points, values), *beside,
                     first.score.reason))  # fmt: skip
    style: Style = "signed" if what == "delta" else "number"
    columns = (
        *(Column(name, "text") for name in ("task", "dataset", "system")), Column("original"),
        *(Column(title_of(part), style) for part in profiles.parts), Column("unchanged %"), Column("failed %"),
        Column("reason", "text")
    )  # fmt: skip
    note = (
        "A dataset's axis is the mean of its transformations, its total the mean of its axes; datasets weigh equally. "
        "The original stands on the items that have a transformed text, and does not count in the total."
    )
    return ColumnTable(name, title, columns, tuple(rows), note)


def _levels(profiles: Profiles) -> Iterator[tuple[str, str, str, Mapping[str, Level]]]:
    """(task, dataset, system, part -> level)."""
    for task, dataset in profiles.layout.places(OVERALL):
        for system in profiles.layout.systems:
            yield (
                task, dataset.name, system.name,
                {part: profiles.on_dataset(task, dataset.name, system.name, part) for part in profiles.parts}
            )  # fmt: skip
    tasks = [run_task.name for run_task in profiles.layout.tasks]
    for task in (*(tasks if len(tasks) > 1 else ()), OVERALL):
        for system in profiles.layout.systems:
            yield (
                task, "", system.name,
                {part: profiles.in_scope(task, system.name, part) for part in profiles.parts}
            )  # fmt: skip


def _long(profiles: Profiles, shares: Shares) -> ColumnTable:
    """Every cell with its intervals, spread, and what was unchanged and failed."""
    rows: list[tuple[Value, ...]] = []
    for task, dataset, system, levels in _levels(profiles):
        for part, level in levels.items():
            unchanged, failed = shares.get((part, dataset), (None, None))
            rows.append((
                task, dataset or MACRO, system, title_of(part), points(level.original.value), points(level.score.value),
                *map(points, level.score.interval), points(level.delta.value), *map(points, level.delta.interval),
                points(level.sd), points(level.delta_sd), level.score.n, points(unchanged), points(failed),
                level.delta.method, level.score.reason
            ))  # fmt: skip
    columns = (
        *(Column(name, "text") for name in ("task", "dataset", "system", "part")), Column("original"), Column("score"),
        Column("score_low"), Column("score_high"), Column("change", "signed"), Column("change_low", "signed"),
        Column("change_high", "signed"), Column("sd"), Column("change_sd"), Column("n", decimals=0),
        Column("unchanged %"), Column("failed %"), Column("method", "text"), Column("reason", "text")
    )  # fmt: skip
    return ColumnTable(
        "hteb_cells", "HTEB: every score and change with its 95% interval", columns, tuple(rows)
    )


def _tests(tests: Sequence[Mapping[str, Any]]) -> ColumnTable:
    rows = tuple(
        (title_of(test["part"]), test["system"], points(test["shift"]), points(test["ci_low"]), points(test["ci_high"]),
         test["p"], test["p_holm"], test["n"], test["method"], test["reason"])
        for test in tests
    )  # fmt: skip
    columns = (
        Column("part", "text"), Column("system", "text"), Column("shift", "signed"), Column("low", "signed"),
        Column("high", "signed"), Column("p", "p"), Column("p_holm", "p"), Column("datasets", decimals=0),
        Column("method", "text"), Column("reason", "text")
    )  # fmt: skip
    note = (
        "Hodges-Lehmann shift of the change over datasets, bootstrap over datasets; Wilcoxon's signed-rank test, Holm "
        "over systems within a part. The paper's own choice of tests could not be read: this one is ours."
    )
    return ColumnTable("hteb_tests", "HTEB: changes over datasets", columns, rows, note)


def _axes(axes: Mapping[str, Any]) -> ColumnTable:
    rows = []
    for system in axes["systems"]:
        for axis in axes["axes"]:
            low, high = system["interval"][axis]
            rows.append((system["system"], AXES[axis], points(system["change"][axis]), points(low), points(high),
                         points(system["relative"][axis]), system["rank"][axis]))  # fmt: skip
    columns = (
        Column("system", "text"), Column("axis", "text"), Column("change", "signed"), Column("low", "signed"),
        Column("high", "signed"), Column("relative", "signed"), Column("rank", decimals=0)
    )  # fmt: skip
    note = "Relative: less the system's mean over its axes. Rank 1 keeps most on the axis; it is not a test."
    return ColumnTable("hteb_profiles", "HTEB: the profile of every system", columns, tuple(rows), note)


def _coupling(pairs: Sequence[Mapping[str, Any]]) -> ColumnTable:
    rows = tuple((AXES[pair["a"]], AXES[pair["b"]], pair["rho"], pair["n"]) for pair in pairs)
    columns = (
        Column("axis", "text"),
        Column("other", "text"),
        Column("spearman"),
        Column("systems", decimals=0),
    )
    note = (
        "Spearman's correlation over systems of the changes on two axes; low means that the axes are apart."
    )
    return ColumnTable("hteb_axes", "HTEB: how far the axes go together", columns, rows, note)


def _families(families: Sequence[Mapping[str, Any]]) -> ColumnTable:
    axes = [axis for axis in AXES if axis in families[0]["members"][0]["axes"]]
    rows: list[tuple[Value, ...]] = []
    for family in families:
        for member in family["members"]:
            rows.append(
                (
                    family["family"], member["system"], member["billions"], points(member["total"]),
                    points(member["change"]), *(points(member["axes"][axis]) for axis in axes), None, None, None,
                )
            )  # fmt: skip
        rows.append((family["family"], "largest minus smallest", None, None, points(family["shift"]),
                     *(None for _ in axes), points(family["ci_low"]), points(family["ci_high"]),
                     points(family["slope"])))  # fmt: skip
    columns = (
        Column("family", "text"), Column("system", "text"), Column("billions", decimals=3), Column("total"),
        Column("change", "signed"), *(Column(AXES[axis].lower(), "signed") for axis in axes),
        Column("low", "signed"), Column("high", "signed"), Column("per doubling", "signed")
    )  # fmt: skip
    note = "Above 0, the largest member loses less. Hodges-Lehmann shift over datasets with its bootstrap interval."
    return ColumnTable("hteb_families", "HTEB: does the gap shrink with size?", columns, tuple(rows), note)


def _groups(groups: Sequence[Mapping[str, Any]]) -> ColumnTable:
    rows = tuple(
        (group["group"], title_of(group["part"]), group["datasets"], points(group["change"]), points(group["ci_low"]),
         points(group["ci_high"]))
        for group in groups
    )  # fmt: skip
    columns = (
        Column("group", "text"), Column("part", "text"), Column("datasets", decimals=0), Column("change", "signed"),
        Column("low", "signed"), Column("high", "signed")
    )  # fmt: skip
    note = (
        "Mean over systems of each dataset's change; two groups of datasets side by side, not a paired test."
    )
    return ColumnTable("hteb_groups", "HTEB: English and multilingual datasets", columns, rows, note)


def _texts(texts: Sequence[Texts]) -> ColumnTable:
    kinds = list(
        dict.fromkeys(kind for text in texts for kind in text.outcomes if kind not in ("ok", "copied"))
    )
    rows = tuple(
        (
            text.transformation, text.dataset, text.seed, text.texts, _share(text.unchanged, text.texts),
            _share(text.texts - text.usable, text.texts), _share(text.retried, text.texts), text.ratio,
            _share(text.wrong_way, text.usable) if TRANSFORMATIONS[text.transformation].length else None,
            _share(text.no_question, text.questions), text.distance,
            *(text.outcomes.get(kind, 0) for kind in kinds),
        )
        for text in texts
    )  # fmt: skip
    columns = (
        Column("transformation", "text"), Column("dataset", "text"), Column("seed", decimals=0),
        Column("texts", decimals=0), Column("unchanged %"), Column("failed %"), Column("retried %"),
        Column("length ratio"), Column("wrong way %"), Column("questions lost %"), Column("edit distance"),
        *(Column(kind, decimals=0) for kind in kinds)
    )  # fmt: skip
    note = "Of distinct texts. Length ratio: the median. Wrong way: not longer, or not shorter, as intended."
    return ColumnTable("hteb_texts", "HTEB: texts by outcome", columns, rows, note)


def _share(part: int, n: int) -> float | None:
    return 100 * part / n if n else None


def _languages(texts: Sequence[Texts]) -> ColumnTable:
    names = list(dict.fromkeys(name for text in texts for name in text.languages))
    rows: tuple[tuple[Value, ...], ...] = tuple(
        (text.transformation, text.dataset, text.seed, *(text.languages.get(name, 0) for name in names))
        for text in texts
        if text.languages
    )
    columns = (
        Column("transformation", "text"), Column("dataset", "text"), Column("seed", decimals=0),
        *(Column(name, decimals=0) for name in names)
    )  # fmt: skip
    note = "Texts by the language that they went to; of backtranslation through."
    return ColumnTable("hteb_languages", "HTEB: languages drawn", columns, rows, note)


__all__ = ["Texts", "axis_part", "points", "shares_of", "tables", "title_of"]
