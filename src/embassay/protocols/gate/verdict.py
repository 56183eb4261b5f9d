"""A run held against bars and an earlier run: a verdict on each, and the gate over all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from embassay.errors import UsageError
from embassay.protocols.compare import InFolder, folder_of, read_values
from embassay.protocols.gate.bars import Bar, Rows, Verdict, read_bar, read_rows
from embassay.protocols.gate.files import as_junit, as_markdown
from embassay.protocols.gate.regression import judged_against
from embassay.records import Result
from embassay.registry import attribute


def judged_bars(bars: Sequence[Bar], rows: Rows) -> Iterator[Verdict]:
    """The verdict on every bar. Without a value, or the interval that it asks for, a bar is not tested, and the gate
    stops: what was asked for is not shown. UsageError for a bar that means no row."""
    for bar in bars:
        yield _judged(bar, rows.find(bar))


def _judged(bar: Bar, row: Result) -> Verdict:
    verdict = Verdict(
        bar.text, None, row.value, row.ci_low, row.ci_high, row.n, scale=bar.protocol, stops=True
    )
    held = {"value": row.value, "lower": row.ci_low, "upper": row.ci_high}[bar.end]
    if held is None:
        why = row.reason or "no value"
        return replace(verdict, reason=why if row.value is None else "the score has no interval")
    low, high = row.ci_low, row.ci_high
    near = low is not None and high is not None and low <= bar.number <= high
    if bar.met(held):
        return replace(verdict, met=True, near=near, stops=False)
    return replace(
        verdict, met=False, near=near, reason=f"{bar.end} {held:.4g} is not {bar.sign} {bar.number:g}"
    )


@dataclass(frozen=True)
class Gate:
    """What became of every bar. Printed, it is what the command says."""

    verdicts: tuple[Verdict, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing stops: no bar is missed, and none that had to be tested is untested."""
        return not any(one.stops for one in self.verdicts)

    @property
    def met(self) -> bool:
        """Whether every bar was tested and met."""
        return all(one.met for one in self.verdicts)

    def junit(self) -> str:
        """The verdicts as JUnit XML."""
        return as_junit(self.verdicts)

    def markdown(self) -> str:
        """The verdicts as a Markdown table."""
        return as_markdown(self.verdicts)

    def __str__(self) -> str:
        """Verdict and table in 80 columns."""
        return str(attribute("embassay.report.comparisons:render_gate")(self.verdicts).plain)


def gate(
    run: str | Path | InFolder,
    *bars: str,
    no_worse_than: str | Path | InFolder | None = None,
    alpha: float = 0.05,
    margin: float = 0.0,
    systems: Sequence[str] = (),
    tasks: Sequence[str] = (),
    measures: Sequence[str] = (),
) -> Gate:
    """Hold a run against bars such as `"sage.overall[minilm]>=0.45@lower"`, and against an earlier run.

    A bar is on a score, or with @lower or @upper on an end of its 95% interval. `no_worse_than` asks by paired tests
    whether any system became worse by more than `margin`, in the measure's unit; `alpha` is the chance of a false alarm
    over all of them; `systems`, `tasks` and `measures` keep these alone. A score without a value, or without the
    interval that a test needs, is not tested: neither met nor missed.

    Raises UsageError without a bar, or for one that cannot be read or means no score; DataError for a folder without a
    run.
    """
    if not bars and no_worse_than is None:
        raise UsageError(
            "There is no bar.", mend="Give one, 'sage.overall[SYSTEM]>=0.45', or an earlier run."
        )
    if not 0 < alpha < 1:
        raise UsageError(f"alpha is {alpha:g}.", mend="Give a number between 0 and 1.")
    folder = folder_of(run)
    read = [read_bar(text) for text in bars]
    verdicts = list(judged_bars(read, read_rows(folder))) if read else []
    if no_worse_than is not None:
        verdicts += judged_against(
            read_values(folder), read_values(folder_of(no_worse_than)), alpha=alpha, margin=margin,
            systems=systems, tasks=tasks, measures=measures,
        )  # fmt: skip
    return Gate(tuple(verdicts))
