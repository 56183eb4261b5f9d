"""What the parts promise each other: tokenizers, encoders, similarities, rerankers and chat models."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from embassay.errors import TextRefused

Role = Literal["query", "document"]
Kind = Literal["embedding", "classical", "hybrid", "run", "reference", "llm"]
"""What a row of results is of; `llm` is a language model that judges or paraphrases, `run` a file of rankings, `hybrid`
one that joins lists of words and of vectors."""


A = TypeVar("A")
B = TypeVar("B")


class CellPartExecutor(Protocol):
    """Where the parts of one cell are done: in this process, or on the machines of a cluster. What it gives does not
    depend on where that is."""

    def map(self, work: Callable[[A], B], items: Iterable[A], /) -> Iterator[B]:
        """`work` of each item, in the order of the items, which are read as they are wanted: a bounded number is in
        work or waits to be taken. `work`, items and what comes of them can be pickled, and `work` of an item may be
        done again where a machine is lost."""
        ...

    def encoder(self, encoder: Encoder, made: Callable[[], Encoder]) -> Encoder:
        """An encoder of the same name, identity and vectors; `made` makes `encoder` on another machine."""
        ...

    def open_encoder_remotely(self, made: Callable[[], Encoder], accelerated: bool, /) -> Encoder | None:
        """The encoder that `made` makes, opened where the work is done and not here; `accelerated` says whether it can
        use a GPU. None where that is this process, which then makes it, and asks `encoder`."""
        ...

    def cache(self, opened: Callable[[], A], /) -> A:
        """The cache that `opened` opens on the machine that began the run, wherever the parts are done."""
        ...


class Tokenizer(Protocol):
    """Cuts a text into tokens.

    `name` is the registry name (`cl100k`, `words`); `identity` adds what its output depends on
    (a version or a checksum), for cell keys and manifests.
    """

    @property
    def name(self) -> str: ...
    @property
    def identity(self) -> str: ...

    def encode(self, text: str) -> list[int]:
        """Token ids; equal ids mean equal tokens, in every process."""
        ...

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Encode many texts as `encode` does one."""
        ...

    def pieces(self, text: str) -> list[bytes]:
        """The bytes each token covers: as many as `encode` gives, and joined they are the text in UTF-8."""
        ...


class Encoder(Protocol):
    """An embedding model. It sees texts and their role, never the test."""

    @property
    def name(self) -> str: ...
    @property
    def identity(self) -> str:
        """Everything its vectors depend on (weights checksum, parameters), for cache keys."""
        ...

    @property
    def dim(self) -> int: ...
    @property
    def max_tokens(self) -> int | None: ...

    def encode(self, texts: Sequence[str], *, role: Role | None = None) -> NDArray[np.float32]:
        """Embeddings, shape (n, dim), float32, not necessarily normalised."""
        ...

    def count_truncated(self, texts: Sequence[str]) -> int:
        """Count the texts that are longer than `max_tokens`."""
        ...


class EncoderFactsWrapper:
    """`encoder`, by its name and with its facts, for what answers in its place."""

    encoder: Encoder

    @property
    def name(self) -> str:
        """The encoder's name."""
        return self.encoder.name

    @property
    def identity(self) -> str:
        """The encoder's identity."""
        return self.encoder.identity

    @property
    def dim(self) -> int:
        """The encoder's dimensions."""
        return self.encoder.dim

    @property
    def max_tokens(self) -> int | None:
        """The encoder's limit of tokens."""
        return self.encoder.max_tokens

    def count_truncated(self, texts: Sequence[str]) -> int:
        """Count the texts that are too long for the encoder."""
        return self.encoder.count_truncated(texts)


Ragged = NDArray[Any]
"""Of each text an array (rows, width) float32, all of them in one array of objects, (n,)."""


def make_ragged_array(rows: Sequence[NDArray[np.float32]]) -> Ragged:
    """Make one array of objects of arrays with any numbers of rows."""
    # One by one: of arrays of equal shape, np.array would make one block.
    column = np.empty(len(rows), dtype=object)
    for i, row in enumerate(rows):
        column[i] = row
    return column


class MultiVectorEncoder(Protocol):
    """A model that gives many vectors for a text: one for each token (ColBERT), or a term and its weight in each row
    (SPLADE). `kind` says which, and so how two texts are compared."""

    @property
    def name(self) -> str: ...
    @property
    def identity(self) -> str: ...
    @property
    def kind(self) -> Literal["tokens", "terms"]: ...
    @property
    def width(self) -> int:
        """Values of a row: dimensions of a token's vector, or 2."""
        ...

    @property
    def dim(self) -> int:
        """Dimensions of a token's vector, or terms that there are."""
        ...

    @property
    def floats(self) -> int:
        """Values of a text, about: for estimates of memory and disk."""
        ...

    @property
    def similarity(self) -> Literal["maxsim", "meanmaxsim", "dot", "cosine"]:
        """How the model compares a query and a document."""
        ...

    @property
    def max_tokens(self) -> int | None: ...

    def encode(self, texts: Sequence[str], *, role: Role | None = None) -> Ragged:
        """The rows of each text; without a role it is read as a document."""
        ...

    def count_truncated(self, texts: Sequence[str]) -> int: ...


