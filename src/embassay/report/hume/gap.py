"""The page of HUME: people and models on the same items, and how far to trust either; and people on a system's card."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import starmap

from embassay.document.blocks import (
    Block,
    Table,
    VerdictText,
    convert_sentence_to_text,
    file_tables,
    join_names_with_and,
)
from embassay.protocols.hume.record import (
    DatasetLanguageRecord,
    Summary,
    SystemScore,
    read_summary,
    read_tasks_divided_with_llm,
)
from embassay.protocols.hume.results.markdown import POINTS, describe_kind_of_answerers
from embassay.protocols.kernel import tables as numbers
from embassay.report.board import TOP, SystemBoard
from embassay.report.cards.findings import SystemFinding, make_finding
from embassay.report.hume.agreement import (
    AgreementTable,
    AnnotatorTable,
    DisputedItemsOfDataset,
    FamilyDifficulties,
    HumanScoreByConventionTable,
    LeadByAgreementScatter,
    LowAgreementDatasetLanguage,
    annotators_table,
    find_low_agreement_datasets,
    list_disputed_items_by_pair,
    make_dataset_agreement_table,
    plot_model_lead_by_agreement,
    rate_dataset_difficulty_for_humans,
    scores_by_convention_table,
)
from embassay.report.hume.conclusions import describe_hume_verdict, view_items_divided_between_llm_people
from embassay.report.hume.differences import (
    HumanCeilingTable,
    HumanDifferencesByDatasetLanguage,
    HumanGapChart,
    HumanWinPanel,
    RankedPlaceGroups,
    SystemDifferencesOnPair,
    build_human_gap_charts,
    human_win_panels,
    make_outlook_table_of_undecided_pairs,
    make_pair_difference_plots,
    make_people_and_models_rank_chart,
    merge_pair_difference_plots,
    score_ceilings_table,
)
from embassay.report.hume.families import (
    LlmMeansTable,
    PeopleVsModelChart,
    format_agreement,
    format_first_pair_names,
    format_interval_ends,
    format_percent_of_human_if_agreed,
    format_score_in_points,
    format_score_with_interval,
    format_task_family,
    has_interval_over_annotators,
    list_ranked_models_per_pair,
    llm_means_table,
    make_people_vs_models_by_pair_chart,
)
from embassay.report.notes import RunNote, list_run_notes
from embassay.report.record import RunRecord
from embassay.report.runs import ReportRun, read_hume_summary
from embassay.stats import Estimate

PAPER = "hume_table*"
"""Tables in the paper's layout; what the others say stands on the page."""
GROUPED = {
    "hume_profiles": ("reason",),
    "hume_resources": ("human_low", "human_high", "best_percent_of_human", "gap_low", "gap_high", "reason"),
}
"""Tables of groups, and the columns that stand in their files alone."""
MOST_NOTES = 3
BESIDE = 4
"""Pairs that stand side by side in a report of several runs; that of the run alone has them all."""
SHORT = 8
"""A study of at most so many pairs has its long tables open."""


@dataclass(frozen=True)
class HumePage:
    """The content of the page; parts that a run does not have are empty or None. `who` answered, in words."""

    facts: tuple[str, ...]
    verdict: VerdictText
    who: str
    notes: tuple[RunNote, ...]
    more_notes: int
    chart: PeopleVsModelChart
    noisy: tuple[LowAgreementDatasetLanguage, ...]
    places: RankedPlaceGroups | None
    wins: tuple[HumanWinPanel, ...]
    gaps: tuple[HumanGapChart, ...]
    against: tuple[SystemDifferencesOnPair, ...]
    beside: HumanDifferencesByDatasetLanguage | None
    difficulty: FamilyDifficulties
    trust: AgreementTable
    lead: LeadByAgreementScatter | None
    llms: LlmMeansTable | None
    divided: tuple[Block, ...]
    ceilings: HumanCeilingTable | None
    undecided: Table | None
    annotators: AnnotatorTable
    disputes: tuple[DisputedItemsOfDataset, ...]
    conventions: HumanScoreByConventionTable | None
    groups: tuple[Table, ...]
    tables: tuple[Table, ...]
    is_short: bool
    is_published: bool
    top: int = TOP


