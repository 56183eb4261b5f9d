"""The page of a human check: what people say of the paraphrases of every language (table 11, figure 6)."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from embassay.document.marks import percent
from embassay.document.tables import Entry, FileTable, entry, file_tables
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.tables import SCORE, Unit
from embassay.records import Result
from embassay.report.board import Board
from embassay.report.pteb.judges import RATING
from embassay.report.record import Record
from embassay.report.verdict import Sentence, Verdict

TASK = "validation"
GRADES = tuple(range(6))
THRESHOLD = 3.0
VERDICTS = {1.0: "✓ accepted", 0.0: "✕ rejected"}
OF_ALL = {1.0: "✓ in all", 0.0: "✕ not in all"}
COLUMNS = ("Mean rating", "Median", "At the bar", "Alpha")


@dataclass(frozen=True)
class LanguageRow:
    """A language, or all of them: the shares of its ratings as a drawing, its figures, and the verdict."""

    label: str
    stack: Markup
    scale: Markup
    entries: tuple[Entry, ...]
    verdict: str
    reason: str
    n: int


@dataclass(frozen=True)
class ValidationPage:
    """The content of the page."""

    facts: tuple[str, ...]
    verdict: Verdict
    threshold: str
    columns: tuple[str, ...]
    rows: tuple[LanguageRow, ...]
    rules: tuple[str, ...]
    tables: tuple[FileTable, ...]


def validation_page(record: Record, board: Board) -> ValidationPage | None:
    """The page of a record; None when nobody has rated yet."""
    langs = _languages(record)
    if not langs:
        return None
    raters = record.manifest.get("raters", ())
    rules = record.manifest.get("rules", ())
    return ValidationPage(
        facts=(
            "PTEB, human validation",
            numbers.counted(len([one for one in langs if one]), "language"),
            numbers.counted(len(raters), "rater"),
        ),
        verdict=validation_verdict(record, board),
        threshold=f"{_threshold(record):g}",
        columns=COLUMNS,
        rows=tuple(_row(record, lang) for lang in langs),
        rules=(rules,) if isinstance(rules, str) else tuple(map(str, rules)),
        tables=(*file_tables(record.path, "pteb_table11"), *file_tables(record.path, "raters")),
    )


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


def _row(record: Record, lang: str) -> LanguageRow:
    units = (
        ("mean_rating", RATING),
        ("median_rating", RATING),
        ("share_at_threshold", Unit(100.0, 0, 0)),
        ("alpha", SCORE),
    )
    found = [_find(record, lang, measure) for measure, _ in units]
    entries = tuple(entry(row, unit) for row, (_, unit) in zip(found, units, strict=True))
    accepted = _find(record, lang, "accepted")
    shares = [_find(record, lang, "ratings", f"rating={grade}") for grade in GRADES]
    mean = found[0].value if found[0] is not None else None
    verdict = (
        "no verdict"
        if accepted is None or accepted.value is None
        else (VERDICTS if lang else OF_ALL)[accepted.value]
    )
    return LanguageRow(
        lang or "All",
        _stack([0.0 if row is None or row.value is None else row.value for row in shares]),
        _scale(mean, _threshold(record)),
        entries,
        verdict,
        accepted.reason if accepted is not None else "",
        max((row.n for row in shares if row is not None), default=0),
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
