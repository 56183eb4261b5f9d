"""A local model's files: a folder, the hub at one commit, or an installed package; and the libraries that load them.

What a model gives depends on its files, so both have an identity: a folder the checksum of its content, a
repository the commit that its revision stands for now.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from embassay.errors import ModelError, UsageError
from embassay.limits import bounded_entries
from embassay.systems.models import known_model


def model_library(name: str, *, what: str, mend: str) -> Any:
    """The library `name`, which builds on transformers. ModelError, saying that `what` needs it, where it or a part
    of it is not installed."""
    try:
        library = import_module(name)
        from transformers.utils import logging
    except ImportError as error:
        raise ModelError(
            f"{what} need the package {error.name}, which is not installed.", mend=mend
        ) from error
    # A bar of its own for weights that load in a second would cut through the run's.
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    return library


def first_line(error: Exception) -> str:
    """The first line of what a library says, as a sentence."""
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".:") + "."


PICKLED = "its weights are a pickle of more than tensors, which could run code on this machine"
SAFE_WEIGHTS = "Take the model as safetensors; do not load this file by other means either."


def is_pickle(error: BaseException | None) -> bool:
    """Whether torch refused weights for what it would have to run. Its own words say how to run it all the same."""
    while error is not None:
        if "weights_only" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def package_folder(package: str, *, encoder: str, mend: str) -> Path:
    """The folder of an installed package, without importing it; ModelError with `mend` when it is absent."""
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise ModelError(f"{encoder} needs the package {package}, which is not installed.", mend=mend)
    return Path(found.submodule_search_locations[0])


def verified(path: Path, checksum: str, *, encoder: str, mend: str) -> bytes:
    """The file's bytes; ModelError with `mend` when it cannot be read or its SHA-256 is not `checksum`."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ModelError(f"{encoder} cannot read {path}: {error.strerror}.", mend=mend) from error
    found = hashlib.sha256(content).hexdigest()
    if found != checksum:
        raise ModelError(
            f"{path} is not the file that {encoder} was published with: SHA-256 expected {checksum}, "
            f"found {found}.",
            mend=mend,
        )
    return content


_COMMIT = re.compile(r"[0-9a-f]{40}")
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")
_BESIDE_THE_POINT = {".md", ".png", ".jpg", ".jpeg", ".gif", ".svg", ".pdf"}
_USUAL_FILES = ("config.json", "modules.json", "model.safetensors")
_SECONDS = 10


@dataclass(frozen=True)
class Weights:
    """Where to load from: a folder, or a repository at a `commit`; `cached`, if it must come from the cache."""

    location: str
    identity: str
    commit: str | None = None
    cached: bool = False

    @property
    def folder(self) -> Path | None:
        """The folder, if it is one."""
        return Path(self.location) if self.commit is None else None


def find_weights(target: str, revision: str | None = None, *, system: str) -> Weights:
    """The weights that `target` names: a folder, ORG/MODEL, or the short name of a known model.

    `system` is the name before the colon, for messages. UsageError for what cannot be a model, ModelError when
    the folder or the repository is not there, or the hub cannot be reached and the cache does not have it.
    """
    folder = Path(target).expanduser()
    if target and folder.is_dir():
        if revision is not None:
            raise UsageError(
                f"{target} is a folder, and a folder has no revision.", mend="Leave revision out."
            )
        return Weights(str(folder), folder_identity(folder))
    known = known_model(target)
    repository = known.name if known is not None else target
    if target.startswith((".", "/", "~")) or target.count("/") > 1:
        raise ModelError(f"There is no folder {target}.", mend=f"Name the model's folder: {system}:./folder.")
    if not _REPOSITORY.fullmatch(repository):
        raise UsageError(
            f"{target!r} is neither a folder nor the name of a model.",
            mend=f"Write {system}:ORG/MODEL or {system}:./folder.",
        )
    commit, cached = _commit(repository, revision, system)
    return Weights(repository, f"{repository}@{commit}", commit, cached)


