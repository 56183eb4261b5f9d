"""What a check predicts of lists and nDCG@10, beside what happens on the whole collection.

    python benchmarks/watch_effects.py DATA --work runs/watch_effects --mpnet FOLDER \\
        --out benchmarks/results/watch_effects.md

DATA holds what benchmarks/datasets describe. Each collection is recorded with `minilm` and checked after planted
changes; `--samples` fingerprints draw other questions and passages. Vectors of whole collections are kept in --work.
Two of the changes are minilm trained on (see watch_power.py), one is another model, in the folder --mpnet. What an
index of half new passages does is the mean over `HALVES` random halves of the whole collection.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from watch_power import PREFIX, Vectors, print_or_write, retrained, tuned_vectors, vectors_of

from embassay.data import open_dataset
from embassay.protocols.watch.impact import ANEW, HALF, KEPT, RankedListImpact, compute_top_list_change_from_vectors
from embassay.protocols.watch.options import OwnTextsAndQuestionsOptions
from embassay.protocols.watch.own import OwnPassagesAndQuestions, make_own_question_top_lists, read_own_texts
from embassay.protocols.watch.respondents import AnswersAndFailuresByItem
from embassay.records import RetrievalSet
from embassay.search.exact import exact_search
from embassay.systems.cosine import VectorTransformOptions, scale_rows_to_unit_length
from embassay.systems.encoders.minilm import MiniLMEncoder
from embassay.systems.encoders.wordllama import WordLlamaEncoder

COLLECTIONS = ("scifact", "cranfield", "med")
DESCRIBED = {"cranfield": Path(__file__).parent / "datasets" / "cranfield.yaml"}
"""Collections whose judgements say what they mean only in a description."""
HALVES = 10
STEPS = {
    "float16": VectorTransformOptions(quantize="float16"),
    "int8": VectorTransformOptions(quantize="int8"),
    "binary": VectorTransformOptions(quantize="binary"),
    "dims cut to 256": VectorTransformOptions(dims=256),
}


@dataclass(frozen=True)
class Sides:
    """Vectors of all passages and of all questions."""

    passages: Vectors
    questions: Vectors


def pooled(model: MiniLMEncoder, texts: Sequence[str], most: int, *, is_cls: bool = False) -> Vectors:
    """Unit vectors, (n, 384), of mean or CLS pooling, of texts cut at `most` tokens."""
    encodings = model.tokenizer.encode_batch(list(texts))
    ids = [
        encoding.ids if len(encoding.ids) <= most else [*encoding.ids[: most - 1], encoding.ids[-1]]
        for encoding in encodings
    ]
    vectors = np.empty((len(ids), 384), dtype=np.float32)
    by_length: dict[int, list[int]] = {}
    for row, tokens in enumerate(ids):
        by_length.setdefault(len(tokens), []).append(row)
    for rows in by_length.values():
        for start in range(0, len(rows), 32):
            part = rows[start : start + 32]
            states = model._compute_hidden_states([ids[row] for row in part])
            vectors[part] = states[:, 0] if is_cls else states.mean(axis=1)
    return scale_rows_to_unit_length(vectors)


def encoders() -> dict[str, Callable[[Sequence[str]], Vectors]]:
    """All that a server may answer with in place of minilm, and minilm itself first."""
    model = MiniLMEncoder()
    return {
        "minilm": lambda texts: pooled(model, texts, 256),
        "prefix added": lambda texts: pooled(model, [PREFIX + text for text in texts], 256),
        "CLS for mean": lambda texts: pooled(model, texts, 256, is_cls=True),
        "cut at 128 tokens": lambda texts: pooled(model, texts, 128),
        "weights moved by 5%": lambda texts: pooled(retrained(0.05), texts, 256),
        "wordllama for minilm": WordLlamaEncoder().encode,
    }


def real_models(texts: Sequence[str], mpnet: Path | None) -> Iterator[tuple[str, Vectors]]:
    """Vectors by models that a server may really load in minilm's place: minilm trained on, and another."""
    yield from tuned_vectors(texts).items()
    if mpnet is not None:
        from sentence_transformers import SentenceTransformer

        yield "all-mpnet-base-v2", vectors_of(SentenceTransformer(str(mpnet), device="cpu"), texts)


def all_sides(data: RetrievalSet, work: Path, mpnet: Path | None, wanted: Sequence[str]) -> dict[str, Sides]:
    """The vectors of every encoder, kept in `work`, and of every step on those of minilm."""
    work.mkdir(parents=True, exist_ok=True)
    passages = len(data.corpus.texts)
    texts = [*data.corpus.texts, *data.queries.texts]
    for name, encode in encoders().items():
        if wanted and name not in ("minilm", *wanted):
            continue
        if not _file_of(work, name).exists():
            np.save(_file_of(work, name), encode(texts))
    if not (work / "real").exists():
        for name, vectors in real_models(texts, mpnet):
            np.save(_file_of(work, name), vectors)
        (work / "real").touch()
    sides = {
        file.stem.replace("_", " "): Sides((vectors := np.load(file))[:passages], vectors[passages:])
        for file in sorted(work.glob("*.npy"))
    }
    base = sides["minilm"]
    sides |= {name: Sides(step(base.passages), step(base.questions)) for name, step in STEPS.items()}
    return sides


def _file_of(work: Path, name: str) -> Path:
    return work / f"{name.replace(' ', '_')}.npy"


