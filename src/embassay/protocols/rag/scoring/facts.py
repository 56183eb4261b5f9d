"""What the record says of the files: judgements and runs as they were read."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from embassay.protocols.rag.scoring.compared import ALPHA, TESTS
from embassay.protocols.rag.scoring.inputs import Inputs
from embassay.protocols.rag.scoring.judgements import Graded1To5, counts_by_grade
from embassay.protocols.rag.scoring.placed import Board, Placed
from embassay.protocols.rag.scoring.record import Judgements, RunFacts, Settings
from embassay.protocols.rag.scoring.request import ScoreRequest
from embassay.protocols.rag.scoring.valued import CONFIDENCE

TIES = "highest score first, equal scores by document id, highest first (trec_eval's rule)"


def judgement_facts(inputs: Inputs, judgements: Graded1To5, board: Board) -> Judgements:
    """The qrels in counts."""
    return Judgements(
        inputs.name, inputs.qrels.path, inputs.qrels.format, judgements.grade_map, len(board.queries),
        len(judgements.frame), counts_by_grade(judgements.frame["grade"].to_numpy()), judgements.dropped,
    )  # fmt: skip


def run_facts(inputs: Inputs, board: Board) -> tuple[RunFacts, ...]:
    """Every run in counts."""
    return tuple(
        _run_facts(run, entries.path, entries.format, None if pool is None else pool.path)
        for run, entries, pool in zip(board.runs, inputs.runs.values(), inputs.pools, strict=True)
    )


def settings(request: ScoreRequest, cutoffs: Iterable[int]) -> Settings:
    """How it is done."""
    return Settings(
        request.grades or "identity", request.unjudged, request.seed, request.resamples, TESTS[request.test],
        "holm", ALPHA, CONFIDENCE, TIES, tuple(cutoffs),
    )  # fmt: skip


def _run_facts(run: Placed, path: str, format_: str, pool: str | None) -> RunFacts:
    answered = run.sizes[run.sizes > 0]
    depth = int(answered.min()), float(np.median(answered)), int(answered.max())
    own = f"its own list of {'' if depth[0] == depth[2] else 'up to '}{depth[2]:,}"
    return RunFacts(
        run.name, path, format_, run.lines, len(answered), int((run.sizes == 0).sum()), run.unknown,
        run.repeated, run.tied, depth, own if pool is None else f"the pool {pool}",
    )  # fmt: skip
