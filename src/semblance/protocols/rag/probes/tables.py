"""The tables of a probe, from its rows of results: the source's numbers where it has them (spec rag 9)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from semblance.protocols.rag.probes.found import MEASURES, RECALL
from semblance.protocols.rag.probes.names import outcome as names
from semblance.protocols.rag.probes.names.conditions import CONDITIONS
from semblance.protocols.rag.probes.names.request import NamesRequest
from semblance.protocols.rag.probes.noise import outcome as noise
from semblance.protocols.rag.probes.noise.levels import LEVELS
from semblance.protocols.rag.probes.noise.measured import COSINE, OVERLAP, TAU
from semblance.protocols.rag.probes.noise.wordings import NOISIEST, level_name
from semblance.protocols.rag.probes.resampling import CORRELATIONS
from semblance.protocols.tables import Column, ColumnTable, Value
from semblance.records import Result

SYSTEM, LANG, DATASET = Column("system", "text"), Column("lang", "text"), Column("dataset", "text")
GROUPS = {"base": "base", "identity": "identity-destroying", "orthography": "orthography and formatting",
          "layout": "layout"}  # fmt: skip
INTERVALS = "Intervals are 95% percentile bootstrap over queries."


class Rows:
    """Rows of results, found by what they are of."""

    def __init__(self, rows: Iterable[Result]) -> None:
        self._rows = {(one.dataset, one.system, one.variant, one.measure): one for one in rows}
        self.langs = {one.dataset: one.lang for one in self._rows.values()}
        """Dataset -> its language, in the order of the rows."""

    def find(self, dataset: str, system: str, variant: str, measure: str) -> Result | None:
        """The row, or None."""
        return self._rows.get((dataset, system, variant, measure))

    def value(self, dataset: str, system: str, variant: str, measure: str) -> Value:
        """Its value, None where there is none."""
        row = self.find(dataset, system, variant, measure)
        return None if row is None else row.value

    def with_interval(
        self, dataset: str, system: str, variant: str, measure: str
    ) -> tuple[Value, Value, Value]:
        """Value, low and high."""
        row = self.find(dataset, system, variant, measure)
        return (None, None, None) if row is None else (row.value, row.ci_low, row.ci_high)

    def variants(self, measure: str) -> tuple[str, ...]:
        """The variants that have a row of the measure, in order."""
        return tuple(dict.fromkeys(key[2] for key in self._rows if key[3] == measure))


def tables(
    task: str, request: Any, systems: Sequence[str], rows: Iterable[Result]
) -> tuple[ColumnTable, ...]:
    """The tables of the probe `task`; those that would be empty are left out."""
    found = Rows(rows)
    made = _of_names(found, systems, request) if task == names.TASK else _of_noise(found, systems)
    return tuple(table for table in made if table.rows)


def _of_names(rows: Rows, systems: Sequence[str], request: NamesRequest) -> Iterator[ColumnTable]:
    size = f"{request.size} queries x {request.runs} runs"
    yield _base_margins(rows, systems, size)
    yield _ratios(rows, systems, size)
    for dataset, lang in rows.langs.items():
        yield _ablations(rows, systems, dataset, lang, size)
    yield _recall(rows, systems)
    yield _links(rows, systems, "name_links", "Name margin and retrieval, over queries and over conditions")


def _base_margins(rows: Rows, systems: Sequence[str], size: str) -> ColumnTable:
    columns = [SYSTEM, LANG]
    for measure in names.MARGINS:
        columns += [
            Column(measure, decimals=3),
            Column(f"{measure} low", decimals=3),
            Column(f"{measure} high", decimals=3),
        ]
    columns.append(Column("SD between runs", decimals=4))
    body = []
    for dataset, lang, system in _each(rows, systems):
        cells: list[Value] = [system, lang]
        for measure in names.MARGINS:
            cells += rows.with_interval(dataset, system, "", measure)
        body.append((*cells, rows.value(dataset, system, "", names.SD)))
    title = f"Base margins: {size}"
    return ColumnTable("rag_table10", title, tuple(columns), tuple(body), INTERVALS)


def _ratios(rows: Rows, systems: Sequence[str], size: str) -> ColumnTable:
    columns = (SYSTEM, LANG, *(Column(one, decimals=3) for one in ("name/topic", "low", "high")))
    body = [
        (system, lang, *rows.with_interval(dataset, system, "", names.RATIO))
        for dataset, lang, system in _each(rows, systems)
    ]
    title = f"Name margin over topic margin, ratio of means: {size}"
    return ColumnTable("rag_table11", title, columns, tuple(body), INTERVALS)


def _ablations(rows: Rows, systems: Sequence[str], dataset: str, lang: str, size: str) -> ColumnTable:
    columns = (
        SYSTEM, Column("group", "text"), Column("condition", "text"), Column("d_name", decimals=3),
        Column("SD between runs", decimals=4), Column("change", "signed", 3), Column("change low", "signed", 3),
        Column("change high", "signed", 3), Column("percent", "signed", 1), Column("percent low", "signed", 1),
        Column("percent high", "signed", 1), Column("percent of means", "signed", 1),
        Column("rows left out", decimals=3),
    )  # fmt: skip
    body = []
    for system in systems:
        for name in _conditions(rows):
            if rows.find(dataset, system, name, names.HEADLINE) is None:
                continue
            body.append(
                (
                    system, GROUPS[CONDITIONS[name or "base"].group], name or "base",
                    *(rows.value(dataset, system, name, one) for one in (names.HEADLINE, names.SD)),
                    *rows.with_interval(dataset, system, name, names.ABSOLUTE),
                    *rows.with_interval(dataset, system, name, names.PERCENT),
                    rows.value(dataset, system, name, names.OF_MEANS),
                    rows.value(dataset, system, name, names.EXCLUDED),
                )
            )  # fmt: skip
    note = (
        "percent is the mean of the rows' changes, of rows whose base margin is 0.02 or more (the share of others is "
        f"in the last column); percent of means is the change of the means of the same rows. {INTERVALS}"
    )
    return ColumnTable(
        f"name_margin_{lang}", f"Name margin under ablations, {lang}: {size}", columns, tuple(body), note
    )


def _recall(rows: Rows, systems: Sequence[str]) -> ColumnTable:
    columns: list[Column] = [SYSTEM, LANG, Column("condition", "text"), Column("d_name", decimals=3)]
    for measure in MEASURES:
        columns += [
            Column(measure, decimals=3),
            *(Column(f"{measure} {one}", "signed", 3) for one in _CHANGE),
        ]
    body = []
    for dataset, lang, system in _each(rows, systems):
        for name in _conditions(rows):
            if rows.find(dataset, system, name, names.HEADLINE) is None:
                continue
            cells: list[Value] = [
                system,
                lang,
                name or "base",
                rows.value(dataset, system, name, names.HEADLINE),
            ]
            for measure in MEASURES:
                cells.append(rows.value(dataset, system, name, measure))
                cells += rows.with_interval(dataset, system, name, f"{measure} change")
            body.append(tuple(cells))
    note = (
        "Retrieval from a collection of all bundles' passages, ours: grade 5 right author and topic, 3 right author, "
        f"2 right topic, 1 neither. Change is against the base. {INTERVALS}"
    )
    return ColumnTable("name_retrieval", "Retrieval under ablations", tuple(columns), tuple(body), note)


_CHANGE = ("change", "low", "high")


def _of_noise(rows: Rows, systems: Sequence[str]) -> Iterator[ColumnTable]:
    yield _cosines(rows, systems)
    yield _drops(rows, systems)
    yield _end_to_end(rows, systems)
    yield _links(rows, systems, "noise_links", "Similarity and retrieval, over queries and over levels")


def _cosines(rows: Rows, systems: Sequence[str]) -> ColumnTable:
    levels = [level_name(level) for level in range(len(LEVELS))]
    columns = (
        SYSTEM,
        DATASET,
        LANG,
        Column("wording", "text"),
        *(Column(f"level {i}", decimals=3) for i in range(len(LEVELS))),
    )
    body: list[tuple[Value, ...]] = []
    for dataset, lang, system in _each(rows, systems):
        for rewriter in ("", *_rewriters(rows)):
            found = [rows.value(dataset, system, _named(one, rewriter), COSINE) for one in levels]
            if any(one is not None for one in found):
                body.append(
                    (system, dataset, lang, f"rewritten by {rewriter}" if rewriter else "as asked", *found)
                )
    title = "Similarity of the question to what is meant, by level of noise"
    return ColumnTable("rag_table12", title, columns, tuple(body))


def _drops(rows: Rows, systems: Sequence[str]) -> ColumnTable:
    columns: list[Column] = [SYSTEM, DATASET, LANG, Column("wording", "text")]
    columns += [Column("drop", decimals=3), Column("drop low", decimals=3), Column("drop high", decimals=3)]
    columns += [Column("drop %", decimals=1), Column("% low", decimals=1), Column("% high", decimals=1)]
    columns += [
        Column("recovered", decimals=3),
        Column("recovered low", decimals=3),
        Column("recovered high", decimals=3),
    ]
    body: list[tuple[Value, ...]] = []
    noisiest = level_name(NOISIEST)
    for dataset, lang, system in _each(rows, systems):
        for rewriter in ("", *_rewriters(rows)):
            where = (dataset, system, _named(noisiest, rewriter))
            if rows.find(*where, noise.HEADLINE) is None and rewriter:
                continue
            cells = [*rows.with_interval(*where, noise.HEADLINE), *rows.with_interval(*where, noise.SHARE)]
            cells += rows.with_interval(*where, noise.RECOVERED)
            body.append(
                (system, dataset, lang, f"rewritten by {rewriter}" if rewriter else "as asked", *cells)
            )
    title = f"Drop of similarity from level 0 to level {NOISIEST}, and what rewriting brings back"
    return ColumnTable("rag_table13", title, tuple(columns), tuple(body), INTERVALS)


def _end_to_end(rows: Rows, systems: Sequence[str]) -> ColumnTable:
    columns: list[Column] = [SYSTEM, DATASET, LANG, Column("level"), Column("wording", "text")]
    columns[3] = Column("level", decimals=0)
    for measure in MEASURES:
        columns += [
            Column(measure, decimals=3),
            *(Column(f"{measure} {one}", "signed", 3) for one in _CHANGE),
        ]
        columns.append(Column(f"{measure} p", "p"))
    columns += [Column(OVERLAP, decimals=3), Column(TAU, decimals=3)]
    body: list[tuple[Value, ...]] = []
    for dataset, lang, system in _each(rows, systems):
        for rewriter in ("", *_rewriters(rows)):
            for level in range(len(LEVELS)):
                variant = level_name(level, rewriter)
                if rows.find(dataset, system, variant, RECALL) is None:
                    continue
                where = (dataset, system, variant)
                cells: list[Value] = [
                    system,
                    dataset,
                    lang,
                    level,
                    f"rewritten by {rewriter}" if rewriter else "as asked",
                ]
                for measure in MEASURES:
                    cells.append(rows.value(*where, measure))
                    cells += rows.with_interval(*where, f"{measure} change")
                    cells.append(rows.value(*where, f"p({measure} change)"))
                body.append((*cells, rows.value(*where, OVERLAP), rows.value(*where, TAU)))
    note = (
        "Change is against the clean question, p by the paired bootstrap; overlap and tau are with its ranking. "
        f"{INTERVALS}"
    )
    return ColumnTable("noise_retrieval", "Retrieval with noisy questions", tuple(columns), tuple(body), note)


def _links(rows: Rows, systems: Sequence[str], name: str, title: str) -> ColumnTable:
    columns = (
        SYSTEM, DATASET, Column("over", "text"), Column("of", "text"), Column("correlation", "text"),
        Column("value", "signed"), Column("low", "signed"), Column("high", "signed"), Column("n", decimals=0),
        Column("why none", "text"),
    )  # fmt: skip
    body: list[tuple[Value, ...]] = []
    for dataset, _, system in _each(rows, systems):
        for (key_dataset, key_system, variant, measure), row in rows._rows.items():
            kind, _, rest = measure.partition("(")
            if (key_dataset, key_system) == (dataset, system) and kind in CORRELATIONS:
                over = variant if variant in (names.ACROSS, noise.ACROSS) else f"queries, {variant or 'base'}"
                body.append(
                    (
                        system,
                        dataset,
                        over,
                        rest.rstrip(")"),
                        kind,
                        row.value,
                        row.ci_low,
                        row.ci_high,
                        row.n,
                        row.reason,
                    )
                )
    return ColumnTable(
        name, title, columns, tuple(body), f"{INTERVALS} n counts queries, or conditions or levels."
    )


def _each(rows: Rows, systems: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    for dataset, lang in rows.langs.items():
        yield from ((dataset, lang, system) for system in systems)


def _conditions(rows: Rows) -> tuple[str, ...]:
    """The base (no variant) and the ablations that were asked for."""
    there = set(rows.variants(names.HEADLINE))
    return tuple(one for one in ("", *CONDITIONS) if one in there)


def _rewriters(rows: Rows) -> tuple[str, ...]:
    found = (one.partition(":")[2] for one in rows.variants(COSINE))
    return tuple(dict.fromkeys(one for one in found if one))


def _named(variant: str, rewriter: str) -> str:
    return f"{variant}:{rewriter}" if rewriter else variant
