"""The file of a fingerprint: the same bytes for the same answers, and no other file is taken for one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from embassay.errors import DataError
from embassay.protocols.watch.fingerprint import Base64NumberArray, read_fingerprint
from embassay.protocols.watch.own import OwnPassagesAndQuestions
from watched_systems import made, recorded


def test_equal_answers_give_equal_bytes(tmp_path: Path) -> None:
    """Two recordings of one system are one file, byte for byte."""
    for name in ("a.json", "b.json"):
        recorded().save(tmp_path / name)
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_what_is_read_is_what_was_saved(tmp_path: Path, own_texts: OwnPassagesAndQuestions) -> None:
    """Vectors to the last bit, noise, items and lists come back."""
    saved = recorded(own_texts, noise=0.01)
    saved.save(tmp_path / "f.json")
    read = read_fingerprint(tmp_path / "f.json")
    assert read.digest == saved.digest
    assert np.array_equal(read.values, saved.values)
    assert read.items == saved.items
    assert read.has_varied_answers
    assert not recorded().has_varied_answers


@given(arrays(np.float32, st.tuples(st.integers(0, 5), st.integers(0, 5))))
def test_packed_numbers_come_back(values: np.ndarray) -> None:
    """Any array, NaN and infinities too."""
    assert np.array_equal(Base64NumberArray.of(values).unpack_array(), values, equal_nan=True)


def test_distances_are_half_the_squared_ones() -> None:
    """Of unit vectors 1 - cosine: with a noise of 0.01 between two answers, their median is near it."""
    assert np.median(recorded(noise=0.01).noise) == pytest.approx(0.01, rel=0.15)


def _set(plain: dict[str, Any], *path: Any, to: Any) -> None:
    for name in path[:-1]:
        plain = plain[name]
    plain[path[-1]] = to


TAMPERED: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "format": (lambda plain: _set(plain, "format", to="pickle"), "another format"),
    "version": (lambda plain: _set(plain, "version", to=9), "another format"),
    "texts": (lambda plain: _set(plain, "texts", to=9), "texts of version 9"),
    "unknown": (lambda plain: _set(plain, "run", to="rm"), "run"),
    "role": (lambda plain: _set(plain, "items", 3, "role", to="owner"), "items.3.role"),
    "width": (lambda plain: _set(plain, "width", to=65), "answers"),
    "huge": (lambda plain: _set(plain, "answers", "shape", to=[10**9, 10**9]), "answers"),
    "negative": (lambda plain: _set(plain, "answers", "shape", to=[-78, -64]), "answers"),
    "base64": (lambda plain: _set(plain, "answers", "data", to="!!"), "answers"),
    "short": (lambda plain: _set(plain, "answers", "data", to="AAAA"), "answers"),
    "infinite": (
        lambda plain: _set(plain, "answers", to=vars(Base64NumberArray.of(np.full((78, 64), np.inf)))), "answers"
    ),
    "distance": (
        lambda plain: _set(plain, "distances", to=vars(Base64NumberArray.of(np.full((78, 5), -1.0)))), "distances"
    ),
    "twice": (lambda plain: _set(plain, "items", 1, to=plain["items"][0]), "items"),
    "place": (lambda plain: _set(plain, "lists", "relevant", 0, 1, to=10**6), "lists.relevant"),
    "question": (lambda plain: _set(plain, "lists", "questions", 0, to=-1), "lists.questions"),
    "price": (lambda plain: _set(plain, "usd_per_million", to=-1.0), "usd_per_million"),
}  # fmt: skip


@pytest.mark.parametrize("name", TAMPERED)
def test_a_tampered_file_is_refused_with_its_place(
    tmp_path: Path, own_texts: OwnPassagesAndQuestions, name: str
) -> None:
    """Each is a DataError that names the field and the mend."""
    change, place = TAMPERED[name]
    saved = recorded(own_texts if "lists" in place else None)
    plain = saved.as_dict()
    plain = json.loads(json.dumps(plain))
    change(plain)
    path = tmp_path / "f.json"
    path.write_text(json.dumps(plain))
    with pytest.raises(DataError, match=place) as raised:
        read_fingerprint(path)
    assert "embassay watch record" in raised.value.mend


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\x80\x04K\x01.", b"null", b'{"format": 1}'])
def test_another_file_is_refused(tmp_path: Path, content: bytes) -> None:
    """Empty, no JSON, a pickle, or another object."""
    path = tmp_path / "f.json"
    path.write_bytes(content)
    with pytest.raises(DataError):
        read_fingerprint(path)


def test_no_file_is_refused(tmp_path: Path) -> None:
    """A name that is nothing, and a folder."""
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(DataError, match="no such file"):
            read_fingerprint(path)


def test_texts_go_out_a_few_at_a_time() -> None:
    """No request holds more than four texts, so a bad request shows as few bad texts."""
    respondent = made()
    from embassay.protocols.watch.options import FingerprintRequest, OwnTextsAndQuestionsOptions
    from embassay.protocols.watch.recording import record_respondent_fingerprint

    record_respondent_fingerprint(
        respondent, FingerprintRequest(system="made", own=OwnTextsAndQuestionsOptions()), None
    )
    assert max(respondent.encoder.calls) <= 4
