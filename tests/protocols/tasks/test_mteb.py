"""mteb as the judge of original scores: one encoder, mteb's own task classes, the same rows.

Equal by definition are Spearman of pairs, average precision of pairs by cosine, MAP of candidates and nDCG@10.
So is clustering, with the seed and the class of mteb that the paper used. Classification (all training texts against 8
per label, ten times) and summarization (one correlation against one per text) are other measures there; the latter is
compared as `per-text`.
"""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest

from embassay.data import open_dataset
from embassay.protocols.tasks import TASKS
from embassay.protocols.tasks.task import PtebContext, PtebOptions
from embassay.records import Classification, HumanRatedSummaries, LabelledTexts
from embassay.systems import open_system
from embassay.systems.encoders.wordllama import WordLlamaEncoder
from embassay.text import open_tokenizer

# The libraries warn of their own future.
pytestmark = [pytest.mark.mteb, pytest.mark.filterwarnings("ignore")]

ROOT = Path(__file__).parents[3]
DATA = Path(os.environ.get("EMBASSAY_SHARED", ROOT / ".." / "shared")) / "data"
shared = [
    pytest.mark.shared,
    pytest.mark.slow,
    pytest.mark.skipif(not DATA.is_dir(), reason="the development datasets are not beside the checkout"),
]


@pytest.fixture(autouse=True)
def _data(monkeypatch):
    monkeypatch.setenv("EMBASSAY_DATA", str(DATA))


@pytest.fixture(scope="module")
def mteb():
    return pytest.importorskip("mteb")


@pytest.fixture(scope="module")
def judge(mteb):
    """mteb's scores for our encoder on a task of mteb's classes that holds these rows."""
    from mteb.models.abs_encoder import AbsEncoder
    from mteb.models.model_meta import ModelMeta, ScoringFunction

    class Ours(AbsEncoder):
        mteb_model_meta = ModelMeta.create_empty(
            overwrites={"name": "here/wordllama", "revision": "1", "similarity_fn_name": ScoringFunction.COSINE}
        )

        def __init__(self):
            self.encoder = WordLlamaEncoder()

        def encode(self, inputs, **options):
            return self.encoder.encode([text for batch in inputs for text in batch["text"]])

    def scores(task):
        result = mteb.evaluate(Ours(), task, cache=None, show_progress_bar=False)
        return result.task_results[0].scores["test"][0]

    return scores


def local(base, dataset, main_score):
    """A task of one of mteb's classes on this data, in place of what it would fetch."""
    from mteb.abstasks.task_metadata import TaskMetadata

    kinds = {
        "AbsTaskClassification": "Classification",
        "AbsTaskClusteringLegacy": "Clustering",
        "AbsTaskSTS": "STS",
        "AbsTaskPairClassification": "PairClassification",
        "AbsTaskSummarization": "Summarization",
    }

    class Local(base):
        min_score, max_score = 1, 5
        metadata = TaskMetadata(
            name="Local",
            description="data that are at hand",
            dataset={"path": "here/data", "revision": "1"},
            type=kinds.get(base.__name__, "Retrieval"),
            eval_langs=["eng-Latn"],
            main_score=main_score,
        )

        def load_data(self, **options):
            self.dataset, self.data_loaded = dataset, True

    return Local()


def ours(task, data, *, seed=1337, **options):
    context = PtebContext("made", open_tokenizer("words"), seed, PtebOptions(resamples=10, **options))
    system = open_system("wordllama", tokenizer=open_tokenizer("words"))
    return TASKS.build(task).evaluate(system, data, context).scores[0].value


def data(source, shape):
    """The sample in English, or one of the development datasets."""
    if source == "sample":
        return TASKS.build(shape).load(open_dataset("sample").only("en"), None, 1337).data
    path = ROOT / "benchmarks" / "datasets" / "scifact.yaml" if source == "scifact" else DATA / source
    return TASKS.build(shape).load(open_dataset(str(path)), None, 1337).data


def sources(*names):
    return ["sample", *(pytest.param(name, marks=shared) for name in names)]


