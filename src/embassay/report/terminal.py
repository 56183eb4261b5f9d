"""Results on a terminal: the verdict, one table, notes, the report's path. Plain text when it is not one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from embassay.document.terminal import GAP, Column, folded, notes_below, render_table
from embassay.protocols.compare import (
    Across,
    Among,
    Contrast,
    Entrant,
    Field,
    PairOfSystems,
    higher_is_better,
    leading,
)
from embassay.protocols.gate import UNPAIRED, Verdict, summary, value_text, word
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.comparisons import ALPHA, OVERALL

if TYPE_CHECKING:
    from rich.text import Text

    from embassay.report.board import Board, Row, Value
    from embassay.report.record import Record
    from embassay.report.runs import ReportRun


STRIP_FROM = 100
BRIEFLY = 2
"""Sentences that stand below the heading where a run is told of briefly."""
APART = "*"
"""Behind the rank of a system that is ranked by itself."""
STATE_STYLES = {"failed": "red", "running": "yellow", "partial": "yellow"}


def render_run(run: Path, *, width: int = 80, wide: bool = False, unicode: bool = True) -> Text:
    """A run as text: verdict, table, notes, report. Only states carry colour; print it with a rich console.

    Raises DataError when the folder holds no run.
    """
    from rich.text import Text

    from embassay.document.blocks import plain
    from embassay.report.notes import notes_of
    from embassay.report.overview import run_verdict
    from embassay.report.record import read_record
    from embassay.report.runs import gathered

    shown = gathered((read_record(Path(run)),))[0]
    if shown.record.kind == "hume":
        from embassay.report.hume.conclusions import render_hume

        return render_hume(Path(run), width=width, wide=wide, unicode=unicode)
    record, board = shown.record, shown.board
    verdict = run_verdict(shown)
    parts = [Text("\n").join(folded(plain(verdict.heading), width, unicode, "bold"))]
    parts += (
        [Text("\n").join(folded(" ".join(map(plain, verdict.lede)), width, unicode))] if verdict.lede else []
    )
    parts += _main_table(record, board, width, wide, unicode)
    notes = [f"{row.label}: {row.note}." for row in board.unranked if row.note and board.tasks]
    notes += [note.plain for note in notes_of(record)]
    parts += notes_below(notes, width=width, wide=wide, unicode=unicode, signs=_references(board))
    report = Path(run) / "report.html"
    if report.exists():
        parts.append(Text(f"Report: {report}"))
    return Text("\n\n").join(parts)


def render_verdict(run: Path, *, width: int = 80, unicode: bool = True) -> Text:
    """What a run of any kind found: the heading of its verdict and the first sentences below.

    Raises DataError when the folder holds no run.
    """
    from rich.text import Text

    from embassay.document.blocks import plain
    from embassay.report.overview import run_verdict
    from embassay.report.record import read_record
    from embassay.report.runs import gathered

    verdict = run_verdict(gathered((read_record(Path(run)),))[0])
    lede = " ".join(map(plain, verdict.lede[:BRIEFLY]))
    lines = [*folded(plain(verdict.heading), width, unicode, "bold"), *folded(lede, width, unicode)]
    return Text("\n").join(lines)


LEVELS = {"sure": ("sure", "green"), "likely": ("likely", "blue"), "open": ("cannot decide", "yellow")}
"""What a level is called, and its colour."""


MOST_NAMES = 20
"""Columns for the names of an answer; longer ones have a line of their own."""


def render_answers(runs: Sequence[ReportRun], *, width: int = 80, unicode: bool = True) -> Text:
    """The answers that runs give, a line each, and what to use; empty where they give none."""
    from rich.text import Text

    from embassay.report.answers import answers_of, recommendation

    answers = answers_of(runs)
    if not answers:
        return Text("")
    asks = max(len(one.question.short) for one in answers) + 4
    names = min(max(len(one.answer) for one in answers), MOST_NAMES) + 2
    lines = [Text("Answers", style="bold")]
    for one in answers:
        word, colour = LEVELS.get(one.level, ("", ""))
        said = folded(f"{word}: {one.brief}" if word else one.brief, width - asks - names, unicode)
        said[0].highlight_words([f"{word}:"], colour)
        head = Text(f"  {one.question.short}".ljust(asks)).append(one.answer.ljust(names), style="bold")
        if len(head) > asks + names:
            lines.append(head)
            head = Text(" " * (asks + names))
        lines += [
            head.append_text(said[0]),
            *(Text(" " * (asks + names)).append_text(line) for line in said[1:]),
        ]
    use, rest = recommendation(answers)
    lines += [Text(""), *folded(use, width, unicode), *folded(rest, width, unicode)] if use else []
    return Text("\n").join(lines)


def _main_table(record: Record, board: Board, width: int, wide: bool, unicode: bool) -> list[Text]:
    """The one table of a run: SAGE's board, PTEB's drops, or the first that another command wrote."""
    if record.kind == "pteb":
        from embassay.report.pteb.conclusions import drop_table

        columns, rows = drop_table(record, board, wide=wide, unicode=unicode)
        return [render_table(columns, rows, width=width, wide=wide, unicode=unicode)] if rows else []
    if board.tasks:
        return [_board(board, width, wide, unicode)] if board.rows else []
    from embassay.report.pteb.conclusions import step_table

    columns, rows = step_table(record, board)
    return [render_table(columns, rows, width=width, wide=wide, unicode=unicode)] if rows else []


def _references(board: Board) -> list[str]:
    from embassay.document.blocks import listed, plain

    names = " and ".join(row.label for row in board.references)
    apart = plain(listed([row.label for row in board.apart]))
    told = (
        [f"{APART} {apart} are ranked by themselves: another method stands behind some scores."]
        if apart
        else []
    )
    return [*told, f"{names} are references, not ranked."] if names and board.tasks else told


def _board(board: Board, width: int, wide: bool, unicode: bool) -> Text:
    tasks = [task for task in board.tasks if task.name != board.lead]
    places = [board.tasks.index(task) for task in tasks]
    columns = [Column("Rank"), Column("System"), Column(f"{board.lead_title}, 95%", right=True)]
    columns += [Column(task.short, right=True) for task in tasks]
    rows: list[list[str | Text]] = [
        [
            row.rank or numbers.NONE,
            row.system.name if wide else row.label,
            _lead(row, unicode),
            *(state_or_value(row.tasks[i], unicode) for i in places),
        ]
        for row in board.rows
    ]
    strip = _strip_width(columns, rows, width, wide, unicode)
    if strip:
        columns.insert(3, Column(""))
        for row, cells in zip(board.rows, rows, strict=True):
            cells.insert(3, _strip(board, row, strip))
    return render_table(columns, rows, width=width, wide=wide, unicode=unicode)


def _strip_width(
    columns: Sequence[Column], rows: Sequence[Sequence[str | Text]], width: int, wide: bool, unicode: bool
) -> int:
    """Room for the interval strip: from 100 columns, and only where no number has to go for it."""
    from rich.cells import cell_len

    if not unicode or width < STRIP_FROM or not rows:
        return 0
    used = sum(
        max(cell_len(column.title), *(cell_len(str(row[i])) for row in rows)) + GAP
        for i, column in enumerate(columns)
    )
    return 21 if wide else min(21, width - used) if width - used >= 9 else 0


def _strip(board: Board, row: Row, width: int) -> str:
    """`··━━┃━━··` on the scale of all leading values."""
    from embassay.document.marks import scale_of
    from embassay.report.board import ends

    value = row.lead.row
    if value is None or value.value is None:
        return ""
    scale = scale_of(ends(one.lead for one in board.rows))

    def place(number: float) -> int:
        return min(width - 1, int(scale.at(number) / 100 * width))

    marks = ["·"] * width
    if value.ci_low is not None and value.ci_high is not None:
        for i in range(place(value.ci_low), place(value.ci_high) + 1):
            marks[i] = "━"
    marks[place(value.value)] = "┃"
    return "".join(marks)


def _lead(row: Row, unicode: bool) -> str | Text:
    """Value and interval as one pair."""
    if row.lead.interval:
        return f"{row.lead.text} {row.lead.interval}"
    return state_or_value(row.lead, unicode)


def state_or_value(value: Value, unicode: bool) -> str | Text:
    """The value, bold if it is the best, or the word of its state in its colour."""
    from rich.text import Text

    if value.value is not None:
        return Text(value.text, style="bold" if value.best else "")
    word = value.text if unicode else value.text.lstrip("✕◔◐ ")
    return Text(
        word if unicode or value.state != "failed" else "FAILED", style=STATE_STYLES.get(value.state, "")
    )


_FEW = 5
"""Below so many datasets Wilcoxon's test cannot reach 0.05."""


