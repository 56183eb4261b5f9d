"""The parameters of the `bayes` engine."""

from __future__ import annotations

from dataclasses import dataclass

from embassay.errors import UsageError


@dataclass(frozen=True)
class Options:
    """How to ask and when to stop; what follows from it for a pool is in `Limits`.

    `batch` passages are shown at a time, `at_once` disjoint batches asked per round. Of answers, `random` are thought
    to be any order at all; `bias` is how far a bias for places may reach, in standard deviations of utility (0: none is
    thought of). A batch is worth its information as a share of log batch!, plus `border` times the wrong pairs across
    the border of the top set that it should mend. `gamma` sharpens the weights of hyper-parameters. No more than `cap`
    calls per passage are asked for batches of 5, fewer for larger ones. With `stop`, asking ends before when the claims
    reach `surely`, `overlap` and `tau` at two looks in a row. With `share`, queries share what they learn of the judge.
    """

    batch: int = 5
    at_once: int = 1
    cap: float = 0.9
    stop: bool = True
    surely: float = 0.9
    overlap: float = 0.97
    tau: float = 0.94
    share: bool = True
    random: float = 0.02
    bias: float = 0.3
    border: float = 0.6
    gamma: float = 1.0
    draws: int = 400

    def __post_init__(self) -> None:
        for name, low, high in _RANGES:
            value = getattr(self, name)
            if not low <= value <= high:
                raise UsageError(
                    f"The ranking engine 'bayes' needs {name} from {low:g} to {high:g}, found {value!r}.",
                    mend=f"Give a {name} in that range, or none for {getattr(Options, name)!r}.",
                )

    def limits(self, n: int, *, graded: bool) -> Limits:
        """For a pool of n. A batch of m is counted as m - 1 steps of sorting; without grades a third more is needed."""
        per_item = 4 / (self.batch - 1)
        cap = self.cap if graded else self.cap * 4 / 3
        return Limits(first_look=round(0.5 * per_item * n), cap=max(1, round(cap * per_item * n)))


@dataclass(frozen=True)
class Limits:
    """Calls before the first look at whether to stop, and calls at most."""

    first_look: int
    cap: int


_RANGES = (
    ("batch", 2, 20),
    ("at_once", 1, 1000),
    ("cap", 0.0, 1000.0),
    ("surely", 0.0, 1.0),
    ("overlap", 0.0, 1.0),
    ("tau", -1.0, 1.0),
    ("random", 0.0, 0.5),
    ("bias", 0.0, 10.0),
    ("border", 0.0, 100.0),
    ("gamma", 0.1, 10.0),
    ("draws", 64, 100_000),
)
