"""What a run, a comparison and a gate say on a terminal: blocks that `document.terminal.drawn` draws."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from embassay.document.blocks import (
    Block,
    BulletList,
    CautionNotes,
    Column,
    CommandInSentence,
    ParagraphBlock,
    Said,
    StyledWords,
    Table,
    TableCell,
    VerdictText,
    convert_sentence_to_text,
    join_names_with_and,
    make_number_columns,
)
from embassay.document.claims import describe_first_ranked
from embassay.document.marks import fit_axis_scale
from embassay.document.terminal import fold_text_to_width, select_blocks_for_terminal
from embassay.protocols.compare import (
    METHOD,
    CorrectedTestOfSystemPair,
    DifferenceAcrossDatasets,
    RankedSystemGroup,
    SystemContrast,
    SystemPairComparison,
    SystemRankAtPlace,
    choose_verdict_contrast,
    is_higher_measure_better,
)
from embassay.protocols.compare_claims import make_contrast_claim, make_first_place_claims
from embassay.protocols.gate import (
    UNPAIRED,
    ThresholdVerdict,
    describe_gain_of_more_items,
    describe_gate_verdict,
    describe_threshold_verdict_counts,
    format_verdict_value,
    make_bar_verdict_claims,
)
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.claims import LOWER, MISSING_LABELS, VERBS, describe_leaders_beating_baselines
from embassay.protocols.kernel.comparisons import ALPHA, OVERALL
from embassay.records import ResultRow
from embassay.report.record import RunRecord, read_run_record
from embassay.report.runs import PAGES, ReportRun, attach_boards_to_records

if TYPE_CHECKING:
    from rich.text import Text as Styled

    from embassay.report.board import BoardRow, BoardValue, SystemBoard


MEASURED = (
    "Measured in this run, including edits and measures; vectors from the cache took no time. Memory "
    "is the maximum that a cell's process used, including earlier work."
)
BRIEFLY = 2
"""Sentences that stand below the heading where a run is told of briefly."""
APART = "*"
"""Behind the rank of a system that is ranked by itself."""


TABLES_ALONE = ("sessions", "versions")
"""Kinds of ours whose page is tables, which a terminal shows as they are."""


def make_run_terminal_blocks(run: Path, wide: bool = False, price: float | None = None) -> Iterator[Block]:
    """A run: verdict, table, notes, where its report is; what more labels would cost at a `price` each. DataError where
    the folder holds no run."""
    from embassay.report.notes import list_run_notes
    from embassay.report.overview import run_verdict

    shown = attach_boards_to_records((read_run_record(Path(run)),))[0]
    if shown.record.kind == "hume":
        from embassay.report.hume.conclusions import hume_view

        yield from hume_view(Path(run), wide, price)
        return
    record, board = shown.record, shown.board
    if record.kind == "calibration":
        from embassay.report.calibration.thresholds import calibration_view

        yield from calibration_view(Path(run), record, board, price)
        yield from say_where_report_is(Path(run))
        return
    if record.kind == "choose":
        from embassay.report.rag.choice import choice_view

        yield from choice_view(Path(run), record, board, wide)
        yield from say_where_report_is(Path(run))
        return
    yield run_verdict(shown)
    yield from _main_table_of_run(record, board, wide)
    if record.kind == "sage":
        from embassay.report.sage.guards import iterate_text_damage_guard_blocks

        yield from iterate_text_damage_guard_blocks(Path(run))
    if record.kind == "pteb":
        from embassay.report.pteb.validity import show_change_on_valid_paraphrases

        yield from show_change_on_valid_paraphrases(record, board)
    if wide:
        yield from _time_and_memory_blocks(record, board)
    blocks, why = shown.load_external_page_or_reason
    if record.kind in TABLES_ALONE:
        blocks = tuple(PAGES.get(record.kind).load()(shown, True))
    yield from (
        block for block in select_blocks_for_terminal(blocks) if not isinstance(block, VerdictText | CautionNotes)
    )
    notes = [why] if why else []
    notes += [f"{row.label}: {row.note}." for row in board.unranked if row.note and board.tasks]
    yield CautionNotes(
        (*notes, *(note.plain for note in list_run_notes(record))), more=tuple(_explain_unranked_systems(board))
    )
    yield from say_where_report_is(Path(run))


def say_where_report_is(run: Path, otherwise: str = "") -> Iterator[ParagraphBlock]:
    """Say where the report of a run is; `otherwise` what there is in its place."""
    report = run / "report.html"
    if report.exists():
        yield ParagraphBlock(("Report: ", CommandInSentence(str(report))))
    elif otherwise:
        yield ParagraphBlock(("Tables: ", CommandInSentence(str(run / otherwise))))


def iterate_run_verdict_blocks(run: Path, sentences: int = BRIEFLY) -> Iterator[Block]:
    """What a run of any kind found: the heading of its verdict and the first sentences below.

    Raises DataError when the folder holds no run.
    """
    from embassay.report.overview import run_verdict

    verdict = run_verdict(attach_boards_to_records((read_run_record(Path(run)),))[0])
    yield replace(verdict, lede=verdict.lede[:sentences])


LEVELS = {"sure": ("sure", "green"), "likely": ("likely", "blue"), "open": ("undecided", "yellow")}
"""What a level is called, and its colour."""


MOST_NAMES = 20
"""Columns for the names of an answer; longer ones have a line of their own."""


def render_report_answers(runs: Sequence[ReportRun], *, width: int = 80, unicode: bool = True) -> Styled:
    """The answers that runs give, a line each, and what to use; empty where they give none."""
    from rich.text import Text as Styled

    from embassay.report.answers import describe_recommended_systems, list_report_answers_from_evidence

    answers = list_report_answers_from_evidence(runs)
    if not answers:
        return Styled("")
    asks = max(len(answer.question.short) for answer in answers) + 4
    names = min(max(len(answer.answer) for answer in answers), MOST_NAMES) + 2
    lines = [
        Styled("Answers", style="bold").append(
            _describe_system_and_dataset_counts(runs, " · " if unicode else " - "), style="not bold dim"
        )
    ]
    for answer in answers:
        word, colour = LEVELS.get(answer.level, ("", ""))
        said = fold_text_to_width(
            f"{word}: {answer.brief_certainty}" if word else answer.brief_certainty, width - asks - names, unicode
        )
        said[0].highlight_words([f"{word}:"], colour)
        head = Styled(f"  {answer.question.short}".ljust(asks)).append(answer.answer.ljust(names), style="bold")
        if len(head) > asks + names:
            lines.append(head)
            head = Styled(" " * (asks + names))
        lines += [head.append_text(said[0]), *(Styled(" " * (asks + names)).append_text(line) for line in said[1:])]
    use, rest = describe_recommended_systems(answers)
    lines += (
        [Styled(""), *fold_text_to_width(use, width, unicode), *fold_text_to_width(rest, width, unicode)] if use else []
    )
    return Styled("\n").join(lines)


def _describe_system_and_dataset_counts(runs: Sequence[ReportRun], dot: str) -> str:
    """How many systems were asked, and on which data, behind the heading of the answers."""
    systems = {system.name for run in runs for system in run.record.list_non_reference_systems}
    datasets = {dataset["name"] for run in runs for dataset in run.record.list_dataset_manifest_entries}
    told = [numbers.format_noun_count(len(systems), "system")] if systems else []
    told += (
        [*datasets] if len(datasets) == 1 else [numbers.format_noun_count(len(datasets), "dataset")] if datasets else []
    )
    return "".join(dot + part for part in told)


def gravest_notes_view(runs: Sequence[ReportRun], most: int = 3) -> Iterator[Block]:
    """Show the first notes of all runs, those that can change an answer first, and count them."""
    from embassay.report.answers import list_report_answers_from_evidence
    from embassay.report.notes import gather_run_notes, sort_and_count_decisive_notes

    asked = {answer.slug for answer in list_report_answers_from_evidence(runs) if answer.level != "not run"}
    notes, _ = sort_and_count_decisive_notes(gather_run_notes(runs), asked)
    if notes:
        yield VerdictText(
            (f"Read with care ({min(most, len(notes))} of {numbers.format_noun_count(len(notes), 'note')})",)
        )
        yield BulletList(tuple(note.plain for note in notes[:most]))


def _main_table_of_run(record: RunRecord, board: SystemBoard, wide: bool) -> Iterator[Table]:
    """The one table of a run: SAGE's board, PTEB's drops, or the first that another command wrote."""
    if record.kind == "hteb" and board.tasks:
        from embassay.report.hteb.profile import profile_terminal_table

        yield profile_terminal_table(record, board, wide)
        return
    if record.kind != "pteb" and board.tasks:
        yield _board_table(board, wide)
        return
    from embassay.report.pteb.conclusions import make_table_of_paraphraser_study, paraphrase_drop_table

    yield from (
        (paraphrase_drop_table(record, board, wide),)
        if record.kind == "pteb"
        else make_table_of_paraphraser_study(record, board)
    )


def _time_and_memory_blocks(record: RunRecord, board: SystemBoard) -> Iterator[Block]:
    """Time and memory beside the score; nothing where cells tell no time."""
    from embassay.report.method import list_system_time_and_memory

    rows = [
        [row.system, row.score, row.time, row.per_pair, row.memory, row.vector]
        for row in list_system_time_and_memory(record, board)
    ]
    if rows:
        heads: list[str | Column] = [
            "System",
            *make_number_columns(board.lead_title, "Time", "Per pair", "Memory", "Vector"),
        ]
        yield Table.of("taken", heads, rows)
        yield ParagraphBlock(MEASURED)


def _explain_unranked_systems(board: SystemBoard) -> Iterator[str]:
    names = " and ".join(row.label for row in board.references)
    if board.apart:
        apart = convert_sentence_to_text(join_names_with_and([row.label for row in board.apart]))
        yield f"{APART} {apart} are ranked separately, because some of their scores come from another method."
    if names and board.tasks:
        yield f"Baselines that ignore the text, not ranked: {names}."


def _board_table(board: SystemBoard, wide: bool) -> Table:
    """Rank, system, leading score with its interval, and the other tasks."""
    from embassay.report.board import collect_values_and_ends

    places = [i for i, task in enumerate(board.tasks) if task.name != board.lead]
    scale = fit_axis_scale(collect_values_and_ends(row.lead for row in board.rows))
    lead = Column(f"{board.lead_title}, 95%", scale, "num")
    heads: list[str | Column] = ["Rank", "System", lead, *make_number_columns(*(board.tasks[i].short for i in places))]
    return Table.of("board", heads, (_board_row(row, places, wide) for row in board.rows), at=1)


def _board_row(row: BoardRow, places: Sequence[int], wide: bool) -> list[Said | TableCell]:
    lead = row.lead
    first = TableCell(lead.text, lead.interval, lead.exact) if lead.interval else format_value_or_state(lead)
    label = row.system.name if wide else row.label
    return [row.rank or numbers.NONE, label, first, *(format_value_or_state(row.tasks[i]) for i in places)]


def format_value_or_state(value: BoardValue) -> TableCell:
    """The value, bold if it is the best, or the word of its state."""
    if value.value is not None:
        return TableCell(value.text, exact=value.exact, bold=value.best)
    return TableCell((StyledWords(value.text, f"state {value.state.replace(' ', '-')}"),))


_FEW = 5
"""Below so many datasets Wilcoxon's test cannot reach 0.05."""


