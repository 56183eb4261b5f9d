"""Secrets do not leave."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from embassay.interchange.tables import load_run_folder
from embassay.interchange.trackers import (
    HIDDEN,
    collect_changing_run_facts,
    list_run_files,
    list_run_parameters,
    redact_secrets,
)
from embassay.runs.folder import RunFolder, format_value_as_json
from written_runs import write_run

SECRETS = {
    "user": "openai:m?base_url=https://me:pa55word@host/v1",
    "parameter": "cohere:m?api_key=abcdef123&dimensions=256",
    "vendor": "embassay sage run --token sesame-open -s sk-proj-abcdefghijklmnop1234",
    "hub": "hf_abcdefghijklmnopqrstuvwx",
    "variable": "gateway correct-horse-battery",
}
LEAKS = ("pa55word", "abcdef123", "sk-proj-abc", "hf_abcdef", "correct-horse", "sesame")


def test_each_kind_is_hidden_and_the_rest_is_kept() -> None:
    hidden = redact_secrets(SECRETS, {"GATEWAY_TOKEN": "correct-horse-battery", "TERM": "xterm-256color"})
    text = json.dumps(hidden)
    assert not [leak for leak in LEAKS if leak in text]
    assert hidden["parameter"] == f"cohere:m?api_key={HIDDEN}&dimensions=256"
    assert hidden["user"].endswith(f"://{HIDDEN}@host/v1")
    assert redact_secrets({"max_tokens": 256, "key": "77a61c4b", "name": "openai:m?key=MY_KEY"}, {}) == {
        "max_tokens": 256, "key": "77a61c4b", "name": "openai:m?key=MY_KEY",
    }  # fmt: skip


def test_nothing_that_is_logged_holds_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parameters, facts and the manifest that goes along."""
    monkeypatch.setitem(os.environ, "GATEWAY_TOKEN", "correct-horse-battery")
    path = write_run(tmp_path / "run", {"a": [0.1, 0.2, 0.3]})
    manifest = json.loads((path / "manifest.json").read_text())
    RunFolder(path).write_manifest(
        {**manifest, "arguments": SECRETS, "command": list(SECRETS.values()), "name": SECRETS["variable"]}
    )
    run = load_run_folder(path)
    files = {name: content for name, content in list_run_files(run) if isinstance(content, bytes)}
    told = (
        format_value_as_json([list_run_parameters(run), collect_changing_run_facts(run)])
        + files["manifest.json"].decode()
    )
    assert "cohere:m" in told
    assert not [leak for leak in LEAKS if leak in told]
