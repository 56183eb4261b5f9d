"""Published results from files to a finished folder, of the paper's study or another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from embassay.errors import DataError, UsageError
from embassay.protocols.hume.options import PublishedRequest
from embassay.protocols.hume.published.conversion import (
    METRICS,
    convert_results_to_dataset_records,
    narrow_study_to_available_pairs,
    replace_human_scores_by_rule,
)
from embassay.protocols.hume.published.paper import (
    ENGLISH_ONLY,
    MULTILINGUAL,
    PaperDataset,
    PaperDatasetInOneLanguage,
    PaperEmbeddingModel,
    PublishedEvaluation,
    PublishedStudy,
    load_hume_paper_study,
    read_results,
)
from embassay.protocols.hume.published.standings import (
    ModelAndPeopleScores,
    list_systems_outside_study,
    percent_of_human,
)
from embassay.protocols.hume.published.tables import build_all_paper_tables, read_llm_scores
from embassay.protocols.hume.record import DatasetLanguageRecord, Summary, SystemKind, SystemScore, write_summary
from embassay.protocols.hume.resource import resource_table
from embassay.protocols.hume.results.conclusions import (
    ComparedSystem,
    build_human_score_matrix,
    convert_spearman_to_estimate_or_reason,
    correlate_agreement_with_gap,
    count_people_wins,
    rank_systems_by_mean,
)
from embassay.protocols.hume.results.gaps import gap_slopes_table
from embassay.protocols.hume.results.markdown import write_markdown_report
from embassay.protocols.hume.results.summary import LLM, published_result_rows, write_finished_run
from embassay.protocols.hume.results.tables import study_tables
from embassay.protocols.hume.scoring import MAIN
from embassay.protocols.hume.study import FAMILIES, Family
from embassay.protocols.hume.tables import agreement_table, annotator_scores_table, make_figure_tables
from embassay.protocols.kernel.outcome import Run
from embassay.protocols.kernel.session import check_same_run_arguments
from embassay.protocols.kernel.tables import ColumnTable
from embassay.runs.folder import RunFolder, digest_json
from embassay.stats import Estimate

TITLE = "HUME, published results"
APART = "its classification and clustering use a different method"
_HEADER = "dataset,lang,human,"


@dataclass(frozen=True)
class EvaluatedSystems:
    """Systems that were evaluated here on the items that people answered, with their kinds and identities, their scores
    by pair, and what is to be said of them."""

    systems: Mapping[str, tuple[SystemKind, str]] = field(default_factory=dict)
    evaluations: tuple[PublishedEvaluation, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class PublishedResults:
    """What files of published results hold: the part of the study that is there, and notes of what is not; beside it
    the systems that were evaluated here."""

    study: PublishedStudy
    evaluations: tuple[PublishedEvaluation, ...]
    llms: ModelAndPeopleScores | None
    notes: tuple[str, ...]
    own: EvaluatedSystems = EvaluatedSystems()


def write_published_run(
    request: PublishedRequest, out: Path, command: str = "", own: EvaluatedSystems | None = None
) -> Run:
    """Write the folder of a request; the same once more writes it anew. `own` are its systems, evaluated. UsageError
    for a folder of other arguments."""
    folder = RunFolder(out)
    check_same_run_arguments(folder, request)
    published = (
        add_evaluated_systems_to_published(read_published_results(request), own)
        if own
        else read_published_results(request)
    )
    summary = published_summary(published, request)
    with folder.hold_folder_lock():
        write_summary(folder.path, summary)
        write_markdown_report(folder.path, summary)
        write_finished_run(
            folder, request=request, command=command or _format_python_call(request, out),
            rows=list(published_result_rows(summary)), tables=_make_published_tables(published, summary, request),
            systems=_make_manifest_systems(summary, published.own),
            datasets=_make_manifest_datasets(summary, request), extra={}
        )  # fmt: skip
    return Run(out)


def read_published_results(request: PublishedRequest) -> PublishedResults:
    """Read the files. DataError for files that are not what they should be, or hold no people or no model."""
    study = load_hume_paper_study()
    evaluations = _read_requested_evaluations(request, replace(study, datasets=()))
    names = {name for dataset in study.datasets for name in (dataset.task, dataset.name)}
    # Not by an alias: a task of one's own may well be called emotion.
    if any(evaluation.dataset in names for evaluation in evaluations):
        evaluations = _read_requested_evaluations(request, study)
    else:
        study = derive_study_from_results(evaluations, study.human)
    held, notes = narrow_study_to_available_pairs(evaluations, study, request.models)
    llms = read_llm_scores(_list_llm_score_table_paths(request.llm_scores), held) if request.llm_scores else None
    more = list_systems_outside_study(evaluations, held) if request.models == "study" else []
    if more:
        notes = (*notes, f"Omitted from all tables because they are not in the study: {', '.join(more)}.")
    return PublishedResults(held, evaluations, llms, notes)


def add_evaluated_systems_to_published(found: PublishedResults, own: EvaluatedSystems) -> PublishedResults:
    """Add the systems evaluated here to published results, on the pairs that have people.

    UsageError for results of another study: its items are not at hand.
    """
    if found.study.source == SOURCE:
        raise UsageError(
            "These results are not from the HUME study, so their items are unknown.",
            mend="Omit -s, or score your own study: embassay hume score STUDY -s NAME.",
        )
    pairs = {(pair.dataset, pair.lang) for pair in found.study.pairs}
    scores = tuple(row for row in own.evaluations if (row.dataset, row.lang) in pairs)
    lacking = {name: len(pairs) - sum(score.system == name for score in scores) for name in own.systems}
    notes = (
        (
            f"{name} has scores on only {len(pairs) - missing} of {len(pairs)} pairs, so it is in table 8 and the "
            "tables by pair but has no mean."
        )
        for name, missing in lacking.items()
        if missing
    )
    return replace(found, own=replace(own, evaluations=scores), notes=(*found.notes, *own.notes, *notes))


def _read_requested_evaluations(request: PublishedRequest, study: PublishedStudy) -> tuple[PublishedEvaluation, ...]:
    return tuple(result for path in request.results for result in read_results(Path(path), study))


def published_summary(found: PublishedResults, request: PublishedRequest) -> Summary:
    """The record of published results."""
    pairs = convert_results_to_dataset_records(
        found.evaluations, found.study, found.llms,
        aggregation=request.aggregation, one_annotator=request.one_annotator
    )  # fmt: skip
    entered = list_published_models_and_llms(found)
    matrix = build_human_score_matrix(pairs, entered)
    gap = correlate_agreement_with_gap(matrix)
    pairs = tuple(_add_system_scores_to_dataset_record(pair, found.own) for pair in pairs)
    models = [
        ComparedSystem(name, kind, None, kind != "classical", APART if kind == "classical" else "")
        for name, (kind, _) in found.own.systems.items()
    ]
    return Summary(
        title=TITLE,
        source="published",
        seed=request.seed,
        pairs=pairs,
        places=rank_systems_by_mean(pairs, (*entered, *models), request.seed),
        wins=count_people_wins(matrix),
        agreement_against_gap=convert_spearman_to_estimate_or_reason(gap),
        agreement_against_gap_p=gap.p,
        notes=found.notes,
    )


def _add_system_scores_to_dataset_record(pair: DatasetLanguageRecord, own: EvaluatedSystems) -> DatasetLanguageRecord:
    """A pair with the scores of the systems that were evaluated here; they are no part of best, median and mean."""
    human = pair.human.value
    scores = [
        SystemScore(
            system=evaluation.system, kind=own.systems[evaluation.system][0],
            score=Estimate(value=evaluation.main_score, n=pair.n, method="evaluated here, on the same items"),
            outside=pair.human.excludes(evaluation.main_score),
            percent_of_human=None if human is None else percent_of_human(evaluation.main_score, human),
        )
        for evaluation in own.evaluations
        if (evaluation.dataset, evaluation.lang) == (pair.dataset, pair.lang)
    ]  # fmt: skip
    return pair.model_copy(update={"models": (*pair.models, *scores)}) if scores else pair


def list_published_models_and_llms(found: PublishedResults) -> tuple[ComparedSystem, ...]:
    """The models, and language models, which have no scores on clustering."""
    models = [ComparedSystem(model.short, "embedding", model.parameters_millions) for model in found.study.models]
    names = found.llms.models if found.llms else ()
    return (*models, *(ComparedSystem(name, "llm", None, False, LLM) for name in names))


def _make_published_tables(
    published: PublishedResults, summary: Summary, request: PublishedRequest
) -> Iterable[ColumnTable]:
    """The paper's for its own study, those of any study for others."""
    if published.study.source == SOURCE:
        yield from study_tables(summary, list_published_models_and_llms(published))
        return
    scored = replace_human_scores_by_rule(published.evaluations, published.study, request.aggregation)
    yield from build_all_paper_tables(
        scored, published.llms, published.study, one_annotator=request.one_annotator, own=published.own.evaluations,
        apart=[name for name, (kind, _) in published.own.systems.items() if kind == "classical"]
    )  # fmt: skip
    yield agreement_table(summary)
    yield annotator_scores_table(summary)
    yield resource_table(summary, summary.seed)
    yield gap_slopes_table(summary)
    yield from make_figure_tables(summary)


