"""The page of a name probe: the margins, what ablations do to them, and whether that costs recall."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from embassay.contracts import Kind
from embassay.document.blocks import (
    Block,
    Column,
    CommandInSentence,
    Figure,
    Heading,
    LabelledTableRow,
    PageFactsLine,
    ParagraphBlock,
    Sentence,
    TabbedBlocks,
    Table,
    TableCell,
    VerdictText,
    append_bracketed_interval,
    make_result_cell,
)
from embassay.document.marks import LinearScale, draw_difference_mark, fit_axis_scale
from embassay.document.plots import PlotAxis, PlotPoint, draw_scatter_plot
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.claims import Claim, Relation, make_count_claim
from embassay.protocols.kernel.tables import SCORE, MeasureFormat
from embassay.protocols.rag.probes.bundles import CONDITIONS
from embassay.protocols.rag.probes.names import (
    ABSOLUTE,
    ACROSS,
    EXCLUDED,
    GROUPS,
    HEADLINE,
    MARGINS,
    OF_MEANS,
    PERCENT,
    RATIO,
    SD,
)
from embassay.protocols.rag.probes.resampling import MEASURES, RECALL
from embassay.report.board import SystemBoard
from embassay.report.rag.probes import ProbeResultLookup, change_correlation_table, iterate_name_ablation_recall_tables
from embassay.report.record import RunRecord, SystemOfRun
from embassay.report.runs import ReportRun

PERCENTS = MeasureFormat(1.0, 1, 1)
MASK = "hard_name_mask"
IDENTITY = tuple(name for name, condition in CONDITIONS.items() if condition.group == "identity")
TITLES = {"d_name": "Name margin", "d_topic": "Topic margin", "d_both": "Both"}

BESIDE = 4
"""Systems and languages that stand side by side in a report of several runs; that of the run alone has all."""


def name_probe_page(run: ReportRun, alone: bool) -> Iterator[Block]:
    """Build the page of a name probe; of several runs what stands side by side."""
    where, arguments = ProbeResultLookup(run.record), run.record.arguments
    yield _make_name_probe_facts(where)
    yield name_probe_verdict(run.record, run.board)
    yield base_margins_table(where)
    yield ParagraphBlock(
        "A margin is the similarity to the right passage minus the similarity to another passage: the closer of two "
        "impostors on the same topic (name margin), the author’s passage on another topic (topic margin), or another "
        "author’s passage on another topic (both). The higher the margin, the better the passages are told apart; "
        "systems have different scales, so compare ratios and percentages. The 95% interval is shown below each value."
    )
    yield from _ablation_blocks(where, alone)
    if drawn := _draw_margin_vs_recall_change_chart(where):
        yield Heading("Does a smaller margin lower recall?", "names-recall")
        yield ParagraphBlock(
            "This test is not in the paper: the passages of all bundles form one collection. Grade 5: right "
            "author and topic; 3: right author; 2: right topic; 1: neither. Filled marks: identity "
            "destroyed; hollow marks: writing or layout changed."
        )
        yield drawn
    if losses := tuple(iterate_name_ablation_recall_tables(run.record)):
        yield Heading("How damaged names change recall in your collections", "names-losses")
        yield ParagraphBlock(
            "Each passage gets an author (the same author for passages that answer one question), and questions ask "
            "for that author. Ablations rewrite both. Change: from the base, with its 95% interval over questions."
        )
        yield from losses if alone else losses[:1]
    if alone:
        yield TabbedBlocks("Measure", tuple((table.title, (table,)) for table in _make_tables_by_name_condition(where)))
    measured = (*((name, f"queries, {name}") for name in IDENTITY), (ACROSS, "all conditions"))
    if alone and (table := change_correlation_table(where, HEADLINE, measured)):
        yield table
        yield ParagraphBlock(
            "Spearman’s correlation over queries (each averaged over runs) or over conditions (each "
            "averaged over queries). Above 0: what shrinks the margin also makes retrieval worse. n/a: nothing "
            "changes, or everything changes equally."
        )
    yield ParagraphBlock(
        "Intervals: 95%, bootstrap over queries with all their runs, corrected for bias and small samples, "
        f"{numbers.format_count(arguments.get('resamples', 0))} resamples, seed {arguments.get('seed')}."
    )


def _ablation_blocks(where: ProbeResultLookup, alone: bool) -> Iterator[Block]:
    groups = list_systems_with_name_ablations(where)
    if not groups:
        return
    yield Heading("What the name margin depends on", "names-ablations")
    yield ParagraphBlock(
        "Each ablation rewrites the same bundles. Tick: mean change of the margin in percent; bar: its 95% interval "
        "over queries; line: no change; left of it: a smaller margin. Rows with a base margin under 0.02 have no "
        "percentage and are counted; “of means” is the change of the means over the same rows."
        + ("" if alone else " Margin: its value and its change.")
    )
    if alone:
        yield TabbedBlocks("System", tuple((group.title, (_make_name_ablation_table(group),)) for group in groups))
        return
    yield _name_ablation_comparison_table(groups[:BESIDE])
    if len(groups) > BESIDE:
        files = (CommandInSentence("tables/name_margin_en.csv"), " and ", CommandInSentence("_fr"), ".")
        yield ParagraphBlock((f"All {len(groups)} are in this run's own report, and in ", *files))


def name_probe_verdict(record: RunRecord, _: SystemBoard) -> VerdictText:
    """What moves the margin: the identity of names, or how they are written."""
    where = ProbeResultLookup(record)
    if not any(where.iterate_measured_dataset_systems()):
        return VerdictText(("No margin has been measured yet.",))
    moved, margins, masked = (
        _list_ablation_margin_claims(where),
        _state_extreme_name_margins(where),
        _make_zero_masked_margins_claim(where),
    )
    lede = (*_say_extreme_margins(where, margins), *_say_masked_margins(masked))
    return VerdictText((_say_if_name_spelling_moves_margin(moved),), lede, (*moved, *margins, *masked))


def _list_ablation_margin_claims(where: ProbeResultLookup) -> tuple[Claim, ...]:
    """By how much percent each group of ablations moves the margin: identity by at least so much, form by at most; none
    where one of them has no percentage."""
    moved = list(_list_ablation_margin_moves(where))
    identity = [abs(percent) for group, percent, _ in moved if group == "identity"]
    form = [abs(percent) for group, percent, _ in moved if group != "identity"]
    if not identity or not form:
        return ()
    relation: Relation = "less" if max(form) < min(identity) else "most"
    return (Claim("form", relation, PERCENT, ("identity",), max(form), kind="moved"),)


def _say_if_name_spelling_moves_margin(claims: Sequence[Claim]) -> str:
    if not claims:
        return "How far names separate the right passage from impostors"
    if claims[0].relation == "less":
        return "The identity of a name changes the margin more than its spelling does"
    return "A name's spelling can change the margin as much as its identity does"


def _list_ablation_margin_moves(where: ProbeResultLookup) -> Iterator[tuple[str, float, str]]:
    """Group, percent and name of every ablation with a percentage, of embedding models where there are any; the mask
    is left out: it takes all by definition."""
    all_of = list(where.iterate_measured_dataset_systems())
    models = [cell for cell in all_of if cell[2].kind == "embedding"] or all_of
    for dataset, _, system in models:
        for name, condition in CONDITIONS.items():
            value = where.value(dataset, system.name, name, PERCENT)
            if value is not None and name != MASK:
                yield condition.group, value, name


def _state_extreme_name_margins(where: ProbeResultLookup) -> tuple[Claim, ...]:
    """The largest and the smallest name margin, of all systems and languages; one alone is stated."""
    margins = {
        (system.name, named): row
        for dataset, named, system in where.iterate_measured_dataset_systems()
        if (row := where.find(dataset, system.name, "", HEADLINE)) is not None and row.value is not None
    }
    if not margins:
        return ()
    ordered = sorted(margins, key=lambda key: -(margins[key].value or 0.0))
    ends: list[tuple[Relation, tuple[str, str]]] = [("most", ordered[0]), ("least", ordered[-1])]
    if len(ordered) == 1:
        ends = [("is", ordered[0])]
    return tuple(
        Claim(
            key[0], relation, HEADLINE, value=margins[key].value, low=margins[key].ci_low, high=margins[key].ci_high,
            kind=key[1],
        )
        for relation, key in ends
    )  # fmt: skip


def _say_extreme_margins(where: ProbeResultLookup, claims: Sequence[Claim]) -> Iterator[Sentence]:
    if not claims:
        return
    largest, smallest = claims[0], claims[-1]
    value = SCORE.text(largest.value or 0.0)
    ends = f" ({SCORE.interval(largest.low, largest.high or 0.0)})" if largest.low is not None else ""
    label = where.labels[largest.subject]
    if largest is smallest:
        yield (f"The name margin of {label} in {largest.kind} is {value}{ends}.",)
        return
    yield (
        f"The name margin is largest for {label} in {largest.kind}, at {value}{ends}, and smallest for "
        f"{where.labels[smallest.subject]} in {smallest.kind}, at {SCORE.text(smallest.value or 0.0)}; systems have "
        "different scales.",
    )


def _make_zero_masked_margins_claim(where: ProbeResultLookup) -> tuple[Claim, ...]:
    """How many margins are exactly 0 with every author masked; none where nothing was masked."""
    masked = [
        where.value(dataset, system.name, MASK, HEADLINE)
        for dataset, _, system in where.iterate_measured_dataset_systems()
    ]
    values = [value for value in masked if value is not None]
    return (make_count_claim("masked", sum(value == 0 for value in values), len(values)),) if values else ()


def _say_masked_margins(claims: Sequence[Claim]) -> Iterator[Sentence]:
    for claim in claims:
        if claim.n == claim.of:
            yield ("With every author masked, the margin is exactly 0, as it must be.",)
        else:
            yield ("With every author masked, a margin is not 0, because equal texts get unequal similarities.",)


def base_margins_table(where: ProbeResultLookup) -> Table:
    """A row per system and language: the three margins, the ratio of two, and how runs differ."""
    lines = []
    for dataset, named, system in where.iterate_measured_dataset_systems():
        cells = [make_result_cell(where.find(dataset, system.name, "", margin), SCORE) for margin in (*MARGINS, RATIO)]
        spread = where.find(dataset, system.name, "", SD)
        has_sd = spread is not None and spread.value is not None
        cells.append(
            TableCell(f"{spread.value:.4f}", f"{numbers.format_noun_count(spread.n, 'run')}", f"{spread.value:.6g}")
            if has_sd and spread is not None and spread.value is not None
            else TableCell("n/a", why="one run only")
        )
        lines.append(LabelledTableRow(f"{where.labels[system.name]}, {named}", tuple(cells), system.kind))
    columns = (*(TITLES[margin] for margin in MARGINS), "Name/topic", "SD between runs")
    return Table("margins", "Base margins", "System", columns, tuple(lines), digits=3)


def _make_tables_by_name_condition(where: ProbeResultLookup) -> Iterator[Table]:
    """A table per measure: a row per condition, a column per system and language."""
    cells = list(where.iterate_measured_dataset_systems())
    columns = tuple(f"{where.labels[system.name]}, {named}" for _, named, system in cells)
    for measure in MEASURES:
        lines = []
        for name in CONDITIONS:
            variant = "" if name == "base" else name
            rows = [where.find(dataset, system.name, variant, measure) for dataset, _, system in cells]
            if any(row is not None for row in rows):
                lines.append(LabelledTableRow(name, tuple(make_result_cell(row, SCORE) for row in rows)))
        if lines:
            place = MEASURES.index(measure)
            yield Table(
                f"name-retrieval-{place}", measure, "Condition", columns, tuple(lines), digits=3, is_sortable=False
            )


def _draw_margin_vs_recall_change_chart(where: ProbeResultLookup) -> Figure | None:
    """Change of the margin across, change of recall up, a point per ablation: of the first system and language that
    loses recall anywhere."""
    for dataset, named, system in where.iterate_measured_dataset_systems():
        placed = list(_list_margin_vs_recall_change_points(where, dataset, system.name))
        points = [point for _, point in placed]
        if len(points) < 4 or len({point.y for point in points}) < 2:
            continue
        x = PlotAxis(
            fit_axis_scale([*(point.x for point in points), 0.0], within=(-100.0, 100.0)),
            "Name margin, change in percent",
        )
        y = PlotAxis(fit_axis_scale([*(point.y for point in points), 0.0], within=None), f"{RECALL}, change")
        label = f"{where.labels[system.name]}, {named}"
        said_points = "; ".join(
            f"{name} {PERCENTS.change(point.x)} percent, {SCORE.change(point.y)}" for name, point in placed
        )
        return Figure(
            f"Margin lost and recall lost, {label}", draw_scatter_plot(points, x, y), f"{label}: {said_points}."
        )
    return None


def _list_margin_vs_recall_change_points(
    where: ProbeResultLookup, dataset: str, system: str
) -> Iterator[tuple[str, PlotPoint]]:
    """List each ablation's point: its change of the margin against that of recall."""
    for name, condition in CONDITIONS.items():
        percent = where.value(dataset, system, name, PERCENT)
        lost = where.value(dataset, system, name, f"{RECALL} change")
        if percent is not None and lost is not None:
            kind: Kind = "embedding" if condition.group == "identity" else "classical"
            label = name.replace("_", " ") if condition.group == "identity" else ""
            yield name, PlotPoint(percent, lost, kind, label)


