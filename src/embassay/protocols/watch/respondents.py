"""Who is asked: an encoder, a metric, a reranker or a judge, each as something that answers items with numbers.

Nothing is taken from the user's caches: a kept answer is what the system said then. Only what an interrupted recording
had brought is taken over. Texts go out a few at a time and in another order each time, so that a fallback for some
requests, or noise from sharing a batch, shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Role
from embassay.errors import ModelError, TextRefused, UsageError
from embassay.protocols.kernel.session import SilentListener
from embassay.protocols.watch.answers import KeptWatchAnswers
from embassay.protocols.watch.fingerprint import FingerprintItem, Kind
from embassay.runs.forecast import ANSWER_SECONDS, estimate_server_seconds, find_remote_encoder
from embassay.systems import open_system
from embassay.systems.remote import Ledger, run_in_remote_loop_and_wait
from embassay.systems.remote.ledger import estimate_server_tokens
from embassay.systems.rerankers import open_reranker
from embassay.text import open_tokenizer

PER_REQUEST = 4
"""Texts of a request: with few, a share of bad requests is a share of bad texts."""
LABEL_TOKENS = 3
"""What a chat model writes for each document that it ranks."""
Answers = NDArray[np.float32]


@dataclass(frozen=True)
class AnswersAndFailuresByItem:
    """Answers (n, width) in the order of the items, NaN where there is none, and by the item's id why."""

    values: Answers
    failed: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RequestLoad:
    """What asking for items takes, by our estimate: `texts` (of a reranker or a judge passages), `tokens`, dollars and
    seconds; None where these are not known."""

    texts: int
    tokens: int
    usd: float | None
    seconds: float | None

    def multiply_load(self, times: int) -> RequestLoad:
        """So many times as much."""
        usd = None if self.usd is None else times * self.usd
        seconds = None if self.seconds is None else times * self.seconds
        return RequestLoad(times * self.texts, times * self.tokens, usd, seconds)


GRADE_TOKENS, GRADE_WRITTEN = 700, 12
"""About what a judge reads beside a question and a passage, and writes, for one grade."""


def estimate_item_tokens(kind: Kind, items: Sequence[FingerprintItem]) -> int:
    """Estimate how many tokens the items take. Rerankers and judges read a question per passage."""
    return sum(_estimate_tokens_of_fingerprint_item(kind, item) for item in items) + GRADE_WRITTEN * _count_grades(
        kind, items
    )


def count_item_texts(items: Sequence[FingerprintItem]) -> int:
    """The texts that the items take, or the passages that their questions are asked with."""
    return sum(max(1, len(item.others)) for item in items)


def _estimate_tokens_of_fingerprint_item(kind: Kind, item: FingerprintItem) -> int:
    if kind == "vectors" or kind == "scores":
        return estimate_server_tokens([item.text]) + estimate_server_tokens(item.others)
    beside = GRADE_TOKENS if kind == "judge" else 0
    pairs = len(item.others) * estimate_server_tokens([item.text])
    return pairs + estimate_server_tokens(item.others) + beside * len(item.others)


def _count_grades(kind: Kind, items: Sequence[FingerprintItem]) -> int:
    return sum(len(item.others) for item in items) if kind == "judge" else 0


class WatchRespondent(Protocol):
    """Something that can be watched."""

    kind: Kind
    name: str
    identity: str
    unit: str
    listener: SilentListener
    """Hears of each answer, in `count`'s unit."""
    kept: KeptWatchAnswers | None
    """What an interrupted recording had brought, and where new answers go."""

    def count(self, items: Sequence[FingerprintItem]) -> int:
        """Count the answers that the items take: texts, or passages to grade."""
        ...

    def load(self, items: Sequence[FingerprintItem]) -> RequestLoad:
        """Estimate what asking for the items once takes."""
        ...

    def ask(self, items: Sequence[FingerprintItem], rng: np.random.Generator) -> AnswersAndFailuresByItem:
        """Answers to all items, asked in an order that `rng` draws. ModelError where the system fails altogether,
        BudgetExceeded at the limit of cost."""
        ...


class _BaseWatchedRespondent:
    """What all respondents have: somebody who hears of their answers, and a place where these are kept."""

    unit = "texts"

    def __init__(self) -> None:
        self.listener = SilentListener()
        self.kept: KeptWatchAnswers | None = None

    def count(self, items: Sequence[FingerprintItem]) -> int:
        """Count one answer for each item."""
        return len(items)


