"""Simulated pools and judges on which the ranking engines of `embassay.protocols.rag.ranking` are compared.

A world says how utilities, grades and the judge are drawn. Utilities have variance 1 over all pools. A grade is
clip(round(3 + u + sd x normal), 1, 5), and the judge orders what it is shown by u + noise, fresh in every answer. The
noise is scaled so that a given share of the pairs of a pool is judged the wrong way round, by bisection on all pairs
of 1,000 simulated pools of 40. Bias by place and random answers come on top of it, and are not counted in that share.

Everything is drawn from `embassay.randomness` by the names of the world and what is drawn: pool 7 of a world has the
same utilities at every disagreement and for every engine. `play` lets an engine order one pool, `play_together`
several in lockstep rounds, as a golden set does, so that an engine can share what it learns of the judge.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.rag.ranking import CandidateRanking, JudgeOrderAnswer, PoolPassage, PoolRanker, RankingEngine
from embassay.randomness import make_seeded_generator

Floats = NDArray[np.float64]
Shape = Literal["normal", "uniform", "heavy", "clustered", "skewed", "few", "duplicates"]
Noise = Literal["gaussian", "gumbel"]
Habit = Literal[
    "fresh", "intransitive", "half fixed", "context", "two minds", "hard passages", "coarse", "levels", "blind",
    "one", "own order", "panel", "pairs",
]  # fmt: skip
"""How a judge comes to its answer; see `SimulatedJudge`. The last four draw on grades by real judges."""

CENTRES, SPREAD = 6, 0.2
"""Clustered utilities: so many centres, drawn anew for each pool, and the deviation around them."""
USUAL_GRADES, NOISY_GRADES = 0.5, 1.2
"""Standard deviation of a grader, in units of utility."""
BIAS = 0.2
"""A judge with a bias for places adds this to what is shown first, and takes it from what is shown last."""
RELEVANT = 0.1
"""In skewed pools, the share of passages above the lowest grade."""
COPIES, APART = 4, 0.05
"""Near-duplicates: so many of each passage, their utilities this far apart."""


@dataclass(frozen=True)
class World:
    """How pools of `n` candidates with `top` places that matter are drawn, and how their judge orders them.

    `grader` is the standard deviation of the grades' noise, None where there are no grades. `bias` is what the first
    place shown gains and the last one loses; of answers, `random` are any order at all, `lazy` that in which passages
    were shown, and `reversed` are given worst first. `taste` is the deviation of what the judge always adds to a
    passage, whoever it is shown with.
    """

    name: str
    n: int = 40
    top: int = 20
    utilities: Shape = "normal"
    grader: float | None = USUAL_GRADES
    noise: Noise = "gaussian"
    bias: float = 0.0
    random: float = 0.0
    lazy: float = 0.0
    reversed: float = 0.0
    taste: float = 0.0
    habit: Habit = "fresh"


WORLDS: Mapping[str, World] = {
    world.name: world
    for world in (
        World("normal"),
        World("gumbel", noise="gumbel"),
        World("uniform", utilities="uniform"),
        World("heavy", utilities="heavy"),
        World("clustered", utilities="clustered"),
        World("noisy grades", grader=NOISY_GRADES),
        World("no grades", grader=None),
        World("position bias", bias=BIAS),
        World("random answers", random=0.05),
        World("n=20", n=20, top=10),
        World("n=80", n=80),
        World("skewed", utilities="skewed"),
        World("few relevant", utilities="few"),
        World("duplicates", utilities="duplicates"),
    )
}
ODD: Mapping[str, World] = {
    world.name: world
    for world in (
        World("intransitive", habit="intransitive"),
        World("taste", taste=0.5),
        World("coarse", habit="coarse"),
        World("primacy", bias=0.8),
        World("lazy", lazy=0.3),
        World("half fixed", habit="half fixed"),
        World("context", habit="context"),
        World("two minds", habit="two minds", taste=0.5),
        World("hard passages", habit="hard passages"),
        World("levels", habit="levels"),
        World("blind below", habit="blind"),
        World("last and taste", bias=-0.4, taste=0.5),
        World("reversed", reversed=0.1),
    )
}
"""Judges that are not as `bayes` believes them to be: the first five known to make it boast, the others new."""
REAL: Mapping[str, World] = {
    world.name: world
    for world in (
        World("real: one", habit="one"),
        World("real: own order", habit="own order"),
        World("real: panel", habit="panel"),
        World("real: pairs", habit="pairs"),
    )
}
"""Judges resampled from the grades that 33 files of language models gave to the same passages."""
ALL = {**WORLDS, **ODD, **REAL}
LOGS = Path(__file__).parents[2] / "shared" / "data" / "llm" / "judge_llmjudge2024.jsonl.gz"
DISAGREEMENTS = (0.03, 0.10, 0.20)


@dataclass(frozen=True)
class Pool:
    """Candidates of one query with their true utilities (n,)."""

    id: str
    world: World
    candidates: tuple[PoolPassage, ...]
    utilities: Floats
    panel: Floats | None = None
    """Grades (files, n) of those that take turns as the judge; None but for real ones."""

    @property
    def truth(self) -> NDArray[np.intp]:
        """Positions by utility, best first."""
        return np.argsort(-self.utilities, kind="stable")


def draw_utilities(shape: Shape, rng: np.random.Generator, pools: int, n: int) -> Floats:
    """Utilities of variance 1, (pools, n)."""
    if shape == "uniform":
        return rng.uniform(-np.sqrt(3), np.sqrt(3), (pools, n))
    if shape == "heavy":
        return rng.standard_t(3, (pools, n)) / np.sqrt(3)
    if shape == "skewed":
        return (rng.lognormal(0, 1, (pools, n)) - np.exp(0.5)) / np.sqrt((np.e - 1) * np.e)
    if shape == "few":
        relevant = np.arange(n) < round(RELEVANT * n)
        found = rng.standard_normal((pools, n)) * np.where(relevant, 0.5, 0.35) + np.where(relevant, 2.5, 0)
        return rng.permuted((found - 0.25) / 0.84, axis=1)
    if shape == "duplicates":
        kinds = np.repeat(rng.standard_normal((pools, -(-n // COPIES))), COPIES, axis=1)[:, :n]
        return rng.permuted(kinds + APART * rng.standard_normal((pools, n)), axis=1)
    if shape == "clustered":
        centres = rng.standard_normal((pools, CENTRES))
        chosen = np.take_along_axis(centres, rng.integers(0, CENTRES, (pools, n)), axis=1)
        return (chosen + SPREAD * rng.standard_normal((pools, n))) / np.sqrt(1 + SPREAD**2)
    return rng.standard_normal((pools, n))


def draw_pool(world: World, seed: int) -> Pool:
    """Pool number `seed` of a world. Fusion ranks say nothing: they are the order in which utilities were drawn."""
    if world.name in REAL:
        return _real_pool(world, seed)
    rng = make_seeded_generator(seed, "ranking world", world.name, "pool")
    utilities = draw_utilities(world.utilities, rng, 1, world.n)[0]
    grades: list[int | None] = [None] * world.n
    if world.grader is not None:
        noisy = 3 + utilities + world.grader * rng.standard_normal(world.n)
        grades = [int(grade) for grade in _graded(world, noisy)]
    candidates = tuple(PoolPassage(f"d{i:02d}", grade, i + 1) for i, grade in enumerate(grades))
    return Pool(f"{world.name} {seed}", world, candidates, utilities)


def _real_pool(world: World, seed: int) -> Pool:
    """Passages of a query of the logs: the best graded of 60 drawn, by one file of a group of related ones; the others
    of the group are the panel that judges. Utilities are people's grades."""
    rng = make_seeded_generator(seed, "ranking world", world.name, "pool")
    graders, queries = _logs()
    human, grades = queries[rng.integers(len(queries))]
    groups = np.array([name.split("-")[0] for name in graders])
    files = rng.permutation(np.flatnonzero(groups == rng.choice(np.unique(groups))))
    drawn = rng.permutation(len(human))[:60]
    grader = grades[files[0], drawn] + 1
    drawn = drawn[np.argsort(-grader, kind="stable")][: world.n]
    drawn = rng.permutation(drawn)
    candidates = tuple(
        PoolPassage(f"d{i:02d}", int(grade), i + 1) for i, grade in enumerate(grades[files[0], drawn] + 1)
    )
    utilities = human[drawn] + 1e-3 * rng.standard_normal(len(drawn))
    return Pool(f"{world.name} {seed}", world, candidates, utilities, grades[files[1:]][:, drawn])


