"""Datasets that are frames or rows of the caller: kept as a file beside the run, so that it can be resumed and read."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from embassay.errors import UsageError

__all__ = ["sources"]


def sources(datasets: Sequence[Any] | Mapping[str, Any], folder: Path) -> tuple[str, ...]:
    """Names and paths of datasets as a caller gives them: strings and paths as they are; of frames (polars, pandas) and
    lists of dictionaries the JSON Lines file in `folder` that they are written to: `data-1.jsonl` and so on, or by the
    names of a mapping. A file that holds the same is left as it is.

    UsageError for anything else, and for a frame without rows.
    """
    named = datasets.items() if isinstance(datasets, Mapping) else [("", one) for one in datasets]
    return tuple(
        str(one)
        if isinstance(one, str | Path)
        else str(_kept(one, folder / f"{name or f'data-{place}'}.jsonl"))
        for place, (name, one) in enumerate(named, 1)
    )


def _kept(frame: Any, path: Path) -> Path:
    text = "".join(json.dumps(_plain(row), ensure_ascii=False) + "\n" for row in _rows(frame))
    if not text:
        raise UsageError(
            f"The dataset {path.stem} has no rows.", mend="Give a frame or list with one row per item."
        )
    if not path.exists() or path.read_text("utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return path


def _rows(frame: Any) -> Iterable[Mapping[str, Any]]:
    if hasattr(frame, "to_dicts"):
        return frame.to_dicts()  # type: ignore[no-any-return]
    if hasattr(frame, "to_dict") and hasattr(frame, "columns"):
        return frame.to_dict("records")  # type: ignore[no-any-return]
    if isinstance(frame, list | tuple) and all(isinstance(row, Mapping) for row in frame):
        return frame
    raise UsageError(
        f"{type(frame).__name__} is no dataset.",
        mend="Give a name of the catalogue, a path, a polars or pandas frame, or a list of dictionaries.",
    )


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row as JSON has it: numbers of numpy as Python's, what is missing as null."""
    return {str(key): _value(value) for key, value in row.items()}


def _value(value: Any) -> Any:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, list | tuple):
        return [_value(one) for one in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return str(value)
