"""Step 2: which language model to paraphrase with (spec/pteb, section 7).

Every candidate paraphrases every distinct text of the datasets once. Rows have the task `paraphrasers`, the candidate
as their system, and per dataset

    similarity       headline: mean rating by the judge of (text, paraphrase), 0 to 5
    edit_distance    mean normalised word edit distance of text and paraphrase, 0 to 1
    seconds          mean seconds of a text's answers, all attempts together
    length_ratio     mean of the paraphrase's characters over the text's
    copied, failed   shares of the texts that came back as they were, that got no usable paraphrase
    failed_ratings   share of the paraphrases that got no rating

With an empty dataset they are unweighted means over datasets, and `similarity_hl` is the Hodges-Lehmann estimate over
the dataset means. Variant `judge=NAME` has the similarity by another judge (table 5). The manifest's `selection` holds
the rule, what it says and why. The paraphrases are kept in `paraphrases/`, as a run of PTEB keeps its own, so that
`stored:RUN?source=NAME` replays them. `choice.py` is the rule, `criteria.py` scores a dataset, `run.py` is the run.

A selection of paraphrasers from request to finished folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from embassay.protocols.kernel.comparisons import (
    ALPHA,
    CORRECTION,
    METHOD,
    SystemHeadlineValue,
    average_headline_components,
    compare_headlines_of_all_systems,
)
from embassay.protocols.kernel.outcome import Run
from embassay.protocols.kernel.plan import PlannedDataset
from embassay.protocols.kernel.request import make_request_from_call
from embassay.protocols.kernel.session import CellRunAttempt, RunConclusions, SilentListener
from embassay.protocols.kernel.tables import ColumnTable, ComputedColumn, number_column, text, whole_number_column
from embassay.protocols.pteb.candidates import (
    HEADLINE,
    TASK,
    CandidateParaphraserMeans,
    ParaphraserSelectionPlan,
    ParaphraserSelectionRequest,
    ParaphraserSelectionResult,
    ParaphraserSelectionWorker,
    forecast_selection_cost,
    make_paraphrase_ids,
    make_plan,
    select_paraphraser,
    warn_of_self_judging,
)
from embassay.protocols.pteb.paraphrasing import load_similarity_judge_prompt
from embassay.protocols.pteb.ratings import Judge, PairRatingStep
from embassay.protocols.wordings.sets import ParaphraseSet
from embassay.records import HeadlineComponent, ResultRow
from embassay.runs.folder import CellRecord
from embassay.runs.forecast import RunForecast
from embassay.stats import hodges_lehmann
from embassay.systems.remote import Ledger

SHIFT = "similarity_hl"
SHARES = ("copied", "failed", "failed_ratings")
MEASURES = (HEADLINE, "edit_distance", "seconds", "length_ratio", *SHARES)
RESAMPLES = 1000

Means = Mapping[str, Mapping[str, SystemHeadlineValue]]
"""Candidate -> measure -> its mean over the datasets."""


def make_paraphraser_choice_results(
    plan: ParaphraserSelectionPlan, records: Sequence[CellRecord]
) -> tuple[list[ResultRow], dict[str, Any], dict[str, Any]]:
    """The rows over datasets, the paired comparisons of candidates, and the selection for the manifest."""
    means = average_measures_per_candidate(plan, records)
    rows = []
    for candidate in plan.systems:
        rows += [
            _make_candidate_result_row(plan, candidate.name, "", name, headline)
            for name, headline in means[candidate.name].items()
        ]
        rows += _make_similarity_rows_by_judge(plan, records, candidate.name)
    comparisons = {
        "alpha": ALPHA,
        "correction": CORRECTION,
        "method": METHOD,
        "scopes": {
            name: compare_headlines_of_all_systems([means[system.name][name] for system in plan.systems])
            for name in (HEADLINE, "edit_distance")
        },
    }
    return rows, comparisons, as_dict(plan, means)


def apply_selection_rule(plan: ParaphraserSelectionPlan, records: Sequence[CellRecord]) -> ParaphraserSelectionResult:
    """What the rule says of the candidates."""
    return select_paraphraser(
        _list_means_of_candidates(average_measures_per_candidate(plan, records)),
        plan.request.options.candidate_selection_rule,
    )


def as_dict(plan: ParaphraserSelectionPlan, means: Means) -> dict[str, Any]:
    """The selection as the manifest holds it."""
    candidates, rule = _list_means_of_candidates(means), plan.request.options.candidate_selection_rule
    return {
        "rule": str(rule),
        **asdict(select_paraphraser(candidates, rule)),
        "judge": plan.judges[0].name,
        "cross_judges": [judge.name for judge in plan.judges[1:]],
        "candidates": [asdict(candidate) for candidate in candidates],
    }


def average_measures_per_candidate(
    plan: ParaphraserSelectionPlan, records: Sequence[CellRecord]
) -> dict[str, dict[str, SystemHeadlineValue]]:
    """Every measure of every candidate over the datasets, by the judge that decides."""
    return {
        system.name: {
            name: _average_candidate_measure_over_datasets(plan, records, system.name, name) for name in MEASURES
        }
        for system in plan.systems
    }


def _list_means_of_candidates(means: Means) -> list[CandidateParaphraserMeans]:
    return [
        CandidateParaphraserMeans(
            name, by_measure[HEADLINE].value, by_measure["edit_distance"].value, by_measure["seconds"].value,
            by_measure[HEADLINE].reason or by_measure["edit_distance"].reason,
        )
        for name, by_measure in means.items()
    ]  # fmt: skip


def _average_candidate_measure_over_datasets(
    plan: ParaphraserSelectionPlan, records: Sequence[CellRecord], candidate: str, measure: str, variant: str = ""
) -> SystemHeadlineValue:
    """The unweighted mean over all datasets; none where one of them has no value."""
    parts = _collect_candidate_measure_by_dataset(plan, records, candidate, measure, variant)
    for dataset, part in parts.items():
        if part.value is None:
            return SystemHeadlineValue.none(candidate, f"{dataset}: {part.reason}")
    whole = average_headline_components(list(parts.values()))
    method = f"mean over {len(parts)} dataset{'s' if len(parts) > 1 else ''}, bootstrap within each"
    return SystemHeadlineValue.of(candidate, whole, method)


def _collect_candidate_measure_by_dataset(
    plan: ParaphraserSelectionPlan, records: Sequence[CellRecord], candidate: str, measure: str, variant: str
) -> dict[str, HeadlineComponent]:
    """Collect the component of a candidate's measure on every dataset."""
    cells = {cell.dataset: cell for cell in records if (cell.system, cell.variant) == (candidate, variant)}
    parts = {}
    for dataset in plan.datasets:
        record = cells.get(dataset.name)
        if record is None or not record.done:
            reason = "not run yet" if record is None else record.reason
            parts[dataset.name] = HeadlineComponent(None, 0, reason=reason)
        else:
            parts[dataset.name] = record.components[measure]
    return parts


