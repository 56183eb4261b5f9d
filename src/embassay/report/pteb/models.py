"""The pages of a judge run, a selection and a human check: who follows gold best, who paraphrases, what people say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from markupsafe import Markup

from embassay.document.blocks import (
    Block,
    Bullets,
    Column,
    Entry,
    Facts,
    Figure,
    Heading,
    Legend,
    Line,
    Part,
    Sentence,
    Table,
    Text,
    Verdict,
    Words,
    entry_for,
    file_tables,
    fold_table,
    join_names,
)
from embassay.document.marks import Scale, percent, scale_of
from embassay.document.plots import Axis, Point, Series, draw_lines, draw_scatter
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.claims import Claim, state_contenders, state_count, state_value
from embassay.protocols.kernel.tables import POINTS, SCORE, Unit
from embassay.protocols.pteb.candidates import Candidate, Selection, SelectionRule, select_candidate
from embassay.records import Result
from embassay.report.board import Board, Row, name_row
from embassay.report.record import Record, label_names
from embassay.report.runs import ReportRun

JUDGING, FIT, ERROR = "judge", "spearman", "mae"
MEAN_OF_JUDGES = "mean of judges"
RATING = Unit(1.0, 2, 2)
MOST_NAMES = 3


def judge_page(run: ReportRun, alone: bool) -> Iterator[Block]:
    """The page of a run."""
    del alone
    record, judges = run.record, order_systems(run.record, run.board)
    yield Facts.of(
        "judge", "PTEB, step 1", numbers.format_counted(len(judges), "judge"),
        numbers.format_counted(len(record.datasets(JUDGING)), "dataset")
    )  # fmt: skip
    yield judge_verdict(record, run.board)
    yield Heading("Who agrees with gold scores")
    bold = (
        f" Bold: the best and all that cannot be told apart from it ({record.correction.capitalize()}, "
        f"α = {record.alpha})."
    )
    yield Text(
        (
            "Spearman correlation of a judge’s ratings with the gold scores, × 100, with its 95% interval (bootstrap "
            "over pairs); higher is better. Error: mean distance between rating and gold, both from 0 to 5; lower "
            "is better."
        )
        + (bold if record.scope(JUDGING).pairs else "")
    )
    yield judge_scores(record, run.board)
    yield from _show_rating_errors(record, judges)
    if bins := _list_bins(record, FIT):
        yield Heading("Does length matter?")
        yield Text(
            "Pairs by their mean number of words. With too few pairs for a correlation, only n is shown."
        )
        yield _by_words(record, judges, bins)
    yield from map(fold_table, file_tables(record.path, "pteb_table3"))


def _show_rating_errors(record: Record, judges: Sequence[Row]) -> Iterator[Block]:
    if not (gold := _list_bins(record, ERROR)):
        return
    yield Heading("Where ratings err")
    yield Text(
        "Mean distance between rating and gold by gold score, all datasets pooled; band: 95%. The chart shows at "
        "most the first four judges; the table has all."
    )
    series = _error_series(record, judges, gold)
    if any(line.points for line in series):
        yield Figure("Error by gold score", _error_chart(series, gold), _summarize_errors(series))
    yield _errors_table(record, judges, gold)


def judge_verdict(record: Record, board: Board) -> Verdict:
    """The verdict on the judges."""
    judges = [row for row in order_systems(record, board) if _fit_score(record, row).value is not None]
    if not judges:
        return Verdict(("No judge has a score on every dataset",), ())
    lede: list[Sentence] = [_values_sentence(record, judges)]
    scope = record.scope(JUDGING)
    scores = tuple(_score_claim(record, row) for row in judges)
    lede += _chance_sentences(scores, board)
    first = state_contenders(JUDGING, scope.first, scope.systems)
    return Verdict(_follow_sentence(scores, first, board), tuple(lede), (*scores, *first))


def _score_claim(record: Record, row: Row) -> Claim:
    result = _fit_score(record, row)
    return state_value(row.system.name, FIT, result.value, result.ci_low, result.ci_high)


def _may_be_at_chance(score: Claim) -> bool:
    """Whether the interval of a judge's correlation with gold reaches 0, or there is none that leaves 0 out."""
    return (score.value or 0.0) <= 0 or score.low is None or score.low <= 0


