"""Step 1: how well a language model judges the similarity of two texts (spec/pteb, section 6).

Rows of a judge run have the task `judge`, the judge as their system, and values as fractions or on the scale 0 to 5:

    spearman                       headline: correlation of rating and gold over the pairs of a dataset
    spearman, words=11-20          the same of the pairs with so many words on average (figure 4)
    mae, gold=[1,2)                mean |rating - gold| on 0 to 5, of the pairs with such a gold score (figure 3)
    mae                            the same of all pairs
    failed                         share of the pairs for which no rating came

With an empty dataset they are the unweighted mean over datasets, but `mae` and `failed`, which pool the pairs. Rows of
the system `mean of judges` average the judges of a run. `ratings.py` asks and reads, and this module scores a dataset,
`run.py` is the run.

A judge run from request to finished folder.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from embassay.contracts import CellPartExecutor
from embassay.data.shapes import check_mapping_targets
from embassay.protocols.kernel import inputs as opening
from embassay.protocols.kernel import plan as planning
from embassay.protocols.kernel.comparisons import (
    ALPHA,
    CORRECTION,
    METHOD,
    SystemHeadlineValue,
    average_headline_components,
    compare_headlines_of_all_systems,
    scale_strata_by_part_weights,
    stack_replicates,
)
from embassay.protocols.kernel.outcome import Run
from embassay.protocols.kernel.plan import (
    PlannedDataset,
    PlannedSystem,
    check_unique_dataset_names,
    choose_tasks_for_dataset,
    plan_datasets_and_suites,
    plan_task,
)
from embassay.protocols.kernel.request import DatasetRequest, make_request_from_call
from embassay.protocols.kernel.session import RunConclusions, SilentListener
from embassay.protocols.kernel.tables import ColumnTable, ComputedColumn, number_column, text, whole_number_column
from embassay.protocols.pteb.options import JUDGE_VERSION, JudgeEvaluationRequest, JudgingRunOptions
from embassay.protocols.pteb.paraphrasing import Prompt, load_similarity_judge_prompt
from embassay.protocols.pteb.ratings import (
    ERROR,
    FAILED,
    HEADLINE,
    Judge,
    JudgeRatingInstructions,
    Pair,
    PairRatingStep,
    PairsWithGoldAndLength,
    Range,
    RatingEvaluationContext,
    check_judge_specs,
    compute_wilson_interval,
    find_gold_range_with_warning,
    format_text_pair,
    parse_gold_score_ranges,
    plan_judges,
    rate_text_pairs,
    score_agreement,
)
from embassay.protocols.wordings.tables import make_points_column
from embassay.records import HeadlineComponent, LoadedDataset, ResultRow, ScoredTextPairs, TaskOutcome
from embassay.runs.execution import HERE
from embassay.runs.folder import CellRecord, RunCell, digest_json
from embassay.runs.forecast import CellForecast, RunForecast, estimate_server_seconds
from embassay.systems.remote import Ledger
from embassay.systems.remote.ledger import estimate_server_tokens


@dataclass(frozen=True)
class RatingSetup:
    """Who rates, by which instructions, the range of the gold scores, and the file of kept answers."""

    judge: Judge
    gold: Range
    prompt: Prompt
    cache: Path | None


@dataclass(frozen=True)
class PairRatingJob:
    """All that a worker needs to have a judge rate the pairs of a dataset."""

    by: RatingSetup
    dataset: DatasetRequest
    limit: int | None
    seed: int
    options: JudgingRunOptions

    @property
    def asking(self) -> JudgeRatingInstructions:
        """The instructions by which its pairs are rated."""
        return JudgeRatingInstructions(self.by.prompt.text, self.options, self.seed)


def evaluate_judging_cell(
    job: PairRatingJob, advance: Callable[[int], None], *, ledger: Ledger | None = None, spread: CellPartExecutor = HERE
) -> TaskOutcome:
    """The outcome of one cell, with the answers that were asked for and had, and the calls charged to `ledger`.
    A server does the work: there is nothing to spread."""
    del spread
    pairs = load_scored_pairs(job.dataset, job.limit, job.seed)
    with (
        job.by.judge.open_judge_with_cached_answers(ledger, job.by.cache) as chat,
        opening.charge_calls_to_account(ledger, chat.name) as calls,
    ):
        ratings = rate_text_pairs(chat, list_text_pairs(pairs.data), job.asking, advance)
    context = RatingEvaluationContext(pairs.loaded.dataset, seed=job.seed, options=job.options)
    outcome = score_agreement(
        ratings, PairsWithGoldAndLength.of(pairs.data, pairs.langs, *job.by.gold), job.options, context
    )
    answers = {"answers_asked": chat.counts.asked, "answers_cached": chat.counts.cached}
    return replace(outcome, counts={**outcome.counts, **answers, **calls})


def list_text_pairs(data: ScoredTextPairs) -> list[Pair]:
    """Both texts of every pair."""
    return list(zip(data.first, data.second, strict=True))


@dataclass(frozen=True)
class ScoredPairsOfDataset:
    """The scored pairs of a dataset, and the language of each, (n,)."""

    loaded: LoadedDataset[ScoredTextPairs]
    langs: tuple[str, ...]

    @property
    def data(self) -> ScoredTextPairs:
        """The data: the scored pairs, language by language."""
        return self.loaded.data


@lru_cache(maxsize=2)
def load_scored_pairs(request: DatasetRequest, limit: int | None, seed: int) -> ScoredPairsOfDataset:
    """The scored pairs of a dataset, a limit holding for each language; the last two stay in memory."""
    dataset = opening.open_request_dataset(request)
    parts = {lang: subset.load("pairs", limit=limit, seed=seed) for lang, subset in dataset.subsets("pairs").items()}
    # A language per pair, as the joined data no longer say it.
    langs = tuple(lang for lang, part in parts.items() for _ in part.data.ids)
    whole = replace(
        next(iter(parts.values())),
        data=_concatenate_scored_pairs([part.data for part in parts.values()]),
        lang=dataset.lang,
        skipped=tuple(skip for part in parts.values() for skip in part.skipped),
        warnings=tuple(dict.fromkeys(warning for part in parts.values() for warning in part.warnings)),
    )
    return ScoredPairsOfDataset(whole, langs)


def _concatenate_scored_pairs(parts: Sequence[ScoredTextPairs]) -> ScoredTextPairs:
    """The pairs of all parts, one after another."""
    ids, first, second = (
        tuple(value for part in parts for value in getattr(part, name)) for name in ("ids", "first", "second")
    )
    return ScoredTextPairs(ids, first, second, np.concatenate([part.scores for part in parts]))


TASK = "judge"


@dataclass(frozen=True)
class PlannedStepOnScoredPairs:
    """A step that needs scored pairs, as planning knows tasks."""

    name: str
    shapes: tuple[str, ...] = ("pairs",)


@dataclass(frozen=True)
class JudgingPlan(planning.Plan):
    """A judge run: the judges are its systems, and all get the same prompt."""

    request: JudgeEvaluationRequest
    prompt: Prompt = field(kw_only=True)


def make_plan(request: JudgeEvaluationRequest, cache: Path | None = None, ledger: Ledger | None = None) -> JudgingPlan:
    """Open every judge and dataset, and cut the work into cells, one per judge and dataset.

    Raises UsageError for a dataset without scored pairs, for scores outside their range, and for a judge whose price
    is not known where the cost is limited; ModelError for one that cannot be opened.
    """
    check_mapping_targets(request.mapping)
    check_judge_specs(request.systems)
    prompt, ranges = load_similarity_judge_prompt(), parse_gold_score_ranges(request.gold)
    gold: dict[str, Range] = {}

    def plan_judged_dataset(source: str) -> PlannedDataset:
        dataset, gold[dataset.name] = _plan_dataset_with_gold_range(source, request, ranges)
        return dataset

    datasets, suites = plan_datasets_and_suites(request, ("sts",), plan_judged_dataset, plain=True)
    check_unique_dataset_names(dataset.name for dataset in datasets)
    longest = max((_count_bytes_of_longest_pair(dataset, request) for dataset in datasets), default=0)
    judges = plan_judges(request.systems, longest, ledger)
    cells = [
        _make_judging_cell(
            request, judge, dataset, RatingSetup(Judge(judge.spec, longest), gold[dataset.name], prompt, cache)
        )
        for dataset in datasets
        for judge in judges
    ]
    return JudgingPlan(request, tuple(judges), datasets, tuple(cells), prompt=prompt, suites=suites)


def _count_bytes_of_longest_pair(dataset: PlannedDataset, request: JudgeEvaluationRequest) -> int:
    """The UTF-8 bytes of the longest pair."""
    data = load_scored_pairs(request.dataset(dataset.source), request.limit, request.seed).data
    return max(len(format_text_pair(*pair).encode("utf-8", "replace")) for pair in list_text_pairs(data))


def _plan_dataset_with_gold_range(
    source: str, request: JudgeEvaluationRequest, ranges: Mapping[str, Range]
) -> tuple[PlannedDataset, Range]:
    how = request.dataset(source)
    dataset = opening.open_request_dataset(how)
    choose_tasks_for_dataset(source, dataset, [PlannedStepOnScoredPairs(TASK)])
    loaded = load_scored_pairs(how, request.limit, request.seed).loaded
    gold, warning = find_gold_range_with_warning(ranges, source, dataset.name, loaded.data.scores)
    task = plan_task(TASK, loaded, len, 2 * len(loaded.data))
    if warning:
        task = replace(task, warnings=(*task.warnings, warning))
    return PlannedDataset(source, dataset.name, dataset.lang, dataset.fingerprint, (task,)), gold


def _make_judging_cell(
    request: JudgeEvaluationRequest, judge: PlannedSystem, dataset: PlannedDataset, how: RatingSetup
) -> RunCell:
    key = digest_json(
        {
            "protocol": "pteb",
            "step": TASK,
            "version": JUDGE_VERSION,
            "system": [judge.name, judge.identity],
            "prompt": how.prompt.identity,
            "dataset": [dataset.name, dataset.fingerprint, *how.gold],
            "limit": request.limit,
            "seed": request.seed,
            "options": request.options.as_dict(),
        }
    )
    job = PairRatingJob(how, request.dataset(dataset.source), request.limit, request.seed, request.options)
    return RunCell(TASK, dataset.name, judge.name, key, dataset.tasks[0].n, job, remote=True)


ANSWER_TOKENS = 10
"""Of `{"score": 3.5}`; a model that thinks writes more."""


@dataclass(frozen=True)
class ModelRequestLoad:
    """Questions to a model: `texts` (or pairs) in all, `requests` for those without a kept answer, and the tokens that
    these read and write."""

    texts: int
    requests: int
    read: int
    written: int


def forecast_judging_cost(plan: JudgingPlan) -> RunForecast:
    """The cost of every cell, in the order of the plan. A pair is asked for once, and failures come on top."""
    costs = []
    for cell in plan.cells:
        pairs = list_text_pairs(load_scored_pairs(cell.job.dataset, cell.job.limit, cell.job.seed).data)
        head = CellForecast(cell.task, cell.dataset, cell.system, len(pairs), 0, 0)
        costs.append(add_rating_cost_to_forecast(head, cell.job.by.judge, pairs, cell.job.asking, cell.job.by.cache))
    return RunForecast(tuple(costs))


def add_rating_cost_to_forecast(
    head: CellForecast, judge: Judge, pairs: Sequence[Pair], asking: JudgeRatingInstructions, cache: Path | None
) -> CellForecast:
    """`head` with what the ratings of the distinct pairs take; `texts` counts pairs."""
    distinct = list(dict.fromkeys(pairs))
    with judge.open_judge_with_cached_answers(None, cache) as chat:
        questions = [question for pair in distinct if not chat.is_answer_cached(question := asking.question(pair))]
    read = sum(estimate_server_tokens([message.content for message in question.messages]) for question in questions)
    asked = ModelRequestLoad(len(distinct), len(questions), read, ANSWER_TOKENS * len(questions))
    return add_question_cost_to_forecast(head, judge.open(), asked)


def add_question_cost_to_forecast(head: CellForecast, chat: Any, asked: ModelRequestLoad) -> CellForecast:
    """`head` with what the questions to a model come to, added."""
    price, tokens = getattr(chat, "price", None), asked.read + asked.written
    usd = None if price is None or head.usd is None else head.usd + price.usd(asked.read, asked.written)
    seconds = estimate_server_seconds(chat, asked.requests, tokens, asked.written)
    return replace(
        head,
        texts=head.texts + asked.texts,
        cached=head.cached + asked.texts - asked.requests,
        tokens=head.tokens + tokens,
        requests=(head.requests or 0) + asked.requests,
        usd=usd,
        seconds=(head.seconds or 0.0) + seconds,
        assumed=True,
    )


MEAN_OF_JUDGES = "mean of judges"

Records = Mapping[tuple[str, str], CellRecord]
"""By judge and dataset."""


def make_judge_rows_and_comparison(
    plan: JudgingPlan, records: Sequence[CellRecord]
) -> tuple[list[ResultRow], dict[str, Any]]:
    """The rows over datasets and over judges, and the paired comparison of the judges' means."""
    by_cell = {(record.system, record.dataset): record for record in records}
    over = {judge.name: _combine_judge_figures_over_datasets(plan, by_cell, judge.name) for judge in plan.systems}
    rows = [
        _make_judge_result_row(plan, "", name, headline) for names in over.values() for name, headline in names.items()
    ]
    if len(plan.systems) > 1:
        rows += _make_rows_over_judges(plan, by_cell, over)
    comparisons = {
        "alpha": ALPHA,
        "correction": CORRECTION,
        "method": METHOD,
        "scopes": {TASK: compare_headlines_of_all_systems([names[HEADLINE] for names in over.values()])},
    }
    return rows, comparisons


