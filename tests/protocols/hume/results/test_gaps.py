"""What goes with the gap between people and models."""

from __future__ import annotations

import numpy as np
import pytest

from embassay.protocols.hume.record import AnnotatorAgreement, DatasetLanguageRecord, Summary, SystemScore
from embassay.protocols.hume.results.gaps import gap_slopes_table
from embassay.stats import Estimate

LANGS = ("eng", "rus", "dan", "nob")
"""Of classes 5, 4, 3 and 1."""


def _pair(number: int, rng: np.random.Generator) -> DatasetLanguageRecord:
    lang, agreement, words = LANGS[number % 4], float(rng.uniform(0.2, 0.9)), float(rng.uniform(5, 200))
    gap = 0.05 * {"eng": 5, "rus": 4, "dan": 3, "nob": 1}[lang] + 0.2 * agreement + float(rng.normal(0, 0.005))
    value = Estimate(value=agreement)
    return DatasetLanguageRecord(
        task=f"t{number}", dataset=f"d{number}", lang=lang, family="sts", measure="spearman", n=9, words=words,
        human=Estimate(value=0.4 + gap),
        models=tuple(SystemScore(system=name, kind="embedding", score=Estimate(value=0.4)) for name in "ab"),
        agreement=AnnotatorAgreement(coefficient="spearman", value=value, band="", annotators=2, items=9,
            annotations=18),
    )  # fmt: skip


def _rows(pairs: int) -> dict[str, dict[str, object]]:
    rng = np.random.default_rng(4)
    made = tuple(_pair(number, rng) for number in range(pairs))
    table = gap_slopes_table(Summary(title="t", source="study", seed=7, pairs=made, places=()))
    names = [column.name for column in table.columns]
    return {str(row[0]): dict(zip(names, row, strict=True)) for row in table.rows}


def test_the_planted_slopes_are_found_together() -> None:
    """Points per step: 5 per class, 2 per tenth of agreement, none per word; what no pair differs in has none."""
    rows = _rows(48)
    for name, slope in (("language resources", 5.0), ("agreement", 2.0), ("length", 0.0)):
        assert rows[name]["joint_slope"] == pytest.approx(slope, abs=0.3)
        assert rows[name]["joint_low"] < slope < rows[name]["joint_high"]
    assert rows["train and test overlap"]["slope"] is None
    assert rows["train and test overlap"]["reason"]


def test_few_pairs_have_no_slopes() -> None:
    assert all(row["slope"] is None and row["reason"] for row in _rows(5).values())