def _chance_sentences(scores: Sequence[Claim], board: Board) -> Iterator[Sentence]:
    """Which judges do not surely follow gold at all."""
    doubtful: list[Part] = [board.naming(score.subject) for score in scores if _may_be_at_chance(score)]
    if doubtful:
        whose = "its correlation" if len(doubtful) == 1 else "their correlations"
        yield (*join_names(doubtful), f" may rate at chance: {whose} may be 0.")


def _follow_sentence(scores: Sequence[Claim], first: Sequence[Claim], board: Board) -> Sentence:
    """Who follows gold scores best, or may be the one that does."""
    if len(scores) == 1:
        score = POINTS.write_value(scores[0].value or 0.0)
        says = "may rate at chance:" if _may_be_at_chance(scores[0]) else "correlates with gold scores at"
        return (board.naming(scores[0].subject), f" {says} {score} of 100")
    if not first:
        return (f"{len(scores)} judges are scored against gold; no test compares them",)
    if len(first) == 1:
        return (board.naming(first[0].subject), " agrees best with gold scores")
    return (
        f"{numbers.spell_count(len(first)).capitalize()} judges may be the one that agrees best with gold",
    )


def order_systems(record: Record, board: Board) -> list[Row]:
    """The systems of the board, best first, then those without a score."""
    order = {name: place for place, name in enumerate(record.scope(JUDGING).systems)}
    return sorted(board.rows, key=lambda row: order.get(row.system.name, len(order)))


def _fit_score(record: Record, row: Row) -> Result:
    result = record.find(JUDGING, row.system.name, FIT)
    return result or Result(
        "pteb", JUDGING, "", "", "", "", row.system.name, FIT, None, 0, reason="not run yet"
    )


def _values_sentence(record: Record, judges: Sequence[Row]) -> Sentence:
    parts: list[Part] = []
    for i, row in enumerate(judges[:MOST_NAMES]):
        result = _fit_score(record, row)
        ends = ""
        if result.ci_low is not None and result.ci_high is not None:
            ends = (
                f" ({'95% interval ' if i == 0 else ''}{POINTS.said_interval(result.ci_low, result.ci_high)})"
            )
        parts += ["; " if i else "", name_row(row), f" {POINTS.write_value(result.value or 0.0)}{ends}"]
    return ("Spearman correlation with gold, × 100, mean over datasets: ", *parts, ".")


def _list_bins(record: Record, measure: str) -> list[str]:
    """The variants of a measure, in the order of the rows."""
    bins = (key[3] for key in record.rows if key[0] == JUDGING and key[5] == measure and key[3])
    return list(dict.fromkeys(bins))


def judge_scores(record: Record, board: Board) -> Table:
    """Every judge on every dataset, best first."""
    best = record.scope(JUDGING).best
    names = record.datasets(JUDGING)
    lines_of = tuple(
        Line(
            row.label,
            (
                entry_for(record.find(JUDGING, row.system.name, FIT), POINTS, bold=row.system.name in best),
                *(
                    entry_for(record.find(JUDGING, row.system.name, FIT, dataset=name), POINTS)
                    for name in names
                ),
                entry_for(record.find(JUDGING, row.system.name, ERROR), RATING),
                entry_for(record.find(JUDGING, row.system.name, "failed"), Unit(100.0, 1, 1)),
            ),
            "llm",
        )
        for row in order_systems(record, board)
    )
    columns = ("Mean", *names, "Error, 0 to 5", "Failed ratings, %")
    return Table("judge-scores", "Spearman correlation with gold, × 100", "Judge", columns, lines_of)


def _error_series(record: Record, judges: Sequence[Row], gold: Sequence[str]) -> list[Series]:
    made = []
    for row in judges:
        series = [
            (_bin_middle(label) / 5, record.find(JUDGING, row.system.name, ERROR, variant=label))
            for label in gold
        ]
        made.append(
            Series(
                row.label,
                tuple((at, row) for at, row in series if row is not None and row.value is not None),
                row.system.kind,
            )
        )
    return made


def _bin_middle(variant: str) -> float:
    """The middle of a bin: `gold=[1,2)` lies at 1.5."""
    low, high = variant.partition("=")[2].strip("[)]").split(",")
    return (float(low) + float(high)) / 2