def compared_pair_view(pair: SystemPairComparison, protocol: str) -> Iterator[Block]:
    """Two systems, place by place."""
    unit = numbers.choose_measure_format_of_protocol(protocol)
    first = choose_verdict_contrast(pair.contrasts)
    claims = () if math.isnan(first.p) else (make_contrast_claim(first),)
    yield VerdictText((contrast_verdict(first, unit, pair.among),), claims=claims)
    yield _compared_pair_table(pair.contrasts, unit)
    yield BulletList(tuple(_compared_pair_notes(pair, unit)))
    yield from _show_value_of_more_items(choose_verdict_contrast(pair.contrasts), unit)


def _show_value_of_more_items(contrast: SystemContrast, unit: numbers.MeasureFormat) -> Iterator[Block]:
    """Show what more items would achieve, where the two cannot be told apart."""
    if (
        contrast.difference is None
        or math.isnan(contrast.p_adjusted)
        or contrast.p_adjusted < ALPHA
        or contrast.error <= 0
    ):
        return
    from embassay.report.notes import UndecidedDifference, undecided_outlook_table

    found = UndecidedDifference("", contrast.difference, (contrast.high - contrast.low) / 2, contrast.n, contrast.tests)
    yield ParagraphBlock("What more items like these would achieve, with the same number for each dataset:")
    yield undecided_outlook_table("What more items would achieve", "Items", [found], unit=unit)


