"""The pages of a judge run, a selection and a human check: who follows gold best, who paraphrases, what people say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from markupsafe import Markup

from embassay.document.blocks import (
    Block,
    BulletList,
    Column,
    DrawingLegend,
    Figure,
    Heading,
    LabelledTableRow,
    PageFactsLine,
    ParagraphBlock,
    Part,
    Sentence,
    StyledWords,
    Table,
    TableCell,
    VerdictText,
    build_collapsible_table,
    file_tables,
    join_names_with_and,
    make_result_cell,
)
from embassay.document.marks import LinearScale, fit_axis_scale, format_percent_position
from embassay.document.plots import NamedPlotLine, PlotAxis, PlotPoint, draw_line_chart, draw_scatter_plot
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.claims import Claim, make_count_claim, make_leader_claims, make_value_claim
from embassay.protocols.kernel.tables import POINTS, SCORE, MeasureFormat
from embassay.protocols.pteb.candidates import (
    CandidateParaphraserMeans,
    CandidateSelectionRule,
    ParaphraserSelectionResult,
    select_paraphraser,
)
from embassay.records import ResultRow
from embassay.report.board import BoardRow, SystemBoard, name_row_system_in_sentence
from embassay.report.record import RunRecord, shorten_names_to_labels
from embassay.report.runs import ReportRun

JUDGING, FIT, ERROR = "judge", "spearman", "mae"
MEAN_OF_JUDGES = "mean of judges"
RATING = MeasureFormat(1.0, 2, 2)
MOST_NAMES = 3


def judge_page(run: ReportRun, alone: bool) -> Iterator[Block]:
    """Make the page of a run that rated judges."""
    del alone
    record, judges = run.record, sort_systems_by_score(run.record, run.board)
    yield PageFactsLine.of(
        "judge", "PTEB, step 1", numbers.format_noun_count(len(judges), "judge"),
        numbers.format_noun_count(len(record.datasets(JUDGING)), "dataset")
    )  # fmt: skip
    yield judge_verdict(record, run.board)
    yield Heading("Agreement with gold scores")
    bold = (
        f" Bold: the best and all that cannot be told apart from it ({record.correction.capitalize()}, "
        f"α = {record.alpha})."
    )
    yield ParagraphBlock(
        (
            "Spearman correlation of a judge’s ratings with the gold scores, × 100, with its 95% interval (bootstrap "
            "over pairs); higher is better. Error: mean distance between rating and gold score, both from 0 to 5; "
            "lower is better."
        )
        + (bold if record.find_task_comparisons(JUDGING).pairs else "")
    )
    yield judge_scores_table(record, run.board)
    yield from _show_rating_errors(record, judges)
    if bins := _list_judging_bins_of_measure(record, FIT):
        yield Heading("Does length matter?")
        yield ParagraphBlock(
            "Pairs are grouped by their mean number of words. With too few pairs for a correlation, only n is shown."
        )
        yield _correlation_by_length_table(record, judges, bins)
    yield from map(build_collapsible_table, file_tables(record.path, "pteb_table3"))


def _show_rating_errors(record: RunRecord, judges: Sequence[BoardRow]) -> Iterator[Block]:
    if not (gold := _list_judging_bins_of_measure(record, ERROR)):
        return
    yield Heading("Where ratings err")
    yield ParagraphBlock(
        "Mean distance between rating and gold score, by gold score, with all datasets pooled; band: 95% interval. "
        "The chart shows at most the first four judges; the table shows all."
    )
    series = _rating_error_series(record, judges, gold)
    if any(line.points for line in series):
        yield Figure(
            "Error by gold score",
            _draw_error_by_gold_score_chart(series, gold),
            _summarise_rating_error_by_gold_score(series),
        )
    yield _make_judge_error_by_gold_bin_table(record, judges, gold)


def judge_verdict(record: RunRecord, board: SystemBoard) -> VerdictText:
    """The verdict on the judges."""
    judges = [
        row for row in sort_systems_by_score(record, board) if _find_gold_correlation_row(record, row).value is not None
    ]
    if not judges:
        return VerdictText(("No judge has a score on every dataset",), ())
    lede: list[Sentence] = [_say_judge_correlations(record, judges)]
    scope = record.find_task_comparisons(JUDGING)
    scores = tuple(_make_gold_correlation_claim(record, row) for row in judges)
    lede += _say_judges_at_chance(scores, board)
    first = make_leader_claims(JUDGING, scope.first, scope.systems)
    return VerdictText(_say_best_judge(scores, first, board), tuple(lede), (*scores, *first))


def _make_gold_correlation_claim(record: RunRecord, row: BoardRow) -> Claim:
    result = _find_gold_correlation_row(record, row)
    return make_value_claim(row.system.name, FIT, result.value, result.ci_low, result.ci_high)


def _is_judge_maybe_at_chance(score: Claim) -> bool:
    """Whether the interval of a judge's correlation with gold reaches 0, or there is none that leaves 0 out."""
    return (score.value or 0.0) <= 0 or score.low is None or score.low <= 0


