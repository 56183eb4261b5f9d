"""The SAGE page: panels, why robustness is low, curves, what survives in retrieval; and what SAGE says on a card."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from embassay.document.blocks import Verdict
from embassay.document.marks import Scale, scale_of
from embassay.document.plots import (
    HEIGHT,
    LEFT,
    MOST_LINES,
    SIGNS,
    WIDE,
    drawn,
    grid,
    height_of,
    names,
    track,
)
from embassay.protocols.kernel import tables as numbers
from embassay.records import Result
from embassay.report.board import Board, Gap, Row, Value, ends, gaps
from embassay.report.cards.findings import Finding, figure, finding, known, share
from embassay.report.items.groups import EDIT_WORDS, POSITIONS, SEMANTIC, SUPERFICIAL, edit_words
from embassay.report.items.groups import SIZES as SIZE_NAMES
from embassay.report.record import Record
from embassay.report.runs import Run
from embassay.report.sage.conclusions import copies, sage_verdict
from embassay.report.sage.tables import (
    Heat,
    HeatColumn,
    Panel,
    PaperTable,
    ValueTable,
    Wanted,
    heats,
    panels,
    paper_tables,
    two_decimals,
    value_table,
)

KINDS = {"insertion": "inserted", "removal": "removed"}
SHARES = tuple(
    HeatColumn(heading, "share", variant)
    for heading, variant in (
        ("Summary over meaning change", "summary_over_semantic"),
        ("Noise over summary", "superficial_over_summary"),
        ("Noise over meaning change", "superficial_over_semantic"),
        ("All three", "all_three"),
    )
)
SIMILARITIES = (
    *(HeatColumn(EDIT_WORDS[edit], "similarity", edit, "noise") for edit in SUPERFICIAL),
    HeatColumn("summary", "similarity", "summary", "shorter"),
    *(HeatColumn(EDIT_WORDS[edit], "similarity", edit, "meaning changed") for edit in SEMANTIC),
)
SIDES = (
    *(HeatColumn(EDIT_WORDS[edit], "above_summary", edit, "above the summary") for edit in SUPERFICIAL),
    *(HeatColumn(EDIT_WORDS[edit], "below_summary", edit, "below the summary") for edit in SEMANTIC),
)


def spans(measure: str, prefix: str, sizes: int) -> tuple[HeatColumn, ...]:
    """Columns for insertions and removals at the first `sizes` sizes, the positions one below the other."""
    return tuple(
        HeatColumn(numbers.percent(float(p)), measure, variants[0], KINDS[kind], variants[1:])
        for kind in SIZE_NAMES
        for p in SIZE_NAMES[kind][:sizes]
        for variants in [tuple(f"{prefix}{kind}:p={p},q={q}" for q in POSITIONS)]
    )


def by_size(record: Record) -> tuple[HeatColumn, ...]:
    """Columns for the mean over positions at each size, with the similarity expected there."""
    linear = is_linear(record)
    return tuple(
        HeatColumn(
            f"{numbers.percent(float(p))}, expected {two_decimals(expected(float(p), linear=linear))}",
            "similarity",
            f"{kind}:p={p}",
            KINDS[kind],
        )
        for kind, sizes in SIZE_NAMES.items()
        for p in sizes
    )


BY_POSITION = spans("similarity", "", 3)
RETAINED = (
    HeatColumn("with all copies", "retention", "augmented", "kept"),
    HeatColumn("harmonic mean", "retention", "replaced", "kept"),
    *(HeatColumn(EDIT_WORDS[edit], "retention", f"replaced:{edit}", "noise") for edit in SUPERFICIAL),
    *(HeatColumn(EDIT_WORDS[edit], "retention", f"replaced:{edit}", "meaning changed") for edit in SEMANTIC),
    *spans("retention", "replaced:", 2),
)


@dataclass(frozen=True)
class SagePage:
    """The content of the page; every tuple is empty when its task is not part of the run."""

    facts: tuple[str, ...]
    verdict: Verdict
    panels: tuple[Panel, ...]
    gaps: tuple[Gap, ...]
    command: str
    shares: tuple[Heat, ...]
    similarities: tuple[Heat, ...]
    sides: tuple[Heat, ...]
    curves: tuple[Curves, ...]
    sizes: tuple[Heat, ...]
    positions: tuple[Heat, ...]
    sensitivity: tuple[ValueTable, ...]
    retained: tuple[Heat, ...]
    copies: str
    ndcg: tuple[ValueTable, ...]
    preference: tuple[ValueTable, ...]
    by_dataset: tuple[ValueTable, ...]
    paper: tuple[PaperTable, ...]


def sage_page(record: Record, board: Board) -> SagePage | None:
    """The page of a record; None when no task has finished a cell."""
    if not any(cell.status == "done" for cell in record.cells):
        return None
    return SagePage(
        facts=_facts(record, board),
        verdict=sage_verdict(record, board),
        panels=panels(record, board),
        gaps=gaps(board),
        command=record.manifest.get("command", ""),
        shares=heats(record, board, "robustness", SHARES),
        similarities=heats(record, board, "robustness", SIMILARITIES, two_decimals),
        sides=heats(record, board, "robustness", SIDES),
        curves=curves(record, board),
        sizes=heats(record, board, "sensitivity", by_size(record), two_decimals),
        positions=heats(record, board, "sensitivity", BY_POSITION, two_decimals),
        sensitivity=_per_dataset(record, board, "sensitivity", _sensitivity_columns),
        retained=heats(record, board, "retrieval", RETAINED, two_decimals),
        copies=copies(record),
        ndcg=_per_dataset(record, board, "retrieval", _ndcg_columns),
        preference=_per_dataset(record, board, "preference", _preference_columns),
        by_dataset=_by_dataset(record, board),
        paper=paper_tables(record, board),
    )


def _facts(record: Record, board: Board) -> tuple[str, ...]:
    datasets = {name for task in board.tasks for name in record.datasets(task.name)}
    return (
        "SAGE",
        numbers.counted(len(board.tasks), "task"),
        numbers.counted(len(datasets), "dataset") if len(datasets) > 1 else next(iter(datasets), ""),
        numbers.counted(len(record.ranked_systems), "system"),
    )


def _per_dataset(
    record: Record, board: Board, task: str, columns: Callable[[Record, str], list[Wanted]]
) -> tuple[ValueTable, ...]:
    """One value table per dataset of a task."""
    made = (
        value_table(record, board, task, columns(record, dataset), title=dataset, name=f"{task}-{i}")
        for i, dataset in enumerate(record.datasets(task))
    )
    return tuple(table for table in made if table is not None)


def _sensitivity_columns(_: Record, dataset: str) -> list[Wanted]:
    measures = {
        "sensitivity": "{}: score",
        "sensitivity_calibrated": "{}: score after calibration",
        "falls_at_every_step": "{}: falls at every step",
    }
    return [
        Wanted(words.format(kind.capitalize()), measure, dataset, kind)
        for kind in SIZE_NAMES
        for measure, words in measures.items()
    ]


def _ndcg_columns(_: Record, dataset: str) -> list[Wanted]:
    return [
        Wanted("nDCG@10, clean corpus", "ndcg@10", dataset, "original"),
        Wanted("nDCG@10, with all copies", "ndcg@10", dataset, "augmented"),
        Wanted("share of rankings with ties", "tie_share", dataset, "augmented"),
    ]


def _preference_columns(record: Record, dataset: str) -> list[Wanted]:
    axes = dict.fromkeys(
        row.variant for row in record.rows.values() if (row.task, row.measure) == ("preference", "score")
    )
    figures = {"accuracy": "Accuracy", "precision": "Precision", "recall": "Recall", "f1": "F1"}
    return [
        *(Wanted(heading, measure, dataset) for measure, heading in figures.items()),
        Wanted("Share of ties", "tie_share", dataset),
        *(Wanted(f"Rating: {axis}", "score", dataset, axis) for axis in axes),
    ]


def _by_dataset(record: Record, board: Board) -> tuple[ValueTable, ...]:
    """Headline scores by dataset, for each task that has more than one."""
    made = (
        value_table(
            record, board, task.name,
            [Wanted(dataset, task.headline, dataset) for dataset in record.datasets(task.name)],
            title=task.title, name=f"by-dataset-{task.name}",
        )
        for task in board.tasks
        if len(record.datasets(task.name)) > 1
    )  # fmt: skip
    return tuple(table for table in made if table is not None)


ROOM = 16
"""Characters of a name that fit beside the plot, on a phone too."""
SIZES = {"insertion": (0.15, 0.5, 1.0), "removal": (0.15, 0.5, 0.9)}
TITLES = {"insertion": "text is inserted", "removal": "text is removed"}


@dataclass(frozen=True)
class Line:
    """A system's mean similarity at each size that has a value."""

    row: Row
    points: tuple[tuple[float, Result], ...]