class RemoteEncoder(Encoder, Protocol):
    """An encoder behind a server: many of its calls are in flight at once, and a plan can say what they cost."""

    @property
    def model(self) -> str:
        """The model's name in the ledger."""
        ...

    @property
    def price(self) -> float | None:
        """US dollars per million input tokens; None where it is not known, 0 where nothing is charged."""
        ...

    @property
    def rpm(self) -> int | None:
        """Requests per minute that were declared; None without a limit. `tpm` is the same for tokens."""
        ...

    @property
    def tpm(self) -> int | None: ...
    @property
    def tokenizer(self) -> Tokenizer | None:
        """The model's own tokenizer where it is at hand, for counting before paying."""
        ...

    @property
    def chunk_size(self) -> int:
        """The size of a chunk: texts per request."""
        ...

    def encode_chunks(
        self, chunks: Sequence[Sequence[str]], *, role: Role | None = None
    ) -> Iterator[tuple[int, NDArray[np.float32] | TextRefused]]:
        """Each chunk by its position, as soon as it is there, many in flight at once. `chunks` is read lazily.

        A chunk that the server refuses for its texts comes as its TextRefused, and the others go on. Any other
        exception (ModelError, BudgetExceeded) is raised after what was in flight has been yielded.
        """
        ...


@dataclass(frozen=True)
class RankedCandidates:
    """The best k candidates of each query: `indices` (q, k) int64, -1 where there are fewer; `scores` (q, k)
    float64, -inf there. Rows are sorted by score, descending; ties by index, ascending."""

    indices: NDArray[np.int64]
    scores: NDArray[np.float64]

    @classmethod
    def make_empty_candidates(cls, queries: int, k: int) -> RankedCandidates:
        """No candidate for any of so many queries: to be filled in."""
        return cls(np.full((queries, k), -1, dtype=np.int64), np.full((queries, k), -np.inf))


class ShardedCorpusSearcher(ABC):
    """What searches in shards, and so in a whole corpus."""

    @abstractmethod
    def search_shards(
        self, queries: Sequence[str], shards: Sequence[Sequence[str]], k: int, *, spread: CellPartExecutor | None = None
    ) -> Iterator[RankedCandidates]:
        """Search each shard in order, as `Similarity.search_shards` says."""

    def search(self, queries: Sequence[str], corpus: Sequence[str], k: int) -> RankedCandidates:
        """Search the corpus for the k best texts of each query, as `search_shards` does in one shard."""
        return next(self.search_shards(queries, [corpus], k))


