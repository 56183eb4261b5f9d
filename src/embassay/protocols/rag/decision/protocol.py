"""A study on disk: the passages that may be asked, the labels so far, what is asked next, and what is decided.

The folder holds `pool.jsonl` (passages with their ranks and texts), `terms.json`, `ask.jsonl` (what to grade next) and
`decision.json`, the record that the terminal and the pages are filled from. Labels are in a file of their own that
only grows.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from embassay.data import open_dataset
from embassay.data.documents import read_corpus_passages_with_origin
from embassay.data.judged_runs import AnswerTextMatcher, read_qrels_entries, read_run_entries
from embassay.data.rows import read_text_cell
from embassay.data.sources import prefer_path_over_catalogue
from embassay.data.tables import open_table_file
from embassay.errors import DataError, TextRefused, UsageError
from embassay.limits import parse_bounded_json, read_bounded_file
from embassay.measures.judgements import GRADES, UNJUDGED
from embassay.protocols.kernel.claims import Claim, make_count_claim
from embassay.protocols.kernel.outcome import format_current_utc_time
from embassay.protocols.kernel.tables import format_noun_count
from embassay.protocols.rag.decision.course import (
    DecisionSettings,
    LabellingStudyState,
    find_study_state_from_labels,
    list_comparisons_to_decide,
)
from embassay.protocols.rag.decision.population import (
    ComparisonItemPopulation,
    Key,
    Labels,
    RunContrast,
    build_comparison_items_from_ranks,
    make_comparison_items_of_runs,
    parse_decision_measure,
)
from embassay.protocols.rag.judges import Judge, Passage, Question, open_judge
from embassay.protocols.rag.scoring.inputs import make_run_names_distinct, map_judgement_grades, parse_named_path
from embassay.protocols.rag.scoring.options import SequentialLabellingRequest
from embassay.runs.folder import format_value_as_json, write_file_atomically, write_json
from embassay.runs.spending import RunSpendingJournal
from embassay.stats import Estimate
from embassay.stats.few_labels import NEARER, MoreLabelsOutlook, forecast_extra_labels
from embassay.stats.sequences import compute_anytime_total_interval
from embassay.systems.remote import Ledger

SCHEMA = 1
STEPS = (50, 100, 200, 400)
SLOWER_BY_QUERY = 0.75
"""Standard errors by which bets on whole queries win later than their errors fall."""


@dataclass(frozen=True, kw_only=True)
class RunComparisonEstimate(Estimate):
    """A comparison: run `a` minus run `b`, or minus the bar where `b` is empty, over all queries; its interval holds at
    every look. `sign` is 1 where `a` is surely higher, -1 lower, 0 open."""

    a: str
    b: str
    sign: int
    better: str


@dataclass(frozen=True)
class ExpectedBenefitOfLabels:
    """What `more` labels would buy: half of the interval of the comparison that is likely decided last, the chance that
    the study is decided, and what they cost, None where a label has no price."""

    more: int
    half: float
    chance: float
    usd: float | None


@dataclass(frozen=True)
class DecisionStudyRecord:
    """Where a study stands. `used` labels stand behind it, `given` are there, `unasked` among them were not asked for,
    `waiting` are asked for now, and `needed` could be asked for at most. `why` says why it stopped, or what it waits
    for: `decided`, `certain`, `equal` or `open`."""

    measure: str
    runs: tuple[str, ...]
    queries: int
    bar: float | None
    alpha: float
    seed: int
    why: str
    best: str
    standings: tuple[RunComparisonEstimate, ...]
    used: int
    given: int
    unasked: int
    waiting: int
    needed: int
    ahead: tuple[ExpectedBenefitOfLabels, ...]
    verdict: str
    lede: tuple[str, ...]
    schema: int = SCHEMA

    @property
    def is_open(self) -> bool:
        """Whether labels are still asked for."""
        return self.why == "open"

    @property
    def unused_label_count(self) -> int:
        """Labels that are no part of what is said: nobody asked for them, or they were drawn after the decision."""
        return self.unasked if self.is_open else self.given - self.used

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values."""
        return asdict(self)


