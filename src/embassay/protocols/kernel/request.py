"""What a run was asked to do, and options as dataclasses: each field says how a command asks for it, and is checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields
from difflib import get_close_matches
from inspect import signature
from itertools import chain, count
from pathlib import Path
from typing import Any, ClassVar, Literal, TypedDict, TypeVar, Unpack, get_args, get_origin, get_type_hints

from embassay.errors import UsageError

T = TypeVar("T")

SYSTEMS, DATA, MEASURE = "Systems and models", "Data", "What to measure"
STATISTICS, OUTPUT, SPEED = "Statistics", "Output", "Speed and money"
SERVER, DETAILS = "Server", "Details of the method"
MOST_RESAMPLES = 1_000_000
"""Of a run: at a thousand times the usual number no interval moves any more, and a run of 10**9 never ends."""
"""The titles under which the help of a command shows options."""


class CommandLineOptionSettings(TypedDict, total=False):
    """How an option is written on a command line, where this doesn't follow from its field."""

    name: str
    """Its spellings, `--system -s`; by default that of the field, and for a bool `--x/--no-x`. One without dashes is
    that of an argument: `STUDY`."""
    value: str
    """What stands for its value in the help."""
    least: float
    """The smallest number that it takes."""
    most: float
    """The largest number that it takes."""
    flag: Any
    """The field's value where the option is given; it takes none of its own."""
    group: str
    """The title that it stands under."""
    words: Mapping[str, Any]
    """What may be written, and for what value of the field."""
    read: Callable[[Any], Any]
    """Makes the field's value of the text, or of the list of texts, that was written."""


def option(default: Any, help: str, point: str = "", **written: Unpack[CommandLineOptionSettings]) -> Any:
    """A field that says all there is to say of an option, for the command line and the docs: its `help`, and the
    ambiguity of the paper that it settles, if any (`point`: A9). A class as `default` makes the value; MISSING is none.
    """
    metadata = {"help": help, "point": point, **written}
    if isinstance(default, type):
        return field(default_factory=default, metadata=metadata)
    return field(default=default, metadata=metadata)


def redeclare_option(record: type[Any], name: str, /, **changed: Any) -> Any:
    """A field that another record declares, with what is `changed` of its option: `default`, `help`, `name` ..."""
    own = next(entry for entry in fields(record) if entry.name == name)
    metadata = {**own.metadata, **changed}
    if own.default_factory is not MISSING and "default" not in metadata:
        return field(default_factory=own.default_factory, metadata=metadata)
    return field(default=metadata.pop("default", own.default), metadata=metadata)


def declare_label_price_option() -> Any:
    """The field of what a label costs, in US dollars; it changes no result."""
    return option(
        None, "Price of one label, to estimate the cost of more labels.",
        name="--label-price", value="USD", least=0, group=SPEED
    )  # fmt: skip


def parse_column_map(entries: Sequence[str] | None) -> dict[str, str]:
    """`--map text=body,label=topic` (repeatable) as a dictionary from our column to theirs."""
    if not entries:
        return {}
    from embassay.data import parse_mapping

    return parse_mapping(",".join(entries))


def split_comma_separated_names(entries: Sequence[str]) -> tuple[str, ...]:
    """Split names that are given several times, with commas, or both.

    >>> split_comma_separated_names(["fra, deu", "eng"])
    ('fra', 'deu', 'eng')
    """
    return tuple(name for entry in entries for part in entry.split(",") if (name := part.strip()))


def parse_column_map_to_pairs(entries: Sequence[str] | None) -> tuple[tuple[str, str], ...]:
    """Parse a column map to sorted pairs, for a request that is a key."""
    return tuple(sorted(parse_column_map(entries).items()))


