"""Exact search on a CUDA card, with the results of `exact_search` bit by bit.

Products in float16 say which vectors cannot be among the best; the rest are scored in float64, adding in the same order
as on the processor. What float16 may have lost is bounded, not guessed: how far each vector is from its rounded one is
measured, and the rest is the theory of rounding (Higham, Accuracy and Stability, section 3.1). So precision is a matter
of speed alone. torch's "cpu" is a card too, for tests.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import RankedCandidates
from embassay.errors import ModelError
from embassay.search.exact import SCORE_DECIMALS, cut_range_into_blocks

if TYPE_CHECKING:
    from torch import Tensor

Floats = NDArray[np.float32]

CELLS = 2**25
"""Products at once: 64 MiB."""
_FEWEST_CELLS = 2**18
_ROWS, _VALUES = 2**16, 2**26
_PAIR_VALUES = 2**24
_WORTH_QUERIES, _WORTH_PRODUCTS = 128, 2**22
_HALF = 2.0**-11
"""Unit roundoff of float16."""
_SUM = 2.0**-22
"""An addition in a tensor core, which cuts where float32 rounds and aligns to the largest summand: four times the unit
roundoff of float32."""
_TINY = 2.0**-23
"""More than what is lost below the smallest normal float16, in vectors of at most length 1."""
_UNIT = 10.0**-SCORE_DECIMALS
_LARGEST = float(np.finfo(np.float32).max)
_TURN = Lock()


def is_gpu_search_worthwhile(queries: int, vectors: int) -> bool:
    """Whether a search is enough work to carry the vectors to a card, which takes longer than the search there."""
    return queries >= _WORTH_QUERIES and queries * vectors >= _WORTH_PRODUCTS


def search_vectors_on_gpu(
    device: str, queries: Floats, vectors: Floats, before: RankedCandidates, offset: int = 0, *, cells: int = CELLS
) -> RankedCandidates | None:
    """The best k of `before` and of vectors (n, d), numbered from `offset`, for queries (q, d). None where even a small
    block is too large for the card's memory. ModelError for values that are not finite or too long."""
    import torch

    while cells >= _FEWEST_CELLS:
        try:
            return _search_blocks_on_gpu(queries, _load_blocks_on_gpu(device, vectors, cells), before, offset, cells)
        except torch.OutOfMemoryError:
            cells //= 4
        # Outside of the handler, which still holds what did not fit.
        torch.cuda.empty_cache()
    return None


class GpuResidentVectors:
    """Vectors (n, d) that stay on a card, for many searches."""

    def __init__(self, device: str, vectors: Floats, *, cells: int = CELLS) -> None:
        self._cells = cells
        self._blocks = list(_load_blocks_on_gpu(device, vectors, cells))

    def search(self, queries: Floats, k: int) -> RankedCandidates:
        """Search the resident vectors, as `exact_search` does."""
        none = RankedCandidates.make_empty_candidates(len(queries), k)
        return _search_blocks_on_gpu(queries, self._blocks, none, 0, self._cells)


@dataclass(frozen=True)
class _RoundedVectorBlock:
    """Vectors from number `first` on: as they are (n, d) float32, and over `scale`, a power of two, as float16. There
    none is longer than `longest`, which is at most about 1, nor further than `lost` from what it was rounded from."""

    rows: Tensor
    halves: Tensor
    first: int
    scale: float
    longest: float
    lost: float


@dataclass(frozen=True)
class _RoundedQueryBlock:
    """Queries as a `_RoundedVectorBlock` has vectors, but with a scale and bounds for each, (q,) float64."""

    rows: Tensor
    halves: Tensor
    scales: Tensor
    lengths: Tensor
    lost: Tensor

    def part(self, rows: slice) -> _RoundedQueryBlock:
        """Some of them."""
        fields = (self.rows, self.halves, self.scales, self.lengths, self.lost)
        return _RoundedQueryBlock(*(field[rows] for field in fields))


@dataclass(frozen=True)
class _BestCandidates:
    """The best so far of some queries (q, k): number and rounded score, -1 and -inf where there are fewer."""

    indices: Tensor
    scores: Tensor


