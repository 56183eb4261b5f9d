"""Suites: the papers' lists, member by member; suites of one's own; and every mistake in them said with its place."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from embassay.data import DATASETS, open_dataset
from embassay.data.catalogue.entries import read_catalogue_entries
from embassay.data.catalogue.suites import DatasetSuite, find_records_and_file_members, find_suite, read_all_suites
from embassay.errors import DataError, EmbassayError, UsageError

REFERENCE = Path(__file__).parents[3] / ".." / "shared" / "reference"

CLUSTERING = [
    "ArxivClusteringP2P",
    "ArxivClusteringS2S",
    "BiorxivClusteringP2P",
    "BiorxivClusteringS2S",
    "MedrxivClusteringP2P",
    "MedrxivClusteringS2S",
    "RedditClustering",
    "RedditClusteringP2P",
    "StackExchangeClustering",
    "StackExchangeClusteringP2P",
    "TwentyNewsgroupsClustering",
]
PUBLIC = [
    "msmarco",
    "trec-covid",
    "nfcorpus",
    "nq",
    "hotpotqa",
    "fiqa",
    "arguana",
    "touche2020",
    "cqadupstack",
    "quora",
    "dbpedia",
    "scidocs",
    "fever",
    "climate-fever",
    "scifact",
]
LICENSED = ["bioasq", "signal1m", "trec-news", "robust04"]
FORUMS = [
    "android",
    "english",
    "gaming",
    "gis",
    "mathematica",
    "physics",
    "programmers",
    "stats",
    "tex",
    "unix",
    "webmasters",
    "wordpress",
]
SAGE = {
    "preference": ["summarize-from-feedback"],
    "robustness": ["billsum", "cnn-dailymail", "sumpubmed"],
    "sensitivity": ["amazon-polarity", "arguana", "billsum", "cnn-dailymail", "paul-graham", "sumpubmed"],
    "retrieval": PUBLIC,
}
STS = ["biosses", "sickr", "sts12", "sts13", "sts14", "sts15", "sts17", "sts22", "stsbenchmark"]
ENGLISH = {
    "sts": STS, "classification": ["banking77"], "clustering": ["twentynewsgroups"],
    "pair_classification": ["twitter-semeval2015"], "reranking": ["askubuntu"], "retrieval": ["arguana"],
    "summarization": ["summeval"],
}  # fmt: skip
MULTILINGUAL = {
    "classification": ["amazon-counterfactual"], "clustering": ["masakhanews"], "pair_classification": ["rte3"],
    "reranking": ["rubq"], "retrieval": ["twitterhjerne"], "sts": ["sts17"],
}  # fmt: skip
HUME = {
    "reranking": ["hume-core17", "hume-news21", "hume-robust04", "hume-wikipedia"],
    "classification": ["hume-emotion", "hume-tweet-sentiment", "hume-toxic-conversations",
                       "hume-multilingual-sentiment"],
    "clustering": ["hume-wikicities", "hume-arxiv", "hume-reddit", "hume-sib200"],
    "sts": ["hume-stsbenchmark", "hume-sickr", "hume-sts12", "hume-sts22"],
}  # fmt: skip


def _sets(suite: DatasetSuite, task: str) -> list[str]:
    return list(dict.fromkeys(one.set for one in suite.members if task in one.tasks))


def test_sage_has_the_papers_sets_by_task() -> None:
    """Tables 4 to 6 in their order, the eleven sets of MTEB, and the fifteen of BEIR that are public."""
    for task, names in SAGE.items():
        assert _sets(read_all_suites()["sage"], task) == (["arguana", *(x for x in names if x != "arguana")]
                                                 if task == "retrieval" else names)  # fmt: skip
    assert [one.title for one in read_all_suites()["sage-clustering"].members] == CLUSTERING
    assert len(_sets(read_all_suites()["sage"], "clustering")) == 11
    assert len(read_all_suites()["sage"].sets) == 1 + 6 + 11 + 15 - 1


def test_beir_counts_the_forums_of_cqadupstack_as_one() -> None:
    """Fifteen sets of 26 datasets; with those that need an agreement nineteen. MS MARCO is judged on dev."""
    assert list(read_all_suites()["beir"].sets) == PUBLIC
    assert list(read_all_suites()["beir-all"].sets) == [*PUBLIC, *LICENSED]
    assert [one.dataset for one in read_all_suites()["cqadupstack"].members] == [
        f"cqadupstack-{name}" for name in FORUMS
    ]
    splits = {one.dataset: one.as_dict()["split"] for one in read_all_suites()["beir"].members}
    assert splits.pop("msmarco") == "dev"
    assert set(splits.values()) == {"test"}


def test_pteb_has_the_papers_sets_by_task() -> None:
    """Nine English STS sets and one of each other task; six multilingual ones; STS17 in both, whole in their union."""
    assert {task: _sets(read_all_suites()["pteb-en"], task) for task in ENGLISH} == ENGLISH
    assert {task: _sets(read_all_suites()["pteb-multi"], task) for task in MULTILINGUAL} == MULTILINGUAL
    english = {one.dataset: one.spec() for one in read_all_suites()["pteb-en"].members}
    assert english["sts17"] == "sts17?lang=en-en&tasks=sts"
    assert english["sts22"] == "sts22?lang=en&tasks=sts"
    both = {one.dataset: one for one in read_all_suites()["pteb"].members}
    assert len(both) == 20
    assert (len(both["sts17"].langs), "ko-ko" in both["sts17"].langs) == (10, False)
    assert both["twitterhjerne"].as_dict()["split"] == "train"


HTEB_ENGLISH = {
    "classification": ["AmazonCounterfactualClassification", "banking77", "MassiveIntentClassification"],
    "clustering": ["BiorxivClusteringS2S", "MedrxivClusteringS2S", "TwentyNewsgroupsClustering"],
    "pair_classification": ["SprintDuplicateQuestions", "twittersemeval2015-pairclassification", "TwitterURLCorpus"],
    "reranking": ["askubuntudupquestions-reranking", "SciDocsRR", "StackOverflowDupQuestions"],
    "retrieval": ["arguana", "CQADupstackGamingRetrieval", "SciFact"],
    "sts": ["semrel2024", "biosses-sts", "stsbenchmark-sts"],
    "summarization": ["summeval"],
}
HTEB_MULTILINGUAL = {
    "classification": ["IsiZuluNewsClassification.v2", "SentimentAnalysisHindi.v2"],
    "clustering": ["MasakhaNEWSClusteringS2S", "PlscClusteringS2S.v2"],
    "pair_classification": ["rte3", "indonli"],
    "reranking": ["VoyageMMarcoReranking", "NamaaMrTydiReranking"],
    "retrieval": ["TwitterHjerneRetrieval", "Ko-StrategyQA"],
    "sts": ["semrel2024", "sts17-crosslingual-sts", "IndicCrosslingualSTS"],
}


def _titles(suite: DatasetSuite) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in suite.members:
        for task in one.tasks:
            found.setdefault(task, []).append(one.title)
    return found


def test_hteb_has_the_papers_sets_by_task() -> None:
    """Nineteen English entries and thirteen multilingual ones, 31 together: SemRel is in both, English alone in the one
    and in all 14 languages in the other. STS17 has eleven pairs here."""
    english, others, every = (read_all_suites()[name] for name in ("hteb-en", "hteb-multi", "hteb"))
    assert _titles(english) == HTEB_ENGLISH
    assert _titles(others) == HTEB_MULTILINGUAL
    assert (len(english.members), len(others.members), len(every.members)) == (19, 13, 31)
    specs = {one.dataset: one.spec() for one in english.members}
    assert specs["semrel2024"] == "semrel2024?lang=eng&tasks=sts"
    assert specs["amazon-counterfactual"] == "amazon-counterfactual?lang=en&tasks=classification"
    both = {one.dataset: one.as_dict() for one in every.members}
    assert (len(both["semrel2024"]["langs"]), len(both["sts17"]["langs"]), len(both["masakhanews"]["langs"])) == (
        14,
        11,
        16,
    )
    assert both["indonli"]["split"] == "test_expert"
    assert both["ko-strategyqa"]["split"] == "dev"
    assert both["twitterhjerne"]["split"] == "train"


def test_hume_is_sixteen_sets_and_twenty_six_pairs() -> None:
    """Every pair of a set and a language once, French in none."""
    assert {task: _sets(read_all_suites()["hume"], task) for task in HUME} == HUME
    pairs = [(one.dataset, lang) for one in read_all_suites()["hume"].members for lang in one.langs]
    assert len(pairs) == len(set(pairs)) == 26
    assert read_all_suites()["mteb-hume"].members == read_all_suites()["hume"].members


@pytest.mark.mteb
def test_mteb_hume_is_that_of_mteb() -> None:
    """The repositories, revisions and languages of MTEB's own benchmark."""
    import mteb

    theirs = {}
    for task in mteb.get_benchmark("HUME(v1)").tasks:
        theirs[task.metadata.dataset["path"]] = (task.metadata.dataset["revision"], sorted(task.hf_subsets))
    ours = {}
    for one in read_all_suites()["mteb-hume"].members:
        assert one.record is not None
        ours[one.record.hub] = (one.record.revision, sorted(one.record.langs or ["default"]))
    assert ours == theirs


