"""The transformations of HTEB, and what a run of them can be told."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from importlib.resources import files
from typing import Any, ClassVar, Literal, TypeVar, get_args, get_type_hints

from embassay.data.intake import find_language_by_code
from embassay.errors import UsageError
from embassay.protocols.kernel import request
from embassay.protocols.kernel.inputs import Prompt
from embassay.protocols.kernel.request import DATA, SYSTEMS, option, redeclare_option
from embassay.protocols.tasks.task import PtebOptions
from embassay.protocols.wordings.records import OnFailure, RewordingRepeatOptions, check_run_counts

VERSION = "1"
"""Of our prompts; raised when the words of one of them change."""

Direction = Literal["longer", "shorter", ""]


@dataclass(frozen=True)
class TextTransformation:
    """One way to rewrite a text: the prompts of its steps, in their order; what it is meant to do to the length; and
    whether every text has a language drawn for itself (`drawn`), or the whole dataset one (`common`)."""

    name: str
    axis: str
    steps: tuple[str, ...]
    length: Direction = ""
    drawn: bool = False
    common: bool = False


TRANSFORMATIONS: Mapping[str, TextTransformation] = {
    transformation.name: transformation
    for transformation in (
        TextTransformation("paraphrasing", "style", ("paraphrasing",)),
        TextTransformation("backtranslation", "style", ("translation", "translation"), drawn=True),
        TextTransformation("style_change", "style", ("style_change",)),
        TextTransformation("expansion", "length", ("expansion",), "longer"),
        TextTransformation("summarise", "length", ("summarise",), "shorter"),
        TextTransformation("summarised_expansion", "length", ("expansion", "summarise"), "longer"),
        TextTransformation("translation", "language", ("translation",), common=True),
        TextTransformation("cross_translation", "language", ("translation",), drawn=True),
    )
}
AXES: Mapping[str, str] = {"style": "Lexical and style", "length": "Length", "language": "Language"}
"""Axis -> what people call it."""
TARGETS = ("Spanish", "French", "German", "Turkish", "Arabic")
PIVOTS = ("English", *TARGETS)
UNKNOWN = "the language of the input"
"""In place of a source language that nobody states."""
ORIGINALLY = "the original language of the message"
"""Where a text of an unknown language is translated back."""


def select_axis_transformations(axis: str, chosen: Sequence[str] = tuple(TRANSFORMATIONS)) -> tuple[str, ...]:
    """The transformations of an axis that were chosen.

    >>> select_axis_transformations("language")
    ('translation', 'cross_translation')
    """
    return tuple(name for name in chosen if TRANSFORMATIONS[name].axis == axis)


def draw_translation_language(dataset: str, seed: int, candidates: Sequence[str]) -> str:
    """The one language that a dataset is translated to in the run with this seed (spec hteb 4).

    >>> [draw_translation_language("stsbenchmark-sts", seed, TARGETS) for seed in (1337, 1338, 1339)]
    ['Arabic', 'Arabic', 'Arabic']
    """
    named = json.dumps({"dataset": dataset, "seed_transform": seed}, sort_keys=True, separators=(",", ":"))
    return candidates[int(hashlib.sha256(named.encode()).hexdigest(), 16) % len(candidates)]


def draw_text_language(seed: int, ordinal: int, candidates: Sequence[str]) -> str:
    """The language drawn for the text with this ordinal, by CPython's generator as in the reference (spec hteb 4).

    >>> [draw_text_language(1337, ordinal, TARGETS) for ordinal in range(4)]
    ['Arabic', 'German', 'French', 'German']
    """
    return random.Random(seed + ordinal).choice(candidates)


def make_text_seed(seed: int, ordinal: int) -> int:
    """A seed of a text's own, of 31 bits: neighbouring runs and texts have nothing in common."""
    return int.from_bytes(hashlib.blake2b(f"{seed}\0{ordinal}".encode(), digest_size=8).digest()) % 2_000_000_000


