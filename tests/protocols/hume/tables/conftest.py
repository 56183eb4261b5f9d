"""The paper's study as a record, from its rounded input table; and a small study with simulated annotators."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from embassay.measures import agreement_band
from embassay.protocols.hume.published.paper import load_hume_paper_study
from embassay.protocols.hume.published.standings import ADVICE, agreement_trust_level, name_pair_difficulty_for_people
from embassay.protocols.hume.record import (
    AnnotatorAgreement,
    AnnotatorScore,
    DatasetLanguageRecord,
    SeparationSampleSize,
    Summary,
    SystemScore,
)
from embassay.protocols.hume.results.conclusions import (
    ComparedSystem,
    build_human_score_matrix,
    count_people_wins,
    rank_systems_by_mean,
)
from embassay.protocols.hume.scoring import BANDS, COEFFICIENT, MAIN
from embassay.stats import Estimate

SHORT = {
    "MiniLM": 22.7, "mpnet": 109, "e5-mistral": 7111, "gemma": 300, "gte-Qwen2": 1780, "jasper": 1999,
    "me5-base": 278, "me5-large": 560, "me5-small": 118, "mxbai": 335, "Qwen3": 596, "SFR": 7110, "stella": None,
}  # fmt: skip
"""Models of the input table, and their millions of parameters."""


@pytest.fixture(scope="session")
def paper_rows() -> list[dict[str, str]]:
    """Spec hume 10.1 and 10.4: a row per pair; `star` says where the best model is outside the interval."""
    with (Path(__file__).parent / "paper.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="session")
def paper(paper_rows: list[dict[str, str]]) -> Summary:
    """The record of the paper's study, as far as rounded scores give it."""
    study, by_pair = load_hume_paper_study(), {(row["dataset"], row["lang"]): row for row in paper_rows}
    pairs = tuple(_pair(pair, by_pair[pair.dataset, pair.lang]) for pair in study.pairs)
    contenders = [ComparedSystem(name, "embedding", size) for name, size in SHORT.items()]
    return Summary(
        title="HUME, input table", source="published", seed=1, pairs=pairs,
        places=rank_systems_by_mean(pairs, contenders, 1),
        wins=count_people_wins(build_human_score_matrix(pairs, contenders)),
    )  # fmt: skip


def _pair(pair, row: dict[str, str]) -> DatasetLanguageRecord:
    human, low, high = float(row["human"]), float(row["low"]) / 100, float(row["high"]) / 100
    scores = {name: float(row[name]) / 100 for name in SHORT}
    agreement = float(row["agreement"]) if row["agreement"] else None
    trusted = agreement_trust_level(pair.family, agreement)
    return DatasetLanguageRecord(
        task=pair.dataset,
        dataset=pair.dataset,
        lang=pair.lang,
        family=pair.family,
        measure=MAIN[pair.family],
        group=pair.group,
        n=pair.n_items,
        human=Estimate(value=human, low=low, high=high, n=pair.n_items, method="printed"),
        annotators=tuple(
            AnnotatorScore(id=f"annotator {k + 1}", kind="person", score=human, items=pair.n_items)
            for k in range(pair.n_annotators)
        ),
        conventions={"paper": human, "mean": human},
        agreement=None if agreement is None else _agreement(pair, agreement),
        models=tuple(
            SystemScore(system=name, kind="embedding", score=Estimate(value=value), outside=not low <= value <= high)
            for name, value in scores.items()
        ),
        difficulty=name_pair_difficulty_for_people(human),
        trust=trusted,
        superhuman_on_noise=trusted == "low" and max(scores.values()) > high,
        advice=ADVICE if trusted == "low" else "",
        flags=pair.flags,
    )


def _agreement(pair, value: float) -> AnnotatorAgreement:
    coefficient = COEFFICIENT[pair.family]
    return AnnotatorAgreement(
        coefficient=coefficient, value=Estimate(value=value, n=pair.n_items),
        band=agreement_band(value, BANDS[coefficient]), annotators=2, items=pair.n_items,
        annotations=2 * pair.n_items,
    )  # fmt: skip


@pytest.fixture
def small_record() -> Summary:
    """Two pairs of an own study: one with two simulated annotators, one with a person alone and no model."""
    feelings = DatasetLanguageRecord(
        task="Feelings (eng)",
        dataset="Feelings",
        lang="eng",
        family="classification",
        measure="accuracy",
        n=40,
        human=Estimate(value=0.7, low=0.55, high=0.82, n=40, method="95% Wilson"),
        annotators=(
            AnnotatorScore(id="ann", kind="simulated", score=0.65, items=40, seconds=4.0),
            AnnotatorScore(id="bob", kind="simulated", score=0.7, items=40, seconds=6.5, flagged=2),
        ),
        conventions={"paper": 0.7, "pooled": 0.7, "mean": 0.675, "first": 0.65},
        agreement=AnnotatorAgreement(
            coefficient="fleiss_kappa",
            value=Estimate(value=0.31, low=0.1, high=0.5, n=40),
            band="fair",
            annotators=2,
            items=40,
            annotations=80,
            extras={"cohen_kappa": 0.32, "percent_agreement": 0.6, "alpha": None, "zeta": 1},
        ),
        ceiling=Estimate(value=0.6, low=0.45, high=0.75, n=40),
        models=(
            SystemScore(
                system="minilm",
                kind="embedding",
                score=Estimate(value=0.9, n=40),
                outside=True,
                percent_of_human=128.57,
                difference=Estimate(value=0.2, low=0.05, high=0.35, n=40),
                p=0.01,
                among_people=1.0,
            ),
            SystemScore(system="bm25", kind="classical", score=Estimate(value=0.5, n=40), outside=True),
            SystemScore(system="lost|model", kind="embedding", score=Estimate(value=None, reason="it failed")),
        ),
        llms=(SystemScore(system="stub", kind="llm", score=Estimate(value=0.8, n=40), outside=False),),
        difficulty="easy",
        trust="low",
        superhuman_on_noise=True,
        flags=("few items",),
        advice=ADVICE,
        need=SeparationSampleSize(system="minilm", items=0, annotators=1, smallest=0.21),
    )
    alone = DatasetLanguageRecord(
        task="Topics (dan)", dataset="Topics", lang="dan", family="clustering", measure="v_measure", n=30,
        human=Estimate(value=0.5, n=30), annotators=(AnnotatorScore(id="cat", kind="person", score=0.5, items=30),),
        conventions={"paper": 0.5, "pooled": None, "mean": 0.5, "first": 0.5}, difficulty="moderate",
    )  # fmt: skip
    return Summary(title="Our study", source="study", seed=7, pairs=(feelings, alone))
