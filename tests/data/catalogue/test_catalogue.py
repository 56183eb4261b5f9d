"""Every record of the catalogue is true to itself: from a mirror laid out as it says come all its shapes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from embassay.data import DATASETS, SHAPES, open_dataset
from embassay.data.catalogue.entries import CatalogueDatasetRecord, find_catalogue_entry, read_catalogue_entries
from embassay.errors import DataError, UsageError

BEIR = [
    "msmarco", "trec-covid", "bioasq", "nfcorpus", "nq", "hotpotqa", "fiqa", "signal1m", "trec-news",
    "robust04", "arguana", "touche2020", "quora", "dbpedia", "scidocs", "fever", "climate-fever",
    "scifact",
]  # fmt: skip
CLUSTERING = [
    "arxiv-p2p", "arxiv-s2s", "biorxiv-p2p", "biorxiv-s2s", "medrxiv-p2p", "medrxiv-s2s", "reddit",
    "reddit-p2p", "stackexchange", "stackexchange-p2p", "twentynewsgroups",
]  # fmt: skip
SAGE = [
    "summarize-from-feedback", "sumpubmed", "cnn-dailymail", "billsum", "paul-graham", "amazon-polarity",
    "arguana",
]  # fmt: skip
PTEB = [
    "biosses", "sickr", "sts12", "sts13", "sts14", "sts15", "sts17", "sts22", "stsbenchmark",
    "banking77", "amazon-counterfactual", "twentynewsgroups", "masakhanews", "twitter-semeval2015",
    "rte3", "askubuntu", "rubq", "arguana", "twitterhjerne", "summeval",
]  # fmt: skip
HTEB = [
    "amazon-counterfactual", "banking77", "massive-intent", "biorxiv-s2s", "medrxiv-s2s", "twentynewsgroups",
    "sprint-duplicates", "twitter-semeval2015", "twitter-url", "askubuntu", "scidocs-reranking",
    "stackoverflow-duplicates", "arguana", "cqadupstack-gaming", "scifact", "semrel2024", "biosses", "stsbenchmark",
    "summeval", "isizulu-news", "sentiment-hindi", "masakhanews", "plsc-s2s", "rte3", "indonli", "voyage-mmarco",
    "namaa-mrtydi", "twitterhjerne", "ko-strategyqa", "sts17", "indic-sts",
]  # fmt: skip
HUME = [
    "emotion", "tweet-sentiment", "toxic-conversations", "multilingual-sentiment", "wikicities",
    "arxiv-p2p", "reddit-p2p", "sib200", "stsbenchmark", "sts12", "sickr", "sts22",
    "wikipedia-reranking", "hume-core17", "hume-news21", "hume-robust04",
]  # fmt: skip


SIZE = 4
"""Rows of every table that `write_mirror` writes."""

Writer = Callable[[CatalogueDatasetRecord], Path]


def _of(protocol: str, task: str = "") -> set[str]:
    used = {name: record.protocols for name, record in read_catalogue_entries().items()}
    return {name for name, by in used.items() if protocol in by and (not task or task in by[protocol])}


def test_all_that_the_specifications_name() -> None:
    """SAGE's datasets with MTEB's eleven and BEIR's, PTEB's 20, HTEB's 31, HUME's 16; CQADupStack is twelve forums."""
    forums = {name for name in read_catalogue_entries() if name.startswith("cqadupstack-")}
    assert len(forums) == 12
    assert _of("sage", "retrieval") == {*BEIR} | forums
    assert _of("sage", "clustering") == {*CLUSTERING}
    assert _of("sage") == {*BEIR, *CLUSTERING, *SAGE} | forums
    assert (len(PTEB), _of("pteb")) == (20, set(PTEB))
    assert (len(HTEB), _of("hteb")) == (31, set(HTEB))
    samples = {name for name in read_catalogue_entries() if name.startswith("hume-")}
    assert (len(HUME), len(samples), _of("hume")) == (16, 16, {*HUME} | samples)


@pytest.mark.parametrize("record", read_catalogue_entries().values(), ids=lambda record: record.name)
def test_record(record: CatalogueDatasetRecord, write_mirror: Writer) -> None:
    """A tiny mirror in the layout of the record gives exactly the shapes it declares, nothing left out."""
    write_mirror(record)
    dataset = open_dataset(record.name)
    assert dataset.name == record.name
    assert dataset.shapes() == record.list_shapes_tables_can_give != ()
    assert dataset.lang == (record.lang or "mul")
    for shape in record.list_shapes_tables_can_give:
        loaded = dataset.load(shape)
        assert loaded.skipped == (), shape
        texts = len(loaded.data) / max(1, len(record.langs))
        assert texts in (SIZE, 2 * SIZE), shape
        assert len(dataset.subsets(shape)) == max(1, len(record.langs))


@pytest.mark.parametrize("record", read_catalogue_entries().values(), ids=lambda record: record.name)
def test_declaration(record: CatalogueDatasetRecord) -> None:
    """A record says who uses it, under which licence, in which language, and where it is; commits are whole."""
    assert record.protocols
    assert record.licence
    assert bool(record.lang) != bool(record.langs)
    assert bool(record.hub) != bool(record.by_hand)
    assert record.is_pinned_to_commit or record.revision == "main"
    assert record.size or record.by_hand
    assert set(record.list_shapes_tables_can_give) <= set(SHAPES)
    assert not record.layout or not record.tables


def test_is_listed() -> None:
    """`embassay list datasets` has every record, after the sample."""
    names = [one.name for one in DATASETS]
    assert names[0] == "sample"
    assert {*read_catalogue_entries()} <= {*names}
    assert dict(DATASETS.get("scifact").facts) == {"lang": "en", "shapes": "retrieval", "protocols": "sage hteb"}


def test_one_language(write_mirror: Writer) -> None:
    """`?lang=` keeps one language or several; another one is a usage error."""
    write_mirror(find_catalogue_entry("sts17"))
    one = open_dataset("sts17?lang=en-en")
    assert one.lang == one.load("pairs").lang == "en-en"
    assert len(one.load("pairs").data) == SIZE
    assert open_dataset("sts17?lang=en-en,ar-ar").langs == ("ar-ar", "en-en")
    assert one.fingerprint != open_dataset("sts17").fingerprint
    with pytest.raises(UsageError, match="has no language 'ja-ja'"):
        open_dataset("sts17?lang=ja-ja")


def test_languages_of_one_file(mirror: Path) -> None:
    """A mirror may hold all languages in one file with a column lang."""
    (mirror / "sts17").mkdir()
    rows = "".join(
        f'{{"text":"a {i}","text2":"b","score":{i},"lang":"{lang}"}}\n' for i, lang in enumerate(["en-en", "ar-ar"])
    )
    (mirror / "sts17" / "test.jsonl").write_text(rows)
    assert {lang: len(one.load("pairs").data) for lang, one in open_dataset("sts17").subsets("pairs").items()} == {
        "en-en": 1,
        "ar-ar": 1,
    }
    assert open_dataset("sts17?lang=ar-ar").load("pairs").data.first == ("a 1",)


def test_absent_languages_are_said(write_mirror: Writer) -> None:
    """What of many languages is not in the mirror is a warning of every load."""
    folder = write_mirror(find_catalogue_entry("rte3"))
    (folder / "test" / "fr.jsonl").unlink()
    loaded = open_dataset("rte3").load("labelled_pairs")
    assert loaded.warnings[0] == "languages missing from the mirror: 1 (fr)"


def test_canonical_names_do(mirror: Path) -> None:
    """A mirror may use our names for columns, and any format."""
    (mirror / "stsbenchmark").mkdir()
    (mirror / "stsbenchmark" / "test.csv").write_text("text,text2,score\na,b,1\nc,d,5\n")
    assert open_dataset("stsbenchmark").load("pairs").data.scores.tolist() == [1.0, 5.0]


def test_shards(mirror: Path) -> None:
    """A table may be a folder of files, read in the order of their names."""
    (mirror / "arguana" / "corpus").mkdir(parents=True)
    for number in (1, 0):
        (mirror / "arguana" / "corpus" / f"{number}.jsonl").write_text(f'{{"_id":"{number}","text":"t{number}"}}\n')
    assert open_dataset("arguana").load("documents").data.texts == ("t0", "t1")


def test_split(write_mirror: Writer) -> None:
    """`--split dev` reads dev in the place of test, and what is trained on or searched stays."""
    folder = write_mirror(find_catalogue_entry("banking77"))
    (folder / "dev.jsonl").write_text('{"text":"d","label":0}\n{"text":"e","label":1}\n')
    sides = open_dataset("banking77", split="dev").load("classification").data
    assert (sides.test.texts, len(sides.train)) == (("d", "e"), SIZE)
    folder = write_mirror(find_catalogue_entry("scifact"))
    (folder / "qrels").mkdir()
    (folder / "qrels.jsonl").rename(folder / "qrels" / "test.jsonl")
    (folder / "qrels" / "dev.tsv").write_text("query-id\tcorpus-id\tscore\nq0\td3\t1\n")
    assert open_dataset("scifact", split="dev").load("retrieval").data.qrels == {"q0": {"d3": 1.0}}
    assert len(open_dataset("scifact").load("retrieval").data.qrels) == SIZE


def test_an_empty_folder_says_what_it_lacks(mirror: Path) -> None:
    """The error names the folder, the files it should hold and their columns."""
    (mirror / "sts12").mkdir()
    with pytest.raises(
        DataError, match=r"sts12: the mirror of 'sts12' contains none .* test.jsonl \(sentence1, sentence2, score\)"
    ):
        open_dataset("sts12")


@pytest.mark.usefixtures("mirror")
def test_by_hand() -> None:
    """What no hub holds names the folder to fill and how to come by it."""
    with pytest.raises(DataError, match=r"'bioasq' is not on the hub .*bioasq") as caught:
        open_dataset("bioasq")
    assert "Register at" in caught.value.mend


@pytest.mark.usefixtures("mirror")
def test_map_is_not_for_records() -> None:
    """A record has its own map."""
    with pytest.raises(UsageError, match="does not accept --map"):
        open_dataset("sts12", mapping={"text": "x"})


def test_no_record() -> None:
    """The sample has none."""
    with pytest.raises(UsageError, match="no dataset called 'sample'"):
        find_catalogue_entry("sample")
