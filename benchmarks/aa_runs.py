"""Two runs of one system that differ by chance, through `embassay compare` and `embassay gate`: how often is there a
false alarm, and is a fall found that is as large as the comparison says can be seen?

    python benchmarks/aa_runs.py [--pairs 200] [--seed 1] [--out DIR]

Every run is a folder as `embassay sage run` leaves it (manifest, results, headlines, items), made by SAGE's own
estimators and summary from values of items that are drawn: 96 choices of 32 sources, 48 documents for robustness and
sensitivity, six clustering sets and 42 queries. Both commands are called with their arguments, and what they print and
write is read back: JSON, JUnit by an XML parser, Markdown by its table.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray
from typer.testing import CliRunner

from embassay.cli.main import app
from embassay.protocols.kernel.comparisons import (
    make_rows_and_comparisons_over_datasets,
    make_standings,
    write_standings,
)
from embassay.protocols.kernel.estimates import Estimate, average_estimates, estimate
from embassay.protocols.kernel.groups import describe_bootstrap_units
from embassay.protocols.kernel.plan import Plan
from embassay.protocols.sage.options import SageOptions
from embassay.protocols.sage.preference import compute_accuracy_precision_recall_f1
from embassay.protocols.sage.protocol import SageProtocol
from embassay.protocols.sage.retrieval import compute_ndcg_retention
from embassay.protocols.sage.tasks import TASK_NAMES, TASKS, SageContext
from embassay.records import ResultRow, SummaryComparisons, TaskOutcome
from embassay.runs.folder import CellRecord, RunCell, RunFolder, make_finished_record
from embassay.text import open_tokenizer

Floats = NDArray[np.float64]
SYSTEM, DATASET = "system", "made"
DOCUMENTS, SOURCES, EACH, SETS, QUERIES = 48, 32, 3, 6, 42
NOISE = 0.08
"""Of a run's own in every item."""
FALL = "sensitivity"
"""The task that falls, in the runs where one does: a mean over documents."""


@dataclass(frozen=True)
class Easy:
    """How easy the items are, the same for both runs."""

    choices: Floats
    documents: Floats
    sets: Floats
    queries: Floats


@dataclass
class Counts:
    """What was found in so many pairs of runs."""

    pairs: int = 0
    overall: int = 0
    any_row: int = 0
    gate: int = 0
    parsed: int = 0


