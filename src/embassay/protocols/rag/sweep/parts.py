"""What a sweep opens: encoders behind the cache of vectors, rerankers behind that of pairs; and what it counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import IndexFacts, Reranker, Role, Tokenizer
from embassay.data import Dataset, draw, open_dataset
from embassay.data.catalogue import DATASETS
from embassay.data.retrieval import fitting_map
from embassay.errors import DataError, EmbassayError, ModelError
from embassay.protocols.kernel import inputs as opening
from embassay.protocols.kernel.session import Silent
from embassay.protocols.rag.judges import Question
from embassay.protocols.rag.rewriters import REWRITERS, Rewriter, open_rewriter
from embassay.protocols.rag.sweep.config import DatasetEntry, SweepRequest, chunk_size
from embassay.protocols.rag.sweep.stacks import NONE, Counts
from embassay.records import RetrievalSet, Skipped
from embassay.registry import Registry
from embassay.runs.execution import Failure, all_of
from embassay.runs.store import CachedReranker, PairCache
from embassay.systems import SYSTEMS, sized
from embassay.systems.remote import Ledger
from embassay.systems.remote.calls import wait_for
from embassay.systems.rerankers import RERANKERS, open_reranker
from embassay.text import open_tokenizer

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Collection:
    """A dataset as a sweep uses it: the whole corpus, the queries that were drawn, and their documents' grades from 1
    to 5 by position in the corpus. `timed` are the positions of the queries whose time is taken."""

    name: str
    source: str
    lang: str
    fingerprint: str
    ids: Sequence[str]
    texts: Sequence[str]
    query_ids: tuple[str, ...]
    queries: tuple[str, ...]
    grades: tuple[Mapping[int, int], ...]
    timed: tuple[int, ...]
    skipped: tuple[Skipped, ...] = ()
    warnings: tuple[str, ...] = ()
    own: tuple[int | None, ...] = ()
    """Of each query the position of the document that has its id, where that is left out; empty where none is."""

    @cached_property
    def counts(self) -> Ints:
        """Documents of grade 1 to 5 of each query, (q, 5)."""
        return np.array(
            [[sum(grade == one for grade in own.values()) for one in range(1, 6)] for own in self.grades],
            dtype=np.int64,
        ).reshape(-1, 5)


@dataclass(frozen=True)
class Passages:
    """What is indexed: texts with ids, and for each the position of its document."""

    ids: Sequence[str]
    texts: Sequence[str]
    documents: Ints

    def __len__(self) -> int:
        return len(self.ids)


def read_collection(entry: DatasetEntry, request: SweepRequest) -> Collection:
    """The dataset, its queries drawn by the request's seed from those that have judgements.

    DataError for a dataset that is none for retrieval, and for judgements that cannot be read as grades.
    """
    dataset = open_dataset(
        _place(entry.source, request), mapping=entry.mapping, split=entry.split, grades=entry.grades
    )
    loaded = dataset.load("retrieval")
    data, alone = _without_self(loaded.data) if entry.exclude_self else (loaded.data, ())
    gain_of, note = _grading(dataset, data, entry)
    chosen = draw(data.queries.ids, request.queries, request.seed)
    ids = tuple(data.queries.ids[place] for place in chosen)
    judged = {doc for key in ids for doc in data.qrels[key]}
    place = {key: position for position, key in enumerate(data.corpus.ids) if key in judged}
    grades = tuple({place[doc]: gain_of[gain] for doc, gain in data.qrels[key].items()} for key in ids)
    timed = draw(ids, request.latency.queries, request.seed)
    fingerprint = loaded.fingerprint
    own: tuple[int | None, ...] = ()
    if entry.exclude_self:
        fingerprint = sha256(f"{fingerprint} without self".encode()).hexdigest()[:32]
        asked = set(ids)
        rows = {key: position for position, key in enumerate(data.corpus.ids) if key in asked}
        own = tuple(rows.get(key) for key in ids)
        note = (*note, f"queries whose own document is left out: {len(rows)}")
    return Collection(
        loaded.dataset, entry.source, loaded.lang, fingerprint, data.corpus.ids, data.corpus.texts, ids,
        tuple(data.queries.texts[place] for place in chosen), grades, tuple(timed),
        (*loaded.skipped, *alone), (*loaded.warnings, *note), own,
    )  # fmt: skip


def _without_self(data: RetrievalSet) -> tuple[RetrievalSet, tuple[Skipped, ...]]:
    """The data without judgements of queries' own documents, and without queries that have no relevant one left."""
    qrels = {
        query: {doc: gain for doc, gain in judged.items() if doc != query}
        for query, judged in data.qrels.items()
    }
    rows = [
        row for row, query in enumerate(data.queries.ids) if any(gain > 0 for gain in qrels[query].values())
    ]
    kept = tuple(data.queries.ids[row] for row in rows)
    if not kept:
        raise DataError("no query has a relevant document besides its own", mend="Leave exclude_self out.")
    queries = replace(data.queries, ids=kept, texts=tuple(data.queries.texts[row] for row in rows))
    gone = tuple(sorted(set(data.queries.ids) - set(kept)))
    skipped = (Skipped("no relevant document but its own", len(gone), gone[:3]),) if gone else ()
    return replace(data, queries=queries, qrels={query: qrels[query] for query in kept}), skipped


