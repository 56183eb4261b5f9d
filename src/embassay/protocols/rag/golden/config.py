"""Settings from several places: defaults < local file < profile < environment < command line (spec rag 4).

A file is TOML with a table `[golden]`, whose keys are the names of the command's options with `_` for `-`:

    [golden]
    encoder = "wordllama"
    judge = "ollama:gemma3:27b"
    depth = 30
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

from embassay.bounded import read_bounded
from embassay.data.rows import nearest
from embassay.errors import DataError, UsageError
from embassay.protocols.rag.golden.options import GoldenOptions
from embassay.protocols.rag.golden.request import RANKING_KNOBS, GoldenRequest

LOCAL = "embassay.toml"
PREFIX = "EMBASSAY_GOLDEN_"
PROFILES: Mapping[str, Mapping[str, Any]] = {
    "fast": {"depth": 20, "rrf_c": 30.0, "stability_turns": 5, "confirmations": 1, "batch": 8},
    "thorough": {},
}
"""Profile -> what it sets; `thorough` is the defaults."""


@dataclass(frozen=True)
class Setting:
    """A value, and where it is from: `default`, a file, `profile fast`, a variable, `command line`."""

    value: Any
    origin: str


Settings = Mapping[str, Setting]


def resolve(
    given: Mapping[str, Any],
    *,
    environment: Mapping[str, str],
    config: Path | None = None,
    profile: str | None = None,
    here: Path | None = None,
) -> dict[str, Setting]:
    """Every argument of `GoldenRequest`, its options among them, with its origin.

    `given` are those of the command line, None for what was not. `config` is the local file, by default
    `embassay.toml` in the folder `here`, where there is one. A profile is a name of `PROFILES` or the path of a file;
    the local file and the environment may name one too. UsageError for what is no setting, DataError for a file that
    cannot be read.
    """
    local = _local(config, here or Path.cwd())
    variables = _variables(environment)
    named = [("command line", {"profile": profile}), ("environment", variables), ("file", local.values)]
    chosen = next((one["profile"] for _, one in named if one.get("profile")), None)
    found = {name: Setting(value, "default") for name, value in _defaults().items()}
    layers = [
        (local.origin, local.values),
        *_profile(chosen),
        ("environment", variables),
        ("command line", {key: value for key, value in given.items() if value is not None}),
    ]
    for origin, values in layers:
        for key, value in values.items():
            if key != "profile":
                source = f"{PREFIX}{key.upper()}" if origin == "environment" else origin
                found[key] = Setting(value, source)
    return found


def request_of(settings: Settings) -> GoldenRequest:
    """The request that the settings make. UsageError for a knob of rankings that was asked for, not only by a profile,
    and that the ranking does not have."""
    values = {name: one.value for name, one in settings.items()}
    options = {one.name: values.pop(one.name) for one in fields(GoldenOptions)}
    request = GoldenRequest(**values, options=GoldenOptions(**options))
    for name in RANKING_KNOBS:
        one = settings[name]
        if (
            one.value is not None
            and name not in request.engine_knobs
            and not one.origin.startswith("profile")
        ):
            raise UsageError(
                f"The ranking {request.ranking!r} has no {name} ({one.origin}).",
                mend="Leave it out, or choose another --ranking.",
            )
    return request


def snapshot(settings: Settings) -> dict[str, dict[str, Any]]:
    """For the manifest: every setting with its value and origin."""
    return {name: {"value": one.value, "from": one.origin} for name, one in settings.items()}


@dataclass(frozen=True)
class _File:
    origin: str
    values: Mapping[str, Any]


def _local(config: Path | None, here: Path) -> _File:
    if config is None:
        path = here / LOCAL
        return _read(path, LOCAL) if path.is_file() else _File("", {})
    if not config.is_file():
        raise UsageError(f"There is no file {str(config)!r}.", mend="Check what --config says.")
    return _read(config, str(config))


def _profile(name: str | None) -> list[tuple[str, Mapping[str, Any]]]:
    if name is None:
        return []
    if name in PROFILES:
        return [(f"profile {name}", PROFILES[name])]
    path = Path(name).expanduser()
    if not path.is_file():
        near = nearest(name, PROFILES)
        hint = f"Did you mean {near}? " if near else ""
        raise UsageError(
            f"There is no profile {name!r}.",
            mend=f"{hint}Profiles are {' and '.join(PROFILES)}, or the path of a TOML file with a table [golden].",
        )
    return [(f"profile {name}", {k: v for k, v in _read(path, name).values.items() if k != "profile"})]


def _read(path: Path, origin: str) -> _File:
    """The table `golden` of a TOML file; other tables are for others."""
    try:
        whole = tomllib.loads(read_bounded(path).decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise DataError(
            "the file is not TOML", path=path, found=str(error),
            mend='Write a table [golden] with lines like depth = 30 and judge = "ollama:gemma3:27b".',
        ) from error  # fmt: skip
    table = whole.get("golden", {})
    if not isinstance(table, dict):
        raise DataError("golden is no table", path=path, expected="[golden] and lines like depth = 30")
    return _File(origin, _checked(table, str(path)))


def _variables(environment: Mapping[str, str]) -> dict[str, Any]:
    given = {
        name.removeprefix(PREFIX).lower(): value
        for name, value in environment.items()
        if name.startswith(PREFIX)
    }
    return _checked(given, "the environment", prefix=PREFIX)


def _checked(table: Mapping[str, Any], where: str, prefix: str = "") -> dict[str, Any]:
    """The settings as the types they have. UsageError for names and values that are none."""
    from pydantic import ValidationError

    unknown = [name for name in table if name not in (*_defaults(), "profile")]
    if unknown:
        raise UsageError(
            f"{where}: there is no setting {_spelled(unknown[0], prefix)!r}.", mend=_near(unknown[0], prefix)
        )
    try:
        model = _model().model_validate(dict(table))
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        raise UsageError(
            f"{where}: {_spelled(name, prefix)} is {first['input']!r}: {first['msg'].lower()}.",
            mend="Correct it, or leave it out for the default.",
        ) from error
    return {name: getattr(model, name) for name in table}


def _spelled(name: str, prefix: str) -> str:
    return prefix + name.upper() if prefix else name


def _near(name: str, prefix: str) -> str:
    near = nearest(name, (*_defaults(), "profile"))
    known: Iterable[str] = (_spelled(one, prefix) for one in _defaults())
    return f"Did you mean {_spelled(near, prefix)!r}?" if near else f"Settings are {', '.join(known)}."


@cache
def _defaults() -> dict[str, Any]:
    """Every setting with its default; an encoder and a judge have none."""
    empty = GoldenRequest(encoder="-", judge="-")
    own = {one.name: getattr(empty, one.name) for one in fields(GoldenRequest) if one.name != "options"}
    return {**own, "encoder": "", "judge": "", **GoldenOptions().as_dict()}


@cache
def _model() -> Any:
    """What a file or the environment may hold, with the types of the dataclasses."""
    from pydantic import ConfigDict, create_model

    hints = {**get_type_hints(GoldenRequest), **get_type_hints(GoldenOptions), "profile": str}
    names = (*_defaults(), "profile")
    known: Any = {name: (hints[name] | None, None) for name in names}
    return create_model("GoldenSettings", __config__=ConfigDict(extra="forbid"), **known)