@pytest.mark.parametrize("source", sources("sts/stsb_en_test.jsonl.gz", "sts/sts12_test.jsonl.gz"))
def test_spearman_of_pairs(source, judge):
    """STS, to 1e-5: similarities are compared to 1e-6 here, with all their digits there."""
    from datasets import Dataset, DatasetDict
    from mteb.abstasks.sts import AbsTaskSTS

    pairs = data(source, "sts")
    columns = {"sentence1": list(pairs.first), "sentence2": list(pairs.second), "score": pairs.scores.tolist()}
    task = local(AbsTaskSTS, DatasetDict(test=Dataset.from_dict(columns)), "cosine_spearman")
    assert ours("sts", pairs) == pytest.approx(judge(task)["cosine_spearman"], abs=1e-5)


@pytest.mark.parametrize("source", sources("pair_classification/mrpc_test.jsonl.gz"))
def test_average_precision_of_pairs(source, judge):
    """Pair classification is mteb's `cosine_ap`; its main score, the maximum over functions, may be higher."""
    from datasets import Dataset, DatasetDict
    from mteb.abstasks.pair_classification import AbsTaskPairClassification

    pairs = data(source, "pair_classification")
    columns = {"sentence1": [pairs.first], "sentence2": [pairs.second], "labels": [pairs.labels.tolist()]}
    task = local(AbsTaskPairClassification, DatasetDict(test=Dataset.from_dict(columns)), "max_ap")
    scores = judge(task)
    assert ours("pair_classification", pairs) == pytest.approx(scores["cosine_ap"], abs=1e-5)


def split_data(queries, corpus, judged, top_ranked=None):
    from datasets import Dataset

    return {
        "default": {
            "test": {
                "queries": Dataset.from_list([{"id": one, "text": text} for one, text in queries.items()]),
                "corpus": Dataset.from_list([{"id": one, "text": text} for one, text in corpus.items()]),
                "relevant_docs": judged,
                "top_ranked": top_ranked,
            }
        }
    }


@pytest.mark.parametrize("source", sources("reranking/wikiqa_test.jsonl.gz"))
def test_map_of_candidates(source, judge):
    """Reranking is mteb's `map_at_1000` where no two candidates of a query are equally similar: trec_eval breaks ties
    by document id, and here the irrelevant come first. That of mteb 1.38, scikit-learn's, takes them as one step."""
    from mteb.abstasks.retrieval import AbsTaskRetrieval
    from sklearn.metrics import average_precision_score

    given = data(source, "reranking")
    corpus, judged, ranked = {}, {}, {}
    for one, texts, gains in zip(given.ids, given.candidates, given.relevance, strict=True):
        names = [f"{one}:{i:04}" for i in range(len(texts))]
        corpus |= dict(zip(names, texts, strict=True))
        judged[one] = {name: int(gain > 0) for name, gain in zip(names, gains, strict=True)}
        ranked[one] = names
    queries = {one: texts[0] for one, texts in zip(given.ids, given.queries, strict=True)}
    task = local(AbsTaskRetrieval, split_data(queries, corpus, judged, ranked), "map_at_1000")
    value = ours("reranking", given)
    assert value == pytest.approx(judge(task)["map_at_1000"], abs=1e-5)
    system = open_system("wordllama", tokenizer=open_tokenizer("words"))
    grouped = [
        average_precision_score(gains > 0, system.pairs([group[0]] * len(texts), texts))
        for group, texts, gains in zip(given.queries, given.candidates, given.relevance, strict=True)
    ]
    assert value == pytest.approx(np.mean(grouped), abs=1e-5)


@pytest.mark.parametrize("source", sources("scifact"))
def test_ndcg_of_the_first_ten(source, judge):
    """Retrieval is mteb's `ndcg_at_10`, whether a query's own document counts or not."""
    from mteb.abstasks.retrieval import AbsTaskRetrieval

    given = data(source, "retrieval")
    queries = dict(zip(given.queries.ids, given.queries.texts, strict=True))
    corpus = dict(zip(given.corpus.ids, given.corpus.texts, strict=True))
    judged = {query: {doc: int(gain) for doc, gain in docs.items()} for query, docs in given.qrels.items()}
    task = local(AbsTaskRetrieval, split_data(queries, corpus, judged), "ndcg_at_10")
    assert ours("retrieval", given) == pytest.approx(judge(task)["ndcg_at_10"], abs=1e-5)


