"""The first page: what the run found, what to beware of, every system on one board, and one against each other one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from embassay.document.blocks import (
    Block,
    Care,
    Command,
    Facts,
    Heading,
    Panes,
    Part,
    Sentence,
    Text,
    Verdict,
    file_tables,
    fold_table,
    join_names,
    plain_text,
)
from embassay.document.claims import describe_first, describe_gap
from embassay.document.marks import Scale, scale_of
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.claims import Claim, Relation, state_contenders, state_count, state_pair
from embassay.protocols.kernel.comparisons import ALPHA, describe_undecided_pair
from embassay.protocols.kernel.tables import POINTS, Unit
from embassay.registry import import_attribute
from embassay.report.answers import (
    LEAST_ITEMS,
    Answer,
    AnswerPlace,
    answer_questions,
    place_systems,
    recommend_systems,
)
from embassay.report.board import (
    Board,
    BoardTask,
    Row,
    WantedColumn,
    collect_ends,
    has_board,
    name_row,
    passing_systems,
    value_table,
)
from embassay.report.headlines import JointHeadlines, combine_leaders
from embassay.report.notes import Note, gather_notes, weigh_notes
from embassay.report.record import OVERALL, Pair, Record, Scope
from embassay.report.runs import ReportRun, declared_page


@dataclass(frozen=True)
class BoardView:
    """`columns` are the tasks beside the leading score, with their place; `groups` the rows under their headings."""

    columns: tuple[tuple[int, BoardTask, Scale], ...]
    lead_scale: Scale
    groups: tuple[tuple[str, tuple[Row, ...]], ...]


def show_board(board: Board) -> BoardView:
    """What the board's table shows."""
    factor = board.unit.factor
    within = (0.0, 1.0) if factor == 1 else (-1.0, 1.0)
    columns = tuple(
        (i, task, scale_of(collect_ends(row.tasks[i] for row in board.rows), within=within, factor=factor))
        for i, task in enumerate(board.tasks)
        if task.name != board.lead
    )
    missing = "Not ranked: a task is missing" if board.lead == OVERALL else "No value"
    groups = (
        ("", board.ranked),
        (
            "Classical metrics, ranked separately: some of their scores come from another method",
            board.apart,
        ),
        (missing, board.unranked),
        ("References, not ranked", board.references),
    )
    return BoardView(
        columns,
        scale_of(collect_ends(row.lead for row in board.rows), within=within, factor=factor),
        tuple((title, rows) for title, rows in groups if rows),
    )


@dataclass(frozen=True)
class ForestRow:
    """A system compared with the first one: `pair` is its value minus that one's."""

    row: Row
    pair: Pair
    word: str


@dataclass(frozen=True)
class Forest:
    """All systems against `base` in the scope `title`, printed in `unit`."""

    base: Row
    title: str
    scale: Scale
    rows: tuple[ForestRow, ...]
    unit: Unit


def make_forest(record: Record, board: Board) -> Forest | None:
    """The best system of the leading scope against each other ranked one; None where nothing is compared."""
    scope = record.scope(board.lead)
    if not scope.pairs or not board.ranked or not board.tasks:
        return None
    base = board.ranked[0]
    pairs = [(row, scope.pair(row.system.name, base.system.name)) for row in board.ranked[1:]]
    rows = [ForestRow(row, pair, choose_verb(pair, record.alpha)) for row, pair in pairs if pair is not None]
    edges = [edge for row in rows for edge in (row.pair.ci_low, row.pair.ci_high)]
    scale = scale_of([*edges, 0.0], within=None, factor=board.unit.factor)
    return Forest(base, board.lead_title, scale, tuple(rows), board.unit)


def choose_verb(pair: Pair, alpha: float) -> str:
    """What the test says of a - b, in the report's own verbs."""
    if pair.p_adjusted >= alpha:
        return "cannot be told apart"
    return "beats" if pair.difference > 0 else "is beaten by"


VERDICTS = {
    "pteb": "pteb.conclusions:pteb_verdict",
    "hteb": "hteb.profile:hteb_verdict",
    "judge": "pteb.models:judge_verdict",
    "paraphrasers": "pteb.models:selection_verdict",
    "validation": "pteb.models:validation_verdict",
    "golden": "rag.golden:golden_verdict",
    "questions": "rag.questions:questions_verdict",
    "score": "rag.scoring:score_verdict",
    "sweep": "rag.sweep:sweep_verdict",
    "names": "rag.name_probe:names_verdict",
    "noise": "rag.probes:noise_verdict",
    "sessions": "rag.scoring:sessions_verdict",
    "versions": "rag.probes:versions_verdict",
    "trace": "rag.trace:trace_verdict",
    "hume": "hume.conclusions:hume_verdict",
    "mteb": "mteb:mteb_verdict",
    "calibration": "calibration.thresholds:calibration_verdict",
    "choose": "rag.choice:choice_verdict",
    "sage": "sage.tables:sage_verdict",
}
"""Where the verdict of a kind of run is made, if it is not that of its board."""
PAGELESS = {"answer": "rag.questions:answers_verdict"}
"""Runs with a verdict of their own and no page."""


