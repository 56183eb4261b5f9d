"""Where Semblance keeps on this machine what it need not do twice."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """`$SEMBLANCE_CACHE`, or the platform's cache folder."""
    chosen = os.environ.get("SEMBLANCE_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("semblance")


def corpus_folder() -> Path:
    """Where the texts of large corpora are kept."""
    return cache_folder() / "corpora"
