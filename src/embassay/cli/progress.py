"""Progress on stderr: bars on a terminal, plain lines elsewhere, for work of known and of unknown length."""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import RLock, Timer
from typing import TYPE_CHECKING, Any

from embassay.cli.terminal import escape_control_characters, make_name_shortener, make_progress_bars
from embassay.protocols.kernel.session import SilentListener
from embassay.protocols.kernel.tables import format_noun_count

if TYPE_CHECKING:
    from embassay.protocols.kernel.plan import Plan
    from embassay.runs.folder import CellRecord, RunCell

SHOWN = 5
PERIOD = 30.0
BRIEF = 1.0
"""Seconds under which a cell or a stage has no line of its own."""
LONG = 120.0
"""Seconds of forecast from which on a smaller run is proposed first."""
PAUSE = 5.0
"""Seconds between the lines of two cells."""
BURST, SETTLED = 0.2, 10.0
"""Answers that follow one another within so many seconds, and in the first so many seconds of a stage, were kept from
before: they set no pace."""
RECENT = 21
"""Answers, and the one before them, whose pace says what the rest will take."""
PACE = 10
"""Answers that set the pace, also where they are less than a tenth."""


def make_progress_listener(brief: bool = False) -> SilentListener:
    """Make bars when stderr is a terminal, lines otherwise; `brief` ones hide what lies ahead."""
    return ProgressBars() if sys.stderr.isatty() else ProgressLines(brief)


def estimate_seconds_left(elapsed: float, share: float) -> float | None:
    """Seconds left at the pace so far; None before a tenth is done."""
    return elapsed * (1 - share) / share if share >= 0.1 else None


def _format_time_left_range(left: float) -> str:
    """Format a time left as a range: cells and answers differ, so one figure would promise too much."""
    low, high = format_duration(left * 0.7), format_duration(left * 1.5)
    return f"{low} left" if low == high else f"{low} to {high} left"


def format_duration(seconds: float) -> str:
    """Format a duration as `4 s`, `12 min` or `3 h 12 min`."""
    if seconds < 60:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _replace_system_specs_by_labels(title: str) -> str:
    """Shorten a stage's title by writing the specs in it as their labels."""
    return make_name_shortener(word for word in title.split() if ":" in word)(title)


@contextmanager
def announce_slow_opening(names: Sequence[str]) -> Iterator[None]:
    """Say what is being opened, where that takes a second or more."""
    heard = ProgressLines()
    heard.on_systems_opening(names)
    try:
        yield
    finally:
        heard.print_line_if_still_waiting()


