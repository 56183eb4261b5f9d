"""Answers from runs: every question answered from its first passages and graded, from request to finished folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import CellPartExecutor
from embassay.data.judged_runs import AnswerTextMatcher, read_run_entries
from embassay.data.rows import make_missing_column_error, read_row_id
from embassay.data.tables import open_table_file
from embassay.errors import Unanswered
from embassay.protocols.kernel import plan as planning
from embassay.protocols.kernel.comparisons import (
    ALPHA,
    CORRECTION,
    METHOD,
    SystemHeadlineValue,
    compare_headlines_of_all_systems,
)
from embassay.protocols.kernel.inputs import charge_calls_to_account
from embassay.protocols.kernel.outcome import Run
from embassay.protocols.kernel.plan import PlannedDataset, PlannedSystem, PlannedTask, check_unique_dataset_names
from embassay.protocols.kernel.protocol import EvaluationProtocol
from embassay.protocols.kernel.request import make_request_from_call
from embassay.protocols.kernel.session import RunConclusions, SilentListener, make_unknown_price_error
from embassay.protocols.kernel.tables import ColumnTable, format_csv_rows, number_column, text, whole_number_column
from embassay.protocols.rag.answers.answerer import (
    CachedAnswererAndAnswerGrader,
    build_answer_grade_messages,
    build_answer_messages,
    open_answerer,
)
from embassay.protocols.rag.answers.extraction import NearestSentenceAnswerer, is_extractor_spec
from embassay.protocols.rag.answers.figures import (
    DISTRACTED,
    HEADLINE,
    TASK,
    UNKNOWN,
    AnswerWithCorrectness,
    make_answer_task_outcome,
)
from embassay.protocols.rag.answers.options import AnswerRequest
from embassay.protocols.rag.answers.prompts import (
    DistractorPlanter,
    QuestionWithPassages,
    iterate_questions_with_run_passages,
)
from embassay.protocols.rag.scoring.inputs import hash_run_or_qrels_entries, parse_named_path
from embassay.protocols.rag.sweep.collection import SweepCollection, read_retrieval_collection
from embassay.protocols.rag.sweep.config import DatasetEntry, SweepRequest
from embassay.records import ResultRow, TaskOutcome
from embassay.runs.execution import HERE, CallFailure, run_concurrent_jobs
from embassay.runs.folder import CellRecord, RunCell, digest_json, slugify_name, write_file_atomically
from embassay.runs.forecast import CellForecast, RunForecast, estimate_server_seconds
from embassay.search.bm25 import BM25Index
from embassay.systems.remote import Ledger
from embassay.systems.remote.calls import run_in_remote_loop_and_wait
from embassay.systems.remote.ledger import estimate_server_tokens

Floats = NDArray[np.float64]
Reader = CachedAnswererAndAnswerGrader | NearestSentenceAnswerer
"""Who answers, or grades."""
VERSION = 3
"""Raised when the same request would give other numbers; part of every cell's key."""


@dataclass(frozen=True)
class AnswerJob:
    """All that is needed to do a cell, called `name`: a run of the request, who answers from it, and the folder that
    answers are written to."""

    request: AnswerRequest
    run: str
    generator: str
    name: str
    folder: str
    cache: Path | None


@lru_cache(maxsize=2)
def load_graded_retrieval_set(request: AnswerRequest) -> SweepCollection:
    """The retrieval set with its grades; the last two stay in memory."""
    entry = DatasetEntry(request.dataset, dict(request.mapping), request.split, request.grades)
    # A sweep always draws some queries; this is more than any set has.
    size = 2**31 - 1 if request.limit is None else request.limit
    return read_retrieval_collection(entry, SweepRequest((entry,), (), queries=size, seed=request.seed))


def read_reference_answers(request: AnswerRequest) -> dict[str, list[str]]:
    """People's answers by question, several where the file has several lines of one; empty without a file."""
    if request.references is None:
        return {}
    source = open_table_file(Path(request.references))
    for column in ("query_id", "answer"):
        if column not in source.columns():
            raise make_missing_column_error(source, column)
    answers: dict[str, list[str]] = {}
    for row in source.rows(("query_id", "answer")):
        answers.setdefault(read_row_id(row, "query_id"), []).append(read_row_id(row, "answer"))
    return answers


