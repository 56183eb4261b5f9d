"""Rows of a noise probe: drops, recovery, retrieval and their intervals."""

from __future__ import annotations

import numpy as np
import pytest

from embassay.protocols.rag.probes import noise as noise
from embassay.protocols.rag.probes.noise import COSINE
from embassay.protocols.rag.probes.questions import QuestionWordingsAtNoiseLevel, name_noise_level
from embassay.protocols.rag.probes.resampling import SharedResamplesContext
from embassay.records import Score
from embassay.text import open_tokenizer

CONTEXT = SharedResamplesContext("bundled-en", open_tokenizer("words"), 1, 500)
IDS = tuple(f"q{i}" for i in range(12))
VARIANTS = [QuestionWordingsAtNoiseLevel(level, rewriter, ()) for rewriter in ("", "rules") for level in range(5)]


def rows(cosines: np.ndarray, recall: np.ndarray | None = None) -> dict[tuple[str, str], Score]:
    """Rows by variant and measure, of (variants, runs, questions)."""
    recall = np.ones_like(cosines) if recall is None else recall
    values = {COSINE: cosines, "N-Recall4+@10": recall, "RA-nWG@10": recall, "nDCG@10": recall}
    found = noise.build_noise_probe_outcome(IDS, VARIANTS, values, CONTEXT)
    assert (found.scores[0].measure, found.scores[0].variant) == (noise.HEADLINE, "")
    return {(one.variant, one.measure): one for one in found.scores}


def levels(*means: float) -> np.ndarray:
    """Cosines with these means over 2 runs and 12 questions."""
    spread = np.random.default_rng(1).normal(0, 0.02, (2, 12))
    return np.stack([mean + spread - spread.mean() for mean in means])


@pytest.mark.parametrize(
    ("clean", "middle", "noisy", "absolute", "percent"),
    [
        (0.818, 0.653, 0.522, 0.296, 36.2),
        (0.936, 0.757, 0.559, 0.377, 40.3),
        (0.828, 0.749, 0.593, 0.235, 28.4),
        (0.908, 0.806, 0.634, 0.274, 30.2),
    ],
)
def test_published_drops(clean: float, middle: float, noisy: float, absolute: float, percent: float) -> None:
    """Spec rag 6, item 8."""
    found = rows(levels(clean, clean, middle, middle, noisy, clean, clean, clean, clean, noisy))
    assert found["", noise.HEADLINE].value == pytest.approx(absolute)
    assert round(found["", noise.SHARE].value or 0, 1) == percent
    assert found["level=2", COSINE].value == pytest.approx(middle)
    assert found["level=4:rules", noise.RECOVERED].value == pytest.approx(0)
    assert found["level=2:rules", noise.RECOVERED].value == pytest.approx(1)


def test_recovery_is_of_the_means() -> None:
    found = rows(levels(0.9, 0.9, 0.8, 0.7, 0.5, 0.9, 0.9, 0.85, 0.75, 0.8))
    assert found["level=4:rules", noise.RECOVERED].value == pytest.approx(0.75)
    assert found["level=4:rules", noise.HEADLINE].value == pytest.approx(0.1)
    assert found["level=1:rules", noise.RECOVERED].reason == "noise does not lower the similarity"
    assert ("level=0:rules", noise.RECOVERED) not in found


def test_retrieval_is_paired_with_the_clean_question() -> None:
    recall = np.ones((10, 2, 12))
    recall[4, :, :6] = 0.0
    recall[9, :, :1] = 0.0
    found = rows(levels(*np.linspace(0.9, 0.5, 10)), recall)
    change, gain = found["level=4", "N-Recall4+@10 change"], found["level=4:rules", "N-Recall4+@10 gain"]
    assert change.value == pytest.approx(-0.5)
    assert change.ci_high is not None
    assert change.ci_high < 0
    assert found["level=4", "p(N-Recall4+@10 change)"].value == pytest.approx(2 / 501)
    assert gain.value == pytest.approx(5 / 12)
    assert found["level=1", "N-Recall4+@10 change"].value == 0
    assert found["level=1", "p(N-Recall4+@10 change)"].value == 1


def test_links_say_whether_similarity_lost_is_recall_lost() -> None:
    """What moves a question further costs it more: over questions, and over levels."""
    rng = np.random.default_rng(4)
    lost = rng.uniform(0, 0.1, (10, 1, 12)) + np.linspace(0, 0.4, 10)[:, None, None]
    lost[0] = 0
    found = rows(np.broadcast_to(0.9 - lost, (10, 1, 12)), 1 - lost)
    link = "Spearman(similarity change, N-Recall4+@10 change)"
    assert found["level=4", link].value == pytest.approx(1)
    assert found["levels", link].value == pytest.approx(1)
    assert found["levels", link].n == 9


def test_questions_without_a_rewriting_are_left_out_or_too_many() -> None:
    few, many = (levels(*np.linspace(0.9, 0.5, 10)) for _ in range(2))
    ids = len(IDS)
    many[9, :, : ids // 2] = np.nan
    found = rows(many)
    assert found["level=4:rules", COSINE].value is None
    assert "6 of 12 queries could not be rewritten" in found["level=4:rules", COSINE].reason
    assert found["level=4", COSINE].value is not None
    assert rows(few)["level=4:rules", COSINE].n == ids


def test_levels_are_named() -> None:
    assert (name_noise_level(0), name_noise_level(3, "llm:x")) == ("level=0", "level=3:llm:x")