class _ProgressTally(SilentListener):
    """Counts what is done. Cells weigh the seconds that were forecast for them, or the texts they hold where one of
    them has no forecast."""

    def __init__(self) -> None:
        self.total, self.done, self.cells, self.ended_cells = 0.0, 0.0, 0, 0
        self.weights: dict[str, float] = {}
        self.running: dict[str, int] = {}
        self.parts: dict[str, float] = {}
        self.begun: dict[str, float] = {}
        self.shares: dict[str, float] = {}
        self.start = time.monotonic()
        self.asked, self.answered, self.answers = 0, 0, 0
        self.title, self.unit, self.asking = "", "texts", self.start
        self.begun_at, self.kept, self._settled = self.start, 0, False
        self._recent = deque([(self.start, 0)], maxlen=RECENT)
        self._late: threading.Timer | None = None

    def on_systems_opening(self, names: Sequence[str]) -> None:
        named = make_name_shortener(names)(", ".join(names))
        self.print_line_if_still_waiting(f"opening {named} and the data" if names else "opening the data")

    def on_planning_begun(self, plan: Plan) -> None:
        self.stage("estimating time and cost", len(plan.cells), "cells")

    def announce_paraphrasing(self, title: str, total: int) -> None:
        self.stage(title, total)

    def stage(self, title: str, total: int, unit: str = "texts") -> None:
        self.print_line_if_still_waiting()
        self.asked, self.answered, self.answers, self.unit = total, 0, 0, unit
        self.title = _replace_system_specs_by_labels(title)
        self.begun_at = self.asking = time.monotonic()
        self.kept, self._settled = 0, False
        self._recent = deque([(self.asking, 0)], maxlen=RECENT)

    def advanced_by(self, texts: int) -> None:
        self.answered += texts
        now = time.monotonic()
        if self._settled or now - self.asking >= BURST or now - self.begun_at >= SETTLED:
            self._settled = True
            self._recent.append((now, self.answered))
            return
        # What comes at once was there: the clock of the pace starts behind it.
        self.kept, self.asking = self.answered, now
        self._recent = deque([(now, self.answered)], maxlen=RECENT)

    def heard(self) -> None:
        self.answers += 1

    def describe_remaining_time(self) -> str:
        """How long what is asked for will still take, in words: by the pace of the last answers, once there are ten, or
        a tenth. Those of the cache that came one by one are soon not among the last."""
        waiting, new = self.asked - self.kept, self.answered - self.kept
        since, before = self._recent[0]
        if not self.asked or new <= 0 or self.answered <= before or (new < PACE and new < 0.1 * waiting):
            return ""
        pace = (time.monotonic() - since) / (self.answered - before)
        return _format_time_left_range(pace * max(0, self.asked - self.answered))

    def print_line_if_still_waiting(self, line: str = "") -> None:
        """Print a line unless another comes within `BRIEF` seconds, and drop the one that waited before."""
        if self._late is not None:
            self._late.cancel()
        self._late = threading.Timer(BRIEF, _print_line_to_stderr, [line]) if line else None
        if self._late is not None:
            self._late.daemon = True
            self._late.start()

    def stop(self) -> None:
        """Nothing more is said of what was going on."""
        self.print_line_if_still_waiting()

    def describe_stage_progress(self) -> str:
        """How much of the stage is done, in words."""
        of = f" of {self.asked:,}" if self.asked else ""
        answers = f", {format_noun_count(self.answers, 'answer')}" if self.answers else ""
        return f"{self.answered:,}{of} {self.unit}{answers}"

    def on_plan_made(self, plan: Plan, waiting: Sequence[RunCell], seconds: Mapping[str, float]) -> None:  # noqa: ARG002
        self.print_line_if_still_waiting()
        self.timed = all(cell.key in seconds for cell in waiting)
        self.weights = {
            # Above 0, so that a run of cells that take no time has a share at all.
            cell.key: max(0.01, seconds[cell.key]) if self.timed else max(1, cell.units)
            for cell in waiting
        }
        self.total, self.cells = sum(self.weights.values()), len(waiting)
        self.done, self.ended_cells = 0.0, 0
        self.start = time.monotonic()

    def describe_expected_run_duration(self, plan: Plan) -> str:
        """What a long run will take, and how to have a first answer sooner; empty for a short one."""
        if not self.timed or self.total < LONG:
            return ""
        low, high = format_duration(self.total * 0.7), format_duration(self.total * 1.5)
        whole = getattr(plan.request, "limit", 0) is None  # a study has none
        return f"about {low} to {high}" + (
            "; for a quicker first answer, use --limit 200 with another --out" if whole else ""
        )

    def started(self, cell: RunCell) -> None:
        self.running[cell.key] = 0
        self.begun[cell.key] = time.monotonic()

    def advanced(self, cell: RunCell, texts: int) -> None:
        self.running[cell.key] = min(self.running.get(cell.key, 0) + texts, cell.units)
        self.shares[cell.key] = self.running[cell.key] / max(1, cell.units)
        self.parts[cell.key] = self.shares[cell.key] * self.weights.get(cell.key, 1)

    def ended(self, cell: RunCell, record: CellRecord) -> None:  # noqa: ARG002 - what a listener hears
        self.running.pop(cell.key, None)
        self.parts.pop(cell.key, None)
        self.begun.pop(cell.key, None)
        self.shares.pop(cell.key, None)
        self.done += self.weights.get(cell.key, 1)
        self.ended_cells += 1

    @property
    def share(self) -> float:
        """Share of the work that is done, by weight; texts say little of time, so by them no more than by cells."""
        weighed = (self.done + sum(self.parts.values())) / (self.total or 1)
        return weighed if self.timed else min(weighed, (self.ended_cells + 0.99) / max(1, self.cells))

    def describe_time_left(self) -> str:
        """Time left in words: by the forecast's weights, and never less than a cell in work needs at its own pace: a
        forecast may be far off for one system."""
        now = time.monotonic()
        whole = estimate_seconds_left(now - self.start, self.share)
        if whole is None:
            return ""
        own = (
            estimate_seconds_left(now - begun, self.shares.get(key, 0.0)) or 0.0 for key, begun in self.begun.items()
        )
        return _format_time_left_range(max(whole, *own, 0.0))


