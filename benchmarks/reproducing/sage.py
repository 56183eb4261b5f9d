"""SAGE: the headline scores from the other tables, and the classical metrics on the data of which a part is at hand."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from embassay.interchange.reproduction import ReproducedTableValue, make_reproduced_figure
from reproducing.printed import rows

SYSTEMS = {
    "levenshtein": "Levenshtein Ratio", "rouge": "ROUGE Score", "jaccard": "Jaccard Similarity", "bm25": "BM25 Score",
}  # fmt: skip
DATA = {"billsum": "billsum", "cnn_dailymail": "cnn_dailymail", "scientific_papers": "sumpubmed"}
"""The paper's column -> our dataset; of SumPubMed sensitivity takes the abstracts."""
TABLES = (
    (4, "robustness", "", ""),
    (5, "sensitivity", "insertion", "_abstracts"),
    (6, "sensitivity", "removal", "_abstracts"),
)
PARTS = ("clustering", "human_preference", "robustness", "sensitivity", "retrieval")


def figures(reference: Path, run: Path) -> Iterator[ReproducedTableValue]:
    """From `reference`/sage, and a finished run of SAGE on our part of the data."""
    tables = {number: table(reference / "sage" / f"table{number}.csv") for number in range(1, 7)}
    yield from headlines(tables)
    yield from measured(tables, run)


def headlines(tables: Mapping[int, Mapping[str, Mapping[str, str]]]) -> Iterator[ReproducedTableValue]:
    """Table 1 from tables 2 to 6."""
    for system, row in tables[1].items():
        means = {number: fmean(map(float, tables[number][system].values())) for number in range(2, 7)}
        ours = {
            "human_preference": fmean([means[2], means[3]]),
            "robustness": means[4],
            "sensitivity": fmean([means[5], means[6]]),
            "overall": fmean(float(row[part]) for part in PARTS),
        }
        for column, value in ours.items():
            yield make_reproduced_figure("SAGE", "table 1", system, column, row[column], value)


def measured(tables: Mapping[int, Mapping[str, Mapping[str, str]]], run: Path) -> Iterator[ReproducedTableValue]:
    """Tables 4 to 6 for the four metrics."""
    found = [json.loads(line) for line in (run / "results.jsonl").read_text("utf-8").splitlines()]
    for number, task, variant, part in TABLES:
        for system, name in SYSTEMS.items():
            for column, dataset in DATA.items():
                own = dataset + (part if dataset == "sumpubmed" else "")
                value = _value(found, task, variant, own, system)
                yield make_reproduced_figure(
                    "SAGE", f"table {number}", name, column, tables[number][name][column], value
                )


def _value(found: list[dict[str, Any]], task: str, variant: str, dataset: str, system: str) -> float:
    key = {"task": task, "variant": variant, "dataset": dataset, "system": system, "measure": task}
    (row,) = (one for one in found if all(one[name] == value for name, value in key.items()))
    return float(row["value"])


def table(path: Path) -> dict[str, dict[str, str]]:
    return {
        row["model"]: {name: value for name, value in row.items() if name not in ("model", "kind")}
        for row in rows(path)
    }