def _make_name_probe_facts(where: ProbeResultLookup) -> PageFactsLine:
    arguments = where.record.arguments
    queries = min(arguments.get("queries", 0), arguments.get("limit") or arguments.get("queries", 0))
    runs = numbers.format_noun_count(arguments.get("runs", 0), "run")
    return PageFactsLine.of(
        "names",
        "RAG, name probe",
        numbers.format_noun_count(len(where.systems), "system"),
        ", ".join(dict.fromkeys(named for _, named, _ in where.iterate_measured_dataset_systems())),
        f"{numbers.format_noun_count(queries, 'query')} × {runs}",
    )


MARGIN = MeasureFormat(1.0, 3, 3)
WIDEST = 200.0
"""Percent beyond which a bar ends at the edge: one wild ablation must not press all others together."""


@dataclass(frozen=True)
class NameAblationResultRow:
    """A condition: its mark, and its numbers as text; `why` where it has no percentage."""

    name: str
    mark: Markup
    percent: str
    interval: str
    exact: str
    change: str
    change_interval: str
    of_means: str
    margin: str
    left_out: str
    why: str = ""


@dataclass(frozen=True)
class SystemNameConditions:
    """The conditions of a system in a language, by their names, on one scale."""

    title: str
    id: str
    scale: LinearScale
    conditions: dict[str, NameAblationResultRow]


