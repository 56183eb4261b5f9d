"""One generic registry: a name to a factory, found lazily, with near names suggested for a wrong one."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, is_dataclass, replace
from difflib import get_close_matches
from importlib import import_module
from math import inf, isfinite
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import Any, Generic, Literal, TypeVar, get_args, get_origin

from embassay.errors import EmbassayError, UsageError
from embassay.spec import QUERY, Spec, SpecStringParserAndFormatter, Value, format_spec_value

T = TypeVar("T")
C = TypeVar("C")
Factory = Callable[..., T]


def import_attribute(place: str) -> Any:
    """What stands at `"module:attribute"`; the module is imported now."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def make_lazy_getattr(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a module whose names are imported when they are asked for: name -> module in `package`."""

    def find_lazy_attribute(name: str) -> Any:
        if name in homes:
            return getattr(import_module(f"{package}.{homes[name]}"), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find_lazy_attribute


def make_package_callable_as_function(package: str, function: str) -> None:
    """Let a call of the package be one of this function of its module `protocol`, which is imported then."""

    class CallablePackage(ModuleType):
        def __call__(self, *arguments: Any, **named: Any) -> Any:
            return import_attribute(f"{package}.protocol:{function}")(*arguments, **named)

    sys.modules[package].__class__ = CallablePackage


def describe_error_place_in_package(error: BaseException, module: str) -> str:
    """Where in the package of `module` an error arose, as ` (FILE, line N)`; nothing where it was not on the way."""
    top = _top_package(module)
    return _describe_error_place(error, lambda name: _top_package(name) == top)


def describe_error_place_in_plugin(error: BaseException) -> str:
    """Locate an error in a package that registers something here, or in a module that did so."""
    entries = [entry for registry in _registries for entry in list(registry._entries.values())]
    packages = {_top_package(entry.module) for entry in entries if entry.package}
    modules = {entry.module for entry in entries if _top_package(entry.module) not in ("embassay", "")}
    return _describe_error_place(error, lambda name: name in modules or _top_package(name) in packages)


def _top_package(module: str) -> str:
    return module.partition(":")[0].partition(".")[0]


def _describe_error_place(error: BaseException, is_ours: Callable[[str], bool]) -> str:
    ways = [
        f" ({Path(frame.f_code.co_filename).name}, line {line})"
        for frame, line in walk_tb(error.__traceback__)
        if is_ours(str(frame.f_globals.get("__name__")))
    ]
    return ways[-1] if ways else ""


@dataclass(frozen=True)
class ParameterRange:
    """The numbers that a parameter may be: `least` to `most`, without `least` itself where it is `above`. NaN and
    infinity are in none."""

    least: float = -inf
    most: float = inf
    above: bool = False

    def is_number_in_range(self, number: float) -> bool:
        """Whether the number is in it."""
        return isfinite(number) and self.least <= number <= self.most and not (self.above and number == self.least)

    def __str__(self) -> str:
        if self.most < inf:
            return f"{'above' if self.above else 'from'} {self.least:.15g} to {self.most:.15g}"
        if self.least == -inf:
            return "finite"
        return f"finite and {'above' if self.above else 'at least'} {self.least:.15g}"


_COUNT, _POSITIVE, _SIZE, _SHARE, _ANY = (
    ParameterRange(1, 2**31 - 1),
    ParameterRange(0, above=True),
    ParameterRange(0),
    ParameterRange(0, 1),
    ParameterRange(),
)

_RANGES: Mapping[str, ParameterRange] = {
    """
        at_once attempts batch batch_size concurrency confirmations dims dimensions draws ef ef_construction longest
        max_length max_tokens max_tokens_per_doc memory num_ctx passage_tokens recenter_every sample stability_turns
        truncate_dim tokens max_active cutoff
    """: _COUNT,
    "window": ParameterRange(2, 2**31 - 1),
    "step rpm tpm gamma": _POSITIVE,
    "timeout": ParameterRange(0, 86_400, above=True),  # seconds
    "m": ParameterRange(1, 2**16),
    "nbits": ParameterRange(1, 12),
    # US dollars per million tokens; the dearest list price so far is 600
    "price price_output": ParameterRange(0, 1e6),
    "k1 delta max_turns latency jitter margin_z beta cap grade_noise order_noise unjudged": _SIZE,
    "b q surely overlap tau random malformed failing step_min clip top_p": _SHARE,
    "temperature": ParameterRange(0, 100),
    # Weights of measures, and what their own code and the code of perturbations checks more closely.
    "alpha b1 b2 b3 b4 bias border cap3 cap4 fallback_w3 p position positive rel second third": _ANY,
    "seed": ParameterRange(0, 2**63 - 1),
}
RANGES: Mapping[str, ParameterRange] = {name: allowed for names, allowed in _RANGES.items() for name in names.split()}
"""What every numeric parameter of a spec string may be, whatever it is of: one name has one meaning. Any other number
need only be finite; a factory may ask for more."""


@dataclass(frozen=True)
class RegistryEntry(Generic[T]):
    """One registered thing: how to make it, and what `embassay list` says of it."""

    name: str
    factory: Factory[T] | str
    summary: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    package: str = ""
    """The package whose entry point it is; empty for what is registered by code."""

    @property
    def module(self) -> str:
        """The module where the factory is defined."""
        if isinstance(self.factory, str):
            return self.factory.partition(":")[0]
        return str(getattr(self.factory, "__module__", ""))

    def load(self) -> Factory[T]:
        """The factory itself; a lazy `"module:attribute"` is imported now. UsageError for one of another package
        that cannot be."""
        if not isinstance(self.factory, str):
            return self.factory
        with self.blame_package_for_errors("loading it"):
            factory = import_attribute(self.factory)
            if not callable(factory):
                raise TypeError(f"{self.factory} is not a class or function, but of the type {type(factory).__name__}")
            inspect.signature(factory)  # a few built-in types have none, and parameters could not be checked
        return factory  # type: ignore[no-any-return]

    @contextmanager
    def blame_package_for_errors(self, doing: str) -> Iterator[None]:
        """Tell what goes wrong inside in one line that names the package, if it is another's."""
        try:
            yield
        except EmbassayError:
            raise
        except (Exception, SystemExit) as error:  # a package that is loaded may be a script that ends itself
            if not self.package:
                raise
            raise UsageError(
                f"The package {self.package!r} provides {self.name!r}, but {doing} failed: "
                f"{type(error).__name__}: {error}{describe_error_place_in_package(error, self.module)}.",
                mend=f"Fix or uninstall {self.package!r}; --debug shows the traceback.",
            ) from error


_registries: list[Registry[Any]] = []
"""All that were made, for telling whose code failed."""


class Registry(Generic[T]):
    """Names of one kind of thing. Other packages join through an entry-point group, by default `embassay.<plural>`."""

    def __init__(
        self,
        kind: str,
        style: SpecStringParserAndFormatter = QUERY,
        makes: Iterable[Iterable[str]] = (),
        *,
        group: str = "",
        advice: str = "",
    ) -> None:
        """`makes` are the attributes of what factories make, in one or more variants. `advice` is the "module:function"
        that is asked about a text whose name is not known: it says what to write in its place, or nothing."""
        self.kind, self.plural = kind, f"{kind}es" if kind.endswith("x") else f"{kind}s"
        self.group = group or f"embassay.{self.plural}"
        self.style = style
        self.makes = tuple(map(tuple, makes))
        self.advice = advice
        self._entries: dict[str, RegistryEntry[T]] = {}
        self._plugins_loaded = False
        _registries.append(self)

    def add(self, name: str, factory: Factory[T] | str, summary: str = "", **facts: str) -> None:
        """Register `factory` (or a lazy `"module:attribute"`) under `name`; a taken name is an error.

        What an entry point has named may be registered once more by its own module, with more to say of it.
        """
        entry = RegistryEntry(name, factory, summary, tuple(facts.items()))
        if name in self._entries and not _are_same_registry_entry(self._entries[name], entry):
            raise UsageError(f"The {self.kind} name {name!r} is already taken.", mend="Choose another name.")
        package = self._entries[name].package if name in self._entries else ""
        self._entries[name] = replace(entry, package=package)

    def register(self, name: str, summary: str = "", **facts: str) -> Callable[[Factory[T]], Factory[T]]:
        """Register a factory by a decorator; the summary defaults to its first docstring line."""

        def decorate(factory: Factory[T]) -> Factory[T]:
            first_line = (inspect.getdoc(factory) or "").partition("\n")[0]
            self.add(name, factory, summary or first_line, **facts)
            return factory

        return decorate

    def __iter__(self) -> Iterator[RegistryEntry[T]]:
        self._load_plugins()
        return iter(self._entries.values())

    def described(self) -> Iterator[RegistryEntry[T]]:
        """All entries, those of other packages with what their own code says of them, if it can be loaded."""
        for name in [entry.name for entry in self]:
            if package := self._entries[name].package:
                whence, summary = _describe_unloaded_plugin_origin(package), ""
                with suppress(EmbassayError):
                    doc = inspect.getdoc(self._entries[name].load()) or ""
                    # Its module may have registered it now, with more to say.
                    summary = self._entries[name].summary.replace(whence, "") or doc.partition("\n")[0]
                yield replace(self._entries[name], summary=f"{summary} ({whence})" if summary else whence)
            else:
                yield self._entries[name]

    def __contains__(self, name: str) -> bool:
        if name not in self._entries:
            self._load_plugins()
        return name in self._entries

    def get(self, name: str, text: str = "") -> RegistryEntry[T]:
        """The entry called `name`; UsageError otherwise, with what advice there is on `text` (by default the name) or
        the nearest known names."""
        if name not in self:
            hint = import_attribute(self.advice)(text or name) if self.advice else ""
            # What another package keeps in a registry of its own, the command does not list.
            listed = self.group.startswith("embassay.")
            where = (
                f"`embassay list {self.plural}` lists all of them."
                if listed
                else f"Available: {', '.join(self._entries)}."
            )
            raise UsageError(
                f"There is no {self.kind} called {name!r}.", mend=f"{hint or self._suggest_nearest_names(name)}{where}"
            )
        return self._entries[name]

    def _suggest_nearest_names(self, name: str) -> str:
        """A question after the names that look like this one; the same in another case is the one."""
        by_case = {entry.lower(): entry for entry in self._entries}
        same = by_case.get(name.lower())
        near = (
            [same] if same else [by_case[match] for match in get_close_matches(name.lower(), by_case, n=3, cutoff=0.5)]
        )
        return f"Did you mean {' or '.join(near)}? " if near else ""

    def parse_spec(self, text: str) -> Spec:
        """The spec of `text`, its name checked against the registry."""
        spec = self.style.parse(text)
        self.get(spec.name, text)
        return spec

    def format(self, spec: Spec) -> str:
        """Format the canonical text of `spec`; `parse(format(spec)) == spec`."""
        return self.style.format(spec)

    def split(self, spec: Spec, common: Callable[..., C]) -> tuple[Spec, C]:
        """`spec` without the parameters of `common`, and what `common` makes of them.

        For parameters that everything of a kind can be given; one that the factory has itself stays with it.
        """
        own = inspect.signature(self._load_factory(spec.name)).parameters
        shared = inspect.signature(common, eval_str=True).parameters
        taken = {key: value for key, value in spec.params.items() if key in shared and key not in own}
        rest = {key: value for key, value in spec.params.items() if key not in taken}
        converted = {
            key: _convert_and_check_parameter(self.kind, spec.name, key, value, shared[key].annotation)
            for key, value in taken.items()
        }
        return replace(spec, params=rest), common(**converted)

    def parameters(self, name: str) -> tuple[str, ...]:
        """List the parameters that a spec string of `name` may set."""
        return tuple(_map_factory_parameters_by_name(self._load_factory(name))[0])

    def check_parameter_values(self, spec: Spec) -> None:
        """UsageError for a parameter whose type or range is not that of the factory; names are not looked at."""
        parameters = _map_factory_parameters_by_name(self._load_factory(spec.name))[0]
        for key, value in spec.params.items():
            annotation = parameters[key].annotation if key in parameters else inspect.Parameter.empty
            _convert_and_check_parameter(self.kind, spec.name, key, value, annotation)

    def build(self, spec: Spec | str, also: Iterable[str] = (), /, **context: Any) -> T:
        """Make the thing that `spec` names.

        The factory gets the spec's target and cutoff if it takes them ("" and None where the spec has none
        and the factory no default), its parameters converted to the types of the factory's signature (as they
        are where only its `**parameters` take them), and of `context` what it asks for by name. A parameter
        whose default is a dataclass gets that with the fields that are given. `also` are parameters that the
        caller sees to; they are named beside the factory's where one is wrong.
        """
        spec = self.parse_spec(spec) if isinstance(spec, str) else spec
        factory = self._load_factory(spec.name)
        takes, records = _map_factory_parameters_by_name(factory)
        arguments = self._read_target_and_cutoff_arguments(spec, takes) | {
            key: value for key, value in context.items() if key in takes
        }
        passes_on = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in takes.values())
        for key, value in spec.params.items():
            if passes_on and key not in takes:
                arguments[key] = _convert_and_check_parameter(self.kind, spec.name, key, value, inspect.Parameter.empty)
                continue
            if key in ("target", "cutoff") or key not in takes:
                settable = [*(name for name in takes if name not in ("target", "cutoff", *context)), *also]
                near = get_close_matches(key, settable, n=1, cutoff=0.7)
                raise UsageError(
                    f"The {self.kind} {spec.name!r} has no parameter {key!r}.",
                    mend=(f"Did you mean {near[0]}? " if near else "")
                    + f"Its parameters: {', '.join(settable) or 'none'}.",
                )
            arguments[key] = _convert_and_check_parameter(self.kind, spec.name, key, value, takes[key].annotation)
        for name, record in records.items():
            # A field that the factory has as well (`name`) is for both.
            fields = [key for key in inspect.signature(type(record)).parameters if key in spec.params]
            arguments[name] = replace(record, **{key: arguments[key] for key in fields})
            for key in set(fields) - inspect.signature(factory).parameters.keys():
                del arguments[key]
        entry = self._entries[spec.name]
        with entry.blame_package_for_errors("making it"):
            made = factory(**arguments)
        self._check_made_has_attributes(entry, made)
        return made

    def _load_factory(self, name: str) -> Factory[T]:
        """The factory called `name`: where its module registers it itself when it is imported, that one."""
        entry = self.get(name)
        factory = entry.load()
        registered = self._entries[name]
        return factory if registered is entry else registered.load()

    def _check_made_has_attributes(self, entry: RegistryEntry[T], made: T) -> None:
        """UsageError if `made` lacks what a thing of this kind has."""
        lacking = [[name for name in names if not hasattr(made, name)] for names in self.makes]
        if lacking and all(lacking):
            article = "An" if self.kind[0] in "aeiou" else "A"
            whose = f"The package {entry.package!r}" if entry.package else f"The factory of {entry.name!r}"
            raise UsageError(
                f"{whose} makes the {self.kind} {entry.name!r} of the type {type(made).__name__}, which has no "
                f"{min(lacking, key=len)[0]}.",
                mend=f"{article} {self.kind} has {' or '.join(', '.join(names) for names in self.makes)}.",
            )

    def _read_target_and_cutoff_arguments(self, spec: Spec, known: Mapping[str, inspect.Parameter]) -> dict[str, Any]:
        head: dict[str, Any] = {}
        for key, sign, value in (("target", ":", spec.target), ("cutoff", "@", spec.cutoff)):
            is_given = value not in ("", None)
            if is_given and key not in known:
                raise UsageError(
                    f"The {self.kind} {spec.name!r} takes nothing after {sign!r}, found {value!r}.",
                    mend=f"Write {spec.name!r}.",
                )
            if is_given or (key in known and known[key].default is inspect.Parameter.empty):
                head[key] = value
        return head

    def _load_plugins(self) -> None:
        if self._plugins_loaded:
            return
        from importlib.metadata import entry_points  # it loads half of `email`

        self._plugins_loaded = True
        for point in entry_points(group=self.group):
            package = point.dist.name if point.dist else "?"
            entry: RegistryEntry[T] = RegistryEntry(
                point.name, point.value, _describe_unloaded_plugin_origin(package), package=package
            )
            taken = self._entries.get(point.name)
            if taken is not None and not _are_same_registry_entry(taken, entry):
                raise UsageError(
                    f"The package {package!r} provides the {self.kind} {point.name!r}, a name that is already used"
                    + (f" by the package {taken.package!r}." if taken.package else "."),
                    mend=f"Uninstall {package!r}, or ask its authors to use another name.",
                )
            self._entries[point.name] = replace(taken, package=package) if taken else entry