def main() -> None:
    """Print how often each command raised an alarm."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="Keep the runs here.")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for line in table(asked.out or Path(folder), asked.pairs, asked.seed):
            print(line, flush=True)


def table(folder: Path, pairs: int, seed: int) -> Iterator[str]:
    """The lines of the Markdown table."""
    same, fallen = counted(folder / "same", pairs, seed, 0.0), counted(folder / "fallen", pairs, seed, None)
    yield f"| {pairs} pairs of runs | nothing changed | one task fell by what can be seen |"
    yield "|---|---:|---:|"
    yield f"| `compare`: p of overall below 0.05 | {same.overall} | {fallen.overall} |"
    yield f"| `compare`: any row's p below 0.05 after Holm | {same.any_row} | {fallen.any_row} |"
    yield f"| `gate --no-worse-than`, all six headlines | {same.gate} | – |"
    yield f"| `gate --no-worse-than -t {FALL}` | – | {fallen.gate} |"
    yield f"| JUnit and Markdown parse and agree with the exit code | {same.parsed} | {fallen.parsed} |"


def counted(folder: Path, pairs: int, seed: int, fall: float | None) -> Counts:
    """The alarms of `pairs` pairs of runs. With no `fall` named, it is the smallest difference that `compare` says a
    first pair without any could have shown."""
    found = Counts(pairs)
    for number in range(pairs):
        rng = np.random.default_rng([seed, number])
        easy = _easy(rng)
        base = written(folder / f"{number}" / "base", easy, rng)
        size = _visible(base, folder, easy, seed, number) if fall is None else fall
        now = written(folder / f"{number}" / "now", easy, rng, fall=size)
        rows = compared(now, base)
        found.overall += rows[0]["p"] < 0.05
        found.any_row += any((row["p_adjusted"] or 1.0) < 0.05 for row in rows)
        alarm, parsed = gated(now, base, [] if fall is not None else ["-t", FALL])
        found.gate += alarm
        found.parsed += parsed
    return found


def _visible(base: Path, folder: Path, easy: Easy, seed: int, number: int) -> float:
    """What `compare` says could be seen of the task between the base and another run without a fall."""
    other = written(folder / f"{number}" / "other", easy, np.random.default_rng([seed, number, 1]))
    return float(next(row["smallest"] for row in compared(other, base) if row["task"] == FALL))


def compared(now: Path, base: Path) -> list[dict[str, Any]]:
    """The rows that `embassay compare` prints of a system in two runs."""
    result = CliRunner().invoke(app, ["compare", str(now), str(base), "-a", SYSTEM, "--json"])
    if result.exit_code:
        raise SystemExit(result.output)
    return cast(list[dict[str, Any]], json.loads(result.stdout)["contrasts"])


def gated(now: Path, base: Path, more: Sequence[str]) -> tuple[bool, bool]:
    """Whether `embassay gate` raised an alarm, and whether its files parse and say the same."""
    junit, markdown = now / "gate.xml", now / "gate.md"
    told = ["--no-worse-than", str(base), "--junit", str(junit), "--markdown", str(markdown), *more]
    result = CliRunner().invoke(app, ["gate", str(now), *told])
    if result.exit_code not in (0, 1):
        raise SystemExit(result.output)
    suite = ElementTree.parse(junit).getroot()
    failed = sum(case.find("failure") is not None for case in suite.iter("testcase"))
    verdicts = [row[3] for row in cells_of(markdown.read_text("utf-8"))]
    agree = failed == int(suite.get("failures", -1)) == sum("MISSED" in one for one in verdicts)
    agree = agree and len(verdicts) == int(suite.get("tests", -1)) and (failed > 0) == (result.exit_code == 1)
    return result.exit_code == 1, agree


def cells_of(markdown: str) -> list[list[str]]:
    """The body of the first table, by row: as many cells in each as the header has."""
    lines = [line for line in markdown.splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    if len({len(row) for row in rows if not set("".join(row)) <= set("-:|")}) != 1:
        raise SystemExit(f"The rows of the table differ in length:\n{markdown}")
    return rows[2:]


def written(path: Path, easy: Easy, rng: np.random.Generator, *, fall: float = 0.0) -> Path:
    """The folder of a run in which `FALL` is lower by `fall`."""
    context = SageContext(DATASET, open_tokenizer("words"), 1337, SageOptions(resamples=1000))
    folder, plan = RunFolder(path), _plan()
    path.mkdir(parents=True)
    records = []
    for name, found in _estimates(easy, rng, fall, context).items():
        row = found.score(TASKS.build(name).headline)
        outcome = TaskOutcome((row,), {row.measure: found.component()}, {})
        records.append(make_finished_record(RunCell(name, DATASET, SYSTEM, name, 1, None), outcome, 0.1))
    rows, _ = make_rows_and_comparisons_over_datasets(SageProtocol(), plan, records)
    folder.write_results([*_rows(records), *rows])
    write_standings(path, make_standings(SageProtocol(), plan, records))
    folder.write_manifest({
        "protocol": "sage", "arguments": {"seed": 1337, "limit": None},
        "datasets": [{"name": DATASET, "fingerprint": "f", "tasks": {name: {} for name in TASK_NAMES}}],
    })  # fmt: skip
    return path


def _rows(records: Sequence[CellRecord]) -> Iterator[ResultRow]:
    for one in records:
        for row in one.scores:
            yield ResultRow(
                "sage", one.task, DATASET, "", "", "", SYSTEM, row.measure, row.value, row.n, row.ci_low,
                row.ci_high, row.method, 1337,
            )  # fmt: skip


def _plan() -> Plan:
    """As much of a plan as the summary asks for."""
    parts = [SimpleNamespace(task=name) for name in TASK_NAMES]
    plan = SimpleNamespace(
        systems=[SimpleNamespace(name=SYSTEM, kind="embedding")], tasks=TASK_NAMES,
        datasets=[SimpleNamespace(name=DATASET, tasks=parts)],
        request=SimpleNamespace(seed=1337, options=SageOptions()),
    )  # fmt: skip
    return cast(Plan, plan)


def _easy(rng: np.random.Generator) -> Easy:
    return Easy(
        np.repeat(rng.normal(0.5, 0.5, SOURCES), EACH) + rng.normal(0, 0.7, SOURCES * EACH),
        rng.beta(6, 3, DOCUMENTS), rng.beta(6, 8, SETS), rng.beta(2, 1.5, QUERIES),
    )  # fmt: skip


def _estimates(easy: Easy, rng: np.random.Generator, fall: float, context: SageContext) -> dict[str, Estimate]:
    def noise(n: int) -> Floats:
        return rng.normal(0, NOISE, n)

    choices, documents = easy.choices + 4 * noise(SOURCES * EACH), easy.documents + noise(DOCUMENTS)
    clean = np.clip(easy.queries + noise(QUERIES), 0.05, 1)
    kept = np.column_stack([np.clip(0.6 * clean + noise(QUERIES), 0, 1), clean])
    return {
        "preference": _preference(choices > 0, context),
        "robustness": _mean((documents > 0.7).astype(np.float64), context, "documents"),
        "sensitivity": _mean(easy.documents - fall + noise(DOCUMENTS), context, "documents"),
        "clustering": _mean(easy.sets + noise(SETS), context, "sets"),
        "retrieval": estimate(kept, compute_ndcg_retention, context, "queries"),
    }


def _mean(values: Floats, context: SageContext, purpose: str) -> Estimate:
    return estimate(values[:, None], lambda means: means[..., 0], context, purpose)


def _preference(right: NDArray[np.bool_], context: SageContext) -> Estimate:
    """The mean of accuracy, precision, recall and F1, of choices that are the first and the second summary in turn."""
    actual = np.arange(len(right)) % 2
    predicted = np.where(right, actual, 1 - actual)
    columns = np.stack([right, predicted * actual, predicted, actual], axis=1).astype(np.float64)
    groups = np.repeat(np.arange(SOURCES), EACH)
    method = describe_bootstrap_units("comparisons", SummaryComparisons, groups)
    figures = [estimate(columns, partial(_figure, i), context, "comparisons", method, groups=groups) for i in range(4)]
    return average_estimates(figures, method)


def _figure(place: int, means: Floats) -> Floats:
    return np.asarray(compute_accuracy_precision_recall_f1(means)[..., place])


if __name__ == "__main__":
    main()
