"""What a golden set is asked for: the knobs of its stages, and settings from several places (spec rag 4).

A file is TOML with a table `[golden]`, whose keys are the names of the command's options with `_` for `-`:

    [golden]
    encoder = "wordllama"
    judge = "ollama:gemma3:27b"
    depth = 30
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

from embassay.errors import DataError, UsageError
from embassay.limits import read_bounded_file
from embassay.protocols.kernel.request import DATA, SYSTEMS, RunRequest, option, redeclare_option

if TYPE_CHECKING:
    from embassay.runs.folder import RunFolder

_RANGES = (
    ("chunk", 1, math.inf), ("overlap", 0, math.inf), ("depth", 1, math.inf), ("bm25_k1", 0, math.inf),
    ("bm25_b", 0, 1), ("rrf_c", 0, math.inf), ("minimum", 1, math.inf), ("top", 1, math.inf), ("batch", 2, 26),
    ("stability_turns", 1, math.inf), ("confirmations", 1, math.inf), ("repeat", 0, math.inf), ("human", 0, 1)
)  # fmt: skip
"""Knob, least and most."""


@dataclass(frozen=True)
class GoldenOptions:
    """The options of a golden run; defaults are the profile `thorough` (spec rag 4)."""

    nfc: bool = option(True, "Normalise questions to Unicode NFC.")
    chunk: int | None = option(None, "Maximum tokens per chunk, split between sentences; typically 430.", group=DATA)
    overlap: int = option(70, "Tokens shared by neighbouring chunks.", group=DATA)
    depth: int = option(50, "Passages to retrieve by dense search, and as many again by BM25.")
    bm25_k1: float = option(1.2, "BM25 parameter k1.")
    bm25_b: float = option(0.75, "BM25 parameter b.")
    rrf_c: float = option(60.0, "Reciprocal rank fusion constant.")
    judge_question: Literal["original", "rewrite"] = option("original", "Which question the judge sees.")
    failed: Literal["leave-out", "ungraded"] = option(
        "ungraded", "Leave out queries with ungraded passages, or keep them without those passages."
    )
    minimum: int = option(35, "Minimum number of passages to keep; passages of the same grade stay together.")
    top: int = option(20, "Number of top passages whose order matters.")
    batch: int | None = option(None, "Passages per listwise call. Default: the engine's.")
    stability_turns: int | None = option(None, "Stop `locks` after this many turns without a change.")
    confirmations: int | None = option(None, "Confirmations that `locks` needs per pair.")
    repeat: int = option(0, "Items to judge twice, to measure the judge's consistency.")
    human: float = option(0.0, "Share of queries to export for a person to check; typically 0.4.")

    def __post_init__(self) -> None:
        for name, hint in get_type_hints(type(self)).items():
            if get_origin(hint) is Literal and getattr(self, name) not in get_args(hint):
                raise UsageError(f"{name} is {getattr(self, name)!r}.", mend=f"Use one of {', '.join(get_args(hint))}.")
        for name, low, high in _RANGES:
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and low <= value <= high):
                most = "" if high == math.inf else f" to {high:g}"
                raise UsageError(f"{name} is {value:g}.", mend=f"Use a number from {low:g}{most}.")
        if self.chunk is not None and self.overlap > self.chunk // 2:
            raise UsageError(
                f"Chunks of {self.chunk} tokens cannot overlap by {self.overlap}.",
                mend="Use an overlap of at most half a chunk.",
            )

    def as_dict(self) -> dict[str, Any]:
        """Every option with its value, as saved in a manifest."""
        return asdict(self)


FIXED = ("corpus", "queries", "dataset", "mapping", "split", "limit", "seed")
"""What makes it another golden set."""
RANKING_KNOBS = ("batch", "stability_turns", "confirmations")
_OF_STAGES = {
    "S1": "encoder rewriter nfc", "S2": "chunk overlap tokenizer depth bm25_k1 bm25_b", "S3": "rrf_c",
    "S4": "judge judge_question failed", "S5": "minimum", "S6": "ranking top", None: "repeat human"
}  # fmt: skip
_STAGE_OF: Mapping[str, str | None] = {
    **dict.fromkeys(FIXED, "S1"),
    **{argument: stage for stage, arguments in _OF_STAGES.items() for argument in arguments.split()},
    **dict.fromkeys(RANKING_KNOBS, "S6"),
}
"""Argument -> the first stage whose artefacts depend on it; None for what only the summary does."""


@dataclass(frozen=True)
class GoldenRequest:
    """The arguments of a golden run. `encoder`, `judge`, `rewriter` and `ranking` are spec strings."""

    encoder: str = option(MISSING, "The encoder for dense search.", name="--system -s", group=SYSTEMS)
    judge: str = option(
        MISSING, "The judge: a chat model (ollama:gemma3:27b), recorded:FILE or simulated:QRELS.",
        name="--judge -j", group=SYSTEMS
    )  # fmt: skip
    corpus: str = option("", "Documents: a folder of files, or a table with `text`, `id` and `title`.", group=DATA)
    queries: str = option(
        "", "Questions: a table with `text`; optional `id`, `rewrite`, `bm25_query`, `tags`.",
        value="PATH", group=DATA
    )  # fmt: skip
    dataset: str = option("", "A catalogue dataset or a folder, instead of two files.", name="--dataset -d", group=DATA)
    mapping: Mapping[str, str] = redeclare_option(RunRequest, "mapping")
    split: str | None = redeclare_option(RunRequest, "split")
    limit: int | None = redeclare_option(RunRequest, "limit", help="Maximum questions, drawn at random.")
    seed: int = redeclare_option(RunRequest, "seed")
    rewriter: str = option("identity", "Query rewriter: identity, rules or llm:MODEL.", group=SYSTEMS)
    ranking: str = option("bayes", "Ranking engine: bayes, locks, single_shot or grades.", group=SYSTEMS)
    tokenizer: str = redeclare_option(RunRequest, "tokenizer", default="words", help="Tokenizer for chunk sizes.")
    options: GoldenOptions = field(default_factory=GoldenOptions)

    def __post_init__(self) -> None:
        for name, flag in (("encoder", "-s"), ("judge", "--judge")):
            if not getattr(self, name):
                raise UsageError(f"No {name} was given.", mend=f"Choose one with {flag}.")
        if self.limit is not None and self.limit < 1:
            raise UsageError(
                f"The limit is {self.limit}, but at least 1 question is needed.",
                mend="Omit --limit to use all questions.",
            )

    @property
    def ranking_engine_spec(self) -> str:
        """The ranking with the knobs that it has and that its own text does not set."""
        from embassay.protocols.rag.ranking.engines import ENGINES  # a command's help needs none of it

        spec, knobs = ENGINES.parse_spec(self.ranking), self.engine_knob_names
        taken = {key: value for key in knobs if (value := getattr(self.options, key)) is not None}
        return ENGINES.format(replace(spec, params={**taken, **spec.params}))

    @property
    def engine_knob_names(self) -> tuple[str, ...]:
        """The knobs of rankings that this one has."""
        from embassay.protocols.rag.ranking.engines import ENGINES

        parameters = ENGINES.parameters(ENGINES.parse_spec(self.ranking).name)
        return tuple(name for name in RANKING_KNOBS if name in parameters)

    def as_dict(self) -> dict[str, Any]:
        """The arguments as saved in the manifest and compared on resume."""
        return {**asdict(self), "mapping": dict(self.mapping)}


def flatten_options(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments with the options among them, as JSON values."""
    from embassay.runs.folder import format_value_as_json

    plain: dict[str, Any] = json.loads(format_value_as_json(dict(arguments)))
    return {**{key: value for key, value in plain.items() if key != "options"}, **plain.get("options", {})}