def read_run_ranking(given: str, collection: SweepCollection) -> dict[str, list[str]]:
    """Documents of the collection by question, best first: highest score first, equal scores by document id, last first
    (trec_eval)."""
    known = AnswerTextMatcher(
        dict(zip(collection.ids, collection.texts, strict=True)),
        dict(zip(collection.query_ids, collection.queries, strict=True)),
    )
    run = read_run_entries(parse_named_path(given)[1], {}, known)
    frame = run.frame.sort(["query", "value", "doc"], descending=[False, True, True])
    ranking: dict[str, list[str]] = {}
    for query, doc, _ in frame.select("query", "doc", "value").iter_rows():
        ranking.setdefault(query, []).append(doc)
    return ranking


def answer_and_grade_run(
    job: AnswerJob, advance: Callable[[int], None], *, ledger: Ledger | None = None, spread: CellPartExecutor = HERE
) -> TaskOutcome:
    """Answer and grade all questions of a run. Servers do the work: there is nothing to spread."""
    del spread
    request, collection = job.request, load_graded_retrieval_set(job.request)
    questions = list(
        iterate_questions_with_run_passages(
            collection, read_run_ranking(job.run, collection), request.k, read_reference_answers(request)
        )
    )
    kinds = build_prompt_variants(request, collection, questions)
    outcomes: dict[str, list[AnswerWithCorrectness | CallFailure]] = {}
    with (
        open_generator_and_grader(request, job.generator, job.cache, ledger) as readers,
        charge_calls_to_account(ledger, job.name) as calls,
    ):
        # First, while nothing else is in flight; the answers are then kept.
        times = run_in_remote_loop_and_wait(
            partial(_time_token_generation, readers[0], collection, questions[: request.timed])
        )
        for kind, prompts in kinds.items():
            outcomes[kind] = run_in_remote_loop_and_wait(
                partial(_answer_and_grade_prompts, readers, collection, prompts, advance)
            )
    _write_answer_lines(job, collection, kinds, outcomes)
    return make_answer_task_outcome(request, collection, kinds, outcomes, {**calls, **times})


def build_prompt_variants(
    request: AnswerRequest, collection: SweepCollection, questions: Sequence[QuestionWithPassages]
) -> dict[str, Sequence[QuestionWithPassages]]:
    """The questions as the run has them, under no name, and with each planting of distractors, under its own; one
    planting alone is called `distracted`."""
    kinds: dict[str, Sequence[QuestionWithPassages]] = {"": questions}
    if request.plantings:
        index = BM25Index.of(collection.ids, collection.texts, asked=collection.queries)
        planter = DistractorPlanter(collection, index, request.seed)
        for planting in request.plantings:
            name = DISTRACTED if request.plants_once else planting.name
            kinds[name] = [planter.plant_prompt_distractors(question, planting) for question in questions]
    return kinds


@contextmanager
def open_generator_and_grader(
    request: AnswerRequest, generator: str, cache: Path | None = None, ledger: Ledger | None = None
) -> Iterator[tuple[Reader, Reader]]:
    """One of the generators and the grader, closed at the end."""
    pair = tuple(_open_generator_or_grader(target, request, cache, ledger) for target in (generator, request.judge))
    try:
        yield pair[0], pair[1]
    finally:
        for reader in pair:
            reader.close()


def _open_generator_or_grader(target: str, request: AnswerRequest, cache: Path | None, ledger: Ledger | None) -> Reader:
    if is_extractor_spec(target):
        return NearestSentenceAnswerer(target, seed=request.seed)
    return open_answerer(target, ledger=ledger, cache=cache, seed=request.seed)


FIRST_MS, RATE, TIMED = "first_token_ms", "tokens_per_second", "timed"
"""Counts of a run: the median milliseconds to a first token, the median tokens per second after it, of how many
questions."""