def _say_judges_at_chance(scores: Sequence[Claim], board: SystemBoard) -> Iterator[Sentence]:
    """Say which judges may be at chance, as they do not surely follow gold at all."""
    doubtful: list[Part] = [
        board.name_system_in_sentence(score.subject) for score in scores if _is_judge_maybe_at_chance(score)
    ]
    if doubtful:
        whose = "its correlation" if len(doubtful) == 1 else "their correlations"
        yield (*join_names_with_and(doubtful), f" may rate at chance: {whose} may be 0.")


def _say_best_judge(scores: Sequence[Claim], first: Sequence[Claim], board: SystemBoard) -> Sentence:
    """Say who follows gold scores best, or may be the one that does."""
    if len(scores) == 1:
        score = POINTS.format_value_in_text(scores[0].value or 0.0)
        says = "may rate at chance:" if _is_judge_maybe_at_chance(scores[0]) else "correlates with gold scores at"
        return (board.name_system_in_sentence(scores[0].subject), f" {says} {score} of 100")
    if not first:
        return (f"{len(scores)} judges are scored against gold; no test compares them",)
    if len(first) == 1:
        return (board.name_system_in_sentence(first[0].subject), " agrees best with gold scores")
    return (f"{numbers.format_small_count_in_words(len(first)).capitalize()} judges may agree best with gold scores",)


def sort_systems_by_score(record: RunRecord, board: SystemBoard) -> list[BoardRow]:
    """The systems of the board, best first, then those without a score."""
    order = {name: place for place, name in enumerate(record.find_task_comparisons(JUDGING).systems)}
    return sorted(board.rows, key=lambda row: order.get(row.system.name, len(order)))


def _find_gold_correlation_row(record: RunRecord, row: BoardRow) -> ResultRow:
    result = record.find(JUDGING, row.system.name, FIT)
    return result or ResultRow("pteb", JUDGING, "", "", "", "", row.system.name, FIT, None, 0, reason="not run yet")


def _say_judge_correlations(record: RunRecord, judges: Sequence[BoardRow]) -> Sentence:
    parts: list[Part] = []
    for i, row in enumerate(judges[:MOST_NAMES]):
        result = _find_gold_correlation_row(record, row)
        ends = ""
        if result.ci_low is not None and result.ci_high is not None:
            interval = POINTS.format_interval_in_text(result.ci_low, result.ci_high)
            ends = f" ({'95% interval ' if i == 0 else ''}{interval})"
        parts += [
            "; " if i else "",
            name_row_system_in_sentence(row),
            f" {POINTS.format_value_in_text(result.value or 0.0)}{ends}",
        ]
    return ("Spearman correlation with gold (× 100), averaged over datasets: ", *parts, ".")


def _list_judging_bins_of_measure(record: RunRecord, measure: str) -> list[str]:
    """The variants of a measure, in the order of the rows."""
    bins = (key[3] for key in record.rows if key[0] == JUDGING and key[5] == measure and key[3])
    return list(dict.fromkeys(bins))