def check_golden_set_resumable(folder: RunFolder, request: GoldenRequest, redo: str | None) -> None:
    """UsageError if the folder holds a golden set of other arguments, unless what differs belongs to the stage `redo`
    or a later one, all of which are then done again."""
    from embassay.runs.folder import format_value_as_json

    manifest = folder.read_manifest()
    if manifest is None:
        if folder.path.exists() and not folder.path.is_dir():
            raise UsageError(f"{folder.path} is a file.", mend="Choose a folder with --out.")
        return
    if (manifest.get("protocol"), manifest.get("kind")) != ("rag", "golden"):
        raise UsageError(f"{folder.path} contains a different kind of run.", mend="Choose another --out.")
    before, now = flatten_options(manifest["arguments"]), flatten_options(request.as_dict())
    differing = [name for name in now if before.get(name) != now[name] and _STAGE_OF.get(name, "S1")]
    stages = [_STAGE_OF.get(name) for name in differing]
    fixed = [name for name in differing if name in FIXED]
    if not differing or (not fixed and redo is not None and all(redo <= (stage or "S6") for stage in stages)):
        return
    name = (fixed or differing)[0]
    others = [other for other in differing if other != name]
    first = min(stage or "S1" for stage in stages)
    raise UsageError(
        f"{folder.path} contains a golden set with different arguments: {name} "
        f"was {format_value_as_json(before.get(name))}, "
        f"now {format_value_as_json(now[name])}" + (f" (and {', '.join(others)})." if others else "."),
        mend="Choose another --out, or repeat the old arguments to resume."
        if fixed
        else f"Repeat the old arguments to resume, choose another --out, or add --from-stage {first} to redo that "
        "stage and all later stages with the new arguments.",
    )