def _list_llm_score_table_paths(given: Sequence[str]) -> list[Path]:
    """Find the tables with LLM scores: files as they are, and in a folder by their columns."""
    files: list[Path] = []
    for entry in map(Path, given):
        if not entry.exists():
            raise DataError(
                "There is no such file or folder", path=entry, mend=f"Pass a CSV file that begins with {_HEADER}..."
            )
        of_path = (
            sorted(path for path in entry.glob("*.csv") if _has_llm_table_header(path)) if entry.is_dir() else [entry]
        )
        if not of_path:
            raise DataError(
                "The folder contains no language model scores",
                path=entry, expected=f"CSV files that begin with {_HEADER}", mend="Pass the files by name."
            )  # fmt: skip
        files += of_path
    if len(set(files)) < len(files):
        raise UsageError("--llm-scores contains the same file twice.", mend="Pass each file once.")
    return files


def _has_llm_table_header(path: Path) -> bool:
    with path.open("rb") as file:
        return file.readline(4096).decode("utf-8-sig", "replace").startswith(_HEADER)


def _make_manifest_systems(summary: Summary, own: EvaluatedSystems) -> list[dict[str, Any]]:
    return [
        {
            "name": place.system, "kind": place.kind,
            "identity": own.systems.get(place.system, ("", "published"))[1],
            "facts": {"summary": "evaluated here" if place.system in own.systems else "published scores"},
        }
        for place in summary.places
        if place.kind != "human"
    ]  # fmt: skip


