"""The systems and datasets of a run, looked at before anything is computed.

Suites in a run: their datasets planned one by one, and what the run lacks of each, said wherever results are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar, Unpack

from embassay.contracts import Encoder, Kind, RemoteEncoder, Tokenizer
from embassay.data import Dataset
from embassay.data.catalogue.suites import (
    DatasetSuite,
    SuiteMember,
    find_suite,
    merge_duplicate_suite_members,
    narrow_members_to_tasks,
)
from embassay.data.rows import find_nearest_name
from embassay.data.shapes import TASKS
from embassay.data.sources import prefer_path_over_catalogue, split_tasks_from_spec
from embassay.errors import AbsentData, DataError, ModelError, UsageError
from embassay.protocols.kernel.inputs import charge_calls_to_account, open_uncached_system
from embassay.protocols.kernel.tables import First, FormattedReportTable, RunTable, format_noun_count
from embassay.records import LoadedDataset, SkippedItems
from embassay.registry import Registry
from embassay.runs.folder import RunCell
from embassay.runs.forecast import find_remote_encoder
from embassay.systems import SYSTEMS
from embassay.systems.own import TextComparisonOptions
from embassay.systems.remote import Ledger, NoCallsLedger

REFERENCES = ("constant", "random")


class DatasetFitsNoTaskError(UsageError):
    """A dataset has the columns of none of the requested tasks."""


@dataclass(frozen=True)
class PlannedSystem:
    """A system of the run, as far as it is known without computing anything."""

    spec: str
    name: str
    identity: str
    kind: Kind
    facts: dict[str, Any]
    remote: RemoteEncoder | None = None


@dataclass(frozen=True)
class PlannedTask:
    """A task on a dataset: its size, and what was left out at the door."""

    task: str
    n: int
    texts: int
    skipped: tuple[SkippedItems, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class PlannedDataset:
    """A dataset of the run and the tasks it joins."""

    source: str
    name: str
    lang: str
    fingerprint: str
    tasks: tuple[PlannedTask, ...]
    group: str = field(default="", kw_only=True)
    """The datasets that it counts as one with; empty for those that stand alone."""


@dataclass(frozen=True)
class SuiteDatasetInRun:
    """A dataset of a suite in a run: the set it counts as, the paper's name of it, its tasks, whether it is there, and
    what it lacks, for whatever reason; empty where it is whole."""

    dataset: str
    set: str
    title: str
    tasks: tuple[str, ...]
    present: bool
    reason: str


@dataclass(frozen=True)
class PlannedSuite:
    """A suite of the run, as far as the run has it. `within` is the names of datasets by every suite that it holds,
    itself included."""

    name: str
    title: str
    parts: tuple[SuiteDatasetInRun, ...]
    within: Mapping[str, tuple[str, ...]]

    def count(self, task: str = "", within: str = "") -> tuple[int, int]:
        """How many of its sets are there, and how many it has: for one task, of a suite in it, or in all. A set of
        several datasets is there when all of them are."""
        of_task = self._select_suite_parts(task, within)
        every = dict.fromkeys(part.set for part in of_task)
        lacking = {part.set for part in of_task if not part.present or (task and f"not for {task}" in part.reason)}
        return len(every) - len(lacking), len(every)

    def describe_present_sets(self, task: str = "", within: str = "") -> str:
        """`14 of 15 sets of beir.`; a set that is there only in part is named. Empty where it has none of these."""
        here, every = self.count(task, within)
        partly = dict.fromkeys(
            part.set for part in self._select_suite_parts(task, within) if part.present and part.reason
        )
        lacking = f" {', '.join(partly)} only in part." if partly else ""
        return f"{here} of {every} sets of {self.name}.{lacking}" if every else ""

    def _select_suite_parts(self, task: str, within: str) -> list[SuiteDatasetInRun]:
        names = self.within.get(within)
        return [
            part for part in self.parts if (not task or task in part.tasks) and (names is None or part.dataset in names)
        ]

    def as_dict(self) -> dict[str, Any]:
        """For the manifest."""
        fetch = f"`embassay data fetch {self.name}` fetches the public ones."
        parts = [{**asdict(part), "tasks": list(part.tasks)} for part in self.parts]
        here, every = self.count()
        return {"name": self.name, "title": self.title, "sets": every, "present": here,
            "said": self.describe_present_sets(),
                "parts": parts, "mend": fetch}  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """Everything a run will do, in its order. Protocols add what their cells are made of."""

    request: Any
    """What was asked for; has `as_dict()`, `systems`, `seed` and `tokenizer`."""
    systems: tuple[PlannedSystem, ...]
    datasets: tuple[PlannedDataset, ...]
    cells: tuple[RunCell, ...] = ()
    tokenizer_identity: str = ""
    cache: Path | None = field(default=None, kw_only=True)
    """The folder of kept vectors, or the file of kept answers; None for the user's."""
    paper: tuple[str, ...] = field(default=(), kw_only=True)
    """The order of the paper's tasks."""
    suites: tuple[PlannedSuite, ...] = field(default=(), kw_only=True)
    """The suites that were named, with what is there of them."""

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks that at least one dataset joins, in the paper's order."""
        return order_tasks((task.task for dataset in self.datasets for task in dataset.tasks), self.paper)

    def dataset(self, name: str) -> PlannedDataset:
        """The dataset of that name."""
        return next(dataset for dataset in self.datasets if dataset.name == name)

    def lang(self, dataset: str) -> str:
        """The language of a dataset."""
        return self.dataset(dataset).lang