def judge_scores_table(record: RunRecord, board: SystemBoard) -> Table:
    """Make the table of every judge's scores on every dataset, best first."""
    best = record.find_task_comparisons(JUDGING).best
    names = record.datasets(JUDGING)
    lines_of = tuple(
        LabelledTableRow(
            row.label,
            (
                make_result_cell(record.find(JUDGING, row.system.name, FIT), POINTS, bold=row.system.name in best),
                *(make_result_cell(record.find(JUDGING, row.system.name, FIT, dataset=name), POINTS) for name in names),
                make_result_cell(record.find(JUDGING, row.system.name, ERROR), RATING),
                make_result_cell(record.find(JUDGING, row.system.name, "failed"), MeasureFormat(100.0, 1, 1)),
            ),
            "llm",
        )
        for row in sort_systems_by_score(record, board)
    )
    columns = ("Mean", *names, "Error, 0 to 5", "Failed ratings, %")
    return Table("judge-scores", "Spearman correlation with gold, × 100", "Judge", columns, lines_of)


def _rating_error_series(record: RunRecord, judges: Sequence[BoardRow], gold: Sequence[str]) -> list[NamedPlotLine]:
    made = []
    for row in judges:
        series = [
            (_parse_gold_bin_middle(label) / 5, record.find(JUDGING, row.system.name, ERROR, variant=label))
            for label in gold
        ]
        made.append(
            NamedPlotLine(
                row.label,
                tuple((at, row) for at, row in series if row is not None and row.value is not None),
                row.system.kind,
            )
        )
    return made


def _parse_gold_bin_middle(variant: str) -> float:
    """Find the middle of a bin: `gold=[1,2)` lies at 1.5."""
    low, high = variant.partition("=")[2].strip("[)]").split(",")
    return (float(low) + float(high)) / 2


def _draw_error_by_gold_score_chart(series: Sequence[NamedPlotLine], gold: Sequence[str]) -> Markup:
    values = [end for line in series for _, row in line.points for end in (row.value, row.ci_low, row.ci_high)]
    y = fit_axis_scale([0.0, *(end for end in values if end is not None)], within=(0.0, 5.0))
    ticks = [(_parse_gold_bin_middle(label) / 5, label.partition("=")[2]) for label in gold]
    return draw_line_chart(series, ticks, y, "gold score, 0 to 5")


def _summarise_rating_error_by_gold_score(series: Sequence[NamedPlotLine]) -> str:
    ends = join_names_with_and(
        [f"{line.name} {RATING.text(line.points[-1][1].value or 0.0)}" for line in series if line.points]
    )
    return f"Mean absolute error of the ratings by gold score. At the highest gold scores: {''.join(map(str, ends))}."


def _make_judge_error_by_gold_bin_table(record: RunRecord, judges: Sequence[BoardRow], gold: Sequence[str]) -> Table:
    rows = [(row, [record.find(JUDGING, row.system.name, ERROR, variant=bin) for bin in gold]) for row in judges]
    most = max((result.value or 0.0 for _, of in rows for result in of if result is not None), default=1.0) or 1.0
    lines_of = tuple(
        LabelledTableRow(row.label, tuple(make_result_cell(result, RATING, n=True, heat=most) for result in of), "llm")
        for row, of in rows
    )
    columns = tuple(bin.partition("=")[2] for bin in gold)
    return Table(
        "judge-errors", "Mean absolute error by gold score", "Judge", columns, lines_of, style="heat grid lines"
    )


