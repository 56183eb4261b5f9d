"""What is asked for: a corpus, who writes the questions and who checks them, which kinds and how many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from embassay.data.rows import nearest
from embassay.errors import UsageError
from embassay.protocols.kernel.request import DATA, SYSTEMS, check_options, option
from embassay.text import questions

OF_DOCUMENTS = questions.KINDS
OF_MODELS = ("fact", "comparison", "procedure", "keywords", "typo", "language")
"""The kinds that a language model writes; `typo` is a fact with typing errors, made by ourselves."""
KINDS = (*OF_MODELS, *OF_DOCUMENTS)


@dataclass(frozen=True)
class QuestionsOptions:
    """How questions are written and which are kept."""

    n: int = option(20, "Questions to write of each kind.", group=DATA)
    into: str = option("", "Language of the kind `language`, as a code: de.")
    attempts: int = option(3, "Answers drawn for a question until one passes the checks.", group=SYSTEMS)
    copied: float = option(
        0.6, "Largest share of a question's words that may be a run of words of the passage."
    )
    near: float = option(0.8, "Jaccard index from which a question repeats an earlier one.")
    words: int = option(25, "Fewest words of a passage that is asked about.")
    temperature: float = option(0.7, "Sampling temperature of the writer.", group=SYSTEMS)
    top_p: float = option(0.95, "Nucleus sampling share (top-p) of the writer.", group=SYSTEMS)

    def __post_init__(self) -> None:
        check_options(self)
        if not 0 < self.copied <= 1 or not 0.3 <= self.near <= 1:
            raise UsageError(
                f"copied is {self.copied:g} and near is {self.near:g}.",
                mend="Use a share above 0 for --copied, and 0.3 to 1 for --near.",
            )
        if not 0 <= self.temperature <= 2 or not 0 < self.top_p <= 1:
            raise UsageError(
                f"temperature is {self.temperature:g} and top_p is {self.top_p:g}.",
                mend="Take a temperature from 0 to 2, and a top_p above 0 and at most 1.",
            )

    def as_dict(self) -> dict[str, Any]:
        """Every option with its value, as saved in a manifest."""
        return asdict(self)


@dataclass(frozen=True)
class QuestionsRequest:
    """The arguments of a run. `llm` writes, and `checker` (empty: the same) says whether a passage answers what was
    asked of it; without an `llm`, documents ask. `queries` is a file of users' own questions."""

    corpus: str
    llm: str = ""
    checker: str = ""
    queries: str = ""
    kinds: tuple[str, ...] = ()
    mapping: Mapping[str, str] = field(default_factory=dict)
    seed: int = 1337
    options: QuestionsOptions = field(default_factory=QuestionsOptions)
    tokenizer: str = "words"

    def __post_init__(self) -> None:
        for kind in self.kinds:
            if kind not in KINDS:
                near = nearest(kind, KINDS)
                raise UsageError(
                    f"There is no kind of question called {kind!r}.",
                    mend=f"{f'Did you mean {near}? ' if near else ''}Kinds are {', '.join(KINDS)}.",
                )
        asked = set(self.chosen)
        if not self.llm and asked & set(OF_MODELS):
            raise UsageError(
                f"Questions of the kind {next(kind for kind in self.chosen if kind in OF_MODELS)!r} are written by a "
                "language model, and none is named.",
                mend=f"Name one with --llm, or take kinds that need none: {', '.join(OF_DOCUMENTS)}.",
            )
        if "language" in asked and not self.options.into:
            raise UsageError(
                "The kind 'language' needs a language to ask in.",
                mend="Add --into de.",
            )

    @property
    def chosen(self) -> tuple[str, ...]:
        """The kinds that are asked, in their order; without a word all that can be."""
        if self.kinds:
            return tuple(kind for kind in KINDS if kind in self.kinds)
        if not self.llm:
            return OF_DOCUMENTS
        return tuple(kind for kind in OF_MODELS if kind != "language" or self.options.into)

    @property
    def systems(self) -> tuple[str, ...]:
        """Who is asked."""
        return tuple(dict.fromkeys(filter(None, (self.llm, self.checker))))

    def as_dict(self) -> dict[str, Any]:
        """The arguments as saved in the manifest and compared on resume."""
        return {
            **asdict(self), "kinds": list(self.chosen), "mapping": dict(self.mapping),
            "options": self.options.as_dict(),
        }  # fmt: skip