def render_pair(
    pair: PairOfSystems, protocol: str, *, width: int = 80, wide: bool = False, unicode: bool = True
) -> Text:
    """Two systems, place by place, as text within `width` columns unless `wide`."""
    from rich.text import Text

    unit = numbers.unit_of(protocol)
    said = verdict(leading(pair.contrasts), unit, pair.among)
    parts = [Text("\n").join(folded(said, width, unicode, "bold"))]
    parts.append(render_table(*_pair_table(pair.contrasts, unit), width=width, wide=wide, unicode=unicode))
    lines = [line for note in _notes(pair, unit) for line in folded(f"- {note}", width, unicode)]
    return Text("\n\n").join([*parts, Text("\n").join(lines)])


def verdict(one: Contrast, unit: numbers.Unit, among: Among | None = None) -> str:
    """The finding in a sentence: *beats* is an adjusted p below 0.05. Where the run's ranks answer otherwise, it names
    their family.

    >>> made = Contrast("a", "b", "sts", "", "spearman", 0.8, 0.7, 0.1, 0.05, 0.15, 0.02, 1e-6, 1e-6)
    >>> verdict(made, numbers.SCORE)
    'a beats b on sts by 0.100 (0.050–0.150), p <0.001.'
    """
    what = one.measure if one.task == "score" else one.task
    where = "overall" if what == "overall" else f"on {what}{f' of {one.dataset}' if one.dataset else ''}"
    if one.difference is None:
        return f"{one.a} and {one.b} cannot be compared {where}: {one.reason}."
    if math.isnan(one.p):
        return f"{one.a} less {one.b} {where}: {unit.change(one.difference)}; {one.reason}."
    ahead, behind, by = one.a, one.b, one.difference
    low, high = one.low, one.high
    if (one.difference > 0) != higher_is_better(one.measure):
        ahead, behind = behind, ahead
    if one.difference < 0:
        by, low, high = -by, -high, -low
    told = one.p_adjusted < ALPHA
    other = _other_answer(told, among)
    if told:
        size = f"{unit.text(by)} ({unit.interval(low, high)}), {_p_in_words(one)}"
        return f"{ahead} beats {behind} {where} by {size}{other}."
    return (
        f"{one.a} cannot be told apart from {one.b} {where}: the difference is {unit.change(one.difference)} "
        f"({unit.interval(one.low, one.high)}), {_p_in_words(one)}{other}; detectable with 80% power: "
        f"{unit.text(one.smallest)}."
    )