def contrast_verdict(
    contrast: SystemContrast, unit: numbers.MeasureFormat, among: CorrectedTestOfSystemPair | None = None
) -> str:
    """The finding in a sentence: *beats* is an adjusted p below 0.05. Where the run's ranks answer otherwise, it names
    their family.

    >>> made = SystemContrast("a", "b", "sts", "", "spearman", 0.8, 0.7, 0.1, 0.05, 0.15, 0.02, 1e-6, 1e-6)
    >>> contrast_verdict(made, numbers.SCORE)
    'a beats b on sts by 0.100 (0.050–0.150), p <0.001.'
    """
    what = contrast.measure if contrast.task == "score" else contrast.task
    where = "overall" if what == "overall" else f"on {what}{f' of {contrast.dataset}' if contrast.dataset else ''}"
    if contrast.difference is None:
        return f"{contrast.a} and {contrast.b} cannot be compared {where}: {contrast.reason}."
    if math.isnan(contrast.p):
        return (
            f"{contrast.a} minus {contrast.b} {where}: {unit.change(contrast.difference)}; {contrast.reason}."
            f"{_explain_not_declared_worse(contrast)}"
        )
    claim = make_contrast_claim(contrast)
    other = _describe_differing_test_over_all_pairs(claim.relation == "beats", among)
    if claim.relation in ("beats", "higher"):
        is_up = contrast.difference >= 0
        ends = (contrast.low, contrast.high) if is_up else (-contrast.high, -contrast.low)
        size = f"{unit.text(abs(contrast.difference))} ({unit.interval(*ends)}), {_describe_p_value(contrast)}"
        if claim.relation == "beats":
            return f"{claim.subject} {VERBS['beats']} {claim.others[0]} {where} by {size}{other}."
        verb = VERBS["higher"] if is_higher_measure_better(contrast.measure) else LOWER
        return (
            f"{claim.subject} {verb} {claim.others[0]} {where} by {size}{other}.{_explain_not_declared_worse(contrast)}"
        )
    return (
        f"{claim.subject} {VERBS['level']} {claim.others[0]} {where}: the difference is "
        f"{unit.change(contrast.difference)} ({unit.interval(contrast.low, contrast.high)}), "
        f"{_describe_p_value(contrast)}{other}; detectable with 80% power: {unit.text(contrast.smallest)}."
    )


