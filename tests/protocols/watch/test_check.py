"""A check: the verdict, the kind of change, and false alarms, on systems whose change is known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from embassay.errors import ModelError, TextRefused, UsageError
from embassay.protocols.watch.check import (
    BY_GROUP,
    OUTLIERS,
    WINDOWS,
    check_fingerprint_of_open_respondent,
    plan_item_rows_of_check_stages,
)
from embassay.protocols.watch.fingerprint import SystemAnswerFingerprint
from embassay.protocols.watch.history import FingerprintCheck
from embassay.protocols.watch.options import FingerprintCheckRequest, FingerprintRequest, OwnTextsAndQuestionsOptions
from embassay.protocols.watch.own import OwnPassagesAndQuestions
from embassay.protocols.watch.recording import record_respondent_fingerprint
from embassay.systems.cosine import VectorTransformOptions
from watched_systems import WIDTH, MadeEncoder, MadeSystem, made, recorded

ROTATED, _ = np.linalg.qr(np.random.default_rng(5).standard_normal((WIDTH, WIDTH)))


def _transform(**how: object) -> dict[str, object]:
    step = VectorTransformOptions(**how)  # type: ignore[arg-type]
    return {"step": lambda vectors, texts, role: step(vectors.astype(np.float32))}


PLANTED: dict[str, tuple[dict[str, object], str]] = {
    "dims": (_transform(dims=32), "dimensions"),
    "dims at length 1": (_transform(dims=32, normalize=True), "dimensions"),
    "float16": (_transform(quantize="float16"), "float16"),
    "int8": (_transform(quantize="int8"), "int8"),
    "binary": (_transform(quantize="binary"), "binary"),
    "lengths": (
        {"step": lambda vectors, texts, role: vectors * np.array([[1 + len(text) % 7] for text in texts])},
        "normalisation",
    ),
    "cut": ({"limit": 100}, "cut length"),
    "prefix": ({"prefix": "query: "}, "prefix or prompt"),
    "model": ({"step": lambda vectors, texts, role: vectors @ ROTATED}, "another model"),
    "role": (
        {"step": lambda vectors, texts, role: np.roll(vectors, role == "query", axis=1)}, "prefix or prompt"
    ),
    "wide": ({"step": lambda vectors, texts, role: np.tile(vectors, 2)}, "another model"),
}  # fmt: skip


@pytest.mark.parametrize("noise", [0.0, 0.001])
@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_change_is_found_and_named(name: str, noise: float) -> None:
    """At once, by a system that always answers alike and by one that does not."""
    facts, kind = PLANTED[name]
    check = check_fingerprint_of_open_respondent(
        recorded(noise=noise), made(noise=noise, seed=1, **facts), FingerprintCheckRequest()
    )
    assert check.verdict == "changed"
    assert kind in [change.kind for change in check.changes]


def test_the_same_system_is_the_same() -> None:
    """With equal answers no item moves; with noise of one in a hundred few do, and no test fires."""
    quiet = check_fingerprint_of_open_respondent(recorded(), made(), FingerprintCheckRequest())
    assert (quiet.verdict, quiet.moved, quiet.p) == ("same", 0, 1.0)
    noisy = check_fingerprint_of_open_respondent(
        recorded(noise=0.01), made(noise=0.01, seed=1), FingerprintCheckRequest()
    )
    assert noisy.verdict == "same"
    assert 0 < noisy.moved < noisy.asked / 2


def test_rounding_is_no_change() -> None:
    """Differences of another processor, one part in ten million, are none."""
    step = lambda vectors, texts, role: vectors * (1 + 1e-7)  # noqa: E731
    assert (
        check_fingerprint_of_open_respondent(recorded(), made(step=step), FingerprintCheckRequest()).verdict == "same"
    )


@pytest.mark.parametrize("before", [0.0, 0.001])
def test_more_noise_is_noisier_and_not_changed(before: float) -> None:
    """Answers that vary ten times as much around what they were."""
    check = check_fingerprint_of_open_respondent(
        recorded(noise=before), made(noise=0.02, seed=2), FingerprintCheckRequest()
    )
    assert check.verdict == "noisier"


def test_a_shift_beneath_the_noise_of_one_answer_is_found() -> None:
    """All answers a little off, by as much as one answer varies: together they tell."""
    shift = np.sqrt(0.002) * np.eye(WIDTH)[0]
    check = check_fingerprint_of_open_respondent(
        recorded(noise=0.001), made(noise=0.001, seed=1, step=lambda vectors, texts, role: vectors + shift),
        FingerprintCheckRequest(),
    )  # fmt: skip
    assert check.verdict == "changed"


class _Fallback(MadeEncoder):
    """Every tenth request is answered by another model."""

    def encode(self, texts: Sequence[str], *, role: str | None = None) -> np.ndarray:
        """Vectors, (n, 64)."""
        vectors = super().encode(texts, role=role)
        return np.asarray(vectors @ ROTATED, dtype=np.float32) if len(self.calls) % 10 == 0 else vectors


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_a_fallback_for_some_requests_is_named(noise: float) -> None:
    """A few texts are far off, and the others as they were."""
    from embassay.protocols.watch.respondents import VectorRespondent

    changed = VectorRespondent(MadeSystem(_Fallback(noise=noise, seed=4)))
    check = check_fingerprint_of_open_respondent(recorded(noise=noise), changed, FingerprintCheckRequest())
    assert check.verdict == "changed"
    assert [change.kind for change in check.changes] == ["some requests"]
    assert check.part.startswith("everything encoded since")


def _cut_vocabulary(vectors: np.ndarray, texts: Sequence[str], role: str | None) -> np.ndarray:
    """Another vector for all that is not written in Latin letters."""
    other = [not text.isascii() and text[:1].isalpha() and text[0] > "\u036f" for text in texts]
    return np.where(np.array(other)[:, None], vectors @ ROTATED, vectors)


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_texts_that_change_each_time_are_told_from_requests(noise: float) -> None:
    """A vocabulary of fewer scripts: always the same texts, and what they have in common; an index keeps the rest."""
    check = check_fingerprint_of_open_respondent(
        recorded(noise=noise), made(noise=noise, seed=4, step=_cut_vocabulary), FingerprintCheckRequest()
    )
    assert check.verdict == "changed"
    (change,) = check.changes
    assert change.kind == "tokenizer or cleaning"
    assert "letters arabic, " in change.evidence
    assert "like the changed" in check.part


def test_texts_without_anything_in_common_are_named_so() -> None:
    """The same sixth of the texts each time, by their length modulo six."""

    def step(vectors: np.ndarray, texts: Sequence[str], role: str | None) -> np.ndarray:
        off = np.array([len(text) % 6 == 1 for text in texts])
        return np.where(off[:, None], vectors @ ROTATED, vectors)

    (change,) = check_fingerprint_of_open_respondent(recorded(), made(step=step), FingerprintCheckRequest()).changes
    assert change.kind == "some texts"


def test_a_slow_change_is_found_over_looks() -> None:
    """A change too small for one night fires once a week's looks are taken together."""
    fingerprint = recorded(noise=0.001)
    shift = np.sqrt(0.00006) * np.eye(WIDTH)[0]
    earlier: list[FingerprintCheck] = []
    for night in range(30):
        system = made(noise=0.001, seed=100 + night, step=lambda vectors, texts, role: vectors + shift)
        earlier.append(check_fingerprint_of_open_respondent(fingerprint, system, FingerprintCheckRequest(), earlier))
        if earlier[-1].verdict == "changed":
            break
    assert earlier[0].verdict == "same"
    assert 7 <= len(earlier) <= 30