def list_systems_with_name_ablations(where: ProbeResultLookup) -> list[SystemNameConditions]:
    """List the name ablations of every system and language that has any."""
    groups = []
    for place, (dataset, named, system) in enumerate(where.iterate_measured_dataset_systems()):
        rows = [where.find(dataset, system.name, name, PERCENT) for name in CONDITIONS]
        ends = [end for row in rows if row for end in (row.value, row.ci_low, row.ci_high) if end is not None]
        scale = fit_axis_scale([*(max(-WIDEST, min(WIDEST, end)) for end in ends), 0.0], within=(-100.0, WIDEST))
        by_name = {
            ablation.name: ablation
            for group in GROUPS
            for ablation in _iterate_group_ablation_conditions(where, dataset, system, group, scale)
        }
        if by_name:
            title = f"{where.labels[system.name]}, {named}"
            groups.append(SystemNameConditions(title, f"ablations-{place}", scale, by_name))
    return groups


def _make_name_ablation_table(group: SystemNameConditions) -> Table:
    heads = ("Percent, 95%", "Change, 95%", "Margin left", "Percent of means", "Rows left out")
    lines = (
        _ablation_line(
            condition.name,
            TableCell((condition.mark,)),
            TableCell(
                append_bracketed_interval(condition.percent, condition.interval),
                exact=condition.exact,
                why=condition.why,
            ),
            *map(
                TableCell,
                (
                    append_bracketed_interval(condition.change, condition.change_interval),
                    condition.margin,
                    condition.of_means,
                    condition.left_out,
                ),
            ),
        )
        for condition in group.conditions.values()
    )
    columns = (Column("", group.scale, "bar"), *(Column(head, style="num") for head in heads))
    caption = f"Change of the name margin by ablation, {group.title}"
    return Table(
        group.id, group.title, "Ablation", columns, tuple(lines), "forest", 3, is_titled=False, is_sortable=False,
        caption=caption
    )  # fmt: skip


