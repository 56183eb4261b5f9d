"""The card of a system, over all runs that have it: two sentences, scores among others', how to run it again."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from embassay.document.blocks import Part, Sentence, convert_sentence_to_text, join_names_with_and
from embassay.document.marks import LinearScale, fit_axis_scale
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.tables import MeasureFormat
from embassay.registry import import_attribute
from embassay.report.board import (
    BoardRow,
    BoardTask,
    BoardValue,
    SystemBoard,
    is_protocol_with_task_board,
    name_row_system_in_sentence,
)
from embassay.report.cards.findings import (
    SystemFinding,
    SystemPriceFigures,
    describe_overall_rank,
    format_value_with_interval,
    list_system_unknowns,
    make_finding,
    make_system_price_figures,
)
from embassay.report.headlines import find_run_headlines
from embassay.report.record import KINDS as OURS
from embassay.report.record import OVERALL, RunRecord, SystemOfRun
from embassay.report.runs import ReportRun, list_board_rows, read_sweep_findings

if TYPE_CHECKING:
    from embassay.report.hume.gap import SystemVersusPeopleStatements

OPTIONS = {
    "paraphrasers": "-p", "prompts": "--prompt", "transformer": "--transformer", "runs": "--runs",
    "baseline": "--baseline"
}  # fmt: skip
"""How the arguments of a run on rewritten texts are given."""


def build_rerun_command(record: RunRecord, system: SystemOfRun) -> str:
    """The command that evaluates this system alone, with the run's other arguments; empty where a run of its kind has
    no such command."""
    if record.kind not in ("sage", "pteb", "hteb", "original"):
        return ""
    arguments = record.arguments
    parts = ["embassay", "pteb" if record.kind == "original" else record.kind, "run", "-s", system.name]
    parts += ["--original-only"] if record.kind == "original" else []
    for task in arguments.get("tasks", ()):
        parts += ["-t", task]
    for dataset in arguments.get("datasets", ()):
        parts += ["-d", dataset]
    for argument in OPTIONS if record.kind in ("pteb", "hteb") else ():
        given = arguments.get(argument)
        for value in given if isinstance(given, list | tuple) else [] if given is None else [given]:
            parts += [OPTIONS[argument], str(value)]
    for column, renamed in (arguments.get("mapping") or {}).items():
        parts += ["--map", f"{column}={renamed}"]
    for option in ("split", "grades", "limit", "seed", "tokenizer"):
        if arguments.get(option) is not None:
            parts += [f"--{option}", str(arguments[option])]
    return shlex.join([*parts, "--out", f"runs/{record.manifest.get('name', 'again')}-again"])


@dataclass(frozen=True)
class ScoreAmongSystems:
    """A score of the system beside those of the others."""

    title: str
    value: BoardValue
    others: tuple[float, ...]
    scale: LinearScale
    rank: str


@dataclass(frozen=True)
class SystemRunScores:
    """The scores of a system in one run. `place` is a sentence; `title` is empty where there is one run."""

    title: str
    place: Sentence
    scores: tuple[ScoreAmongSystems, ...]


def make_scores_of_system_in_run(run: ReportRun, row: BoardRow, *, several: bool) -> SystemRunScores:
    """Those of a run; of several, and where the run has no board, the leading score alone, under the run's title."""
    if not several and is_protocol_with_task_board(run.record.kind):
        return SystemRunScores("", _say_rank_of_system(run, row), _list_task_scores_with_place(run, row))
    place = _say_rank_of_system(run, row) if is_protocol_with_task_board(run.record.kind) else ()
    return SystemRunScores(run.title, place, tuple(_make_headline_score_among_systems(run, row.system.name)))


def _make_headline_score_among_systems(run: ReportRun, system: str) -> Iterator[ScoreAmongSystems]:
    """The figure that the run's table of leading scores has."""
    lead = find_run_headlines(run)
    own = None if lead is None else lead.leaders.get(system)
    if lead is None or own is None:
        return
    others = [
        leader.value.value
        for name, leader in lead.leaders.items()
        if name != system and leader.kind != "reference" and leader.value.value is not None
    ]
    title = lead.run if lead.measure == OVERALL or lead.people else f"{lead.run}, {lead.measure}"
    yield ScoreAmongSystems(title, own.value, tuple(others), lead.scale, own.rank_range)


def count_ranked_systems_and_name_kind(run: ReportRun, row: BoardRow) -> tuple[int, str]:
    """How many systems it is ranked with, and what they are called."""
    apart = run.board.apart
    group = apart if row in apart else run.board.ranked
    kinds = {row.system.kind for row in group}
    metrics = "classical metric" if kinds == {"classical"} else "system"
    return len(group), metrics if not apart else "classical metric" if row in apart else "encoder"


