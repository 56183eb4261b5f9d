"""The probes: what both share, on a terminal and on cards, and the page of noise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

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
    Sentence,
    StyledBlockGroup,
    TabbedBlocks,
    Table,
    TableCell,
    VerdictText,
    file_tables,
    make_number_columns,
    make_result_cell,
)
from embassay.document.marks import fit_axis_scale
from embassay.document.plots import MOST_LINES, NamedPlotLine, draw_line_chart
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.claims import Claim, make_change_claim, make_count_claim
from embassay.protocols.kernel.tables import SCORE, MeasureFormat
from embassay.protocols.rag.probes import names, noise, signatures
from embassay.protocols.rag.probes.bundles import CONDITIONS
from embassay.protocols.rag.probes.names import HEADLINE, PERCENT
from embassay.protocols.rag.probes.noise import ACROSS, COSINE, OVERLAP, RECOVERED, SHARE, TAU
from embassay.protocols.rag.probes.noise import HEADLINE as LOSS
from embassay.protocols.rag.probes.options import BASE
from embassay.protocols.rag.probes.questions import LEVELS, NOISIEST, name_noise_level
from embassay.protocols.rag.probes.resampling import MEASURES, RECALL
from embassay.records import ResultRow
from embassay.report.board import SystemBoard
from embassay.report.cards.findings import (
    SystemFinding,
    format_percent_with_interval,
    format_result_with_interval,
    keep_rows_with_value,
    make_finding,
)
from embassay.report.notes import list_run_notes, show_gravest_notes
from embassay.report.overview import run_verdict
from embassay.report.record import RunRecord, SystemOfRun, read_run_record, shorten_names_to_labels
from embassay.report.runs import ReportRun, attach_boards_to_records
from embassay.report.terminal import say_where_report_is

LANGUAGES = {"en": "English", "fr": "French"}


@dataclass(frozen=True)
class ProbeResultLookup:
    """A record of a probe, by system and dataset."""

    record: RunRecord

    @cached_property
    def task(self) -> str:
        return self.record.kind

    @cached_property
    def datasets(self) -> tuple[tuple[str, str], ...]:
        """Name and language of each dataset that has rows, in the order of the run."""
        langs = {row.dataset: row.lang for row in self.record.rows.values()}
        return tuple((name, langs[name]) for name in self.record.datasets(self.task) if name in langs)

    @cached_property
    def systems(self) -> tuple[SystemOfRun, ...]:
        return self.record.systems

    @cached_property
    def labels(self) -> dict[str, str]:
        """System -> what it is called where there is little room."""
        return self.record.system_labels

    def format_dataset_name(self, dataset: str, lang: str) -> str:
        """What a dataset is called: by its language where that tells it apart."""
        bare = {name: name.rpartition("-")[0] for name, _ in self.datasets if name.endswith(f"-{lang}")}
        return LANGUAGES.get(lang, lang) if bare.get(dataset) in ("bundled", "own") else dataset

    def iterate_measured_dataset_systems(self) -> Iterator[tuple[str, str, SystemOfRun]]:
        """Dataset, what it is called, and system: all that has a headline row."""
        for dataset, lang in self.datasets:
            for system in self.systems:
                if any(key[1] == dataset and key[4] == system.name for key in self._keys_of_rows_with_value):
                    yield dataset, self.format_dataset_name(dataset, lang), system

    @cached_property
    def rewriters(self) -> tuple[str, ...]:
        """The rewriters of a noise probe, in order."""
        names = (key[3].partition(":")[2] for key in self.record.rows if key[3].startswith("level="))
        return tuple(dict.fromkeys(name for name in names if name))

    def find(self, dataset: str, system: str, variant: str, measure: str) -> ResultRow | None:
        """The row of these keys, or None."""
        return self.record.find(self.task, system, measure, dataset=dataset, variant=variant)

    def value(self, dataset: str, system: str, variant: str, measure: str) -> float | None:
        """The value of the row with these keys, or None."""
        row = self.find(dataset, system, variant, measure)
        return None if row is None else row.value

    @cached_property
    def _keys_of_rows_with_value(self) -> tuple[tuple[str, ...], ...]:
        return tuple(key for key, row in self.record.rows.items() if row.value is not None)


CORRELATION = MeasureFormat(1.0, 2, 2)
KIND = "Spearman"


def change_correlation_table(where: ProbeResultLookup, of: str, variants: tuple[tuple[str, str], ...]) -> Table | None:
    """Spearman's correlation of the change of `of` with that of each retrieval measure, a row per system, dataset and
    variant (its name and what it is called); None where there is none."""
    lines = []
    for dataset, named, system in where.iterate_measured_dataset_systems():
        for variant, words in variants:
            rows = [
                where.find(dataset, system.name, variant, f"{KIND}({of} change, {measure} change)")
                for measure in MEASURES
            ]
            if any(row is not None for row in rows):
                cells = tuple(make_result_cell(row, CORRELATION, signed=True) for row in rows)
                lines.append(LabelledTableRow(f"{where.labels[system.name]}, {named}, {words}", cells, system.kind))
    if not any(cell.exact for line in lines for cell in line.entries):
        return None
    columns = tuple(f"{measure}" for measure in MEASURES)
    return Table(f"{where.task}-links", f"Correlation with the change of {of}", "Over", columns, tuple(lines))


def iterate_name_ablation_recall_tables(record: RunRecord) -> Iterator[Table]:
    """For each collection that a name probe signed: the recall of every system, and its change under each ablation."""
    task = signatures.TASK
    called = record.system_labels
    for place, dataset in enumerate(record.datasets(task)):
        lines = []
        for name in CONDITIONS:
            is_base = name == BASE
            measure, variant = (RECALL, "") if is_base else (f"{RECALL} change", name)
            rows = [
                record.find(task, system.name, measure, dataset=dataset, variant=variant) for system in record.systems
            ]
            if any(row is not None for row in rows):
                cells = tuple(make_result_cell(row, SCORE, signed=not is_base) for row in rows)
                lines.append(LabelledTableRow(name.replace("_", " "), cells, title=CONDITIONS[name].summary))
        columns = tuple(called[system.name] for system in record.systems)
        title = f"{RECALL} in {dataset}, and its change by ablation"
        yield Table(f"name-losses-{place}", title, "Condition", columns, tuple(lines), digits=3)


PERCENTS = MeasureFormat(1.0, 1, 1)


def iterate_probe_terminal_blocks(run: Path) -> Iterator[Block]:
    """Show a probe on a terminal; DataError when the folder holds no run."""
    shown = attach_boards_to_records((read_run_record(run),))[0]
    here = ProbeResultLookup(shown.record)
    yield run_verdict(shown)
    yield _name_margins_table(here) if here.task == names.TASK else _noise_by_rewriter_table(here)
    for table in iterate_name_ablation_recall_tables(here.record):
        yield ParagraphBlock(f"{table.title}:")
        yield table
    yield CautionNotes(tuple(note.plain for note in list_run_notes(shown.record)))
    yield ParagraphBlock(("Tables: ", CommandInSentence(str(run / "tables"))))
    yield from say_where_report_is(run)


def _name_margins_table(where: ProbeResultLookup) -> Table:
    """A row per system and language: base margin with interval, name/topic, percent under each ablation."""
    asked = [
        name
        for name in CONDITIONS
        if any(
            where.find(dataset, system.name, name, names.PERCENT)
            for dataset, _, system in where.iterate_measured_dataset_systems()
        )
    ]
    heads: list[str | Column] = [
        "System",
        "Lang",
        *make_number_columns("Margin, 95%", "/topic", *map(_shorten_condition_name, asked)),
    ]
    rows = []
    for dataset, named, system in where.iterate_measured_dataset_systems():
        ratio = where.value(dataset, system.name, "", names.RATIO)
        percents = (where.value(dataset, system.name, name, names.PERCENT) for name in asked)
        rows.append(
            [
                where.labels[system.name], named,
                _format_with_interval(where.find(dataset, system.name, "", names.HEADLINE)),
                "n/a" if ratio is None else SCORE.text(ratio),
                *("n/a" if percent is None else f"{numbers.format_change(percent, 0)}%" for percent in percents),
            ]
        )  # fmt: skip
    return Table.of("names", heads, rows)


def _shorten_condition_name(condition: str) -> str:
    """Shorten a condition's name to its first word that says what is done.

    >>> (_shorten_condition_name("hard_name_mask"), _shorten_condition_name("gibberish_name"),
    ... _shorten_condition_name("edit_distance_near_miss"))
    ('mask', 'gibberish', 'near miss')
    """
    return _SHORT[condition]


_SHORT = {
    "hard_name_mask": "mask", "gibberish_name": "gibberish", "edit_distance_near_miss": "near miss",
    "remove_label": "label", "strip_diacritics": "accents", "initials_form": "initials",
    "name_order_inversion": "order", "case_punct_perturb": "case", "author_position_shift": "position",
    "unicode_normalization_stress": "unicode"
}  # fmt: skip


def _noise_by_rewriter_table(where: ProbeResultLookup) -> Table:
    """A row per system and dataset, as asked and after each rewriter."""
    titles = ("Level 0", f"Level {NOISIEST}", "Drop, 95%", "Drop %", "Recovered", RECALL, "Change, 95%")
    return Table.of("noise", ("System", "Data", "Wording", *make_number_columns(*titles)), _noise_rows(where))


def _noise_rows(where: ProbeResultLookup) -> Iterator[list[str]]:
    called = shorten_names_to_labels(where.rewriters)
    for dataset, named, system in where.iterate_measured_dataset_systems():
        for rewriter in ("", *where.rewriters):
            clean, noisy = name_noise_level(0, rewriter), name_noise_level(NOISIEST, rewriter)
            values = [
                where.value(dataset, system.name, *key)
                for key in (
                    (clean, COSINE),
                    (noisy, COSINE),
                    (noisy, noise.SHARE),
                    (noisy, noise.RECOVERED),
                    (noisy, RECALL),
                )
            ]
            first, last, share, back, recall = values
            yield [
                where.labels[system.name], named, called.get(rewriter, "as asked"), _format_score_if_known(first),
                _format_score_if_known(last),
                _format_with_interval(where.find(dataset, system.name, noisy, noise.HEADLINE)),
                "n/a" if share is None else PERCENTS.text(share), _format_score_if_known(back) if rewriter else "",
                _format_score_if_known(recall),
                _format_with_interval(where.find(dataset, system.name, noisy, f"{RECALL} change"), signed=True)
            ]  # fmt: skip


def _format_score_if_known(value: float | None) -> str:
    return "n/a" if value is None else SCORE.text(value)


def _format_with_interval(row: ResultRow | None, *, signed: bool = False) -> str:
    if row is None or row.value is None:
        return "n/a"
    text = SCORE.change(row.value) if signed else SCORE.text(row.value)
    ends = "" if row.ci_low is None or row.ci_high is None else f" {SCORE.interval(row.ci_low, row.ci_high)}"
    return text + ends


MASK = "hard_name_mask"
"""The ablation that takes all of the margin by definition."""


def find_name_probe_strengths(run: ReportRun, system: str) -> Iterator[SystemFinding]:
    """Find a system's strength in a name probe: that the right passage stays ahead of impostors."""
    where = ProbeResultLookup(run.record)
    rows = _list_probe_results_over_datasets(where, system, "", HEADLINE)
    if rows and all(row.ci_low is not None and row.ci_low > 0 for row in rows):
        least = min(rows, key=lambda row: row.value or 0.0)
        yield make_finding(
            run,
            f"separates the right name from impostors by {format_result_with_interval(least)}"
            f"{_say_in_which_dataset(where, least)}",
            weight=1,
        )


