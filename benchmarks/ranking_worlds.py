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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from time import perf_counter
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.rag.ranking import Call, Candidate, Engine, Ranker, Ranking
from embassay.randomness import generator

Floats = NDArray[np.float64]
Shape = Literal["normal", "uniform", "heavy", "clustered"]
Noise = Literal["gaussian", "gumbel"]

CENTRES, SPREAD = 6, 0.2
"""Clustered utilities: so many centres, drawn anew for each pool, and the deviation around them."""
USUAL_GRADES, NOISY_GRADES = 0.5, 1.2
"""Standard deviation of a grader, in units of utility."""
BIAS = 0.2
"""A judge with a bias for places adds this to what is shown first, and takes it from what is shown last."""


@dataclass(frozen=True)
class World:
    """How pools of `n` candidates with `top` places that matter are drawn, and how their judge orders them.

    `grader` is the standard deviation of the grades' noise, None where there are no grades. `bias` is what the first
    place shown gains and the last one loses; `random` the share of answers that are any order at all.
    """

    name: str
    n: int = 40
    top: int = 20
    utilities: Shape = "normal"
    grader: float | None = USUAL_GRADES
    noise: Noise = "gaussian"
    bias: float = 0.0
    random: float = 0.0


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
    )
}
DISAGREEMENTS = (0.03, 0.10, 0.20)


@dataclass(frozen=True)
class Pool:
    """Candidates of one query with their true utilities (n,)."""

    id: str
    world: World
    candidates: tuple[Candidate, ...]
    utilities: Floats

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
    if shape == "clustered":
        centres = rng.standard_normal((pools, CENTRES))
        chosen = np.take_along_axis(centres, rng.integers(0, CENTRES, (pools, n)), axis=1)
        return (chosen + SPREAD * rng.standard_normal((pools, n))) / np.sqrt(1 + SPREAD**2)
    return rng.standard_normal((pools, n))


def draw_pool(world: World, seed: int) -> Pool:
    """Pool number `seed` of a world. Fusion ranks say nothing: they are the order in which utilities were drawn."""
    rng = generator(seed, "ranking world", world.name, "pool")
    utilities = draw_utilities(world.utilities, rng, 1, world.n)[0]
    grades: list[int | None] = [None] * world.n
    if world.grader is not None:
        noisy = 3 + utilities + world.grader * rng.standard_normal(world.n)
        grades = [int(grade) for grade in np.clip(np.round(noisy), 1, 5)]
    candidates = tuple(Candidate(f"d{i:02d}", grade, i + 1) for i, grade in enumerate(grades))
    return Pool(f"{world.name} {seed}", world, candidates, utilities)


@lru_cache
def noise_scale(utilities: Shape, noise: Noise, disagreement: float) -> float:
    """The scale of the noise with which so large a share of pairs of one pool is judged the wrong way round."""
    if disagreement == 0:
        return 0.0
    rng = generator(0, "ranking world", "calibration", utilities, noise)
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
    """Orders candidates of one pool by their utility and fresh noise of this `scale`."""

    def __init__(self, pool: Pool, scale: float, seed: int) -> None:
        self._pool, self._scale = pool, scale
        self._rng = generator(seed, "ranking world", pool.id, "judge", f"{scale:.9g}")

    def answer(self, shown: Sequence[int]) -> Call:
        """The positions `shown`, best first."""
        world, rng, m = self._pool.world, self._rng, len(shown)
        noise = rng.gumbel(size=m) if world.noise == "gumbel" else rng.standard_normal(m)
        seen = (
            self._pool.utilities[list(shown)] + self._scale * noise + np.linspace(world.bias, -world.bias, m)
        )
        if world.random and rng.random() < world.random:
            seen = rng.random(m)
        return Call(tuple(shown), tuple(shown[place] for place in np.argsort(-seen, kind="stable")))


@dataclass(frozen=True)
class Look:
    """How good an order was after `calls` answers, looked at when `at` calls were allowed.

    `tau` is Kendall's over the pool, `tau_inside` that of the members of the true top, `overlap` the share of the
    true top that is in the engine's, `set_errors` how many are not; `claims` are the engine's own.
    """

    at: int
    calls: int
    tau: float
    tau_inside: float
    overlap: float
    set_errors: int
    claims: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Played:
    """What came of a pool: looks in the order of `at`, the last of them at the end; `seconds` of the engine alone,
    for all pools that were played with it."""

    pool: Pool
    looks: tuple[Look, ...]
    calls: tuple[Call, ...]
    ranking: Ranking
    seconds: float

    @property
    def final(self) -> Look:
        """The last look."""
        return self.looks[-1]


def play(
    engine: Engine,
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
    engine: Engine,
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
        engine: Engine,
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
        self.ranker: Ranker = engine.start(pool.candidates, query=pool.id, top=world.top, seed=seed)
        self._judge = SimulatedJudge(pool, scale, seed)
        self._calls: list[Call] = []
        self._due = sorted(set(at))
        self._looks: list[Look] = []
        self._truth = pool.truth

    def round(self, clock: _Clock) -> bool:
        """Ask one round of proposals; false when there is none, or no call left for it."""
        shown = clock.time(self.ranker.proposals)
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
        self._looks.append(look(ranking, self.pool.utilities, self.pool.world.top, at, len(self._calls)))


def look(ranking: Ranking, utilities: Floats, top: int, at: int = 0, calls: int = 0) -> Look:
    """How good a ranking of a pool is whose utilities are known."""
    best = np.argsort(-utilities, kind="stable")[:top]
    place = np.empty(len(utilities), dtype=np.intp)
    place[list(ranking.order)] = np.arange(len(utilities))
    found = int(np.count_nonzero(place[best] < top))
    return Look(
        at, calls, kendall(place, utilities), kendall(place[best], utilities[best]),
        found / len(best), len(best) - found, dict(ranking.claims),
    )  # fmt: skip


def kendall(places: NDArray[np.intp], utilities: Floats) -> float:
    """Kendall's tau of places (n,), 0 = best, with utilities (n,), neither of which has ties."""
    n = len(places)
    agree = np.sign(places[None, :] - places[:, None]) * np.sign(utilities[:, None] - utilities[None, :])
    return float(agree.sum() / (n * (n - 1)))
