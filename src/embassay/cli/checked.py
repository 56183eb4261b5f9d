"""What `embassay data check` prints: the verdict, the file, its shapes, and what to know about its texts."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from embassay.cli.terminal import screen, show, show_table
from embassay.data.check.report import (
    Alike,
    Balance,
    Fault,
    File,
    Lengths,
    NearMiss,
    Overlap,
    Repeats,
    Report,
    Shape,
    Spread,
)
from embassay.protocols.numbers import counted, percent
from embassay.report.terminal import Column, render_table

_EXAMPLES = 3
_LABELS = 5
_SHOWN = 60


def show_report(report: Report, *, wide: bool) -> None:
    """Print a report, in tables and notes that fit the screen; `wide` shows every column of them."""
    _say([f"{report.path}: {_verdict(report)}"])
    for file in report.files:
        _file(file, wide)
    if report.shapes:
        _table(["Shape", "Items", "Serves"], map(_shape, report.shapes), wide)
    _notes("To know", report.remarks)
    _notes("Stops a run", map(_fault, report.faults))
    _notes("Almost", map(_miss, report.near_misses))
    _command(report.command)
    _notes("Left out", _of_shapes((one.shape, _skips(one)) for one in report.shapes))
    _notes("Kept, but odd", _of_shapes((one.shape, one.warnings) for one in report.shapes))
    figures = _of_shapes((one.shape, _figures(one)) for one in report.shapes)
    _notes("Numbers", figures)
    _lengths(report.lengths, wide)
    _notes(
        "Texts that repeat an earlier one", (line for one in report.repeats for line in _repeats(one, report))
    )
    _notes("Texts on both sides", (line for one in report.overlaps for line in _overlap(one, report)))


def _verdict(report: Report) -> str:
    ready = [shape for shape in report.shapes if shape.ready]
    if not ready:
        return "cannot be used as it is."
    stopped = [shape.shape for shape in report.shapes if not shape.ready]
    tasks = list(dict.fromkeys(task for shape in ready for task in shape.tasks))
    langs = "no language stated" if not report.langs else f"language {', '.join(report.langs)}"
    more = f" Not as {', '.join(stopped)}, see below." if stopped else ""
    return f"usable for {', '.join(tasks)} ({langs}).{more}"


def _file(file: File, wide: bool) -> None:
    size = f"{file.bytes:,} bytes" if file.bytes < 100_000 else f"{file.bytes / 1e6:,.1f} MB"
    facts = [file.format or "no known format", file.encoding.partition(", line")[0], file.line_ends]
    blank = f"{counted(file.blank, 'blank line')} passed over" if file.blank else ""
    facts += [counted(file.rows, "row"), blank, size]
    _say([f"{file.path}: {', '.join(filter(None, facts))}"])
    rows = []
    for column in file.columns:
        kinds = [kind for kind in column.kinds if kind != "empty"]
        distinct = ">1,000" if column.distinct is None else f"{column.distinct:,}"
        empty = f"{column.kinds.get('empty', 0):,}"
        rows.append([column.name, " ".join(kinds) or "-", empty, distinct, _cut(column.example)])
    if rows:
        _table(["Column", "Holds", "Empty", "Values", "For example"], rows, wide)


def _miss(miss: NearMiss) -> str:
    return f"{', '.join(miss.tasks)}: {miss.mend or 'needs ' + ', '.join(miss.missing) + ' as well'}"


def _shape(shape: Shape) -> list[str]:
    return [shape.shape, f"{shape.items:,}" if shape.ready else "stopped", ", ".join(shape.tasks)]


def _fault(fault: Fault) -> str:
    if fault.count == 1:
        return f"{fault.example} {fault.mend}".strip()
    lines = ", ".join(map(str, fault.lines)) + (", ..." if fault.count > len(fault.lines) else "")
    return f"{fault.count:,} times, lines {lines}. The first: {fault.example} {fault.mend}".strip()


def _of_shapes(told: Iterable[tuple[str, Iterable[str]]]) -> Iterator[str]:
    """Each thing once, with the shapes it is said of."""
    shapes: dict[str, list[str]] = {}
    for shape, lines in told:
        for line in lines:
            shapes.setdefault(line, []).append(shape)
    for line, names in shapes.items():
        yield f"{', '.join(names)}: {line}"


def _skips(shape: Shape) -> Iterator[str]:
    for left in shape.skipped:
        yield f"{left.reason}: {left.count:,} ({', '.join(left.examples)})"


def _figures(shape: Shape) -> Iterator[str]:
    for name, figure in shape.figures.items():
        yield f"{name}: {_spread(figure) if isinstance(figure, Spread) else _balance(figure)}"


def _spread(spread: Spread) -> str:
    return f"{spread.least:g} to {spread.most:g}, median {spread.median:g}, mean {spread.mean:.2f}"


def _balance(balance: Balance) -> str:
    each = [f"{label}: {count:,} ({percent(count / balance.n)})" for label, count in balance.counts.items()]
    if len(each) <= _LABELS:
        return ", ".join(each)
    return f"{len(each):,} different, most often {', '.join(each[:2])}, least {each[-1]}"


def _lengths(lengths: Sequence[Lengths], wide: bool) -> None:
    """Medians, 95th percentiles and maxima; the table is named where there are several."""
    named = len({one.table for one in lengths}) > 1
    rows = []
    for one in lengths:
        numbers = [(part.median, part.p95, part.most) for part in (one.characters, one.tokens)]
        figures = [f"{value:,.0f}" for three in numbers for value in three]
        rows.append([*([one.table] if named else []), one.column, f"{one.characters.n:,}", *figures])
    if rows:
        unit = "Words" if lengths[0].counted_in == "words" else f"{lengths[0].counted_in} tokens"
        titles = [
            *(["Table"] if named else []),
            "Texts",
            "Count",
            "Characters",
            "95%",
            "Most",
            unit,
            "95%",
            "Most",
        ]
        columns = [Column(title, right=place > named) for place, title in enumerate(titles)]
        here = screen()
        show("")
        show(render_table(columns, rows, width=here.width, wide=wide, unicode=here.unicode))


def _repeats(repeats: Repeats, report: Report) -> Iterator[str]:
    odd = f", {repeats.conflicting:,} of them with another label or score" if repeats.conflicting else ""
    near = _near(repeats.near, report)
    yield f"{repeats.table}: {repeats.exact:,} of {repeats.texts:,} exactly{odd}; {near}."
    yield from _examples(repeats.examples)


def _overlap(overlap: Overlap, report: Report) -> Iterator[str]:
    near = _near(overlap.near, report)
    yield (
        f"{overlap.table}: of {overlap.texts:,} rows of {overlap.of}, {overlap.exact:,} are also in "
        f"{overlap.within} exactly; {near}."
    )
    yield from _examples(overlap.examples)


def _near(near: int | None, report: Report) -> str:
    return (
        "nearly: not looked for"
        if near is None
        else f"{near:,} nearly (Jaccard index {report.threshold:g} or more)"
    )


def _examples(examples: Sequence[Alike]) -> Iterator[str]:
    exact = [one for one in examples if one.exact][:_EXAMPLES]
    near = sorted((one for one in examples if not one.exact), key=lambda one: -one.jaccard)[:_EXAMPLES]
    for one in exact:
        yield _cut(f"  {one.second} is {one.first}: {one.first_text}", screen().width)
    for one in near:
        line = f"  {one.second} is nearly {one.first} ({one.jaccard:.2f}): {one.second_text}"
        yield _cut(line, screen().width)


def _notes(title: str, lines: Iterable[str]) -> None:
    if told := list(lines):
        _say([title, *(line if line.startswith("  ") else f"- {line}" for line in told)])


def _command(command: str) -> None:
    """A command to paste, whose lines belong together."""
    if command:
        from rich.text import Text

        long = len(command) > screen().width - 2
        _say(["Try"])
        show(Text("  " + (command.replace(" --map ", " \\\n    --map ", 1) if long else command)))


def _table(
    titles: Sequence[str], rows: Iterable[Sequence[str]], wide: bool, *, numbers: bool = False
) -> None:
    show("")
    show_table(titles, list(rows), wide=wide, numbers=numbers)


def _say(lines: Sequence[str]) -> None:
    """A paragraph, folded at spaces: paths stay whole."""
    from rich.text import Text

    show("")
    for number, line in enumerate(lines):
        folded = textwrap.wrap(
            line.lstrip(), screen().width, initial_indent=" " * (len(line) - len(line.lstrip())),
            subsequent_indent="  " if number else "", break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip
        show(Text("\n".join(folded)))


def _cut(text: str, length: int = _SHOWN) -> str:
    return text if len(text) <= length else text[: length - 3] + "..."
