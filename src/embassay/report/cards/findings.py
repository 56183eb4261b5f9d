"""What results say of a system: where it beats others, where it is beaten, what it costs, what isn't known of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from embassay.document.blocks import Part, Sentence, convert_sentence_to_text, join_names_with_and
from embassay.protocols.compare import RankedSystemGroup, list_ranked_system_groups, read_comparable_run
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.claims import Claim, Relation
from embassay.protocols.kernel.tables import SCORE, MeasureFormat, choose_measure_format_of_protocol
from embassay.records import ResultRow
from embassay.report.board import (
    BoardRow,
    BoardTask,
    BoardValue,
    SystemBoard,
    list_possible_leaders_above_reference,
    list_protocol_tasks,
    list_run_tasks,
    name_row_system_in_sentence,
)
from embassay.report.notes import SMALL
from embassay.report.record import APART, OVERALL, RunRecord, TaskSystemComparisons
from embassay.report.runs import ReportRun, read_sweep_findings
from embassay.runs.spending import format_dollars

if TYPE_CHECKING:
    from embassay.protocols.rag.sweep.findings.record import StackSummary, SweepDatasetFindings


@dataclass(frozen=True)
class SystemFinding:
    """A clause about the system, and the page of the run that says it: `run` is its title, `page` its address.

    `weight` orders findings of several runs, the gravest (or best) first; `claims` are what the clause states.
    """

    clause: Sentence
    run: str
    page: str
    weight: float = 0.0
    claims: tuple[Claim, ...] = ()

    @property
    def format_clause_as_sentence(self) -> Sentence:
        """The clause as a line of its own."""
        first, *rest = self.clause
        head = numbers.capitalise_unless_name(first) if isinstance(first, str) else first
        return (head, *rest, ".")


def make_finding(
    run: ReportRun, *clause: Part, weight: float = 0.0, place: str = "", claims: Iterable[Claim] = ()
) -> SystemFinding:
    """A finding of a run; `place` is a part of its page."""
    return SystemFinding(clause, run.title, f"{place or run.record.kind}{run.ending}", weight, tuple(claims))


def format_task_name(task: BoardTask) -> str:
    """Format a task's name for use inside a sentence."""
    return task.short if task.short.isupper() else task.short.lower()


def format_value_with_interval(value: BoardValue) -> str:
    """A value with its interval: `0.523 (0.510–0.536)`."""
    return "" if value.row is None else format_result_with_interval(value.row, value.unit)


def format_result_with_interval(row: ResultRow, unit: MeasureFormat = SCORE) -> str:
    """Format a row that has a value with its interval."""
    low, high = row.ci_low, row.ci_high
    ends = f" ({unit.format_interval_in_text(low, high)})" if low is not None and high is not None else ""
    return unit.format_value_in_text(row.value or 0.0) + ends


def format_percent_with_interval(row: ResultRow, unit: MeasureFormat) -> str:
    """Format a row that is given in percent with its interval: `23.5% (21.9–25.1)`."""
    low, high = row.ci_low, row.ci_high
    ends = f" ({unit.interval(low, high)})" if low is not None and high is not None else ""
    return f"{unit.text(row.value or 0.0)}%{ends}"


def format_share_with_count(row: ResultRow) -> str:
    """A share with its count: `4 of 48 (8%)`."""
    return numbers.format_share_with_count(row.value or 0.0, row.n)


def keep_rows_with_value(rows: Sequence[ResultRow | None]) -> list[ResultRow]:
    """The rows that have a value."""
    return [row for row in rows if row is not None and row.value is not None]


MOST_TASKS = 7
NO_MORE = {"robustness": "a system that only keeps noise above the summary"}
"""What a task's constant is, where its label is too short for a sentence."""


