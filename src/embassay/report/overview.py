"""The first page: what the run found, what to beware of, every system on one board, and one against each other one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from embassay.document.blocks import (
    Block,
    CautionNotes,
    CommandInSentence,
    Heading,
    PageFactsLine,
    ParagraphBlock,
    Part,
    Sentence,
    TabbedBlocks,
    VerdictText,
    build_collapsible_table,
    convert_sentence_to_text,
    file_tables,
    join_names_with_and,
)
from embassay.document.claims import describe_first_ranked, describe_gap_of_best_two
from embassay.document.marks import LinearScale, fit_axis_scale
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.claims import (
    Claim,
    Relation,
    make_count_claim,
    make_leader_claims,
    make_pair_comparison_claim,
)
from embassay.protocols.kernel.comparisons import ALPHA, describe_undecided_pair
from embassay.protocols.kernel.tables import POINTS, MeasureFormat
from embassay.registry import import_attribute
from embassay.report.answers import (
    LEAST_ITEMS,
    ReportQuestionAnswer,
    SystemPlaceInAnswer,
    describe_recommended_systems,
    list_report_answers_from_evidence,
    list_system_places_per_answer,
)
from embassay.report.board import (
    BoardRow,
    BoardTask,
    SystemBoard,
    WantedColumn,
    collect_values_and_ends,
    is_protocol_with_task_board,
    list_possible_leaders_above_reference,
    make_system_values_table,
    name_row_system_in_sentence,
)
from embassay.report.headlines import HeadlinesTableOfRuns, combine_run_headlines
from embassay.report.notes import RunNote, gather_run_notes, sort_and_count_decisive_notes
from embassay.report.record import OVERALL, PairedComparison, RunRecord, TaskSystemComparisons
from embassay.report.runs import ReportRun, find_kind_page_entry


@dataclass(frozen=True)
class BoardView:
    """`columns` are the tasks beside the leading score, with their place; `groups` the rows under their headings."""

    columns: tuple[tuple[int, BoardTask, LinearScale], ...]
    lead_scale: LinearScale
    groups: tuple[tuple[str, tuple[BoardRow, ...]], ...]


def make_board_table_view(board: SystemBoard) -> BoardView:
    """What the board's table shows."""
    factor = board.unit.factor
    within = (0.0, 1.0) if factor == 1 else (-1.0, 1.0)
    columns = tuple(
        (
            i,
            task,
            fit_axis_scale(collect_values_and_ends(row.tasks[i] for row in board.rows), within=within, factor=factor),
        )
        for i, task in enumerate(board.tasks)
        if task.name != board.lead
    )
    missing = "Not ranked: a task is missing" if board.lead == OVERALL else "No value"
    groups = (
        ("", board.ranked),
        ("Classical metrics, ranked separately because some of their scores come from another method", board.apart),
        (missing, board.unranked),
        ("References, not ranked", board.references),
    )
    return BoardView(
        columns,
        fit_axis_scale(collect_values_and_ends(row.lead for row in board.rows), within=within, factor=factor),
        tuple((title, rows) for title, rows in groups if rows),
    )


@dataclass(frozen=True)
class ComparisonWithLeaderRow:
    """A system compared with the first one: `pair` is its value minus that one's."""

    row: BoardRow
    pair: PairedComparison
    word: str


@dataclass(frozen=True)
class LeaderDifferenceForest:
    """All systems against `base` in the scope `title`, printed in `unit`."""

    base: BoardRow
    title: str
    scale: LinearScale
    rows: tuple[ComparisonWithLeaderRow, ...]
    unit: MeasureFormat


