"""The tables of a name probe: the source's 10 and 11, its ablations by language, and ours of retrieval (spec rag 9)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from embassay.protocols.rag.probes.found import MEASURES
from embassay.protocols.rag.probes.names import outcome as names
from embassay.protocols.rag.probes.names.conditions import CONDITIONS
from embassay.protocols.rag.probes.names.request import NamesRequest
from embassay.protocols.rag.probes.rows import CHANGE, INTERVALS, LANG, SYSTEM, Rows, link_table
from embassay.protocols.tables import Column, ColumnTable, Value

GROUPS = {"base": "base", "identity": "identity-destroying", "orthography": "orthography and formatting",
          "layout": "layout"}  # fmt: skip


def tables(rows: Rows, systems: Sequence[str], request: NamesRequest) -> Iterator[ColumnTable]:
    """The tables of a name probe."""
    size = f"{request.size} queries x {request.runs} runs"
    yield _base_margins(rows, systems, size)
    yield _ratios(rows, systems, size)
    for dataset, lang in rows.langs.items():
        yield _ablations(rows, systems, dataset, lang, size)
    yield _recall(rows, systems)
    yield link_table(
        rows,
        systems,
        "name_links",
        "Name margin and retrieval, over queries and over conditions",
        names.ACROSS,
    )


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
    for dataset, lang, system in rows.each(systems):
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
        for dataset, lang, system in rows.each(systems)
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
            *(Column(f"{measure} {one}", "signed", 3) for one in CHANGE),
        ]
    body = []
    for dataset, lang, system in rows.each(systems):
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


def _conditions(rows: Rows) -> tuple[str, ...]:
    """The base (no variant) and the ablations that were asked for."""
    there = set(rows.variants(names.HEADLINE))
    return tuple(one for one in ("", *CONDITIONS) if one in there)