def _make_manifest_datasets(summary: Summary, request: PublishedRequest) -> list[dict[str, Any]]:
    return [
        {
            "name": pair.dataset,
            "source": ", ".join(request.results),
            "lang": pair.lang,
            "fingerprint": digest_json([pair.human.value, *(model.score.value for model in pair.models)]),
            "tasks": {pair.family: {"n": pair.n, "skipped": [], "warnings": list(pair.flags)}},
        }
        for pair in summary.pairs
    ]


def _format_python_call(request: PublishedRequest, out: Path) -> str:
    return f"embassay.hume.score(from_mteb={list(request.results)!r}, out={str(out)!r})"


SOURCE = "the results themselves"


def derive_study_from_results(evaluations: Sequence[PublishedEvaluation], human: str) -> PublishedStudy:
    """The datasets that people (`human`) have results on, with the models of all other systems.

    Families are told by the measures of a file. Raises DataError for people in several revisions, and measures of no
    family; without people the study has no pairs.
    """
    people = [evaluation for evaluation in evaluations if evaluation.system == human]
    revisions = sorted({person.revision for person in people})
    if len(revisions) > 1:
        raise DataError(
            f"The results contain human scores in {len(revisions)} revisions", found=", ".join(revisions),
            mend="Pass the files of only one revision."
        )  # fmt: skip
    names = dict.fromkeys(person.dataset for person in people)
    datasets = tuple(
        _derive_paper_dataset(name, [person for person in people if person.dataset == name]) for name in names
    )
    systems = dict.fromkeys(evaluation.system for evaluation in evaluations if evaluation.system != human)
    return PublishedStudy(
        datasets, tuple(PaperEmbeddingModel(name) for name in systems), human, "".join(revisions), SOURCE
    )


def _derive_paper_dataset(name: str, evaluations: Sequence[PublishedEvaluation]) -> PaperDataset:
    family = _find_dataset_family(name, evaluations)
    group = MULTILINGUAL if {evaluation.lang for evaluation in evaluations} - {"eng"} else ENGLISH_ONLY
    pairs = tuple(
        PaperDatasetInOneLanguage(
            name,
            evaluation.lang,
            family,
            _count_annotated_items(evaluation),
            max(len(evaluation.main_scores_per_annotator), 1),
            group,
        )
        for evaluation in evaluations
    )
    return PaperDataset(name, name, family, METRICS[family], pairs)


def _find_dataset_family(name: str, evaluations: Iterable[PublishedEvaluation]) -> Family:
    metrics = {metric for evaluation in evaluations for metric in evaluation.metrics}
    families = [family for family in FAMILIES if MAIN[family] in metrics]
    if len(families) != 1:
        raise DataError(
            f"The results of {name} belong to no HUME family", found=", ".join(sorted(metrics)) or "no measures",
            expected=f"one of {', '.join(MAIN.values())}", mend="Leave the file out."
        )  # fmt: skip
    return families[0]


def _count_annotated_items(evaluation: PublishedEvaluation) -> int:
    """How many items were annotated; 0 where a file does not say, as for one annotator."""
    return int(evaluation.agreement.get("n_items", 0) or evaluation.metrics.get("n_items", 0))
