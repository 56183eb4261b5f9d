"""The page of a human check: what people say of the paraphrases of every language (table 11, figure 6)."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from embassay.document.blocks import (
    Block,
    Bullets,
    Column,
    Entry,
    Facts,
    Heading,
    Legend,
    Line,
    Sentence,
    Table,
    Text,
    Verdict,
    Words,
)
from embassay.document.marks import percent
from embassay.document.tables import entry, file_tables, folded
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.tables import SCORE, Unit
from embassay.records import Result
from embassay.report.board import Board
from embassay.report.pteb.models import RATING
from embassay.report.record import Record
from embassay.report.runs import ReportRun

TASK = "validation"
GRADES = tuple(range(6))
THRESHOLD = 3.0
VERDICTS = {1.0: "✓ accepted", 0.0: "✕ rejected"}
OF_ALL = {1.0: "✓ in all", 0.0: "✕ not in all"}
COLUMNS = ("Mean rating", "Median", "At the bar", "Alpha")


def validation_page(run: ReportRun, alone: bool) -> Iterator[Block]:
    """The page of a run; nothing when nobody has rated yet."""
    del alone
    record, langs = run.record, _languages(run.record)
    if not langs:
        return
    yield Facts.of(
        "validation", "PTEB, human validation",
        numbers.counted(len([one for one in langs if one]), "language"),
        numbers.counted(len(record.manifest.get("raters", ())), "rater"),
    )  # fmt: skip
    yield validation_verdict(record, run.board)
    yield Heading("Ratings by language")
    bar = f"{_threshold(record):g}"
    yield Text(
        "Ratings from 0 to 5, the share of each from left to right. Under it, on a line from 0 to 5: the mean as a "
        f"diamond, the bar of {bar} dashed. At the bar: share of pairs with {bar} or more, in percent. Alpha: "
        "agreement of the raters (Krippendorff, ordinal; 1 is perfect)."
    )
    yield Legend(tuple((f"q{grade}", str(grade)) for grade in GRADES))
    yield ratings(record)
    rules = record.manifest.get("rules", ())
    if rules:
        yield Heading("Rules fixed before anybody rated")
        yield Bullets((rules,) if isinstance(rules, str) else tuple(map(str, rules)))
    yield from map(folded, file_tables(record.path, "pteb_table11"))
    yield from map(folded, file_tables(record.path, "raters"))


def ratings(record: Record) -> Table:
    """A line per language, the last of all together."""
    columns = (Column("", style="bar"), *COLUMNS, "Ratings", "Verdict")
    lines = tuple(_line(record, lang) for lang in _languages(record))
    return Table("ratings", "Ratings by language", "Language", columns, lines, is_titled=False)


def validation_verdict(record: Record, _: Board) -> Verdict:
    """In how many languages people accept the paraphrases; where they do not."""
    langs = [lang for lang in _languages(record) if lang]
    found = {lang: _find(record, lang, "accepted") for lang in langs}
    accepted = [lang for lang, row in found.items() if row is not None and row.value == 1]
    refused = [lang for lang, row in found.items() if row is not None and row.value == 0]
    open_ = [lang for lang in langs if lang not in accepted and lang not in refused]
    heading = f"People accept the paraphrases in {len(accepted)} of {numbers.counted(len(langs), 'language')}"
    lede: list[Sentence] = []
    whole = _find(record, "", "mean_rating")
    if whole is not None and whole.value is not None:
        ends = ""
        if whole.ci_low is not None and whole.ci_high is not None:
            ends = f" (95% interval {RATING.interval(whole.ci_low, whole.ci_high)})"
        lede.append(
            (f"The mean rating is {RATING.text(whole.value)}{ends} of 5, the bar {_threshold(record):g}.",)
        )
    if refused:
        lede.append((f"Not accepted: {', '.join(refused)}.",))
    if open_:
        lede.append((f"No verdict: {', '.join(open_)}.",))
    return Verdict((heading,), tuple(lede))


def _languages(record: Record) -> list[str]:
    """The languages in the order of the rows, all together (empty) last."""
    found = dict.fromkeys(key[2] for key in record.rows if key[0] == TASK)
    return [*(lang for lang in found if lang), *([""] if "" in found else [])]


def _find(record: Record, lang: str, measure: str, variant: str = "") -> Result | None:
    return next(
        (
            record.rows[TASK, "", lang, variant, system.name, measure]
            for system in record.systems
            if (TASK, "", lang, variant, system.name, measure) in record.rows
        ),
        None,
    )


def _threshold(record: Record) -> float:
    rules = record.arguments.get("rules") or {}
    return float(rules.get("threshold", THRESHOLD))


def _line(record: Record, lang: str) -> Line:
    units = (
        ("mean_rating", RATING),
        ("median_rating", RATING),
        ("share_at_threshold", Unit(100.0, 0, 0)),
        ("alpha", SCORE),
    )
    found = [_find(record, lang, measure) for measure, _ in units]
    accepted = _find(record, lang, "accepted")
    shares = [_find(record, lang, "ratings", f"rating={grade}") for grade in GRADES]
    mean = found[0].value if found[0] is not None else None
    n = max((row.n for row in shares if row is not None), default=0)
    drawn = _stack([0.0 if row is None or row.value is None else row.value for row in shares])
    return Line(
        lang or "All",
        (
            Entry((drawn, _scale(mean, _threshold(record)))),
            *(entry(row, unit) for row, (_, unit) in zip(found, units, strict=True)),
            Entry(numbers.count(n), exact=str(n)),
            Entry(_accepted(accepted, lang)),
        ),
    )


def _accepted(row: Result | None, lang: str) -> Sentence:
    said, style = "no verdict", "state"
    if row is not None and row.value is not None:
        said = (VERDICTS if lang else OF_ALL)[row.value]
        style = "state good" if said[0] == "✓" else "state failed"
    return (
        Words(said, style),
        *((" ", Words(row.reason, "small")) if row is not None and row.reason else ()),
    )


def _stack(shares: list[float]) -> Markup:
    """The shares of the ratings 0 to 5 side by side."""
    parts, start = [], 0.0
    for grade, share in enumerate(shares):
        if share:
            title = f"<title>{grade}: {numbers.percent(share)}</title>"
            place = f'x="{percent(100 * start)}" width="{percent(100 * share)}"'
            parts.append(f'<rect class="q{grade}" {place} height="12">{title}</rect>')
        start += share
    return Markup(f'<svg class="stack" aria-hidden="true">{"".join(parts)}</svg>')


def _scale(mean: float | None, threshold: float) -> Markup:
    """The mean as a diamond on a line from 0 to 5, the bar across it."""
    bar = percent(100 * threshold / 5)
    parts = [
        '<line class="g" x1="0" x2="100%" y1="8" y2="8"/>',
        f'<line class="d" x1="{bar}" x2="{bar}" y2="16"/>',
    ]
    if mean is not None:
        parts.append(
            f'<svg x="{percent(100 * mean / 5)}" y="8" overflow="visible"><path class="n" d="M0-6 5 0 0 6-5 0Z"/></svg>'
        )
    return Markup(f'<svg class="scale5" aria-hidden="true">{"".join(parts)}</svg>')
