"""The reference half of docs/cli.md, made from the app itself.

python tests/docs/cli_reference.py --write     renew it after a command or an option has changed
"""

from __future__ import annotations

import inspect
import re
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from enum import Enum
from pathlib import Path
from typing import Any, get_args

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
PLAIN = ("TEXT", "PATH", "NAME", "N", "X")
"""Values that the default and the meaning tell."""
WORDS = ("none.", "no.", "yes.", "all.")
"""Defaults that are told in words; other single ones stand where those of the app do."""
START = "<!-- made by tests/docs/cli_reference.py -->\n"


@dataclass(frozen=True)
class Option:
    """One option or argument: how it is written, what it is without being written, what it means."""

    spellings: tuple[str, ...]
    value: str
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
        from embassay.cli.main import build_app_with_commands

        app = build_app_with_commands()
        yield _command(path, app.registered_callback.callback)
    for info in app.registered_commands:
        yield _command(f"{path} {info.name or info.callback.__name__}", info.callback)
    for group in app.registered_groups:
        yield from commands(group.typer_instance, f"{path} {group.name}")


MANY = 3
"""So many commands with the same option, and it is described once, before all commands."""
SHARED = "Options of many commands"
SETS = {
    "run": "--memory --out --workers --engine --address --max-cost --dry-run --json --wide --seed --tokenizer",
    "data": "--dataset --map --split --grades --limit",
    "scoring": "--classification-texts --summaries --own-document --[no-]exclude-own "
    "--[no-]normalize-punctuation --most-lost --neighbours --clustering-cap",
    "usual": "--memory --json --wide",
    "paid": "--out --max-cost --dry-run",
    "draw": "--dataset --map --split --limit --seed",
    "paraphrase": "--temperature --top-p --retries --[no-]strict-length --[no-]meaning",
    "transformation": "--resamples --corpus --semrel --candidates --evaluation-seed",
}
"""Shared options that many commands have all of, with the one word that stands for them."""
TABLED = {"embassay sage run": ("SAGE", "sage.md#options")}
"""Commands whose protocol's options a page explains in a table: its title, its address."""


def reference() -> str:
    """The reference as Markdown: every option once, where many commands or the first of two have it."""
    every = list(commands())
    holders: dict[tuple[Any, ...], list[tuple[str, Option]]] = {}
    for command in every:
        for option in command.options:
            holders.setdefault(_sense(option), []).append((command.path, option))
    homes = {
        sense: (SHARED if len(held) >= MANY else held[0][0], held[0][1].default) for sense, held in holders.items()
    }
    shared = [_item(held[0][1]) for sense, held in holders.items() if homes[sense][0] == SHARED]
    sets = [f"- *{name}*: {', '.join(f'`{one}`' for one in of.split())}" for name, of in SETS.items()]
    head = "\n".join([f"### {SHARED}", "", *shared, "", "Sets of them, in italics below:", "", *sets, ""])
    return "\n".join([head, *(_section(command, homes) for command in every)])


def _sense(option: Option) -> tuple[Any, ...]:
    """What two options have in common that are explained once; the default may differ."""
    return option.spellings, option.value, option.meaning, option.default == "required"


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
    value = declared.metavar or _choices(kind) if spellings[0][0] == "-" else ""
    return Option(spellings, value, _default(parameter), declared.help)


def _default(parameter: inspect.Parameter) -> str:
    if parameter.default is inspect.Parameter.empty:
        return "required"
    if parameter.default is None or parameter.default is False or parameter.default == "":
        return ""
    return f"`{_plain(parameter.default)}`"


def _choices(kind: Any) -> str:
    kinds = get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    enums = [one for one in kinds if isinstance(one, type) and issubclass(one, Enum)]
    return "|".join(_plain(value) for enum in enums for value in enum)


def _plain(value: Any) -> str:
    return str(value.value if isinstance(value, Enum) else value)


def _section(command: Command, homes: dict[tuple[Any, ...], tuple[str, str]]) -> str:
    """What the command does and takes; of options explained elsewhere the name, where, and another default."""
    lines = [f"### `{command.path}`", "", _about(command.about), ""]
    elsewhere: dict[str, list[str]] = {}
    title, page, tabled = _tabled(command.path)
    for one in command.options:
        home, default = homes[_sense(one)]
        if home == command.path and one.spellings[0].strip("-").replace("-", "_") in tabled:
            elsewhere.setdefault(f"[{title}]({page})", []).append(f"`{spelled(one)}`")
        elif home == command.path:
            lines.append(_item(one))
        else:
            other = f" ({one.default})" if one.default != default else ""
            elsewhere.setdefault(home, []).append(f"`{spelled(one)}`{other}")
    for home, names in elsewhere.items():
        said = "[Shared](#options-of-many-commands)" if home == SHARED else f"As in `{home}`"
        if home.startswith("["):
            said = f"Explained under {home}"
        lines += ["", f"{said}: {', '.join(_sets(names))}"]
    return re.sub(r"\n{3,}", "\n\n", "\n".join([*lines, ""]))


def _tabled(path: str) -> tuple[str, str, frozenset[str]]:
    """Title and address of the page with the options of a command's protocol, and their names; none for most."""
    if path not in TABLED:
        return "", "", frozenset()
    from embassay.protocols.sage.options import SageOptions

    return *TABLED[path], frozenset(field.name for field in fields(SageOptions))


def _sets(names: list[str]) -> list[str]:
    """The names of options, with the name of a set for its members where all are there with the usual defaults."""
    for title, of in SETS.items():
        members = [name for name in names if name.strip("`").rpartition("/")[2] in of.split()]
        if len(members) == len(of.split()):
            names = [f"*{title}*", *(name for name in names if name not in members)]
    return names


def _about(text: str) -> str:
    """The first paragraph of a command's help: what it does; `-h` shows the rest and an example."""
    return " ".join(text.partition("\n\n")[0].split()).partition(" Example: ")[0]


def _item(option: Option) -> str:
    """A default that is one of the values that are listed is the first of them."""
    bare, default = option.value.removesuffix("..."), option.default.strip("`")
    values = bare.split("|")
    if default in values:
        bare = "|".join(sorted(values, key=lambda one: one != default))
    shown = "" if not bare or bare in PLAIN else f" {bare}"
    dots = "..." if option.value.endswith("...") else ""
    told = default and default not in values and not (default == "required" and spelled(option)[0] != "-")
    said = f" ({option.default})" if told else ""
    meaning, _, stated = option.meaning.partition(" Default: ")
    if stated and " " not in stated and stated not in WORDS and not told:
        return f"- `{spelled(option)}{shown}{dots}` (`{stated.rstrip('.')}`): {meaning}"
    return f"- `{spelled(option)}{shown}{dots}`{said}: {option.meaning}"


def spelled(option: Option) -> str:
    """All spellings of an option as one word: the short one first, `--[no-]x` for a pair of flags."""
    pair = next((one for one in option.spellings if f"--no-{one[2:]}" in option.spellings), "")
    if pair:
        return f"--[no-]{pair[2:]}"
    return "/".join(sorted(option.spellings, key=len))


def main() -> None:
    """Print the reference, or write it into the page."""
    if "--write" not in sys.argv:
        print(reference())
        return
    head, _, _ = PAGE.read_text(encoding="utf-8").partition(START)
    PAGE.write_text(head + START + "\n" + reference(), encoding="utf-8")


if __name__ == "__main__":
    main()