class ProgressLines(_ProgressTally):
    """One line at the start, one for each cell that failed and for cells and stages of a second or more, but not for
    two cells within five seconds, and one at the end; among many short cells one in 30 s says how far they are. When
    `brief`, none at the start and none of a stage."""

    def __init__(self, brief: bool = False) -> None:
        super().__init__()
        self._brief = brief
        self._first = self._last = time.monotonic()
        self._all = self._failed = 0

    def on_systems_opening(self, names: Sequence[str]) -> None:
        if not self._brief:
            super().on_systems_opening(names)

    def on_planning_begun(self, plan: Plan) -> None:
        if not self._brief:
            super().on_planning_begun(plan)

    def stage(self, title: str, total: int, unit: str = "texts") -> None:
        super().stage(title, total, unit)
        self._last = time.monotonic()
        if not self._brief:
            self.print_line_if_still_waiting(f"{self.title}: {total:,} {unit}" if total else self.title)

    def advanced_by(self, texts: int) -> None:
        before = self.answered
        super().advanced_by(texts)
        paced = before - self.kept < PACE <= self.answered - self.kept and self.answered < self.asked
        if time.monotonic() - self._last >= (PAUSE if paced else PERIOD):
            self._print_stage_progress()

    def heard(self) -> None:
        super().heard()
        if time.monotonic() - self._last >= PERIOD:
            self._print_stage_progress()

    def _print_stage_progress(self) -> None:
        self.print_line_if_still_waiting()
        self._last = time.monotonic()
        _print_line_to_stderr(
            f"{self.title}: {self.describe_stage_progress()}  {self.describe_remaining_time()}".rstrip()
        )

    def on_run_extended(self, added: Mapping[str, Sequence[str]]) -> None:
        _print_line_to_stderr(_describe_added_systems(added))

    def reckoned(self, line: str) -> None:
        self.print_line_if_still_waiting()
        _print_line_to_stderr(f"{self.title}: {line}")

    def on_plan_made(self, plan: Plan, waiting: Sequence[RunCell], seconds: Mapping[str, float]) -> None:
        super().on_plan_made(plan, waiting, seconds)
        done = f"{len(plan.cells)} cells, {len(plan.cells) - len(waiting)} done already"
        if not self._brief:
            _print_line_to_stderr(", ".join(filter(None, (done, self.describe_expected_run_duration(plan)))))

    def advanced(self, cell: RunCell, texts: int) -> None:
        super().advanced(cell, texts)
        if time.monotonic() - self._last >= PERIOD:
            self._last = time.monotonic()
            done = f"{_format_run_cell_name(cell)}, {self.running[cell.key]:,} of {cell.units:,} texts"
            _print_line_to_stderr(
                f"{self.ended_cells} of {self.cells} cells; in progress: {done}  {self.describe_time_left()}".rstrip()
            )

    def ended(self, cell: RunCell, record: CellRecord) -> None:
        super().ended(cell, record)
        self._all += 1
        self._failed += not record.done
        shown = record.seconds >= BRIEF or not record.done
        since = time.monotonic() - self._last
        if record.done and since < (PAUSE if shown else PERIOD):
            return
        self._last += since
        state = f"{record.seconds:.1f} s" if record.done else f"FAILED: {record.reason}"
        named = f"  {_format_run_cell_name(cell)}  {state}" if shown else ""
        _print_line_to_stderr(f"{self.ended_cells} of {self.cells}{named}  {self.describe_time_left()}".rstrip())

    def interim(self, line: str) -> None:
        if not self._brief:
            _print_line_to_stderr(_replace_system_specs_by_labels(line))

    def announce_run_end(self) -> None:
        self.print_line_if_still_waiting()
        cells = format_noun_count(self._all, "cell") if self._all else "done"
        failed = f", {self._failed} failed" if self._failed else ""
        _print_line_to_stderr(f"{cells} in {format_duration(time.monotonic() - self._first)}{failed}")


