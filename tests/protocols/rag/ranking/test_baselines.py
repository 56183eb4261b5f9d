"""The two engines that the others must beat, and what all engines have in common."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from embassay.errors import UsageError
from embassay.protocols.rag.ranking import JudgeOrderAnswer, PoolPassage
from embassay.protocols.rag.ranking.engines import (
    ENGINES,
    GradeRankingEngine,
    SingleShotRankingEngine,
    orders_exactly_shown_batch,
)

POOL = [PoolPassage("c", 3, 3), PoolPassage("a", 5, 2), PoolPassage("b", 3, 1), PoolPassage("d", None, 4)]
SPECS = ["grades", "single_shot", "single_shot:shown=shuffled", "locks", "locks:batch=4,stability_turns=3", "bayes"]


def pool(n: int) -> list[PoolPassage]:
    return [PoolPassage(f"d{i:02d}", 1 + i % 5, i + 1) for i in range(n)]


def backwards(shown: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(shown, reverse=True))


def test_grades_ask_nobody() -> None:
    """By grade, then rank; who has no grade stands by the mean of the others, 3.67 here."""
    ranker = GradeRankingEngine().start(POOL, query="q", top=2, seed=1)
    assert not ranker.propose_batches()
    ranking = ranker.ranking()
    assert [POOL[i].id for i in ranking.order] == ["a", "d", "b", "c"]
    assert ranking.scores == (3.0, 5.0, 3.0, pytest.approx(11 / 3))
    assert ranking.exposures == (0, 0, 0, 0)
    with pytest.raises(ValueError, match="answers to"):
        ranker.learn([JudgeOrderAnswer((0, 1), (1, 0))])


@pytest.mark.parametrize(("shown", "ids"), [("fusion", "bacd"), ("grades", "adbc")])
def test_a_single_answer_orders_all(shown: str, ids: str) -> None:
    """One proposal holds the whole pool, in the order asked for, and its answer is the ranking."""
    ranker = ENGINES.build(f"single_shot:shown={shown}").start(POOL, query="q", top=2, seed=1)
    (proposal,) = ranker.propose_batches()
    assert "".join(POOL[i].id for i in proposal) == ids
    assert [POOL[i].id for i in ranker.ranking().order] == ["a", "d", "b", "c"]
    ranker.learn([JudgeOrderAnswer(proposal, (2, 0, 3, 1))])
    ranking = ranker.ranking()
    assert not ranker.propose_batches()
    assert ranking.order == (2, 0, 3, 1)
    assert ranking.scores == (3.0, 1.0, 4.0, 2.0)
    assert ranking.stopped == "once"


def test_a_shuffled_single_shot_depends_on_the_seed() -> None:
    """Repeats of it show the pool in other orders, the same for one seed."""
    engine = SingleShotRankingEngine(shown="shuffled")
    proposals = [engine.start(pool(30), query="q", top=20, seed=seed).propose_batches()[0] for seed in (1, 1, 2)]
    assert proposals[0] == proposals[1] != proposals[2]
    assert sorted(proposals[2]) == list(range(30))


@pytest.mark.parametrize("n", [0, 1])
def test_nothing_is_asked_of_less_than_two(n: int) -> None:
    """An empty pool, or one passage, needs no judge."""
    ranker = SingleShotRankingEngine().start(pool(n), query="q", top=20, seed=1)
    assert not ranker.propose_batches()
    assert ranker.ranking().order == tuple(range(n))
    assert ranker.ranking().stopped == "few"


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("n", [0, 1, 4, 6, 30])
def test_what_every_engine_does(spec: str, n: int) -> None:
    """Whatever the size of the pool: proposals are disjoint batches of candidates, the ranking holds all of them, and
    the same seed and answers lead to the same proposals and ranking."""
    rankers = [ENGINES.build(spec).start(pool(n), query="q", top=20, seed=3) for _ in range(2)]
    engine = ENGINES.build(spec)
    for _ in range(60):
        shown = rankers[0].propose_batches()
        assert list(rankers[1].propose_batches()) == list(shown)
        places = [position for batch in shown for position in batch]
        assert len(set(places)) == len(places)
        assert set(places) <= set(range(n))
        assert rankers[0].ranking() == rankers[1].ranking()
        ranking = rankers[0].ranking()
        assert sorted(ranking.order) == list(range(n))
        assert len(ranking.scores) == len(ranking.exposures) == len(ranking.info) == n
        assert bool(ranking.stopped) == (not shown)
        if not shown:
            break
        for ranker in rankers:
            ranker.learn([JudgeOrderAnswer(batch, backwards(batch)) for batch in shown])
        for ranker in rankers:
            engine.share({"q": ranker})


@pytest.mark.parametrize("spec", SPECS)
def test_names_are_read_back(spec: str) -> None:
    """An engine's name makes the same engine."""
    engine = ENGINES.build(spec)
    assert ENGINES.build(engine.name).name == engine.name
    assert engine.name.partition(":")[0] == spec.partition(":")[0]


def test_wrong_names_get_the_nearest() -> None:
    """A mistyped engine or option is answered with what it may have meant."""
    with pytest.raises(UsageError, match=r"no engine called 'lock'\. Did you mean locks"):
        ENGINES.build("lock")
    with pytest.raises(UsageError, match=r"no parameter 'stabilty_turns'\. Did you mean stability_turns\?"):
        ENGINES.build("locks:stabilty_turns=5")
    with pytest.raises(UsageError, match="needs batch as int, found 'many'"):
        ENGINES.build("locks:batch=many")
    with pytest.raises(UsageError, match="no shown 'any'"):
        ENGINES.build("single_shot:shown=any")


def test_an_answer_orders_what_was_shown() -> None:
    """Neither fewer, nor others, nor one twice, nor in another order shown."""
    assert orders_exactly_shown_batch((3, 1, 2), JudgeOrderAnswer((3, 1, 2), (1, 2, 3)))
    for call in (
        JudgeOrderAnswer((3, 1, 2), (1, 2)), JudgeOrderAnswer((3, 1, 2), (1, 2, 4)),
        JudgeOrderAnswer((3, 1, 2), (1, 1, 2)), JudgeOrderAnswer((1, 2, 3), (1, 2, 3)),
    ):  # fmt: skip
        assert not orders_exactly_shown_batch((3, 1, 2), call)