def hume_page(record: RunRecord, _: SystemBoard) -> HumePage:
    """The page of a run. DataError where its `summary.json` is missing or damaged."""
    summary = read_summary(record.path)
    every = list_ranked_models_per_pair(summary)
    notes, against = list_run_notes(record), make_pair_difference_plots(summary)
    return HumePage(
        facts=_study_facts(summary),
        verdict=describe_hume_verdict(summary),
        who=describe_kind_of_answerers(summary),
        notes=notes[:MOST_NOTES],
        more_notes=len(notes),
        chart=make_people_vs_models_by_pair_chart(
            every, has_ranges=any(has_interval_over_annotators(pair.human) for pair in summary.pairs)
        ),
        noisy=find_low_agreement_datasets(every),
        places=make_people_and_models_rank_chart(summary),
        wins=human_win_panels(summary) if len(summary.pairs) > 1 else (),
        gaps=build_human_gap_charts(summary, every),
        against=against,
        beside=merge_pair_difference_plots(against[:BESIDE]),
        difficulty=rate_dataset_difficulty_for_humans(summary.pairs),
        trust=make_dataset_agreement_table(summary.pairs),
        lead=plot_model_lead_by_agreement(summary, every),
        llms=llm_means_table(summary),
        divided=tuple(_divided_study_blocks(record)),
        ceilings=score_ceilings_table(summary, every),
        undecided=make_outlook_table_of_undecided_pairs(summary, every),
        annotators=annotators_table(summary.pairs),
        disputes=list_disputed_items_by_pair(summary.pairs),
        conventions=scores_by_convention_table(summary.pairs),
        groups=tuple(_people_group_tables(record)),
        tables=file_tables(record.path, PAPER),
        is_short=len(summary.pairs) <= SHORT,
        is_published=summary.source == "published",
    )


def _divided_study_blocks(record: RunRecord) -> Iterator[Block]:
    """The blocks that a terminal shows of a study divided between a model and people, with a title for the page."""
    for table in view_items_divided_between_llm_people(read_tasks_divided_with_llm(record.path)):
        title = "Items for the language model and for people"
        yield replace(table, title=title, is_titled=False) if isinstance(table, Table) else table


def _people_group_tables(record: RunRecord) -> Iterator[Table]:
    """People by what they said of themselves, and by how much is written in their language, as far as the run has
    several groups."""
    for name, left_out in GROUPED.items():
        for table in file_tables(record.path, name):
            heads = table.heads
            kept = [place for place, head in enumerate(heads) if head.title not in left_out]
            if len({line.label for line in table.lines}) > 1 or name == "hume_profiles":
                lines = (replace(line, entries=tuple(line.entries[at] for at in kept)) for line in table.lines)
                yield replace(table, columns=tuple(heads[at] for at in kept), lines=tuple(lines))


def _study_facts(summary: Summary) -> tuple[str, ...]:
    models = {model.system for pair in summary.pairs for model in pair.models}
    judges = {llm.system for pair in summary.pairs for llm in pair.llms}
    people = {annotator.id for pair in summary.pairs for annotator in pair.annotators}
    simulated = describe_kind_of_answerers(summary) == "simulated annotators"
    facts = (
        summary.title if summary.title.startswith("HUME") else f"HUME, {summary.title}",
        numbers.format_noun_count(len(summary.pairs), "pair"),
        ""
        if summary.source == "published"
        else numbers.format_noun_count(len(people), "simulated annotator" if simulated else "annotator"),
        numbers.format_noun_count(len(models), "model"),
        numbers.format_noun_count(len(judges), "language model") if judges else "",
        f"seed {summary.seed}",
    )
    return tuple(fact for fact in facts if fact)


