"""Answers from runs: every question answered from its first passages and graded, from request to finished folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Spread
from embassay.data.judged_runs import Known, read_run
from embassay.data.rows import key_of, missing_column
from embassay.data.tables import open_table
from embassay.errors import Unanswered
from embassay.protocols.kernel import plan as planning
from embassay.protocols.kernel.comparisons import ALPHA, CORRECTION, METHOD, Headline, compared
from embassay.protocols.kernel.estimates import Estimate, Items
from embassay.protocols.kernel.groups import Labels, words
from embassay.protocols.kernel.inputs import charged
from embassay.protocols.kernel.outcome import Run
from embassay.protocols.kernel.plan import PlannedDataset, PlannedSystem, PlannedTask, check_names
from embassay.protocols.kernel.protocol import Protocol
from embassay.protocols.kernel.request import request_of
from embassay.protocols.kernel.session import Conclusion, Silent, unknown_price
from embassay.protocols.kernel.tables import ColumnTable, csv_text, number, text, whole
from embassay.protocols.rag.answers.answerer import (
    Answer,
    Answerer,
    answer_messages,
    correct_messages,
    open_answerer,
)
from embassay.protocols.rag.answers.options import AnswerRequest
from embassay.protocols.rag.judges import Question
from embassay.protocols.rag.scoring.inputs import hash_entries, named_path
from embassay.protocols.rag.sweep.collection import Collection, read_collection
from embassay.protocols.rag.sweep.config import DatasetEntry, SweepRequest
from embassay.randomness import generator
from embassay.records import Result, RetrievalSet, Score, Skipped, TaskOutcome
from embassay.runs.execution import HERE, Failure, all_of
from embassay.runs.folder import Cell, CellRecord, digest_json, slugify_name, write_atomic
from embassay.runs.forecast import Forecast, Forecasts, remote_seconds
from embassay.search.bm25 import BM25Index
from embassay.stats.resampling import effective_units, resample_defined_means
from embassay.systems.remote import Ledger
from embassay.systems.remote.calls import wait_for
from embassay.systems.remote.ledger import likely_tokens

Floats = NDArray[np.float64]
TASK = "answer"
HEADLINE = "accuracy"
USEFUL, HARMFUL = 4, 2
REFERENCES = 5
"""So many useful passages are shown to the grader where people wrote no answer."""
UNKNOWN = "no answer is known"
"""Why a question is not asked: no passage of grade 4 or 5, and no answer by people."""
VERSION = 2
"""Raised when the same request would give other numbers; part of every cell's key."""


@dataclass(frozen=True)
class AnswerJob:
    """All that is needed to do a cell: a run of the request, and the folder that answers are written to."""

    request: AnswerRequest
    run: str
    folder: str
    cache: Path | None


@lru_cache(maxsize=2)
def collection_of(request: AnswerRequest) -> Collection:
    """The retrieval set with its grades; the last two stay in memory."""
    entry = DatasetEntry(request.dataset, dict(request.mapping), request.split, request.grades)
    # A sweep always draws some queries; this is more than any set has.
    size = 2**31 - 1 if request.limit is None else request.limit
    return read_collection(entry, SweepRequest((entry,), (), queries=size, seed=request.seed))


def references_of(request: AnswerRequest) -> dict[str, list[str]]:
    """People's answers by question, several where the file has several lines of one; empty without a file."""
    if request.references is None:
        return {}
    source = open_table(Path(request.references))
    for column in ("query_id", "answer"):
        if column not in source.columns():
            raise missing_column(source, column)
    answers: dict[str, list[str]] = {}
    for row in source.rows(("query_id", "answer")):
        answers.setdefault(key_of(row, "query_id"), []).append(key_of(row, "answer"))
    return answers


@dataclass(frozen=True)
class Prompted:
    """A question with the positions of the passages that the generator gets, and what is known to be right."""

    row: int
    question: Question
    places: tuple[int, ...]
    reference: tuple[str, ...]


