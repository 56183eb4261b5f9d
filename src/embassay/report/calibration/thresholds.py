"""What a calibration says: its verdict, its page, and its view on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from embassay.document import plots
from embassay.document.blocks import (
    Block,
    Care,
    Column,
    Command,
    Entry,
    Facts,
    Figure,
    Heading,
    Line,
    Name,
    Said,
    Sentence,
    Table,
    Text,
    Verdict,
    number_columns,
)
from embassay.document.marks import SHARES
from embassay.protocols.calibration.check import CalibrationCheck, PromiseCheck
from embassay.protocols.calibration.options import parse_costs
from embassay.protocols.calibration.probability import Translation
from embassay.protocols.calibration.protocol import CHANCE, GIVEN, HALF
from embassay.protocols.calibration.shift import FEATURES
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.claims import Claim, state_value
from embassay.protocols.kernel.tables import SCORE
from embassay.records import Result
from embassay.report.board import Board, Row
from embassay.report.calibration.silence import silence_blocks, value_entry
from embassay.report.cards.findings import Finding, make_finding
from embassay.report.notes import care_blocks, list_notes, outlook_table
from embassay.report.record import Record
from embassay.report.runs import ReportRun
from embassay.stats.few_labels import Outlook

PRECISION, RECALL, COST = "precision", "recall", "cost"
MOST_DRAWN, MOST_TRADEOFFS = 4, 3


@dataclass(frozen=True)
class TaskWording:
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
    "pairs": TaskWording(
        "similarity", "mean the same", "pairs", "Accept pairs of at least this similarity.", "two texts mean the same",
        "Share of pairs that mean the same minus the mean probability. Below 0, the system is overconfident; 0 is "
        "exact.",
        "Accepting a pair that does not mean the same costs {wrong}, missing one that does costs {missed}.",
    ),
    "answers": TaskWording(
        "score", "have evidence among the first passages", "questions",
        "Answer if the best passage scores at least this; otherwise say that nothing was found.",
        "there is evidence among the first passages", "",
        "An answer without evidence costs {wrong}, no answer despite evidence costs {missed}.",
    )
}  # fmt: skip


def task_of(record: Record) -> str:
    """Whether pairs were calibrated, or what runs retrieved."""
    return "answers" if record.datasets("answers") else "pairs"


def _wording_for(record: Record) -> TaskWording:
    return WORDINGS[task_of(record)]


SMALL = 0.05
"""A gap between what was foretold and what came true that nobody needs to know of."""


def calibration_verdict(record: Record, board: Board) -> Verdict:
    """From which similarity on to accept, and with what certainty; or what it would take."""
    rows = [row for row in board.ranked if row.lead.value is not None]
    if not rows:
        return Verdict(("Nothing could be calibrated",), ((_explain_absence(record),),))
    datasets = record.datasets(task_of(record))
    best = _find_leader(record, rows, datasets)
    bars = [row for dataset in datasets if (row := _cutoff_row(record, best, dataset, PRECISION)) is not None]
    held = [row for row in bars if row.value is not None]
    promise = _promise_claim(record, best, rows, held, datasets)
    reached, skill = _recall_claims(record, best, held), _skill_claim(best)
    worst = _worst_claims(record, best, datasets)
    lede = (
        *_promise_sentences(record, best, held or bars, reached),
        _skill_sentence(record, best, skill),
        *_worst_sentences(worst),
    )
    return Verdict(_promise_sentence(record, best, promise), lede, (promise, *reached, skill, *worst))


def _promise_claim(
    record: Record, best: Row, rows: Sequence[Row], held: Sequence[Result], datasets: Sequence[str]
) -> Claim:
    """From which similarity on the leader keeps the requested precision, and on how many datasets; or that no
    system does."""
    aim = float(record.arguments["options"]["precision"])
    if not held:
        return Claim(best.system.name, "misses", PRECISION, margin=aim, of=len(rows), kind="promise")
    value = held[0].value if len(datasets) == 1 else None
    return Claim(
        best.system.name,
        "keeps",
        PRECISION,
        value=value,
        margin=aim,
        n=len(held),
        of=len(datasets),
        kind="promise",
    )


def _promise_sentence(record: Record, best: Row, claim: Claim) -> Sentence:
    aim, name = numbers.format_percent(claim.margin), Name(best.label, best.system.index)
    if claim.relation == "misses":
        of_one = ("No threshold of ", name, f" is sure to keep {aim} precision")
        of_all = (f"No threshold of any of {claim.of} systems is sure to keep {aim} precision",)
        return of_one if claim.of == 1 else of_all
    if claim.value is not None:
        return (name, f": from {SCORE.text(claim.value)} on, at least {aim} {_wording_for(record).are}")
    return (name, f" keeps {aim} precision on {claim.n} of {claim.of} datasets")


def _recall_claims(record: Record, best: Row, held: Sequence[Result]) -> tuple[Claim, ...]:
    """What share the first promised threshold finds; none without one."""
    for result in held[:1]:
        where = {"dataset": result.dataset, "variant": PRECISION}
        recall = record.find(task_of(record), best.system.name, "sample_recall", **where)
        if recall is not None and recall.value is not None:
            return (state_value(best.system.name, "sample_recall", recall.value, kind=result.dataset),)
    return ()


def _skill_claim(best: Row) -> Claim:
    row = best.lead.row
    low, high = (None, None) if row is None else (row.ci_low, row.ci_high)
    return state_value(best.system.name, "skill", best.lead.value, low, high)


def _find_leader(record: Record, rows: Sequence[Row], datasets: Sequence[str]) -> Row:
    """The system that the verdict is about: of those with a threshold on most datasets the one of most skill."""
    return max(rows, key=lambda row: (len(_held_promises(record, row, datasets)), -rows.index(row)))


def _held_promises(record: Record, row: Row, datasets: Sequence[str]) -> list[Result]:
    """The promised thresholds of a system, one per dataset that has one."""
    thresholds = (_cutoff_row(record, row, dataset, PRECISION) for dataset in datasets)
    return [threshold for threshold in thresholds if threshold is not None and threshold.value is not None]


def strengths(run: ReportRun, system: str) -> Iterator[Finding]:
    """That it has a threshold that keeps the precision asked for."""
    record, row = run.record, run.board.row(system)
    datasets = record.datasets(task_of(record))
    aim = numbers.format_percent(record.arguments["options"]["precision"])
    if held := _held_promises(record, row, datasets):
        said = f"keeps {aim} precision from {SCORE.text(held[0].value or 0.0)} on ({held[0].dataset})"
        more = f", on {len(held)} of {len(datasets)} datasets" if len(datasets) > 1 else ""
        yield make_finding(run, f"{said}{more}", weight=2)


def weaknesses(run: ReportRun, system: str) -> Iterator[Finding]:
    """That no threshold of it is sure to keep it."""
    record, row = run.record, run.board.row(system)
    datasets = record.datasets(task_of(record))
    if datasets and row.lead.value is not None and not _held_promises(record, row, datasets):
        aim = numbers.format_percent(record.arguments["options"]["precision"])
        yield make_finding(run, f"has no threshold that is sure to keep {aim} precision", weight=2)


def _promise_sentences(
    record: Record, best: Row, bars: Sequence[Result], reached: Sequence[Claim]
) -> Iterator[Sentence]:
    """How sure the threshold is and what it finds, or why there is none."""
    confidence = numbers.format_percent(record.arguments["options"]["confidence"])
    for result in bars[:1]:
        if result.value is None:
            yield (f"{result.reason[:1].upper()}{result.reason[1:]}.",)
            continue
        finds = "".join(
            f", and finds {numbers.format_percent(claim.value or 0.0)} of them" for claim in reached
        )
        where = f" on {result.dataset}" if len(record.datasets(task_of(record))) > 1 else ""
        yield (
            f"This holds with {confidence} confidence for {_wording_for(record).units} like these{finds}{where}.",
        )
        if said := _over_samples(record, best.system.name, result):
            yield (said,)


def _skill_sentence(record: Record, best: Row, claim: Claim) -> Sentence:
    """How much of the uncertainty the similarity takes away; below 0 it adds to it."""
    words = _wording_for(record)
    interval = f" ({best.lead.interval})" if best.lead.interval else ""
    of = f" of the uncertainty about whether {words.whether}."
    if (claim.value or 0.0) < 0:
        return (f"Its {words.measure} removes none", of[:-1], f" (skill {best.lead.text}{interval}).")
    return (f"Its {words.measure} removes {best.lead.text}", interval, of)


def _over_samples(record: Record, system: str, threshold: Result) -> str:
    """What the confidence is over, and what this sample has above the threshold."""
    where = {"dataset": threshold.dataset, "variant": PRECISION}
    given = record.find(task_of(record), system, GIVEN, **where)
    seen = record.find(task_of(record), system, "sample_precision", **where)
    if given is None or given.value is None or seen is None or seen.value is None:
        return ""
    broken = 1 - record.arguments["options"]["confidence"]
    interval = (
        "" if seen.ci_low is None or seen.ci_high is None else f" ({_in_percent(seen.ci_low, seen.ci_high)})"
    )
    gives = f"{numbers.format_percent(given.value)} of samples like this one yield a threshold"
    breaks = f"at most {numbers.format_percent(broken)} of all samples yield one that breaks its guarantee"
    share = f"{numbers.format_percent(seen.value)}{interval} of the {seen.n:,} accepted {_wording_for(record).are}"
    return f"Confidence is over samples of labels: {gives}, and {breaks}. Here {share}."


def _in_percent(low: float, high: float) -> str:
    return f"{numbers.format_percent(low)}–{numbers.format_percent(high)}"


def _worst_claims(record: Record, best: Row, datasets: Sequence[str]) -> tuple[Claim, ...]:
    """The kind of pairs on which the probability is furthest off; none where nobody needs to know."""
    gaps = [
        row
        for dataset in datasets
        for row in _find_gaps(record, best.system.name, dataset)
        if row.value is not None
    ]
    off = max(gaps, key=lambda row: abs(row.value or 0.0), default=None)
    if off is None or off.value is None or abs(off.value) < SMALL:
        return ()
    others = tuple(dict.fromkeys(row.subset for row in gaps if row.subset != off.subset))
    return (Claim(off.subset, "most", "distance of probability", others, off.value, kind=off.dataset),)


def _worst_sentences(claims: Sequence[Claim]) -> Iterator[Sentence]:
    for claim in claims:
        off = claim.value or 0.0
        high = "too high" if off < 0 else "too low"
        yield (f"Where it stops holding: for {claim.subject} the probability is {abs(off):.2f} {high}.",)


def _explain_absence(record: Record) -> str:
    reasons = dict.fromkeys(
        row.reason for row in record.rows.values() if row.reason and row.measure == "skill"
    )
    return f"{next(iter(reasons), 'No cell has ended')}."


def _cutoff_row(record: Record, row: Row, dataset: str, measure: str) -> Result | None:
    return record.find(task_of(record), row.system.name, "threshold", dataset=dataset, variant=measure)


def _find_gaps(record: Record, system: str, dataset: str) -> Iterator[Result]:
    yield from (
        row for row in record.rows.values()
        if (row.system, row.dataset, row.measure) == (system, dataset, "gap")
    )  # fmt: skip


def calibration_page(run: ReportRun, alone: bool) -> Iterator[Block]:
    """The page of a run: thresholds, how well probabilities held, and where they stop."""
    del alone
    record, board = run.record, run.board
    datasets, words = record.datasets(task_of(record)), _wording_for(record)
    yield Facts.of(
        "", "Calibration", numbers.format_counted(len(record.ranked_systems), "system"),
        numbers.format_counted(len(datasets), "dataset"), numbers.format_date(record.manifest.get("updated", ""))
    )  # fmt: skip
    yield calibration_verdict(record, board)
    yield from care_blocks(list_notes(record), run.mark)
    yield Heading("Thresholds with a guarantee", "calibration-thresholds")
    yield Text(
        f"{words.accept} The guarantee holds for {words.units} drawn like these; the other figures are for the "
        "labels used to choose the threshold."
    )
    yield from (replace(_threshold_table(record, board, dataset), title=dataset) for dataset in datasets)
    yield from (block for dataset in datasets for block in _next_labels(record, board, dataset))
    yield from silence_blocks(record, board)
    yield from _cost_blocks(record, board)
    yield from (figure for dataset in datasets for figure in _tradeoff_figures(record, board, dataset))
    yield Heading("What was predicted, and what came true", "calibration-reliability")
    yield from (
        figure for dataset in datasets if (figure := _reliability_figure(record, board, dataset)) is not None
    )
    if not words.table:
        return
    yield Heading("Where the probability stops holding", "calibration-gaps")
    yield Text(words.table)
    yield from (replace(_gap_table(record, board, dataset), title=dataset) for dataset in datasets)


def _next_labels(record: Record, board: Board, dataset: str, price: float | None = None) -> Iterator[Block]:
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
                now = _cutoff_row(record, row, dataset, measure)
                if result.value is None or half is None or now is None:
                    continue
                names.append(f"{row.label}, {measure} {options[measure]:g}")
                rows.append(Outlook(result.n - now.n, half, result.value))
    if rows:
        yield Text(
            "What more labels would achieve. Interval: of a probability. Chance: that a threshold can be guaranteed."
        )
        title = f"What more labels would achieve, {dataset}"
        table = outlook_table(title, "Labels", rows, names=names, price=price, chance="Chance of a threshold")
        yield replace(table, id=f"{table.id}-{dataset}")


def _threshold_table(record: Record, board: Board, dataset: str) -> Table:
    options = record.arguments["options"]
    heads: list[str | Column] = [
        "System", *number_columns("Skill, 95%", f"Precision {options['precision']:g} from", "recall"),
        *number_columns(f"Recall {options['recall']:g} from", "precision")
    ]  # fmt: skip
    rows = [[row.label, *_promise_entries(record, row, dataset)] for row in board.rows]
    table = Table.of(f"thresholds-{dataset}", heads, rows)
    kinds = [row.system.kind for row in board.rows]
    return replace(
        table, lines=tuple(replace(line, kind=kind) for line, kind in zip(table.lines, kinds, strict=True))
    )


def _promise_entries(record: Record, row: Row, dataset: str) -> Iterator[Said | Entry]:
    skill = record.find(task_of(record), row.system.name, "skill", dataset=dataset)
    yield value_entry(skill)
    for measure, other in ((PRECISION, RECALL), (RECALL, PRECISION)):
        yield value_entry(_cutoff_row(record, row, dataset, measure))
        result = record.find(
            task_of(record), row.system.name, f"sample_{other}", dataset=dataset, variant=measure
        )
        yield _format_share(result.value if result is not None else None)


def _reliability_figure(record: Record, board: Board, dataset: str) -> Figure | None:
    drawn = [row for row in board.ranked if row.lead.value is not None][:MOST_DRAWN]
    series = tuple(
        plots.Series(row.label, tuple(_reliability_points(record, row.system.name, dataset)), row.system.kind)
        for row in drawn
    )
    if not any(line.points for line in series):
        return None
    ticks = [(place / 4, f"{25 * place}") for place in range(5)]
    summary = "; ".join(_summarize_series(line) for line in series if line.points)
    return Figure(
        dataset, plots.draw_lines(series, ticks, SHARES, "percent predicted, held out", diagonal=True), summary,
        "Vertical: the percent that came true, with its exact 95% interval, for each tenth of the "
        f"{_wording_for(record).units}. On the diagonal, predictions are exact."
    )  # fmt: skip


def _tradeoff_figures(record: Record, board: Board, dataset: str) -> Iterator[Figure]:
    """Of the best systems: precision at every recall, and what is promised; of several datasets the best one alone."""
    aim = record.arguments["options"]["precision"]
    most = MOST_TRADEOFFS if len(record.datasets(task_of(record))) == 1 else 1
    for row in [row for row in board.ranked if row.lead.value is not None][:most]:
        points = tuple(_tradeoff_points(record, row.system.name, dataset))
        if not points:
            continue
        series = [plots.Series("seen", points, row.system.kind)]
        reached = record.find(
            task_of(record), row.system.name, "sample_recall", dataset=dataset, variant=PRECISION
        )
        threshold = _cutoff_row(record, row, dataset, PRECISION)
        summary = f"No threshold of {row.label} guarantees {numbers.format_percent(aim)} precision."
        if reached is not None and reached.value is not None and threshold is not None:
            bar = replace(reached, value=aim, ci_low=None, ci_high=None)
            series.append(plots.Series("promised", ((0.0, bar), (reached.value, bar)), row.system.kind))
            summary = (
                f"{row.label}: at least {numbers.format_percent(aim)} is guaranteed from "
                f"{SCORE.text(threshold.value or 0.0)} "
                f"on, which finds {numbers.format_percent(reached.value)} of these labels."
            )
        ticks = [(place / 4, f"{25 * place}") for place in range(5)]
        yield Figure(
            f"{row.label}: precision and recall, {dataset}",
            plots.draw_lines(series, ticks, SHARES, "percent recall, among the labels"), summary,
            "Vertical: percent precision among the labels, with the exact 95% interval of each point. The straight "
            "line is the guarantee: up to that recall, precision is at least this high for other data like these."
        )  # fmt: skip


def _tradeoff_points(record: Record, system: str, dataset: str) -> Iterator[tuple[float, Result]]:
    rows = [row for row in record.rows.values() if (row.system, row.dataset) == (system, dataset)]
    recall = {row.subset: row.value for row in rows if row.measure == "recall" and row.subset}
    for row in rows:
        at = recall.get(row.subset) if row.measure == "precision" and row.subset else None
        if at is not None:
            yield at, row


def _cost_blocks(record: Record, board: Board) -> Iterator[Block]:
    """Where mistakes cost least, beside accepting all and nothing; no block where no cost was asked for."""
    pair = (
        replace(_cost_table(record, board, dataset), title=dataset)
        for dataset in record.datasets(task_of(record))
    )
    tables = [table for table in pair if table.lines]
    if not tables:
        return
    wrong, missed = (f"{cost:g}" for cost in parse_costs(record.arguments["options"]["cost"]))
    confidence = numbers.format_percent(record.arguments["options"]["confidence"])
    yield Heading("Where mistakes cost least", "calibration-costs")
    yield Text(
        f"{_wording_for(record).mistakes.format(wrong=wrong, missed=missed)} The threshold was chosen on half of "
        f"the labels; costs are per label in the other half, and “at most” holds with {confidence} confidence."
    )
    yield from tables


def _cost_table(record: Record, board: Board, dataset: str) -> Table:
    heads: list[str | Column] = [
        "System", *number_columns("Accept from", "Cost", "at most", "Accepting all", "Nothing")
    ]  # fmt: skip
    rows: list[list[Said | Entry]] = []
    for row in board.ranked:
        least, whole, none = (
            record.find(task_of(record), row.system.name, "cost", dataset=dataset, variant=variant)
            for variant in (COST, "accept all", "accept nothing")
        )
        threshold = _cutoff_row(record, row, dataset, COST)
        if least is None or whole is None or none is None or threshold is None:
            continue
        cells = (least.value, least.ci_high, whole.value, none.value)
        where = Entry("nothing", why=threshold.reason) if threshold.value is None else value_entry(threshold)
        rows.append([row.label, where, *(Entry(_format_score(cell), exact=str(cell)) for cell in cells)])
    return Table.of(f"costs-{dataset}", heads, rows)


def _reliability_points(record: Record, system: str, dataset: str) -> Iterator[tuple[float, Result]]:
    rows = [row for row in record.rows.values() if (row.system, row.dataset) == (system, dataset)]
    foretold = {row.subset: row.value for row in rows if row.measure == "foretold"}
    for row in rows:
        if row.measure == "came_true" and foretold.get(row.subset) is not None:
            yield foretold[row.subset] or 0.0, row


def _summarize_series(series: plots.Series) -> str:
    held = sum((row.ci_low or 0) <= at <= (row.ci_high or 1) for at, row in series.points)
    return f"{series.name}: {held} of {len(series.points)} tenths hold the prediction in their interval"


def _gap_table(record: Record, board: Board, dataset: str) -> Table:
    """A line per kind of pair, a column per system."""
    gaps_of = {
        row.system.name: {gap.subset: gap for gap in _find_gaps(record, row.system.name, dataset)}
        for row in board.ranked
    }
    kinds = dict.fromkeys(kind for gaps in gaps_of.values() for kind in gaps)
    lines = (Line(kind, tuple(_gap_entry(gaps.get(kind)) for gaps in gaps_of.values())) for kind in kinds)
    heads = number_columns(*(row.label for row in board.ranked))
    return Table(f"gaps-{dataset}", "", "Pairs", heads, tuple(lines), digits=2)


def _gap_entry(row: Result | None) -> Entry:
    if row is None or row.value is None:
        return Entry(numbers.NONE, why="too few pairs" if row is None else row.reason)
    low, high = row.ci_low, row.ci_high
    small = (
        ""
        if low is None or high is None
        else f"{numbers.format_change(low, 2)} to {numbers.format_change(high, 2)}"
    )
    exact = [str(value) for value in (row.value, low, high) if value is not None]
    return Entry(numbers.format_change(row.value, 2), small, ",".join(exact))


def calibration_view(run: Path, record: Record, board: Board, price: float | None = None) -> Iterator[Block]:
    """A calibration: verdict, thresholds of every system, what is missing and what more labels would bring, and where
    the files are."""
    yield calibration_verdict(record, board)
    notes = []
    datasets = record.datasets(task_of(record))
    for dataset in datasets:
        table = _threshold_table(record, board, dataset)
        yield replace(table, title=dataset) if len(datasets) > 1 else table
        for row in board.ranked:
            results = (_cutoff_row(record, row, dataset, measure) for measure in (PRECISION, RECALL))
            notes += [
                f"{row.label} on {dataset}, {result.variant}: {result.reason}."
                for result in results
                if result and result.reason
            ]
    notes += [note.plain for note in list_notes(record)]
    for blocks in (silence_blocks(record, board), _cost_blocks(record, board)):
        yield from (block for block in blocks if not isinstance(block, Heading))
    yield Care(tuple(notes), more=("The recall and precision next to a threshold are for the sample.",))
    for dataset in datasets:
        yield from _next_labels(record, board, dataset, price)
    if (run / "calibrations").is_dir():
        yield Text(("Calibrations: ", Command(str(run / "calibrations"))))


def checked_view(checked: CalibrationCheck) -> Iterator[Block]:
    """Whether new pairs are like those of a calibration, what differs, and what became of its promises."""
    likeness, of = checked.likeness, f"{checked.system}, calibrated on {checked.dataset}"
    broken = [promise for promise in checked.kept if promise.is_broken]
    heading = (
        "These pairs are unlike the calibration pairs: none of its guarantees holds for them"
        if not likeness.is_alike
        else "These pairs look like the calibration pairs"
    )
    sentences = [(f"{of}; {numbers.format_counted(likeness.n, 'new pair')}.",)]
    sentences += [(_outcome_words(promise),) for promise in broken or checked.kept]
    yield Verdict((heading,), tuple(sentences))
    heads: list[str | Column] = [
        "",
        *number_columns("Calibrated, median", "New, median", "Apart", "p (Bonferroni)"),
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
    shares = ", ".join(
        f"{measure} {numbers.format_percent(share)}" for measure, share in checked.accepted.items()
    )
    notes = [f"New pairs accepted at the threshold of each guarantee: {shares}."] if shares else []
    if checked.left_out:
        notes.append(f"{numbers.format_counted(checked.left_out, 'pair')} with an empty text left out.")
    if not likeness.is_alike:
        notes.append("Label some of the new pairs and calibrate on them.")
    elif not checked.kept:
        notes.append(
            "Similar-looking pairs may still differ in meaning: only labels show that a guarantee holds."
        )
    yield Care(tuple(notes))


def _outcome_words(promise: PromiseCheck) -> str:
    """What was promised, and what new labels show."""
    asked = f"At least {numbers.format_percent(promise.aim)} {promise.measure} was guaranteed"
    if promise.share is None:
        return f"{asked}; here it is undefined: nothing is accepted."
    ends = f"{numbers.format_percent(promise.low)}–{numbers.format_percent(promise.high)}"
    return f"{asked}; here it is {numbers.format_percent(promise.share)} ({ends}, n {promise.n:,})."


def translation_view(found: Sequence[Translation]) -> Iterator[Block]:
    """A threshold of one system in the scales of others."""
    if not found:
        yield Text("There is nothing to convert: no pairs were scored by both.")
        return
    first = found[0]
    yield Verdict(((f"{first.origin} at {first.given:g}, on the scales of others"),))
    apart = any(translation.elsewhere is not None for translation in found)
    heads: list[str | Column] = [
        "System", "Dataset", *number_columns("From, 95%", "Agree on", "Precision", f"of {first.origin}", "n"),
        *number_columns(*(("By other data", "Off by") if apart else ()))
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
        yield Text(
            "By other data: the threshold from the other datasets, and the share of this dataset's pairs by which "
            "it accepts too many or too few: the error to expect if you have no pairs of your own."
        )
    yield Text(
        "It accepts as many pairs. That is not a guarantee; for guarantees, use each system's own thresholds above."
    )


def _format_offset(value: float | None) -> str:
    return numbers.NONE if value is None else numbers.format_change(value, 2)


def _format_score(value: float | None) -> str:
    return numbers.NONE if value is None else SCORE.text(value)


def _format_share(value: float | None) -> str:
    return numbers.NONE if value is None else numbers.format_percent(value)
