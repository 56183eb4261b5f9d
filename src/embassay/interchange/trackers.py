"""What an experiment tracker is told of a run, whichever it is, and never a secret."""

from __future__ import annotations

import io
import json
import logging
import os
import re
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from embassay.errors import ModelError, UsageError
from embassay.interchange.tables import (
    LoadedRunFolder,
    ScoreColumn,
    format_results_as_parquet,
    format_systems_as_wide_csv,
    load_runs_in_folders,
    make_wide_score_table,
)
from embassay.records import ResultRow
from embassay.runs.folder import format_value_as_json, write_json

_CHANGES = ("status", "updated", "embassay", "name", "created")
REPORT = "report.html"


@dataclass(frozen=True)
class Logged:
    """A run in a tracker: its folder's name, its id there, and whether all of it was there before."""

    run: str
    id: str
    unchanged: bool = False


@dataclass(frozen=True)
class TrackedSystemHeadline:
    """A headline: whose, in which column, and the row it is of."""

    system: str
    column: ScoreColumn
    row: ResultRow


def list_headlines_for_trackers(run: LoadedRunFolder) -> list[TrackedSystemHeadline]:
    """The headlines of a run, missing ones too, system by system."""
    table = make_wide_score_table(run)
    return [
        TrackedSystemHeadline(system, column, row)
        for system, cells in zip(table.systems, table.cells, strict=True)
        for column, row in zip(table.columns, cells, strict=True)
        if row is not None
    ]


def map_headline_numbers_by_kind(value: TrackedSystemHeadline) -> dict[str, float]:
    """The numbers of a headline by their kind: value (an empty name), low, high, n; none where it has no value."""
    row = value.row
    if row.value is None:
        return {}
    named = {"": row.value, "low": row.ci_low, "high": row.ci_high, "n": row.n}
    return {kind: float(number) for kind, number in named.items() if number is not None}


def list_run_parameters(run: LoadedRunFolder) -> dict[str, str]:
    """What the run was asked for, on which data: flat names, texts without secrets, in the order of the manifest."""
    data = {str(row.get("name")): row.get("fingerprint") for row in run.manifest.get("datasets", ())}
    parameters = {
        "protocol": run.protocol_name,
        "kind": run.kind,
        **dict(_flatten_parameters(run.manifest.get("arguments") or {}, "")),
        "data": data,
    }
    return {
        name: _format_parameter_text(value)
        for name, value in redact_secrets(parameters).items()
        if value not in (None, "", [], {})
    }


def collect_changing_run_facts(run: LoadedRunFolder) -> dict[str, str]:
    """Collect the facts that may change while the run goes on, and its manifest's fingerprint."""
    plain = {name: run.manifest[name] for name in _CHANGES if run.manifest.get(name)}
    return {
        name: _format_parameter_text(value)
        for name, value in redact_secrets({**plain, "manifest": run.manifest_digest}).items()
    }


def list_run_files(run: LoadedRunFolder) -> Iterator[tuple[str, Path | bytes]]:
    """The files to keep: name and where it is, or what it holds. The report, if the run has one; its tables; manifest
    and all results."""
    if (run.path / REPORT).is_file():
        yield REPORT, run.path / REPORT
    for path in sorted((run.path / "tables").glob("*")):
        if path.is_file():
            yield f"tables/{path.name}", path
    yield ("manifest.json", (format_value_as_json(redact_secrets(run.manifest), indent=1) + "\n").encode("utf-8"))
    yield "headlines.csv", format_systems_as_wide_csv(make_wide_score_table(run)).encode("utf-8")
    yield "results.parquet", format_results_as_parquet([run])


def _flatten_parameters(value: Mapping[str, Any], before: str) -> Iterator[tuple[str, Any]]:
    for name, part in value.items():
        if isinstance(part, Mapping):
            yield from _flatten_parameters(part, f"{before}{name}.")
        else:
            yield f"{before}{name}", part


def _format_parameter_text(value: Any) -> str:
    return value if isinstance(value, str) else format_value_as_json(value)


