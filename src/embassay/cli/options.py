"""Options of commands, made from the records of what is asked for, and how the help of a command shows them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Sequence
from collections.abc import Mapping as Map
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import Enum
from functools import partial
from keyword import iskeyword
from math import isfinite
from pathlib import Path
from types import GenericAlias
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from embassay.errors import UsageError
from embassay.protocols.kernel.request import DATA, DETAILS, MEASURE, OUTPUT, SERVER, SPEED, STATISTICS, SYSTEMS, option

if TYPE_CHECKING:
    from embassay.runs.execution import RayWorkers

PANELS = {
    SYSTEMS: "annotator",
    DATA: "dataset",
    MEASURE: "",
    STATISTICS: "",
    OUTPUT: "debug install-completion out show-completion version",
    SPEED: "",
    SERVER: "",
    DETAILS: "",
}
"""The titles in the help of a command, everywhere the same, and the options of commands under each that no record
declares. One that stands nowhere is about what to measure."""
_PANEL_OF = {name: panel for panel, names in PANELS.items() for name in names.split()}


WORDS = "embassay.words"
"""Where a context keeps the words of its command: help is asked for before any of them is read."""


class PanelledHelpCommand(TyperCommand):
    """A command whose help shows its options in panels, and those of the protocol that it names."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words, and keep them."""
        ctx.meta[WORDS] = tuple(args)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Format the arguments first; then each panel that has options."""
        rows: dict[str, list[tuple[str, str]]] = {"Arguments": [], **{panel: [] for panel in PANELS}}
        every: list[Any] = self.get_params(ctx)
        for param in every:
            if param.param_type_name == "argument":
                rows["Arguments"].append((param.metavar or param.name.upper(), param.help or ""))
            elif not param.hidden and param.name != "help":
                rows[_pick_option_panel(param)].append(_format_option_row(param))
        for title, entries in rows.items():
            # Stable: within each the order of declaration stays.
            entries.sort(key=lambda row: not row[1].endswith("[required]"))
            if entries:
                with formatter.section(title):
                    formatter.write_dl(entries)
        if any(param.name == PROTOCOL for param in every):
            _write_options_of_named_protocol(ctx.meta.get(WORDS, ()), formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Format what the dots after a value mean, where there are any."""
        if any((param.metavar or "").endswith("...") for param in self.get_params(ctx)):
            formatter.write_paragraph()
            formatter.write_text("Options with ... may be repeated.")


PROTOCOL = "protocol"
"""The argument of a command that runs any protocol by name."""


def _write_options_of_named_protocol(words: Sequence[str], formatter: Any) -> None:
    """Write the options of the first protocol that is named among the words."""
    from embassay.protocols.kernel.evaluation import PROTOCOLS

    name = next((word for word in words if word in PROTOCOLS), None)
    if name is None:
        return
    rows = []
    for own in fields(PROTOCOLS.build(name).options):
        default = "" if own.default in (MISSING, None, "") else f"[default: {own.default}]"
        rows.append((f"-o {own.name}=VALUE", "  ".join(filter(None, (own.metadata.get("help", ""), default)))))
    if rows:
        with formatter.section(f"Options of {name}"):
            formatter.write_dl(rows)


def _pick_option_panel(shown: Any) -> str:
    of_its_name = _PANEL_OF.get(max(shown.opts, key=len).lstrip("-"))
    return str(shown.rich_help_panel or of_its_name or MEASURE)


def _format_option_row(option: Any) -> tuple[str, str]:
    """Format how an option is written, and what it means."""
    flags = sorted(option.opts, key=len)
    written = ", ".join(f"--[no-]{flag[2:]}" if option.secondary_opts else flag for flag in flags)
    default = option.default.value if isinstance(option.default, Enum) else option.default
    parts = [option.help or ""]
    if option.required:
        parts.append("[required]")
    elif isinstance(default, str | int | float | Path) and default != "" and not isinstance(default, bool):
        parts.append(f"[default: {default}]")
    return f"{written} {option.metavar or ''}".rstrip(), "  ".join(parts)