LOCAL = "embassay.toml"
PREFIX = "EMBASSAY_GOLDEN_"
PROFILES: Mapping[str, Mapping[str, Any]] = {
    "fast": {"depth": 20, "rrf_c": 30.0, "stability_turns": 5, "confirmations": 1, "batch": 8},
    "thorough": {},
}
"""Profile -> what it sets; `thorough` is the defaults."""


@dataclass(frozen=True)
class SettingWithOrigin:
    """A value, and where it is from: `default`, a file, `profile fast`, a variable, `command line`."""

    value: Any
    origin: str


Settings = Mapping[str, SettingWithOrigin]


def resolve_golden_settings(
    given: Mapping[str, Any],
    *,
    environment: Mapping[str, str],
    config: Path | None = None,
    profile: str | None = None,
    here: Path | None = None,
) -> dict[str, SettingWithOrigin]:
    """Every argument of `GoldenRequest`, its options among them, with its origin.

    `given` are those of the command line, None for what was not. `config` is the local file, by default
    `embassay.toml` in the folder `here`, where there is one. A profile is a name of `PROFILES` or the path of a file;
    the local file and the environment may name one too. UsageError for what is no setting, DataError for a file that
    cannot be read.
    """
    local = _read_local_settings_file(config, here or Path.cwd())
    variables = _read_environment_settings(environment)
    named = [("command line", {"profile": profile}), ("environment", variables), ("file", local.values)]
    chosen = next((values["profile"] for _, values in named if values.get("profile")), None)
    settings = {name: SettingWithOrigin(value, "default") for name, value in _collect_default_settings().items()}
    layers = [
        (local.origin, local.values),
        *_read_settings_profile(chosen),
        ("environment", variables),
        ("command line", {key: value for key, value in given.items() if value is not None}),
    ]
    for origin, values in layers:
        for key, value in values.items():
            if key != "profile":
                source = f"{PREFIX}{key.upper()}" if origin == "environment" else origin
                settings[key] = SettingWithOrigin(value, source)
    return settings


def make_golden_request(settings: Settings) -> GoldenRequest:
    """The request that the settings make. UsageError for a knob of rankings that was asked for, not only by a profile,
    and that the ranking does not have."""
    values = {name: setting.value for name, setting in settings.items()}
    options = {entry.name: values.pop(entry.name) for entry in fields(GoldenOptions)}
    request = GoldenRequest(**values, options=GoldenOptions(**options))
    for name in RANKING_KNOBS:
        setting = settings[name]
        if (
            setting.value is not None
            and name not in request.engine_knob_names
            and not setting.origin.startswith("profile")
        ):
            raise UsageError(
                f"The ranking {request.ranking!r} has no option {name} (source: {setting.origin}).",
                mend="Remove it, or choose another --ranking.",
            )
    return request


def list_settings_for_manifest(settings: Settings) -> dict[str, dict[str, Any]]:
    """For the manifest: every setting with its value and origin."""
    return {name: {"value": setting.value, "from": setting.origin} for name, setting in settings.items()}


@dataclass(frozen=True)
class _SettingsFile:
    origin: str
    values: Mapping[str, Any]


def _read_local_settings_file(config: Path | None, here: Path) -> _SettingsFile:
    if config is None:
        path = here / LOCAL
        return _read_golden_toml_table(path, LOCAL) if path.is_file() else _SettingsFile("", {})
    if not config.is_file():
        raise UsageError(f"There is no file {str(config)!r}.", mend="Check the path given with --config.")
    return _read_golden_toml_table(config, str(config))


