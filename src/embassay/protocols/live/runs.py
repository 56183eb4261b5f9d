"""Runs made by asking a retriever: every judged question once, its answer kept at once, failures counted.

    with live_runs(["search:find"], Questions({"q1": "How long does a refund take?"}, depth=10), Path("out")) as runs:
        print(runs[0].path, runs[0].latency)

The file is what `data.judged_runs` reads as the output of an engine. Asking again goes on where it stopped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from embassay.data.judged_runs import AnswerTextMatcher, read_run_entries
from embassay.data.judged_runs.engines import find_engine_answer_fault
from embassay.data.rows import format_value_for_error
from embassay.data.views import draw
from embassay.errors import ModelError, UsageError
from embassay.protocols.kernel.session import SilentListener, open_spending_ledger
from embassay.runs.folder import format_value_as_json, slugify_name, write_file_atomically
from embassay.systems.remote import Ledger, iterate_finished_jobs, redact_keys, run_in_remote_loop_and_wait
from embassay.systems.retrievers import PassagesToServe, Retriever, TimedRetrieverAnswer, open_retriever

AGAIN = 10
"""Questions that are asked a second time, to see whether a retriever answers twice alike."""
GIVE_UP = 5
"""Questions that fail before any is answered: then the retriever is not asked the rest."""


@dataclass(frozen=True)
class LiveRetrieverRunOutcome:
    """A run as it was asked for: the `path` of its answers, `failed` question -> reason, the `seconds` of each answered
    request, and of `again` questions that were asked twice how many were answered in another way (`changed`). `price`
    is in US dollars a question, None where it is not known."""

    name: str
    path: Path
    depth: int
    at_once: int
    failed: Mapping[str, str]
    seconds: Sequence[float]
    again: int
    changed: int
    price: float | None = None

    @property
    def latency_percentiles(self) -> dict[str, float | None]:
        """p50 and p95 in milliseconds, None where nothing was answered."""
        if not self.seconds:
            return {"p50_ms": None, "p95_ms": None}
        half, most = np.percentile(np.array(self.seconds) * 1000, (50, 95))
        return {"p50_ms": float(half), "p95_ms": float(most)}

    @property
    def facts(self) -> dict[str, Any]:
        """What a manifest says of it."""
        return {
            "answered": len(self.seconds), "failed": len(self.failed), "depth": self.depth, "at_once": self.at_once,
            "asked_twice": self.again, "answered_otherwise": self.changed, "usd_per_question": self.price,
            **self.latency_percentiles
        }  # fmt: skip

    def notes(self) -> Iterator[str]:
        """Notes on how the retriever answered: what failed, how long it took, whether it varies."""
        yield from self.failures()
        if (half := self.latency_percentiles["p50_ms"]) is not None:
            most, at_once = (
                self.latency_percentiles["p95_ms"] or 0.0,
                f", {self.at_once} at once" if self.at_once > 1 else "",
            )
            n = f"n = {len(self.seconds):,}{at_once}"
            yield (
                f"answers took {_format_milliseconds(half)} (median), "
                f"and 95% of them at most {_format_milliseconds(most)} ({n})"
            )
        yield from self.changes()

    def failures(self) -> Iterator[str]:
        """What failed, and the first reason."""
        total = len(self.seconds) + len(self.failed)
        if self.failed:
            reasons = sorted(set(self.failed.values()))
            more = f"; {len(reasons) - 1} more reasons" if len(reasons) > 1 else ""
            yield f"{len(self.failed):,} of {total:,} questions failed and are left out: {reasons[0]}{more}"

    def changes(self) -> Iterator[str]:
        """Whether it answers twice alike, where it does not."""
        if self.changed:
            yield (
                f"repeated calls gave different documents for {self.changed} of {self.again} questions, so "
                "scores vary from call to call"
            )


@dataclass(frozen=True)
class QuestionsToAsk:
    """What retrievers are asked: id -> text, for `depth` documents each; `seed` draws those asked twice."""

    texts: Mapping[str, str]
    depth: int
    seed: int = 0


@contextmanager
def ask_retrievers_for_runs(
    retrievers: Sequence[str | Retriever],
    questions: QuestionsToAsk,
    out: Path | None,
    *,
    listener: SilentListener | None = None,
    max_usd: float | None = None,
    ledger: Ledger | None = None,
) -> Iterator[tuple[LiveRetrieverRunOutcome, ...]]:
    """Ask the retrievers, given as `spec`, `name=spec` or themselves, one after another. Their answers are kept in the
    run's folder `out`, where asking again goes on; without one they are gone when the context is left. A run that has
    a `ledger` of its own gives it.

    UsageError for two retrievers of one name, and otherwise as `open_retriever` and `ask_all_questions` raise.
    """
    with ExitStack() as held:
        folder = out if out is not None else Path(held.enter_context(TemporaryDirectory(prefix="embassay-")))
        if ledger is None:
            ledger = held.enter_context(open_spending_ledger(folder, max_usd))
        runs: list[LiveRetrieverRunOutcome] = []
        for given in retrievers:
            with open_retriever_for_questions(given, questions.depth, ledger) as retriever:
                if retriever.name in {run.name for run in runs}:
                    raise UsageError(
                        f"Two retrievers are called {retriever.name!r}.",
                        mend="Give one another name: --retriever new=SPEC.",
                    )
                path = folder / "retrieved" / f"{slugify_name(retriever.name)}.jsonl"
                runs.append(ask_all_questions(retriever, questions, path, listener=listener))
        yield tuple(runs)


@contextmanager
def open_retriever_for_questions(
    given: str | Retriever, depth: int, ledger: Ledger | None = None, served: PassagesToServe | None = None
) -> Iterator[Retriever]:
    """A retriever, given as `spec`, `name=spec` or itself, let go of at the end. UsageError where the cost is limited
    and its price is not known."""
    if isinstance(given, str):
        name, spec = parse_named_retriever(given)
        retriever = open_retriever(spec, depth, ledger, served=served)
        retriever.name = name or retriever.name
    else:
        retriever = given
    retriever.find_fault = find_live_answer_fault
    if ledger is not None and ledger.max_usd is not None and retriever.manners.price is None:
        raise UsageError(
            f"The cost is limited, but the price of {retriever.name} is unknown.",
            mend='Give US dollars per question (0 if it is free): module:function?price=0.001, or "price": 0.001 in '
            "the template of a server.",
        )
    try:
        yield retriever
    finally:
        run_in_remote_loop_and_wait(retriever.close)


def parse_named_retriever(given: str) -> tuple[str, str]:
    """The name (empty: its own) and the spec of a retriever given as `spec` or `name=spec`.

    >>> parse_named_retriever("new=search:find"), parse_named_retriever("http://localhost/s?a=1")
    (('new', 'search:find'), ('', 'http://localhost/s?a=1'))
    """
    name, equals, rest = given.partition("=")
    return (name, rest) if equals and not set(name) & set(":/?#") else ("", given)


def ask_all_questions(
    retriever: Retriever, questions: QuestionsToAsk, path: Path, *, listener: SilentListener | None = None
) -> LiveRetrieverRunOutcome:
    """Ask all questions that `path` holds no answer to, and some of them a second time.

    An answer is on the disk before the next is waited for. UsageError where `path` holds another retriever's answers,
    ModelError where nothing is answered, BudgetExceeded where the money is used up: what was answered stays.
    """
    asked = _RetrieverAnswers(retriever, questions, path, listener or SilentListener())
    asked.check_same_retriever()
    failed = asked.ask_unanswered_questions()
    again, changed = asked.count_changed_answers_on_repeat()
    seconds = [row["seconds"] for row in asked.answers.values()]
    at_once = min(retriever.manners.concurrency, max(1, len(questions.texts)))
    return LiveRetrieverRunOutcome(
        retriever.name, path, questions.depth, at_once, failed, seconds, again, changed, retriever.manners.price
    )


def describe_trial_of_retrievers(
    retrievers: Sequence[str],
    questions: QuestionsToAsk,
    known: AnswerTextMatcher,
    served: PassagesToServe | None = None,
) -> Iterator[str]:
    """What each retriever answers to the first question, how that is read, and what all of them will cost, in lines."""
    query, question = next(iter(questions.texts.items()))
    yield f"{query}: {question}"
    for given in retrievers:
        with open_retriever_for_questions(given, questions.depth, served=served) as retriever:
            yield f"\n{retriever.name}"
            yield from describe_answer_to_trial_question(retriever, query, question, known)
            price = retriever.manners.price
            cost = "not known" if price is None else f"${price * len(questions.texts):,.4g}"
            yield f"  all {len(questions.texts):,} questions: cost {cost}"


def describe_answer_to_trial_question(
    retriever: Retriever, query: str, question: str, known: AnswerTextMatcher
) -> Iterator[str]:
    """What the retriever answers to one question, and which documents that is read as, in lines."""
    answer = run_in_remote_loop_and_wait(lambda: retriever.ask(question))
    yield f"  answered in {_format_milliseconds(answer.seconds * 1000)}: {format_value_for_error(answer.value)[:200]}"
    with TemporaryDirectory(prefix="embassay-") as folder:
        path = Path(folder) / "answer.jsonl"
        path.write_text(json.dumps(convert_answer_to_json_row(query, question, answer)) + "\n", "utf-8")
        run = read_run_entries(path, known=known)
    documents = run.frame["doc"].to_list()
    ours = sum(name in known.document_ids for name in documents)
    first = ", ".join(documents[:3])
    yield f"  read as {len(documents)} documents, {ours} of them known: {first}{' ...' if len(documents) > 3 else ''}"


def _format_milliseconds(value: float) -> str:
    return f"{value:.1f} ms" if value < 99.5 else f"{value:,.0f} ms"


class _RetrieverAnswers:
    """The answers of a retriever to questions, in a file and in memory. Beside the file stands whose they are, and once
    questions were asked twice, what came of that."""

    def __init__(self, retriever: Retriever, questions: QuestionsToAsk, path: Path, listener: SilentListener) -> None:
        self.retriever, self.questions, self.path = retriever, questions.texts, path
        self.depth, self.seed, self.listener = questions.depth, questions.seed, listener
        self.answers = {
            row["query_id"]: row for row in _read_complete_json_rows(path) if row["query_id"] in questions.texts
        }
        self._kept = path.with_suffix(".asked.json")

    def check_same_retriever(self) -> None:
        """UsageError unless the answers that are there are this retriever's, to this depth."""
        mine = {"retriever": redact_keys(self.retriever.identity), "depth": self.depth}
        kept = self._read_retriever_facts()
        if kept and {name: kept.get(name) for name in mine} != mine:
            raise UsageError(
                f"{self.path} contains answers from another retriever or for another depth.",
                mend="Choose another --out, or remove the file.",
            )
        self._write_retriever_facts({**mine, **kept})

    def _read_retriever_facts(self) -> dict[str, Any]:
        return json.loads(self._kept.read_text("utf-8")) if self._kept.exists() else {}

    def _write_retriever_facts(self, values: Mapping[str, Any]) -> None:
        write_file_atomically(self._kept, format_value_as_json(values) + "\n")

    def ask_unanswered_questions(self) -> dict[str, str]:
        """Ask what has no answer yet; question -> why it has none."""
        waiting = [query for query in self.questions if query not in self.answers]
        failed: dict[str, str] = {}
        if not waiting:
            return failed
        self.listener.stage(f"asking {self.retriever.name}", len(waiting), "questions")
        with self.path.open("ab") as file:
            for query, answer in self._ask_questions_in_parallel(waiting):
                self.listener.advanced_by(1)
                if isinstance(answer, ModelError):
                    failed[query] = self._format_error_reason(answer)
                    self._check_any_answered(failed, answer, least=min(GIVE_UP, len(waiting)))
                    continue
                row = convert_answer_to_json_row(query, self.questions[query], answer)
                # ASCII: half of a surrogate pair in an answer is no UTF-8, and the reader knows what to do with it.
                file.write((json.dumps(row, ensure_ascii=True) + "\n").encode())
                file.flush()
                self.answers[query] = row
        return failed

    def count_changed_answers_on_repeat(self) -> tuple[int, int]:
        """Of how many questions that were asked twice how many were answered in another way; one that fails the second
        time counts as alike. Of answers that are all there already it is known."""
        # Kept by how many were answered: a session that adds answers looks again.
        kept = self._read_retriever_facts()
        if kept.get("answered") == len(self.answers):
            return kept["asked_twice"], kept["answered_otherwise"]
        answered = sorted(self.answers)
        twice = [answered[place] for place in draw(answered, AGAIN, self.seed)]
        changed = 0
        for query, answer in self._ask_questions_in_parallel(twice):
            if not isinstance(answer, ModelError):
                row = convert_answer_to_json_row(query, self.questions[query], answer)
                changed += _drop_timing_fields(row) != _drop_timing_fields(self.answers[query])
        outcome = {"answered": len(self.answers), "asked_twice": len(twice), "answered_otherwise": changed}
        self._write_retriever_facts({**kept, **outcome})
        return len(twice), changed

    def _ask_questions_in_parallel(
        self, queries: Sequence[str]
    ) -> Iterator[tuple[str, TimedRetrieverAnswer | ModelError]]:
        jobs = [partial(self._ask_retriever_or_return_error, self.questions[query]) for query in queries]
        for number, answer in iterate_finished_jobs(jobs, at_once=self.retriever.manners.concurrency):
            yield queries[number], answer

    async def _ask_retriever_or_return_error(self, question: str) -> TimedRetrieverAnswer | ModelError:
        try:
            return await self.retriever.ask(question)
        except ModelError as error:
            return error

    def _format_error_reason(self, error: ModelError) -> str:
        return error.message.removeprefix(f"{self.retriever.name}: ").rstrip(".")

    def _check_any_answered(self, failed: Mapping[str, str], error: ModelError, *, least: int) -> None:
        if len(failed) >= least and not self.answers:
            raise ModelError(
                f"{self.retriever.name} answered none of {len(failed)} questions: {self._format_error_reason(error)}.",
                mend=error.mend or "Try a single question with --dry-run.",
            ) from error