HIDDEN = "***"
_SECRET = r"(?:api[_-]?key|key|token|secret|password|passwd)"
_USER = re.compile(r"(?<=://)[^/@\s]+(?=@)")
_VALUE = re.compile(rf"(?<=[?&;\s])((?i:{_SECRET})=)(?![A-Z][A-Z0-9_]*(?:[&;\s]|$))[^&;\s]+")
"""A value of a secret's name in a spec string; `key=OPENAI_API_KEY` names a variable, which is no secret."""
_OPTION = re.compile(rf"(--(?i:{_SECRET})[ =])\S+")
# How keys of OpenAI, Hugging Face, GitHub, Google and Slack begin.
_KNOWN = re.compile(r"\b(?:sk-[\w-]{16,}|hf_\w{16,}|gh[pousr]_\w{16,}|AIza[\w-]{30,}|xox[abp]-[\w-]{10,})")
_NAMES = re.compile(rf"(?:^|_){_SECRET}$", re.IGNORECASE)
_SHORTEST = 8


def redact_secrets(value: Any, environment: Mapping[str, str] | None = None) -> Any:
    """The same value of JSON with `***` for secrets: users in addresses, values called key, token, secret or password
    in spec strings, keys of known vendors, and whatever a variable of the environment with such a name holds.

    >>> redact_secrets(["openai:m?base_url=http://me:pw@host/v1&key=OPENAI_KEY"], {})
    ['openai:m?base_url=http://***@host/v1&key=OPENAI_KEY']
    >>> redact_secrets({"a": "x:m?key=abc123"}, {}), redact_secrets("is 0123456789", {"MY_TOKEN": "0123456789"})
    ({'a': 'x:m?key=***'}, 'is ***')
    """
    environment = os.environ if environment is None else environment
    # The longest secret first, because another one may be a part of it.
    secrets = sorted(
        (text for name, text in environment.items() if _NAMES.search(name) and len(text) >= _SHORTEST), key=len
    )
    return _redact_value(value, secrets[::-1])


def _redact_value(value: Any, secrets: list[str]) -> Any:
    if isinstance(value, str):
        return _redact_text(value, secrets)
    if isinstance(value, Mapping):
        return {_redact_text(str(key), secrets): _redact_value(part, secrets) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_redact_value(part, secrets) for part in value]
    return value


