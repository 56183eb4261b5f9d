"""Runs as files for where models are published: Every Eval Ever, and `.eval_results` of the Hugging Face hub.

Every Eval Ever: schema 0.3.0 of the package `every-eval-ever`. The hub: https://huggingface.co/docs/hub/eval-results,
as `huggingface_hub` 2.4 reads it.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from embassay.errors import UsageError
from embassay.interchange.tables import LoadedRunFolder, ScoreColumn
from embassay.interchange.trackers import TrackedSystemHeadline, list_headlines_for_trackers, redact_secrets
from embassay.protocols.kernel.comparisons import OVERALL
from embassay.protocols.run_values import is_higher_measure_better
from embassay.records import ResultRow
from embassay.runs.folder import digest_json, slugify_name, write_file_atomically, write_json

SCHEMA_VERSION = "0.3.0"
_OWNER = "embassay"
_HOSTED = ("openai", "cohere", "voyage", "gemini")
"""Prefixes of systems that a vendor runs, unless a base_url says otherwise."""
_OF_THE_HUB = ("st", "static", "splade", "colbert", "multi", "mteb", "onnx")
_UNSAFE = re.compile(r"[^A-Za-z0-9._+-]+")
Plain = dict[str, Any]


@dataclass(frozen=True)
class PublishedModelName:
    """A system as others name it: `developer/name`, and who ran it."""

    developer: str
    name: str
    deployment: str

    @property
    def id(self) -> str:
        """The published name of the system, as a reader would look for it."""
        return f"{self.developer}/{self.name}"


def make_published_model_name(system: str) -> PublishedModelName:
    """A system's name as `developer/name`. Folders of this machine are `local`, ours `embassay`; what no path may hold
    is replaced.

    >>> (make_published_model_name("st:intfloat/e5-base?dims=64").id, make_published_model_name("bm25").id,
    ... make_published_model_name("st:./new").id)
    ('intfloat/e5-base-dims-64', 'embassay/bm25', 'local/new')
    >>> make_published_model_name("openai:text-embedding-3-small")
    PublishedModelName(developer='openai', name='text-embedding-3-small', deployment='externally_managed')
    """
    prefix, _, rest = system.partition(":")
    if not rest:
        return PublishedModelName(_OWNER, _clean_path_part(system), "self_deployed")
    address, _, parameters = str(redact_secrets(rest, {})).partition("?")
    suffix = f"-{_clean_path_part(parameters)}" if parameters else ""
    if prefix in _HOSTED:
        deployment = "unknown" if "base_url" in parameters else "externally_managed"
        return PublishedModelName(prefix, _clean_path_part(address) + suffix, deployment)
    developer, _, name = address.partition("/")
    if prefix not in _OF_THE_HUB or not name or "/" in name or developer.startswith("."):
        own = prefix if prefix not in _OF_THE_HUB else "local"
        return PublishedModelName(own, _clean_path_part(Path(address).name) + suffix, "self_deployed")
    return PublishedModelName(_clean_path_part(developer), _clean_path_part(name) + suffix, "self_deployed")


def _clean_path_part(text: str) -> str:
    return _UNSAFE.sub("-", text).strip("-.") or "unnamed"


Lost = tuple[str, int, str]
"""Of a run so many rows, and why they were left out."""
_VALUELESS = "without a value; source_metadata gives the reasons"
_BASELINE = "of baselines that ignore the text, which are not models"


def write_every_eval_ever_files(
    runs: Sequence[LoadedRunFolder], out: Path, organization: str = ""
) -> tuple[int, int, list[Lost]]:
    """Write a file of Every Eval Ever for each system of each run, below `out/data` as its datastore has them. Returns
    the number of files, of results in them, and the headlines that are left out. UsageError where there is none."""
    files, rows, lost = 0, 0, []
    for run in runs:
        without, baseline = 0, 0
        for system, values in _group_headlines_by_system(run).items():
            scored = [value for value in values if value.row.value is not None]
            if is_text_blind_baseline(run, system):
                baseline += len(values)
                continue
            without += len(values) - len(scored)
            if not scored:
                continue
            body = _make_evaluation_record(run, system, values, organization)
            write_json(out / _name_evaluation_file(run, system), body, indent=2)
            files, rows = files + 1, rows + len(scored)
        counts = ((without, _VALUELESS), (baseline, _BASELINE))
        lost += [(run.name, many, why) for many, why in counts if many]
    if not files:
        raise UsageError("No headline of these runs has a value.", mend="Export them as csv.")
    return files, rows, lost


def is_text_blind_baseline(run: LoadedRunFolder, system: str) -> bool:
    """Whether a system is one that ignores the text, which is there to compare with."""
    listed = run.manifest.get("systems", ())
    return any(entry["name"] == system and entry.get("kind") == "reference" for entry in listed)


def _group_headlines_by_system(run: LoadedRunFolder) -> dict[str, list[TrackedSystemHeadline]]:
    by_system: dict[str, list[TrackedSystemHeadline]] = {}
    for value in list_headlines_for_trackers(run):
        by_system.setdefault(value.system, []).append(value)
    return by_system


def _name_evaluation_file(run: LoadedRunFolder, system: str) -> Path:
    """Name the file of an evaluation by a UUID that is the same each time."""
    model = make_published_model_name(system)
    digest = bytes.fromhex(digest_json([run.identity, system]))
    return (
        Path("data")
        / f"embassay-{run.kind}"
        / model.developer
        / model.name
        / f"{uuid.UUID(bytes=digest, version=4)}.json"
    )


def _make_evaluation_record(
    run: LoadedRunFolder, system: str, values: Sequence[TrackedSystemHeadline], organization: str
) -> Plain:
    model, moment = (make_published_model_name(system), _convert_iso_time_to_epoch_text(run.manifest.get("updated")))
    missing = [value for value in values if value.row.value is None]
    notes = {f"missing: {value.column.title}": value.row.reason or "no value" for value in missing}
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": f"embassay-{run.kind}/{model.id}/{moment}-{run.identity[:8]}",
        "evaluation_timestamp": str(run.manifest.get("created") or ""),
        "retrieved_timestamp": moment,
        "source_metadata": {
            "source_name": f"Embassay run {run.name}",
            "source_type": "evaluation_run",
            "source_organization_name": organization or "unknown",
            "evaluator_relationship": _describe_evaluator_relation(organization, model),
            "additional_details": {"manifest": run.manifest_digest, "run": run.identity, **notes},
        },
        "eval_library": {"name": "embassay", "version": str(run.manifest.get("embassay") or "unknown")},
        "model_info": {
            "name": str(redact_secrets(system)),
            "id": model.id,
            "developer": model.developer,
            "additional_details": {
                "deployment_type": model.deployment,
                "model_availability": "unknown",
                **_list_system_facts(run, system),
            },
        },
        "evaluation_results": [
            _make_publication_result_record(run, value) for value in values if value.row.value is not None
        ],
    }  # fmt: skip


def _describe_evaluator_relation(organization: str, model: PublishedModelName) -> str:
    if not organization:
        return "other"
    return "first_party" if organization.lower() == model.developer.lower() else "third_party"


def _list_system_facts(run: LoadedRunFolder, system: str) -> dict[str, str]:
    """List the facts that the run knows of a system, as texts."""
    known: Mapping[str, Any] = next((entry for entry in run.manifest.get("systems", ()) if entry["name"] == system), {})
    identity = known.get("identity")
    revision = digest_json(identity)[:12] if identity else None
    facts = {"revision": revision, "identity": identity, **(known.get("facts") or {})}
    return {name: str(redact_secrets(str(fact))) for name, fact in facts.items() if fact not in (None, "")}


def _convert_iso_time_to_epoch_text(moment: Any) -> str:
    try:
        return str(int(datetime.fromisoformat(str(moment)).timestamp()))
    except ValueError:
        return "0"


def _make_publication_result_record(run: LoadedRunFolder, value: TrackedSystemHeadline) -> Plain:
    row, column = value.row, value.column
    where = {"variant": row.variant, "subset": row.subset, "language": row.lang}
    details = {name: text for name, text in where.items() if text}
    if row.seed is not None:
        details["seed"] = str(row.seed)
    if row.method:
        details["method"] = row.method
    if not column.dataset:
        details["mean_over"] = "datasets" if column.task != OVERALL else "tasks"
    return {
        "evaluation_result_id": digest_json([run.identity, list(row.key)]),
        "evaluation_name": f"{run.title} {column.task}".strip(),
        "source_data": _make_source_data_record(run, column),
        "metric_config": _make_metric_metadata_of_column(run, column),
        "score_details": {"score": row.value, "details": details, **_build_uncertainty_record(row)},
    }


def _make_source_data_record(run: LoadedRunFolder, column: ScoreColumn) -> Plain:
    names = [column.dataset] if column.dataset else _list_task_datasets(run, column.task)
    details = {f"fingerprint of {name}": run.fingerprint(name) for name in names if run.fingerprint(name)}
    described = {"dataset_name": ", ".join(names) or "unknown", "source_type": "other", "additional_details": details}
    hub = find_dataset_location_on_hub(run, column.dataset)
    if hub is None:
        return described
    details["revision"] = hub.revision
    return {**described, "source_type": "hf_dataset", "hf_repo": hub.repository}


@dataclass(frozen=True)
class HubDatasetLocation:
    """Where on the hub a dataset lies."""

    repository: str
    revision: str


def find_dataset_location_on_hub(run: LoadedRunFolder, dataset: str) -> HubDatasetLocation | None:
    """Find where a dataset of the catalogue lies on the hub; None for all others."""
    from embassay.data.catalogue.entries import read_catalogue_entries

    listed = run.manifest.get("datasets", ())
    source = next((str(entry.get("source")) for entry in listed if entry.get("name") == dataset), "")
    record = read_catalogue_entries().get(dataset)
    if record is None or not record.hub or not source.startswith(dataset):
        return None
    return HubDatasetLocation(record.hub, record.revision)


def _make_metric_metadata_of_column(run: LoadedRunFolder, column: ScoreColumn) -> Plain:
    name, _, cutoff = column.measure.partition("@")
    described: Plain = {
        "metric_id": f"embassay.{run.protocol_name}.{column.task}.{column.measure}",
        "metric_name": column.measure,
        "metric_kind": name,
        "lower_is_better": not is_higher_measure_better(column.measure),
    }
    if cutoff.isdecimal():
        described["metric_parameters"] = {"k": int(cutoff)}
    return described


def _build_uncertainty_record(row: ResultRow) -> Plain:
    uncertainty: Plain = {"num_samples": row.n} if row.n else {}
    if row.ci_low is not None and row.ci_high is not None:
        ends = {"lower": row.ci_low, "upper": row.ci_high, "confidence_level": 0.95}
        uncertainty["confidence_interval"] = ends | ({"method": row.method} if row.method else {})
    return {"uncertainty": uncertainty} if uncertainty else {}


CARD = "model_card.md"
RESULTS = ".eval_results"


def write_files_of_hub_results_and_cards(
    runs: Sequence[LoadedRunFolder], out: Path, source_url: str = ""
) -> tuple[int, int, list[Lost]]:
    """Write for each system `out/DEVELOPER__NAME/.eval_results/*.yaml`, what its scores on datasets of the hub are, and
    `model_card.md`, a table of all its headlines; baselines have none. Returns files, results, and the rows that only
    the table has."""
    systems: dict[str, list[tuple[LoadedRunFolder, TrackedSystemHeadline]]] = {}
    for run in runs:
        for value in list_headlines_for_trackers(run):
            if not is_text_blind_baseline(run, value.system):
                systems.setdefault(make_published_model_name(value.system).id, []).append((run, value))
    files, beside = 0, dict.fromkeys((run.name for run in runs), 0)
    for model, values in systems.items():
        # A file system has no folders in names; the hub's own caches write the sign so too.
        folder = out / model.replace("/", "__")
        entries: dict[str, list[Plain]] = {}
        for run, value in values:
            hub = find_dataset_location_on_hub(run, value.column.dataset)
            if hub is None or value.row.value is None:
                beside[run.name] += 1
                continue
            entries.setdefault(value.column.dataset, []).append(_make_hub_result_entry(run, value, hub, source_url))
        for dataset, listed in entries.items():
            write_file_atomically(folder / RESULTS / f"embassay-{slugify_name(dataset)}.yaml", _format_yaml(listed))
        write_file_atomically(folder / CARD, format_model_card_table(values))
        files += len(entries) + 1
    rows = sum(map(len, systems.values()))
    if not rows:
        raise UsageError("These runs have no headlines.", mend="Export them as csv.")
    why = f"only in {CARD}: without a value, or for a dataset that is not on the Hugging Face Hub"
    return files, rows, [(name, many, why) for name, many in beside.items() if many]


def _format_yaml(entries: Sequence[Plain]) -> str:
    return str(yaml.safe_dump(list(entries), sort_keys=False, allow_unicode=True, width=1000))


def _make_hub_result_entry(
    run: LoadedRunFolder, value: TrackedSystemHeadline, hub: HubDatasetLocation, source_url: str
) -> Plain:
    dataset = {"id": hub.repository, "task_id": value.column.task}
    if hub.revision != "main":
        dataset["revision"] = hub.revision
    entry: Plain = {"dataset": dataset, "value": value.row.value}
    if run.manifest.get("created"):
        entry["date"] = str(run.manifest["created"])
    if source_url:
        entry["source"] = {"url": source_url, "name": "Embassay"}
    entry["notes"] = _describe_score(run, value)
    return entry


def _describe_score(run: LoadedRunFolder, value: TrackedSystemHeadline) -> str:
    row = value.row
    limit = (run.manifest.get("arguments") or {}).get("limit")
    parts = [f"{run.title} {value.column.measure}", f"95% CI {_format_result_interval(row, 4)}", f"n {row.n}", row.lang]
    parts += [f"seed {row.seed}"] if row.seed is not None else []
    parts += [f"at most {limit} items"] if limit else []
    parts += [row.method, f"Embassay {run.manifest.get('embassay') or ''}".strip()]
    return "; ".join(part for part in parts if part)


def format_model_card_table(values: Sequence[tuple[LoadedRunFolder, TrackedSystemHeadline]]) -> str:
    """The headlines of a system as a table of Markdown, with the missing ones and their reasons. A mean over one
    dataset is not repeated."""
    lines = ["| Evaluation | Data | Measure | Score | 95% CI | n | Method |", "|---|---|---|---|---|---|---|"]
    for run, value in values:
        row, column = value.row, value.column
        if not column.dataset and len(_list_task_datasets(run, column.task)) == 1 and column.task != OVERALL:
            continue
        score = f"{row.value:.3f}" if row.value is not None else f"none: {row.reason or 'no value'}"
        cells = (
            f"{run.title} {column.task}",
            column.dataset or "all",
            column.measure,
            score,
            _format_result_interval(row, 3),
            row.n,
            row.method,
        )
        lines.append("| " + " | ".join(_escape_markdown_cell(str(cell)) for cell in cells) + " |")
    versions = dict.fromkeys(str(run.manifest.get("embassay") or "unknown") for run, _ in values)
    seeds = dict.fromkeys(str(value.row.seed) for _, value in values if value.row.seed is not None)
    note = f"Evaluated with Embassay {', '.join(versions)}, seed {', '.join(seeds) or 'none'}."
    return "\n".join(["## Evaluation", "", *lines, "", note, ""])


def _format_result_interval(row: ResultRow, digits: int) -> str:
    if row.ci_low is None or row.ci_high is None:
        return "none"
    return f"{row.ci_low:.{digits}f} to {row.ci_high:.{digits}f}"


def _list_task_datasets(run: LoadedRunFolder, task: str) -> list[str]:
    """The datasets that a task's mean is over; all of them for `overall`."""
    listed = run.manifest.get("datasets", ())
    return [str(entry["name"]) for entry in listed if task == OVERALL or task in entry.get("tasks", ())]


def _escape_markdown_cell(text: str) -> str:
    return re.sub(r"([|<>`*_\[\]\\])", r"\\\1", text.replace("\n", " "))


Writer = Callable[[Sequence[LoadedRunFolder], Path, str], tuple[int, int, list[Lost]]]
WRITERS: Mapping[str, Writer] = {"eee": write_every_eval_ever_files, "hub": write_files_of_hub_results_and_cards}
