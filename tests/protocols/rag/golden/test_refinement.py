"""Ordering many queries at once: independent of timing, of kills and of each other's failures."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from embassay.errors import BudgetExceeded, ModelError, Unanswered
from embassay.protocols.rag.golden.refinement import (
    JudgeCallLog,
    KeptJudgeOrdering,
    KeptQueryFailure,
    PoolOrderingSettings,
    QuestionCandidatePool,
    RefinedPoolOrder,
    RefinementListener,
    order_candidate_pools,
)
from embassay.protocols.rag.judges import GradeVerdict, Passage, PassageOrdering, Question
from embassay.protocols.rag.ranking import JudgeOrderAnswer, PoolPassage, PoolRanker, RankingEngine
from embassay.protocols.rag.ranking.engines import ENGINES
from embassay.randomness import make_seeded_generator
from embassay.runs.execution import CallFailure

LOCKS = "locks:stability_turns=4"


@dataclass
class FakeJudge:
    """Orders by the number in an id and some noise that the shown order and the draw name. `fails` are queries with the
    number of the call that fails, and how; `delay` names the pace of its answers."""

    fails: dict[str, tuple[int, Exception]] = field(default_factory=dict)
    delay: int | None = None
    forgetful: bool = False
    asked: list[tuple[str, tuple[str, ...], int]] = field(default_factory=list)
    at_once: int = 0
    _running: int = 0
    name: str = "fake"
    identity: str = "fake/1"

    async def grade(self, question: Question, passage: Passage, *, draw: int = 0) -> GradeVerdict:
        raise NotImplementedError

    async def order(
        self, question: Question, passages: Sequence[Passage], *, draw: int = 0, repair: bool = False
    ) -> PassageOrdering:
        ids = tuple(passage.id for passage in passages)
        self.asked.append((question.id, ids, draw))
        self._running += 1
        self.at_once = max(self.at_once, self._running)
        rng = make_seeded_generator(0, question.id, str(draw), *ids)
        if self.delay is not None:
            pause = make_seeded_generator(self.delay, question.id, str(draw), *ids).integers(0, 4)
            for _ in range(int(pause)):
                await asyncio.sleep(0)
            await asyncio.sleep(0.0005 * float(pause))
        self._running -= 1
        number = sum(one[0] == question.id for one in self.asked)
        if question.id in self.fails and number == self.fails[question.id][0]:
            raise self.fails[question.id][1]
        noise = rng.normal(0, 3, len(ids))
        order = sorted(range(len(ids)), key=lambda i: int(ids[i].split("-")[-1]) + noise[i])
        if self.forgetful and repair:
            left_out = sorted(order[1:3])
            return PassageOrdering((*(i for i in order if i not in left_out), *left_out), missing=2, unknown=1)
        return PassageOrdering(tuple(order), attempts=2, rejected=("no list",))


def pools(count: int, n: int = 12) -> list[QuestionCandidatePool]:
    def rows(query: int) -> list[tuple[PoolPassage, Passage]]:
        names = [f"q{query}-{i}" for i in range(n + query % 3)]
        return [(PoolPassage(name, 5 - i % 5, i + 1), Passage(name, f"text {i}")) for i, name in enumerate(names)]

    return [
        QuestionCandidatePool.of(Question(f"Q{query}", f"question {query}?"), rows(query)) for query in range(count)
    ]


def refinement(judge: FakeJudge, spec: str | RankingEngine = LOCKS, **more: Any) -> PoolOrderingSettings:
    engine = ENGINES.build(spec) if isinstance(spec, str) else spec
    return PoolOrderingSettings(judge, engine, **{"seed": 7, "top": 5} | more)


def run(
    plan: PoolOrderingSettings, work: Sequence[QuestionCandidatePool], **more: Any
) -> dict[str, RefinedPoolOrder | CallFailure]:
    return asyncio.run(order_candidate_pools(plan, work, **more))


def refined(found: Mapping[str, RefinedPoolOrder | CallFailure], query: str) -> RefinedPoolOrder:
    one = found[query]
    assert isinstance(one, RefinedPoolOrder)
    return one


class Pairs(RankingEngine):
    """Two disjoint batches per round and 4 rounds; sharing makes batches depend on how much all have learned."""

    name = "pairs"

    def __str__(self) -> str:
        return self.name

    def start(self, candidates: Sequence[PoolPassage], *, query: str, top: int, seed: int) -> PoolRanker:
        return PairsRanker(len(candidates), seed)

    def share(self, rankers: Mapping[str, PoolRanker]) -> None:
        total = sum(int(one.known) for one in rankers.values() if isinstance(one, PairsRanker))
        for one in rankers.values():
            if isinstance(one, PairsRanker):
                one.shared = total


class PairsRanker(PoolRanker):
    def __init__(self, n: int, seed: int) -> None:
        self.n, self.seed, self.known, self.shared, self.rounds = n, seed, 0, 0, 0
        self.wins = [0] * n

    def propose_batches(self) -> Sequence[tuple[int, ...]]:
        if self.rounds == 4:
            return []
        rng = make_seeded_generator(self.seed, str(self.rounds), str(self.shared))
        drawn = [int(i) for i in rng.permutation(self.n)[:6]]
        return [tuple(drawn[:3]), tuple(drawn[3:])]

    def learn(self, calls: Sequence[JudgeOrderAnswer]) -> None:
        assert [call.shown for call in calls] == list(self.propose_batches())
        for call in calls:
            self.known += call.order[0]
            self.wins[call.order[0]] += 1
        self.rounds += 1

    def ranking(self) -> Any:
        from embassay.protocols.rag.ranking import CandidateRanking

        order = tuple(sorted(range(self.n), key=lambda i: -self.wins[i]))
        return CandidateRanking(
            order, tuple(map(float, self.wins)), (0,) * self.n, (0.0,) * self.n, "", {"known": self.known}
        )

    def state(self) -> Mapping[str, Any]:
        return {"rounds": self.rounds}


ENGINES_TRIED = [LOCKS, "single_shot", "bayes:cap=0.3", Pairs()]


@pytest.mark.parametrize("engine", ENGINES_TRIED, ids=str)
def test_results_do_not_depend_on_when_answers_come(engine: str | RankingEngine) -> None:
    """A judge that answers at once, or each time at another pace, one call at a time or many: the same result."""
    first = run(refinement(FakeJudge(), engine), pools(4))
    for delay, at_once in ((1, 100), (2, 3), (3, 1)):
        judge = FakeJudge(delay=delay)
        assert run(refinement(judge, engine), pools(4), at_once=at_once) == first
        assert judge.at_once <= at_once
    assert all(isinstance(one, RefinedPoolOrder) for one in first.values())


def test_queries_are_asked_together() -> None:
    """One round asks for all queries at once."""
    judge = FakeJudge(delay=1)
    run(refinement(judge), pools(6))
    assert judge.at_once == 6


@pytest.mark.parametrize("engine", ENGINES_TRIED, ids=str)
def test_kept_answers_are_not_asked_for_again(engine: str | RankingEngine, tmp_path: Path) -> None:
    """Stopped after any number of answers and begun again, it asks for the rest only and ends the same."""
    judge = FakeJudge()
    whole = run(refinement(judge, engine), pools(3))
    total = len(judge.asked)
    for stop_at in {1, 2, total // 2, total - 1}:
        folder = tmp_path / str(stop_at)
        stopper = FakeJudge()

        def progress(_: int, stopper: FakeJudge = stopper, stop_at: int = stop_at) -> None:
            if len(stopper.asked) >= stop_at:
                raise KeyboardInterrupt

        plan = refinement(stopper, engine)
        with pytest.raises(KeyboardInterrupt):
            run(plan, pools(3), logs=logs(plan, folder), at_once=1, hooks=RefinementListener(progress=progress))
        kept = sum(len(one.entries) for one in logs(plan, folder).values())
        again = FakeJudge()
        plan = refinement(again, engine)
        assert run(plan, pools(3), logs=logs(plan, folder)) == whole
        assert len(again.asked) == total - kept
        assert kept >= stop_at - 1
        final = FakeJudge()
        plan = refinement(final, engine)
        assert run(plan, pools(3), logs=logs(plan, folder)) == whole
        assert not final.asked


def logs(plan: PoolOrderingSettings, folder: Path, warnings: list[str] | None = None) -> dict[str, JudgeCallLog]:
    warn = (lambda _: None) if warnings is None else warnings.append
    return {
        pool.question.id: JudgeCallLog(folder / f"{pool.question.id}.jsonl", plan.about(pool), warn)
        for pool in pools(3)
    }


@pytest.mark.parametrize(
    "change", [{"seed": 8}, {"spec": "locks:stability_turns=5"}, {"draw": 1}, {"top": 6}, {"identity": "fake/2"}]
)
def test_answers_to_another_plan_are_discarded(change: dict[str, Any], tmp_path: Path) -> None:
    """Another seed, engine, repeat, top or judge: the old answers go, with a warning, and all is asked anew."""
    plan = refinement(FakeJudge())
    run(plan, pools(3), logs=logs(plan, tmp_path))
    judge = FakeJudge(identity=change.pop("identity", "fake/1"))
    plan = refinement(judge, **change)
    warnings: list[str] = []
    found = run(plan, pools(3), logs=logs(plan, tmp_path, warnings))
    assert len(warnings) == 3
    assert len(judge.asked) == sum(len(refined(found, query).calls) for query in found)


def test_another_grade_makes_another_log() -> None:
    """The pool's fingerprint covers ids, grades, places, texts and the question."""
    pool = pools(1)[0]
    changed = [
        QuestionCandidatePool(pool.question, (PoolPassage("q0-0", 4, 1), *pool.candidates[1:]), pool.passages),
        QuestionCandidatePool(pool.question, (PoolPassage("q0-0", 5, 2), *pool.candidates[1:]), pool.passages),
        QuestionCandidatePool(pool.question, pool.candidates, (Passage("q0-0", "other"), *pool.passages[1:])),
        QuestionCandidatePool(Question("Q0", "another question?"), pool.candidates, pool.passages),
    ]
    assert len({one.digest for one in (pool, *changed)}) == 5


