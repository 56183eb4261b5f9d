"""Levels as rows of results."""

from __future__ import annotations

from collections.abc import Iterator

from embassay.protocols.comparisons import Headline
from embassay.protocols.pteb.summary.layout import ORIGINAL, Layout, RunDataset
from embassay.protocols.pteb.summary.levels import Level
from embassay.protocols.pteb.summary.until_ci import over_runs
from embassay.records import Result

ONE_RUN = "one run has no standard deviation"


def level_rows(
    layout: Layout, task: str, headline: str, level: Level, label: str,
    dataset: RunDataset | None = None, subset: str = "",
) -> Iterator[Result]:  # fmt: skip
    """The PTEB score, the original on the same items, the drop, and the standard deviations over runs of score and drop
    of a system at one level; `subset` is one language of a dataset. On a dataset also `delta_runs`: the drop with the
    interval over runs alone, which is what --until-ci narrows."""
    name, lang = (dataset.name, subset or dataset.lang) if dataset else ("", "")
    where = (name, subset, lang, label, level.system)
    for measure, part in ((headline, level.score), ("original", level.original), ("delta", level.delta)):
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
    runs = min(map(len, level.runs), default=0)
    for measure, sd in (("sd", level.sd), ("delta_sd", level.delta_sd)):
        reason = "" if sd is not None else level.score.reason or ONE_RUN
        yield Result(
            "pteb", task, *where, measure, sd, runs if sd is not None else 0,
            method=_spread(level) if sd is not None else "", seed=layout.seed, reason=reason,
        )  # fmt: skip
    half = over_runs(level.deltas) if dataset else None
    if half is not None and (drop := level.delta.value) is not None:
        yield Result(
            "pteb", task, *where, "delta_runs", drop, runs, drop - half, drop + half,
            f"95% t interval over {runs} runs: other paraphrases of these very texts", layout.seed,
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