def _describe_unloaded_plugin_origin(package: str) -> str:
    """What is said of a thing whose code was not read."""
    return f"from the package {package}"


def _are_same_registry_entry(one: RegistryEntry[T], other: RegistryEntry[T]) -> bool:
    """Whether one is an entry point and the other the same thing: equal names of one module."""
    return bool(one.package or other.package) and one.module == other.module


def _map_factory_parameters_by_name(factory: Factory[Any]) -> tuple[dict[str, inspect.Parameter], dict[str, Any]]:
    """What a factory can be given by name, the fields of its dataclasses in their place, and these."""
    parameters: dict[str, inspect.Parameter] = {}
    records: dict[str, Any] = {}
    for name, parameter in inspect.signature(factory, eval_str=True).parameters.items():
        if is_dataclass(parameter.default) and not isinstance(parameter.default, type):
            records[name] = parameter.default
            parameters |= inspect.signature(type(parameter.default), eval_str=True).parameters
        else:
            parameters[name] = parameter
    return parameters, records


def _convert_and_check_parameter(kind: str, name: str, key: str, value: Value, annotation: Any) -> Value:
    """`value` as the annotated type, within RANGES; int widens to float, int and bool to str, anything else is an
    error."""
    if get_origin(annotation) is Literal:
        return _find_matching_choice(kind, name, key, value, get_args(annotation))
    converted = _convert_spec_value_to_parameter_type(kind, name, key, value, annotation)
    if isinstance(converted, int | float) and not isinstance(converted, bool):
        allowed = RANGES.get(key, _ANY)
        if not allowed.is_number_in_range(converted):
            raise UsageError(
                f"The {kind} {name!r} does not accept {key}={format_spec_value(converted)}.",
                mend=f"{key} must be {allowed}.",
            )
    return converted


