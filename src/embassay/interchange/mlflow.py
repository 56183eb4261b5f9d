"""Runs to MLflow: a run of ours is a run there, with a nested one for each system."""

from __future__ import annotations

import logging
import os
import re
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from embassay.errors import ModelError, UsageError
from embassay.interchange.runs import Run, find_runs
from embassay.interchange.trackers import Logged, Value, about, files_of, numbers_of, parameters_of, values_of

RUN, CONTENT, SYSTEM = "embassay.run", "embassay.content", "embassay.system"
_LONGEST_TEXT, _LONGEST_NAME, _BATCH = 5_000, 240, 100
_SIGNS = {"@": "_at_", "+": "_plus", "%": "percent_"}


def log_to_mlflow(folders: Sequence[Path], store: str, *, experiment: str = "embassay") -> list[Logged]:
    """Log the runs in `folders` to the tracking store `store`: the address of a server, `sqlite:///FILE`, or a folder,
    which gets an `mlflow.db`. Files go where the experiment has them; beside the database in one that is made here.

    A run is found again by its identity: logged once more it is left alone, or brought up to date where it has gone on.
    Raises UsageError without the extra `mlflow` or for a store that MLflow does not know, ModelError where the store
    fails.
    """
    library = _library()
    runs = find_runs(folders)
    address = _address(store)
    client = _client(library, address)
    try:
        place = _experiment(client, experiment, address)
        return [_log(client, place, run) for run in runs]
    except (library.exceptions.MlflowException, OSError) as error:
        raise ModelError(
            f"MLflow failed: {str(error).splitlines()[0]}",
            mend="Mend it and export again: what was logged is found.",
        ) from error


def metric_name(value: Value, kind: str = "") -> str:
    """A headline's name in MLflow, which allows letters, digits and few signs.

    >>> from embassay.interchange.tables import Column
    >>> metric_name(Value("s", Column("score", "qrels", "", "N-Recall4+@5"), None), "low")
    'score.qrels.N-Recall4_plus_at_5.low'
    """
    joined = ".".join(filter(None, [*value.column.title.split(" "), kind]))
    spelled = "".join(_SIGNS.get(letter, letter) for letter in joined)
    return re.sub(r"[^\w.:-]", "_", spelled, flags=re.ASCII)[:_LONGEST_NAME]


def _library() -> Any:
    # The library would tell its makers of its use, which is not ours to allow.
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    try:
        import mlflow
        import mlflow.exceptions
        import mlflow.tracking
    except ImportError as error:
        raise UsageError(
            f"Logging to MLflow needs the package {error.name}, which is not installed.",
            mend="Install it with: pip install 'embassay[mlflow]'",
        ) from error
    for name in ("mlflow", "alembic"):
        logging.getLogger(name).setLevel(logging.WARNING)
    return mlflow


def _address(store: str) -> str:
    """MLflow keeps runs in a database; a folder's is called as MLflow's own default."""
    if "://" in store:
        return store
    folder = Path(store).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    return f"sqlite:///{folder / 'mlflow.db'}"


def _client(library: Any, address: str) -> Any:
    try:
        client = library.tracking.MlflowClient(tracking_uri=address)
        client.search_experiments(max_results=1)
    except Exception as error:  # a store may be anything, and so may what its driver raises
        raise UsageError(
            f"MLflow cannot use this store: {str(error).splitlines()[0]}",
            mend="Give a folder, sqlite:///FILE or the address of a server.",
        ) from error
    return client


def _experiment(client: Any, name: str, address: str) -> str:
    found = client.get_experiment_by_name(name)
    if found is not None:
        return str(found.experiment_id)
    _, local, file = address.partition("sqlite:///")
    # Left to MLflow, files would land in the folder that the command happens to run in.
    beside = Path(file).absolute().with_name("mlartifacts").as_uri() if local else None
    return str(client.create_experiment(name, artifact_location=beside))


def _log(client: Any, place: str, run: Run) -> Logged:
    known = _find(client, place, run.identity, "")
    if known is not None and known.data.tags.get(CONTENT) == run.content:
        return Logged(run.name, known.info.run_id, unchanged=True)
    tags = {RUN: run.identity, **{f"embassay.{name}": text for name, text in about(run).items()}}
    top = (
        known.info.run_id
        if known is not None
        else _create(client, place, run, run.name, {**tags, SYSTEM: ""})
    )
    _write(client, top, {}, parameters_of(run) if known is None else {}, tags)
    for system, values in _by_system(values_of(run)).items():
        nested = _find(client, place, run.identity, system)
        own = {RUN: run.identity, SYSTEM: system, "mlflow.parentRunId": top}
        one = nested.info.run_id if nested is not None else _create(client, place, run, system, own)
        metrics = {metric_name(value, kind): x for value in values for kind, x in numbers_of(value).items()}
        missing = {
            f"missing.{metric_name(value)}": value.row.reason or "no value"
            for value in values
            if value.row.value is None
        }
        _write(
            client,
            one,
            metrics,
            {"system": system, "protocol": run.protocol} if nested is None else {},
            missing,
        )
        client.set_terminated(one)
    _files(client, top, run)
    client.set_terminated(top, status="FINISHED" if run.manifest.get("status") == "finished" else "KILLED")
    # Last: a log that was cut short is made again.
    client.set_tag(top, CONTENT, run.content)
    return Logged(run.name, top)


def _find(client: Any, place: str, identity: str, system: str) -> Any:
    found = client.search_runs([place], filter_string=f"tags.`{RUN}` = '{identity}'", max_results=1000)
    return next((one for one in found if one.data.tags.get(SYSTEM, "") == system), None)


def _create(client: Any, place: str, run: Run, name: str, tags: Mapping[str, str]) -> str:
    started = _milliseconds(run.manifest.get("created"))
    return str(client.create_run(place, start_time=started, tags=dict(tags), run_name=name).info.run_id)


def _write(
    client: Any,
    run_id: str,
    metrics: Mapping[str, float],
    parameters: Mapping[str, str],
    tags: Mapping[str, str],
) -> None:
    from mlflow.entities import Metric, Param, RunTag

    now = int(time.time() * 1000)
    told: list[tuple[str, list[Any]]] = [
        ("metrics", [Metric(name, value, now, 0) for name, value in metrics.items()]),
        ("params", [Param(_name(name), value[:_LONGEST_TEXT]) for name, value in parameters.items()]),
        ("tags", [RunTag(_name(name), value[:_LONGEST_TEXT]) for name, value in tags.items()]),
    ]
    for kind, entries in told:
        for batch in _batches(entries):
            client.log_batch(run_id, **{kind: batch})


def _name(text: str) -> str:
    return re.sub(r"[^\w.:/ -]", "_", text, flags=re.ASCII)[:_LONGEST_NAME]


def _files(client: Any, run_id: str, run: Run) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files_of(run):
            path = content if isinstance(content, Path) else Path(folder) / Path(name).name
            if isinstance(content, bytes):
                path.write_bytes(content)
            client.log_artifact(run_id, str(path), str(Path(name).parent) if "/" in name else None)


def _by_system(values: Sequence[Value]) -> Mapping[str, list[Value]]:
    found: dict[str, list[Value]] = {}
    for value in values:
        found.setdefault(value.system, []).append(value)
    return found


def _batches(entries: Sequence[Any]) -> Iterator[list[Any]]:
    rest = iter(entries)
    while batch := list(islice(rest, _BATCH)):
        yield batch


def _milliseconds(moment: Any) -> int | None:
    try:
        return int(datetime.fromisoformat(str(moment)).timestamp() * 1000)
    except ValueError:
        return None