def _explain_not_declared_worse(contrast: SystemContrast) -> str:
    """Why a run that is behind is not declared worse."""
    if not contrast.judged_less:
        return ""
    return f" Fewer passages of {contrast.judged_less} are graded: {MISSING_LABELS}"


def _describe_p_value(contrast: SystemContrast) -> str:
    """p with its family, and alone where that says otherwise."""
    corrected = f"p {numbers.format_p_value(contrast.p_adjusted)}"
    if contrast.tests == 1:
        return corrected
    alone = f"; uncorrected p {numbers.format_p_value(contrast.p)}" if contrast.p < ALPHA <= contrast.p_adjusted else ""
    return f"{corrected} for {contrast.tests} tests (Holm){alone}"


def _describe_differing_test_over_all_pairs(told: bool, among: CorrectedTestOfSystemPair | None) -> str:
    if among is None or among.apart == told:
        return ""
    answer = "significant" if among.apart else "not significant"
    return f"; over all {among.pairs} pairs of the run: {answer} (p {numbers.format_p_value(among.p_adjusted)})"


def _explain_rank_tests(found: Sequence[RankedSystemGroup]) -> str:
    """By which tests ranks and groups are, and what they mean."""
    methods = list(dict.fromkeys(field.method for field in found if field.entrants and not field.reason))
    how = "; ".join(methods) or METHOD
    return (
        f"Ranks and groups: {how}; Holm over all pairs of a table, alpha 0.05. In a group, no difference is "
        "significant, which does not make systems equal. Best: the chance of being ahead of all others, by resampling."
    )