def make_leader_forest_plot(record: RunRecord, board: SystemBoard) -> LeaderDifferenceForest | None:
    """The best system of the leading scope against each other ranked one; None where nothing is compared."""
    scope = record.find_task_comparisons(board.lead)
    if not scope.pairs or not board.ranked or not board.tasks:
        return None
    base = board.ranked[0]
    pairs = [(row, scope.pair(row.system.name, base.system.name)) for row in board.ranked[1:]]
    rows = [
        ComparisonWithLeaderRow(row, pair, choose_comparison_verb(pair, record.alpha))
        for row, pair in pairs
        if pair is not None
    ]
    edges = [edge for row in rows for edge in (row.pair.ci_low, row.pair.ci_high)]
    scale = fit_axis_scale([*edges, 0.0], within=None, factor=board.unit.factor)
    return LeaderDifferenceForest(base, board.lead_title, scale, tuple(rows), board.unit)


def choose_comparison_verb(pair: PairedComparison, alpha: float) -> str:
    """What the test says of a - b, in the report's own verbs."""
    if pair.p_adjusted >= alpha:
        return "cannot be told apart"
    return "beats" if pair.difference > 0 else "is beaten by"


VERDICTS = {
    "pteb": "pteb.conclusions:pteb_verdict",
    "hteb": "hteb.profile:hteb_verdict",
    "judge": "pteb.models:judge_verdict",
    "paraphrasers": "pteb.models:selection_verdict",
    "validation": "pteb.models:make_paraphrase_validation_verdict",
    "golden": "rag.golden:golden_verdict",
    "questions": "rag.questions:make_question_count_verdict",
    "score": "rag.scoring:scoring_verdict",
    "sweep": "rag.sweep:sweep_verdict",
    "names": "rag.name_probe:name_probe_verdict",
    "noise": "rag.probes:noise_verdict",
    "sessions": "rag.scoring:make_most_evidence_stack_verdict",
    "versions": "rag.probes:passage_versions_verdict",
    "trace": "rag.trace:worst_stage_verdict",
    "hume": "hume.conclusions:hume_verdict",
    "mteb": "mteb:mteb_verdict",
    "calibration": "calibration.thresholds:calibration_verdict",
    "choose": "rag.choice:choice_verdict",
    "sage": "sage.tables:sage_verdict",
}
"""Where the verdict of a kind of run is made, if it is not that of its board."""
PAGELESS = {"answer": "rag.questions:make_right_answer_share_verdict"}
"""Runs with a verdict of their own and no page."""


def build_external_protocol_page(run: ReportRun, alone: bool) -> Iterator[Block]:
    """The page that another package brings for its protocol, under the verdict of the board where it has none; without
    one, that of its tasks, and in a note why what it brings cannot be shown."""
    blocks, why = run.load_external_page_or_reason
    if not blocks:
        facts, verdict, *rest = build_external_tasks_page(run, alone)
        yield from (facts, verdict, *([CautionNotes((why,), "Its own page cannot be shown.")] if why else ()), *rest)
        return
    # Facts stand over the verdict, whoever wrote the page.
    above = sum(isinstance(block, PageFactsLine) for block in blocks[:1])
    yield from blocks[:above]
    if not any(isinstance(block, VerdictText) for block in blocks):
        yield board_verdict(run.record, run.board)
    yield from blocks[above:]


def build_external_tasks_page(run: ReportRun, alone: bool) -> Iterator[Block]:
    """The page of a protocol of another package: its finding, its tasks by dataset, and the tables it wrote."""
    record, board = run.record, run.board
    tasks, systems = len(board.tasks), len(record.list_non_reference_systems)
    yield PageFactsLine.of(
        "", run.title, numbers.format_noun_count(tasks, "task"), numbers.format_noun_count(systems, "system")
    )
    yield board_verdict(record, board)
    if panes := tuple(_score_tables_by_dataset(record, board)):
        yield Heading("By dataset", f"{record.kind}-datasets")
        yield ParagraphBlock("The score of each task on each dataset; the task’s score is their mean.")
        yield TabbedBlocks("Task", panes)
    if alone and (tables := file_tables(record.path)):
        yield Heading("Tables of the run", f"{record.kind}-tables")
        yield from map(build_collapsible_table, tables)


