"""S6: a judge orders the passages of many queries, a few at a time, until the engine has enough (spec rag 4.1).

The first line says what the answers belong to: judge, engine, seed, pool. Then one line per answer, numbered by round
and by place among the proposals of the round, because answers come in any order; and one for each time the query had
to be given up. A log that belongs to something else is begun anew; what cannot be read at its end (a full disk, a kill
in the middle of a write) is cut off.

Queries go on in lockstep: what their rankers propose is asked for all of them at once, then all learn, then the engine
may let them share what they know of the judge. What comes out depends on the answers, never on when they came. Every
answer is kept in the query's log the moment it comes; a run that was killed tells the kept answers to new rankers and
goes on from there, to the same result.

A query whose judge fails is given up and the others go on. It is tried again by the next run, after the others are
done: had it gone on beside them, what it shares would have changed what they were asked.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from pathlib import Path
from time import perf_counter
from typing import Any

from embassay.errors import ModelError
from embassay.limits import parse_json_written_by_embassay
from embassay.protocols.rag.judges import Judge, Passage, PassageOrdering, Question
from embassay.protocols.rag.ranking import CandidateRanking, JudgeOrderAnswer, PoolPassage, RankingEngine
from embassay.protocols.rag.ranking.engines import order_candidates_by_grade
from embassay.runs.execution import CallFailure, run_concurrent_jobs
from embassay.runs.folder import digest_json, format_value_as_json, write_file_atomically


@dataclass(frozen=True)
class QuestionCandidatePool:
    """A question with its `candidates` and, in the same order, their `passages`; no id twice."""

    question: Question
    candidates: tuple[PoolPassage, ...]
    passages: tuple[Passage, ...]

    @classmethod
    def of(cls, question: Question, rows: Iterable[tuple[PoolPassage, Passage]]) -> QuestionCandidatePool:
        """Make the pool of these rows; of several with one id the first counts.

        >>> twice = [(PoolPassage("a", grade, 1), Passage("a", "text")) for grade in (4, 5)]
        >>> QuestionCandidatePool.of(Question("q", "?"), twice).candidates
        (PoolPassage(id='a', grade=4, rank=1),)
        """
        first: dict[str, tuple[PoolPassage, Passage]] = {}
        for candidate, passage in rows:
            first.setdefault(candidate.id, (candidate, passage))
        candidates, passages = zip(*first.values(), strict=True) if first else ((), ())
        return cls(question, tuple(candidates), tuple(passages))

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The candidates' ids."""
        return tuple(candidate.id for candidate in self.candidates)

    @cached_property
    def digest(self) -> str:
        """A fingerprint of all that a ranking of the pool depends on: question, grades, places and texts."""
        rows = [
            [candidate.id, candidate.grade, candidate.rank, passage.text]
            for candidate, passage in zip(self.candidates, self.passages, strict=True)
        ]
        return digest_json([self.question.id, self.question.text, rows])


About = Mapping[str, Any]


@dataclass(frozen=True)
class KeptJudgeOrdering:
    """An answer: ids of passages in the order `shown`, and best first; the rest as in `judges.Ordering`."""

    round: int
    place: int
    shown: tuple[str, ...]
    order: tuple[str, ...]
    attempts: int = 1
    rejected: tuple[str, ...] = ()
    missing: int = 0
    unknown: int = 0


@dataclass(frozen=True)
class KeptQueryFailure:
    """The kept failure of a query that was given up in this round."""

    round: int
    failed: str


Entry = KeptJudgeOrdering | KeptQueryFailure
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


class JudgeCallLog:
    """The answers kept for one query: in the file `path`, or only in memory where there is none."""

    def __init__(
        self, path: Path | None = None, about: About | None = None, warn: Callable[[str], None] = lambda _: None
    ) -> None:
        """Open the log of `about`, which names everything that the answers depend on; `warn` is told what of an old
        log is of no use."""
        self._path, self._about = path, dict(about or {})
        self.entries: list[Entry] = []
        if path is None or not path.exists():
            self._begun = False
            return
        # Not `splitlines`: an id may hold characters that it takes for the end of a line.
        lines = _LINE.findall(path.read_text("utf-8", errors="replace"))
        begun = _parse_json_line(lines[0]) if lines else None
        self._begun = begun == json.loads(format_value_as_json(self._about))
        if not self._begun:
            # Of a log without an answer nothing is lost.
            if len(lines) > 1:
                warn(
                    f"{path}: {_explain_log_mismatch(begun, self._about)}; "
                    f"{max(0, len(lines) - 1)} answers are discarded."
                )
            return
        whole = list(_parse_log_entries_until_invalid(lines[1:]))
        self.entries = [entry for _, entry in whole]
        if len(whole) < len(lines) - 1:
            if len(whole) < len(lines) - 2:
                warn(
                    f"{path}:{len(whole) + 2}: this line cannot be read; it and {len(lines) - len(whole) - 2} after "
                    "it are discarded."
                )
            self._rewrite_log_file()

    def append(self, entry: Entry) -> None:
        """Append an entry, at once and in one write: a killed process leaves whole lines."""
        self.entries.append(entry)
        if self._path is None:
            return
        if not self._begun:
            self._rewrite_log_file()
            return
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(file, _format_log_entry_as_json_line(entry).encode())
        finally:
            os.close(file)

    def keep_only_entries(self, entries: Iterable[Entry]) -> None:
        """Keep only these entries of the log."""
        self.entries = list(entries)
        if self._path is not None:
            self._rewrite_log_file()

    def _rewrite_log_file(self) -> None:
        if self._path is not None:
            write_file_atomically(self._path, format_judge_call_log(self._about, self.entries))
            self._begun = True