def find_name_probe_weaknesses(run: ReportRun, system: str) -> Iterator[SystemFinding]:
    """The language with the least margin where it can be 0, and the ablation that takes most."""
    where = ProbeResultLookup(run.record)
    rows = _list_probe_results_over_datasets(where, system, "", HEADLINE)
    unsure = [row for row in rows if row.ci_low is not None and row.ci_low <= 0]
    if unsure:
        least = min(unsure, key=lambda row: row.value or 0.0)
        yield make_finding(
            run,
            f"is not shown to separate the right name from impostors{_say_in_which_dataset(where, least)}: "
            f"{format_result_with_interval(least)}",
            weight=3,
        )
    lost = [
        row
        for name in CONDITIONS
        if name != MASK
        for row in _list_probe_results_over_datasets(where, system, name, PERCENT)
        if _is_surely_below_zero(row)
    ]
    if lost:
        most = min(lost, key=lambda row: row.value or 0.0)
        clause = (
            f"shows a change of {format_percent_with_interval(most, PERCENTS)} in its name margin under "
            f"the ablation “{most.variant.replace('_', ' ')}”{_say_in_which_dataset(where, most)}"
        )
        yield make_finding(run, clause, weight=1, place="names-ablations")


def find_noise_probe_weaknesses(run: ReportRun, system: str) -> Iterator[SystemFinding]:
    """What the noisiest questions take of its similarity, and of recall where that can be told from 0."""
    where = ProbeResultLookup(run.record)
    drops = [
        row
        for row in _list_probe_results_over_datasets(where, system, "", SHARE)
        if row.ci_low is not None and row.ci_low > 0
    ]
    if drops:
        most = max(drops, key=lambda row: row.value or 0.0)
        lost = format_percent_with_interval(most, PERCENTS)
        place = _say_in_which_dataset(where, most)
        clause = f"loses {lost} of a question's similarity to its meaning because of small talk{place}"
        yield make_finding(run, clause, weight=2, place="noise-levels")
    recall = [
        row
        for row in _list_probe_results_over_datasets(where, system, name_noise_level(NOISIEST), f"{RECALL} change")
        if _is_surely_below_zero(row)
    ]
    if recall:
        most = min(recall, key=lambda row: row.value or 0.0)
        yield make_finding(
            run, f"shows a change of {format_result_with_interval(most)} in {RECALL} under "
            f"small talk{_say_in_which_dataset(where, most)}", weight=3, place="noise-retrieval"
        )  # fmt: skip