def _score_tables_by_dataset(record: RunRecord, board: SystemBoard) -> Iterator[tuple[str, tuple[Block, ...]]]:
    for task in board.tasks:
        wanted = [WantedColumn(dataset, task.headline, dataset=dataset) for dataset in record.datasets(task.name)]
        name = f"{record.kind}-{task.name}"
        table = make_system_values_table(record, board, task, wanted, name=name, title=f"{task.title} by dataset")
        if table is not None:
            yield task.title, (table,)


MOST_NOTES = 3
LEDE = 1
"""Sentences of the first run in the overview of several."""
THEN = (("pteb",), ("hteb",), ("sweep", "score"), ("hume",))
"""Whose finding follows: a run of each other protocol, of RAG a sweep before a scoring."""
NAMED = 3
"""Runs that are called by their names; more are counted."""


@dataclass(frozen=True)
class ProtocolVerdictCard:
    """What a protocol says, in one sentence, with the way to its page; no `slug` where it has none yet."""

    slug: str
    title: str
    question: str
    verdict: VerdictText


@dataclass(frozen=True)
class OverviewPage:
    """The content of the page: what several runs answer and what to `use` (a sentence, and what it leaves open), or one
    run's verdict and board; and what each run says. `changing` of the notes can change an answer; `conditions` are
    those that the recommendation holds under, and what was not tested."""

    facts: tuple[str, ...]
    verdict: VerdictText
    notes: tuple[RunNote, ...]
    more_notes: int
    names: tuple[str, ...]
    together: HeadlinesTableOfRuns | None
    shown: BoardView
    cards: tuple[ProtocolVerdictCard, ...]
    forest: LeaderDifferenceForest | None
    unrounded: bool
    footer: tuple[str, ...]
    answers: tuple[ReportQuestionAnswer, ...] = ()
    use: tuple[str, str] = ("", "")
    changing: int = 0
    conditions: tuple[Sentence, ...] = ()

    @property
    def by_question(
        self,
    ) -> tuple[tuple[ReportQuestionAnswer, ...], tuple[tuple[str, str, tuple[SystemPlaceInAnswer, ...]], ...]]:
        """Every system's place in every answer."""
        return list_system_places_per_answer(self.answers)


def make_overview_page(runs: Sequence[ReportRun]) -> OverviewPage:
    """The page of a report."""
    from embassay.report.summary import describe_recommendation_limits

    first = runs[0]
    notes = gather_run_notes(runs)
    answers = list_report_answers_from_evidence(runs)
    asked = tuple(answer for answer in answers if answer.level != "not run")
    if len(runs) == 1:
        # The finding of one run is its headline; that it depends on the question is worth saying from two on.
        answers = answers if len(asked) > 1 else ()
    notes, changing = (
        sort_and_count_decisive_notes(notes, {answer.slug for answer in asked}) if len(runs) > 1 else (notes, 0)
    )
    # More names than NAMED would fill the head of the page.
    return OverviewPage(
        facts=_report_facts(runs),
        verdict=_report_verdict(runs),
        notes=notes[:MOST_NOTES],
        more_notes=len(notes),
        names=tuple(run.record.manifest.get("name", "") for run in runs) if len(runs) <= NAMED else (),
        together=combine_run_headlines(runs) if len(runs) > 1 else None,
        shown=make_board_table_view(first.board),
        cards=tuple(card for run in runs for card in _make_verdict_cards_of_run(run, several=len(runs) > 1)),
        forest=make_leader_forest_plot(first.record, first.board),
        unrounded=_rounding_hides_difference(first.board),
        footer=_page_footer(runs),
        answers=answers if len(runs) > 1 else asked if answers else (),
        use=describe_recommended_systems(answers),
        changing=changing,
        conditions=describe_recommendation_limits(runs, answers) if len(runs) > 1 and answers else (),
    )


def _report_verdict(runs: Sequence[ReportRun]) -> VerdictText:
    """That of the first run, which it names where there are several; then what the other protocols found."""
    first = runs[0]
    # Of a calibration nobody asks which system is first.
    is_board = first.board.tasks and first.record.kind != "calibration"
    verdict = board_verdict(first.record, first.board) if is_board else run_verdict(first)
    if len(runs) == 1:
        return verdict
    return replace(
        verdict,
        heading=(f"{first.title}: ", *verdict.heading),
        lede=(*verdict.lede[:LEDE], *_other_protocol_verdicts(runs[1:])),
    )