class CommandGroupWithTitledHelp(TyperGroup):
    """A group whose help lists its commands, under titles if there are any."""

    def list_commands_by_title(self, ctx: Any) -> dict[str, tuple[str, ...]]:
        """List the titles, each with the commands under it."""
        return {"Commands": tuple(self.list_commands(ctx))}

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Format the commands, each with its first sentence."""
        for title, names in self.list_commands_by_title(ctx).items():
            room = formatter.width - 6 - max(map(len, names))
            with formatter.section(title):
                formatter.write_dl(
                    [(name, self.commands[name].get_short_help_str(room)) for name in names if name in self.commands]
                )


class TitledCommandApp(typer.Typer):
    """An app or a group of commands with such a help."""

    def __init__(self, help: str, **more: Any) -> None:
        super().__init__(
            **{
                "help": help,
                "cls": CommandGroupWithTitledHelp,
                "rich_markup_mode": None,
                "no_args_is_help": True,
                **more,
            }
        )

    def command(self, name: str | None = None, **more: Any) -> Callable[..., Any]:
        """A decorator as typer's; values are named after what they are."""
        add = super().command(name, **{"cls": PanelledHelpCommand, **more})

        def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
            _set_value_placeholders(command)
            return add(command)

        return decorate


def _set_value_placeholders(command: Callable[..., Any]) -> None:
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        kind, *declared = get_args(parameter.annotation) or (None,)
        for info in declared:
            if isinstance(info, typer.models.OptionInfo) and not (info.metavar or "").endswith("..."):
                info.metavar = _name_value_placeholder(kind, info.metavar)


def _name_value_placeholder(kind: Any, named: str | None = None) -> str | None:
    """Name the placeholder by which help writes the value of an option; None for a flag."""
    if get_origin(kind) is list:
        return f"{_name_value_placeholder(get_args(kind)[0], named)}..."
    if several := [member for member in get_args(kind) if member is not type(None)]:
        return _name_value_placeholder(several[0], named)
    if named:
        return named
    if isinstance(kind, type) and issubclass(kind, Enum):
        return "|".join(str(member.value) for member in kind)
    return {int: "N", float: "X", str: "TEXT", Path: "PATH"}.get(kind)


def _make_parameter_from_field(
    field: Any, hint: Any, group: str = MEASURE, default: Any = MISSING
) -> inspect.Parameter:
    """A field as an option of a command, or as an argument, under the title `group` where it names none, with a
    `default` of the command's own."""
    meta = field.metadata
    default = field.default if default is MISSING else default
    if default is MISSING and field.default_factory is not MISSING:
        default = None
    kind, default = _choose_parameter_type_and_default(field, hint, default)
    names = _list_option_flags(field, hint)
    written: Any = typer.Option
    if not names[0].startswith("-"):
        written = partial(typer.Argument, metavar=names.pop())
    limits = {key: meta[name] for key, name in (("min", "least"), ("max", "most")) if name in meta}
    value = {"metavar": meta["value"]} if "value" in meta else {}
    option = written(*names, help=meta["help"], rich_help_panel=meta.get("group") or group, **limits, **value)
    return inspect.Parameter(
        _build_parameter_name(field, hint),
        inspect.Parameter.KEYWORD_ONLY,
        # Typer takes a parameter without a default for one that must be given.
        default=inspect.Parameter.empty if default in (MISSING, ...) else default,
        annotation=Annotated[kind | None if default is None else kind, option],
    )


