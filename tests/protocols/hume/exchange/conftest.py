"""A small study, and answers of two people to all of it."""

from __future__ import annotations

import pytest

from embassay.protocols.hume.study import write_annotations
from hume_exchange_answers import answers
from hume_small import small_study


@pytest.fixture
def study(tmp_path):
    return small_study(tmp_path / "study", 6)


@pytest.fixture
def empty(tmp_path):
    """The same study without an answer."""
    return small_study(tmp_path / "empty", 6)


@pytest.fixture
def rows(study):
    """Answers of ann and bob, kept in the study."""
    found = [*answers(study, "ann"), *answers(study, "bob", 1)]
    write_annotations(study, "both", found)
    return found
