"""The catalogue: every dataset that can be named without a path."""

from __future__ import annotations

from semblance.data.dataset import Dataset
from semblance.data.shapes import SHAPES
from semblance.registry import Registry

DATASETS: Registry[Dataset] = Registry("dataset")
DATASETS.add(
    "sample",
    "semblance.data.bundled:sample",
    "48 short documents with summaries, questions, labels and pairs, in every shape",
    lang="mul",
    shapes=" ".join(SHAPES),
)