async def _time_token_generation(
    generating: Reader, collection: SweepCollection, asked: Sequence[QuestionWithPassages]
) -> dict[str, int]:
    """The time of a first token, and the tokens per second after it, of questions that are answered one after another;
    nothing where none is timed or the server says too little."""
    first, rates = [], []
    for prompt in asked:
        texts = [collection.texts[place] for place in prompt.places]
        try:
            word = await generating.answer_with_one_word(prompt.question, texts)
            answer = await generating.answer(prompt.question, texts)
        except Unanswered:
            continue
        first.append(word.seconds)
        # From the first token on: what comes before it is reading the prompt.
        if answer.seconds > word.seconds and answer.tokens > word.tokens:
            rates.append((answer.tokens - word.tokens) / (answer.seconds - word.seconds))
    if not first:
        return {}
    rate = {RATE: round(median(rates))} if rates else {}
    return {TIMED: len(first), FIRST_MS: round(1000 * median(first)), **rate}


async def _answer_and_grade_prompts(
    readers: tuple[Reader, Reader],
    collection: SweepCollection,
    asked: Sequence[QuestionWithPassages],
    advance: Callable[[int], None],
) -> list[AnswerWithCorrectness | CallFailure]:
    generating, judging = readers

    async def answer_and_grade_question(prompt: QuestionWithPassages) -> AnswerWithCorrectness:
        texts = [collection.texts[place] for place in prompt.places]
        answer = await generating.answer(prompt.question, texts)
        if answer.is_abstention or answer.is_contentless:
            return AnswerWithCorrectness(answer, False)
        return AnswerWithCorrectness(answer, await judging.is_right(prompt.question, prompt.reference, answer.text))

    outcomes: dict[int, AnswerWithCorrectness | CallFailure] = {
        position: outcome
        async for position, outcome in run_concurrent_jobs(
            [partial(answer_and_grade_question, prompt) for prompt in asked], progress=advance
        )
    }
    # Answers come in any order; rows stand in that of the questions.
    return [outcomes[position] for position in range(len(asked))]


def build_cell_answers_path(folder: str | Path, name: str) -> Path:
    """Where the answers of a cell are, a line of JSON each."""
    return Path(folder) / "answers" / f"{slugify_name(name)}.jsonl"


def _write_answer_lines(
    job: AnswerJob,
    collection: SweepCollection,
    kinds: Mapping[str, Sequence[QuestionWithPassages]],
    outcomes: Mapping[str, Sequence[AnswerWithCorrectness | CallFailure]],
) -> None:
    lines = [
        json.dumps({
            "query_id": prompt.question.id, "kind": kind or "plain", "question": prompt.question.text,
            "passages": [collection.ids[place] for place in prompt.places],
            **({"failed": outcome.reason} if isinstance(outcome, CallFailure) else {
                "answer": outcome.answer.text, "correct": int(outcome.right), "abstained": outcome.answer.is_abstention,
                **({"void": True} if outcome.answer.is_contentless else {})}),
        }, ensure_ascii=False)
        for kind, prompts in kinds.items()
        for prompt, outcome in zip(prompts, outcomes[kind], strict=True)
    ]  # fmt: skip
    write_file_atomically(build_cell_answers_path(job.folder, job.name), "\n".join(lines) + "\n")


@dataclass(frozen=True, kw_only=True)
class AnswerPlan(planning.Plan):
    """The runs of a request and their questions; `settings` are what manifests say of the models."""

    settings: Mapping[str, Any]
    prices: Mapping[str, Any]


