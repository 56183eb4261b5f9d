"""A paper's tables beside those of a run, cell by cell.

    python benchmarks/beside_paper.py RUN [RUN ...] --reference FOLDER

FOLDER holds the papers' tables as CSV (sage/table1.csv ..., pteb/table6.csv ...). Rows of the paper stand first, then
those of the runs, with the paper's columns; a column that a run has no value for is empty. A system of a run that the
paper has too stands below it, with what it is off.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

COLUMNS: Mapping[str, str] = {
    "cnn_dailymail": "cnn-dailymail", "scientific_papers": "sumpubmed", "amazon_polarity": "amazon-polarity",
    "paul_graham": "paul-graham", "human_preference": "Human Pref.",
}  # fmt: skip
"""A column of the paper's file -> that of ours, where they differ in more than capitals."""
NAMES: Mapping[str, str] = {
    "bm25": "BM25 Score", "jaccard": "Jaccard Similarity", "levenshtein": "Levenshtein Ratio", "rouge": "ROUGE Score",
}  # fmt: skip
"""A system of ours -> what the paper calls it; a model by the end of its name."""
PTEB = {"sts": "STS", "pair_classification": "Pair Classification", "summarization": "Summarisation"}


def rows(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file; none where there is no such file."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def sage(run: Path, reference: Path) -> Iterator[str]:
    """Tables 1 to 6."""
    for number in range(1, 7):
        printed, ours = (
            rows(reference / "sage" / f"table{number}.csv"),
            rows(run / f"tables/sage_table{number}.csv"),
        )
        if not printed or not ours:
            continue
        columns = [name for name in printed[0] if name not in ("model", "kind")]
        held = {name.lower(): name for name in ours[0]}
        yield from (
            "",
            f"**SAGE table {number}**",
            "",
            _line(["", *columns]),
            _line(["---"] * (len(columns) + 1)),
        )
        for row in printed:
            yield _line([row["model"], *(row[name] for name in columns)])
            for own in ours:
                if _same(own["system"], row["model"]):
                    values = [own.get(held.get(COLUMNS.get(name, name).lower(), ""), "") for name in columns]
                    yield _line([f"here: {own['system']}", *map(_short, values)])
                    yield _line(
                        ["difference", *(_off(a, row[name]) for a, name in zip(values, columns, strict=True))]
                    )
        for own in ours:
            if not any(_same(own["system"], row["model"]) for row in printed):
                values = [own.get(held.get(COLUMNS.get(name, name).lower(), ""), "") for name in columns]
                yield _line([own["system"], *map(_short, values)])


def pteb(run: Path, reference: Path) -> Iterator[str]:
    """Tables 6, 9 and 10: original, paraphrased and change of every system."""
    for number in (6, 9, 10):
        ours = [one for one in rows(run / f"tables/pteb_table{number}.csv") if one["system"] != "Average"]
        printed = rows(reference / "pteb" / f"table{number}.csv")
        if not printed or not ours:
            continue
        yield from (
            "",
            f"**PTEB table {number}**",
            "",
            _line(["", "", "orig", "pteb", "delta"]),
            _line(["---"] * 5),
        )
        for one in printed:
            place = one.get("task") or one["dataset"]
            yield _line([place, one["model"], one["orig"], one["pteb"], one["delta"]])
        for one in ours:
            place = one.get("task") or one["dataset"]
            yield _line(
                [
                    PTEB.get(place, place),
                    f"here: {one['system']}",
                    *(_short(one[k]) for k in ("orig", "pteb", "delta")),
                ]
            )


def _same(system: str, printed: str) -> bool:
    return (
        NAMES.get(system) == printed
        or system.rpartition(":")[2].rpartition("/")[2].partition("?")[0] == printed
    )


def _off(ours: str, printed: str) -> str:
    return f"{float(ours) - float(printed):+.3f}" if ours and printed else ""


def _short(value: str) -> str:
    return f"{float(value):.3f}" if value else ""


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the tables as Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("run", type=Path, nargs="+")
    parser.add_argument("--reference", type=Path, required=True)
    given = parser.parse_args()
    for run in given.run:
        manifest = json.loads((run / "manifest.json").read_text("utf-8"))
        print(f"{run.name}: {' '.join(one['said'] for one in manifest.get('suites', ()))}")
        made = {"sage": sage, "pteb": pteb}.get(manifest["protocol"])
        print(
            "\n".join(made(run, given.reference))
            if made
            else f"no tables of {manifest['protocol']} are compared"
        )


if __name__ == "__main__":
    main()
