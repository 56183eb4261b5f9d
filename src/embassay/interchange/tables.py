"""Rows and tables of runs, long and wide, as CSV and Parquet: every digit, null with its reason."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from embassay.data.rows import escape_spreadsheet_formula
from embassay.errors import DataError
from embassay.limits import parse_json_written_by_embassay, read_bounded_file
from embassay.protocols.kernel.comparisons import OVERALL, read_standings
from embassay.protocols.kernel.tables import format_csv_row
from embassay.records import ResultRow
from embassay.runs.folder import RunFolder, digest_json, find_run_folders

if TYPE_CHECKING:
    import polars as pl


APART = ":classical"
"""Ends the name of a scope of systems that another method scored."""
_IDENTITY = ("protocol", "kind", "step", "name", "created", "arguments")
_TITLES = {"sage": "SAGE", "pteb": "PTEB", "hteb": "HTEB", "score": "RAG", "hume": "HUME", "mteb": "MTEB"}


@dataclass(frozen=True)
class LoadedRunFolder:
    """A run folder read once; `scopes` are those of its comparisons.json, `headlines` task -> its headline measure."""

    path: Path
    manifest: Mapping[str, Any]
    rows: tuple[ResultRow, ...]
    scopes: Mapping[str, Mapping[str, Any]]
    headlines: Mapping[str, str]

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.path.resolve().name

    @property
    def protocol_name(self) -> str:
        """The name of the run's protocol: `sage`, `pteb`, `rag`, `hume` or `mteb`."""
        return str(self.manifest.get("protocol", ""))

    @property
    def kind(self) -> str:
        """The protocol, or the command of PTEB or RAG that made the run, as `score`."""
        step = self.manifest.get("step", "run")
        return str(self.manifest.get("kind") or (self.protocol_name if step == "run" else step))

    @property
    def title(self) -> str:
        """The title of the run, as people call it."""
        return _TITLES.get(self.kind, self.kind)

    @cached_property
    def identity(self) -> str:
        """A fingerprint of what was asked for and when: the same while the run goes on, and wherever it is moved."""
        return digest_json({key: self.manifest.get(key) for key in _IDENTITY})

    @cached_property
    def content(self) -> str:
        """A fingerprint of the manifest and all rows."""
        return digest_json([self.manifest, [vars(row) for row in self.rows]])

    @cached_property
    def manifest_digest(self) -> str:
        """A fingerprint of the manifest."""
        return digest_json(self.manifest)

    @property
    def systems(self) -> tuple[str, ...]:
        """Every system with a row, in the order of the manifest, then of the rows."""
        named = [str(system["name"]) for system in self.manifest.get("systems", ())]
        present = dict.fromkeys(row.system for row in self.rows)
        return tuple(dict.fromkeys([*(name for name in named if name in present), *present]))

    def fingerprint(self, dataset: str) -> str:
        """The fingerprint of a dataset's data; empty where the manifest does not say."""
        prints = {entry.get("name"): entry.get("fingerprint") for entry in self.manifest.get("datasets", ())}
        return str(prints.get(dataset) or "")

    def find_headline_measure_of_task(self, task: str) -> str | None:
        """A task's headline measure; None where its measures stand side by side, as those of `rag score`."""
        return OVERALL if task == OVERALL else self.headlines.get(task)


def load_runs_in_folders(folders: Sequence[Path]) -> list[LoadedRunFolder]:
    """The runs in folders, each itself a run or above some. DataError for a folder without one."""
    runs: dict[Path, Path] = {}
    for folder in folders:
        paths = list(find_run_folders(Path(folder)))
        if not paths:
            raise DataError(
                "There is no run here", path=folder, mend="Give a run folder, or a folder that contains runs."
            )
        runs |= {path.resolve(): path for path in paths}
    return [load_run_folder(path) for path in runs.values()]


def load_run_folder(path: Path) -> LoadedRunFolder:
    """Read one run folder. DataError where it holds none, or a damaged one."""
    folder = RunFolder(path)
    manifest = folder.read_manifest()
    if manifest is None:
        raise DataError("There is no run here", path=path, mend="Give the folder of a run (its --out).")
    # The standings name the headline of a task; a kind of run without any has all its measures side by side.
    headlines = {standing.task: standing.measure for standing in read_standings(path)}
    return LoadedRunFolder(
        path, manifest, tuple(folder.read_results()), _read_comparison_scopes(path / "comparisons.json"), headlines
    )