def _name_ablation_comparison_table(groups: Sequence[SystemNameConditions]) -> Table:
    """Several systems and languages in one table."""
    columns = tuple(Column(f"{group.title}, percent", group.scale, "") for group in groups)
    names = dict.fromkeys(
        name for group in GROUPS for name, condition in CONDITIONS.items() if condition.group == group
    )
    lines = (
        _ablation_line(name, *(_ablation_entry(group.conditions.get(name)) for group in groups))
        for name in names
        if any(name in group.conditions for group in groups)
    )
    return Table(
        "ablations", "Change of the name margin by ablation, percent", "Ablation", columns, tuple(lines),
        "values cols", 3, is_titled=False, is_sortable=False
    )  # fmt: skip


def _ablation_line(name: str, *entries: TableCell) -> LabelledTableRow:
    condition = CONDITIONS[name]
    group = GROUPS[condition.group].capitalize()
    return LabelledTableRow(name.replace("_", " "), entries, title=condition.summary, group=group)


def _ablation_entry(ablation: NameAblationResultRow | None) -> TableCell:
    if ablation is None:
        return TableCell("n/a", why="not part of the run", style="task")
    words = f"{ablation.interval}, of means {ablation.of_means}\nmargin {ablation.margin}\n"
    words += append_bracketed_interval(ablation.change, ablation.change_interval)
    if ablation.left_out != "0%":
        words += f"\n{ablation.left_out} of rows left out"
    return TableCell((ablation.percent, ablation.mark, words), exact=ablation.exact, why=ablation.why, style="task")


