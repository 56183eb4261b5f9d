"""A reader without a language model: it answers with the sentence of the passages that is nearest to the question."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Role, Similarity
from embassay.protocols.rag.answers.answerer import AnswerSamplingOptions, Kind, ModelAnswer
from embassay.protocols.rag.judges import Question
from embassay.systems import open_system
from embassay.systems.cosine import scale_rows_to_unit_length
from embassay.systems.remote.ledger import TokenPrice
from embassay.text import open_tokenizer, split_sentences

NAME = "extract"
VERSION = "1"
"""Raised when the same passages would give another answer."""
USUAL = "wordllama"
ABSTENTION = "NO ANSWER"


@dataclass(frozen=True)
class AbsentModelWithoutCost:
    """What stands where a reader has no language model: it costs nothing."""

    price: TokenPrice = field(default_factory=lambda: TokenPrice(0.0, 0.0))


class NearestSentenceAnswerer:
    """Quotes the sentence that a system finds nearest to the question, the first of equals; abstains where none is
    like it at all. As a grader it finds right what stands in a reference, or holds one whole.

    What it quotes is never made up, so that what distractors do to it is what they do to finding the evidence. It
    opens no system where it only grades.
    """

    options = AnswerSamplingOptions()
    model = AbsentModelWithoutCost()

    def __init__(self, target: str, *, seed: int = 1337) -> None:
        self.name = target
        self._spec, self._seed = target.partition(":")[2] or USUAL, seed
        self._vectors = dict[str, NDArray[np.float32]]()

    @cached_property
    def system(self) -> Similarity:
        """The system that compares sentences with the question."""
        return open_system(self._spec, tokenizer=open_tokenizer("words"), seed=self._seed)

    def identity(self, kind: Kind) -> str:
        """Everything that its answers, or its grades, depend on."""
        return f"extract/{VERSION}" if kind == "correct" else f"extract/{VERSION}:{self.system.name}"

    async def answer(self, question: Question, passages: Sequence[str]) -> ModelAnswer:
        """Answer with the nearest sentence."""
        begun = time.perf_counter()
        sentences = [sentence for passage in passages for sentence in split_sentences(passage)]
        text = self._find_sentence_nearest_to_question(question.text, sentences) if sentences else ABSTENTION
        return ModelAnswer(text, time.perf_counter() - begun, len(text.split()))

    async def answer_with_one_word(self, question: Question, passages: Sequence[str]) -> ModelAnswer:
        """Answer as `answer` does: it has its words at once."""
        return await self.answer(question, passages)

    async def is_right(self, question: Question, reference: Sequence[str], answer: str) -> bool:
        """Whether the answer stands in one of the references, or holds one; letters' case and blanks do not count."""
        del question
        said, known = _fold_case_and_blanks(answer), list(map(_fold_case_and_blanks, reference))
        return any(said in text or (text and text in said) for text in known)

    def about(self) -> Mapping[str, Any]:
        """What a manifest says."""
        return {"model": self.name}

    def close(self) -> None:
        """Nothing is open."""

    def _find_sentence_nearest_to_question(self, question: str, sentences: Sequence[str]) -> str:
        similar = self._compare_question_to_sentences(question, sentences)
        best = int(np.argmax(similar))
        return sentences[best] if similar[best] > 0 else ABSTENTION

    def _compare_question_to_sentences(self, question: str, sentences: Sequence[str]) -> NDArray[np.float64]:
        """The similarity of the question to each sentence, (n,)."""
        if not hasattr(self.system, "vectors"):
            return np.asarray(self.system.pairs([question] * len(sentences), sentences), dtype=np.float64)
        asked = self._encode_unit_vectors([question], "query")
        stored = self._encode_unit_vectors(sentences, "document")
        return np.asarray(stored @ asked[0], dtype=np.float64)

    def _encode_unit_vectors(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """Vectors of length 1; passages come again with every planting, so they are kept."""
        new = [text for text in dict.fromkeys(texts) if f"{role}:{text}" not in self._vectors]
        if new:
            system: Any = self.system
            vectors = scale_rows_to_unit_length(np.asarray(system.vectors(new, role), dtype=np.float32))
            self._vectors |= {f"{role}:{text}": vector for text, vector in zip(new, vectors, strict=True)}
        return np.stack([self._vectors[f"{role}:{text}"] for text in texts])


def _fold_case_and_blanks(text: str) -> str:
    """Without the case of letters, and with single blanks."""
    return " ".join(text.casefold().split())


def is_extractor_spec(target: str) -> bool:
    """Whether a generator or grader is named that needs no language model.

    >>> is_extractor_spec("extract:minilm"), is_extractor_spec("extract"), is_extractor_spec("openai:extract")
    (True, True, False)
    """
    return target.partition(":")[0] == NAME
