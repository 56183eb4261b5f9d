"""The reference half of docs/cli.md, made from the app itself.

python tests/docs/cli_reference.py --write     renew it after a command or an option has changed
"""

from __future__ import annotations

import inspect
import sys
import types
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, get_args

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
START = "<!-- made by tests/docs/cli_reference.py -->\n"


@dataclass(frozen=True)
class Option:
    """One option or argument: how it is written, what it is without being written, what it means."""

    spellings: tuple[str, ...]
    default: str
    meaning: str


@dataclass(frozen=True)
class Command:
    """One command: the words that call it, what it does, what it takes."""

    path: str
    about: str
    options: tuple[Option, ...]


def commands(app: Any = None, path: str = "embassay") -> Iterator[Command]:
    """Every command of the app; first the app itself, for the options that stand before a command."""
    if app is None:
        from embassay.cli.main import with_commands

        app = with_commands()
        yield _command(path, app.registered_callback.callback)
    for info in app.registered_commands:
        yield _command(f"{path} {info.name or info.callback.__name__}", info.callback)
    for group in app.registered_groups:
        yield from commands(group.typer_instance, f"{path} {group.name}")


MANY = 3
"""So many commands with the same option, and it is described once."""


def reference() -> str:
    """The reference as Markdown: what many commands take, once, then every command with what it alone takes."""
    every = list(commands())
    often = Counter(option for command in every for option in command.options)
    shared = tuple(option for option, times in often.items() if times >= MANY)
    head = "\n".join([f"### {SHARED}", "", *_table(shared), ""])
    return "\n".join([head, *(_section(command, frozenset(shared)) for command in every)])


def _command(path: str, callback: Callable[..., Any]) -> Command:
    parameters = inspect.signature(callback, eval_str=True).parameters.values()
    declared = (one for one in parameters if get_args(one.annotation))  # not the context that typer gives
    return Command(path, inspect.getdoc(callback) or "", tuple(map(_option, declared)))


def _option(parameter: inspect.Parameter) -> Option:
    kind, declared = get_args(parameter.annotation)[:2]
    if type(declared).__name__ == "ArgumentInfo":
        spellings = (declared.metavar or parameter.name.upper(),)
    else:
        # Inside Annotated the first spelling stands where a default would.
        given = (declared.default, *(declared.param_decls or ()))
        written = [one for one in given if isinstance(one, str)] or [f"--{parameter.name.replace('_', '-')}"]
        spellings = tuple(one for text in written for one in text.split("/"))
    return Option(spellings, _default(parameter), declared.help + _choices(kind))


def _default(parameter: inspect.Parameter) -> str:
    if parameter.default is inspect.Parameter.empty:
        return "required"
    if parameter.default is None or parameter.default is False:
        return ""
    return f"`{_plain(parameter.default)}`"


def _choices(kind: Any) -> str:
    kinds = get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    enums = [one for one in kinds if isinstance(one, type) and issubclass(one, Enum)]
    values = [f"`{_plain(value)}`" for enum in enums for value in enum]
    return f" One of {', '.join(values)}." if values else ""


def _plain(value: Any) -> str:
    return str(value.value if isinstance(value, Enum) else value)


SHARED = "Options of many commands"


def _section(command: Command, shared: frozenset[Option]) -> str:
    lines = [f"### `{command.path}`", "", " ".join(command.about.split()), ""]
    own = [one for one in command.options if one not in shared]
    if own:
        lines += [*_table(own), ""]
    if also := [_written(one) for one in command.options if one in shared]:
        lines += [
            f"{'Also' if own else 'It takes'} {', '.join(also)} ([above](#{SHARED.lower().replace(' ', '-')})).",
            "",
        ]
    return "\n".join(lines)


def _table(options: Iterable[Option]) -> list[str]:
    rows = [f"| {_written(one)} | {one.default} | {one.meaning} |" for one in options]
    return ["| Option | Default | Meaning |", "|---|---|---|", *rows]


def _written(option: Option) -> str:
    return ", ".join(f"`{text}`" for text in option.spellings)


def main() -> None:
    """Print the reference, or write it into the page."""
    if "--write" not in sys.argv:
        print(reference())
        return
    head, _, _ = PAGE.read_text(encoding="utf-8").partition(START)
    PAGE.write_text(head + START + "\n" + reference(), encoding="utf-8")


if __name__ == "__main__":
    main()