@dataclass(frozen=True)
class Curve:
    """The chart of one kind of change: at most four lines, the SVG, and one sentence that says the same."""

    kind: str
    title: str
    lines: tuple[Line, ...]
    svg: Markup
    summary: str

    @property
    def legend(self) -> tuple[tuple[Markup, Row], ...]:
        """Markers with names, when a name is too long to stand whole at the end of its line."""
        if all(len(line.row.label) <= ROOM for line in self.lines):
            return ()
        drawn = (Markup(f"<svg>{sign.format(x=7, y=7)}</svg>") for sign in SIGNS)
        return tuple((marker, line.row) for marker, line in zip(drawn, self.lines, strict=False))


@dataclass(frozen=True)
class Curves:
    """The charts of one dataset, its title."""

    title: str
    curves: tuple[Curve, ...]


def curves(record: Record, board: Board) -> tuple[Curves, ...]:
    """The charts of each dataset that has values."""
    linear = is_linear(record)
    made = []
    for dataset in record.datasets("sensitivity"):
        found = [(kind, _lines(record, board, dataset, kind)) for kind in SIZES]
        charts = tuple(_curve(kind, lines, linear=linear) for kind, lines in found if lines)
        if charts:
            made.append(Curves(dataset, charts))
    return tuple(made)


