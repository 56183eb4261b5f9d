"""The page of a noise probe: how similarity falls with small talk, what rewriting brings back, what retrieval loses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from embassay.document.blocks import (
    Block,
    Box,
    Entry,
    Facts,
    Figure,
    Heading,
    Line,
    Panes,
    Sentence,
    Table,
    Text,
    Verdict,
)
from embassay.document.marks import scale_of
from embassay.document.plots import MOST_LINES, Series, lines
from embassay.document.tables import entry
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.tables import SCORE, Unit
from embassay.protocols.rag.probes.noise import ACROSS, COSINE, HEADLINE, OVERLAP, RECOVERED, SHARE, TAU
from embassay.protocols.rag.probes.questions import LEVELS, NOISIEST, level_name
from embassay.protocols.rag.probes.resampling import MEASURES, RECALL
from embassay.records import Result
from embassay.report.board import Board
from embassay.report.rag.probes import Where, links
from embassay.report.record import Record, System, labels
from embassay.report.runs import ReportRun

PERCENTS = Unit(1.0, 1, 1)


def noise_page(run: ReportRun, alone: bool) -> Iterator[Block]:
    """The page of a run; of several runs its first charts and measure."""
    where, arguments = Where(run.record), run.record.arguments
    yield _facts(where)
    yield noise_verdict(run.record, run.board)
    if drawn := tuple(curves(where))[: None if alone else 2]:
        yield Heading("Similarity to what is meant, by level of noise", "noise-levels")
        yield Text(
            "0 none; 1 a greeting; 2 and filler; 3 and politeness and a digression; 4 greeting, apology, context, "
            "hedging and emoji. The question stays word for word. Band: 95%."
        )
        yield Box("two", drawn)
    yield drops(where)
    yield Text(
        "Rows with a rewriter’s name: after rewriting. Recovered: the share of the drop that it brings back; 1 is all. "
        "A lexical metric’s similarity grows with the length of a question: read its retrieval instead."
    )
    yield from _lost_in_retrieval(tuple(_retrieval(where))[: None if alone else 1])
    measured = ((level_name(NOISIEST), f"queries, level {NOISIEST}"), (ACROSS, "all levels"))
    if alone and (table := links(where, COSINE, measured)):
        yield table
        yield Text(
            "Spearman’s correlation over queries, or over levels as asked and rewritten. Above 0: what moves a "
            "question further costs retrieval. n/a: nothing changes."
        )
    yield Text(
        "Intervals: 95%, bootstrap over queries with all their runs, corrected for bias and few queries, "
        f"{numbers.count(arguments.get('resamples', 0))} resamples, seed {arguments.get('seed')}."
    )


def _lost_in_retrieval(tables: Sequence[Table]) -> Iterator[Block]:
    if tables:
        yield Heading("What retrieval loses", "noise-retrieval")
        yield Text(
            "Change against the clean question, paired over queries, with its 95% interval; p by the paired bootstrap. "
            "Overlap and τ-b: how much of the clean question’s first 10 is still there, and in what order."
        )
        yield Panes("Measure", tuple((one.title, (one,)) for one in tables))


def noise_verdict(record: Record, _: Board) -> Verdict:
    """How much of the similarity the noisiest questions lose, and how much comes back."""
    where = Where(record)
    lost = _spread(where, "", SHARE)
    if not lost:
        return Verdict(("No drop is finished yet.",))
    if min(lost) > 0:
        heading = f"Small talk takes {_range(lost)} of the similarity to what is meant"
    elif max(lost) <= 0:
        heading = "Small talk takes nothing of the similarity to what is meant"
    else:
        heading = "Small talk lowers the similarity of some systems, not of all"
    return Verdict((heading,), tuple(_lede(where)))


def _lede(where: Where) -> Iterator[Sentence]:
    called = labels(where.rewriters)
    for rewriter in where.rewriters:
        back = _spread(where, level_name(NOISIEST, rewriter), RECOVERED, embeddings=True)
        if back:
            low, high = (numbers.percent(one) for one in (min(back), max(back)))
            said = low if low == high else f"{low} to {high}"
            yield (f"Rewriting by {called[rewriter]} brings back {said} of that for embedding models.",)
    changes = [
        (row.value, where.labels[system.name], said, row)
        for dataset, said, system in where.each()
        if (row := where.find(dataset, system.name, level_name(NOISIEST), f"{RECALL} change")) is not None
        and row.value is not None
    ]
    if changes:
        value, label, said, row = min(changes, key=lambda one: one[0])
        if value < 0 and row.ci_high is not None and row.ci_high < 0:
            yield (f"{RECALL} falls most for {label} on {said}, by {SCORE.text(-value)}.",)
        elif value < 0:
            yield (
                (f"No fall of {RECALL} can be told from 0.",)
                if all(one[3].ci_high is None or one[3].ci_high >= 0 for one in changes)
                else (f"{RECALL} falls for some systems.",)
            )
        else:
            yield (f"{RECALL} does not fall.",)


def _spread(where: Where, variant: str, measure: str, *, embeddings: bool = False) -> list[float]:
    """The measure's values over systems and datasets; of embedding models alone where there are any."""
    found = [
        (system.kind, value)
        for dataset, _, system in where.each()
        if (value := where.value(dataset, system.name, variant, measure)) is not None
    ]
    of_models = [value for kind, value in found if kind == "embedding"]
    return of_models or ([] if embeddings else [value for _, value in found])