def _other_protocol_verdicts(runs: Sequence[ReportRun]) -> Iterator[Sentence]:
    """What the first run of each other protocol found; a recommendation with the limits it was made for."""
    for kinds in THEN:
        run = next((other for kind in kinds for other in runs if other.record.kind == kind and other.record.rows), None)
        if run is not None:
            verdict = _make_verdict_by_run_kind(run)
            yield (f"{run.title}: ", *_lowercase_heading(verdict.heading), ".")
            yield from verdict.lede[:1] if run.record.kind == "sweep" else ()


def _lowercase_heading(sentence: Sentence) -> Sentence:
    """Put a heading inside a sentence: without a capital, where it is no name nor abbreviation."""
    first = sentence[0] if sentence else ""
    if not isinstance(first, str) or not first[:1].isupper() or first[1:2].isupper():
        return sentence
    return (first[:1].lower() + first[1:], *sentence[1:])


def run_verdict(run: ReportRun) -> VerdictText:
    """What a run says: of SAGE its ranking, of the others the verdict of their page."""
    if run.record.kind == "sage" or not run.record.rows:
        return board_verdict(run.record, run.board)
    return _make_verdict_by_run_kind(run)


def _make_verdict_by_run_kind(run: ReportRun) -> VerdictText:
    record, board = run.record, run.board
    if place := VERDICTS.get(record.kind) or PAGELESS.get(record.kind):
        return _qualify_verdict_by_missing_sets(record, import_attribute(f"embassay.report.{place}")(record, board))
    verdicts = (verdict for verdict in run.load_external_page_or_reason[0] if isinstance(verdict, VerdictText))
    return next(verdicts, None) or board_verdict(record, board)


def _qualify_verdict_by_missing_sets(record: RunRecord, verdict: VerdictText) -> VerdictText:
    """Qualify the verdict by what it rests on where the run lacks sets of a suite."""
    lacking = [
        suite["said"] for suite in record.manifest.get("suites") or () if any(p["reason"] for p in suite["parts"])
    ]
    return replace(verdict, lede=((f"On {' '.join(lacking)}",), *verdict.lede)[:LEDE]) if lacking else verdict


def _report_facts(runs: Sequence[ReportRun]) -> tuple[str, ...]:
    records = [run.record for run in runs]
    systems = {
        system.name
        for record in records
        if is_protocol_with_task_board(record.kind)
        for system in record.list_non_reference_systems
    }
    datasets = list(dict.fromkeys(data["name"] for record in records for data in record.list_dataset_manifest_entries))
    named = ", ".join(datasets) if len(datasets) <= 3 else numbers.format_noun_count(len(datasets), "dataset")
    suites = [suite["said"].rstrip(".") for run in records for suite in run.manifest.get("suites") or ()]
    named = ", ".join((*dict.fromkeys(suites), named))
    seeds = {record.arguments.get("seed") for record in records}
    seed = next(iter(seeds)) if len(seeds) == 1 else None
    scored = sum(len(record.systems) for record in records if record.kind == "score")
    facts = (
        numbers.format_noun_count(len(systems), "system") if systems else "",
        numbers.format_noun_count(scored, "retrieval run") if scored else "",
        convert_sentence_to_text(join_names_with_and([run.title for run in runs])) if len(runs) > 1 else "",
        named,
        numbers.format_date(max(record.manifest.get("updated", "") for record in records)),
        f"seed {seed}" if seed is not None else "",
    )
    return tuple(fact for fact in facts if fact)


