"""Whether a change matters: lists, nDCG and a half renewed index, against the same worked out on all passages."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from embassay.errors import DataError
from embassay.protocols.watch.check import check_fingerprint_of_open_respondent
from embassay.protocols.watch.impact import ANEW, HALF, KEPT, _compute_expected_discount, measure_all_threshold_impacts
from embassay.protocols.watch.options import FingerprintCheckRequest
from embassay.protocols.watch.own import OwnPassagesAndQuestions
from embassay.systems.cosine import VectorTransformOptions
from watched_systems import WIDTH, MadeEncoder, made, recorded


def _lists(encoder: MadeEncoder, own: OwnPassagesAndQuestions, documents: np.ndarray | None = None) -> list[list[int]]:
    vectors = encoder.encode(own.texts, role="document") if documents is None else documents
    scores = _unit(encoder.encode(own.queries, role="query")) @ _unit(vectors).T
    lists: list[list[int]] = np.argsort(-scores, axis=1, kind="stable")[:, :10].tolist()
    return lists


def _unit(vectors: np.ndarray) -> np.ndarray:
    wide = vectors.astype(np.float64)
    return np.asarray(wide / np.linalg.norm(wide, axis=1, keepdims=True))


def _ndcg(lists: list[list[int]], own: OwnPassagesAndQuestions) -> float:
    values = []
    for key, found in zip(own.query_ids, lists, strict=True):
        gains = own.gains[key]
        got = sum(gains.get(own.ids[row], 0) / math.log2(rank + 2) for rank, row in enumerate(found))
        best = sorted(gains.values(), reverse=True)
        values.append(got / sum(gain / math.log2(rank + 2) for rank, gain in enumerate(best)))
    return float(np.mean(values))


CUT = VectorTransformOptions(dims=24)


def _cut(vectors: np.ndarray, texts: object, role: object) -> np.ndarray:
    return CUT(vectors.astype(np.float32))


def test_all_made_anew_is_what_all_passages_say(own_texts: OwnPassagesAndQuestions) -> None:
    """With all passages in the pool or among the others, share and nDCG are those of the whole corpus, by hand."""
    fingerprint = recorded(own_texts)
    assert fingerprint.lists is not None
    assert fingerprint.lists.outside == 0
    check = check_fingerprint_of_open_respondent(fingerprint, made(step=_cut), FingerprintCheckRequest())
    assert check.impact is not None
    state = check.impact.states[-1]
    before, now = _lists(MadeEncoder(), own_texts), _lists(MadeEncoder(step=_cut), own_texts)
    changed = [set(a) != set(b) for a, b in zip(before, now, strict=True)]
    assert state.name == ANEW
    assert state.changed.value == pytest.approx(np.mean(changed))
    assert check.impact.ndcg_before == pytest.approx(_ndcg(before, own_texts))
    assert state.ndcg is not None
    assert state.ndcg.value == pytest.approx(_ndcg(now, own_texts) - _ndcg(before, own_texts))


def test_an_index_that_is_kept_meets_new_questions(own_texts: OwnPassagesAndQuestions) -> None:
    """Old passages with new questions, by hand; the recorded passages are kept to three digits (float16)."""
    shift = 0.5 * np.eye(WIDTH)[0]
    changed = MadeEncoder(step=lambda vectors, texts, role: vectors + shift * (role == "query"))
    fingerprint = recorded(own_texts)
    check = check_fingerprint_of_open_respondent(fingerprint, made(step=changed.step), FingerprintCheckRequest())
    assert check.impact is not None
    assert [state.name for state in check.impact.states] == [KEPT, HALF, ANEW]
    old = MadeEncoder().encode(own_texts.texts, role="document")
    before, now = _lists(MadeEncoder(), own_texts), _lists(changed, own_texts, old)
    share = np.mean([set(a) != set(b) for a, b in zip(before, now, strict=True)])
    # Passages did not change, so all three states are one.
    for state in check.impact.states:
        assert state.changed.value == pytest.approx(share, abs=0.051)
    assert check.part.startswith(("nothing, because only questions", "nothing for now"))


def test_what_stays_outside_widens_the_estimate_to_the_truth() -> None:
    """With four fifths of the passages outside, the predicted share is within its interval of the true one."""
    from watched_systems import made_texts

    own = made_texts(passages=1500)
    fingerprint = recorded(own)
    assert fingerprint.lists is not None
    assert fingerprint.lists.outside > 700
    check = check_fingerprint_of_open_respondent(fingerprint, made(step=_cut), FingerprintCheckRequest())
    assert check.impact is not None
    before, now = _lists(MadeEncoder(), own), _lists(MadeEncoder(step=_cut), own)
    true = float(np.mean([set(a) != set(b) for a, b in zip(before, now, strict=True)]))
    told = check.impact.states[-1]
    assert told.changed.low <= true <= told.changed.high
    assert told.ndcg is not None
    assert told.ndcg.low <= _ndcg(now, own) - _ndcg(before, own) <= told.ndcg.high


def test_the_expected_discount_is_worked_by_hand() -> None:
    """At rank 8 of 0 to 9 with one passage to push: P(0) of its own discount, P(1) of the next, nothing beyond."""
    discounts = 1 / np.log2(np.arange(10) + 2)
    expected = math.exp(-1) * (1 / math.log2(10) + 1 / math.log2(11))
    assert _compute_expected_discount(8, 1.0, discounts) == pytest.approx(expected)
    assert _compute_expected_discount(10, 0.0, discounts) == 0.0
    assert _compute_expected_discount(0, 0.0, discounts) == pytest.approx(1.0)


def test_rounding_needs_no_new_index(own_texts: OwnPassagesAndQuestions) -> None:
    """float16 is a change, and no list of the user's knows of it."""
    step = VectorTransformOptions(quantize="float16")
    changed = made(step=lambda vectors, texts, role: step(vectors.astype(np.float32)))
    check = check_fingerprint_of_open_respondent(recorded(own_texts), changed, FingerprintCheckRequest())
    assert check.verdict == "changed"
    assert check.has_changed_lists is False
    assert check.part.startswith("nothing for now")