def ranked_groups_view(found: Sequence[RankedSystemGroup], protocol: str) -> Iterator[Block]:
    """All systems of each field."""
    unit = numbers.choose_measure_format_of_protocol(protocol)
    # An overall score that a run of few tasks has not must not come first.
    for field in sorted(found, key=lambda entry: not entry.entrants):
        yield VerdictText((_ranked_group_headline(field),), claims=make_first_place_claims(field))
        yield _ranked_group_table(field, unit)
        yield BulletList(tuple(_explain_missing_systems(field)))
    yield ParagraphBlock(_explain_rank_tests(found))


def _compared_pair_table(contrasts: Sequence[SystemContrast], unit: numbers.MeasureFormat) -> Table:
    first = contrasts[0]
    titles = (
        "Difference, 95%", "p, Holm", first.a, first.b, "Detectable", "n", "d_z", "p, swaps", "p, ranks"
    )  # fmt: skip
    return Table.of(
        "pair", ("Where", *make_number_columns(*titles)), ([*_contrast_row(contrast, unit)] for contrast in contrasts)
    )


def _contrast_row(contrast: SystemContrast, unit: numbers.MeasureFormat) -> Iterator[str]:
    yield f"{contrast.task} {contrast.dataset}".strip() + (f" {contrast.measure}" if contrast.task == "score" else "")
    if contrast.difference is None:
        yield from (
            "n/a",
            "n/a",
            _format_value(contrast.value_a, unit),
            _format_value(contrast.value_b, unit),
            "n/a",
            str(contrast.n),
        )
    else:
        certain = not math.isnan(contrast.p)
        change = unit.change(contrast.difference)
        yield f"{change} {unit.interval(contrast.low, contrast.high)}" if certain else change
        yield _format_p(contrast.p_adjusted)
        yield from (_format_value(contrast.value_a, unit), _format_value(contrast.value_b, unit))
        yield unit.text(contrast.smallest) if certain else "n/a"
        yield numbers.format_count(contrast.n)
    items = contrast.by_item
    if items is None:
        yield from (numbers.NONE,) * 3
        return
    yield "n/a" if math.isnan(items.effect) else numbers.format_change(items.effect, 2)
    yield _format_p(items.randomization_p)
    yield _format_p(items.wilcoxon_p)


