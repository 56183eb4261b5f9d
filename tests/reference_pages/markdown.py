"""Docstrings and signatures as Markdown."""

from __future__ import annotations

import doctest
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Literal, get_args, get_origin

from embassay.registry import Registry

MADE = "*Made from the code by `PYTHONPATH=tests python -m reference_pages --write`; a test keeps it true to it.*"


def prose(text: str) -> str:
    """A docstring without its indentation; its examples are fences, and what Markdown would read is written out."""
    parts: list[str] = []
    for piece in doctest.DocTestParser().parse(inspect.cleandoc(text)):
        if isinstance(piece, doctest.Example):
            code = f">>> {piece.source.rstrip()}".replace("\n", "\n... ")
            parts.append(f"{code}\n{piece.want}".rstrip())
        elif piece.strip():
            parts.append(piece.strip("\n"))
    return "\n\n".join(_joined(parts))


def first_line(text: str) -> str:
    """The first paragraph, on one line."""
    return plain(" ".join(inspect.cleandoc(text).partition("\n\n")[0].split()))


def plain(text: str) -> str:
    """Running text in which no character means anything to Markdown, but for what stands in backticks."""
    halves = re.split(r"(`[^`]*`)", text)
    return "".join(
        half if half.startswith("`") else re.sub(r"([*<_\\[\]])", r"\\\1", half) for half in halves
    )


def cell(text: str) -> str:
    """Text for a cell of a table."""
    return plain(text).replace("|", "\\|")


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Rows of cells that are Markdown already."""
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def options(function: Callable[..., Any], leave_out: Iterable[str] = ()) -> str:
    """The parameters of a factory with their defaults and values, as a table; empty without any."""
    hidden = {*leave_out}
    rows = [row for name, row in _parameters(function) if name not in hidden]
    return table(["Parameter", "Default", "Values"], rows) if rows else ""


def names(registry: Registry[Any]) -> str:
    """Everything of a registry as a table."""
    facts = list(dict.fromkeys(key for one in registry for key, _ in one.facts))
    rows = [
        [f"`{one.name}`", *(cell(dict(one.facts).get(fact, "")) for fact in facts), cell(one.summary)]
        for one in registry
        if not one.package
    ]
    return table(["Name", *(fact.capitalize() for fact in facts), "What it is"], rows)


def _joined(parts: list[str]) -> Iterator[str]:
    """Examples that follow one another are one fence."""
    examples: list[str] = []
    for part in [*parts, ""]:
        if part.startswith(">>>"):
            examples.append(part)
            continue
        if examples:
            yield "```pycon\n" + "\n".join(examples) + "\n```"
            examples = []
        if part:
            yield plain(part)


def _parameters(function: Callable[..., Any]) -> Iterator[tuple[str, list[str]]]:
    for one in inspect.signature(function, eval_str=True).parameters.values():
        if is_dataclass(one.default) and not isinstance(one.default, type):
            kinds = inspect.get_annotations(type(one.default), eval_str=True)
            for part in fields(one.default):
                yield part.name, _row(part.name, getattr(one.default, part.name), kinds[part.name])
        else:
            yield one.name, _row(one.name, one.default, one.annotation)


def _row(name: str, default: Any, kind: Any) -> list[str]:
    if default is inspect.Parameter.empty:
        shown = "required"
    else:
        shown = "" if default is None or default == "" else f"`{default}`"
    return [f"`{name}`", shown, _values(kind)]


def _values(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return ", ".join(f"`{value}`" for value in get_args(kind))
    several = [one for one in get_args(kind) if one is not type(None)] or [kind]
    words = {"float": "a number", "int": "a whole number", "bool": "`true` or `false`", "str": "text"}
    return " or ".join(
        words.get(getattr(one, "__name__", ""), _values(one) if get_args(one) else "") for one in several
    )
