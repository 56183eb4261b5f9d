"""From the sizes of a workload to CPU hours, wall time, memory, disk and money. Pure functions.

Every unit cost is one that `scaling_costs.py` has measured, in CPU seconds or bytes; a total is a sum of products. What
is not measured on the processor is a field of `Prices` or `Card`. Wall time follows from how the work is cut: a task is
one shard of one version of a corpus, a core does one task at a time, and what only one process does is added.

The memory of a process is what a run on few texts holds; what a corpus in memory takes with the copies made while its
texts are written beside the items, which is not given back; and one shard. A corpus beyond `HELD` stays on disk.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from scaling_workloads import Corpus, Pairs, Sets

SHARD = 32_768
COST_DIM = 256
"""Dimensions that the cache was measured with, and a shard of vectors."""
HELD = 2**26
"""Characters of a corpus that stay in memory; a larger one is written to a file."""
SPOOLED = 2**26
"""Bytes of bm25's postings that stay in memory; more go to a scratch file."""
ASKED = (30, 3_000)
"""Numbers of queries for which postings were weighed."""
IDS = 28
"""Bytes of a document in the file of a large corpus beside its text: its id, and where both begin."""


@dataclass(frozen=True)
class Line:
    """A cost for each text, and for each token of it."""

    fixed: float
    token: float = 0.0

    def of(self, texts: float, tokens: float) -> float:
        """The cost of so many texts of this mean length."""
        return texts * (self.fixed + tokens * self.token)


@dataclass(frozen=True)
class Costs:
    """Unit costs by name, as `scaling_costs.json` has them: CPU seconds, and bytes."""

    seconds: Mapping[str, Line]
    bytes: Mapping[str, Line]

    @classmethod
    def read(cls, told: Mapping[str, Any]) -> Costs:
        """From the measured figures."""
        return cls(*(
            {name: Line(one["fixed"], one["token"]) for name, one in told[kind].items()}
            for kind in ("seconds", "bytes")
        ))  # fmt: skip


@dataclass(frozen=True)
class System:
    """What is evaluated: an encoder with `dim` dimensions whose cost has its name, or bm25 (no dimensions).
    `parameters` are those that a token is multiplied with, without the embedding table; it reads `limit` tokens."""

    name: str
    dim: int = 0
    parameters: float = 0.0
    limit: float = math.inf


WORDLLAMA, MINILM, BM25 = System("wordllama", 256), System("minilm", 384, 10.6e6, 256), System("bm25")


@dataclass(frozen=True)
class Card:
    """A GPU: its peak in float32 products and sums a second, and the share of it that an encoder of this size reaches:
    what `bench_gpu.py` found on that card, for texts of 28 tokens."""

    name: str = "an H200"
    peak: float = 50.7e12
    share: float = 0.2


@dataclass(frozen=True)
class Prices:
    """Examples, of the month `at`, in US dollars: of an hour of one core, of an hour of one card, of a GB of disk for a
    month, of a million tokens that a language model writes."""

    cpu_hour: float = 0.045
    gpu_hour: float = 2.5
    gb_month: float = 0.09
    million_tokens: float = 0.4
    at: str = "November 2026"


@dataclass(frozen=True)
class Estimate:
    """One system on one workload: CPU seconds by part, bytes, and how far the work can be spread: `tasks` of equal
    size; `alone` are the CPU seconds that one process does by itself."""

    parts: Mapping[str, float]
    memory: float = 0.0
    disk: float = 0.0
    tasks: int = 1
    alone: float = 0.0
    texts: int = 0
    tokens: float = 0.0

    @property
    def seconds(self) -> float:
        """CPU seconds of all parts."""
        return sum(self.parts.values())


def retrieval(costs: Costs, corpus: Corpus, system: System) -> Estimate:
    """SAGE task 5 of one system on one corpus: as many versions of every document as the corpus has, searched."""
    texts, tokens, cost = corpus.texts, corpus.tokens * corpus.mean, costs.seconds
    parts = {
        "start": cost[f"run_{system.name}"].fixed,
        "read": cost["document"].of(corpus.documents, corpus.tokens),
        "edit": cost["edit"].of(texts, tokens),
    }
    if system.dim:
        parts |= _encoded(costs, texts, tokens, system)
        parts["search"] = cost["search"].fixed * texts * corpus.queries * system.dim
    else:
        parts["tokenise"] = cost["tokenise"].of(texts, tokens)
        parts["index"] = cost["bm25_document"].of(texts, tokens)
        parts["search"] = cost["bm25_product"].fixed * texts * corpus.queries
    return Estimate(
        parts, memory(costs, corpus, system), disk(costs, corpus, system),
        corpus.versions * max(1, math.ceil(corpus.documents / SHARD)), parts["start"] + parts["read"],
        texts, texts * tokens,
    )  # fmt: skip


