"""What an HTEB run and its transformations can be told. Each trap of the paper has an option, and where it has one, the
value `reference` is the one to compare with the authors' code (spec hteb 13, [Hn])."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, TypeVar, get_args, get_type_hints

from embassay.errors import UsageError
from embassay.protocols.hteb.transformations import AXES, TRANSFORMATIONS
from embassay.protocols.kernel import request
from embassay.protocols.kernel.request import DATA, SYSTEMS, like, option
from embassay.protocols.tasks.task import PtebOptions
from embassay.protocols.wordings.records import OnFailure, Repeats, check_runs

REFERENCE = "reference"
T = TypeVar("T")


@dataclass(frozen=True)
class HtebOptions(PtebOptions):
    """Options of the evaluation."""

    languages: Literal["each", "reference"] = option(  # type: ignore[assignment]
        "each",
        "Average the languages' scores, or score all as one list of pairs, as the `reference` does.",
        "H10",
    )
    corpus: Literal["reference", "queries-only"] = option(
        "reference",
        "Transform documents and candidates too (`reference`), or queries alone.",
        "H2",
        group=DATA,
    )
    semrel: Literal["english", "reference"] = option(
        "english",
        "Take SemRel2024 in the suite hteb-en in English, or in all 14 languages as the `reference` does.",
        "H14",
    )
    candidates: Literal["cosine", "reference"] = option(
        "cosine",
        "Rerank by cosine, or by the model's own similarity and its prompts by role (`reference`).",
        "H11",
    )
    prompts: Literal["role", "reference"] = option(
        "role",
        "Prompts of queries and documents alone, or also those that a model ships for a task (`reference`).",
        "H12",
    )
    evaluation_seed: Literal["reference", "fixed"] = option(
        "reference", "Start k-means from each run's seed (`reference`), or always from the run's first.", "H9"
    )


@dataclass(frozen=True)
class TransformOptions:
    """How texts are transformed: the authors' sampling, and what their code leaves open."""

    temperature: float = option(1.0, "Sampling temperature of the transformer.", group=SYSTEMS)
    top_p: float = option(0.95, "Nucleus sampling share (top-p) of the transformer.", group=SYSTEMS)
    top_k: int = option(64, "Tokens to draw from; -1: all.")
    retries: int = option(3, "Retries after an unusable answer.", group=SYSTEMS)
    max_tokens: int = option(512, "Longest answer in tokens.")
    max_tokens_expansion: int = option(1024, "Longest answer of an expansion in tokens.")
    structured: bool = option(True, "Ask for JSON with one text in it.")
    length: Literal["reference", "enforced"] = option(
        "reference", "Take a text of the wrong length (`reference`), or draw it again.", "H1"
    )
    seeds: Literal["reference", "independent"] = option(
        "reference",
        "Seeds of neighbouring runs and texts that overlap (`reference`), or a seed of its own for each.",
        "H5",
    )
    documents: Literal["one-language", "reference"] = option(
        "one-language", "A language for title and body together, or one for each (`reference`).", "H6"
    )
    arabic: Literal["one", "reference"] = option(
        "one", "Take varieties of Arabic for Arabic, or for other languages (`reference`).", "H4"
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
                f"Cannot draw with temperature {self.temperature}, top_p {self.top_p} and {self.retries} retries.",
                mend="Temperature is 0 or more, top_p in (0, 1], retries 0 or more.",
            )
        if self.top_k < 1 and self.top_k != -1:
            raise UsageError(f"top_k is {self.top_k}.", mend="Use 1 or more, or -1 for all tokens.")

    def as_dict(self) -> dict[str, Any]:
        """As saved in manifests."""
        return asdict(self)

    def allowance(self, step: str) -> int:
        """The longest answer of a step, in tokens."""
        return self.max_tokens_expansion if step == "expansion" else self.max_tokens


def as_reference(options: T) -> T:
    """The options with `reference` wherever they have that value."""
    chosen = {
        one.name: REFERENCE
        for one in fields(options)  # type: ignore[arg-type]
        if REFERENCE in str(one.type)
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
                mend=(f"Did you mean {near[0]}? " if near else "")
                + f"There are {', '.join(TRANSFORMATIONS)}.",
            )
        if names.count(name) > 1:
            raise UsageError(f"The transformation {name!r} is named twice.", mend="Name each once.")