def list_headline_component_names(records: Records) -> list[str]:
    """The names of all components, those of a correlation, of its bins, of the error and of its bins."""
    some = next((record for record in records.values() if record.done), None)
    return list(some.components) if some is not None else [HEADLINE]


def _combine_judge_figures_over_datasets(
    plan: JudgingPlan, records: Records, judge: str
) -> dict[str, SystemHeadlineValue]:
    """Every figure of a judge over the datasets."""
    datasets = [dataset.name for dataset in plan.datasets]
    names = list_headline_component_names(records)
    for name in datasets:
        record = records.get((judge, name))
        if record is None or not record.done:
            reason = f"{name}: {record.reason if record is not None else 'not run yet'}"
            return {figure: SystemHeadlineValue.none(judge, reason) for figure in names}
    parts = {figure: {name: records[judge, name].components[figure] for name in datasets} for figure in names}
    return {figure: _combine_figure_over_datasets(judge, figure, parts[figure]) for figure in names}


def _combine_figure_over_datasets(
    judge: str, figure: str, parts: Mapping[str, HeadlineComponent]
) -> SystemHeadlineValue:
    """One figure over the datasets: errors pool the pairs, correlations are averaged."""
    values = {name: part for name, part in parts.items() if part.value is not None}
    # A headline over some of the datasets would not compare; bins may be empty on some, which is said.
    if figure in (HEADLINE, ERROR, FAILED) and len(values) < len(parts):
        name, part = next((name, part) for name, part in parts.items() if part.value is None)
        return SystemHeadlineValue.none(judge, f"{name}: {part.reason}")
    if not values:
        return SystemHeadlineValue.none(judge, next(iter(parts.values())).reason)
    several = f"{len(values)} dataset{'s' if len(values) > 1 else ''}"
    if not figure.startswith(HEADLINE):
        whole = _average_components_over_items(list(values.values()))
        method = "Wilson interval" if figure == FAILED else "bootstrap within each"
        return SystemHeadlineValue.of(judge, whole, f"pairs of {several}, {method}")
    whole = average_headline_components(list(values.values()))
    method = f"mean over {several}, bootstrap within each"
    if len(values) < len(parts):
        method += f"; too few pairs: {', '.join(name for name in parts if name not in values)}"
    return SystemHeadlineValue.of(judge, whole, method)