def is_linear(record: Record) -> bool:
    """Whether the run was told to expect 1 - p instead of 1 / (1 + p) [A15]."""
    return (record.arguments.get("options") or {}).get("curve") == "linear"


def expected(size: float, *, linear: bool = False) -> float:
    """The similarity the protocol expects when a share `size` is inserted or removed."""
    return 1 - size if linear else 1 / (1 + size)


def chosen(rows: Sequence[Line]) -> tuple[Line, ...]:
    """At most four of the systems, ordered by score: the two best and the two worst."""
    return tuple(rows) if len(rows) <= MOST_LINES else (*rows[:2], *rows[-2:])


def _lines(record: Record, board: Board, dataset: str, kind: str) -> tuple[Line, ...]:
    found = []
    for row in board.by_task("sensitivity"):
        if not row.system.ranked:
            continue
        results = [
            (size, record.find("sensitivity", row.system.name, "similarity", dataset=dataset,
                               variant=f"{kind}:p={size:g}"))
            for size in SIZES[kind]
        ]  # fmt: skip
        points = tuple((size, one) for size, one in results if one is not None and one.value is not None)
        if points:
            found.append(Line(row, points))
    return chosen(found)


def _curve(kind: str, lines: tuple[Line, ...], *, linear: bool) -> Curve:
    values = ends(Value("value", one) for line in lines for _, one in line.points)
    y = scale_of([*values, 1.0, 0.0])
    tracks = [track(line.points, y) for line in lines]
    ends_at = [(line.row.label, of.points[-1][1]) for line, of in zip(lines, tracks, strict=True)]
    after = ("expected", height_of(y, expected(1.0, linear=linear)))
    parts = [
        grid(y),
        drawn(tracks, y, _expected(y, linear=linear)),
        _axis(SIZES[kind]),
        names(ends_at, plain=[after]),
    ]
    svg = Markup(f'<svg class="curve" height="{HEIGHT + 40}">{"".join(parts)}</svg>')
    return Curve(kind, TITLES[kind], lines, svg, _summary(kind, lines))


def _summary(kind: str, lines: Sequence[Line]) -> str:
    ends = "; ".join(f"{line.row.label} {_two(line.points[-1][1].value)}" for line in lines)
    return f"Mean similarity as {TITLES[kind]}. At the largest size: {ends}."


def _two(value: float | None) -> str:
    return numbers.score(value or 0.0, 2)


def _expected(y: Scale, *, linear: bool) -> str:
    steps = [i / 20 for i in range(21)]
    points = " ".join(f"{100 * p:.0f},{height_of(y, expected(p, linear=linear))}" for p in steps)
    return f'<polyline class="expected" points="{points}"/>'


def _axis(sizes: Sequence[float]) -> str:
    ticks = "".join(
        f'<text x="{LEFT + WIDE * size:.2f}%" y="{HEIGHT + 24}" text-anchor="middle">{numbers.percent(size)}</text>'
        for size in (0.0, *sizes)
    )
    return f'{ticks}<text x="{LEFT + WIDE / 2}%" y="{HEIGHT + 39}" text-anchor="middle">share of the tokens</text>'


RELATION = "superficial_over_semantic"
REPLACED = "replaced:"
ENOUGH = 0.5
"""A share of documents under one half is told of."""


