"""Published results as the pairs of the record. They hold no items: what takes items is left out."""

from __future__ import annotations

import math
from collections.abc import Sequence

from embassay.measures import agreement_band
from embassay.protocols.hume.published.evaluations import Evaluation, of_human
from embassay.protocols.hume.published.llm_scores import LlmScores
from embassay.protocols.hume.published.matrix import Matrix, by_pair, score_matrix
from embassay.protocols.hume.published.pair_summary import PairSummary, pair_summaries
from embassay.protocols.hume.published.quality import ADVICE, Quality, qualities
from embassay.protocols.hume.published.standing import percent_of_human
from embassay.protocols.hume.published.study import Study
from embassay.protocols.hume.results.bars import as_bar
from embassay.protocols.hume.results.published_study import aggregated
from embassay.protocols.hume.scoring.agreement import BANDS, COEFFICIENT
from embassay.protocols.hume.scoring.interval import OneAnnotator, is_outside
from embassay.protocols.hume.scoring.people import MAIN, POOLED_FIRST, Aggregation
from embassay.protocols.hume.study import Who
from embassay.protocols.hume.summary.record import Agreement, Annotator, Bar, PairRecord, SystemScore

PUBLISHED = "published, no items"
_COUNTS = {"value", "mean_spearman", "n_annotators", "n_items", "total_annotations"}
_EXTRAS = {
    "mean_pairwise_kappa": "cohen_kappa", "mean_percentage_agreement": "percent_agreement",
    "mean_kendall_tau": "kendall", "mean_binary_kappa": "cohen_kappa", "spearman_std": "spearman_sd",
    "n_comparisons": "comparisons",
}  # fmt: skip
"""What result files call the further coefficients -> their names here."""


def published_pairs(
    evaluations: Sequence[Evaluation],
    study: Study,
    llms: LlmScores | None = None,
    *,
    aggregation: Aggregation = "paper",
    one_annotator: OneAnnotator = "wilson",
) -> tuple[PairRecord, ...]:
    """Every pair of the study, in its order. DataError as `score_matrix`, UsageError as `aggregated`."""
    human = by_pair(of_human(evaluations, study))
    scored = aggregated(evaluations, study, aggregation)
    matrix = score_matrix(scored, study)
    found = qualities(pair_summaries(scored, study, one_annotator=one_annotator))
    return tuple(
        _pair(quality, human[quality.summary.pair.dataset, quality.summary.pair.lang], study, matrix, llms)
        for quality in found
    )


def _pair(
    quality: Quality, human: Evaluation, study: Study, matrix: Matrix, llms: LlmScores | None
) -> PairRecord:
    one = quality.summary
    pair, dataset = one.pair, study.dataset(one.pair.dataset)
    at = matrix.pairs.index(pair)
    kind: Who = "simulated" if human.simulated else "person"
    models = tuple(
        _score(one, name, "embedding", float(value))
        for name, value in zip(matrix.models, matrix.values[:, at], strict=True)
    )
    return PairRecord(
        task=dataset.task if dataset else pair.dataset,
        dataset=pair.dataset,
        lang=pair.lang,
        family=pair.family,
        measure=MAIN[pair.family],
        group=pair.group,
        n=pair.n_items,
        human=as_bar(one.interval),
        annotators=tuple(
            Annotator(id=f"annotator {number}", kind=kind, score=score, items=pair.n_items)
            for number, score in enumerate(one.annotators, start=1)
        ),
        conventions=_conventions(one, human.main_score),
        agreement=_agreement(one, human),
        models=models,
        llms=_llms(one, llms),
        difficulty=one.standing.difficulty,
        trust=quality.trust,
        superhuman_on_noise=quality.superhuman_on_noise,
        flags=pair.flags,
        advice=ADVICE if quality.trust == "low" else "",
    )


def _score(one: PairSummary, name: str, kind: str, value: float) -> SystemScore:
    return SystemScore(
        system=name,
        kind=kind,  # type: ignore[arg-type]
        score=Bar(value=value, n=one.pair.n_items, method=PUBLISHED),
        outside=is_outside(value, one.interval),
        percent_of_human=percent_of_human(value, one.standing.human),
    )


def _llms(one: PairSummary, llms: LlmScores | None) -> tuple[SystemScore, ...]:
    keys = [(pair.dataset, pair.lang) for pair in llms.pairs] if llms else []
    if llms is None or (one.pair.dataset, one.pair.lang) not in keys:
        return ()
    values = llms.values[:, keys.index((one.pair.dataset, one.pair.lang))]
    return tuple(
        _score(one, name, "llm", float(value)) for name, value in zip(llms.llms, values, strict=True)
    )


def _conventions(one: PairSummary, paper: float) -> dict[str, float | None]:
    """What a file tells: its own score, the mean of its annotators' and the first's."""
    pooled = paper if one.pair.family in POOLED_FIRST else None
    mean = math.fsum(one.annotators) / len(one.annotators)
    return {"paper": paper, "pooled": pooled, "mean": mean, "first": one.annotators[0]}


def _agreement(one: PairSummary, human: Evaluation) -> Agreement | None:
    if one.agreement is None:
        return None
    coefficient, n = COEFFICIENT[one.pair.family], one.pair.n_items
    return Agreement(
        coefficient=coefficient,
        value=Bar(value=one.agreement, n=n, method=PUBLISHED),
        band=agreement_band(one.agreement, BANDS[coefficient]),
        annotators=len(one.annotators),
        items=n,
        annotations=one.total_annotations,
        extras={_EXTRAS.get(k, k): v for k, v in human.agreement.items() if k not in _COUNTS},
    )