def _choose_parameter_type_and_default(field: Any, hint: Any, default: Any) -> tuple[Any, Any]:
    """Choose what is written for a field of this type, and what holds where nothing is."""
    if "flag" in field.metadata:
        return bool, False
    if (words := _map_allowed_words_to_field_values(field, hint)) is not None:
        kind = _make_choice_enum(field.name, words)
        if default in (MISSING, ...):
            return kind, default
        return kind, next((kind(word) for word, value in words.items() if value == default), None)
    if get_origin(hint) in (tuple, dict, Map):
        inner, *_ = get_args(hint)
        if get_origin(inner) is Literal:
            inner = _make_choice_enum(field.name, get_args(inner))
        plain = inner in (int, float, Path) or isinstance(inner, type(Enum))
        return GenericAlias(list, (inner if plain else str,)), default if default in (MISSING, ...) else None
    return hint, default


def _list_option_flags(field: Any, hint: Any) -> list[str]:
    flag = field.name.replace("_", "-")
    pair = hint in (bool, bool | None) and "flag" not in field.metadata
    return (field.metadata.get("name") or (f"--{flag}/--no-{flag}" if pair else f"--{flag}")).split()


def _build_parameter_name(field: Any, hint: Any) -> str:
    """Build a parameter's name of its first spelling: an option that two records share is one parameter."""
    first = _list_option_flags(field, hint)[0].partition("/")[0]
    name = first.lstrip("-").replace("-", "_") if first.startswith("-") else field.name
    return f"{name}_" if iskeyword(name) else name


def _map_allowed_words_to_field_values(field: Any, hint: Any) -> Map[str, Any] | None:
    """Map the words that may be written for a field of few values to those values."""
    if words := field.metadata.get("words"):
        return dict(words)
    hint = next((word for word in get_args(hint) if get_origin(word) is Literal), hint) if _is_optional(hint) else hint
    return {word.replace(" ", "-"): word for word in get_args(hint)} if get_origin(hint) is Literal else None


def _is_optional(hint: Any) -> bool:
    return type(None) in get_args(hint)


def _convert_field_value(field: Any, hint: Any, given: Any) -> Any:
    """Convert what was written to the value of the field."""
    if "flag" in field.metadata:
        return field.metadata["flag"]
    if words := _map_allowed_words_to_field_values(field, hint):
        return words[_unwrap_enum_value(given)]
    if read := field.metadata.get("read"):
        return read(given)
    return tuple(map(_unwrap_enum_value, given)) if isinstance(given, list) else given


def _make_choice_enum(name: str, words: Iterable[str]) -> type[Enum]:
    return Enum(name, {word: word for word in words}, type=str)  # type: ignore[return-value]