@pytest.mark.skipif(not REFERENCE.is_dir(), reason="the papers' tables are not beside the checkout")
def test_titles_are_those_of_the_papers_tables() -> None:
    """HUME's table 3 and PTEB's table 13 name the same sets, HUME's in the same languages."""
    with (REFERENCE / "hume" / "table3.csv").open(encoding="utf-8") as file:
        printed = {row["dataset"]: len(row["languages"].split(";")) for row in csv.DictReader(file)}
    assert {one.title: len(one.langs) for one in read_all_suites()["hume"].members} == printed
    with (REFERENCE / "pteb" / "table13.csv").open(encoding="utf-8") as file:
        names = [row["dataset"].lower() for row in csv.DictReader(file)]
    ours = [one.title.lower() for one in read_all_suites()["pteb"].members]
    assert len(ours) == len(names)
    assert all(any(name.replace(" ", "").startswith(one[:10]) for name in names) for one in ours)


def test_no_suite_has_the_name_of_a_dataset() -> None:
    """`-d NAME` means one thing, and every member has a task that its tables can serve."""
    assert not set(read_all_suites()) & {one.name for one in DATASETS}
    for suite in read_all_suites().values():
        for one in suite.members:
            assert one.dataset in read_catalogue_entries()
            assert one.tasks, one.dataset