def exclude_own_languages(languages: Sequence[str], own: Sequence[str]) -> tuple[str, ...]:
    """The languages without a text's own; all of them where none is left.

    >>> exclude_own_languages(TARGETS, ["German"])
    ('Spanish', 'French', 'Turkish', 'Arabic')
    """
    return tuple(language for language in languages if language not in own) or tuple(languages)


_PARTS = re.compile(r"[-+/, ]+")
_ARABIC = {"arb": "Modern Standard Arabic", "arq": "Algerian Arabic", "ary": "Moroccan Arabic"}


def parse_language_names(label: str, *, varieties: bool = False) -> tuple[str, ...]:
    """The English names of the languages that a label names, `eng_Latn`, `en-de`, `amh`; unknown parts are left out.

    Varieties of Arabic are Arabic; with `varieties` they have names of their own, as in the reference, which may
    therefore translate them to Arabic.

    >>> (parse_language_names("en-de"), parse_language_names("ary"), parse_language_names("ary", varieties=True),
    ... parse_language_names("und"))
    (('English', 'German'), ('Arabic',), ('Moroccan Arabic',), ())
    """
    names = (_find_language_name(part, varieties) for part in _PARTS.split(label) if part)
    return tuple(dict.fromkeys(name for name in names if name))


@cache
def _find_language_name(code: str, varieties: bool) -> str:
    own = code.partition("_")[0].lower()
    if own in _ARABIC:
        return _ARABIC[own] if varieties else "Arabic"
    language = find_language_by_code(own)
    short = language.prefer_macrolanguage().language or ""
    return _load_language_names().get(short) or _load_language_names().get(language.language or "") or ""


@cache
def _load_language_names() -> Mapping[str, str]:
    """Code -> English name."""
    lines = files(__package__).joinpath("languages.txt").read_text("utf-8").splitlines()
    return dict(line.split(" ", 1) for line in lines if line)


@cache
def load_step_instruction(step: str) -> Prompt:
    """The instruction of a step; that of `translation` has the places {source} and {target}."""
    text = files(__package__).joinpath("prompt_texts", f"{step}.txt").read_text("utf-8").strip()
    return Prompt(step, VERSION, text)


def format_step_instruction(step: str, source: str = "", target: str = "") -> str:
    """Format the instruction of a step, as the system message says it.

    >>> "from English to German." in format_step_instruction("translation", "English", "German")
    True
    """
    return (
        load_step_instruction(step)
        .text.replace("{source}", source or UNKNOWN)
        .replace("{target}", target or ORIGINALLY)
    )


REFERENCE = "reference"
T = TypeVar("T")


@dataclass(frozen=True)
class HtebOptions(PtebOptions):
    """The options of an HTEB evaluation."""

    languages: Literal["each", "reference"] = option(  # type: ignore[assignment]
        "each", "Average the languages' scores, or pool all pairs (`reference`).", "H10"
    )
    corpus: Literal["reference", "queries-only"] = option(
        "reference", "Also transform documents and candidates (`reference`), or only queries.", "H2", group=DATA
    )
    semrel: Literal["english", "reference"] = option(
        "english", "SemRel2024 in the suite hteb-en: English, or all 14 languages (`reference`).", "H14"
    )
    candidates: Literal["cosine", "reference"] = option(
        "cosine", "Rerank by cosine, or by the model's own similarity and role prompts (`reference`).", "H11"
    )
    prompts: Literal["role", "reference"] = option(
        "role", "Use only query and document prompts, or also a model's task prompts (`reference`).", "H12"
    )
    evaluation_seed: Literal["reference", "fixed"] = option(
        "reference", "Initialise k-means with each run's seed (`reference`) or always with the first run's.", "H9"
    )


