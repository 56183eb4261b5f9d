"""Docstrings and signatures as Markdown."""

from __future__ import annotations

import doctest
import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any, Literal, get_args, get_origin

from embassay.registry import RegistryEntry

MADE = "*Generated from the code by `PYTHONPATH=tests python -m reference_pages --write`.*"


RAISES = re.compile(
    r"(?:^|(?<=[.\s]))\s*(?<![;,] )\b(?:Raises|UsageError|ModelError|Errors as for)\s(?:[^.]|\.(?=\S))*\.(?=\s|$)"
)


SOURCE = re.compile(r"(?<!\w)Sources?: (?:[^.]|\.(?=\S)|(?<=\bal)\.)*\.(?=\s|$)")


def prose(text: str, said: str = "") -> str:
    """A docstring without its indentation, examples and errors, which `help` shows, and without a first paragraph that
    was `said` already; what Markdown would read is written out."""
    pieces = doctest.DocTestParser().parse(inspect.cleandoc(text))
    told = "".join(piece for piece in pieces if isinstance(piece, str))
    paragraphs = [RAISES.sub("", one).strip() for one in re.split(r"\n{2,}", told)]
    if " ".join(paragraphs[0].split()).rstrip(".") == said.rstrip("."):
        del paragraphs[0]
    return plain("\n\n".join(one for one in paragraphs if one))


def brief(text: str) -> str:
    """A docstring's first paragraph and its source; `help` shows the rest."""
    told = prose(text)
    source = SOURCE.search(told)
    first = told.partition("\n\n")[0]
    return first if not source or source[0] in first else f"{first} {' '.join(source[0].split())}"


def plain(text: str) -> str:
    """Running text in which no character means anything to Markdown, but for what stands in backticks."""
    halves = re.split(r"(`[^`]*`)", text)
    return "".join(half if half.startswith("`") else re.sub(r"([*<_\\[\]])", r"\\\1", half) for half in halves)


def options(function: Callable[..., Any], leave_out: Iterable[str] = ()) -> str:
    """The parameters of a factory with their defaults and values, on one line; empty without any."""
    hidden = {*leave_out}
    found = [text for name, text in _parameters(function) if name not in hidden]
    return f"Parameters: {', '.join(found)}." if found else ""


def names(registry: Iterable[RegistryEntry[Any]]) -> str:
    """Everything of a registry as a list: name, facts, what it is."""
    return "\n".join(f"- `{one.name}`{_facts(one.facts)}: {plain(one.summary)}" for one in registry if not one.package)


def _facts(facts: Iterable[tuple[str, str]]) -> str:
    said = [plain(f"{name} {value}" if name in ("needs", "calls", "dims") else value) for name, value in facts if value]
    return f" ({'; '.join(said)})" if said else ""


def _parameters(function: Callable[..., Any]) -> Iterator[tuple[str, str]]:
    for one in inspect.signature(function, eval_str=True).parameters.values():
        if is_dataclass(one.default) and not isinstance(one.default, type):
            kinds = inspect.get_annotations(type(one.default), eval_str=True)
            for part in fields(one.default):
                yield part.name, _written(part.name, getattr(one.default, part.name), kinds[part.name])
        else:
            yield one.name, _written(one.name, one.default, one.annotation)


def _written(name: str, default: Any, kind: Any) -> str:
    """`name=default`, or all values with the default first; what kind of value where there is no default."""
    if get_origin(kind) is Literal:
        values = sorted(map(str, get_args(kind)), key=lambda one: one != str(default))
        return f"`{name}={'|'.join(values)}`"
    if default is inspect.Parameter.empty or default is None or default == "":
        several = [one for one in get_args(kind) if one is not type(None)] or [kind]
        words = {"float": "X", "int": "N", "bool": "true|false", "str": "TEXT"}
        each = [get_args(one) if get_origin(one) is Literal else [words.get(one.__name__, "")] for one in several]
        value = "|".join(str(one) for values in each for one in values)
        return f"`{name}={value}`" + (" (required)" if default is inspect.Parameter.empty else "")
    return f"`{name}={str(default).lower() if isinstance(default, bool) else default}`"