def _make_verdict_cards_of_run(run: ReportRun, *, several: bool) -> list[ProtocolVerdictCard]:
    """Make the card of a run; its verdict is that of its page."""
    page = find_kind_page_entry(run.record.kind)
    if page is None or not (run.record.rows or several):
        return []
    question = page.summary
    if run.record.kind == "original":  # its board is all there is
        return [ProtocolVerdictCard("", run.title, question, _make_verdict_by_run_kind(run))] if several else []
    if not run.record.rows:
        return [ProtocolVerdictCard("", run.title, question, board_verdict(run.record, run.board))]
    return [ProtocolVerdictCard(run.slug, run.title, question, _make_verdict_by_run_kind(run))]


def _rounding_hides_difference(board: SystemBoard) -> bool:
    """Whether the printed difference of the first two is not the difference of their printed values."""
    if len(board.ranked) < 2:
        return False
    a, b = (row.lead.value or 0.0 for row in board.ranked[:2])
    places, factor = board.unit.prose, board.unit.factor
    apart = round(a * factor, places) - round(b * factor, places)
    return numbers.format_score((a - b) * factor, places) != numbers.format_score(apart, places)


def _page_footer(runs: Sequence[ReportRun]) -> tuple[str, ...]:
    manifest = runs[0].record.manifest
    sessions = [session for run in runs for session in run.record.manifest.get("sessions", ())]
    texts = sum(session.get("texts_encoded", 0) for session in sessions)
    seconds = sum(session.get("seconds") or 0 for session in sessions)
    cores = manifest.get("hardware", {}).get("cores")
    parts = [f"embassay {manifest.get('embassay', '')}"]
    parts += [f"{numbers.format_count(texts)} texts encoded"] if texts else []
    if seconds:
        parts.append(
            numbers.format_duration(seconds) + (f" on {numbers.format_noun_count(cores, 'core')}" if cores else "")
        )
    return tuple(parts)


NOUNS = {"embedding": "encoder", "classical": "classical metric", "llm": "language model"}


def board_verdict(record: RunRecord, board: SystemBoard) -> VerdictText:
    """The verdict on the whole run."""
    return _qualify_verdict_by_missing_sets(record, _choose_ranking_verdict(record, board))


def _choose_ranking_verdict(record: RunRecord, board: SystemBoard) -> VerdictText:
    if not board.ranked:
        return _unfinished_verdict(record)
    scope = record.find_task_comparisons(board.lead)
    if len(board.ranked) == 1:
        return _single_system_verdict(board)
    if not board.has_ranks:
        return _unranked_verdict(board, scope)
    if 0 < (items := _count_measured_items(record, board.lead)) < LEAST_ITEMS:
        return _too_few_items_verdict(record, board, items)
    first, gap = state_possible_leaders(record, board), _state_gap_to_second(record, board, scope)
    classical, leaders = (
        _claim_classical_metrics_beaten(board, scope, first),
        _make_claims_of_other_task_leaders(record, board, first),
    )
    every = choose_noun_for_system_group(board.ranked) if board.apart else "system"
    noun = choose_noun_for_system_group([board.row(claim.subject) for claim in first])
    heading = describe_first_ranked(
        first, board.name_system_in_sentence, _describe_ranking_scope(record, board), every=every, noun=noun
    )
    lede = [
        _say_gap_to_second(board, scope, gap, first),
        _say_classical_beaten(classical),
        _say_task_leaders(board, leaders),
    ]
    claims = (*first, *gap, *classical, *leaders)
    return VerdictText(heading, tuple(sentence for sentence in lede if sentence), claims)


def state_possible_leaders(record: RunRecord, board: SystemBoard, task: str = "") -> tuple[Claim, ...]:
    """Who may be first, on a task or by the leading score."""
    scope = record.find_task_comparisons(task or board.lead)
    first = list_possible_leaders_above_reference(board, scope.first, task)
    alone = len(first) == 1 and scope.ranges[first[0]][1] == 1
    ranked = scope.systems if task else [row.system.name for row in board.ranked]
    below = len(scope.first) - len(first)
    return make_leader_claims(task or board.lead, first, ranked, alone=alone, below=below)


