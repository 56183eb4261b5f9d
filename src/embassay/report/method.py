"""How the numbers of one run came about: data, software, seeds, tests, problems, cost, command."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from embassay.protocols import numbers
from embassay.report.board import Board
from embassay.report.cost import Cost, costs, paid
from embassay.report.found import MANIFEST
from embassay.report.licences import licence_of
from embassay.report.notes import Note, notes_of
from embassay.report.record import Record
from embassay.report.tasks import PLACES, Task
from embassay.report.wording import WORDINGS, Wording, defaults_of
from embassay.runs.promise import in_words

PAPER_TOKENIZER = "cl100k"
WITHOUT_PROMPT = ("recorded", "copied", "permuted")
"""Paraphrasers that are told nothing."""


@dataclass(frozen=True)
class DatasetFacts:
    """A dataset and the tasks it joined, with how many items each took and left out."""

    name: str
    source: str
    lang: str
    licence: str
    fingerprint: str
    tasks: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Choice:
    """A point the paper leaves open: what it is, what this run took, whether that is the default."""

    name: str
    words: str
    value: str
    is_default: bool


@dataclass(frozen=True)
class Session:
    """One attempt at the run."""

    started: str
    took: str
    workers: int
    cells: int
    texts: str


@dataclass(frozen=True)
class MethodPage:
    """What is said of one run; `mark` ends the ids of its parts."""

    title: str
    mark: str
    wording: Wording
    datasets: tuple[DatasetFacts, ...]
    notes: tuple[Note, ...]
    tasks: tuple[Task, ...]
    choices: tuple[Choice, ...]
    sessions: tuple[Session, ...]
    costs: tuple[Cost, ...]
    paid: str
    facts: tuple[tuple[str, str], ...]
    versions: tuple[tuple[str, str], ...]
    command: str
    test: str
    alpha: float
    correction: str
    embassay: str


def method_page(record: Record, board: Board, *, mark: str = "", title: str = "") -> MethodPage:
    """The part of a record."""
    return MethodPage(
        title=title,
        mark=mark,
        wording=WORDINGS.get(record.kind, WORDINGS["pteb"]),
        datasets=tuple(_dataset(one) for one in record.manifest.get("datasets", ())),
        notes=notes_of(record),
        tasks=board.tasks if record.kind in PLACES else (),
        choices=_choices(record),
        sessions=tuple(_session(one) for one in record.manifest.get("sessions", ())),
        costs=costs(record),
        paid=paid(record),
        facts=_facts(record),
        versions=tuple(record.manifest.get("versions", {}).items()),
        command=record.manifest.get("command", ""),
        test=record.test,
        alpha=record.alpha,
        correction=record.correction,
        embassay=record.manifest.get("embassay", ""),
    )


def _dataset(plain: Mapping[str, Any]) -> DatasetFacts:
    tasks = []
    for task, facts in (plain.get("tasks") or {}).items():
        left_out = sum(skip["count"] for skip in facts.get("skipped", ()))
        words = f"n = {numbers.count(facts.get('n', 0))}"
        tasks.append((task, words + (f", {numbers.count(left_out)} left out" if left_out else "")))
    return DatasetFacts(
        plain["name"],
        plain.get("source", ""),
        plain.get("lang", ""),
        licence_of(plain.get("source", "")),
        plain.get("fingerprint", ""),
        tuple(tasks),
    )


def _choices(record: Record) -> tuple[Choice, ...]:
    options = record.arguments.get("options") or {}
    found = [
        Choice(name, words, _said(options.get(name, default)), options.get(name, default) == default)
        for name, (default, words) in defaults_of(record.kind).items()
    ]
    tokenizer = (record.manifest.get("tokenizer") or {}).get("name")
    if record.kind == "sage" and tokenizer:
        words = "tokens of classical metrics and of spans; the paper has cl100k"
        found.append(Choice("tokenizer", words, str(tokenizer), tokenizer == PAPER_TOKENIZER))
    return tuple(found)


def _said(value: Any) -> str:
    if value is None:
        return "not given"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _session(plain: Mapping[str, Any]) -> Session:
    encoded, cached = plain.get("texts_encoded", 0), plain.get("texts_cached", 0)
    return Session(
        numbers.moment(plain.get("started", "")),
        numbers.duration(plain.get("seconds") or 0),
        plain.get("workers", 1),
        plain.get("cells_done", 0),
        f"{numbers.count(encoded)} encoded, {numbers.count(cached)} from the cache",
    )


def _facts(record: Record) -> tuple[tuple[str, str], ...]:
    manifest, arguments = record.manifest, record.arguments
    hardware = manifest.get("hardware", {})
    tokenizer = manifest.get("tokenizer", {})
    limit = arguments.get("limit")
    named = (
        ("run", manifest.get("name")),
        ("state", manifest.get("status")),
        ("begun", numbers.moment(manifest.get("created", ""))),
        ("last written", numbers.moment(manifest.get("updated", ""))),
        ("seed", arguments.get("seed")),
        ("items per dataset", "all" if limit is None else f"at most {limit}, drawn with the seed"),
        *_paraphrasing(record),
        ("tokenizer", f"{tokenizer['name']} ({tokenizer['identity']})" if tokenizer.get("name") else None),
        ("processor", hardware.get("cpu")),
        ("cores, memory", f"{hardware.get('cores')}, {hardware.get('memory_gib')} GiB" if hardware else None),
        ("most memory held", _memory(record)),
        ("platform", hardware.get("platform")),
        ("embassay", manifest.get("embassay")),
        ("manifest.json, SHA-256", _digest(record)),
    )  # fmt: skip
    return tuple((key, str(value)) for key, value in named if value is not None)


def _memory(record: Record) -> str | None:
    """What the processes of the run held together at most beside what was promised; without a promise, what a cell's
    process held."""
    promise = record.manifest.get("memory")
    if isinstance(promise, Mapping):
        held, promised = (in_words(int(promise.get(name) or 0)) for name in ("held_bytes", "promised_bytes"))
        return (
            f"{held}, of {promised} promised"
            if promise.get("kept")
            else f"{held}: MORE than {promised} promised"
        )
    peaks = [
        size for cell in record.manifest.get("cells", ()) if isinstance(size := cell.get("peak_bytes"), int)
    ]
    return f"{in_words(max(peaks))}, by the process of a cell" if peaks else None


def _digest(record: Record) -> str | None:
    """What the manifest that this page was made of hashes to; None where it is not in a file."""
    path = record.path / MANIFEST
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.is_file() else None


def _paraphrasing(record: Record) -> list[tuple[str, Any]]:
    """Who paraphrased, told what, how often, and what was done with texts that have no wording."""
    if record.kind != "pteb":
        return []
    arguments = record.arguments
    found: list[tuple[str, Any]] = []
    for source in record.manifest.get("paraphrases", {}).get("sources", ()):
        runs = max((len(seeds) for seeds in source.get("seeds", {}).values()), default=0)
        found.append(
            (f"paraphrases, {source['name']}", f"{numbers.counted(runs, 'run')}; {source['identity']}")
        )
        prompt = source.get("prompt")
        if isinstance(prompt, Mapping) and source.get("paraphraser") not in WITHOUT_PROMPT:
            words = " ".join(filter(None, (prompt.get("text"), prompt.get("addition"))))
            found.append((f"prompt {prompt.get('name')}, version {prompt.get('version')}", words))
    if generation := arguments.get("generation"):
        found.append(("sampling", ", ".join(f"{name} {value}" for name, value in generation.items())))
    kept = "stands for itself" if arguments.get("on_failure") == "original" else "is left out of both sides"
    copies = "left out" if arguments.get("exclude_copied") else "kept"
    return [
        *found,
        ("a text without a usable paraphrase", kept),
        ("a paraphrase equal to its text", f"is {copies}"),
    ]