def format_judge_call_log(about: About, entries: Sequence[Entry]) -> str:
    """A whole log, as `JudgeCallLog` reads it."""
    return format_value_as_json(about) + "\n" + "".join(map(_format_log_entry_as_json_line, entries))


def _format_log_entry_as_json_line(entry: Entry) -> str:
    return format_value_as_json(asdict(entry)) + "\n"


def _parse_log_entries_until_invalid(lines: Iterable[str]) -> Iterable[tuple[str, Entry]]:
    """The lines up to the first that is none."""
    for line in lines:
        entry = _parse_refinement_log_entry(_parse_json_line(line))
        if entry is None or not line.endswith("\n"):
            return
        yield line, entry


def _parse_json_line(line: str) -> dict[str, Any] | None:
    try:
        value = parse_json_written_by_embassay(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _parse_refinement_log_entry(row: dict[str, Any] | None) -> Entry | None:
    if row is None:
        return None
    try:
        if "failed" in row:
            return KeptQueryFailure(int(row["round"]), str(row["failed"]))
        return KeptJudgeOrdering(
            int(row["round"]), int(row["place"]), _convert_to_strings(row["shown"]), _convert_to_strings(row["order"]),
            int(row["attempts"]), _convert_to_strings(row["rejected"]), int(row["missing"]), int(row["unknown"])
        )  # fmt: skip
    except (KeyError, TypeError, ValueError):
        return None


def _convert_to_strings(value: list[Any]) -> tuple[str, ...]:
    return tuple(str(item) for item in value)


def _explain_log_mismatch(begun: About | None, about: About) -> str:
    if begun is None:
        return "its first line cannot be read"
    names = [name for name in about if begun.get(name) != json.loads(format_value_as_json(about[name]))]
    return f"it was started with a different {' and '.join(names) or 'set of keys'}"


CHECKPOINT_SECONDS = 30.0
"""How old a checkpoint becomes while a query goes on."""
DRAWS = 1000
"""Numbers of draws that one repeat of the work may use."""


@dataclass(frozen=True)
class RefinedPoolOrder:
    """The order of a query's pool, the answers that led to it (by round and place), the ranker's last state, and when
    the query was given up on the way, by earlier runs."""

    pool: QuestionCandidatePool
    ranking: CandidateRanking
    calls: tuple[KeptJudgeOrdering, ...]
    state: Mapping[str, Any]
    failures: tuple[KeptQueryFailure, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class RefinementListener:
    """Who wants to know: `progress` of every answer (1) or of several kept ones, `checkpoint` of the state of a query
    now and then and when its work ends, `finished` of a query's result as soon as it is there, `warn` of answers that
    had to be discarded."""

    progress: Callable[[int], None] = lambda _: None
    checkpoint: Callable[[str, RefinedPoolOrder], None] = lambda _query, _state: None
    finished: Callable[[str, RefinedPoolOrder], None] = lambda _query, _refined: None
    warn: Callable[[str], None] = lambda _: None


@dataclass(frozen=True)
class PoolOrderingSettings:
    """Who orders pools how: `top` places matter most, `seed` names all random choices, and `draw` tells repeats of the
    whole work apart."""

    judge: Judge
    engine: RankingEngine
    seed: int
    top: int = 20
    draw: int = 0

    def about(self, pool: QuestionCandidatePool) -> dict[str, Any]:
        """Everything that the answers about a pool depend on: the first line of its log."""
        return {
            "log": 1, "query": pool.question.id, "engine": self.engine.name, "judge": self.judge.identity,
            "seed": self.seed, "top": self.top, "draw": self.draw, "pool": pool.digest
        }  # fmt: skip

    async def order(self, question: Question, passages: Sequence[Passage], before: int) -> PassageOrdering:
        """The judge's order of passages that were shown like this so many times before: then they are judged anew,
        not answered from what was kept."""
        repair: dict[str, Any] = {"repair": True} if getattr(self.engine, "repair", False) else {}
        ordering = await self.judge.order(question, passages, draw=DRAWS * self.draw + before, **repair)
        if sorted(ordering.order) != list(range(len(passages))):
            raise ModelError(
                f"{self.judge.name} ordered {len(passages)} passages as {ordering.order}.",
                mend="A judge must return each position once.",
            )
        return ordering


async def order_candidate_pools(
    refinement: PoolOrderingSettings,
    pools: Sequence[QuestionCandidatePool],
    *,
    logs: Mapping[str, JudgeCallLog] | None = None,
    at_once: int = 256,
    hooks: RefinementListener = RefinementListener(),
) -> dict[str, RefinedPoolOrder | CallFailure]:
    """Order every pool: query id -> its order, or why there is none.

    `logs` holds the answers of earlier runs by query id and gets the new ones. Where the engine shares (`bayes`), pass
    the queries that are done already too, with their logs: they cost nothing, and the others learn from them as they
    did before.

    ModelError when the judge cannot be had at all, BudgetExceeded at the limit of cost: what was answered is kept.
    """
    queries = [
        _QueryRefinement(pool, refinement, (logs or {}).get(pool.question.id) or JudgeCallLog(), hooks)
        for pool in pools
    ]
    work = _RefinementSharedByQueries(refinement.engine, queries, at_once, hooks)
    try:
        going = queries
        while going:
            await work.run_judging_rounds_until_done(going)
            going = [query for query in going if query.forget_failure_if_given_up_before()]
    finally:
        for query in queries:
            hooks.checkpoint(query.id, query.build_current_order())
    return {query.id: query.failure or query.build_current_order() for query in queries}


@dataclass
class _RefinementSharedByQueries:
    """What all queries have in common."""

    engine: RankingEngine
    queries: Sequence[_QueryRefinement]
    at_once: int
    hooks: RefinementListener
    looked: float = field(default_factory=perf_counter)

    async def run_judging_rounds_until_done(self, going: Sequence[_QueryRefinement]) -> None:
        """Rounds of these queries until each of them is done or given up."""
        while going := [query for query in going if query.prepare_round_if_query_continues()]:
            await self._judge_open_proposals(going)
            for query in going:
                query.report_answers_to_ranker()
            # Who was given up neither tells nor hears: the next run finds it as it was.
            self.engine.share({query.id: query.ranker for query in self.queries if query.failure is None})
            if perf_counter() - self.looked > CHECKPOINT_SECONDS:
                for query in going:
                    self.hooks.checkpoint(query.id, query.build_current_order())
                self.looked = perf_counter()

    async def _judge_open_proposals(self, going: Sequence[_QueryRefinement]) -> None:
        """Have everything judged that these queries propose and have no answer to."""
        missing = [(query, place) for query in going for place in query.list_unanswered_proposals()]
        if answered := sum(len(query.answers) for query in going):
            self.hooks.progress(answered)
        jobs: list[Callable[[], Awaitable[KeptJudgeOrdering]]] = [partial(query.ask, place) for query, place in missing]
        failed: dict[str, CallFailure] = {}
        async for number, outcome in run_concurrent_jobs(jobs, at_once=self.at_once, progress=self.hooks.progress):
            query, _ = missing[number]
            if isinstance(outcome, CallFailure):
                failed.setdefault(query.id, outcome)
            else:
                query.keep(outcome)
        # Only now: where the judge cannot be had at all, no query is to blame.
        for query in going:
            if query.id in failed:
                query.give_up_query(failed[query.id])


class _QueryRefinement:
    """The refinement of one query's order, on its way."""

    def __init__(
        self,
        pool: QuestionCandidatePool,
        refinement: PoolOrderingSettings,
        log: JudgeCallLog,
        hooks: RefinementListener,
    ) -> None:
        self.id, self.pool = pool.question.id, pool
        self._refinement, self._log, self._hooks = refinement, log, hooks
        self.ranker = refinement.engine.start(pool.candidates, query=self.id, top=refinement.top, seed=refinement.seed)
        self.failure: CallFailure | None = None
        self.answers: dict[int, KeptJudgeOrdering] = {}
        self._proposals: Sequence[tuple[int, ...]] = ()
        self._round = 0
        self._shown: Counter[tuple[int, ...]] = Counter()
        self._calls: list[KeptJudgeOrdering] = []
        self._kept = _group_calls_by_round(log)
        self._failures = [entry for entry in log.entries if isinstance(entry, KeptQueryFailure)]
        self._failed: list[KeptQueryFailure] = []
        self._again = False
        self._result: RefinedPoolOrder | None = None

    def prepare_round_if_query_continues(self) -> bool:
        """Look what is proposed and which answers to it are kept; false where the query is done or given up."""
        if self.failure is not None:
            return False
        self._proposals = self.ranker.propose_batches()
        kept = self._kept.get(self._round, {})
        if any(not self._is_answer_to_proposal(place, call) for place, call in kept.items()):
            self._discard_stale_answers()
            kept = {}
        self.answers = dict(kept)
        if self._proposals and self._failures and self._failures[0].round == self._round:
            self._failed.append(self._failures.pop(0))
            self.failure, self._again = CallFailure(self._failed[-1].failed), True
            return False
        if not self._proposals and self._result is None:
            # From here on nothing changes it, whatever the others go on to find out.
            self._result = self.build_current_order()
            self._hooks.finished(self.id, self._result)
        return bool(self._proposals)

    def list_unanswered_proposals(self) -> list[int]:
        """Places of proposals to which there is no answer."""
        return [place for place in range(len(self._proposals)) if place not in self.answers]

    async def ask(self, place: int) -> KeptJudgeOrdering:
        """Have one proposal judged."""
        shown = self._proposals[place]
        passages = [self.pool.passages[position] for position in shown]
        ordering = await self._refinement.order(self.pool.question, passages, self._shown[shown])
        order = self._place_missing_last_by_grade([shown[position] for position in ordering.order], ordering.missing)
        ids = self.pool.ids
        return KeptJudgeOrdering(
            self._round, place, tuple(ids[i] for i in shown), tuple(ids[i] for i in order),
            ordering.attempts, ordering.rejected, ordering.missing, ordering.unknown
        )  # fmt: skip

    def keep(self, call: KeptJudgeOrdering) -> None:
        """Keep an answer of the judge that has come."""
        self.answers[call.place] = call
        self._log.append(call)

    def give_up_query(self, failure: CallFailure) -> None:
        """Give up the query: no answer can be had."""
        self.failure = failure
        self._log.append(KeptQueryFailure(self._round, failure.reason))

    def forget_failure_if_given_up_before(self) -> bool:
        """Whether an earlier run gave up the query; then that is forgotten."""
        given_up, self._again = self._again, False
        if given_up:
            self.failure = None
        return given_up

    def report_answers_to_ranker(self) -> None:
        """Tell the ranker what came of its proposals."""
        if self.failure is not None:
            return
        places = {name: position for position, name in enumerate(self.pool.ids)}
        calls = [self.answers[place] for place in range(len(self._proposals))]
        self.ranker.learn(
            [JudgeOrderAnswer(shown, tuple(places[name] for name in call.order))
             for shown, call in zip(self._proposals, calls, strict=True)]
        )  # fmt: skip
        self._shown.update(self._proposals)
        self._calls += calls
        self._round += 1

    def build_current_order(self) -> RefinedPoolOrder:
        """The order as it stands."""
        return self._result or RefinedPoolOrder(
            self.pool, self.ranker.ranking(), tuple(self._calls), self.ranker.state(), tuple(self._failed)
        )

    def _is_answer_to_proposal(self, place: int, call: KeptJudgeOrdering) -> bool:
        """Whether a kept answer is one to what is proposed now."""
        if place >= len(self._proposals):
            return False
        shown = tuple(self.pool.ids[position] for position in self._proposals[place])
        return call.shown == shown and sorted(call.order) == sorted(shown)

    def _discard_stale_answers(self) -> None:
        """Forget the kept answers from this round on: they are to other proposals."""
        rest = [entry for entry in self._log.entries if entry.round < self._round]
        self._hooks.warn(
            f"{self.id}: {len(self._log.entries) - len(rest)} stored answers, from round {self._round} on, belong "
            "to other requests and are discarded."
        )
        self._log.keep_only_entries(rest)
        self._kept, self._failures = _group_calls_by_round(self._log), []

    def _place_missing_last_by_grade(self, order: list[int], missing: int) -> list[int]:
        """What a repaired answer left out comes last, in the order of the grades (spec rag 4.2)."""
        if not missing:
            return order
        answered, left_out = order[:-missing], set(order[-missing:])
        return [
            *answered,
            *(position for position in order_candidates_by_grade(self.pool.candidates) if position in left_out),
        ]


def _group_calls_by_round(log: JudgeCallLog) -> dict[int, dict[int, KeptJudgeOrdering]]:
    kept: dict[int, dict[int, KeptJudgeOrdering]] = {}
    for entry in log.entries:
        if isinstance(entry, KeptJudgeOrdering):
            kept.setdefault(entry.round, {}).setdefault(entry.place, entry)
    return kept
