"""What stacks cost: the spec's tables, and where prices are from."""

from dataclasses import replace

import pytest

from embassay.errors import UsageError
from embassay.protocols.rag.sweep.config import PriceSettings, SweepRequest
from embassay.protocols.rag.sweep.grid import make_price_list
from embassay.protocols.rag.sweep.stacks import StackConfiguration

ONE = StackConfiguration("wordllama", reranker="overlap", k=50)


def _list(**axes):
    return make_price_list(SweepRequest((), **{"encoder": ("wordllama",), **axes}))


def test_the_spec_s_costs():
    """K=50 at 500 tokens and 0.05 a million: 1.25 per 1,000 queries; K=10 to a generator at 1.25: 6.25."""
    prices = _list(
        reranker=("none", "overlap"), prices=PriceSettings("2025-11-30", {"overlap": 0.05}, {"wordllama": 0.1}, 1.25)
    )
    usd = prices.usd(ONE, reranked=50, tokens=500, query=20, passage=500, passages=10)
    assert usd == pytest.approx({"rerank": 1.25, "embed": 0.002, "generate": 6.25})
    fewer = prices.usd(ONE, reranked=37.5, tokens=500, query=20, passage=500, passages=100)
    assert fewer["rerank"] == pytest.approx(0.9375)
    assert fewer["generate"] == pytest.approx(31.25)
    assert prices.date == "2025-11-30"


def test_local_models_cost_nothing_and_known_ones_their_list_price():
    """The date is the table's where the config has none."""
    prices = _list(encoder=("wordllama", "openai:text-embedding-3-small"), reranker=("none", "overlap"))
    assert prices.tokens == {"wordllama": 0.0, "openai:text-embedding-3-small": 0.02, "overlap": 0.0}
    assert prices.date == "2025-09-01"
    assert prices.usd(replace(ONE, reranker="none"), reranked=50, tokens=500, query=9, passage=9, passages=1) == {
        "rerank": 0.0, "embed": 0.0,
    }  # fmt: skip


def test_a_reranker_charged_by_the_search():
    """A search covers a hundred documents."""
    prices = _list(reranker=("cohere:rerank-v3.5",))
    own = StackConfiguration("wordllama", reranker="cohere:rerank-v3.5")
    per_thousand = prices.searches["cohere:rerank-v3.5"]
    for reranked, searches in ((50, 1), (100, 1), (150, 2)):
        usd = prices.usd(own, reranked=reranked, tokens=500, query=9, passage=9, passages=1)
        assert usd["rerank"] == pytest.approx(per_thousand * searches)


def test_an_unknown_price_is_asked_for():
    """Before anything is sent; one in the spec or in the config answers."""
    name = "jina:nobody-knows-it"
    with pytest.raises(UsageError, match="price of 'jina:nobody-knows-it' is unknown") as caught:
        _list(reranker=(name,))
    assert "rerank" in caught.value.mend
    assert _list(reranker=(f"{name}?price=0.3",)).tokens[f"{name}?price=0.3"] == 0.3
    assert _list(reranker=(name,), prices=PriceSettings(rerank={name: 0.4})).tokens[name] == 0.4
