"""PTEB: what follows from the printed scores, and the lengths of the texts that are at hand."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

import numpy as np

from embassay.interchange.reproduction import ReproducedTableValue, make_reproduced_figure
from embassay.protocols.pteb.drops import summarise_words_per_text_by_dataset
from embassay.stats import hodges_lehmann, holm, wilcoxon
from reproducing.printed import rows

BASELINE = "all-mpnet-base-v2"
STATISTICS = {
    "embeddinggemma-300m": 0, "qwen3-embedding-8b": 20, "mxbai-embed-large-v1": 69, "e5-mistral-7b-instruct": 131,
}  # fmt: skip
"""The rank sums that the printed p of table 7 belong to: its differences are not published."""
PAIRS, RUNS = 54, 6
TEXTS = {
    "SICK-R": "sick_r_test_trial", "STS12": "sts12_test", "STS13": "sts13_test", "STS17": "sts17_en-en_test",
    "STSB": "stsb_en_test",
}  # fmt: skip


def figures(reference: Path, data: Path) -> Iterator[ReproducedTableValue]:
    """From `reference`/pteb, and the texts of `data`/sts."""
    folder = reference / "pteb"
    yield from _words(folder, data)
    yield from _judges(folder)
    for number in (6, 9, 10):
        yield from _deltas(folder, number)
    yield from _pooled(folder)
    yield from _averaged(folder)


def _words(folder: Path, data: Path) -> Iterator[ReproducedTableValue]:
    texts = {name: _texts(data / "sts" / f"{file}.jsonl.gz") for name, file in TEXTS.items()}
    ours = {one.dataset: one.mean for one in summarise_words_per_text_by_dataset(texts)}
    printed = {row["dataset"]: row["word_count"] for row in rows(folder / "table1.csv")}
    for name, mean in ours.items():
        yield make_reproduced_figure("PTEB", "table 1", name, "words per text", printed[name], mean)
    others = [float(value) for name, value in printed.items() if name != "Average"]
    yield make_reproduced_figure("PTEB", "table 1", "Average", "words per text", printed["Average"], fmean(others))


def _texts(path: Path) -> list[str]:
    found = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    return [text for row in found for text in (row["text"], row["text2"])]


def _judges(folder: Path) -> Iterator[ReproducedTableValue]:
    *cells, average = rows(folder / "table2.csv")
    for judge in list(average)[1:]:
        mean = fmean(float(row[judge]) for row in cells)
        yield make_reproduced_figure("PTEB", "table 2", "Average", judge, average[judge], mean)


def _deltas(folder: Path, number: int) -> Iterator[ReproducedTableValue]:
    """Every printed difference from its two scores, and every average from its cells."""
    printed = list(rows(folder / f"table{number}.csv"))
    cells = [row for row in printed if row["dataset"] != "Average"]
    for row in cells:
        delta = float(row["pteb"]) - float(row["orig"])
        yield make_reproduced_figure(
            "PTEB", f"table {number}", f"{row['dataset']}, {row['model']}", "delta", row["delta"], delta
        )
    for row in printed[len(cells) :]:
        own = [one for one in cells if one["model"] == row["model"]]
        for column in ("orig", "pteb", "delta"):
            mean = fmean(float(one[column]) for one in own)
            yield make_reproduced_figure(
                "PTEB", f"table {number}", f"Average, {row['model']}", column, row[column], mean
            )
    for row in rows(folder / f"table{number}_average_delta.csv"):
        own = [one for one in cells if row["dataset"] in (one["dataset"], "Average")]
        mean = fmean(float(one["delta"]) for one in own)
        yield make_reproduced_figure(
            "PTEB", f"table {number}", f"{row['dataset']}, all models", "delta", row["average_delta"], mean
        )


def _pooled(folder: Path) -> Iterator[ReproducedTableValue]:
    """The p of 54 differences with the rank sums that belong to them, by our test and Holm's correction."""
    printed = {row["model"]: row["p_holm"] for row in rows(folder / "table7.csv")}
    p = holm([wilcoxon(_differences(statistic)).p for statistic in STATISTICS.values()])
    for model, ours in zip(STATISTICS, p, strict=True):
        yield make_reproduced_figure("PTEB", "table 7", model, "p by Holm", printed[model], float(ours))


def _differences(statistic: int) -> list[int]:
    """The ranks 1 to 54 with signs, so that the negative ones sum to the statistic."""
    negative: set[int] = set()
    for rank in range(PAIRS, 0, -1):
        if rank <= statistic:
            negative.add(rank)
            statistic -= rank
    return [-rank if rank in negative else rank for rank in range(1, PAIRS + 1)]


def _averaged(folder: Path) -> Iterator[ReproducedTableValue]:
    """Shifts and p of table 14 from the nine scores of table 6."""
    cells = [row for row in rows(folder / "table6.csv") if row["dataset"] != "Average"]
    scores = {
        model: np.array([float(row["pteb"]) for row in cells if row["model"] == model])
        for model in (BASELINE, *STATISTICS)
    }
    printed = list(rows(folder / "table14.csv"))
    shifts = [scores[BASELINE] - scores[row["model"]] for row in printed]
    p = holm([wilcoxon(shift).p for shift in shifts])
    for row, shift, ours in zip(printed, shifts, p, strict=True):
        moved = hodges_lehmann(np.round(shift, 2)).value
        yield make_reproduced_figure(
            "PTEB", "table 14", row["model"], "Hodges-Lehmann shift", row["hl_shift"], float(moved)
        )
        yield make_reproduced_figure("PTEB", "table 14", row["model"], "p by Holm", row["p_holm"], float(ours))
