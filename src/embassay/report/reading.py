"""How to read a report, in plain words: what its marks and verbs mean, what each protocol's scale says and does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from embassay.document.blocks import Block, Bullets, Facts, Heading, Link, Term, Terms, Text, Verdict, Words
from embassay.protocols.kernel import tables as numbers
from embassay.report.kinds import SCALES
from embassay.report.record import FEW, KINDS
from embassay.report.runs import TITLES, Run


def reading_of(runs: Sequence[Run]) -> Iterator[Block]:
    """The page of a report: marks and verbs, and the scales of the kinds of run that it has."""
    record = runs[0].record
    kinds = {run.record.kind for run in runs}
    yield Facts(("How to read this", "marks, words and scales of this report"))
    yield Verdict(
        ("How to read this report",),
        ((
            "A number here is what these items gave, with how sure that is. Every page says the finding first, then "
            "draws it, then gives the numbers; ", Link("Method", "method"), " says how each was made.",
        ),),
    )  # fmt: skip
    yield Heading("Marks and numbers", "reading-marks")
    yield Terms(tuple(_terms(record.correction.capitalize())))
    yield Heading("Words with one meaning", "reading-verbs")
    yield Terms(_verbs(record.alpha))
    yield Heading("Where a value is missing", "reading-states")
    yield Terms(STATES)
    yield Heading("What each scale says, and what it does not", "reading-scales")
    for kind in KINDS:
        if kind in kinds & set(SCALES):
            scale = SCALES[kind]
            yield Heading(TITLES[kind], f"reading-{kind}", 3)
            yield Text((Words(scale.question, "b"), f" {scale.means}"), style="")
            yield Bullets(scale.does_not, style="")


def _terms(correction: str) -> Iterator[Term]:
    yield _term(
        "reading-interval", "The tick and the bar",
        "The tick is the value on these items. The bar is its 95% interval: of 100 intervals made from items of the "
        "same kind, about 95 hold the true value.",
        "It covers the draw of items (in PTEB also of runs), not other data or languages, another paraphraser or "
        "judge, wrong gold labels, or a model that has seen the data. It is not where 95% of items lie. A value "
        "without a bar has no interval, such as a price.",
    )  # fmt: skip
    yield _term(
        "reading-rank", "Rank 1–2",
        "The ranks that the tests leave open: at best first, at worst second. Pairs of systems are compared on the "
        f"same items, and p is corrected for the number of pairs ({correction}).",
        "Two systems of rank 1–2 may differ; these items cannot tell. More items narrow the range.",
    )  # fmt: skip
    yield _term(
        "reading-overlap",
        "Bars that overlap",
        "Nothing follows: both systems saw the same items, and what is hard for one is hard for the other. The "
        "difference has its own interval, and that one is tested.",
    )
    yield _term(
        "reading-bold",
        "Bold",
        "The best value of a task before rounding, and all that cannot be told apart from it.",
    )
    yield _term(
        "reading-n",
        "n, and grey values",
        f"n is the number of items behind a value. Under {FEW} the value is grey and starts no sentence; under 50 an "
        "interval is a rough guide.",
    )
    yield _term(
        "reading-points",
        "Points and percent",
        "A point is a hundredth of the scale: 81.4 points are 0.814. A loss of 4 points is not a loss of 4 percent.",
    )
    yield _term(
        "reading-reference",
        "constant and random",
        "Reference rows that understand nothing: one always answers 1, the other draws at random. They are never "
        "ranked. A system that scores no higher has shown nothing on that task.",
    )
    yield _term(
        "reading-items",
        "One item",
        "An item helps to see why. It does not show which system is better: that takes n items.",
    )


def _term(place: str, title: str, means: str, does_not: str = "") -> Term:
    """A word or mark of the report: what it means, and what it does not. `place` is its address on the page."""
    return Term(title, f"{means} {does_not}".strip(), place)


def _verbs(alpha: float) -> tuple[Term, ...]:
    """The verbs with one meaning each."""
    return (
        _term(
            "reading-beats", "beats", f"The corrected p of the difference is under {alpha}.",
            "The difference need not be large: read its interval.",
        ),
        _term(
            "reading-apart", "cannot be told apart from", f"The corrected p is {alpha} or more.",
            "The two are not shown to be equal.",
        ),
        _term(
            "reading-first", "may be first", "Its rank range includes 1.",
            "Several systems may be first at once.",
        ),
        _term(
            "reading-loses", "loses 4.1 points (3.3–4.9)", "The change, with its 95% interval.",
            "Where the interval reaches 0, it cannot be told from no loss.",
        ),
    )  # fmt: skip


STATES = (
    _term("reading-failed", "✕ failed", "A cell did not end, for the reason beside it. It is not 0."),
    _term(
        "reading-partial", "◐ partial", "Some datasets of the task are missing, so it has no score over them."
    ),
    _term("reading-not-run", "not run", "Planned. The same command continues."),
    _term("reading-undefined", "n/a", "Not defined here, such as a correlation of equal ratings."),
    _term("reading-none", numbers.NONE, "There is none, such as the dimensions of bm25."),
)