def test_the_level_is_shared_out_whole() -> None:
    """The parts of all tests of a look come to its level."""
    assert sum(WINDOWS.values()) + len(WINDOWS) * BY_GROUP + OUTLIERS == pytest.approx(1)


def test_until_sure_asks_less(own_texts: OwnPassagesAndQuestions) -> None:
    """A model that is another one shows at the first stage; an equal one at the second; a noisy one is asked all."""
    fingerprint = recorded(own_texts)
    request = FingerprintCheckRequest(until_sure=True, lists="never")
    other = check_fingerprint_of_open_respondent(fingerprint, made(step=PLANTED["model"][0]["step"]), request)
    assert (other.verdict, other.asked) == ("changed", 12)
    same = check_fingerprint_of_open_respondent(fingerprint, made(), request)
    assert (same.verdict, same.asked) == ("same", 40)
    noisy = check_fingerprint_of_open_respondent(recorded(own_texts, noise=0.01), made(noise=0.01, seed=1), request)
    assert (noisy.verdict, noisy.asked) == ("same", len(fingerprint.items))


def test_stages_cover_all_once(own_texts: OwnPassagesAndQuestions) -> None:
    """Every item is in one stage, and the first has questions and passages of the user's own."""
    fingerprint = recorded(own_texts)
    stages = plan_item_rows_of_check_stages(fingerprint, until_sure=True)
    assert sorted(row for stage in stages for row in stage) == list(range(len(fingerprint.items)))
    assert {fingerprint.items[row].group for row in stages[1]} >= {"question", "passage", "long"}


