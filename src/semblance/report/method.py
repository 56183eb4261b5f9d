"""The page that says how every number came about: data, software, seeds, tests, problems, cost, command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from semblance.report import numbers
from semblance.report.board import Board
from semblance.report.cost import Cost, costs, paid
from semblance.report.notes import Note, notes_of
from semblance.report.record import Record
from semblance.report.sage.tasks import Task

PAPER_DEFAULTS: Mapping[str, tuple[Any, str]] = {
    "preference_ties": ("second", "where a tie in a comparison goes [A9]"),
    "positive": ("second", "the positive class of precision and recall [A10]"),
    "robustness_edits": ("all", "the extreme edit of each kind, or their average [A14]"),
    "numerize_both_cases": (False, "digits for capital letters too"),
    "delete_next_if_space": (False, "what is deleted at a space [A11]"),
    "curve": ("hyperbolic", "expected similarity at size p [A15]"),
    "string_cap": (2000, "largest clustering set for classical metrics"),
    "embedding_cap": (10000, "largest clustering set for embedding models"),
    "retrieval_headline": ("augmented", "the corpus of the retrieval headline [A19]"),
    "ties": ("original", "order of equal scores in an augmented corpus [A18]"),
    "dataset_mean": ("arithmetic", "mean of the retrieval shares over datasets [A20]"),
    "gain": ("linear", "gain of nDCG [A21]"),
    "resamples": (2000, "bootstrap resamples behind every interval"),
}


@dataclass(frozen=True)
class DatasetFacts:
    """A dataset and the tasks it joined, with how many items each took and left out."""

    name: str
    source: str
    lang: str
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
    """The content of the page."""

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


def method_page(record: Record, board: Board) -> MethodPage:
    """The page of a record."""
    return MethodPage(
        datasets=tuple(_dataset(one) for one in record.manifest.get("datasets", ())),
        notes=notes_of(record),
        tasks=board.tasks,
        choices=_choices(record),
        sessions=tuple(_session(one) for one in record.manifest.get("sessions", ())),
        costs=costs(record),
        paid=paid(record),
        facts=_facts(record),
        versions=tuple(record.manifest.get("versions", {}).items()),
        command=record.manifest.get("command", ""),
        test=record.test,
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
        plain.get("fingerprint", ""),
        tuple(tasks),
    )


def _choices(record: Record) -> tuple[Choice, ...]:
    options = record.arguments.get("options") or {}
    return tuple(
        Choice(name, words, _said(options.get(name, default)), options.get(name, default) == default)
        for name, (default, words) in PAPER_DEFAULTS.items()
    )


def _said(value: Any) -> str:
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
        ("tokenizer", f"{tokenizer['name']} ({tokenizer['identity']})" if tokenizer else None),
        ("processor", hardware.get("cpu")),
        ("cores, memory", f"{hardware.get('cores')}, {hardware.get('memory_gib')} GiB" if hardware else None),
        ("platform", hardware.get("platform")),
        ("semblance", manifest.get("semblance")),
    )  # fmt: skip
    return tuple((key, str(value)) for key, value in named if value is not None)
