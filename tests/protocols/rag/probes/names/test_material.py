"""The bundled lists serve a hundred queries; the user's own are read, or refused with the line."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import get_args

import pytest

from embassay.errors import DataError, UsageError
from embassay.protocols.rag.probes.bundles import Lang, make_name_probe_bundles, make_or_read_authors_and_topics


@pytest.mark.parametrize("lang", get_args(Lang))
def test_the_bundled_lists(lang: Lang) -> None:
    own = make_or_read_authors_and_topics(lang)
    names = [person.name for person in own.people]
    assert len(set(names)) == len(names) == 100
    assert len({person.family for person in own.people}) == 100
    assert len(set(own.topics)) == 100
    for text in (*names, *own.topics):
        assert text == unicodedata.normalize("NFC", text).strip()
    assert len({(one.author, one.topic) for one in make_name_probe_bundles(own, 100, seed=1)}) == 100


def test_own_lists(tmp_path: Path) -> None:
    people = tmp_path / "people.csv"
    people.write_text("given,family\nAda,Byron\nMax,Born\nLise,Meitner\nOtto,Hahn\n")
    topics = tmp_path / "topics.txt"
    topics.write_text("fission\n\nengines\n")
    own = make_or_read_authors_and_topics("en", people=people, topics=topics)
    assert [one.name for one in own.people][:2] == ["Ada Byron", "Max Born"]
    assert own.topics == ("fission", "engines")


def test_own_lists_that_cannot_be_used(tmp_path: Path) -> None:
    people = tmp_path / "people.csv"
    people.write_text("given,name\nAda,Byron\n")
    with pytest.raises(DataError, match="family"):
        make_or_read_authors_and_topics("en", people=people)
    people.write_text("given,family\nAda,Byron\n,Born\n")
    with pytest.raises(DataError, match=r"people\.csv:3"):
        make_or_read_authors_and_topics("en", people=people)
    people.write_text("given,family\nAda,Byron\n")
    with pytest.raises(UsageError, match=r"different authors \(1\)"):
        make_or_read_authors_and_topics("en", people=people)
    with pytest.raises(DataError, match="cannot be read"):
        make_or_read_authors_and_topics("en", topics=tmp_path / "none.txt")
