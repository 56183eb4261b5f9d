"""The page that says how every number came about: data, software, seeds, tests, problems, cost, command, run by run."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from embassay.document.blocks import convert_sentence_to_text, join_names_with_and
from embassay.errors import DataError
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.outcome import PaperCitedByReport, list_paper_citations
from embassay.protocols.run_values import iterate_run_time_and_memory_rows
from embassay.report.board import BoardTask, SystemBoard, is_protocol_with_task_board
from embassay.report.kinds import ProtocolWording, choose_protocol_wording, map_options_to_default_and_help
from embassay.report.notes import RunNote, list_run_notes
from embassay.report.record import RunCellStatus, RunRecord, shorten_names_to_labels
from embassay.report.runs import ReportRun, UnreadFolder
from embassay.runs.folder import MANIFEST
from embassay.runs.memory import format_memory_size
from embassay.runs.spending import format_dollars, summarise_spending

FIGURES = ("texts to encode", "tokens", "requests", "cost", "time")


@dataclass(frozen=True)
class SystemResourceUse:
    """What a system took, each as words: its score, time with the cells it is of, time per pair of texts with the pairs
    it is over, the most memory that a process of its cells held, and the bytes of a vector. Of the machine that the run
    was on."""

    system: str
    score: str
    time: str
    per_pair: str
    memory: str
    vector: str


def list_system_time_and_memory(record: RunRecord, board: SystemBoard) -> tuple[SystemResourceUse, ...]:
    """Of every system with a finished cell, as the board has them; none where cells tell no time."""
    costs = {(cost.system, cost.measure): cost for cost in iterate_run_time_and_memory_rows(record.manifest)}
    rows = []
    for row in board.rows:
        name = row.system.name
        time = costs.get((name, "seconds"))
        if time is None or time.value is None:
            continue
        paired = [cell for cell in record.cells if cell.system == name and cell.counts.get("pairs")]
        memory, vector = costs[name, "memory"].value, costs[name, "bytes_per_vector"].value
        rows.append(
            SystemResourceUse(
                row.label,
                row.lead.text,
                f"{numbers.format_duration(time.value)} ({numbers.format_noun_count(time.n, 'cell')})",
                _format_time_per_pair([cell for cell in paired if cell.seconds is not None]),
                numbers.NONE if memory is None else format_memory_size(int(memory * 2**20)),
                numbers.NONE if vector is None else f"{vector:,g} bytes",
            )
        )
    return tuple(rows)


def _format_time_per_pair(cells: Sequence[RunCellStatus]) -> str:
    pairs = sum(cell.counts["pairs"] for cell in cells)
    if not pairs:
        return numbers.NONE
    seconds = sum(cell.seconds or 0.0 for cell in cells) / pairs
    return f"{1000 * seconds:.2g} ms (n = {numbers.format_count(pairs)})"


@dataclass(frozen=True)
class SystemPlannedAndRealCost:
    """A system's planned and real figures, each as words: texts to encode, tokens, requests, cost, time."""

    system: str
    figures: tuple[tuple[str, str], ...]
    calls: str

    @property
    def planned_and_real_sentence(self) -> str:
        """The planned and real figures in one line, without those that neither plan nor run has."""
        parts = [
            f"{title} {took} (planned {planned})"
            for title, (planned, took) in zip(FIGURES, self.figures, strict=True)
            if {planned, took} != {numbers.NONE}
        ]
        return f"{' '.join(filter(None, (self.system, self.calls)))}: {', '.join(parts)}"


def list_planned_and_real_system_costs(record: RunRecord) -> tuple[SystemPlannedAndRealCost, ...]:
    """Of every ranked system, and of whoever else asked a server; none for a run that was not planned."""
    planned = {row["system"]: row for row in (record.manifest.get("forecast") or {}).get("systems", ())}
    spent = (record.manifest.get("spent") or {}).get("systems", {})
    others = [
        name for name, plan in planned.items() if name not in record.systems_by_name and plan["requests"] is not None
    ]
    label = shorten_names_to_labels([*record.systems_by_name, *others])
    return tuple(
        SystemPlannedAndRealCost(
            label[name],
            _describe_planned_and_actual_use(planned[name], _sum_usage_of_one_system(record, name, spent)),
            _say_retries_and_failed_calls(spent.get(name)),
        )
        for name in (*(system.name for system in record.list_non_reference_systems), *others)
        if name in planned
    )