def _correlation_by_length_table(record: RunRecord, judges: Sequence[BoardRow], bins: Sequence[str]) -> Table:
    whole = MEAN_OF_JUDGES if len(judges) > 1 else judges[0].system.name
    places = [*((dataset, dataset) for dataset in record.datasets(JUDGING)), ("All datasets", "")]
    lines_of = tuple(
        LabelledTableRow(
            label,
            tuple(
                make_result_cell(
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
PERCENT = MeasureFormat(100.0, 1, 1)


def make_paraphraser_selection_page(run: ReportRun, alone: bool) -> Iterator[Block]:
    """Make the page of a run that selects a paraphraser."""
    del alone
    record, board = run.record, run.board
    _, rule = _choose_paraphraser_by_rule(record)
    placed = [row for row in board.rows if None not in _read_candidate_distance_similarity(record, row)]
    yield PageFactsLine.of(
        "paraphrasers", "PTEB, step 2", numbers.format_noun_count(len(board.rows), "candidate"),
        numbers.format_noun_count(len(record.datasets(CHOICE)), "dataset")
    )  # fmt: skip
    yield selection_verdict(record, board)
    yield Heading("Meaning kept and words changed")
    yield ParagraphBlock(str(rule))
    if placed:
        reasons = "; ".join(_describe_candidate_plot_point(record, row) for row in placed)
        chart = _draw_paraphraser_candidates_chart(record, placed, rule)
        yield Figure("Similarity against edit distance", chart, reasons, "means over datasets")
    yield ParagraphBlock(
        "Similarity between text and paraphrase: the judge’s rating, 0 to 5. Edit distance: words "
        "changed, divided by the length of the longer text; 0 for a copy. The 95% interval is below each value. On "
        "the front: no other candidate is better on all three criteria."
    )
    yield paraphraser_candidates_table(record, board)
    if judges := _candidates_by_judge_table(record, board.rows):
        yield judges
    if len(record.datasets(CHOICE)) > 1:
        yield _similarity_by_dataset_table(record, board.rows)
    yield from map(build_collapsible_table, file_tables(record.path, "pteb_table[45]"))


def selection_verdict(record: RunRecord, board: SystemBoard) -> VerdictText:
    """The verdict of a selection: who is chosen, and why; or that nobody is, and why."""
    chosen, _ = _choose_paraphraser_by_rule(record)
    if not chosen.selected:
        why = "; ".join(f"{board.row(name).label}: {reason}" for name, reason in chosen.rejected.items())
        return VerdictText(
            ("The rule chooses no paraphraser",), ((f"{numbers.capitalise_unless_name(chosen.because)}. {why}.",),)
        )
    row = board.row(chosen.selected)
    front = ", ".join(board.row(name).label for name in chosen.front)
    why = (
        f"The choice is {row.label}, {chosen.because}. "
        f"On the front (no other candidate is better on all three criteria): {front}."
    )
    claims = tuple(
        Claim(name, "keeps", "front", kind="chosen" if name == chosen.selected else "") for name in chosen.front
    )
    return VerdictText((name_row_system_in_sentence(row), " is the paraphraser chosen by the rule"), ((why,),), claims)


def _read_candidate_selection_rule(record: RunRecord) -> CandidateSelectionRule:
    options = record.arguments.get("options") or {}
    return CandidateSelectionRule(options.get("least_similarity", 4.0), options.get("least_edit_distance", 0.1))


def _choose_paraphraser_by_rule(record: RunRecord) -> tuple[ParaphraserSelectionResult, CandidateSelectionRule]:
    rule = _read_candidate_selection_rule(record)
    return select_paraphraser(
        [_make_candidate_paraphraser_means(record, system.name) for system in record.systems], rule
    ), rule


def _make_candidate_paraphraser_means(record: RunRecord, system: str) -> CandidateParaphraserMeans:
    rows = {measure: record.find(CHOICE, system, measure) for measure in (SIMILARITY, DISTANCE, SECONDS)}
    reasons = [row.reason for row in rows.values() if row is not None and row.value is None]
    similarity, distance, seconds = (None if row is None else row.value for row in rows.values())
    return CandidateParaphraserMeans(system, similarity, distance, seconds, next(iter(reasons), ""))


def _read_candidate_distance_similarity(record: RunRecord, row: BoardRow) -> tuple[float | None, float | None]:
    system = row.system.name
    return record.value(CHOICE, system, DISTANCE), record.value(CHOICE, system, SIMILARITY)


def _draw_paraphraser_candidates_chart(
    record: RunRecord, rows: Sequence[BoardRow], rule: CandidateSelectionRule
) -> Markup:
    places = [(row, *_read_candidate_distance_similarity(record, row)) for row in rows]
    points = [PlotPoint(x or 0.0, y or 0.0, "llm", row.label) for row, x, y in places]
    lowest = min(rule.similarity, *(point.y for point in points))
    across = PlotAxis(LinearScale(0.0, 1.0, 0.2), "edit distance: more words changed →", rule.edit_distance, "copies")
    up = PlotAxis(
        fit_axis_scale([lowest, 5.0], within=(0.0, 5.0)), "similarity to the text, 0 to 5", rule.similarity,
        f"rule: at least {rule.similarity:g}"
    )  # fmt: skip
    return draw_scatter_plot(points, across, up)


def _describe_candidate_plot_point(record: RunRecord, row: BoardRow) -> str:
    x, y = _read_candidate_distance_similarity(record, row)
    return f"{row.label}: similarity {RATING.text(y or 0.0)}, edit distance {RATING.text(x or 0.0)}"


def paraphraser_candidates_table(record: RunRecord, board: SystemBoard) -> Table:
    """Make the table of every candidate by the criteria, and what the rule says of it."""
    chosen, _ = _choose_paraphraser_by_rule(record)
    measures = ((SIMILARITY, RATING), (DISTANCE, RATING), (SECONDS, RATING), ("copied", PERCENT), ("failed", PERCENT))
    lines = []
    for row in board.rows:
        system = row.system.name
        is_chosen = system == chosen.selected
        told = "✓ chosen" if is_chosen else chosen.rejected.get(system, "another candidate changes more words")
        cells = [make_result_cell(record.find(CHOICE, system, name), unit, bold=is_chosen) for name, unit in measures]
        front = TableCell("yes" if system in chosen.front else "no")
        lines.append(LabelledTableRow(row.label, (*cells, front, TableCell(told)), "llm"))
    columns = (
        "Similarity, 0 to 5", "Edit distance", "Seconds per text", "Copies, %", "Not usable, %", "On the front",
        "By the rule"
    )  # fmt: skip
    return Table(
        "candidates", "Candidates by the three criteria, means over datasets", "Candidate", columns, tuple(lines)
    )


def _similarity_by_dataset_table(record: RunRecord, rows: Sequence[BoardRow]) -> Table:
    names = record.datasets(CHOICE)
    lines = tuple(
        LabelledTableRow(
            row.label,
            tuple(
                make_result_cell(record.find(CHOICE, row.system.name, SIMILARITY, dataset=name), RATING)
                for name in names
            ),
            "llm",
        )
        for row in rows
    )
    return Table("candidates-datasets", "Similarity by dataset", "Candidate", names, lines)


def _candidates_by_judge_table(record: RunRecord, rows: Sequence[BoardRow]) -> Table | None:
    """What each judge says of the candidates it rated, mean over datasets; None for one judge."""
    variants = dict.fromkeys(
        key[3] for key in record.rows if key[0] == CHOICE and key[5] == SIMILARITY and key[3].startswith("judge=")
    )
    if not variants:
        return None
    judges = {
        (row.label, variant): record.find(CHOICE, row.system.name, SIMILARITY, variant=variant)
        for row in rows
        for variant in variants
    }
    rated = [row for row in rows if any(judges[row.label, variant] is not None for variant in variants)]
    label = shorten_names_to_labels([variant.partition("=")[2] for variant in variants])
    lines = tuple(
        LabelledTableRow(
            label[variant.partition("=")[2]],
            tuple(make_result_cell(judges[row.label, variant], RATING) for row in rated),
            "llm",
        )
        for variant in variants
    )
    return Table(
        "cross-judges", "Similarity according to other judges", "Judge", tuple(row.label for row in rated), lines
    )


TASK = "validation"
GRADES = tuple(range(6))
THRESHOLD = 3.0
VERDICTS = {1.0: "✓ accepted", 0.0: "✕ rejected"}
OF_ALL = {1.0: "✓ in all", 0.0: "✕ not in all"}
COLUMNS = ("Mean rating", "Median", "At the threshold", "Alpha")


def make_human_validation_page(run: ReportRun, alone: bool) -> Iterator[Block]:
    """Make the page of a human validation; nothing when nobody has rated yet."""
    del alone
    record, langs = run.record, _list_languages(run.record)
    if not langs:
        return
    yield PageFactsLine.of(
        "validation", "PTEB, human validation",
        numbers.format_noun_count(len([lang for lang in langs if lang]), "language"),
        numbers.format_noun_count(len(record.manifest.get("raters", ())), "rater")
    )  # fmt: skip
    yield make_paraphrase_validation_verdict(record, run.board)
    yield Heading("Ratings by language")
    bar = f"{_read_selection_rating_threshold(record):g}"
    yield ParagraphBlock(
        "Shares of ratings from 0 to 5, from left to right. Below, on a line from 0 to 5: the mean as a diamond "
        f"and the threshold of {bar} as a dashed line. At the threshold: percent of pairs with {bar} or more. "
        "Alpha: agreement of the raters (Krippendorff, ordinal; 1 is perfect)."
    )
    yield DrawingLegend(tuple((f"q{grade}", str(grade)) for grade in GRADES))
    yield ratings_by_language_table(record)
    rules = record.manifest.get("rules", ())
    if rules:
        yield Heading("Rules fixed before anyone rated")
        yield BulletList((rules,) if isinstance(rules, str) else tuple(map(str, rules)))
    yield from map(build_collapsible_table, file_tables(record.path, "pteb_table11"))
    yield from map(build_collapsible_table, file_tables(record.path, "raters"))
    yield from map(build_collapsible_table, file_tables(record.path, "corrected_judges"))
    yield from map(build_collapsible_table, file_tables(record.path, "judge_bias"))


def ratings_by_language_table(record: RunRecord) -> Table:
    """Make the table of ratings: a line per language, the last of all together."""
    columns = (Column("", style="bar"), *COLUMNS, "Ratings", "Verdict")
    lines = tuple(_rating_line(record, lang) for lang in _list_languages(record))
    return Table("ratings", "Ratings by language", "Language", columns, lines, is_titled=False)


def make_paraphrase_validation_verdict(record: RunRecord, _: SystemBoard) -> VerdictText:
    """In how many languages people accept the paraphrases; where they do not."""
    langs = [lang for lang in _list_languages(record) if lang]
    verdicts = {lang: _find_language_result(record, lang, "accepted") for lang in langs}
    accepted = [lang for lang, row in verdicts.items() if row is not None and row.value == 1]
    refused = [lang for lang, row in verdicts.items() if row is not None and row.value == 0]
    open_ = [lang for lang in langs if lang not in accepted and lang not in refused]
    accept = make_count_claim("accepted", len(accepted), len(langs))
    heading = f"People accept the paraphrases in {accept.n} of {numbers.format_noun_count(accept.of, 'language')}"
    rating = _claim_mean_rating(record)
    lede = [_say_mean_rating(claim) for claim in rating]
    if refused:
        lede.append((f"Not accepted: {', '.join(refused)}.",))
    if open_:
        lede.append((f"No verdict: {', '.join(open_)}.",))
    return VerdictText((heading,), tuple(lede), (accept, *rating))


def _claim_mean_rating(record: RunRecord) -> tuple[Claim, ...]:
    """The mean rating of all languages; none where nobody rated."""
    whole = _find_language_result(record, "", "mean_rating")
    if whole is None or whole.value is None:
        return ()
    claim = make_value_claim("", "mean_rating", whole.value, whole.ci_low, whole.ci_high)
    return (replace(claim, margin=_read_selection_rating_threshold(record)),)


def _say_mean_rating(claim: Claim) -> Sentence:
    ends = ""
    if claim.low is not None and claim.high is not None:
        ends = f" (95% interval {RATING.interval(claim.low, claim.high)})"
    mean = RATING.text(claim.value or 0.0)
    return (f"The mean rating is {mean}{ends} of 5; the threshold is {claim.margin:g}.",)


def _list_languages(record: RunRecord) -> list[str]:
    """The languages in the order of the rows, all together (empty) last."""
    langs = dict.fromkeys(key[2] for key in record.rows if key[0] == TASK)
    return [*(lang for lang in langs if lang), *([""] if "" in langs else [])]


def _find_language_result(record: RunRecord, lang: str, measure: str, variant: str = "") -> ResultRow | None:
    return next(
        (
            record.rows[TASK, "", lang, variant, system.name, measure]
            for system in record.systems
            if (TASK, "", lang, variant, system.name, measure) in record.rows
        ),
        None,
    )


def _read_selection_rating_threshold(record: RunRecord) -> float:
    rules = record.arguments.get("rules") or {}
    return float(rules.get("threshold", THRESHOLD))


def _rating_line(record: RunRecord, lang: str) -> LabelledTableRow:
    units = (
        ("mean_rating", RATING),
        ("median_rating", RATING),
        ("share_at_threshold", MeasureFormat(100.0, 0, 0)),
        ("alpha", SCORE),
    )
    results = [_find_language_result(record, lang, measure) for measure, _ in units]
    accepted = _find_language_result(record, lang, "accepted")
    shares = [_find_language_result(record, lang, "ratings", f"rating={grade}") for grade in GRADES]
    mean = results[0].value if results[0] is not None else None
    n = max((row.n for row in shares if row is not None), default=0)
    drawn = _draw_rating_shares([0.0 if row is None or row.value is None else row.value for row in shares])
    return LabelledTableRow(
        lang or "All",
        (
            TableCell((drawn, _draw_mean_rating(mean, _read_selection_rating_threshold(record)))),
            *(make_result_cell(row, unit) for row, (_, unit) in zip(results, units, strict=True)),
            TableCell(numbers.format_count(n), exact=str(n)),
            TableCell(_say_language_verdict(accepted, lang)),
        ),
    )


def _say_language_verdict(row: ResultRow | None, lang: str) -> Sentence:
    words, style = "no verdict", "state"
    if row is not None and row.value is not None:
        words = (VERDICTS if lang else OF_ALL)[row.value]
        style = "state good" if words[0] == "✓" else "state failed"
    return (
        StyledWords(words, style),
        *((" ", StyledWords(row.reason, "small")) if row is not None and row.reason else ()),
    )


def _draw_rating_shares(shares: list[float]) -> Markup:
    """The shares of the ratings 0 to 5 side by side."""
    parts, start = [], 0.0
    for grade, share in enumerate(shares):
        if share:
            title = f"<title>{grade}: {numbers.format_percent(share)}</title>"
            place = f'x="{format_percent_position(100 * start)}" width="{format_percent_position(100 * share)}"'
            parts.append(f'<rect class="q{grade}" {place} height="12">{title}</rect>')
        start += share
    return Markup(f'<svg class="stack" aria-hidden="true">{"".join(parts)}</svg>')


def _draw_mean_rating(mean: float | None, threshold: float) -> Markup:
    """Draw the mean rating as a diamond on a line from 0 to 5, the threshold across it."""
    bar = format_percent_position(100 * threshold / 5)
    parts = ['<line class="g" x1="0" x2="100%" y1="8" y2="8"/>', f'<line class="d" x1="{bar}" x2="{bar}" y2="16"/>']
    if mean is not None:
        parts.append(
            f'<svg x="{format_percent_position(100 * mean / 5)}" y="8" overflow="visible">'
            '<path class="n" d="M0-6 5 0 0 6-5 0Z"/></svg>'
        )
    return Markup(f'<svg class="scale5" aria-hidden="true">{"".join(parts)}</svg>')