def fetched(weights: Weights, files: Sequence[str]) -> Path:
    """The folder of the weights; of a repository, the cache's, with those `files` (patterns) that it has.
    ModelError when they cannot be had."""
    if weights.folder is not None:
        return weights.folder
    from huggingface_hub import snapshot_download

    try:
        return Path(
            snapshot_download(
                weights.location,
                revision=weights.commit,
                allow_patterns=list(files),
                local_files_only=weights.cached,
            )
        )
    except Exception as error:  # the hub's and the network's errors have no root in common
        raise ModelError(f"The files of {weights.location} cannot be fetched: {error}") from error


def foreign_code(weights: Weights) -> tuple[str, ...]:
    """The repositories other than its own that a model's configuration takes code from."""
    path = fetched(weights, ("config.json",)) / "config.json"
    try:
        classes = json.loads(path.read_text("utf-8")).get("auto_map", {}).values() if path.is_file() else ()
    except (OSError, ValueError, AttributeError, RecursionError):
        # Whoever loads the model says what is wrong with its configuration.
        return ()
    names = [name for one in classes for name in (one if isinstance(one, list) else [one]) if name]
    return tuple(sorted({name.partition("--")[0] for name in names if "--" in name} - {weights.location}))


def folder_identity(folder: Path) -> str:
    """The checksum of all files that a model may be made of, their names included; ModelError where none are."""
    digest = hashlib.sha256()
    files = [path for path in sorted(bounded_entries(folder.rglob("*"), folder)) if _counts(path, folder)]
    if not files:
        raise ModelError(f"The folder {folder} is empty.", mend="Put the model's files into it.")
    for path in files:
        found = path.stat()
        checksum = _checksum(path, found.st_size, found.st_mtime_ns)
        digest.update(f"{path.relative_to(folder).as_posix()}\0{checksum}\0".encode())
    return f"sha256={digest.hexdigest()[:32]}"


def _counts(path: Path, folder: Path) -> bool:
    hidden = any(part.startswith((".", "__")) for part in path.relative_to(folder).parts)
    return not hidden and path.suffix.lower() not in _BESIDE_THE_POINT and path.is_file()


@cache
def _checksum(path: Path, size: int, changed: int) -> str:  # noqa: ARG001 - they tell a changed file
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _commit(repository: str, revision: str | None, system: str) -> tuple[str, bool]:
    """The commit that a revision is now, and whether only the cache can give it."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError

    kept = _kept_commit(repository, revision)
    if kept is not None and kept == revision:
        return kept, True
    try:
        found = HfApi().model_info(repository, revision=revision, timeout=_SECONDS).sha
    except GatedRepoError as error:
        raise ModelError(
            f"The model {repository} is only for those who agreed to its terms.",
            mend="Agree on its page, then run `hf auth login`.",
        ) from error
    except RepositoryNotFoundError as error:
        raise ModelError(
            f"The hub has no model {repository}, or not for you.",
            mend="Check its name; if it is private, run `hf auth login`.",
        ) from error
    except RevisionNotFoundError as error:
        raise ModelError(f"The model {repository} has no revision {revision}.") from error
    except Exception as error:
        # No network, offline mode, a proxy's answer: the libraries below have no root in common.
        if kept is not None:
            return kept, True
        raise ModelError(
            f"The hub cannot be reached, and the model {repository} is not in the cache.",
            mend=f"Put it into {_cache_folder(repository)}, or name a folder that holds it: {system}:./folder.",
        ) from error
    return str(found), False


def _kept_commit(repository: str, revision: str | None) -> str | None:
    """The commit of the revision that the hub's cache on this machine has, if any."""
    from huggingface_hub import try_to_load_from_cache

    for name in _USUAL_FILES:
        path = try_to_load_from_cache(repository, name, revision=revision)
        if isinstance(path, str):
            return Path(*Path(path).parts[: -len(Path(name).parts)]).name
    return None


def _cache_folder(repository: str) -> str:
    from huggingface_hub.constants import HF_HUB_CACHE

    return str(Path(HF_HUB_CACHE) / f"models--{repository.replace('/', '--')}")


def is_pinned(revision: str | None) -> bool:
    """Whether a revision is one commit for ever, not a branch or a tag."""
    return revision is not None and _COMMIT.fullmatch(revision) is not None