class Similarity(Protocol):
    """A similarity of texts that SAGE can evaluate: floats, 1 for equal texts, higher for more similar."""

    @property
    def name(self) -> str:
        """The canonical spec string, as in result files."""
        ...

    @property
    def identity(self) -> str:
        """Everything its values depend on: parameters, tokenizer, weights."""
        ...

    @property
    def kind(self) -> Kind: ...

    def pairs(self, a: Sequence[str], b: Sequence[str]) -> NDArray[np.float32]:
        """Similarity of `a[i]` (reference) and `b[i]` (candidate), shape (n,). One call is one batch:
        batch-normalised metrics (bm25) compare only within a call."""
        ...

    def distances(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """1 - similarity of every two texts, clipped to [0, inf), in scipy's condensed order, n(n-1)/2."""
        ...

    def search(self, queries: Sequence[str], corpus: Sequence[str], k: int) -> RankedCandidates:
        """Search the corpus for the k most similar texts of each query."""
        ...

    def search_shards(
        self, queries: Sequence[str], shards: Sequence[Sequence[str]], k: int, *, spread: CellPartExecutor | None = None
    ) -> Iterator[RankedCandidates]:
        """`search` in each shard, in order, with scores comparable across shards: collection statistics
        (bm25) are those of all shards together. Indices are local to the shard.

        A shard may make its texts when they are looked at, so each is held one at a time, and is looked at where
        `spread` says; without it, in this process."""
        ...


@dataclass(frozen=True)
class IndexFacts:
    """What an index is and takes: vectors, dimensions, the seconds its building took (also when it was found built),
    its bytes on disk and in memory; None where a size cannot be known (a server's memory).

    `memory_by` says whether the bytes in memory were measured in this process or follow from the index's structure;
    `found` whether it had been built before and was only opened.
    """

    n: int
    dim: int
    build_seconds: float
    disk_bytes: int | None
    memory_bytes: int | None
    memory_by: Literal["structure", "measured"] = "structure"
    found: bool = False


class Index(Protocol):
    """Vectors laid out for search by inner product: in memory, in a file, or in a server."""

    @property
    def name(self) -> str:
        """The canonical spec string, `hnsw-f32?m=32`."""
        ...

    @property
    def facts(self) -> IndexFacts: ...

    def search(self, queries: NDArray[np.float32], k: int) -> RankedCandidates:
        """The best k of the indexed vectors for each query (q, dim), exactly or nearly; scores are inner products as
        the index knows them. One query at a time is a call with one row. ModelError where a server does not answer."""
        ...

    def close(self) -> None:
        """Release memory, files and connections."""
        ...


class Reranker(Protocol):
    """Orders the documents found for a query. Higher scores are better; only their order within a call counts.

    Where a document's score does not depend on the others of the call, the reranker says so by an attribute `pairwise`
    that is True, and its scores are kept for each pair (`CachedReranker` knows more such attributes).
    """

    @property
    def name(self) -> str:
        """The canonical spec string, as in result files."""
        ...

    @property
    def identity(self) -> str:
        """Everything its scores depend on."""
        ...

    def score(self, query: str, documents: Sequence[str]) -> NDArray[np.float32]:
        """One finite score per document, shape (n,). ModelError when there is none to be had."""
        ...


@dataclass(frozen=True)
class ChatMessage:
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True)
class SamplingSettings:
    """How an answer is drawn; None leaves the server's default. `max_tokens` limits the answer, `top_k` the tokens that
    each of its tokens is drawn from."""

    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    max_tokens: int | None = None
    top_k: int | None = None


@dataclass(frozen=True)
class Usage:
    """What a call cost: tokens as the server counted them (by our count where it did not), requests sent
    (retries and a repair included), US dollars (None where the price is not known).

    `seconds` is how long the answer took: the time that the server says it worked for it (Ollama), else the wall
    clock's of the request that was answered. It is kept with a cached answer.

    Of `estimated` requests the server did not say what it counted: their tokens are our estimate, and `possible_usd`
    is what they may cost beyond it.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    requests: int = 0
    usd: float | None = None
    seconds: float = field(default=0.0, compare=False)
    possible_usd: float = 0.0
    estimated: int = 0

    def __add__(self, other: Usage) -> Usage:
        known = self.usd is not None and other.usd is not None
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.requests + other.requests,
            (self.usd or 0.0) + (other.usd or 0.0) if known else None,
            self.seconds + other.seconds,
            self.possible_usd + other.possible_usd,
            self.estimated + other.estimated,
        )


class SpendingJournal(Protocol):
    """Keeps what a ledger does, durably: a request is noted before it is sent and again when it has ended, so
    that a killed process forgets no money. Called from one thread at a time."""

    def note_request_reserved(self, number: int, model: str, usd: float) -> None:
        """Note that request `number` of this process is about to be sent and may cost `usd`."""
        ...

    def note_request_settled(self, number: int, model: str, usage: Usage, *, retry: bool, seconds: float) -> None:
        """Note that a request was answered, or refused, and what it cost."""
        ...

    def note_request_unanswered(
        self, number: int, model: str, usd: float | None, *, retry: bool, seconds: float
    ) -> None:
        """Note that a request was sent and brought nothing usable: up to `usd` may be billed for it."""
        ...

    def note_request_released(self, number: int) -> None:
        """Note that a reserved request was never sent."""
        ...

    def note_call_failed(self, model: str) -> None:
        """Note that a call, with all its requests, has failed for good."""
        ...


@dataclass(frozen=True)
class Completion:
    """An answer: `text` without the model's thinking, `parsed` the checked object where a schema was asked
    for, `model` as the server names it, `finish` why it ended (`stop`, `length` ...)."""

    text: str
    parsed: Any
    usage: Usage
    model: str
    finish: str


class ChatModel(Protocol):
    """A large language model that answers messages."""

    @property
    def name(self) -> str:
        """The canonical spec string, as in result files."""
        ...

    @property
    def identity(self) -> str:
        """Everything its answers depend on but messages, sampling and schema; never a key."""
        ...

    async def complete(
        self, messages: Sequence[ChatMessage], *, sampling: SamplingSettings = SamplingSettings(), schema: Any = None
    ) -> Completion:
        """One answer. `schema` is a pydantic model class: the answer is JSON checked with it, asked for again
        at most once when it does not fit. ModelError, with the reason, when the call fails for good."""
        ...