def list_first_rank_findings(run: ReportRun, row: BoardRow) -> Iterator[SystemFinding]:
    """Find the tasks on which its rank range is 1, then those where it includes 1."""
    alone = [task for task in _list_tasks_with_rank_for_system(run, row) if _find_rank_range(run, task, row) == (1, 1)]
    maybe = [
        task
        for task in _list_tasks_with_rank_for_system(run, row)
        if _is_possibly_first(run, task, row) and task not in alone + list_tasks_without_rank_information(run, row)
    ]
    for noun, tasks in _group_tasks_by_kind_of_opponents(run, row, alone):
        clause = f"beats every other {noun} on {_format_values_on_tasks(run, row, tasks)}"
        yield make_finding(run, clause, weight=3, claims=_make_place_claims_on_tasks("first", run, row, tasks))
    if maybe:
        clause = f"may be first on {_format_values_on_tasks(run, row, maybe)}"
        yield make_finding(run, clause, weight=2, claims=_make_place_claims_on_tasks("may be first", run, row, maybe))


def list_findings_of_tasks_ranked_last(run: ReportRun, row: BoardRow) -> Iterator[SystemFinding]:
    """Find the tasks where every other system of its field beats it, or a reference does as well."""
    last = [
        task
        for task in _list_tasks_with_rank_for_system(run, row)
        if _is_surely_last(_find_comparison_group_of_system(run, task.name, row), row)
    ]
    for noun, tasks in _group_tasks_by_kind_of_opponents(run, row, last):
        clause = f"is beaten by every other {noun} on {_format_values_on_tasks(run, row, tasks)}"
        yield make_finding(run, clause, weight=4, claims=_make_place_claims_on_tasks("last", run, row, tasks))
    for i, task in enumerate(run.board.tasks):
        value, trivial = row.tasks[i], find_reference_line_score(run.record, task)
        if (
            value.value is None
            or trivial is None
            or value.value > trivial
            or _equals_constant_score(task, value.value, trivial)
        ):
            continue
        what = NO_MORE.get(task.name) or (
            f"the {task.trivial_system} baseline" if task.trivial_system else task.trivial_label
        )
        as_much = task.printed.format_value_in_text(trivial)
        score = format_value_with_interval(value)
        clause = f"scores {score} on {format_task_name(task)}, no more than {what} ({as_much})"
        yield make_finding(run, clause, weight=6 if task.trivial_system else 2)


def _make_place_claims_on_tasks(
    relation: Relation, run: ReportRun, row: BoardRow, tasks: Sequence[BoardTask]
) -> Iterator[Claim]:
    """State where a system stands on each of the tasks, in the field that it was compared in."""
    name = row.system.name
    for task in tasks:
        others = tuple(
            other for other in _find_comparison_group_of_system(run, task.name, row).systems if other != name
        )
        yield Claim(name, relation, task.name, others)


def describe_overall_rank(run: ReportRun, row: BoardRow) -> str:
    """`rank 1–2 of 6 systems overall`; empty without a rank."""
    scope = _find_comparison_group_of_system(run, run.board.lead, row)
    ranges = scope.ranges.get(row.system.name)
    if ranges is None:
        return ""
    where = "overall" if run.board.lead == OVERALL else f"on {run.board.lead_title.lower()}"
    of = numbers.format_noun_count(len(scope.systems), _name_kind_of_systems(run.board, scope, row))
    return f"rank {numbers.format_rank_range(*ranges)} of {of} {where}"


def list_tasks_without_rank_information(run: ReportRun, row: BoardRow) -> list[BoardTask]:
    """The tasks on which the tests allow it every place: they say nothing of it."""
    return [
        task
        for task in _list_tasks_with_rank_for_system(run, row)
        if _find_rank_range(run, task, row) == (1, len(_find_comparison_group_of_system(run, task.name, row).systems))
    ]


def _equals_constant_score(task: BoardTask, value: float, trivial: float) -> bool:
    """Whether it reaches a constant exactly: robustness of 1/3 is what its first relation allows."""
    return not task.trivial_system and value > trivial - 1e-9


