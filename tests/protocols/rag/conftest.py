"""What tests of RAG share: a cache of answers of their own."""

from __future__ import annotations

import pytest

from embassay.runs.store import ChatAnswerCache


@pytest.fixture
def cache(tmp_path):
    opened = ChatAnswerCache.open(tmp_path / "answers.sqlite")
    yield opened
    opened.close()
