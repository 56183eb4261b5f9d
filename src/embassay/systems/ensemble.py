"""Several systems as one: a weighted mean of their similarities on one scale, or of their ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from itertools import combinations
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import CellPartExecutor, Kind, RankedCandidates, ShardedCorpusSearcher, Similarity
from embassay.errors import UsageError
from embassay.search import merge
from embassay.systems.cosine import find_encoder_part_with

Floats = NDArray[np.float64]
VERSION = 1
# Of Cormack, Clarke and Büttcher 2009, as everywhere.
_RRF = 60.0
_DEPTH = 100
"""Texts that each member finds for a query, at least."""
_SCALE = (
    "The bakery on the corner opens at six, and by eight the rolls are sold.",
    "Our train stood still for an hour because snow had blocked the points.",
    "She mixed sand and lime and filled the cracks in the garden wall.",
    "The council will vote on the new cycle path at the end of March.",
    "Bees find their way home by the sun, even when clouds cover it.",
    "He lost the match in the last minute, after leading for most of it.",
    "A small pump keeps the water in the tank moving through the filter.",
    "The violin was made in Cremona and has been repaired three times.",
    "Doctors advise drinking more on hot days, and not only when thirsty.",
    "The lease ends in autumn, and the rent may rise by four percent.",
    "Most of the island is grazed by sheep; its few trees stand by the harbour.",
    "The programme crashes when two users save the same file at once.",
    "Her first novel tells of a lighthouse keeper who cannot read.",
    "Potatoes keep for months in a dark cellar that stays above freezing.",
    "The judge found that the contract had never been signed.",
    "Two comets will be visible this winter, one of them without a telescope.",
)
"""Texts of which no two say the same: what a member gives them says where its scale begins and how wide it is."""
_SHARES = (0.25, 0.5, 0.75)


@dataclass(frozen=True)
class EnsembleMemberBaseline:
    """What a member gives texts that have nothing to do with each other (`mean`, `spread`), and, ascending, what it
    gives these and texts that share a part (`known`)."""

    mean: float
    spread: float
    known: Floats

    def standardise_similarities(self, similar: Floats) -> Floats:
        """So many spreads above the mean."""
        return np.asarray((similar - self.mean) / self.spread)

    def ranks(self, similar: Floats) -> Floats:
        """The share of known similarities below, from 0 to 1; 1 is above all of them."""
        places = (np.arange(len(self.known)) + 0.5) / len(self.known)
        inside = np.interp(similar, self.known, places)
        top = self.known[-1]
        # Beyond all that is known the rest of the way to 1 goes by the similarity itself.
        above = places[-1] + (1 - places[-1]) * (similar - top) / max(1 - top, 1e-9)
        return np.where(similar > top, np.minimum(above, 1), inside)


class SystemOpener(Protocol):
    """Opens a system by its spec string."""

    def __call__(self, spec: str, /) -> Similarity: ...


class SystemEnsemble(ShardedCorpusSearcher):
    """The members `target`, spec strings with + between them (their own ? and & written %3F and %26).

    `of=similarities`: each member's similarity is taken in spreads above what it gives unrelated texts, sixteen of
    ours; the mean of these by `weights` is scaled so that equal texts have 1, and unrelated ones 0 on average.
    `of=ranks`: each similarity is replaced by its rank among those of the sixteen texts and of mixtures of them. Both
    look at two texts alone, so that values of different calls can be compared.

    A search fuses what each member finds, 100 texts deep or ten times what is asked for: scores standardised for each
    query, or the sum of weight / (60 + rank) (reciprocal rank fusion); a text that a member does not find has its
    lowest score, or no share.

    UsageError for fewer than two members, weights that are not theirs, and a member behind a server, whose price a plan
    could not tell.
    """

    def __init__(
        self,
        target: str,
        *,
        opened: SystemOpener,
        weights: str | float = "",
        of: Literal["similarities", "ranks"] = "similarities",
        name: str = "",
    ) -> None:
        specs = [part for part in target.split("+") if part]
        if len(specs) < 2:
            raise UsageError("An ensemble needs two or more members.", mend="Write ensemble:minilm+bm25.")
        self.weights = _parse_ensemble_weights(str(weights), len(specs))
        self.members = [opened(spec) for spec in specs]
        for member in self.members:
            if find_encoder_part_with("price", getattr(member, "encoder", None)) is not None:
                raise UsageError(
                    f"{member.name!r} runs on a server, but an ensemble's members must run here.",
                    mend="Use members that run on this machine.",
                )
        self.of = of
        self.name = name or f"ensemble:{target}"

    @property
    def identity(self) -> str:
        """The members' identities, their weights, and how they are joined."""
        members = " + ".join(
            f"{weight:.15g}*({member.identity})" for weight, member in zip(self.weights, self.members, strict=True)
        )
        return f"ensemble/{VERSION} of={self.of} {members}"

    @property
    def kind(self) -> Kind:
        """The kind of the ensemble: embedding as soon as a member is one."""
        kinds = {member.kind for member in self.members}
        return "embedding" if "embedding" in kinds else "classical"

    @property
    def failures(self) -> Mapping[str, str]:
        """The failures so far: texts that some member could not read, with the reason."""
        failed: dict[str, str] = {}
        for member in self.members:
            failed |= getattr(member, "failures", {})
        return failed

    def pairs(self, a: Sequence[str], b: Sequence[str]) -> NDArray[np.float32]:
        """The members' similarities of `a[i]` and `b[i]` as one, (n,); 1 for equal texts."""
        joined = self._join_similarities([np.asarray(member.pairs(a, b), np.float64) for member in self.members])
        equal = np.array([x == y for x, y in zip(a, b, strict=True)], dtype=bool)
        joined[equal & ~np.isnan(joined)] = 1
        return joined.astype(np.float32)

    def distances(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """1 - the members' similarities as one, condensed, not below 0."""
        similar = (1 - np.asarray(member.distances(texts), np.float64) for member in self.members)
        return np.maximum(0, 1 - self._join_similarities(list(similar))).astype(np.float32)

    def search_shards(
        self, queries: Sequence[str], shards: Sequence[Sequence[str]], k: int, *, spread: CellPartExecutor | None = None
    ) -> Iterator[RankedCandidates]:
        """The k texts that the members find best together in each shard; scores are those of all shards as one
        corpus."""
        depth = max(_DEPTH, 10 * k)
        ranked = [
            list(_search_with_spread_if_accepted(member.search_shards, queries, shards, depth, spread))
            for member in self.members
        ]
        yield from self._fuse_member_rankings_by_shard(ranked, [len(shard) for shard in shards], k)

    def search_corpora(
        self,
        queries: Sequence[str],
        shards: Sequence[Sequence[str]],
        each: int,
        k: int,
        *,
        spread: CellPartExecutor | None = None,
    ) -> Iterator[RankedCandidates]:
        """`search` in each corpus, `each` shards in a row; then in all of them as one."""
        depth, sizes, n = max(_DEPTH, 10 * k), [len(shard) for shard in shards], len(shards)
        by_member: list[list[RankedCandidates]] = []
        for member in self.members:
            search: Any = getattr(member, "search_corpora", None)
            if search is not None:
                by_member.append(list(search(queries, shards, each, depth, spread=spread)))
            else:
                apart = list(_search_with_spread_if_accepted(member.search_shards, queries, shards, depth, spread))
                # Without statistics of a corpus, scores in one and in all of them are the same.
                by_member.append(apart + apart)
        for first in range(0, n, each):
            part = slice(first, first + each)
            yield from self._fuse_member_rankings_by_shard([ranked[part] for ranked in by_member], sizes[part], k)
        yield from self._fuse_member_rankings_by_shard([ranked[n:] for ranked in by_member], sizes, k)

    def _join_similarities(self, similar: Sequence[Floats]) -> Floats:
        """The members' similarities of the same pairs as one."""
        total, most = np.zeros_like(similar[0]), 0.0
        for weight, scale, values in zip(self.weights, self.member_scales, similar, strict=True):
            if self.of == "ranks":
                total += weight * scale.ranks(values)
                most += weight
            else:
                total += weight * scale.standardise_similarities(values)
                # What equal texts would have, so that they come to 1.
                most += weight * float(scale.standardise_similarities(np.ones(1))[0])
        return np.asarray(total / most)

    @cached_property
    def member_scales(self) -> list[EnsembleMemberBaseline]:
        """The members' scales, measured once. UsageError for a member to which all texts are alike."""
        return [_measure_member_similarity_baseline(member) for member in self.members]

    def _fuse_member_rankings_by_shard(
        self, found: Sequence[Sequence[RankedCandidates]], sizes: Sequence[int], k: int
    ) -> Iterator[RankedCandidates]:
        """The best k of each shard, from what each member found in it."""
        offsets = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64).tolist()
        depth = max(ranked.indices.shape[1] for member in found for ranked in member)
        # In places of all shards together, so that a query's documents are fused over all of them.
        whole = [merge(list(member), offsets, depth) for member in found]
        queries = [
            self._fuse_member_lists_of_query([(ranked.indices[row], ranked.scores[row]) for ranked in whole])
            for row in range(len(whole[0].indices))
        ]
        for offset, size in zip(offsets, sizes, strict=True):
            ranked = RankedCandidates.make_empty_candidates(len(queries), k)
            for row, (ids, values) in enumerate(queries):
                within = np.flatnonzero((ids >= offset) & (ids < offset + size))[:k]
                ranked.indices[row, : len(within)] = ids[within] - offset
                ranked.scores[row, : len(within)] = values[within]
            yield ranked

    def _fuse_member_lists_of_query(
        self, lists: Sequence[tuple[NDArray[np.int64], Floats]]
    ) -> tuple[NDArray[np.int64], Floats]:
        """What any member found for a query, best first, ties by index, with the fused scores."""
        filled = [(ids[ids >= 0], values[ids >= 0]) for ids, values in lists]
        ids = np.unique(np.concatenate([member_ids for member_ids, _ in filled]))
        total = np.zeros(len(ids))
        for weight, (member_ids, values) in zip(self.weights, filled, strict=True):
            if not len(member_ids):
                continue
            places = np.searchsorted(ids, member_ids)
            if self.of == "ranks":
                ranks = np.searchsorted(-values, -values)  # equal scores have equal ranks
                total[places] += weight / (_RRF + 1 + ranks)
                continue
            standard = (values - values.mean()) / (values.std() or 1.0)
            # What this member did not find lies below what it found, nobody knows how far.
            share = np.full(len(ids), standard[-1])
            share[places] = standard
            total += weight * share
        # Sums of the members' floats may differ in the last bits where the values are equal.
        total = np.round(total, 9)
        order = np.lexsort((ids, -total))
        return ids[order], total[order]


