"""Where the answers of a study are, and what is said when there are none."""

from __future__ import annotations

import json

import pytest

from embassay.errors import DataError, ModelError, UsageError
from embassay.protocols.hume.collection import collect_study_annotations
from embassay.protocols.hume.store import (
    SavedAnswer,
    SubmittedAnswer,
    has_answer_store,
    open_answer_store,
    stored_annotations,
)
from embassay.protocols.hume.study import AnnotationRow, read_study, write_annotations
from hume_small import small_study

ANSWER = SubmittedAnswer("mood-00", 1, 1, tab="t")


@pytest.fixture
def server(team):
    team.clear()
    return team


def _answered(folder, database=None):
    store = open_answer_store(folder, database)
    store.add_annotator("ann")
    assert isinstance(store.save("ann", "mood", ANSWER), SavedAnswer)
    store.close()


def test_a_study_that_nobody_answered_has_no_store(study) -> None:
    """And reading it makes none."""
    assert not has_answer_store(study)
    assert collect_study_annotations(study) == ()
    assert sorted(path.name for path in study.path.iterdir()) == ["gold.jsonl", "items.jsonl", "study.json"]


def test_answers_in_a_file_that_cannot_be_written(study) -> None:
    """Are read all the same: a study on a shared disk, or in an archive."""
    _answered(study)
    before = {path.name: path.read_bytes() for path in study.path.iterdir()}
    study.path.chmod(0o500)
    (study.path / "answers.sqlite3").chmod(0o400)
    try:
        (one,) = collect_study_annotations(study)
    finally:
        study.path.chmod(0o700)
    assert (one.item_id, one.annotator_id, one.value) == ("mood-00", "ann", 1)
    assert {path.name: path.read_bytes() for path in study.path.iterdir()} == before


def test_an_answer_in_a_file_and_in_the_store(study) -> None:
    """Counts neither twice nor by chance; files that are named stand for themselves."""
    _answered(study)
    file = write_annotations(study.path, "ann", [AnnotationRow(item_id="mood-01", annotator_id="ann", value=0)])
    assert [one.item_id for one in collect_study_annotations(study)] == ["mood-01", "mood-00"]
    write_annotations(study.path, "ann", [AnnotationRow(item_id="mood-00", annotator_id="ann", value=0)])
    with pytest.raises(DataError, match="The answer by ann to mood-00 is both in a file"):
        collect_study_annotations(study)
    assert [one.value for one in collect_study_annotations(study, [file])] == [0]


def test_a_study_remembers_its_server(study, server) -> None:
    """So that whoever scores it need not know; no answer goes astray into a file."""
    _answered(study, server.url)
    assert not (study.path / "answers.sqlite3").exists()
    assert (study.path / "database").read_text().strip() == server.url
    assert [one.value for one in collect_study_annotations(study)] == [1]
    with pytest.raises(UsageError, match="are stored at"):
        open_answer_store(study, "postgresql://elsewhere/x")


def test_answers_in_the_folder_are_not_left_behind(study, server) -> None:
    """A server is not begun with while a file has some."""
    _answered(study)
    with pytest.raises(UsageError, match="already contains answers to this study"):
        open_answer_store(study, server.url)
    assert server.ask("SELECT 1 FROM pg_namespace WHERE nspname LIKE 'hume%'") == []


def test_two_studies_share_a_server(study, server, tmp_path) -> None:
    """Each in a schema of its own, by name."""
    path = small_study(tmp_path / "other", 3)
    file = path / "study.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "name": "Other: «study» 2", "content": "x"}))
    _answered(study, server.url)
    other = read_study(path)
    store = open_answer_store(other, server.url)
    assert stored_annotations(store) == ()
    store.close()
    assert len(collect_study_annotations(study)) == 1
    names = {name for (name,) in server.ask("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'hume%'")}
    assert "hume_small" in names
    assert len(names) == 2


def test_a_password_stays_in_its_variable(study, server, monkeypatch) -> None:
    """The study remembers the name of the variable; an address with a password is refused and not repeated."""
    monkeypatch.setenv("TEAM_ANSWERS", server.url)
    _answered(study, "TEAM_ANSWERS")
    assert (study.path / "database").read_text() == "TEAM_ANSWERS\n"
    assert len(collect_study_annotations(study)) == 1
    monkeypatch.delenv("TEAM_ANSWERS")
    with pytest.raises(UsageError, match="TEAM_ANSWERS is not set"):
        collect_study_annotations(study)


@pytest.mark.parametrize(
    ("address", "error", "told"),
    [
        ("postgresql://ann:geheim@localhost/x", UsageError, "contains a password"),
        ("mysql://localhost/x", UsageError, "neither a URL nor the name"),
        ("nonsense", UsageError, "neither a URL nor the name"),
        ("NO_SUCH_VARIABLE", UsageError, "NO_SUCH_VARIABLE is not set"),
        ("postgresql://localhost:1/x", ModelError, "PostgreSQL at localhost:1 does not answer"),
    ],
)
def test_addresses_that_lead_nowhere(study, address, error, told) -> None:
    """One sentence with a mend, and never a password."""
    with pytest.raises(error, match=told) as raised:
        open_answer_store(study, address)
    assert "geheim" not in str(raised.value)
    assert raised.value.mend
    assert not (study.path / "database").exists()


def test_a_server_that_goes_away_and_comes_back(study, server) -> None:
    """One clear error meanwhile; a stored answer is there again, and the same store goes on."""
    store = open_answer_store(study, server.url)
    store.add_annotator("ann")
    store.save("ann", "mood", ANSWER)
    server.stop()
    with pytest.raises(ModelError, match="does not answer"):
        store.save("ann", "mood", SubmittedAnswer("mood-01", 1, 2, tab="t"))
    server.start()
    assert isinstance(store.save("ann", "mood", SubmittedAnswer("mood-01", 1, 2, tab="t")), SavedAnswer)
    assert list(store.answers("ann")) == ["mood-00", "mood-01"]
    store.close()


def test_a_restart_between_two_saves_is_not_noticed(study, server) -> None:
    """The connection is made again and the answer stored once."""
    store = open_answer_store(study, server.url)
    store.add_annotator("ann")
    store.save("ann", "mood", ANSWER)
    server.stop()
    server.start()
    assert isinstance(store.save("ann", "mood", SubmittedAnswer("mood-01", 1, 2, tab="t")), SavedAnswer)
    assert len(store.changes("ann")) == 2
    store.close()


def test_a_file_that_is_no_database(study) -> None:
    """Is named; its content stays as it was."""
    file = study.path / "answers.sqlite3"
    file.write_bytes(b"no database" * 1000)
    with pytest.raises(ModelError, match=r"answers\.sqlite3"):
        open_answer_store(study)
    with pytest.raises(ModelError, match=r"answers\.sqlite3"):
        collect_study_annotations(study)
    assert file.read_bytes() == b"no database" * 1000


def test_without_the_extra(study, monkeypatch) -> None:
    """What to install."""
    import sys

    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ModelError, match="psycopg") as told:
        open_answer_store(study, "postgresql://localhost/x")
    assert "embassay[pg]" in told.value.mend
