"""The sample dataset of the package."""

from __future__ import annotations

import json
from collections import Counter
from importlib.resources import files

import numpy as np
import pytest

from semblance.data import DATASETS, SHAPES, Dataset, open_dataset


@pytest.fixture(scope="module")
def sample() -> Dataset:
    return open_dataset("sample")


def test_every_shape_without_a_skip(sample: Dataset) -> None:
    """It serves every shape, and nothing of it is left out or odd."""
    assert sample.shapes() == tuple(SHAPES)
    assert sample.lang == "mul"
    for shape in SHAPES:
        loaded = sample.load(shape)
        assert (loaded.dataset, loaded.lang, loaded.skipped, loaded.warnings) == ("sample", "mul", (), ())


def test_sizes(sample: Dataset) -> None:
    """48 documents with two summaries each, 120 labelled texts in sets."""
    sizes = {shape: len(sample.load(shape).data) for shape in SHAPES if shape != "retrieval"}
    assert sizes == {"documents": 48, "summarised": 48, "comparisons": 48, "ratings": 96, "labelled": 120}


def test_preferred_summaries(sample: Dataset) -> None:
    """The summary of a document is the preferred one of its comparison; both are rated on four axes."""
    summarised, comparisons = sample.load("summarised").data, sample.load("comparisons").data
    ratings = sample.load("ratings").data
    assert summarised.ids == comparisons.ids == sample.load("documents").data.ids
    chosen = np.where(comparisons.choice, comparisons.second, comparisons.first)
    assert summarised.summaries == tuple(chosen)
    assert list(ratings.axes) == ["overall", "accuracy", "coverage", "coherence"]
    assert {*comparisons.first, *comparisons.second} == set(ratings.summaries)
    assert all(np.all((values >= 1) & (values <= 7)) for values in ratings.axes.values())


def test_comparisons_keep_the_stored_order(sample: Dataset) -> None:
    """The first summary is the one stored first."""
    lines = files("semblance.data").joinpath("sample", "summaries.jsonl").read_text("utf-8").splitlines()
    stored: dict[str, str] = {}
    for row in map(json.loads, lines):
        stored.setdefault(row["doc_id"], row["text"])
    assert sample.load("comparisons").data.first == tuple(stored.values())


def test_passages(sample: Dataset) -> None:
    """The corpus is the paragraphs of the documents, numbered; gains are grades - 1."""
    documents, retrieval = sample.load("documents").data, sample.load("retrieval").data
    assert len(retrieval) > 30
    text = dict(zip(retrieval.corpus.ids, retrieval.corpus.texts, strict=True))
    for key, document in zip(documents.ids, documents.texts, strict=True):
        paragraphs = document.split("\n\n")
        assert [text[f"{key}#{n}"] for n in range(1, len(paragraphs) + 1)] == paragraphs
    gains = Counter(gain for grades in retrieval.qrels.values() for gain in grades.values())
    assert set(gains) <= {0.0, 1.0, 2.0, 3.0, 4.0}
    assert all(max(grades.values()) >= 3 for grades in retrieval.qrels.values())


def test_is_in_the_catalogue() -> None:
    """`semblance list datasets` shows it, with its language and shapes."""
    entry = DATASETS.get("sample")
    assert dict(entry.facts) == {"lang": "mul", "shapes": " ".join(SHAPES)}
