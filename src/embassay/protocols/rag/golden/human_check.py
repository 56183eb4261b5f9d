"""The human check of a golden run (spec rag 4.2): a sample to edit, and what the edited file says of it."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from pathlib import Path
from statistics import median

import numpy as np

from embassay.errors import DataError, UsageError
from embassay.limits import read_bounded
from embassay.protocols.rag.golden.final_lists import (
    Edited,
    FinalList,
    Listed,
    read_check,
    read_final_lists,
    write_check,
)
from embassay.protocols.rag.golden.repeatability import grade_agreement, grade_table
from embassay.protocols.rag.golden.summary import Figure, HumanCheck, Remark, read_golden, write_golden
from embassay.protocols.rag.record_files import made
from embassay.randomness import generator
from embassay.runs.folder import digest, slug, to_json, write_atomic
from embassay.stats import bootstrap_ci, kendall_tau
from embassay.stats.resampling import percentile_interval, resample_means

SHARE = 0.4
"""Of the questions: 20 of 50 in the paper."""
RESAMPLES = 2_000


@dataclass(frozen=True)
class _Order:
    """A question's passages that the person placed: tau-b against the judge (None for fewer than two, or where the
    person puts all alike), pairs put the other way, pairs that the person tells apart, and how far apart the judge had
    the former."""

    tau: float | None
    swapped: int
    pairs: int
    distances: tuple[int, ...]


def draw_questions(ids: Sequence[str], share: float = SHARE, seed: int = 1337) -> list[str]:
    """A share of the questions, at least one, by chance; in their given order.

    >>> len(draw_questions([str(i) for i in range(50)]))
    20
    """
    n = min(len(ids), max(1, round(share * len(ids))))
    chosen = generator(seed, "human check").permutation(len(ids))[:n]
    return [ids[place] for place in sorted(chosen.tolist())]


def score_check(
    lists: Sequence[FinalList],
    edited: Sequence[Edited],
    *,
    file: str = "",
    blind: bool = False,
    seed: int = 1337,
) -> HumanCheck:
    """How far a person and the judge agree on the questions that the file is about."""
    said = {(one.query_id, one.doc_id): one for one in edited}
    checked = [one for one in lists if any((one.query_id, p.doc_id) in said for p in one.passages)]
    both = {one.query_id: _both(one, said) for one in checked}
    orders = {query: _order(own) for query, own in both.items()}
    every = [pair for own in both.values() for pair in own]
    tables = [grade_table(_grades(own)) for own in both.values()]
    kept = np.array([table for table in tables if table.sum()])
    agreement = grade_agreement(kept, seed=seed) if len(kept) else {}
    none = Figure(None, reason="no grade was given")
    return HumanCheck(
        file=file,
        queries=len(checked),
        items=len(every),
        placed=sum(e.place is not None for _, e in every),
        graded=sum(e.grade is not None for _, e in every),
        moved=_moved(both.values()),
        changed=sum(one != other for one, other in _grades(every)),
        tau=_tau(orders, seed),
        swapped=_swapped(orders, seed),
        exact=agreement.get("exact", none),
        within_one=agreement.get("within_one", none),
        kappa=agreement.get("kappa", none),
        distance=_distance(orders),
        blind=blind,
        table=tuple(tuple(map(int, row)) for row in kept.sum(axis=0)) if len(kept) else (),
        remarks=tuple(Remark(e.query_id, e.doc_id, e.remark) for _, e in every if e.remark),
    )


Pairs = Sequence[tuple[Listed, Edited]]


def _both(one: FinalList, said: Mapping[tuple[str, str], Edited]) -> Pairs:
    keys = [(passage, (one.query_id, passage.doc_id)) for passage in one.passages]
    return [(passage, said[key]) for passage, key in keys if key in said]


def _grades(pairs: Pairs) -> list[tuple[int, int]]:
    """Grades of the judge and of the person, where there are both."""
    return [(p.grade, e.grade) for p, e in pairs if p.grade is not None and e.grade is not None]


def _order(pairs: Pairs) -> _Order:
    placed = [(listed.place, edited.place) for listed, edited in pairs if edited.place is not None]
    told = [(a, b) for a, b in combinations(placed, 2) if a[1] != b[1]]
    wrong = [abs(a[0] - b[0]) for a, b in told if (a[0] < b[0]) != (a[1] < b[1])]
    tau = float(kendall_tau(*np.array(placed, dtype=np.float64).T)) if len(placed) > 1 else float("nan")
    return _Order(None if np.isnan(tau) else tau, len(wrong), len(told), tuple(wrong))


def _moved(questions: Iterable[Pairs]) -> int:
    """The fewest passages that have to change places to get from the judge's order to the person's: those outside the
    longest part of it that does not fall."""
    moved = 0
    for pairs in questions:
        placed = sorted((listed.place, edited.place) for listed, edited in pairs if edited.place is not None)
        ends: list[float] = []
        for _, place in placed:
            at = bisect_right(ends, place)
            ends[at : at + 1] = [place]
        moved += len(placed) - len(ends)
    return moved


def _tau(orders: Mapping[str, _Order], seed: int) -> Figure:
    values = [one.tau for one in orders.values() if one.tau is not None]
    if not values:
        return Figure(None, reason="no question has two places")
    found = bootstrap_ci(values, rng=generator(seed, "human check", "tau"))
    known = found.n > 1
    return Figure(found.estimate, found.low if known else None, found.high if known else None, found.n)


def _swapped(orders: Mapping[str, _Order], seed: int) -> Figure:
    counts = np.array([(one.swapped, one.pairs) for one in orders.values() if one.pairs], dtype=np.float64)
    if not len(counts):
        return Figure(None, reason="no two places are told apart")
    value, n = float(counts[:, 0].sum() / counts[:, 1].sum()), int(counts[:, 1].sum())
    if len(counts) < 2:
        return Figure(value, n=n)
    means = resample_means(counts, n_resamples=RESAMPLES, rng=generator(seed, "human check", "swapped"))
    return Figure(value, *percentile_interval(means[:, 0] / means[:, 1]), n)


def _distance(orders: Mapping[str, _Order]) -> float | None:
    distances = [distance for one in orders.values() for distance in one.distances]
    return float(median(distances)) if distances else None


FOLDER = "human"
"""Of what people have said, in the folder of a run."""


@dataclass(frozen=True)
class Sampling:
    """Which questions go into a file, and what of them is shown."""

    share: float = SHARE
    blind: bool = False
    excerpt: int = 800
    seed: int = 1337

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1 or self.excerpt < 1:
            raise UsageError(
                f"A sample cannot have share={self.share}, excerpt={self.excerpt}.",
                mend="Give a share above 0 and at most 1, and an excerpt of 1 or more characters.",
            )


def sample_check(run: Path, out: Path, sampling: Sampling = Sampling()) -> list[FinalList]:
    """Draw questions of a golden run and write their final lists to a file for a person; the lists that went in.

    UsageError for a run without final lists, an ending that is not known, or a file that is there already: it may hold
    somebody's work.
    """
    lists = read_final_lists(run)
    chosen = set(draw_questions([one.query_id for one in lists], sampling.share, sampling.seed))
    drawn = [one for one in lists if one.query_id in chosen]
    if out.exists():
        raise UsageError(f"{out} is there already.", mend="Name another file: this one may have been edited.")
    write_check(out, drawn, blind=sampling.blind, excerpt=sampling.excerpt, seed=sampling.seed)
    return drawn


def score_file(run: Path, file: Path, *, seed: int = 1337) -> HumanCheck:
    """What an edited file says of a golden run, and keep it there. DataError with the line for edits that are none."""
    lists = read_final_lists(run)
    edited, blind = read_check(file, lists)
    checked = {one.query_id for one in edited}
    found = score_check(lists, edited, file=file.name, blind=blind, seed=seed)
    found = replace(found, lists=_seal([one for one in lists if one.query_id in checked]))
    write_atomic(
        run / FOLDER / f"{slug(file.stem)}.json",
        to_json({**asdict(found), "questions": sorted(checked)}) + "\n",
    )
    _into_record(run)
    return found


def read_checks(run: Path) -> tuple[HumanCheck, ...]:
    """What people have said of the run's final lists, by name of their files; of lists that have changed since, no
    more."""
    files = sorted((run / FOLDER).glob("*.json"))
    lists = read_final_lists(run) if files else []
    found = []
    for path in files:
        try:
            plain = json.loads(read_bounded(path).decode("utf-8"))
            checked = set(plain.pop("questions"))
            check = made(HumanCheck, plain)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
            raise DataError(
                "the human check cannot be read", path=path, found=str(error),
                mend="Delete it, and score the edited file again.",
            ) from error  # fmt: skip
        if check.lists == _seal([one for one in lists if one.query_id in checked]):
            found.append(check)
    return tuple(found)


def checked_questions(run: Path) -> int:
    """How many questions people have checked."""
    wanted = {check.lists for check in read_checks(run)}
    names: set[str] = set()
    for path in (run / FOLDER).glob("*.json"):
        plain = json.loads(read_bounded(path).decode("utf-8"))
        names |= set(plain["questions"]) if plain["lists"] in wanted else set()
    return len(names)


def _into_record(run: Path) -> None:
    """Put what people say into the run's record, where there is one."""
    path = run / "golden.json"
    if path.exists():
        golden = read_golden(path)
        labels = {**golden.labels, "n_human_validated": checked_questions(run)}
        write_golden(path, replace(golden, human=read_checks(run), labels=labels))


def _seal(lists: Sequence[FinalList]) -> str:
    return digest([[one.query_id, [[p.doc_id, p.place, p.grade] for p in one.passages]] for one in lists])
