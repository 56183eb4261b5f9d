"""The published figures beside the checkout, and a small study's results that every machine can make."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from embassay.protocols.hume.published.paper import (
    PaperDataset,
    PaperDatasetInOneLanguage,
    PaperEmbeddingModel,
    PublishedEvaluation,
    PublishedStudy,
    read_results,
)


@pytest.fixture(scope="session")
def reference(root: Path) -> Path:
    """The paper's figures, beside the checkout."""
    folder = root / ".." / "shared" / "reference" / "hume"
    if not folder.exists():
        pytest.skip("the published figures are absent")
    return folder


@pytest.fixture(scope="session")
def published(reference: Path) -> tuple[PublishedEvaluation, ...]:
    """The public results of all systems."""
    return read_results(reference / "results.json.gz")


@pytest.fixture(scope="session")
def small_study() -> PublishedStudy:
    """Three datasets in five pairs, and two models."""
    feelings = (PaperDatasetInOneLanguage("Feelings", "eng", "classification", 20, 2),)
    topics = (
        PaperDatasetInOneLanguage("Topics", "dan", "clustering", 10, 1),
        PaperDatasetInOneLanguage("Topics", "eng", "clustering", 10, 2),
    )
    likeness = (
        PaperDatasetInOneLanguage("Likeness", "ara", "sts", 12, 1),
        PaperDatasetInOneLanguage("Likeness", "eng", "sts", 12, 2),
    )
    return PublishedStudy(
        datasets=(
            PaperDataset("Feelings", "HUMEFeelings", "classification", ("accuracy",), feelings, ("Moods",)),
            PaperDataset("Topics", "HUMETopics", "clustering", ("V-measure",), topics),
            PaperDataset("Likeness", "HUMELikeness", "sts", ("Spearman",), likeness),
        ),
        models=(PaperEmbeddingModel("one/alpha", 10), PaperEmbeddingModel("two/beta")),
        human="baseline/Human",
        human_revision="first",
        source="made for tests",
    )


SMALL: dict[str, dict[tuple[str, str], float]] = {
    "one/alpha": {
        ("Feelings", "en"): 0.9, ("Topics", "da"): 0.4, ("Topics", "en"): 0.6, ("Topics", "fr"): 0.8,
        ("Likeness", "ar"): 0.1, ("Likeness", "en"): 0.8,
    },
    "two/beta": {
        ("Feelings", "en"): 0.7, ("Topics", "da"): 0.2, ("Topics", "en"): 0.5,
        ("Likeness", "ar"): 0.3, ("Likeness", "en"): 0.8,
    },
    "baseline/Human": {
        ("Feelings", "en"): 0.8, ("Topics", "da"): 0.5, ("Topics", "en"): 0.5,
        ("Likeness", "ar"): 0.6, ("Likeness", "en"): 0.8,
    },
}  # fmt: skip
"""Main scores: people win Topics (dan) and Likeness (ara), and tie with the best on Likeness (eng)."""
ANNOTATORS: dict[tuple[str, str], Sequence[float]] = {
    ("Feelings", "en"): (0.75, 0.8), ("Topics", "en"): (0.45, 0.55), ("Likeness", "en"): (0.7, 0.6)
}  # fmt: skip
AGREEMENT = {
    "Feelings": {"metric": "fleiss_kappa", "value": 0.5},
    "Topics": {"value": 0.2},
    "Likeness": {"mean_spearman": 0.65},
}
METRIC = {"Feelings": "accuracy", "Topics": "v_measure", "Likeness": "spearman"}


@pytest.fixture
def small_folder(tmp_path: Path) -> Path:
    """Results as MTEB lays them out: `org__model/revision/Task.json`."""
    for system, scores in SMALL.items():
        folder = tmp_path / "results" / system.replace("/", "__") / "first"
        folder.mkdir(parents=True)
        (folder / "model_meta.json").write_text('{"name": "not a result"}')
        for dataset in METRIC:
            entries = [_entry(system, key, value) for key, value in scores.items() if key[0] == dataset]
            document = {"task_name": f"HUME{dataset}", "dataset_revision": "x", "scores": {"test": entries}}
            (folder / f"HUME{dataset}.json").write_text(json.dumps(document))
    return tmp_path / "results"


def _entry(system: str, key: tuple[str, str], value: float) -> dict[str, object]:
    dataset, lang = key
    entry: dict[str, object] = {
        "hf_subset": lang, "languages": [f"{lang}-Latn"], "main_score": value, METRIC[dataset]: value,
    }  # fmt: skip
    if system == "baseline/Human" and key in ANNOTATORS:
        entry["scores_per_experiment"] = [{METRIC[dataset]: one} for one in ANNOTATORS[key]]
        entry["agreement"] = AGREEMENT[dataset]
    return entry


@pytest.fixture
def small(small_folder: Path, small_study: PublishedStudy) -> tuple[PublishedEvaluation, ...]:
    """The small study's results."""
    return read_results(small_folder, small_study)