def make_request_from_call(
    kind: type[T], call: Callable[..., Any], arguments: Mapping[str, Any], *given: Any, **own: Any
) -> T:
    """The request of a Python call: its own arguments, positional and named, and its further `arguments`.

    UsageError for a further one that neither the request nor the call has, with the nearest name, and for no whole
    number where one is wanted.
    """
    names = [entry.name for entry in fields(kind)]  # type: ignore[arg-type]
    free = [name for name in names[len(given) :] if name not in own]
    for name in arguments:
        if name not in free:
            known = [*(name for name in signature(call).parameters if name not in ("self", "arguments")), *free]
            near = get_close_matches(name, known, n=1)
            raise UsageError(
                f"There is no argument {name!r}.",
                mend=f"Did you mean {near[0]!r}?" if near else f"Available: {', '.join(known)}.",
            )
    types = {one.name: one.type for one in fields(kind)}  # type: ignore[arg-type]
    return kind(
        *given, **own, **{name: _convert_argument(name, types[name], value) for name, value in arguments.items()}
    )


def convert_to_string_tuple(value: str | Sequence[str]) -> tuple[str, ...]:
    """Convert one name or several, as a call gives them, to a tuple of texts.

    >>> convert_to_string_tuple("sts"), convert_to_string_tuple(["sts", "retrieval"])
    (('sts',), ('sts', 'retrieval'))
    """
    return (value,) if isinstance(value, str) else tuple(value)


def _convert_argument(name: str, kind: Any, value: Any) -> Any:
    """An argument as a field of this type takes it: a number that is not whole would be found when the run is done."""
    if kind == "tuple[str, ...]":
        return convert_to_string_tuple(value)
    if kind == "int" or (kind == "int | None" and value is not None):
        return convert_to_whole_number(name, value)
    return value


def convert_to_whole_number(name: str, value: Any) -> int:
    """A whole number, numpy's too. UsageError for anything else."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise UsageError(f"{name} is {value!r}.", mend="Give a whole number.")
    return int(value)


class RunArguments(TypedDict, total=False):
    """What the Python call of a run over tasks takes besides what it names: our columns to yours (`mapping`), the rows
    of one `split`, relevance codes to `grades` (`"1=4,2=3"`), at most `limit` items a dataset, drawn with `seed`
    (1337), the `tokenizer` of lexical systems and edits ("cl100k"), and the protocol's own `options`; of some protocols
    `retrievers`, which are asked now."""

    mapping: Mapping[str, str]
    split: str | None
    grades: str | None
    limit: int | None
    seed: int
    tokenizer: str
    options: Any
    retrievers: Sequence[str]


GROWING = ("systems", "tasks", "datasets")
"""The arguments of a run over tasks that a later session may add to: each cell is one of each, so those that are done
stay what they are."""


@dataclass(frozen=True)
class DatasetRequest:
    """A dataset as the user named it, and how to read it."""

    source: str
    mapping: tuple[tuple[str, str], ...] = ()
    split: str | None = None
    grades: str | None = None


def convert_tuples_to_lists(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values as JSON gives them back: lists for tuples."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


@dataclass(frozen=True)
class RunRequest:
    """The arguments that runs of all protocols have; two runs with equal requests on equal data give equal bytes."""

    GROWS: ClassVar[tuple[str, ...]] = ()
    """The arguments that a later session of the same folder may add to."""
    systems: tuple[str, ...] = option(
        MISSING, "A system from `embassay list systems`.", name="--system -s", value="NAME", group=SYSTEMS
    )
    tasks: tuple[str, ...] = option(
        (), "A task from `embassay list tasks`. Default: all that fit the data.",
        name="--task -t", value="NAME", group=MEASURE
    )  # fmt: skip
    """Empty: every task that the datasets have columns for."""
    datasets: tuple[str, ...] = option(
        ("sample",), "A catalogue name or a path. Default: sample.", name="--dataset -d", value="NAME", group=DATA
    )
    mapping: Mapping[str, str] = option(
        dict, "Map column names, ours=yours: text=body,label=topic.", name="--map", group=DATA, read=parse_column_map
    )
    split: str | None = option(None, "Use only this split.", group=DATA)
    grades: str | None = option(None, "Map relevance codes to grades: 1=4,2=3.", group=DATA)
    limit: int | None = option(None, "Maximum items per dataset, drawn at random.", least=1, group=DATA)
    seed: int = option(1337, "Random seed.", group=STATISTICS)
    tokenizer: str = option(
        "cl100k", "A tokenizer from `embassay list tokenizers`, for lexical systems and edits.", group=SYSTEMS
    )

    def as_dict(self) -> dict[str, Any]:
        """The arguments as saved in the manifest and compared on resume."""
        plain = {**asdict(self), "mapping": dict(self.mapping)}
        return convert_tuples_to_lists(plain)

    def dataset(self, source: str) -> DatasetRequest:
        """The request for one of the datasets: how to read it.

        Beside files, a catalogue dataset or a description keeps the columns it knows; alone it gets the mapping,
        and says that it takes none.
        """
        from embassay.data.sources import split_tasks_from_spec  # no options of a command need it

        path = Path(split_tasks_from_spec(source)[0]).expanduser()
        named = not path.exists() or path.suffix in (".yaml", ".yml")
        mapping = {} if named and len(self.datasets) > 1 else self.mapping
        return DatasetRequest(source, tuple(sorted(mapping.items())), self.split, self.grades)


@dataclass(frozen=True)
class TaskRequest(RunRequest):
    """The arguments of a run that evaluates systems on tasks: `options` are the protocol's, and have `as_dict`."""

    GROWS: ClassVar[tuple[str, ...]] = GROWING
    options: Any = None

    def as_dict(self) -> dict[str, Any]:
        """The arguments as saved in the manifest and compared on resume."""
        return {**super().as_dict(), "options": self.options.as_dict()}