def test_tasks_and_an_empty_choice() -> None:
    """`?tasks=` keeps some; none that fits is an error which says what there is."""
    some = find_suite("sage?tasks=robustness,preference")
    assert some is not None
    assert list(some.sets) == ["summarize-from-feedback", "billsum", "cnn-dailymail", "sumpubmed"]
    assert all(set(one.tasks) <= {"robustness", "preference"} for one in some.members)
    with pytest.raises(UsageError, match="no datasets for sts") as caught:
        find_suite("beir?tasks=sts")
    assert "retrieval" in caught.value.mend


def test_what_needs_one_dataset_says_so() -> None:
    """A suite is no dataset; a name that is neither has the nearest of both."""
    with pytest.raises(UsageError, match="suite of 26 datasets"):
        open_dataset("beir")
    with pytest.raises(UsageError) as caught:
        open_dataset("pteb-eng")
    assert "pteb-en" in caught.value.mend


OWN = """
name: ours
title: What we answer
tasks: [sts]
members:
  - dataset: pairs.jsonl
    group: mail
  - {dataset: more.jsonl, group: mail, title: More}
  - {dataset: sts17, lang: [en-en, es-es]}
  - {suite: pteb-multi, tasks: retrieval}
"""


def _own(tmp_path: Path, text: str) -> str:
    path = tmp_path / "ours.yaml"
    path.write_text(text)
    for name in ("pairs.jsonl", "more.jsonl"):
        (tmp_path / name).write_text('{"text": "a", "text2": "b", "score": 1}\n')
    return str(path)


def test_a_suite_of_ones_own(tmp_path: Path) -> None:
    """Files beside it, datasets of the catalogue and other suites, in groups and in some languages."""
    suite = find_suite(_own(tmp_path, OWN))
    assert suite is not None
    assert suite.sets == ("mail", "sts17", "twitterhjerne")
    assert [one.spec() for one in suite.members] == [
        f"{tmp_path / 'pairs.jsonl'}?tasks=sts", f"{tmp_path / 'more.jsonl'}?tasks=sts",
        "sts17?lang=en-en,es-es&tasks=sts", "twitterhjerne?tasks=retrieval",
    ]  # fmt: skip
    records, own = find_records_and_file_members([str(tmp_path / "ours.yaml"), "scifact"])
    assert [one.name for one in records] == ["sts17", "twitterhjerne", "scifact"]
    assert len(own) == 2


def test_a_description_is_no_suite(tmp_path: Path) -> None:
    """A YAML file without members is a dataset's."""
    path = tmp_path / "one.yaml"
    path.write_text("name: one\ntables: []\n")
    assert find_suite(str(path)) is None
    assert find_suite(str(tmp_path / "absent.yaml")) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name: x\nmembers: []", "members"),
        ("members: [{dataset: sts12}]", "name is missing"),
        ("name: x\nmembers: [{dataset: sts12, tsks: sts}]", "tsks"),
        ("name: x\nmembers: [{dataset: sts12, suite: beir}]", "exactly one of dataset and suite"),
        ("name: x\nmembers: [{}]", "exactly one of dataset and suite"),
        ("name: x\nmembers: [{suite: beir, lang: en}]", "no lang, split"),
        ("name: x\nmembers: [{dataset: sts99}]", "no dataset 'sts99'"),
        ("name: x\nmembers: [{suite: beer}]", "no suite 'beer'"),
        ("name: x\nmembers: [{suite: x}]", "contains itself"),
        ("name: x\nmembers: [{dataset: sts17, lang: ja-ja}]", "no language 'ja-ja'"),
        ("name: x\nmembers: [{dataset: pairs.jsonl, lang: en}]", "is a file"),
        ("name: beir\nmembers: [{dataset: sts12}]", "is already used by a suite"),
        ("name: x\nmembers: [3]", r"members\[0\]"),
        ("name: x\nmembers: [{dataset: sts12, tasks: 3}]", "tasks"),
        ("name: x\nmembers: {a: b}", "members"),
    ],
)
def test_faults_are_said_with_the_file(tmp_path: Path, text: str, said: str) -> None:
    """One line that names the file, and what is wrong in it."""
    with pytest.raises(EmbassayError, match=said) as caught:
        find_suite(_own(tmp_path, text))
    assert isinstance(caught.value, DataError)
    assert "ours.yaml" in caught.value.message