def _list_tasks_with_rank_for_system(run: ReportRun, row: BoardRow) -> list[BoardTask]:
    """The tasks of the board on which it has a rank among two or more."""
    return [task for task in run.board.tasks if _find_rank_range(run, task, row) is not None]


def _find_comparison_group_of_system(run: ReportRun, name: str, row: BoardRow) -> TaskSystemComparisons:
    """The field that it was compared in."""
    for scope in (run.record.find_task_comparisons(name), run.record.find_task_comparisons(name + APART)):
        if row.system.name in scope.ranges:
            return scope
    return run.record.find_task_comparisons(name)


def _find_rank_range(run: ReportRun, task: BoardTask, row: BoardRow) -> tuple[int, int] | None:
    scope = _find_comparison_group_of_system(run, task.name, row)
    return scope.ranges.get(row.system.name) if len(scope.systems) > 1 else None


def _is_possibly_first(run: ReportRun, task: BoardTask, row: BoardRow) -> bool:
    """Whether the tests let it be first, and it scores above every reference where any system does."""
    first = _find_comparison_group_of_system(run, task.name, row).first
    return _find_rank_range(run, task, row) is not None and row.system.name in list_possible_leaders_above_reference(
        run.board, first, task.name
    )


def _is_surely_last(scope: TaskSystemComparisons, row: BoardRow) -> bool:
    last = len(scope.systems)
    return scope.ranges.get(row.system.name) == (last, last)


def _group_tasks_by_kind_of_opponents(
    run: ReportRun, row: BoardRow, tasks: Sequence[BoardTask]
) -> Iterator[tuple[str, list[BoardTask]]]:
    """Group the tasks that have the same kind of field: all systems, encoders or classical metrics."""
    fields: dict[str, list[BoardTask]] = {}
    for task in tasks:
        fields.setdefault(
            _name_kind_of_systems(run.board, _find_comparison_group_of_system(run, task.name, row), row), []
        ).append(task)
    yield from fields.items()


def _name_kind_of_systems(board: SystemBoard, scope: TaskSystemComparisons, row: BoardRow) -> str:
    kinds = {board.row(name).system.kind for name in scope.systems}
    every = {entry.system.kind for entry in board.rows if entry.system.ranked}
    if kinds == every or len(kinds) > 1:
        return "system"
    return "classical metric" if row.system.kind == "classical" else "encoder"


def _format_values_on_tasks(run: ReportRun, row: BoardRow, tasks: Sequence[BoardTask]) -> str:
    """`STS 81.4 (78.0–84.2) and retrieval 60.1 (55.0–64.9)`."""
    place = {task.name: i for i, task in enumerate(run.board.tasks)}
    values = [
        f"{format_task_name(task)} with {format_value_with_interval(row.tasks[place[task.name]])}"
        for task in tasks[:MOST_TASKS]
    ]
    more = [f"{len(tasks) - MOST_TASKS} more"] if len(tasks) > MOST_TASKS else []
    return convert_sentence_to_text(join_names_with_and([*values, *more]))


FILE = "headlines.parquet"
MOST_BYTES = 20_000_000
"""A larger file of headlines is left to `embassay compare`: a report must be written in seconds."""
MOST_DATASETS = 3


def find_datasets_ranked_first(run: ReportRun, row: BoardRow) -> Iterator[SystemFinding]:
    """The datasets on which its rank is 1, by the same tests as on tasks."""
    firsts = [(field, place) for field, place in _list_dataset_ranks(run, row) if place == (1, 1)]
    if firsts:
        yield make_finding(
            run, f"beats every other system of its kind on {_format_values_on_datasets(run, row, firsts)}", weight=2.5
        )


def find_dataset_weaknesses(run: ReportRun, row: BoardRow) -> Iterator[SystemFinding]:
    """The datasets on which every other one beats it."""
    lasts = [(field, place) for field, place in _list_dataset_ranks(run, row) if place == (len(field.entrants),) * 2]
    if lasts:
        yield make_finding(
            run,
            f"is beaten by every other system of its kind on {_format_values_on_datasets(run, row, lasts)}",
            weight=3.5,
        )