def _list_probe_results_over_datasets(
    where: ProbeResultLookup, system: str, variant: str, measure: str
) -> list[ResultRow]:
    return keep_rows_with_value([where.find(dataset, system, variant, measure) for dataset, _ in where.datasets])


def _is_surely_below_zero(row: ResultRow) -> bool:
    return row.ci_high is not None and row.ci_high < 0


def _say_in_which_dataset(where: ProbeResultLookup, row: ResultRow) -> str:
    said = {name: where.format_dataset_name(name, lang) for name, lang in where.datasets}
    return f" in {said.get(row.dataset, row.dataset)}" if len(said) > 1 else ""


def noise_page(run: ReportRun, alone: bool) -> Iterator[Block]:
    """Build the page of a noise probe; of several runs its first charts and measure."""
    where, arguments = ProbeResultLookup(run.record), run.record.arguments
    yield _noise_facts(where)
    yield noise_verdict(run.record, run.board)
    if drawn := tuple(draw_similarity_by_noise_level(where))[: None if alone else 2]:
        yield Heading("Similarity to the meaning, by level of noise", "noise-levels")
        yield ParagraphBlock(
            "Level 0: no noise; 1: a greeting; 2: also filler; 3: also polite phrases and a digression; 4: greeting, "
            "apology, context, hedging and emoji. The question itself is unchanged. Band: 95%."
        )
        yield StyledBlockGroup("two", drawn)
    yield noise_drops_table(where)
    yield ParagraphBlock(
        "Rows with a rewriter’s name: after rewriting. Recovered: the share of the drop that the rewriter recovers; 1 "
        "means all of it. A lexical metric’s similarity grows with question length: check its retrieval instead."
    )
    yield from _retrieval_loss_blocks(tuple(_make_retrieval_change_tables(where))[: None if alone else 1])
    measured = ((name_noise_level(NOISIEST), f"queries, level {NOISIEST}"), (ACROSS, "all levels"))
    if alone and (table := change_correlation_table(where, COSINE, measured)):
        yield table
        yield ParagraphBlock(
            "Spearman’s correlation over queries, or over levels (questions as asked and as rewritten). Above 0: what "
            "lowers a question’s similarity also makes retrieval worse. n/a: nothing changes."
        )
    yield ParagraphBlock(
        "Intervals: 95%, bootstrap over queries with all their runs, corrected for bias and small samples, "
        f"{numbers.format_count(arguments.get('resamples', 0))} resamples, seed {arguments.get('seed')}."
    )