def _say_rank_of_system(run: ReportRun, row: BoardRow) -> Sentence:
    if not row.system.ranked:
        return ("It shows the score of a system that ignores the text.",)
    record, board = run.record, run.board
    best = [
        task.short if task.short.isupper() else task.short.lower()
        for task in board.tasks
        if row.system.name in record.find_task_comparisons(task.name).best
    ]
    tasks = convert_sentence_to_text(join_names_with_and(best))
    if row.rank:
        scope = "overall" if board.lead == OVERALL else f"on {board.lead_title.lower()}"
        place = f"Rank {row.rank} of {count_ranked_systems_and_name_kind(run, row)[0]} ranked systems {scope}"
    else:
        place = numbers.capitalise_unless_name(row.note) if row.note else f"No score {board.lead_title.lower()}"
    return (f"{place}" + (f"; it is best, or cannot be told apart from the best, on {tasks}." if best else "."),)


def _list_task_scores_with_place(run: ReportRun, row: BoardRow) -> tuple[ScoreAmongSystems, ...]:
    record, board = run.record, run.board
    made = []
    if board.lead == OVERALL:
        others = [other.lead.value for other in board.ranked + board.apart if other is not row]
        made.append(_make_score_among_systems("Overall", row.lead, others, row.rank, board.unit))
    for i, task in enumerate(board.tasks):
        others = [other.tasks[i].value for other in board.rows if other is not row and other.system.ranked]
        made.append(
            _make_score_among_systems(
                task.short, row.tasks[i], others, _format_task_rank(record, task, row), task.printed
            )
        )
    return tuple(made)


def _make_score_among_systems(
    title: str, value: BoardValue, others: Sequence[float | None], rank: str, unit: MeasureFormat
) -> ScoreAmongSystems:
    values = tuple(other for other in others if other is not None)
    scale = fit_axis_scale(
        [*values, *([] if value.value is None else [value.value])],
        within=None if unit.factor != 1 else (0.0, 1.0), factor=unit.factor
    )  # fmt: skip
    return ScoreAmongSystems(title, value, values, scale, rank)


def _format_task_rank(record: RunRecord, task: BoardTask, row: BoardRow) -> str:
    ranges = record.rank_range(task.name, row.system.name)
    return numbers.format_rank_range(*ranges) if ranges else ""


MOST_PLACES = 2
"""Runs whose ranks fit a sentence."""


def summarise_system(
    row: BoardRow,
    own: Sequence[ReportRun],
    standings: Sequence[SystemRunScores],
    good: Sequence[SystemFinding],
    bad: Sequence[SystemFinding],
) -> tuple[Sentence, ...]:
    """The first says its places, or the best that is known of it; the second what moves or beats it most."""
    if row.system.ranked:
        return (_describe_ranks_of_system_in_runs(row, own, good), _weakness_sentence(bad))
    return (standings[0].place,) if standings else ()


def _describe_ranks_of_system_in_runs(
    row: BoardRow, runs: Sequence[ReportRun], good: Sequence[SystemFinding]
) -> Sentence:
    places = [place for run in runs if run.board.tasks and (place := _say_rank_in_run(run, row, several=len(runs) > 1))]
    if places:
        return (name_row_system_in_sentence(row), f" has {'; '.join(places[:MOST_PLACES])}.")
    if good:
        return (name_row_system_in_sentence(row), " ", *good[0].clause, ".")
    return (name_row_system_in_sentence(row), " has no rank here, because no test compares it with other systems.")


def _say_rank_in_run(run: ReportRun, row: BoardRow, *, several: bool) -> str:
    place = next((other for other in run.board.rows if other.system.name == row.system.name), None)
    rank = describe_overall_rank(run, place) if place is not None else ""
    if place is None or not rank or place.lead.value is None:
        return ""
    return f"{rank}{f' in {run.title}' if several else ''}, with {format_value_with_interval(place.lead)}"


def _weakness_sentence(bad: Sequence[SystemFinding]) -> Sentence:
    if not bad:
        return ("No test here shows it to be worse than the others or affected by an edit.",)
    first = bad[0]
    second = next((finding for finding in bad[1:] if finding.run != first.run), None)
    sentence: list[Part] = ["It ", *first.clause]
    return (*sentence, *((", and ", *second.clause) if second is not None else ()), ".")


