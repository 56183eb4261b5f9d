"""A language model as the rewriter of a noise probe: paid for once, bounded, and asked again where it failed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import embassay as eb
from embassay.errors import BudgetExceeded, UsageError
from embassay.report.rag.probes import iterate_probe_terminal_blocks
from report.pages import printed
from stub import StubServer
from stub.wire import Problem

SMALL: dict[str, Any] = {"queries": 4, "runs": 1, "langs": ["en"], "tokenizer": "words", "resamples": 50}
GOOD = '{"rewrite": "works on tides"}'


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai")
    monkeypatch.setenv("OPENAI_API_KEY", "k")


def probe(out: Path, server: StubServer, price: str = "price=0&price_output=0", **more: Any) -> Any:
    rewriter = f"llm:openai:m?base_url={server.url}/v1&{price}"
    return eb.rag.probe_noise(["bm25", "jaccard"], out=out, rewriters=["rules", rewriter], **{**SMALL, **more})


def test_every_wording_is_asked_for_once_for_all_systems(tmp_path: Path) -> None:
    with StubServer(chat=lambda _: GOOD) as server:
        run = probe(tmp_path / "run", server)
        asked = server.requests.total()
        probe(tmp_path / "run", server)
        assert server.requests.total() == asked == 4 * 5
    name = next(key for key in run.manifest["spent"]["systems"] if key.startswith("llm:"))
    assert run.manifest["spent"]["systems"][name]["requests"] == asked
    rewritten = run.results.filter((pl.col("variant") == f"level=4:{name}") & (pl.col("measure") == "similarity"))
    assert rewritten.height == 2
    assert rewritten["value"].is_not_null().all()
    told = {one["name"]: one for one in run.manifest["rewriters"]}
    assert told[name]["prompt"].startswith("rewrite@")


def test_what_failed_is_asked_for_again_and_its_cells_are_done_again(tmp_path: Path) -> None:
    broken = [True]

    def refuse(request: Any) -> None:
        if broken[0] and re.search("sorry|apologi|forgive", request.content.decode(), re.IGNORECASE):
            raise Problem(400, "not this one")

    with StubServer(chat=lambda _: GOOD, check=refuse) as server:
        first = probe(tmp_path / "run", server)
        missing = first.manifest["rewriting_failures"]
        assert sum(one["texts"] for one in missing.values()) > 0
        assert all(cell["counts"]["rewritings_missing"] > 0 for cell in first.manifest["cells"])
        lost = first.results.filter(pl.col("reason").str.contains("queries could not be rewritten"))
        assert lost.height > 0
        shown = " ".join(printed(iterate_probe_terminal_blocks(tmp_path / "run")).split())
        assert "could not be rewritten by" in shown
        broken[0] = False
        second = probe(tmp_path / "run", server)
    assert second.manifest["rewriting_failures"] == {}
    assert all(cell["counts"]["rewritings_missing"] == 0 for cell in second.manifest["cells"])
    assert not second.results.filter(pl.col("reason").str.contains("queries could not be rewritten")).height


def test_money_is_bounded(tmp_path: Path) -> None:
    with StubServer(chat=lambda _: GOOD) as server:
        with pytest.raises(UsageError, match="price"):
            probe(tmp_path / "unpriced", server, price="attempts=1", max_usd=1.0)
        priced = "price=100&price_output=100"
        with pytest.raises(BudgetExceeded):
            probe(tmp_path / "run", server, price=priced, max_usd=0.05)
        kept = list((tmp_path / "run" / "rewritings").glob("*.json"))
        run = probe(tmp_path / "run", server, price=priced, max_usd=100.0)
    assert kept
    assert run.manifest["status"] == "finished"