def _retrieval_loss_blocks(tables: Sequence[Table]) -> Iterator[Block]:
    if tables:
        yield Heading("What retrieval loses", "noise-retrieval")
        yield ParagraphBlock(
            "Change from the clean question, paired by query, with its 95% interval; p from the paired bootstrap. "
            "Overlap and τ-b: how many of the clean question’s first 10 results remain, and in what order."
        )
        yield TabbedBlocks("Measure", tuple((table.title, (table,)) for table in tables))


def noise_verdict(record: RunRecord, _: SystemBoard) -> VerdictText:
    """How much of the similarity the noisiest questions lose, and how much comes back."""
    where = ProbeResultLookup(record)
    lost = _list_system_values_of_measure(where, "", SHARE)
    if not lost:
        return VerdictText(("No drop has been measured yet.",))
    lowered = make_count_claim("lowered", sum(share > 0 for share in lost), len(lost))
    recovered, recall = _make_recovered_share_claims(where), _make_recall_change_claims(where)
    lede = (*_say_recovered_share(where, recovered), *_say_recall_changes(where, recall))
    return VerdictText((_describe_similarity_lost_to_small_talk(lowered, lost),), lede, (lowered, *recovered, *recall))


def _describe_similarity_lost_to_small_talk(claim: Claim, lost: list[float]) -> str:
    if claim.n == claim.of:
        return f"Small talk lowers the similarity to a question's meaning by {_format_percent_range(lost)}"
    if not claim.n:
        return "Small talk does not lower the similarity to a question's meaning"
    return "Small talk lowers the similarity for some systems, but not for all"