def _average_components_over_items(parts: Sequence[HeadlineComponent]) -> HeadlineComponent:
    """The mean over the items of all parts; a part of one item is held fixed in the resamples."""
    n = np.array([part.n for part in parts], dtype=np.float64)
    values = np.array([part.value for part in parts], dtype=np.float64)
    shares = n / n.sum()
    replicates = shares @ stack_replicates(parts).reshape(len(n), -1)
    return HeadlineComponent(
        float(values @ shares), int(n.sum()), replicates, strata=scale_strata_by_part_weights(parts, shares)
    )


def _make_rows_over_judges(
    plan: JudgingPlan, records: Records, over: Mapping[str, Mapping[str, SystemHeadlineValue]]
) -> Iterator[ResultRow]:
    """The correlation, of all pairs and by length, averaged over the judges (figure 4)."""
    judges = [judge.name for judge in plan.systems]
    names = [name for name in list_headline_component_names(records) if name.startswith(HEADLINE)]
    for dataset in plan.datasets:
        cells = {judge: records.get((judge, dataset.name)) for judge in judges}
        for name in names:
            parts = {
                judge: cell.components[name] if cell is not None and cell.done else _make_missing_component(cell)
                for judge, cell in cells.items()
            }
            yield _make_judge_result_row(plan, dataset.name, name, _average_component_over_judges(parts))
    for name in names:
        yield _make_judge_result_row(
            plan, "", name, _average_component_over_judges({judge: over[judge][name].component for judge in judges})
        )