def _compared_pair_notes(pair: SystemPairComparison, unit: numbers.MeasureFormat) -> Iterator[str]:
    how = next(filter(None, (contrast.method for contrast in pair.contrasts)), "")
    test = f"{how}{_say_degrees_of_freedom(pair)}" if how else "no test"
    yield f"Differences are first minus second; {test}. {_say_rows_corrected_together(pair)}"
    yield ("Detectable: the smallest true difference that this test, with its correction, finds with 80% power at 5%.")
    if pair.among is not None:
        apart = "tell" if pair.among.apart else "do not tell"
        yield (
            f"The run's ranks test all {pair.among.pairs} pairs (Holm): they {apart} the two apart, "
            f"p {numbers.format_p_value(pair.among.p_adjusted)}."
        )
    if any(contrast.by_item for contrast in pair.contrasts):
        yield (
            "If a headline is a mean over items, d_z is the mean difference in standard deviations, and p comes from a "
            "permutation test and from a Wilcoxon signed-rank test (not corrected)."
        )
    if not pair.pairing.paired:
        yield f"The runs are not paired ({pair.pairing.reason}), so their errors add up and items are not compared."
    for contrast in pair.contrasts:
        if contrast.reason:
            yield f"{contrast.task} {contrast.dataset}".strip() + f": {contrast.reason}."
    for several in pair.across:
        yield _say_shift_across_datasets(several, unit)


def _say_rows_corrected_together(pair: SystemPairComparison) -> str:
    """Which rows are corrected together."""
    tested = [contrast for contrast in pair.contrasts if not math.isnan(contrast.p)]
    parts = {bool(contrast.dataset): contrast.tests for contrast in tested if contrast.task != OVERALL}
    notes = ["overall is tested separately"] if any(contrast.task == OVERALL for contrast in tested) else []
    for of_dataset, noun in ((False, "part"), (True, "dataset")):
        many = parts.get(of_dataset, 0)
        notes += [f"p of the {many} {noun}s is Holm-corrected"] if many > 1 else []
    text = "; ".join(notes)
    return f"{text[:1].upper()}{text[1:]}." if text else "Nothing is corrected."


def _say_degrees_of_freedom(pair: SystemPairComparison) -> str:
    """How many degrees of freedom the tests have, those of few items the fewest."""
    measured = [row.df for row in pair.contrasts if math.isfinite(row.df) and not math.isnan(row.p)]
    if not measured:
        return ""
    low, high = (f"{end:.0f}" for end in (min(measured), max(measured)))
    return f", {low} degrees of freedom" if low == high else f", {low} to {high} degrees of freedom"


def _say_shift_across_datasets(across: DifferenceAcrossDatasets, unit: numbers.MeasureFormat) -> str:
    text = (
        f"{across.task} over {across.datasets} datasets: shift {unit.change(across.shift.point)} (Hodges-Lehmann), "
        f"Wilcoxon p {_format_p(across.test.p)}"
    )
    if across.mean.low is not None:
        text += f"; the mean for further datasets is {unit.interval(*across.mean.ends)}"
    return text + (f". {across.datasets} datasets cannot reach p 0.05." if across.datasets <= _FEW else ".")


def _ranked_group_headline(field: RankedSystemGroup) -> str:
    where = field.task if not field.dataset else f"{field.task}, {field.dataset}"
    title = where if field.measure == field.task else f"{where}: {field.measure}"
    claims = make_first_place_claims(field)
    if field.group:
        title += f" ({field.group})"
    if not claims:
        return f"{title}. No ranks: {field.reason or 'no system has a value'}."
    if len(claims) == 1:
        return f"{title}. {convert_sentence_to_text(describe_first_ranked(claims, str, ''))}."
    names = [claim.subject for claim in claims]
    return (
        f"{title}. {', '.join(names[:-1])} and {names[-1]} may be first{describe_leaders_beating_baselines(claims[0])}."
    )


def _ranked_group_table(field: RankedSystemGroup, unit: numbers.MeasureFormat) -> Table:
    heads: list[str | Column] = [
        "Rank",
        "System",
        *make_number_columns("Value, 95%", "Best"),
        "Group",
        *make_number_columns("n"),
    ]
    # The same claims as in the heading: a system under a reference is not marked there either.
    first = {claim.subject for claim in make_first_place_claims(field)}
    rows = (_ranked_group_row(field, place, unit, first) for place in range(len(field.entrants)))
    return Table.of("field", heads, rows, at=1)