def make_plan(request: AnswerRequest, folder: Path, cache: Path | None, ledger: Ledger | None) -> AnswerPlan:
    """Read the data and the runs, and open the models. UsageError and DataError for what is wrong in them."""
    collection, references = load_graded_retrieval_set(request), read_reference_answers(request)
    pairs = list(product(request.runs, dict.fromkeys(request.generator)))
    names = [_name_answer_cell(request, run, generator) for run, generator in pairs]
    check_unique_dataset_names(names)
    identities, settings, prices = _collect_model_identities_and_prices(request, cache, ledger)
    asked = list(
        iterate_questions_with_run_passages(
            collection, read_run_ranking(request.runs[0], collection), request.k, references
        )
    )
    people = {"references": digest_reference_answers(references)} if references else {}
    drawn = {} if collection.query_groups is None else {"drawn": "groups"}
    planted = request.as_dict()
    nearness = {"nearness": planted["nearness"]} if "nearness" in planted else {}
    systems, cells = [], []
    for name, (run, generator) in zip(names, pairs, strict=True):
        print_ = hash_run_or_qrels_entries([read_run_entries(parse_named_path(run)[1])])
        systems.append(PlannedSystem(run, name, print_, "classical", {"summary": "a run of passages"}))
        key = digest_json({
            "protocol": "rag", "step": TASK, "version": VERSION, "run": [name, print_],
            "models": identities[generator], "dataset": [collection.name, collection.fingerprint], "k": request.k,
            "distractors": planted["distractors"], "limit": request.limit, "seed": request.seed,
            "resamples": request.resamples, **people, **drawn, **nearness
        })  # fmt: skip
        job = AnswerJob(request, run, generator, name, str(folder), cache)
        units = len(asked) * (1 + len(request.plantings))
        cells.append(RunCell(TASK, collection.name, name, key, units, job, remote=True))
    task = PlannedTask(TASK, len(asked), len(asked), collection.skipped, collection.warnings)
    dataset = PlannedDataset(request.dataset, collection.name, collection.lang, collection.fingerprint, (task,))
    return AnswerPlan(
        request=request, systems=tuple(systems), datasets=(dataset,), cells=tuple(cells), settings=settings,
        prices=prices
    )  # fmt: skip


def _name_answer_cell(request: AnswerRequest, run: str, generator: str) -> str:
    """The run, and who answers where there are several."""
    name = parse_named_path(run)[0]
    return name if len(set(request.generator)) == 1 else f"{name}, {generator}"


def _collect_model_identities_and_prices(
    request: AnswerRequest, cache: Path | None, ledger: Ledger | None
) -> tuple[Mapping[str, list[str]], Mapping[str, Any], Mapping[str, Any]]:
    """By generator what its answers and their grades depend on; what the manifest says of all; and their prices."""
    identities: dict[str, list[str]] = {}
    about: list[dict[str, Any]] = []
    prices: dict[str, Any] = {}
    judge: dict[str, Any] = {}
    for generator in dict.fromkeys(request.generator):
        with open_generator_and_grader(request, generator, cache, ledger) as (generating, judging):
            identities[generator] = [generating.identity("answer"), judging.identity("correct")]
            about.append(dict(generating.about()))
            judge = dict(judging.about())
            prices |= {reader.name: getattr(reader.model, "price", None) for reader in (generating, judging)}
    several = {"generators": about} if len(about) > 1 else {"generator": about[0]}
    return identities, {**several, "judge": judge}, prices


def digest_reference_answers(references: Mapping[str, Sequence[str]]) -> str:
    """A digest of people's answers."""
    return digest_json({key: list(answers) for key, answers in references.items()})


def _list_self_grading_warnings(plan: AnswerPlan) -> Iterator[str]:
    """A warning where one model answers and grades."""
    judge = plan.settings["judge"].get("model")
    generators = plan.settings.get("generators") or [plan.settings["generator"]]
    for generator in (about.get("model") for about in generators):
        # What is quoted from a passage, or is not, no grader can favour.
        if generator != judge or is_extractor_spec(str(judge)):
            continue
        yield f"{generator} grades its own answers, and models tend to favour their own. Use another judge (-j)."


def _list_notes_on_unscored_runs(records: Sequence[CellRecord]) -> Iterator[str]:
    """What no run could be scored by: answers that nobody could grade, or that are not there."""
    for record in records:
        failed = [skip for skip in record.skipped if skip.reason != UNKNOWN]
        if not failed and record.components[HEADLINE].n:
            continue
        reasons = "; ".join(f"{skip.reason} ({skip.count:,})" for skip in record.skipped) or "no question was asked"
        graded = record.components[HEADLINE].n
        verdict = f"only {graded:,} answers were graded" if graded else "no answer could be graded"
        yield f"{record.system}: {verdict}. {reasons}."