def brought_page(run: ReportRun, alone: bool) -> Iterator[Block]:
    """The page that another package brings for its protocol, under the verdict of the board where it has none; without
    one, that of its tasks, and in a note why what it brings cannot be shown."""
    blocks, why = run.brought
    if not blocks:
        facts, verdict, *rest = tasks_page(run, alone)
        yield from (facts, verdict, *([Care((why,), "Its own page cannot be shown.")] if why else ()), *rest)
        return
    # Facts stand over the verdict, whoever wrote the page.
    above = sum(isinstance(block, Facts) for block in blocks[:1])
    yield from blocks[:above]
    if not any(isinstance(block, Verdict) for block in blocks):
        yield board_verdict(run.record, run.board)
    yield from blocks[above:]


def tasks_page(run: ReportRun, alone: bool) -> Iterator[Block]:
    """The page of a protocol of another package: its finding, its tasks by dataset, and the tables it wrote."""
    record, board = run.record, run.board
    tasks, systems = len(board.tasks), len(record.ranked_systems)
    yield Facts.of(
        "", run.title, numbers.format_counted(tasks, "task"), numbers.format_counted(systems, "system")
    )
    yield board_verdict(record, board)
    if panes := tuple(_by_dataset(record, board)):
        yield Heading("By dataset", f"{record.kind}-datasets")
        yield Text("The score of each task on each dataset; the task’s score is their mean.")
        yield Panes("Task", panes)
    if alone and (tables := file_tables(record.path)):
        yield Heading("Tables of the run", f"{record.kind}-tables")
        yield from map(fold_table, tables)


def _by_dataset(record: Record, board: Board) -> Iterator[tuple[str, tuple[Block, ...]]]:
    for task in board.tasks:
        wanted = [
            WantedColumn(dataset, task.headline, dataset=dataset) for dataset in record.datasets(task.name)
        ]
        name = f"{record.kind}-{task.name}"
        table = value_table(record, board, task, wanted, name=name, title=f"{task.title} by dataset")
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
class Card:
    """What a protocol says, in one sentence, with the way to its page; no `slug` where it has none yet."""

    slug: str
    title: str
    question: str
    verdict: Verdict


@dataclass(frozen=True)
class Overview:
    """The content of the page: what several runs answer and what to `use` (a sentence, and what it leaves open), or one
    run's verdict and board; and what each run says. `changing` of the notes can change an answer; `conditions` are
    those that the recommendation holds under, and what was not tested."""

    facts: tuple[str, ...]
    verdict: Verdict
    notes: tuple[Note, ...]
    more_notes: int
    names: tuple[str, ...]
    together: JointHeadlines | None
    shown: BoardView
    cards: tuple[Card, ...]
    forest: Forest | None
    unrounded: bool
    footer: tuple[str, ...]
    answers: tuple[Answer, ...] = ()
    use: tuple[str, str] = ("", "")
    changing: int = 0
    conditions: tuple[Sentence, ...] = ()

    @property
    def by_question(self) -> tuple[tuple[Answer, ...], tuple[tuple[str, str, tuple[AnswerPlace, ...]], ...]]:
        """Every system's place in every answer."""
        return place_systems(self.answers)


def make_overview(runs: Sequence[ReportRun]) -> Overview:
    """The page of a report."""
    from embassay.report.summary import describe_conditions

    first = runs[0]
    notes = gather_notes(runs)
    answers = answer_questions(runs)
    asked = tuple(answer for answer in answers if answer.level != "not run")
    if len(runs) == 1:
        # The finding of one run is its headline; that it depends on the question is worth saying from two on.
        answers = answers if len(asked) > 1 else ()
    notes, changing = weigh_notes(notes, {answer.slug for answer in asked}) if len(runs) > 1 else (notes, 0)
    return Overview(
        facts=_report_facts(runs),
        verdict=_report_verdict(runs),
        notes=notes[:MOST_NOTES],
        more_notes=len(notes),
        names=tuple(run.record.manifest.get("name", "") for run in runs) if len(runs) <= NAMED else (),
        together=combine_leaders(runs) if len(runs) > 1 else None,
        shown=show_board(first.board),
        cards=tuple(card for run in runs for card in _run_cards(run, several=len(runs) > 1)),
        forest=make_forest(first.record, first.board),
        unrounded=_rounding_hides_difference(first.board),
        footer=_page_footer(runs),
        answers=answers if len(runs) > 1 else asked if answers else (),
        use=recommend_systems(answers),
        changing=changing,
        conditions=describe_conditions(runs, answers) if len(runs) > 1 and answers else (),
    )


