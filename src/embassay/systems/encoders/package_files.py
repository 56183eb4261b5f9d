"""Model files that come inside installed packages, verified before use."""

from __future__ import annotations

import hashlib
from importlib.util import find_spec
from pathlib import Path

from embassay.errors import ModelError


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
