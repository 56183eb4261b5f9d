"""Options of protocols as dataclasses: each field carries its help text, and its values are checked."""

from __future__ import annotations

from dataclasses import field
from typing import Any, Literal, get_args, get_origin, get_type_hints

from embassay.errors import UsageError


def option(default: Any, help: str) -> Any:
    """A field that carries its own help text, for the command line and the docs."""
    return field(default=default, metadata={"help": help})


def check_options(options: Any) -> None:
    """UsageError for a value that its Literal does not name, and for a whole number below 1."""
    for name, hint in get_type_hints(type(options)).items():
        allowed, value = get_args(hint) if get_origin(hint) is Literal else (), getattr(options, name)
        if allowed and value not in allowed:
            raise UsageError(f"{name} is {value!r}.", mend=f"Use one of {', '.join(map(str, allowed))}.")
        if hint in (int, int | None) and value is not None and value < 1:
            raise UsageError(f"{name} is {value}.", mend="Use a positive whole number.")
