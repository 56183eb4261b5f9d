"""What is asked for: a corpus, who writes the questions and who checks them, which kinds and how many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field
from typing import Any

from embassay.errors import UsageError
from embassay.protocols.kernel.request import (
    DATA,
    SYSTEMS,
    RunRequest,
    option,
    redeclare_option,
    split_comma_separated_names,
)
from embassay.protocols.questions import (
    FAR,
    NO_ANSWER,
    OF_MODELS,
    QuestionsOptions,
    check_language_kind_has_language,
    check_question_kinds,
    list_default_question_kinds,
)


def list_document_question_kinds() -> tuple[str, ...]:
    """List the kinds of questions that documents ask of themselves."""
    from embassay.text.questions import KINDS  # a command's help needs none of it

    return KINDS


@dataclass(frozen=True)
class QuestionsRequest:
    """The arguments of a run. `llm` writes, and `checker` (empty: the same) says whether a passage answers what was
    asked of it; without an `llm`, documents ask. `queries` is a file of users' own questions."""

    corpus: str = option(MISSING, "A folder of documents, a table with `text`, or a dataset.", group=DATA)
    llm: str = option(
        "",
        "Chat model that writes questions (ollama:gemma3:27b). Default: take them from the documents.",
        group=SYSTEMS,
    )
    checker: str = option(
        "", "The chat model that checks whether a question is answered. Default: --llm.", group=SYSTEMS
    )
    queries: str = option(
        "", "Questions that users asked: a table with `text`. They come first.", value="PATH", group=DATA
    )
    kinds: tuple[str, ...] = option(
        (),
        "Kind: fact, comparison, procedure, keywords, typo, language; title, heading, faq, sentence. Default: all.",
        name="--kind -k",
    )
    mapping: Mapping[str, str] = redeclare_option(RunRequest, "mapping")
    seed: int = redeclare_option(RunRequest, "seed")
    options: QuestionsOptions = field(default_factory=QuestionsOptions)
    tokenizer: str = "words"
    no_answer: tuple[str, ...] = option(
        (),
        "Also write questions that the documents don't answer: near (a value changed), far (another domain).",
        name="--no-answer", value="near,far", read=split_comma_separated_names
    )  # fmt: skip
    far: str = option(
        "", "With --no-answer far: questions from another domain (a table with `text`). Default: built-in, English.",
        value="PATH", group=DATA
    )  # fmt: skip

    def __post_init__(self) -> None:
        check_question_kinds(self.kinds, (*OF_MODELS, *list_document_question_kinds()))
        asked = set(self.chosen)
        if not self.llm and asked & set(OF_MODELS):
            raise UsageError(
                f"Questions of the kind {next(kind for kind in self.chosen if kind in OF_MODELS)!r} need "
                "a language model, but none was given.",
                mend=(
                    "Choose one with --llm, or use kinds that need no model: "
                    f"{', '.join(list_document_question_kinds())}."
                ),
            )
        check_language_kind_has_language(asked, self.options.into)
        for kind in self.no_answer:
            if kind not in NO_ANSWER:
                raise UsageError(
                    f"There is no kind of unanswerable question called {kind!r}.",
                    mend=f"Use --no-answer {','.join(NO_ANSWER)}.",
                )
        if self.far and FAR not in self.no_answer:
            raise UsageError("The questions of --far would not be used.", mend="Add --no-answer near,far.")

    @property
    def chosen(self) -> tuple[str, ...]:
        """The question kinds that are asked, in their order; without a choice, all that can be asked."""
        if self.kinds:
            return tuple(kind for kind in (*OF_MODELS, *list_document_question_kinds()) if kind in self.kinds)
        if not self.llm:
            return list_document_question_kinds()
        return list_default_question_kinds(self.options.into)

    @property
    def systems(self) -> tuple[str, ...]:
        """The models that are asked: the writer and the checker of questions."""
        return tuple(dict.fromkeys(filter(None, (self.llm, self.checker))))

    def as_dict(self) -> dict[str, Any]:
        """The arguments as saved in the manifest and compared on resume."""
        plain = asdict(self)
        added = {name: plain.pop(name) for name in ("no_answer", "far")}
        return {
            **plain, "kinds": list(self.chosen), "mapping": dict(self.mapping), "options": self.options.as_dict(),
            **{name: value for name, value in added.items() if value}
        }  # fmt: skip
