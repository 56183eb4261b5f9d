"""What is measured of each run, by the names the user gave, and the values per query."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.errors import UsageError
from embassay.measures import MEASURES, Measure, evaluate_graded
from embassay.measures.graded import Graded, Sources, treat_unjudged
from embassay.measures.registry import GradedMeasure, RankingMeasure
from embassay.protocols.rag.scoring.record import MeasureFacts
from embassay.spec import CALL, Spec

Floats = NDArray[np.float64]

SETS = ("RA-nWG", "N-Recall4+", "Harm", "N-Recall5", "Precision4+", "Hit")
CEILINGS = ("PROC", "%PROC")
CLASSIC = ("nDCG", "AP", "RR", "R", "P")
PERCENT = "%"
ANSWERS = "Acc|Hit"
JUDGED = "Judged"
_WIDTH = 50_000_000


@dataclass(frozen=True)
class Asked:
    """A measure as asked for. `parts` are the measures whose means give the value: the measure itself, or for %PROC
    what was reached and its ceiling; none for Acc|Hit, which needs the answers. `by_query` is %PROC as the mean of the
    queries' own ratios."""

    facts: MeasureFacts
    parts: tuple[Measure, ...]
    undefined: str
    by_query: bool = False

    @property
    def name(self) -> str:
        """As the user spelled it."""
        return self.facts.name

    @property
    def needs_sources(self) -> bool:
        """Whether it asks which documents are of one source."""
        return any("sources" in dict(MEASURES.get(part.spec.name).facts)["needs"] for part in self.parts)

    @property
    def is_ratio(self) -> bool:
        """Whether its value is a ratio of two means, not a mean."""
        return len(self.parts) > 1 and not self.by_query


@dataclass(frozen=True)
class Columns:
    """Values per query of one run: by measure one column (q,), two for a ratio; NaN where undefined.

    `value` is what a query itself has, `parts` what the mean is made of, each over the queries where all are defined.
    """

    value: Floats
    parts: tuple[Floats, ...]


@dataclass(frozen=True)
class Measured:
    """A run's values per query by measure."""

    run: str
    columns: Mapping[str, Columns]


def asked(measures: Sequence[str], cutoffs: Sequence[int], *, answers: bool) -> tuple[Asked, ...]:
    """The measures to take; the usual ones where none is named, each at every cutoff.

    A name without a cutoff stands for one at every cutoff where the measure needs one. UsageError for a name that is
    not a measure of rankings, and for Acc|Hit without `answers`.
    """
    names = list(measures) or [
        f"{name}@{k}" for k in cutoffs for name in (*SETS, *CEILINGS, JUDGED, *CLASSIC)
    ]
    if answers and not any(name.startswith(ANSWERS) for name in names):
        names += [f"{ANSWERS}@{k}" for k in cutoffs]
    spelled = [one for name in names for one in _with_cutoffs(name.strip(), cutoffs)]
    if not answers and any(name.startswith(ANSWERS) for name in spelled):
        raise UsageError(
            f"{ANSWERS} needs the answers.", mend="Give --answers FILE with query_id and correct (0 to 1)."
        )
    return tuple(_asked(name) for name in dict.fromkeys(spelled))


def measured(
    run: str, graded: Graded, measures: Iterable[Asked], unjudged: Any, answers: Floats | None
) -> Measured:
    """All values of a run. Documents without a grade are treated as `unjudged` says before anything is measured, but
    for Judged itself."""
    measures = list(measures)
    deepest = max((one.facts.cutoff or graded.top.shape[1] for one in measures), default=0)
    seen = treat_unjudged(graded, unjudged, deepest)
    raw = [part for one in measures for part in one.parts if part.spec.name == JUDGED]
    rest = [part for one in measures for part in one.parts if part.spec.name != JUDGED]
    values = {**_evaluated(rest, seen), **_evaluated(raw, graded)}
    columns = {}
    for one in measures:
        if one.facts.base == ANSWERS:
            columns[one.name] = _accuracy(one.facts.cutoff or 0, seen, answers)
        else:
            own = _columns([values[str(part)] for part in one.parts])
            columns[one.name] = Columns(own.value, (own.value,)) if one.by_query else own
    return Measured(run, columns)