KINDS = {
    "embedding": "An embedding model, compared by cosine similarity",
    "classical": "A classical similarity metric",
    "reference": "A baseline that ignores the text, shown in every table and never ranked",
    "llm": "A language model",
    "hybrid": "A fusion of word and vector rankings",
    "run": "A file of rankings",
}
FACT_WORDS = {"dims": "dimensions", "max_tokens": "input limit, tokens", "weights_mb": "weights in memory, MB"}
HIDDEN = ("kind", "dim", "about", "role", "usd_per_million_tokens")
"""Facts that the card says elsewhere, or that say how a run used the system."""
MOST_FINDINGS = 6
"""Findings of a kind on a card."""
Say = Callable[[ReportRun, BoardRow], Iterator[SystemFinding]]
BY_ROW = ("cards.findings", "sage.similarity", "pteb.drops", "hteb.profile")
OTHER = ""
"""Runs of protocols of other packages."""
GOOD = {
    "sage": (
        "cards.findings:list_first_rank_findings",
        "cards.findings:find_datasets_ranked_first",
        "sage.similarity:find_edit_system_withstands_best",
    ),
    "pteb": (
        "cards.findings:list_first_rank_findings",
        "cards.findings:find_datasets_ranked_first",
        "pteb.drops:find_paraphrase_strengths",
    ),
    "hteb": (
        "cards.findings:list_first_rank_findings",
        "cards.findings:find_datasets_ranked_first",
        "hteb.profile:find_axis_strengths",
    ),
    "score": ("rag.scoring:find_scoring_strengths",),
    "names": ("rag.probes:find_name_probe_strengths",),
    "choose": ("rag.choice:list_choice_findings_for_system",),
    "sweep": ("rag.frontier:iterate_system_strengths_in_sweep",),
    "calibration": ("calibration.thresholds:make_threshold_strength_findings",),
    "hume": ("hume.gap:make_findings_of_pairs_above_people",),
    OTHER: ("cards.findings:list_first_rank_findings", "cards.findings:find_datasets_ranked_first"),
}
BAD = {
    "sage": (
        "cards.findings:list_findings_of_tasks_ranked_last",
        "cards.findings:find_dataset_weaknesses",
        "sage.similarity:find_edit_weaknesses",
    ),
    "pteb": (
        "cards.findings:list_findings_of_tasks_ranked_last",
        "cards.findings:find_dataset_weaknesses",
        "pteb.drops:find_paraphrase_weaknesses",
    ),
    "hteb": (
        "cards.findings:list_findings_of_tasks_ranked_last",
        "cards.findings:find_dataset_weaknesses",
        "hteb.profile:find_axis_weaknesses",
    ),
    "score": ("rag.scoring:find_scoring_weaknesses",),
    "names": ("rag.probes:find_name_probe_weaknesses",),
    "noise": ("rag.probes:find_noise_probe_weaknesses",),
    "calibration": ("calibration.thresholds:find_threshold_weaknesses",),
    "hume": ("hume.gap:make_findings_of_pairs_below_people",),
    OTHER: ("cards.findings:list_findings_of_tasks_ranked_last", "cards.findings:find_dataset_weaknesses"),
}
"""What says something of a system, by the kind of run: loaded for such a run. It is asked by the system's row of the
board in the modules BY_ROW, else by its name."""


@dataclass(frozen=True)
class SystemCard:
    """One system, `ranked` where the first run that has it has ranks. `sentences` are two for a ranked system."""

    row: BoardRow
    about: str
    sentences: tuple[Sentence, ...]
    standings: tuple[SystemRunScores, ...]
    good: tuple[SystemFinding, ...]
    bad: tuple[SystemFinding, ...]
    people: tuple[SystemVersusPeopleStatements, ...]
    price: SystemPriceFigures
    unknown: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    commands: tuple[str, ...]
    ranked: bool
    has_items: bool


def make_system_cards(runs: Sequence[ReportRun]) -> tuple[SystemCard, ...] | None:
    """A card per system of which a run has results, in the order of the boards."""
    rows = list_board_rows(sorted(runs, key=lambda run: not is_protocol_with_task_board(run.record.kind)))
    cards = (_make_system_card(runs, row) for row in rows if row.system.kind in KINDS)
    return tuple(card for card in cards if card is not None) or None


def make_cards_of_run(record: RunRecord, board: SystemBoard) -> tuple[SystemCard, ...] | None:
    """The cards of one run."""
    return make_system_cards((ReportRun(record, board),))