class ProgressBars(_ProgressTally):
    """Progress bars: a total one and up to five for running cells, rewritten four times a second."""

    def __init__(self) -> None:
        super().__init__()
        self._progress = make_progress_bars()
        self._bars: dict[str, Any] = {}
        self._asked: Any = None
        self._all: Any = None
        self._lock = threading.Lock()

    def on_run_extended(self, added: Mapping[str, Sequence[str]]) -> None:
        self._progress.console.print(_describe_added_systems(added), markup=False, highlight=False)

    def interim(self, line: str) -> None:
        self._progress.console.print(_replace_system_specs_by_labels(line), markup=False, highlight=False)

    def reckoned(self, line: str) -> None:
        self._progress.console.print(f"{self.title}: {line}", markup=False, highlight=False)

    def stage(self, title: str, total: int, unit: str = "texts") -> None:
        super().stage(title, total, unit)
        self._remove_stage_bar()
        self._asked = self._progress.add_task(
            self.title, total=total or None, state=f"{total:,} {unit}" if total else ""
        )
        self._progress.start()

    def advanced_by(self, texts: int) -> None:
        super().advanced_by(texts)
        self._show_stage_progress()

    def heard(self) -> None:
        super().heard()
        self._show_stage_progress()

    def _show_stage_progress(self) -> None:
        if self._asked is None:
            return
        state = f"{self.describe_stage_progress()}  {self.describe_remaining_time()}"
        self._progress.update(self._asked, completed=self.answered, state=state)

    def _remove_stage_bar(self) -> None:
        if self._asked is not None:
            self._progress.remove_task(self._asked)
            self._asked = None

    def on_plan_made(self, plan: Plan, waiting: Sequence[RunCell], seconds: Mapping[str, float]) -> None:
        super().on_plan_made(plan, waiting, seconds)
        self._remove_stage_bar()
        if self._all is not None:
            self._progress.remove_task(self._all)
        done = len(plan.cells) - len(waiting)
        if ahead := self.describe_expected_run_duration(plan):
            self._progress.console.print(ahead.capitalize(), markup=False, highlight=False)
        self._all = self._progress.add_task("all", total=1.0, state=f"{done} of {len(plan.cells)} cells done already")
        self._progress.start()

    def started(self, cell: RunCell) -> None:
        super().started(cell)
        with self._lock:
            if len(self._bars) < SHOWN:
                self._bars[cell.key] = self._progress.add_task(
                    _format_run_cell_name(cell), total=cell.units or None, state=""
                )

    def advanced(self, cell: RunCell, texts: int) -> None:
        super().advanced(cell, texts)
        if (bar := self._bars.get(cell.key)) is not None:
            done = self.running[cell.key]
            self._progress.update(bar, completed=done, state=f"{done:,} of {cell.units:,} texts")
        self._update_total_bar()

    def ended(self, cell: RunCell, record: CellRecord) -> None:
        super().ended(cell, record)
        with self._lock:
            if (bar := self._bars.pop(cell.key, None)) is not None:
                self._progress.remove_task(bar)
        if not record.done:
            self._progress.console.print(
                f"FAILED {_format_run_cell_name(cell)}: {record.reason}", markup=False, highlight=False
            )
        self._update_total_bar()

    def stop(self) -> None:
        """Stop showing progress: take the bars away."""
        super().stop()
        self._progress.stop()

    def _update_total_bar(self) -> None:
        state = f"{self.ended_cells} of {self.cells} cells  {self.describe_time_left()}"
        self._progress.update(self._all, completed=self.share, state=state)


def _format_run_cell_name(cell: RunCell) -> str:
    return f"{cell.task} {cell.dataset} {make_name_shortener([cell.system])(cell.system)}"


def _describe_added_systems(added: Mapping[str, Sequence[str]]) -> str:
    parts = "; ".join(f"{name} {', '.join(map(escape_control_characters, more))}" for name, more in added.items())
    return f"Added to the existing run: {parts}"


def _print_line_to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


QUIET = 2.0
"""Seconds in which nothing is shown: most work is over by then."""


class StderrProgressNotice:
    """Says on stderr what is going on. Used as a context, and called with (doing, done, total); total 0 is unknown.

    The time left is that of the present step.
    """

    def __init__(self) -> None:
        self._began = self._last = time.monotonic()
        self._doing, self._since = "", self._began
        self._bar: Any = None
        self._lock = RLock()
        self._late = Timer(QUIET, self._show_long_silent_step)
        self._late.daemon = True

    def __enter__(self) -> StderrProgressNotice:
        self._late.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._late.cancel()
        with self._lock:
            if self._bar is not None:
                self._bar.stop()

    def __call__(self, doing: str, done: int, total: int) -> None:
        with self._lock:
            self._show_progress_step(doing, done, total)

    def _show_long_silent_step(self) -> None:
        """Show a step all the same that says nothing for long."""
        with self._lock:
            shown = self._bar is not None or self._last > self._began
            if self._doing and not shown and not self._late.finished.is_set():
                self._show_progress_step(self._doing, 0, 0)

    def _show_progress_step(self, doing: str, done: int, total: int) -> None:
        now = time.monotonic()
        if doing != self._doing:
            self._doing, self._since = doing, now
        if now - self._began < QUIET:
            return
        state = self._format_progress_state(done, total, now - self._since)
        if sys.stderr.isatty():
            self._update_progress_bar(doing, done, total, state)
        elif now - self._last >= (PERIOD if self._last > self._began else QUIET):
            self._last = now
            print(f"{doing}: {state}" if state else doing, file=sys.stderr, flush=True)

    def _update_progress_bar(self, doing: str, done: int, total: int, state: str) -> None:
        if self._bar is None:
            self._bar = make_progress_bars()
            self._task = self._bar.add_task(doing, total=total or None, state=state)
            self._bar.start()
        self._bar.update(self._task, description=doing, completed=done, total=total or None, state=state)

    @staticmethod
    def _format_progress_state(done: int, total: int, elapsed: float) -> str:
        if not total:
            return f"{done:,} rows" if done else ""
        left = f"  {format_duration(elapsed * (total - done) / done)} left" if 0 < done < total else ""
        return f"{done:,} of {total:,}{left}"
