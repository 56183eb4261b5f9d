"""The file that says what to sweep: YAML in, a checked request out, and one error with its line for what is wrong."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field, replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from embassay.data.rows import find_nearest_name
from embassay.data.yaml import find_yaml_line, read_yaml
from embassay.errors import DataError, UsageError
from embassay.protocols.rag.rewriters import REWRITERS
from embassay.protocols.rag.scoring.score import parse_requested_measures
from embassay.protocols.rag.sweep.contexts import ChunkContextOptions
from embassay.protocols.rag.sweep.signals import check_ablation_name, read_author_names_by_query
from embassay.protocols.rag.sweep.stacks import NONE, SPARSE, StackConfiguration, SweepRules
from embassay.protocols.rag.tradeoffs import COST_SHARE, WEIGHTS
from embassay.registry import Registry
from embassay.search.fusion import parse_fusion_rule
from embassay.search.indexes import INDEXES
from embassay.systems import SYSTEMS
from embassay.systems.chat import CHAT_MODELS
from embassay.systems.cosine import PARAMETERS
from embassay.systems.rerankers import RERANKERS
from embassay.text import TOKENIZERS
from embassay.text.splitters import add_library_version_to_splitting_spec, parse_document_splitting

if TYPE_CHECKING:
    from collections.abc import Iterator


SEED = 1337
MEASURES = ("RA-nWG", "N-Recall4+", "N-Recall5", "Precision4+", "Harm", "nDCG")
CUTOFFS = (10, 30)
RERANK = "+rerank"
EVIDENCE_SHARE = 0.8
"""Of a piece of evidence, how much the passages must hold: blanks and a clause may be cut off, half a sentence not."""
BUNDLED = ("paper", "paper-wide", "sample")
"""Files that are in the package: the grid of the paper, the same with what it asks for besides, and a sweep of the
sample data in seconds."""


@dataclass(frozen=True)
class DatasetEntry:
    """A dataset as the config names it: `source` is what `-d` takes, `grades` a grade map. With `exclude_self` the
    document that has the query's id is left out of its ranking. Judgements may be of `spans` of documents, a file: then
    one is found once `share` of it is, and `queries` are a file, where the dataset has none."""

    source: str
    mapping: Mapping[str, str] = field(default_factory=dict)
    split: str | None = None
    grades: str | None = None
    exclude_self: bool = False
    queries: str | None = None
    spans: str | None = None
    share: float = EVIDENCE_SHARE

    def as_dict(self) -> dict[str, Any]:
        """As the manifest has it; without what is as usual."""
        plain = {**asdict(self), "mapping": dict(self.mapping)}
        usual = {"exclude_self": False, "queries": None, "spans": None, "share": EVIDENCE_SHARE}
        return {key: value for key, value in plain.items() if key not in usual or value != usual[key]}


@dataclass(frozen=True)
class LatencySettings:
    """How time is taken: of so many queries, after `warmup` calls that are dropped, in `repeats` sessions; and with so
    many queries in flight at once."""

    queries: int = 20
    warmup: int = 3
    repeats: int = 3
    concurrency: int = 4


@dataclass(frozen=True)
class PriceSettings:
    """US dollars per million tokens by canonical spec string, over those of the table of known models; their `date`,
    empty where the config gives none."""

    date: str = ""
    rerank: Mapping[str, float] = field(default_factory=dict)
    embed: Mapping[str, float] = field(default_factory=dict)
    generator: float | None = None


@dataclass(frozen=True)
class GeneratorSettings:
    """Who answers from the first `passages`: a chat `model` that is timed, or what is assumed, milliseconds to the
    first token and tokens per second. `output_tokens` are those of an answer, for a model the most."""

    model: str = ""
    passages: int = 10
    output_tokens: int = 200
    ttft_ms: float | None = None
    tokens_per_second: float | None = None

    @property
    def assumed_answer_ms(self) -> float | None:
        """The assumed milliseconds of an answer; None where a model is timed.

        >>> GeneratorSettings(ttft_ms=400.0, tokens_per_second=100.0, output_tokens=201).assumed_answer_ms
        2400.0
        """
        if self.ttft_ms is None or self.tokens_per_second is None:
            return None
        return self.ttft_ms + 1000 * max(0, self.output_tokens - 1) / self.tokens_per_second


@dataclass(frozen=True)
class NamesInQueriesFileSetting:
    """A `file` of whose name is in which query, and the ablation that shows how much a query hangs on it."""

    file: str
    condition: str = "gibberish_name"


@dataclass(frozen=True)
class SweepRequest:
    """A sweep: datasets, axes, and how to measure. Spec strings are canonical; `dims` None are all of an encoder's.

    `base` is the folder that relative paths start from. It, the rules and the prices may differ when a run resumes:
    what is measured does not depend on them.
    """

    datasets: tuple[DatasetEntry, ...]
    encoder: tuple[str, ...]
    dims: tuple[int | None, ...] = (None,)
    index: tuple[str, ...] = ("flat",)
    k: tuple[int, ...] = (50,)
    reranker: tuple[str, ...] = (NONE,)
    mode: tuple[str, ...] = ("dense",)
    rewrite: tuple[str, ...] = (NONE,)
    deduplicate: tuple[float, ...] = (0.0,)
    boost: tuple[float, ...] = (0.0,)
    chunk: tuple[str, ...] = (NONE,)
    fusion: tuple[str, ...] = (StackConfiguration.fusion,)
    retriever: tuple[str, ...] = ()
    queries: int = 100
    depth: int = 100
    rrf_c: float = 60.0
    measures: tuple[str, ...] = tuple(f"{name}@{k}" for k in CUTOFFS for name in MEASURES)
    latency: LatencySettings = LatencySettings()
    tokenizer: str = "words"
    seed: int = SEED
    rules: SweepRules = field(default_factory=SweepRules)
    prices: PriceSettings = PriceSettings()
    generator: GeneratorSettings | None = None
    names: NamesInQueriesFileSetting | None = None
    base: Path = Path()
    GROWS: ClassVar[tuple[str, ...]] = (
        "encoder", "dims", "index", "k", "reranker", "mode", "rewrite", "deduplicate", "boost", "chunk",
        "fusion", "retriever"
    )  # fmt: skip
    """Axes to which a finished sweep takes more values."""

    def as_dict(self) -> dict[str, Any]:
        """The arguments as the manifest has them, and as they are compared on resume."""
        plain = asdict(self)
        plain["datasets"] = [dataset.as_dict() for dataset in self.datasets]
        unsaid = [name for name in ("generator", "names", "retriever") if not plain[name]]
        # Sweeps from before there was this axis go on.
        unsaid += ["fusion"] if self.fusion == SweepRequest.fusion else []
        return {key: value for key, value in plain.items() if key not in ("rules", "prices", "base", *unsaid)}

    def path(self, given: str) -> str:
        """Resolve a path of the config to how it is to be opened.

        >>> SweepRequest((), (), base=Path("configs")).path("./data")
        'configs/data'
        """
        path = Path(given).expanduser()
        return str(path) if path.is_absolute() or self.base == Path() else os.path.normpath(self.base / path)

    def resolve_path_in_spec_target(self, text: str, registry: Registry[Any]) -> str:
        """Resolve a spec string whose target is a relative path (`cross:./folder`) for opening."""
        spec = registry.parse_spec(text)
        if not spec.target.startswith(("./", "../")):
            return text
        path = self.path(spec.target)
        target = path if path.startswith(("/", "../")) else f"./{path}"
        return registry.format(replace(spec, target=target))


At = Callable[..., AbstractContextManager[None]]


def make_request_from_sweep_file(file: SweepConfigFile, base: Path, at: At) -> SweepRequest:
    """Make the request of a file with right keys and types; UsageError for a name that is none."""
    _check_dense_modes_have_encoder(file)
    names = {
        "encoder": _canonicalize_spec_names(file.encoder, SYSTEMS, "encoder", at, PARAMETERS),
        "index": _canonicalize_spec_names(file.index, INDEXES, "index", at),
        "reranker": _canonicalize_spec_names(file.reranker, RERANKERS, "reranker", at),
        "rewrite": _canonicalize_spec_names(file.rewrite, REWRITERS, "rewrite", at),
    }
    for position, encoder in enumerate(names["encoder"]):
        with at("encoder", position):
            _check_encoder_makes_vectors(encoder)
    chunks = []
    for position, text in enumerate(file.chunk):
        with at("chunk", position):
            chunks.append(add_library_version_to_splitting_spec(text))
            _check_chunk_model_exists(text)
    fusions = []
    for position, text in enumerate(file.fusion):
        with at("fusion", position):
            fusions.append(parse_fusion_rule(text).text)
    with at("generator"):
        generator = _convert_config_entry_to_generator(file.generator)
    with at("tokenizer"):
        TOKENIZERS.get(TOKENIZERS.parse_spec(file.tokenizer).name)
    with at("measures"):
        measures = _expand_measures_to_cutoffs(file.measures, file.cutoffs)
    with at("rules"):
        rules = _make_sweep_rules(file, measures)
    with at("prices"):
        prices = _make_price_settings(file, names)
    # "identity" is the rewriter that does nothing.
    rewrite = [NONE if name == "identity" else name for name in names["rewrite"]]
    return SweepRequest(
        datasets=tuple(_parse_config_dataset_entry(dataset) for dataset in file.datasets),
        encoder=_distinct_values(names["encoder"]), dims=_distinct_values(file.dims),
        index=_distinct_values(names["index"]), k=_distinct_values(file.k),
        reranker=_distinct_values(names["reranker"]), mode=_distinct_values(file.mode),
        rewrite=_distinct_values(rewrite),
        deduplicate=_distinct_values(file.deduplicate), boost=_distinct_values(file.boost),
        chunk=_distinct_values(chunks), fusion=_distinct_values(fusions),
        retriever=_distinct_values(file.retriever),
        queries=file.queries, depth=file.depth, rrf_c=file.rrf_c, measures=measures,
        latency=LatencySettings(**file.latency.model_dump()), tokenizer=file.tokenizer, seed=file.seed,
        rules=rules, prices=prices, base=base, generator=generator,
        names=_make_checked_names_file_setting(file.names, base, at)
    )  # fmt: skip


def replace_sweep_rules(request: SweepRequest, **given: Any) -> SweepRequest:
    """Replace those rules of the request that are given (not None)."""
    return replace(request, rules=replace(request.rules, **{k: v for k, v in given.items() if v is not None}))


def _distinct_values(values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(values))


def _canonicalize_spec_names(
    texts: Sequence[str], registry: Registry[Any], axis: str, at: At, also: Sequence[str] = ()
) -> list[str]:
    """Canonicalize spec strings, `none` as it is; their parameters are checked by name and value."""
    names = []
    for position, text in enumerate(texts):
        if text == NONE and axis in ("reranker", "rewrite"):
            names.append(NONE)
            continue
        with at(axis, position):
            names.append(_canonicalize_spec_name(text, registry, also))
    return names


def _canonicalize_spec_name(text: str, registry: Registry[Any], also: Sequence[str]) -> str:
    spec = registry.parse_spec(text)
    parameters = (*registry.parameters(spec.name), *also)
    if "parameters" not in parameters and not dict(registry.get(spec.name).facts).get("open"):
        for name in spec.params:
            if name not in parameters:
                near = find_nearest_name(name, parameters)
                raise UsageError(
                    f"The {registry.kind} {spec.name!r} has no parameter {name!r}.",
                    mend=f"Did you mean {near}?" if near else "Remove it.",
                )
    registry.check_parameter_values(spec)
    return registry.format(spec)


def _check_dense_modes_have_encoder(file: SweepConfigFile) -> None:
    needs = next((mode for mode in file.mode if not mode.startswith(SPARSE)), "")
    if needs and not file.encoder:
        raise UsageError(
            "the key 'encoder' is missing.", mend=f"The mode {needs} needs it. Example: encoder: wordllama."
        )


def _make_checked_names_file_setting(
    entry: NamesInQueriesConfigSection | None, base: Path, at: At
) -> NamesInQueriesFileSetting | None:
    """The file of names, read once to see that it can be."""
    if entry is None:
        return None
    with at("names", "condition"):
        check_ablation_name(entry.condition)
    names = NamesInQueriesFileSetting(entry.file, entry.condition)
    read_author_names_by_query(Path(SweepRequest((), (), base=base).path(names.file)))
    return names


def _convert_config_entry_to_generator(entry: GeneratorSettingsInFile | None) -> GeneratorSettings | None:
    """The generator; UsageError where it is neither timed nor assumed, or both."""
    if entry is None:
        return None
    generator = GeneratorSettings(**entry.model_dump())
    if generator.model:
        CHAT_MODELS.check_parameter_values(CHAT_MODELS.parse_spec(generator.model))
    if bool(generator.model) == (generator.assumed_answer_ms is not None) or (generator.ttft_ms is None) != (
        generator.tokens_per_second is None
    ):
        raise UsageError(
            "A generator needs either a model to time or assumed speeds.",
            mend="Give model: SPEC, or both ttft_ms: and tokens_per_second:.",
        )
    return generator


def _check_chunk_model_exists(text: str) -> None:
    """UsageError for a language model that there is not."""
    splitting = parse_document_splitting(text)
    if splitting is not None and splitting.model:
        model, _ = CHAT_MODELS.split(CHAT_MODELS.parse_spec(splitting.model), ChunkContextOptions)
        CHAT_MODELS.check_parameter_values(model)


def _check_encoder_makes_vectors(text: str) -> None:
    kind = dict(SYSTEMS.get(SYSTEMS.parse_spec(text).name).facts).get("kind", "embedding")
    if kind != "embedding":
        raise UsageError(
            f"{text!r} makes no vectors, so it is not an encoder.",
            mend="Use wordllama, minilm, st:ORG/MODEL or openai:NAME, for example. For BM25, use mode: sparse or "
            "hybrid.",
        )


def _expand_measures_to_cutoffs(names: Sequence[str], cutoffs: Sequence[int]) -> tuple[str, ...]:
    """Measures at their cutoffs; those that need more than grades and a ranking are refused."""
    ordered = [name for k in cutoffs for name in names if "@" not in name for name in [f"{name}@{k}"]]
    requested = parse_requested_measures([*ordered, *(name for name in names if "@" in name)], cutoffs, answers=False)
    for measure in requested:
        if len(measure.parts) != 1 or measure.facts.family == "ceiling" or measure.needs_document_sources:
            raise UsageError(
                f"{measure.name} is not measured in a sweep.",
                mend="Choose graded or ranking measures; ceilings (PROC) are added automatically.",
            )
    return tuple(requested_measure.name for requested_measure in requested)


def _check_efficiency_weights(weights: Mapping[str, float], measures: Sequence[str]) -> Mapping[str, float]:
    """The weights of the average performance; those of the source may name what is not measured: then there is none."""
    unknown = [name for name in weights if name not in measures]
    if weights == WEIGHTS or (not unknown and sum(weights.values()) > 0):
        return weights
    if not unknown:
        raise UsageError("The weights of efficiency sum to 0.", mend="Set at least one weight above 0.")
    raise UsageError(
        f"efficiency has a weight for {unknown[0]!r}, which is not measured.",
        mend=f"Choose from {', '.join(measures)}.",
    )


def _make_sweep_rules(file: SweepConfigFile, measures: Sequence[str]) -> SweepRules:
    weights = _check_efficiency_weights(file.rules.efficiency, measures)
    lists = {"slos_ms": tuple(file.rules.slos_ms), "quality_axes": tuple(file.rules.quality_axes)}
    rules = SweepRules(**{**file.rules.model_dump(), **lists, "efficiency": weights})
    if unknown := next((axis for axis in rules.quality_axes if axis not in measures), None):
        raise UsageError(f"The quality axis {unknown!r} is not measured.", mend=f"Choose from {', '.join(measures)}.")
    if rules.measure not in measures:
        near = find_nearest_name(rules.measure, measures)
        raise UsageError(
            f"The deciding measure, {rules.measure!r}, is not measured.",
            mend=(f"Did you mean {near!r}? " if near else "") + f"Choose from {', '.join(measures)}.",
        )
    if parse_requested_measures([rules.measure], (), answers=False)[0].facts.direction != "higher":
        raise UsageError(
            f"A lower {rules.measure} is better, so it cannot be used to choose stacks.",
            mend="Choose a measure for which higher is better.",
        )
    return rules


def _make_price_settings(file: SweepConfigFile, names: Mapping[str, Sequence[str]]) -> PriceSettings:
    """Make the prices by canonical names of the axes; a name that is on no axis is an error."""
    parts = {}
    for part, registry, axis in (("rerank", RERANKERS, "reranker"), ("embed", SYSTEMS, "encoder")):
        prices: Mapping[str, float] = getattr(file.prices, part)
        parts[part] = {
            _canonicalize_priced_axis_value(name, registry, names[axis], axis): usd for name, usd in prices.items()
        }
    return PriceSettings(file.prices.date, parts["rerank"], parts["embed"], file.prices.generator)


def _canonicalize_priced_axis_value(name: str, registry: Registry[Any], axis: Sequence[str], title: str) -> str:
    text = registry.format(registry.style.parse(name))
    if text not in axis:
        near = find_nearest_name(text, axis)
        raise UsageError(
            f"There is a price for {name!r}, which is not a {title} of the sweep.",
            mend=f"Did you mean {near!r}?" if near else f"The sweep has {', '.join(axis)}.",
        )
    return text


def _parse_config_dataset_entry(entry: Any) -> DatasetEntry:
    if isinstance(entry, str):
        return DatasetEntry(entry)
    given = entry.model_dump()
    source, mapping = given.pop("path"), given.pop("map")
    if entry.spans is None and (entry.queries is not None or entry.share != EVIDENCE_SHARE):
        raise UsageError(
            f"The dataset {source!r} has queries or a share, but no evidence.",
            mend="Add its evidence file (spans: spans.jsonl), or remove queries and share.",
        )
    if entry.spans is not None and entry.exclude_self:
        raise UsageError("exclude_self needs judgements of documents.", mend="Remove it if you use spans.")
    return DatasetEntry(source, mapping, **given)


_NONE = "none"


def _wrap_single_value_as_list(value: object) -> object:
    return value if isinstance(value, list) else [value]


def _convert_axis_value_to_text(value: object) -> object:
    """Convert an axis value to text: `none`, `null` and nothing are one; a number is its digits."""
    if value is None:
        return _NONE
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _convert_missing_threshold_to_zero(value: object) -> object:
    return 0.0 if value is None or value is False or value == _NONE else value


def _convert_full_dimensions(value: object) -> object:
    return None if value == "full" else value


Text = Annotated[str, BeforeValidator(_convert_axis_value_to_text), Field(min_length=1)]
Texts = Annotated[list[Text], BeforeValidator(_wrap_single_value_as_list), Field(min_length=1)]
# Strict: `true` is no 1, and a text of digits is no number.
Whole = Annotated[int, Field(strict=True, ge=0, le=2**31 - 1)]
Positive = Annotated[int, Field(strict=True, ge=1, le=2**31 - 1)]
Share = Annotated[float, BeforeValidator(_convert_missing_threshold_to_zero), Field(strict=True, ge=0, le=1)]
Weight = Annotated[
    float, BeforeValidator(_convert_missing_threshold_to_zero), Field(strict=True, ge=0, allow_inf_nan=False)
]
Usd = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
Milliseconds = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]
Mode = Literal["dense", "sparse", "hybrid", "dense+rerank", "sparse+rerank", "hybrid+rerank"]


class _ConfigModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SweepDatasetInFile(_ConfigModel):
    """A dataset in the sweep file, with what it takes to read it."""

    path: Text
    map: dict[str, str] = {}
    split: str | None = None
    grades: str | None = None
    exclude_self: bool = False
    queries: str | None = None
    spans: str | None = None
    share: Annotated[float, Field(strict=True, gt=0, le=1)] = EVIDENCE_SHARE


class LatencySettingsInFile(_ConfigModel):
    """The settings in the sweep file of how time is taken."""

    queries: Annotated[int, Field(strict=True, ge=1, le=100_000)] = 20
    warmup: Annotated[int, Field(strict=True, ge=0, le=10_000)] = 3
    repeats: Annotated[int, Field(strict=True, ge=1, le=1_000)] = 3
    concurrency: Annotated[int, Field(strict=True, ge=1, le=1_024)] = 4


class TokenPricesInFile(_ConfigModel):
    """The prices in the sweep file, in US dollars per million tokens."""

    date: str = ""
    rerank: dict[str, Usd] = {}
    embed: dict[str, Usd] = {}
    generator: Usd | None = None


class GeneratorSettingsInFile(_ConfigModel):
    """The settings in the sweep file of who answers, and how long that takes."""

    model: str = ""
    passages: Positive = 10
    output_tokens: Positive = 200
    ttft_ms: Milliseconds | None = None
    tokens_per_second: Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)] | None = None


class NamesInQueriesConfigSection(_ConfigModel):
    """The setting in the sweep file of whose name is in which query."""

    file: Text
    condition: str = "gibberish_name"


class SweepRulesInFile(_ConfigModel):
    """The rules in the sweep file that the operator asks for."""

    measure: str = "RA-nWG@10"
    sla_ms: Milliseconds | None = None
    budget: Usd | None = None
    target: Annotated[float, Field(strict=True, allow_inf_nan=False)] | None = None
    percentile: Annotated[float, Field(strict=True, gt=0, lt=100)] = 50.0
    passages: Positive = 10
    slos_ms: Annotated[list[Milliseconds], BeforeValidator(_wrap_single_value_as_list)] = [350.0, 500.0]
    jitter_ms: Weight | None = None
    cost_share: Share = COST_SHARE
    efficiency: dict[str, Weight] = dict(WEIGHTS)
    quality_axes: Annotated[list[str], BeforeValidator(_wrap_single_value_as_list)] = []


class SweepConfigFile(_ConfigModel):
    """The whole config file of a sweep."""

    datasets: Annotated[
        list[Text | SweepDatasetInFile], BeforeValidator(_wrap_single_value_as_list), Field(min_length=1)
    ]
    encoder: Annotated[list[Text], BeforeValidator(_wrap_single_value_as_list)] = []
    dims: Annotated[
        list[Annotated[Positive | None, BeforeValidator(_convert_full_dimensions)]],
        BeforeValidator(_wrap_single_value_as_list),
        Field(min_length=1),
    ] = [None]
    index: Texts = ["flat"]
    k: Annotated[list[Positive], BeforeValidator(_wrap_single_value_as_list), Field(min_length=1)] = [50]
    reranker: Texts = [_NONE]
    mode: Annotated[list[Mode], BeforeValidator(_wrap_single_value_as_list), Field(min_length=1)] = ["dense"]
    rewrite: Texts = [_NONE]
    deduplicate: Annotated[list[Share], BeforeValidator(_wrap_single_value_as_list), Field(min_length=1)] = [0.0]
    boost: Annotated[list[Weight], BeforeValidator(_wrap_single_value_as_list), Field(min_length=1)] = [0.0]
    chunk: Texts = [_NONE]
    fusion: Texts = [StackConfiguration.fusion]
    retriever: Annotated[list[Text], BeforeValidator(_wrap_single_value_as_list)] = []
    queries: Positive = 100
    depth: Positive = 100
    rrf_c: Weight = 60.0
    measures: Texts = list(MEASURES)
    cutoffs: Annotated[list[Positive], BeforeValidator(_wrap_single_value_as_list), Field(min_length=1)] = list(CUTOFFS)
    latency: LatencySettingsInFile = LatencySettingsInFile()
    prices: TokenPricesInFile = TokenPricesInFile()
    rules: SweepRulesInFile = SweepRulesInFile()
    generator: GeneratorSettingsInFile | None = None
    names: NamesInQueriesConfigSection | None = None
    tokenizer: str = "words"
    seed: Whole = SEED


def read_sweep_request_from_config(path: Path) -> SweepRequest:
    """The request that the file makes, or the bundled one of the name (`paper`, `paper-wide`, `sample`), whose relative
    paths start from the folder that is worked in. UsageError or DataError, with the line, for what is wrong in it."""
    if str(path) in BUNDLED and not path.exists():
        with as_file(files("embassay.protocols.rag.sweep").joinpath(f"{path}.yaml")) as bundled:
            return replace(read_sweep_request_from_config(bundled), base=Path())
    if not path.is_file():
        raise UsageError(
            f"There is no file {str(path)!r}.",
            mend=f"Give the YAML file of the sweep, or a bundled one: {', '.join(BUNDLED)}.",
        )
    content = read_yaml(path)
    if not isinstance(content, dict):
        raise DataError(
            "the file is not a mapping", path=path, expected="datasets: ... and encoder: ...",
            found=type(content).__name__, mend="Start with `datasets:` and `encoder:`; see docs/sweep.md."
        )  # fmt: skip
    return parse_sweep_request(content, base=path.parent, where=_ConfigFileLineLocator(path))


class _ConfigFileLineLocator:
    """Says where in the file a value stands: `sweep.yaml:3: `."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path

    def __call__(self, place: Sequence[str | int]) -> str:
        if self.path is None:
            return ""
        return f"{self.path}:{find_yaml_line(self.path, place)}: "

    @contextmanager
    def at(self, *place: str | int) -> Iterator[None]:
        """Add the place in the config file to errors inside."""
        try:
            yield
        except UsageError as error:
            raise UsageError(f"{self(place)}{error.message}", mend=error.mend) from None