@pytest.mark.parametrize(
    "source", sources("clustering/20newsgroups_sample.jsonl.gz", "clustering/biomedical_titles_sample.jsonl.gz")
)
def test_v_measure_of_clusters(source, judge):
    """Clustering is mteb's older class, which the paper used, when k-means starts as it does there, with seed 42."""
    from datasets import Dataset, DatasetDict
    from mteb.abstasks.clustering_legacy import AbsTaskClusteringLegacy

    given = data(source, "clustering")
    rows = {name: [row for row, one in enumerate(given.sets) if one == name] for name in sorted(set(given.sets))}
    columns = {
        "sentences": [[given.texts[row] for row in rows[name]] for name in rows],
        "labels": [[given.labels[row] for row in rows[name]] for name in rows],
    }
    task = local(AbsTaskClusteringLegacy, DatasetDict(test=Dataset.from_dict(columns)), "v_measure")
    assert ours("clustering", given, seed=42) == pytest.approx(judge(task)["v_measure"], abs=1e-6)


def banking():
    def side(name):
        packed = (DATA / "classification" / f"banking77_{name}.jsonl.gz").read_bytes()
        rows = [json.loads(line) for line in gzip.decompress(packed).splitlines()]
        columns = (tuple(row[column] for row in rows) for column in ("id", "text", "label"))
        return LabelledTexts(*columns, ("",) * len(rows))

    return Classification(side("train"), side("test"))


@pytest.mark.nightly
@pytest.mark.parametrize("source", [pytest.param("banking77", marks=shared)])
def test_a_classifier_of_all_training_texts(source, judge):
    """Classification is 13 points above mteb's on Banking77: it learns from 10,003 texts, mteb's from 8 per intent."""
    from datasets import Dataset, DatasetDict
    from mteb.abstasks.classification import AbsTaskClassification

    given = banking()
    codes = {label: code for code, label in enumerate(sorted(set(given.train.labels)))}
    sides = {
        name: Dataset.from_dict({"text": side.texts, "label": [codes[label] for label in side.labels]})
        for name, side in (("train", given.train), ("test", given.test))
    }
    theirs = judge(local(AbsTaskClassification, DatasetDict(sides), "accuracy"))["accuracy"]
    assert ours("classification", given) == pytest.approx(0.902, abs=0.002)
    assert theirs == pytest.approx(0.770, abs=0.01)


def summeval():
    def rows(name):
        packed = (DATA / "summarization" / f"summeval_{name}.jsonl.gz").read_bytes()
        return [json.loads(line) for line in gzip.decompress(packed).splitlines()]

    rated = {}
    for row in rows("summaries"):
        rated.setdefault(row["doc_id"], []).append(row)
    documents = rows("documents")
    ids = tuple(row["doc_id"] for row in documents)
    return HumanRatedSummaries(
        ids,
        tuple(row["text"] for row in documents),
        tuple(tuple(row["references"]) for row in documents),
        tuple(tuple(row["summary"] for row in rated[one]) for one in ids),
        tuple(np.array([row["relevance"] for row in rated[one]]) for one in ids),
    )


@pytest.mark.parametrize("source", [pytest.param("summeval", marks=shared)])
def test_one_correlation_per_text(source, judge):
    """Summarization by text is mteb's `cosine_spearman`; the default pools the summaries of all texts."""
    from datasets import Dataset, DatasetDict
    from mteb.abstasks.text.summarization import AbsTaskSummarization

    given = summeval()
    columns = {
        "text": given.texts,
        "human_summaries": given.references,
        "machine_summaries": given.summaries,
        "relevance": [ratings.tolist() for ratings in given.relevance],
    }
    task = local(AbsTaskSummarization, DatasetDict(test=Dataset.from_dict(columns)), "cosine_spearman")
    theirs = judge(task)["cosine_spearman"]
    assert ours("summarization", given, summaries="per-text") == pytest.approx(theirs, abs=1e-3)
    assert abs(ours("summarization", given) - theirs) > 0.01