def prompt_questions(
    collection: Collection, run: Mapping[str, Sequence[str]], k: int, references: Mapping[str, Sequence[str]]
) -> Iterator[Prompted]:
    """The questions with passages of the run that the corpus has, and a reference; others are left to be counted."""
    place = {key: position for position, key in enumerate(collection.ids)}
    for row, (key, question) in enumerate(zip(collection.query_ids, collection.queries, strict=True)):
        useful = sorted(
            (p for p, grade in collection.grades[row].items() if grade >= USEFUL),
            key=lambda p: (-collection.grades[row][p], p),
        )
        reference = references.get(key) or [collection.texts[p] for p in useful[:REFERENCES]]
        places = tuple(dict.fromkeys(place[doc] for doc in run.get(key, ()) if doc in place))[:k]
        if reference:
            yield Prompted(row, Question(key, question), places, tuple(reference))


def with_distractors(one: Prompted, collection: Collection, index: BM25Index, n: int) -> Prompted:
    """The prompt with `n` passages before the run's, in the place of its last: those that share most with the question
    in words of what was judged of no use, then of what nobody judged; none of them is among the run's first."""
    grades = collection.grades[one.row]
    hits = [
        index.place(hit.id) for hit in index.search(one.question.text, 10 * n + len(one.places) + len(grades))
    ]
    free = [p for p in hits if p not in one.places and grades.get(p, 0) <= HARMFUL]
    # Stable: what was judged of no use first, in each part by words in common.
    planted = sorted(free, key=lambda p: p not in grades)[:n]
    own_places = one.places[: max(0, len(one.places) - len(planted))]
    return Prompted(one.row, one.question, (*planted, *own_places), one.reference)


def read_ranking(given: str, collection: Collection) -> dict[str, list[str]]:
    """Documents of the collection by question, best first: highest score first, equal scores by document id, last first
    (trec_eval)."""
    known = Known(
        dict(zip(collection.ids, collection.texts, strict=True)),
        dict(zip(collection.query_ids, collection.queries, strict=True)),
    )
    run = read_run(named_path(given)[1], {}, known)
    frame = run.frame.sort(["query", "value", "doc"], descending=[False, True, True])
    ranking: dict[str, list[str]] = {}
    for query, doc, _ in frame.select("query", "doc", "value").iter_rows():
        ranking.setdefault(query, []).append(doc)
    return ranking


@dataclass(frozen=True)
class Graded:
    """An answer and whether it is right."""

    answer: Answer
    right: bool


def evaluate(
    job: AnswerJob, advance: Callable[[int], None], *, ledger: Ledger | None = None, spread: Spread = HERE
) -> TaskOutcome:
    """Answer and grade all questions of a run. Servers do the work: there is nothing to spread."""
    del spread
    request, collection = job.request, collection_of(job.request)
    questions = list(
        prompt_questions(collection, read_ranking(job.run, collection), request.k, references_of(request))
    )
    kinds = {"": questions}
    if request.distractors:
        index = BM25Index.of(collection.ids, collection.texts, asked=collection.queries)
        kinds["distracted"] = [
            with_distractors(question, collection, index, request.distractors) for question in questions
        ]
    outcomes: dict[str, list[Graded | Failure]] = {}
    with (
        open_models(request, job.cache, ledger) as answerers,
        charged(ledger, named_path(job.run)[0]) as calls,
    ):
        # First, while nothing else is in flight; the answers are then kept.
        times = wait_for(partial(_time_generator, answerers[0], collection, questions[: request.timed]))
        for kind, prompts in kinds.items():
            outcomes[kind] = wait_for(partial(_grade_answers, answerers, collection, prompts, advance))
    _write_answers(job, collection, kinds, outcomes)
    return _cell_outcome(request, collection, kinds, outcomes, {**calls, **times})


@contextmanager
def open_models(
    request: AnswerRequest, cache: Path | None = None, ledger: Ledger | None = None
) -> Iterator[tuple[Answerer, Answerer]]:
    """The generator and the grader, closed at the end."""
    opened = partial(open_answerer, ledger=ledger, cache=cache, seed=request.seed)
    pair = opened(request.generator), opened(request.judge)
    try:
        yield pair
    finally:
        for answerer in pair:
            answerer.close()


FIRST_MS, RATE, TIMED = "first_token_ms", "tokens_per_second", "timed"
"""Counts of a run: the median milliseconds to a first token, the median tokens a second after it, of how many
questions."""


