"""From inputs to the record: every step of a scoring in its order. Reading and writing are elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.rag.scoring import notes
from embassay.protocols.rag.scoring.answers import answers_of
from embassay.protocols.rag.scoring.compared import compared, randomized
from embassay.protocols.rag.scoring.facts import judgement_facts, run_facts, settings
from embassay.protocols.rag.scoring.frames import per_query
from embassay.protocols.rag.scoring.guidance import guidance
from embassay.protocols.rag.scoring.inputs import Inputs, without_self
from embassay.protocols.rag.scoring.judgements import Graded1To5, graded
from embassay.protocols.rag.scoring.likeness import likeness
from embassay.protocols.rag.scoring.losses import Beside, beside
from embassay.protocols.rag.scoring.measured import Asked, Measured, asked, measured
from embassay.protocols.rag.scoring.placed import Board, place
from embassay.protocols.rag.scoring.readings import readings
from embassay.protocols.rag.scoring.record import Comparison, Note, Score
from embassay.protocols.rag.scoring.request import ScoreRequest
from embassay.protocols.rag.scoring.resampled import Resampled
from embassay.protocols.rag.scoring.sensitivity import sensitivity
from embassay.protocols.rag.scoring.valued import values
from embassay.protocols.rag.scoring.verdict import lede, verdict

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Scored:
    """A finished scoring: its record, the values per query of every run, and the runs on the judged queries."""

    record: Score
    measures: tuple[Asked, ...]
    measured: tuple[Measured, ...]
    board: Board

    def per_query(self) -> pl.DataFrame:
        """`run`, `query_id`, `measure`, `value` and `reason` (why there is no value), a row for each."""
        return per_query(self.board.queries, self.measures, self.measured)


def score_inputs(inputs: Inputs, request: ScoreRequest, answers: Mapping[str, float] | None = None) -> Scored:
    """Score all runs of `inputs` as `request` says; its paths are not looked at.

    Raises DataError for judgements that do not fit, runs without a judged query, and ungraded documents where they are
    an error; UsageError for measures that are none of rankings.
    """
    gone: dict[str, int] = {}
    if request.exclude_self:
        inputs, gone = without_self(inputs)
    measures = asked(request.measures, request.cutoffs, answers=answers is not None)
    judgements = graded(inputs.qrels, request.grades)
    board = place(
        inputs, judgements, request.separator if any(one.needs_sources for one in measures) else None
    )
    right = None if answers is None else answers_of(answers, board.queries, request.answers or "answers")
    taken = tuple(measured(run.name, run.graded, measures, request.unjudged, right) for run in board.runs)
    ks = tuple(sorted({one.facts.cutoff for one in measures if one.facts.cutoff})) or request.cutoffs
    extra = beside(board, ks, request.unjudged)
    resampled = _resampled(taken, measures, extra, request)
    facts = run_facts(inputs, board)
    record = Score(
        settings(request, ks),
        judgement_facts(inputs, judgements, board),
        facts,
        tuple(one.facts for one in measures),
        measures[0].name,
        values(
            resampled, [run.name for run in board.runs], measures,
            total=len(board.queries), resamples=request.resamples,
        ),
        _comparisons(resampled, taken, measures, request),
        likeness(board, ks, resamples=request.resamples, seed=request.seed),
        sensitivity(board, ks, request.unjudged) if request.sensitivity else (),
        readings=readings(board, facts, ks, resampled),
        guidance=guidance(board, ks, extra, resampled),
    )  # fmt: skip
    said = (*notes.self_notes(gone), *_notes(record, judgements, board, taken, measures, right))
    record = replace(record, notes=said)
    return Scored(replace(record, verdict=verdict(record), lede=lede(record)), measures, taken, board)


def _resampled(
    taken: Sequence[Measured], measures: Iterable[Asked], extra: Beside, request: ScoreRequest
) -> Resampled:
    """All that is asked for and all that readings need, over one set of resamples."""
    both = [extra.with_columns(one) for one in taken]
    resampled = Resampled(both, n_resamples=request.resamples, seed=request.seed)
    for one in measures:
        for run in taken:
            resampled.want(one.name, run.run)
        for a, b in combinations(taken, 2):
            resampled.want(one.name, a.run, b.run)
            resampled.want(one.name, b.run, a.run)
    for name, column, other in extra.wanted:
        resampled.want(column, name, other)
    resampled.resample()
    return resampled


def _comparisons(
    resampled: Resampled, taken: Sequence[Measured], measures: Sequence[Asked], request: ScoreRequest
) -> tuple[Comparison, ...]:
    if len(taken) < 2:
        return ()
    tests = (
        randomized(taken, measures, n_resamples=request.resamples, seed=request.seed)
        if request.test == "randomization"
        else None
    )
    runs = [run.run for run in taken]
    return tuple(compared(resampled, runs, one, tests) for one in measures)


def _notes(
    record: Score,
    judgements: Graded1To5,
    board: Board,
    taken: Sequence[Measured],
    measures: Sequence[Asked],
    right: NDArray[np.float64] | None,
) -> Iterable[Note]:
    total = len(board.queries)
    yield from notes.input_notes(judgements, record.runs, total)
    yield from notes.grade_notes(board, measures, record.values)
    yield from notes.run_notes(board, taken, measures, record.settings.unjudged)
    yield from notes.test_notes(len(taken), record.settings.resamples)
    if right is not None:
        yield from notes.answer_notes(record.values, int((~np.isnan(right)).sum()), total)
