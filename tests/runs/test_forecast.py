"""What work will take: counted where it can be, marked where it is not, never the same chunk twice."""

from __future__ import annotations

import numpy as np
import pytest

from embassay.runs.embeddings import CachedEncoder, EmbeddingCache
from embassay.runs.forecast import (
    CallRecordingSimilarity,
    CellForecast,
    EncoderWorkload,
    EncoderWorkloadCounter,
    RunForecast,
    build_forecast_table,
    count_tokens_by_sample,
    describe_forecasts,
    estimate_server_seconds,
    forecast_cost_of_remaining_parts,
)
from embassay.text import open_tokenizer


class Server:
    """An encoder behind a server, as far as a plan looks at it."""

    name = identity = model = "server"
    dim, max_tokens, chunk_size, price, rpm, tpm = 2, 3, 4, 5.0, None, None
    tokenizer = None

    def encode(self, texts, *, role=None):
        return np.zeros((len(texts), 2), dtype=np.float32)

    def encode_chunks(self, chunks, *, role=None):
        return ((i, self.encode(chunk)) for i, chunk in enumerate(chunks))

    def count_truncated(self, texts):
        return 0


WORDS = open_tokenizer("words")


@pytest.fixture
def cache(tmp_path):
    opened = EmbeddingCache.open(tmp_path / "embeddings.sqlite")
    yield opened
    opened.close()


def test_a_chunk_is_needed_once(cache):
    """Texts asked for again, by this call or one before, or kept in the cache, cost nothing."""
    texts = [f"text number {i} of many" for i in range(10)]
    CachedEncoder(Server(), cache).encode(texts[:4])
    needs = EncoderWorkloadCounter(Server(), cache, WORDS)
    needs.hear(texts[:4], None)
    assert needs.take_new_workload() == EncoderWorkload(4, 4, 0, 0, exact=False)
    needs.hear([*texts[4:], *texts[4:]], None)
    needs.hear(texts[4:], None)
    # Six texts are two chunks; each text counts for the three tokens that the model reads.
    assert needs.take_new_workload() == EncoderWorkload(12, 6, 18, 2, exact=False)


def test_the_systems_own_tokenizer_makes_counts_exact(cache):
    """With it a plan is counted; an empty text is not sent."""
    server = Server()
    server.tokenizer = WORDS
    needs = EncoderWorkloadCounter(server, cache, WORDS)
    needs.hear(["one two"], "query")
    needs.hear([""], "query")
    assert needs.take_new_workload() == EncoderWorkload(2, 0, 2, 1, exact=True)


def test_many_texts_are_sampled_and_say_so():
    """Every so many are counted, the others go by their length."""
    texts = ["one two three"] * 100 + ["four five six"] * 101
    assert count_tokens_by_sample(texts, WORDS, sample=10) == (603, False)
    assert count_tokens_by_sample(texts, WORDS, sample=201) == (603, True)
    assert count_tokens_by_sample([], WORDS) == (0, True)


def test_declared_limits_decide_a_servers_time():
    """Requests and tokens per minute where given, an assumption elsewhere."""
    server = Server()
    assert estimate_server_seconds(server, 320, 1_000) == pytest.approx(10)
    server.rpm = 60
    assert estimate_server_seconds(server, 320, 1_000) == pytest.approx(320)
    server.tpm = 100
    assert estimate_server_seconds(server, 320, 1_000) == pytest.approx(600)


def test_a_server_on_this_machine_is_reckoned_by_its_tokens():
    """One request at a time: of chat 100 tokens read and 15 written a second, of an encoder 1,000; limits that are
    given count for more."""
    server = Server()
    server.is_local = True
    assert estimate_server_seconds(server, 320, 1_300, 300) == pytest.approx(10 + 20)
    assert estimate_server_seconds(server, 320, 2_000) == pytest.approx(2)
    server.rpm = 60
    assert estimate_server_seconds(server, 320, 1_300, 300) == pytest.approx(320)