async def _time_generator(
    generating: Answerer, collection: Collection, asked: Sequence[Prompted]
) -> dict[str, int]:
    """The time of a first token, and the tokens a second after it, of questions that are answered one after another;
    nothing where none is timed or the server says too little."""
    first, rates = [], []
    for prompt in asked:
        texts = [collection.texts[place] for place in prompt.places]
        try:
            word = await generating.first_word(prompt.question, texts)
            answer = await generating.answer(prompt.question, texts)
        except Unanswered:
            continue
        first.append(word.seconds)
        if answer.seconds > word.seconds and answer.tokens > word.tokens:
            rates.append((answer.tokens - word.tokens) / (answer.seconds - word.seconds))
    if not first:
        return {}
    rate = {RATE: round(median(rates))} if rates else {}
    return {TIMED: len(first), FIRST_MS: round(1000 * median(first)), **rate}


async def _grade_answers(
    answerers: tuple[Answerer, Answerer],
    collection: Collection,
    asked: Sequence[Prompted],
    advance: Callable[[int], None],
) -> list[Graded | Failure]:
    generating, judging = answerers

    async def one(prompt: Prompted) -> Graded:
        texts = [collection.texts[place] for place in prompt.places]
        answer = await generating.answer(prompt.question, texts)
        if answer.abstained or answer.is_void:
            return Graded(answer, False)
        return Graded(answer, await judging.is_right(prompt.question, prompt.reference, answer.text))

    outcomes: dict[int, Graded | Failure] = {}
    async for position, outcome in all_of([partial(one, prompt) for prompt in asked], progress=advance):
        outcomes[position] = outcome
    # Answers come in any order; rows stand in that of the questions.
    return [outcomes[position] for position in range(len(asked))]


def answers_path(folder: str | Path, run: str) -> Path:
    """Where the answers to the questions of a run are, a line of JSON each."""
    return Path(folder) / "answers" / f"{slugify_name(named_path(run)[0])}.jsonl"


def _write_answers(
    job: AnswerJob,
    collection: Collection,
    kinds: Mapping[str, Sequence[Prompted]],
    outcomes: Mapping[str, Sequence[Graded | Failure]],
) -> None:
    lines = [
        json.dumps({
            "query_id": prompt.question.id, "kind": kind or "plain", "question": prompt.question.text,
            "passages": [collection.ids[place] for place in prompt.places],
            **({"failed": outcome.reason} if isinstance(outcome, Failure) else {
                "answer": outcome.answer.text, "correct": int(outcome.right), "abstained": outcome.answer.abstained,
                **({"void": True} if outcome.answer.is_void else {})}),
        }, ensure_ascii=False)
        for kind, prompts in kinds.items()
        for prompt, outcome in zip(prompts, outcomes[kind], strict=True)
    ]  # fmt: skip
    path = answers_path(job.folder, job.run)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, "\n".join(lines) + "\n")


def _cell_outcome(
    request: AnswerRequest,
    collection: Collection,
    kinds: Mapping[str, Sequence[Prompted]],
    outcomes: Mapping[str, Sequence[Graded | Failure]],
    calls: Mapping[str, int],
) -> TaskOutcome:
    n = len(collection.query_ids)
    columns: dict[str, Floats] = {}
    for kind, prompts in kinds.items():
        mark = f" {kind}" if kind else ""
        named = {
            name: np.full(n, np.nan)
            for name in (HEADLINE, "abstained", f"Hit@{request.k}", f"Harm@{request.k}")
        }
        for prompt, outcome in zip(prompts, outcomes[kind], strict=True):
            grades = collection.grades[prompt.row]
            useful = {place for place, grade in grades.items() if grade >= USEFUL}
            named[f"Hit@{request.k}"][prompt.row] = float(useful <= set(prompt.places)) if useful else np.nan
            harmful = sum(grades.get(place, 0) in (1, HARMFUL) for place in prompt.places)
            named[f"Harm@{request.k}"][prompt.row] = harmful / request.k
            if not isinstance(outcome, Failure):
                named[HEADLINE][prompt.row] = outcome.right
                named["abstained"][prompt.row] = outcome.answer.abstained
        hit = named[f"Hit@{request.k}"]
        named[f"Acc|Hit@{request.k}"] = np.where(hit == 1, named[HEADLINE], np.nan)
        columns |= {f"{name}{mark}": values for name, values in named.items()}
    if request.distractors:
        columns["change by distractors"] = columns[f"{HEADLINE} distracted"] - columns[HEADLINE]
    groups = collection.groups
    estimates = {name: _mean_estimate(values, request, name, groups) for name, values in columns.items()}
    items = Items()
    for name, values in columns.items():
        items.add(list(collection.query_ids), values, name)
    return TaskOutcome(
        tuple(_figure_score(name, estimate) for name, estimate in estimates.items()),
        {HEADLINE: estimates[HEADLINE].component()}, items.columns, _skipped_questions(collection, kinds[""], outcomes),
        counts={**calls, "questions": len(kinds[""]), **_count_abstentions(outcomes)}
    )  # fmt: skip