def _report_verdict(runs: Sequence[ReportRun]) -> Verdict:
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
        lede=(*verdict.lede[:LEDE], *_other_verdicts(runs[1:])),
    )


def _other_verdicts(runs: Sequence[ReportRun]) -> Iterator[Sentence]:
    """What the first run of each other protocol found; a recommendation with the limits it was made for."""
    for kinds in THEN:
        run = next(
            (other for kind in kinds for other in runs if other.record.kind == kind and other.record.rows),
            None,
        )
        if run is not None:
            verdict = _own_verdict(run)
            yield (f"{run.title}: ", *_lower_heading(verdict.heading), ".")
            yield from verdict.lede[:1] if run.record.kind == "sweep" else ()


def _lower_heading(sentence: Sentence) -> Sentence:
    """A heading inside a sentence: without a capital, where that is no name nor abbreviation."""
    first = sentence[0] if sentence else ""
    if not isinstance(first, str) or not first[:1].isupper() or first[1:2].isupper():
        return sentence
    return (first[:1].lower() + first[1:], *sentence[1:])


def run_verdict(run: ReportRun) -> Verdict:
    """What a run says: of SAGE its ranking, of the others the verdict of their page."""
    if run.record.kind == "sage" or not run.record.rows:
        return board_verdict(run.record, run.board)
    return _own_verdict(run)


def _own_verdict(run: ReportRun) -> Verdict:
    record, board = run.record, run.board
    if place := VERDICTS.get(record.kind) or PAGELESS.get(record.kind):
        return _qualify_by_suites(record, import_attribute(f"embassay.report.{place}")(record, board))
    verdicts = (verdict for verdict in run.brought[0] if isinstance(verdict, Verdict))
    return next(verdicts, None) or board_verdict(record, board)


def _qualify_by_suites(record: Record, verdict: Verdict) -> Verdict:
    """The verdict, with what it rests on where the run lacks sets of a suite."""
    lacking = [
        suite["said"]
        for suite in record.manifest.get("suites") or ()
        if any(p["reason"] for p in suite["parts"])
    ]
    return replace(verdict, lede=((f"On {' '.join(lacking)}",), *verdict.lede)[:LEDE]) if lacking else verdict


def _report_facts(runs: Sequence[ReportRun]) -> tuple[str, ...]:
    records = [run.record for run in runs]
    systems = {
        system.name for record in records if has_board(record.kind) for system in record.ranked_systems
    }
    datasets = list(
        dict.fromkeys(data["name"] for record in records for data in record.manifest.get("datasets", ()))
    )
    named = ", ".join(datasets) if len(datasets) <= 3 else numbers.format_counted(len(datasets), "dataset")
    suites = [suite["said"].rstrip(".") for run in records for suite in run.manifest.get("suites") or ()]
    named = ", ".join((*dict.fromkeys(suites), named))
    seeds = {record.arguments.get("seed") for record in records}
    seed = next(iter(seeds)) if len(seeds) == 1 else None
    scored = sum(len(record.systems) for record in records if record.kind == "score")
    facts = (
        numbers.format_counted(len(systems), "system") if systems else "",
        numbers.format_counted(scored, "retrieval run") if scored else "",
        plain_text(join_names([run.title for run in runs])) if len(runs) > 1 else "",
        named,
        numbers.format_date(max(record.manifest.get("updated", "") for record in records)),
        f"seed {seed}" if seed is not None else "",
    )
    return tuple(fact for fact in facts if fact)


def _run_cards(run: ReportRun, *, several: bool) -> list[Card]:
    """The card of a run; its verdict is that of its page. One without results says so beside others."""
    page = declared_page(run.record.kind)
    if page is None or not (run.record.rows or several):
        return []
    question = page.summary
    if run.record.kind == "original":  # its board is all there is
        return [Card("", run.title, question, _own_verdict(run))] if several else []
    if not run.record.rows:
        return [Card("", run.title, question, board_verdict(run.record, run.board))]
    return [Card(run.slug, run.title, question, _own_verdict(run))]


