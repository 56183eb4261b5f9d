"""From questions to ordered passages: how many pass each stage, and what grades the pools hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from embassay.protocols import numbers
from embassay.protocols.rag.golden.summary import Golden, Query, Stage
from embassay.report.marks import percent

COUNTED = {
    "S2": (("dense", "by vectors"), ("sparse", "by words")),
    "S3": (("candidates", "candidates"), ("both", "found both ways")),
    "S4": (("graded", "graded"), ("ungraded", "without a grade")),
    "S5": (("kept", "kept"),),
    "S6": (("ranked", "ordered"), ("calls", "calls to the judge")),
}
"""What a stage counts, in words; of S2 both are drawn, of the others the first."""
MOST_STRIPS = 60


@dataclass(frozen=True)
class Step:
    """A stage: questions through it and failed in it, its passages as a drawing and in words."""

    name: str
    title: str
    done: str
    failed: int
    mark: Markup
    passages: str
    told: str
    time: str


@dataclass(frozen=True)
class Strips:
    """The grades of every pool, a column per question, and one sentence that says the same."""

    svg: Markup
    summary: str
    more: int


def funnel(golden: Golden) -> tuple[Step, ...]:
    """The stages of the run, in their order."""
    both = next((one.counts.get("both", 0) for one in golden.stages if one.name == "S3"), 0)
    counts = {one.name: _counts(one, both) for one in golden.stages}
    passages = {name: sum(of[:2] if name == "S2" else of[:1]) for name, of in counts.items()}
    most = max(passages.values(), default=0)
    return tuple(_step(one, counts[one.name], passages[one.name], most) for one in golden.stages)


def _counts(one: Stage, both: int) -> list[int]:
    """What the stage counted; what S2 found by one search alone is without what `both` found."""
    found = [one.counts.get(name, 0) for name, _ in COUNTED.get(one.name, ())]
    return [n + both if n else 0 for n in found] if one.name == "S2" else found


def _step(one: Stage, counts: Sequence[int], passages: int, most: int) -> Step:
    width = percent(100 * passages / most) if most else "0%"
    mark = (
        f'<svg class="gaps" aria-hidden="true"><rect class="q4" width="{width}"/></svg>' if passages else ""
    )
    words = [said for _, said in COUNTED.get(one.name, ())]
    told = [f"{numbers.count(n)} {said}" for n, said in zip(counts, words, strict=True) if n]
    return Step(
        one.name, one.title, numbers.count(one.done), one.failed, Markup(mark),
        numbers.count(passages) if passages else "", ", ".join(told),
        "" if one.seconds is None else numbers.duration(one.seconds),
    )  # fmt: skip


def strips(golden: Golden) -> Strips | None:
    """A column per question, most of grade 5 and 4 first: shares of grade 5 (at the foot, darkest) to 1."""
    known = [one for one in golden.queries if one.grades and sum(one.grades)]
    if not known:
        return None
    ordered = sorted(known, key=lambda one: (-_good(one), one.query_id))
    shown = ordered[:MOST_STRIPS]
    wide = 100 / len(shown)
    paths = dict.fromkeys(range(1, 6), "")
    for i, one in enumerate(shown):
        top = 100.0
        for grade in range(5, 0, -1):
            high = 100 * one.grades[grade - 1] / sum(one.grades)
            if high:
                paths[grade] += f"M{i * wide:.2f} {top:.1f}h{0.88 * wide:.2f}v-{high:.1f}h-{0.88 * wide:.2f}z"
                top -= high
    drawn = "".join(
        f'<path class="q{grade if grade > 1 else 0}" d="{path}"/>' for grade, path in paths.items() if path
    )
    shares = [_good(one) for one in known]
    summary = (
        f"Grades of the pools of {numbers.counted(len(known), 'question')}: the share of grade 4 or 5 goes from "
        f"{numbers.percent(min(shares))} to {numbers.percent(max(shares))}."
    )
    svg = f'<svg class="strips" viewBox="0 0 100 100" preserveAspectRatio="none">{drawn}</svg>'
    return Strips(Markup(svg), summary, len(known) - len(shown))


def _good(one: Query) -> float:
    return sum(one.grades[3:]) / sum(one.grades)