def references(costs: Costs, corpus: Corpus) -> Estimate:
    """The reference row `random`, which every run has once: it hashes every version and draws a number for each query
    and version. `constant` costs next to nothing."""
    cost, texts = costs.seconds, corpus.texts
    drawn = cost["random_product"].fixed * texts * corpus.queries
    made = cost["edit"].of(texts, corpus.tokens) + cost["random_text"].of(texts, corpus.tokens)
    return Estimate({"reference": made + drawn}, tasks=corpus.versions * max(1, math.ceil(corpus.documents / SHARD)))


def run(costs: Costs, corpus: Corpus, *systems: System) -> Estimate:
    """A whole run, one system after the other in one process: it starts once and reads once."""
    done = [retrieval(costs, corpus, system) for system in systems]
    all_ = together([*done, references(costs, corpus)])
    again = sum(one.alone for one in done[1:])
    parts = {**all_.parts, "start": done[0].parts["start"], "read": done[0].parts["read"]}
    own = disk(costs, corpus)
    return replace(
        all_, parts=parts, alone=all_.alone - again, memory=memory(costs, corpus, *systems), texts=corpus.texts,
        disk=all_.disk - (len(systems) - 1) * own,
    )  # fmt: skip


def _encoded(costs: Costs, texts: float, tokens: float, system: System) -> dict[str, float]:
    cost, wider = costs.seconds, system.dim / COST_DIM
    keep = Line(cost["keep"].fixed * wider, cost["keep"].token)
    return {"encode": cost[system.name].of(texts, min(tokens, system.limit)), "cache": keep.of(texts, tokens)}


def memory(costs: Costs, corpus: Corpus, *systems: System) -> float:
    """The most that a process holds. What the systems load stays, so does what a corpus in memory took; of their shards
    the largest counts."""
    room, rows = costs.bytes, min(SHARD, corpus.documents)
    bare = room["base_constant"].fixed
    loaded = bare + sum(max(0.0, room[f"base_{one.name}"].fixed - bare) for one in systems)
    held = room["held"].of(corpus.documents if is_held(corpus) else 0, corpus.tokens)
    return loaded + held + max(_shard(costs, corpus, rows, one) for one in systems)


def _shard(costs: Costs, corpus: Corpus, rows: int, system: System) -> float:
    """A shard of `rows` documents: measured with the corpus held, which is taken off."""
    held = costs.bytes["held"]
    name = "shard_wordllama" if system.dim else "shard_bm25"
    whole, wider = costs.bytes[name], (system.dim or COST_DIM) / COST_DIM
    own = Line((whole.fixed - held.fixed) * wider, whole.token - held.token).of(rows, corpus.tokens * corpus.longest)
    return max(0.0, own) + (0 if system.dim else min(SPOOLED, postings(costs, corpus)))


def is_held(corpus: Corpus) -> bool:
    """Whether it stays in memory."""
    return corpus.documents * corpus.tokens * corpus.letters <= HELD


def disk(costs: Costs, corpus: Corpus, *systems: System) -> float:
    """The corpus as JSON Lines, the texts that a run keeps or the file of a large corpus, what a run writes anyway, the
    embeddings, and bm25's scratch file while it works."""
    room, text = costs.bytes, corpus.documents * corpus.tokens * corpus.letters
    own = text + room["line"].fixed * corpus.documents + room["run"].fixed + room["query"].fixed * corpus.queries
    own += room["kept"].of(corpus.documents, corpus.tokens) if is_held(corpus) else text + IDS * corpus.documents
    kept = sum(_kept(costs, corpus.texts, one) for one in systems)
    scratch = 0.0 if all(one.dim for one in systems) else postings(costs, corpus)
    return own + kept + (scratch if scratch > SPOOLED else 0.0)


def postings(costs: Costs, corpus: Corpus) -> float:
    """Bytes of what bm25 keeps of all versions between its two passes; the terms of more queries, by the logarithm of
    their number, are in more documents."""
    few, many = (costs.bytes[f"posting_{asked}"].of(corpus.texts, corpus.tokens * corpus.mean) for asked in ASKED)
    share = math.log(max(1, corpus.queries) / ASKED[0]) / math.log(ASKED[1] / ASKED[0])
    return max(0.0, few + (many - few) * share)


