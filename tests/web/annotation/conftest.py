"""A small study that is served to two, and a client for each."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

from embassay.web.annotation.service import StudyRequestRules, open_study_service
from hume_small import small_study
from team_database import team_database

pytest.importorskip("fastapi")


@dataclass
class Page:
    """What one opened link can do; requests are those of its page unless a test says otherwise."""

    client: object
    path: str
    form_key: str

    def get(self, path, **more):
        return self.client.get(self.path + path, **more)

    def put(self, path, body, *, headers=None, **more):
        return self.client.put(
            self.path + path, json=body, headers=self.headers if headers is None else headers, **more
        )

    def post(self, path, body=None, *, headers=None):
        return self.client.post(self.path + path, json=body, headers=self.headers if headers is None else headers)

    def answer(self, item, value, seq, **more):
        body = {"value": value, "seconds": 2.0, "flag": "", "comment": "", "seq": seq, "tab": "t", "paused": 0}
        return self.put(f"answers/{item}", {**body, **more})

    @property
    def headers(self):
        return {"X-CSRF-Token": self.form_key}


@pytest.fixture
def study(tmp_path):
    return small_study(tmp_path / "study", 3)


@pytest.fixture(scope="session")
def team():
    """A PostgreSQL for the tests that ask for it."""
    with team_database() as database:
        yield database


@pytest.fixture
def database():
    """Where answers are kept: a file, unless a module says otherwise."""
    return


@pytest.fixture
def served(study, database):
    """Serves a study to ann and bob, with any options: served(hosts=("localhost",))."""
    made = []

    def opened(path=study, **options):
        made.append(open_study_service(path, ["ann", "bob"], database=database, options=StudyRequestRules(**options)))
        return made[-1]

    yield opened
    for service in made:
        service.close()


@pytest.fixture
def service(served):
    return served()


@pytest.fixture
def browse(service):
    """A browser of its own, with its own cookies: browse() or browse(another_service)."""
    from starlette.testclient import TestClient

    from embassay.web.annotation.app import make_annotation_app

    apps = {}

    def opened(of=None):
        used = of or service
        app = apps.setdefault(id(used), make_annotation_app(used))
        return TestClient(app, base_url="http://localhost:8000", raise_server_exceptions=False)

    return opened


def page_of(client, path):
    """Open a link as a browser does."""
    answer = client.get(path)
    assert answer.status_code == 200
    return Page(client, path, re.search(r'name="csrf" content="([^"]*)"', answer.text)[1])


@pytest.fixture
def ann(service, browse):
    return page_of(browse(), service.annotator_link("ann"))


@pytest.fixture
def bob(service, browse):
    return page_of(browse(), service.annotator_link("bob"))


@pytest.fixture
def owner(service, browse):
    return Page(browse(), service.owner_link(), "")
