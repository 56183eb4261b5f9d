"""Tokens: whose they are, and who can make them."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from embassay.errors import DataError, UsageError
from embassay.protocols.hume.links import LinkHolder, StudyLinks, load_or_make_study_key

ANN, OWNER = LinkHolder("annotator", "ann"), LinkHolder("owner", "owner")
KEY = bytes(range(32))


@pytest.fixture
def links(store):
    return StudyLinks(store.database, KEY)


def test_a_link_is_the_same_every_time_and_nobody_elses(links) -> None:
    """By role and name: an annotator called owner is not the owner."""
    holders = [ANN, OWNER, LinkHolder("annotator", "owner"), LinkHolder("annotator", "bob")]
    tokens = [links.make(one) for one in holders]
    assert len(set(tokens)) == 4
    assert [links.make(one) for one in holders] == tokens
    assert [links.find(token) for token in tokens] == holders


@pytest.mark.parametrize("token", ["", "x", "x" * 43, "x" * 10_000, "é" * 43, "\0" * 43, "' OR 1=1 --"])
def test_what_is_no_token_is_nobodys(links, token) -> None:
    """Whatever it is."""
    links.make(ANN)
    assert links.find(token) is None


def test_renewing_voids_the_earlier_token(links) -> None:
    """For good, and for this one only."""
    first, owners = links.make(ANN), links.make(OWNER)
    second = links.make(ANN, renew=True)
    third = links.make(ANN, renew=True)
    assert len({first, second, third}) == 3
    assert [links.find(one) for one in (first, second, third, owners)] == [None, None, ANN, OWNER]
    assert links.make(ANN) == third


def test_another_key_is_noticed_before_links_go_void(links, store) -> None:
    """New ones are made only when that is asked for."""
    old = links.make(ANN)
    other = StudyLinks(store.database, bytes(32))
    with pytest.raises(UsageError, match="a key that differs from") as told:
        other.make(ANN)
    assert "--new-links" in told.value.mend
    assert links.find(old) == ANN
    new = other.make(ANN, renew=True)
    assert other.find(new) == ANN
    assert other.find(old) is None


def test_what_a_page_must_show_is_bound_to_its_link(links) -> None:
    """And to the key of the server."""
    shown = links.make_csrf_key("a" * 43)
    assert links.is_csrf_key("a" * 43, shown)
    assert not links.is_csrf_key("b" * 43, shown)
    assert not links.is_csrf_key("a" * 43, "")
    assert not links.is_csrf_key("a" * 43, "é")
    assert shown != "a" * 43


def test_the_key_is_made_once_and_for_its_owner(tmp_path) -> None:
    """Also when several processes start at once."""
    with ThreadPoolExecutor(8) as threads:
        keys = set(threads.map(lambda _: load_or_make_study_key(tmp_path), range(16)))
    assert len(keys) == 1
    assert len(keys.pop()) == 32
    assert [path.name for path in tmp_path.iterdir()] == ["serve.key"]
    assert stat.S_IMODE((tmp_path / "serve.key").stat().st_mode) == 0o600


@pytest.mark.parametrize("text", ["", "abc", "zz" * 32, "00" * 31])
def test_a_file_that_holds_no_key(tmp_path, text) -> None:
    """Is named, and never replaced in silence: links would go void."""
    (tmp_path / "serve.key").write_text(text)
    with pytest.raises(DataError, match=r"serve\.key"):
        load_or_make_study_key(tmp_path)
    assert (tmp_path / "serve.key").read_text() == text