def _error_chart(series: Sequence[Series], gold: Sequence[str]) -> Markup:
    values = [
        end for line in series for _, row in line.points for end in (row.value, row.ci_low, row.ci_high)
    ]
    y = scale_of([0.0, *(end for end in values if end is not None)], within=(0.0, 5.0))
    ticks = [(_bin_middle(label) / 5, label.partition("=")[2]) for label in gold]
    return draw_lines(series, ticks, y, "gold score, 0 to 5")


def _summarize_errors(series: Sequence[Series]) -> str:
    ends = join_names(
        [f"{line.name} {RATING.text(line.points[-1][1].value or 0.0)}" for line in series if line.points]
    )
    return f"Mean absolute error of the ratings by gold score. At the highest gold scores: {''.join(map(str, ends))}."


def _errors_table(record: Record, judges: Sequence[Row], gold: Sequence[str]) -> Table:
    rows = [
        (row, [record.find(JUDGING, row.system.name, ERROR, variant=bin) for bin in gold]) for row in judges
    ]
    most = (
        max((result.value or 0.0 for _, of in rows for result in of if result is not None), default=1.0)
        or 1.0
    )
    lines_of = tuple(
        Line(row.label, tuple(entry_for(result, RATING, n=True, heat=most) for result in of), "llm")
        for row, of in rows
    )
    columns = tuple(bin.partition("=")[2] for bin in gold)
    return Table(
        "judge-errors",
        "Mean absolute error by gold score",
        "Judge",
        columns,
        lines_of,
        style="heat grid lines",
    )


def _by_words(record: Record, judges: Sequence[Row], bins: Sequence[str]) -> Table:
    whole = MEAN_OF_JUDGES if len(judges) > 1 else judges[0].system.name
    places = [*((dataset, dataset) for dataset in record.datasets(JUDGING)), ("All datasets", "")]
    lines_of = tuple(
        Line(
            label,
            tuple(
                entry_for(
                    record.find(JUDGING, whole, FIT, dataset=name, variant=words), POINTS, n=True, heat=1.0
                )
                for words in bins
            ),
        )
        for label, name in places
    )
    columns = tuple(f"{label.partition('=')[2]} words" for label in bins)
    who = "mean of the judges" if len(judges) > 1 else judges[0].label
    return Table(
        "judge-words",
        f"Spearman × 100 by length of the pair, {who}",
        "Dataset",
        columns,
        lines_of,
        style="heat grid lines",
    )


CHOICE, SIMILARITY, DISTANCE, SECONDS = "paraphrasers", "similarity", "edit_distance", "seconds"
PERCENT = Unit(100.0, 1, 1)


def selection_page(run: ReportRun, alone: bool) -> Iterator[Block]:
    """The page of a run."""
    del alone
    record, board = run.record, run.board
    _, rule = _select_candidates(record)
    placed = [row for row in board.rows if None not in _candidate_point(record, row)]
    yield Facts.of(
        "paraphrasers", "PTEB, step 2", numbers.format_counted(len(board.rows), "candidate"),
        numbers.format_counted(len(record.datasets(CHOICE)), "dataset")
    )  # fmt: skip
    yield selection_verdict(record, board)
    yield Heading("Meaning kept against words changed")
    yield Text(str(rule))
    if placed:
        reasons = "; ".join(_candidate_words(record, row) for row in placed)
        chart = _front_chart(record, placed, rule)
        yield Figure("Similarity against edit distance", chart, reasons, "means over datasets")
    yield Text(
        "Similarity: the judge’s rating of text and paraphrase, 0 to 5. Edit distance: words "
        "changed, over the longer of the two; a copy has 0. Its 95% interval is under each value. On "
        "the front: no other candidate is better in all three criteria."
    )
    yield candidates_table(record, board)
    if judges := _judges_table(record, board.rows):
        yield judges
    if len(record.datasets(CHOICE)) > 1:
        yield _by_dataset(record, board.rows)
    yield from map(fold_table, file_tables(record.path, "pteb_table[45]"))


