"""A run on disk, from Python: its rows, tables and comparisons."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from embassay.errors import UsageError
from embassay.limits import read_bounded
from embassay.runs.folder import RunFolder

if TYPE_CHECKING:
    import polars as pl

_OVERALL = {"sage": "sage_table1", "pteb": "pteb_table9"}


@dataclass(frozen=True)
class Run:
    """A finished (or partly finished) run on disk."""

    path: Path

    @property
    def results(self) -> pl.DataFrame:
        """Every row, in the order of the plan."""
        import polars as pl

        rows = [row.as_dict() for row in RunFolder(self.path).read_results()]
        types = {
            "value": pl.Float64,
            "ci_low": pl.Float64,
            "ci_high": pl.Float64,
            "seed": pl.Int64,
            "n": pl.Int64,
        }
        return pl.DataFrame(rows, schema_overrides=types, infer_schema_length=None)

    @property
    def manifest(self) -> dict[str, Any]:
        """What was run, on what, and how it went."""
        return RunFolder(self.path).read_manifest() or {}

    def table(self, name: str = "overall") -> pl.DataFrame:
        """A table of the run by its file name (`sage_table4`, `robustness_by_edit`, ...); `overall` is the one of the
        paper with the mean over the tasks."""
        import polars as pl

        name = _OVERALL.get(self.manifest.get("protocol", ""), name) if name == "overall" else name
        path = self.path / "tables" / f"{name}.csv"
        if not path.exists():
            known = ", ".join(sorted(one.stem for one in path.parent.glob("*.csv")))
            raise UsageError(f"The run has no table {name!r}.", mend=f"It has: {known}.")
        return pl.read_csv(path)

    def compare(self, a: str, b: str, task: str = "overall") -> dict[str, Any]:
        """The paired difference a - b with its 95% interval and p, adjusted over all pairs (Holm)."""
        scope = json.loads(read_bounded(self.path / "comparisons.json").decode("utf-8"))["scopes"].get(task)
        for pair in (scope or {}).get("pairs", ()):
            if (pair["a"], pair["b"]) == (a, b):
                return dict(pair)
            if (pair["a"], pair["b"]) == (b, a):
                low, high = pair["ci_high"], pair["ci_low"]
                return {
                    **pair,
                    "a": a,
                    "b": b,
                    "difference": -pair["difference"],
                    "ci_low": -low,
                    "ci_high": -high,
                }
        reason = f" ({scope['reason']})" if scope and scope["reason"] else ""
        raise UsageError(
            f"The run does not compare {a!r} with {b!r} on {task!r}{reason}.",
            mend="Name two ranked systems of the run and one of its tasks.",
        )