def _rounding_hides_difference(board: Board) -> bool:
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
            numbers.format_duration(seconds)
            + (f" on {numbers.format_counted(cores, 'core')}" if cores else "")
        )
    return tuple(parts)


NOUNS = {"embedding": "encoder", "classical": "classical metric", "llm": "language model"}


def board_verdict(record: Record, board: Board) -> Verdict:
    """The verdict on the whole run."""
    return _qualify_by_suites(record, _ranked_verdict(record, board))


def _ranked_verdict(record: Record, board: Board) -> Verdict:
    if not board.ranked:
        return _unfinished_verdict(record)
    scope = record.scope(board.lead)
    if len(board.ranked) == 1:
        return _single_verdict(board)
    if not board.has_ranks:
        return _unranked_verdict(board, scope)
    if 0 < (items := _count_items(record, board.lead)) < LEAST_ITEMS:
        return _make_too_few_verdict(record, board, items)
    first, gap = first_claims(record, board), _gap_claim(record, board, scope)
    classical, leaders = _classical_claims(board, scope, first), _leader_claims(record, board, first)
    every = name_group(board.ranked) if board.apart else "system"
    noun = name_group([board.row(claim.subject) for claim in first])
    heading = describe_first(first, board.naming, _ranking_place(record, board), every=every, noun=noun)
    lede = [
        _gap_sentence(board, scope, gap, first),
        _classical_sentence(classical),
        _leaders_sentence(board, leaders),
    ]
    claims = (*first, *gap, *classical, *leaders)
    return Verdict(heading, tuple(sentence for sentence in lede if sentence), claims)


def first_claims(record: Record, board: Board, task: str = "") -> tuple[Claim, ...]:
    """Who may be first, on a task or by the leading score."""
    scope = record.scope(task or board.lead)
    first = passing_systems(board, scope.first, task)
    alone = len(first) == 1 and scope.ranges[first[0]][1] == 1
    ranked = scope.systems if task else [row.system.name for row in board.ranked]
    below = len(scope.first) - len(first)
    return state_contenders(task or board.lead, first, ranked, alone=alone, below=below)


def _gap_claim(record: Record, board: Board, scope: Scope) -> tuple[Claim, ...]:
    """What the test says of the two best by value; none where it says nothing."""
    best, second = (row.system.name for row in board.ranked[:2])
    pair = scope.pair(best, second)
    if pair is None:
        return ()
    apart = pair.p_adjusted < record.alpha
    return (state_pair(board.lead, best, second, pair.difference, pair.ci_low, pair.ci_high, apart=apart),)


def _classical_claims(board: Board, scope: Scope, first: Sequence[Claim]) -> tuple[Claim, ...]:
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


def _leader_claims(record: Record, board: Board, first: Sequence[Claim]) -> tuple[Claim, ...]:
    """Who alone may be first on a task, when it is not who is first over all."""
    names = [claim.subject for claim in first]
    alone: dict[str, list[Claim]] = {}
    for task in board.tasks:
        leaders = first_claims(record, board, task.name)
        if task.name != board.lead and len(leaders) == 1 and names != [leaders[0].subject]:
            alone.setdefault(leaders[0].subject, []).append(replace(leaders[0], kind="leader"))
    return tuple(claim for claims in alone.values() for claim in claims)


def _count_items(record: Record, task: str) -> int:
    """The items that a task was measured on, over its datasets; 0 for overall, or where it is not recorded."""
    datasets = record.manifest.get("datasets", ())
    return sum(int(((dataset.get("tasks") or {}).get(task) or {}).get("n") or 0) for dataset in datasets)


def _make_too_few_verdict(record: Record, board: Board, items: int) -> Verdict:
    """The ranks stay in the table; no system is said to beat another, as in the answers of several runs."""
    said = numbers.format_counted(items, "item")
    heading = f"{said} {'is' if items == 1 else 'are'} too few to show which is first{_ranking_place(record, board)}"
    rest = tuple(row.system.name for row in board.ranked[2:])
    claims = [replace(_score_claim(board, row), relation="most", others=rest) for row in board.ranked[:2]]
    values = [
        (board.naming(claim.subject), f" {board.unit.write_value(claim.value or 0.0)}") for claim in claims
    ]
    lede: Sentence = (
        *values[0],
        " and ",
        *values[1],
        f" are the highest values. Use {LEAST_ITEMS} items or more.",
    )
    return Verdict((heading,), (lede,), tuple(claims))