def parse_sweep_request(
    content: Mapping[str, Any], *, base: Path = Path(), where: _ConfigFileLineLocator | None = None
) -> SweepRequest:
    """The request that a mapping with the keys of the file makes; relative paths start from `base`."""

    where = where or _ConfigFileLineLocator()
    try:
        file = SweepConfigFile.model_validate(dict(content))
    except ValidationError as error:
        raise _make_error_of_first_config_fault(error, where) from None
    return make_request_from_sweep_file(file, base, where.at)


def _make_error_of_first_config_fault(error: ValidationError, where: _ConfigFileLineLocator) -> UsageError:
    """The first thing that is wrong, in one line."""
    # A key that is not known first: it is mostly another one misspelled, which is then missing.
    first = min(error.errors(), key=lambda error: error["type"] != "extra_forbidden")
    # Pydantic names the branch of a union among the keys; a key that is not known comes last, whatever it is called.
    last = first["loc"][-1:] if first["type"] == "extra_forbidden" else ()
    above = first["loc"][: len(first["loc"]) - len(last)]
    place = [part for part in above if part not in ("DatasetFile", "str") and "[" not in str(part)] + [*last]
    name = ".".join(part for part in place if isinstance(part, str))
    if first["type"] == "extra_forbidden":
        keys = _list_known_config_keys(place[:-1])
        near = find_nearest_name(str(place[-1]), keys)
        return UsageError(
            f"{where(place)}there is no key {name!r}.",
            mend=f"Did you mean {near!r}?" if near else f"Valid keys: {', '.join(keys)}.",
        )
    if first["type"] == "missing":
        return UsageError(
            f"{where(place[:-1])}the key {name!r} is missing.", mend=f"Add a line {place[-1]}: ... to the file."
        )
    return UsageError(f"{where(place)}{name} is {first['input']!r}: {first['msg'].lower()}.", mend="See docs/sweep.md.")


def _list_known_config_keys(place: Sequence[str | int]) -> list[str]:
    inner: Mapping[str, type[BaseModel]] = {
        "datasets": SweepDatasetInFile, "latency": LatencySettingsInFile, "prices": TokenPricesInFile,
        "rules": SweepRulesInFile,
        "generator": GeneratorSettingsInFile, "names": NamesInQueriesConfigSection
    }  # fmt: skip
    model = inner.get(str(place[0]), SweepConfigFile) if place else SweepConfigFile
    return list(model.model_fields)