def _p_in_words(one: Contrast) -> str:
    """p with its family, and alone where that says otherwise."""
    corrected = f"p {numbers.p_value(one.p_adjusted)}"
    if one.tests == 1:
        return corrected
    alone = f"; alone p {numbers.p_value(one.p)}" if one.p < ALPHA <= one.p_adjusted else ""
    return f"{corrected} among {one.tests} (Holm){alone}"


def _other_answer(told: bool, among: Among | None) -> str:
    if among is None or among.apart == told:
        return ""
    answer = "yes" if among.apart else "no"
    return f"; among all {among.pairs} pairs of the run {answer} (p {numbers.p_value(among.p_adjusted)})"


def render_fields(
    found: Sequence[Field], protocol: str, *, width: int = 80, wide: bool = False, unicode: bool = True
) -> Text:
    """All systems of each field as text."""
    from rich.text import Text

    unit = numbers.unit_of(protocol)
    parts = []
    # An overall score that a run of few tasks has not must not come first.
    for one in sorted(found, key=lambda one: not one.entrants):
        parts.append(Text("\n").join(folded(_headline(one), width, unicode, "bold")))
        if one.entrants:
            parts.append(render_table(*_field_table(one, unit), width=width, wide=wide, unicode=unicode))
        lines = [line for note in _field_notes(one) for line in folded(f"- {note}", width, unicode)]
        parts += [Text("\n").join(lines)] if lines else []
    last = (
        "Ranks and groups are by paired bootstrap t tests, Holm over all pairs of a table, alpha 0.05; two whose "
        "intervals do not meet are told apart. In one group: no test does, which is not being equal. Best: how "
        "likely a system is ahead of all, by resamples and by how many items these are of."
    )
    parts.append(Text("\n").join(folded(last, width, unicode)))
    return Text("\n\n").join(parts)