def selection_verdict(record: Record, board: Board) -> Verdict:
    """Who is chosen, and why; that nobody is, and why."""
    chosen, _ = _select_candidates(record)
    if not chosen.selected:
        why = "; ".join(f"{board.row(name).label}: {reason}" for name, reason in chosen.rejected.items())
        return Verdict(
            ("The rule chooses no paraphraser",), ((f"{numbers.capitalise(chosen.because)}. {why}.",),)
        )
    row = board.row(chosen.selected)
    front = ", ".join(board.row(name).label for name in chosen.front)
    why = f"It has {chosen.because}. No other candidate is better than {front} in all three criteria."
    claims = tuple(
        Claim(name, "keeps", "front", kind="chosen" if name == chosen.selected else "")
        for name in chosen.front
    )
    return Verdict((name_row(row), " is the paraphraser that the rule chooses"), ((why,),), claims)


def _selection_rule(record: Record) -> SelectionRule:
    options = record.arguments.get("options") or {}
    return SelectionRule(options.get("least_similarity", 4.0), options.get("least_edit_distance", 0.1))


def _select_candidates(record: Record) -> tuple[Selection, SelectionRule]:
    rule = _selection_rule(record)
    return select_candidate([_make_candidate(record, system.name) for system in record.systems], rule), rule


def _make_candidate(record: Record, system: str) -> Candidate:
    rows = {measure: record.find(CHOICE, system, measure) for measure in (SIMILARITY, DISTANCE, SECONDS)}
    reasons = [row.reason for row in rows.values() if row is not None and row.value is None]
    similarity, distance, seconds = (None if row is None else row.value for row in rows.values())
    return Candidate(system, similarity, distance, seconds, next(iter(reasons), ""))


def _candidate_point(record: Record, row: Row) -> tuple[float | None, float | None]:
    system = row.system.name
    return record.value(CHOICE, system, DISTANCE), record.value(CHOICE, system, SIMILARITY)


def _front_chart(record: Record, rows: Sequence[Row], rule: SelectionRule) -> Markup:
    places = [(row, *_candidate_point(record, row)) for row in rows]
    points = [Point(x or 0.0, y or 0.0, "llm", row.label) for row, x, y in places]
    lowest = min(rule.similarity, *(point.y for point in points))
    across = Axis(Scale(0.0, 1.0, 0.2), "edit distance: more words changed →", rule.edit_distance, "copies")
    up = Axis(
        scale_of([lowest, 5.0], within=(0.0, 5.0)), "similarity to the text, 0 to 5", rule.similarity,
        f"the rule: at least {rule.similarity:g}"
    )  # fmt: skip
    return draw_scatter(points, across, up)


def _candidate_words(record: Record, row: Row) -> str:
    x, y = _candidate_point(record, row)
    return f"{row.label}: similarity {RATING.text(y or 0.0)}, edit distance {RATING.text(x or 0.0)}"


def candidates_table(record: Record, board: Board) -> Table:
    """Every candidate by the criteria, and what the rule says of it."""
    chosen, _ = _select_candidates(record)
    measures = (
        (SIMILARITY, RATING),
        (DISTANCE, RATING),
        (SECONDS, RATING),
        ("copied", PERCENT),
        ("failed", PERCENT),
    )
    lines = []
    for row in board.rows:
        system = row.system.name
        is_chosen = system == chosen.selected
        told = "✓ chosen" if is_chosen else chosen.rejected.get(system, "another changes more words")
        cells = [
            entry_for(record.find(CHOICE, system, name), unit, bold=is_chosen) for name, unit in measures
        ]
        front = Entry("yes" if system in chosen.front else "no")
        lines.append(Line(row.label, (*cells, front, Entry(told)), "llm"))
    columns = (
        "Similarity, 0 to 5", "Edit distance", "Seconds per text", "Copies, %", "Not usable, %", "On the front",
        "By the rule"
    )  # fmt: skip
    return Table(
        "candidates",
        "Candidates by the three criteria, means over datasets",
        "Candidate",
        columns,
        tuple(lines),
    )


def _by_dataset(record: Record, rows: Sequence[Row]) -> Table:
    names = record.datasets(CHOICE)
    lines = tuple(
        Line(
            row.label,
            tuple(
                entry_for(record.find(CHOICE, row.system.name, SIMILARITY, dataset=name), RATING)
                for name in names
            ),
            "llm",
        )
        for row in rows
    )
    return Table("candidates-datasets", "Similarity by dataset", "Candidate", names, lines)