def name_group(rows: Sequence[Row]) -> str:
    """What a group of systems is called: by its kind when they share one, else systems."""
    kinds = {row.system.kind for row in rows}
    return NOUNS.get(kinds.pop(), "system") if len(kinds) == 1 else "system"


def _ranking_place(record: Record, board: Board) -> str:
    """What a ranking is on; nothing for SAGE's overall."""
    task = "" if board.lead == OVERALL else board.lead_title
    if record.kind == "pteb":
        return f" on paraphrased {task or 'texts'}"
    return f" on {task if board.unit is POINTS else task.lower()}" if task else ""


def _gap_sentence(board: Board, scope: Scope, gap: Sequence[Claim], first: Sequence[Claim]) -> Sentence:
    """The difference between the two best by value, with what the test says of it."""
    if not gap:
        return ()
    [claim] = gap
    pair = scope.pair(claim.subject, claim.others[0])
    apart = "" if pair is None else describe_undecided_pair(pair.p, pair.p_adjusted, len(scope.ranges))
    return describe_gap(
        claim, board.naming, lambda system: board.row(system).lead.value or 0.0, board.unit, apart, first
    )


def _classical_sentence(claims: Sequence[Claim]) -> Sentence:
    if not claims:
        return ()
    who = {1: "It beats", 2: "Both beat"}.get(len(claims), f"All {numbers.spell_count(len(claims))} beat")
    what = "the classical metric" if len(claims[0].others) == 1 else "every classical metric"
    return (f"{who} {what}.",)


def _leaders_sentence(board: Board, claims: Sequence[Claim]) -> Sentence:
    """`a retrieves best and clusters best; b ...`: a system with all tasks that it leads."""
    superlatives = {task.name: task.superlative for task in board.tasks}
    tasks_of: dict[str, list[str]] = {}
    for claim in claims:
        tasks_of.setdefault(claim.subject, []).append(superlatives[claim.measure])
    sentence: list[Part] = []
    for leader, what in tasks_of.items():
        sentence += [*(["; "] if sentence else []), board.naming(leader), " ", *join_names(what)]
    return (*sentence, ".") if sentence else ()


def _single_verdict(board: Board) -> Verdict:
    row = board.ranked[0]
    on = "overall" if board.lead == OVERALL else f"on {board.lead_title.lower()}"
    interval = f"The 95% interval is {row.lead.interval}. " if row.lead.interval else ""
    heading = (name_row(row), f" scores {row.lead.text} {on}")
    return Verdict(heading, ((f"{interval}Add a second system to compare.",),), (_score_claim(board, row),))


def _score_claim(board: Board, row: Row, relation: Relation = "is") -> Claim:
    """What a system scores, alone or as the highest or lowest of the ranked ones."""
    result = row.lead.row
    ends = (None, None) if result is None else (result.ci_low, result.ci_high)
    others = tuple(other.system.name for other in board.ranked if other is not row)
    return Claim(
        row.system.name, relation, board.lead, () if relation == "is" else others, row.lead.value,
        low=ends[0], high=ends[1]
    )  # fmt: skip


def _unranked_verdict(board: Board, scope: Scope) -> Verdict:
    values = sorted(board.ranked, key=lambda row: row.lead.value or 0.0)
    low, high = values[0], values[-1]
    title = board.lead_title.lower()
    reason = scope.reason or "no test compares them"
    lede = (f"Values lie between {low.lead.text} and {high.lead.text}, but {reason}.",)
    claims = (_score_claim(board, low, "least"), _score_claim(board, high, "most"))
    return Verdict((f"No ranking on {title}: differences cannot be tested",), (lede,), claims)


def _unfinished_verdict(record: Record) -> Verdict:
    claim = state_count("finished", sum(cell.status == "done" for cell in record.cells), len(record.cells))
    cells = f"{numbers.format_count(claim.n)} of {numbers.format_counted(claim.of, 'cell')}"
    command = Command(record.manifest.get("command", ""))
    if not claim.n:
        lede = (f"{cells}. Run ", command, " again: this page fills as cells finish.")
        return Verdict(("Nothing finished yet",), (lede,), (claim,))
    if claim.n == claim.of:
        return Verdict(
            ("No system has a value for every task, so none is ranked",),
            (("Every cell is finished; the notes say which values are missing, and why.",),),
            (claim,),
        )
    return Verdict(
        ("No system has finished every task, so none is ranked",),
        ((f"{cells} are finished. Run ", command, " again to continue."),),
        (claim,),
    )
