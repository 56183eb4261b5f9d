"""Does what a probe measures go with what is retrieved: correlations as a table."""

from __future__ import annotations

from embassay.protocols.numbers import Unit
from embassay.protocols.rag.probes.found import MEASURES
from embassay.report.matrix import Line, Matrix, entry
from embassay.report.rag.probes.where import Where

CORRELATION = Unit(1.0, 2, 2)
KIND = "Spearman"


def links(where: Where, of: str, variants: tuple[tuple[str, str], ...]) -> Matrix | None:
    """Spearman's correlation of the change of `of` with that of each retrieval measure, a row per system, dataset and
    variant (its name and what it is called); None where there is none."""
    lines = []
    for dataset, said, system in where.each():
        for variant, words in variants:
            rows = [
                where.find(dataset, system.name, variant, f"{KIND}({of} change, {measure} change)")
                for measure in MEASURES
            ]
            if any(row is not None for row in rows):
                cells = tuple(entry(row, CORRELATION, signed=True) for row in rows)
                lines.append(Line(f"{where.labels[system.name]}, {said}, {words}", cells, system.kind))
    if not any(cell.exact for line in lines for cell in line.entries):
        return None
    columns = tuple(f"{measure}" for measure in MEASURES)
    return Matrix(
        f"{where.task}-links", f"Correlation with the change of {of}", "Over", columns, tuple(lines)
    )