def _range(percents: list[float]) -> str:
    low, high = f"{min(percents):.0f}", f"{max(percents):.0f}"
    return f"{low}%" if low == high else f"{low}% to {high}%"


def drops(where: Where) -> Table:
    """A row per system, dataset and rewriter: what is lost at the noisiest level, and what comes back."""
    lines, called = [], labels(where.rewriters)
    for dataset, said, system in where.each():
        for rewriter in ("", *where.rewriters):
            variant = level_name(NOISIEST, rewriter)
            cells = [
                entry(where.find(dataset, system.name, level_name(0, rewriter), COSINE), SCORE),
                entry(where.find(dataset, system.name, variant, COSINE), SCORE),
                entry(where.find(dataset, system.name, variant, HEADLINE), SCORE),
                entry(where.find(dataset, system.name, variant, SHARE), PERCENTS),
                entry(where.find(dataset, system.name, variant, RECOVERED), SCORE)
                if rewriter
                else Entry(numbers.NONE, why="as asked"),
            ]
            label = f"{where.labels[system.name]}, {said}" + (f", {called[rewriter]}" if rewriter else "")
            lines.append(Line(label, tuple(cells), system.kind))
    columns = ("Level 0", f"Level {NOISIEST}", "Drop", "Drop, percent", "Recovered")
    return Table("drops", "Drop and recovery", "System", columns, tuple(lines), digits=3)


def _retrieval(where: Where) -> Iterator[Table]:
    """A table per measure: clean, noisy and rewritten at the noisiest level, with the change against the clean."""
    called = labels(where.rewriters)
    for place, measure in enumerate(MEASURES):
        lines = []
        for dataset, said, system in where.each():
            clean = where.find(dataset, system.name, level_name(0), measure)
            if clean is None:
                continue
            for rewriter in ("", *where.rewriters):
                variant = level_name(NOISIEST, rewriter)
                p = where.value(dataset, system.name, variant, f"p({measure} change)")
                cells = (
                    entry(clean, SCORE),
                    entry(where.find(dataset, system.name, variant, measure), SCORE),
                    entry(where.find(dataset, system.name, variant, f"{measure} change"), SCORE, signed=True),
                    Entry("n/a", why="no paired change")
                    if p is None
                    else Entry(numbers.p_value(p), "", f"{p:.6g}"),
                    entry(where.find(dataset, system.name, variant, OVERLAP), SCORE),
                    entry(where.find(dataset, system.name, variant, TAU), SCORE),
                )
                label = f"{where.labels[system.name]}, {said}" + (f", {called[rewriter]}" if rewriter else "")
                lines.append(Line(label, cells, system.kind))
        if lines:
            columns = ("Clean", f"Level {NOISIEST}", "Change", "p", "Overlap@10", "τ-b")
            yield Table(f"noise-retrieval-{place}", measure, "System", columns, tuple(lines), digits=3)


def _facts(where: Where) -> Facts:
    counts = {
        row.dataset: row.n for key, row in where.record.rows.items() if key[5] == HEADLINE and not key[3]
    }
    queries = ", ".join(
        f"{where.said(dataset, lang)} {numbers.counted(counts.get(dataset, 0), 'query')}"
        for dataset, lang in where.datasets
    )
    runs = where.record.arguments.get("runs", 0)
    return Facts.of(
        "noise", "RAG, noise probe", numbers.counted(len(where.systems), "system"), queries,
        f"{numbers.counted(runs, 'draw')} of small talk",
    )  # fmt: skip


CHARTS = 4


def curves(where: Where) -> Iterator[Figure]:
    """A drawing per dataset: the systems as asked; with one or two systems, as rewritten too."""
    for dataset, lang in where.datasets[:CHARTS]:
        series = _series(where, dataset)
        if not series:
            continue
        ends = [
            end for one in series[:MOST_LINES] for _, row in one.points
            for end in (row.value, row.ci_low, row.ci_high) if end is not None
        ]  # fmt: skip
        ticks = [(level / NOISIEST, str(level)) for level in range(len(LEVELS))]
        said = "; ".join(f"{one.name} from {_at(one, 0)} to {_at(one, -1)}" for one in series[:MOST_LINES])
        name = where.said(dataset, lang)
        more = f"{len(series) - MOST_LINES} more in the table" if len(series) > MOST_LINES else ""
        yield Figure(name, lines(series, ticks, scale_of(ends), "Level of noise"), f"{name}: {said}.", more)


def _at(one: Series, place: int) -> str:
    return SCORE.text(one.points[place][1].value or 0.0)


def _series(where: Where, dataset: str) -> list[Series]:
    systems = [
        system for system in where.systems if where.value(dataset, system.name, "", HEADLINE) is not None
    ]
    models = [system for system in systems if system.kind == "embedding"] or systems
    ways = ("", *where.rewriters[:1]) if len(models) <= 2 else ("",)
    called = labels(where.rewriters)
    return [
        Series(where.labels[system.name] + (f", {called[way]}" if way else ""), points, system.kind)
        for way in ways
        for system in models
        if (points := tuple(_points(where, dataset, system, way)))
    ]


def _points(where: Where, dataset: str, system: System, rewriter: str) -> Iterator[tuple[float, Result]]:
    for level in range(len(LEVELS)):
        row = where.find(dataset, system.name, level_name(level, rewriter), COSINE)
        if row is not None and row.value is not None:
            yield level / NOISIEST, row
