"""The table of known models: it reads, its rows are possible, and names find them."""

from __future__ import annotations

import re

import pytest

from embassay.systems.models import find_known_model, list_known_models

MODELS = list_known_models()


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_a_row_is_possible(model):
    """Sizes and prices are positive, a price has its day, and every row says where it is from."""
    prices = (model.usd_per_million_input, model.usd_per_million_output, model.usd_per_thousand_searches)
    sizes = (model.dims, model.context, *model.dimensions)
    assert all(value is None or value > 0 for value in (*prices, *sizes))
    if any(price is not None for price in prices):
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", model.priced_on)
    assert model.source
    assert model.vendor


def test_names_are_unique():
    """No two rows share a name or an alias, whatever the case."""
    names = [name.lower() for model in MODELS for name in (model.name, *model.aliases)]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("text-embedding-3-small", "text-embedding-3-small"),
        ("multilingual-e5-small", "intfloat/multilingual-e5-small"),
        ("INTFLOAT/multilingual-E5-small", "intfloat/multilingual-e5-small"),
        ("nomic-embed-text", "nomic-ai/nomic-embed-text-v1.5"),
        ("gpt-4o-mini-2024-07-18", "gpt-4o-mini"),
    ],
)
def test_a_name_finds_its_model(name, found):
    """Full, short, alias, in any case."""
    assert find_known_model(name).name == found


@pytest.mark.parametrize("name", ["", "someone/bge-base-en-v1.5", "gpt-4o-2024-05-13", "text-embedding"])
def test_other_names_find_nothing(name):
    """Another owner's model of the same name may be tuned otherwise; an older snapshot has another price."""
    assert find_known_model(name) is None


def test_prompts_by_role():
    """E5 wants one for each role; OpenAI's models none."""
    model = find_known_model("intfloat/e5-base-v2")
    assert [model.find_role_prompt(role) for role in ("query", "document", None)] == ["query: ", "passage: ", "query: "]
    assert find_known_model("text-embedding-3-large").find_role_prompt("query") is None