def _judges_table(record: Record, rows: Sequence[Row]) -> Table | None:
    """What each judge says of the candidates it rated, mean over datasets; None for one judge."""
    variants = dict.fromkeys(
        key[3]
        for key in record.rows
        if key[0] == CHOICE and key[5] == SIMILARITY and key[3].startswith("judge=")
    )
    if not variants:
        return None
    judges = {
        (row.label, variant): record.find(CHOICE, row.system.name, SIMILARITY, variant=variant)
        for row in rows
        for variant in variants
    }
    rated = [row for row in rows if any(judges[row.label, variant] is not None for variant in variants)]
    label = label_names([variant.partition("=")[2] for variant in variants])
    lines = tuple(
        Line(
            label[variant.partition("=")[2]],
            tuple(entry_for(judges[row.label, variant], RATING) for row in rated),
            "llm",
        )
        for variant in variants
    )
    return Table(
        "cross-judges", "Similarity as other judges see it", "Judge", tuple(row.label for row in rated), lines
    )


TASK = "validation"
GRADES = tuple(range(6))
THRESHOLD = 3.0
VERDICTS = {1.0: "✓ accepted", 0.0: "✕ rejected"}
OF_ALL = {1.0: "✓ in all", 0.0: "✕ not in all"}
COLUMNS = ("Mean rating", "Median", "At the threshold", "Alpha")


def validation_page(run: ReportRun, alone: bool) -> Iterator[Block]:
    """The page of a run; nothing when nobody has rated yet."""
    del alone
    record, langs = run.record, _list_languages(run.record)
    if not langs:
        return
    yield Facts.of(
        "validation", "PTEB, human validation",
        numbers.format_counted(len([lang for lang in langs if lang]), "language"),
        numbers.format_counted(len(record.manifest.get("raters", ())), "rater")
    )  # fmt: skip
    yield validation_verdict(record, run.board)
    yield Heading("Ratings by language")
    bar = f"{_rating_threshold(record):g}"
    yield Text(
        "Shares of ratings from 0 to 5, from left to right. Below, on a line from 0 to 5: the mean as a diamond, "
        f"the threshold of {bar} dashed. At the threshold: share of pairs with {bar} or more, in percent. "
        "Alpha: agreement of the raters (Krippendorff, ordinal; 1 is perfect)."
    )
    yield Legend(tuple((f"q{grade}", str(grade)) for grade in GRADES))
    yield ratings_table(record)
    rules = record.manifest.get("rules", ())
    if rules:
        yield Heading("Rules fixed before anyone rated")
        yield Bullets((rules,) if isinstance(rules, str) else tuple(map(str, rules)))
    yield from map(fold_table, file_tables(record.path, "pteb_table11"))
    yield from map(fold_table, file_tables(record.path, "raters"))
    yield from map(fold_table, file_tables(record.path, "corrected_judges"))
    yield from map(fold_table, file_tables(record.path, "judge_bias"))


def ratings_table(record: Record) -> Table:
    """A line per language, the last of all together."""
    columns = (Column("", style="bar"), *COLUMNS, "Ratings", "Verdict")
    lines = tuple(_rating_line(record, lang) for lang in _list_languages(record))
    return Table("ratings", "Ratings by language", "Language", columns, lines, is_titled=False)


def validation_verdict(record: Record, _: Board) -> Verdict:
    """In how many languages people accept the paraphrases; where they do not."""
    langs = [lang for lang in _list_languages(record) if lang]
    verdicts = {lang: _find_row(record, lang, "accepted") for lang in langs}
    accepted = [lang for lang, row in verdicts.items() if row is not None and row.value == 1]
    refused = [lang for lang, row in verdicts.items() if row is not None and row.value == 0]
    open_ = [lang for lang in langs if lang not in accepted and lang not in refused]
    accept = state_count("accepted", len(accepted), len(langs))
    heading = (
        f"People accept the paraphrases in {accept.n} of {numbers.format_counted(accept.of, 'language')}"
    )
    rating = _rating_claims(record)
    lede = [_rating_sentence(claim) for claim in rating]
    if refused:
        lede.append((f"Not accepted: {', '.join(refused)}.",))
    if open_:
        lede.append((f"No verdict: {', '.join(open_)}.",))
    return Verdict((heading,), tuple(lede), (accept, *rating))