def passages_of(collection: Collection, chunk: str, tokenizer: Tokenizer) -> Passages:
    """The documents, or chunks `doc#1`, `doc#2` ... of them; an empty document is one empty passage."""
    size = chunk_size(chunk)
    if size is None:
        return Passages(collection.ids, collection.texts, np.arange(len(collection.ids), dtype=np.int64))
    from embassay.text.chunking import Breadcrumb, Chunking
    from embassay.text.chunking import chunk as cut
    from embassay.text.tokenizers import token_ends

    how, ends = Chunking(*size), token_ends(tokenizer)
    ids: list[str] = []
    texts: list[str] = []
    documents: list[int] = []
    for position, (key, text) in enumerate(zip(collection.ids, collection.texts, strict=True)):
        pieces = [one.text for one in cut(text, Breadcrumb(), how, ends)] or [""]
        ids += [f"{key}#{number}" for number in range(1, len(pieces) + 1)]
        texts += pieces
        documents += [position] * len(pieces)
    return Passages(tuple(ids), tuple(texts), np.array(documents, dtype=np.int64))


def collapsed(places: Iterable[int], passages: Passages) -> list[int]:
    """A ranking of passages as one of documents, each where its best passage stands.

    >>> collapsed([2, 0, 1], Passages(("a#1", "a#2", "b#1"), ("", "", ""), np.array([0, 0, 1])))
    [1, 0]
    """
    return list(dict.fromkeys(passages.documents[np.fromiter(places, dtype=np.int64)].tolist()))


def _place(source: str, request: SweepRequest) -> str:
    """The name or path to open; what is neither is left as it was written, for the message."""
    if source.partition("?")[0].partition(":")[0] in DATASETS:
        return source
    place = Path(request.path(source))
    # `./scifact` from the folder that is worked in loses its dot in a Path, and would be a name of the catalogue again.
    return (f"./{place}" if str(place) in DATASETS else str(place)) if place.exists() else source


def _grading(
    dataset: Dataset, data: RetrievalSet, entry: DatasetEntry
) -> tuple[Mapping[float, int], tuple[str, ...]]:
    """What grade each gain of the dataset stands for, and what is to be said of it."""
    gains = sorted({gain for own in data.qrels.values() for gain in own.values()})
    if entry.grades is not None or dataset.gains.table is not None:
        if all(gain in range(5) for gain in gains):
            return {gain: int(gain) + 1 for gain in gains}, ()
    elif set(gains) <= {0.0, 1.0}:
        return {0.0: 1, 1.0: 5}, ("judgements of 0 and 1 are read as the grades 1 and 5",)
    elif set(gains) <= {1.0, 2.0, 3.0, 4.0, 5.0} and 5.0 in gains:
        return {gain: int(gain) for gain in gains}, ()
    raise DataError(
        f"the judgements of {entry.source!r} are no grades from 1 to 5",
        found=", ".join(f"{gain:g}" for gain in gains[:8]),
        mend=f"Name a grade map for it: {{path: {entry.source}, grades: '{fitting_map(gains)}'}}.",
    )