def _convert_spec_value_to_parameter_type(kind: str, name: str, key: str, value: Value, annotation: Any) -> Value:
    accepted = getattr(annotation, "__args__", (annotation,))
    if annotation is inspect.Parameter.empty or not all(isinstance(t, type) for t in accepted):
        return value
    if type(value) in accepted:
        return value
    if float in accepted and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if str in accepted and isinstance(value, int):
        return format_spec_value(value)
    types = " or ".join(t.__name__ for t in accepted if t is not type(None))
    # A float is no string: `1.10` would come back as `1.1`.
    example = "256" if int in accepted else "0.5"
    mend = f"Put it in quotes: {key}='...'." if str in accepted else f"Write a number, such as {key}={example}."
    if bool in accepted and not {int, float, str} & set(accepted):
        mend = f"Write {key}=true or {key}=false."
    first, comma, rest = str(value).partition(",")
    if comma and "=" in rest:
        mend = f"Join parameters with &, in quotes: '{name}?{key}={first}&{rest.replace(',', '&')}'."
    raise UsageError(f"The {kind} {name!r} needs {key} as {types}, found {value!r}.", mend=mend)


def _find_matching_choice(kind: str, name: str, key: str, value: Value, allowed: tuple[Value, ...]) -> Value:
    # By text, so that a choice spelled like a literal (`none`, `1`) can be a string.
    choices = {_format_spec_parameter_value(choice): choice for choice in allowed}
    if _format_spec_parameter_value(value) not in choices:
        raise UsageError(
            f"The {kind} {name!r} has no {key} {_format_spec_parameter_value(value)!r}.",
            mend=f"Use one of {', '.join(choices)}.",
        )
    return choices[_format_spec_parameter_value(value)]


def _format_spec_parameter_value(value: Value) -> str:
    return value if isinstance(value, str) else format_spec_value(value)