def _make_missing_component(record: CellRecord | None) -> HeadlineComponent:
    return HeadlineComponent(None, 0, reason="not run yet" if record is None else record.reason)


def _average_component_over_judges(parts: Mapping[str, HeadlineComponent]) -> SystemHeadlineValue:
    """The judges rated the same pairs, so their resamples are paired, and the pairs count once."""
    for judge, part in parts.items():
        if part.value is None:
            reason = f"{judge}: {part.reason}"
            return SystemHeadlineValue(MEAN_OF_JUDGES, None, part.n, np.empty(0), reason=reason)
    whole = average_headline_components(list(parts.values()))
    n = max(part.n for part in parts.values())
    return SystemHeadlineValue.of(MEAN_OF_JUDGES, whole, f"mean of {len(parts)} judges", n)


def _make_judge_result_row(plan: JudgingPlan, dataset: str, figure: str, headline: SystemHeadlineValue) -> ResultRow:
    measure, _, variant = figure.partition(" ")
    low, high = headline.interval
    # A bootstrap of no failure has no width, and Wilson's interval has.
    if measure == FAILED and headline.value is not None:
        low, high = compute_wilson_interval(headline.value, headline.n)
    lang = plan.lang(dataset) if dataset else ""
    return ResultRow(
        "pteb", TASK, dataset, "", lang, variant, headline.system, measure, headline.value, headline.n, low, high,
        headline.method, plan.request.seed, headline.reason
    )  # fmt: skip