def test_kept_answers_that_do_not_fit_go_from_there_on(tmp_path: Path) -> None:
    """Where a kept answer is not to what is proposed (an engine that has changed), it and all later ones are discarded
    with a warning, and those before it count."""
    plan = refinement(FakeJudge())
    whole = run(plan, pools(1), logs=logs(plan, tmp_path))
    log = logs(plan, tmp_path)["Q0"]
    entry = log.entries[3]
    assert isinstance(entry, KeptJudgeOrdering)
    swapped = KeptJudgeOrdering(entry.round, 0, (*entry.shown[1:], entry.shown[0]), entry.order)
    log.keep_only_entries([*log.entries[:3], swapped, *log.entries[4:]])
    judge, warnings = FakeJudge(), list[str]()
    plan = refinement(judge)
    found = run(plan, pools(1), logs=logs(plan, tmp_path), hooks=RefinementListener(warn=warnings.append))
    assert found == whole
    total = len(refined(whole, "Q0").calls)
    assert len(judge.asked) == total - 3
    assert warnings == [f"Q0: {total - 3} stored answers, from round 3 on, belong to other requests and are discarded."]


@pytest.mark.parametrize("engine", [LOCKS, Pairs()], ids=str)
def test_a_failing_query_is_given_up_alone(engine: str | RankingEngine, tmp_path: Path) -> None:
    """The others end as they would; the next run goes on with the failed one where it stopped, asks nothing else, and
    ends the others the same, whatever the engine shares."""
    judge = FakeJudge(fails={"Q1": (4, Unanswered("no order in 6 attempts"))}, delay=4)
    plan = refinement(judge, engine)
    found = run(plan, pools(3), logs=logs(plan, tmp_path))
    assert found["Q1"] == CallFailure("no order in 6 attempts")
    assert {query for query, one in found.items() if isinstance(one, RefinedPoolOrder)} == {"Q0", "Q2"}
    kept = logs(plan, tmp_path)["Q1"].entries
    assert sum(isinstance(one, KeptQueryFailure) for one in kept) == 1
    for again in (FakeJudge(fails={"Q1": (1, Unanswered("still none"))}), FakeJudge()):
        plan, warnings = refinement(again, engine), list[str]()
        second = run(plan, pools(3), logs=logs(plan, tmp_path), hooks=RefinementListener(warn=warnings.append))
        assert not warnings
        assert {query for query, _, _ in again.asked} == {"Q1"}
        assert all(second[query] == found[query] for query in ("Q0", "Q2"))
    assert isinstance(second["Q1"], RefinedPoolOrder)
    if engine == LOCKS:
        assert second == run(refinement(FakeJudge(), engine), pools(3))
    silent = FakeJudge()
    plan = refinement(silent, engine)
    assert run(plan, pools(3), logs=logs(plan, tmp_path)) == second
    assert not silent.asked


