"""Compute docs/published.csv anew: published figures, and what this code gives for them.

    EMBASSAY_DATA=DATA python benchmarks/reproduce.py --reference REFERENCE --run RUN > docs/published.csv

REFERENCE holds the papers' tables as CSV (folders hume, pteb, rag, sage) and HUME's results.json.gz; DATA the files
that `benchmarks/datasets/*.yaml` describe; RUN a run of SAGE on all of SumPubMed, BillSum and CNN/DailyMail, as
`real_report.py --only paper` makes it. `published_page.py` makes the page of it.
"""

from __future__ import annotations

import argparse
import csv
import io
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import astuple, fields
from pathlib import Path

import published
from reproducing import hume, pteb, rag, sage

from embassay.interchange.reproduction import ReproducedTableValue, make_reproduced_figure


def main() -> None:
    """Print the figures as CSV."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--reference", type=Path, required=True)
    parser.add_argument("--run", type=Path, required=True)
    given = parser.parse_args()
    data = Path(os.environ["EMBASSAY_DATA"])
    sys.stdout.write(write_figures(every(given.reference, data, given.run)))


def every(reference: Path, data: Path, run: Path) -> Iterator[ReproducedTableValue]:
    """The four papers, then mteb."""
    yield from sage.figures(reference, run)
    yield from pteb.figures(reference, data)
    yield from rag.figures(reference)
    yield from hume.figures(reference)
    for name, printed, here, _ in published.figures(data):
        yield make_reproduced_figure("mteb", "all-MiniLM-L6-v2", name, "x 100", f"{printed:.2f}", here)


def write_figures(figures: Iterable[ReproducedTableValue]) -> str:
    """The figures as CSV."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([field.name for field in fields(ReproducedTableValue)])
    writer.writerows(astuple(figure) for figure in figures)
    return stream.getvalue()


if __name__ == "__main__":
    main()
