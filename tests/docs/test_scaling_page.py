"""docs/scaling.md, its evidence, the model behind it, and how far it was from whole runs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).parents[2]
COSTS = json.loads((ROOT / "benchmarks" / "scaling_costs.json").read_text("utf-8"))
CHECKS = json.loads((ROOT / "benchmarks" / "scaling_checks.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def model() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        import scaling_model

        yield scaling_model


@pytest.fixture(scope="module")
def costs(model: ModuleType) -> Any:
    return model.Costs.read(COSTS)


def test_the_page_is_what_its_generator_writes(model: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Costs, checks and the model are those of now, and nothing was left to fill in."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import scaling_page

    for path, text in zip((scaling_page.PAGE, scaling_page.EVIDENCE), scaling_page.written(), strict=True):
        assert path.read_text("utf-8") == text, "renew it: python benchmarks/scaling_page.py --write"
        assert "{{" not in text


@pytest.mark.parametrize("what", ["seconds", "memory", "disk"])
def test_the_model_is_within_a_quarter_of_whole_runs(what: str) -> None:
    """Of bm25 and of wordllama at two sizes at least 8 times apart, and of whatever else was run. The time of runs that
    were made before the costs were, on a machine less busy, is shown and not held to it."""
    sizes: dict[str, list[int]] = {}
    for one in CHECKS:
        if one["edits"] == "all" or what != "seconds":
            sizes.setdefault(one["system"], []).append(one["texts"])
            assert abs(one["predicted"][what] / one["measured"][what] - 1) < 0.25, one
    for system in ("bm25", "wordllama"):
        assert max(sizes[system]) >= 8 * min(sizes[system])


@given(
    documents=st.integers(1, 10**7), tokens=st.floats(1, 3000), queries=st.integers(1, 10_000),
    times=st.integers(2, 9), name=st.sampled_from(["BM25", "WORDLLAMA", "MINILM"]),
)  # fmt: skip
def test_time_and_disk_grow_with_the_corpus_and_memory_with_a_shard(
    model: Any, costs: Any, documents: int, tokens: float, queries: int, times: int, name: str
) -> None:
    """What a run costs by itself stays; the rest is proportional. A process never holds more than a full shard and a
    corpus that is just small enough to be held."""
    from scaling_workloads import Corpus

    system = getattr(model, name)
    one = Corpus("one", documents, tokens, queries)
    more = replace(one, documents=times * documents)
    small, large = (model.retrieval(costs, corpus, system) for corpus in (one, more))
    start = small.parts["start"]
    assert large.seconds - start == pytest.approx(times * (small.seconds - start))
    assert large.texts == times * small.texts == times * 19 * documents
    kept = [found.disk - model.disk(costs, corpus) for found, corpus in ((small, one), (large, more))]
    assert kept[1] >= times * kept[0] * (1 - 1e-9)
    if system.dim:
        assert kept[0] == pytest.approx(19 * documents * (4 * system.dim + costs.bytes["cache"].fixed))
    most = replace(one, documents=int(model.HELD / (tokens * one.letters)))
    full = replace(one, documents=max(model.SHARD, most.documents + 1))
    held = costs.bytes["held"].of(most.documents, tokens)
    assert large.memory <= model.memory(costs, full, system) + held + model.SPOOLED


def test_systems_in_one_run_start_and_read_once(model: Any, costs: Any) -> None:
    """Both load what they need; of their shards the larger counts, and the reference row is made once."""
    from scaling_workloads import Corpus

    one = Corpus("one", 50_000, 100, 300)
    both = model.run(costs, one, model.BM25, model.WORDLLAMA)
    each = [model.run(costs, one, system) for system in (model.BM25, model.WORDLLAMA)]
    reference = model.references(costs, one).seconds
    assert both.parts["reference"] == pytest.approx(reference)
    assert both.alone == pytest.approx(each[0].alone)
    assert both.seconds == pytest.approx(sum(one.seconds - one.alone for one in each) - reference + each[0].alone)
    assert max(one.memory for one in each) <= both.memory < sum(one.memory for one in each)
    assert both.disk == pytest.approx(sum(one.disk for one in each) - model.disk(costs, one))


def test_a_corpus_beyond_the_limit_stays_on_disk(model: Any, costs: Any) -> None:
    """One document more: it is held no longer, and lies in a file of its own."""
    from scaling_workloads import Corpus

    largest = int(model.HELD / (100 * 4.0))
    one = Corpus("one", largest, 100, 300, letters=4.0)
    more = replace(one, documents=largest + 1)
    assert model.is_held(one)
    assert not model.is_held(more)
    held = costs.bytes["held"].of(largest, 100)
    assert model.memory(costs, one, model.MINILM) - model.memory(costs, more, model.MINILM) == pytest.approx(held)
    assert model.disk(costs, more) > model.disk(costs, one)


@given(few=st.integers(1, 10_000), more=st.integers(1, 10_000))
def test_more_queries_have_more_postings(model: Any, costs: Any, few: int, more: int) -> None:
    """At the numbers of queries that were measured it is what was measured."""
    from scaling_workloads import Corpus

    one = Corpus("one", 10**6, 70, few)
    assert model.postings(costs, one) <= model.postings(costs, replace(one, queries=few + more))
    for asked in model.ASKED:
        measured = costs.bytes[f"posting_{asked}"].of(one.texts, 70)
        assert model.postings(costs, replace(one, queries=asked)) == pytest.approx(measured)


@given(nodes=st.integers(1, 60), more=st.integers(1, 60), documents=st.integers(1, 10**7), cores=st.integers(1, 64))
def test_a_larger_cluster_is_never_slower_nor_better_than_its_cores(
    model: Any, costs: Any, nodes: int, more: int, documents: int, cores: int
) -> None:
    """Time falls at most in proportion to the cores, and never below what one process does alone."""
    from scaling_workloads import Corpus

    one = model.retrieval(costs, Corpus("one", documents, 70, 100), model.WORDLLAMA)
    prices = model.Prices()
    small, large = (model.bill(one, model.Cluster(number, cores), prices) for number in (nodes, nodes + more))
    assert one.alone / 3600 <= large.hours <= small.hours * (1 + 1e-12)
    assert large.hours * (nodes + more) * cores >= (one.seconds - one.alone) / 3600 * (1 - 1e-12)
    assert small.disk == large.disk
    assert small.dollars == pytest.approx(small.hours * nodes * cores * prices.cpu_hour + small.disk)


def test_a_card_takes_the_encoding_and_nothing_else(model: Any, costs: Any) -> None:
    """Worked by hand: 10.6 M parameters, twice, for each token, at a tenth of 400 TFLOP/s."""
    from scaling_workloads import Corpus

    one = model.retrieval(costs, Corpus("one", 10**6, 100, 100), model.MINILM)
    slow = model.Cluster(1, 16, 1, model.Card(peak=1e12, share=0.5))
    hours = model.bill(one, slow, model.Prices(), model.MINILM).hours
    assert hours == pytest.approx((one.alone + 2 * 10.6e6 * 19e8 / 0.5e12) / 3600)
    fast = model.Cluster(1, 16, 1, model.Card(peak=1e18))
    rest = one.seconds - one.alone - one.parts["encode"]
    rounds = -(-one.tasks // 16)
    quick = model.bill(one, fast, model.Prices(), model.MINILM).hours
    assert quick == pytest.approx((one.alone + rounds * rest / one.tasks) / 3600)
    assert model.bill(one, replace(fast, cards=0), model.Prices()).hours > quick


def test_the_knee_is_where_doubling_stops_to_pay(model: Any, costs: Any) -> None:
    """38 tasks are no faster on 64 nodes of 16 cores than on 3."""
    from scaling_workloads import Corpus

    nodes = (1, 2, 4, 8, 16, 32, 64)
    few = model.retrieval(costs, Corpus("few", 60_000, 70, 100), model.WORDLLAMA)
    many = model.retrieval(costs, Corpus("many", 8_841_823, 74, 6_980), model.MINILM)
    assert few.tasks == 38
    assert model.knee(few, nodes, model.Prices()) <= 2
    assert model.knee(many, nodes, model.Prices()) >= 16
