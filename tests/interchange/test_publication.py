"""Runs as files of Every Eval Ever and of the hub, by the rules of those who read them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from embassay.errors import UsageError
from embassay.interchange import export
from embassay.interchange.publication import make_published_model_name
from embassay.interchange.tables import load_run_folder
from embassay.interchange.trackers import list_headlines_for_trackers
from embassay.protocols.run_values import is_higher_measure_better
from embassay.runs.folder import RunFolder
from written_runs import write_run

# Of https://github.com/evaleval/every_eval_ever, eval.schema.json 0.3.0: what must be there, and of which type.
REQUIRED = {
    "schema_version": str, "evaluation_id": str, "retrieved_timestamp": str, "source_metadata": dict,
    "model_info": dict, "eval_library": dict, "evaluation_results": list
}  # fmt: skip
PATH = re.compile(r"data/[^/]+/[^/]+/[^/]+/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\.json")


def evaluations(out: Path) -> list[dict[str, Any]]:
    """The files, each at a place of the datastore and with what the schema wants."""
    bodies = []
    for path in sorted(out.rglob("*.json")):
        place = path.relative_to(out).as_posix()
        assert PATH.fullmatch(place), place
        body = json.loads(path.read_text(encoding="utf-8"))
        assert {name: type(body[name]) for name in REQUIRED} == REQUIRED
        assert body["source_metadata"]["source_type"] == "evaluation_run"
        assert place.split("/")[2:4] == body["model_info"]["id"].split("/")
        details = body["model_info"]["additional_details"]
        assert details["deployment_type"] in ("self_deployed", "externally_managed", "unknown")
        assert details["model_availability"] in ("open_weights", "closed_weights", "unknown")
        assert all(isinstance(text, str) for text in details.values())
        for result in body["evaluation_results"]:
            assert isinstance(result["score_details"]["score"], float)
            assert isinstance(result["metric_config"]["lower_is_better"], bool)
            assert result["source_data"]["dataset_name"]
            assert result["source_data"]["source_type"] in ("hf_dataset", "other")
        bodies.append(body)
    return bodies


@pytest.mark.parametrize("kind", ["sage", "pteb", "rag", "hume"])
def test_every_headline_of_a_model_is_in_a_file(real_runs: Path, tmp_path: Path, kind: str) -> None:
    """With its interval, n, method and seed, as the run has them; what has no value is counted, with its reason."""
    done = export([real_runs / kind], "eee", tmp_path)
    bodies = evaluations(tmp_path)
    assert done.files == len(bodies)
    written = [result for body in bodies for result in body["evaluation_results"]]
    assert done.rows == len(written)
    headlines = list_headlines_for_trackers(load_run_folder(real_runs / kind))
    assert done.rows + sum(left.rows for left in done.left_out) == len(headlines)
    rows = {(value.row.value, value.row.n, value.row.ci_low) for value in headlines}
    for result in written:
        score = result["score_details"]
        uncertainty = score.get("uncertainty", {})
        interval = uncertainty.get("confidence_interval", {})
        assert (score["score"], uncertainty.get("num_samples", 0), interval.get("lower")) in rows
        assert interval.get("confidence_level", 0.95) == 0.95


def test_who_ran_it(tmp_path: Path) -> None:
    """An organization that made the model is the first party; the same export is the same bytes."""
    run = write_run(tmp_path / "run", {"st:Lab/base": [0.1, 0.2, 0.3], "bm25": [0.2, 0.3, 0.4]})
    export([run], "eee", tmp_path / "a", source="lab")
    relations = {
        body["model_info"]["id"]: body["source_metadata"]["evaluator_relationship"]
        for body in evaluations(tmp_path / "a")
    }
    assert relations == {"Lab/base": "first_party", "embassay/bm25": "third_party"}
    export([run], "eee", tmp_path / "b", source="lab")
    texts = [sorted((path.name, path.read_bytes()) for path in (tmp_path / name).rglob("*.json")) for name in "ab"]
    assert texts[0] == texts[1]


def test_missing_values_and_secrets(tmp_path: Path) -> None:
    """A missing score is named with its reason, and a key never leaves."""
    run = write_run(tmp_path / "run", {"openai:m?key=sk-abcdefghijklmnopqrstu": [0.1, 0.2], "b": [0.3, 0.4]})
    folder = RunFolder(run)
    rows = folder.read_results()
    spoiled = [
        type(row)(**{**vars(row), "value": None, "reason": "it failed"})
        if row.system == "b" and row.task == "robustness"
        else row
        for row in rows
    ]
    folder.write_results(spoiled)
    done = export([run], "eee", tmp_path / "out")
    assert [left.rows for left in done.left_out] == [1]
    bodies = evaluations(tmp_path / "out")
    (other,) = [body for body in bodies if body["model_info"]["name"] == "b"]
    assert "it failed" in other["source_metadata"]["additional_details"].values()
    assert "sk-abc" not in json.dumps(bodies)


def test_no_result_is_no_export(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {"a": [0.1, 0.2]})
    folder = RunFolder(run)
    folder.write_results([type(row)(**{**vars(row), "value": None}) for row in folder.read_results()])
    with pytest.raises(UsageError, match="No headline"):
        export([run], "eee", tmp_path / "out")


@pytest.mark.parametrize(
    ("system", "identity"),
    [
        ("minilm", "embassay/minilm"), ("st:org/m", "org/m"), ("st:../some dir", "local/some-dir"),
        ("ollama:nomic-embed-text", "ollama/nomic-embed-text"), ("a/b/../c", "embassay/a-b-..-c"),
    ],
)  # fmt: skip
def test_names_are_paths_of_two_parts(system: str, identity: str) -> None:
    assert make_published_model_name(system).id == identity


def test_directions() -> None:
    """Harm falls with quality; what nobody registered is a headline, which rises."""
    assert [not is_higher_measure_better(name) for name in ("Harm@10", "nDCG@10", "overall", "v_measure")] == [
        True,
        False,
        False,
        False,
    ]


@pytest.fixture
def scored_on_the_hub(tmp_path: Path) -> Path:
    """A run on a dataset of the catalogue that lies on the hub."""
    run = write_run(tmp_path / "run", {"st:org/m": [0.1, 0.2, 0.3, 0.4]})
    folder = RunFolder(run)
    manifest = dict(folder.read_manifest() or {})
    listed = [{"name": "stsbenchmark", "source": "stsbenchmark", "tasks": {"robustness": {}}, "fingerprint": "f"}]
    folder.write_manifest({**manifest, "datasets": listed, "created": "2026-01-02T03:04:05+00:00"})
    rows = [
        type(row)(**{**vars(row), "dataset": "stsbenchmark"})
        for row in folder.read_results()
        if row.task == "robustness"
    ]
    folder.write_results([*folder.read_results(), *rows])
    return run


def test_the_hub_gets_what_is_on_its_datasets(scored_on_the_hub: Path, tmp_path: Path) -> None:
    """One file for each dataset, which the hub's own client reads; all else stands in the table alone."""
    done = export([scored_on_the_hub], "hub", tmp_path / "out", source="https://example.org/run")
    path = tmp_path / "out" / "org__m" / ".eval_results" / "embassay-stsbenchmark.yaml"
    (entry,) = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert entry["dataset"]["id"] == "mteb/stsbenchmark-sts"
    assert re.fullmatch("[0-9a-f]{40}", entry["dataset"]["revision"])
    assert entry["value"] == pytest.approx(0.25)
    assert "95% CI" in entry["notes"]
    assert "n 4" in entry["notes"]
    card = (tmp_path / "out" / "org__m" / "model_card.md").read_text(encoding="utf-8")
    assert "| SAGE robustness | stsbenchmark | robustness | 0.250 |" in card
    assert sum(left.rows for left in done.left_out) == 2