def _with_cutoffs(name: str, cutoffs: Sequence[int]) -> list[str]:
    """`name`, or `name` at every cutoff if it needs one and has none."""
    spec = CALL.parse(name.removeprefix(PERCENT))
    if spec.cutoff is not None:
        return [name]
    if spec.name == ANSWERS or name.startswith(PERCENT):
        return [f"{name}@{k}" for k in cutoffs]
    options = inspect.signature(MEASURES.get(MEASURES.parse(name).name).load()).parameters
    needed = "cutoff" in options and options["cutoff"].default is inspect.Parameter.empty
    return [f"{name}@{k}" for k in cutoffs] if needed else [name]


def _asked(name: str) -> Asked:
    if name.startswith(ANSWERS):
        spec = CALL.parse(name)
        return Asked(
            MeasureFacts(name, ANSWERS, spec.cutoff, "higher", "answer"), (), "no query has all its evidence"
        )
    spec, by_query = _without_mean(CALL.parse(name.removeprefix(PERCENT)))
    built = MEASURES.build(CALL.format(spec))
    if not isinstance(built, GradedMeasure | RankingMeasure):
        raise UsageError(
            f"{name} is not a measure of rankings.",
            mend="`embassay list measures` shows what each one needs.",
        )
    facts = dict(MEASURES.get(built.spec.name).facts)
    family = "ceiling" if built.spec.name == "PROC" else "set"
    family = "classic" if isinstance(built, RankingMeasure) else family
    base = name.rpartition("@")[0] or name
    parts: tuple[Measure, ...] = (built,)
    if name.startswith(PERCENT):
        parts = (_reached(name, built.spec), built)
    facts_of_it = MeasureFacts(name, base, built.spec.cutoff, facts.get("direction", "higher"), family)
    return Asked(facts_of_it, parts, facts.get("undefined", "undefined"), by_query and len(parts) > 1)


def _without_mean(spec: Spec) -> tuple[Spec, bool]:
    """`per_query_mean` is a matter of the mean over queries, not of PROC itself (spec rag 1.6)."""
    params = {key: value for key, value in spec.params.items() if key != "per_query_mean"}
    return Spec(spec.name, spec.target, params, spec.cutoff), bool(spec.params.get("per_query_mean", False))


def _reached(name: str, ceiling: Spec) -> Measure:
    """What a ceiling is the ceiling of, with the same settings."""
    if ceiling.name != "PROC":
        raise UsageError(f"There is no measure called {name!r}.", mend="Write %PROC@10 or %PROC_NR4@10.")
    params = {key: value for key, value in ceiling.params.items() if key != "of"}
    of = str(ceiling.params.get("of", "RA-nWG"))
    return MEASURES.build(CALL.format(Spec(of, "", params, ceiling.cutoff)))


def _evaluated(measures: Sequence[Measure], graded: Graded) -> dict[str, Floats]:
    """Values by measure, in blocks of queries where the lists are long."""
    step = max(1, _WIDTH // max(1, graded.top.shape[1]))
    blocks = [
        evaluate_graded(measures, _rows(graded, start, start + step))
        for start in range(0, len(graded.top), step)
    ]
    return {str(one): np.concatenate([block[str(one)] for block in blocks]) for one in measures}


def _rows(graded: Graded, start: int, end: int) -> Graded:
    if start == 0 and end >= len(graded.top):
        return graded
    return Graded(
        graded.counts[start:end],
        graded.top[start:end],
        None if graded.pool is None else graded.pool[start:end],
        pool_sizes=None if graded.pool_sizes is None else graded.pool_sizes[start:end],
        names=graded.names[start:end],
        sources=None if graded.sources is None else _source_rows(graded.sources, start, end),
    )


def _source_rows(sources: Sources, start: int, end: int) -> Sources:
    kept = slice(*np.searchsorted(sources.query, [start, end]))
    return Sources(
        sources.top[start:end], sources.query[kept] - start, sources.grade[kept], sources.code[kept]
    )


def _columns(parts: Sequence[Floats]) -> Columns:
    if len(parts) == 1:
        return Columns(parts[0], (parts[0],))
    reached, ceiling = parts
    both = ~(np.isnan(reached) | np.isnan(ceiling))
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(both & (ceiling > 0), reached / ceiling, np.nan)
    return Columns(ratio, (np.where(both, reached, np.nan), np.where(both, ceiling, np.nan)))


def _accuracy(k: int, graded: Graded, answers: Floats | None) -> Columns:
    """Correctness of the answers to those queries whose evidence is all among the first `k`."""
    hit = evaluate_graded([f"Hit@{k}"], graded)[f"Hit@{k}"]
    value = np.where(hit == 1, np.full(len(hit), np.nan) if answers is None else answers, np.nan)
    return Columns(value, (value,))
