"""Scoring from Python: paths or objects in, a record with frames out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from embassay.protocols.rag.scoring.answers import read_answers
from embassay.protocols.rag.scoring.folder import write_scoring
from embassay.protocols.rag.scoring.inputs import Inputs, distinct, held_inputs, read_inputs
from embassay.protocols.rag.scoring.record import Score
from embassay.protocols.rag.scoring.request import ScoreRequest, named_path
from embassay.protocols.rag.scoring.scoring import Scored, score_inputs

if TYPE_CHECKING:
    import polars as pl

HELD = "(in memory)"


@dataclass(frozen=True)
class Scoring:
    """What scoring gave: the whole `record`, and the same as frames."""

    record: Score
    per_query: pl.DataFrame
    path: Path | None = None

    @property
    def values(self) -> pl.DataFrame:
        """`run`, `measure`, `value`, `low`, `high`, `n`, `total`, `method`, `reason`: a row per run and measure."""
        import polars as pl

        numbers = {"value": pl.Float64, "low": pl.Float64, "high": pl.Float64}
        return pl.DataFrame([vars(one) for one in self.record.values], schema_overrides=numbers)

    @property
    def pairs(self) -> pl.DataFrame:
        """`measure` and the fields of `Pair` (`a`, `b`, `difference`, ...): a row per measure and pair of runs."""
        import polars as pl

        rows = [
            {"measure": one.measure, **vars(pair)} for one in self.record.comparisons for pair in one.pairs
        ]
        return pl.DataFrame(rows)

    @property
    def verdict(self) -> str:
        """The finding in one line."""
        return self.record.verdict


def score(
    qrels: Any,
    runs: Any,
    *,
    pools: Sequence[Any] = (),
    answers: str | Path | Mapping[str, float] | None = None,
    out: str | Path | None = None,
    **arguments: Any,
) -> Scoring:
    """Score runs against graded judgements: set measures, ceilings and classic measures, with intervals and tests.

    `qrels` is a path, query -> document -> judgement, or a polars frame with `query_id`, `doc_id` and `relevance`;
    `runs` one or several paths, or name -> path, query -> document -> score, query -> documents in order, or frame;
    `pools` for PROC likewise, one for all or one per run. Further arguments are those of `ScoreRequest`: measures,
    cutoffs (10, 30), grades, unjudged, sensitivity, test, resamples (10,000), seed (0), split, mapping. With `out` all
    is written to a folder as `embassay rag score --out` does.
    Raises DataError for files or objects that are not what they should be, UsageError for measures that are none.

    >>> import embassay as eb
    >>> found = eb.rag.score({"q": {"a": 5, "b": 1}}, {"mine": {"q": ["b", "a"]}}, measures=["Harm@1", "R@2"])
    >>> found.values["value"].to_list()
    [1.0, 1.0]
    """
    named = _named(runs)
    request = ScoreRequest(
        _said(qrels),
        tuple(f"{name}={_said(run)}" for name, run in named.items()),
        tuple(_said(pool) for pool in pools),
        answers=None if answers is None else _said(answers),
        **_plain(arguments),
    )

    def do() -> tuple[Inputs, Scored]:
        inputs = held_inputs(qrels, named, pools, request.mapping, request.split)
        right = read_answers(Path(answers), request.mapping) if isinstance(answers, str | Path) else answers
        return inputs, score_inputs(inputs, request, right)

    if out is None:
        scored = do()[1]
    else:
        scored = write_scoring(
            Path(out), request, do, f"embassay.rag.score({_said(qrels)!r}, ..., out={str(out)!r})"
        )
    return Scoring(scored.record, scored.per_query(), None if out is None else Path(out))


def score_request(request: ScoreRequest, out: Path | None = None, command: str = "") -> Scored:
    """Score the files of a request, into the folder `out` if one is given."""

    def do() -> tuple[Inputs, Scored]:
        inputs = read_inputs(request)
        answers = None if request.answers is None else read_answers(Path(request.answers), request.mapping)
        return inputs, score_inputs(inputs, request, answers)

    return do()[1] if out is None else write_scoring(out, request, do, command)


def _named(runs: Any) -> dict[str, Any]:
    if isinstance(runs, Mapping):
        return dict(runs)
    given = [runs] if isinstance(runs, str | Path) else list(runs)
    return dict(distinct([named_path(str(run)) for run in given]))


def _said(given: Any) -> str:
    return str(given) if isinstance(given, str | Path) else HELD


def _plain(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Lists as tuples: a request is hashable by its parts and compared as such."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in arguments.items()}