class PlannableTask(Protocol):
    """What planning needs to know of a protocol's task."""

    @property
    def name(self) -> str: ...
    @property
    def shapes(self) -> tuple[str, ...]: ...


T = TypeVar("T", bound=PlannableTask)


def plan_systems(
    specs: Iterable[str], tokenizer: Tokenizer, seed: int, ledger: Ledger | None, **how: Unpack[TextComparisonOptions]
) -> list[PlannedSystem]:
    """The systems and the reference rows, each once whatever it was called. UsageError for a spec that is none, before
    any of them is opened."""
    named = tuple(specs)
    for spec in named:
        SYSTEMS.parse_spec(spec)
    systems = [
        _plan_system(spec, tokenizer, seed, ledger, how)
        # References last: ranked systems keep the order of the command line.
        for spec in dict.fromkeys((*named, *REFERENCES))
    ]
    return list({system.name: system for system in systems}.values())


def _plan_system(
    spec: str, tokenizer: Tokenizer, seed: int, ledger: Ledger | None, how: TextComparisonOptions
) -> PlannedSystem:
    with charge_calls_to_account(ledger, SYSTEMS.format(SYSTEMS.parse_spec(spec))):
        system = open_uncached_system(spec, tokenizer, seed, ledger, **how)
        encoder, remote = getattr(system, "encoder", None), find_remote_encoder(system)
        facts = (
            {} if encoder is None else {"dims": _count_dimensions(encoder, ledger), "max_tokens": encoder.max_tokens}
        )
    if remote is not None:
        facts["usd_per_million_tokens"] = remote.price
    return PlannedSystem(spec, system.name, system.identity, system.kind, facts, remote)


def _count_dimensions(encoder: Encoder, ledger: Ledger | None) -> int | None:
    """The dimensions of a system; None where only a request could tell, and none may be sent."""
    try:
        return encoder.dim
    except ModelError:
        if isinstance(ledger, NoCallsLedger):
            return None
        raise


def order_tasks(names: Iterable[str], paper: Sequence[str]) -> tuple[str, ...]:
    """The tasks of the paper that are among the names, in its order, then those that others brought, in theirs.

    >>> order_tasks(["mine", "sts", "retrieval"], ("retrieval", "clustering", "sts"))
    ('retrieval', 'sts', 'mine')
    """
    distinct = tuple(dict.fromkeys(names))
    return (*(name for name in paper if name in distinct), *(name for name in distinct if name not in paper))


