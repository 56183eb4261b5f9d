"""Old against fresh texts at equal distance: what is told apart, what is not, and a run that names what is fresh."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import embassay as eb
from embassay.errors import UsageError
from embassay.protocols.pteb.freshness import (
    RewordedItemScores,
    measure_excess_loss_of_old,
    subtract_untrained_excess_loss,
)
from paper_runs import write_pairs


def texts(name: str, distances: list[float], losses: list[float], each: int = 200) -> RewordedItemScores:
    """At each distance as many items, all right as they are, of which a paraphrase loses this share."""
    wrong = [np.arange(each) < round(share * each) for share in losses]
    run = 1.0 - np.concatenate(wrong)
    return RewordedItemScores(name, np.repeat(distances, each), np.ones(len(run)), (run,))


def test_what_old_texts_lose_more() -> None:
    result = measure_excess_loss_of_old(
        "mean", [texts("old", [0.3, 0.5], [0.3, 0.4])], [texts("new", [0.3, 0.5], [0.1, 0.2])]
    )
    assert result.difference is not None
    assert result.difference.value == pytest.approx(0.2)
    assert 0.1 < result.difference.low < 0.2 < result.difference.high < 0.3
    assert result.difference.n == 800
    known = {part.label: (part.old, part.fresh, part.old_loss, part.fresh_loss) for part in result.bins}
    assert known["0.2 to 0.4"] == (200, 200, pytest.approx(0.3), pytest.approx(0.1))
    assert known["0 to 0.2"] == (0, 0, None, None)


def test_texts_that_are_only_reworded_more_are_not_taken_for_learnt() -> None:
    """Old texts lose more in all, and the same as fresh ones at each distance."""
    old = RewordedItemScores("old", *_mixed(30, 90))
    fresh = RewordedItemScores("new", *_mixed(90, 30))
    raw = [1 - side.runs[0].mean() for side in (old, fresh)]
    assert raw[0] - raw[1] > 0.1
    result = measure_excess_loss_of_old("mean", [old], [fresh])
    assert result.difference is not None
    assert result.difference.value == pytest.approx(0.0)
    assert result.difference.low < 0 < result.difference.high


def _mixed(near: int, far: int) -> tuple[Any, ...]:
    """So many items at a distance where a tenth is lost, and at one where a half is."""
    distance = np.repeat([0.1, 0.7], [near, far])
    lost = np.concatenate([np.arange(near) < near // 10, np.arange(far) < far // 2])
    return distance, np.ones(near + far), (1.0 - lost,)


def test_what_untrained_metrics_lose_too_is_no_memory() -> None:
    """Old texts are harder by 0.1 for all; a model that learnt them by heart loses 0.2 more of them."""
    fresh = [texts("new", [0.3, 0.5], [0.1, 0.2])]
    plain = [measure_excess_loss_of_old("mean", [texts("old", [0.3, 0.5], [0.2, 0.3])], fresh) for _ in range(2)]
    model = measure_excess_loss_of_old("mean", [texts("old", [0.3, 0.5], [0.4, 0.5])], fresh)
    assert plain[0].difference is not None
    assert plain[0].difference.value == pytest.approx(0.1)
    beyond = subtract_untrained_excess_loss(model, plain)
    assert beyond is not None
    assert beyond.value == pytest.approx(0.2)
    assert beyond.low < 0.2 < beyond.high
    # The same items are drawn for both, so what both lose does not widen it.
    assert model.difference is not None
    assert beyond.high - beyond.low < model.difference.high - model.difference.low
    assert subtract_untrained_excess_loss(model, []) is None
    other = measure_excess_loss_of_old("mean", [texts("old", [0.3], [0.2])], fresh)
    assert subtract_untrained_excess_loss(model, [other]) is None


def test_a_distance_that_only_one_kind_has_is_left_out() -> None:
    result = measure_excess_loss_of_old("mean", [texts("old", [0.3], [0.3])], [texts("new", [0.7], [0.1])])
    assert result.difference is None
    assert "both kinds" in result.reason
    with pytest.raises(UsageError, match="--fresh"):
        measure_excess_loss_of_old("mean", [texts("old", [0.3], [0.3])], [])


def test_correlations_are_of_each_dataset_by_itself() -> None:
    """Two fresh datasets whose scales differ are not mixed into one correlation."""
    gold = np.linspace(0, 1, 40)
    kept, turned = gold.copy(), gold[::-1].copy()
    near = np.full(40, 0.3)
    old = RewordedItemScores("old", near, kept, (turned,), gold)
    fresh = [
        RewordedItemScores("a", near, kept, (kept,), gold),
        RewordedItemScores("b", near, 10 + kept, (10 + kept,), 5 + gold),
    ]
    result = measure_excess_loss_of_old("spearman", [old], fresh)
    [part] = [part for part in result.bins if part.fresh_loss is not None]
    assert (part.old_loss, part.fresh_loss) == (pytest.approx(2.0), pytest.approx(0.0))
    assert result.difference is not None
    assert result.difference.value == pytest.approx(2.0)


def test_a_run_says_which_of_its_datasets_are_fresh(tmp_path: Path) -> None:
    """On the sample, with its words permuted in place of paraphrases."""
    old, new = (
        write_pairs(tmp_path / "old.csv", slice(0, None, 2)),
        write_pairs(tmp_path / "new.csv", slice(1, None, 2)),
    )

    def run(**more: Any) -> Any:
        return eb.pteb.run(
            ["jaccard", "levenshtein"], paraphraser="permuted", datasets=[old, new], tasks=["sts"], runs=2,
            tokenizer="words", out=tmp_path / "run", **more
        )  # fmt: skip

    table = run(fresh=("new",)).table("pteb_fresh")
    assert set(table["system"]) == {"jaccard", "levenshtein"}
    whole = table.filter(table["edit distance"] == "all")
    assert whole.height == 2
    defined = table.filter(table["excess"].is_not_null())
    for row in defined.filter(defined["edit distance"] != "all").iter_rows(named=True):
        assert row["excess"] == pytest.approx(row["old_loss"] - row["fresh_loss"])
        # Words in another order are the same to jaccard: nothing varies, and there is no interval.
        assert row["system"] == "jaccard" or float(row["low"]) < row["excess"] < float(row["high"])
    assert "suggests memorisation" in (tmp_path / "run" / "tables" / "pteb_fresh.md").read_text()
    assert "fresh" not in eb.pteb.run(
        ["jaccard"], paraphraser="permuted", datasets=[old], tasks=["sts"], runs=1, tokenizer="words",
        out=tmp_path / "alone"
    ).manifest["arguments"]  # fmt: skip


def test_what_is_no_dataset_of_the_run_cannot_be_fresh(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="which is not a dataset"):
        eb.pteb.run(
            ["jaccard"], paraphraser="permuted", tasks=["sts"], tokenizer="words", fresh=("other",), out=tmp_path / "r"
        )
