"""Where Embassay keeps on this machine what it need not do twice."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """`$EMBASSAY_CACHE`, or the platform's cache folder."""
    chosen = os.environ.get("EMBASSAY_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("embassay")


def corpus_folder() -> Path:
    """Where the texts of large corpora are kept."""
    return cache_folder() / "corpora"