def read_transformations(given: Sequence[str]) -> tuple[str, ...]:
    """What `--transformations` names: transformations or axes, separated by commas, in the order of the paper.

    >>> read_transformations(["language,paraphrasing"])
    ('paraphrasing', 'translation', 'cross_translation')
    """
    words = [one.strip() for some in given for one in some.split(",") if one.strip()]
    if not words and any(one.strip() for one in given):
        raise UsageError(
            f"--transformations is {', '.join(given)!r}, which names none.",
            mend=f"Leave it out for all, or name some of {', '.join((*AXES, *TRANSFORMATIONS))}.",
        )
    named = [
        name
        for word in words
        for name in (
            [one for one in TRANSFORMATIONS if TRANSFORMATIONS[one].axis == word] if word in AXES else [word]
        )
    ]
    check_transformations(tuple(dict.fromkeys(named)))
    return tuple(name for name in TRANSFORMATIONS if name in named)


def read_families(given: list[str] | None) -> tuple[tuple[str, tuple[tuple[str, float], ...]], ...]:
    """`NAME=SYSTEM:BILLIONS,SYSTEM:BILLIONS`, several times. UsageError for what is no such thing.

    >>> read_families(["e5=wordllama:0.1,minilm:0.2"])
    (('e5', (('wordllama', 0.1), ('minilm', 0.2))),)
    """
    found = []
    for entry in given or ():
        name, _, members = entry.partition("=")
        pairs = [one.strip().rpartition(":") for one in members.split(",") if one.strip()]
        try:
            sizes = tuple((system, float(size)) for system, _, size in pairs)
        except ValueError:
            sizes = ()
        if not name or len(sizes) < 2 or not all(system and size > 0 for system, size in sizes):
            raise UsageError(
                f"--family is {entry!r}.",
                mend="Write NAME=SYSTEM:BILLIONS,SYSTEM:BILLIONS with two systems or more, for example "
                "e5=st:e5-small:0.03,st:e5-base:0.11.",
            )
        found.append((name, tuple(sorted(sizes, key=lambda one: one[1]))))
    return tuple(found)


@dataclass(frozen=True)
class Request(request.Request):
    """The arguments of an HTEB run. `seed` is that of the first run, and of everything else."""

    GROWS: ClassVar[tuple[str, ...]] = request.GROWING
    transformer: str = option(
        "recorded",
        "A chat model (ollama:gemma3:27b), `recorded` (the sample's), or `stored:FOLDER`.",
        group=SYSTEMS,
    )
    transformations: tuple[str, ...] = option(
        (), "Transformations, or axes: style, length, language. Default: all.",
        value="NAME,...", read=read_transformations,
    )  # fmt: skip
    """Empty: all that the transformer has, of a language model all eight."""
    runs: int = like(Repeats, "runs", default=3, help="Runs, each with freshly transformed texts.")
    until_ci: float | None = like(Repeats, "until_ci")
    """Points: datasets get more runs until every change is known to +- as many."""
    max_runs: int = like(Repeats, "max_runs")
    baseline: str = like(Repeats, "baseline")
    on_failure: OnFailure = option(
        "leave out",
        "Leave out a text that failed (`leave-out`), or put the original in its place (`reference`).",
        name="--failed", words={"leave-out": "leave out", REFERENCE: "original"},
    )  # fmt: skip
    exclude_copied: bool = option(
        False, "Leave out texts that came back as they were.", name="--exclude-unchanged"
    )
    last_seeds: tuple[tuple[str, int], ...] = like(Repeats, "last_seeds")
    families: tuple[tuple[str, tuple[tuple[str, float], ...]], ...] = option(
        (), "Sizes of the models of a family, to see whether its gap shrinks.",
        name="--family", value="NAME=SYSTEM:BILLIONS,...", read=read_families,
    )  # fmt: skip
    """Model families: name -> (system, billions of parameters)."""
    generation: TransformOptions = field(default_factory=TransformOptions)
    options: HtebOptions = field(default_factory=HtebOptions)

    def __post_init__(self) -> None:
        check_transformations(self.transformations)
        check_runs(self.runs, self.until_ci, self.max_runs)
