"""What few labels tell: where a study until decided stands, what people made of a judge, and what more would buy."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from embassay.document.blocks import (
    Block,
    LabelledTableRow,
    ParagraphBlock,
    Table,
    TableCell,
    VerdictText,
    make_number_columns,
)
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.quantities import (
    JudgeAssistedMean,
    JudgeBias,
    forecast_difference_with_more_items,
    forecast_gain_of_more_labels,
)
from embassay.protocols.rag.decision.protocol import (
    DecisionStudyRecord,
    ExpectedBenefitOfLabels,
    RunComparisonEstimate,
    list_decision_claims,
)
from embassay.protocols.rag.scoring.correction import (
    CorrectedRunEstimate,
    JudgeCorrectionResults,
    JudgeGradeBias,
    MoreLabelsGain,
)
from embassay.protocols.rag.scoring.score import ScoringRecord
from embassay.report.notes import make_more_labels_outlook_table
from embassay.stats import t_quantile


def make_decision_study_terminal_blocks(decision: DecisionStudyRecord) -> Iterator[Block]:
    """Show a decision study on a terminal."""
    lede = tuple((sentence,) for sentence in decision.lede)
    yield VerdictText((decision.verdict,), lede, tuple(list_decision_claims(decision)))
    yield _make_run_comparisons_table(decision)
    if decision.ahead:
        yield make_label_outlook_table(decision.ahead)


def _make_run_comparisons_table(decision: DecisionStudyRecord) -> Table:
    lines = tuple(
        LabelledTableRow(
            f"{standing.a} minus {standing.b or 'the threshold'}",
            (
                TableCell(f"{standing.value:+.3f}"),
                TableCell(_format_comparison_interval(standing)),
                TableCell(_say_comparison_outcome(standing)),
            ),
        )
        for standing in decision.standings
    )
    columns = make_number_columns(decision.measure, f"{1 - decision.alpha:.0%} at every look", "Decided")
    return Table("decision", "Where it stands", "Comparison", columns, lines, is_sortable=False)


def _format_comparison_interval(standing: RunComparisonEstimate) -> str:
    low, high = standing.ends
    return f"{low:+.3f} to {high:+.3f}"


def _say_comparison_outcome(standing: RunComparisonEstimate) -> str:
    if not standing.sign:
        return "open"
    if standing.b:
        return f"{standing.better} is better"
    return "met" if standing.better == standing.a else "missed"


def make_label_outlook_table(ahead: Sequence[ExpectedBenefitOfLabels]) -> Table:
    """What more labels would achieve."""
    priced = any(step.usd is not None for step in ahead)
    lines = tuple(
        LabelledTableRow(
            f"{step.more:,} more",
            (
                TableCell(f"± {step.half:.3f}"), TableCell(numbers.format_percent(step.chance)),
                *((TableCell(f"${step.usd:,.2f}"),) if step.usd is not None else ()),
            ),
        )
        for step in ahead
    )  # fmt: skip
    titles = ("Interval", "Chance of a decision", *(("Cost",) if priced else ()))
    return Table(
        "ahead", "What more labels would achieve", "Labels", make_number_columns(*titles), lines, is_sortable=False
    )


def show_outlook_of_undecided_runs(score: ScoringRecord, price: float | None = None) -> Iterator[Block]:
    """What more judged questions would buy for the two runs that are nearest to a decision by the headline, of those
    that cannot be told apart and may be first. A question costs as many labels as those of the file have."""
    compared = next(
        (comparison for comparison in score.comparisons if comparison.measure == score.headline and comparison.pairs),
        None,
    )
    if compared is None:
        return
    first = {run for run, low in zip(compared.runs, compared.rank_low, strict=True) if low == 1}
    pairs = [
        pair
        for pair in compared.pairs
        if not pair.better and not pair.judged_less and pair.error and {pair.a, pair.b} & first
    ]
    if not pairs:
        return
    pair = max(pairs, key=lambda pair: abs(pair.difference) / (pair.error or 1.0))
    half = t_quantile(0.975, pair.df or math.inf) * (pair.error or 0.0)
    rows = forecast_difference_with_more_items(pair.difference, half, pair.n, len(compared.pairs))
    labels = score.judgements.documents / max(score.judgements.queries, 1)
    title = f"What more questions like these would achieve, {pair.a} minus {pair.b}"
    yield ParagraphBlock(f"{title}:")
    yield make_more_labels_outlook_table(title, "Questions", rows, labels=[labels] * len(rows), price=price)


def judge_corrections_view(
    corrections: JudgeCorrectionResults, headline: str, price: float | None = None
) -> Iterator[Block]:
    """What people's grades made of the judge's: by one measure, and where the judge is off."""
    yield make_judge_corrected_score_table(corrections, headline)
    yield make_judge_bias_table(corrections.off)
    yield ParagraphBlock(_say_judge_agreement(corrections))
    if corrections.ahead:
        yield make_more_labels_table(corrections.ahead, price)


def make_judge_corrected_score_table(corrections: JudgeCorrectionResults, headline: str) -> Table:
    """Each run, and each difference, by people and judge beside either alone."""
    rows = [row for row in corrections.rows if row.measure == headline]
    columns = make_number_columns("Corrected, 95%", "People alone, 95%", "Judge alone", "Labels", "Worth")
    return Table(
        "corrected", "People and judge", headline, columns, tuple(map(_make_corrected_run_row, rows)), is_sortable=False
    )


def _make_corrected_run_row(correction: CorrectedRunEstimate) -> LabelledTableRow:
    sign = "+" if correction.other else ""
    ends = [f"{value:{sign}.3f}" for value in (correction.value, correction.low, correction.high)]
    own = [f"{value:{sign}.3f}" for value in (correction.alone, correction.alone_low, correction.alone_high)]
    return LabelledTableRow(
        f"{correction.run} minus {correction.other}" if correction.other else correction.run,
        (
            TableCell(f"{ends[0]} {ends[1]}–{ends[2]}"), TableCell(f"{own[0]} {own[1]}–{own[2]}"),
            TableCell(f"{correction.judge:{sign}.3f}"), TableCell(f"{correction.n:,} {correction.unit}"),
            TableCell(f"{correction.effective:,.0f}" if correction.slope else "judge unused"),
        )
    )  # fmt: skip


def show_judge_assisted_means(
    found: Sequence[JudgeAssistedMean],
    off: Sequence[JudgeBias],
    title: str,
    bar: float | None = None,
    price: float | None = None,
    labels: float | None = None,
) -> Iterator[Block]:
    """Means by people and judge beside either alone, what the judge is worth, where it is off, and what more labels
    would buy, at a `price` each; a unit takes so many `labels`, one where they are left out."""
    if not found:
        return
    lines = tuple(
        LabelledTableRow(quantity.name, tuple(map(TableCell, _format_judge_assisted_mean(quantity))))
        for quantity in found
    )
    heads = make_number_columns("Corrected, 95%", "People alone, 95%", "Judge alone", "Labels", "Worth")
    yield Table(f"quantities-{title}", title, title, heads, lines, is_sortable=False)
    if biased := tuple(_make_judge_bias_table_row(bias.said, bias) for bias in off):
        columns = make_number_columns("Judge minus people", "95%", "Labels")
        yield Table(
            f"off-{title}", "Where the judge is wrong", "Judge's label or stratum", columns, biased, is_sortable=False
        )
    yield ParagraphBlock(f"{found[0].name}: {found[0].use}.")
    if rows := forecast_gain_of_more_labels(found[0], bar):
        chance = "" if bar is None else "Chance of a decision"
        takes = None if labels is None else [labels] * len(rows)
        title_of = "Labels" if labels is None else "Units"
        table = make_more_labels_outlook_table(
            "What more labels would achieve", title_of, rows, labels=takes, price=price, chance=chance
        )
        yield replace(table, id=f"ahead-{title}")


def _format_judge_assisted_mean(quantity: JudgeAssistedMean) -> Iterator[str]:
    yield f"{_format_number(quantity.value)} {_format_quantity_interval(quantity.low, quantity.high)}".rstrip()
    alone_interval = _format_quantity_interval(quantity.alone_low, quantity.alone_high)
    yield f"{_format_number(quantity.alone)} {alone_interval}".rstrip()
    yield f"{quantity.judge:.3f}"
    yield f"{quantity.n:,} of {quantity.total:,}"
    yield f"{quantity.worth:,.0f}" if quantity.is_narrowed_by_judge else "judge unused"


def _format_number(value: float | None) -> str:
    return numbers.NONE if value is None else f"{value:.3f}"


def _format_quantity_interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{low:.3f}–{high:.3f}"


def _make_judge_bias_table_row(label: str, off: JudgeBias | JudgeGradeBias) -> LabelledTableRow:
    ends = "–"
    if off.low is not None and off.high is not None:
        ends = f"{numbers.format_change(off.low, 2)} to {numbers.format_change(off.high, 2)}"
    return LabelledTableRow(
        label, (TableCell(numbers.format_change(off.mean, 2)), TableCell(ends), TableCell(f"{off.n:,}"))
    )


def make_judge_bias_table(off: Sequence[JudgeGradeBias]) -> Table:
    """How far the judge's grades are above people's."""
    lines = tuple(_make_judge_bias_table_row(row.kind, row) for row in off)
    columns = make_number_columns("Judge minus people", "95%", "Passages")
    return Table("judge-off", "Where the judge is wrong", "Passages", columns, lines, is_sortable=False)


def _say_judge_agreement(corrections: JudgeCorrectionResults) -> str:
    kappa = "" if corrections.kappa is None else f", weighted kappa {corrections.kappa:.2f}"
    return (
        f"{corrections.passages:,} passages of {numbers.format_noun_count(corrections.queries, 'query')} have "
        f"both grades; {numbers.format_percent(corrections.exact)} are equal{kappa}. {corrections.use}"
    )


def make_more_labels_table(ahead: Sequence[MoreLabelsGain], price: float | None = None) -> Table:
    """What more labels of people would buy, where runs cannot be told apart; with what they cost at a `price` each."""
    lines = tuple(
        LabelledTableRow(
            f"{bought.run} minus {bought.other}",
            (
                TableCell(f"{bought.more:,} more {bought.unit}"),
                *(() if price is None else (TableCell(_format_cost_of_more_labels(bought, price)),)),
                TableCell(f"± {bought.half:.3f}"),
                TableCell(numbers.format_percent(bought.chance)),
            ),
        )
        for bought in ahead
    )
    columns = make_number_columns(
        "Labels", *(() if price is None else ("Cost",)), "Interval", "Chance of telling them apart"
    )
    return Table("bought", "What more labels would achieve", "Runs", columns, lines, is_sortable=False)


def _format_cost_of_more_labels(bought: MoreLabelsGain, price: float) -> str:
    return f"${bought.more * bought.labels * price:,.2f}"