# Not within a word or number: `qwen2.5-7b` is 7, `gpt-5-mini` says no size.
_SIZE = re.compile(r"(?<![a-z0-9.])(\d+(?:\.\d+)?)([bm])(?![a-z0-9])")


class JudgingRows:
    """The rows of a judging run, found by system, dataset, measure and variant."""

    def __init__(self, rows: Sequence[ResultRow]) -> None:
        self._rows = {(row.system, row.dataset, row.measure, row.variant): row for row in rows}
        self.datasets = list(dict.fromkeys(row.dataset for row in rows if row.dataset))
        self.judges = list(dict.fromkeys(row.system for row in rows if row.system != MEAN_OF_JUDGES))

    def value(self, system: str, dataset: str, measure: str, variant: str = "") -> float | None:
        """The value of a judge's measure on a dataset; None where there is none."""
        row = self._rows.get((system, dataset, measure, variant))
        return None if row is None else row.value

    def n(self, system: str, dataset: str, measure: str, variant: str) -> int:
        """The number of pairs behind a judge's measure."""
        row = self._rows.get((system, dataset, measure, variant))
        return 0 if row is None else row.n

    def list_bin_variants_of_measure(self, measure: str) -> list[str]:
        """The variants of the measure, in their order."""
        variants = (variant for _, _, name, variant in self._rows if name == measure and variant)
        return list(dict.fromkeys(variants))