def _read_comparison_scopes(path: Path) -> Mapping[str, Mapping[str, Any]]:
    if not path.is_file():
        return {}
    try:
        scopes = parse_json_written_by_embassay(read_bounded_file(path)).get("scopes", {})
    except (ValueError, AttributeError) as error:
        raise DataError(
            "The comparisons cannot be read", path=path, found=str(error)[:80],
            mend="Run the same command again to rebuild them from the finished cells."
        ) from error  # fmt: skip
    return scopes if isinstance(scopes, dict) else {}


COLUMNS = ("run", *(field.name for field in fields(ResultRow)), "manifest")
"""Of the long form: the run's folder, a result, and the fingerprint of the manifest that reproduces it."""
_ENDS = ("low", "high", "n", "reason")


def list_result_rows(runs: Sequence[LoadedRunFolder]) -> Iterator[tuple[Any, ...]]:
    """One row per result of every run."""
    for run in runs:
        for row in run.rows:
            yield (run.name, *vars(row).values(), run.manifest_digest)


def format_results_as_long_csv(runs: Sequence[LoadedRunFolder]) -> str:
    """All results in long form; a field is empty where there is nothing, and `reason` says why a value is missing."""
    return _format_csv([COLUMNS, *list_result_rows(runs)])


def format_systems_as_wide_csv(table: SystemScoreTable) -> str:
    """A run's systems with their ranks and, for each column, value, interval, n and the reason of a missing value."""
    heads = [f"{column.title}{end}" for column in table.columns for end in ("", *(f" {end}" for end in _ENDS))]
    lines: list[Sequence[Any]] = [["system", "rank_low", "rank_high", *heads]]
    for system, rank, cells in zip(table.systems, table.ranks, table.cells, strict=True):
        lines.append(
            [
                system,
                *(rank or (None, None)),
                *(value for cell in cells for value in _list_value_interval_and_reason(cell)),
            ]
        )
    return _format_csv(lines)


def long_frame(runs: Sequence[LoadedRunFolder]) -> pl.DataFrame:
    """The long form as a polars frame with fixed types."""
    import polars as pl

    numbers = {"value": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64, "n": pl.Int64, "seed": pl.Int64}
    schema = {name: numbers.get(name, pl.String) for name in COLUMNS}
    return pl.DataFrame(list(list_result_rows(runs)), schema=schema, orient="row", strict=False)


def format_results_as_parquet(runs: Sequence[LoadedRunFolder]) -> bytes:
    """Format all results of runs in long form as Parquet."""
    buffer = io.BytesIO()
    long_frame(runs).write_parquet(buffer, compression="zstd")
    return buffer.getvalue()


def _list_value_interval_and_reason(row: ResultRow | None) -> tuple[Any, ...]:
    if row is None:
        return None, None, None, None, "not part of the run"
    return row.value, row.ci_low, row.ci_high, row.n, row.reason


def _format_csv(lines: Sequence[Sequence[Any]]) -> str:
    return "".join(format_csv_row(map(escape_spreadsheet_formula, line)) for line in lines)


_UNGROUPED = (9, 0)


@dataclass(frozen=True)
class ScoreColumn:
    """What a column is of: the mean over tasks, a task over its datasets (`dataset` empty), or one dataset."""

    task: str
    dataset: str
    lang: str
    measure: str

    @property
    def title(self) -> str:
        """The title of the column: what is needed to tell it from others.

        >>> ScoreColumn("clustering", "", "", "v_measure").title, ScoreColumn("overall", "", "", "overall").title
        ('clustering v_measure', 'overall')
        """
        parts = [self.task, self.dataset, self.lang, self.measure]
        return " ".join(dict.fromkeys(part for part in parts if part))


