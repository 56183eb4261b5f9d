"""What a golden set would take."""

import pytest

from embassay.protocols.rag.golden import corpus
from embassay.protocols.rag.golden.corpus import GoldenRunResources, read_golden_inputs
from embassay.protocols.rag.golden.options import GoldenOptions, GoldenRequest
from embassay.protocols.rag.golden.protocol import GoldenSetProtocol, golden
from embassay.protocols.rag.ranking.engines import estimate_engine_calls
from embassay.systems.remote import NoCallsLedger, allow_models_without_keys

from .conftest import make_pack
from .test_session import LOCKS, OPTIONS


@pytest.mark.parametrize(
    ("engine", "calls"), [("grades", 0), ("single_shot", 1), ("locks", 140), ("bayes", 48), ("bayes:cap=0.5", 48)]
)
def test_calls_of_the_engines(engine, calls):
    """As the registry says, for a pool of 40."""
    assert estimate_engine_calls(engine, 40) == calls


def test_nothing_that_is_done_is_counted_again(tmp_path):
    """Before: the most there can be; after the run: nothing."""
    pack = make_pack(tmp_path / "pack")
    arguments = {name: str(path) for name, path in pack.arguments.items()}
    request = GoldenRequest("wordllama", pack.judge(), **arguments, ranking=LOCKS, options=OPTIONS)

    def texts():
        with allow_models_without_keys():
            found = GoldenSetProtocol().forecast_run_cost(request, NoCallsLedger(), tmp_path / "run")
        return {cell.task: cell.texts for cell in found.cells}

    assert texts() == {"S1 vectors": 4, "S2 vectors": 24, "S4 grade": 64, "S6 order": 224}
    golden("wordllama", pack.judge(), out=tmp_path / "run", ranking=LOCKS, options=OPTIONS, **pack.arguments)
    assert texts() == {"S1 vectors": 0, "S2 vectors": 0, "S4 grade": 0, "S6 order": 0}


def test_a_model_has_a_price(tmp_path):
    """Requests, tokens, dollars and seconds; without a key, and nothing is sent."""
    pytest.importorskip("openai")
    pack = make_pack(tmp_path / "pack")
    arguments = {name: str(path) for name, path in pack.arguments.items()}
    request = GoldenRequest("wordllama", "openai:gpt-5-mini", **arguments, options=OPTIONS)
    with allow_models_without_keys():
        cells = {
            cell.task: cell
            for cell in GoldenSetProtocol().forecast_run_cost(request, NoCallsLedger(), tmp_path / "run").cells
        }
    grade = cells["S4 grade"]
    assert grade.requests == 64
    assert grade.tokens > 64 * 100
    assert grade.usd > 0
    assert grade.seconds > 0


@pytest.mark.parametrize(("ranking", "shown"), [("bayes", 5), ("bayes:batch=8", 8), ("single_shot", 24)])
def test_a_judge_is_told_how_much_it_reads_at_once(tmp_path, monkeypatch, ranking, shown):
    """The passages of one answer: a batch, or the whole pool where one answer orders all of it."""
    asked = {}
    monkeypatch.setattr(corpus, "open_judge", lambda _, **given: asked.update(given))
    pack = make_pack(tmp_path / "pack")
    batch = 8 if "batch" in ranking else None
    request = GoldenRequest(
        "wordllama", "openai:judge", **{name: str(path) for name, path in pack.arguments.items()},
        ranking=ranking.partition(":")[0], options=GoldenOptions(batch=batch),
    )  # fmt: skip
    work = GoldenRunResources(request, read_golden_inputs(request), tmp_path, NoCallsLedger())
    assert work.judge is None
    passage = max(len(text.encode()) for text in work.passages.texts)
    assert asked["longest"] // passage == shown