MOST_PAIRS = 30


@dataclass(frozen=True)
class SystemBesidePeopleOnPair:
    """A pair: people and the system on its items. `difference` is system less people on the same items, `among` its
    place among the annotators, `ceiling` what one annotator scores against the others."""

    name: str
    family: str
    human: str
    system: str
    share: str
    difference: str
    among: str
    ceiling: str
    agreement: str


@dataclass(frozen=True)
class SystemVersusPeopleStatements:
    """What one HUME run says: a sentence on all pairs, one per family, and the pairs. `who` answered."""

    run: str
    page: str
    who: str
    sentences: tuple[str, ...]
    lines: tuple[SystemBesidePeopleOnPair, ...]
    more: int


Found = Sequence[tuple[DatasetLanguageRecord, SystemScore]]


def compare_system_with_people(run: ReportRun, system: str) -> SystemVersusPeopleStatements | None:
    """Where a system stands beside people; None where the run does not have it."""
    summary = read_hume_summary(run)
    scored = [] if summary is None else _list_scores_of_system_by_pair(summary, system)
    if summary is None or not scored:
        return None
    who = describe_kind_of_answerers(summary)
    sentences = (
        *_describe_overall_place_beside_people(summary, system, who),
        *_describe_pairs_above_and_below_people(scored, who),
        *_say_gap_by_family(scored, who),
    )
    lines = tuple(starmap(_make_system_beside_people_row, scored[:MOST_PAIRS]))
    return SystemVersusPeopleStatements(run.title, run.slug, who, sentences, lines, max(0, len(scored) - MOST_PAIRS))


def make_findings_of_pairs_above_people(run: ReportRun, system: str) -> Iterator[SystemFinding]:
    """Find the pairs where a system lies above the interval of people, with their agreement."""
    yield from _make_findings_of_pairs_on_side(run, system, above=True)


def make_findings_of_pairs_below_people(run: ReportRun, system: str) -> Iterator[SystemFinding]:
    """Find the pairs where a system lies below the interval of people."""
    yield from _make_findings_of_pairs_on_side(run, system, above=False)


def _make_findings_of_pairs_on_side(run: ReportRun, system: str, *, above: bool) -> Iterator[SystemFinding]:
    summary = read_hume_summary(run)
    if summary is None:
        return
    sides = [
        (pair, score) for pair, score in _list_scores_of_system_by_pair(summary, system) if score.outside is not None
    ]
    # Where people agree little their score says little, and to pass it is no strength.
    sides = [(pair, score) for pair, score in sides if not above or pair.trust not in ("low", None)]
    pairs = [(pair, score) for pair, score in sides if score.outside and (_gap_to_people(pair, score) > 0) == above]
    if not pairs:
        return
    pair, score = max(pairs, key=lambda side: abs(_gap_to_people(*side)))
    where, of = "above" if above else "below", numbers.format_noun_count(len(sides), "pair")
    agreeing = " where they agree" if above else ""
    clause = f"is {where} the interval of {describe_kind_of_answerers(summary)} on {len(pairs)} of {of}{agreeing}"
    clause += (
        f", furthest on {pair.name}: {format_score_in_points(score.score)} against "
        f"{format_score_with_interval(pair.human)}"
    )
    clause += f", agreement {format_agreement(pair)}" if above else ""
    yield make_finding(run, clause, weight=3, place="hume-pairs")


def _list_scores_of_system_by_pair(summary: Summary, system: str) -> Found:
    return [
        (pair, score)
        for pair in summary.pairs
        for score in (*pair.models, *pair.llms)
        if score.system == system and score.score.value is not None and pair.human.value is not None
    ]


def _gap_to_people(pair: DatasetLanguageRecord, score: SystemScore) -> float:
    return (score.score.value or 0.0) - (pair.human.value or 0.0)


