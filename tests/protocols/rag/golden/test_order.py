"""Who sets out together in the last stage."""

import pytest

from embassay.errors import DataError
from embassay.protocols.rag.golden.grades import _read_query_waves_adding_new


def test_those_that_come_later_are_a_wave_of_their_own(tmp_path):
    """A question whose judge had failed must not change what the others were asked."""
    path = tmp_path / "refinement.json"
    assert _read_query_waves_adding_new(path, {"a": "1", "b": "2"}) == [{"a": "1", "b": "2"}]
    assert _read_query_waves_adding_new(path, {"c": "3"}) == [{"a": "1", "b": "2"}, {"c": "3"}]


def test_a_killed_wave_sets_out_again_as_it_was(tmp_path):
    """Also when some of it are done: the others learn from them."""
    path = tmp_path / "refinement.json"
    _read_query_waves_adding_new(path, {"a": "1", "b": "2", "c": "3"})
    assert _read_query_waves_adding_new(path, {"b": "2"}) == [{"a": "1", "b": "2", "c": "3"}]


def test_one_that_has_changed_leaves_its_wave(tmp_path):
    """What it set out with is another."""
    path = tmp_path / "refinement.json"
    _read_query_waves_adding_new(path, {"a": "1", "b": "2"})
    assert _read_query_waves_adding_new(path, {"b": "9"}) == [{"a": "1"}, {"b": "9"}]


def test_a_damaged_file_says_how_to_go_on(tmp_path):
    """The ranking can be redone."""
    path = tmp_path / "refinement.json"
    path.write_text('{"waves": [3]}')
    with pytest.raises(DataError, match="--from-stage S6"):
        _read_query_waves_adding_new(path, {"a": "1"})
