"""From a name or a path, with its options, to a dataset."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from embassay.data import DATASETS, SHAPES, Dataset, open_dataset, parse_mapping
from embassay.data.sources import prefer_path_over_catalogue
from embassay.errors import DataError, UsageError

TABLE = "id,text,body,summary,topic,split,lang\n1,a,A,s1,x,train,en\n2,b,B,s2,y,test,fr\n3,c,C,s3,x,test,fr\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "v1.own.csv"
    path.write_text(TABLE)
    return path


def test_shapes_follow_the_columns(table: Path) -> None:
    """A table gives the shapes whose columns it has, and says what the others lack."""
    dataset = open_dataset(str(table))
    assert dataset.name == "v1.own"
    assert dataset.shapes() == ("documents", "summarised")
    assert {shape: dataset.missing(shape) for shape in SHAPES} == {
        "documents": (),
        "summarised": (),
        "comparisons": ("summary_1", "summary_2", "choice"),
        "ratings": ("axis.NAME",),
        "labelled": ("label",),
        "classification": ("label",),
        "pairs": ("text2", "score"),
        "labelled_pairs": ("text2", "label"),
        "reranking": ("query", "label"),
        "retrieval": ("corpus", "queries", "qrels"),
        "summaries": ("references", "relevance"),
        "paraphrases": ("paraphrases",),
    }


def test_mapping_wins_over_a_column_of_that_name(table: Path) -> None:
    """`text=body` reads body although there is a text; `label=topic` makes a new shape."""
    dataset = open_dataset(str(table), mapping={"text": "body", "label": "topic"})
    assert dataset.load("documents").data.texts == ("A", "B", "C")
    assert dataset.load("labelled").data.labels == ("x", "y", "x")


def test_title_is_joined_when_mapped(table: Path) -> None:
    """The text of a table gets a title only when the mapping names one."""
    assert open_dataset(str(table), mapping={"title": "topic"}).load("documents").data.texts[0] == "x a"


def test_axes_keep_their_names(tmp_path: Path) -> None:
    """The four axes of the paper come first, others under the name after `axis.`."""
    (tmp_path / "x.csv").write_text("text,summary,axis.fluency,coherence,overall,r\nt,s,1,2,3,4\n")
    axes = open_dataset(str(tmp_path / "x.csv"), mapping={"axis.relevance": "r"}).load("ratings").data.axes
    assert {axis: values.tolist() for axis, values in axes.items()} == {
        "overall": [3.0],
        "coherence": [2.0],
        "relevance": [4.0],
        "fluency": [1.0],
    }


def test_split_keeps_its_rows(table: Path) -> None:
    """A split keeps the rows whose column split is that, also under another name."""
    assert open_dataset(str(table), split="test").load("documents").data.ids == ("2", "3")
    mapped = open_dataset(str(table), split="fr", mapping={"split": "lang"})
    assert mapped.load("documents").data.ids == ("2", "3")


def test_language(table: Path, tmp_path: Path) -> None:
    """One language is that, several are `mul`, none is `und`; the rows loaded decide."""
    assert open_dataset(str(table)).lang == open_dataset(str(table)).load("documents").lang == "mul"
    assert open_dataset(str(table), split="test").lang == "fr"
    (tmp_path / "x.csv").write_text("text\na\n")
    dataset = open_dataset(str(tmp_path / "x.csv"))
    assert dataset.lang == dataset.load("documents").lang == "und"


def test_fingerprint_follows_bytes_and_settings(table: Path, tmp_path: Path) -> None:
    """It stays when the file moves, and changes with a byte, the mapping, the split or the draw."""
    dataset = open_dataset(str(table))
    other = tmp_path / "other.csv"
    shutil.copy(table, other)
    assert open_dataset(str(other)).fingerprint == dataset.fingerprint == dataset.load("documents").fingerprint
    changed = tmp_path / "changed.csv"
    changed.write_text(TABLE.replace("s3", "s4"))
    prints = {
        dataset.fingerprint,
        open_dataset(str(changed)).fingerprint,
        open_dataset(str(table), mapping={"text": "body"}).fingerprint,
        open_dataset(str(table), split="test").fingerprint,
        dataset.load("documents", limit=2).fingerprint,
        dataset.load("documents", limit=2, seed=1).fingerprint,
        dataset.load("summarised", limit=2).fingerprint,
    }
    assert len(prints) == 7
    assert all(len(value) == 32 and int(value, 16) for value in prints)


def test_fingerprint_is_stable(tmp_path: Path) -> None:
    """The same bytes have the same fingerprint in every version that reads them alike."""
    (tmp_path / "x.jsonl").write_text('{"text": "a"}\n')
    assert open_dataset(str(tmp_path / "x.jsonl")).fingerprint == "c1bbf6b212ebf2c8480ea0c2865f4f65"


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("sampel", ["The catalogue has no dataset called 'sampel'", "no file or folder", "Did you mean sample"]),
        ("folder/own.csv", ["'folder/own.csv'", ".parquet"]),
        ("v1.own.cvs", ["Did you mean v1.own.csv"]),
        ("sample:x", ["takes nothing after"]),
        ("sample?x=1", ["no parameter 'x'"]),
    ],
)
def test_unknown_spec(spec: str, says: list[str], table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is neither a name nor a path says both, with names that are near."""
    monkeypatch.chdir(table.parent)
    with pytest.raises(UsageError) as caught:
        open_dataset(spec)
    assert [part for part in says if part not in str(caught.value)] == []