def _read_settings_profile(name: str | None) -> list[tuple[str, Mapping[str, Any]]]:
    if name is None:
        return []
    if name in PROFILES:
        return [(f"profile {name}", PROFILES[name])]
    path = Path(name).expanduser()
    if not path.is_file():
        from embassay.data.rows import find_nearest_name

        near = find_nearest_name(name, PROFILES)
        hint = f"Did you mean {near}? " if near else ""
        raise UsageError(
            f"There is no profile {name!r}.",
            mend=f"{hint}Use {' or '.join(PROFILES)}, or the path of a TOML file with a [golden] table.",
        )
    return [
        (f"profile {name}", {k: v for k, v in _read_golden_toml_table(path, name).values.items() if k != "profile"})
    ]


def _read_golden_toml_table(path: Path, origin: str) -> _SettingsFile:
    """The table `golden` of a TOML file; other tables are for others."""
    try:
        whole = tomllib.loads(read_bounded_file(path).decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise DataError(
            "the file is not valid TOML", path=path, found=str(error),
            mend='Write a [golden] table with lines such as depth = 30 and judge = "ollama:gemma3:27b".'
        ) from error  # fmt: skip
    table = whole.get("golden", {})
    if not isinstance(table, dict):
        raise DataError("golden is not a table", path=path, expected="[golden] and lines such as depth = 30")
    return _SettingsFile(origin, _convert_setting_types(table, str(path)))


def _read_environment_settings(environment: Mapping[str, str]) -> dict[str, Any]:
    named = {name.removeprefix(PREFIX).lower(): value for name, value in environment.items() if name.startswith(PREFIX)}
    return _convert_setting_types(named, "the environment", prefix=PREFIX)


def _convert_setting_types(table: Mapping[str, Any], where: str, prefix: str = "") -> dict[str, Any]:
    """The settings as the types they have. UsageError for names and values that are none."""
    from pydantic import ValidationError

    unknown = [name for name in table if name not in (*_collect_default_settings(), "profile")]
    if unknown:
        raise UsageError(
            f"{where}: there is no setting {_add_prefix_to_setting_name(unknown[0], prefix)!r}.",
            mend=_describe_setting_suggestion(unknown[0], prefix),
        )
    try:
        model = _build_settings_schema().model_validate(dict(table))
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        raise UsageError(
            f"{where}: {_add_prefix_to_setting_name(name, prefix)} is {first['input']!r}: {first['msg'].lower()}.",
            mend="Correct it, or remove it to use the default.",
        ) from error
    return {name: getattr(model, name) for name in table}


def _add_prefix_to_setting_name(name: str, prefix: str) -> str:
    return prefix + name.upper() if prefix else name


def _describe_setting_suggestion(name: str, prefix: str) -> str:
    from embassay.data.rows import find_nearest_name

    near = find_nearest_name(name, (*_collect_default_settings(), "profile"))
    spelled: Iterable[str] = (_add_prefix_to_setting_name(default, prefix) for default in _collect_default_settings())
    return (
        f"Did you mean {_add_prefix_to_setting_name(near, prefix)!r}?"
        if near
        else f"Settings are {', '.join(spelled)}."
    )


@cache
def _collect_default_settings() -> dict[str, Any]:
    """Every setting with its default; an encoder and a judge have none."""
    empty = GoldenRequest(encoder="-", judge="-")
    values = {key.name: getattr(empty, key.name) for key in fields(GoldenRequest) if key.name != "options"}
    return {**values, "encoder": "", "judge": "", **GoldenOptions().as_dict()}


@cache
def _build_settings_schema() -> Any:
    """What a file or the environment may hold, with the types of the dataclasses."""
    from pydantic import ConfigDict, create_model

    hints = {**get_type_hints(GoldenRequest), **get_type_hints(GoldenOptions), "profile": str}
    names = (*_collect_default_settings(), "profile")
    columns: Any = {name: (hints[name] | None, None) for name in names}
    return create_model("GoldenSettings", __config__=ConfigDict(extra="forbid"), **columns)


@dataclass(frozen=True)
class HumanCheckSampling:
    """Which questions go into a file, and what of them is shown."""

    share: float = option(0.4, "Share of questions to sample.")
    """20 of 50 in the paper."""
    blind: bool = option(False, "Hide the judge's ranks and grades, and shuffle the passages.", name="--blind")
    excerpt: int = option(800, "Maximum characters per passage.")
    seed: int = redeclare_option(RunRequest, "seed")

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1 or self.excerpt < 1:
            raise UsageError(
                f"A sample cannot have share={self.share}, excerpt={self.excerpt}.",
                mend="Use a share above 0 and at most 1, and an excerpt of at least 1 character.",
            )