def _make_recovered_share_claims(where: ProbeResultLookup) -> tuple[Claim, ...]:
    """The least and the most that each rewriter brings back of the drop, of embedding models."""
    spreads = {
        rewriter: _list_system_values_of_measure(
            where, name_noise_level(NOISIEST, rewriter), RECOVERED, embeddings=True
        )
        for rewriter in where.rewriters
    }
    return tuple(
        Claim(rewriter, "is", RECOVERED, low=min(back), high=max(back)) for rewriter, back in spreads.items() if back
    )


def _say_recovered_share(where: ProbeResultLookup, claims: Sequence[Claim]) -> Iterator[Sentence]:
    called = shorten_names_to_labels(where.rewriters)
    for claim in claims:
        low, high = (numbers.format_percent(end or 0.0) for end in (claim.low, claim.high))
        share = low if low == high else f"{low} to {high}"
        yield (f"Rewriting by {called[claim.subject]} recovers {share} of that loss for embedding models.",)


def _make_recall_change_claims(where: ProbeResultLookup) -> tuple[Claim, ...]:
    """How recall changes at the noisiest level, of every system and dataset, most lost first."""
    claims = [
        make_change_claim(system.name, f"{RECALL} change", row.value, row.ci_low, row.ci_high, kind=named)
        for dataset, named, system in where.iterate_measured_dataset_systems()
        if (row := where.find(dataset, system.name, name_noise_level(NOISIEST), f"{RECALL} change")) is not None
        and row.value is not None
    ]
    return tuple(sorted(claims, key=lambda claim: claim.value or 0.0))


def _say_recall_changes(where: ProbeResultLookup, claims: Sequence[Claim]) -> Iterator[Sentence]:
    """Whose recall surely falls most; that no fall is sure; or that there is none."""
    if not claims:
        return
    sure = [claim for claim in claims if claim.relation == "falls"]
    if sure:
        most = sure[0]
        by = SCORE.text(-(most.value or 0.0))
        who = "falls most" if most is claims[0] else "certainly falls"
        yield (f"{RECALL} {who} for {where.labels[most.subject]} on {most.kind}, by {by}.",)
    elif (claims[0].value or 0.0) < 0:
        yield (f"No drop in {RECALL} is distinguishable from 0.",)
    else:
        yield (f"{RECALL} does not fall.",)


def _list_system_values_of_measure(
    where: ProbeResultLookup, variant: str, measure: str, *, embeddings: bool = False
) -> list[float]:
    """The measure's values over systems and datasets; of embedding models alone where there are any."""
    values = [
        (system.kind, value)
        for dataset, _, system in where.iterate_measured_dataset_systems()
        if (value := where.value(dataset, system.name, variant, measure)) is not None
    ]
    of_models = [value for kind, value in values if kind == "embedding"]
    return of_models or ([] if embeddings else [value for _, value in values])


