"""PTEB's items in the page: values before and after, texts and wordings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from embassay.report.board import build_record_board
from embassay.report.items import make_items_page
from embassay.report.pteb import drops as module
from embassay.report.record import read_run_record
from embassay.report.runs import ReportRun
from embassay.runs.folder import RunFolder

from .pteb_run import text_of

MakePteb = Callable[..., Path]


def groups(run: Path) -> tuple[list[dict[str, Any]], list[str]]:
    record = read_run_record(run)
    made = make_items_page((ReportRun(record, build_record_board(record)),))
    assert made is not None
    texts = [made.data["texts"][place] for place in made.data["places"]]
    return made.data["groups"], texts


def column(run: Path, dataset: str, system: str, variant: str) -> np.ndarray[Any, Any]:
    path = RunFolder(run).locate_cell_items("sts", dataset, system, variant=variant)
    return pl.read_parquet(path).filter(pl.col("measure") == "similarity")["value"].to_numpy()


def test_values_are_before_after_and_their_difference(pteb_run: Path) -> None:
    """Ten-thousandths of the item's value, the mean over runs, and the change."""
    group = groups(pteb_run)[0][0]
    before = column(pteb_run, "small-sts", "aster-large", "original")
    after = np.mean(
        [column(pteb_run, "small-sts", "aster-large", f"paraphrase:seed={seed}") for seed in (1337, 1338, 1339)], axis=0
    )
    change, original, mean = (measure[0] for measure in group["values"])
    assert original == [round(value * 10_000) for value in before]
    assert np.allclose(mean, after * 10_000, atol=0.51)
    assert np.allclose(change, (after - before) * 10_000, atol=0.51)
    assert [measure["title"] for measure in group["measures"]] == [
        "change of similarity, mean over runs", "similarity, original", "similarity, mean over runs",
    ]  # fmt: skip


def test_texts_stand_with_their_wordings_by_run(pteb_run: Path) -> None:
    """Both texts of a pair; a run without a usable wording has none."""
    group, texts = groups(pteb_run)[0][0], groups(pteb_run)[1]
    assert group["runs"] == ["1337", "1338", "1339"]
    assert texts[group["fields"]["first"][0]] == text_of(0)
    assert texts[group["fields"]["second"][0]] == text_of(1)
    assert group["wordings"]["first"][3][1] == -1
    assert texts[group["wordings"]["first"][3][0]] != text_of(3)


def test_long_wordings_are_shown_for_the_first_run_alone(pteb_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the limit the others stay in the folder, and the page knows how many there are."""
    monkeypatch.setattr(module, "MOST", 40)
    group = groups(pteb_run)[0][0]
    assert (group["runs"], group["allRuns"]) == (["1337"], 3)


def test_items_of_one_name_in_two_languages_are_two(make_pteb: MakePteb) -> None:
    """Where a name stands in two languages, the language is part of it."""
    run = make_pteb(datasets={"clustering": ("sets",)}, systems={"aster-large": "embedding"}, n=3)
    folder = RunFolder(run)
    rows = {"item_id": ["1", "1"], "variant": ["en", "fr"], "measure": ["v_measure"] * 2, "value": [0.5, 0.7]}
    for variant in ("original", "paraphrase:seed=1337", "paraphrase:seed=1338", "paraphrase:seed=1339"):
        pl.DataFrame(rows).write_parquet(folder.locate_cell_items("clustering", "sets", "aster-large", variant=variant))
    group = groups(run)[0][0]
    assert group["ids"] == ["1 · en", "1 · fr"]
    assert group["values"][1] == [[5000, 7000]]
    assert group["fields"] == {}


def test_an_item_lost_in_a_run_is_left_out_of_its_mean(make_pteb: MakePteb) -> None:
    """The mean is over the runs that kept it; without any it is missing."""
    run = make_pteb(datasets={"sts": ("one",)}, systems={"aster-large": "embedding"}, n=3)
    folder = RunFolder(run)
    for seed, values in ((1337, [0.5, None, None]), (1338, [0.7, 0.2, None]), (1339, [0.9, 0.4, None])):
        rows = {"item_id": ["a", "b", "c"], "variant": [""] * 3, "measure": ["similarity"] * 3, "value": values}
        path = folder.locate_cell_items("sts", "one", "aster-large", variant=f"paraphrase:seed={seed}")
        pl.DataFrame(rows).write_parquet(path)
    rows = {"item_id": ["a", "b", "c"], "variant": [""] * 3, "measure": ["similarity"] * 3, "value": [0.8] * 3}
    pl.DataFrame(rows).write_parquet(folder.locate_cell_items("sts", "one", "aster-large", variant="original"))
    assert groups(run)[0][0]["values"][2] == [[7000, 3000, None]]
