"""What the schema of a config cannot see: names that nothing is called by, and values that do not go together."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from embassay.data.rows import nearest
from embassay.errors import UsageError
from embassay.protocols.rag.rewriting import REWRITERS
from embassay.protocols.rag.scoring.measured import asked
from embassay.protocols.rag.sweep.configuration import NONE
from embassay.protocols.rag.sweep.measured import Rules
from embassay.protocols.rag.sweep.request import DatasetEntry, Latency, Prices, SweepRequest
from embassay.protocols.rag.tradeoffs.efficiency import WEIGHTS
from embassay.registry import Registry
from embassay.search.indexes import INDEXES
from embassay.systems import SYSTEMS
from embassay.systems.rerankers import RERANKERS
from embassay.systems.transforms import PARAMETERS
from embassay.text import TOKENIZERS

if TYPE_CHECKING:
    from embassay.protocols.rag.sweep.config import SweepFile

At = Callable[..., AbstractContextManager[None]]
_CHUNK = re.compile(r"([1-9][0-9]*)(?:\+([0-9]+))?")


def checked(file: SweepFile, base: Path, at: At) -> SweepRequest:
    """The request of a file whose keys and types are right. UsageError for a name that is none, with the nearest."""
    names = {
        "encoder": _names(file.encoder, SYSTEMS, "encoder", at, PARAMETERS),
        "index": _names(file.index, INDEXES, "index", at),
        "reranker": _names(file.reranker, RERANKERS, "reranker", at),
        "rewrite": _names(file.rewrite, REWRITERS, "rewrite", at),
    }
    for position, one in enumerate(names["encoder"]):
        with at("encoder", position):
            _check_encoder(one)
    for position, text in enumerate(file.chunk):
        with at("chunk", position):
            chunk_size(text)
    with at("tokenizer"):
        TOKENIZERS.get(TOKENIZERS.parse(file.tokenizer).name)
    with at("measures"):
        measures = _measures(file.measures, file.cutoffs)
    with at("rules"):
        rules = _rules(file, measures)
    with at("prices"):
        prices = _prices(file, names)
    # "identity" is the rewriter that does nothing.
    rewrite = [NONE if one == "identity" else one for one in names["rewrite"]]
    return SweepRequest(
        datasets=tuple(_dataset(one) for one in file.datasets),
        encoder=_once(names["encoder"]), dims=_once(file.dims), index=_once(names["index"]), k=_once(file.k),
        reranker=_once(names["reranker"]), mode=_once(file.mode), rewrite=_once(rewrite),
        deduplicate=_once(file.deduplicate), boost=_once(file.boost), chunk=_once(file.chunk),
        queries=file.queries, depth=file.depth, rrf_c=file.rrf_c, measures=measures,
        latency=Latency(**file.latency.model_dump()), tokenizer=file.tokenizer, seed=file.seed,
        rules=rules, prices=prices, base=base,
    )  # fmt: skip


def chunk_size(text: str) -> tuple[int, int] | None:
    """Tokens of a chunk and of its overlap; None for whole documents. UsageError for what is neither.

    >>> chunk_size("none"), chunk_size("200"), chunk_size("430+70")
    (None, (200, 0), (430, 70))
    """
    if text == NONE:
        return None
    found = _CHUNK.fullmatch(text)
    size, overlap = (int(found[1]), int(found[2] or 0)) if found else (0, 0)
    if not found or overlap > size // 2:
        raise UsageError(
            f"The chunk {text!r} is none.",
            mend="Write none, a number of tokens (200), or with overlap (430+70).",
        )
    return size, overlap


def with_rules(request: SweepRequest, **given: Any) -> SweepRequest:
    """The request with those rules replaced that are given (not None)."""
    return replace(request, rules=replace(request.rules, **{k: v for k, v in given.items() if v is not None}))


def _once(values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(values))


def _names(
    given: Sequence[str], registry: Registry[Any], axis: str, at: At, also: Sequence[str] = ()
) -> list[str]:
    """Canonical spec strings, `none` as it is; their parameters are checked by name."""
    found = []
    for position, text in enumerate(given):
        if text == NONE and axis in ("reranker", "rewrite"):
            found.append(NONE)
            continue
        with at(axis, position):
            found.append(_canonical(text, registry, also))
    return found


def _canonical(text: str, registry: Registry[Any], also: Sequence[str]) -> str:
    spec = registry.parse(text)
    known = (*registry.parameters(spec.name), *also)
    if "parameters" not in known and not dict(registry.get(spec.name).facts).get("open"):
        for name in spec.params:
            if name not in known:
                near = nearest(name, known)
                raise UsageError(
                    f"The {registry.kind} {spec.name!r} has no parameter {name!r}.",
                    mend=f"Did you mean {near}?" if near else "Leave it out.",
                )
    return registry.format(spec)


def _check_encoder(text: str) -> None:
    kind = dict(SYSTEMS.get(SYSTEMS.parse(text).name).facts).get("kind", "embedding")
    if kind != "embedding":
        raise UsageError(
            f"{text!r} makes no vectors, so it is no encoder.",
            mend="Name an encoder: wordllama, minilm, st:ORG/MODEL, openai:NAME ...; words are mode: hybrid.",
        )


def _measures(names: Sequence[str], cutoffs: Sequence[int]) -> tuple[str, ...]:
    """Measures at their cutoffs; those that need more than grades and a ranking are refused."""
    ordered = [name for k in cutoffs for name in names if "@" not in name for name in [f"{name}@{k}"]]
    found = asked([*ordered, *(name for name in names if "@" in name)], cutoffs, answers=False)
    for one in found:
        if len(one.parts) != 1 or one.facts.family == "ceiling" or one.needs_sources:
            raise UsageError(
                f"{one.name} is not measured in a sweep.",
                mend="Ceilings (PROC) come by themselves; name measures of grades and rankings.",
            )
    return tuple(one.name for one in found)


def _weights(weights: Mapping[str, float], measures: Sequence[str]) -> Mapping[str, float]:
    """The weights of the average performance; those of the source may name what is not measured: then there is none."""
    unknown = [name for name in weights if name not in measures]
    if weights == WEIGHTS or (not unknown and sum(weights.values()) > 0):
        return weights
    if not unknown:
        raise UsageError("The weights of efficiency have no sum.", mend="Give one above 0.")
    raise UsageError(
        f"efficiency weighs {unknown[0]!r}, which is not measured.",
        mend=f"Measured are {', '.join(measures)}.",
    )


def _rules(file: SweepFile, measures: Sequence[str]) -> Rules:
    weights = _weights(file.rules.efficiency, measures)
    rules = Rules(**{**file.rules.model_dump(), "slos_ms": tuple(file.rules.slos_ms), "efficiency": weights})
    if rules.measure not in measures:
        near = nearest(rules.measure, measures)
        raise UsageError(
            f"The measure that decides, {rules.measure!r}, is not measured.",
            mend=(f"Did you mean {near!r}? " if near else "") + f"Measured are {', '.join(measures)}.",
        )
    if asked([rules.measure], (), answers=False)[0].facts.direction != "higher":
        raise UsageError(
            f"A lower {rules.measure} is better, so it cannot decide.",
            mend="Choose one where higher is better.",
        )
    return rules


def _prices(file: SweepFile, names: Mapping[str, Sequence[str]]) -> Prices:
    """The prices by canonical names of the axes; a name that is on no axis is an error."""
    parts = {}
    for part, registry, axis in (("rerank", RERANKERS, "reranker"), ("embed", SYSTEMS, "encoder")):
        given: Mapping[str, float] = getattr(file.prices, part)
        parts[part] = {_on_axis(name, registry, names[axis], axis): usd for name, usd in given.items()}
    return Prices(file.prices.date, parts["rerank"], parts["embed"], file.prices.generator)


def _on_axis(name: str, registry: Registry[Any], axis: Sequence[str], title: str) -> str:
    text = registry.format(registry.style.parse(name))
    if text not in axis:
        near = nearest(text, axis)
        raise UsageError(
            f"There is a price for {name!r}, which is no {title} of the sweep.",
            mend=f"Did you mean {near!r}?" if near else f"Those are {', '.join(axis)}.",
        )
    return text


def _dataset(given: Any) -> DatasetEntry:
    if isinstance(given, str):
        return DatasetEntry(given)
    return DatasetEntry(given.path, given.map, given.split, given.grades, given.exclude_self)