def say_total_paid(record: RunRecord) -> str:
    """What all sessions have paid, in one sentence; empty where nothing was sent."""
    spent = record.manifest.get("spent")
    return summarise_spending(spent) if spent else ""


def _sum_usage_of_one_system(record: RunRecord, system: str, spent: Mapping[str, Any]) -> Mapping[str, Any]:
    cells = [cell for cell in record.cells if cell.system == system and cell.status == "done"]
    own = spent.get(system, {})
    return {
        "texts": own.get("texts") or sum(cell.counts.get("texts_encoded", 0) for cell in cells),
        "tokens": own.get("input_tokens"),
        "requests": own.get("requests"),
        "usd": own.get("usd", 0.0),
        "seconds": sum(cell.seconds or 0.0 for cell in cells),
    }


def _describe_planned_and_actual_use(plan: Mapping[str, Any], actual: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    def format_planned_and_real(key: str, words: Callable[[Any], str], about: str = "") -> tuple[str, str]:
        expected, real = plan[key], actual[key]
        return (
            numbers.NONE if expected is None else about + words(expected),
            numbers.NONE if real is None else words(real),
        )

    nothing = (numbers.NONE, numbers.NONE)
    about = "" if plan["exact"] else "about "
    embeds = plan["disk_bytes"] or plan["cached"] or actual["texts"]
    texts = (numbers.format_count(plan["texts"] - plan["cached"]), numbers.format_count(actual["texts"]))
    money = tuple("price unknown" if usd is None else format_dollars(usd) for usd in (plan["usd"], actual["usd"]))
    return (
        texts if embeds else nothing,
        format_planned_and_real("tokens", numbers.format_count, about) if plan["requests"] is not None else nothing,
        format_planned_and_real("requests", numbers.format_count),
        (money[0], money[1]),
        format_planned_and_real("seconds", numbers.format_duration, "about "),
    )


def _say_retries_and_failed_calls(spent: Mapping[str, Any] | None) -> str:
    if not spent or not spent["requests"]:
        return ""
    parts = [
        numbers.format_noun_count(spent["retries"], "retry"),
        f"{numbers.format_noun_count(spent['failed'], 'call')} failed permanently",
        f"{numbers.format_duration(spent['seconds'])} of waiting, summed over parallel requests",
    ]
    return ", ".join(parts)


OWN = "not recorded: own data"
SAMPLE = "that of Embassay"
DESCRIPTIONS = (".yaml", ".yml")


def find_dataset_licence(source: str) -> str:
    """In words, of the dataset that `source` gives: a catalogue name, or a path.

    >>> find_dataset_licence("sample"), find_dataset_licence("my/questions.jsonl")
    ('that of Embassay', 'not recorded: own data')
    """
    if source == "sample" or source.startswith("bundled"):
        return SAMPLE
    if source.endswith(DESCRIPTIONS):
        return _read_dataset_licence(Path(source)) or OWN
    if not source or any(sign in source for sign in "/\\.:"):
        return OWN
    from embassay.data.catalogue.entries import read_catalogue_entries

    record = read_catalogue_entries().get(source.partition("?")[0])
    return record.licence if record is not None and record.licence else OWN


def _read_dataset_licence(path: Path) -> str:
    """What a description says of its data; empty where it is gone, broken or silent."""
    from embassay.data.yaml import read_yaml

    try:
        plain = read_yaml(path)
    except DataError:
        return ""
    return str(plain.get("licence") or "") if isinstance(plain, dict) else ""


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
class PaperOpenPoint:
    """A point the paper leaves open: what it is, what this run took, whether that is the default."""

    name: str
    words: str
    value: str
    is_default: bool


@dataclass(frozen=True)
class RunSession:
    """One attempt at the run."""

    started: str
    took: str
    workers: int
    cells: int
    texts: str


@dataclass(frozen=True)
class RunMethodPage:
    """The methods of one run, as the page shows them; `mark` ends the ids of its parts."""

    title: str
    mark: str
    wording: ProtocolWording
    datasets: tuple[DatasetFacts, ...]
    notes: tuple[RunNote, ...]
    tasks: tuple[BoardTask, ...]
    choices: tuple[PaperOpenPoint, ...]
    sessions: tuple[RunSession, ...]
    costs: tuple[SystemPlannedAndRealCost, ...]
    taken: tuple[SystemResourceUse, ...]
    lead: str
    paid: str
    facts: tuple[tuple[str, str], ...]
    versions: tuple[tuple[str, str], ...]
    command: str
    test: str
    alpha: float
    correction: str
    embassay: str


def make_method_page_of_run(record: RunRecord, board: SystemBoard, *, mark: str = "", title: str = "") -> RunMethodPage:
    """Make the part of the page of methods that is about one run's record."""
    return RunMethodPage(
        title=title,
        mark=mark,
        wording=choose_protocol_wording(record),
        datasets=tuple(_dataset_facts(dataset) for dataset in record.list_dataset_manifest_entries),
        notes=list_run_notes(record),
        tasks=board.tasks if is_protocol_with_task_board(record.kind) else (),
        choices=_list_choices_on_open_paper_points(record),
        sessions=tuple(_make_run_session_summary(session) for session in record.manifest.get("sessions", ())),
        costs=list_planned_and_real_system_costs(record),
        taken=list_system_time_and_memory(record, board),
        lead=board.lead_title,
        paid=say_total_paid(record),
        facts=_run_facts(record),
        versions=tuple(record.manifest.get("versions", {}).items()),
        command=record.manifest.get("command", ""),
        test=record.test,
        alpha=record.alpha,
        correction=record.correction,
        embassay=record.manifest.get("embassay", ""),
    )


def _dataset_facts(plain: Mapping[str, Any]) -> DatasetFacts:
    tasks = []
    for task, facts in (plain.get("tasks") or {}).items():
        left_out = sum(skip["count"] for skip in facts.get("skipped", ()))
        words = f"n = {numbers.format_count(facts.get('n', 0))}"
        tasks.append((task, words + (f", {numbers.format_count(left_out)} left out" if left_out else "")))
    return DatasetFacts(
        plain["name"],
        plain.get("source", ""),
        plain.get("lang", ""),
        find_dataset_licence(plain.get("source", "")),
        plain.get("fingerprint", ""),
        tuple(tasks),
    )


def _list_choices_on_open_paper_points(record: RunRecord) -> tuple[PaperOpenPoint, ...]:
    options = record.arguments.get("options") or {}
    choices = [
        PaperOpenPoint(
            name, words, _format_option_value(options.get(name, default)), options.get(name, default) == default
        )
        for name, (default, words) in map_options_to_default_and_help(record.kind).items()
    ]
    tokenizer = (record.manifest.get("tokenizer") or {}).get("name")
    if record.kind == "sage" and tokenizer:
        words = "tokens for classical metrics and spans; the paper uses cl100k"
        choices.append(PaperOpenPoint("tokenizer", words, str(tokenizer), tokenizer == PAPER_TOKENIZER))
    return tuple(choices)


def _format_option_value(value: Any) -> str:
    if value is None:
        return "not given"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _make_run_session_summary(plain: Mapping[str, Any]) -> RunSession:
    encoded, cached = plain.get("texts_encoded", 0), plain.get("texts_cached", 0)
    return RunSession(
        numbers.format_time(plain.get("started", "")),
        numbers.format_duration(plain.get("seconds") or 0),
        plain.get("workers", 1),
        plain.get("cells_done", 0),
        f"{numbers.format_count(encoded)} encoded, {numbers.format_count(cached)} from the cache",
    )


def _run_facts(record: RunRecord) -> tuple[tuple[str, str], ...]:
    manifest, arguments = record.manifest, record.arguments
    hardware = manifest.get("hardware", {})
    tokenizer = manifest.get("tokenizer", {})
    limit = arguments.get("limit")
    named = (
        ("run", manifest.get("name")),
        ("state", manifest.get("status")),
        ("begun", numbers.format_time(manifest.get("created", ""))),
        ("last written", numbers.format_time(manifest.get("updated", ""))),
        ("seed", arguments.get("seed")),
        ("items per dataset", "all" if limit is None else f"at most {limit}, sampled with the seed"),
        *_paraphraser_facts(record),
        ("tokenizer", f"{tokenizer['name']} ({tokenizer['identity']})" if tokenizer.get("name") else None),
        ("processor", hardware.get("cpu")),
        ("cores, memory", f"{hardware.get('cores')}, {hardware.get('memory_gib')} GiB" if hardware else None),
        ("most memory held", _say_run_memory_use(record)),
        ("platform", hardware.get("platform")),
        ("embassay", manifest.get("embassay")),
        ("manifest.json, SHA-256", _hash_manifest(record))
    )  # fmt: skip
    return tuple((key, str(value)) for key, value in named if value is not None)


def _say_run_memory_use(record: RunRecord) -> str | None:
    """What the processes of the run held together at most beside what was promised; without a promise, what a cell's
    process held."""
    promise = record.manifest.get("memory")
    if isinstance(promise, Mapping):
        held, promised = (format_memory_size(int(promise.get(name) or 0)) for name in ("held_bytes", "promised_bytes"))
        return f"{held}, of {promised} promised" if promise.get("kept") else f"{held}: MORE than {promised} promised"
    peaks = [size for cell in record.manifest.get("cells", ()) if isinstance(size := cell.get("peak_bytes"), int)]
    return f"{format_memory_size(max(peaks))}, for the process of a cell" if peaks else None


def _hash_manifest(record: RunRecord) -> str | None:
    """What the manifest that this page was made of hashes to; None where it is not in a file."""
    path = record.path / MANIFEST
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.is_file() else None


def _paraphraser_facts(record: RunRecord) -> list[tuple[str, Any]]:
    """List who paraphrased, told what, how often, and what was done with texts without a wording."""
    if record.kind not in ("pteb", "hteb"):
        return []
    arguments = record.arguments
    choices: list[tuple[str, Any]] = []
    what = "paraphrases" if record.kind == "pteb" else "transformations"
    for source in record.manifest.get(what, {}).get("sources", ()):
        runs = max((len(seeds) for seeds in source.get("seeds", {}).values()), default=0)
        choices.append((f"{what}, {source['name']}", f"{numbers.format_noun_count(runs, 'run')}; {source['identity']}"))
        prompt = source.get("prompt")
        if isinstance(prompt, Mapping) and source.get("paraphraser") not in WITHOUT_PROMPT:
            words = " ".join(filter(None, (prompt.get("text"), prompt.get("addition"))))
            called = prompt.get("name") or prompt.get("kind")
            choices.append((f"prompt {called}, version {prompt.get('version')}", words))
    if generation := arguments.get("generation"):
        choices.append(("sampling", ", ".join(f"{name} {value}" for name, value in generation.items())))
    kept = "is replaced by its original" if arguments.get("on_failure") == "original" else "is left out of both scores"
    copies = "left out" if arguments.get("exclude_copied") else "kept"
    return [
        *choices,
        (f"a text without a usable {what[:-1]}", kept),
        (f"a {what[:-1]} identical to its text", f"is {copies}"),
    ]


MACHINE = ("processor", "cores, memory", "platform", "embassay")


@dataclass(frozen=True)
class SentenceOnRuns:
    """A sentence that holds of some runs, with their titles."""

    runs: tuple[str, ...]
    text: str

    @property
    def run_names(self) -> str:
        """The names of the runs, in words: `SAGE, PTEB and HUME`."""
        return convert_sentence_to_text(join_names_with_and(self.runs))


@dataclass(frozen=True)
class DatasetUsedByRuns:
    """A dataset, and a line per run of what it took of it."""

    facts: DatasetFacts
    taken: tuple[str, ...]


@dataclass(frozen=True)
class AllMethodsPage:
    """The content of the page: a part per run, folders that were left out, and the papers. The rest is of several runs:
    equal sentences are said once. `quiet` are the runs without a note."""

    parts: tuple[RunMethodPage, ...]
    left: tuple[UnreadFolder, ...]
    citations: tuple[PaperCitedByReport, ...]
    commands: tuple[SentenceOnRuns, ...]
    quiet: str
    datasets: tuple[DatasetUsedByRuns, ...]
    intervals: tuple[SentenceOnRuns, ...]
    tests: tuple[SentenceOnRuns, ...]
    files: tuple[SentenceOnRuns, ...]


def make_methods_page(runs: Sequence[ReportRun]) -> AllMethodsPage:
    """The page of all runs."""
    parts = [make_method_page_of_run(run.record, run.board, mark=run.mark, title=run.title) for run in runs]
    later = [_drop_method_facts_of_first_page(parts[0], part) for part in parts[1:]]
    return AllMethodsPage(
        parts=(*parts[:1], *later),
        left=runs[0].left,
        citations=list_paper_citations({run.record.kind for run in runs}),
        commands=_list_distinct_sentences_with_runs(parts, lambda page: page.command),
        quiet=convert_sentence_to_text(join_names_with_and([part.title for part in parts if not part.notes])),
        datasets=_list_distinct_datasets_with_runs(parts),
        intervals=_list_distinct_sentences_with_runs(parts, lambda page: page.wording.intervals),
        tests=_list_distinct_sentences_with_runs(parts, _say_test_used),
        files=_list_distinct_sentences_with_runs(parts, lambda page: page.wording.files),
    )


def _drop_method_facts_of_first_page(first: RunMethodPage, page: RunMethodPage) -> RunMethodPage:
    """Drop from a part the versions and the machine of the first, where they are the same."""
    machine = {fact for fact in first.facts if fact[0] in MACHINE}
    return replace(
        page,
        versions=() if page.versions == first.versions else page.versions,
        facts=tuple(fact for fact in page.facts if fact not in machine),
    )


def _say_test_used(page: RunMethodPage) -> str:
    if not page.test:
        return ""
    return (
        f"{page.test[:1].upper()}{page.test[1:]}. p is corrected for all pairs of a task "
        f"({page.correction.capitalize()}), α = {page.alpha}."
    )


def _list_distinct_sentences_with_runs(
    parts: Sequence[RunMethodPage], text: Callable[[RunMethodPage], str]
) -> tuple[SentenceOnRuns, ...]:
    """The sentences of all parts, each once, with the runs that it is of."""
    by_text: dict[str, list[str]] = {}
    for part in parts:
        if words := text(part):
            by_text.setdefault(words, []).append(part.title)
    return tuple(SentenceOnRuns(tuple(titles), words) for words, titles in by_text.items())


def _list_distinct_datasets_with_runs(parts: Sequence[RunMethodPage]) -> tuple[DatasetUsedByRuns, ...]:
    """The datasets of all parts: one that several took stands once."""
    runs_of: dict[DatasetFacts, list[str]] = {}
    for part in parts:
        for dataset in part.datasets:
            tasks = "; ".join(f"{task} {n}" for task, n in dataset.tasks)
            named = [part.title] if len(parts) > 1 else []
            runs_of.setdefault(replace(dataset, tasks=()), []).append(": ".join(filter(None, (*named, tasks))))
    return tuple(DatasetUsedByRuns(facts, tuple(taken)) for facts, taken in runs_of.items())
