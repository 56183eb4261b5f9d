"""Options that commands share, and options made from a dataclass of settings."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields
from enum import Enum, StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer

from embassay.errors import UsageError

if TYPE_CHECKING:
    from embassay.runs.execution import Ray

Systems = Annotated[
    list[str], typer.Option("--system", "-s", help="A system: see `embassay list systems`. Repeatable.")
]
Tasks = Annotated[
    list[str] | None,
    typer.Option(
        "--task", "-t", help="A task: see `embassay list tasks`. Default: all the data allow. Repeatable."
    ),
]
Datasets = Annotated[
    list[str] | None,
    typer.Option("--dataset", "-d", help="A catalogue name or a path. Default: sample. Repeatable."),
]
Mapping = Annotated[
    list[str] | None, typer.Option("--map", help="Columns of your files: text=body,label=topic. Repeatable.")
]
Split = Annotated[str | None, typer.Option("--split", help="Use only rows of this split.")]
Grades = Annotated[str | None, typer.Option("--grades", help="Map relevance codes to grades: 1=4,2=3.")]
Limit = Annotated[
    int | None, typer.Option("--limit", min=1, help="Draw at most this many items per dataset.")
]
Seed = Annotated[int, typer.Option("--seed", help="Seed of every random choice.")]
TokenizerName = Annotated[
    str,
    typer.Option("--tokenizer", help="Tokens of lexical systems and edits: see `embassay list tokenizers`."),
]
Out = Annotated[Path | None, typer.Option("--out", help="Folder of the run; an unfinished one is resumed.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would run and what it takes, then stop.")]
MaxCost = Annotated[
    float | None,
    typer.Option(
        "--max-cost", min=0, metavar="USD",
        help="Stop before the run has cost more US dollars, earlier sessions included; resumable.",
    ),
]  # fmt: skip
Json = Annotated[bool, typer.Option("--json", help="Print the results as one JSON object on stdout.")]
Wide = Annotated[bool, typer.Option("--wide", help="Show every column, however wide the table gets.")]
AllowHost = Annotated[
    list[str] | None,
    typer.Option("--allow-host", help="A name that the server answers to beside its own. Repeatable."),
]
ProxyHeaders = Annotated[
    bool, typer.Option("--proxy-headers", help="Believe X-Forwarded-For of a proxy on this machine.")
]
Workers = Annotated[int, typer.Option("--workers", min=1, help="Processes that do cells side by side.")]


class EngineName(StrEnum):
    """Where cells are done."""

    local = "local"
    ray = "ray"


Engine = Annotated[
    EngineName, typer.Option("--engine", help="Where cells are done: on this machine, or on a Ray cluster.")
]
Address = Annotated[
    str | None,
    typer.Option(
        "--address", metavar="HOST:PORT",
        help="The Ray cluster to join; auto for the one of this machine. Default: one started for the run.",
    ),
]  # fmt: skip


def crew(workers: int, engine: EngineName, address: str | None) -> int | Ray:
    """Who does the cells. UsageError for options that do not go together, and for a cluster that is not there."""
    if engine is EngineName.local:
        if address is not None:
            raise UsageError("--address is of a Ray cluster.", mend="Add --engine ray, or leave it out.")
        return workers
    if workers != 1:
        raise UsageError(
            "--workers is of --engine local: a cluster does as many cells at a time as it has CPUs.",
            mend="Leave --workers out.",
        )
    from embassay.runs.cluster.connection import check_address, library
    from embassay.runs.execution import Ray

    library()
    if address is not None:
        check_address(address)
    return Ray(address)


Memory = Annotated[
    str | None,
    typer.Option(
        "--memory", metavar="SIZE",
        help="Hold no more memory than this (4GiB, 512MiB, 2GB), all processes together: a cell that does not fit "
        "fails with the reason, and a command without cells stops. Never changes a value.",
    ),
]  # fmt: skip


def within_memory(command: Callable[..., Any], *, stop: bool = False) -> Callable[..., Any]:
    """Give a command the option --memory: it is carried out under the promise, and a broken one is said on stderr. One
    that does not estimate what it will hold is to `stop` where it holds more."""

    def wrapped(memory: str | None = None, **arguments: Any) -> Any:
        check_finite(arguments)
        if memory is None:
            return command(**arguments)
        from embassay.runs.memory import kept, promised, size, warning

        with promised(size(memory), stop=stop):
            try:
                return command(**arguments)
            finally:
                if said := warning(kept()) if not stop else "":
                    typer.echo(said, err=True)

    signature = inspect.signature(command, eval_str=True)
    own = inspect.Parameter("memory", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Memory)
    every = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in signature.parameters.values()]
    place = next((i for i, one in enumerate(every) if one.name in ("out", "json")), len(every))
    wrapped.__signature__ = signature.replace(parameters=[*every[:place], own, *every[place:]])  # type: ignore[attr-defined]
    wrapped.__annotations__ = {one.name: one.annotation for one in (*every, own)}
    wrapped.__doc__, wrapped.__name__ = command.__doc__, command.__name__
    return wrapped


def check_finite(arguments: dict[str, Any]) -> None:
    """UsageError for a number that is none: every comparison with nan is false, so no range would refuse it."""
    from math import isfinite

    from embassay.errors import UsageError

    for name, given in arguments.items():
        for value in given if isinstance(given, list | tuple) else (given,):
            if isinstance(value, float) and not isfinite(value):
                raise UsageError(f"--{name.replace('_', '-')} is {value}.", mend="Give a finite number.")


stopping_at_memory = partial(within_memory, stop=True)
"""`within_memory` for a command without cells."""


def settings(cls: type[Any], name: str = "options") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command one option per field of the dataclass `cls`; the command gets them as one object, `name`.

    A field's help text is its metadata `help`; a Literal becomes a choice, a bool a flag pair.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        hints = get_type_hints(cls)
        own = [_parameter(one, hints[one.name]) for one in fields(cls)]

        def wrapped(**arguments: Any) -> Any:
            given = {one.name: _plain(arguments.pop(one.name)) for one in own}
            return command(**arguments, **{name: cls(**given)})

        return _signed(wrapped, command, own, name)

    return decorate


def _signed(
    wrapped: Callable[..., Any], command: Callable[..., Any], own: list[inspect.Parameter], name: str
) -> Callable[..., Any]:
    """`wrapped` with the signature of `command`, its parameter `name` replaced by `own`."""
    signature = inspect.signature(command, eval_str=True)
    rest = [parameter for parameter in signature.parameters.values() if parameter.name != name]
    wrapped.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in (*rest, *own)]
    )
    wrapped.__annotations__ = {one.name: one.annotation for one in (*rest, *own)}
    wrapped.__doc__, wrapped.__name__ = command.__doc__, command.__name__
    return wrapped


def knobs(cls: type[Any], name: str = "given") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`settings` for a command that has other sources of settings too: an option that is not given is None, and the
    command gets a mapping of those that are, `name`. The help says what holds otherwise."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        hints = get_type_hints(cls)
        own = [_given(one, hints[one.name]) for one in fields(cls)]

        def wrapped(**arguments: Any) -> Any:
            values = {one.name: _plain(arguments.pop(one.name)) for one in own}
            given = {key: value for key, value in values.items() if value is not None}
            return command(**arguments, **{name: given})

        return _signed(wrapped, command, own, name)

    return decorate


def _given(field: Any, hint: Any) -> inspect.Parameter:
    """An option that is None where it is not given."""
    one = _parameter(field, hint)
    default = "" if field.default is None else f" Default: {_shown(field.default)}."
    flags, panel = one.annotation.__metadata__[0].param_decls, "Options of the protocol"
    option = typer.Option(*flags, help=f"{field.metadata['help']}{default}", rich_help_panel=panel)
    kind = get_args(one.annotation)[0]
    return one.replace(default=None, annotation=Annotated[kind | None, option])


def _shown(value: Any) -> str:
    return {True: "yes", False: "no"}.get(value, f"{value:g}" if isinstance(value, float) else str(value))


def column_map(entries: list[str] | None) -> dict[str, str]:
    """`--map text=body,label=topic` (repeatable) as a dictionary from our column to theirs."""
    if not entries:
        return {}
    from embassay.data import parse_mapping

    return parse_mapping(",".join(entries))


def _parameter(field: Any, hint: Any) -> inspect.Parameter:
    flag = "--" + field.name.replace("_", "-")
    flags = (f"{flag}/--no-{flag[2:]}",) if hint is bool else (flag,)
    kind = _choice(field.name, get_args(hint)) if get_origin(hint) is Literal else hint
    default = field.default if field.default is not MISSING else inspect.Parameter.empty
    default = kind(default) if isinstance(kind, type) and issubclass(kind, Enum) else default
    option = typer.Option(*flags, help=field.metadata["help"], rich_help_panel="Options of the protocol")
    return inspect.Parameter(
        field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option]
    )


def _choice(name: str, values: tuple[str, ...]) -> type[Enum]:
    return Enum(name, {value: value for value in values}, type=str)  # type: ignore[return-value]


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value


def default_out(command: str) -> Path:
    """A new folder under `runs/`, named by the command and the time."""
    from embassay.protocols.kernel.request import new_folder

    return new_folder(command)
