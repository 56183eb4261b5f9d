"""Atomic files, fingerprints and file names."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.runs.folder import digest_json, format_value_as_json, slugify_name, write_file_atomically


def test_write_atomic_replaces_and_leaves_nothing_else(tmp_path):
    """A file is replaced as a whole and no temporary file stays behind."""
    path = tmp_path / "deep" / "file.json"
    write_file_atomically(path, "old")
    write_file_atomically(path, "new")
    assert path.read_text() == "new"
    assert [one.name for one in path.parent.iterdir()] == ["file.json"]


def test_a_failed_write_keeps_the_old_file(tmp_path, monkeypatch):
    """What cannot be written leaves the old content alone."""
    path = tmp_path / "file"
    write_file_atomically(path, "old")

    def full(number):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_file_atomically(path, "new")
    assert path.read_text() == "old"


def test_a_name_that_is_not_utf8_is_kept(tmp_path):
    """A folder of documents may hold one, and its path stands in the manifest."""
    name = b"bad\xff.md".decode("utf-8", "surrogateescape")
    write_file_atomically(tmp_path / "manifest.json", format_value_as_json({"path": name}))
    assert json.loads((tmp_path / "manifest.json").read_text("utf-8")) == {"path": name}


def test_digest_does_not_depend_on_key_order():
    """Equal values have equal digests, whatever the order of keys."""
    assert digest_json({"a": 1, "b": [2]}) == digest_json({"b": [2], "a": 1}) != digest_json({"a": 1, "b": [3]})


def test_json_refuses_nan():
    """A missing number is null: NaN never reaches a file."""
    with pytest.raises(ValueError, match="JSON"):
        format_value_as_json({"value": float("nan")})
    assert json.loads(format_value_as_json({"value": None})) == {"value": None}


@given(st.text(min_size=1, max_size=200), st.text(min_size=1, max_size=200))
def test_slugs_are_safe_and_distinct(a, b):
    """A slug is a plain file name, and different names have different slugs."""
    assert slugify_name(a).isascii()
    assert not set(slugify_name(a)) & set('/\\:*?"<>| ')
    assert len(slugify_name(a)) <= 70
    assert (slugify_name(a) == slugify_name(b)) == (a == b)