def token_lengths(tokenizer: Tokenizer, texts: Sequence[str]) -> Ints:
    """Tokens of each text, (n,)."""
    return np.fromiter(map(len, tokenizer.encode_batch(list(texts))), dtype=np.int64, count=len(texts))


Vectors = NDArray[np.float32]


class SweepEncoder:
    """An encoder of the sweep: vectors through the cache, and without it where time is taken."""

    def __init__(
        self,
        name: str,
        dims: int | None,
        request: SweepRequest,
        ledger: Ledger,
        advance: Callable[[int], None],
    ) -> None:
        self.name = sized(name, dims)
        located = sized(request.located(name, SYSTEMS), dims)
        text = _priced(located, SYSTEMS, request.prices.embed.get(name))
        self._opened = opening.CachedSystem(
            text,
            tokenizer=open_tokenizer("words"),
            seed=request.seed,
            cache=None,
            advance=advance,
            ledger=ledger,
        )
        self.system: Any = self._opened.system
        self._cached = self._opened.encoders[0]

    @property
    def identity(self) -> str:
        """Everything its vectors depend on."""
        return str(self.system.identity)

    @property
    def dim(self) -> int:
        """Dimensions of its vectors."""
        return int(self.system.encoder.dim)

    @property
    def counts(self) -> tuple[int, int]:
        """Texts encoded, and found encoded, so far."""
        return self._cached.counts.encoded, self._cached.counts.cached

    def oddities(self) -> tuple[str, ...]:
        """What its vectors so far say against it."""
        return self._cached.conduct.warnings(self._cached.encoder)

    def vectors(self, texts: Sequence[str], role: Role) -> Vectors:
        """Vectors of the texts, (n, dim), zeros for an empty one, NaN for one that could not be encoded."""
        found: Vectors = self.system.vectors(list(texts), role)
        return found

    def afresh(self, text: str) -> Vectors:
        """The vector of a query, (dim,), whatever the cache has."""
        made = self._cached.encoder.encode([text], role="query")
        transform = getattr(self.system.encoder, "transform", None)
        vector: Vectors = np.asarray(made if transform is None else transform(made), dtype=np.float32)[0]
        return vector


