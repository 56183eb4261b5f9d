"""What is known of the judge: rejected answers, whether it repeats itself, what a place does, what people say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from embassay.protocols import numbers
from embassay.protocols.rag.golden.summary import (
    Answers,
    Figure,
    Golden,
    HumanCheck,
    JudgeFacts,
    RankingFacts,
    Repeated,
)
from embassay.records import Result
from embassay.report.marks import difference_mark, interval_mark
from embassay.report.matrix import Entry, Line, Matrix, step_of
from embassay.report.scale import Scale, scale_of

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


def answers(judge: JudgeFacts | None) -> Matrix | None:
    """Calls by how many attempts they took, and rejected answers by their fault."""
    kinds = [one for one in judge.answers if one.calls or one.failed] if judge is not None else []
    if not kinds:
        return None
    most = max(len(one.attempts) for one in kinds)
    attempts = (numbers.counted(n, "attempt") for n in range(1, most + 1))
    columns = ("Answers", *attempts, "Questions failed", "Rejected answers")
    rows = tuple(_answers(one, most) for one in kinds)
    return Matrix(
        "judge-answers",
        "Answers, and attempts that they took",
        "Asked for",
        columns,
        rows,
        digits=0,
        is_sorted=True,
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


def repeats(repeated: Repeated | None) -> Matrix | None:
    """First against second grade."""
    if repeated is None:
        return None
    return confusion("judge-repeats", "First grade against second", "First", repeated.table)


def confusion(name: str, title: str, heading: str, table: Sequence[Sequence[int]]) -> Matrix | None:
    """Counts of grade against grade; None for an empty table."""
    most = max((n for row in table for n in row), default=0)
    if not most:
        return None
    lines = tuple(
        Line(f"grade {grade}", tuple(_count(n, most, bold=i == grade) for i, n in enumerate(row, 1)))
        for grade, row in enumerate(table, 1)
    )
    columns = tuple(f"then {grade}" for grade in range(1, len(table[0]) + 1))
    return Matrix(name, title, heading, columns, lines, is_heat=True, digits=0, is_sorted=True)


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