def make_judging_tables(rows: Sequence[ResultRow]) -> Iterator[ColumnTable]:
    """All tables that the rows can fill."""
    look = JudgingRows(rows)
    yield _make_spearman_by_judge_table(look)
    sizes = {judge: size for judge in look.judges if (size := parse_model_billions(judge)) is not None}
    if len(sizes) > 1:
        yield _make_judges_by_size_table(look, sizes)
    yield _make_error_by_gold_table(look)
    yield _make_spearman_by_words_table(look)


def parse_model_billions(name: str) -> float | None:
    """The size of a model, in billions of parameters, as its name says it; None where it does not.

    >>> specs = ("ollama:gemma3:270m", "openai:Qwen3-4B?base_url=http://x/7b", "openai:gpt-5-mini")
    >>> [parse_model_billions(spec) for spec in specs]
    [0.27, 4.0, None]
    """
    # An address behind the question mark may have a size in it.
    size = _SIZE.search(name.partition("?")[0].lower())
    return None if size is None else float(size[1]) / (1 if size[2] == "b" else 1000)


class DatasetOrMean(NamedTuple):
    """A dataset or the mean over them, and what tables call it."""

    label: str
    dataset: str


def _list_dataset_names_and_average(look: JudgingRows) -> list[DatasetOrMean]:
    return [*(DatasetOrMean(name, name) for name in look.datasets), DatasetOrMean("Average", "")]


def _make_spearman_by_judge_table(look: JudgingRows) -> ColumnTable:
    title = "PTEB table 2: Spearman correlation between a judge's ratings and gold scores, x 100"
    judges = (make_points_column(judge, partial(_find_judge_correlation, look, judge)) for judge in look.judges)
    return ColumnTable.of(
        "pteb_table2", title, _list_dataset_names_and_average(look), text("Dataset", "label"), *judges
    )


def _find_judge_correlation(look: JudgingRows, judge: str, scope: DatasetOrMean) -> float | None:
    return look.value(judge, scope.dataset, HEADLINE)


def _make_judges_by_size_table(look: JudgingRows, sizes: dict[str, float]) -> ColumnTable:
    return ColumnTable.of(
        "pteb_table3", "PTEB table 3: judges by size, mean Spearman correlation x 100",
        sorted(sizes, key=lambda judge: (sizes[judge], judge)), text("Judge", str),
        number_column("Parameters (billions)", sizes.get),
        make_points_column("Score", lambda judge: look.value(judge, "", HEADLINE)),
    )  # fmt: skip


def _make_error_by_gold_table(look: JudgingRows) -> ColumnTable:
    title = "PTEB figure 3: mean absolute error of ratings by gold score (both 0 to 5), all datasets"
    columns = _iterate_columns_of_measure_per_bin(look, ERROR, lambda judge: (judge, ""))
    return ColumnTable.of("judge_error_by_gold", title, look.judges, text("Judge", str), *columns)


def _make_spearman_by_words_table(look: JudgingRows) -> ColumnTable:
    system = MEAN_OF_JUDGES if len(look.judges) > 1 else next(iter(look.judges), "")
    title = (
        f"PTEB figure 4: Spearman correlation x 100 by mean words per pair, averaged over {len(look.judges)} "
        f"judge{'s' if len(look.judges) != 1 else ''}"
    )
    columns = _iterate_columns_of_measure_per_bin(look, HEADLINE, lambda scope: (system, scope.dataset))
    return ColumnTable.of(
        "judge_by_words", title, _list_dataset_names_and_average(look), text("Dataset", "label"), *columns
    )