def _count_abstentions(outcomes: Mapping[str, Sequence[Graded | Failure]]) -> dict[str, int]:
    """How many answers speak of an answer and give none; nothing where all give one."""
    void = sum(
        not isinstance(graded, Failure) and graded.answer.is_void
        for every in outcomes.values()
        for graded in every
    )
    return {"void": void} if void else {}


def _mean_estimate(values: Floats, request: AnswerRequest, name: str, groups: Labels | None) -> Estimate:
    has_value = ~np.isnan(values)
    defined = values[has_value]
    if not len(defined):
        return Estimate(float("nan"), 0, np.empty(0), "")
    drawn = resample_defined_means(
        values[:, None],
        n_resamples=request.resamples,
        rng=generator(request.seed, TASK, "questions"),
        groups=groups,
    )[:, 0]
    is_share = groups is None and not name.startswith(("Harm", "change"))
    units = None if groups is None else effective_units(groups[has_value])
    method = words("questions", RetrievalSet, groups)
    return Estimate(float(defined.mean()), len(defined), drawn, method, is_share, units)


def _figure_score(name: str, estimate: Estimate) -> Score:
    measure, _, variant = name.partition(" ") if name.endswith(" distracted") else (name, "", "")
    return estimate.score(measure, variant=variant)


def _skipped_questions(
    collection: Collection, asked: Sequence[Prompted], by_kind: Mapping[str, Sequence[Graded | Failure]]
) -> tuple[Skipped, ...]:
    """Questions without a reference, and those that a model failed, by reason."""
    rows = {prompt.row for prompt in asked}
    without = [key for row, key in enumerate(collection.query_ids) if row not in rows]
    reasons: dict[str, list[str]] = {UNKNOWN: without} if without else {}
    for kind, outcomes in by_kind.items():
        for prompt, outcome in zip(asked, outcomes, strict=True):
            if isinstance(outcome, Failure):
                reasons.setdefault(f"{kind or 'plain'}: {outcome.reason}", []).append(prompt.question.id)
    return tuple(Skipped(reason, len(ids), tuple(ids[:3])) for reason, ids in reasons.items())


@dataclass(frozen=True, kw_only=True)
class AnswerPlan(planning.Plan):
    """The runs of a request and their questions; `settings` are what manifests say of the models."""

    settings: Mapping[str, Any]
    prices: Mapping[str, Any]


def make_plan(request: AnswerRequest, folder: Path, cache: Path | None, ledger: Ledger | None) -> AnswerPlan:
    """Read the data and the runs, and open the models. UsageError and DataError for what is wrong in them."""
    collection, references = collection_of(request), references_of(request)
    names = [named_path(run)[0] for run in request.runs]
    check_names(names)
    with open_models(request, cache, ledger) as (generating, judging):
        identity = [generating.identity("answer"), judging.identity("correct")]
        settings = {"generator": dict(generating.about()), "judge": dict(judging.about())}
        prices = {answerer.name: getattr(answerer.model, "price", None) for answerer in (generating, judging)}
    asked = list(
        prompt_questions(collection, read_ranking(request.runs[0], collection), request.k, references)
    )
    people = {"references": fingerprint_of(references)} if references else {}
    drawn = {} if collection.groups is None else {"drawn": "groups"}
    systems, cells = [], []
    for name, run in zip(names, request.runs, strict=True):
        print_ = hash_entries([read_run(named_path(run)[1])])
        systems.append(PlannedSystem(run, name, print_, "classical", {"summary": "a run of passages"}))
        key = digest_json({
            "protocol": "rag", "step": TASK, "version": VERSION, "run": [name, print_], "models": identity,
            "dataset": [collection.name, collection.fingerprint], "k": request.k, "distractors": request.distractors,
            "limit": request.limit, "seed": request.seed, "resamples": request.resamples, **people,
            **drawn
        })  # fmt: skip
        job = AnswerJob(request, run, str(folder), cache)
        units = len(asked) * (2 if request.distractors else 1)
        cells.append(Cell(TASK, collection.name, name, key, units, job, remote=True))
    task = PlannedTask(TASK, len(asked), len(asked), collection.skipped, collection.warnings)
    dataset = PlannedDataset(
        request.dataset, collection.name, collection.lang, collection.fingerprint, (task,)
    )
    return AnswerPlan(
        request=request, systems=tuple(systems), datasets=(dataset,), cells=tuple(cells), settings=settings,
        prices=prices
    )  # fmt: skip


