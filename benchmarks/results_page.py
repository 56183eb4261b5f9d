"""`benchmarks/results/sage.md` from finished runs: `python benchmarks/results_page.py RUN... > FILE`.

Each run becomes a section: its command, its datasets, and its tables as the run wrote them.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

HEAD = """# Results on public data

Measured with this code on the datasets described in `benchmarks/datasets/*.yaml` (each names its source and licence;
the files themselves are not part of Embassay). `EMBASSAY_DATA` points to the folder that holds them. All values are
on the scale 0 to 1, higher is better, three decimals; exact values with intervals are in each run's `results.jsonl`.
`constant` and `random` are references, not ranked. `minilm` is all-MiniLM-L6-v2, which reads 256 tokens of a text.

They are stand-ins for the paper's datasets (SummEval and SQuALITY for its feedback data, samples of SumPubMed, BillSum
and CNN/DailyMail, SciFact and Cranfield of BEIR's size), so tables 2 and 3, clustering and retrieval are not meant to
equal the paper's; what does not depend on the corpus is checked at the end of this page.
"""


def main(paths: list[str]) -> None:
    """Print the page."""
    print(HEAD)
    for path in map(Path, paths):
        print(section(path))
    tail = Path(__file__).with_name("results_tail.md")
    print(tail.read_text("utf-8").strip())


def section(run: Path) -> str:
    """One run: what was run, on how many items, and its tables."""
    manifest = json.loads((run / "manifest.json").read_text("utf-8"))
    lines = [f"## Run `{run.name}`", "", "```sh", folded(manifest["command"]), "```", ""]
    lines.append(sizes(manifest))
    missing = [cell for cell in manifest["cells"] if cell["status"] != "done"]
    if missing:
        names = sorted({f"{cell['task']} {cell['dataset']} {cell['system']}" for cell in missing})
        lines += ["", f"Not finished, so empty here: {len(missing)} of {len(manifest['cells'])} cells "
                  f"({'; '.join(names[:6])}{' ...' if len(names) > 6 else ''})."]  # fmt: skip
    order = [*(f"sage_table{i}" for i in range(1, 7)), *sorted(
        table.stem for table in (run / "tables").glob("*.md") if not table.stem.startswith("sage_table")
    )]  # fmt: skip
    for name in order:
        path = run / "tables" / f"{name}.md"
        if path.exists() and (filled := path.read_text("utf-8")).count("n/a") < 0.8 * filled.count(" |"):
            lines += ["", re.sub(r"\*\*(.+)\*\*", r"### \1", filled.strip(), count=1)]
    return "\n".join(lines) + "\n"


def folded(command: str) -> str:
    """The command over several lines."""
    command = re.sub(r"--out \S+/", "--out runs/", command)
    return command.replace(" -d ", " \\\n    -d ").replace(" --out", " \\\n    --out")


def sizes(manifest: dict[str, object]) -> str:
    """Items per dataset and task."""
    rows = ["| Dataset | Task | Items | Left out |", "|---|---|---:|---|"]
    for dataset in manifest["datasets"]:  # type: ignore[attr-defined]
        for task, one in dataset["tasks"].items():
            skipped = "; ".join(f"{skip['count']:,} {skip['reason']}" for skip in one["skipped"])
            rows.append(f"| {dataset['name']} | {task} | {one['n']:,} | {skipped} |")
    return "\n".join(rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="*", help="folders of runs")
    main(parser.parse_args().runs)
