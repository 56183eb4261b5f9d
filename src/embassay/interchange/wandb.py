"""Runs to Weights & Biases: a run of ours is a run there, offline unless asked otherwise."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from embassay.errors import ModelError, UsageError
from embassay.interchange.runs import Run, find_runs
from embassay.interchange.trackers import Logged, about, files_of, numbers_of, parameters_of, values_of
from embassay.runs.files import to_json, write_atomic

_MARK = "embassay.json"
"""In the folder of W&B's files: which runs are in them, with the fingerprint of what was logged."""
_HEADS = ("system", "column", "value", "low", "high", "n", "reason")


def log_to_wandb(
    folders: Sequence[Path], out: Path, *, project: str = "embassay", online: bool = False
) -> list[Logged]:
    """Log the runs in `folders` to the project, W&B's files below `out`; `wandb sync` sends what was logged offline.

    A run's id is its identity, so what is logged again adds to the run that is there; unchanged ones are left alone.
    W&B is told of the run alone: no code, no command line, no state of this machine. Raises UsageError without the
    extra `wandb`, ModelError where W&B fails.
    """
    library = _library()
    out.mkdir(parents=True, exist_ok=True)
    return [_log(library, run, out, project, online=online) for run in find_runs(folders)]


def _library() -> Any:
    os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
    os.environ.setdefault("WANDB_SILENT", "true")
    try:
        import wandb
    except ImportError as error:
        raise UsageError(
            f"Logging to Weights & Biases needs the package {error.name}, which is not installed.",
            mend="Install it with: pip install 'embassay[wandb]'",
        ) from error
    return wandb


def _log(library: Any, run: Run, out: Path, project: str, *, online: bool) -> Logged:
    key, marks = f"{'online' if online else 'offline'}/{project}/{run.identity}", _marks(out)
    if marks.get(key) == run.content:
        return Logged(run.name, run.identity, unchanged=True)
    try:
        with _staging(out):
            _write(library, run, out, project, online=online)
    except library.errors.Error as error:
        raise ModelError(
            f"W&B failed: {str(error).splitlines()[0]}",
            mend="Log in with `wandb login`, or leave out --online.",
        ) from error
    write_atomic(out / _MARK, to_json({**_marks(out), key: run.content}, indent=1) + "\n")
    return Logged(run.name, run.identity)


def _write(library: Any, run: Run, out: Path, project: str, *, online: bool) -> None:
    settings = library.Settings(
        disable_git=True, save_code=False, disable_code=True, disable_job_creation=True, console="off", silent=True,
        x_disable_meta=True, x_disable_stats=True, x_disable_machine_info=True, x_save_requirements=False,
        host="",
    )  # fmt: skip
    config = {**parameters_of(run), **{f"embassay.{name}": text for name, text in about(run).items()}}
    opened = library.init(
        project=project, id=run.identity, name=run.name, group=run.protocol, job_type=run.kind, config=config,
        dir=str(out), mode="online" if online else "offline", resume="allow" if online else None, settings=settings,
        reinit="create_new",
    )  # fmt: skip
    try:
        values = values_of(run)
        table = [[one.system, one.column.title, *_cells(one.row)] for one in values]
        opened.log({"headlines": library.Table(columns=list(_HEADS), data=table)})
        for one in values:
            name = f"{one.system}/{one.column.title.replace(' ', '/')}"
            opened.summary.update({f"{name} {kind}".strip(): x for kind, x in numbers_of(one).items()})
        kept = library.Artifact(f"{run.kind}-{run.identity[:12]}", type="embassay-run", metadata=about(run))
        with tempfile.TemporaryDirectory() as folder:
            for name, content in files_of(run):
                path = content if isinstance(content, Path) else Path(folder) / Path(name).name
                if isinstance(content, bytes):
                    path.write_bytes(content)
                kept.add_file(str(path), name=name)
            opened.log_artifact(kept)
            opened.finish()
    except BaseException:
        opened.finish(exit_code=1)
        raise


def _cells(row: Any) -> Iterator[Any]:
    yield from (row.value, row.ci_low, row.ci_high, row.n, row.reason)


@contextmanager
def _staging(out: Path) -> Iterator[None]:
    """Copies of files wait beside the run that they belong to: `wandb sync` looks for them there."""
    names = {"WANDB_DATA_DIR": out / "wandb-data", "WANDB_CACHE_DIR": out / "wandb-data" / "cache"}
    before: Mapping[str, str | None] = {name: os.environ.get(name) for name in names}
    os.environ.update({name: str(path.absolute()) for name, path in names.items() if before[name] is None})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)


def _marks(out: Path) -> dict[str, str]:
    try:
        marks = json.loads((out / _MARK).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return marks if isinstance(marks, dict) else {}
