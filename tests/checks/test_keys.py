"""A key in any file fails the check; what is known to be none does not."""

from __future__ import annotations

import importlib.util
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


def _loaded(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"checks_{name}", ROOT / "checks" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


keys = _loaded("keys")

# In pieces, so that this file does not hold what the check looks for.
PLANTED = {
    "OpenAI or Anthropic": "key = 'sk-" + "proj-" + "Ab3dEf6hIj9kLm2nOp5q'",
    "AWS": "AKIA" + "IOSFODNN7EXAMPLE",
    "GitHub": "ghp" + "_" + "a1B2c3D4" * 4 + "e5F6",
    "Hugging Face": "hf" + "_" + "aBcDeFgHiJ" * 3 + "kLmN",
    "Google": "AI" + "za" + "SyA1b2C3d4" * 3 + "e5F6g",
    "private key": "-----BEGIN RSA " + "PRIVATE KEY-----",
    "password in an address": "postgresql://me:" + "hunter22@db/x",
    "secret": "api_" + 'key: "' + 'q8Zx2Lw90vTfKj31Rm7cYb"',
}
INNOCENT = (
    "tokenizer = 'be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037'",
    "revision: be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a",
    "password = read_the_password_of_the_server(address)",
    "https://user@example.org/path:with@signs",
    "export OPENAI_API_KEY=sk-...",
)


@pytest.mark.parametrize("form", PLANTED)
def test_a_planted_key_fails_the_check(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each form is found with its file and line, and is not printed itself."""
    (tmp_path / "notes.md").write_text(f"Nothing here.\n{PLANTED[form]}\n")
    monkeypatch.setattr(keys, "ROOT", tmp_path)
    assert keys.main(["notes.md"]) == 1
    said = capsys.readouterr().out
    assert f"notes.md:2: looks like a key ({form})" in said
    assert PLANTED[form] not in said


@pytest.mark.parametrize("line", INNOCENT)
def test_what_is_no_key(line: str) -> None:
    """Checksums, names and places where a key goes are none."""
    assert not list(keys.found_in(line, "x"))


def test_known_ones_have_a_reason_and_are_there() -> None:
    """The list excuses nothing that is gone, and nothing without a reason."""
    known = tomllib.loads((ROOT / "checks" / "keys.toml").read_text())["known"]
    there = {(one.file, one.fingerprint) for one in keys.scanned(one["file"] for one in known)}
    assert {(one["file"], one["fingerprint"]) for one in known} <= there
    assert all(len(one["why"]) > 10 for one in known)