class RagAnswerProtocol(EvaluationProtocol):
    """One attempt at the answers of several runs."""

    name = "rag"
    reads_folder = True
    evaluate = staticmethod(answer_and_grade_run)

    def plan_run(self, request: AnswerRequest, cache: Path | None = None, ledger: Ledger | None = None) -> AnswerPlan:
        """Plan a cell for each run."""
        return make_plan(request, self.folder.path, cache, ledger)

    def forecast_cost(self, plan: AnswerPlan, *, measure: bool = True) -> RunForecast:
        """Forecast the calls of both models; what they answered before is not known here."""
        del measure
        request: AnswerRequest = plan.request
        collection, references = load_graded_retrieval_set(request), read_reference_answers(request)
        cells = []
        for cell in plan.cells:
            prompts = list(
                iterate_questions_with_run_passages(
                    collection, read_run_ranking(cell.job.run, collection), request.k, references
                )
            )
            cells.append(_forecast_answer_call_cost(cell, prompts, collection.texts, request))
        return RunForecast(tuple(cells))

    def headline(self, plan: AnswerPlan, record: CellRecord) -> str:
        """The headline measure of a cell: the share of right answers."""
        del plan, record
        return HEADLINE

    def format_python_call(self, request: AnswerRequest, out: Path) -> str:
        """Format the call of `embassay.rag.answer` that makes the run."""
        return f"embassay.rag.answer({request.dataset!r}, {list(request.runs)!r}, ..., out={str(out)!r})"

    def check_prices_known(self, plan: AnswerPlan, max_usd: float | None) -> None:
        """UsageError for a model without a price where the cost is limited."""
        for name, price in plan.prices.items() if max_usd is not None else ():
            if price is None:
                raise make_unknown_price_error(name)

    def list_own_manifest_fields(self, plan: AnswerPlan) -> dict[str, Any]:
        """Who answers and who grades."""
        return {"kind": TASK, **plan.settings}

    def draw_conclusions(
        self, plan: AnswerPlan, records: Sequence[CellRecord], rows: Sequence[ResultRow]
    ) -> RunConclusions:
        """Which runs can be told apart by their answers; and the grades as `rag score --answers` takes them."""
        done = [record for record in records if record.done]
        headlines = [
            SystemHeadlineValue.of(cell.system, cell.components[HEADLINE], "bootstrap over questions") for cell in done
        ]
        comparisons = {
            "alpha": ALPHA,
            "correction": CORRECTION,
            "method": METHOD,
            "scopes": {TASK: compare_headlines_of_all_systems(headlines)},
        }
        for record in done:
            self._write_answer_grades(record)
        warnings = (*_list_self_grading_warnings(plan), *_list_notes_on_unscored_runs(done))
        return RunConclusions((), comparisons, tuple(_build_answer_tables(rows, done)), warnings=warnings)

    def _write_answer_grades(self, record: CellRecord) -> None:
        import polars as pl

        from embassay.parquet import read_parquet

        path = self.folder.locate_cell_items(TASK, record.dataset, record.system)
        if not path.is_file():
            return
        frame = read_parquet(path).filter((pl.col("measure") == HEADLINE) & pl.col("value").is_not_null())
        lines = [["query_id", "correct"], *frame.select("item_id", "value").rows()]
        name = f"{path.stem}.csv" if path.stem else "answers.csv"
        write_file_atomically(self.folder.path / "answers" / name, format_csv_rows(lines))