def list_decision_claims(decision: DecisionStudyRecord) -> Iterator[Claim]:
    """What a study says: after how many labels, which comparisons are decided, and which run is best."""
    yield make_count_claim("labels", decision.used, decision.needed)
    yield make_count_claim("set aside", decision.unused_label_count, decision.given)
    yield from (_make_comparison_claim(standing, decision) for standing in decision.standings if standing.sign)
    if decision.best:
        others = tuple(run for run in decision.runs if run != decision.best)
        yield Claim(decision.best, "first", decision.measure, others, n=1, of=len(decision.runs))


def _make_comparison_claim(standing: RunComparisonEstimate, decision: DecisionStudyRecord) -> Claim:
    """A threshold is kept or missed, or one run beats the other: by the better minus the worse."""
    is_kept = standing.better == standing.a
    (low, high), other = standing.ends, standing.b if is_kept else standing.a
    known = Claim(standing.better, "beats", decision.measure, (other,), standing.value, low=low, high=high)
    if not standing.b:
        return replace(known, subject=standing.a, relation="keeps" if is_kept else "misses", others=(), kind="bar")
    return known if is_kept else replace(known, value=-standing.point, low=-high, high=-low)


def make_decision_study_record(
    course: LabellingStudyState, terms: DecisionSettings, price: float | None = None
) -> DecisionStudyRecord:
    """The record of a course."""
    population = course.population
    standings = tuple(
        _estimate_run_comparison(course, place, comparison, terms.alpha)
        for place, comparison in enumerate(population.comparisons)
    )
    best = "" if course.decided.best is None else population.runs[course.decided.best]
    why = _classify_reason_labelling_stopped(course)
    ahead = _forecast_benefit_of_more_labels(course, standings, terms.alpha, price) if why == "open" else ()
    decision = DecisionStudyRecord(
        population.asked.name, population.runs, len(population.queries), population.bar, terms.alpha, terms.seed,
        why, best, standings, course.used, course.given, course.unasked, len(course.waiting),
        course.max_labels_needed, ahead,
        "", ()
    )  # fmt: skip
    return DecisionStudyRecord(
        **{
            **vars(decision),
            "verdict": _phrase_decision_verdict(decision),
            "lede": tuple(_list_decision_opening_sentences(decision)),
        }
    )


def _classify_reason_labelling_stopped(course: LabellingStudyState) -> str:
    decided = course.decided
    if not decided.done:
        return "open"
    settled = decided.best is not None or (course.population.bar is not None and (decided.sign != 0).all())
    if not settled:
        return "equal"
    return "certain" if decided.certain else "decided"


def _estimate_run_comparison(
    course: LabellingStudyState, place: int, comparison: RunContrast, alpha: float
) -> RunComparisonEstimate:
    population = course.population
    offset = 0.0 if population.asked.linear is None or population.bar is None else population.bar
    low, high = (float(ends[:, place].sum()) for ends in (population.low, population.high))
    draws = course.draws.first(course.decided.since) if course.decided.done else course.draws
    bound = compute_anytime_total_interval(draws, place, low, high, alpha / len(population.comparisons))
    # What was drawn after the decision is set aside, also where it would tell two others apart.
    is_late = course.decided.done and int(course.decided.at[place]) > course.decided.since
    sign = 0 if is_late else int(course.decided.sign[place])
    a, b = population.runs[comparison.a], "" if comparison.b is None else population.runs[comparison.b]
    winner = a if (sign > 0) == population.asked.higher else b
    value, low, high = (number - offset for number in (bound.point, *bound.ends))
    return RunComparisonEstimate(value, low, high, a=a, b=b, sign=sign, better=winner if sign else "")


def _forecast_benefit_of_more_labels(
    course: LabellingStudyState, standings: Sequence[RunComparisonEstimate], alpha: float, price: float | None
) -> tuple[ExpectedBenefitOfLabels, ...]:
    """What more labels would achieve: the chance that the whole study is decided, and the interval of the comparison
    that
    is likely the last to be."""
    population = course.population
    lacking = list_comparisons_to_decide(population, course.decided, [standing.point for standing in standings])
    if not lacking or not len(course.draws):
        return ()
    # About as far from its end is a bet that is held at every look, in standard errors (Ville 1939).
    reach = math.sqrt(2 * math.log(2 * len(standings) / alpha))
    rows = [
        forecast_extra_labels(
            abs(standings[place].point), standings[place].width / 2, course.used,
            course.max_labels_needed, steps=STEPS, reach=reach, nearer=_get_expected_lead_shrinkage(population)
        )
        for place in lacking
    ]  # fmt: skip
    last = min(rows, key=lambda steps: sum(step.chance for step in steps))
    chances = [math.prod(step.chance for step in steps) for steps in zip(*rows, strict=True)]
    return tuple(
        ExpectedBenefitOfLabels(step.more, step.half, chance, _price_more_labels(step, price))
        for step, chance in zip(last, chances, strict=True)
    )