def choose_tasks_for_dataset(
    source: str, dataset: Dataset, wanted: Sequence[T], protocol: str = "", known: Registry[T] | None = None
) -> list[T]:
    """The wanted tasks that the dataset is for and has the columns of.

    What it is for, the user says (`?tasks=`, a description), else its record of the catalogue for `protocol`; of other
    data the columns alone decide. UsageError, with what each task lacks, if there is none, and for a chosen task that
    is neither among the `known` ones nor any of the papers'.
    """
    if (meant := dataset.tasks_in(protocol)) is not None:
        wanted = _keep_tasks_of_dataset(source, meant, wanted, known)
    lacking = {task.name: _missing_columns(task, dataset) for task in wanted}
    joined = [task for task in wanted if not lacking[task.name]]
    if not joined:
        needs = "; ".join(f"{name} lacks {' and '.join(columns)}" for name, columns in lacking.items())
        raise DatasetFitsNoTaskError(
            f"The dataset {source!r} fits none of the requested tasks: {needs}.", mend=_advise_on_unfit_dataset(dataset)
        )
    return joined


def _advise_on_unfit_dataset(dataset: Dataset) -> str:
    """What to do with data that fit no task: rated pairs have another protocol."""
    if "pairs" in dataset.shapes():
        return "For rated pairs, use PTEB: embassay pteb run, or embassay.pteb.run in Python."
    return "Name its columns with --map, for example --map text=body,label=topic, or choose another task."


def _keep_tasks_of_dataset(
    source: str, meant: Sequence[str], wanted: Sequence[T], known: Registry[T] | None
) -> list[T]:
    """The wanted tasks among those that the dataset is for."""
    every = dict.fromkeys(TASKS.values())
    for name in meant:
        if known is not None and name not in known and name not in every:
            near = find_nearest_name(name, every)
            raise UsageError(
                f"{source!r} is meant for {name!r}, which is not a task.",
                mend=f"{f'Did you mean {near}? ' if near else ''}Use one of {', '.join(every)}.",
            )
    fitting = [task for task in wanted if task.name in meant]
    if not fitting:
        raise UsageError(
            f"The dataset {source!r} is for {' and '.join(meant)}, but this run uses "
            f"{', '.join(task.name for task in wanted)}.",
            mend="Leave it out, or use it for another task: -d "
            f"'{_append_tasks_to_dataset_spec(source, wanted[0].name)}'.",
        )
    return fitting


def _append_tasks_to_dataset_spec(source: str, task: str) -> str:
    place = split_tasks_from_spec(source)[0]
    return f"{place}{'&' if '?' in place else '?'}tasks={task}"


def _missing_columns(task: PlannableTask, dataset: Dataset) -> tuple[str, ...]:
    """The columns the dataset lacks for the task: none if it has one of the task's shapes."""
    by_shape = [tuple(dataset.missing(shape)) for shape in task.shapes]
    # The shape that is nearest to what the dataset has is what the user meant.
    return () if () in by_shape else min(by_shape, key=len)


def plan_task(name: str, loaded: LoadedDataset[Any], size: Callable[[Any], int], texts: int) -> PlannedTask:
    """A loaded dataset as a task of the plan. DataError if nothing of it can be used."""
    n = size(loaded.data)
    if not n:
        raise DataError(
            f"the dataset {loaded.dataset!r} has no usable item for the task {name}",
            expected="at least one",
            found="; ".join(f"{skip.count} with {skip.reason}" for skip in loaded.skipped) or "none",
        )
    return PlannedTask(name, n, texts, loaded.skipped, loaded.warnings)


def check_unique_dataset_names(names: Iterable[str]) -> None:
    """UsageError if two datasets have one name."""
    for name, count in Counter(names).items():
        if count > 1:
            raise UsageError(
                f"Two datasets are called {name!r}.",
                mend="Rename one of the files, or give it a name in a description.",
            )


def collect_system_facts(system: PlannedSystem) -> dict[str, Any]:
    """What the registry and the encoder say of a system, for its card. One of another registry says all itself."""
    if "summary" in system.facts:
        return system.facts
    entry = SYSTEMS.get(SYSTEMS.style.parse(system.spec).name)
    return {**dict(entry.facts), **system.facts, "summary": entry.summary}


