"""What goes into the explorer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from embassay.report.board import build_record_board
from embassay.report.items import (
    BUDGET,
    BYTES_PER_ITEM,
    BYTES_PER_VALUE,
    FEWEST,
    KINDS,
    MOST,
    DatasetItemValues,
    ExcerptStore,
    ItemExplorerPageContent,
    describe_edit,
    make_items_page,
    pick_item_indices_for_page,
    read_item_groups,
    share_item_budget,
    shorten_text,
)
from embassay.report.record import SystemOfRun, read_run_record
from embassay.report.runs import ReportRun
from embassay.report.sage.edits import cut_change_window, find_change_span
from embassay.runs.folder import RunFolder

MakeRun = Callable[..., Path]
words = st.text("ab c", max_size=40)


def page_of(run: Path) -> ItemExplorerPageContent:
    record = read_run_record(run)
    page = make_items_page((ReportRun(record, build_record_board(record)),))
    assert page is not None
    return page


def group_of(values: np.ndarray) -> DatasetItemValues:
    """A group of made values (measures, systems, items)."""
    measures, systems, items = values.shape
    return DatasetItemValues(
        KINDS[2], "made", "en", tuple(f"i{i}" for i in range(items)),
        tuple(SystemOfRun(i, f"s{i}", "classical") for i in range(systems)), KINDS[2].measures[:measures], values,
    )  # fmt: skip


@given(words, words)
def test_a_span_is_what_changed(before: str, after: str) -> None:
    """What it keeps is in both texts, and what it replaces makes one of the other."""
    start, gone, come = find_change_span(before, after)
    assert before[:start] == after[:start]
    assert before[start + gone :] == after[start + come :]
    assert min(gone, come) >= 0
    if before == after:
        assert (gone, come) == (0, 0)


@given(words, words)
def test_a_window_shows_the_first_change(before: str, after: str) -> None:
    """It begins at a word, at or before the first difference; an unchanged text has none."""
    found = cut_change_window(before, after)
    if before == after:
        assert found == []
        return
    start, text = found
    assert after[start : start + len(text)] == text
    assert before[:start] == after[:start]
    assert start == 0 or before[start - 1] == " "


@given(st.text(max_size=100), st.integers(1, 60))
def test_a_shortened_text_is_a_beginning(text: str, most: int) -> None:
    """Never longer than asked, never anything but a beginning."""
    short = shorten_text(text, most)
    assert text.startswith(short)
    assert len(short) <= most
    assert short or not text


def test_equal_excerpts_are_kept_once() -> None:
    """A text that several tasks judge is in the page once; texts that only begin alike are not confused."""
    excerpts = ExcerptStore()
    numbers = [excerpts.add(text, 10) for text in ("one two", "one two", "one two three", "one two thrice")]
    assert numbers == [0, 0, 1, 2]
    assert excerpts.cut == {1: 13, 2: 14}


def test_all_items_are_kept_when_they_fit() -> None:
    """Nothing is left out of a small run."""
    assert pick_item_indices_for_page(group_of(np.zeros((2, 2, 9))), 9, 1337).tolist() == list(range(9))


def test_the_worst_of_every_measure_are_kept() -> None:
    """Half are the worst, measure by measure; the rest is drawn with the seed."""
    values = np.ones((2, 2, 100))
    values[0, :, 17] = values[1, :, 42] = 0.0
    chosen = pick_item_indices_for_page(group_of(values), 20, 1337)
    assert len(chosen) == 20
    assert {17, 42} <= set(chosen.tolist())
    assert chosen.tolist() == sorted(set(chosen.tolist()))
    assert chosen.tolist() == pick_item_indices_for_page(group_of(values), 20, 1337).tolist()
    assert chosen.tolist() != pick_item_indices_for_page(group_of(values), 20, 7).tolist()


def test_missing_values_are_not_the_worst() -> None:
    """An item without any value does not come before one with a low value."""
    values = np.full((1, 2, 50), 0.5)
    values[:, :, 3] = np.nan
    values[:, :, 4] = 0.1
    group = group_of(values)
    assert np.isnan(group.mean_over_systems[0, 3])
    assert 4 in pick_item_indices_for_page(group, 2, 1337).tolist()


@given(st.lists(st.tuples(st.integers(1, 100_000), st.integers(1, 2_000)), min_size=1, max_size=30))
def test_room_is_bounded_and_shared(needs: list[tuple[int, int]]) -> None:
    """20 to 4,000 items each; together 10 MB, unless twenty of each already take more."""
    found = share_item_budget(needs)
    costs = [BYTES_PER_ITEM + BYTES_PER_VALUE * values for _, values in needs]
    for size, (items, _) in zip(found, needs, strict=True):
        assert min(items, FEWEST) <= size <= min(items, MOST)
    least = sum(min(items, FEWEST) * cost for (items, _), cost in zip(needs, costs, strict=True))
    assert sum(size * cost for size, cost in zip(found, costs, strict=True)) <= BUDGET + least


def test_small_groups_leave_their_room_to_large_ones() -> None:
    """One large group beside small ones gets nearly everything."""
    assert share_item_budget([(10, 10), (100_000, 100), (10, 10)])[1] == MOST
    assert share_item_budget([(100_000, 1_000)] * 2)[0] == share_item_budget([(100_000, 1_000)] * 2)[1] < MOST


def test_what_is_left_out_is_said(make_full_run: MakeRun, monkeypatch: object) -> None:
    """The page says how many of how many items it holds, and how they were chosen."""
    monkeypatch.setattr("embassay.report.items.MOST", 20)  # type: ignore[attr-defined]
    page = page_of(make_full_run())
    assert page.left_out[0].startswith("Preference: comparisons, sample: 20 of 48 comparisons, half of them the worst")
    assert len(page.data["groups"][0]["ids"]) == 20


def test_every_kind_of_item_is_there(plain_run: Path) -> None:
    """Comparisons, ratings, documents twice, sets and queries, with values for each system that has them."""
    data = page_of(plain_run).data
    assert [group["kind"] for group in data["groups"]] == [kind.name for kind in KINDS]
    retrieval = data["groups"][-1]
    assert len(retrieval["systems"]) == 3
    assert len(retrieval["values"]) == len(retrieval["measures"]) == 20
    assert {len(column) for measure in retrieval["values"] for column in measure} == {42}


def test_values_are_ten_thousandths_of_those_in_the_files(plain_run: Path) -> None:
    """What the explorer shows is what the run kept."""
    import polars as pl

    group = page_of(plain_run).data["groups"][2]
    frame = pl.read_parquet(RunFolder(plain_run).locate_cell_items("robustness", "sample", "bm25"))
    wanted = frame.filter((pl.col("measure") == "similarity") & (pl.col("variant") == "negate"))["value"].to_list()
    measure = next(i for i, one in enumerate(group["measures"]) if one["edit"] == "negate")
    shown = group["values"][measure][group["systems"].index(3)]
    assert np.allclose(np.array(shown) / 10_000, wanted, atol=5.1e-5)


def test_a_documents_sensitivity_is_one_minus_the_mean_error(plain_run: Path) -> None:
    """The score per document follows the spec: distance from 1 / (1 + p), averaged over its variants."""
    group = next(one for one in read_item_groups(read_run_record(plain_run)) if one.kind.name == "sensitivity")
    sizes = [float(one.edit.partition("p=")[2].partition(",")[0]) for one in group.measures[1:]]
    expected = np.array([1 / (1 + size) for size in sizes])
    score = 1 - np.abs(group.values[1:, 0, 0] - expected).mean()
    assert np.isclose(group.values[0, 0, 0], score)


def test_systems_with_items_in_another_order_are_aligned(make_full_run: MakeRun) -> None:
    """Values follow item ids, not rows."""
    import polars as pl

    run = make_full_run(tasks=("robustness",))
    before = read_item_groups(read_run_record(run))[0].values
    path = RunFolder(run).locate_cell_items("robustness", "sample", "bm25")
    pl.read_parquet(path).reverse().write_parquet(path)
    assert np.array_equal(read_item_groups(read_run_record(run))[0].values, before)


def test_edited_texts_are_made_again(plain_run: Path) -> None:
    """Windows for the six edits, spans for the eighteen variants, the needle once."""
    robustness, sensitivity = page_of(plain_run).data["groups"][2:4]
    assert len(robustness["changes"]) == 6
    assert len(sensitivity["changes"]) == 18
    assert sensitivity["needle"].startswith("Lorem ipsum")
    start, gone, come = sensitivity["changes"]["insertion:p=0.5,q=0"][0]
    assert (start, gone) == (0, 0)
    assert come > 20


def test_a_tokenizer_that_is_not_there_costs_only_the_edited_texts(make_full_run: MakeRun) -> None:
    """The reason stands in the page instead."""
    import json

    run = make_full_run(tasks=("sensitivity",))
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["arguments"]["tokenizer"] = "unheard-of"
    (run / "manifest.json").write_text(json.dumps(manifest))
    group = page_of(run).data["groups"][0]
    assert group["changes"] == {}
    assert group["changesReason"].startswith("Edited texts cannot be shown: There is no tokenizer")


def test_human_choices_are_read_off_the_predictions(plain_run: Path) -> None:
    """Chosen is what was predicted where the prediction was right, the other where it was wrong."""
    group = page_of(plain_run).data["groups"][0]
    correct, first, second = (measure[0] for measure in group["values"])
    for right, one, two, choice in zip(correct, first, second, group["choice"], strict=True):
        predicted = int(one <= two)
        assert one == two or choice == (predicted if right else 1 - predicted)


def test_every_perturbation_has_its_worst_item(plain_run: Path) -> None:
    """The table of worst items names one for each measure, with the lowest mean over systems."""
    page = page_of(plain_run)
    assert len(page.worst) == sum(len(group["measures"]) for group in page.data["groups"])
    one = next(worst for worst in page.worst if worst.measure_title == "similarity, negated")
    values = np.array(page.data["groups"][one.group]["values"][one.measure]) / 10_000
    assert float(one.mean) == np.round(values.mean(axis=0).min(), 3)


def test_no_items_no_page(make_full_run: MakeRun) -> None:
    """A run without items has no explorer."""
    import shutil

    run = make_full_run()
    shutil.rmtree(run / "items")
    record = read_run_record(run)
    assert make_items_page((ReportRun(record, build_record_board(record)),)) is None


def test_edits_have_words() -> None:
    """Positions and sizes are said, unknown edits keep their name."""
    assert describe_edit("insertion:p=1,q=0") == "100% inserted at the start"
    assert describe_edit("new_edit") == "new_edit"