def _ranked_group_row(
    field: RankedSystemGroup, place: int, unit: numbers.MeasureFormat, first: Container[str]
) -> list[Said | TableCell]:
    """Bold: who may be first."""
    entrant = field.entrants[place]
    letters = [chr(ord("a") + i % 26) for i, (low, high) in enumerate(field.groups) if low <= place <= high]
    return [
        _format_entrant_rank(entrant), entrant.system,
        TableCell(_format_system_score_with_interval(entrant, unit), bold=entrant.system in first),
        numbers.NONE if entrant.best is None else numbers.format_percent(entrant.best), "".join(letters),
        numbers.format_count(entrant.n)
    ]  # fmt: skip


def _explain_missing_systems(field: RankedSystemGroup) -> Iterable[str]:
    return [f"{system} has no value: {reason}." for system, reason in field.missing]


def _format_entrant_rank(entrant: SystemRankAtPlace) -> str:
    if entrant.rank_low is None or entrant.rank_high is None:
        return numbers.NONE
    return numbers.format_rank_range(entrant.rank_low, entrant.rank_high)


def _format_system_score_with_interval(entrant: SystemRankAtPlace, unit: numbers.MeasureFormat) -> str:
    text = unit.text(entrant.point)
    return text if entrant.low is None else f"{text} {unit.interval(*entrant.ends)}"


def _format_value(value: float | None, unit: numbers.MeasureFormat) -> str:
    return "n/a" if value is None else unit.text(value)


def _format_p(p: float) -> str:
    return "n/a" if math.isnan(p) else numbers.format_p_value(p)


def gate_verdicts_view(verdicts: Sequence[ThresholdVerdict], judge: Sequence[str] = ()) -> Iterator[Block]:
    """The verdicts, a row each, why one has none, and where the `judge` is off."""
    yield VerdictText((f"{describe_threshold_verdict_counts(verdicts)}.",), claims=make_bar_verdict_claims(verdicts))
    heads: list[str | Column] = ["Threshold", "Verdict", *make_number_columns("Value, 95%", "n")]
    stops = {True: "state failed", False: ""}
    rows: list[list[Said | TableCell]] = [
        [
            row.bar,
            TableCell(describe_gate_verdict(row), style=stops[row.stops]),
            format_verdict_value(row),
            numbers.format_count(row.n),
        ]
        for row in verdicts
    ]
    yield Table.of("gate", heads, rows)
    yield BulletList((*_iterate_threshold_verdict_notes(verdicts), *judge))


def gateable_scores_view(scores: Sequence[tuple[str, ResultRow]]) -> Iterator[Block]:
    """Show the scores that a threshold can be on, a row each."""
    rows: list[list[Said | TableCell]] = []
    for name, row in scores:
        unit = numbers.choose_measure_format_of_protocol(row.protocol)
        value = "n/a" if row.value is None else unit.text(row.value)
        ends = ""
        if row.ci_low is not None and row.ci_high is not None:
            ends = f" {unit.interval(row.ci_low, row.ci_high)}"
        rows.append([name, f"{value}{ends}", numbers.format_count(row.n)])
    yield Table.of("gate", ["Threshold on", *make_number_columns("Value, 95%", "n")], rows)
    yield ParagraphBlock(("Add a limit to the name, such as >=0.45 or <=0.3@upper. Other measures and tasks: -m, -t.",))


def _iterate_threshold_verdict_notes(verdicts: Sequence[ThresholdVerdict]) -> Iterator[str]:
    yield from (f"{verdict.bar}: {verdict.reason}." for verdict in verdicts if verdict.reason)
    if any(verdict.near for verdict in verdicts):
        yield "Near: the threshold is inside the interval, so another sample could give another verdict."
    yield from (f"{verdict.bar}: {told}." for verdict in verdicts if (told := describe_gain_of_more_items(verdict)))
    reasons = dict.fromkeys(verdict.unpaired for verdict in verdicts if verdict.unpaired)
    yield from (f"Unpaired ({reason}): {UNPAIRED}." for reason in reasons)
