"""Cross-encoders: a trained one ranks, an untrained one does not, and what is wrong is said in a line."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from embassay.errors import ModelError, UsageError
from embassay.systems.rerankers import cross_encoder as module
from embassay.systems.rerankers.cross_encoder import CrossEncoder, _check_one_score_each

WEIGHTS = SimpleNamespace(identity="weights", location="here", commit=None, cached=True)
slow = [pytest.mark.torch, pytest.mark.slow, pytest.mark.minilm]


def _auc(reranker, questions) -> float:
    """How often an answering document scores above another one, over all questions at once; 0.5 is chance."""
    scores = [reranker.score(query, [good, bad]) for query, good, bad in questions]
    good, bad = np.array(scores).T
    return float((good[:, None] > bad[None, :]).mean())


@pytest.mark.usefixtures("trained")
class TestTrained:
    pytestmark = slow

    def test_it_ranks_what_it_never_saw(self, trained, held_out):
        """Held-out things: nearly every answer above nearly every other document."""
        assert _auc(CrossEncoder(str(trained), device="cpu"), held_out) > 0.9

    def test_an_untrained_one_guesses(self, untrained, held_out):
        """The same layers without training stay near one half."""
        assert abs(_auc(CrossEncoder(str(untrained), device="cpu"), held_out) - 0.5) < 0.15

    def test_company_changes_no_score(self, trained, held_out):
        """A score is the same alone and in a batch, up to rounding."""
        reranker = CrossEncoder(str(trained), device="cpu", batch_size=4)
        query, documents = held_out[0][0], [good for _, good, _ in held_out[:10]]
        alone = [reranker.score(query, [document])[0] for document in documents]
        assert reranker.score(query, documents) == pytest.approx(alone, abs=1e-4)

    def test_scores_are_logits(self, trained, held_out):
        """Not squeezed into [0, 1], where good documents would tie."""
        documents = [document for _, *both in held_out for document in both]
        scores = CrossEncoder(str(trained), device="cpu").score(held_out[0][0], documents)
        assert scores.dtype == np.float32
        assert scores.max() > 1
        assert scores.min() < 0

    def test_identity_follows_the_weights(self, trained, untrained):
        """Equal for the same folder, another for other weights or another length."""
        one, same = CrossEncoder(str(trained), device="cpu"), CrossEncoder(str(trained), device="cpu")
        others = [CrossEncoder(str(untrained), device="cpu"), CrossEncoder(str(trained), device="cpu", max_length=32)]
        assert one.identity == same.identity
        assert one.identity not in {other.identity for other in others}

    def test_no_documents(self, trained):
        """No rows, and the model is not asked."""
        assert CrossEncoder(str(trained), device="cpu").score("a", []).shape == (0,)


@pytest.mark.torch
def test_a_folder_without_a_model_is_one_line(tmp_path):
    """Whatever library noticed it."""
    pytest.importorskip("sentence_transformers")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelError, match="cannot be loaded") as caught:
        CrossEncoder(str(tmp_path), device="cpu")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("asked", "given", "expected"), [("cpu", None, "cpu"), ("cpu", "cuda:1", "cuda:1")])
def test_the_device_is_the_one_asked_for(monkeypatch, tmp_path, asked, given, expected):
    """By the variable, or by the system's own parameter before it; scores of a card have an identity of their own."""
    (tmp_path / "config.json").write_text("{}")
    device = SimpleNamespace(type=expected.partition(":")[0])
    seen = []

    class Model:
        def __init__(self, location, **options):
            seen.append(options["device"])
            self.device = device

    monkeypatch.setenv("EMBASSAY_DEVICE", asked)
    made = SimpleNamespace(CrossEncoder=Model)
    monkeypatch.setattr(module, "find_weights_and_library", lambda *arguments, **options: (WEIGHTS, made))
    found = CrossEncoder(str(tmp_path), device=given)
    assert seen == [expected]
    assert ("device=cuda" in found.identity) == (expected != "cpu")


def test_code_from_the_hub_needs_a_commit():
    """Checked before anything is loaded."""
    with pytest.raises(UsageError, match=r"pinned commit.*revision=COMMIT"):
        CrossEncoder("someone/model", trust_remote_code=True)


def test_a_name_is_needed():
    """`cross` alone names no model."""
    with pytest.raises(UsageError, match="needs a model"):
        CrossEncoder("")


def test_several_labels_are_no_score():
    """A model for entailment gives three values: which one ranks, nobody says."""
    with pytest.raises(ModelError, match="3 values per pair"):
        _check_one_score_each(np.zeros((2, 3), dtype=np.float32), 2, "m")


def test_scores_must_be_finite():
    """NaN would sort anywhere."""
    with pytest.raises(ModelError, match="not finite"):
        _check_one_score_each(np.array([1.0, np.nan], dtype=np.float32), 2, "m")