class VectorRespondent(_BaseWatchedRespondent):
    """An encoder that answers with the vector of an item's text in its role."""

    kind: Kind = "vectors"

    def __init__(self, system: Any) -> None:
        super().__init__()
        self.encoder, self.name = system.encoder, system.name
        self.identity: str = self.encoder.identity

    def ask(self, items: Sequence[FingerprintItem], rng: np.random.Generator) -> AnswersAndFailuresByItem:
        """Ask for the vectors of the items, (n, dim)."""
        return self.encode([item.text for item in items], [item.role for item in items], rng)

    def load(self, items: Sequence[FingerprintItem]) -> RequestLoad:
        """Estimate the load, priced by the token; of an encoder on this machine nobody knows the time."""
        tokens = estimate_item_tokens(self.kind, items)
        remote = find_remote_encoder(self)
        price = getattr(self.encoder, "price", None if remote is not None else 0.0)
        usd = None if price is None else tokens * price / 1e6
        requests = -(-len(items) // PER_REQUEST)
        return RequestLoad(
            len(items), tokens, usd, None if remote is None else estimate_server_seconds(remote, requests, tokens)
        )

    def encode(self, texts: Sequence[str], roles: Sequence[Role], rng: np.random.Generator) -> AnswersAndFailuresByItem:
        """Vectors of texts in roles; a failed one by its place as a text."""
        rows: list[Answers | None] = [None] * len(texts)
        failed: dict[str, str] = {}
        order = rng.permutation(len(texts)).tolist()
        for role in ("document", "query"):
            waiting = [row for row in order if roles[row] == role]
            for row, answer in self._iterate_text_vectors_by_row(texts, waiting, role):
                if isinstance(answer, TextRefused):
                    failed[str(row)] = answer.message
                else:
                    rows[row] = answer
        width = next((len(row) for row in rows if row is not None), 0)
        if not width:
            raise ModelError(f"{self.name} could not encode any of the texts: {next(iter(failed.values()), '')}")
        # A text that was lost is NaN in every value.
        lost = np.full(width, np.nan, dtype=np.float32)
        return AnswersAndFailuresByItem(np.stack([lost if row is None else row for row in rows]), failed)

    def _iterate_text_vectors_by_row(
        self, texts: Sequence[str], rows: Sequence[int], role: Role
    ) -> Iterator[tuple[int, Answers | TextRefused]]:
        chunks = [rows[start : start + PER_REQUEST] for start in range(0, len(rows), PER_REQUEST)]
        refused: list[int] = []
        for place, answer in self._iterate_chunk_answers([[texts[row] for row in chunk] for chunk in chunks], role):
            if isinstance(answer, TextRefused):
                refused += chunks[place]
            else:
                self.listener.advanced_by(len(answer))
                yield from zip(chunks[place], answer, strict=True)
        # What a request was refused for is one of its texts.
        for place, answer in self._iterate_chunk_answers([[texts[row]] for row in refused], role):
            self.listener.advanced_by(1)
            yield refused[place], answer if isinstance(answer, TextRefused) else answer[0]

    def _iterate_chunk_answers(
        self, chunks: Sequence[Sequence[str]], role: Role
    ) -> Iterator[tuple[int, Answers | TextRefused]]:
        """The answers to chunks by their place: first what is kept, then what is asked for, kept as it comes."""
        if self.kept is None:
            yield from self._iterate_vectors_of_new_chunks(chunks, role)
            return
        waiting = []
        for place, chunk in enumerate(chunks):
            vectors = self.kept.read_kept_vectors(self.identity, role, chunk)
            if vectors is None:
                waiting.append(place)
            else:
                yield place, vectors
        # An encoder that is asked for nothing may still ask how wide its vectors are.
        for number, answer in (
            self._iterate_vectors_of_new_chunks([chunks[place] for place in waiting], role) if waiting else ()
        ):
            if not isinstance(answer, TextRefused):
                self.kept.keep_vectors(self.identity, role, chunks[waiting[number]], answer)
            yield waiting[number], answer

    def _iterate_vectors_of_new_chunks(
        self, chunks: Sequence[Sequence[str]], role: Role
    ) -> Iterator[tuple[int, Answers | TextRefused]]:
        if hasattr(self.encoder, "encode_chunks"):
            yield from self.encoder.encode_chunks(chunks, role=role)
            return
        for place, chunk in enumerate(chunks):
            try:
                yield place, np.asarray(self.encoder.encode(chunk, role=role), dtype=np.float32)
            except TextRefused as refusal:
                yield place, refusal


class SimilarityRespondent(_BaseWatchedRespondent):
    """A similarity without vectors of its own; it answers with the similarities of an item's text to its others."""

    kind: Kind = "scores"

    def __init__(self, system: Any) -> None:
        super().__init__()
        self.system, self.name, self.identity = system, system.name, system.identity

    def load(self, items: Sequence[FingerprintItem]) -> RequestLoad:
        """Estimate the load of the items: nothing is sent."""
        return RequestLoad(count_item_texts(items), estimate_item_tokens(self.kind, items), 0.0, None)

    def ask(self, items: Sequence[FingerprintItem], rng: np.random.Generator) -> AnswersAndFailuresByItem:
        """Ask for the similarities of the items, (n, others)."""
        return _ask_items_one_by_one(self, items, rng, self._compute_item_similarities)

    def _compute_item_similarities(self, item: FingerprintItem) -> Answers:
        # One call is one batch: a metric may take its statistics from all candidates of a call.
        return np.asarray(self.system.pairs([item.text] * len(item.others), item.others), dtype=np.float32)


class RerankerRespondent(_BaseWatchedRespondent):
    """A reranker; it answers with the scores of a question's passages."""

    kind: Kind = "reranker"
    unit = "questions"

    def __init__(self, reranker: Any) -> None:
        super().__init__()
        self.reranker, self.name, self.identity = reranker, reranker.name, reranker.identity

    def load(self, items: Sequence[FingerprintItem]) -> RequestLoad:
        """Priced as the reranker charges: by the token, or by the search; a chat model by what it reads and writes."""
        passages, tokens = count_item_texts(items), estimate_item_tokens(self.kind, items)
        chat = getattr(self.reranker, "model", None)
        if chat is not None:
            return _make_chat_load(chat, len(items), passages, tokens, LABEL_TOKENS * passages)
        if not hasattr(self.reranker, "usd"):
            return RequestLoad(passages, tokens, 0.0, None)
        prices = [
            self.reranker.usd(_estimate_tokens_of_fingerprint_item(self.kind, item), len(item.others)) for item in items
        ]
        usd = None if None in prices else float(sum(prices))
        return RequestLoad(passages, tokens, usd, len(items) * ANSWER_SECONDS)

    def ask(self, items: Sequence[FingerprintItem], rng: np.random.Generator) -> AnswersAndFailuresByItem:
        """Ask for the scores of the items, (n, passages)."""
        return _ask_items_one_by_one(self, items, rng, lambda item: self.reranker.score(item.text, list(item.others)))


class JudgeRespondent(_BaseWatchedRespondent):
    """A judge; it answers with the grades, 1 to 5, of a question's passages. `draws` counts how often it was asked, as
    every time is to be another draw. Its answers are kept by its own cache."""

    kind: Kind = "judge"
    unit = "passages"

    def __init__(self, judge: Any) -> None:
        super().__init__()
        self.judge, self.name, self.identity = judge, judge.name, judge.identity
        self.draws = 0

    def count(self, items: Sequence[FingerprintItem]) -> int:
        """Count one grade for each passage."""
        return _count_grades(self.kind, items)

    def load(self, items: Sequence[FingerprintItem]) -> RequestLoad:
        """Estimate the load, priced by what the chat model reads and writes; without a model it is free."""
        grades, tokens = self.count(items), estimate_item_tokens(self.kind, items)
        chat = getattr(self.judge, "model", None)
        if chat is None:
            return RequestLoad(grades, tokens, 0.0, None)
        written = GRADE_WRITTEN * grades
        return _make_chat_load(chat, grades, grades, tokens - written, written)

    def ask(self, items: Sequence[FingerprintItem], rng: np.random.Generator) -> AnswersAndFailuresByItem:
        """Ask for the grades of the items, (n, passages)."""
        from embassay.protocols.rag.golden.grades import grade_all_pairs
        from embassay.protocols.rag.judges import Passage, Question

        pairs = []
        for row in rng.permutation(len(items)).tolist():
            question = Question(items[row].id, items[row].text)
            pairs += [
                (question, Passage(_make_passage_id(items[row], n), text)) for n, text in enumerate(items[row].others)
            ]
        progress = self.listener.advanced_by
        before = self._count_cached_answers()
        grading = run_in_remote_loop_and_wait(
            lambda: grade_all_pairs(self.judge, pairs, {}, _keep_nothing, draw=self.draws, progress=progress)
        )
        self.draws += 1
        if self.kept is not None and pairs:
            self.kept.found += len(items) * (self._count_cached_answers() - before) // len(pairs)
        rows: dict[int, Answers] = {}
        failed: dict[str, str] = {}
        for row, item in enumerate(items):
            verdicts = [grading.verdicts.get((item.id, _make_passage_id(item, n))) for n in range(len(item.others))]
            if None in verdicts:
                failed[str(row)] = grading.failed.get(item.id, "not graded")
            else:
                rows[row] = np.array([verdict.grade for verdict in verdicts if verdict], dtype=np.float32)
        return _make_padded_answer_array(items, rows, failed)

    def _count_cached_answers(self) -> int:
        """Count the cached answers that an interrupted recording had brought."""
        return int(getattr(getattr(self.judge, "counts", None), "cached", 0))


def _make_chat_load(chat: Any, requests: int, texts: int, read: int, written: int) -> RequestLoad:
    price = getattr(chat, "price", None)
    seconds = estimate_server_seconds(chat, requests, read + written, written)
    return RequestLoad(texts, read + written, None if price is None else price.usd(read, written), seconds)


def _make_passage_id(item: FingerprintItem, place: int) -> str:
    return f"{item.id}#{place}"


def _keep_nothing(*_verdict: object) -> None:
    """Keep nothing: a judge keeps its answers itself."""


def _ask_items_one_by_one(
    respondent: SimilarityRespondent | RerankerRespondent,
    items: Sequence[FingerprintItem],
    rng: np.random.Generator,
    answer: Callable[[FingerprintItem], Any],
) -> AnswersAndFailuresByItem:
    """The answers to items one by one: kept ones, else new ones. ModelError where there is none."""
    rows: dict[int, Answers] = {}
    failed: dict[str, str] = {}
    kept, identity = respondent.kept, respondent.identity
    for row in rng.permutation(len(items)).tolist():
        item = items[row]
        scores = kept.read_kept_rerank_scores(identity, item.text, item.others) if kept is not None else None
        try:
            rows[row] = np.asarray(answer(item), dtype=np.float32) if scores is None else scores
        except TextRefused as refusal:
            failed[str(row)] = refusal.message
        if kept is not None and scores is None and row in rows:
            kept.keep_rerank_scores(identity, item.text, item.others, rows[row])
        respondent.listener.advanced_by(1)
    return _make_padded_answer_array(items, rows, failed)


def _make_padded_answer_array(
    items: Sequence[FingerprintItem], rows: dict[int, Answers], failed: dict[str, str]
) -> AnswersAndFailuresByItem:
    """The answers of rows, (n, width). ModelError where there is none."""
    if not rows:
        raise ModelError(f"Nothing is answered: {next(iter(failed.values()), 'there are no items')}")
    width = max(len(item.others) for item in items)
    values = np.full((len(items), width), np.nan, dtype=np.float32)
    for row, answered in rows.items():
        # An item of fewer passages has zeros in place of the others: they never differ.
        values[row] = np.pad(answered, (0, width - len(answered)))
    return AnswersAndFailuresByItem(values, failed)


LONGEST = 4000
"""Bytes of a question with a passage that a judge's server has room for at least."""


def measure_longest_request_bytes(items: Sequence[FingerprintItem]) -> int:
    """Bytes of the longest question with one of its passages, or `LONGEST`."""
    pairs = (f"{item.text}{other}" for item in items for other in item.others)
    return max(LONGEST, *(len(pair.encode()) for pair in pairs), 0)


def open_watched_system_by_spec(
    kind: Kind | None, name: str, *, ledger: Ledger, seed: int, folder: Path, tokenizer: str = "words",
    longest: int = LONGEST
) -> WatchRespondent:  # fmt: skip
    """The system that a spec string names, to be asked afresh. None as `kind` is a system of either kind. A judge's
    answers go to a file in `folder`, which is that of the recording, or thrown away, and its server is told of the
    `longest` question with a passage, in bytes. UsageError for a system of another kind."""
    if kind == "judge":
        from embassay.protocols.rag.judges import open_judge

        return JudgeRespondent(
            open_judge(name, ledger=ledger, cache=folder / "answers.sqlite", seed=seed, longest=longest)
        )
    cuts = open_tokenizer(tokenizer, later=True)
    if kind == "reranker":
        return RerankerRespondent(open_reranker(name, ledger=ledger, tokenizer=cuts, seed=seed))
    system: Any = open_system(name, ledger=ledger, tokenizer=cuts, seed=seed)
    encoder = getattr(system, "encoder", None)
    has_vectors = encoder is not None and not hasattr(encoder, "width")
    respondent: WatchRespondent = VectorRespondent(system) if has_vectors else SimilarityRespondent(system)
    if kind is not None and respondent.kind != kind:
        raise UsageError(
            f"{name} returns {respondent.kind}, but the fingerprint is for {kind}.",
            mend="Check the system that was recorded, or record this one.",
        )
    return respondent
