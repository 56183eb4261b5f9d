"""How far wordings are from their texts, whether drops go with that, and wordings side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from embassay.data.sampling import draw
from embassay.measures import edit_distances, spearman
from embassay.protocols.pteb.analysis.drops import drops, is_run, source_of
from embassay.protocols.pteb.analysis.words import words
from embassay.protocols.pteb.paraphrasing.records import Outcome, Paraphrase
from embassay.records import Result, Skipped


@dataclass(frozen=True)
class DistancePoint:
    """One system on one dataset with one paraphraser or prompt.

    `source` is as in variants (`by=NAME`, `prompt=NAME`; empty where the run has one), `edit_distance` the mean over
    the distinct texts and runs (0 to 1), `delta` the mean over runs as a fraction, with its interval where the run
    has one. `distances` is how many wordings are behind the edit distance.
    """

    source: str
    task: str
    dataset: str
    system: str
    edit_distance: float
    distances: int
    delta: float
    ci_low: float | None
    ci_high: float | None


@dataclass(frozen=True)
class AgainstDistance:
    """The points of figure 8, and per system Spearman's correlation of edit distance and delta over its points (NaN
    where it is undefined)."""

    points: tuple[DistancePoint, ...]
    correlations: tuple[tuple[str, float, int], ...]
    missing: tuple[Skipped, ...]


def against_distance(rows: Iterable[Result]) -> AgainstDistance:
    """The drop of every system, dataset and source against the source's edit distance there.

    The distances are the rows of the task `paraphrases`; languages count by their texts. What has no distance or no
    drop is counted.
    """
    rows = list(rows)
    distances = _distances(rows)
    intervals = {
        (row.variant, row.task, row.dataset, row.system): (row.ci_low, row.ci_high)
        for row in rows
        if row.measure == "delta" and not is_run(row.variant) and not row.subset
    }
    points, without = [], []
    missing: list[Skipped] = []
    for source in dict.fromkeys(source_of(row.variant) for row in rows if is_run(row.variant)):
        found = drops(rows, source=source)
        missing += found.missing
        for drop in found.rows:
            if (distance := distances.get((source, drop.dataset))) is None:
                without.append(f"{drop.system} {drop.place} {source}".strip())
                continue
            low, high = intervals.get((source, drop.task, drop.dataset, drop.system), (None, None))
            points.append(
                DistancePoint(source, drop.task, drop.dataset, drop.system, *distance, drop.delta, low, high)
            )
    if without:
        missing.append(Skipped("no edit distance", len(without), tuple(without[:5])))
    return AgainstDistance(tuple(points), _correlations(points), tuple(missing))


def _distances(rows: Sequence[Result]) -> dict[tuple[str, str], tuple[float, int]]:
    """(source, dataset) -> mean edit distance and the wordings behind it."""
    sums: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if row.task == "paraphrases" and row.measure == "edit_distance" and is_run(row.variant):
            if row.value is None or not row.dataset:
                continue
            total = sums.setdefault((source_of(row.variant), row.dataset), [0.0, 0.0])
            total[0] += row.value * row.n
            total[1] += row.n
    return {key: (total / n, int(n)) for key, (total, n) in sums.items() if n}


def _correlations(points: Sequence[DistancePoint]) -> tuple[tuple[str, float, int], ...]:
    found = []
    for system in dict.fromkeys(point.system for point in points):
        own = [point for point in points if point.system == system]
        value = spearman([point.edit_distance for point in own], [point.delta for point in own])
        found.append((system, float(value), len(own)))
    return tuple(found)


SEED, COUNT = 1337, 6
WORDS = (4, 40)


@dataclass(frozen=True)
class Wording:
    """The text in one run: `wording` is empty where the `outcome` is not usable, and then there is no distance."""

    seed: int
    wording: str
    outcome: Outcome
    edit_distance: float | None


@dataclass(frozen=True)
class SideBySide:
    """A text and what became of it in every run, in the order of the runs."""

    text: str
    lang: str
    wordings: tuple[Wording, ...]

    @property
    def distinct(self) -> int:
        """How many different wordings the runs gave."""
        return len({one.wording for one in self.wordings if one.wording})


def side_by_side(
    runs: Mapping[int, Iterable[Paraphrase]], *, count: int = COUNT, seed: int = SEED
) -> tuple[SideBySide, ...]:
    """`count` texts drawn with `seed` from those that every run asked for (seed of the run -> its paraphrases).

    Texts of 4 to 40 words come before others, so that they can be read beside each other; a text that failed in a run
    may be drawn, and shows it. Of several places of one text the first counts. In the order of the data.
    """
    tables = {run: _by_text(paraphrases) for run, paraphrases in runs.items()}
    first, *others = tables.values() or [{}]
    shared = [key for key in first if key[0].strip() and all(key in table for table in others)]
    drawn = _drawn(shared, count, seed)
    return tuple(SideBySide(*key, _wordings(key, tables)) for key in shared if key in drawn)


def _by_text(paraphrases: Iterable[Paraphrase]) -> dict[tuple[str, str], Paraphrase]:
    table: dict[tuple[str, str], Paraphrase] = {}
    for one in paraphrases:
        table.setdefault((one.text, one.lang), one)
    return table


def _drawn(texts: Sequence[tuple[str, str]], count: int, seed: int) -> set[tuple[str, str]]:
    low, high = WORDS
    readable = [key for key in texts if low <= words(key[0]) <= high]
    others = [key for key in texts if not low <= words(key[0]) <= high]
    chosen = [readable[place] for place in draw(["\n".join(key) for key in readable], count, seed)]
    if left := count - len(chosen):
        chosen += [others[place] for place in draw(["\n".join(key) for key in others], left, seed)]
    return set(chosen)


def _wordings(
    key: tuple[str, str], tables: Mapping[int, Mapping[tuple[str, str], Paraphrase]]
) -> tuple[Wording, ...]:
    each = [(run, table[key]) for run, table in tables.items()]
    distances = edit_distances([key[0]] * len(each), [one.wording for _, one in each]).tolist()
    return tuple(
        Wording(run, one.wording, one.outcome, distance if one.usable else None)
        for (run, one), distance in zip(each, distances, strict=True)
    )
