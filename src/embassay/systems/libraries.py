"""Libraries that load models: imported when a model is named, and quiet while they load it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from embassay.errors import ModelError


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