Placed = tuple[RankedSystemGroup, tuple[int, int]]


def _list_dataset_ranks(run: ReportRun, row: BoardRow) -> Iterator[Placed]:
    """The fields of single datasets, of tasks that have several, in which it has a rank."""
    several = {
        task.name: task.headline for task in list_run_tasks(run.record) if len(run.record.datasets(task.name)) > 1
    }
    path = run.record.path / FILE
    if not several or not path.is_file() or path.stat().st_size > MOST_BYTES:
        return
    state = path.stat()
    for field in _read_ranked_system_groups_cached(run.record.path, state.st_mtime_ns, state.st_size):
        if not field.dataset or several.get(field.task) != field.measure:
            continue
        for entrant in field.entrants:
            if entrant.system == row.system.name and entrant.rank_low is not None and entrant.rank_high is not None:
                yield field, (entrant.rank_low, entrant.rank_high)


def _format_values_on_datasets(run: ReportRun, row: BoardRow, placed: Sequence[Placed]) -> str:
    word = {task.name: format_task_name(task) for task in list_run_tasks(run.record)}
    values = []
    for field, _ in placed[:MOST_DATASETS]:
        result = run.record.find(field.task, row.system.name, field.measure, dataset=field.dataset)
        value = (
            format_result_with_interval(result, choose_measure_format_of_protocol(run.record.kind))
            if result is not None
            else ""
        )
        with_value = f" with {value}" if value else ""
        values.append(f"{word[field.task]} of {field.dataset}{with_value}")
    return convert_sentence_to_text(
        join_names_with_and(
            [*values, *([f"{len(placed) - MOST_DATASETS} more"] if len(placed) > MOST_DATASETS else [])]
        )
    )


# Size and time of the file are in the key: a run that goes on writes it anew.
@lru_cache(maxsize=2)
def _read_ranked_system_groups_cached(folder: Path, _written: int, _size: int) -> tuple[RankedSystemGroup, ...]:
    return tuple(list_ranked_system_groups(read_comparable_run(folder)))


ASKED = (
    (("sage",), "how it reacts to edits to a text (SAGE)"),
    (("pteb",), "how much paraphrases lower its scores (PTEB)"),
    (("hteb",), "how much other styles, lengths and languages lower its scores (HTEB)"),
    (("hume",), "how people perform on the same items (HUME)"),
    (("score", "sweep", "golden"), "how much evidence it finds for answers (RAG)"),
    (("names",), "whether it distinguishes names from impostors"),
    (("noise",), "how small talk affects it"),
)
"""The questions that a report can answer, by the kinds of run that do."""


def list_system_unknowns(runs: Sequence[ReportRun], own: Sequence[ReportRun], row: BoardRow) -> Iterator[str]:
    """List what is not known of a system, each as one sentence. `own` are the runs with its results."""
    if not row.system.ranked:
        return
    kinds = {run.record.kind for run in own}
    # A language model is asked by HUME alone: other questions are none of it.
    if row.system.kind == "llm":
        kinds |= {"sage", "pteb", "hteb", "score", "names", "noise"}
    not_asked = [words for of, words in ASKED if not kinds & set(of)]
    if not_asked:
        yield f"Not tested here: {convert_sentence_to_text(join_names_with_and(not_asked))}."
    for run in own:
        yield from (
            f"{run.title}: {said}" if len(runs) > 1 else said for said in _say_missing_or_weak_scores(run.record, row)
        )
    yield from _say_uninformative_tasks(own, row)
    for run in (other for other in own if other.record.kind == "pteb"):
        from embassay.report.pteb import drops as of_pteb

        yield from of_pteb.describe_uncertain_losses(run, run.board.row(row.system.name))
    for run in (other for other in own if other.record.kind == "hteb"):
        from embassay.report.hteb import profile

        yield from profile.describe_uncertain_axes(run, run.board.row(row.system.name))
    yield from _say_differing_identities(own, row)
    yield from _say_tested_languages(own)
    if row.system.kind == "embedding":
        source, price, _ = find_system_price_and_source(own, row.system.name)
        if source == "server" and price is None:
            yield "Its price is unknown; add price= to its name."
        yield "It is unknown whether it was trained on this data."


