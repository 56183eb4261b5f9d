"""Tables 4 and 5 of the paper, and the criteria on every dataset, from the rows of a selection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from embassay.protocols.kernel.tables import Column, ColumnTable, Value
from embassay.protocols.pteb.selection.conclusions import SHIFT
from embassay.protocols.pteb.selection.criteria import HEADLINE
from embassay.records import Result

_SHOWN = {
    HEADLINE: Column("Similarity"),
    "edit_distance": Column("Edit distance"),
    "seconds": Column("Runtime (s)"),
    "copied": Column("Copied", decimals=4),
    "failed": Column("Failed", decimals=4),
}


def tables(rows: Sequence[Result], selection: Mapping[str, Any]) -> Iterator[ColumnTable]:
    """All tables; `selection` is the manifest's."""
    found = {(row.system, row.dataset, row.variant, row.measure): row for row in rows}
    candidates = [one["name"] for one in selection["candidates"]]
    yield _table_4(found, candidates, selection)
    yield _table_5(found, selection)
    yield _by_dataset(found, candidates)


Found = Mapping[tuple[str, str, str, str], Result]


def _table_4(found: Found, candidates: Sequence[str], selection: Mapping[str, Any]) -> ColumnTable:
    rows = [
        (
            name,
            *_values(found, name, ""),
            "yes" if name in selection["front"] else "no",
            "yes" if name == selection["selected"] else selection["rejected"].get(name, "no"),
        )
        for name in candidates
    ]
    columns = (
        Column("Paraphraser", "text"),
        *_SHOWN.values(),
        Column("Pareto front", "text"),
        Column("Selected", "text"),
    )
    title = f"PTEB table 4: paraphrasers, means over datasets; similarity as {selection['judge']} rates it"
    told = (
        f"Selected: {selection['selected'] or 'none'}, {selection['because']}. {selection['rule']} "
        "Runtime is that of the answers as they came, many at once; a candidate with concurrency=1 is timed alone."
    )
    return ColumnTable("pteb_table4", title, columns, tuple(rows), told)


def _table_5(found: Found, selection: Mapping[str, Any]) -> ColumnTable:
    rows = []
    for name in (one["name"] for one in selection["candidates"]):
        for judge in (selection["judge"], *selection["cross_judges"]):
            variant = "" if judge == selection["judge"] else f"judge={judge}"
            mean, shift = (found.get((name, "", variant, one)) for one in (HEADLINE, SHIFT))
            if mean is not None and shift is not None and _cross_checked(found, name, selection):
                rows.append((name, judge, mean.value, shift.value, shift.ci_low, shift.ci_high, shift.n))
    columns = (
        Column("Paraphraser", "text"),
        Column("Judge", "text"),
        *map(Column, ("Average", "HL", "CI low", "CI high")),
        Column("Datasets", decimals=0),
    )
    title = "PTEB table 5: the selected paraphraser as every judge rates it"
    note = "HL: Hodges-Lehmann estimate over the dataset means, with its 95% bootstrap interval."
    return ColumnTable("pteb_table5", title, columns, tuple(rows), note)


def _cross_checked(found: Found, name: str, selection: Mapping[str, Any]) -> bool:
    """The selected candidate is, and every other one that several judges have rated."""
    others = ((name, "", f"judge={judge}", HEADLINE) for judge in selection["cross_judges"])
    return name == selection["selected"] or any(one in found for one in others)


def _by_dataset(found: Found, candidates: Sequence[str]) -> ColumnTable:
    datasets = list(dict.fromkeys(dataset for _, dataset, _, _ in found if dataset))
    rows = []
    for name in candidates:
        for dataset in datasets:
            row = found.get((name, dataset, "", "failed"))
            rows.append((name, dataset, *_values(found, name, dataset), row.n if row is not None else None))
    columns = (
        Column("Paraphraser", "text"),
        Column("Dataset", "text"),
        *_SHOWN.values(),
        Column("Texts", decimals=0),
    )
    return ColumnTable("paraphrasers_by_dataset", "Paraphrasers on every dataset", columns, tuple(rows))


def _values(found: Found, name: str, dataset: str) -> tuple[Value, ...]:
    rows = (found.get((name, dataset, "", measure)) for measure in _SHOWN)
    return tuple(None if row is None else row.value for row in rows)
