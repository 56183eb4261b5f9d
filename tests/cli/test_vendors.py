"""Systems behind a vendor's server, from the command line: a run, a wrong key, none at all.

What is said of a dead server is in `systems/encoders/test_posted.py`.
"""

from __future__ import annotations

import json

import pytest

from stub import StubServer

RUN = ("sage", "run", "--tokenizer", "words", "--limit", "8", "--resamples", "100", "-t", "preference")
KEY = "mine-and-only-mine"

pytest.importorskip("httpx2")
pytestmark = pytest.mark.slow


SYSTEMS = {
    "COHERE_API_KEY": "cohere:embed-v4.0?base_url={}",
    "VOYAGE_API_KEY": "voyage:voyage-3.5?base_url={}/voyage/v1",
    "GEMINI_API_KEY": "gemini:gemini-embedding-001?base_url={}",
    "MY_KEY": "ollama:nomic-embed-text?base_url={}&key=MY_KEY",
}


@pytest.fixture
def stub():
    with StubServer(keys={"none-needed", *(f"{KEY}-{name}" for name in SYSTEMS)}) as server:
        yield server


def test_a_run_keeps_no_key(embassay, stub, tmp_path):
    """Each vendor gets its own key and gives its vectors; what they cost is counted, and no key is left in any file or
    output."""
    keys = {name: f"{KEY}-{name}" for name in SYSTEMS}
    systems = [word for spec in SYSTEMS.values() for word in ("-s", spec.format(stub.url))]
    env = {**keys, "EMBASSAY_CACHE": str(tmp_path / "cache")}
    done = embassay(*RUN, *systems, "--out", "one", env=env)
    assert set(keys.values()) <= stub.seen_keys
    assert KEY not in done.stdout + done.stderr
    assert _files_with(KEY, tmp_path) == []
    spent = json.loads((tmp_path / "one" / "manifest.json").read_text("utf-8"))["spent"]["systems"]
    assert len(spent) == len(SYSTEMS)
    assert sum(model["requests"] for model in spent.values()) == stub.requests.total()
    assert sum(model["usd"] for model in spent.values()) > 0


def test_a_wrong_key_is_one_line_with_the_mend(embassay, stub, tmp_path):
    """Exit code 3; the key is hidden where the server repeats it."""
    env = {"COHERE_API_KEY": "a-wrong-key-of-mine", "EMBASSAY_CACHE": str(tmp_path / "cache")}
    spec = f"cohere:embed-v4.0?base_url={stub.url}"
    done = embassay(*RUN, "-s", spec, "--out", "one", env=env, check_code=3)
    said = " ".join(done.stderr.split())
    assert f"status 401: Incorrect API key provided: [key] from base_url={stub.url}. Check the key" in said
    assert "a-wrong-key-of-mine" not in done.stdout + done.stderr
    assert _files_with("a-wrong-key-of-mine", tmp_path) == []


def test_a_missing_key_is_known_before_any_work(embassay, tmp_path):
    """Which variable, and how to set it; nothing is written."""
    env = {"COHERE_API_KEY": "", "CO_API_KEY": ""}
    done = embassay(*RUN, "-s", "cohere:embed-v4.0", "--out", "one", env=env, check_code=3)
    assert "COHERE_API_KEY or CO_API_KEY is not set" in done.stderr
    assert not (tmp_path / "one").exists()


def _files_with(secret, folder):
    return [path for path in folder.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]
