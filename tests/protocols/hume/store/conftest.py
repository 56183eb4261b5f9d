"""A small study, and its store in a file and on a server: every test of the contract runs over both."""

from __future__ import annotations

import pytest

from embassay.protocols.hume.store import open_answer_store
from embassay.protocols.hume.study import read_study
from hume_small import small_study
from team_database import team_database


@pytest.fixture(scope="session")
def team():
    with team_database() as database:
        yield database


@pytest.fixture
def study(tmp_path):
    return read_study(small_study(tmp_path / "study", 3))


@pytest.fixture(params=["sqlite", "postgres"])
def opened(request, study):
    """Opens the store of the study, again and again; all are closed in the end."""
    if request.param == "sqlite":
        address = None
    else:
        server = request.getfixturevalue("team")
        server.clear()
        address = server.url
    made = []

    def again(folder=study, **options):
        made.append(open_answer_store(folder, address, **options))
        return made[-1]

    yield again
    for store in made:
        store.close()


@pytest.fixture
def store(opened):
    """With two annotators."""
    made = opened()
    made.add_annotator("ann")
    made.add_annotator("bob")
    return made
