"""The tables of a noise probe: the source's 12 and 13, and ours of retrieval (spec rag 9)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from embassay.protocols.rag.probes.found import MEASURES, RECALL
from embassay.protocols.rag.probes.noise import outcome as noise
from embassay.protocols.rag.probes.noise.levels import LEVELS
from embassay.protocols.rag.probes.noise.measured import COSINE, OVERLAP, TAU
from embassay.protocols.rag.probes.noise.wordings import NOISIEST, level_name
from embassay.protocols.rag.probes.rows import CHANGE, DATASET, INTERVALS, LANG, SYSTEM, Rows, link_table
from embassay.protocols.tables import Column, ColumnTable, Value


def tables(rows: Rows, systems: Sequence[str]) -> Iterator[ColumnTable]:
    """The tables of a noise probe."""
    yield _cosines(rows, systems)
    yield _drops(rows, systems)
    yield _end_to_end(rows, systems)
    yield link_table(
        rows, systems, "noise_links", "Similarity and retrieval, over queries and over levels", noise.ACROSS
    )


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
    for dataset, lang, system in rows.each(systems):
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
    for dataset, lang, system in rows.each(systems):
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
            *(Column(f"{measure} {one}", "signed", 3) for one in CHANGE),
        ]
        columns.append(Column(f"{measure} p", "p"))
    columns += [Column(OVERLAP, decimals=3), Column(TAU, decimals=3)]
    body: list[tuple[Value, ...]] = []
    for dataset, lang, system in rows.each(systems):
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


def _rewriters(rows: Rows) -> tuple[str, ...]:
    found = (one.partition(":")[2] for one in rows.variants(COSINE))
    return tuple(dict.fromkeys(one for one in found if one))


def _named(variant: str, rewriter: str) -> str:
    return f"{variant}:{rewriter}" if rewriter else variant