D = TypeVar("D", bound=PlannedDataset)


def plan_datasets_and_suites(
    request: Any,
    asked: Sequence[str],
    plan: Callable[[str], D],
    *,
    plain: bool = False,
    taken: Callable[[DatasetSuite], DatasetSuite] = lambda suite: suite,
) -> tuple[tuple[D, ...], tuple[PlannedSuite, ...]]:
    """The datasets of a request, each once, and the suites among what it names.

    `asked` are the tasks of the run: of a suite only members for them take part. `plan` opens one dataset; with `plain`
    it is given no tasks of its own. `taken` is what the run makes of a suite. A member of a suite that isn't there is
    left out, and told with the suite; one that is there and broken is an error as ever. Where nothing of a suite is
    there it can still be planned: `check_suites_available` is for runs.
    """
    named = {source: find_suite(source) for source in dict.fromkeys(map(prefer_path_over_catalogue, request.datasets))}
    used = {source: taken(suite).narrow_suite_to_tasks(asked) for source, suite in named.items() if suite is not None}
    every = merge_duplicate_suite_members(member for suite in used.values() for member in suite.members)
    places = {(member.dataset, member.split): member for member in every}
    opened: dict[tuple[str, str] | str, D] = {}
    absent: dict[tuple[str, str], str] = {}
    for source in named:
        if source not in used:
            opened[source] = plan(source)
            continue
        for member in used[source].members:
            key = member.dataset, member.split
            # Suites share members: each is opened once.
            if key in opened or key in absent:
                continue
            dataset, absent_for = _plan_suite_member_or_explain(places[key], plan, plain=plain)
            if dataset is None:
                absent[key] = absent_for
            else:
                opened[key] = dataset
    planned = tuple(
        _plan_dataset_suite(
            suite, {key: dataset for key, dataset in opened.items() if not isinstance(key, str)}, absent, asked
        )
        for suite in used.values()
    )
    return tuple(opened.values()), planned


def _plan_suite_member_or_explain(
    member: SuiteMember, plan: Callable[[str], D], *, plain: bool
) -> tuple[D | None, str]:
    """The dataset of a member, or why it isn't there."""
    try:
        dataset = plan(member.spec(tasks=not plain))
    except DataError as error:
        # An error with a line is of a file that is there and broken.
        if error.line is not None or member.record is None:
            raise
        return None, error.briefly if isinstance(error, AbsentData) else error.what.rstrip(".")
    # A dataset of a suite may lack columns; one that the user named may not.
    except DatasetFitsNoTaskError:
        if member.record is None:
            raise
        return None, "its tables lack columns that the task needs"
    return replace(dataset, group=member.group or dataset.group), ""


def _plan_dataset_suite(
    suite: DatasetSuite,
    planned: Mapping[tuple[str, str], PlannedDataset],
    absent: Mapping[tuple[str, str], str],
    asked: Sequence[str],
) -> PlannedSuite:
    parts, names = [], {}
    for member in suite.members:
        key = member.dataset, member.split
        reason = absent.get(key, "")
        if key in planned:
            reason = "; ".join(_describe_missing_languages_and_tasks(member, planned[key]))
        tasks = member.tasks or tuple(task.task for task in planned[key].tasks if key in planned)
        names[member.dataset] = name = planned[key].name if key in planned else member.dataset
        parts.append(SuiteDatasetInRun(name, member.set, member.title, tasks, key in planned, reason))
    within = {
        name: tuple(
            names[member.dataset] for member in narrow_members_to_tasks(members, asked) if member.dataset in names
        )
        for name, members in suite.within.items()
    }
    return PlannedSuite(suite.name, suite.title, tuple(parts), within)


def check_suites_available(suites: Sequence[PlannedSuite]) -> None:
    """DataError for a suite of which nothing is on this machine, before any work."""
    for suite in suites:
        if not any(part.present for part in suite.parts):
            first = suite.parts[0]
            raise DataError(
                f"nothing from the suite {suite.name!r} is on this machine",
                found=f"{first.dataset}: {first.reason}",
                mend=f"Fetch it with `embassay data fetch {suite.name}`; "
                f"`embassay data show {suite.name}` lists its datasets.",
            )