def _get_expected_lead_shrinkage(population: ComparisonItemPopulation) -> float:
    """By how many standard errors a lead is likely less than it looks, measured on five collections."""
    # The best was picked by its lead; nobody picks a bar by how far a run is from it.
    picked = NEARER if population.bar is None else 0.0
    return picked + (0.0 if population.asked.linear is not None else SLOWER_BY_QUERY)


def _price_more_labels(row: MoreLabelsOutlook, price: float | None) -> float | None:
    return None if price is None else row.more * price


def _phrase_decision_verdict(decision: DecisionStudyRecord) -> str:
    used = format_noun_count(decision.used, "label")
    labels = f"after {used} of {decision.needed:,}"
    if decision.why == "open":
        return f"Not decided {labels}"
    if decision.why == "equal":
        return f"No run is better: every label that could matter is available ({used})"
    if decision.bar is None:
        return f"{decision.best} is best by {decision.measure}, {labels}"
    met = [standing.a for standing in decision.standings if standing.better == standing.a]
    missed = [standing.a for standing in decision.standings if standing.better != standing.a]
    parts = [f"{', '.join(met)} met" if met else "", f"{', '.join(missed)} missed" if missed else ""]
    return f"{' and '.join(filter(None, parts))} the threshold {decision.bar:g} of {decision.measure}, {labels}"


def _list_decision_opening_sentences(decision: DecisionStudyRecord) -> list[str]:
    sure = f"{1 - decision.alpha:.0%}"
    reasons = {
        "open": (
            f"{format_noun_count(decision.waiting, 'passage')} can be graded now. Check as often as you like: at "
            f"most {decision.alpha:.0%} of studies reach a wrong decision."
        ),
        "decided": (
            f"The confidence is {sure}, whenever you stop. The decision applies only to these "
            f"{format_noun_count(decision.queries, 'query')}."
        ),
        "certain": "The decision is certain: no missing grade could change it.",
        "equal": "Every grade that could matter is available.",
    }
    lines = [reasons[decision.why]]
    if aside := decision.unused_label_count:
        text = f"{format_noun_count(aside, 'label')} {'is' if aside == 1 else 'are'}"
        lines.append(
            f"{text} set aside: not drawn for grading, or drawn after the decision. Only labels drawn at random "
            "are unbiased."
        )
    return lines


def format_signed_difference_and_interval(one: RunComparisonEstimate) -> str:
    """A difference with its interval.

    >>> format_signed_difference_and_interval(RunComparisonEstimate(0.031, 0.002, 0.06, a="a", b="b", sign=1,
    ...     better="a"))
    '+0.031 (+0.002 to +0.060)'
    """
    low, high = one.ends
    return f"{one.point:+.3f} ({low:+.3f} to {high:+.3f})" if np.isfinite(one.point) else "–"


POOL, TERMS, ASK, DECISION, LABELS = "pool.jsonl", "terms.json", "ask.jsonl", "decision.json", "labels.jsonl"
SAVED = 1
_AT_ONCE, _HOPELESS = 8, 8
"""Calls at a time, and passages of which a judge takes at least one, or none ever."""


@dataclass(frozen=True)
class QueryAndDocumentTexts:
    """What people and judges read: texts by query and by document."""

    queries: Mapping[str, str]
    documents: Mapping[str, str]


@dataclass(frozen=True)
class DecisionStudySetup:
    """A population with its terms, and the texts of its passages where they are known."""

    population: ComparisonItemPopulation
    terms: DecisionSettings
    texts: QueryAndDocumentTexts | None = None

    def replay_study_with_labels(self, labels: Labels) -> LabellingStudyState:
        """Where it stands with these labels."""
        return find_study_state_from_labels(self.population, labels, self.terms)