def find_live_answer_fault(value: Any) -> str:
    """Say why a value is no answer of a retriever; empty where it is one."""
    # As a row of the file, for it will be read from there.
    row = convert_answer_to_json_row("q", "", TimedRetrieverAnswer(value, 0.0))
    return find_engine_answer_fault(
        {key: part for key, part in row.items() if key not in ("query_id", "question", "seconds")}
    )


def convert_answer_to_json_row(query: str, question: str, answer: TimedRetrieverAnswer) -> dict[str, Any]:
    """An answer as a line of the file: a list as documents, an object as what an engine gave, without what it says of
    the question, which stands there already."""
    head = {"query_id": query, "question": question, "seconds": round(answer.seconds, 6)}
    if not isinstance(answer.value, dict):
        value = answer.value if isinstance(answer.value, list) else [answer.value]
        return {**head, "documents": value}
    return {**head, **{key: value for key, value in answer.value.items() if key not in (*head, *_ECHOES)}}


_ECHOES = {"id", "qid", "query-id", "user_input", "query", "input", "search_query"}
"""Keys under which answers repeat their question."""


def _drop_timing_fields(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in _CHANGING}


_CHANGING = {"seconds", "took", "time", "took_ms", "usage", "request_id", "requestId", "profile"}


def _read_complete_json_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The whole lines of a file; what a kill left of the last one is cut off."""
    if not path.exists():
        return
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        os.truncate(path, len(whole))
    for line in whole.splitlines():
        yield json.loads(line)
