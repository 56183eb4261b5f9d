"""Every combination of the axes: those that are measured, and those that make no sense, with the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from embassay.errors import UsageError
from embassay.protocols.rag.sweep.configuration import NONE, Configuration
from embassay.protocols.rag.sweep.request import RERANK, SweepRequest


@dataclass(frozen=True)
class Grid:
    """`wanted` in the order of the axes, each once; `senseless` with the reason of each."""

    wanted: tuple[Configuration, ...]
    senseless: Mapping[Configuration, str]


Sized = Callable[[str, int | None], str]


def grid(request: SweepRequest, dims: Mapping[str, int | None], sized: Sized = lambda name, _: name) -> Grid:
    """All combinations of the request's axes; `dims` are those of each encoder, None where nobody knows yet. More of
    them are had from a model that has a parameter for it, of which `sized` then gives another spec string.

    Where a mode ends in `+rerank`, a mode that does not takes no reranker; else every reranker goes with every mode.
    UsageError where no combination is left. Source: spec rag 3.4.
    """
    wanted: dict[Configuration, None] = {}
    senseless: dict[Configuration, str] = {}
    for one, reason in _all(request, dims, sized):
        if reason:
            senseless.setdefault(one, reason)
        else:
            wanted[one] = None
    if not wanted:
        first, reason = next(iter(senseless.items()))
        raise UsageError(
            f"No combination of the axes makes sense; the first, {first.id}: {reason}.",
            mend="Change an axis.",
        )
    return Grid(tuple(wanted), {one: why for one, why in senseless.items() if one not in wanted})


def _all(
    request: SweepRequest, dims: Mapping[str, int | None], sized: Sized
) -> Iterator[tuple[Configuration, str]]:
    heads = product(request.chunk, request.rewrite, request.encoder, request.dims, request.index)
    tails = list(_tails(request))
    for chunk, rewrite, encoder, size, index in heads:
        whole = dims.get(encoder)
        kept = None if size == whole else size
        too_many = (
            f"{encoder} has {whole} dimensions"
            if kept is not None and whole is not None and kept > whole and sized(encoder, kept) == encoder
            else ""
        )
        for k, mode, reranker, deduplicate, boost, reason in tails:
            one = Configuration(
                encoder, kept, index, k, reranker, "hybrid" if mode.startswith("hybrid") else "dense",
                rewrite, deduplicate, boost, chunk,
            )  # fmt: skip
            yield one, too_many or reason


def _tails(request: SweepRequest) -> Iterator[tuple[int, str, str, float, float, str]]:
    """What is done with the index's answers, and why not."""
    split = any(mode.endswith(RERANK) for mode in request.mode)
    rerankers = tuple(dict.fromkeys((NONE, *request.reranker) if split else request.reranker))
    for k, mode, reranker in product(request.k, request.mode, rerankers):
        reason = ""
        if split and not mode.endswith(RERANK) and reranker != NONE:
            reason = f"the mode {mode} takes no reranker where another mode ends in {RERANK}"
        if mode.endswith(RERANK) and reranker == NONE:
            if NONE not in request.reranker and len(request.reranker) > 0:
                continue
            reason = f"the mode {mode} needs a reranker"
        for deduplicate, boost in product(request.deduplicate, request.boost):
            alone = "the boost is added to a reranker's scores, and there is none"
            why = reason or (alone if boost and reranker == NONE else "")
            yield k, mode, reranker, deduplicate, boost, why
