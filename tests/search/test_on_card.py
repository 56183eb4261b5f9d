"""Search on a card, against the processor's: the same code on torch's processor, and on a card where there is one."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.contracts import RankedCandidates
from embassay.errors import ModelError
from embassay.search import card as on_card
from embassay.search import exact, exact_search, exact_search_shards

pytestmark = pytest.mark.torch

DEVICES = ["cpu", "cuda"]


@pytest.fixture(autouse=True)
def torch(request):
    """Imported by the tests that need it, not by who only collects them."""
    found = pytest.importorskip("torch")
    device = getattr(request.node, "callspec", None) and request.node.callspec.params.get("device")
    if device == "cuda" and not found.cuda.is_available():
        pytest.skip("needs a card")
    return found


def nothing(queries: int, k: int) -> RankedCandidates:
    return RankedCandidates(np.full((queries, k), -1, dtype=np.int64), np.full((queries, k), -np.inf))


def same(found: RankedCandidates | None, expected: RankedCandidates) -> None:
    assert found is not None
    np.testing.assert_array_equal(found.indices, expected.indices)
    assert found.scores.tobytes() == expected.scores.tobytes()


def vectors(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    drawn = rng.standard_normal((n, d)).astype(np.float32)
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


@pytest.mark.parametrize("device", DEVICES)
@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.tuples(st.integers(0, 6), st.integers(0, 400), st.integers(1, 70)),
    k=st.integers(1, 30),
    cells=st.integers(1, 900),
    spread=st.sampled_from([0.0, 1e-7, 1e-4, 1e-2, 1.0]),
    scale=st.sampled_from([1e-12, 1e-3, 1.0, 127.0, 1e9]),
    cuts=st.lists(st.integers(0, 400), max_size=3),
)
def test_the_processors_results_bit_by_bit(device, seed, shape, k, cells, spread, scale, cuts):
    """Vectors of all lengths, hundreds that hardly differ, copies, zeros; any block; in shards."""
    rng = np.random.default_rng(seed)
    q, n, d = shape
    corpus = vectors(rng, 1, d) + spread * vectors(rng, n, d) * rng.exponential(2, (n, 1))
    corpus = (scale * corpus).astype(np.float32)
    if n:
        corpus[rng.integers(0, n, n // 4)] = corpus[0]
        corpus[rng.integers(0, n, n // 9)] = 0
    queries = (vectors(rng, q, d) * rng.exponential(3, (q, 1))).astype(np.float32)
    queries[: q // 3] = 0
    ends = [0, *sorted(min(cut, n) for cut in cuts), n]
    found = nothing(q, k)
    for start, end in pairwise(ends):
        found = on_card._search_blocks_on_gpu(
            queries, on_card._load_blocks_on_gpu(device, corpus[start:end], cells), found, start, cells
        )
    same(found, exact_search(queries, corpus, k))


@pytest.mark.parametrize("device", DEVICES)
def test_few_vectors_are_scored_in_full(device, monkeypatch):
    """Among 20,000 vectors as encoders make them, float16 leaves little for float64 to do, and loses nothing."""
    rng = np.random.default_rng(1)
    corpus, queries = vectors(rng, 20_000, 96), vectors(rng, 200, 96)
    scored, plain = [], on_card._multiply_vector_pairs

    def counted(queries, rows, vectors, columns):
        scored.append(len(rows))
        return plain(queries, rows, vectors, columns)

    monkeypatch.setattr(on_card, "_multiply_vector_pairs", counted)
    same(on_card.search_vectors_on_gpu(device, queries, corpus, nothing(200, 10)), exact_search(queries, corpus, 10))
    assert 200 * 10 <= sum(scored) < 3 * 200 * 10
    kept = on_card.GpuResidentVectors(device, corpus)
    same(kept.search(queries[:7], 10), exact_search(queries[:7], corpus, 10))
    same(kept.search(queries, 25), exact_search(queries, corpus, 25))


@given(seed=st.integers(0, 2**32 - 1), d=st.integers(1, 300), size=st.sampled_from([1e-9, 1e-3, 1.0, 3e4]))
def test_no_product_is_further_off_than_the_bound(seed, d, size):
    """Values of very different sizes, so that float16 loses much: the bound holds, and is no hundred times too wide."""
    rng = np.random.default_rng(seed)
    rows = (rng.standard_normal((40, d)) * rng.lognormal(0, 4, (40, d)) * size).astype(np.float32)
    block = next(on_card._load_blocks_on_gpu("cpu", rows[10:], 2**20))
    asked = on_card._move_and_round_queries_on_gpu("cpu", rows[:10])
    halves = (asked.halves @ block.halves.T).double().numpy() * (asked.scales.numpy()[:, None] * block.scale)
    true = rows[:10].astype(float) @ rows[10:].astype(float).T
    allowed = (on_card._bound_product_error(asked, block) * asked.scales * block.scale).numpy()
    off = np.abs(halves - true).max(axis=1)
    assert (off <= allowed).all()


def test_what_does_not_fit_is_tried_in_smaller_blocks(monkeypatch, torch):
    """Until it fits; where nothing does, the processor has to do it."""
    rng = np.random.default_rng(2)
    corpus, queries = vectors(rng, 900, 16), vectors(rng, 50, 16)
    plain, tried = on_card._update_best_from_block, []

    def small(asked, block, best, offset, most=10_000):
        tried.append(asked.rows.shape[0] * block.rows.shape[0])
        if tried[-1] > most:
            raise torch.OutOfMemoryError("no room")
        return plain(asked, block, best, offset)

    monkeypatch.setattr(on_card, "_FEWEST_CELLS", 100)
    monkeypatch.setattr(on_card, "_update_best_from_block", small)
    same(on_card.search_vectors_on_gpu("cpu", queries, corpus, nothing(50, 5)), exact_search(queries, corpus, 5))
    assert tried[0] == 45_000
    monkeypatch.setattr(on_card, "_update_best_from_block", lambda *given: small(*given, most=0))
    assert on_card.search_vectors_on_gpu("cpu", queries, corpus, nothing(50, 5)) is None


def test_exact_search_uses_the_card(monkeypatch):
    """Where there is one and the search is worth the way; a search that does not fit is done here."""
    rng = np.random.default_rng(3)
    corpus, queries = vectors(rng, 33_000, 8), vectors(rng, 130, 8)
    plain = exact_search(queries, corpus, 3)
    monkeypatch.setattr(exact, "choose_cuda_card", lambda: "cpu")
    used = []
    for answer in (on_card.search_vectors_on_gpu, lambda *_: None):
        monkeypatch.setattr(on_card, "search_vectors_on_gpu", lambda *given, do=answer: used.append(1) or do(*given))
        same(exact_search_shards(queries, [corpus[:40], corpus[40:]], 3), plain)
        same(exact_search(queries[:20], corpus, 3), exact_search_shards(queries[:20], [corpus], 3))
    assert len(used) == 2


@pytest.mark.parametrize(("bad", "said"), [(np.nan, "not finite"), (np.inf, "not finite"), (1e19, "overflow float32")])
def test_bad_values_are_refused_as_on_the_processor(bad, said):
    """In vectors as in queries."""
    good = np.ones((5, 4), np.float32)
    wrong = good.copy()
    wrong[3] = bad
    for queries, corpus in ((good * 1e19, wrong), (wrong, good * 1e19)):
        with pytest.raises(ModelError, match=said):
            on_card.search_vectors_on_gpu("cpu", queries, corpus, nothing(5, 1))


def test_torchs_settings_are_as_before(torch):
    """Sums in float32 are asked for during a product, and only then."""
    settings = torch.backends.cuda.matmul
    before = settings.allow_fp16_reduced_precision_reduction
    with on_card._force_float32_sums():
        assert not settings.allow_fp16_reduced_precision_reduction
    assert settings.allow_fp16_reduced_precision_reduction == before
