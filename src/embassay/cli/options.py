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
from typer.core import TyperCommand, TyperGroup

from embassay.errors import UsageError

if TYPE_CHECKING:
    from embassay.runs.execution import Ray

DETAILS, ABOUT = "Details of the method", "What to measure"
PANELS = {
    "Systems and models": "system paraphraser judge cross-judge llm rewriter ranking prompt tokenizer temperature "
    "top-p retries strict-length judge-temperature judge-top-p attempts encoder reranker models baseline a b annotator "
    "annotators simulated noise",
    "Data": "dataset map split grades limit corpus queries lang langs people topics qrels run pool gold against source "
    "run-seed pairs from-mteb llm-scores config profile protocol chunk overlap max-mb n name",
    ABOUT: "",
    "Statistics": "seed resamples test alpha margin until-ci max-runs no-worse-than min-answered min-shared "
    "sensitivity runs last-seed seed-per",
    "Output": "out json wide per-query junit markdown summary format table to project online open revision exposed "
    "debug version install-completion show-completion",
    "Speed and money": "workers engine address memory max-cost dry-run force from-stage replace",
    "Server": "host port root-path allow-host proxy-headers database public-url new-links stale-after every",
    DETAILS: "",
}
"""Where the help of a command shows an option: under the same few titles everywhere. One that stands nowhere is about
what to measure, or a detail where it comes from a dataclass of settings."""
_PANEL_OF = {name: panel for panel, names in PANELS.items() for name in names.split()}


class Command(TyperCommand):
    """A command whose help shows its options in panels."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments first; then each panel that has options."""
        rows: dict[str, list[tuple[str, str]]] = {"Arguments": [], **{panel: [] for panel in PANELS}}
        every: list[Any] = self.get_params(ctx)
        for one in every:
            if one.param_type_name == "argument":
                rows["Arguments"].append((one.metavar or one.name.upper(), one.help or ""))
            elif not one.hidden and one.name != "help":
                rows[_panel(one)].append(_record(one))
        for title, some in rows.items():
            some.sort(key=lambda row: not row[1].endswith("[required]"))
            if some:
                with formatter.section(title):
                    formatter.write_dl(some)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """What the dots after a value mean, where there are any."""
        if any((one.metavar or "").endswith("...") for one in self.get_params(ctx)):
            formatter.write_paragraph()
            formatter.write_text("An option with ... may be given several times.")


def _panel(option: Any) -> str:
    of_its_name = _PANEL_OF.get(max(option.opts, key=len).lstrip("-"))
    return str(of_its_name or option.rich_help_panel or ABOUT)


def _record(option: Any) -> tuple[str, str]:
    """How an option is written, and what it means."""
    flags = sorted(option.opts, key=len)
    written = ", ".join(f"--[no-]{one[2:]}" if option.secondary_opts else one for one in flags)
    default = option.default.value if isinstance(option.default, Enum) else option.default
    told = [option.help or ""]
    if option.required:
        told.append("[required]")
    elif isinstance(default, str | int | float | Path) and default != "" and not isinstance(default, bool):
        told.append(f"[default: {default}]")
    return f"{written} {option.metavar or ''}".rstrip(), "  ".join(told)


class Group(TyperGroup):
    """A group whose help lists its commands, under titles if there are any."""

    def titled(self, ctx: Any) -> dict[str, tuple[str, ...]]:
        """The titles, each with the commands under it."""
        return {"Commands": tuple(self.list_commands(ctx))}

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The first sentence of each."""
        for title, names in self.titled(ctx).items():
            room = formatter.width - 6 - max(map(len, names))
            with formatter.section(title):
                formatter.write_dl(
                    [
                        (one, self.commands[one].get_short_help_str(room))
                        for one in names
                        if one in self.commands
                    ]
                )


class App(typer.Typer):
    """An app or a group of commands with such a help."""

    def __init__(self, help: str, **more: Any) -> None:
        super().__init__(
            **{"help": help, "cls": Group, "rich_markup_mode": None, "no_args_is_help": True, **more}
        )

    def command(self, name: str | None = None, **more: Any) -> Callable[..., Any]:
        """A decorator as typer's; values are named after what they are."""
        add = super().command(name, **{"cls": Command, **more})

        def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
            _name_values(command)
            return add(command)

        return decorate


def _name_values(command: Callable[..., Any]) -> None:
    for one in inspect.signature(command, eval_str=True).parameters.values():
        kind, *declared = get_args(one.annotation) or (None,)
        for option in declared:
            if isinstance(option, typer.models.OptionInfo) and not (option.metavar or "").endswith("..."):
                option.metavar = _value(kind, option.metavar)