def _say_uninformative_tasks(runs: Sequence[ReportRun], row: BoardRow) -> Iterator[str]:
    for run in runs:
        nothing = [
            format_task_name(task) for task in list_tasks_without_rank_information(run, run.board.row(row.system.name))
        ]
        if nothing:
            names = convert_sentence_to_text(join_names_with_and(nothing))
            yield f"{run.title}: no test separates it from the other systems on {names}."


def _say_missing_or_weak_scores(record: RunRecord, row: BoardRow) -> Iterator[str]:
    """Say which tasks have no score, which scores no interval, and which few items."""
    name = row.system.name
    tasks = list_protocol_tasks(record)
    absent = [task.short for task in tasks if not record.datasets(task.name)]
    if absent:
        absent_names = convert_sentence_to_text(join_names_with_and(absent))
        yield f"{absent_names} {'was' if len(absent) == 1 else 'were'} not part of the run."
    failed, waiting = (
        [cell for cell in record.cells if cell.system == name and cell.status == status]
        for status in ("failed", "not run")
    )
    for cells, verb in ((failed, "failed"), (waiting, "unfinished")):
        if cells:
            places = list(dict.fromkeys(f"{cell.task} on {cell.dataset}" for cell in cells))
            more = f" and {len(places) - 3} more" if len(places) > 3 else ""
            yield f"No score because of {verb} cells: {', '.join(places[:3])}{more}."
    small, bare = [], []
    for task in tasks:
        rows = [record.find(task.name, name, task.headline, dataset=data) for data in record.datasets(task.name)]
        values = [result for result in rows if result is not None and result.value is not None]
        small += [f"{task.short} on {value.dataset} (n = {value.n})" for value in values if value.n < SMALL]
        bare += [f"{task.short} on {value.dataset}" for value in values if value.ci_low is None]
    if small:
        more = f" and {len(small) - 4} more" if len(small) > 4 else ""
        yield f"Based on fewer than {SMALL} items: {', '.join(small[:4])}{more}."
    if bare:
        more = f" and {len(bare) - 4} more" if len(bare) > 4 else ""
        yield f"No interval: {', '.join(bare[:4])}{more}."


def _say_differing_identities(runs: Sequence[ReportRun], row: BoardRow) -> Iterator[str]:
    """Say that what bears its name has differing identities in the runs."""
    identities = {
        run.record.systems_by_name[row.system.name].identity: run.title
        for run in runs
        if run.record.systems_by_name[row.system.name].kind == row.system.kind
    }
    identities.pop("", None)
    plainest = {_strip_cosine_from_identity(identity) for identity in identities}
    if len(plainest) > 1:
        yield (
            f"It may differ between {convert_sentence_to_text(join_names_with_and(list(identities.values())))}: "
            "its identity is not the same (weights, settings or tokenizer)."
        )


def _strip_cosine_from_identity(identity: str) -> str:
    """An identity without how it was wrapped: a metric of texts is the cosine of its encoder's vectors."""
    return identity.removeprefix("cosine(").removesuffix(")") if identity.startswith("cosine(") else identity


def _say_tested_languages(runs: Sequence[ReportRun]) -> Iterator[str]:
    langs = {
        dataset.get("lang", "")
        for run in runs
        for dataset in run.record.list_dataset_manifest_entries
        if dataset.get("lang")
    }
    if langs and len(langs) < 4 and "mul" not in langs:
        yield f"Only texts in {convert_sentence_to_text(join_names_with_and(sorted(langs)))} were tested."


def find_reference_line_score(record: RunRecord, task: BoardTask) -> float | None:
    """The dashed line of the task's panel: its constant, or the score of a reference system."""
    if task.trivial is not None:
        return task.trivial
    return record.value(task.name, task.trivial_system, task.headline)