@dataclass(frozen=True)
class SystemScoreTable:
    """The table: `cells[i][j]` is the row behind system i in column j, None where the run has none.

    `ranks` are the places that the tests allow a system on the first column, within its group: those compared with each
    other, then those that another method scored, then those not compared. `first` are the systems that may be first in
    each column.
    """

    run: LoadedRunFolder
    columns: tuple[ScoreColumn, ...]
    systems: tuple[str, ...]
    cells: tuple[tuple[ResultRow | None, ...], ...]
    ranks: tuple[tuple[int, int] | None, ...]
    groups: tuple[int, ...]
    first: tuple[frozenset[str], ...]

    @cached_property
    def places_of_mean_columns(self) -> tuple[int, ...]:
        """The columns over all tasks or datasets, by their places; all columns where there are none such."""
        places = tuple(i for i, column in enumerate(self.columns) if not column.dataset)
        return places or tuple(range(len(self.columns)))


def make_wide_score_table(run: LoadedRunFolder) -> SystemScoreTable:
    """The table of a run. Headlines alone where its tasks have one, else every measure; variants are not in it."""
    rows = [row for row in run.rows if not row.variant and not row.subset]
    rows = [row for row in rows if run.find_headline_measure_of_task(row.task) in (None, row.measure)]
    spoken: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        spoken.setdefault((row.task, row.dataset), set()).add(row.lang)
    by_place: dict[ScoreColumn, dict[str, ResultRow]] = {}
    for row in rows:
        # Rows of languages of one dataset are columns of their own; else the language would only lengthen the title.
        lang = row.lang if row.dataset and len(spoken[row.task, row.dataset]) > 1 else ""
        by_place.setdefault(ScoreColumn(row.task, row.dataset, lang, row.measure), {})[row.system] = row
    # Means come before what they are means of: over all tasks, then each task, then its datasets.
    columns = tuple(sorted(by_place, key=lambda column: (column.task != OVERALL, bool(column.dataset))))
    lead = by_place[columns[0]] if columns else {}
    groups = _map_systems_to_group_and_place(run, columns[0]) if columns else {}
    systems = [name for name in run.systems if any(name in cells for cells in by_place.values())]
    systems.sort(key=partial(_make_system_sort_key, groups, lead))
    return SystemScoreTable(
        run, columns, tuple(systems),
        tuple(tuple(by_place[column].get(name) for column in columns) for name in systems),
        tuple(_find_system_rank_range(run, columns[0], name) if columns else None for name in systems),
        tuple(groups.get(name, _UNGROUPED)[0] for name in systems),
        tuple(_find_best_systems(run, column) for column in columns)
    )  # fmt: skip


def _map_systems_to_group_and_place(run: LoadedRunFolder, column: ScoreColumn) -> dict[str, tuple[int, int]]:
    """System -> its group and its place there, as the comparisons have them."""
    sizes: dict[str, tuple[int, int]] = {}
    for number, scope in enumerate(_list_comparisons_behind_column(run, column)):
        for place, name in enumerate(scope["systems"]):
            sizes.setdefault(str(name), (number, place))
    return sizes


def _make_system_sort_key(
    groups: Mapping[str, tuple[int, int]], lead: Mapping[str, ResultRow], name: str
) -> tuple[tuple[int, int], bool, float]:
    row = lead.get(name)
    value = row.value if row is not None else None
    return groups.get(name, _UNGROUPED), value is None, -(value or 0.0)


def _list_comparisons_behind_column(run: LoadedRunFolder, column: ScoreColumn) -> list[dict[str, list[object]]]:
    """The comparisons behind a column, if there are any: of its task, or of its measure (`rag score`)."""
    names = [column.task] if not column.dataset else []
    names += [column.measure] if run.find_headline_measure_of_task(column.task) is None else []
    return [dict(run.scopes[key]) for name in names for key in (name, name + APART) if key in run.scopes]


def _find_system_rank_range(run: LoadedRunFolder, column: ScoreColumn, system: str) -> tuple[int, int] | None:
    for scope in _list_comparisons_behind_column(run, column):
        for name, low, high in zip(scope["systems"], scope["rank_low"], scope["rank_high"], strict=False):
            if name == system:
                return int(str(low)), int(str(high))
    return None


def _find_best_systems(run: LoadedRunFolder, column: ScoreColumn) -> frozenset[str]:
    return frozenset(str(name) for scope in _list_comparisons_behind_column(run, column) for name in scope["best"])
