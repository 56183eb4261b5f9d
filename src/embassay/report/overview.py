"""The first page: what the run found, what to beware of, every system on one board, and one against each other one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module

from embassay.document.blocks import Sentence, Verdict, listed, plain
from embassay.document.marks import Scale, scale_of
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.tables import Unit
from embassay.report.board import PLACES, Board, Row, Task, board_verdict, ends
from embassay.report.headlines import Together, together
from embassay.report.notes import Note, gathered_notes
from embassay.report.record import OVERALL, Pair, Record
from embassay.report.runs import Run


@dataclass(frozen=True)
class Shown:
    """`columns` are the tasks beside the leading score, with their place; `groups` the rows under their headings."""

    columns: tuple[tuple[int, Task, Scale], ...]
    lead_scale: Scale
    groups: tuple[tuple[str, tuple[Row, ...]], ...]


def shown(board: Board) -> Shown:
    """What the board's table shows."""
    factor = board.unit.factor
    within = (0.0, 1.0) if factor == 1 else (-1.0, 1.0)
    columns = tuple(
        (i, task, scale_of(ends(row.tasks[i] for row in board.rows), within=within, factor=factor))
        for i, task in enumerate(board.tasks)
        if task.name != board.lead
    )
    missing = "Not ranked: a task is missing" if board.lead == OVERALL else "No value"
    groups = (
        ("", board.ranked),
        (
            "Classical metrics, ranked by themselves: another method stands behind some of their scores",
            board.apart,
        ),
        (missing, board.unranked),
        ("References, not ranked", board.references),
    )
    return Shown(
        columns,
        scale_of(ends(row.lead for row in board.rows), within=within, factor=factor),
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


def forest_of(record: Record, board: Board) -> Forest | None:
    """The best system of the leading scope against each other ranked one; None where nothing is compared."""
    scope = record.scope(board.lead)
    if not scope.pairs or not board.ranked:
        return None
    base = board.ranked[0]
    found = [(row, scope.pair(row.system.name, base.system.name)) for row in board.ranked[1:]]
    rows = [ForestRow(row, pair, word(pair, record.alpha)) for row, pair in found if pair is not None]
    edges = [edge for one in rows for edge in (one.pair.ci_low, one.pair.ci_high)]
    scale = scale_of([*edges, 0.0], within=None, factor=board.unit.factor)
    return Forest(base, board.lead_title, scale, tuple(rows), board.unit)


def word(pair: Pair, alpha: float) -> str:
    """What the test says of a - b, in the report's own verbs."""
    if pair.p_adjusted >= alpha:
        return "cannot be told apart"
    return "beats" if pair.difference > 0 else "is beaten by"


QUESTIONS = {
    "sage": ("Similarity under change", "embassay.report.sage.conclusions:sage_verdict"),
    "pteb": ("Paraphrased at evaluation time", "embassay.report.pteb.conclusions:pteb_verdict"),
    "original": ("Scores on the texts as they are", "embassay.report.board:board_verdict"),
    "judge": ("Language models that rate", "embassay.report.pteb.judges:judge_verdict"),
    "paraphrasers": (
        "Language models that paraphrase",
        "embassay.report.pteb.paraphrasers:selection_verdict",
    ),
    "validation": ("People on the paraphrases", "embassay.report.pteb.validation:validation_verdict"),
    "golden": ("Judgements of passages", "embassay.report.rag.golden:golden_verdict"),
    "score": ("Evidence among the first K", "embassay.report.rag.scoring:score_verdict"),
    "sweep": ("Price, time and quality", "embassay.report.rag.sweep:sweep_verdict"),
    "names": ("Names against impostors", "embassay.report.rag.names:names_verdict"),
    "noise": ("Small talk around questions", "embassay.report.rag.noise:noise_verdict"),
    "hume": ("People on the same items", "embassay.report.hume.conclusions:hume_verdict"),
    "mteb": ("Scores as published", "embassay.report.mteb:mteb_verdict"),
}
"""What each kind of run asks, and where its verdict is made."""
MOST_NOTES = 3
LEDE = 1
"""Sentences of the first run in the overview of several."""
THEN = (("pteb",), ("sweep", "score"), ("hume",))
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
    """The content of the page: the first run's verdict and board, and what each run says."""

    facts: tuple[str, ...]
    verdict: Verdict
    notes: tuple[Note, ...]
    more_notes: int
    names: tuple[str, ...]
    together: Together | None
    shown: Shown
    cards: tuple[Card, ...]
    forest: Forest | None
    unrounded: bool
    footer: tuple[str, ...]


def overview(runs: Sequence[Run]) -> Overview:
    """The page of a report."""
    first = runs[0]
    notes = gathered_notes(runs)
    return Overview(
        facts=_facts(runs),
        verdict=_verdict(runs),
        notes=notes[:MOST_NOTES],
        more_notes=len(notes),
        names=tuple(run.record.manifest.get("name", "") for run in runs) if len(runs) <= NAMED else (),
        together=together(runs) if len(runs) > 1 else None,
        shown=shown(first.board),
        cards=tuple(card for run in runs for card in _cards(run, several=len(runs) > 1)),
        forest=forest_of(first.record, first.board),
        unrounded=_rounds_apart(first.board),
        footer=_footer(runs),
    )


def _verdict(runs: Sequence[Run]) -> Verdict:
    """That of the first run, which it names where there are several; then what the other protocols found."""
    first = runs[0]
    found = board_verdict(first.record, first.board) if first.board.tasks else run_verdict(first)
    if len(runs) == 1:
        return found
    return Verdict((f"{first.title}: ", *found.heading), (*found.lede[:LEDE], *_others(runs[1:])))


def _others(runs: Sequence[Run]) -> Iterator[Sentence]:
    """What the first run of each other protocol found; a recommendation with the limits it was made for."""
    for kinds in THEN:
        run = next(
            (one for kind in kinds for one in runs if one.record.kind == kind and one.record.rows), None
        )
        if run is not None:
            found = _own_verdict(run)
            yield (f"{run.title}: ", *_lower(found.heading), ".")
            yield from found.lede[:1] if run.record.kind == "sweep" else ()


def _lower(sentence: Sentence) -> Sentence:
    """A heading inside a sentence: without a capital, where that is no name nor abbreviation."""
    first = sentence[0] if sentence else ""
    if not isinstance(first, str) or not first[:1].isupper() or first[1:2].isupper():
        return sentence
    return (first[:1].lower() + first[1:], *sentence[1:])


def run_verdict(run: Run) -> Verdict:
    """What a run says: of SAGE its ranking, of the others the verdict of their page."""
    if run.record.kind == "sage" or run.record.kind not in QUESTIONS or not run.record.rows:
        return board_verdict(run.record, run.board)
    return _own_verdict(run)


def _own_verdict(run: Run) -> Verdict:
    module, _, name = QUESTIONS[run.record.kind][1].partition(":")
    verdict: Verdict = getattr(import_module(module), name)(run.record, run.board)
    return verdict


def _facts(runs: Sequence[Run]) -> tuple[str, ...]:
    records = [run.record for run in runs]
    systems = {one.name for record in records if record.kind in PLACES for one in record.ranked_systems}
    datasets = list(
        dict.fromkeys(one["name"] for record in records for one in record.manifest.get("datasets", ()))
    )
    named = ", ".join(datasets) if len(datasets) <= 3 else numbers.counted(len(datasets), "dataset")
    seeds = {record.arguments.get("seed") for record in records}
    seed = next(iter(seeds)) if len(seeds) == 1 else None
    scored = sum(len(record.systems) for record in records if record.kind == "score")
    facts = (
        numbers.counted(len(systems), "system") if systems else "",
        numbers.counted(scored, "retrieval run") if scored else "",
        plain(listed([run.title for run in runs])) if len(runs) > 1 else "",
        named,
        numbers.date(max(record.manifest.get("updated", "") for record in records)),
        f"seed {seed}" if seed is not None else "",
    )
    return tuple(fact for fact in facts if fact)


def _cards(run: Run, *, several: bool) -> list[Card]:
    """The card of a run; its verdict is that of its page. One without results says so beside others."""
    if run.record.kind not in QUESTIONS or not (run.record.rows or several):
        return []
    question = QUESTIONS[run.record.kind][0]
    if run.record.kind == "original":  # its board is all there is
        return [Card("", run.title, question, _own_verdict(run))] if several else []
    if not run.record.rows:
        return [Card("", run.title, question, board_verdict(run.record, run.board))]
    return [Card(run.slug, run.title, question, _own_verdict(run))]


def _rounds_apart(board: Board) -> bool:
    """Whether the printed difference of the first two is not the difference of their printed values."""
    if len(board.ranked) < 2:
        return False
    a, b = (row.lead.value or 0.0 for row in board.ranked[:2])
    places, factor = board.unit.prose, board.unit.factor
    apart = round(a * factor, places) - round(b * factor, places)
    return numbers.score((a - b) * factor, places) != numbers.score(apart, places)


def _footer(runs: Sequence[Run]) -> tuple[str, ...]:
    manifest = runs[0].record.manifest
    sessions = [session for run in runs for session in run.record.manifest.get("sessions", ())]
    texts = sum(session.get("texts_encoded", 0) for session in sessions)
    seconds = sum(session.get("seconds") or 0 for session in sessions)
    cores = manifest.get("hardware", {}).get("cores")
    parts = [f"embassay {manifest.get('embassay', '')}"]
    parts += [f"{numbers.count(texts)} texts encoded"] if texts else []
    if seconds:
        parts.append(numbers.duration(seconds) + (f" on {numbers.counted(cores, 'core')}" if cores else ""))
    return tuple(parts)