def fingerprint_of(references: Mapping[str, Sequence[str]]) -> str:
    """A digest of people's answers."""
    return digest_json({key: list(answers) for key, answers in references.items()})


def _judged_by_itself(plan: AnswerPlan) -> Iterator[str]:
    """A warning where one model answers and grades."""
    generator, judge = (plan.settings[role].get("model") for role in ("generator", "judge"))
    if generator is not None and generator == judge:
        yield f"{generator} grades its own answers: models tend to favour them. Let another one grade (-j)."


def _ungraded_notes(records: Sequence[CellRecord]) -> Iterator[str]:
    """What no run could be scored by: answers that nobody could grade, or that are not there."""
    for record in records:
        failed = [skip for skip in record.skipped if skip.reason != UNKNOWN]
        if not failed and record.components[HEADLINE].n:
            continue
        reasons = (
            "; ".join(f"{skip.reason} ({skip.count:,})" for skip in record.skipped) or "no question was asked"
        )
        graded = record.components[HEADLINE].n
        verdict = (
            f"only {graded:,} answers were graded"
            if graded
            else "no answer could be graded, so nothing is known"
        )
        yield f"{record.system}: {verdict}. {reasons}."


class Answering(Protocol):
    """One attempt at the answers of several runs."""

    name = "rag"
    reads_folder = True
    evaluate = staticmethod(evaluate)

    def plan(
        self, request: AnswerRequest, cache: Path | None = None, ledger: Ledger | None = None
    ) -> AnswerPlan:
        """A cell per run."""
        return make_plan(request, self.folder.path, cache, ledger)

    def forecast(self, plan: AnswerPlan, *, measure: bool = True) -> Forecasts:
        """The calls of both models; what they answered before is not asked, and not known here."""
        del measure
        request: AnswerRequest = plan.request
        collection, references = collection_of(request), references_of(request)
        cells = []
        for cell in plan.cells:
            prompts = list(
                prompt_questions(collection, read_ranking(cell.job.run, collection), request.k, references)
            )
            cells.append(_forecast_cell(cell, prompts, collection.texts, request))
        return Forecasts(tuple(cells))

    def headline(self, plan: AnswerPlan, record: CellRecord) -> str:
        """The share of right answers."""
        del plan, record
        return HEADLINE

    def call(self, request: AnswerRequest, out: Path) -> str:
        """With `embassay.rag.answer`."""
        return f"embassay.rag.answer({request.dataset!r}, {list(request.runs)!r}, ..., out={str(out)!r})"

    def check_prices(self, plan: AnswerPlan, max_usd: float | None) -> None:
        """UsageError for a model without a price where the cost is limited."""
        for name, price in plan.prices.items() if max_usd is not None else ():
            if price is None:
                raise unknown_price(name)

    def describe_run(self, plan: AnswerPlan) -> dict[str, Any]:
        """Who answers and who grades."""
        return {"kind": TASK, **plan.settings}

    def conclude(self, plan: AnswerPlan, records: Sequence[CellRecord], rows: Sequence[Result]) -> Conclusion:
        """Which runs can be told apart by their answers; and the grades as `rag score --answers` takes them."""
        done = [record for record in records if record.done]
        headlines = [
            Headline.of(cell.system, cell.components[HEADLINE], "bootstrap over questions") for cell in done
        ]
        comparisons = {
            "alpha": ALPHA, "correction": CORRECTION, "method": METHOD, "scopes": {TASK: compared(headlines)}
        }  # fmt: skip
        for record in done:
            self._write_correct(record)
        warnings = (*_judged_by_itself(plan), *_ungraded_notes(done))
        return Conclusion((), comparisons, tuple(_answer_tables(rows, done)), warnings=warnings)

    def _write_correct(self, record: CellRecord) -> None:
        import polars as pl

        from embassay.parquet import read_parquet

        path = self.folder.items_path(TASK, record.dataset, record.system)
        if not path.is_file():
            return
        frame = read_parquet(path).filter((pl.col("measure") == HEADLINE) & pl.col("value").is_not_null())
        lines = [["query_id", "correct"], *frame.select("item_id", "value").rows()]
        name = f"{path.stem}.csv" if path.stem else "answers.csv"
        write_atomic(self.folder.path / "answers" / name, csv_text(lines))


