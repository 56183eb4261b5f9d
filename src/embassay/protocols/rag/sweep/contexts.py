"""What a language model says a chunk is about: one sentence before it, asked for once and kept.

Source: the contextual retrieval of Anthropic (2024), whose model sees the whole document for every chunk. Here it sees
the part around the chunk that fits, and must answer strictly: a chunk without an answer stops the stacks that need it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from embassay.contracts import ChatMessage, ChatModel
from embassay.data.rows import truncate_to_one_line
from embassay.errors import ModelError, Unanswered
from embassay.protocols.kernel.inputs import Prompt, compute_fence_mark, fence_text_with_mark, read_packaged_prompt
from embassay.protocols.rag.rewriters import RewriteOptions, ask_until_answer_readable, parse_single_json_text
from embassay.runs.execution import CallFailure, run_concurrent_jobs
from embassay.runs.store import CachedChatModel, ChatAnswerCache
from embassay.systems.chat import fit_chat_without_thinking_to_context, open_chat_with_options
from embassay.systems.chat.answers import UnfitAnswerError
from embassay.systems.remote.calls import run_in_remote_loop_and_wait
from embassay.systems.remote.ledger import Ledger
from embassay.text.splitters import DocumentChunk

KEY, VERSION = "context", "1"
WRITTEN = 60
"""Tokens that a plan counts for an answer: the sentence, and what is around it."""
_AROUND = 12_000
"""Characters of the document that are shown: about 3,000 tokens. Of a longer one the part around the chunk."""
_LONGEST = 600
"""Characters of a sentence; what is longer is no context but a summary."""
_TOKENS = 8_192


@dataclass(frozen=True)
class ChunkContextOptions(RewriteOptions):
    """Options of how a model is asked for chunks' contexts: sampling, and `attempts` at one answer."""

    asker: ClassVar[str] = "Contexts"


def load_context_prompt() -> Prompt:
    """Load the prompt with the instructions for writing the contexts of chunks."""
    return Prompt("situate", VERSION, read_packaged_prompt("embassay.protocols.rag", "situate"))


class ChunkContextWriter:
    """A writer of what chunks are about, by the model `chat`; `seed` names its draws."""

    def __init__(
        self, chat: CachedChatModel, options: ChunkContextOptions = ChunkContextOptions(), *, seed: int = 1337
    ) -> None:
        self._chat, self.options, self._seed = chat, options, seed

    @property
    def model(self) -> ChatModel:
        """The chat model that answers, with its price and limits."""
        return self._chat.model

    def close(self) -> None:
        """Release the cache of answers."""
        self._chat.cache.close()

    async def write_chunk_context(self, title: str, text: str, piece: DocumentChunk) -> str:
        """The sentence for one chunk of a text. Unanswered after so many attempts without one that can be read."""
        messages, seed = build_context_messages(title, text, piece), (self._seed, "situate")
        try:
            return (await ask_until_answer_readable(self._chat, messages, self.options, seed, parse_context_answer))[0]
        except Unanswered as error:
            raise Unanswered(f"{self._chat.name} gave no readable context {error.message}", error.why) from None


def build_context_messages(title: str, text: str, piece: DocumentChunk) -> list[ChatMessage]:
    """What is sent: the instructions, then the document around the chunk and the chunk, between marked lines."""
    start = max(0, min(piece.start - _AROUND // 2, len(text) - _AROUND))
    # Whole blocks, so that neighbours are shown the same text, which servers then read once.
    start -= start % (_AROUND // 4)
    shown = "\n\n".join(filter(None, (title, text[start : start + _AROUND])))
    mark = compute_fence_mark([shown, piece.body])
    parts = (fence_text_with_mark("document", mark, shown), fence_text_with_mark("passage", mark, piece.body))
    return [ChatMessage("system", load_context_prompt().text), ChatMessage("user", "\n\n".join(parts))]


def parse_context_answer(text: str) -> str:
    """Parse the context sentence of an answer: one JSON object with one text and nothing else.

    Unfit for anything else, for an empty text, and for one of more than 600 characters.

    >>> parse_context_answer('{"context": "From the manual of the pump:  its oil."}')
    'From the manual of the pump: its oil.'
    """
    context = parse_single_json_text(text, KEY)
    if len(context) > _LONGEST:
        raise UnfitAnswerError(f"longer than {_LONGEST} characters: {truncate_to_one_line(context)}")
    return context


def open_chunk_situator(
    text: str, *, ledger: Ledger | None = None, cache: ChatAnswerCache | Path | None = None, seed: int = 1337
) -> ChunkContextWriter:
    """The model that a chunk names (`ollama:gemma3:27b?attempts=3`), with the answers that are kept. UsageError for
    what is no model, ModelError when its key or package is missing."""
    chat, options, _ = open_chat_with_options(text, ChunkContextOptions, {}, ledger=ledger)
    answers = cache if isinstance(cache, ChatAnswerCache) else ChatAnswerCache.open(cache)
    return ChunkContextWriter(
        CachedChatModel(fit_chat_without_thinking_to_context(chat, _TOKENS), answers), options, seed=seed
    )


def situate_all_chunks(
    situator: ChunkContextWriter,
    titles: Sequence[str],
    texts: Sequence[str],
    cut: Sequence[Sequence[DocumentChunk]],
    *,
    advance: Callable[[int], None],
) -> list[list[DocumentChunk]]:
    """Each document's pieces after what the model says of them. ModelError where one has no answer: without its context
    it would be another kind of chunk. All that was answered is kept."""
    jobs = [
        partial(situator.write_chunk_context, title, text, piece)
        for title, text, pieces in zip(titles, texts, cut, strict=True)
        for piece in pieces
        if piece.body
    ]
    answers: list[Any] = [None] * len(jobs)

    async def ask_for_all_contexts() -> None:
        async for position, outcome in run_concurrent_jobs(jobs, progress=advance):
            answers[position] = outcome

    run_in_remote_loop_and_wait(ask_for_all_contexts)
    failures = [answer for answer in answers if isinstance(answer, CallFailure)]
    if failures:
        raise ModelError(
            f"{len(failures):,} of {len(jobs):,} chunks have no context; first reason: {failures[0].reason}"
        )
    told: Iterator[str] = iter(answers)
    return [[piece.after(next(told)) if piece.body else piece for piece in pieces] for pieces in cut]