@dataclass(frozen=True)
class TransformOptions:
    """How texts are transformed: the authors' sampling, and what their code leaves open."""

    temperature: float = option(1.0, "The transformer's sampling temperature.", group=SYSTEMS)
    top_p: float = option(0.95, "The transformer's nucleus sampling threshold (top-p).", group=SYSTEMS)
    top_k: int = option(64, "Number of tokens to sample from (top-k); -1: all.")
    retries: int = option(3, "Retries after an unusable answer.", group=SYSTEMS)
    max_tokens: int = option(512, "Maximum tokens of an answer.")
    max_tokens_expansion: int = option(1024, "Maximum tokens of an expansion.")
    structured: bool = option(True, "Request JSON with a single text.")
    length: Literal["reference", "enforced"] = option(
        "reference", "Keep a text of the wrong length (`reference`), or generate it again.", "H1"
    )
    seeds: Literal["reference", "independent"] = option(
        "reference", "Let seeds of neighbouring runs and texts overlap (`reference`), or use independent seeds.", "H5"
    )
    documents: Literal["one-language", "reference"] = option(
        "one-language", "Use one language for title and body, or one for each (`reference`).", "H6"
    )
    arabic: Literal["one", "reference"] = option(
        "one", "Treat varieties of Arabic as Arabic, or as other languages (`reference`).", "H4"
    )

    def __post_init__(self) -> None:
        for name in ("max_tokens", "max_tokens_expansion"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is {getattr(self, name)}.", mend="Use a positive whole number.")
        for name in ("length", "seeds", "documents", "arabic"):
            allowed = get_args(get_type_hints(type(self))[name])
            if getattr(self, name) not in allowed:
                raise UsageError(f"{name} is {getattr(self, name)!r}.", mend=f"Use {' or '.join(allowed)}.")
        if self.temperature < 0 or not 0 < self.top_p <= 1 or self.retries < 0:
            raise UsageError(
                f"Cannot sample with temperature {self.temperature}, top_p {self.top_p} and {self.retries} retries.",
                mend="Use temperature 0 or more, top_p above 0 and at most 1, retries 0 or more.",
            )
        if self.top_k < 1 and self.top_k != -1:
            raise UsageError(f"top_k is {self.top_k}.", mend="Use 1 or more, or -1 for all tokens.")

    def as_dict(self) -> dict[str, Any]:
        """As saved in manifests."""
        return asdict(self)

    def find_answer_token_limit(self, step: str) -> int:
        """The longest answer of a step, in tokens."""
        return self.max_tokens_expansion if step == "expansion" else self.max_tokens


def set_options_to_reference(options: T) -> T:
    """The options with `reference` wherever they have that value."""
    chosen = {
        entry.name: REFERENCE
        for entry in fields(options)  # type: ignore[arg-type]
        if REFERENCE in str(entry.type)
    }
    return replace(options, **chosen)  # type: ignore[type-var]


def check_transformations(names: tuple[str, ...]) -> None:
    """UsageError for what is no transformation, or named twice."""
    from difflib import get_close_matches

    for name in names:
        if name not in TRANSFORMATIONS:
            near = get_close_matches(name, TRANSFORMATIONS, n=1)
            raise UsageError(
                f"There is no transformation called {name!r}.",
                mend=(f"Did you mean {near[0]}? " if near else "") + f"Use one of {', '.join(TRANSFORMATIONS)}.",
            )
        if names.count(name) > 1:
            raise UsageError(f"The transformation {name!r} is named twice.", mend="Name each once.")


def parse_transformations(given: Sequence[str]) -> tuple[str, ...]:
    """What `--transformations` names: transformations or axes, separated by commas, in the order of the paper.

    >>> parse_transformations(["language,paraphrasing"])
    ('paraphrasing', 'translation', 'cross_translation')
    """
    words = [word.strip() for some in given for word in some.split(",") if word.strip()]
    if not words and any(text.strip() for text in given):
        raise UsageError(
            f"--transformations is {', '.join(given)!r}, which names no transformation.",
            mend=f"Leave it out to use all, or choose from {', '.join((*AXES, *TRANSFORMATIONS))}.",
        )
    named = [
        name
        for word in words
        for name in (
            [name for name in TRANSFORMATIONS if TRANSFORMATIONS[name].axis == word] if word in AXES else [word]
        )
    ]
    check_transformations(tuple(dict.fromkeys(named)))
    return tuple(name for name in TRANSFORMATIONS if name in named)


def parse_model_families(given: list[str] | None) -> tuple[tuple[str, tuple[tuple[str, float], ...]], ...]:
    """`NAME=SYSTEM:BILLIONS,SYSTEM:BILLIONS`, several times. UsageError for what is no such thing.

    >>> parse_model_families(["e5=wordllama:0.1,minilm:0.2"])
    (('e5', (('wordllama', 0.1), ('minilm', 0.2))),)
    """
    families = []
    for entry in given or ():
        name, _, members = entry.partition("=")
        pairs = [member.strip().rpartition(":") for member in members.split(",") if member.strip()]
        try:
            sizes = tuple((system, float(size)) for system, _, size in pairs)
        except ValueError:
            # A size that is no number ends in the same error as too few of them.
            sizes = ()
        if not name or len(sizes) < 2 or not all(system and size > 0 for system, size in sizes):
            raise UsageError(
                f"--family is {entry!r}.",
                mend="Write NAME=SYSTEM:BILLIONS,SYSTEM:BILLIONS with at least two systems, for example "
                "e5=st:e5-small:0.03,st:e5-base:0.11.",
            )
        families.append((name, tuple(sorted(sizes, key=lambda size: size[1]))))
    return tuple(families)


@dataclass(frozen=True)
class HtebRequest(request.RunRequest):
    """The arguments of an HTEB run. `seed` is that of the first run, and of everything else."""

    GROWS: ClassVar[tuple[str, ...]] = request.GROWING
    transformer: str = option(
        "recorded",
        "A chat model (ollama:gemma3:27b), `recorded` (texts of the sample), or `stored:FOLDER`.",
        group=SYSTEMS,
    )
    transformations: tuple[str, ...] = option(
        (), "Transformations, or axes: style, length, language. Default: all.",
        value="NAME,...", read=parse_transformations
    )  # fmt: skip
    """Empty: all that the transformer has, of a language model all eight."""
    runs: int = redeclare_option(
        RewordingRepeatOptions, "runs", default=3, help="Number of runs, each with freshly transformed texts."
    )
    until_ci: float | None = redeclare_option(RewordingRepeatOptions, "until_ci")
    """Points: datasets get more runs until every change is known to +- as many."""
    max_runs: int = redeclare_option(RewordingRepeatOptions, "max_runs")
    baseline: str = redeclare_option(RewordingRepeatOptions, "baseline")
    on_failure: OnFailure = option(
        "leave out",
        "Leave out a failed text, or use the original (`reference`).",
        name="--failed", words={"leave-out": "leave out", REFERENCE: "original"}
    )  # fmt: skip
    exclude_copied: bool = option(False, "Leave out texts that came back unchanged.", name="--exclude-unchanged")
    last_seeds: tuple[tuple[str, int], ...] = redeclare_option(RewordingRepeatOptions, "last_seeds")
    families: tuple[tuple[str, tuple[tuple[str, float], ...]], ...] = option(
        (), "Sizes of a family's models, to test whether the gap shrinks with size.",
        name="--family", value="NAME=SYSTEM:BILLIONS,...", read=parse_model_families
    )  # fmt: skip
    """Model families: name -> (system, billions of parameters)."""
    generation: TransformOptions = field(default_factory=TransformOptions)
    options: HtebOptions = field(default_factory=HtebOptions)

    def __post_init__(self) -> None:
        check_transformations(self.transformations)
        check_run_counts(self.runs, self.until_ci, self.max_runs)