@dataclass(frozen=True)
class Options:
    """What every protocol over tasks can be told. Protocols add fields."""

    resamples: int = option(1_000, "Bootstrap resamples per interval.", most=MOST_RESAMPLES, group=STATISTICS)

    def __post_init__(self) -> None:
        check_option_values(self)

    def as_dict(self) -> dict[str, Any]:
        """Every option with its value, as saved in a manifest and in the keys of cells."""
        return asdict(self)


def parse_options_from_texts(cls: type[T], given: Iterable[str]) -> T:
    """Options from texts `name=value`, each of the field's type. UsageError for a name that is none, and for a value of
    another type."""
    from pydantic import TypeAdapter, ValidationError  # slow to import

    hints = get_type_hints(cls)
    by_name = {entry.name: entry for entry in fields(cls)}  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if name not in by_name or not equals:
            raise UsageError(
                f"{text!r} is not an option of this protocol.",
                mend="Write name=value. Available options: "
                + "; ".join(f"{entry.name} ({entry.metadata.get('help', '')})" for entry in by_name.values()),
            )
        try:
            values[name] = TypeAdapter(hints[name]).validate_python(value)
        except ValidationError as error:
            raise UsageError(f"{name} is {value!r}.", mend=f"{error.errors()[0]['msg']}.") from None
    return cls(**values)


def check_option_values(options: Any) -> None:
    """UsageError for a value that its Literal does not name, and for a whole number below 1."""
    for name, hint in get_type_hints(type(options)).items():
        allowed, value = get_args(hint) if get_origin(hint) is Literal else (), getattr(options, name)
        if allowed and value not in allowed:
            raise UsageError(f"{name} is {value!r}.", mend=f"Use one of {', '.join(map(str, allowed))}.")
        if hint in (int, int | None) and value is not None and convert_to_whole_number(name, value) < 1:
            raise UsageError(f"{name} is {value}.", mend="Use a positive whole number.")


def choose_new_run_folder(protocol: str) -> Path:
    """A new folder under `runs/`, named by the protocol and the time, and numbered where that is taken: two runs may
    begin within a second."""
    from datetime import datetime

    named = Path("runs") / f"{protocol}-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    numbered = (named.with_name(f"{named.name}-{number}") for number in count(2))
    return next(place for place in chain([named], numbered) if not _is_run_folder_present(place))


def _is_run_folder_present(place: Path) -> bool:
    return place.exists() or data_frames_folder(place).exists()


def data_frames_folder(out: Path) -> Path:
    """Where the frames that a run was given are kept."""
    return out.with_name(f"{out.name}-data")