def _state_gap_to_second(record: RunRecord, board: SystemBoard, scope: TaskSystemComparisons) -> tuple[Claim, ...]:
    """What the test says of the two best by value; none where it says nothing."""
    best, second = (row.system.name for row in board.ranked[:2])
    pair = scope.pair(best, second)
    if pair is None:
        return ()
    apart = pair.p_adjusted < record.alpha
    return (
        make_pair_comparison_claim(board.lead, best, second, pair.difference, pair.ci_low, pair.ci_high, apart=apart),
    )


def _claim_classical_metrics_beaten(
    board: SystemBoard, scope: TaskSystemComparisons, first: Sequence[Claim]
) -> tuple[Claim, ...]:
    """That the first systems beat every classical metric, when the tests say so for each pair."""
    metrics = [row.system.name for row in board.ranked if row.system.kind == "classical"]
    names = [claim.subject for claim in first]
    is_said = not metrics or first[0].relation == "first"
    if is_said or any(board.row(name).system.kind == "classical" for name in names):
        return ()
    pairs = [scope.pair(a, b) for a in names for b in metrics]
    if not all(pair is not None and pair.difference > 0 and pair.p_adjusted < ALPHA for pair in pairs):
        return ()
    return tuple(Claim(name, "beats", board.lead, tuple(metrics), kind="classical") for name in names)


def _make_claims_of_other_task_leaders(
    record: RunRecord, board: SystemBoard, first: Sequence[Claim]
) -> tuple[Claim, ...]:
    """Who alone may be first on a task, when it is not who is first over all."""
    names = [claim.subject for claim in first]
    alone: dict[str, list[Claim]] = {}
    for task in board.tasks:
        leaders = state_possible_leaders(record, board, task.name)
        if task.name != board.lead and len(leaders) == 1 and names != [leaders[0].subject]:
            alone.setdefault(leaders[0].subject, []).append(replace(leaders[0], kind="leader"))
    return tuple(claim for claims in alone.values() for claim in claims)


def _count_measured_items(record: RunRecord, task: str) -> int:
    """The items that a task was measured on, over its datasets; 0 for overall, or where it is not recorded."""
    datasets = record.list_dataset_manifest_entries
    return sum(int(((dataset.get("tasks") or {}).get(task) or {}).get("n") or 0) for dataset in datasets)


def _too_few_items_verdict(record: RunRecord, board: SystemBoard, items: int) -> VerdictText:
    """The verdict where items are too few: the ranks stay, but no system is said to beat another."""
    said = f"{numbers.format_noun_count(items, 'item')} {'is' if items == 1 else 'are'}"
    heading = f"{said} too few to show which system is first{_describe_ranking_scope(record, board)}"
    rest = tuple(row.system.name for row in board.ranked[2:])
    claims = [replace(_make_system_score_claim(board, row), relation="most", others=rest) for row in board.ranked[:2]]
    values = [
        (board.name_system_in_sentence(claim.subject), f" {board.unit.format_value_in_text(claim.value or 0.0)}")
        for claim in claims
    ]
    lede: Sentence = (*values[0], " and ", *values[1], f" are the highest values. Use {LEAST_ITEMS} items or more.")
    return VerdictText((heading,), (lede,), tuple(claims))


def choose_noun_for_system_group(rows: Sequence[BoardRow]) -> str:
    """What a group of systems is called: by its kind when they share one, else systems."""
    kinds = {row.system.kind for row in rows}
    return NOUNS.get(kinds.pop(), "system") if len(kinds) == 1 else "system"


def _describe_ranking_scope(record: RunRecord, board: SystemBoard) -> str:
    """Say what a ranking is on; nothing for SAGE's overall."""
    task = "" if board.lead == OVERALL else board.lead_title
    if record.kind == "pteb":
        return f" on paraphrased {task or 'texts'}"
    return f" on {task if board.unit is POINTS else task.lower()}" if task else ""