def _kept(costs: Costs, texts: float, system: System) -> float:
    return texts * (4 * system.dim + costs.bytes["cache"].fixed) if system.dim else 0.0


def compared(costs: Costs, pairs: Pairs, system: System) -> Estimate:
    """Documents compared with their versions: SAGE tasks 1 to 3, and what PTEB and HUME encode."""
    texts, tokens, cost = pairs.texts, pairs.tokens, costs.seconds
    parts = {"edit": cost["edit"].of(texts - pairs.documents, tokens)}
    if system.dim:
        parts |= _encoded(costs, texts, tokens, system)
    else:
        parts["tokenise"] = cost["tokenise"].of(texts, tokens)
        parts["index"] = cost["bm25_document"].of(texts, tokens)
    kept = _kept(costs, texts, system)
    held = costs.bytes[f"base_{system.name}"].fixed
    return Estimate(parts, held, kept, max(1, texts // SHARD), texts=texts, tokens=texts * tokens)


def clustered(costs: Costs, sets: Sets, system: System) -> Estimate:
    """Complete linkage of every set, from vectors of `dim` dimensions; of bm25 at most 2,000 texts a set."""
    size = sets.size if system.dim else min(sets.size, 2_000)
    texts, cost = size * sets.sets, costs.seconds
    pairs = sets.sets * size * size / 2
    if system.dim:
        parts = _encoded(costs, texts, sets.tokens, system)
        parts["distances"] = pairs * 2 * system.dim * cost["distance"].fixed
    else:
        parts = {"tokenise": cost["tokenise"].of(texts, sets.tokens)}
        parts["distances"] = pairs * 2 * cost["bm25_product"].fixed
    parts["linkage"] = pairs * cost["linkage"].fixed
    kept = _kept(costs, texts, system)
    held = costs.bytes[f"base_{system.name}"].fixed + 4 * size * (size / 2 + 3 * system.dim)
    return Estimate(parts, held, kept, sets.sets, texts=texts, tokens=texts * sets.tokens)


def together(estimates: Iterable[Estimate]) -> Estimate:
    """One after another: times and disk add up, memory is that of the largest."""
    all_, parts = list(estimates), dict[str, float]()
    for one in all_:
        for name, seconds in one.parts.items():
            parts[name] = parts.get(name, 0.0) + seconds
    return Estimate(
        parts, max(one.memory for one in all_), sum(one.disk for one in all_),
        sum(one.tasks for one in all_), sum(one.alone for one in all_),
        sum(one.texts for one in all_), sum(one.tokens for one in all_),
    )  # fmt: skip


@dataclass(frozen=True)
class Cluster:
    """Nodes of `cores`, the same speed as the core the costs were measured on, and cards in all."""

    nodes: int
    cores: int = 16
    cards: int = 0
    card: Card = field(default_factory=Card)

    @property
    def all_cores(self) -> int:
        """Of all nodes."""
        return self.nodes * self.cores


@dataclass(frozen=True)
class Bill:
    """What a workload takes on a cluster: hours from start to end, and dollars by kind."""

    hours: float
    compute: float
    disk: float

    @property
    def dollars(self) -> float:
        """In all, the disk for a month."""
        return self.compute + self.disk


def bill(estimate: Estimate, cluster: Cluster, prices: Prices, system: System | None = None) -> Bill:
    """On a cluster with cards, `system` is encoded there, and the cores do the rest at the same time.

    The last round of tasks may leave cores idle; what one process does alone comes first. Nodes are paid for from the
    start to the end, idle or not.
    """
    spread = estimate.seconds - estimate.alone
    carded = 0.0
    if cluster.cards and system is not None and system.parameters:
        spread -= estimate.parts.get("encode", 0.0)
        speed = cluster.cards * cluster.card.peak * cluster.card.share
        carded = 2 * system.parameters * estimate.tokens / speed
    rounds = math.ceil(estimate.tasks / cluster.all_cores)
    hours = (estimate.alone + max(rounds * spread / estimate.tasks, carded)) / 3600
    compute = hours * (cluster.all_cores * prices.cpu_hour + cluster.cards * prices.gpu_hour)
    return Bill(hours, compute, estimate.disk / 1e9 * prices.gb_month)


def knee(estimate: Estimate, nodes: Iterable[int], prices: Prices, cores: int = 16, gain: float = 1.6) -> int:
    """The largest number of nodes of those (each twice the one before) to which doubling still made the work `gain`
    times faster."""
    best, last = 1, math.inf
    for number in nodes:
        hours = bill(estimate, Cluster(number, cores), prices).hours
        if last / hours < gain:
            break
        best, last = number, hours
    return best