def _rating_claims(record: Record) -> tuple[Claim, ...]:
    """The mean rating of all languages; none where nobody rated."""
    whole = _find_row(record, "", "mean_rating")
    if whole is None or whole.value is None:
        return ()
    claim = state_value("", "mean_rating", whole.value, whole.ci_low, whole.ci_high)
    return (replace(claim, margin=_rating_threshold(record)),)


def _rating_sentence(claim: Claim) -> Sentence:
    ends = ""
    if claim.low is not None and claim.high is not None:
        ends = f" (95% interval {RATING.interval(claim.low, claim.high)})"
    mean = RATING.text(claim.value or 0.0)
    return (f"The mean rating is {mean}{ends} of 5, the threshold {claim.margin:g}.",)


def _list_languages(record: Record) -> list[str]:
    """The languages in the order of the rows, all together (empty) last."""
    langs = dict.fromkeys(key[2] for key in record.rows if key[0] == TASK)
    return [*(lang for lang in langs if lang), *([""] if "" in langs else [])]


def _find_row(record: Record, lang: str, measure: str, variant: str = "") -> Result | None:
    return next(
        (
            record.rows[TASK, "", lang, variant, system.name, measure]
            for system in record.systems
            if (TASK, "", lang, variant, system.name, measure) in record.rows
        ),
        None,
    )


def _rating_threshold(record: Record) -> float:
    rules = record.arguments.get("rules") or {}
    return float(rules.get("threshold", THRESHOLD))


def _rating_line(record: Record, lang: str) -> Line:
    units = (
        ("mean_rating", RATING),
        ("median_rating", RATING),
        ("share_at_threshold", Unit(100.0, 0, 0)),
        ("alpha", SCORE),
    )
    results = [_find_row(record, lang, measure) for measure, _ in units]
    accepted = _find_row(record, lang, "accepted")
    shares = [_find_row(record, lang, "ratings", f"rating={grade}") for grade in GRADES]
    mean = results[0].value if results[0] is not None else None
    n = max((row.n for row in shares if row is not None), default=0)
    drawn = _draw_shares([0.0 if row is None or row.value is None else row.value for row in shares])
    return Line(
        lang or "All",
        (
            Entry((drawn, _draw_mean(mean, _rating_threshold(record)))),
            *(entry_for(row, unit) for row, (_, unit) in zip(results, units, strict=True)),
            Entry(numbers.format_count(n), exact=str(n)),
            Entry(_verdict_sentence(accepted, lang)),
        ),
    )


def _verdict_sentence(row: Result | None, lang: str) -> Sentence:
    words, style = "no verdict", "state"
    if row is not None and row.value is not None:
        words = (VERDICTS if lang else OF_ALL)[row.value]
        style = "state good" if words[0] == "✓" else "state failed"
    return (
        Words(words, style),
        *((" ", Words(row.reason, "small")) if row is not None and row.reason else ()),
    )


def _draw_shares(shares: list[float]) -> Markup:
    """The shares of the ratings 0 to 5 side by side."""
    parts, start = [], 0.0
    for grade, share in enumerate(shares):
        if share:
            title = f"<title>{grade}: {numbers.format_percent(share)}</title>"
            place = f'x="{percent(100 * start)}" width="{percent(100 * share)}"'
            parts.append(f'<rect class="q{grade}" {place} height="12">{title}</rect>')
        start += share
    return Markup(f'<svg class="stack" aria-hidden="true">{"".join(parts)}</svg>')


def _draw_mean(mean: float | None, threshold: float) -> Markup:
    """The mean as a diamond on a line from 0 to 5, the bar across it."""
    bar = percent(100 * threshold / 5)
    parts = [
        '<line class="g" x1="0" x2="100%" y1="8" y2="8"/>',
        f'<line class="d" x1="{bar}" x2="{bar}" y2="16"/>',
    ]
    if mean is not None:
        parts.append(
            f'<svg x="{percent(100 * mean / 5)}" y="8" overflow="visible">'
            '<path class="n" d="M0-6 5 0 0 6-5 0Z"/></svg>'
        )
    return Markup(f'<svg class="scale5" aria-hidden="true">{"".join(parts)}</svg>')