def _describe_overall_place_beside_people(summary: Summary, system: str, who: str) -> Iterator[str]:
    own = next((place for place in summary.places if place.system == system), None)
    human = next((place for place in summary.places if place.kind == "human"), None)
    if own is None or own.mean.value is None or human is None or human.mean.value is None:
        return
    pairs = numbers.format_noun_count(len(summary.pairs), "pair")
    if own.rank is None or human.rank is None:
        reason = own.mean.reason or "a pair is missing"
        yield f"The mean over its pairs is {format_score_in_points(own.mean)}; it has no rank ({reason})."
        return
    ranked = sum(place.rank is not None for place in summary.places)
    yield (
        f"Mean over {pairs}: {format_score_in_points(own.mean)}, rank {own.rank} of {ranked}; {who}: "
        f"{format_score_in_points(human.mean)}, rank {human.rank}. Ranks by mean are not based on significance tests."
    )


def _describe_pairs_above_and_below_people(facts: Found, who: str) -> Iterator[str]:
    judged = [(pair, score) for pair, score in facts if score.outside is not None]
    above = [pair for pair, score in judged if score.outside and _gap_to_people(pair, score) > 0]
    below = [pair for pair, score in judged if score.outside and _gap_to_people(pair, score) < 0]
    of = numbers.format_noun_count(len(judged), "pair")
    if not judged:
        yield f"It cannot be compared with {who} because there is no interval."
        return
    clauses = [f"above the interval of {who} on {len(above)} ({_name_pairs_with_agreement(above)})"] if above else []
    clauses += [f"below it on {len(below)} ({format_first_pair_names(below, 3)})"] if below else []
    inside = len(judged) - len(above) - len(below)
    clauses += [f"inside on {inside}"] if inside else []
    yield f"Of {of}, it is {convert_sentence_to_text(join_names_with_and(clauses))}."


def _name_pairs_with_agreement(pairs: Sequence[DatasetLanguageRecord]) -> str:
    """The pairs by name with the word for their agreement: no model is above people without it."""
    named_pairs = [f"{pair.name}, agreement: {format_agreement(pair)}" for pair in pairs[:3]]
    return "; ".join([*named_pairs, *([f"{len(pairs) - 3} more"] if len(pairs) > 3 else [])])


def _say_gap_by_family(facts: Found, who: str) -> Iterator[str]:
    families = list(dict.fromkeys(pair.family for pair, _ in facts))
    if len(families) < 2:
        return
    parts = []
    for family in families:
        of_family = [(pair, score) for pair, score in facts if pair.family == family]
        of_system = sum(score.score.value or 0.0 for _, score in of_family) / len(of_family)
        of_people = sum(pair.human.value or 0.0 for pair, _ in of_family) / len(of_family)
        parts.append(f"{format_task_family(family)} {POINTS.text(of_system)} against {POINTS.text(of_people)}")
    yield f"Means over pairs, system against {who}: {convert_sentence_to_text(join_names_with_and(parts))}."


def _make_system_beside_people_row(pair: DatasetLanguageRecord, score: SystemScore) -> SystemBesidePeopleOnPair:
    difference = score.difference
    return SystemBesidePeopleOnPair(
        name=pair.name,
        family=format_task_family(pair.family),
        human=format_score_with_interval(pair.human),
        system=format_score_in_points(score.score),
        share=format_percent_of_human_if_agreed(pair, score.percent_of_human),
        difference=_format_difference_with_interval(difference),
        among="" if score.among_people is None else numbers.format_percent(score.among_people),
        ceiling="" if pair.ceiling is None or pair.ceiling.value is None else format_score_in_points(pair.ceiling),
        agreement=format_agreement(pair),
    )


def _format_difference_with_interval(bar: Estimate | None) -> str:
    if bar is None or bar.value is None:
        return ""
    ends = format_interval_ends(bar)
    return POINTS.change(bar.value) + (f" ({ends})" if ends else "")
