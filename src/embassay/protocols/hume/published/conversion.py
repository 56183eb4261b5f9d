"""Published results as the pairs of the record, and a record as published results."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from embassay.errors import DataError, UsageError
from embassay.measures import agreement_band
from embassay.protocols.hume.options import Aggregation, Models, OneAnnotator
from embassay.protocols.hume.published.paper import (
    PaperDataset,
    PaperDatasetInOneLanguage,
    PaperEmbeddingModel,
    PublishedEvaluation,
    PublishedStudy,
    select_human_evaluations_by_revision,
)
from embassay.protocols.hume.published.standings import (
    ADVICE,
    HUMAN,
    ModelAndPeopleScores,
    agreement_trust_level,
    build_score_matrix,
    index_evaluations_by_pair,
    list_systems_outside_study,
    name_pair_difficulty_for_people,
    percent_of_human,
)
from embassay.protocols.hume.record import (
    AnnotatorAgreement,
    AnnotatorScore,
    DatasetLanguageRecord,
    SystemKind,
    SystemScore,
)
from embassay.protocols.hume.results.conclusions import (
    ComparedSystem,
    has_score_on_every_pair,
    keep_pairs_with_human_score,
)
from embassay.protocols.hume.results.contestants import convert_estimate_for_record
from embassay.protocols.hume.scoring import BANDS, COEFFICIENT, MAIN, POOLED_FIRST, human_score_interval
from embassay.protocols.hume.study import Family, Who
from embassay.stats.intervals import Estimate

PUBLISHED = "published, no items"
_COUNTS = {"value", "mean_spearman", "n_annotators", "n_items", "total_annotations"}
_EXTRAS = {
    "mean_pairwise_kappa": "cohen_kappa", "mean_percentage_agreement": "percent_agreement",
    "mean_kendall_tau": "kendall", "mean_binary_kappa": "cohen_kappa", "spearman_std": "spearman_sd",
    "n_comparisons": "comparisons"
}  # fmt: skip
"""What result files call the further coefficients -> their names here."""


def convert_results_to_dataset_records(
    evaluations: Sequence[PublishedEvaluation],
    study: PublishedStudy,
    llms: ModelAndPeopleScores | None = None,
    *,
    aggregation: Aggregation = "paper",
    one_annotator: OneAnnotator = "wilson",
) -> tuple[DatasetLanguageRecord, ...]:
    """Every pair of the study, in its order. DataError as `build_score_matrix`, UsageError as
    `replace_human_scores_by_rule`."""
    files = index_evaluations_by_pair(select_human_evaluations_by_revision(evaluations, study))
    matrix = build_score_matrix(replace_human_scores_by_rule(evaluations, study, aggregation), study)
    of_models, of_llms = (
        _map_scores_by_dataset_language(matrix),
        _map_scores_by_dataset_language(llms) if llms else {},
    )
    records = []
    for pair, human in zip(study.pairs, matrix.human.tolist(), strict=True):
        key = pair.dataset, pair.lang
        people = _make_dataset_language_record(study, pair, files[key], human, one_annotator)
        # Language models may lack a pair, models never do: the paper has none on clustering.
        records.append(_add_system_scores_to_human_record(people, of_models[key], of_llms.get(key, {})))
    return tuple(records)


def _map_scores_by_dataset_language(matrix: ModelAndPeopleScores) -> dict[tuple[str, str], dict[str, float]]:
    """The score of every system, by dataset and language."""
    columns = zip(matrix.pairs, matrix.values.T.tolist(), strict=True)
    return {(pair.dataset, pair.lang): dict(zip(matrix.models, scores, strict=True)) for pair, scores in columns}


def _make_dataset_language_record(
    study: PublishedStudy,
    pair: PaperDatasetInOneLanguage,
    file: PublishedEvaluation,
    human: float,
    one_annotator: OneAnnotator,
) -> DatasetLanguageRecord:
    """A pair with its people, from their `file` and their score."""
    # A file lists annotators only where there are several.
    scores = file.main_scores_per_annotator if len(file.main_scores_per_annotator) > 1 else (human,)
    dataset, trust = study.dataset(pair.dataset), agreement_trust_level(pair.family, file.headline_agreement)
    task = dataset.task if dataset else pair.dataset
    kind: Who = "simulated" if file.simulated else "person"
    annotators = tuple(
        AnnotatorScore(id=f"annotator {number}", kind=kind, score=score, items=pair.n_items)
        for number, score in enumerate(scores, start=1)
    )
    return DatasetLanguageRecord(
        task=task,
        dataset=pair.dataset,
        lang=pair.lang,
        family=pair.family,
        measure=MAIN[pair.family],
        group=pair.group,
        n=pair.n_items,
        human=convert_estimate_for_record(_estimate_people_interval(pair, human, scores, one_annotator)),
        annotators=annotators,
        conventions=_compute_human_score_by_each_rule(pair.family, file.main_score, scores),
        agreement=_make_published_annotator_agreement(pair, file, len(scores)),
        difficulty=name_pair_difficulty_for_people(human),
        trust=trust,
        flags=pair.flags,
        advice=ADVICE if trust == "low" else "",
    )


def _estimate_people_interval(
    pair: PaperDatasetInOneLanguage, human: float, annotators: Sequence[float], one_annotator: OneAnnotator
) -> Estimate:
    if pair.n_items < 1:
        return Estimate(human, method="none: the number of items is unknown")
    return human_score_interval(pair.family, human, annotators, pair.n_items, one_annotator=one_annotator)


def _compute_human_score_by_each_rule(
    family: Family, paper: float, annotators: Sequence[float]
) -> dict[str, float | None]:
    """What a file tells: its own score, the mean of its annotators' and the first's."""
    # The paper's own rule pools in these families: a file's main score is then the pooled one.
    pooled = paper if family in POOLED_FIRST else None
    mean = math.fsum(annotators) / len(annotators)
    return {"paper": paper, "pooled": pooled, "mean": mean, "first": annotators[0]}


def _make_published_annotator_agreement(
    pair: PaperDatasetInOneLanguage, file: PublishedEvaluation, annotators: int
) -> AnnotatorAgreement | None:
    agreement, coefficient = file.headline_agreement, COEFFICIENT[pair.family]
    if agreement is None:
        return None
    return AnnotatorAgreement(
        coefficient=coefficient,
        value=Estimate(value=agreement, n=pair.n_items, method=PUBLISHED),
        band=agreement_band(agreement, BANDS[coefficient]),
        annotators=annotators,
        items=pair.n_items,
        annotations=pair.n_items * annotators,
        extras={_EXTRAS.get(k, k): v for k, v in file.agreement.items() if k not in _COUNTS},
    )


def _add_system_scores_to_human_record(
    record: DatasetLanguageRecord, models: Mapping[str, float], llms: Mapping[str, float]
) -> DatasetLanguageRecord:
    """The record of people with the scores of the systems. Where agreement is low and the best model is above the
    interval of people, it may have learned labels that people do not share."""
    high = record.human.high
    above = high is not None and max(models.values()) > high
    systems = {
        "models": _make_published_scores(record, models, "embedding"),
        "llms": _make_published_scores(record, llms, "llm"),
        "superhuman_on_noise": record.trust == "low" and above,
    }  # fmt: skip
    return record.model_copy(update=systems)


def _make_published_scores(
    record: DatasetLanguageRecord, scores: Mapping[str, float], kind: SystemKind
) -> tuple[SystemScore, ...]:
    human = record.human.value or 0.0
    return tuple(
        SystemScore(
            system=name, kind=kind, score=Estimate(value=value, n=record.n, method=PUBLISHED),
            outside=record.human.excludes(value), percent_of_human=percent_of_human(value, human),
        )
        for name, value in scores.items()
    )  # fmt: skip


_MEND = "Pass the HUME results from the MTEB results repository, including those of baseline/Human."


def narrow_study_to_available_pairs(
    evaluations: Sequence[PublishedEvaluation], study: PublishedStudy, models: Models = "study"
) -> tuple[PublishedStudy, tuple[str, ...]]:
    """The study with the pairs that people have and the models that have all of these, and a note of what is left out.

    With `models` "all" other systems of the files are models too. DataError where people or models are missing
    altogether: there is nothing to compare then.
    """
    human = {
        key
        for key, evaluation in index_evaluations_by_pair(
            select_human_evaluations_by_revision(evaluations, study)
        ).items()
        if _has_main_score(evaluation)
    }
    pairs = {(pair.dataset, pair.lang) for pair in study.pairs} & human
    if not pairs:
        revision = f", revision {study.human_revision}" if study.human_revision else ""
        raise DataError(
            f"The results contain no human scores ({study.human}{revision})",
            found=_describe_human_revision_or_systems(evaluations, study),
            mend=_MEND,
        )
    known = list(study.models)
    if models == "all":
        known += [PaperEmbeddingModel(name) for name in list_systems_outside_study(evaluations, study)]
    lacking = {model.name: _count_pairs_without_model_score(evaluations, model, pairs) for model in known}
    kept = tuple(model for model in known if not lacking[model.name])
    if not kept:
        raise DataError("No model in the results covers all pairs that people annotated", mend=_MEND)
    _check_unique_model_names(kept)
    left = len(study.pairs) - len(pairs)
    notes = [f"{left} of {len(study.pairs)} pairs are left out because the results have no human scores for them."] * (
        left > 0
    )
    notes += [_explain_left_out_model(name, missing, len(pairs)) for name, missing in lacking.items() if missing]
    datasets = tuple(
        replace(dataset, pairs=tuple(pair for pair in dataset.pairs if (pair.dataset, pair.lang) in pairs))
        for dataset in study.datasets
    )
    held = tuple(dataset for dataset in datasets if dataset.pairs)
    return replace(study, datasets=held, models=kept), tuple(notes)


def replace_human_scores_by_rule(
    evaluations: Sequence[PublishedEvaluation], study: PublishedStudy, aggregation: Aggregation
) -> tuple[PublishedEvaluation, ...]:
    """The evaluations with people's main scores by another rule than the files': the `mean` of the annotators' scores,
    or that of the `first`. UsageError for `pooled`, which for clustering and reranking takes the answers themselves."""
    if aggregation == "paper":
        return tuple(evaluations)
    if aggregation == "pooled":
        families = ", ".join(sorted(POOLED_FIRST))
        raise UsageError(
            "Result files contain no answers to pool.", mend=f"Use paper (which pools {families}), mean or first."
        )
    # By identity: people of another revision are the same in every other respect.
    people = {id(evaluation) for evaluation in select_human_evaluations_by_revision(evaluations, study)}
    return tuple(_rescore_people_by_rule(row, aggregation) if id(row) in people else row for row in evaluations)


def _rescore_people_by_rule(evaluation: PublishedEvaluation, aggregation: Aggregation) -> PublishedEvaluation:
    scores = evaluation.main_scores_per_annotator
    if len(scores) < 2:
        return evaluation
    return replace(evaluation, main_score=scores[0] if aggregation == "first" else math.fsum(scores) / len(scores))


def _check_unique_model_names(models: Sequence[PaperEmbeddingModel]) -> None:
    """DataError for two models that tables would call the same."""
    for name, count in Counter(model.short for model in models).items():
        if count > 1:
            names = ", ".join(model.name for model in models if model.short == name)
            raise DataError(
                f"{count} models are called {name}", found=names, mend="Pass the results of only one of them."
            )


def _has_main_score(evaluation: PublishedEvaluation) -> bool:
    return not math.isnan(evaluation.main_score)


def _count_pairs_without_model_score(
    evaluations: Sequence[PublishedEvaluation], model: PaperEmbeddingModel, pairs: set[tuple[str, str]]
) -> int:
    mine = index_evaluations_by_pair(row for row in evaluations if row.system == model.name and _has_main_score(row))
    return len(pairs - mine.keys())


def _explain_left_out_model(name: str, missing: int, pairs: int) -> str:
    if missing == pairs:
        return f"{name} is left out because it is not in the results."
    return f"{name} is left out because it lacks {missing} of {pairs} pairs, so its mean is not comparable."


def _describe_human_revision_or_systems(evaluations: Sequence[PublishedEvaluation], study: PublishedStudy) -> str:
    revisions = sorted({evaluation.revision for evaluation in evaluations if evaluation.system == study.human})
    if revisions:
        return f"{study.human} in revision {', '.join(revisions)}"
    names = sorted({evaluation.system for evaluation in evaluations})
    return f"{len(names)} systems, {', '.join(names[:3])}" + (" ..." if len(names) > 3 else "")


METRICS: Mapping[Family, tuple[str, ...]] = {
    "classification": ("accuracy", "macro F1", "weighted F1"),
    "clustering": ("V-measure", "ARI", "AMI"),
    "reranking": ("MAP", "MRR@10", "nDCG@10"),
    "sts": ("Spearman", "Pearson"),
}
"""What each family is measured by, the primary measure first."""


def convert_pairs_to_study(
    pairs: Sequence[DatasetLanguageRecord], contenders: Sequence[ComparedSystem]
) -> PublishedStudy:
    """The pairs with a human score as a study, its models those systems that have a score on all of them; language
    models are none."""
    held = keep_pairs_with_human_score(pairs)
    by_dataset: dict[str, list[DatasetLanguageRecord]] = {}
    for record in held:
        by_dataset.setdefault(record.dataset, []).append(record)
    datasets = tuple(
        PaperDataset(name, name, own[0].family, METRICS[own[0].family], tuple(map(_convert_to_paper_pair, own)))
        for name, own in by_dataset.items()
    )
    models = tuple(
        PaperEmbeddingModel(contender.system, contender.parameters_millions)
        for contender in contenders
        if contender.kind != "llm" and has_score_on_every_pair(pairs, contender.system)
    )
    return PublishedStudy(datasets, models, HUMAN, "", "this study")


def _convert_to_paper_pair(record: DatasetLanguageRecord) -> PaperDatasetInOneLanguage:
    """A pair of the record as result files have it."""
    return PaperDatasetInOneLanguage(
        record.dataset, record.lang, record.family, record.n, len(record.annotators), record.group, record.flags
    )  # fmt: skip


def convert_pairs_to_evaluations(pairs: Sequence[DatasetLanguageRecord]) -> tuple[PublishedEvaluation, ...]:
    """People and every system that has a score, pair by pair."""
    evaluations = []
    for pair in keep_pairs_with_human_score(pairs):
        scores = {HUMAN: pair.human.value, **{model.system: model.score.value for model in pair.models}}
        evaluations += [
            PublishedEvaluation(system, "", pair.dataset, pair.lang, pair.lang, value)
            for system, value in scores.items()
            if value is not None
        ]
    return tuple(evaluations)


def make_llm_and_people_score_matrix(
    pairs: Sequence[DatasetLanguageRecord], contenders: Sequence[ComparedSystem]
) -> ModelAndPeopleScores | None:
    """Language models on the pairs that people and every one of them have a score on; None where there are none."""
    names = tuple(contender.system for contender in contenders if contender.kind == "llm")
    held = [
        (pair, own)
        for pair in keep_pairs_with_human_score(pairs)
        if (own := {llm.system: llm.score.value for llm in pair.llms})
        and all(own.get(name) is not None for name in names)
    ]
    if not names or not held:
        return None
    values = np.array([[own[name] for _, own in held] for name in names], dtype=np.float64)
    human = np.array([pair.human.value for pair, _ in held], dtype=np.float64)
    return ModelAndPeopleScores(tuple(pair for pair, _ in held), names, values, human)