def strengths(run: Run, row: Row) -> Iterator[Finding]:
    """The edit under which it keeps more of its retrieval than any other system."""
    record, name = run.record, row.system.name
    others = [one.name for one in record.ranked_systems if one.name != name]
    ahead: list[tuple[float, Result]] = []
    for one in _kept(record, name):
        rivals = known([_retention(record, other, one.variant, one.dataset) for other in others])
        if rivals and (one.value or 0.0) > max(rival.value or 0.0 for rival in rivals):
            ahead.append(((one.value or 0.0) - max(rival.value or 0.0 for rival in rivals), one))
    if ahead:
        _, most = max(ahead, key=lambda pair: pair[0])
        clause = (
            f"keeps {figure(most)} of its nDCG@10 where documents are {_edited(most)}{_on(record, most)}, the highest "
            "value of all; no test compares these"
        )
        yield finding(run, clause, weight=1, place="sage-retrieval")


def weaknesses(run: Run, row: Row) -> Iterator[Finding]:
    """How often noise is put below a change of meaning, by which edits, and what retrieval loses most to."""
    record, name = run.record, row.system.name
    relation = _least(record, lambda dataset: [_share(record, name, dataset, "share", RELATION)])
    if relation is not None and (relation.value or 0.0) < ENOUGH:
        clause = f"keeps every kind of noise above every change of meaning on {_only(relation)} documents"
        yield finding(run, clause + _on(record, relation), weight=5, place="sage-robustness")
    noise = _least(
        record, lambda dataset: [_share(record, name, dataset, "above_summary", e) for e in SUPERFICIAL]
    )
    if noise is not None and (noise.value or 0.0) < ENOUGH:
        clause = (
            f"puts a text {NOISY[noise.variant]} no higher than its own summary on {_others(noise)} documents"
        )
        yield finding(run, clause + _on(record, noise), weight=3, place="sage-robustness")
    meaning = _least(
        record, lambda dataset: [_share(record, name, dataset, "below_summary", e) for e in SEMANTIC]
    )
    if meaning is not None and (meaning.value or 0.0) < ENOUGH:
        clause = (
            f"puts a text {NOISY[meaning.variant]} no lower than its summary on {_others(meaning)} documents"
        )
        yield finding(run, clause + _on(record, meaning), weight=3, place="sage-robustness")
    kept = _kept(record, name)
    if kept:
        least = min(kept, key=lambda one: one.value or 0.0)
        where = f"where documents are {_edited(least)}{_on(record, least)}"
        clause = f"keeps least of its nDCG@10, {figure(least)}, {where}"
        yield finding(run, clause, weight=2, place="sage-retrieval")


def _share(record: Record, system: str, dataset: str, measure: str, variant: str) -> Result | None:
    return record.find("robustness", system, measure, dataset=dataset, variant=variant)


def _only(row: Result) -> str:
    """`only 4 of 48 (8%)`, `none of 48`."""
    return f"only {share(row)}" if round((row.value or 0.0) * row.n) else f"none of {numbers.count(row.n)}"


def _others(row: Result) -> str:
    """The share of items that are not counted: `44 of 48 (92%)`, `all of 48`."""
    rest = 1.0 - (row.value or 0.0)
    return numbers.share(rest, row.n) if round(rest * row.n) < row.n else f"all of {numbers.count(row.n)}"


def _least(record: Record, rows: Callable[[str], Sequence[Result | None]]) -> Result | None:
    """The row with the lowest value over the datasets of robustness."""
    found = known([row for dataset in record.datasets("robustness") for row in rows(dataset)])
    return min(found, key=lambda row: row.value or 0.0) if found else None


def _retention(record: Record, system: str, variant: str, dataset: str) -> Result | None:
    return record.find("retrieval", system, "retention", dataset=dataset, variant=variant)


def _kept(record: Record, system: str) -> list[Result]:
    """What is kept under each edit of the corpus, on every dataset."""
    return [
        row
        for (task, dataset, _, variant, name, measure), row in record.rows.items()
        if (task, name, measure) == ("retrieval", system, "retention")
        and dataset and variant.startswith(REPLACED) and row.value is not None
    ]  # fmt: skip


NOISY = {
    "capitalize": "in capitals", "delete10": "without every tenth letter", "numerize": "with digits for letters",
    "negate": "that is negated", "sentence_shuffle": "of shuffled sentences", "word_shuffle": "of shuffled words",
}  # fmt: skip
EDITED = {
    "capitalize": "in capitals", "delete10": "missing every tenth letter",
    "numerize": "written with digits for letters",
    "negate": "negated", "sentence_shuffle": "shuffled by sentences", "word_shuffle": "shuffled by words",
}  # fmt: skip


def _edited(row: Result) -> str:
    edit = row.variant.removeprefix(REPLACED)
    return EDITED.get(edit) or f"changed, {edit_words(edit)}"


def _on(record: Record, row: Result) -> str:
    return f" ({row.dataset})" if len(record.datasets(row.task)) > 1 else ""
