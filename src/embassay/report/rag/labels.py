"""How passages came by their labels: how many pass each stage, what is known of the judge, one final list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from markupsafe import Markup

from embassay.document.blocks import Entry, Line, Table
from embassay.document.marks import Scale, difference_mark, interval_mark, percent, scale_of
from embassay.document.tables import step_of
from embassay.errors import DataError
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.rag.golden.final_lists import Listed, read_final_list
from embassay.protocols.rag.golden.stages import QueryFolder
from embassay.protocols.rag.golden.summary import (
    Answers,
    Figure,
    Golden,
    HumanCheck,
    JudgeFacts,
    Query,
    RankingFacts,
    Repeated,
    Stage,
)
from embassay.records import Result

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
    ordered = sorted(known, key=lambda one: (-_good_share(one), one.query_id))
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
    shares = [_good_share(one) for one in known]
    summary = (
        f"Grades of the pools of {numbers.counted(len(known), 'question')}: the share of grade 4 or 5 goes from "
        f"{numbers.percent(min(shares))} to {numbers.percent(max(shares))}."
    )
    svg = f'<svg class="strips" viewBox="0 0 100 100" preserveAspectRatio="none">{drawn}</svg>'
    return Strips(Markup(svg), summary, len(known) - len(shown))


def _good_share(one: Query) -> float:
    return sum(one.grades[3:]) / sum(one.grades)


SHARE, SIGNED = Scale(0.0, 1.0, 0.5), Scale(-1.0, 1.0, 0.5)


@dataclass(frozen=True)
class Bar:
    """A figure as a bar and tick with its text; `what` says how to read it."""

    title: str
    mark: Markup
    text: str
    interval: str
    n: str
    what: str = ""
    scale: Scale = SHARE


def answers(judge: JudgeFacts | None) -> Table | None:
    """Calls by how many attempts they took, and rejected answers by their fault."""
    kinds = [one for one in judge.answers if one.calls or one.failed] if judge is not None else []
    if not kinds:
        return None
    most = max(len(one.attempts) for one in kinds)
    attempts = (numbers.counted(n, "attempt") for n in range(1, most + 1))
    columns = ("Answers", *attempts, "Questions failed", "Rejected answers")
    rows = tuple(_answers(one, most) for one in kinds)
    return Table(
        "judge-answers",
        "Answers, and attempts that they took",
        "Asked for",
        columns,
        rows,
        digits=0,
        is_sortable=False,
    )


def _answers(one: Answers, most: int) -> Line:
    attempts = [*one.attempts, *[0] * (most - len(one.attempts))]
    faults = ", ".join(f"{kind} {numbers.count(n)}" for kind, n in one.rejected.items())
    counts = (one.calls, *attempts, one.failed)
    cells = (Entry(numbers.count(n), exact=str(n)) for n in counts)
    rejected = f"{numbers.count(sum(one.rejected.values()))}: {faults}" if faults else "none"
    return Line({"grade": "grades", "order": "orders"}.get(one.kind, one.kind), (*cells, Entry(rejected)))


def bars(golden: Golden) -> tuple[Bar, ...]:
    """Repeatability, contradictions and the estimated noise, each from 0 to 1."""
    made = []
    again, ranking = golden.repeated, golden.ranking
    if again is not None and not again.reason:
        made += [
            bar("Same grade again", again.exact, "share of passages graded twice"),
            bar("Within one grade", again.within_one, "share of passages graded twice"),
            bar("κ, quadratic", again.kappa, "agreement beyond chance; 1 is perfect"),
            bar(
                "Pairs turned round",
                again.discordant,
                "share of a call’s pairs that its repeat orders otherwise",
            ),
        ]
    contradictions = ranking.contradictions if ranking is not None else None
    if contradictions is not None:
        made.append(bar(
            "Contradicted pairs", contradictions.share,
            "share of the pairs shown together twice or more that were put both ways",
        ))  # fmt: skip
        made.append(
            bar("Noise, estimated", contradictions.noise, "share of all pairs that the judge would misorder")
        )
    return tuple(one for one in made if one is not None)


def bar(title: str, figure: Figure | None, what: str = "", scale: Scale = SHARE) -> Bar | None:
    """A figure as it is drawn; None where there is none."""
    if figure is None:
        return None
    if figure.value is None:
        return Bar(title, Markup(""), "n/a", figure.reason, "", what, scale)
    mark = interval_mark(_result(figure), "llm", scale, width=180)
    text, n = numbers.score(figure.value), numbers.count(figure.n)
    return Bar(title, mark, text, _interval(figure), n, what, scale)


def again(repeated: Repeated | None) -> str:
    """What was judged twice, or why nothing was."""
    if repeated is None:
        return "Nothing was judged twice: how steady the judge is, is not known. Option --repeat asks again."
    if repeated.reason:
        return f"Judged again: {repeated.reason}."
    passages, questions = (
        numbers.counted(repeated.items, "passage"),
        numbers.counted(repeated.queries, "question"),
    )
    failed = f" {repeated.failed} repeats brought no answer." if repeated.failed else ""
    return (
        f"{passages} of {questions} were graded a second time, {numbers.counted(repeated.calls, 'call')} ordered a "
        f"second time.{_shift(repeated.shift)}{failed}"
    )


def _shift(shift: Figure | None) -> str:
    if shift is None or shift.value is None:
        return ""
    known = shift.low is not None and shift.high is not None
    ends = f" ({numbers.interval(shift.low or 0.0, shift.high or 0.0, 2)})" if known else ""
    return f" The second grade less the first: {numbers.change(shift.value, 2)}{ends} in the mean."


def repeats(repeated: Repeated | None) -> Table | None:
    """First against second grade."""
    if repeated is None:
        return None
    return confusion("judge-repeats", "First grade against second", "First", repeated.table)


def confusion(name: str, title: str, heading: str, table: Sequence[Sequence[int]]) -> Table | None:
    """Counts of grade against grade; None for an empty table."""
    most = max((n for row in table for n in row), default=0)
    if not most:
        return None
    lines = tuple(
        Line(f"grade {grade}", tuple(_count(n, most, bold=i == grade) for i, n in enumerate(row, 1)))
        for grade, row in enumerate(table, 1)
    )
    columns = tuple(f"then {grade}" for grade in range(1, len(table[0]) + 1))
    return Table(name, title, heading, columns, lines, style="heat grid lines", digits=0, is_sortable=False)


def _count(n: int, most: int, *, bold: bool) -> Entry:
    return Entry(numbers.count(n), exact=str(n), step=step_of(n / most) if n else 1, bold=bold)


def bias(ranking: RankingFacts | None) -> tuple[Bar, ...]:
    """What being shown at a place does, one bar per place on one scale."""
    places = ranking.place_bias if ranking is not None else ()
    ends = [end for one in places for end in (one.gain.value, one.gain.low, one.gain.high) if end is not None]
    if not ends:
        return ()
    scale = scale_of([*ends, 0.0], within=None)
    return tuple(
        Bar(
            f"shown at place {one.place}",
            difference_mark(one.gain.low, one.gain.value, one.gain.high, "llm", scale),
            numbers.change(one.gain.value, 2),
            _interval(one.gain, 2),
            numbers.count(one.gain.n),
            scale=scale,
        )
        for one in places
        if one.gain.value is not None
    )


def checked(one: HumanCheck) -> tuple[Bar, ...]:
    """What a person said of the final lists."""
    found = (
        bar(
            "Kendall’s τ-b",
            one.tau,
            "the person's order against the judge's, mean over questions",
            Scale(-1.0, 1.0, 1.0),
        ),
        bar("Pairs swapped", one.swapped, "share of pairs that the person puts the other way"),
        bar("Same grade", one.exact, "share of graded passages"),
        bar("Within one grade", one.within_one, "share of graded passages"),
        bar(
            "κ, quadratic",
            one.kappa,
            "agreement of grades beyond chance; 1 is perfect",
            Scale(-1.0, 1.0, 1.0),
        ),
    )
    return tuple(one for one in found if one is not None)


def _interval(figure: Figure, decimals: int = 3) -> str:
    if figure.low is None or figure.high is None:
        return "no interval"
    return numbers.interval(figure.low, figure.high, decimals)


def _result(figure: Figure) -> Result:
    return Result("rag", "golden", "", "", "", "", "", "", figure.value, figure.n, figure.low, figure.high)


LONG = 280


@dataclass(frozen=True)
class FinalList:
    """The question (by its rewriting too, where that differs) and the first places of its list."""

    query_id: str
    question: str
    rewrite: str
    passages: tuple[Listed, ...]


def final_list(run: Path, golden: Golden) -> FinalList | None:
    """That of the done question with the most passages of grade 4 and 5 among the typical ones: the median."""
    done = sorted((one for one in golden.queries if one.status == "done" and one.grades), key=_by_good)
    for one in done[len(done) // 2 :] + done[: len(done) // 2]:
        found = _read(run, one, golden.settings.top)
        if found is not None:
            return found
    return None


def _by_good(one: Query) -> tuple[int, str]:
    return sum(one.grades[3:]), one.query_id


def _read(run: Path, one: Query, top: int) -> FinalList | None:
    """None where the list is not there or cannot be read: the page shows what is."""
    try:
        found = read_final_list(one.query_id, QueryFolder(run, one.folder).ranked(top))
    except DataError:
        return None
    passages = tuple(replace(passage, text=_cut(passage.text)) for passage in found.passages)
    return FinalList(one.query_id, one.text, one.rewrite if one.rewrite != one.text else "", passages)


def _cut(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= LONG else flat[:LONG].rsplit(" ", 1)[0] + " …"
