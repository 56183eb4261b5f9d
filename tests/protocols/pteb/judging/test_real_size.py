"""A judge of pairs of public datasets, over HTTP: of a few hundred, and of all of three."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import spearmanr

from embassay.protocols.pteb.judging import judge
from embassay.protocols.pteb.options import JudgingRunOptions

from .conftest import rating

FILES = {"stsb_en_test": (0, 5), "sts12_test": (0, 5), "sick_r_test_trial": (1, 5)}


@pytest.fixture
def sts(root) -> Path:
    """The folder of the public STS data beside the checkout."""
    folder = Path(os.environ.get("EMBASSAY_SHARED", root.parent / "shared" / "data")) / "sts"
    if not folder.is_dir():
        pytest.skip("needs the shared data")
    return folder


@pytest.mark.shared
@pytest.mark.parametrize(
    ("files", "pairs_in_all"),
    [({"sts17_en-en_test": (0, 5)}, 250), pytest.param(FILES, 9914, marks=pytest.mark.nightly)],
)
def test_all_pairs(files, pairs_in_all, sts, judges, spec, tmp_path):
    """A repeated pair is asked for once and counts as often as it is there; correlations and errors are direct
    computations on the files."""
    direct = {}
    for name, (low, high) in files.items():
        with gzip.open(sts / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        pairs = [(row["text"], row["text2"]) for row in rows]
        gold = [5 * (row["score"] - low) / (high - low) for row in rows]
        judges.gold |= dict(zip(pairs, gold, strict=True))
        direct[name] = pairs, np.array(gold)
    run = judge(
        [spec("blunt-4b")],
        datasets=[sts / f"{name}.jsonl.gz" for name in files],
        out=tmp_path / "run",
        gold=tuple(f"{name}={low}-{high}" for name, (low, high) in files.items()),
        options=JudgingRunOptions(resamples=200),
    )
    table = pl.read_csv(run.path / "tables" / "pteb_table2.csv")
    expected, errors = [], []
    for pairs, gold in direct.values():
        values = np.array([rating("blunt-4b", *pair, judges.gold[pair]) for pair in pairs])
        expected.append(100 * spearmanr(values, gold).statistic)
        errors.append(np.abs(values - gold))
    assert table[spec("blunt-4b")].to_list() == pytest.approx([*expected, np.mean(expected)])
    shown = pl.read_csv(run.path / "tables" / "judge_error_by_gold.csv")
    assert shown["all"][0] == pytest.approx(np.concatenate(errors).mean())
    assert sum(shown[column][0] for column in shown.columns if column.startswith("n ")) == pairs_in_all
