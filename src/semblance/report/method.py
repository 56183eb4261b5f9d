"""The page that says how every number came about: data, software, seeds, tests, problems, cost, command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from importlib import import_module
from typing import Any

from semblance.report import numbers
from semblance.report.board import Board
from semblance.report.cost import Cost, costs, paid
from semblance.report.gathered import Run
from semblance.report.notes import Note, notes_of
from semblance.report.record import Record
from semblance.report.tasks import PLACES, Task


@dataclass(frozen=True)
class Wording:
    """What the page says of a protocol: how its overall score is made, its page of choices, its source."""

    overall: str
    intervals: str
    pages: str
    source: str
    citation: str


WORDINGS = {
    "sage": Wording(
        "The unweighted mean of the five tasks. A system with a missing task has none; the mean of its finished tasks "
        "stands beside it and is not ranked. A task’s score is the mean over its datasets.",
        "95%, percentile bootstrap over the items of each dataset; what is resampled is named in the results "
        "(documents, queries, comparisons, sets). A dataset of one clustering set has no interval and is held fixed.",
        "docs/sage.md",
        "SAGE is by Goel, Lee and Ramchandran, “SAGE: A Realistic Benchmark for Semantic Understanding”, NeurIPS 2025 "
        "workshop.",
        "@inproceedings{goel2025sage,\n"
        "title = {{SAGE}: A Realistic Benchmark for Semantic Understanding},\n"
        "author = {Goel and Lee and Ramchandran},\n"
        "booktitle = {NeurIPS 2025 Workshop},\nyear = {2025}\n}",
    ),
    "pteb": Wording(
        "The unweighted mean of the tasks of the run. A task’s score is the mean over its datasets, a dataset’s the "
        "mean over the runs of the paraphraser; a dataset of several languages is the mean over them.",
        "95%. Score and drop of a dataset: bootstrap on two levels, items (paired between the original and its "
        "paraphrases) and runs. The drop over datasets also has an interval from a mixed model with dataset and run as "
        "random effects. A dataset of one clustering set has no interval over sets.",
        "docs/pteb.md",
        "PTEB is by Frank and Afli, “PTEB: Towards Robust Text Embedding Evaluation via Stochastic Paraphrasing at "
        "Evaluation Time with LLMs”, EACL 2026.",
        "@inproceedings{frank2026pteb,\n"
        "title = {{PTEB}: Towards Robust Text Embedding Evaluation via Stochastic Paraphrasing at Evaluation Time "
        "with {LLMs}},\nauthor = {Frank and Afli},\nbooktitle = {EACL},\nyear = {2026}\n}",
    ),
}
WORDINGS |= {
    "judge": replace(
        WORDINGS["pteb"],
        overall="Spearman correlation of a judge’s ratings with the gold scores of a dataset, mean over datasets. "
        "Error: mean distance of rating and gold on 0 to 5, pairs of all datasets together. A pair without a rating is "
        "left out and counted; over 5% there is no score.",
        intervals="95%, percentile bootstrap over the pairs of each dataset.",
    ),
    "paraphrasers": replace(
        WORDINGS["pteb"],
        overall="Similarity: mean rating of text and paraphrase by the judge, 0 to 5. Edit distance: words changed, "
        "over the longer of the two. Seconds: what the server took per text. Each a mean over the distinct texts of a "
        "dataset, then over datasets. Over 5% without a paraphrase or rating there is no value.",
        intervals="95%, percentile bootstrap over the texts of each dataset.",
    ),
    "validation": replace(
        WORDINGS["pteb"],
        overall="The mean rating of a language is over its pairs, a pair being the mean of its ratings; of all "
        "languages the mean of their means. Alpha is Krippendorff’s, ordinal.",
        intervals="95%, bootstrap over pairs; shares by Wilson.",
    ),
}
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
WITHOUT_PROMPT = ("recorded", "copied", "permuted")
"""Paraphrasers that are told nothing."""
OPTIONS = {
    "pteb": "semblance.protocols.pteb.options:PtebOptions",
    "judge": "semblance.protocols.pteb.judging.options:JudgeOptions",
    "paraphrasers": "semblance.protocols.pteb.selection.options:SelectionOptions",
}
"""Where the options of the other commands say their defaults and what they decide."""


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
    """The part of one run; `mark` ends the ids of its headings."""

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
    semblance: str

    @property
    def named(self) -> str:
        """The end of a label that must tell runs apart."""
        return f", {self.title}" if self.mark else ""


def methods_of(runs: Sequence[Run]) -> tuple[MethodPage, ...]:
    """The page of all runs, one part each."""
    parts = [method_page(run.record, run.board, mark=run.mark, title=run.title) for run in runs]
    same = [replace(one, versions=()) if one.versions == parts[0].versions else one for one in parts[1:]]
    return (*parts[:1], *same)


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
        semblance=record.manifest.get("semblance", ""),
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
        for name, (default, words) in _defaults(record.kind).items()
    )


def _defaults(kind: str) -> Mapping[str, tuple[Any, str]]:
    """Every option of a kind of run with its default and what it decides."""
    if kind == "sage":
        return PAPER_DEFAULTS
    if kind not in OPTIONS:
        return {}
    module, _, name = OPTIONS[kind].partition(":")
    return {
        one.name: (one.default, one.metadata["help"]) for one in fields(getattr(import_module(module), name))
    }


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
        *_paraphrasing(record),
        ("tokenizer", f"{tokenizer['name']} ({tokenizer['identity']})" if tokenizer.get("name") else None),
        ("processor", hardware.get("cpu")),
        ("cores, memory", f"{hardware.get('cores')}, {hardware.get('memory_gib')} GiB" if hardware else None),
        ("platform", hardware.get("platform")),
        ("semblance", manifest.get("semblance")),
    )  # fmt: skip
    return tuple((key, str(value)) for key, value in named if value is not None)


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