def run_decision_study(
    request: SequentialLabellingRequest, out: Path | None = None, *, max_usd: float | None = None
) -> DecisionStudyRecord:
    """Where the study of a request stands, with the judge asked until it is decided if there is one; into `out`.

    Raises DataError for files that are not what they should be, UsageError where `out` holds another study,
    BudgetExceeded at the limit of cost: the grades that were bought are in the file of labels.
    """
    study = _make_decision_study(request)
    if out is not None:
        save_decision_study(out, study)
    labels = read_passage_grades(Path(request.labels), request.grades, request.mapping)
    if request.judge is not None:
        labels = _collect_judge_labels_until_decided(study, labels, request, out, max_usd)
    course = study.replay_study_with_labels(labels)
    decision = make_decision_study_record(course, study.terms, request.price)
    if out is not None:
        write_waiting_passages_and_decision(out, study, course, decision)
    return decision


def _make_decision_study(request: SequentialLabellingRequest) -> DecisionStudySetup:
    named = make_run_names_distinct([parse_named_path(given) for given in request.runs])
    known = _make_text_matcher_from_corpus(request)
    runs = {name: read_run_entries(path, request.mapping, known) for name, path in named}
    population = make_comparison_items_of_runs(runs, request.measure, request.bar)
    guide = {} if request.guide is None else read_passage_grades(Path(request.guide), request.grades, request.mapping)
    if request.guide is not None and not set(guide) & set(population.keys):
        raise DataError(
            "the file grades none of the runs' passages", path=request.guide,
            expected=f"such as query {population.keys[0][0]!r}, document {population.keys[0][1]!r}",
            mend="Give a judge's grades for these runs' passages."
        )  # fmt: skip
    return DecisionStudySetup(
        population,
        DecisionSettings(request.alpha, request.seed, request.block, guide),
        _collect_study_texts(request, population, known),
    )


def _make_text_matcher_from_corpus(request: SequentialLabellingRequest) -> AnswerTextMatcher | None:
    """The corpus and its questions, which runs of texts are matched with; None where they are not named."""
    if request.corpus is None or request.queries is None:
        return None
    queries = _read_texts_by_id(Path(request.queries).expanduser(), request.mapping)
    return AnswerTextMatcher(_read_corpus(request), queries)


def _read_corpus(request: SequentialLabellingRequest) -> dict[str, str]:
    """The documents of a table, or the passages of a folder of documents."""
    path = Path(request.corpus or "").expanduser()
    if path.is_file():
        return _read_texts_by_id(path, request.mapping)
    return {
        passage.id: passage.body
        for passage in read_corpus_passages_with_origin(open_dataset(prefer_path_over_catalogue(request.corpus or "")))
    }


def _collect_study_texts(
    request: SequentialLabellingRequest, population: ComparisonItemPopulation, known: AnswerTextMatcher | None
) -> QueryAndDocumentTexts | None:
    if known is None:
        return None
    queries, documents = set(population.queries), {key[1] for key in population.keys}
    for what, path, missing in (
        ("query", request.queries, queries - set(known.questions)),
        ("document", request.corpus, documents - set(known.passages)),
    ):
        if missing:
            raise DataError(
                f"{len(missing)} of the runs' {what} ids have no text, such as {min(missing)!r}", path=path,
                mend="Give the texts that the runs were retrieved from."
            )  # fmt: skip
    return QueryAndDocumentTexts(
        {query: known.questions[query] for query in population.queries},
        {doc: known.passages[doc] for doc in sorted(documents)},
    )


def _read_texts_by_id(path: Path, mapping: Mapping[str, str]) -> dict[str, str]:
    source = open_table_file(path)
    columns = source.columns()
    identity = next((name for name in (mapping.get("id", "id"), "_id", "query_id", "doc_id") if name in columns), "id")
    text, title = mapping.get("text", "text"), mapping.get("title", "title")
    texts = {}
    for row in source.rows(tuple(name for name in (identity, text, title) if name in columns)):
        key = str(row.cells.get(identity, ""))
        head = str(row.cells.get(title) or "")
        texts[key] = "\n".join(filter(None, (head, read_text_cell(row, text))))
    return texts