def _value(kind: Any, named: str | None = None) -> str | None:
    """How help writes the value of an option; None for a flag."""
    if get_origin(kind) is list:
        return f"{_value(get_args(kind)[0], named)}..."
    if several := [one for one in get_args(kind) if one is not type(None)]:
        return _value(several[0], named)
    if named:
        return named
    if isinstance(kind, type) and issubclass(kind, Enum):
        return "|".join(str(one.value) for one in kind)
    return {int: "N", float: "X", str: "TEXT", Path: "PATH"}.get(kind)


Systems = Annotated[
    list[str], typer.Option("--system", "-s", metavar="NAME", help="A system from `embassay list systems`.")
]
Tasks = Annotated[
    list[str] | None,
    typer.Option(
        "--task",
        "-t",
        metavar="NAME",
        help="A task from `embassay list tasks`. Default: all that fit the data.",
    ),
]
Datasets = Annotated[
    list[str] | None,
    typer.Option("--dataset", "-d", metavar="NAME", help="A catalogue name or a path. Default: sample."),
]
Mapping = Annotated[
    list[str] | None, typer.Option("--map", help="Which of your columns is which: text=body,label=topic.")
]
Split = Annotated[str | None, typer.Option("--split", help="Use only this split.")]
Grades = Annotated[str | None, typer.Option("--grades", help="Map relevance codes to grades: 1=4,2=3.")]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Most items per dataset, drawn at random.")]
Seed = Annotated[int, typer.Option("--seed", help="Random seed.")]
TokenizerName = Annotated[
    str,
    typer.Option(
        "--tokenizer", help="A tokenizer from `embassay list tokenizers`, for lexical systems and edits."
    ),
]
Out = Annotated[Path | None, typer.Option("--out", help="Folder of the run; the same command resumes it.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the plan, its time and its cost, and stop.")]
MaxCost = Annotated[
    float | None,
    typer.Option(
        "--max-cost", min=0, metavar="USD",
        help="Stop before the run, resumed sessions included, costs more than this.",
    ),
]  # fmt: skip
Json = Annotated[bool, typer.Option("--json", help="Print the results as one JSON object.")]
Wide = Annotated[bool, typer.Option("--wide", help="Show every column, however wide.")]
AllowHost = Annotated[
    list[str] | None,
    typer.Option("--allow-host", help="Another host name that the server answers to."),
]
ProxyHeaders = Annotated[
    bool, typer.Option("--proxy-headers", help="Trust X-Forwarded-For from a proxy on this machine.")
]
Workers = Annotated[int, typer.Option("--workers", min=1, help="Worker processes.")]


class EngineName(StrEnum):
    """Where cells are done."""

    local = "local"
    ray = "ray"


Engine = Annotated[EngineName, typer.Option("--engine", help="Run on this machine or on a Ray cluster.")]
Address = Annotated[
    str | None,
    typer.Option(
        "--address", metavar="HOST:PORT",
        help="The Ray cluster to join, or auto. Default: start one for the run.",
    ),
]  # fmt: skip


def crew(workers: int, engine: EngineName, address: str | None) -> int | Ray:
    """Who does the cells. UsageError for options that do not go together, and for a cluster that is not there."""
    if engine is EngineName.local:
        if address is not None:
            raise UsageError("--address needs a Ray cluster.", mend="Add --engine ray, or leave it out.")
        return workers
    if workers != 1:
        raise UsageError(
            "--workers is for --engine local: a cluster does as many cells at a time as it has CPUs.",
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
        help="Memory limit over all processes, such as 4GiB; what does not fit fails, and no value changes.",
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
    flags, panel = one.annotation.__metadata__[0].param_decls, DETAILS
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
    option = typer.Option(*flags, help=field.metadata["help"], rich_help_panel=DETAILS)
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


def one_of(option: str, value: str | None, meanings: dict[str, Any]) -> Any:
    """What the value of an option means; None for none. UsageError for one that it does not know."""
    if value is None or value in meanings:
        return meanings.get(value or "")
    raise UsageError(f"{option} is {value!r}.", mend=f"Use {' or '.join(meanings)}.")


def last_seeds(entries: list[str] | None) -> tuple[tuple[str, int], ...]:
    """`DATASET=SEED`, several times, as pairs. UsageError for what is no such thing."""
    found = []
    for entry in entries or ():
        name, _, number = entry.rpartition("=")
        if not name or not number.isdecimal():
            raise UsageError(
                f"--last-seed is {entry!r}.", mend="Write DATASET=SEED, for example biosses=1443."
            )
        found.append((name, int(number)))
    return tuple(found)