def test_only_longer_passages_are_to_be_made_anew(own_texts: OwnPassagesAndQuestions) -> None:
    """A model that reads less: the part names a length and the share of the corpus above it."""
    check = check_fingerprint_of_open_respondent(
        recorded(own_texts), made(limit=30), FingerprintCheckRequest(lists="never")
    )
    assert [change.kind for change in check.changes] == ["cut length"]
    assert check.part.startswith("passages of about")
    assert "%" in check.part


def test_lists_are_asked_for_as_wanted(own_texts: OwnPassagesAndQuestions) -> None:
    """Never, always, and by default only after a change."""
    fingerprint = recorded(own_texts)
    assert check_fingerprint_of_open_respondent(fingerprint, made(), FingerprintCheckRequest()).impact is None
    always = check_fingerprint_of_open_respondent(fingerprint, made(), FingerprintCheckRequest(lists="always"))
    assert always.impact is not None
    assert always.impact.states[-1].changed.value == 0
    never = check_fingerprint_of_open_respondent(fingerprint, made(step=_cut), FingerprintCheckRequest(lists="never"))
    assert never.impact is None


def test_a_threshold_that_turns_no_longer_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors that move together raise every cosine: pairs are accepted that were not, and another threshold accepts
    as many as before."""
    from types import SimpleNamespace

    bars = (SimpleNamespace(measure="precision", value=0.5), SimpleNamespace(measure="recall", value=None))
    curve = SimpleNamespace(system="s", curve=SimpleNamespace(thresholds=bars))
    monkeypatch.setattr("embassay.protocols.calibration.probability.calibration", lambda file: curve)
    rng = np.random.default_rng(0)
    then = rng.standard_normal((40, WIDTH)).astype(np.float32)
    shift = np.full(WIDTH, 1.2, dtype=np.float32)
    same, raised = (measure_all_threshold_impacts(("c.json",), "s", then, then + step) for step in (0 * shift, shift))
    assert [state.holds for state in same] == [True]
    assert [state.holds for state in raised] == [False]
    assert raised[0].accepted_before == 0
    assert raised[0].accepted_now > 0.5
    assert raised[0].equivalent > 0.5
    with pytest.raises(DataError, match="another system"):
        measure_all_threshold_impacts(("c.json",), "t", then, then)