def _unwrap_enum_value(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value


@dataclass(frozen=True)
class PrintOptions:
    """Options for what is printed."""

    json: bool = option(False, "Print the results as one JSON object.", name="--json", group=OUTPUT)
    wide: bool = option(False, "Show every column, however wide.", name="--wide", group=OUTPUT)


@dataclass(frozen=True)
class RankMatrixPrintOptions:
    """Options for what is printed beside the results."""

    matrix: bool = option(
        False, "Print the rank of the right passage, for every question and system.", name="--matrix", group=OUTPUT
    )


@dataclass(frozen=True)
class RunOptions(PrintOptions):
    """Options for how a run is carried out in this process: where it is kept, and for how much."""

    out: Path | None = option(None, "Folder for the run; repeat the command to resume it.", group=OUTPUT)
    max_cost: float | None = option(
        None, "Stop before the run, including earlier sessions, costs more than this.",
        least=0, value="USD", group=SPEED
    )  # fmt: skip
    dry_run: bool = option(False, "Show the plan with its time and cost, and exit.", name="--dry-run", group=SPEED)

    def choose_cell_workers(self) -> Any:
        """Choose the workers that do the cells: this process alone."""
        return 1


@dataclass(frozen=True)
class WorkerOptions(RunOptions):
    """Options for how a run of cells is carried out: by whom, too."""

    workers: int = option(1, "Worker processes.", least=1, group=SPEED)
    engine: Literal["local", "ray"] = option("local", "Run on this machine or a Ray cluster.", group=SPEED)
    address: str | None = option(
        None, "The Ray cluster to join, or auto. Default: start a new cluster.", value="HOST:PORT", group=SPEED
    )

    def choose_cell_workers(self) -> int | RayWorkers:
        """Choose the workers that do the cells: see `choose_worker_count_or_ray_cluster`."""
        return choose_worker_count_or_ray_cluster(self.workers, self.engine, self.address)


@dataclass(frozen=True)
class ServerOptions:
    """Options for where pages are served."""

    port: int = option(8000, "Port; 0 selects a free port.", least=0, most=65535, group=SERVER)
    host: str = option("127.0.0.1", "Address to listen on.", group=SERVER)
    allow_host: tuple[str, ...] = option((), "Another host name that the server accepts.", group=SERVER)
    proxy_headers: bool = option(
        False, "Trust X-Forwarded-For from a proxy on this machine.", name="--proxy-headers", group=SERVER
    )
    open: bool = option(False, "Open the owner's page in a browser.", name="--open", group=OUTPUT)


def choose_worker_count_or_ray_cluster(workers: int, engine: str, address: str | None) -> int | RayWorkers:
    """Choose who does the cells; UsageError for options that disagree, and for an absent cluster."""
    if engine == "local":
        if address is not None:
            raise UsageError("--address needs a Ray cluster.", mend="Add --engine ray, or leave it out.")
        return workers
    if workers != 1:
        raise UsageError(
            "--workers needs --engine local, because a cluster runs as many cells at a time as it has CPUs.",
            mend="Leave --workers out.",
        )
    from embassay.runs.cluster.connection import check_cluster_address, import_ray
    from embassay.runs.execution import RayWorkers

    import_ray()
    if address is not None:
        check_cluster_address(address)
    return RayWorkers(address)


StudyFolder = Annotated[Path, typer.Argument(help="The folder that `sample` wrote.")]
RatingFiles = Annotated[
    list[Path] | None, typer.Argument(help="Rating files. Default: those in for-raters.", metavar="[FILE]...")
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory", metavar="SIZE",
        help="Memory limit for all processes, such as 4GiB; work that does not fit fails.",
        rich_help_panel=SPEED,
    )
]  # fmt: skip


def add_memory_option(command: Callable[..., Any], *, stop: bool = False) -> Callable[..., Any]:
    """Give a command the option --memory: it is carried out under the promise, and a broken one is said on stderr. One
    that does not estimate what it will hold is to `stop` where it holds more."""

    def run_under_memory_limit(memory: str | None = None, **arguments: Any) -> Any:
        check_finite_numbers(arguments)
        if memory is None:
            return command(**arguments)
        from embassay.runs.memory import (
            describe_broken_memory_promise,
            enforce_memory_limit,
            find_memory_use_and_promise,
            parse_memory_size,
        )

        with enforce_memory_limit(parse_memory_size(memory), stop=stop):
            try:
                return command(**arguments)
            finally:
                if message := describe_broken_memory_promise(find_memory_use_and_promise()) if not stop else "":
                    typer.echo(message, err=True)

    signature = inspect.signature(command, eval_str=True)
    limit = inspect.Parameter("memory", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Memory)
    every = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in signature.parameters.values()]
    position = next((i for i, param in enumerate(every) if param.name in ("out", "json")), len(every))
    limited = signature.replace(parameters=[*every[:position], limit, *every[position:]])
    run_under_memory_limit.__signature__ = limited  # type: ignore[attr-defined]
    run_under_memory_limit.__annotations__ = {param.name: param.annotation for param in (*every, limit)}
    run_under_memory_limit.__doc__, run_under_memory_limit.__name__ = command.__doc__, command.__name__
    return run_under_memory_limit