def states_of(base: Sides, changed: Sides) -> dict[str, list[Sides]]:
    """An index as it is, with half of its passages made anew (some halves), and with all: passages and questions."""
    if base.passages.shape[1] != changed.passages.shape[1]:
        return {ANEW: [changed]}
    rng = np.random.default_rng(0)
    halves = []
    for _ in range(HALVES):
        is_new = rng.permutation(len(base.passages)) % 2 == 1
        halves.append(Sides(np.where(is_new[:, None], changed.passages, base.passages), changed.questions))
    return {KEPT: [Sides(base.passages, changed.questions)], HALF: halves, ANEW: [changed]}


def first_ten(sides: Sides) -> list[list[int]]:
    """The ten nearest passages of each question."""
    ranked = exact_search(scale_rows_to_unit_length(sides.questions), scale_rows_to_unit_length(sides.passages), 10)
    lists: list[list[int]] = ranked.indices.tolist()
    return lists


def true_ndcg(lists: Sequence[Sequence[int]], data: RetrievalSet) -> NDArray[np.float64]:
    """nDCG@10 of each question, with linear gains."""
    discounts = 1 / np.log2(np.arange(10) + 2)
    values = []
    for key, found in zip(data.queries.ids, lists, strict=True):
        gains = data.qrels[key]
        best = sorted((gain for gain in gains.values() if gain > 0), reverse=True)[:10]
        got = sum(gains.get(data.corpus.ids[row], 0) * discounts[rank] for rank, row in enumerate(found))
        values.append(got / float(np.dot(best, discounts[: len(best)])))
    return np.array(values)


def predict(
    own: OwnPassagesAndQuestions, data: RetrievalSet, base: Sides, changed: Sides, seed: int
) -> RankedListImpact:
    """What a check of a fingerprint of these questions says."""
    row_of = {key: row for row, key in enumerate(data.queries.ids)}
    rows = [row_of[key] for key in own.query_ids]
    place_of = {text: place for place, text in enumerate(data.corpus.texts)}

    def answers(sides: Sides) -> Any:
        def encode(texts: Sequence[str], roles: object, rng: object) -> AnswersAndFailuresByItem:  # noqa: ARG001
            return AnswersAndFailuresByItem(sides.passages[[place_of[text] for text in texts]])

        return SimpleNamespace(encode=encode, kept=None)

    lists = make_own_question_top_lists(own, answers(base), base.questions[rows], range(len(rows)), seed)
    fingerprint: Any = SimpleNamespace(values=base.questions[rows], seed=seed, width=base.questions.shape[1])
    pool, others = (answers(changed).encode(texts, None, None).values for texts in (lists.pool, lists.others))
    return compute_top_list_change_from_vectors(fingerprint, lists, changed.questions[rows], pool, others)


def collection_rows(name: str, source: str, work: Path, asked: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """A row of Markdown for each change and state of the index."""
    data = open_dataset(source).load("retrieval").data
    sides = all_sides(data, work / name, asked.mpnet, asked.only)
    base = sides.pop("minilm")
    before = first_ten(base)
    scores = true_ndcg(before, data)
    owns = [
        read_own_texts(OwnTextsAndQuestionsOptions(corpus=source, seed=seed, passages=10**6))
        for seed in range(asked.samples)
    ]
    for change, changed in sides.items():
        impacts = [predict(own, data, base, changed, seed) for seed, own in enumerate(owns) if own is not None]
        for state, indexes in states_of(base, changed).items():
            found = [first_ten(index) for index in indexes]
            shares = [np.mean([set(a) != set(b) for a, b in zip(before, now, strict=True)]) for now in found]
            true = float(np.mean(shares))
            moved = float(np.mean([(true_ndcg(now, data) - scores).mean() for now in found]))
            told = [one for impact in impacts for one in impact.states if one.name == state]
            lists = [one.changed for one in told]
            ndcg = [one.ndcg for one in told if one.ndcg is not None]
            yield (
                state,
                f"| {name} | {change} | {true:.1%} | {np.mean([each.value for each in lists]):.1%} | "
                f"{_coverage(lists, true)} | {moved:+.4f} | {np.mean([each.value for each in ndcg]):+.4f} | "
                f"{_coverage(ndcg, moved)} |",
            )


def _coverage(told: Sequence[Any], true: float) -> str:
    inside = sum(each.contains(true) for each in told)
    return f"{inside} of {len(told)}"


def main() -> None:
    """Measure, and write or print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, default=Path("runs/watch_effects"))
    parser.add_argument("--samples", type=int, default=40)
    parser.add_argument("--collections", nargs="+", default=COLLECTIONS, choices=COLLECTIONS)
    parser.add_argument("--only", nargs="+", default=(), help="of the planted changes of the encoder, these")
    parser.add_argument("--mpnet", type=Path, help="a folder of all-mpnet-base-v2")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    os.environ["EMBASSAY_DATA"] = str(asked.data)
    lines = [
        "# Predicted and true effects of a change",
        "",
        f"`benchmarks/watch_effects.py`: {asked.samples} fingerprints of 50 questions (all 30 of MED) for each change "
        "of `minilm`; the mean of what they predict, beside what the whole collection says, and how many of their 95% "
        f"intervals hold it. Half anew: the mean of {HALVES} random halves.",
    ]
    rows: dict[str, list[str]] = {ANEW: [], HALF: [], KEPT: []}
    for name in asked.collections:
        source = DESCRIBED.get(name, asked.data / "retrieval" / name)
        for state, row in collection_rows(name, str(source), asked.work, asked):
            rows[state].append(row)
    for state, of_state in rows.items():
        lines += [
            "",
            f"## Index: {state}",
            "",
            "| Collection | Change | Lists changed | predicted | in the interval | nDCG@10 change | predicted | "
            "in the interval |",
            "|---|---|---:|---:|---:|---:|---:|---:|",
            *of_state,
        ]
    text = "\n".join(lines) + "\n"
    print_or_write(text, asked.out)


if __name__ == "__main__":
    main()