def test_a_judge_that_cannot_be_had_stops_it(tmp_path: Path) -> None:
    """When nobody is answered any more, the work ends with that error and no query is marked as failed."""
    work = pools(12)
    judge = FakeJudge(fails={pool.question.id: (2, ModelError("connection refused")) for pool in work})
    plan = refinement(judge)
    kept = {pool.question.id: JudgeCallLog() for pool in work}
    with pytest.raises(ModelError, match="connection refused"):
        run(plan, work, logs=kept)
    assert not any(isinstance(entry, KeptQueryFailure) for log in kept.values() for entry in log.entries)
    assert sum(len(log.entries) for log in kept.values()) == 12


def test_the_limit_of_cost_stops_it(tmp_path: Path) -> None:
    """What was bought is kept, and the checkpoint of every query written."""
    judge = FakeJudge(fails={"Q2": (3, BudgetExceeded("$1.00 is spent"))})
    plan = refinement(judge)
    kept, seen = logs(plan, tmp_path), dict[str, RefinedPoolOrder]()
    with pytest.raises(BudgetExceeded):
        run(plan, pools(3), logs=kept, hooks=RefinementListener(checkpoint=seen.__setitem__))
    assert len(kept["Q0"].entries) == 3
    assert seen["Q0"].state["iteration"] == 2
    assert seen.keys() == {"Q0", "Q1", "Q2"}