def _make_similarity_rows_by_judge(
    plan: ParaphraserSelectionPlan, records: Sequence[CellRecord], candidate: str
) -> Iterator[ResultRow]:
    """A candidate's similarity by every judge that has rated it: mean and Hodges-Lehmann estimate (table 5)."""
    present = {record.variant for record in records if record.system == candidate}
    for judge in plan.judges:
        variant = "" if judge is plan.judges[0] else f"judge={judge.name}"
        if variant not in present:
            continue
        if variant:
            yield _make_candidate_result_row(
                plan,
                candidate,
                variant,
                HEADLINE,
                _average_candidate_measure_over_datasets(plan, records, candidate, HEADLINE, variant),
            )
        parts = _collect_candidate_measure_by_dataset(plan, records, candidate, HEADLINE, variant)
        yield _make_hodges_lehmann_row(plan, candidate, variant, parts)


def _make_hodges_lehmann_row(
    plan: ParaphraserSelectionPlan, candidate: str, variant: str, parts: Mapping[str, HeadlineComponent]
) -> ResultRow:
    """The Hodges-Lehmann estimate over the dataset means, with its bootstrap interval [A14]."""
    where = ("pteb", TASK, "", "", "", variant, candidate, SHIFT)
    seed = plan.request.seed
    for dataset, part in parts.items():
        if part.value is None:
            return ResultRow(*where, None, 0, seed=seed, reason=f"{dataset}: {part.reason}")
    means = np.array([part.value for part in parts.values()], dtype=np.float64)
    estimate = hodges_lehmann(means, n_resamples=RESAMPLES, seed=seed)
    return ResultRow(*where, estimate.value, estimate.n, estimate.low, estimate.high, estimate.method, seed)


def _make_candidate_result_row(
    plan: ParaphraserSelectionPlan, candidate: str, variant: str, measure: str, headline: SystemHeadlineValue
) -> ResultRow:
    low, high = headline.interval
    if measure in SHARES and low == high:
        # None failed, or all: resampling cannot tell how far from that the truth may be.
        low = high = None
    return ResultRow(
        "pteb", TASK, "", "", "", variant, candidate, measure, headline.value, headline.n, low, high,
        headline.method, plan.request.seed, headline.reason
    )  # fmt: skip


_SHOWN = {
    HEADLINE: ("Similarity", 2),
    "edit_distance": ("Edit distance", 2),
    "seconds": ("Runtime (s)", 2),
    "copied": ("Copied", 4),
    "failed": ("Failed", 4),
}
"""The criteria with their headings and decimals."""