def _forecast_answer_call_cost(
    cell: RunCell, asked: Sequence[QuestionWithPassages], texts: Sequence[str], request: AnswerRequest
) -> CellForecast:
    """The calls of the language models among generator and grader."""
    n = (1 + len(request.plantings)) * len(asked)
    usd: float | None = 0.0
    seconds, tokens, requests = 0.0, 0, 0
    with open_generator_and_grader(request, cell.job.generator) as (generating, judging):
        written = generating.options.output_tokens
        read = _estimate_tokens_read_per_question(asked[:50], texts, written)
        for reader, size, out in ((generating, read[0], written), (judging, read[1], 8)):
            if isinstance(reader, NearestSentenceAnswerer):
                continue
            price = getattr(reader.model, "price", None)
            usd = None if price is None or usd is None else usd + price.usd(round(n * size), n * out)
            seconds += estimate_server_seconds(reader.model, n, round(n * (size + out)), n * out)  # type: ignore[arg-type]
            tokens += round(n * (size + out))
            requests += n
    head = CellForecast(cell.task, cell.dataset, cell.system, len(asked), 0, tokens)
    return replace(head, requests=requests, usd=usd, seconds=seconds, assumed=True)


def _estimate_tokens_read_per_question(
    asked: Sequence[QuestionWithPassages], texts: Sequence[str], written: int
) -> tuple[float, float]:
    """What a generator and a grader read for a question, about, where answers have so many tokens."""
    lengths = []
    for ask in asked:
        shown = build_answer_messages(ask.question, [texts[place] for place in ask.places])
        graded = build_answer_grade_messages(ask.question, ask.reference, "x" * 4 * written)
        lengths.append([estimate_server_tokens([m.content for m in messages]) for messages in (shown, graded)])
    means = np.mean(lengths, axis=0) if lengths else np.zeros(2)
    return float(means[0]), float(means[1])


def _describe_generation_timing(records: Sequence[CellRecord]) -> str:
    """What was timed, in words: of the run with the most."""
    counts = max((record.counts for record in records), key=lambda counts: counts.get(TIMED, 0), default={})
    if not counts.get(TIMED):
        return "The generator was not timed. Use --timed 5 to time it on five questions, asked one at a time."
    rate = f", then {counts[RATE]} tokens per second" if RATE in counts else ""
    return f"First token after {counts[FIRST_MS]:,} ms{rate} (median of {counts[TIMED]} questions, one at a time)."


def _build_answer_tables(rows: Sequence[ResultRow], records: Sequence[CellRecord]) -> Iterator[ColumnTable]:
    """`rag_answers`: every figure of every run, and how fast the generator was."""
    yield ColumnTable.of(
        "rag_answers", "Answers from each run's passages", rows, text("Run", "system"), text("Measure", "measure"),
        text("Prompt", _name_passage_variant), number_column("Value", "value", 3),
        number_column("95% low", "ci_low", 3), number_column("95% high", "ci_high", 3),
        whole_number_column("n"),
        note="An abstention counts as wrong. Acc|Hit is accuracy on questions where all useful passages were shown. "
        + _describe_generation_timing(records)
    )  # fmt: skip


def _name_passage_variant(row: ResultRow) -> str:
    return row.variant or "the run's passages"


def answer(
    dataset: str | Path,
    runs: Sequence[str | Path],
    generator: str | Sequence[str],
    judge: str,
    *,
    out: str | Path,
    cache: Path | None = None,
    listener: SilentListener | None = None,
    max_usd: float | None = None,
    **arguments: Any,
) -> Run:
    """Have one model or several answer the questions of a retrieval set from the passages of runs, and another one
    grade the answers, resuming what is unfinished in `out`.

    Further arguments are those of `AnswerRequest`: k (10), references, distractors (0, a number or several), nearness
    (("near",)), grades, mapping, split, limit, seed (1337), resamples. Errors as for other runs.
    """
    mapping = arguments.pop("mapping", None) or {}
    if not isinstance(generator, str):
        generator = tuple(generator)
    for name in ("distractors", "nearness"):
        if isinstance(arguments.get(name), list):
            arguments[name] = tuple(arguments[name])
    request = make_request_from_call(
        AnswerRequest, answer, arguments, str(dataset), tuple(map(str, runs)), generator, judge,
        mapping=tuple(sorted(dict(mapping).items()))
    )  # fmt: skip
    return RagAnswerProtocol().carry_out(request, Path(out), cache=cache, listener=listener, max_usd=max_usd)