def test_a_path_of_ones_own_wins_over_the_catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file or a folder of data, for a dataset or a suite, with a warning; neither a folder of runs, nor an empty one,
    and the bundled sample never."""
    monkeypatch.chdir(tmp_path)
    for name in ("beir", "sample"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "notes.txt").write_text("Tides turn twice a day.")
    (tmp_path / "scifact").write_text(TABLE)
    (tmp_path / "pteb" / "may").mkdir(parents=True)
    (tmp_path / "pteb" / "may" / "manifest.json").write_text("{}")
    (tmp_path / "pteb" / "notes.txt").write_text("Not data.")
    (tmp_path / "sage").mkdir()
    for name in ("beir", "scifact", "beir?chunk=100"):
        with pytest.warns(RuntimeWarning, match="your own"):
            assert prefer_path_over_catalogue(name) == f"./{name}"
    for name in ("sample", "pteb", "sage", "sts17", "./beir", "other", str(tmp_path / "beir")):
        assert prefer_path_over_catalogue(name) == name
    with pytest.warns(RuntimeWarning, match="suite of that name"):
        assert open_dataset(prefer_path_over_catalogue("beir")).shapes() == ("documents",)


def test_name_wins_over_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A registered name is that dataset; `./name` is the file."""
    (tmp_path / "sample").mkdir()
    monkeypatch.chdir(tmp_path)
    assert "ratings" in open_dataset("sample").shapes()
    with pytest.raises(DataError, match="the folder has no corpus"):
        open_dataset("./sample")


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"mapping": {"texts": "body"}}, "No task reads a column called 'texts'.*Did you mean text"),
        ({"mapping": {"axis.": "body"}}, "No task reads a column called 'axis.'"),
        ({"grades": "trec3"}, "--grades cannot be used"),
    ],
)
def test_options_a_table_does_not_take(options: dict[str, object], match: str, table: Path) -> None:
    """A mapping of columns nobody reads, or grades where nothing is judged, are usage errors."""
    with pytest.raises(UsageError, match=match):
        open_dataset(str(table), **options)  # type: ignore[arg-type]


def test_options_the_catalogue_does_not_take() -> None:
    """A dataset of the catalogue refuses options that would do nothing."""
    with pytest.raises(UsageError, match="'sample' does not accept --map"):
        open_dataset("sample", mapping={"text": "title"})


@pytest.fixture
def registered(table: Path) -> Iterator[str]:
    def own(target: str, split: str | None) -> Dataset:
        return open_dataset(str(table.parent / target), split=split)

    DATASETS.add("own", own, "a test")
    yield "own"
    del DATASETS._entries["own"]


def test_other_packages_add_datasets(registered: str) -> None:
    """A registered factory gets the target and the options it asks for."""
    assert open_dataset("own:v1.own.csv", split="train").load("documents").data.ids == ("1",)


def test_unknown_shape(table: Path) -> None:
    """A shape that does not exist is a usage error with the near one."""
    with pytest.raises(UsageError, match=r"no shape called 'document'.*Did you mean documents"):
        open_dataset(str(table)).load("document")


def test_absent_shape_of_a_folder() -> None:
    """A shape that no table of the dataset serves says what it would take."""
    dataset = Dataset("x", {})
    with pytest.raises(DataError, match=r"'x' has no labelled.*a table with text, label"):
        dataset.load("labelled")


@pytest.mark.parametrize("text", ["text", "text=", "=body", "text=a,text=b", "text=a,,label=b"])
def test_mapping_text_that_cannot_be_read(text: str) -> None:
    """--map takes target=source pairs, each target once."""
    with pytest.raises(UsageError, match="Cannot read"):
        parse_mapping(text)


def test_choice_is_small_integers(tmp_path: Path) -> None:
    """Choices are 0 or 1 whether written 1, 1.0 or "1"."""
    (tmp_path / "x.jsonl").write_text(
        "".join(
            f'{{"text": "t", "summary_1": "a", "summary_2": "b", "choice": {choice}}}\n'
            for choice in ("0", "1", "1.0", '"1"')
        )
    )
    choice = open_dataset(str(tmp_path / "x.jsonl")).load("comparisons").data.choice
    assert choice.dtype == np.int8
    assert choice.tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize("heads", ["text,summary1,summary2,choice", "text,Summary_A,Summary_B,choice"])
def test_comparisons_under_names_of_others(tmp_path: Path, heads: str) -> None:
    """Both summaries by number or letter, and choices by word: nothing has to be mapped."""
    path = tmp_path / "comparisons.csv"
    path.write_text(f"{heads}\nA fox ran.,Fox,Dog,A\nA dog sat.,Fox,Dog,second\nA cat.,Fox,Dog,tie\n", encoding="utf-8")
    loaded = open_dataset(str(path)).load("comparisons")
    assert loaded.data.choice.tolist() == [0, 1]
    assert loaded.data.first == ("Fox", "Fox")
    assert [skipped.count for skipped in loaded.skipped] == [1]


def test_choices_counted_from_one_are_told(tmp_path: Path) -> None:
    path = tmp_path / "comparisons.csv"
    path.write_text("text,summary_1,summary_2,choice\nA fox ran.,Fox,Dog,2\n", encoding="utf-8")
    with pytest.raises(DataError, match="write 0 and 1"):
        open_dataset(str(path)).load("comparisons")