Table = tuple[list[Column], list[list["str | Text"]]]


def _pair_table(contrasts: Sequence[Contrast], unit: numbers.Unit) -> Table:
    first = contrasts[0]
    columns = [
        Column("Where"), Column("Difference, 95%", right=True), Column("p, Holm", right=True),
        Column(first.a, right=True), Column(first.b, right=True), Column("Detectable", right=True),
        Column("n", right=True), Column("d_z", right=True), Column("p, swaps", right=True),
        Column("p, ranks", right=True),
    ]  # fmt: skip
    return columns, [[*_row(one, unit)] for one in contrasts]


def _row(one: Contrast, unit: numbers.Unit) -> Iterator[str | Text]:
    yield f"{one.task} {one.dataset}".strip() + (f" {one.measure}" if one.task == "score" else "")
    if one.difference is None:
        yield from ("n/a", "n/a", _value(one.value_a, unit), _value(one.value_b, unit), "n/a", str(one.n))
    else:
        certain = not math.isnan(one.p)
        change = unit.change(one.difference)
        yield f"{change} {unit.interval(one.low, one.high)}" if certain else change
        yield _p(one.p_adjusted)
        yield from (_value(one.value_a, unit), _value(one.value_b, unit))
        yield unit.text(one.smallest) if certain else "n/a"
        yield numbers.count(one.n)
    items = one.by_item
    if items is None:
        yield from (numbers.NONE,) * 3
        return
    yield "n/a" if math.isnan(items.effect) else numbers.change(items.effect, 2)
    yield _p(items.randomization_p)
    yield _p(items.wilcoxon_p)


def _notes(pair: PairOfSystems, unit: numbers.Unit) -> Iterator[str]:
    how = next(filter(None, (one.method for one in pair.contrasts)), "")
    test = f"{how}{_degrees(pair)}" if how else "no test"
    yield f"Differences are first minus second; {test}. {_families(pair)}"
    yield "Detectable: the least true difference that this test, so corrected, finds with 80% power at 5%."
    if pair.among is not None:
        apart = "tell" if pair.among.apart else "do not tell"
        yield (
            f"The run's ranks test all {pair.among.pairs} pairs (Holm): they {apart} the two apart, "
            f"p {numbers.p_value(pair.among.p_adjusted)}."
        )
    if any(one.by_item for one in pair.contrasts):
        yield (
            "Where a headline is a mean over items: d_z is their mean difference in standard deviations, p by random "
            "swaps of the sides, and by Wilcoxon's ranks (not corrected)."
        )
    if not pair.pairing.paired:
        yield f"The runs are not paired ({pair.pairing.reason}): errors of both add up, and items are not compared."
    for one in pair.contrasts:
        if one.reason:
            yield f"{one.task} {one.dataset}".strip() + f": {one.reason}."
    for several in pair.across:
        yield _said(several, unit)


def _families(pair: PairOfSystems) -> str:
    """Which rows are corrected together."""
    tested = [one for one in pair.contrasts if not math.isnan(one.p)]
    parts = {bool(one.dataset): one.tests for one in tested if one.task != OVERALL}
    said = ["overall is tested alone"] if any(one.task == OVERALL for one in tested) else []
    for of_dataset, noun in ((False, "part"), (True, "dataset")):
        many = parts.get(of_dataset, 0)
        said += [f"p of the {many} {noun}s by Holm among themselves"] if many > 1 else []
    text = "; ".join(said)
    return f"{text[:1].upper()}{text[1:]}." if text else "Nothing is corrected."


def _degrees(pair: PairOfSystems) -> str:
    """How many degrees of freedom the tests have, those of few items the fewest."""
    known = [one.df for one in pair.contrasts if math.isfinite(one.df) and not math.isnan(one.p)]
    if not known:
        return ""
    low, high = (f"{end:.0f}" for end in (min(known), max(known)))
    return f", {low} degrees of freedom" if low == high else f", {low} to {high} degrees of freedom"