def _redact_text(text: str, secrets: list[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    text = _USER.sub(HIDDEN, text)
    for named in (_VALUE, _OPTION):
        text = named.sub(rf"\g<1>{HIDDEN}", text)
    return _KNOWN.sub(HIDDEN, text)


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
    library = _import_mlflow()
    runs = load_runs_in_folders(folders)
    address = _resolve_mlflow_store_url(store)
    client = _open_mlflow_client(library, address)
    try:
        place = _open_mlflow_experiment(client, experiment, address)
        return [_log_to_mlflow(client, place, run) for run in runs]
    except (library.exceptions.MlflowException, OSError) as error:
        raise ModelError(
            f"MLflow failed: {str(error).splitlines()[0]}",
            mend="Fix the problem and export again; nothing is logged twice.",
        ) from error


def format_mlflow_metric_name(value: TrackedSystemHeadline, kind: str = "") -> str:
    """A headline's name in MLflow, which allows letters, digits and few signs.

    >>> from embassay.interchange.tables import ScoreColumn
    >>> format_mlflow_metric_name(TrackedSystemHeadline("s", ScoreColumn("score", "qrels", "", "N-Recall4+@5"),
    ... None), "low")
    'score.qrels.N-Recall4_plus_at_5.low'
    """
    joined = ".".join(filter(None, [*value.column.title.split(" "), kind]))
    spelled = "".join(_SIGNS.get(letter, letter) for letter in joined)
    return re.sub(r"[^\w.:-]", "_", spelled, flags=re.ASCII)[:_LONGEST_NAME]


def _import_mlflow() -> Any:
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
    # Both tell of every step in which MLflow sets up its database.
    for name in ("mlflow", "alembic"):
        logging.getLogger(name).setLevel(logging.WARNING)
    return mlflow


def _resolve_mlflow_store_url(store: str) -> str:
    """Format the address of an MLflow store, where a folder stands for a database in it."""
    if "://" in store:
        return store
    folder = Path(store).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    return f"sqlite:///{folder / 'mlflow.db'}"


def _open_mlflow_client(library: Any, address: str) -> Any:
    try:
        client = library.tracking.MlflowClient(tracking_uri=address)
        client.search_experiments(max_results=1)
    except Exception as error:  # a store may be anything, and so may what its driver raises
        raise UsageError(
            f"MLflow cannot use this store: {str(error).splitlines()[0]}",
            mend="Give a folder, sqlite:///FILE or a server address.",
        ) from error
    return client


def _open_mlflow_experiment(client: Any, name: str, address: str) -> str:
    experiment = client.get_experiment_by_name(name)
    if experiment is not None:
        return str(experiment.experiment_id)
    _, local, file = address.partition("sqlite:///")
    # Left to MLflow, files would land in the folder that the command happens to run in.
    beside = Path(file).absolute().with_name("mlartifacts").as_uri() if local else None
    return str(client.create_experiment(name, artifact_location=beside))


def _log_to_mlflow(client: Any, place: str, run: LoadedRunFolder) -> Logged:
    known = _find_logged_run(client, place, run.identity, "")
    if known is not None and known.data.tags.get(CONTENT) == run.content:
        return Logged(run.name, known.info.run_id, unchanged=True)
    tags = {RUN: run.identity, **_list_run_tags(run)}
    top = (
        known.info.run_id
        if known is not None
        else _create_mlflow_run(client, place, run, run.name, {**tags, SYSTEM: ""})
    )
    _write_mlflow_run(client, top, {}, list_run_parameters(run) if known is None else {}, tags)
    for system, values in _group_headlines_by_system(list_headlines_for_trackers(run)).items():
        nested = _find_logged_run(client, place, run.identity, system)
        own = {RUN: run.identity, SYSTEM: system, "mlflow.parentRunId": top}
        run_id = nested.info.run_id if nested is not None else _create_mlflow_run(client, place, run, system, own)
        metrics = _map_mlflow_metrics_to_values(values)
        missing = _map_missing_metrics_to_reasons(values)
        _write_mlflow_run(
            client,
            run_id,
            metrics,
            {"system": system, "protocol": run.protocol_name} if nested is None else {},
            missing,
        )
        client.set_terminated(run_id)
    _upload_run_files_to_mlflow(client, top, run)
    client.set_terminated(top, status="FINISHED" if run.manifest.get("status") == "finished" else "KILLED")
    # Last: a log that was cut short is made again.
    client.set_tag(top, CONTENT, run.content)
    return Logged(run.name, top)


def _find_logged_run(client: Any, place: str, identity: str, system: str) -> Any:
    runs = client.search_runs([place], filter_string=f"tags.`{RUN}` = '{identity}'", max_results=1000)
    return next((run for run in runs if run.data.tags.get(SYSTEM, "") == system), None)


def _create_mlflow_run(client: Any, place: str, run: LoadedRunFolder, name: str, tags: Mapping[str, str]) -> str:
    started = _parse_timestamp_in_milliseconds(run.manifest.get("created"))
    return str(client.create_run(place, start_time=started, tags=dict(tags), run_name=name).info.run_id)


def _write_mlflow_run(
    client: Any, run_id: str, metrics: Mapping[str, float], parameters: Mapping[str, str], tags: Mapping[str, str]
) -> None:
    from mlflow.entities import Metric, Param, RunTag

    now = int(time.time() * 1000)
    told: list[tuple[str, list[Any]]] = [
        ("metrics", [Metric(name, value, now, 0) for name, value in metrics.items()]),
        ("params", [Param(_clean_metric_name(name), value[:_LONGEST_TEXT]) for name, value in parameters.items()]),
        ("tags", [RunTag(_clean_metric_name(name), value[:_LONGEST_TEXT]) for name, value in tags.items()]),
    ]
    for kind, entries in told:
        for batch in _batch_entries(entries):
            client.log_batch(run_id, **{kind: batch})


def _clean_metric_name(text: str) -> str:
    return re.sub(r"[^\w.:/ -]", "_", text, flags=re.ASCII)[:_LONGEST_NAME]


def _list_run_tags(run: LoadedRunFolder) -> dict[str, str]:
    return {f"embassay.{name}": text for name, text in collect_changing_run_facts(run).items()}


def _map_mlflow_metrics_to_values(values: Sequence[TrackedSystemHeadline]) -> dict[str, float]:
    return {
        format_mlflow_metric_name(value, kind): x
        for value in values
        for kind, x in map_headline_numbers_by_kind(value).items()
    }


def _map_missing_metrics_to_reasons(values: Sequence[TrackedSystemHeadline]) -> dict[str, str]:
    """List why metrics have no number, by the name that each would have."""
    return {
        f"missing.{format_mlflow_metric_name(value)}": value.row.reason or "no value"
        for value in values
        if value.row.value is None
    }


def _iterate_run_files_on_disk(run: LoadedRunFolder, folder: Path) -> Iterator[tuple[str, Path]]:
    """The files of a run with their names; what is no file yet is written into the folder."""
    for name, content in list_run_files(run):
        path = content if isinstance(content, Path) else folder / Path(name).name
        if isinstance(content, bytes):
            path.write_bytes(content)
        yield name, path


def _upload_run_files_to_mlflow(client: Any, run_id: str, run: LoadedRunFolder) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, path in _iterate_run_files_on_disk(run, Path(folder)):
            client.log_artifact(run_id, str(path), str(Path(name).parent) if "/" in name else None)


def _group_headlines_by_system(values: Sequence[TrackedSystemHeadline]) -> Mapping[str, list[TrackedSystemHeadline]]:
    of_system: dict[str, list[TrackedSystemHeadline]] = {}
    for value in values:
        of_system.setdefault(value.system, []).append(value)
    return of_system


def _batch_entries(entries: Sequence[Any]) -> Iterator[list[Any]]:
    rest = iter(entries)
    while batch := list(islice(rest, _BATCH)):
        yield batch


def _parse_timestamp_in_milliseconds(moment: Any) -> int | None:
    try:
        return int(datetime.fromisoformat(str(moment)).timestamp() * 1000)
    except ValueError:
        return None


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
    library = _import_wandb()
    out.mkdir(parents=True, exist_ok=True)
    return [_log_to_wandb(library, run, out, project, online=online) for run in load_runs_in_folders(folders)]


def _import_wandb() -> Any:
    # The library would send its errors to its makers.
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


def _log_to_wandb(library: Any, run: LoadedRunFolder, out: Path, project: str, *, online: bool) -> Logged:
    key, marks = (
        f"{'online' if online else 'offline'}/{project}/{run.identity}",
        _read_content_marks_of_logged_runs(out),
    )
    if marks.get(key) == run.content:
        return Logged(run.name, run.identity, unchanged=True)
    try:
        with _stage_wandb_files_beside_run(out):
            _write_wandb_run(library, run, out, project, online=online)
    except library.errors.Error as error:
        raise ModelError(
            f"W&B failed: {str(error).splitlines()[0]}", mend="Log in with `wandb login`, or leave out --online."
        ) from error
    # Read once more: another process may have added marks meanwhile.
    write_json(out / _MARK, {**_read_content_marks_of_logged_runs(out), key: run.content})
    return Logged(run.name, run.identity)


def _write_wandb_run(library: Any, run: LoadedRunFolder, out: Path, project: str, *, online: bool) -> None:
    settings = library.Settings(
        disable_git=True, save_code=False, disable_code=True, disable_job_creation=True, console="off", silent=True,
        x_disable_meta=True, x_disable_stats=True, x_disable_machine_info=True, x_save_requirements=False,
        host=""
    )  # fmt: skip
    config = {**list_run_parameters(run), **_list_run_tags(run)}
    opened = library.init(
        project=project, id=run.identity, name=run.name, group=run.protocol_name, job_type=run.kind, config=config,
        dir=str(out), mode="online" if online else "offline", resume="allow" if online else None, settings=settings,
        reinit="create_new"
    )  # fmt: skip
    try:
        values = list_headlines_for_trackers(run)
        table = [[value.system, value.column.title, *_list_row_cells(value.row)] for value in values]
        opened.log({"headlines": library.Table(columns=list(_HEADS), data=table)})
        for value in values:
            name = f"{value.system}/{value.column.title.replace(' ', '/')}"
            opened.summary.update(
                {f"{name} {kind}".strip(): x for kind, x in map_headline_numbers_by_kind(value).items()}
            )
        kept = library.Artifact(
            f"{run.kind}-{run.identity[:12]}", type="embassay-run", metadata=collect_changing_run_facts(run)
        )
        with tempfile.TemporaryDirectory() as folder:
            for name, path in _iterate_run_files_on_disk(run, Path(folder)):
                kept.add_file(str(path), name=name)
            opened.log_artifact(kept)
            opened.finish()
    except BaseException:
        opened.finish(exit_code=1)
        raise


def _list_row_cells(row: Any) -> Iterator[Any]:
    yield from (row.value, row.ci_low, row.ci_high, row.n, row.reason)


@contextmanager
def _stage_wandb_files_beside_run(out: Path) -> Iterator[None]:
    """Have W&B stage its copies of files beside the run, for as long as the block runs."""
    names = {"WANDB_DATA_DIR": out / "wandb-data", "WANDB_CACHE_DIR": out / "wandb-data" / "cache"}
    before: Mapping[str, str | None] = {name: os.environ.get(name) for name in names}
    # A folder that the user has named is left alone, now and afterwards.
    os.environ.update({name: str(path.absolute()) for name, path in names.items() if before[name] is None})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)


def _read_content_marks_of_logged_runs(out: Path) -> dict[str, str]:
    try:
        marks = json.loads((out / _MARK).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return marks if isinstance(marks, dict) else {}


_TRACKIO_FOLDER = "TRACKIO_DIR"


def log_to_trackio(folders: Sequence[Path], out: Path, *, project: str = "embassay") -> list[Logged]:
    """Log the runs in `folders` to Trackio's project in the folder `out`: each system a run of its own, in one group.

    `TRACKIO_DIR=out trackio show` opens it. A run that is there unchanged is left alone; one that has gone on gets a
    further step. Nothing is sent. Raises UsageError without the extra `trackio`, or where this process has used Trackio
    with another folder, ModelError where Trackio fails.
    """
    library = _import_trackio(out)
    return [_log_to_trackio(library, run, out, project) for run in load_runs_in_folders(folders)]


def _import_trackio(out: Path) -> Any:
    # Read once, when the library is imported.
    os.environ.setdefault(_TRACKIO_FOLDER, str(out.absolute()))
    try:
        import trackio
        from trackio.utils import TRACKIO_DIR
    except ImportError as error:
        raise UsageError(
            f"Logging to Trackio needs the package {error.name}, which is not installed.",
            mend="Install it with: pip install 'embassay[trackio]'",
        ) from error
    if Path(TRACKIO_DIR).resolve() != out.resolve():
        raise UsageError(
            f"Trackio already uses the folder {TRACKIO_DIR} in this process.",
            mend=f"Unset {_TRACKIO_FOLDER}, or pass its folder as --out.",
        )
    return trackio


def _log_to_trackio(library: Any, run: LoadedRunFolder, out: Path, project: str) -> Logged:
    key = f"trackio/{project}/{run.identity}"
    if _read_content_marks_of_logged_runs(out).get(key) == run.content:
        return Logged(run.name, run.identity, unchanged=True)
    shared = {**list_run_parameters(run), **_list_run_tags(run)}
    # Trackio tells what it does on stdout, which is for results.
    with redirect_stdout(io.StringIO()):
        for system, values in _group_headlines_by_system(list_headlines_for_trackers(run)).items():
            try:
                _write_trackio_run(library, run, system, values, project, shared)
            except (ValueError, OSError) as error:
                raise ModelError(
                    f"Trackio failed: {str(error).splitlines()[0]}", mend="Choose another --project or --out."
                ) from error
    write_json(out / _MARK, {**_read_content_marks_of_logged_runs(out), key: run.content})
    return Logged(run.name, run.identity)


def _write_trackio_run(
    library: Any,
    run: LoadedRunFolder,
    system: str,
    values: Sequence[TrackedSystemHeadline],
    project: str,
    shared: Mapping[str, str],
) -> None:
    missing = _map_missing_metrics_to_reasons(values)
    config = {**shared, "system": str(redact_secrets(system)), **missing}
    opened = library.init(
        project=project, name=f"{run.name} {config['system']} {run.identity[:8]}", group=run.name, config=config,
        resume="allow", embed=False, auto_log_gpu=False, auto_log_cpu=False
    )  # fmt: skip
    try:
        metrics = _map_mlflow_metrics_to_values(values)
        if metrics:
            opened.log(metrics)
    finally:
        library.finish()