def _iterate_group_ablation_conditions(
    where: ProbeResultLookup, dataset: str, system: SystemOfRun, group: str, scale: LinearScale
) -> Iterator[NameAblationResultRow]:
    for name, condition in CONDITIONS.items():
        row = where.find(dataset, system.name, name, PERCENT)
        if condition.group != group or row is None:
            continue
        change = where.find(dataset, system.name, name, ABSOLUTE)
        of_means, margin, left_out = (
            where.value(dataset, system.name, name, kind) for kind in (OF_MEANS, HEADLINE, EXCLUDED)
        )
        # With few items a value can come without an interval.
        has_ends = row.value is not None and row.ci_low is not None and row.ci_high is not None
        yield NameAblationResultRow(
            name,
            Markup("")
            if row.value is None
            else draw_difference_mark(row.ci_low, row.value, row.ci_high, system.kind, scale),
            "n/a" if row.value is None else PERCENTS.change(row.value),
            PERCENTS.interval(row.ci_low or 0.0, row.ci_high or 0.0) if has_ends else "no interval",
            "" if row.value is None else ",".join(f"{end or 0.0:.6g}" for end in (row.value, row.ci_low, row.ci_high)),
            "n/a" if change is None or change.value is None else MARGIN.change(change.value),
            "" if change is None or change.ci_low is None else MARGIN.interval(change.ci_low, change.ci_high or 0.0),
            "n/a" if of_means is None else PERCENTS.change(of_means),
            "n/a" if margin is None else MARGIN.text(margin),
            "n/a" if left_out is None else numbers.format_percent(left_out),
            row.reason,
        )