def _make_system_card(runs: Sequence[ReportRun], row: BoardRow) -> SystemCard | None:
    name = row.system.name
    has = [run for run in runs if _has_system(run, name)]
    boards = [(run, run.board.row(name)) for run in has if is_protocol_with_task_board(run.record.kind)]
    several = len(runs) > 1
    found = (make_scores_of_system_in_run(run, run.board.row(name), several=several) for run in has)
    standings = tuple(standing for standing in found if standing.scores or standing.place)
    good, bad = (
        _collect_system_findings(GOOD, has, name),
        _collect_system_findings(BAD, has, name, _make_findings_of_failed_and_cut_texts),
    )
    beside = tuple(_iterate_comparisons_with_people(has, name))
    if not (standings or good or bad or beside or any(_is_system_measured(run, name) for run in has)):
        return None
    facts = dict.fromkeys(fact for run in has for fact in _system_facts(run, row.system))
    commands = dict.fromkeys(filter(None, (build_rerun_command(run.record, row.system) for run, _ in boards)))
    return SystemCard(
        row=row,
        about=_describe_system(row.system),
        sentences=summarise_system(row, has, standings, good, bad),
        standings=standings,
        good=good[:MOST_FINDINGS],
        bad=bad[:MOST_FINDINGS],
        people=beside,
        price=make_system_price_figures(has, row),
        unknown=tuple(dict.fromkeys(list_system_unknowns(runs, has, row))),
        facts=tuple(facts),
        commands=tuple(commands),
        ranked=bool(boards) and bool(boards[0][1].rank) and boards[0][0] is runs[0],
        has_items=any(run.record.kind in ("sage", "pteb") for run in has) and row.system.ranked
    )  # fmt: skip


def _has_system(run: ReportRun, name: str) -> bool:
    return name in run.record.systems_by_name


def _is_system_measured(run: ReportRun, name: str) -> bool:
    """Whether the run has a value of a system, or of a stack that it is part of."""
    if any(key[4] == name and row.value is not None for key, row in run.record.rows.items()):
        return True
    findings = read_sweep_findings(run)
    return findings is not None and any(name in stack.axes.values() for stack in findings.parts[0].stacks)


def _iterate_comparisons_with_people(runs: Sequence[ReportRun], name: str) -> Iterator[SystemVersusPeopleStatements]:
    """What every study says of a system."""
    for run in runs:
        if run.record.kind == "hume":
            from embassay.report.hume.gap import compare_system_with_people

            people = compare_system_with_people(run, name)
            yield from () if people is None else (people,)


def _load_finding_function(place: str) -> Say:
    """What stands at `place`, asked by a row."""
    say = import_attribute(f"embassay.report.{place}")
    if place.partition(":")[0] in BY_ROW:
        return say  # type: ignore[no-any-return]
    return lambda run, row: say(run, row.system.name)


def _collect_system_findings(
    sources: dict[str, tuple[str, ...]], runs: Sequence[ReportRun], name: str, *always: Say
) -> tuple[SystemFinding, ...]:
    findings = [
        finding
        for run in runs
        if run.record.systems_by_name[name].kind != "reference"
        for say in (
            *always,
            *map(_load_finding_function, sources.get(run.record.kind if run.record.kind in OURS else OTHER, ())),
        )
        for finding in say(run, run.board.row(name))
    ]
    return tuple(sorted(findings, key=lambda finding: -finding.weight))


def _make_findings_of_failed_and_cut_texts(run: ReportRun, row: BoardRow) -> Iterator[SystemFinding]:
    """Cells that failed, and texts that were cut."""
    record, name = run.record, row.system.name
    cells = [cell for cell in record.cells if cell.system == name]
    failed = [cell for cell in cells if cell.status == "failed"]
    if failed:
        first = failed[0]
        what = f"failed {len(failed)} of {numbers.format_noun_count(len(cells), 'cell')}"
        why = f"{first.task} on {first.dataset}: {first.reason or 'no reason was recorded'}"
        yield make_finding(run, f"{what} ({why})", weight=9)
    cut = sum(cell.counts.get("texts_truncated", 0) for cell in cells)
    seen = sum(cell.counts.get("texts_encoded", 0) + cell.counts.get("texts_cached", 0) for cell in cells)
    if cut and seen >= cut:
        limit = record.systems_by_name[name].facts.get("max_tokens")
        at = f" at {numbers.format_count(limit)} tokens" if limit else " at its input limit"
        yield make_finding(run, f"truncates texts{at}: {numbers.format_share_with_count(cut / seen, seen)}", weight=2.5)


def _describe_system(system: SystemOfRun) -> str:
    dims, limit = system.facts.get("dims"), system.facts.get("max_tokens")
    details = [f"{numbers.format_count(int(dims))} dimensions"] if dims else []
    details += [f"reads up to {numbers.format_count(limit)} tokens"] if limit else []
    summary = str(system.facts.get("summary", ""))
    about = f"{KINDS[system.kind]}{', ' if details else ''}{', '.join(details)}."
    return f"{about} {summary[:1].upper()}{summary[1:]}." if summary and system.kind != "llm" else about


def _system_facts(run: ReportRun, system: SystemOfRun) -> Iterator[tuple[str, str]]:
    entry = run.record.systems_by_name[system.name]
    if entry.kind not in KINDS:
        return
    for key, value in entry.facts.items():
        if key not in HIDDEN and key != "summary" and not isinstance(value, dict):
            yield FACT_WORDS.get(key, key.replace("_", " ")), numbers.NONE if value is None else str(value)
    if entry.identity:
        yield "identity", entry.identity
