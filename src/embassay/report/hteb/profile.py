"""What an HTEB run says: its verdict, its page with a profile of every system, its view on a terminal, and cards."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from embassay.document.blocks import (
    Block,
    Column,
    Heading,
    LabelledTableRow,
    PageFactsLine,
    ParagraphBlock,
    Said,
    Sentence,
    StyledBlockGroup,
    TabbedBlocks,
    Table,
    TableCell,
    VerdictText,
    build_collapsible_table,
    convert_sentence_to_text,
    file_tables,
    join_names_with_and,
    make_number_columns,
)
from embassay.document.marks import LinearScale, draw_axis_labels, draw_difference_mark, fit_axis_scale
from embassay.protocols.hteb.options import AXES, TRANSFORMATIONS, select_axis_transformations
from embassay.protocols.hteb.profiles import TOTAL, format_axis_part_name
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.claims import Claim, make_count_claim
from embassay.protocols.kernel.tables import POINTS
from embassay.records import ResultRow
from embassay.report.board import BoardRow, SystemBoard, list_protocol_tasks
from embassay.report.cards.findings import SystemFinding, make_finding
from embassay.report.notes import list_run_notes, show_gravest_notes
from embassay.report.record import OVERALL, RunRecord, count_text_outcomes
from embassay.report.runs import ReportRun

LITTLE = 0.02
"""Two points: an axis whose interval leaves out a larger loss is one that a system keeps to."""
MOST_DRAWN = 6
PARTS_SHOWN = ("hteb-tests", "hteb-axes", "hteb-families", "hteb-groups", "hteb-texts", "hteb-languages")


@dataclass(frozen=True)
class SystemScoreChanges:
    """One system over all of the run: the original score, the total, and the change of every part."""

    row: BoardRow
    original: ResultRow | None
    total: ResultRow | None
    changes: dict[str, ResultRow | None]

    @property
    def axes(self) -> dict[str, ResultRow]:
        """The changes of the axes that have a value."""
        changes = {axis: self.changes.get(format_axis_part_name(axis)) for axis in AXES}
        return {name: row for name, row in changes.items() if row is not None and row.value is not None}

    @property
    def worst(self) -> tuple[str, ResultRow] | None:
        """The axis on which it loses most."""
        return min(self.axes.items(), key=lambda pair: pair[1].value or 0.0, default=None)


def make_score_changes_of_systems(record: RunRecord, board: SystemBoard) -> list[SystemScoreChanges]:
    """Those of every system, in the order of the board."""
    return [_make_score_changes_of_system(record, row) for row in board.rows]


def _make_score_changes_of_system(
    record: RunRecord, row: BoardRow, task: str = OVERALL, dataset: str = ""
) -> SystemScoreChanges:
    headline = next((column.headline for column in list_protocol_tasks(record) if column.name == task), OVERALL)
    find = partial(record.find, task, row.system.name, dataset=dataset)
    return SystemScoreChanges(
        row, find("original", variant=TOTAL), find(headline, variant=TOTAL),
        {part: find("delta", variant=part) for part in list_transformation_axis_and_total_names(record)}
    )  # fmt: skip


def list_transformation_axis_and_total_names(record: RunRecord) -> tuple[str, ...]:
    """The transformations of the run, its axes, and the total."""
    chosen = [source["name"] for source in record.manifest.get("transformations", {}).get("sources", ())]
    names = tuple(transformation for transformation in TRANSFORMATIONS if transformation in chosen)
    return (*names, *(format_axis_part_name(axis) for axis in AXES if select_axis_transformations(axis, names)), TOTAL)


def format_score_change(row: ResultRow | None) -> str:
    """`-3.2 (-7.3 to -0.4)`, in points."""
    if row is None or row.value is None:
        return "n/a"
    ends = (
        f" ({POINTS.interval(row.ci_low, row.ci_high)})" if row.ci_low is not None and row.ci_high is not None else ""
    )
    return POINTS.change(row.value) + ends


def is_certain_loss(row: ResultRow | None) -> bool:
    """Whether the whole interval of a change lies below 0."""
    return row is not None and row.ci_high is not None and row.ci_high < 0


def is_little_lost(row: ResultRow | None) -> bool:
    """Whether the interval of a change leaves out all but a little loss."""
    return row is not None and row.ci_low is not None and row.ci_low > -LITTLE


def hteb_verdict(record: RunRecord, board: SystemBoard) -> VerdictText:
    """On which axis systems break, and which one keeps most. Without a certain loss the heading says that."""
    profiles = [row for row in make_score_changes_of_systems(record, board) if row.row.system.ranked and row.axes]
    if not profiles:
        return VerdictText(("Nothing is scored yet",), (("No system has a value on every dataset.",),))
    worst, sure = _state_worst_axis(profiles), _make_certain_losses_claim(profiles)
    highest, failed = _state_highest_total(profiles), _make_failed_texts_claim(record)
    most = _say_worst_axis(worst, board)
    lede = (*_say_highest_total(highest, profiles, board), _say_certain_losses(sure), *_say_failed_texts(failed))
    claims = (*worst, sure, *highest, *failed)
    if most and sure.n:
        return VerdictText(most, lede, claims)
    tail = (("In these figures, ", *_lowercase_first_letter(most), "."),) if most else ()
    return VerdictText(("No system has a clear loss on any axis",), (*tail, *lede), claims)


def _state_worst_axis(profiles: Sequence[SystemScoreChanges]) -> tuple[Claim, ...]:
    """On which axis most systems lose most, and how many, of those that have all axes; none where nobody loses."""
    whole = max(len(profile.axes) for profile in profiles)
    full = [profile for profile in profiles if len(profile.axes) == whole]
    worst: dict[str, list[SystemScoreChanges]] = {}
    for profile in full:
        if profile.worst is not None and (profile.worst[1].value or 0.0) < 0:
            worst.setdefault(profile.worst[0], []).append(profile)
    if not worst:
        return ()
    axis_name, most = max(worst.items(), key=lambda pair: len(pair[1]))
    return (make_count_claim(axis_name, len(most), len(profiles), most[0].row.system.name),)


def _say_worst_axis(claims: Sequence[Claim], board: SystemBoard) -> Sentence:
    """Which systems lose most on which axis; empty where none does."""
    if not claims:
        return ()
    [claim] = claims
    title = AXES[claim.kind].lower()
    if claim.of == 1:
        return (board.name_system_in_sentence(claim.subject), f" loses most on the {title} axis")
    if claim.n == claim.of:
        return (f"Every system loses most on the {title} axis",)
    lose = "loses" if claim.n == 1 else "lose"
    return (f"{claim.n} of {claim.of} systems {lose} most on the {title} axis",)


def _lowercase_first_letter(sentence: Sentence) -> Sentence:
    first, *rest = sentence
    return (first[:1].lower() + first[1:] if isinstance(first, str) else first, *rest)


def _state_highest_total(profiles: Sequence[SystemScoreChanges]) -> tuple[Claim, ...]:
    """Who has the highest total of those that have one."""
    totals = {
        profile.row.system.name: profile.total.value
        for profile in profiles
        if profile.total is not None and profile.total.value is not None
    }
    if not totals:
        return ()
    leading = max(totals, key=lambda name: totals[name])
    others = tuple(name for name in totals if name != leading)
    return (Claim(leading, "most", OVERALL, others, totals[leading]),)


def _say_highest_total(
    claims: Sequence[Claim], profiles: Sequence[SystemScoreChanges], board: SystemBoard
) -> Iterator[Sentence]:
    for claim in claims:
        change = next(row.changes[TOTAL] for row in profiles if row.row.system.name == claim.subject)
        has = "has the highest total: " if claim.others else "has a total of "
        yield (
            board.name_system_in_sentence(claim.subject), f" {has}", POINTS.text(claim.value or 0.0), ", a change of ",
            format_score_change(change),
            " from its original score."
        )  # fmt: skip


def _make_certain_losses_claim(profiles: Sequence[SystemScoreChanges]) -> Claim:
    """How many of the changes by axis are certain losses."""
    changes = [row for profile in profiles for row in profile.axes.values()]
    return make_count_claim("certain losses", sum(is_certain_loss(row) for row in changes), len(changes))


def _say_certain_losses(claim: Claim) -> Sentence:
    are = "change by axis is a clear loss" if claim.of == 1 else (
        "changes by axis is a clear loss"
        if claim.n == 1
        else "changes by axis are clear losses"
    )  # fmt: skip
    return (f"{claim.n} of {claim.of} {are} (interval below 0).",)


def _make_failed_texts_claim(record: RunRecord) -> tuple[Claim, ...]:
    """How many texts could not be transformed; none where all could."""
    counts = count_text_outcomes(record.manifest.get("transformations", {}).get("sources", ()))
    total = sum(counts.values())
    failed = total - counts["ok"] - counts["copied"]
    return (make_count_claim("failed texts", failed, total),) if failed else ()


def _say_failed_texts(claims: Sequence[Claim]) -> Iterator[Sentence]:
    for claim in claims:
        share = numbers.format_percent(claim.n / claim.of)
        yield (f"{share} of the texts could not be transformed and are not counted here.",)


def hteb_page(run: ReportRun, alone: bool) -> Iterator[Block]:
    """The page of a run: profiles, every transformation, datasets, and what became of the texts."""
    record, board = run.record, run.board
    yield _make_hteb_run_facts_line(record, board)
    yield hteb_verdict(record, board)
    yield from show_gravest_notes(list_run_notes(record), run.mark)
    profiles = make_score_changes_of_systems(record, board)
    yield Heading("Profiles", "hteb-profiles")
    yield ParagraphBlock(
        "How much scores change when texts are paraphrased, changed in style or length, or translated: transformed "
        "minus original, in points, with 95% intervals. An axis is the unweighted mean of its "
        "transformations, and the total is the unweighted mean of the axes. PTEB compares only paraphrased scores."
    )
    yield StyledBlockGroup(
        "panels",
        tuple(
            _make_score_change_panels([profile for profile in profiles if profile.row.system.ranked and profile.axes])
        ),
    )
    yield _make_axis_profile_table(profiles)
    yield Heading("By transformation", "hteb-transformations")
    yield ParagraphBlock("The change under each transformation, in points, averaged over datasets.")
    yield _make_changes_by_transformation_table(record, profiles)
    if panes := tuple(_profile_tables_by_dataset(record, board)):
        yield Heading("By dataset", "hteb-datasets")
        yield TabbedBlocks("Task", panes)
    files = {table.id: table for table in file_tables(record.path)}
    chosen = [files[name] for name in PARTS_SHOWN if name in files and (alone or name != "hteb-tests")]
    if chosen:
        yield Heading("Other tables", "hteb-tables")
        yield from map(build_collapsible_table, chosen)


def _make_hteb_run_facts_line(record: RunRecord, board: SystemBoard) -> PageFactsLine:
    told = record.manifest.get("transformations", {})
    sources = told.get("sources", ())
    runs = max((len(seeds) for source in sources for seeds in source.get("seeds", {}).values()), default=0)
    by = f" by {sources[0]['transformer']}" if sources else ""
    sample = ("a sample of the data",) if told.get("sample") else ()
    return PageFactsLine.of(
        "hteb",
        "HTEB",
        numbers.format_noun_count(len(board.tasks), "task"),
        numbers.format_noun_count(len(record.list_non_reference_systems), "system"),
        numbers.format_noun_count(len(sources), "transformation"),
        f"{numbers.format_noun_count(runs, 'run')}{by}",
        *sample,
    )


def _fit_score_change_scale(profiles: Sequence[SystemScoreChanges]) -> LinearScale:
    ends = [
        value
        for profile in profiles
        for row in profile.axes.values()
        for value in (row.value, row.ci_low, row.ci_high)
        if value is not None
    ]
    return fit_axis_scale([*ends, 0.0], within=None, factor=POINTS.factor)


def _make_score_change_panels(profiles: Sequence[SystemScoreChanges]) -> Iterator[Block]:
    """The profile plot of each of the first systems: its axes on one scale for all that are drawn."""
    scale = _fit_score_change_scale(profiles[:MOST_DRAWN])
    for profile in profiles[:MOST_DRAWN]:
        kind = profile.row.system.kind
        lines = [
            LabelledTableRow(
                AXES[name],
                (
                    TableCell(
                        (
                            draw_difference_mark(row.ci_low, row.value or 0.0, row.ci_high, kind, scale),
                            POINTS.change(row.value or 0.0),
                        ),
                        exact=_format_value_and_interval_percent(row),
                    ),
                ),
            )
            for name, row in profile.axes.items()
        ]
        head = Column((draw_axis_labels(scale, labels=2), "Change"), style="num")
        table = Table("", profile.row.label, "Axis", (head,), tuple(lines), "marks", 2, is_sortable=False, export="")
        yield StyledBlockGroup("panel", (table,))


def _format_value_and_interval_percent(row: ResultRow) -> str:
    values = (row.value, row.ci_low, row.ci_high)
    return ",".join("" if value is None else f"{100 * value:.6g}" for value in values)


def _change_entry(row: ResultRow | None) -> TableCell:
    return _make_points_cell(row, POINTS.change)


def _make_score_cell(row: ResultRow | None) -> TableCell:
    return _make_points_cell(row, POINTS.text)


def _make_points_cell(row: ResultRow | None, form: Callable[[float], str]) -> TableCell:
    if row is None or row.value is None:
        return TableCell("n/a", why=row.reason if row is not None else "not part of the run")
    interval = POINTS.interval(row.ci_low, row.ci_high or 0.0) if row.ci_low is not None else "no interval"
    return TableCell(form(row.value), interval, _format_value_and_interval_percent(row))


def _make_axis_profile_table(profiles: Sequence[SystemScoreChanges]) -> Table:
    """Original, paraphrased and the axes of every system: PTEB's question and HTEB's beside each other."""
    paraphrased = any("paraphrasing" in profile.changes for profile in profiles)
    axes = [name for name in AXES if any(format_axis_part_name(name) in profile.changes for profile in profiles)]
    heads = ["Original", *(["Paraphrased"] if paraphrased else []), *map(AXES.__getitem__, axes)]
    lines = []
    for profile in profiles:
        cells = [_make_score_cell(profile.original)]
        cells += [_change_entry(profile.changes.get("paraphrasing"))] if paraphrased else []
        cells += [_change_entry(profile.changes.get(format_axis_part_name(name))) for name in axes]
        cells += [_change_entry(profile.changes[TOTAL]), _make_score_cell(profile.total)]
        lines.append(_make_axis_profile_table_row(profile.row, tuple(cells)))
    columns = make_number_columns(*heads, "All axes", "HTEB total")
    return Table("hteb-profile", "Profiles", "System", columns, tuple(lines), is_titled=False, has_latex=True)


def _make_axis_profile_table_row(row: BoardRow, cells: tuple[TableCell, ...]) -> LabelledTableRow:
    return LabelledTableRow(
        row.label, cells, row.system.kind, "" if row.system.ranked else "reference", row.system.name
    )


def _make_changes_by_transformation_table(record: RunRecord, profiles: Sequence[SystemScoreChanges]) -> Table:
    names = [part for part in list_transformation_axis_and_total_names(record) if part in TRANSFORMATIONS]
    columns = tuple(
        Column(name.replace("_", " "), style="num", group=AXES[TRANSFORMATIONS[name].axis]) for name in names
    )
    lines = tuple(
        _make_axis_profile_table_row(row.row, tuple(_change_entry(row.changes.get(name)) for name in names))
        for row in profiles
    )
    return Table("hteb-by-transformation", "By transformation", "System", columns, lines, is_titled=False)


def _profile_tables_by_dataset(record: RunRecord, board: SystemBoard) -> Iterator[tuple[str, tuple[Block, ...]]]:
    for task in board.tasks:
        datasets = record.datasets(task.name)
        if not datasets:
            continue
        lines = []
        for dataset in datasets:
            for row in board.sort_rows_by_score_on_task(task.name):
                profile = _make_score_changes_of_system(record, row, task.name, dataset)
                cells = (
                    _make_score_cell(profile.original),
                    *(
                        _change_entry(profile.changes.get(format_axis_part_name(name)))
                        for name in AXES
                        if format_axis_part_name(name) in profile.changes
                    ),
                    _change_entry(profile.changes[TOTAL]),
                    _make_score_cell(profile.total),
                )
                lines.append(LabelledTableRow(row.label, cells, row.system.kind, group=dataset))
        heads = [
            AXES[name]
            for name in AXES
            if format_axis_part_name(name) in list_transformation_axis_and_total_names(record)
        ]
        columns = make_number_columns("Original", *heads, "All axes", "Total")
        table = Table(f"hteb-{task.name}", task.title, "System", columns, tuple(lines), is_titled=False)
        yield task.title, (table,)


def profile_terminal_table(record: RunRecord, board: SystemBoard, wide: bool) -> Table:
    """Every system's original score, total, and change on each axis; for a terminal."""
    axes = [name for name in AXES if format_axis_part_name(name) in list_transformation_axis_and_total_names(record)]
    rows: list[list[Said | TableCell]] = []
    for profile in make_score_changes_of_systems(record, board):
        cells: list[Said | TableCell] = [
            profile.row.rank or numbers.NONE,
            profile.row.system.name if wide else profile.row.label,
        ]
        cells += [
            format_score_or_state(profile.original, profile.row),
            format_score_or_state(profile.total, profile.row),
        ]
        cells += [
            format_score_change(profile.changes.get(format_axis_part_name(name)))
            if wide
            else _change_entry(profile.changes.get(format_axis_part_name(name))).text
            for name in axes
        ]
        rows.append(cells)
    short = {"style": "Δ style", "length": "Δ length", "language": "Δ language"}
    heads: list[str | Column] = [
        "Rank",
        "System",
        *make_number_columns("Orig.", "HTEB", *(short[name] for name in axes)),
    ]
    return Table.of("profiles", heads, rows, at=1)