def _forecast_cell(
    cell: Cell, asked: Sequence[Prompted], texts: Sequence[str], request: AnswerRequest
) -> Forecast:
    times, sample = (2 if request.distractors else 1), asked[:50]
    with open_models(request) as (generating, judging):
        lengths = []
        for ask in sample:
            shown = answer_messages(ask.question, [texts[place] for place in ask.places])
            graded = correct_messages(ask.question, ask.reference, "x" * 4 * generating.options.output_tokens)
            lengths.append([likely_tokens([m.content for m in messages]) for messages in (shown, graded)])
        read = np.mean(lengths, axis=0) if lengths else np.zeros(2)
        n, written = times * len(asked), generating.options.output_tokens
        usd: float | None = 0.0
        seconds = 0.0
        for who, tokens, out in ((generating, read[0], written), (judging, read[1], 8)):
            price = getattr(who.model, "price", None)
            usd = None if price is None or usd is None else usd + price.usd(round(n * tokens), n * out)
            seconds += remote_seconds(who.model, n, round(n * (tokens + out)), n * out)  # type: ignore[arg-type]
    head = Forecast(
        cell.task, cell.dataset, cell.system, len(asked), 0, round(n * (float(read.sum()) + written + 8))
    )
    return replace(head, requests=2 * n, usd=usd, seconds=seconds, assumed=True)


def _timing_words(records: Sequence[CellRecord]) -> str:
    """What was timed, in words: of the run with the most."""
    counts = max((record.counts for record in records), key=lambda counts: counts.get(TIMED, 0), default={})
    if not counts.get(TIMED):
        return "The generator was not timed: --timed 5 asks five questions alone."
    rate = f", then {counts[RATE]} tokens a second" if RATE in counts else ""
    return (
        f"First token after {counts[FIRST_MS]:,} ms{rate} (medians of {counts[TIMED]} questions asked alone)."
    )


def _answer_tables(rows: Sequence[Result], records: Sequence[CellRecord]) -> Iterator[ColumnTable]:
    """`rag_answers`: every figure of every run, and how fast the generator was."""
    yield ColumnTable.of(
        "rag_answers", "Answers from the passages of each run", rows, text("Run", "system"), text("Measure", "measure"),
        text("Prompt", lambda row: row.variant or "the run's passages"), number("Value", "value", 3),
        number("95% low", "ci_low", 3), number("95% high", "ci_high", 3), whole("n"),
        note="An abstention is not right. Acc|Hit is accuracy where all useful passages were shown. "
        + _timing_words(records)
    )  # fmt: skip


def answer(
    dataset: str | Path,
    runs: Sequence[str | Path],
    generator: str,
    judge: str,
    *,
    out: str | Path,
    cache: Path | None = None,
    listener: Silent | None = None,
    max_usd: float | None = None,
    **arguments: Any,
) -> Run:
    """Have a model answer the questions of a retrieval set from the passages of runs, and another one grade the
    answers, resuming what is unfinished in `out`.

    Further arguments are those of `AnswerRequest`: k (10), references, distractors (0), grades, mapping, split, limit,
    seed (1337), resamples. Errors as for other runs.
    """
    mapping = arguments.pop("mapping", None) or {}
    request = request_of(
        AnswerRequest, answer, arguments, str(dataset), tuple(map(str, runs)), generator, judge,
        mapping=tuple(sorted(dict(mapping).items()))
    )  # fmt: skip
    return Answering().carry_out(request, Path(out), cache=cache, listener=listener, max_usd=max_usd)