def _iterate_columns_of_measure_per_bin(
    look: JudgingRows, measure: str, find: Callable[[Any], tuple[str, str]]
) -> Iterator[ComputedColumn]:
    """The value of every bin and of all of them, and the pairs in every bin, of the system and the dataset that `find`
    says."""
    bins = {label: label.partition("=")[2] for label in look.list_bin_variants_of_measure(measure)}
    factor = 100 if measure == HEADLINE else 1
    # The variant of all pairs is the empty one.
    for label, name in {**bins, "": "all"}.items():
        yield number_column(name, partial(_read_bin_value, look.value, measure, label, find), factor=factor)
    for label, name in bins.items():
        yield whole_number_column(f"n {name}", partial(_read_bin_value, look.n, measure, label, find))


def _read_bin_value(
    read: Callable[..., Any], measure: str, label: str, find: Callable[[Any], tuple[str, str]], item: Any
) -> Any:
    return read(*find(item), measure, label)


def judge(
    judges: Sequence[str],
    *,
    datasets: Sequence[str | Path] = ("sample",),
    out: str | Path,
    cache: Path | None = None,
    listener: SilentListener | None = None,
    max_usd: float | None = None,
    **arguments: Any,
) -> Run:
    """Have language models rate pairs with gold scores, resuming what is unfinished in `out`.

    Further arguments are those of `JudgeEvaluationRequest`: mapping, split, limit, seed (1337), gold, options. `cache`
    is the file of the answers, by default the user's. Raises UsageError when `out` holds a run of other arguments,
    BudgetExceeded at `max_usd`: what is finished is kept.
    """
    request = make_request_from_call(
        JudgeEvaluationRequest, judge, arguments, tuple(judges), datasets=tuple(str(dataset) for dataset in datasets)
    )
    return JudgingProtocol().carry_out(request, Path(out), cache=cache, listener=listener, max_usd=max_usd)


class JudgingProtocol(PairRatingStep):
    """Every judge rates the pairs of every dataset, and is held against their gold scores."""

    evaluate = staticmethod(evaluate_judging_cell)

    def plan_run(
        self, request: JudgeEvaluationRequest, cache: Path | None = None, ledger: Ledger | None = None
    ) -> JudgingPlan:
        """Plan a run with one cell per judge and dataset."""
        return make_plan(request, cache, ledger)

    def forecast_cost(self, plan: JudgingPlan, *, measure: bool = True) -> RunForecast:
        """Forecast the cost of a run; nothing runs on this machine that could be timed."""
        del measure
        return forecast_judging_cost(plan)

    def headline(self, plan: JudgingPlan, record: CellRecord) -> str:
        """The headline measure of a cell: agreement with gold scores."""
        del plan, record
        return HEADLINE

    def format_python_call(self, request: JudgeEvaluationRequest, out: Path) -> str:
        """Format the call of `embassay.pteb.judge` that makes the run."""
        return f"embassay.pteb.judge({list(request.systems)!r}, datasets={list(request.datasets)!r}, out={str(out)!r})"

    def list_own_manifest_fields(self, plan: JudgingPlan) -> dict[str, Any]:
        """Which step of PTEB it is, and the prompt."""
        return {"step": "judge", "prompt": plan.prompt.as_dict()}

    def keep(self, plan: JudgingPlan) -> None:
        """Keep the texts of the pairs in the run folder."""
        for dataset in plan.datasets:
            for task in dataset.tasks:
                self.folder.write_texts_once(
                    task.task, dataset.name, partial(_make_columns_of_pair_texts, plan, dataset.source)
                )

    def draw_conclusions(
        self, plan: JudgingPlan, records: Sequence[CellRecord], rows: Sequence[ResultRow]
    ) -> RunConclusions:
        """Draw the run's conclusions: means over datasets, and which judges can be told apart."""
        summary, comparisons = make_judge_rows_and_comparison(plan, records)
        return RunConclusions(summary, comparisons, tuple(make_judging_tables([*rows, *summary])))


def _make_columns_of_pair_texts(plan: JudgingPlan, source: str) -> dict[str, list[str]]:
    request = plan.request
    data = load_scored_pairs(request.dataset(source), request.limit, request.seed).data
    n = len(data)
    return {
        "item_id": [*data.ids, *data.ids],
        "field": ["first"] * n + ["second"] * n,
        "text": [*data.first, *data.second],
    }