class _Refusing(MadeEncoder):
    """Refuses texts with a word."""

    word = "harbour"

    def encode(self, texts: Sequence[str], *, role: str | None = None) -> np.ndarray:
        """Vectors, (n, 64)."""
        if any(self.word in text for text in texts):
            raise TextRefused("too long")
        return super().encode(texts, role=role)


def test_what_is_refused_is_counted_and_left_out() -> None:
    """A few refused texts are lost, told, and no change; too many of them cannot be compared."""
    from embassay.protocols.watch.respondents import VectorRespondent

    few = VectorRespondent(MadeSystem(_Refusing()))
    few.encoder.word = "aspirin"
    check = check_fingerprint_of_open_respondent(recorded(), few, FingerprintCheckRequest())
    assert (check.verdict, check.lost, check.mask.count("-")) == ("same", 2, 2)
    many = VectorRespondent(MadeSystem(_Refusing()))
    assert check_fingerprint_of_open_respondent(recorded(), many, FingerprintCheckRequest()).verdict == "not comparable"
    none = VectorRespondent(MadeSystem(_Refusing()))
    none.encoder.word = ""
    with pytest.raises(ModelError, match="not encode any of the texts"):
        check_fingerprint_of_open_respondent(recorded(), none, FingerprintCheckRequest())


def test_a_text_that_was_refused_when_recorded_stays_out() -> None:
    """It has no answer to compare with."""
    from embassay.protocols.watch.respondents import VectorRespondent

    refusing = VectorRespondent(MadeSystem(_Refusing()))
    refusing.encoder.word = "aspirin"
    request = FingerprintRequest(system="made", own=OwnTextsAndQuestionsOptions())
    fingerprint: SystemAnswerFingerprint = record_respondent_fingerprint(refusing, request).fingerprint
    assert set(fingerprint.failed) == {"claim"}
    check = check_fingerprint_of_open_respondent(fingerprint, made(), FingerprintCheckRequest())
    assert (check.verdict, check.lost) == ("same", 2)


def test_one_thing_is_recorded_at_a_time() -> None:
    """A system and a judge together, and nothing at all, are mistakes."""
    for facts in ({}, {"system": "a", "judge": "b"}):
        with pytest.raises(UsageError, match="Exactly one system"):
            FingerprintRequest(**facts)


@pytest.mark.nightly
@pytest.mark.parametrize("noise", [0.0001, 0.01])
def test_false_alarms_of_whole_checks(noise: float) -> None:
    """Of periods of 30 nights without a change at most alpha have an alarm, and three standard errors."""
    years, nights, alpha = 20, 30, 0.05
    alarms = 0
    for year in range(years):
        fingerprint = recorded(noise=noise, seed=1000 + year)
        earlier: list[FingerprintCheck] = []
        request = FingerprintCheckRequest(alpha=alpha, looks=nights)
        for night in range(nights):
            system = made(noise=noise, seed=10**6 + year * nights + night)
            earlier.append(check_fingerprint_of_open_respondent(fingerprint, system, request, earlier))
        alarms += any(check.verdict != "same" for check in earlier)
    assert alarms / years <= alpha + 3 * np.sqrt(alpha * (1 - alpha) / years)