def read_passage_grades(path: Path, grades: str | None, mapping: Mapping[str, str]) -> dict[Key, int]:
    """The grades in a file, none where it is missing or empty; 0 is a passage that nobody can judge.

    DataError for a value that is none, and for a passage with two grades that differ.
    """
    path = path.expanduser()
    if not path.exists() or (path.is_file() and path.stat().st_size == 0):
        return {}
    entries = read_qrels_entries(path, mapping)
    if grades is not None:
        frame = map_judgement_grades(entries, grades).frame
        return {(str(q), str(d)): int(g) for q, d, g in frame.select("query", "doc", "grade").iter_rows()}
    labels: dict[Key, int] = {}
    for row, (query, doc, value) in enumerate(entries.frame.select("query", "doc", "value").iter_rows()):
        key = str(query), str(doc)
        if value not in (UNJUDGED, *GRADES):
            raise entries.make_entry_error(
                row, "the grade is invalid",
                expected="1, 2, 3, 4 or 5, or 0 for a passage that cannot be judged", found=f"{value:g}",
                mend="Give --grades, such as binary, if the file has other values."
            )  # fmt: skip
        if labels.setdefault(key, int(value)) != value:
            raise entries.make_entry_error(
                row, f"query {query!r} and document {doc!r} have two grades", expected=f"{labels[key]}, as before",
                found=f"{value:g}", mend="Keep one."
            )  # fmt: skip
    return labels


def save_decision_study(out: Path, study: DecisionStudySetup) -> None:
    """Write what a study is about. UsageError where the folder holds another one."""
    population, terms = study.population, study.terms
    facts = {
        "schema": SAVED, "measure": population.asked.name, "runs": list(population.runs), "bar": population.bar,
        "queries": list(population.queries), "alpha": terms.alpha, "seed": terms.seed, "block": terms.block
    }  # fmt: skip
    head = format_value_as_json(facts, indent=1) + "\n"
    rows = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in _list_decision_study_pool_rows(study))
    for name, text in ((TERMS, head), (POOL, rows)):
        path = out / name
        if path.exists() and path.read_text("utf-8") != text:
            raise UsageError(
                f"{out} contains another study: its {name} differs.",
                mend="Choose another --out, or use the same runs, measure, guide and settings as before.",
            )
    out.mkdir(parents=True, exist_ok=True)
    write_file_atomically(out / POOL, rows)
    write_file_atomically(out / TERMS, head)


def _list_decision_study_pool_rows(study: DecisionStudySetup) -> Iterable[dict[str, Any]]:
    for place, (query, doc) in enumerate(study.population.keys):
        row: dict[str, Any] = {"query_id": query, "doc_id": doc, "ranks": study.population.ranks[place].tolist()}
        if (query, doc) in study.terms.guide:
            row["guide"] = study.terms.guide[query, doc]
        if study.texts is not None:
            row |= {"query": study.texts.queries[query], "text": study.texts.documents[doc]}
        yield row