def _say_gap_to_second(
    board: SystemBoard, scope: TaskSystemComparisons, gap: Sequence[Claim], first: Sequence[Claim]
) -> Sentence:
    """Say the difference between the two best by value, with what the test says of it."""
    if not gap:
        return ()
    [claim] = gap
    pair = scope.pair(claim.subject, claim.others[0])
    apart = "" if pair is None else describe_undecided_pair(pair.p, pair.p_adjusted, len(scope.ranges))
    return describe_gap_of_best_two(
        claim,
        board.name_system_in_sentence,
        lambda system: board.row(system).lead.value or 0.0,
        board.unit,
        apart,
        first,
    )


def _say_classical_beaten(claims: Sequence[Claim]) -> Sentence:
    if not claims:
        return ()
    who = {1: "It beats", 2: "Both beat"}.get(
        len(claims), f"All {numbers.format_small_count_in_words(len(claims))} beat"
    )
    what = "the classical metric" if len(claims[0].others) == 1 else "every classical metric"
    return (f"{who} {what}.",)


def _say_task_leaders(board: SystemBoard, claims: Sequence[Claim]) -> Sentence:
    """`a retrieves best and clusters best; b ...`: a system with all tasks that it leads."""
    superlatives = {task.name: task.superlative for task in board.tasks}
    tasks_of: dict[str, list[str]] = {}
    for claim in claims:
        tasks_of.setdefault(claim.subject, []).append(superlatives[claim.measure])
    sentence: list[Part] = []
    for leader, what in tasks_of.items():
        sentence += [
            *(["; "] if sentence else []),
            board.name_system_in_sentence(leader),
            " ",
            *join_names_with_and(what),
        ]
    return (*sentence, ".") if sentence else ()


def _single_system_verdict(board: SystemBoard) -> VerdictText:
    row = board.ranked[0]
    on = "overall" if board.lead == OVERALL else f"on {board.lead_title.lower()}"
    interval = f"The 95% interval is {row.lead.interval}. " if row.lead.interval else ""
    heading = (name_row_system_in_sentence(row), f" scores {row.lead.text} {on}")
    return VerdictText(
        heading, ((f"{interval}Add a second system to compare.",),), (_make_system_score_claim(board, row),)
    )


def _make_system_score_claim(board: SystemBoard, row: BoardRow, relation: Relation = "is") -> Claim:
    """What a system scores, alone or as the highest or lowest of the ranked ones."""
    result = row.lead.row
    ends = (None, None) if result is None else (result.ci_low, result.ci_high)
    others = tuple(other.system.name for other in board.ranked if other is not row)
    return Claim(
        row.system.name, relation, board.lead, () if relation == "is" else others, row.lead.value,
        low=ends[0], high=ends[1]
    )  # fmt: skip


def _unranked_verdict(board: SystemBoard, scope: TaskSystemComparisons) -> VerdictText:
    values = sorted(board.ranked, key=lambda row: row.lead.value or 0.0)
    low, high = values[0], values[-1]
    title = board.lead_title.lower()
    reason = scope.reason or "no test compares them"
    lede = (f"Values lie between {low.lead.text} and {high.lead.text}; {reason}.",)
    claims = (_make_system_score_claim(board, low, "least"), _make_system_score_claim(board, high, "most"))
    return VerdictText((f"No ranking on {title}: differences cannot be tested",), (lede,), claims)


def _unfinished_verdict(record: RunRecord) -> VerdictText:
    claim = make_count_claim("finished", sum(cell.status == "done" for cell in record.cells), len(record.cells))
    cells = f"{numbers.format_count(claim.n)} of {numbers.format_noun_count(claim.of, 'cell')}"
    command = CommandInSentence(record.manifest.get("command", ""))
    if not claim.n:
        lede = (f"{cells}. Run ", command, " again to continue; this page fills as cells finish.")
        return VerdictText(("Nothing finished yet",), (lede,), (claim,))
    if claim.n == claim.of:
        return VerdictText(
            ("No system has a value for every task, so none is ranked",),
            (("Every cell is finished; the notes say which values are missing, and why.",),),
            (claim,),
        )
    return VerdictText(
        ("No system has finished every task, so none is ranked",),
        ((f"{cells} are finished. Run ", command, " again to continue."),),
        (claim,),
    )
