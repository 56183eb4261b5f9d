"""The page of a scoring: who is better, is it the pool or the ordering, and which queries are lost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from embassay.protocols import numbers
from embassay.protocols.rag.scoring.record import Guidance, MeasureFacts, Note, Score, read_score
from embassay.records import Result
from embassay.report.board import Board
from embassay.report.lines import Series, lines
from embassay.report.matrix import Matrix
from embassay.report.rag.ceilings import COLUMNS, Ceiling, ceilings
from embassay.report.rag.matrices import TASK, every_measure, first_of, grids, likeness
from embassay.report.rag.pairs import Forest, forests
from embassay.report.rag.terminal import unit_of
from embassay.report.rag.worst import WorstQuery, worst_queries
from embassay.report.record import Record
from embassay.report.scale import Scale, scale_of
from embassay.report.verdict import Verdict

TRIO = ("RA-nWG", "N-Recall4+", "Harm")
"""The measures that have a panel, where they are asked for; else the first three."""
FORESTS = 6
STATES = {"holds": "good", "does not hold": "failed", "open": "partial"}


@dataclass(frozen=True)
class PanelRow:
    """A run at a cutoff; its label says the cutoff where the panel has several."""

    label: str
    row: Result | None
    text: str
    interval: str
    best: bool


@dataclass(frozen=True)
class ScorePanel:
    """A measure at every cutoff: groups of rows, each under its cutoff."""

    title: str
    subtitle: str
    scale: Scale
    groups: tuple[tuple[str, tuple[PanelRow, ...]], ...]


@dataclass(frozen=True)
class ScorePage:
    """The content of the page; parts that the scoring does not have are empty or None."""

    facts: tuple[str, ...]
    verdict: Verdict
    panels: tuple[ScorePanel, ...]
    ceilings: tuple[Ceiling, ...]
    ceiling_columns: tuple[str, ...]
    chart: Markup | None
    chart_title: str
    chart_summary: str
    forests: tuple[Forest, ...]
    likeness: Matrix | None
    measures: Matrix
    grids: tuple[Matrix, ...]
    guidance: tuple[tuple[str, Guidance], ...]
    untested: tuple[str, ...]
    notes: tuple[Note, ...]
    worst: tuple[WorstQuery, ...]
    runs: tuple[str, ...]
    headline: str
    how: str


def score_page(record: Record, _: Board) -> ScorePage:
    """The page of a record. DataError where its `score.json` is damaged."""
    score = read_score(record.path / "score.json")
    chart, title, summary = _by_cutoff(record, score)
    settings = score.settings
    return ScorePage(
        facts=_facts(score),
        verdict=verdict_of(score),
        panels=_panels(record, score),
        ceilings=ceilings(score),
        ceiling_columns=COLUMNS,
        chart=chart,
        chart_title=title,
        chart_summary=summary,
        forests=forests(score, FORESTS),
        likeness=likeness(score),
        measures=every_measure(record, score),
        grids=grids(score),
        guidance=tuple((STATES.get(one.status, ""), one) for one in score.guidance),
        untested=tuple(one.knob for one in score.guidance if one.status == "not tested"),
        notes=score.notes,
        worst=worst_queries(record, score),
        runs=tuple(run.name for run in score.runs),
        headline=score.headline,
        how=f"{settings.confidence:.0%}, percentile bootstrap over queries, "
        f"{numbers.count(settings.resamples)} resamples, seed {settings.seed}",
    )


def score_verdict(record: Record, _: Board) -> Verdict:
    """The finding of the scoring in a record."""
    return verdict_of(read_score(record.path / "score.json"))


def verdict_of(score: Score) -> Verdict:
    """The sentences of the record."""
    return Verdict((score.verdict,), tuple((sentence,) for sentence in score.lede))


def _facts(score: Score) -> tuple[str, ...]:
    judged = score.judgements
    return (
        "RAG, runs scored",
        numbers.counted(len(score.runs), "run"),
        judged.name,
        numbers.counted(judged.queries, "query"),
        f"{numbers.count(sum(judged.grades))} judgements, grades by {judged.grade_map}",
    )


def _bases(score: Score) -> list[str]:
    """The measures that have panels: those with a cutoff, the usual three first."""
    drawn = [one.base for one in score.measures if one.cutoff is not None and one.family != "ceiling"]
    bases = list(dict.fromkeys(drawn))
    usual = [base for base in TRIO if base in bases]
    return (usual + [base for base in bases if base not in usual])[:3]


def _panels(record: Record, score: Score) -> tuple[ScorePanel, ...]:
    return tuple(
        _panel(record, score, [one for one in score.measures if one.base == base]) for base in _bases(score)
    )


def _panel(record: Record, score: Score, measures: Sequence[MeasureFacts]) -> ScorePanel:
    groups = tuple((f"@{one.cutoff}", _rows(record, score, one)) for one in measures)
    rows = [row.row for _, of in groups for row in of if row.row is not None]
    way = "lower is better" if measures[0].direction == "lower" else "higher is better"
    scale = scale_of(_ends(rows), factor=unit_of(measures[0].name).factor)
    return ScorePanel(measures[0].base, ", ".join(filter(None, (way, _queries(rows)))), scale, groups)


def _ends(rows: Iterable[Result]) -> list[float]:
    """Values and ends of intervals, for a scale."""
    return [end for row in rows for end in (row.value, row.ci_low, row.ci_high) if end is not None]


def _queries(rows: Sequence[Result]) -> str:
    counts = sorted({row.n for row in rows})
    if len(counts) < 2:
        return numbers.counted(counts[0], "query") if counts else ""
    return f"{numbers.count(counts[0])} to {numbers.count(counts[-1])} queries"


def _rows(record: Record, score: Score, measure: MeasureFacts) -> tuple[PanelRow, ...]:
    comparison = score.comparison(measure.name)
    ranked = comparison.runs if comparison else ()
    runs = [*ranked, *(one.name for one in score.runs if one.name not in ranked)]
    first = first_of(score, measure.name)
    return tuple(_row(record, score, measure, run, best=run in first) for run in runs)


def _row(record: Record, score: Score, measure: MeasureFacts, run: str, *, best: bool) -> PanelRow:
    row = record.find(TASK, run, measure.name, dataset=score.judgements.name)
    if row is None or row.value is None:
        return PanelRow(run, None, "n/a", row.reason if row else "not computed", best=False)
    unit = unit_of(measure.name)
    known = row.ci_low is not None and row.ci_high is not None
    interval = unit.interval(row.ci_low or 0.0, row.ci_high or 0.0) if known else "no interval"
    return PanelRow(run, row, unit.text(row.value), interval, best)


def _by_cutoff(record: Record, score: Score) -> tuple[Markup | None, str, str]:
    """Lines of the headline's measure over its cutoffs, where there are several; title and summary."""
    base = next((one.base for one in score.measures if one.name == score.headline), "")
    found = [one for one in score.measures if one.base == base and one.cutoff]
    if len(found) < 2:
        return None, "", ""
    ks = sorted({one.cutoff or 0 for one in found})
    series = [_line(record, score, run.name, found, ks[-1]) for run in score.runs]
    known = [one for one in series if one.points]
    if not known:
        return None, "", ""
    said = "; ".join(f"{one.name} {numbers.score(one.points[-1][1].value or 0.0)}" for one in known)
    scale = scale_of(_ends(row for one in known for _, row in one.points))
    drawn = lines(series, [(k / ks[-1], str(k)) for k in ks], scale, "K, passages read")
    return drawn, f"{base} by K", f"{base} at K from {ks[0]} to {ks[-1]}. At K = {ks[-1]}: {said}."


def _line(record: Record, score: Score, run: str, measures: Sequence[MeasureFacts], most: int) -> Series:
    """The values of a run by cutoff, each at its share of the largest."""
    found = [
        (one.cutoff or 0, record.find(TASK, run, one.name, dataset=score.judgements.name)) for one in measures
    ]
    known = [(k / most, row) for k, row in found if row is not None and row.value is not None]
    return Series(run, tuple(sorted(known, key=lambda one: one[0])))
