"""Levels as rows of results."""

from __future__ import annotations

from collections.abc import Iterator

from embassay.protocols.comparisons import Headline
from embassay.protocols.pteb.summary.layout import ORIGINAL, Layout, RunDataset
from embassay.protocols.pteb.summary.levels import Level
from embassay.records import Result

ONE_RUN = "one run has no standard deviation"


def level_rows(
    layout: Layout, task: str, headline: str, level: Level, label: str,
    dataset: RunDataset | None = None, subset: str = "",
) -> Iterator[Result]:  # fmt: skip
    """The PTEB score, the drop, and the standard deviation over runs of a system at one level; `subset` is one language
    of a dataset."""
    name, lang = (dataset.name, subset or dataset.lang) if dataset else ("", "")
    where = (name, subset, lang, label, level.system)
    for measure, part in ((headline, level.score), ("delta", level.delta)):
        low, high = part.interval
        yield Result(
            "pteb",
            task,
            *where,
            measure,
            part.value,
            part.n,
            low,
            high,
            part.method,
            layout.seed,
            part.reason,
        )
    sd, runs = level.sd, min(map(len, level.runs), default=0)
    reason = "" if sd is not None else level.score.reason or ONE_RUN
    yield Result(
        "pteb", task, *where, "sd", sd, runs if sd is not None else 0,
        method=_spread(level) if sd is not None else "", seed=layout.seed, reason=reason,
    )  # fmt: skip


def original_row(layout: Layout, task: str, headline: str, original: Headline) -> Result:
    """The original score over datasets or tasks."""
    low, high = original.interval
    return Result(
        "pteb", task, "", "", "", ORIGINAL, original.system, headline, original.value, original.n, low, high,
        original.method, layout.seed, original.reason,
    )  # fmt: skip


def _spread(level: Level) -> str:
    runs = min(map(len, level.runs))
    words = f"sample standard deviation over {runs} runs"
    return words + (f", root mean square of {len(level.runs)} sources" if len(level.runs) > 1 else "")