FASTER = 1.2
"""So many times as fast is faster: less may be the machine's mood."""


@dataclass(frozen=True)
class SystemRunCost:
    """What one run took of a system, in words; empty where it does not apply. `cut` are texts longer than it reads."""

    run: str
    time: str
    encoded: str
    cached: str
    cut: str
    pace: str
    paid: str


@dataclass(frozen=True)
class SystemPriceFigures:
    """Its price, sentences that weigh price and time against the scores, and what each run took."""

    price: str
    sentences: tuple[Sentence, ...]
    runs: tuple[SystemRunCost, ...]


def make_system_price_figures(runs: Sequence[ReportRun], row: BoardRow) -> SystemPriceFigures:
    """The figures of all runs that have the system."""
    sentences = [
        *_say_faster_systems(runs, row),
        *(stack for run in runs for stack in _describe_best_stack_with_system(run, row.system.name)),
    ]
    costs = (_find_cost_of_system_in_run(run, row.system.name) for run in runs)
    return SystemPriceFigures(
        _describe_system_token_price(runs, row.system.name),
        tuple(sentences),
        tuple(cost for cost in costs if cost is not None),
    )


def compute_encoding_speed(record: RunRecord, system: str) -> float | None:
    """Texts encoded per second of its cells, all work included; None where it encoded none."""
    cells = [cell for cell in record.cells if cell.system == system and cell.status == "done"]
    encoded = sum(cell.counts.get("texts_encoded", 0) for cell in cells)
    seconds = sum(cell.seconds or 0.0 for cell in cells)
    return encoded / seconds if encoded and seconds else None


def find_system_price_and_source(runs: Sequence[ReportRun], system: str) -> tuple[str, float | None, str]:
    """Who sets its price (`server`, `sweep` or nobody), US dollars per million tokens, and the day of the price."""
    for run in runs:
        facts = run.record.systems_by_name[system].facts
        if "usd_per_million_tokens" in facts:
            return "server", facts["usd_per_million_tokens"], run.record.manifest.get("updated", "")
    for run in runs:
        prices = run.record.manifest.get("prices") or {}
        if system in (prices.get("tokens") or {}):
            return "sweep", float(prices["tokens"][system]), str(prices.get("date", ""))
    return "", None, ""


def _describe_system_token_price(runs: Sequence[ReportRun], system: str) -> str:
    source, price, day = find_system_price_and_source(runs, system)
    if source == "server":
        known = "" if price is None else f"{format_dollars(price)} per million tokens, as of {numbers.format_date(day)}"
        return f"Price: {known or 'not known'}."
    if source == "sweep" and price:
        amount = format_dollars(price)
        return f"Price: {amount} per million tokens, as given in the sweep (prices as of {numbers.format_date(day)})."
    return "Price: none, because it runs on your machine."


def _find_cost_of_system_in_run(run: ReportRun, system: str) -> SystemRunCost | None:
    record = run.record
    cells = [cell for cell in record.cells if cell.system == system]
    done = [cell for cell in cells if cell.status == "done"]
    spent = ((record.manifest.get("spent") or {}).get("systems") or {}).get(system) or {}
    seconds = sum(cell.seconds or 0.0 for cell in done)
    if record.kind == "score" or not (seconds or spent):
        return None
    encoded, cached, cut = (
        sum(cell.counts.get(key, 0) for cell in cells) for key in ("texts_encoded", "texts_cached", "texts_truncated")
    )
    pace, seen = compute_encoding_speed(record, system), encoded + cached
    return SystemRunCost(
        run=run.title,
        time=numbers.format_duration(seconds) if done else "",
        encoded=numbers.format_count(encoded) if seen else "",
        cached=numbers.format_count(cached) if seen else "",
        cut=numbers.format_percent(min(1.0, cut / seen), 1) if seen else "",
        pace=numbers.format_count(round(pace)) if pace is not None else "",
        paid=format_dollars(spent.get("usd")) if spent.get("requests") else "",
    )