def _format_percent_range(percents: list[float]) -> str:
    low, high = f"{min(percents):.0f}", f"{max(percents):.0f}"
    return f"{low}%" if low == high else f"{low}% to {high}%"


def noise_drops_table(where: ProbeResultLookup) -> Table:
    """A row per system, dataset and rewriter: what is lost at the noisiest level, and what comes back."""
    lines, called = [], shorten_names_to_labels(where.rewriters)
    for dataset, named, system in where.iterate_measured_dataset_systems():
        for rewriter in ("", *where.rewriters):
            variant = name_noise_level(NOISIEST, rewriter)
            cells = [
                make_result_cell(where.find(dataset, system.name, name_noise_level(0, rewriter), COSINE), SCORE),
                make_result_cell(where.find(dataset, system.name, variant, COSINE), SCORE),
                make_result_cell(where.find(dataset, system.name, variant, LOSS), SCORE),
                make_result_cell(where.find(dataset, system.name, variant, SHARE), PERCENTS),
                make_result_cell(where.find(dataset, system.name, variant, RECOVERED), SCORE)
                if rewriter
                else TableCell(numbers.NONE, why="as asked"),
            ]
            label = f"{where.labels[system.name]}, {named}" + (f", {called[rewriter]}" if rewriter else "")
            lines.append(LabelledTableRow(label, tuple(cells), system.kind))
    columns = ("Level 0", f"Level {NOISIEST}", "Drop", "Drop, percent", "Recovered")
    return Table("drops", "Drop and recovery", "System", columns, tuple(lines), digits=3)


def _make_retrieval_change_tables(where: ProbeResultLookup) -> Iterator[Table]:
    """A table per measure: clean, noisy and rewritten at the noisiest level, with the change against the clean."""
    called = shorten_names_to_labels(where.rewriters)
    for place, measure in enumerate(MEASURES):
        lines = []
        for dataset, said, system in where.iterate_measured_dataset_systems():
            clean = where.find(dataset, system.name, name_noise_level(0), measure)
            if clean is None:
                continue
            for rewriter in ("", *where.rewriters):
                variant = name_noise_level(NOISIEST, rewriter)
                p = where.value(dataset, system.name, variant, f"p({measure} change)")
                cells = (
                    make_result_cell(clean, SCORE),
                    make_result_cell(where.find(dataset, system.name, variant, measure), SCORE),
                    make_result_cell(
                        where.find(dataset, system.name, variant, f"{measure} change"), SCORE, signed=True
                    ),
                    TableCell("n/a", why="no paired change")
                    if p is None
                    else TableCell(numbers.format_p_value(p), "", f"{p:.6g}"),
                    make_result_cell(where.find(dataset, system.name, variant, OVERLAP), SCORE),
                    make_result_cell(where.find(dataset, system.name, variant, TAU), SCORE),
                )
                label = f"{where.labels[system.name]}, {said}" + (f", {called[rewriter]}" if rewriter else "")
                lines.append(LabelledTableRow(label, cells, system.kind))
        if lines:
            columns = ("Clean", f"Level {NOISIEST}", "Change", "p", "Overlap@10", "τ-b")
            yield Table(f"noise-retrieval-{place}", measure, "System", columns, tuple(lines), digits=3)


def _noise_facts(where: ProbeResultLookup) -> PageFactsLine:
    counts = {row.dataset: row.n for key, row in where.record.rows.items() if key[5] == LOSS and not key[3]}
    queries = ", ".join(
        f"{where.format_dataset_name(dataset, lang)} {numbers.format_noun_count(counts.get(dataset, 0), 'query')}"
        for dataset, lang in where.datasets
    )
    runs = where.record.arguments.get("runs", 0)
    return PageFactsLine.of(
        "noise", "RAG, noise probe", numbers.format_noun_count(len(where.systems), "system"), queries,
        f"{numbers.format_noun_count(runs, 'draw')} of small talk"
    )  # fmt: skip


CHARTS = 4


