"""A column that lies in a file is the list of its texts."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import cloudpickle
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.data import column
from embassay.data.corpus import PickedTexts, TextColumn, TextColumnWriter
from embassay.errors import DataError

# Half of a surrogate pair is no text for UTF-8, but a reader may let one through.
ANY = st.text(alphabet=st.characters(exclude_categories=[]), max_size=12)
PLACES = st.integers(-12, 12)


def written(folder: Path | str, texts: Sequence[str]) -> TextColumn:
    """The texts as a column in `folder`."""
    with TextColumnWriter(Path(folder) / "texts") as writer:
        for text in texts:
            writer.append(text)
        writer.finish()
    return TextColumn.open(writer.path)


@given(st.lists(ANY, max_size=10), PLACES, PLACES, st.sampled_from([None, 1, 2, -1, -3]))
def test_equals_the_list(texts: list[str], start: int, stop: int, step: int | None) -> None:
    """Length, items, slices, iteration, membership and equality are those of the list; so after a pickle."""
    with TemporaryDirectory() as folder:
        found = written(folder, texts)
        for one in (found, pickle.loads(pickle.dumps(found)), cloudpickle.loads(cloudpickle.dumps(found))):
            assert len(one) == len(texts)
            assert list(one) == texts == [one[place] for place in range(len(texts))]
            assert one == texts
            assert one == tuple(texts)
            assert tuple(texts) == one
            part = one[start:stop:step]
            assert list(part) == texts[start:stop:step] == [part[place] for place in range(len(part))]
        assert list(found[start:stop][1:-1]) == texts[start:stop][1:-1]
        assert found != [*texts, "more"]
        assert (found == [*texts[1:], "other"]) == (texts == ["other"])
        assert list(reversed(found)) == texts[::-1]
        assert found[start:stop].size == sum(len(t.encode("utf-8", "surrogatepass")) for t in texts[start:stop])


@given(st.lists(ANY, min_size=1, max_size=10), st.data())
def test_picked_equals_the_list(texts: list[str], data: st.DataObject) -> None:
    """Texts by their places, in any order and more than once."""
    places = data.draw(st.lists(st.integers(0, len(texts) - 1), max_size=12))
    expected = [texts[place] for place in places]
    with TemporaryDirectory() as folder:
        found = PickedTexts(written(folder, texts), np.array(places, np.int64))
        assert list(found) == expected == [found[i] for i in range(len(found))]
        assert found == tuple(expected)
        assert found[1:-1] == expected[1:-1]
        assert pickle.loads(pickle.dumps(found[::2])) == expected[::2]


def test_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Iteration in blocks smaller than one text, and than the file, gives the same texts."""
    texts = ["x" * n + "é" for n in (0, 5000, 3, 0, 700, 20)] * 300
    found = written(tmp_path, texts)
    monkeypatch.setattr(column, "_BLOCK", 1000)
    monkeypatch.setattr(column, "_MANY", 7)
    assert list(found) == texts
    assert list(found[3:1500]) == texts[3:1500]


def test_no_such_place(tmp_path: Path) -> None:
    """A place outside is an IndexError, as of a list."""
    found = written(tmp_path, ["a", "b"])[1:]
    for place in (1, -2):
        with pytest.raises(IndexError):
            found[place]


def _third(texts: TextColumn) -> str:
    return texts[2]


@pytest.mark.slow
def test_in_another_process(tmp_path: Path) -> None:
    """What is sent is small, and opened again there."""
    found = written(tmp_path, [f"text {place}" * 100 for place in range(1000)])
    assert len(pickle.dumps(found[5:500])) < 500
    with get_context("spawn").Pool(1) as pool:
        assert pool.apply(_third, (found[5:500],)) == "text 7" * 100


def test_damage(tmp_path: Path) -> None:
    """A file that is cut, changed, another one or gone is a DataError with a mend, never wrong texts."""
    found = written(tmp_path, ["one", "two"])
    path, content = found.path, found.path.read_bytes()
    sent = pickle.dumps(found)
    assert found.has_valid_checksum()
    for cut in range(len(content)):
        path.write_bytes(content[:cut])
        with pytest.raises(DataError, match="cache clear --corpora"):
            TextColumn.open(path)
    path.write_bytes(b"ten" + content[3:])
    assert not TextColumn.open(path).has_valid_checksum()
    (tmp_path / "other").mkdir()
    path.write_bytes(written(tmp_path / "other", ["one", "too"]).path.read_bytes())
    del found
    with pytest.raises(DataError, match="different texts from"):
        pickle.loads(sent)
    path.unlink()
    with pytest.raises(DataError, match="EMBASSAY_CACHE"):
        pickle.loads(sent)


def test_cut_while_open(tmp_path: Path) -> None:
    """A file that another process cuts while it is read is a DataError, no dead process."""
    found = written(tmp_path, ["x" * 100_000, "y"])
    with found.path.open("r+b") as stream:
        stream.truncate(50_000)
    with pytest.raises(DataError, match="truncated"):
        list(found)


def test_left_early(tmp_path: Path) -> None:
    """A writer that is not finished leaves nothing."""
    with TextColumnWriter(tmp_path / "texts") as writer:
        writer.append("a")
    assert not list(tmp_path.iterdir())