def _search_with_spread_if_accepted(
    search: Callable[..., Iterator[RankedCandidates]],
    queries: Sequence[str],
    shards: Any,
    k: int,
    spread: CellPartExecutor | None,
) -> Iterator[RankedCandidates]:
    # A system of another package may not know of machines to spread over.
    more = {"spread": spread} if "spread" in signature(search).parameters else {}
    return search(queries, shards, k, **more)


def _parse_ensemble_weights(text: str, members: int) -> tuple[float, ...]:
    """One positive number for each member; equal ones where none are given."""
    if not text:
        return (1.0,) * members
    try:
        numbers = tuple(float(part) for part in text.split(","))
    except ValueError:
        numbers = ()
    if len(numbers) != members or not all(0 < number < float("inf") for number in numbers):
        raise UsageError(
            f"weights={text} must be {members} positive numbers, one for each member.",
            mend=f"Write weights={','.join('1' * members)}.",
        )
    return numbers


def _splice_two_texts(text: list[str], other: list[str], share: float) -> str:
    """The first share of a text, and the rest of another."""
    place = round(share * len(text))
    return " ".join([*text[:place], *other[place:]])


def _measure_member_similarity_baseline(member: Similarity) -> EnsembleMemberBaseline:
    pairs = list(combinations(range(len(_SCALE)), 2))
    a = [_SCALE[i] for i, _ in pairs]
    b = [_SCALE[j] for _, j in pairs]
    mixed = [
        (text, _splice_two_texts(text.split(), other.split(), share))
        for text, other in zip(_SCALE, _SCALE[1:] + _SCALE[:1], strict=True)
        for share in _SHARES
    ]
    # One call, which ends with equal texts: a metric that is scaled within its batch has its whole range in it.
    similarities = member.pairs(
        [*a, *(one for one, _ in mixed), *_SCALE], [*b, *(other for _, other in mixed), *_SCALE]
    )
    similar = np.asarray(similarities, dtype=np.float64)
    unrelated = similar[: len(pairs)]
    spread = float(unrelated.std())
    if not spread > 0:
        raise UsageError(
            f"{member.name!r} finds all texts equally similar, so it adds nothing to an ensemble.", mend="Leave it out."
        )
    return EnsembleMemberBaseline(float(unrelated.mean()), spread, np.sort(similar[: len(pairs) + len(mixed)]))