def _said(one: Across, unit: numbers.Unit) -> str:
    text = (
        f"{one.task} over {one.datasets} datasets: shift {unit.change(one.shift.estimate)} (Hodges-Lehmann), "
        f"Wilcoxon p {_p(one.test.p)}"
    )
    if one.mean.low == one.mean.low:
        text += f"; for further datasets the mean is {unit.interval(one.mean.low, one.mean.high)}"
    return text + (f". {one.datasets} datasets cannot reach p 0.05." if one.datasets <= _FEW else ".")


def _headline(one: Field) -> str:
    where = one.task if not one.dataset else f"{one.task}, {one.dataset}"
    title = where if one.measure == one.task else f"{where}: {one.measure}"
    firsts = [entrant.system for entrant in one.entrants if entrant.rank_low == 1]
    if one.group:
        title += f" ({one.group})"
    if not firsts:
        return f"{title}. No ranks: {one.reason or 'no system has a value'}."
    if len(firsts) == 1:
        return f"{title}. {firsts[0]} is first."
    return f"{title}. {', '.join(firsts[:-1])} and {firsts[-1]} may be first."


def _field_table(one: Field, unit: numbers.Unit) -> Table:
    from rich.text import Text

    columns = [Column("Rank"), Column("System"), Column("Value, 95%", right=True), Column("Best", right=True)]
    columns += [Column("Group"), Column("n", right=True)]
    rows: list[list[str | Text]] = []
    for place, entrant in enumerate(one.entrants):
        first = entrant.rank_low == 1
        letters = [_letter(i) for i, (low, high) in enumerate(one.groups) if low <= place <= high]
        rows.append([
            _rank(entrant), entrant.system, Text(_interval(entrant, unit), style="bold" if first else ""),
            numbers.NONE if entrant.best is None else numbers.percent(entrant.best), "".join(letters),
            numbers.count(entrant.n),
        ])  # fmt: skip
    return columns, rows


def _field_notes(one: Field) -> Iterable[str]:
    return [f"{system} has no value: {reason}." for system, reason in one.missing]


def _rank(entrant: Entrant) -> str:
    if entrant.rank_low is None or entrant.rank_high is None:
        return numbers.NONE
    return numbers.rank(entrant.rank_low, entrant.rank_high)


def _interval(entrant: Entrant, unit: numbers.Unit) -> str:
    text = unit.text(entrant.value)
    if entrant.low is None or entrant.high is None:
        return text
    return f"{text} {unit.interval(entrant.low, entrant.high)}"


def _letter(i: int) -> str:
    return chr(ord("a") + i % 26)


def _value(value: float | None, unit: numbers.Unit) -> str:
    return "n/a" if value is None else unit.text(value)


def _p(p: float) -> str:
    return "n/a" if math.isnan(p) else numbers.p_value(p)


def render_gate(
    verdicts: Sequence[Verdict], *, width: int = 80, wide: bool = False, unicode: bool = True
) -> Text:
    """The verdicts as text within `width` columns unless `wide`."""
    from rich.text import Text

    columns = [Column("Bar"), Column("Verdict"), Column("Value, 95%", right=True), Column("n", right=True)]
    rows: list[list[str | Text]] = [
        [one.bar, Text(word(one), style="red" if one.stops else ""), value_text(one), numbers.count(one.n)]
        for one in verdicts
    ]
    notes = [f"{one.bar}: {one.reason}." for one in verdicts if one.reason]
    if any(one.near for one in verdicts):
        notes.append("Near: the bar lies inside the interval, so another sample could have said otherwise.")
    reasons = dict.fromkeys(one.unpaired for one in verdicts if one.unpaired)
    notes += [f"Unpaired ({reason}): {UNPAIRED}." for reason in reasons]
    lines = [line for note in notes for line in folded(f"- {note}", width, unicode)]
    parts = [
        Text("\n").join(folded(f"{summary(verdicts)}.", width, unicode, "bold")),
        render_table(columns, rows, width=width, wide=wide, unicode=unicode),
    ]
    return Text("\n\n").join([*parts, *([Text("\n").join(lines)] if lines else [])])
