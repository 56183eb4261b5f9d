"""Runs of both probes from Python: resumed with the same bytes, failures kept apart, tables as the rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import embassay as eb
from embassay.errors import UsageError
from embassay.protocols.kernel.session import SilentListener
from embassay.runs.folder import RunCell
from stub import StubServer

SMALL: dict[str, Any] = {"queries": 6, "runs": 2, "tokenizer": "words", "resamples": 100}


class Stops(SilentListener):
    """A user who presses Ctrl-C in the second cell."""

    def __init__(self) -> None:
        self.cells = 0

    def started(self, cell: RunCell) -> None:
        self.cells += 1
        if self.cells == 2:
            raise KeyboardInterrupt


def names(out: Path, **more: Any) -> Any:
    return eb.rag.probe_names(["bm25", "jaccard"], out=out, **{**SMALL, **more})


def noise(out: Path, **more: Any) -> Any:
    return eb.rag.probe_noise(["bm25", "jaccard"], out=out, **{**SMALL, **more})


def files(path: Path) -> dict[str, bytes]:
    found = [path / "results.jsonl", *sorted(path.glob("items/**/*.parquet")), *sorted(path.glob("tables/*"))]
    return {str(one.relative_to(path)): one.read_bytes() for one in found}


@pytest.mark.parametrize("probe", [names, noise])
def test_a_stopped_run_goes_on_and_ends_with_the_same_bytes(tmp_path: Path, probe: Any) -> None:
    whole = probe(tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        probe(tmp_path / "broken", listener=Stops())
    partial = json.loads((tmp_path / "broken" / "manifest.json").read_text())
    assert partial["status"] == "partial"
    assert sum(cell["status"] == "done" for cell in partial["cells"]) == 1
    resumed = probe(tmp_path / "broken")
    assert resumed.manifest["status"] == "finished"
    assert resumed.manifest["sessions"][-1]["cells_done"] == 3
    assert files(tmp_path / "broken") == files(tmp_path / "whole")
    assert whole.manifest["kind"] in ("names", "noise")
    with pytest.raises(UsageError, match="queries was 6, now 7"):
        probe(tmp_path / "whole", queries=7)


@pytest.mark.slow
def test_workers_give_the_same_bytes(tmp_path: Path) -> None:
    names(tmp_path / "one")
    names(tmp_path / "two", workers=2)
    assert files(tmp_path / "one") == files(tmp_path / "two")


def test_rows_and_tables_of_names(tmp_path: Path) -> None:
    run = names(tmp_path / "run")
    rows = run.results
    assert set(rows["task"]) == {"names"}
    assert set(rows["dataset"]) == {"bundled-en", "bundled-fr"}
    headline = rows.filter((pl.col("measure") == "d_name") & (pl.col("variant") == ""))
    assert headline.height == 4
    masked = rows.filter((pl.col("measure") == "d_name") & (pl.col("variant") == "hard_name_mask"))
    assert masked["value"].to_list() == [0.0] * 4
    assert not rows.filter(pl.col("value").is_null() & (pl.col("reason") == "")).height
    assert not rows.select("dataset", "variant", "system", "measure").is_duplicated().any()
    english = run.table("name_margin_en")
    assert english.filter(pl.col("system") == "bm25").height == 11
    assert set(english["group"]) == {"base", "identity-destroying", "orthography and formatting", "layout"}
    assert run.table("rag_table10").height == run.table("rag_table11").height == 4
    assert run.table("name_retrieval").height == 44
    items = pl.read_parquet(tmp_path / "run" / "items" / "names" / "bundled-en" / "bm25.parquet")
    base = items.filter((pl.col("measure") == "d_name") & (pl.col("variant") == ""))
    assert base.height == 12
    value = headline.filter((pl.col("system") == "bm25") & (pl.col("lang") == "en"))["value"][0]
    assert base["value"].mean() == pytest.approx(value)


def test_chosen_conditions_and_languages(tmp_path: Path) -> None:
    """Identities of an ablation do not depend on what else is asked for, but for a metric that looks at the batch."""
    alone = eb.rag.probe_names(
        ["jaccard"], out=tmp_path / "alone", langs=["fr"], conditions=["initials_form"], **SMALL
    ).results
    beside = names(tmp_path / "beside").results
    assert set(alone["lang"]) == {"fr"}
    where = (pl.col("system") == "jaccard") & (pl.col("lang") == "fr") & (pl.col("variant") == "initials_form")
    for measure in ("d_name", "d_name change %", "N-Recall4+@10"):
        one, other = (
            rows.filter(where & (pl.col("measure") == measure))["value"].to_list() for rows in (alone, beside)
        )
        assert one == other != []


def test_rows_and_tables_of_noise(tmp_path: Path) -> None:
    run = noise(tmp_path / "run", datasets=["bundled", "sample"], rewriters=["rules", "identity"], limit=5)
    rows = run.results
    assert list(dict.fromkeys(rows["dataset"])) == ["bundled-en", "bundled-fr", "sample-en", "sample-fr"]
    assert rows.filter((pl.col("measure") == "drop") & (pl.col("variant") == "")).height == 8
    assert not rows.filter(pl.col("value").is_null() & (pl.col("reason") == "")).height
    assert not rows.select("dataset", "variant", "system", "measure").is_duplicated().any()

    def values(variant: str, measure: str) -> list[float]:
        return rows.filter((pl.col("variant") == variant) & (pl.col("measure") == measure))["value"].to_list()

    # Who rewrites nothing recovers nothing; a clean question is like itself.
    assert values("level=4:identity", "similarity") == values("level=4", "similarity")
    assert set(values("level=0", "overlap@10")) == {1.0}
    assert run.table("rag_table12").height == 8 * 3
    assert run.table("rag_table13").height == 8 * 3
    assert run.table("noise_retrieval").height == 8 * 3 * 5
    told = run.manifest["rewriters"]
    assert [one["name"] for one in told] == ["rules", "identity"]


def test_a_system_that_fails_does_not_stop_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")

    def broken(request: Any) -> None:
        from stub.wire import Problem

        raise Problem(400, "no such model")

    with StubServer(check=broken) as server:
        spec = f"openai:x?base_url={server.url}/v1&dimensions=8&price=0"
        run = eb.rag.probe_names([spec, "jaccard"], out=tmp_path / "run", langs=["en"], **SMALL)
    status = {cell["system"]: cell["status"] for cell in run.manifest["cells"]}
    assert sorted(status.values()) == ["done", "failed"]
    failed = run.results.filter(pl.col("value").is_null() & (pl.col("variant") == "") & (pl.col("measure") == "d_name"))
    assert failed.height == 1
    assert failed["reason"][0]
    assert run.manifest["status"] == "partial"


def test_own_lists_are_other_data(tmp_path: Path) -> None:
    people = tmp_path / "people.csv"
    people.write_text("given,family\nAda,Byron\nMax,Born\nLise,Meitner\nOtto,Hahn\nÉmilie,du Châtelet\n")
    topics = tmp_path / "topics.txt"
    topics.write_text("fission\nengines\nlight\n")
    arguments = {**SMALL, "people": people, "topics": topics, "langs": ["fr"]}
    run = eb.rag.probe_names(["jaccard"], out=tmp_path / "run", **arguments)
    assert set(run.results["dataset"]) == {"own-fr"}
    noisy = eb.rag.probe_noise(["jaccard"], out=tmp_path / "noise", **arguments)
    assert set(noisy.results["dataset"]) == {"own-fr"}
