"""What the tests of a watch share."""

from __future__ import annotations

import pytest

from embassay.protocols.watch.own import OwnPassagesAndQuestions
from watched_systems import made_texts


@pytest.fixture(scope="session")
def own_texts() -> OwnPassagesAndQuestions:
    """Passages of made words with questions and judgements."""
    return made_texts()
