"""Where a model's files are and what they are: folders by content, repositories by commit."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from embassay.errors import ModelError, UsageError
from embassay.systems.models import (
    compute_model_folder_checksum,
    find_model_weights,
    find_weights_and_library,
    is_revision_pinned,
)

COMMIT, OTHER = "0123456789abcdef" * 2 + "01234567", "f" * 40


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model" / "1_Pooling").mkdir(parents=True)
    (tmp_path / "model" / "model.safetensors").write_bytes(b"weights")
    (tmp_path / "model" / "1_Pooling" / "config.json").write_text("{}")
    return tmp_path / "model"


def test_a_folder_is_what_is_in_it(folder: Path, tmp_path: Path) -> None:
    """A copy elsewhere is the same; another byte, another name or one file more is another; a README says nothing."""
    first = compute_model_folder_checksum(folder)
    copy = folder.rename(tmp_path / "copy")
    assert compute_model_folder_checksum(copy) == first
    (copy / "README.md").write_text("words")
    (copy / ".git").mkdir()
    (copy / ".git" / "HEAD").write_text("x")
    assert compute_model_folder_checksum(copy) == first
    (copy / "tokenizer.json").write_text("{}")
    more = compute_model_folder_checksum(copy)
    (copy / "tokenizer.json").rename(copy / "vocab.txt")
    assert len({first, more, compute_model_folder_checksum(copy)}) == 3


def test_changed_weights_are_noticed_in_the_same_process(folder: Path) -> None:
    """Checksums are kept by size and time of change."""
    first = compute_model_folder_checksum(folder)
    (folder / "model.safetensors").write_bytes(b"other weights")
    assert compute_model_folder_checksum(folder) != first


def test_a_folder_is_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By any way of writing its path."""
    monkeypatch.chdir(folder.parent)
    found = {find_model_weights(target, system="st").identity for target in ("model", "./model", str(folder))}
    assert found == {compute_model_folder_checksum(folder)}
    assert find_model_weights("model", system="st").folder == Path("model")


@pytest.mark.parametrize(
    ("target", "revision", "error", "message"),
    [
        ("./nothing", None, ModelError, r"There is no folder \./nothing.*st:\./folder"),
        ("a/b/c", None, ModelError, "There is no folder a/b/c"),
        ("", None, UsageError, r"neither a folder nor the name of a model.*st:ORG/MODEL or st:\./folder"),
        ("word", None, UsageError, "'word' is neither a folder"),
        ("model", "main", UsageError, "a folder has no revision"),
        ("empty", None, ModelError, "The folder empty is empty"),
    ],
)
def test_what_is_no_model(target, revision, error, message, folder, monkeypatch) -> None:
    """Said with what to write."""
    monkeypatch.chdir(folder.parent)
    (folder.parent / "empty").mkdir()
    with pytest.raises(error, match=message):
        find_model_weights(target, revision, system="st")


class Hub:
    """A hub and its cache: what `model_info` answers, and which commit is kept."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.answer: object = None
        self.kept: str | None = None
        self.asked: list[str] = []
        self.folder = folder
        hub = pytest.importorskip("huggingface_hub")
        monkeypatch.setattr(hub, "HfApi", lambda: SimpleNamespace(model_info=self.model_info))
        monkeypatch.setattr(hub, "try_to_load_from_cache", self.load)
        monkeypatch.setattr(hub.constants, "HF_HUB_CACHE", str(folder))

    def model_info(self, repository: str, *, revision: str | None, timeout: float) -> object:
        self.asked.append(repository)
        if isinstance(self.answer, Exception):
            raise self.answer
        return SimpleNamespace(sha=self.answer)

    def load(self, repository: str, name: str, *, revision: str | None) -> str | None:
        return self.kept and str(self.folder / "snapshots" / self.kept / name)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Hub:
    return Hub(monkeypatch, tmp_path)


def test_a_repository_is_its_commit(hub: Hub) -> None:
    """What the hub says the revision is now; a short name of a known model stands for the long one."""
    hub.answer = COMMIT
    found = find_model_weights("all-MiniLM-L6-v2", system="st")
    assert (found.location, found.commit, found.cached) == ("sentence-transformers/all-MiniLM-L6-v2", COMMIT, False)
    assert found.identity == f"sentence-transformers/all-MiniLM-L6-v2@{COMMIT}"
    assert found.folder is None


def test_without_a_network_the_cache_serves(hub: Hub) -> None:
    """Whatever is wrong with the connection; loading must then not try again."""
    hub.answer, hub.kept = OSError("no route"), OTHER
    found = find_model_weights("org/model", system="st")
    assert (found.commit, found.cached) == (OTHER, True)


def test_a_pinned_commit_that_is_kept_needs_no_network(hub: Hub) -> None:
    """It cannot have changed."""
    hub.kept = COMMIT
    assert find_model_weights("org/model", COMMIT, system="st").cached
    assert not hub.asked


def test_what_cannot_be_had_names_the_folder_to_fill(hub: Hub) -> None:
    """One line: what is missing, where it belongs, what to write instead."""
    hub.answer = OSError("no route")
    with pytest.raises(ModelError, match=r"cannot be reached.*models--org--model, .*static:\./folder") as error:
        find_model_weights("org/model", system="static")
    assert "\n" not in str(error.value)


def test_a_model_that_is_not_there_is_said_before_the_library_is_imported(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which takes seconds; a library that is not installed is still said first."""
    monkeypatch.setitem(sys.modules, "sentence_transformers", ModuleType("sentence_transformers"))
    hub.answer = OSError("no route")
    imported: list[str] = []
    with pytest.raises(ModelError, match="cannot be reached"):
        find_weights_and_library(lambda: imported.append("torch"), "org/model", system="st")
    assert imported == []
    hub.answer = COMMIT
    weights, _ = find_weights_and_library(lambda: imported.append("torch"), "org/model", system="st")
    assert (weights.commit, imported) == (COMMIT, ["torch"])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("RepositoryNotFoundError", "The hub has no model org/model.*hf auth login"),
        ("GatedRepoError", "accept its terms"),
        ("RevisionNotFoundError", "has no revision v9"),
    ],
)
def test_what_the_hub_refuses(name: str, message: str, hub: Hub) -> None:
    """Even if an older copy is kept: what was asked for is not there."""
    errors = pytest.importorskip("huggingface_hub.errors")
    kind = getattr(errors, name)
    hub.answer, hub.kept = kind.__new__(kind), OTHER
    with pytest.raises(ModelError, match=message):
        find_model_weights("org/model", "v9", system="st")


def test_only_a_commit_is_pinned() -> None:
    """Branches, tags and short hashes can come to mean something else."""
    assert is_revision_pinned(COMMIT)
    assert not any(map(is_revision_pinned, (None, "main", "v1", COMMIT[:12], COMMIT + "0")))
