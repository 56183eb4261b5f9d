"""What a calibration says: its verdict, its page, and its view on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from embassay.document import plots
from embassay.document.blocks import (
    Block,
    CautionNotes,
    Column,
    CommandInSentence,
    Figure,
    Heading,
    LabelledTableRow,
    PageFactsLine,
    ParagraphBlock,
    Said,
    Sentence,
    SystemNameInSentence,
    Table,
    TableCell,
    VerdictText,
    make_number_columns,
)
from embassay.document.marks import SHARES
from embassay.protocols.calibration.check import CalibrationPromiseCheck, CalibrationShiftCheck
from embassay.protocols.calibration.options import parse_mistake_costs
from embassay.protocols.calibration.probability import ThresholdTranslation
from embassay.protocols.calibration.protocol import CHANCE, GIVEN, HALF
from embassay.protocols.calibration.shift import FEATURES
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.claims import Claim, make_value_claim
from embassay.protocols.kernel.tables import SCORE
from embassay.records import ResultRow
from embassay.report.board import BoardRow, SystemBoard
from embassay.report.calibration.silence import make_value_interval_cell, show_silence_thresholds
from embassay.report.cards.findings import SystemFinding, make_finding
from embassay.report.notes import list_run_notes, make_more_labels_outlook_table, show_gravest_notes
from embassay.report.record import RunRecord
from embassay.report.runs import ReportRun
from embassay.stats.few_labels import MoreLabelsOutlook

PRECISION, RECALL, COST = "precision", "recall", "cost"
MOST_DRAWN, MOST_TRADEOFFS = 4, 3


@dataclass(frozen=True)
class CalibrationTaskWording:
    """How a task says things: `are` of accepted ones, `units`, what `accepting` one is, whose uncertainty it is, and
    what `mistakes` cost."""

    measure: str
    are: str
    units: str
    accept: str
    whether: str
    table: str
    mistakes: str


WORDINGS = {
    "pairs": CalibrationTaskWording(
        "similarity", "mean the same", "pairs", "Accept pairs at or above this similarity.", "two texts mean the same",
        "Share of pairs with the same meaning, minus the mean probability. Below 0, the system is overconfident; 0 is "
        "perfect.",
        "Accepting a pair that does not mean the same costs {wrong}; missing a pair that does costs {missed}.",
    ),
    "answers": CalibrationTaskWording(
        "score", "have evidence among the first passages", "questions",
        "Answer if the best passage scores at least this; otherwise say that nothing was found.",
        "there is evidence among the first passages", "",
        "An answer without evidence costs {wrong}; no answer despite evidence costs {missed}.",
    )
}  # fmt: skip


def name_calibrated_task(record: RunRecord) -> str:
    """Whether pairs were calibrated, or what runs retrieved."""
    return "answers" if record.datasets("answers") else "pairs"


def _pick_calibration_wording(record: RunRecord) -> CalibrationTaskWording:
    return WORDINGS[name_calibrated_task(record)]


SMALL = 0.05
"""A gap between what was foretold and what came true that nobody needs to know of."""


def calibration_verdict(record: RunRecord, board: SystemBoard) -> VerdictText:
    """From which similarity on to accept, and with what certainty; or what it would take."""
    rows = [row for row in board.ranked if row.lead.value is not None]
    if not rows:
        return VerdictText(("Nothing could be calibrated",), ((_explain_missing_calibration(record),),))
    datasets = record.datasets(name_calibrated_task(record))
    best = _find_best_calibrated_system(record, rows, datasets)
    bars = [
        row for dataset in datasets if (row := _find_threshold_result(record, best, dataset, PRECISION)) is not None
    ]
    held = [row for row in bars if row.value is not None]
    promise = _state_precision_promise(record, best, rows, held, datasets)
    reached, skill = _state_threshold_recall(record, best, held), _make_calibration_skill_claim(best)
    worst = _make_worst_calibrated_kind_claim(record, best, datasets)
    lede = (
        *_explain_threshold_precision(record, best, held or bars, reached),
        _say_calibration_skill(record, best, skill),
        *_say_worst_calibrated_kind(worst),
    )
    return VerdictText(_say_precision_promise(record, best, promise), lede, (promise, *reached, skill, *worst))


def _state_precision_promise(
    record: RunRecord, best: BoardRow, rows: Sequence[BoardRow], held: Sequence[ResultRow], datasets: Sequence[str]
) -> Claim:
    """From which similarity on the leader keeps the requested precision, and on how many datasets; or that no
    system does."""
    aim = float(record.arguments["options"]["precision"])
    if not held:
        return Claim(best.system.name, "misses", PRECISION, margin=aim, of=len(rows), kind="promise")
    value = held[0].value if len(datasets) == 1 else None
    return Claim(
        best.system.name, "keeps", PRECISION, value=value, margin=aim, n=len(held), of=len(datasets), kind="promise"
    )


def _say_precision_promise(record: RunRecord, best: BoardRow, claim: Claim) -> Sentence:
    aim, name = numbers.format_percent(claim.margin), SystemNameInSentence(best.label, best.system.index)
    if claim.relation == "misses":
        of_one = ("No threshold of ", name, f" guarantees {aim} precision")
        of_all = (f"None of the {claim.of} systems has a threshold that guarantees {aim} precision",)
        return of_one if claim.of == 1 else of_all
    if claim.value is not None:
        words = _pick_calibration_wording(record)
        above = f": at {SCORE.text(claim.value)} or above, at least {aim} of {words.units} {words.are}"
        return (name, above)
    return (name, f" guarantees {aim} precision on {claim.n} of {claim.of} datasets")


def _state_threshold_recall(record: RunRecord, best: BoardRow, held: Sequence[ResultRow]) -> tuple[Claim, ...]:
    """State what share the first promised threshold finds; nothing without one."""
    for result in held[:1]:
        where = {"dataset": result.dataset, "variant": PRECISION}
        recall = record.find(name_calibrated_task(record), best.system.name, "sample_recall", **where)
        if recall is not None and recall.value is not None:
            return (make_value_claim(best.system.name, "sample_recall", recall.value, kind=result.dataset),)
    return ()


def _make_calibration_skill_claim(best: BoardRow) -> Claim:
    row = best.lead.row
    low, high = (None, None) if row is None else (row.ci_low, row.ci_high)
    return make_value_claim(best.system.name, "skill", best.lead.value, low, high)


def _find_best_calibrated_system(record: RunRecord, rows: Sequence[BoardRow], datasets: Sequence[str]) -> BoardRow:
    """The system that the verdict is about: of those with a threshold on most datasets the one of most skill."""
    return max(rows, key=lambda row: (len(_list_promised_thresholds(record, row, datasets)), -rows.index(row)))


def _list_promised_thresholds(record: RunRecord, row: BoardRow, datasets: Sequence[str]) -> list[ResultRow]:
    """The promised thresholds of a system, one per dataset that has one."""
    thresholds = (_find_threshold_result(record, row, dataset, PRECISION) for dataset in datasets)
    return [threshold for threshold in thresholds if threshold is not None and threshold.value is not None]


def make_threshold_strength_findings(run: ReportRun, system: str) -> Iterator[SystemFinding]:
    """Find that a system has a threshold that keeps the precision asked for."""
    record, row = run.record, run.board.row(system)
    datasets = record.datasets(name_calibrated_task(record))
    aim = numbers.format_percent(record.arguments["options"]["precision"])
    if held := _list_promised_thresholds(record, row, datasets):
        said = f"guarantees {aim} precision at {SCORE.text(held[0].value or 0.0)} or above ({held[0].dataset})"
        more = f"; it has a threshold on {len(held)} of {len(datasets)} datasets" if len(datasets) > 1 else ""
        yield make_finding(run, f"{said}{more}", weight=2)


def find_threshold_weaknesses(run: ReportRun, system: str) -> Iterator[SystemFinding]:
    """Find that no threshold of a system is sure to keep the precision asked for."""
    record, row = run.record, run.board.row(system)
    datasets = record.datasets(name_calibrated_task(record))
    if datasets and row.lead.value is not None and not _list_promised_thresholds(record, row, datasets):
        aim = numbers.format_percent(record.arguments["options"]["precision"])
        yield make_finding(run, f"has no threshold that guarantees {aim} precision", weight=2)


def _explain_threshold_precision(
    record: RunRecord, best: BoardRow, bars: Sequence[ResultRow], reached: Sequence[Claim]
) -> Iterator[Sentence]:
    """How sure the threshold is and what it finds, or why there is none."""
    confidence = numbers.format_percent(record.arguments["options"]["confidence"])
    for result in bars[:1]:
        if result.value is None:
            yield (f"{result.reason[:1].upper()}{result.reason[1:]}.",)
            continue
        finds = "".join(
            f"; recall on these labels is {numbers.format_percent(claim.value or 0.0)}" for claim in reached
        )
        where = f" on {result.dataset}" if len(record.datasets(name_calibrated_task(record))) > 1 else ""
        yield (
            f"This holds with {confidence} confidence for {_pick_calibration_wording(record).units} like "
            f"these{where}{finds}.",
        )
        if said := _explain_threshold_confidence(record, best.system.name, result):
            yield (said,)


def _say_calibration_skill(record: RunRecord, best: BoardRow, claim: Claim) -> Sentence:
    """How much of the uncertainty the similarity takes away; below 0 it adds to it."""
    words = _pick_calibration_wording(record)
    interval = f" ({best.lead.interval})" if best.lead.interval else ""
    of = f" of the uncertainty about whether {words.whether}."
    if (claim.value or 0.0) < 0:
        return (f"Its {words.measure} removes none", of[:-1], f" (skill {best.lead.text}{interval}).")
    return (f"Its {words.measure} removes {best.lead.text}", interval, of)


def _explain_threshold_confidence(record: RunRecord, system: str, threshold: ResultRow) -> str:
    """What the confidence is over, and what this sample has above the threshold."""
    where = {"dataset": threshold.dataset, "variant": PRECISION}
    given = record.find(name_calibrated_task(record), system, GIVEN, **where)
    seen = record.find(name_calibrated_task(record), system, "sample_precision", **where)
    if given is None or given.value is None or seen is None or seen.value is None:
        return ""
    broken = 1 - record.arguments["options"]["confidence"]
    interval = (
        "" if seen.ci_low is None or seen.ci_high is None else f" ({_format_percent_range(seen.ci_low, seen.ci_high)})"
    )
    gives = f"{numbers.format_percent(given.value)} of samples like this one yield a threshold"
    breaks = f"at most {numbers.format_percent(broken)} of all samples yield a threshold that breaks its guarantee"
    share = (
        f"{numbers.format_percent(seen.value)}{interval} of the {seen.n:,} accepted "
        f"{_pick_calibration_wording(record).units} {_pick_calibration_wording(record).are}"
    )
    return f"The confidence refers to repeated samples of labels: {gives}, and {breaks}. Here, {share}."


def _format_percent_range(low: float, high: float) -> str:
    return f"{numbers.format_percent(low)}–{numbers.format_percent(high)}"


def _make_worst_calibrated_kind_claim(record: RunRecord, best: BoardRow, datasets: Sequence[str]) -> tuple[Claim, ...]:
    """The kind of pairs on which the probability is furthest off; none where nobody needs to know."""
    gaps = [
        row
        for dataset in datasets
        for row in _select_probability_gap_rows(record, best.system.name, dataset)
        if row.value is not None
    ]
    off = max(gaps, key=lambda row: abs(row.value or 0.0), default=None)
    if off is None or off.value is None or abs(off.value) < SMALL:
        return ()
    others = tuple(dict.fromkeys(row.subset for row in gaps if row.subset != off.subset))
    return (Claim(off.subset, "most", "distance of probability", others, off.value, kind=off.dataset),)


def _say_worst_calibrated_kind(claims: Sequence[Claim]) -> Iterator[Sentence]:
    for claim in claims:
        off = claim.value or 0.0
        high = "too high" if off < 0 else "too low"
        yield (f"The probability is least accurate for {claim.subject}: it is {abs(off):.2f} {high}.",)


def _explain_missing_calibration(record: RunRecord) -> str:
    reasons = dict.fromkeys(row.reason for row in record.rows.values() if row.reason and row.measure == "skill")
    return f"{next(iter(reasons), 'No cell has ended')}."


def _find_threshold_result(record: RunRecord, row: BoardRow, dataset: str, measure: str) -> ResultRow | None:
    return record.find(name_calibrated_task(record), row.system.name, "threshold", dataset=dataset, variant=measure)


def _select_probability_gap_rows(record: RunRecord, system: str, dataset: str) -> Iterator[ResultRow]:
    yield from (
        row for row in record.rows.values()
        if (row.system, row.dataset, row.measure) == (system, dataset, "gap")
    )  # fmt: skip


def calibration_page(run: ReportRun, alone: bool) -> Iterator[Block]:
    """The page of a run: thresholds, how well probabilities held, and where they stop."""
    del alone
    record, board = run.record, run.board
    datasets, words = record.datasets(name_calibrated_task(record)), _pick_calibration_wording(record)
    yield PageFactsLine.of(
        "", "Calibration", numbers.format_noun_count(len(record.list_non_reference_systems), "system"),
        numbers.format_noun_count(len(datasets), "dataset"),
        numbers.format_date(record.manifest.get("updated", ""))
    )  # fmt: skip
    yield calibration_verdict(record, board)
    yield from show_gravest_notes(list_run_notes(record), run.mark)
    yield Heading("Thresholds with a guarantee", "calibration-thresholds")
    yield ParagraphBlock(
        f"{words.accept} The guarantee applies to {words.units} sampled like these; the other figures describe the "
        "labels used to choose the threshold."
    )
    yield from (
        replace(_make_similarity_threshold_table(record, board, dataset), title=dataset) for dataset in datasets
    )
    yield from (block for dataset in datasets for block in _show_value_of_more_labels(record, board, dataset))
    yield from show_silence_thresholds(record, board)
    yield from _show_mistake_costs(record, board)
    yield from (figure for dataset in datasets for figure in _draw_precision_recall_curves(record, board, dataset))
    yield Heading("Predicted and observed probabilities", "calibration-reliability")
    yield from (figure for dataset in datasets if (figure := _reliability_figure(record, board, dataset)) is not None)
    if not words.table:
        return
    yield Heading("Where the probability is inaccurate", "calibration-gaps")
    yield ParagraphBlock(words.table)
    yield from (replace(_probability_gap_table(record, board, dataset), title=dataset) for dataset in datasets)


def _show_value_of_more_labels(
    record: RunRecord, board: SystemBoard, dataset: str, price: float | None = None
) -> Iterator[Block]:
    """What more labels would achieve, for every promise that these don't suffice for; with what they cost at a
    `price`."""
    names, rows = [], []
    of = {
        (row.system, row.variant, row.measure, row.subset): row
        for row in record.rows.values()
        if row.dataset == dataset
    }
    options = record.arguments["options"]
    for row in board.ranked:
        for measure in (PRECISION, RECALL):
            for (system, variant, kind, subset), result in of.items():
                if (system, variant, kind) != (row.system.name, measure, CHANCE):
                    continue
                half = of[system, variant, HALF, subset].value
                now = _find_threshold_result(record, row, dataset, measure)
                if result.value is None or half is None or now is None:
                    continue
                names.append(f"{row.label}, {measure} {options[measure]:g}")
                rows.append(MoreLabelsOutlook(result.n - now.n, half, result.value))
    if rows:
        yield ParagraphBlock(
            "What more labels would achieve. Interval: for a probability. Chance: that a threshold can be guaranteed."
        )
        title = f"What more labels would achieve, {dataset}"
        table = make_more_labels_outlook_table(
            title, "Labels", rows, names=names, price=price, chance="Chance of a threshold"
        )
        yield replace(table, id=f"{table.id}-{dataset}")


def _make_similarity_threshold_table(record: RunRecord, board: SystemBoard, dataset: str) -> Table:
    options = record.arguments["options"]
    heads: list[str | Column] = [
        "System", *make_number_columns("Skill, 95%", f"Precision {options['precision']:g} from", "recall"),
        *make_number_columns(f"Recall {options['recall']:g} from", "precision")
    ]  # fmt: skip
    rows = [[row.label, *_list_threshold_row_cells(record, row, dataset)] for row in board.rows]
    table = Table.of(f"thresholds-{dataset}", heads, rows)
    kinds = [row.system.kind for row in board.rows]
    return replace(table, lines=tuple(replace(line, kind=kind) for line, kind in zip(table.lines, kinds, strict=True)))


def _list_threshold_row_cells(record: RunRecord, row: BoardRow, dataset: str) -> Iterator[Said | TableCell]:
    skill = record.find(name_calibrated_task(record), row.system.name, "skill", dataset=dataset)
    yield make_value_interval_cell(skill)
    for measure, other in ((PRECISION, RECALL), (RECALL, PRECISION)):
        yield make_value_interval_cell(_find_threshold_result(record, row, dataset, measure))
        result = record.find(
            name_calibrated_task(record), row.system.name, f"sample_{other}", dataset=dataset, variant=measure
        )
        yield _format_share(result.value if result is not None else None)


def _reliability_figure(record: RunRecord, board: SystemBoard, dataset: str) -> Figure | None:
    drawn = [row for row in board.ranked if row.lead.value is not None][:MOST_DRAWN]
    series = tuple(
        plots.NamedPlotLine(row.label, tuple(_reliability_points(record, row.system.name, dataset)), row.system.kind)
        for row in drawn
    )
    if not any(line.points for line in series):
        return None
    ticks = [(place / 4, f"{25 * place}") for place in range(5)]
    summary = "; ".join(_summarize_reliability_series(line) for line in series if line.points)
    return Figure(
        dataset, plots.draw_line_chart(series, ticks, SHARES, "predicted percentage, held out", diagonal=True), summary,
        "Vertical axis: the observed percentage, with its exact 95% interval, for each tenth of the "
        f"{_pick_calibration_wording(record).units}. On the diagonal, predicted and observed percent are equal."
    )  # fmt: skip


def _draw_precision_recall_curves(record: RunRecord, board: SystemBoard, dataset: str) -> Iterator[Figure]:
    """Of the best systems: precision at every recall, and what is promised; of several datasets the best one alone."""
    aim = record.arguments["options"]["precision"]
    most = MOST_TRADEOFFS if len(record.datasets(name_calibrated_task(record))) == 1 else 1
    for row in [row for row in board.ranked if row.lead.value is not None][:most]:
        points = tuple(_list_precision_recall_points(record, row.system.name, dataset))
        if not points:
            continue
        series = [plots.NamedPlotLine("seen", points, row.system.kind)]
        reached = record.find(
            name_calibrated_task(record), row.system.name, "sample_recall", dataset=dataset, variant=PRECISION
        )
        threshold = _find_threshold_result(record, row, dataset, PRECISION)
        summary = f"No threshold of {row.label} guarantees {numbers.format_percent(aim)} precision."
        if reached is not None and reached.value is not None and threshold is not None:
            bar = replace(reached, value=aim, ci_low=None, ci_high=None)
            series.append(plots.NamedPlotLine("promised", ((0.0, bar), (reached.value, bar)), row.system.kind))
            summary = (
                f"{row.label}: at least {numbers.format_percent(aim)} precision is guaranteed at "
                f"{SCORE.text(threshold.value or 0.0)} "
                f"or above, with {numbers.format_percent(reached.value)} recall on these labels."
            )
        ticks = [(place / 4, f"{25 * place}") for place in range(5)]
        yield Figure(
            f"{row.label}: precision and recall, {dataset}",
            plots.draw_line_chart(series, ticks, SHARES, "percent recall on these labels"), summary,
            "Vertical axis: precision on these labels, in percent, with the exact 95% interval of each point. The "
            "straight line is the guarantee: up to the recall where it ends, precision is at least this high on "
            "similar data."
        )  # fmt: skip


def _list_precision_recall_points(record: RunRecord, system: str, dataset: str) -> Iterator[tuple[float, ResultRow]]:
    rows = [row for row in record.rows.values() if (row.system, row.dataset) == (system, dataset)]
    recall = {row.subset: row.value for row in rows if row.measure == "recall" and row.subset}
    for row in rows:
        at = recall.get(row.subset) if row.measure == "precision" and row.subset else None
        if at is not None:
            yield at, row


def _show_mistake_costs(record: RunRecord, board: SystemBoard) -> Iterator[Block]:
    """Show where mistakes cost least, beside accepting all and nothing; no block without a cost."""
    pair = (
        replace(_mistake_cost_table(record, board, dataset), title=dataset)
        for dataset in record.datasets(name_calibrated_task(record))
    )
    tables = [table for table in pair if table.lines]
    if not tables:
        return
    wrong, missed = (f"{cost:g}" for cost in parse_mistake_costs(record.arguments["options"]["cost"]))
    confidence = numbers.format_percent(record.arguments["options"]["confidence"])
    yield Heading("Thresholds with the lowest cost", "calibration-costs")
    yield ParagraphBlock(
        f"{_pick_calibration_wording(record).mistakes.format(wrong=wrong, missed=missed)} The threshold was chosen on "
        f"half of the labels; costs are per label in the other half, and “at most” holds with {confidence} confidence."
    )
    yield from tables


def _mistake_cost_table(record: RunRecord, board: SystemBoard, dataset: str) -> Table:
    heads: list[str | Column] = [
        "System", *make_number_columns("Accept from", "Cost", "at most", "Accepting all", "Nothing")
    ]  # fmt: skip
    rows: list[list[Said | TableCell]] = []
    for row in board.ranked:
        least, whole, none = (
            record.find(name_calibrated_task(record), row.system.name, "cost", dataset=dataset, variant=variant)
            for variant in (COST, "accept all", "accept nothing")
        )
        threshold = _find_threshold_result(record, row, dataset, COST)
        if least is None or whole is None or none is None or threshold is None:
            continue
        cells = (least.value, least.ci_high, whole.value, none.value)
        where = (
            TableCell("nothing", why=threshold.reason)
            if threshold.value is None
            else make_value_interval_cell(threshold)
        )
        rows.append([row.label, where, *(TableCell(_format_score(cell), exact=str(cell)) for cell in cells)])
    return Table.of(f"costs-{dataset}", heads, rows)


def _reliability_points(record: RunRecord, system: str, dataset: str) -> Iterator[tuple[float, ResultRow]]:
    rows = [row for row in record.rows.values() if (row.system, row.dataset) == (system, dataset)]
    foretold = {row.subset: row.value for row in rows if row.measure == "foretold"}
    for row in rows:
        if row.measure == "came_true" and foretold.get(row.subset) is not None:
            yield foretold[row.subset] or 0.0, row


def _summarize_reliability_series(series: plots.NamedPlotLine) -> str:
    held = sum((row.ci_low or 0) <= at <= (row.ci_high or 1) for at, row in series.points)
    return f"{series.name}: {held} of {len(series.points)} tenths have the prediction within their interval"


def _probability_gap_table(record: RunRecord, board: SystemBoard, dataset: str) -> Table:
    """Make the table of probability gaps: a line per kind of pair, a column per system."""
    gaps_of = {
        row.system.name: {gap.subset: gap for gap in _select_probability_gap_rows(record, row.system.name, dataset)}
        for row in board.ranked
    }
    kinds = dict.fromkeys(kind for gaps in gaps_of.values() for kind in gaps)
    lines = (
        LabelledTableRow(kind, tuple(_make_probability_gap_cell(gaps.get(kind)) for gaps in gaps_of.values()))
        for kind in kinds
    )
    heads = make_number_columns(*(row.label for row in board.ranked))
    return Table(f"gaps-{dataset}", "", "Pairs", heads, tuple(lines), digits=2)


def _make_probability_gap_cell(row: ResultRow | None) -> TableCell:
    if row is None or row.value is None:
        return TableCell(numbers.NONE, why="too few pairs" if row is None else row.reason)
    low, high = row.ci_low, row.ci_high
    small = (
        "" if low is None or high is None else f"{numbers.format_change(low, 2)} to {numbers.format_change(high, 2)}"
    )
    exact = [str(value) for value in (row.value, low, high) if value is not None]
    return TableCell(numbers.format_change(row.value, 2), small, ",".join(exact))


def calibration_view(run: Path, record: RunRecord, board: SystemBoard, price: float | None = None) -> Iterator[Block]:
    """A calibration: verdict, thresholds of every system, what is missing and what more labels would bring, and where
    the files are."""
    yield calibration_verdict(record, board)
    notes = []
    datasets = record.datasets(name_calibrated_task(record))
    for dataset in datasets:
        table = _make_similarity_threshold_table(record, board, dataset)
        yield replace(table, title=dataset) if len(datasets) > 1 else table
        for row in board.ranked:
            results = (_find_threshold_result(record, row, dataset, measure) for measure in (PRECISION, RECALL))
            notes += [
                f"{row.label} on {dataset}, {result.variant}: {result.reason}."
                for result in results
                if result and result.reason
            ]
    notes += [note.plain for note in list_run_notes(record)]
    for blocks in (show_silence_thresholds(record, board), _show_mistake_costs(record, board)):
        yield from (block for block in blocks if not isinstance(block, Heading))
    yield CautionNotes(tuple(notes), more=("The recall and precision next to a threshold describe the sample.",))
    for dataset in datasets:
        yield from _show_value_of_more_labels(record, board, dataset, price)
    if (run / "calibrations").is_dir():
        yield ParagraphBlock(("Calibrations: ", CommandInSentence(str(run / "calibrations"))))


def calibration_check_view(checked: CalibrationShiftCheck) -> Iterator[Block]:
    """Whether new pairs are like those of a calibration, what differs, and what became of its promises."""
    likeness, of = checked.likeness, f"{checked.system}, calibrated on {checked.dataset}"
    broken = [promise for promise in checked.kept if promise.is_promised_precision_missed]
    heading = (
        "These pairs differ from the calibration pairs, so none of the guarantees applies to them"
        if not likeness.is_similar_to_calibration_pairs
        else "These pairs resemble the calibration pairs"
    )
    sentences = [(f"{of}; {numbers.format_noun_count(likeness.n, 'new pair')}.",)]
    sentences += [(_describe_promise_outcome(promise),) for promise in broken or checked.kept]
    yield VerdictText((heading,), tuple(sentences))
    heads: list[str | Column] = [
        "",
        *make_number_columns("Calibrated, median", "New, median", "Apart", "p (Bonferroni)"),
    ]
    rows = (
        [
            FEATURES[difference.name],
            f"{difference.calibrated:.3g}",
            f"{difference.new:.3g}",
            f"{difference.distance:.2f}",
            f"{difference.p:.2g}",
        ]
        for difference in likeness.differences
    )
    yield Table.of("likeness", heads, rows)
    shares = ", ".join(f"{measure} {numbers.format_percent(share)}" for measure, share in checked.accepted.items())
    notes = [f"Share of new pairs accepted at each guaranteed threshold: {shares}."] if shares else []
    if checked.left_out:
        notes.append(f"Left out for an empty text: {numbers.format_noun_count(checked.left_out, 'pair')}.")
    if not likeness.is_similar_to_calibration_pairs:
        notes.append("Label some of the new pairs and calibrate on them.")
    elif not checked.kept:
        notes.append("Pairs that look similar may still differ in meaning: only labels show whether a guarantee holds.")
    yield CautionNotes(tuple(notes))


def _describe_promise_outcome(promise: CalibrationPromiseCheck) -> str:
    """Describe what was promised, and what new labels show."""
    asked = f"At least {numbers.format_percent(promise.aim)} {promise.measure} was guaranteed"
    if promise.share is None:
        return f"{asked}; here it is undefined, because nothing is accepted."
    ends = f"{numbers.format_percent(promise.low)}–{numbers.format_percent(promise.high)}"
    return f"{asked}; here it is {numbers.format_percent(promise.share)} ({ends}, n {promise.n:,})."


def threshold_translation_view(found: Sequence[ThresholdTranslation]) -> Iterator[Block]:
    """Show a threshold of one system in the scales of others."""
    if not found:
        yield ParagraphBlock("There is nothing to convert, because no pairs were scored by both systems.")
        return
    first = found[0]
    yield VerdictText(((f"The {first.origin} threshold {first.given:g} on the scales of other systems"),))
    apart = any(translation.elsewhere is not None for translation in found)
    heads: list[str | Column] = [
        "System", "Dataset", *make_number_columns("From, 95%", "Agree on", "Precision", f"of {first.origin}", "n"),
        *make_number_columns(*(("By other data", "Off by") if apart else ()))
    ]  # fmt: skip
    rows = (
        [
            translation.target,
            translation.dataset,
            f"{SCORE.text(translation.point)} {SCORE.interval(*translation.ends)}",
            numbers.format_percent(translation.agree),
            *(_format_share(translation.precision[place]) for place in (1, 0)),
            numbers.format_count(translation.n),
            *((_format_score(translation.elsewhere), _format_offset(translation.off)) if apart else ()),
        ]
        for translation in found
    )
    yield Table.of("translation", heads, rows)
    if apart:
        yield ParagraphBlock(
            "By other data: the threshold from the other datasets. Off by: the share of this dataset's pairs that it "
            "accepts too many or too few, which is the error to expect without pairs of your own."
        )
    yield ParagraphBlock(
        "Each threshold accepts as many pairs as the original one. For guarantees, use each system's own thresholds."
    )


def _format_offset(value: float | None) -> str:
    return numbers.NONE if value is None else numbers.format_change(value, 2)


def _format_score(value: float | None) -> str:
    return numbers.NONE if value is None else SCORE.text(value)


def _format_share(value: float | None) -> str:
    return numbers.NONE if value is None else numbers.format_percent(value)