def check_finite_numbers(arguments: dict[str, Any]) -> None:
    """UsageError for a number that is none: every comparison with nan is false, so no range would refuse it."""
    for name, argument in arguments.items():
        for value in argument if isinstance(argument, list | tuple) else (argument,):
            if isinstance(value, float) and not isfinite(value):
                raise UsageError(f"--{name.replace('_', '-')} is {value}.", mend="Give a finite number.")


stopping_at_memory = partial(add_memory_option, stop=True)
"""`add_memory_option` for a command without cells."""


def add_dataclass_options(cls: type[Any], name: str = "options") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command one option per field of the dataclass `cls`; the command gets them as one object, `name`.

    A field says what there is to say of its option (`protocols.kernel.request.option`); a Literal becomes a choice, a
    bool a pair of flags.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        return _wrap_command_with_record_options(command, {name: _OptionParametersOfRecord.of(cls, DETAILS)})

    return decorate


def add_options_from_record_parameters(
    *, without: Collection[str] = (), defaults: Map[str, Any] = {}, **fixed: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options of its parameters that are records: what a run is asked for, how it is carried out. It
    gets the records, and of a parameter `partial[Record]` a function that makes the record, of what was given and of
    what the command adds. An option that several records have is declared by the first.

    `defaults` are the command's own where it has others, with ... for an option that must be given. A field that is
    `fixed`, to a value, or left `without` one of its own, is no option.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        by_parameter = {
            name: _OptionParametersOfRecord.of(
                record, MEASURE, defaults, fixed, without, later=record is not parameter.annotation
            )
            for name, parameter in inspect.signature(command, eval_str=True).parameters.items()
            if (record := _find_record_type(parameter.annotation)) is not None
        }
        return _wrap_command_with_record_options(command, by_parameter)

    return decorate


def _find_record_type(annotation: Any) -> type[Any] | None:
    """Find the record type of a parameter, or of what it makes later; None where it has none."""
    kind = get_args(annotation)[0] if get_origin(annotation) is partial else annotation
    return kind if isinstance(kind, type) and is_dataclass(kind) else None


def _wrap_command_with_record_options(
    command: Callable[..., Any], made: Map[str, _OptionParametersOfRecord]
) -> Callable[..., Any]:
    """The command with the options of records in the place of its parameters that are these."""
    options: dict[str, inspect.Parameter] = {}
    for parameter in (
        *(param for record in made.values() for param in record.parameters.values()),
        *(detail for record in made.values() for detail in record.list_nested_options()),
    ):
        options.setdefault(parameter.name, parameter)

    def call_command_with_option_records(**arguments: Any) -> Any:
        given = {name: arguments.pop(name) for name, param in options.items()}
        # What is left at its default is the record's to say: two that share an option may have two defaults.
        written = {name: value for name, value in given.items() if value not in (None, options[name].default)}
        return command(**arguments, **{name: record.value(written) for name, record in made.items()})

    return _copy_signature_with_own_parameters(call_command_with_option_records, command, list(options.values()), *made)


@dataclass(frozen=True)
class _OptionParametersOfRecord:
    """The options of a record by field, and how it is made of what was given for them, at once or `later`. `within` are
    the records of a field."""

    cls: type[Any]
    hints: Map[str, Any]
    parameters: Map[str, inspect.Parameter]
    within: Map[str, _OptionParametersOfRecord]
    defaults: Map[str, Any]
    fixed: Map[str, Any]
    later: bool = False

    @classmethod
    def of(
        cls, record: type[Any], group: str, defaults: Map[str, Any] = {}, fixed: Map[str, Any] = {},
        without: Collection[str] = (), *, later: bool = False
    ) -> _OptionParametersOfRecord:  # fmt: skip
        """Its options, under the title `group` where they name none."""
        hints = get_type_hints(record)
        free = [field for field in fields(record) if field.name not in fixed and field.name not in without]
        options = [own for own in free if "help" in own.metadata]
        names = {field.name for field in fields(record)}
        return cls(
            record,
            hints,
            {
                own.name: _make_parameter_from_field(own, hints[own.name], group, defaults.get(own.name, MISSING))
                for own in options
            },
            {own.name: cls.of(hints[own.name], DETAILS) for own in free if is_dataclass(hints[own.name])},
            {name: value for name, value in defaults.items() if value is not ... and name in names},
            {name: value for name, value in fixed.items() if name in names},
            later,
        )

    def list_nested_options(self) -> list[inspect.Parameter]:
        """The options of the records within."""
        return [parameter for record in self.within.values() for parameter in record.parameters.values()]

    def read(self, said: Map[str, Any]) -> dict[str, Any]:
        """Read the value of each field of what was said."""
        by_name = {field.name: field for field in fields(self.cls)}
        return {
            name: _convert_field_value(by_name[name], self.hints[name], said[parameter.name])
            for name, parameter in self.parameters.items()
            if parameter.name in said
        }

    def value(self, said: Map[str, Any]) -> Any:
        """The record, or what makes it."""
        below = {name: record.value(said) for name, record in self.within.items()}
        values = {**self.defaults, **self.read(said), **below, **self.fixed}
        make: Callable[..., Any] = self.cls
        return partial(make, **values) if self.later else make(**values)


def _copy_signature_with_own_parameters(
    wrapped: Callable[..., Any], command: Callable[..., Any], own: list[inspect.Parameter], *names: str
) -> Callable[..., Any]:
    """`wrapped` with the signature of `command`, its parameters of these names replaced by `own`."""
    signature = inspect.signature(command, eval_str=True)
    rest = [parameter for parameter in signature.parameters.values() if parameter.name not in names]
    wrapped.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[param.replace(kind=inspect.Parameter.KEYWORD_ONLY) for param in (*rest, *own)]
    )
    wrapped.__annotations__ = {param.name: param.annotation for param in (*rest, *own)}
    wrapped.__doc__, wrapped.__name__ = command.__doc__, command.__name__
    return wrapped


