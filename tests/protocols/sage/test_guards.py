"""Guards of a search against damaged text: what each does, what is kept, the cheapest that keeps enough."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import embassay as eb
from embassay.protocols.sage.guards import GUARDS, TIME, find_cheapest_guard, find_lowest_answer_threshold
from embassay.protocols.sage.options import SageOptions
from embassay.records import ResultRow

OPTIONS = SageOptions(resamples=100, guard_edits="delete10,typos", guard_clean="whitespace,case")


def kept(variant: str, value: float | None, low: float | None = None) -> ResultRow:
    return ResultRow("sage", "guards", "d", "", variant, "", "s", "kept", value, 9, low, value, "", 1, "")


def rows_of(**values: float | None) -> dict[str, ResultRow]:
    """Of one edit: `alone`, and each guard by its name."""
    return {
        variant: kept(variant, value)
        for name, value in values.items()
        for variant in ["typos" if name == "alone" else f"typos:{name}"]
    }


COUNTS = {f"{TIME}cleaning": 40, f"{TIME}hybrid": 900, f"{TIME}rerank": 700}


@pytest.mark.parametrize(
    ("values", "chosen"),
    [
        ({"alone": 0.97, "cleaning": 1.0}, "alone"),
        ({"alone": 0.8, "cleaning": 0.96, "rerank": 1.0}, "cleaning"),
        ({"alone": 0.8, "cleaning": 0.9, "hybrid": 0.99, "rerank": 0.96}, "rerank"),
        ({"alone": 0.8, "cleaning": 0.9, "hybrid": 0.9, "rerank": 0.9, "threshold": 0.95}, "threshold"),
        ({"alone": 0.8, "hybrid": 0.99, "threshold": 0.99}, "hybrid"),
        ({"alone": 0.8, "cleaning": None, "threshold": 0.9}, None),
    ],
)
def test_the_cheapest_that_keeps_enough(values: dict[str, float | None], chosen: str | None) -> None:
    """By time among those that answer every question; refusing comes last."""
    assert find_cheapest_guard(rows_of(**values), "typos", COUNTS, 0.95) == chosen


def test_a_threshold_refuses_a_fifth_at_most() -> None:
    sure = np.array([0.9, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0])
    values = np.array([1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    assert find_lowest_answer_threshold(sure, values, 0.5) == -np.inf  # enough without
    assert find_lowest_answer_threshold(sure, values, 0.75) == 0.2
    assert find_lowest_answer_threshold(sure, values, 1.0) == 0.3  # the best that it may do
    assert find_lowest_answer_threshold(np.empty(0), np.empty(0), 1.0) == -np.inf


def run_guards(system: str, options: SageOptions, out: Path) -> Any:
    """A system alone and behind guards, on the sample."""
    return eb.sage.run([system], tasks=["guards"], datasets=["sample"], tokenizer="words", options=options, out=out)


@pytest.mark.parametrize("side", ["queries", "documents"])
def test_shares_are_those_of_the_items(tmp_path: Path, side: Any) -> None:
    options = SageOptions(**{**OPTIONS.__dict__, "guard_side": side})
    run = run_guards("jaccard", options, tmp_path / "run")
    rows = run.results.filter((pl.col("system") == "jaccard") & (pl.col("dataset") == "sample"))
    value = {(row["measure"], row["variant"]): row for row in rows.iter_rows(named=True)}
    items = pl.read_parquet(tmp_path / "run" / "items" / "guards" / "sample" / "jaccard.parquet")
    of = {
        variant: items.filter(pl.col("variant") == variant).sort("item_id")["value"].cast(float).to_numpy()
        for variant in items["variant"].unique()
    }
    clean = np.nanmean(of["clean"])
    for edit in ("delete10", "typos"):
        assert value["kept", edit]["value"] == pytest.approx(np.nanmean(of[edit]) / clean)
        for name in GUARDS:
            guarded = np.nanmean(of[f"{edit}:{name}"])
            assert value["kept", f"{edit}:{name}"]["value"] == pytest.approx(guarded / clean)
            loss = clean - np.nanmean(of[edit])
            if loss > 0:
                back = (guarded - np.nanmean(of[edit])) / loss
                assert value["restored", f"{edit}:{name}"]["value"] == pytest.approx(back)
        answered = np.mean(~np.isnan(of[f"{edit}:threshold"]))
        assert value["answered", f"{edit}:threshold"]["value"] == pytest.approx(answered)
        assert not np.isnan(of[edit]).any()
    mean = np.mean([of["delete10"], of["typos"]]) / clean
    assert value["kept", ""]["value"] == pytest.approx(min(mean, 1.0))
    change = np.mean(of["clean:rerank"] - of["clean"])
    assert value["change of clean", "rerank"]["value"] == pytest.approx(change)
    counts = run.manifest["cells"][0]["counts"]
    assert {f"{TIME}{name}" for name in ("cleaning", "hybrid", "rerank")} <= set(counts)
    table = run.table("sage_guards")
    assert set(table["system"]) == {"jaccard"}
    assert set(table["guard"]) == {"alone", *GUARDS}


def test_cleaning_undoes_what_it_can(tmp_path: Path) -> None:
    """Capitals, for a model that minds them."""
    options = SageOptions(resamples=50, guard_edits="capitalize", guard_clean="case")
    run = run_guards("wordllama", options, tmp_path / "run")
    rows = run.results.filter((pl.col("system") == "wordllama") & (pl.col("dataset") == "sample"))
    value = {(row["measure"], row["variant"]): row["value"] for row in rows.iter_rows(named=True)}
    assert value["kept", "capitalize"] < value["kept", "capitalize:cleaning"]


def test_a_guard_that_cannot_be_had_says_why(tmp_path: Path) -> None:
    """The others are measured."""
    options = SageOptions(resamples=50, guard_edits="typos", guard_rerank="cross:./nowhere", guard_clean="case")
    run = run_guards("jaccard", options, tmp_path / "run")
    rows = run.results.filter((pl.col("system") == "jaccard") & (pl.col("measure") == "kept"))
    by_variant = {row["variant"]: row for row in rows.iter_rows(named=True) if row["dataset"]}
    assert by_variant["typos:rerank"]["value"] is None
    assert by_variant["typos:rerank"]["reason"]
    assert by_variant["typos:hybrid"]["value"] is not None


def test_defaults_leave_no_trace_in_the_manifest() -> None:
    """So that older runs go on."""
    assert not [name for name in SageOptions().as_dict() if name.startswith(("guard_", "attack_"))]
    assert SageOptions(guard_keep=0.9).as_dict()["guard_keep"] == 0.9