@pytest.mark.slow
def test_the_hubs_client_reads_it(scored_on_the_hub: Path, tmp_path: Path) -> None:
    hub = pytest.importorskip("huggingface_hub")
    if not hasattr(hub, "parse_eval_result_entries"):
        pytest.skip("this huggingface_hub does not know .eval_results")
    export([scored_on_the_hub], "hub", tmp_path / "out", source="https://example.org/run")
    (path,) = (tmp_path / "out").rglob("*.yaml")
    (entry,) = hub.parse_eval_result_entries(yaml.safe_load(path.read_text(encoding="utf-8")))
    assert (entry.dataset_id, entry.task_id, entry.source_name) == ("mteb/stsbenchmark-sts", "robustness", "Embassay")
    assert entry.date == "2026-01-02T03:04:05+00:00"


@pytest.mark.nightly
def test_their_validator_accepts_all_files(real_runs: Path, tmp_path: Path) -> None:
    """The package every-eval-ever, in an environment of its own: it wants Python 3.12."""
    uv = shutil.which("uv", path=str(Path(sys.executable).parent))
    if uv is None:
        pytest.skip("needs uv")
    export([real_runs], "eee", tmp_path)
    files = [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.json")]
    command = [uv, "tool", "run", "--python", ">=3.12", "--from", "every-eval-ever==0.3.0", "every_eval_ever"]
    done = subprocess.run([*command, "validate", *files], cwd=tmp_path, capture_output=True, text=True, check=False)
    if "No interpreter found" in done.stderr:
        pytest.skip("needs Python 3.12")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(files)} passed" in done.stdout