def _say_faster_systems(runs: Sequence[ReportRun], row: BoardRow) -> Iterator[Sentence]:
    """Of the first run with ranks: faster encoders that it does not beat, or that it beats all of them."""
    run = next(
        (other for other in runs if other.board.has_ranks and row.system.name in other.record.systems_by_name), None
    )
    if run is None:
        return
    record, own = run.record, compute_encoding_speed(run.record, row.system.name)
    if own is None or not run.board.row(row.system.name).rank:
        return
    paces = [
        (other, compute_encoding_speed(record, other.system.name)) for other in (*run.board.ranked, *run.board.apart)
    ]
    faster = [(other, pace) for other, pace in paces if pace is not None and pace > FASTER * own]
    level = [(other, pace) for other, pace in faster if not _beats_other(run, row, other)]
    on = "overall" if run.board.lead == OVERALL else f"on {run.board.lead_title.lower()}"
    if level:
        clause: list[Part] = []
        for other, pace in level[:3]:
            clause += [
                *([", "] if clause else []),
                name_row_system_in_sentence(other),
                f" ({numbers.format_count(round(pace))} texts per second)",
            ]
        head = f"It encodes {numbers.format_count(round(own))} texts per second. Faster, and not beaten by it {on}"
        yield (f"{head} in {run.title}: ", *clause, ".")
    elif faster:
        names = join_names_with_and([name_row_system_in_sentence(other) for other, _ in faster[:3]])
        yield (f"It beats every faster encoder {on} in {run.title}: ", *names, ".")


def _beats_other(run: ReportRun, a: BoardRow, b: BoardRow) -> bool:
    for scope in (
        run.record.find_task_comparisons(run.board.lead),
        run.record.find_task_comparisons(run.board.lead + APART),
    ):
        pair = scope.pair(a.system.name, b.system.name)
        if pair is not None:
            return pair.difference > 0 and pair.p_adjusted < run.record.alpha
    return False


def _describe_best_stack_with_system(run: ReportRun, system: str) -> Iterator[Sentence]:
    """The best stack of a sweep that it is part of, with its price and time."""
    findings = read_sweep_findings(run)
    if findings is None or not findings.parts:
        return
    from embassay.protocols.rag.sweep.findings.sentences import format_usd_per_1000_queries

    part, measure = findings.parts[0], findings.asked.measure
    stacks = [stack for stack in part.stacks if system in (stack.axes.get("encoder"), stack.axes.get("reranker"))]
    measured = [stack for stack in stacks if stack.value(measure) is not None]
    if not measured:
        return
    best = max(measured, key=lambda stack: stack.value(measure) or 0.0)
    yield (
        f"The best of its {len(stacks)} stacks in {run.title} is ",
        f"{best.id}: {measure} {_format_stack_quality(best, measure)}, {_format_ms(best.latency)} at "
        f"p{findings.asked.percentile:.0f}, {format_usd_per_1000_queries(best.cost)} per 1,000 queries (prices as of "
        f"{numbers.format_date(findings.asked.priced_on)}), {_describe_stack_standing(part, best)}."
    )  # fmt: skip


def _format_stack_quality(stack: StackSummary, measure: str) -> str:
    quality = stack.find_measured_quality(measure)
    if quality is None or quality.value.value is None:
        return "n/a"
    ends = quality.value.low, quality.value.high
    text = numbers.format_score(quality.value.value)
    return text if ends[0] is None or ends[1] is None else f"{text} ({numbers.format_interval(ends[0], ends[1])})"


def _describe_stack_standing(part: SweepDatasetFindings, stack: StackSummary) -> str:
    if stack.id == part.recommendation.stack:
        return "recommended by the sweep"
    return "on the frontier" if stack.on else "dominated by another stack"


def _format_ms(value: float) -> str:
    return f"{value:.1f} ms" if value < 99.5 else f"{value:.0f} ms"