def read_decision_study(path: Path) -> DecisionStudySetup:
    """The study in a folder. DataError for one that holds none."""
    mend = "Create one: embassay rag score --until-decided --corpus FILE --queries FILE --out FOLDER."
    try:
        head = parse_bounded_json(read_bounded_file(path / TERMS))
        rows = [parse_bounded_json(line) for line in read_bounded_file(path / POOL).decode("utf-8").splitlines()]
        if head["schema"] != SAVED:
            raise ValueError(f"schema {head['schema']}")
        asked = parse_decision_measure(head["measure"], bar=head["bar"] is not None)
        keys = tuple((row["query_id"], row["doc_id"]) for row in rows)
        ranks = np.array([row["ranks"] for row in rows], dtype=np.int64).reshape(len(keys), len(head["runs"]))
        population = build_comparison_items_from_ranks(
            asked, tuple(head["runs"]), tuple(head["queries"]), keys, ranks, head["bar"]
        )
        guide = {key: row["guide"] for key, row in zip(keys, rows, strict=True) if "guide" in row}
        texts = None
        if rows and "text" in rows[0]:
            texts = QueryAndDocumentTexts(
                {r["query_id"]: r["query"] for r in rows}, {r["doc_id"]: r["text"] for r in rows}
            )
        return DecisionStudySetup(
            population, DecisionSettings(head["alpha"], head["seed"], head["block"], guide), texts
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        said = f"no {Path(error.filename).name}" if isinstance(error, FileNotFoundError) else str(error)
        raise DataError("the folder contains no decision study", path=path, found=said, mend=mend) from error


def write_waiting_passages_and_decision(
    out: Path, study: DecisionStudySetup, course: LabellingStudyState, decision: DecisionStudyRecord
) -> None:
    """Write what is asked next, and what is decided."""
    rows = []
    for query, doc in course.waiting:
        row = {"query_id": query, "doc_id": doc}
        if study.texts is not None:
            row |= {"query": study.texts.queries[query], "text": study.texts.documents[doc]}
        rows.append(json.dumps(row, ensure_ascii=False) + "\n")
    write_file_atomically(out / ASK, "".join(rows))
    write_json(out / DECISION, decision.as_dict())


def append_passage_grades(path: Path, labels: Iterable[tuple[Key, int]]) -> None:
    """Add grades to a file of JSON Lines; what is written is on the disk when this returns."""
    text = "".join(
        json.dumps({"query_id": query, "doc_id": doc, "relevance": grade}, ensure_ascii=False) + "\n"
        for (query, doc), grade in labels
    )
    # A file that an editor left without a last line break would join its last grade with ours.
    whole = not path.exists() or path.stat().st_size == 0 or path.read_bytes().endswith(b"\n")
    with path.open("a", encoding="utf-8") as file:
        file.write(("" if whole else "\n") + text)
        file.flush()
        os.fsync(file.fileno())


def _collect_judge_labels_until_decided(
    study: DecisionStudySetup,
    labels: Mapping[Key, int],
    request: SequentialLabellingRequest,
    out: Path | None,
    max_usd: float | None,
) -> dict[Key, int]:
    """The labels with those of the judge, asked block by block until nothing is left to decide."""
    path = Path(request.labels).expanduser()
    if path.suffix != ".jsonl":
        raise UsageError(f"The judge's grades cannot be added to {path}.", mend="Use a .jsonl file for --qrels.")
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = path.parent if out is None else out
    grades = dict(labels)

    def save_passage_grade(label: tuple[Key, int]) -> None:
        append_passage_grades(path, [label])
        grades.update([label])

    with closing(RunSpendingJournal(folder / "spending.jsonl", format_current_utc_time("milliseconds"))) as spending:
        ledger = Ledger(max_usd=max_usd, spent_usd=spending.usd_counted_by_limit, journal=spending)
        judge = open_judge(
            request.judge or "", ledger=ledger, seed=request.seed, longest=_count_bytes_of_longest_text_pair(study)
        )
        while waiting := study.replay_study_with_labels(grades).waiting:
            asyncio.run(_grade_passages(judge, study, waiting, save_passage_grade))
    return grades


def _count_bytes_of_longest_text_pair(study: DecisionStudySetup) -> int:
    assert study.texts is not None
    longest = (
        max(map(_count_utf8_bytes, texts.values()), default=0) for texts in (study.texts.queries, study.texts.documents)
    )
    return sum(longest)


def _count_utf8_bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


async def _grade_passages(
    judge: Judge, study: DecisionStudySetup, waiting: Sequence[Key], keep: Callable[[tuple[Key, int]], None]
) -> None:
    """Grade the passages, some at a time; each grade is kept as it comes, also where a later one fails.

    A passage that the judge does not take, or does not answer, counts as one that nobody can judge; where it takes none
    of many, its error is raised: the fault is not in the passages."""
    assert study.texts is not None
    texts, room = study.texts, asyncio.Semaphore(_AT_ONCE)
    refused: dict[Key, TextRefused] = {}

    async def grade_one_passage(key: Key) -> None:
        async with room:
            try:
                verdict = await judge.grade(
                    Question(key[0], texts.queries[key[0]]), Passage(key[1], texts.documents[key[1]])
                )
                keep((key, verdict.grade))
            except TextRefused as error:
                refused[key] = error

    # An error must not cancel the others: their answers are on their way, and paid for.
    done = await asyncio.gather(*map(grade_one_passage, waiting), return_exceptions=True)
    for error in done:
        if isinstance(error, BaseException):
            raise error
    if len(waiting) == len(refused) >= _HOPELESS:
        raise next(iter(refused.values()))
    for key in refused:
        keep((key, UNJUDGED))
