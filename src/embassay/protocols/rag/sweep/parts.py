"""What a sweep opens: encoders behind the cache of vectors, rerankers behind that of pairs; and what it counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import IndexFacts, Reranker, Role, Tokenizer
from embassay.errors import EmbassayError, ModelError
from embassay.protocols.kernel import inputs as opening
from embassay.protocols.kernel.session import Silent
from embassay.protocols.rag.judges import Question
from embassay.protocols.rag.rewriters import REWRITERS, Rewriter, open_rewriter
from embassay.protocols.rag.sweep.options import SweepRequest
from embassay.protocols.rag.sweep.stacks import NONE, Counts
from embassay.registry import Registry
from embassay.runs.calls import Failure, all_of
from embassay.runs.pair_scores import CachedReranker, PairCache
from embassay.systems import SYSTEMS, sized
from embassay.systems.remote import Ledger
from embassay.systems.remote.loop import wait_for
from embassay.systems.rerankers import RERANKERS, open_reranker
from embassay.text import open_tokenizer

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