@lru_cache
def _logs() -> tuple[list[str], list[tuple[Floats, Floats]]]:
    """Names of the 33 files, and for each query people's grades (passages,) and those (files, passages), 0 to 3."""
    with gzip.open(LOGS, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    graders = sorted({f"{row['judge']} {row['run']}" for row in rows})
    by_query: dict[str, dict[str, dict[str, float]]] = {}
    for row in rows:
        passage = by_query.setdefault(row["query_id"], {}).setdefault(row["doc_id"], {"": row["human_grade"]})
        passage[f"{row['judge']} {row['run']}"] = min(row["llm_grade"], 3)
    found = []
    for query in sorted(by_query):
        passages = [by_query[query][one] for one in sorted(by_query[query])]
        human = np.array([one[""] for one in passages], dtype=np.float64)
        found.append((human, np.array([[one[name] for one in passages] for name in graders], dtype=np.float64)))
    return graders, found


def _graded(world: World, noisy: Floats) -> NDArray[np.int64]:
    """Grades 1 to 5 of what the grader saw; in skewed pools nine tenths have the lowest, the others share the rest."""
    if world.utilities not in ("skewed", "few"):
        return np.clip(np.round(noisy), 1, 5).astype(np.int64)
    places = np.argsort(np.argsort(-noisy, kind="stable"))
    relevant = round(RELEVANT * world.n)
    return np.where(places < relevant, 5 - 4 * places // relevant, 1)


@lru_cache
def noise_scale(utilities: Shape, noise: Noise, disagreement: float) -> float:
    """The scale of the noise with which so large a share of pairs of one pool is judged the wrong way round."""
    if disagreement == 0:
        return 0.0
    rng = make_seeded_generator(0, "ranking world", "calibration", utilities, noise)
    pools = draw_utilities(utilities, rng, 1000, 40)
    first, second = np.triu_indices(40, 1)
    gaps = pools[:, first] - pools[:, second]
    low, high = 0.0, 5.0
    for _ in range(25):
        middle = (low + high) / 2
        wrong = flip_probability(gaps, noise, middle).mean()
        low, high = (middle, high) if wrong < disagreement else (low, middle)
    return (low + high) / 2


def flip_probability(gaps: Floats, noise: Noise, scale: float) -> Floats:
    """How probable it is that noise of this scale turns a pair with such a difference of utilities."""
    from scipy.special import expit, ndtr

    size = np.abs(gaps) / scale
    return expit(-size) if noise == "gumbel" else ndtr(-size / np.sqrt(2))


class SimulatedJudge:
    """Orders candidates of one pool by what it likes and noise of this `scale`.

    What is fixed is drawn once for the pool: `taste` of each passage, and one number e for each pair, with e of (j, i)
    the negative of e of (i, j). By habit: "fresh" adds noise anew in every answer. "intransitive" puts i before j where
    their difference and e say so, and orders a batch by wins, then by margins; "half fixed" does with half of the noise
    fresh; "context" adds to each passage the mean e with those beside it. "two minds" has two tastes, and takes either.
    "hard passages" have noise of different size. "coarse" sees only in which quarter what it likes falls, after noise;
    "levels" in which fifth, with an error of its own that stays; "blind" finds all below the mean alike. Of real ones,
    "one" orders by one file's grades and leaves equals as they are shown, "own order" breaks ties by the whole panel's
    mean, "panel" takes any file for each answer, "pairs" one file for each pair, for good.
    """

    def __init__(self, pool: Pool, scale: float, seed: int) -> None:
        world = pool.world
        self._pool, self._scale, n = pool, scale, len(pool.utilities)
        self._rng = make_seeded_generator(seed, "ranking world", pool.id, "judge", f"{scale:.9g}")
        fixed = make_seeded_generator(seed, "ranking world", pool.id, "habits", f"{scale:.9g}")
        self._likes = pool.utilities + world.taste * fixed.standard_normal((2, n))
        upper = np.triu(fixed.standard_normal((n, n)), 1)
        self._pairs = scale * np.sqrt(2) * (upper - upper.T)
        self._sizes = np.exp(0.7 * fixed.standard_normal(n))
        if world.habit == "levels":
            own = self._likes[0] + scale * fixed.standard_normal(n)
            self._likes[:] = _level(own, 5)
        elif world.habit == "blind":
            self._likes[:] = np.maximum(self._likes, 0)
        elif pool.panel is not None:
            self._real(pool.panel, fixed)

    def _real(self, panel: Floats, fixed: np.random.Generator) -> None:
        files, n = panel.shape
        self._likes[:] = panel[fixed.integers(files)]
        if self._pool.world.habit == "own order":
            self._likes += 0.01 * (panel.mean(axis=0) + 0.01 * fixed.standard_normal(n))
        chosen = np.triu(fixed.integers(files, size=(n, n)), 1)
        margins = np.take_along_axis(panel[:, :, None] - panel[:, None, :], (chosen + chosen.T)[None], axis=0)[0]
        self._margins = margins + 0.01 * self._pairs / (np.abs(self._pairs).max() or 1.0)

    @property
    def stable(self) -> Floats:
        """Scores (n,) of the judge's own stable order: what it likes where its noise is fresh, else the mean share of
        the others that it puts a passage before."""
        habit, likes, scale = self._pool.world.habit, self._likes, max(self._scale, 1e-9)
        gaps = likes[:, :, None] - likes[:, None, :]
        if habit == "intransitive":
            return _share(gaps[0] + self._pairs, 0.0)
        if habit == "half fixed":
            return _share(gaps[0] + self._pairs / np.sqrt(2), scale)
        if habit == "context":
            mean = self._pairs.mean(axis=1)
            return _share(gaps[0] + self._pairs + 1.5 * (mean[:, None] - mean[None, :]), scale * 3**0.5)
        if habit == "two minds":
            return (_share(gaps[0], scale * 2**0.5) + _share(gaps[1], scale * 2**0.5)) / 2
        if habit == "hard passages":
            return _share(gaps[0], scale * np.hypot(self._sizes[:, None], self._sizes[None, :]))
        if habit == "panel":
            return np.mean([_share(one[:, None] - one[None, :], 0.0) for one in self._pool.panel], axis=0)
        return _share(self._margins, 0.0) if habit == "pairs" else likes[0]

    def answer(self, shown: Sequence[int]) -> JudgeOrderAnswer:
        """The positions `shown`, best first."""
        world, rng, m = self._pool.world, self._rng, len(shown)
        noise = rng.gumbel(size=m) if world.noise == "gumbel" else rng.standard_normal(m)
        seen = self._seen(list(shown), noise) + np.linspace(world.bias, -world.bias, m)
        if world.random and rng.random() < world.random:
            seen = rng.random(m)
        if world.lazy and rng.random() < world.lazy:
            seen = -np.arange(m)
        if world.reversed and rng.random() < world.reversed:
            seen = -seen
        return JudgeOrderAnswer(tuple(shown), tuple(shown[place] for place in np.argsort(-seen, kind="stable")))

    def _seen(self, shown: list[int], noise: Floats) -> Floats:
        """How it finds each of those shown, (m,)."""
        habit, rng, m = self._pool.world.habit, self._rng, len(shown)
        likes, pairs = self._likes[0, shown], self._pairs[np.ix_(shown, shown)]
        if habit == "intransitive":
            return _wins(likes[:, None] - likes[None, :] + pairs)
        if habit == "half fixed":
            now = likes + self._scale * noise / np.sqrt(2)
            return _wins(now[:, None] - now[None, :] + pairs / np.sqrt(2))
        if habit == "context":
            return likes + pairs.sum(axis=1) / 2
        if habit == "two minds":
            likes = self._likes[rng.integers(2), shown]
        if habit == "coarse":
            return _level(likes + self._scale * noise, 4) + 1e-3 * rng.random(m)
        if habit == "levels":
            return likes + 1e-3 * rng.random(m)
        if habit == "one" or habit == "own order":
            return likes
        if habit == "panel":
            return self._pool.panel[rng.integers(len(self._pool.panel)), shown] + 1e-3 * rng.random(m)
        if habit == "pairs":
            return _wins(self._margins[np.ix_(shown, shown)])
        return likes + self._scale * noise * (self._sizes[shown] if habit == "hard passages" else 1.0)


def _wins(margins: Floats) -> Floats:
    """Scores (m,) by wins, then by margins (m, m)."""
    return np.asarray((margins > 0).sum(axis=1) + 1e-3 * margins.sum(axis=1))


def _share(gaps: Floats, noise: Floats | float) -> Floats:
    """The mean share of others (n,) that a passage is put before, whose lead over them is `gaps` (n, n) and normal
    noise of this deviation; equals share."""
    from scipy.special import ndtr

    if not np.any(noise):
        return np.asarray(np.sign(gaps).mean(axis=1))
    return np.asarray(ndtr(gaps / noise).mean(axis=1))


def _level(values: Floats, levels: int) -> Floats:
    """In which of so many equal parts of a standard normal values lie, 0 the lowest."""
    from scipy.special import ndtr

    return np.floor(ndtr(values) * levels)


@dataclass(frozen=True)
class Look:
    """How good an order was after `calls` answers, looked at when `at` calls were allowed.

    `tau` is Kendall's over the pool, `tau_inside` that of the members of the true top, `overlap` the share of the
    true top that is in the engine's, `set_errors` how many are not, `overlap_5` the share of the first five.
    `own_within_1` is the chance that at most one of the engine's top is not in that of the judge's own stable order,
    in which equals are ordered by lot; `claims` and `doubts` are the engine's own.
    """

    at: int
    calls: int
    tau: float
    tau_inside: float
    overlap: float
    set_errors: int
    overlap_5: float = 0.0
    own_within_1: float = 0.0
    claims: Mapping[str, float] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Played:
    """What came of a pool: looks in the order of `at`, the last of them at the end; `seconds` of the engine alone,
    for all pools that were played with it."""

    pool: Pool
    looks: tuple[Look, ...]
    calls: tuple[JudgeOrderAnswer, ...]
    ranking: CandidateRanking
    seconds: float

    @property
    def final(self) -> Look:
        """The last look."""
        return self.looks[-1]


def play(
    engine: RankingEngine,
    pool: Pool,
    disagreement: float,
    *,
    max_calls: int,
    at: Sequence[int] = (),
    seed: int = 0,
    scale: float | None = None,
) -> Played:
    """One pool alone: see `play_together`."""
    return play_together(
        engine, [pool], disagreement, max_calls=max_calls, at=at, seed=seed, scale=scale
    )[0]  # fmt: skip


def play_together(
    engine: RankingEngine,
    pools: Sequence[Pool],
    disagreement: float,
    *,
    max_calls: int,
    at: Sequence[int] = (),
    seed: int = 0,
    scale: float | None = None,
) -> list[Played]:
    """Let `engine` order the pools, one round of proposals of each at a time, until it is done or a pool has had
    `max_calls`.

    The order is looked at as it stood with at most so many calls as `at` says, for each, and at the end. `seed` names
    the streams of judge and engine; `scale` is the judge's noise, by default that of the `disagreement`.
    """
    games = [_Game(engine, pool, disagreement, max_calls, at, seed, scale) for pool in pools]
    rankers = {game.pool.id: game.ranker for game in games}
    clock = _Clock()
    going = games
    while going:
        going = [game for game in going if game.round(clock)]
        if going:
            clock.time(lambda: engine.share(rankers))
    return [game.played(clock.seconds) for game in games]


class _Clock:
    """Adds up what an engine's own work takes."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def time(self, work: Callable[[], object]) -> object:
        begun = perf_counter()
        result = work()
        self.seconds += perf_counter() - begun
        return result


class _Game:
    """One pool while it is played."""

    def __init__(
        self,
        engine: RankingEngine,
        pool: Pool,
        disagreement: float,
        max_calls: int,
        at: Sequence[int],
        seed: int,
        scale: float | None,
    ) -> None:
        world = pool.world
        if scale is None:
            scale = noise_scale(world.utilities, world.noise, disagreement)
        self.pool, self.max_calls = pool, max_calls
        self.ranker: PoolRanker = engine.start(pool.candidates, query=pool.id, top=world.top, seed=seed)
        self._judge = SimulatedJudge(pool, scale, seed)
        self._calls: list[JudgeOrderAnswer] = []
        self._due = sorted(set(at))
        self._looks: list[Look] = []

    def round(self, clock: _Clock) -> bool:
        """Ask one round of proposals; false when there is none, or no call left for it."""
        shown = clock.time(self.ranker.propose_batches)
        wanted = len(self._calls) + len(shown)  # type: ignore[arg-type]
        over = not shown or wanted > self.max_calls
        while self._due and (over or self._due[0] < wanted):
            self._look(self._due.pop(0))
        if over:
            return False
        answers = [self._judge.answer(one) for one in shown]  # type: ignore[attr-defined]
        self._calls += answers
        clock.time(lambda: self.ranker.learn(answers))
        return True

    def played(self, seconds: float) -> Played:
        self._look(self.max_calls)
        return Played(self.pool, tuple(self._looks), tuple(self._calls), self.ranker.ranking(), seconds)

    def _look(self, at: int) -> None:
        ranking = self.ranker.ranking()
        pool, calls = self.pool, len(self._calls)
        self._looks.append(look(ranking, pool.utilities, pool.world.top, at, calls, self._judge.stable))


def look(
    ranking: CandidateRanking, utilities: Floats, top: int, at: int = 0, calls: int = 0, stable: Floats | None = None
) -> Look:
    """How good a ranking of a pool is whose utilities are known, and the scores (n,) of the judge's `stable` order,
    where it is another."""
    best = np.argsort(-utilities, kind="stable")[:top]
    place = np.empty(len(utilities), dtype=np.intp)
    place[list(ranking.order)] = np.arange(len(utilities))
    found = int(np.count_nonzero(place[best] < top))
    return Look(
        at, calls, kendall(place, utilities), kendall(place[best], utilities[best]),
        found / len(best), len(best) - found,
        len(set(ranking.order[:5]) & set(np.argsort(-utilities, kind="stable")[:5])) / 5,
        own_within(1, ranking.order[:top], utilities if stable is None else stable, top),
        dict(ranking.claims), ranking.doubts,
    )  # fmt: skip


def own_within(errors: int, chosen: Sequence[int], stable: Floats, top: int) -> float:
    """The chance that at most so many of the `top` that were chosen are not among the first by scores (n,), where
    equals are ordered by lot."""
    from scipy.stats import hypergeom

    last = np.sort(stable)[::-1][top - 1]
    mine = stable[list(chosen)]
    above, equal = np.count_nonzero(stable > last), np.count_nonzero(stable == last)
    wanted = top - errors - np.count_nonzero(mine > last)
    return float(hypergeom.sf(wanted - 1, equal, np.count_nonzero(mine == last), top - above))


def kendall(places: NDArray[np.intp], utilities: Floats) -> float:
    """Kendall's tau of places (n,), 0 = best, with utilities (n,), neither of which has ties."""
    n = len(places)
    agree = np.sign(places[None, :] - places[:, None]) * np.sign(utilities[:, None] - utilities[None, :])
    return float(agree.sum() / (n * (n - 1)))
