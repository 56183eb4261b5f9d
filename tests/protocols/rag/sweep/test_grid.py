"""Combinations: all that make sense, each once, and a reason for those that do not."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import UsageError
from embassay.protocols.rag.sweep.config import SweepRequest, parse_sweep_request
from embassay.protocols.rag.sweep.grid import make_configuration_grid
from embassay.protocols.rag.sweep.stacks import StackConfiguration
from embassay.systems import add_dims_to_spec

DIMS = {"a": 256, "b": 384}


def test_every_mode_with_every_reranker():
    """Where no mode speaks of reranking, the axes are crossed."""
    found = make_configuration_grid(
        SweepRequest((), ("a", "b"), dims=(64, 128, None), index=("flat", "pq"), k=(50, 100),
                     reranker=("none", "x"), mode=("dense", "hybrid")),
        DIMS,
    )  # fmt: skip
    assert len(found.wanted) == 2 * 3 * 2 * 2 * 2 * 2
    assert not found.senseless


def test_modes_that_speak_of_reranking():
    """A plain mode takes none, the others need one; what is left out has a reason."""
    found = make_configuration_grid(
        SweepRequest((), ("a",), reranker=("none", "x", "y"), mode=("dense", "hybrid+rerank")), DIMS
    )
    assert [(one.mode, one.reranker) for one in found.wanted] == [("dense", "none"), ("hybrid", "x"), ("hybrid", "y")]
    reasons = {(one.mode, one.reranker): why for one, why in found.senseless.items()}
    assert reasons.keys() == {("dense", "x"), ("dense", "y"), ("hybrid", "none")}
    assert "uses no reranker" in reasons["dense", "x"]
    assert "needs a reranker" in reasons["hybrid", "none"]


def test_both_kinds_of_a_mode_leave_nothing_out():
    """`dense` and `dense+rerank` are the stacks without and with."""
    found = make_configuration_grid(SweepRequest((), ("a",), reranker=("x",), mode=("dense", "dense+rerank")), DIMS)
    assert [(one.mode, one.reranker) for one in found.wanted] == [("dense", "none"), ("dense", "x")]
    assert not found.senseless


def test_dimensions_that_an_encoder_has_not():
    """All of them are `full` by another name, more are left out for that encoder alone."""
    found = make_configuration_grid(SweepRequest((), ("a", "b"), dims=(256, 384, None)), DIMS)
    assert [(one.encoder, one.dims) for one in found.wanted] == [("a", None), ("b", 256), ("b", None)]
    assert list(found.senseless.values()) == ["a has 256 dimensions"]


def test_more_dimensions_are_had_from_a_model_that_has_a_parameter_for_them():
    """Not cut from its usual vectors, which have fewer; a size that it was not trained for is left out."""
    request = SweepRequest((), ("voyage:voyage-3-large",), dims=(512, 1024, 2048, 3000))
    found = make_configuration_grid(request, {"voyage:voyage-3-large": 1024}, add_dims_to_spec)
    assert [one.dims for one in found.wanted] == [512, None, 2048]
    assert list(found.senseless.values()) == ["voyage:voyage-3-large has 1024 dimensions"]


def test_a_boost_needs_a_reranker():
    """There is nothing to add it to."""
    found = make_configuration_grid(SweepRequest((), ("a",), reranker=("none", "x"), boost=(0.0, 0.5)), DIMS)
    assert [(one.reranker, one.boost) for one in found.wanted] == [("none", 0.0), ("x", 0.0), ("x", 0.5)]
    assert "boost" in next(iter(found.senseless.values()))


def test_nothing_left_is_an_error():
    """Before anything is computed."""
    with pytest.raises(UsageError, match=r"No combination.*has 256 dimensions"):
        make_configuration_grid(SweepRequest((), ("a",), dims=(512,)), DIMS)


@given(
    st.sets(st.sampled_from(["dense", "hybrid", "dense+rerank", "hybrid+rerank"]), min_size=1),
    st.sets(st.sampled_from(["none", "x", "y"]), min_size=1),
    st.sets(st.integers(1, 400), min_size=1, max_size=3),
)
def test_wanted_and_senseless_are_apart(modes, rerankers, dims):
    """No combination is in both, and every plain product of the axes is in one of them."""
    request = SweepRequest(
        (), ("a", "b"), dims=tuple(sorted(dims)), mode=tuple(sorted(modes)), reranker=tuple(sorted(rerankers))
    )
    try:
        found = make_configuration_grid(request, DIMS)
    except UsageError:
        return
    assert not set(found.wanted) & set(found.senseless)
    assert len(set(found.wanted)) == len(found.wanted)
    seen = set(found.wanted) | set(found.senseless)
    for encoder, size, mode, reranker in product(request.encoder, request.dims, modes, rerankers):
        if mode.endswith("+rerank") and reranker == "none" and rerankers != {"none"}:
            continue
        kept = None if size == DIMS[encoder] else size
        assert StackConfiguration(encoder, kept, reranker=reranker, mode=mode.partition("+")[0]) in seen


def test_words_alone_are_one_stack_whatever_the_encoders():
    """Without encoder, dimensions and index; with a reranker and without; beside dense ones, or by themselves."""
    request = parse_sweep_request({
        "datasets": "sample", "encoder": ["wordllama", "minilm"], "dims": [64, "full"], "index": ["flat", "hnsw-f32"],
        "mode": ["dense", "sparse"], "reranker": ["none", "overlap"], "k": [10, 20], "chunk": ["none", "200"],
    })  # fmt: skip
    found = [
        one
        for one in make_configuration_grid(request, {"wordllama": 256, "minilm": 384}).wanted
        if one.mode == "sparse"
    ]
    assert len(found) == 2 * 2 * 2
    assert {(one.encoder, one.dims, one.index) for one in found} == {("bm25", None, "none")}
    assert found[0].id == "bm25/k10/sparse"
    alone = parse_sweep_request({"datasets": "sample", "mode": ["sparse", "sparse+rerank"], "reranker": "overlap"})
    assert [one.id for one in make_configuration_grid(alone, {}).wanted] == [
        "bm25/k50/sparse",
        "bm25/k50/sparse/overlap",
    ]
    with pytest.raises(UsageError, match="'encoder' is missing"):
        parse_sweep_request({"datasets": "sample", "mode": ["sparse", "hybrid"]})