def make_paraphraser_choice_tables(rows: Sequence[ResultRow], selection: Mapping[str, Any]) -> Iterator[ColumnTable]:
    """All tables; `selection` is the manifest's."""
    results = {(row.system, row.dataset, row.variant, row.measure): row for row in rows}
    candidates = [candidate["name"] for candidate in selection["candidates"]]
    yield _make_paraphraser_criteria_table(results, candidates, selection)
    yield _make_cross_judge_table(results, selection)
    yield _make_paraphrasers_by_dataset_table(results, candidates)


Found = Mapping[tuple[str, str, str, str], ResultRow]


class ParaphraserDatasetPair(NamedTuple):
    """A paraphraser on a dataset, or over all."""

    name: str
    dataset: str = ""


def _make_criteria_columns(results: Found) -> Iterator[ComputedColumn]:
    for measure, (heading, decimals) in _SHOWN.items():
        yield number_column(heading, partial(_find_candidate_measure_field, results, measure, "value"), decimals)


def _find_candidate_measure_field(results: Found, measure: str, field: str, candidate: ParaphraserDatasetPair) -> Any:
    return getattr(results.get((candidate.name, candidate.dataset, "", measure)), field, None)


def _make_paraphraser_criteria_table(
    results: Found, candidates: Sequence[str], selection: Mapping[str, Any]
) -> ColumnTable:
    def describe_candidate_selection(candidate: ParaphraserDatasetPair) -> str:
        selected = candidate.name == selection["selected"]
        return "yes" if selected else selection["rejected"].get(candidate.name, "no")

    return ColumnTable.of(
        "pteb_table4",
        f"PTEB table 4: paraphrasers, means over datasets; similarity as rated by {selection['judge']}",
        map(ParaphraserDatasetPair, candidates), text("Paraphraser", "name"), *_make_criteria_columns(results),
        text("Pareto front", lambda candidate: "yes" if candidate.name in selection["front"] else "no"),
        text("Selected", describe_candidate_selection),
        note=f"Selected: {selection['selected'] or 'none'}, {selection['because']}. {selection['rule']} Runtime "
            "is measured with parallel requests unless a candidate has concurrency=1.",
    )  # fmt: skip


class JudgeRatingOfParaphraser(NamedTuple):
    """What a judge says of a paraphraser: the mean over datasets, and its Hodges-Lehmann estimate."""

    name: str
    judge: str
    mean: ResultRow
    shift: ResultRow


def _make_cross_judge_table(results: Found, selection: Mapping[str, Any]) -> ColumnTable:
    rows = []
    for name in (candidate["name"] for candidate in selection["candidates"]):
        for judge in (selection["judge"], *selection["cross_judges"]):
            variant = "" if judge == selection["judge"] else f"judge={judge}"
            mean, shift = (results.get((name, "", variant, measure)) for measure in (HEADLINE, SHIFT))
            if (
                mean is not None
                and shift is not None
                and _is_selected_or_rated_by_other_judges(results, name, selection)
            ):
                rows.append(JudgeRatingOfParaphraser(name, judge, mean, shift))
    return ColumnTable.of(
        "pteb_table5", "PTEB table 5: the selected paraphraser, as rated by every judge", rows,
        text("Paraphraser", "name"), text("Judge", "judge"), number_column("Average", "mean.value"),
        number_column("HL", "shift.value"), number_column("CI low", "shift.ci_low"),
        number_column("CI high", "shift.ci_high"),
        whole_number_column("Datasets", "shift.n"),
        note="HL: Hodges-Lehmann estimate over the dataset means, with its 95% bootstrap interval.",
    )  # fmt: skip


def _is_selected_or_rated_by_other_judges(results: Found, name: str, selection: Mapping[str, Any]) -> bool:
    """Whether it is the selected candidate, or another that several judges have rated."""
    others = ((name, "", f"judge={judge}", HEADLINE) for judge in selection["cross_judges"])
    return name == selection["selected"] or any(judge in results for judge in others)


def _make_paraphrasers_by_dataset_table(results: Found, candidates: Sequence[str]) -> ColumnTable:
    datasets = list(dict.fromkeys(dataset for _, dataset, _, _ in results if dataset))
    return ColumnTable.of(
        "paraphrasers_by_dataset", "Paraphrasers on every dataset",
        [ParaphraserDatasetPair(name, dataset) for name in candidates for dataset in datasets],
        text("Paraphraser", "name"), text("Dataset", "dataset"), *_make_criteria_columns(results),
        whole_number_column("Texts", partial(_find_candidate_measure_field, results, "failed", "n")),
    )  # fmt: skip


