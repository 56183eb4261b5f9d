"""The local mirror: a folder per dataset, a file or folder per table."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from embassay.bounded import bounded_entries
from embassay.data.tables import FORMATS, known_suffix

VARIABLE = "EMBASSAY_DATA"


def mirror_folder() -> Path:
    """`$EMBASSAY_DATA`, or the platform's folder for data of users."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return Path(chosen).expanduser()
    from platformdirs import user_data_path

    return user_data_path("embassay") / "data"


def table_files(
    folder: Path, part: str, split: str, langs: tuple[str, ...]
) -> Mapping[str, tuple[Path, ...]]:
    """Language -> the files of the table `part` in `folder`; one key "" where languages are not apart.

    `part.SUFFIX`; or in the folder `part`: `LANG.SUFFIX` for each of `langs`, or `SPLIT.SUFFIX`, or all files
    in the order of their names. Empty where there is nothing of it.
    """
    if single := _named(folder, part):
        return {"": (single,)}
    inside = folder / part
    if not inside.is_dir():
        return {}
    by_lang = {lang: (path,) for lang in langs if (path := _named(inside, lang))}
    if by_lang:
        return by_lang
    if single := _named(inside, split):
        return {"": (single,)}
    shards = tuple(
        path for path in sorted(bounded_entries(inside.iterdir(), inside)) if known_suffix(path.name)
    )
    return {"": shards} if shards else {}


def _named(folder: Path, stem: str) -> Path | None:
    return next((path for suffix in FORMATS if (path := folder / (stem + suffix)).is_file()), None)
