"""What a plan says, and what the run then does."""

import polars as pl
import pytest

import embassay as eb
from embassay.protocols.pteb.protocol import PtebProtocol
from embassay.systems.remote import NoCallsLedger, allow_models_without_keys


@pytest.fixture
def request_of(scored):
    def make(paraphraser, **given):
        given = {"datasets": (str(scored),), "tokenizer": "words", "runs": 2, **given}
        return eb.pteb.Request(("wordllama", "bm25"), paraphrasers=(paraphraser,), **given)

    return make


def planned(request):
    with allow_models_without_keys():
        return PtebProtocol().forecast_run_cost(request, NoCallsLedger())


def test_the_plan_is_what_the_server_gets(rewording, by, request_of, scored, tmp_path):
    """Requests as planned, nothing sent while planning; what the cache holds needs none."""
    server = rewording()
    request = request_of(by(server).replace("price=0", "price=2&price_output=2"))
    plan = planned(request)
    assert not server.requests
    words = next(cell for cell in plan.cells if cell.task == "paraphrases")
    run = eb.pteb.run(
        request.systems, paraphraser=request.paraphrasers, datasets=[scored], tokenizer="words", runs=2,
        out=tmp_path / "run",
    )  # fmt: skip
    spent = run.manifest["spent"]["systems"][words.system]
    assert words.requests == spent["requests"] == sum(server.requests.values())
    tokens = spent["input_tokens"] + spent["output_tokens"]
    # The stub counts words, the plan tokens as most models cut them.
    assert tokens < words.tokens < 2 * tokens
    assert words.usd == pytest.approx(2e-6 * words.tokens)
    again = planned(request)
    assert [cell.requests for cell in again.cells if cell.task == "paraphrases"] == [0]


def test_every_run_counts_for_local_systems(rewording, by, request_of, tmp_path):
    """Texts of an encoder are those of the original and of each run."""
    cells = {(cell.task, cell.system): cell for cell in planned(request_of(by(rewording()))).cells}
    one = {(cell.task, cell.system): cell for cell in planned(request_of("copied", runs=1)).cells}
    assert cells["sts", "wordllama"].texts == 3 * one["sts", "wordllama"].texts / 2
    assert all(cell.usd == 0 for cell in cells.values())


def test_a_limit_of_cost_needs_a_price_and_stops_in_time(rewording, by, scored, tmp_path):
    """Without a price a UsageError; with one the run stops under the limit and a higher one goes on."""
    from embassay.errors import BudgetExceeded, UsageError

    server = rewording()
    unknown = by(server).replace("&price=0", "")
    given = {"datasets": [scored], "tokenizer": "words", "runs": 2}
    with pytest.raises(UsageError, match=r"price of .* is unknown"):
        eb.pteb.run(["bm25"], paraphraser=unknown, max_usd=1.0, out=tmp_path / "none", **given)
    assert not (tmp_path / "none").exists()
    given["out"] = tmp_path / "run"
    priced = by(server).replace("price=0", "price=1000&price_output=1000")
    with pytest.raises(BudgetExceeded):
        eb.pteb.run(["bm25"], paraphraser=priced, max_usd=3.0, **given)
    asked = sum(server.requests.values())
    assert asked
    run = eb.pteb.run(["bm25"], paraphraser=priced, max_usd=1e6, **given)
    texts = {row[side] for row in _rows(scored) for side in ("text", "text2")}
    assert sum(server.requests.values()) == 2 * len(texts)
    assert run.results.filter(pl.col("measure") == "spearman")["value"].null_count() < 20


def _rows(path):
    import json

    return [json.loads(line) for line in path.read_text().splitlines()]