def test_words_and_sums():
    """An unknown price is no $0, and makes the sum unknown; an estimate is marked."""
    cells = (
        CellForecast("t", "d", "a", 10, 30, 100, 5, requests=3, usd=0.5, seconds=2.0, exact=True, assumed=True),
        CellForecast("u", "d", "a", 10, 30, 100, 5, requests=3, usd=0.5, seconds=2.0, exact=False, assumed=True),
        CellForecast("t", "d", "b", 10, 30, 100, requests=1, usd=None, seconds=None),
        CellForecast("t", "d", "bm25", 10, 30, 100, seconds=1.0),
    )
    forecasts = RunForecast(cells)
    first, second, both, note = describe_forecasts(forecasts)
    assert first == "a: 6 requests, about 200 tokens, about $1.00."
    assert second == "b: 1 requests, about 100 tokens, price unknown: give price=."
    assert "4 cells, about 5 s on one worker" in both
    assert "price unknown in all" in both
    assert "Nothing was sent" in note
    titles, rows = build_forecast_table(forecasts)
    assert [dict(zip(titles, row, strict=True))["cost"] for row in rows] == [
        "$0.5000",
        "$0.5000",
        "price unknown",
        "$0",
    ]
    assert forecasts.as_dict()["usd"] is None
    assert [one["requests"] for one in forecasts.as_dict()["systems"]] == [6, 1, None]
    (only,) = describe_forecasts(RunForecast(cells[3:]))
    assert only.endswith("$0: every system runs here.")


def test_a_rehearsal_hears_what_an_encoder_would():
    """Pairs are two calls, a search is one for the queries and one for each shard, with their roles."""
    heard = []
    rehearsal = CallRecordingSimilarity(lambda texts, role: heard.append((list(texts), role)))
    assert rehearsal.pairs(["a"], ["b"]).shape == (1,)
    assert rehearsal.distances(["a", "b", "c"]).shape == (3,)
    assert rehearsal.compare_indexed_pairs(["a", "b"], np.array([0, 1, 1]), np.array([1, 1, 0])).shape == (3,)
    assert rehearsal.vectors(["a", "b"], "query").shape == (2, 1)
    first, second = rehearsal.search_shards(["q"], [["d", "e"], ["f"]], 2)
    assert (first.indices.tolist(), second.indices.tolist()) == ([[0, 1]], [[0, -1]])
    assert heard == [
        (["a"], None), (["b"], None), (["a", "b", "c"], None), (["a", "b"], None), (["a", "b"], "query"),
        (["q"], "query"), (["d", "e"], "document"), (["f"], "document"),
    ]  # fmt: skip


def test_systems_with_the_same_vectors_share_what_is_planned(cache):
    """Of two that differ only in what is done to the vectors, the first pays."""
    seen = set()
    first, second = (EncoderWorkloadCounter(Server(), cache, WORDS, seen) for _ in range(2))
    first.hear(["one", "two"], None)
    second.hear(["one", "two"], None)
    assert (first.take_new_workload().chunks, second.take_new_workload()) == (
        1,
        EncoderWorkload(2, 2, 0, 0, exact=False),
    )


def test_an_outlook_by_hand() -> None:
    """What is spent grows with the parts; its interval by how much they vary and how many are left, and never below
    what is spent; of the last part nothing is left to vary."""
    found = forecast_cost_of_remaining_parts([1.0, 3.0], 4, 4.0)
    error = 1.96 * np.sqrt(2) * np.sqrt(2 * (1 + 2 / 2))
    assert (found.expected, found.high) == pytest.approx((8, 8 + error))
    assert found.low == pytest.approx(max(4, 8 - error))
    whole = forecast_cost_of_remaining_parts([1.0, 3.0], 2, 4.0)
    assert (whole.low, whole.expected, whole.high) == (4, 4, 4)
    even = forecast_cost_of_remaining_parts([1.0] * 50, 200, 50.0)
    assert (even.low, even.expected, even.high) == (200, 200, 200)


def test_a_limit_that_will_not_do_is_said() -> None:
    """With about how many parts it is reached; one that will do is not mentioned."""
    found = forecast_cost_of_remaining_parts([1.0] * 50, 200, 50.0)
    assert "about 100" in found.format_cost_forecast_line(100.0)
    assert found.format_cost_forecast_line(300.0) == found.format_cost_forecast_line()
