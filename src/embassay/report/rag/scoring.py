"""The page of a scoring: who is better, is it the pool or the ordering, which queries are lost; a run's card."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from embassay.document.blocks import Entry, Table, Verdict
from embassay.document.marks import Scale, difference_mark, percent, scale_of
from embassay.document.plots import Series, lines
from embassay.parquet import read_parquet
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.tables import Unit
from embassay.protocols.rag.scoring.score import (
    Comparison,
    Evidence,
    Guidance,
    MeasureFacts,
    Note,
    Pair,
    Reading,
    Score,
    read_score,
)
from embassay.records import Result
from embassay.report.board import Board
from embassay.report.cards.findings import Finding, figure, finding
from embassay.report.rag.tables import TASK, every_measure, first_of, grids, likeness, unit_of
from embassay.report.record import Record
from embassay.report.runs import Run, score_of
from embassay.runs.folder import RunFolder

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
    likeness: Table | None
    measures: Table
    grids: tuple[Table, ...]
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
        ceiling_columns=CEILING_COLUMNS,
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


MOST = 12
Values = Mapping[tuple[str, str], float]
"""Query and measure to value, where a run has one."""


@dataclass(frozen=True)
class WorstQuery:
    """A query: the value of each run as text, their mean, and what they lose to ordering and pool in the mean."""

    query: str
    values: tuple[str, ...]
    mean: str
    ordering: str
    pool: str


def worst_queries(record: Record, score: Score) -> tuple[WorstQuery, ...]:
    """The first by their mean over the runs, worst first; those where the headline is undefined are none."""
    measure = next((one for one in score.measures if one.name == score.headline), None)
    if measure is None:
        return ()
    names = (score.headline, f"PROC@{measure.cutoff}")
    runs = [_of_run(record, score, run.name, names) for run in score.runs]
    queries = dict.fromkeys(query for values in runs for query, _ in values)
    means = {query: _mean([values.get((query, names[0])) for values in runs]) for query in queries}
    known = {query: value for query, value in means.items() if value is not None}
    sign = -1.0 if measure.direction == "lower" else 1.0
    ordered = sorted(known, key=lambda query: (sign * known[query], query))[:MOST]
    return tuple(_worst(query, known[query], runs, names) for query in ordered)


def _worst(query: str, mean: float, runs: Sequence[Values], names: tuple[str, str]) -> WorstQuery:
    values = [values.get((query, names[0])) for values in runs]
    ceiling = _mean([values.get((query, names[1])) for values in runs])
    lost = ceiling is not None and names[0].startswith("RA-nWG")
    return WorstQuery(
        query,
        tuple("n/a" if one is None else numbers.score(one) for one in values),
        numbers.score(mean),
        numbers.score((ceiling or 0.0) - mean) if lost else numbers.NONE,
        numbers.score(1.0 - (ceiling or 0.0)) if lost else numbers.NONE,
    )


def _mean(values: Sequence[float | None]) -> float | None:
    """Over the runs that have a value; None where none has."""
    known = [one for one in values if one is not None]
    return sum(known) / len(known) if known else None


def _of_run(record: Record, score: Score, run: str, measures: tuple[str, ...]) -> Values:
    import polars as pl

    path = RunFolder(record.path).items_path(TASK, score.judgements.name, run)
    if not path.exists():
        return {}
    frame = read_parquet(path).filter(pl.col("measure").is_in(list(measures)) & pl.col("value").is_not_null())
    rows = frame.select("item_id", "measure", "value").iter_rows()
    return {(query, measure): value for query, measure, value in rows if value == value}


@dataclass(frozen=True)
class Difference:
    """A pair: `a` less `b` as a drawing and as text, and in words."""

    pair: Pair
    mark: Markup
    change: str
    interval: str
    exact: str
    words: str


@dataclass(frozen=True)
class Forest:
    """The pairs of one measure, its title."""

    title: str
    id: str
    scale: Scale
    rows: tuple[Difference, ...]


def forests(score: Score, most: int) -> tuple[Forest, ...]:
    """The plots of the first `most` measures that have comparisons, the headline first."""
    found = [one for one in score.comparisons if one.pairs]
    found.sort(key=lambda one: one.measure != score.headline)
    return tuple(_forest(one, i) for i, one in enumerate(found[:most]))


def _forest(one: Comparison, place: int) -> Forest:
    unit = unit_of(one.measure)
    ends = [end for pair in one.pairs for end in (pair.low, pair.high, pair.difference)]
    scale = scale_of([*ends, 0.0], within=None, factor=unit.factor)
    return Forest(
        one.measure, f"pairs-{place}", scale, tuple(_difference(pair, unit, scale) for pair in one.pairs)
    )


def _difference(pair: Pair, unit: Unit, scale: Scale) -> Difference:
    loser = pair.b if pair.better == pair.a else pair.a
    return Difference(
        pair,
        difference_mark(pair.low, pair.difference, pair.high, "embedding", scale),
        unit.change(pair.difference),
        unit.interval(pair.low, pair.high),
        ",".join(f"{value * unit.factor:.6g}" for value in (pair.difference, pair.low, pair.high)),
        f"{pair.better} beats {loser}" if pair.better else "cannot be told apart",
    )


PERCENT = Unit(100.0, 1, 1)
FINDINGS = {
    "pool": "the pool", "ordering": "the ordering", "both": "both", "little": "little is lost",
    "open": "not told", "untold": "not told",
}  # fmt: skip


@dataclass(frozen=True)
class Ceiling:
    """A run at one cutoff: the drawing, the figures under the headings of COLUMNS, which loss is larger, and why."""

    run: str
    cutoff: int
    mark: Markup
    entries: tuple[Entry, ...]
    finding: str
    text: str


CEILING_COLUMNS = ("RA-nWG", "PROC", "%PROC", "Lost in the ordering", "Lost in the pool")


def ceilings(score: Score) -> tuple[Ceiling, ...]:
    """Every reading of the scoring, cutoff by cutoff."""
    ordered = sorted(score.readings, key=lambda one: one.cutoff)
    return tuple(_ceiling(one) for one in ordered)


def _ceiling(one: Reading) -> Ceiling:
    found = {evidence.what.partition("@")[0]: evidence for evidence in one.evidence}
    names = ("RA-nWG", "PROC", "%PROC", "lost in the ordering", "lost in the pool")
    entries = tuple(_entry(found.get(name), PERCENT if name == "%PROC" else numbers.SCORE) for name in names)
    text = one.text.partition(": ")[2] or one.text
    mark = _mark(found.get("RA-nWG"), found.get("PROC"))
    return Ceiling(one.run, one.cutoff, mark, entries, FINDINGS.get(one.finding, one.finding), text)


def _entry(one: Evidence | None, unit: Unit) -> Entry:
    """The figure over its interval."""
    if one is None:
        return Entry("n/a", why="undefined on these judgements")
    ends = (one.low, one.high) if one.low is not None and one.high is not None else ()
    sign = "%" if unit is PERCENT else ""
    small = unit.interval(*ends) + sign if ends else "no interval"
    exact = ",".join(f"{value:.6g}" for value in (one.value, *ends))
    return Entry(unit.text(one.value) + sign, small, exact)


def _mark(reached: Evidence | None, ceiling: Evidence | None) -> Markup:
    """From 0 to 1: reached, lost in the ordering, lost in the pool; whiskers over the intervals of the two borders."""
    if reached is None:
        return Markup("")
    actual = _inside(reached.value)
    best = max(actual, _inside(ceiling.value)) if ceiling is not None else actual
    parts = [
        f'<rect class="q4" width="{percent(100 * actual)}"/>',
        f'<rect class="q2" x="{percent(100 * actual)}" width="{percent(100 * (best - actual))}"/>',
        f'<rect class="q0" x="{percent(100 * best)}" width="{percent(100 * (1 - best))}"/>',
        *(_whisker(one) for one in (reached, ceiling) if one is not None),
    ]
    return Markup(f'<svg class="gaps" aria-hidden="true">{"".join(parts)}</svg>')


def _whisker(one: Evidence) -> str:
    if one.low is None or one.high is None:
        return ""
    low, high = percent(100 * _inside(one.low)), percent(100 * _inside(one.high))
    return f'<line class="z" x1="{low}" x2="{high}" y1="8" y2="8"/>'


def _inside(value: float) -> float:
    return min(1.0, max(0.0, value))


def strengths(run: Run, system: str) -> Iterator[Finding]:
    """That it is first, or may be, by the headline measure."""
    placed = _placed(run, system)
    if placed is None:
        return
    (low, high), of, said = placed
    if high == 1:
        yield finding(run, f"beats every other retrieval run by {said}", weight=3, place="score-runs")
    elif low == 1:
        clause = f"may be first of {numbers.counted(of, 'retrieval run')} by {said}"
        yield finding(run, clause, weight=2, place="score-runs")


def weaknesses(run: Run, system: str) -> Iterator[Finding]:
    """That every other run beats it."""
    placed = _placed(run, system)
    if placed is not None and placed[0] == (placed[1], placed[1]):
        yield finding(
            run, f"is beaten by every other retrieval run by {placed[2]}", weight=3, place="score-runs"
        )


def _placed(run: Run, system: str) -> tuple[tuple[int, int], int, str] | None:
    """Its rank range, of how many runs, and the value; None where it is not ranked among two or more."""
    score = score_of(run)
    if score is None:
        return None
    scope = run.record.scope(TASK)
    ranges = scope.ranges.get(system)
    row = run.record.find(TASK, system, score.headline, dataset=score.judgements.name)
    if ranges is None or row is None or row.value is None or len(scope.systems) < 2:
        return None
    return ranges, len(scope.systems), f"{score.headline} {figure(row)}, as the run of that name"
