"""Somebody else on the same machine: reads no answers, texts or keys, and puts nothing in the way."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from embassay.contracts import Completion, Usage
from embassay.runs.embeddings import EmbeddingCache
from embassay.runs.folder import write_file_atomically
from embassay.runs.store import ChatAnswerCache
from hume_small import small_study

pytestmark = pytest.mark.skipif(os.name != "posix", reason="other systems have other rights")
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _usual_mask() -> object:
    """Files are readable by all unless somebody sees to it."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_cache_is_its_owners(tmp_path: Path) -> None:
    """Folder and files, those beside the database too: they hold texts of answers, and vectors of texts."""
    folder = tmp_path / "new" / "embassay"
    answers, vectors = (
        ChatAnswerCache.open(folder / "answers.sqlite"),
        EmbeddingCache.open(folder / "embeddings.sqlite"),
    )
    answers.write(b"k" * 32, "m", Completion("secret", None, Usage(), "m", "stop"))
    vectors.write(b"k" * 32, "e", np.ones((1, 2), np.float32))
    files = list(folder.iterdir())
    modes = {path.name: _mode(path) for path in files}
    answers.close()
    vectors.close()
    assert (_mode(folder), _mode(folder.parent)) == (0o700, 0o700)
    assert len(files) > 2  # the logs of unfinished writes among them
    assert set(modes.values()) == {0o600}


def test_a_cache_that_a_group_shares_stays_shared(tmp_path: Path) -> None:
    """A folder that its owner opened to the group is no mistake."""
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o2770)
    before = os.umask(0o002)
    try:
        ChatAnswerCache.open(folder / "answers.sqlite").close()
    finally:
        os.umask(before)
    assert _mode(folder / "answers.sqlite") & 0o040
    assert _mode(folder) == 0o2770


def test_a_study_is_its_owners(tmp_path: Path) -> None:
    """The key that links are made with, and who answered what."""
    from embassay.web.annotation.service import open_study_service

    study = small_study(tmp_path / "study", 2)
    service = open_study_service(study, ["ann"])
    service.annotator_link("ann")
    service.close()
    assert _mode(study / "serve.key") == 0o600
    assert _mode(study / "answers.sqlite3") == 0o600


def test_a_link_in_the_way_is_not_followed(tmp_path: Path) -> None:
    """Where a temporary file is to be, somebody may have put a link to a file of the user's."""
    precious = tmp_path / "precious"
    precious.write_text("kept")
    target = tmp_path / "results.jsonl"
    (tmp_path / f".results.jsonl.{os.getpid()}.part").symlink_to(precious)
    write_file_atomically(target, "new")
    assert (precious.read_text(), target.read_text()) == ("kept", "new")
    target.unlink()
    target.symlink_to(precious)
    write_file_atomically(target, "newer")
    assert (precious.read_text(), target.read_text(), target.is_symlink()) == ("kept", "newer", False)


@pytest.mark.slow
def test_no_key_is_an_argument(tmp_path: Path) -> None:
    """Every user sees the arguments of every process: a key there is refused without being repeated, and what was not
    asked for in the shell's history is in no file."""
    key = "sk-a-secret-of-the-user-0123456789"
    for spec in (f"openai:m?key={key}", f"openai:m?base_url=http://me:{key}@localhost/v1"):
        done = subprocess.run(
            [*(sys.executable, "-m", "embassay", "sage", "run", "-s", spec, "-d", "sample", "--out", tmp_path / "out"),
             *("--tokenizer", "words")],
            capture_output=True, text=True, env={**os.environ, "EMBASSAY_CACHE": str(tmp_path / "cache")},
        )  # fmt: skip
        assert done.returncode == 2
        assert key not in done.stdout + done.stderr
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and key.encode() in path.read_bytes()]


def test_nothing_of_ours_has_a_fixed_name_in_the_temporary_folder() -> None:
    """Where everybody may write, only names that cannot be foreseen are used, made by `tempfile`, and what other tools
    keep there is checked by its SHA-256 (the vocabulary of cl100k)."""
    sources = {path: path.read_text("utf-8") for path in (ROOT / "src" / "embassay").rglob("*.py")}
    using = {path.name for path, text in sources.items() if "gettempdir" in text or '"/tmp' in text}
    assert using == {"tokenizers.py"}
    assert "sha256" in next(text for path, text in sources.items() if path.name == "tokenizers.py").lower()
