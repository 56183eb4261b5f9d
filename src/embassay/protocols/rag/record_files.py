"""From the JSON files of a run back to the frozen dataclasses that they were written from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import lru_cache
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from embassay.errors import DataError
from embassay.limits import read_bounded

T = TypeVar("T")


def read_record(path: Path, cls: type[T], *, schema: int, what: str, mend: str) -> T:
    """The record, called `what`, that a JSON file of a run holds; DataError, with the `mend`, if it holds none or one
    of another schema."""
    try:
        plain = json.loads(read_bounded(path).decode("utf-8"))
        found = plain["schema"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(
            f"the record of {what} cannot be read", path=path, found=str(error), mend=mend
        ) from error
    if found != schema:
        raise DataError(
            f"the record of {what} was written by another version of Embassay", path=path,
            expected=f"schema {schema}", found=f"schema {found}", mend=mend,
        )  # fmt: skip
    try:
        return made(cls, plain)
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        raise DataError(
            f"the record of {what} is not whole", path=path, found=str(error), mend=mend
        ) from error


def made(cls: type[T], plain: Mapping[str, Any]) -> T:
    """A dataclass from its plain values: lists become tuples, and mappings the dataclasses they stand for.

    TypeError for a field that it does not have, or that it needs and is not there.
    """
    kind: Any = cls
    hints = _hints(kind)
    unknown = [name for name in plain if name not in hints]
    if unknown:
        raise TypeError(f"{cls.__name__} has no field {unknown[0]!r}")
    return cls(**{name: _value(hints[name], value) for name, value in plain.items()})


@lru_cache
def _hints(cls: type) -> dict[str, Any]:
    """The types of a dataclass's fields: a record has thousands of a few classes."""
    return get_type_hints(cls)


def _value(hint: Any, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(hint, UnionType):
        return _value(next(one for one in get_args(hint) if one is not type(None)), value)
    if get_origin(hint) is tuple:
        return tuple(_value(get_args(hint)[0], one) for one in value)
    return made(hint, value) if isinstance(hint, type) and is_dataclass(hint) else value
