"""What the parts of a stack cost: prices of the config over those of the table of known models, local ones nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

from embassay.errors import UsageError
from embassay.protocols.rag.sweep.configuration import NONE, Configuration
from embassay.protocols.rag.sweep.request import SweepRequest
from embassay.protocols.rag.tradeoffs import generation_cost, reranking_cost
from embassay.registry import Registry
from embassay.systems import SYSTEMS
from embassay.systems.models import KnownModel, known_model
from embassay.systems.rerankers import RERANKERS

GENERATOR = "generator"
_SEARCH = 100
"""Documents that one search unit of a reranking service covers."""


@dataclass(frozen=True)
class PriceList:
    """US dollars per million tokens by name of part; of rerankers charged by the search, per 1,000 of these instead."""

    tokens: Mapping[str, float]
    searches: Mapping[str, float]
    date: str

    def usd(
        self,
        one: Configuration,
        *,
        reranked: float,
        tokens: float,
        query: float,
        passage: float,
        passages: int,
    ) -> dict[str, float]:
        """US dollars per 1,000 queries, by part: `reranked` candidates of `tokens` each (the query's own with them),
        queries of `query` tokens embedded, `passages` of `passage` tokens read by the generator. Spec rag 3.1."""
        usd = {"rerank": 0.0, "embed": query * 1000 * self.tokens.get(one.encoder, 0.0) / 1e6}
        if one.reranker in self.searches:
            usd["rerank"] = self.searches[one.reranker] * ceil(reranked / _SEARCH)
        elif one.reranker != NONE:
            # `reranking_cost` takes whole candidates, and near copies that were removed make the mean a fraction.
            usd["rerank"] = reranked * reranking_cost(1, tokens, self.tokens.get(one.reranker, 0.0))
        if GENERATOR in self.tokens:
            usd["generate"] = generation_cost(min(passages, one.k), passage, self.tokens[GENERATOR])
        return usd


def price_list(request: SweepRequest) -> PriceList:
    """The prices of a request's parts, and their date: the config's, else the latest of the table's that are used.

    UsageError for a model on a server whose price nobody has given.
    """
    tokens: dict[str, float] = {}
    searches: dict[str, float] = {}
    dates = [request.prices.date] if request.prices.date else []
    axes: tuple[tuple[Registry[Any], tuple[str, ...], Mapping[str, float], str], ...] = (
        (SYSTEMS, request.encoder, request.prices.embed, "embed"),
        (RERANKERS, request.reranker, request.prices.rerank, "rerank"),
    )
    for registry, names, given, part in axes:
        for name in names:
            if name == NONE:
                continue
            if name in given:
                tokens[name] = given[name]
                continue
            spec = registry.parse(name)
            own = spec.params.get("price")
            known = known_model(spec.target) or known_model(spec.target.partition(":")[2])
            if isinstance(own, int | float):
                tokens[name] = float(own)
            elif not asks_a_server(name, registry):
                tokens[name] = 0.0
            elif known is not None and known.usd_per_million_input is not None:
                tokens[name] = known.usd_per_million_input
                dates += _date(known)
            elif known is not None and part == "rerank" and known.usd_per_thousand_searches is not None:
                searches[name] = known.usd_per_thousand_searches
                dates += _date(known)
            else:
                raise UsageError(
                    f"The price of {name!r} is not known.",
                    mend=f"Give US dollars per million tokens: prices: {{{part}: {{{name!r}: 0.05}}}}.",
                )
    if request.prices.generator is not None:
        tokens[GENERATOR] = request.prices.generator
    return PriceList(tokens, searches, request.prices.date or max(dates, default=""))


def asks_a_server(name: str, registry: Registry[Any]) -> bool:
    """Whether what is called so asks a server that may charge for it; Ollama charges nothing."""
    spec = registry.parse(name)
    needs = dict(registry.get(spec.name).facts).get("needs", "")
    return "embassay[llm]" in needs and "ollama" not in (spec.name, spec.target.partition(":")[0])


def _date(known: KnownModel) -> list[str]:
    return [known.priced_on] if known.priced_on else []