def test_an_answer_that_is_no_order_fails_the_query() -> None:
    """A judge of another package that breaks its contract is named."""

    class Broken(FakeJudge):
        async def order(self, *args: Any, **more: Any) -> PassageOrdering:
            return PassageOrdering((0, 0, 1, 2, 3))

    found = run(refinement(Broken()), pools(1))
    failure = found["Q0"]
    assert isinstance(failure, CallFailure)
    assert failure.reason == "fake ordered 5 passages as (0, 0, 1, 2, 3). A judge must return each position once."


def test_what_a_repaired_answer_left_out_comes_last_by_grade() -> None:
    """Single shot: passages that the answer does not name follow in the order of the grades, and are counted."""
    found = run(refinement(FakeJudge(forgetful=True), "single_shot"), pools(1))
    (call,) = refined(found, "Q0").calls
    grades = {one.id: one.grade for one in refined(found, "Q0").pool.candidates}
    left_out = [grades[one] for one in call.order[-2:]]
    assert left_out == sorted(left_out, reverse=True)  # type: ignore[type-var]
    assert (call.missing, call.unknown) == (2, 1)
    others = refined(run(refinement(FakeJudge(forgetful=True)), pools(1)), "Q0").calls
    assert not any(one.missing for one in others), "only engines that say so allow repairs"