def add_dataclass_options_default_none(
    cls: type[Any], name: str = "given"
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`add_dataclass_options` for a command that has other sources of settings too: an option that is not given is
    None, and the command gets a mapping of those that are, `name`. The help says what holds otherwise."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        whole = _OptionParametersOfRecord.of(
            cls, MEASURE if any("help" not in field.metadata for field in fields(cls)) else DETAILS
        )
        records = [whole, *whole.within.values()]
        own = [
            _make_parameter_optional(field, record.parameters[field.name])
            for record in records
            for field in fields(record.cls)
            if field.name in record.parameters
        ]

        def call_command_with_written_options(**arguments: Any) -> Any:
            values = {parameter.name: arguments.pop(parameter.name) for parameter in own}
            written = {key: value for key, value in values.items() if value is not None}
            read = {key: value for record in records for key, value in record.read(written).items()}
            return command(**arguments, **{name: read})

        return _copy_signature_with_own_parameters(call_command_with_written_options, command, own, name)

    return decorate


def _make_parameter_optional(field: Any, one: inspect.Parameter) -> inspect.Parameter:
    """Make a parameter an option that is None where it is not given."""
    nothing = field.default in (None, "", MISSING)
    default = "" if nothing else f" Default: {_format_default_value(field.default)}."
    option = one.annotation.__metadata__[0]
    option.help += default
    kind = get_args(one.annotation)[0]
    return one.replace(default=None, annotation=Annotated[kind | None, option])


def _format_default_value(value: Any) -> str:
    return {True: "yes", False: "no"}.get(value, f"{value:g}" if isinstance(value, float) else str(value))


def make_default_run_folder(command: str) -> Path:
    """A new folder under `runs/`, named by the command and the time."""
    from embassay.protocols.kernel.request import choose_new_run_folder

    return choose_new_run_folder(command)