def draw_similarity_by_noise_level(where: ProbeResultLookup) -> Iterator[Figure]:
    """A drawing per dataset: the systems as asked; with one or two systems, as rewritten too."""
    for dataset, lang in where.datasets[:CHARTS]:
        series = _noise_curve_series(where, dataset)
        if not series:
            continue
        ends = [
            end for line in series[:MOST_LINES] for _, row in line.points
            for end in (row.value, row.ci_low, row.ci_high) if end is not None
        ]  # fmt: skip
        ticks = [(level / NOISIEST, str(level)) for level in range(len(LEVELS))]
        words = "; ".join(
            f"{one.name} from {_format_point_value(one, 0)} to {_format_point_value(one, -1)}"
            for one in series[:MOST_LINES]
        )
        name = where.format_dataset_name(dataset, lang)
        more = f"{len(series) - MOST_LINES} more in the table" if len(series) > MOST_LINES else ""
        yield Figure(
            name, draw_line_chart(series, ticks, fit_axis_scale(ends), "Level of noise"), f"{name}: {words}.", more
        )


def _format_point_value(series: NamedPlotLine, place: int) -> str:
    return SCORE.text(series.points[place][1].value or 0.0)


def _noise_curve_series(where: ProbeResultLookup, dataset: str) -> list[NamedPlotLine]:
    systems = [system for system in where.systems if where.value(dataset, system.name, "", LOSS) is not None]
    models = [system for system in systems if system.kind == "embedding"] or systems
    ways = ("", *where.rewriters[:1]) if len(models) <= 2 else ("",)
    called = shorten_names_to_labels(where.rewriters)
    return [
        NamedPlotLine(where.labels[system.name] + (f", {called[way]}" if way else ""), points, system.kind)
        for way in ways
        for system in models
        if (points := tuple(_list_noise_level_points(where, dataset, system, way)))
    ]


def _list_noise_level_points(
    where: ProbeResultLookup, dataset: str, system: SystemOfRun, rewriter: str
) -> Iterator[tuple[float, ResultRow]]:
    for level in range(len(LEVELS)):
        row = where.find(dataset, system.name, name_noise_level(level, rewriter), COSINE)
        if row is not None and row.value is not None:
            yield level / NOISIEST, row


def passage_versions_verdict(record: RunRecord, _: SystemBoard) -> VerdictText:
    """How often the current passage ranks first, by system, and what the two remedies make of it."""
    names = [system.name for system in record.list_non_reference_systems]
    first = _find_shares_of_current_passage_first(record, names, "")
    if not first:
        return VerdictText(("No question's results contain either version.",))
    claims = tuple(
        Claim(name, "is", "current_first", value=row.value, low=row.ci_low, high=row.ci_high)
        for name, row in first.items()
    )
    heading = f"The current passage ranks above its old version for {_format_share_range(first)} of the questions"
    remedies = {"recency": "the newest near-duplicate first", "deduplicated": "near-duplicates listed once"}
    after = {said: _find_shares_of_current_passage_first(record, names, remedy) for remedy, said in remedies.items()}
    lede = tuple(f"With {said}, it does so for {_format_share_range(rows)}." for said, rows in after.items() if rows)
    return VerdictText((heading,), ((" ".join(lede),),) if lede else (), claims)


def _format_share_range(rows: Mapping[str, ResultRow]) -> str:
    return _format_percent_range([100 * row.value for row in rows.values() if row.value is not None])


def _find_shares_of_current_passage_first(record: RunRecord, names: Sequence[str], remedy: str) -> dict[str, ResultRow]:
    """System -> how often the current passage is first, on the first dataset of the run."""
    dataset = next(iter(record.datasets("versions")), "")
    rows = {name: record.find("versions", name, "current_first", dataset=dataset, variant=remedy) for name in names}
    return {name: row for name, row in rows.items() if row is not None and row.value is not None}


def passage_versions_page(run: ReportRun, alone: bool) -> Iterator[Block]:
    """The page of a probe of versions: what ranks first, by remedy and by change, and copies."""
    del alone
    yield passage_versions_verdict(run.record, run.board)
    yield from show_gravest_notes(list_run_notes(run.record), run.mark)
    yield ParagraphBlock(
        "A text does not show which of two versions is current, so a search that ignores dates ranks the current one "
        "first half of the time: 0.5 is chance. Recency puts the newest near-duplicate first; deduplication "
        "keeps only the best-ranked one, which may be old."
    )
    for name in ("versions_remedies", "versions_changes", "versions_copies"):
        for table in file_tables(run.record.path, name):
            yield Heading(table.title, table.id)
            yield table