def test_a_batch_shown_before_is_judged_anew() -> None:
    """The same passages in the same order get another draw, and repeats of the work have draws of their own."""

    class Same(RankingEngine):
        name = "same"

        def start(self, candidates: Sequence[PoolPassage], *, query: str, top: int, seed: int) -> PoolRanker:
            ranker = PairsRanker(6, seed)
            ranker.propose_batches = lambda: [(0, 1, 2)] if ranker.rounds < 3 else []  # type: ignore[method-assign]
            return ranker

        def share(self, rankers: Mapping[str, PoolRanker]) -> None:
            pass

    for repeat in (0, 2):
        judge = FakeJudge()
        run(refinement(judge, Same(), draw=repeat), pools(1))
        assert [draw for _, _, draw in judge.asked] == [1000 * repeat + i for i in range(3)]


def test_progress_and_results_are_told_as_they_come(tmp_path: Path) -> None:
    """Progress counts every answer, kept ones too; a query's result is told once, when it is there."""
    for _ in range(2):
        told, results = list[int](), list[tuple[str, RefinedPoolOrder]]()
        plan = refinement(FakeJudge())

        def keep(query: str, order: RefinedPoolOrder, kept: list[tuple[str, RefinedPoolOrder]] = results) -> None:
            kept.append((query, order))

        hooks = RefinementListener(progress=told.append, finished=keep)
        found = run(plan, pools(3), logs=logs(plan, tmp_path), hooks=hooks)
        assert sum(told) == sum(len(refined(found, query).calls) for query in found)
        assert dict(results) == found
        assert len(results) == 3


def test_duplicates_and_small_pools() -> None:
    """Of several passages with one id the first counts; fewer than a batch are not judged."""
    rows = [
        (PoolPassage(name, grade, i), Passage(name, name))
        for i, (name, grade) in enumerate([("a", 2), ("b", 5), ("a", 5)])
    ]
    pool = QuestionCandidatePool.of(Question("Q", "?"), rows)
    empty = QuestionCandidatePool.of(Question("E", "?"), [])
    judge = FakeJudge()
    found = run(refinement(judge), [pool, empty])
    assert [pool.ids[i] for i in refined(found, "Q").ranking.order] == ["b", "a"]
    assert refined(found, "E").ranking.order == ()
    assert not judge.asked


SCRIPT = """
import asyncio, sys, time
from pathlib import Path
sys.path.insert(0, {tests!r})
from importlib.util import module_from_spec, spec_from_file_location
spec = spec_from_file_location("test_refinement", {module!r})
test = module_from_spec(spec); sys.modules["test_refinement"] = test; spec.loader.exec_module(test)

class Slow(test.FakeJudge):
    async def order(self, *args, **more):
        await asyncio.sleep(0.01)
        return await super().order(*args, **more)

judge = Slow()
plan = test.refinement(judge, test.Pairs())
logs = test.logs(plan, Path({folder!r}))
found = test.run(plan, test.pools(3), logs=logs)
print(len(judge.asked))
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL")
def test_kill_9_loses_nothing_that_was_kept(tmp_path: Path) -> None:
    """A process killed at any moment leaves logs from which the next one ends as if nothing had happened."""
    code = SCRIPT.format(tests=str(Path(__file__).parents[3]), module=__file__, folder=str(tmp_path))
    for _ in range(2):
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        before = size(tmp_path)
        deadline = time.monotonic() + 60
        while size(tmp_path) < before + 500 and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.002)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()  # type: ignore[union-attr]
    judge = FakeJudge()
    plan, warnings = refinement(judge, Pairs()), list[str]()
    kept = sum(len(log.entries) for log in logs(plan, tmp_path, warnings).values())
    found = run(plan, pools(3), logs=logs(plan, tmp_path, warnings))
    reference = FakeJudge()
    assert found == run(refinement(reference, Pairs()), pools(3))
    assert not warnings
    assert kept >= 4
    assert len(judge.asked) == len(reference.asked) - kept


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("*.jsonl"))
