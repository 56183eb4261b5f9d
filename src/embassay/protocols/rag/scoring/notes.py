"""What to know before believing a number: counts of what was left out, repeated, undefined or out of range."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import comb

import numpy as np

from embassay.measures import evaluate_graded
from embassay.measures.grades import is_fallback, is_inverted
from embassay.measures.sets import feasible_hits
from embassay.measures.summary import count_over_one
from embassay.protocols.kernel.tables import counted
from embassay.protocols.rag.scoring.conclusions import listed, percent
from embassay.protocols.rag.scoring.inputs import Graded1To5
from embassay.protocols.rag.scoring.placement import Board, Placed
from embassay.protocols.rag.scoring.score import Note, RunFacts, Value
from embassay.protocols.rag.scoring.tables import ALPHA
from embassay.protocols.rag.scoring.values import ANSWERS, JUDGED, Asked, Measured

FEW = 10
ABOVE = 1e-9
_TREATED = {
    "zero": "they are worth nothing and do no harm",
    "grade1": "they count as irrelevant",
    "condense": "they are taken out before the cut",
}


def self_notes(gone: Mapping[str, int]) -> Iterator[Note]:
    """What `exclude_self` left out of each run."""
    for name, count in gone.items():
        text = f"{name}: {counted(count, 'line')} with a query's own document left out."
        yield Note("own document", text, name, count)


def input_notes(judgements: Graded1To5, facts: Iterable[RunFacts], total: int) -> Iterator[Note]:
    """What was odd about the files."""
    if judgements.dropped:
        yield Note(
            "dropped",
            f"The grade map leaves out {counted(judgements.dropped, 'judgement')}.",
            "",
            judgements.dropped,
        )
    if judgements.repeated:
        again = counted(judgements.repeated, "judgement")
        yield Note("repeated judgements", f"The qrels repeat {again}.", "", judgements.repeated)
    grades = judgements.frame["grade"].unique().to_list()
    if len(grades) == 1:
        text = f"Every judgement is of grade {grades[0]}: nothing tells a good order from a bad one."
        yield Note("one grade", text, "", grades[0])
    if total < FEW:
        yield Note("few", f"Only {counted(total, 'query')}: the intervals say little.", "", total)
    for run in facts:
        if run.missing:
            lacking = f"{run.missing:,} of {counted(total, 'judged query')}"
            text = f"{run.name} lacks {lacking}: they count as having retrieved nothing."
            yield Note("missing", text, run.name, run.missing, total)
        if run.unknown:
            text = f"{run.name} has {counted(run.unknown, 'query')} without judgements, left out."
            yield Note("unknown", text, run.name, run.unknown)
        if run.repeated:
            again = counted(run.repeated, "document")
            text = f"{run.name} names {again} of a query again: the better ranked line counts."
            yield Note("repeated", text, run.name, run.repeated, run.lines)
        if run.tied:
            equal = counted(run.tied, "document")
            text = f"{run.name} has {equal} with a score that another one of the query has: ranked by id."
            yield Note("tied", text, run.name, run.tied, run.lines)


def grade_notes(board: Board, measures: Sequence[Asked], values: Sequence[Value]) -> Iterator[Note]:
    """Queries where a measure is undefined or of another kind."""
    total = len(board.queries)
    names: dict[int, dict[str, None]] = {}
    for value in values:
        if value.n < total and not value.measure.startswith(ANSWERS):
            names.setdefault(value.n, {})[value.measure] = None
    by_name = {one.name: one for one in measures}
    for n, found in names.items():
        why = by_name[next(iter(found))].undefined
        these = listed(_shortened([by_name[name] for name in found], measures))
        text = f"{these}: over {n:,} of {counted(total, 'query')}; undefined where {why}."
        yield Note("undefined", text, "", total - n, total)
    if _any_set(measures):
        yield from _weight_notes(board, total)
    for k in sorted({one.facts.cutoff for one in measures if one.facts.base == "Hit" and one.facts.cutoff}):
        with_any = int((board.counts[:, 3:].sum(axis=1) > 0).sum())
        feasible = int((feasible_hits(board.runs[0].graded, k) & (board.counts[:, 3:].sum(axis=1) > 0)).sum())
        if feasible < with_any:
            rest = f"the others have more than {k} documents of grade 4 or 5"
            text = f"Hit@{k} can be 1 for {feasible:,} of {with_any:,} queries; {rest}."
            yield Note("hit_feasible", text, "", feasible, with_any)


def run_notes(
    board: Board, measured: Sequence[Measured], measures: Sequence[Asked], unjudged: str
) -> Iterator[Note]:
    """Unjudged documents, values above 1 and shares above 100%, by run."""
    cutoffs = sorted({one.facts.cutoff for one in measures if one.facts.cutoff})
    for run, values in zip(board.runs, measured, strict=True):
        yield from _unjudged(run, cutoffs, unjudged)
        for one in measures:
            if over := count_over_one(values.columns[one.name].value) if len(one.parts) == 1 else 0:
                what = f"{one.name} is above 1 for {counted(over, 'query')}"
                text = f"{run.name}: {what}; its list holds what the pool lacks."
                yield Note("above_one", text, run.name, over, len(board.queries))
            if one.is_ratio and (over := _above_ceiling(values, one.name)):
                text = (
                    f"{run.name}: {counted(over, 'query')} above the ceiling {one.name.removeprefix('%')}; the pool "
                    "is not the one that the run was drawn from."
                )
                yield Note("above_ceiling", text, run.name, over, len(board.queries))


def test_notes(runs: int, resamples: int) -> Iterator[Note]:
    """Where the resamples are too few for the number of pairs."""
    if (pairs := comb(runs, 2)) and 2 * pairs / (resamples + 1) >= ALPHA:
        few = f"With {counted(pairs, 'pair')} of runs {resamples:,} resamples cannot tell any two apart"
        text = f"{few}: use --resamples {_enough(pairs)}."
        yield Note("resamples", text, "", resamples)


def answer_notes(values: Sequence[Value], answered: int, total: int) -> Iterator[Note]:
    """How many queries the answers are about, and how many have all their evidence."""
    if answered < total:
        text = f"Answers are given for {answered:,} of {counted(total, 'judged query')}."
        yield Note("answers", text, "", answered, total)
    for value in values:
        if value.measure.startswith(ANSWERS):
            found = f"{counted(value.n, 'query')} with all evidence found and an answer"
            text = f"{value.run}: {value.measure} is over {found}."
            yield Note("answers_hit", text, value.run, value.n, total)


def _any_set(measures: Iterable[Asked]) -> bool:
    return any(one.facts.base.lstrip("%").startswith(("RA", "PROC")) for one in measures)


def _weight_notes(board: Board, total: int) -> Iterator[Note]:
    useful = board.counts[:, 2:].sum(axis=1) > 0
    if fallback := int((is_fallback(board.counts) & useful).sum()):
        these = f"{fallback:,} of {counted(total, 'query')}"
        text = f"{these} have no document of grade 5: there grade 4 weighs 1 and grade 3 0.2."
        yield Note("fallback", text, "", fallback, total)
    if inverted := int(is_inverted(board.counts).sum()):
        text = f"In {inverted:,} of {counted(total, 'query')} grade 3 weighs more than grade 4 (grade inversion)."
        yield Note("grade_inversion", text, "", inverted, total)


def _unjudged(run: Placed, cutoffs: Sequence[int], how: str) -> Iterator[Note]:
    shares = [evaluate_graded([f"{JUDGED}@{k}"], run.graded)[f"{JUDGED}@{k}"] for k in cutoffs]
    known = [share[~np.isnan(share)] for share in shares]
    means = [1 - float(share.mean()) for share in known if len(share)]
    if any(mean > 0 for mean in means):
        each = listed([f"{percent(mean)} of the first {k}" for mean, k in zip(means, cutoffs, strict=True)])
        text = f"{run.name}: {each} have no grade; {_TREATED[how]}."
        yield Note("unjudged", text, run.name, int((known[-1] < 1).sum()), len(known[-1]))


def _shortened(found: Sequence[Asked], measures: Sequence[Asked]) -> list[str]:
    """Names of measures; without their cutoffs where all cutoffs are meant."""
    names: dict[str, None] = {}
    for one in found:
        alike = [other for other in measures if other.facts.base == one.facts.base]
        whole = len(alike) > 1 and all(other in found for other in alike)
        names[one.facts.base if whole else one.name] = None
    return list(names)


def _above_ceiling(measured: Measured, name: str) -> int:
    reached, ceiling = measured.columns[name].parts
    return int((reached > ceiling + ABOVE).sum())


def _enough(pairs: int) -> int:
    return int(10 ** np.ceil(np.log10(2 * pairs / ALPHA * 2)))