def _describe_missing_languages_and_tasks(member: SuiteMember, dataset: PlannedDataset) -> Iterator[str]:
    """What a dataset that is there lacks: languages, and tasks that its tables do not allow."""
    warnings = dict.fromkeys(warning for task in dataset.tasks for warning in task.warnings)
    # The words are those of data/catalogue/hub.py, which knows the languages.
    yield from (warning for warning in warnings if warning.startswith("languages missing from the mirror"))
    joined = {task.task for task in dataset.tasks}
    yield from (f"not for {task}" for task in member.tasks if task not in joined)


@dataclass(frozen=True)
class TableWithPaperDatasetNames(RunTable):
    """A table of a run with the papers' names of the datasets, where people read it, and what of a suite is missing
    below it; as CSV it is what it was."""

    table: RunTable
    suites: tuple[PlannedSuite, ...]
    name: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.table.name)

    def as_csv(self) -> str:
        """The table as CSV, the same as without suites."""
        return self.table.as_csv()

    def format_table_for_printing(self, first: First | None = None) -> FormattedReportTable:
        """Renamed, and with a note for each suite."""
        table = self.table.format_table_for_printing(first)
        titles = {part.dataset: part.title for suite in self.suites for part in suite.parts if part.title}
        words = [align == "l" for align in table.aligns]
        body = [
            row
            if isinstance(row, str)
            else [
                _format_dataset_name_as_in_paper(cell, titles) if word else cell
                for cell, word in zip(row, words, strict=True)
            ]
            for row in table.body
        ]
        lines = (suite.describe_present_sets(self.table.task, self.table.suite) for suite in self.suites)
        note = " ".join(filter(None, (table.note, *lines)))
        return replace(table, heads=[titles.get(head, head) for head in table.heads], body=body, note=note)


def _format_dataset_name_as_in_paper(cell: str, titles: Mapping[str, str]) -> str:
    """A dataset's name as the paper has it; what stands behind it, a language, is left away.

    >>> _format_dataset_name_as_in_paper("sts17 en-en", {"sts17": "STS17"}), _format_dataset_name_as_in_paper(
    ...     "9 datasets", {"sts17": "STS17"})
    ('STS17', '9 datasets')
    """
    name, _, _ = cell.partition(" ")
    return titles.get(name, cell)


def add_suite_names_to_tables(tables: Sequence[RunTable], suites: tuple[PlannedSuite, ...]) -> Sequence[RunTable]:
    """The tables of a run, told of its suites; as they are where it has none."""
    return [TableWithPaperDatasetNames(table, suites) for table in tables] if suites else tables


def describe_suite_availability(suites: Sequence[PlannedSuite]) -> tuple[str, ...]:
    """For a plan: how much of each suite is on this machine, and the command that fetches the rest."""
    return tuple(_describe_local_sets(suite) for suite in suites)


def _describe_local_sets(suite: PlannedSuite) -> str:
    here, every = suite.count()
    told = f"{here} of {every} sets of {suite.name} are on this machine"
    if here == every:
        return suite.describe_present_sets()
    return f"{told}; `embassay data fetch {suite.name}` fetches the other public ones."


def list_incomplete_suite_notes(suites: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """From a manifest: what a suite lacks, what follows, and the mend; nothing of one that is whole."""
    for told in suites:
        lacking = [part for part in told["parts"] if part["reason"]]
        if not lacking:
            continue
        first = "; ".join(f"{gap['dataset']} ({gap['reason']})" for gap in lacking[:3])
        more = f" and {format_noun_count(len(lacking) - 3, 'other')}" if len(lacking) > 3 else ""
        what = f"{told['said']} Missing: {first}{more}."
        yield (
            what,
            "Means are over the available datasets, so they cannot be compared with the paper's.",
            told["mend"],
        )