def paraphrasers(
    candidates: Sequence[str],
    *,
    judge: str,
    cross_judges: Sequence[str] = (),
    datasets: Sequence[str | Path] = ("sample",),
    out: str | Path,
    cache: Path | None = None,
    listener: SilentListener | None = None,
    max_usd: float | None = None,
    **arguments: Any,
) -> Run:
    """Compare paraphrasers and select one, resuming what is unfinished in `out`.

    `judge` rates the paraphrases of all candidates, `cross_judges` those of the selected one. Further arguments are
    those of `ParaphraserSelectionRequest`: mapping, split, limit, seed (1337), prompt, generation,
    options. `cache` is the file
    of kept answers, by default the user's. Raises UsageError when `out` holds a run of other arguments, BudgetExceeded
    at `max_usd`: what is finished is kept.
    """
    request = make_request_from_call(
        ParaphraserSelectionRequest, paraphrasers, arguments, tuple(candidates), judge=judge,
        datasets=tuple(str(dataset) for dataset in datasets), cross_judges=tuple(cross_judges)
    )  # fmt: skip
    return ParaphraserSelectionStep().carry_out(request, Path(out), cache=cache, listener=listener, max_usd=max_usd)


class ParaphraserSelectionStep(PairRatingStep):
    """Every candidate paraphrases every dataset, and a judge rates what came of it."""

    def plan_run(
        self, request: ParaphraserSelectionRequest, cache: Path | None = None, ledger: Ledger | None = None
    ) -> ParaphraserSelectionPlan:
        """Plan a run with one cell per candidate and dataset; those of other judges may follow."""
        return make_plan(request, cache, ledger)

    def forecast_cost(self, plan: ParaphraserSelectionPlan, *, measure: bool = True) -> RunForecast:
        """Nothing runs on this machine that could be timed."""
        del measure
        return forecast_selection_cost(plan)

    def headline(self, plan: ParaphraserSelectionPlan, record: CellRecord) -> str:
        """The headline measure of a cell: the judge's rating."""
        del plan, record
        return HEADLINE

    def format_python_call(self, request: ParaphraserSelectionRequest, out: Path) -> str:
        """Format the call of `embassay.pteb.paraphrasers` that makes the run."""
        return (
            f"embassay.pteb.paraphrasers({list(request.systems)!r}, judge={request.judge!r}, "
            f"cross_judges={list(request.cross_judges)!r}, datasets={list(request.datasets)!r}, out={str(out)!r})"
        )

    def list_own_manifest_fields(self, plan: ParaphraserSelectionPlan) -> dict[str, Any]:
        """Prompts and judges."""
        judge = Judge(plan.judges[0].spec, plan.longest).open()
        return {
            "step": TASK,
            "prompt": plan.sources[0].prompt.as_dict(),
            "judge_prompt": load_similarity_judge_prompt().as_dict(),
            "judges": [
                {"name": system.name, "identity": system.identity, "facts": system.facts} for system in plan.judges
            ],
            "warnings": [text for source in plan.sources for text in warn_of_self_judging(source, judge)],
        }

    def keep(self, plan: ParaphraserSelectionPlan) -> None:
        """Keep the texts, under the names that items give them, and create the set of paraphrases."""
        for dataset in plan.datasets:
            self.folder.write_texts_once(TASK, dataset.name, partial(_make_columns_of_texts_to_rewrite, plan, dataset))
        paraphrases = ParaphraseSet.open_or_create_in_folder(self.folder.path / "paraphrases")
        self.evaluate = ParaphraserSelectionWorker(plan, paraphrases, plan.cache).evaluate

    def run_cells(self, session: CellRunAttempt, listener: SilentListener) -> None:
        """Run the cells, then have the other judges rate the candidate that is selected."""
        session.do(listener)
        plan: Any = session.plan
        if plan.request.cross_judges and plan.request.options.cross_check == "selected":
            selected = apply_selection_rule(plan, session.list_ended_cells()).selected
            session.plan = plan.add_cells_of_other_judges([selected])
            session.do(listener)

    def list_closing_manifest_fields(self, session: CellRunAttempt) -> Mapping[str, Any]:
        """What closing manifests say besides: what was selected."""
        plan: Any = session.plan
        return {"selection": as_dict(plan, average_measures_per_candidate(plan, session.list_ended_cells()))}

    def draw_conclusions(
        self, plan: ParaphraserSelectionPlan, records: Sequence[CellRecord], rows: Sequence[ResultRow]
    ) -> RunConclusions:
        """Draw the run's conclusions: the criteria over all datasets, and the rule that selects."""
        summary, comparisons, selection = make_paraphraser_choice_results(plan, records)
        return RunConclusions(summary, comparisons, tuple(make_paraphraser_choice_tables([*rows, *summary], selection)))


def _make_columns_of_texts_to_rewrite(plan: ParaphraserSelectionPlan, dataset: PlannedDataset) -> dict[str, list[str]]:
    texts = [text.text for text in plan.list_texts_to_rewrite(dataset)]
    return {"item_id": list(make_paraphrase_ids(texts)), "field": ["text"] * len(texts), "text": texts}