@dataclass
class Parts:
    """All that a sweep has opened so far. What could not be opened is not tried again: its ModelError comes back."""

    request: SweepRequest
    ledger: Ledger
    listener: Silent = field(default_factory=Silent)
    _made: dict[tuple[str, str], Any] = field(default_factory=dict)

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """Counts the tokens of candidates and chunks."""
        return open_tokenizer(self.request.tokenizer)

    def encoder(self, name: str, dims: int | None = None) -> SweepEncoder:
        """The encoder of this name, by its own parameter for vectors of `dims` where it has one. UsageError for a spec
        that is none, ModelError for one that cannot be had."""
        made = partial(SweepEncoder, name, dims, self.request, self.ledger, self.listener.advanced_by)
        found: SweepEncoder = self._once("encoder", sized(name, dims), made)
        return found

    def reranker(self, name: str) -> CachedReranker:
        """The reranker behind the pair cache; its `reranker` scores afresh."""
        found: CachedReranker = self._once("reranker", name, partial(self._reranker, name))
        return found

    def rewriter(self, name: str) -> Rewriter:
        """Who rewrites queries."""
        text = self.request.located(name, REWRITERS)
        found: Rewriter = self._once(
            "rewriter", name, partial(open_rewriter, text, ledger=self.ledger, seed=self.request.seed)
        )
        return found

    def rewritten(self, name: str, ids: Sequence[str], queries: Sequence[str]) -> tuple[str, ...]:
        """The queries in the words of a search. ModelError where one could not be rewritten."""
        if name == NONE:
            return tuple(queries)
        rewriter = self.rewriter(name)
        found = [""] * len(queries)
        jobs = [partial(rewriter.rewrite, Question(*one)) for one in zip(ids, queries, strict=True)]
        self.listener.stage(f"rewriting by {name}", len(jobs), "queries")

        async def all_rewritten() -> None:
            async for position, outcome in all_of(jobs, progress=self.listener.advanced_by):
                if isinstance(outcome, Failure):
                    raise ModelError(f"{name} did not rewrite query {ids[position]!r}: {outcome.reason}")
                found[position] = outcome

        with self.charged(name):
            wait_for(all_rewritten)
        return tuple(found)

    @contextmanager
    def charged(self, account: str) -> Iterator[None]:
        """Charge calls to the account."""
        with opening.charged(self.ledger, account):
            yield

    def give_up(self, kind: str, name: str, error: ModelError) -> None:
        """Do not ask this part again in this session: its error comes back at once."""
        self._made[kind, name] = error

    def check(self, kind: str, name: str) -> None:
        """ModelError if this part was given up."""
        made = self._made.get((kind, name))
        if isinstance(made, EmbassayError):
            raise made

    def counts(self, kind: str) -> tuple[int, int]:
        """Texts or pairs that all encoders, or rerankers, have computed so far, and those that the cache had."""
        made = [one for (own, _), one in self._made.items() if own == kind and not isinstance(one, Exception)]
        if kind == "encoder":
            return sum(one.counts[0] for one in made), sum(one.counts[1] for one in made)
        return sum(one.counts.computed for one in made), sum(one.counts.found for one in made)

    def close(self) -> None:
        """Release what holds connections."""
        for made in self._made.values():
            getattr(made, "close", lambda: None)()

    def _reranker(self, name: str) -> CachedReranker:
        text = _priced(self.request.located(name, RERANKERS), RERANKERS, self.request.prices.rerank.get(name))
        made: Reranker = open_reranker(
            text, ledger=self.ledger, tokenizer=self.tokenizer, seed=self.request.seed
        )
        return CachedReranker(made, self._pairs)

    @cached_property
    def _pairs(self) -> PairCache:
        return PairCache.open()

    def _once(self, kind: str, name: str, make: Callable[[], Any]) -> Any:
        key = kind, name
        if key not in self._made:
            try:
                self._made[key] = make()
            except ModelError as error:
                self._made[key] = error
        made = self._made[key]
        if isinstance(made, EmbassayError):
            raise made
        return made


def _priced(text: str, registry: Registry[Any], usd: float | None) -> str:
    """A spec string with the config's price where it can have one and has none, so that a limit of cost counts it."""
    spec = registry.parse(text)
    if usd is None or "price" in spec.params or "price" not in registry.parameters(spec.name):
        return text
    return registry.format(replace(spec, params={**spec.params, "price": usd}))


class Counting:
    """What was computed and what was found, since the last time that it was asked."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self._before = self._now()
        self._built = [0, 0]

    def index(self, facts: IndexFacts) -> None:
        """Count an index that was opened, if it is one that takes building."""
        if facts.build_seconds > 0 or facts.found:
            self._built[facts.found] += 1

    def taken(self) -> dict[str, int]:
        """The counts of `Counts`, by name."""
        now, built = self._now(), self._built
        counts = Counts(*(a - b for a, b in zip(now, self._before, strict=True)), *built)
        self._before, self._built = now, [0, 0]
        return asdict(counts)

    def _now(self) -> tuple[int, int, int, int]:
        encoded, reranked = self.parts.counts("encoder"), self.parts.counts("reranker")
        return (*encoded, *reranked)