def format_score_or_state(row: ResultRow | None, of: BoardRow) -> Said | TableCell:
    """A score in points, or the state that stands there."""
    from embassay.report.terminal import format_value_or_state

    return format_value_or_state(of.lead) if row is None or row.value is None else POINTS.text(row.value)


def find_axis_strengths(run: ReportRun, row: BoardRow) -> Iterator[SystemFinding]:
    """The axes on which little can be lost."""
    profile = _make_score_changes_of_system(run.record, row)
    kept = [
        f"{AXES[name].lower()} {format_score_change(change)}"
        for name, change in profile.axes.items()
        if is_little_lost(change)
    ]
    if kept:
        clause = f"loses little or nothing by axis: {convert_sentence_to_text(join_names_with_and(kept))}"
        yield make_finding(run, clause, weight=2, place="hteb-profiles")


def find_axis_weaknesses(run: ReportRun, row: BoardRow) -> Iterator[SystemFinding]:
    """The axis on which it breaks, and the transformation that takes most."""
    profile = _make_score_changes_of_system(run.record, row)
    broken = {name: change for name, change in profile.axes.items() if is_certain_loss(change)}
    if broken:
        name, change = min(broken.items(), key=lambda pair: pair[1].value or 0.0)
        clause = f"has a clear loss on the {AXES[name].lower()} axis: {format_score_change(change)} points"
        yield make_finding(run, clause, weight=5, place="hteb-profiles")
    single = {
        part: change
        for part, change in profile.changes.items()
        if part in TRANSFORMATIONS and change is not None and is_certain_loss(change)
    }
    if single:
        part, most = min(single.items(), key=lambda pair: pair[1].value or 0.0)
        clause = f"loses most under {part.replace('_', ' ')}: {format_score_change(most)} points"
        yield make_finding(run, clause, weight=3, place="hteb-transformations")


def describe_uncertain_axes(run: ReportRun, row: BoardRow) -> Iterator[str]:
    """The axes of which nobody knows whether it loses much or nothing."""
    profile = _make_score_changes_of_system(run.record, row)
    undecided = [
        f"{AXES[name].lower()}, {format_score_change(change)}"
        for name, change in profile.axes.items()
        if not is_little_lost(change) and not is_certain_loss(change) and change.ci_low is not None
    ]
    if undecided:
        axes = "this axis" if len(undecided) == 1 else "these axes"
        yield f"It is uncertain whether it loses points on {axes}: {'; '.join(undecided)}."