def _load_blocks_on_gpu(device: str, vectors: Floats, cells: int) -> Iterator[_RoundedVectorBlock]:
    """The vectors on the card, one block at a time: read where they lie, once."""
    size = max(1, min(_ROWS, cells, _VALUES // max(1, vectors.shape[1])))
    for part in cut_range_into_blocks(len(vectors), size):
        rows = _move_vectors_to_gpu(vectors[part], device)
        scale = float(_choose_row_scales(rows).max(initial=0.0)) or 1.0
        halves, lengths, lost = _round_rows_and_measure_float16_error(rows, 1 / scale)
        yield _RoundedVectorBlock(rows, halves, part.start, scale, float(lengths.max()), float(lost.max()))


def _move_and_round_queries_on_gpu(device: Any, queries: Floats) -> _RoundedQueryBlock:
    import torch

    rows = _move_vectors_to_gpu(queries, device)
    scales = torch.from_numpy(_choose_row_scales(rows)).to(device)
    return _RoundedQueryBlock(rows, *_round_scaled_rows_to_float16(rows, scales))


def _round_scaled_rows_to_float16(rows: Tensor, scales: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    halves, lengths, lost = _round_rows_and_measure_float16_error(rows, (1 / scales).float()[:, None])
    return halves, scales, lengths, lost


def _move_vectors_to_gpu(vectors: Floats, device: Any) -> Tensor:
    import torch

    # A copy: torch takes no memory that cannot be written to.
    return torch.from_numpy(np.array(vectors, dtype=np.float32, order="C")).to(device)


def _choose_row_scales(rows: Tensor) -> NDArray[np.float64]:
    """For each row (n, d) a power of two that is at least its length. ModelError for values that are not finite."""
    import torch

    if not bool(torch.isfinite((rows * rows).sum(dim=1)).all()):
        raise ModelError("The vectors to search contain values that are not finite or overflow float32.")
    # From the largest value, since squares of small ones are zero; here, since a card's powers may be off by a digit.
    largest = rows.abs().amax(dim=1).cpu().numpy().astype(np.float64) * math.sqrt(rows.shape[1])
    exponents = np.clip(np.frexp(largest)[1], -100, 126)
    return np.asarray(np.ldexp(1.0, np.where(largest > 0, exponents, 0)))


def _round_rows_and_measure_float16_error(rows: Tensor, factor: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Rows times a power of two as float16, and for each, rounded up, its length there and how far it is from the
    float16: float64."""
    import torch

    scaled = rows * factor
    halves = scaled.half()
    # Differences of a float32 and its rounding to fewer digits are exact.
    slack = 1 + 2 * rows.shape[1] * float(torch.finfo(torch.float32).eps)
    lengths, lost = (values.square().sum(dim=1).double().sqrt() * slack for values in (scaled, scaled - halves.float()))
    return halves, lengths, lost + _TINY * _HALF


def _search_blocks_on_gpu(
    queries: Floats, stored: Iterable[_RoundedVectorBlock], before: RankedCandidates, offset: int, cells: int
) -> RankedCandidates:
    """Every block of vectors against every block of queries: a block is on the card once."""
    import torch

    asked: _RoundedQueryBlock | None = None
    best: list[_BestCandidates] = []
    parts: list[slice] = []
    for block in stored if len(queries) else ():
        if asked is None:
            asked = _move_and_round_queries_on_gpu(block.rows.device, queries)
            parts = list(cut_range_into_blocks(len(queries), max(1, cells // len(block.rows))))
            whole = _move_best_to_gpu(before, block.rows.device)
            best = [_BestCandidates(whole.indices[part], whole.scores[part]) for part in parts]
        _check_products_do_not_overflow(asked, block)
        best = [
            _update_best_from_block(asked.part(part), block, top, offset) for part, top in zip(parts, best, strict=True)
        ]
    if not best:
        return before
    indices, scores = (torch.cat([getattr(top, name) for top in best]) for name in ("indices", "scores"))
    return RankedCandidates(indices.cpu().numpy(), scores.cpu().numpy())


def _move_best_to_gpu(ranked: RankedCandidates, device: Any) -> _BestCandidates:
    import torch

    return _BestCandidates(*(torch.from_numpy(array.copy()).to(device) for array in (ranked.indices, ranked.scores)))


def _check_products_do_not_overflow(asked: _RoundedQueryBlock, block: _RoundedVectorBlock) -> None:
    longest = float((asked.lengths * asked.scales).max()) * block.longest * block.scale
    if longest > _LARGEST:
        raise ModelError("The vectors to search are too large: their products overflow float32.")


def _update_best_from_block(
    asked: _RoundedQueryBlock, block: _RoundedVectorBlock, best: _BestCandidates, offset: int
) -> _BestCandidates:
    """The best so far with what the block has that is better."""
    k = best.scores.shape[1]
    with _force_float32_sums():
        products = asked.halves @ block.halves.T
    scale = asked.scales * block.scale
    error = _bound_product_error(asked, block)
    floor = best.scores[:, -1]
    if products.shape[1] >= k and bool((floor == -math.inf).any()):
        # So many of this block are at least that good.
        kth = products.topk(k, dim=1).values[:, -1].double()
        floor = floor.maximum((kth - error) * scale - _UNIT)
    bars = (floor - _UNIT) / scale - error
    rows, columns = (products >= _round_down_to_float32(bars)[:, None]).nonzero(as_tuple=True)
    del products
    scores = _multiply_vector_pairs(asked.rows, rows, block.rows, columns)
    return _merge_best_candidates(best, rows, columns + (offset + block.first), scores)


def _bound_product_error(asked: _RoundedQueryBlock, block: _RoundedVectorBlock) -> Tensor:
    """A bound, for each query, on the distance of a float16 product from the true one, at the scale of both."""
    d = asked.rows.shape[1]
    inputs = asked.lost * block.longest + (asked.lengths + asked.lost) * block.lost
    sums = d * _SUM / (1 - d * _SUM)
    lengths = (asked.lengths + asked.lost) * (block.longest + block.lost)
    return (inputs + (sums + _HALF * (1 + sums)) * lengths) * (1 + 1e-9) + _TINY


def _round_down_to_float32(values: Tensor) -> Tensor:
    """The next float32 below each; of -inf itself."""
    import torch

    near = values.float()
    return torch.nextafter(near, torch.full_like(near, -math.inf))


def _multiply_vector_pairs(queries: Tensor, rows: Tensor, vectors: Tensor, columns: Tensor) -> Tensor:
    """The float64 product of each pair, rounded, in the order of `kernels.products_of_pairs`: eight sums, of every
    eighth product each. A product of two float32 is exact in float64, so the order of additions is all there is."""
    import torch

    d = queries.shape[1]
    whole = d - d % 8
    products = []
    for part in cut_range_into_blocks(len(rows), max(1, _PAIR_VALUES // max(1, d))):
        left, right = queries[rows[part]], vectors[columns[part]]
        sums = torch.zeros(len(left), 8, dtype=torch.float64, device=left.device)
        for j in range(0, whole, 8):
            sums = sums + left[:, j : j + 8].double() * right[:, j : j + 8].double()
        for j in range(whole, d):
            sums[:, 0] += left[:, j].double() * right[:, j].double()
        a, b, c, e, f, g, h, i = sums.unbind(dim=1)
        products.append(((a + b) + (c + e)) + ((f + g) + (h + i)))
    exact = torch.cat(products) if products else torch.empty(0, dtype=torch.float64, device=queries.device)
    # As numpy rounds; the zero takes away the sign of one. A card divides by a number as it multiplies by its inverse,
    # which ends in another digit one time in ten; by a tensor it divides.
    unit = torch.tensor(10.0**SCORE_DECIMALS, dtype=torch.float64, device=exact.device)
    return torch.round(exact * unit) / unit + 0.0


def _merge_best_candidates(best: _BestCandidates, rows: Tensor, indices: Tensor, scores: Tensor) -> _BestCandidates:
    """The best k of each query from the best so far and new pairs, ties to the lower index."""
    import torch

    q, k = best.scores.shape
    old = torch.arange(q, device=rows.device).repeat_interleave(k)
    rows = torch.cat([old, rows])
    indices = torch.cat([best.indices.flatten(), indices])
    scores = torch.cat([best.scores.flatten(), scores])
    # Three stable sorts, the most important last; what is none comes last by its score.
    order = indices.argsort(stable=True)
    order = order[scores[order].argsort(descending=True, stable=True)]
    order = order[rows[order].argsort(stable=True)]
    counts = torch.bincount(rows, minlength=q)
    starts = counts.cumsum(0) - counts
    chosen = order[starts[:, None] + torch.arange(k, device=rows.device)]
    return _BestCandidates(indices[chosen], scores[chosen])


@contextmanager
def _force_float32_sums() -> Iterator[None]:
    """Sums of float16 products are kept in float32 throughout, which torch does not promise by default."""
    import torch

    settings, names = torch.backends.cuda.matmul, (
        "allow_fp16_reduced_precision_reduction", "allow_fp16_accumulation"
    )  # fmt: skip
    with _TURN:
        # The settings hold for the whole process.
        before = {name: getattr(settings, name) for name in names if hasattr(settings, name)}
        try:
            for name in before:
                setattr(settings, name, False)
            yield
        finally:
            for name, value in before.items():
                setattr(settings, name, value)
