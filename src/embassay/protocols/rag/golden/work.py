"""What the stages of a run share: its questions and passages, who encodes and judges, and who pays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Role, Tokenizer
from embassay.errors import UsageError
from embassay.protocols.kernel import inputs as opening
from embassay.protocols.kernel.session import Silent
from embassay.protocols.rag.golden.corpus import Passages, Posed, Read, passages_of
from embassay.protocols.rag.golden.options import GoldenRequest
from embassay.protocols.rag.golden.stages import Asked, QueryFolder, folder_names
from embassay.protocols.rag.judges import Judge, Question, is_remote, open_judge
from embassay.protocols.rag.rewriters import Rewriter, open_rewriter
from embassay.systems import SYSTEMS
from embassay.systems.remote import Ledger
from embassay.text import open_tokenizer

_MOST_BYTES = 400_000
"""A context for more than so many bytes is not asked for."""


@dataclass
class Work:
    """A run in the making. What costs time to open is opened when it is first asked for."""

    request: GoldenRequest
    read: Read
    run: Path
    ledger: Ledger
    listener: Silent = field(default_factory=Silent)
    calls: dict[str, dict[str, int]] = field(default_factory=dict)
    """What each stage has sent in this session: requests, tokens ..."""
    warnings: list[str] = field(default_factory=list)

    @cached_property
    def posed(self) -> dict[str, Posed]:
        """The questions by id."""
        return {one.id: one for one in self.read.questions}

    @cached_property
    def queries(self) -> tuple[Asked, ...]:
        """The questions with their folders, in the order of the file."""
        names = folder_names([one.id for one in self.read.questions])
        return tuple(
            Asked(one.id, one.text, QueryFolder(self.run, names[one.id])) for one in self.read.questions
        )

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """Counts the tokens of chunks and candidates."""
        return open_tokenizer(self.request.tokenizer)

    @cached_property
    def passages(self) -> Passages:
        """What is searched."""
        return passages_of(self.read.documents, self.request.options, self.tokenizer)

    @cached_property
    def encoder(self) -> Encoder:
        """What makes vectors of texts."""
        return Encoder(self.request, self.ledger, self.listener.advanced_by)

    @cached_property
    def rewriter(self) -> Rewriter:
        """What puts questions in the words of a search."""
        return open_rewriter(self.request.rewriter, ledger=self.ledger, seed=self.request.seed)

    @cached_property
    def judge(self) -> Judge:
        """Who grades and orders."""
        if not is_remote(self.request.judge):
            return open_judge(self.request.judge, seed=self.request.seed)
        passage = max(len(text.encode()) for text in self.passages.texts)
        question = max(len(one.text.encode()) for one in self.read.questions)
        longest = min(question + passage * (self.request.options.batch or 5), _MOST_BYTES)
        return open_judge(self.request.judge, ledger=self.ledger, seed=self.request.seed, longest=longest)

    def question(self, asked: Asked, rewrite: str) -> Question:
        """What the judge is asked."""
        original = self.request.options.judge_question == "original"
        return Question(asked.id, asked.text if original else rewrite)

    @contextmanager
    def charged(self, stage: str, account: str) -> Iterator[None]:
        """Charge calls to the account, and note what they came to under the stage."""
        calls: dict[str, int] = {}
        try:
            with opening.charged(self.ledger, account) as calls:
                yield
        finally:
            noted = self.calls.setdefault(stage, {})
            for name, count in calls.items():
                noted[name] = noted.get(name, 0) + count


class Encoder:
    """The request's encoder behind the cache. UsageError for a system that makes no vectors."""

    def __init__(self, request: GoldenRequest, ledger: Ledger, advance: Callable[[int], None]) -> None:
        SYSTEMS.parse(request.encoder)
        system = opening.CachedSystem(
            request.encoder, tokenizer=open_tokenizer("words"), seed=request.seed, cache=None,
            advance=advance, ledger=ledger,
        )  # fmt: skip
        if not system.encoders:
            raise UsageError(
                f"{request.encoder!r} makes no vectors, so it cannot find passages by them.",
                mend="Name an encoder: wordllama, minilm, st:ORG/MODEL, openai:NAME ... Words are searched for anyway.",
            )
        self.system: Any = system.system
        self.name: str = self.system.name
        self.identity: str = self.system.identity
        self._cached = system.encoders[0]

    @property
    def failures(self) -> dict[str, str]:
        """Texts that it could not encode, with the reason."""
        return dict(self.system.failures)

    @property
    def about(self) -> dict[str, Any]:
        """What a vector says of where it is from."""
        return {"dim": int(self.system.encoder.dim), "max_tokens": self.system.encoder.max_tokens}

    def cuts(self, text: str) -> bool:
        """Whether the text is longer than it reads."""
        return self._cached.max_tokens is not None and bool(self._cached.count_truncated([text]))

    def vectors(self, texts: list[str], role: Role) -> NDArray[np.float32]:
        """(n, dim), as the encoder gives them; NaN for what it could not encode."""
        vectors: NDArray[np.float32] = self.system.vectors(texts, role)
        return vectors
