"""Suites in a run: their datasets planned one by one, and what the run lacks of each, said wherever results are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from embassay.data.catalogue.entries import entries
from embassay.data.catalogue.suites import Member, Suite, merged, narrowed, suite_of
from embassay.errors import DataError, UsageError
from embassay.protocols.kernel.plan import Part, PlannedDataset, PlannedSuite
from embassay.protocols.kernel.tables import First, Printed, RunTable, counted

D = TypeVar("D", bound=PlannedDataset)


def planned_datasets(
    request: Any,
    asked: Sequence[str],
    plan: Callable[[str], D],
    *,
    plain: bool = False,
    taken: Callable[[Suite], Suite] = lambda suite: suite,
) -> tuple[tuple[D, ...], tuple[PlannedSuite, ...]]:
    """The datasets of a request, each once, and the suites among what it names.

    `asked` are the tasks of the run: of a suite only members for them take part. `plan` opens one dataset; with `plain`
    it is given no tasks of its own. `taken` is what the run makes of a suite. A member of a suite that isn't there is
    left out, and told with the suite; one that is there and broken is an error as ever. Where nothing of a suite is
    there it can still be planned: `check_at_hand` is for runs.
    """
    named = {source: suite_of(source) for source in dict.fromkeys(request.datasets)}
    used = {source: taken(suite).of_tasks(asked) for source, suite in named.items() if suite is not None}
    every = merged(one for suite in used.values() for one in suite.members)
    places = {(one.dataset, one.split): one for one in every}
    found: dict[tuple[str, str] | str, D] = {}
    absent: dict[tuple[str, str], str] = {}
    for source in named:
        if source not in used:
            found[source] = plan(source)
            continue
        for member in used[source].members:
            key = member.dataset, member.split
            if key in found or key in absent:
                continue
            one, absent_for = _planned(places[key], plan, plain=plain)
            if one is None:
                absent[key] = absent_for
            else:
                found[key] = one
    planned = tuple(
        _planned_suite(
            suite, {key: one for key, one in found.items() if not isinstance(key, str)}, absent, asked
        )
        for suite in used.values()
    )
    return tuple(found.values()), planned


def _planned(member: Member, plan: Callable[[str], D], *, plain: bool) -> tuple[D | None, str]:
    """The dataset of a member, or why it isn't there."""
    try:
        one = plan(member.spec(tasks=not plain))
    except DataError as error:
        if error.line is not None or member.record is None:
            raise
        return None, _in_short(error)
    except UsageError as error:
        if member.record is None or "joins none" not in error.message:
            raise
        return None, "its tables lack what the task needs"
    return replace(one, group=member.group or one.group), ""


def _in_short(error: DataError) -> str:
    """Why a dataset isn't there, without what to do about it."""
    if "cannot be read from the hub" in error.what:
        return "not on this machine, and the hub was not reached"
    return error.what.rstrip(".")


def _planned_suite(
    suite: Suite,
    found: Mapping[tuple[str, str], PlannedDataset],
    absent: Mapping[tuple[str, str], str],
    asked: Sequence[str],
) -> PlannedSuite:
    parts, names = [], {}
    for one in suite.members:
        key = one.dataset, one.split
        reason = absent.get(key, "")
        if key in found:
            reason = "; ".join(_gaps(one, found[key]))
        tasks = one.tasks or tuple(task.task for task in found[key].tasks if key in found)
        names[one.dataset] = name = found[key].name if key in found else one.dataset
        parts.append(Part(name, one.set, one.title, tasks, key in found, reason))
    within = {
        name: tuple(names[one.dataset] for one in narrowed(members, asked) if one.dataset in names)
        for name, members in suite.within.items()
    }
    return PlannedSuite(suite.name, suite.title, tuple(parts), within)


def check_at_hand(suites: Sequence[PlannedSuite]) -> None:
    """DataError for a suite of which nothing is on this machine, before any work."""
    for one in suites:
        if not any(part.present for part in one.parts):
            first = one.parts[0]
            raise DataError(
                f"nothing of the suite {one.name!r} is on this machine", found=f"{first.dataset}: {first.reason}",
                mend=f"`embassay data fetch {one.name}` fetches it; `embassay data show {one.name}` lists its sets.",
            )  # fmt: skip


def _gaps(member: Member, one: PlannedDataset) -> Iterator[str]:
    """What a dataset that is there lacks: languages, and tasks that its tables do not allow."""
    said = dict.fromkeys(warning for task in one.tasks for warning in task.warnings)
    yield from (warning for warning in said if warning.startswith("languages that are not in the mirror"))
    joined = {task.task for task in one.tasks}
    yield from (f"not for {task}" for task in member.tasks if task not in joined)


@dataclass(frozen=True)
class OfSuites(RunTable):
    """A table of a run with the papers' names of the datasets, where people read it, and what of a suite is missing
    below it; as CSV it is what it was."""

    table: RunTable
    suites: tuple[PlannedSuite, ...]
    name: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.table.name)

    def as_csv(self) -> str:
        """As without suites."""
        return self.table.as_csv()

    def printed(self, first: First | None = None) -> Printed:
        """Renamed, and with a note for each suite."""
        made = self.table.printed(first)
        titles = {part.dataset: part.title for suite in self.suites for part in suite.parts if part.title}
        words = [align == "l" for align in made.aligns]
        body = [
            row
            if isinstance(row, str)
            else [_renamed(cell, titles) if word else cell for cell, word in zip(row, words, strict=True)]
            for row in made.body
        ]
        said = (suite.said(self.table.task, self.table.suite) for suite in self.suites)
        note = " ".join(filter(None, (made.note, *said)))
        return replace(made, heads=[titles.get(head, head) for head in made.heads], body=body, note=note)


def _renamed(cell: str, titles: Mapping[str, str]) -> str:
    """A dataset's name as the paper has it; what stands behind it, a language, is left away.

    >>> _renamed("sts17 en-en", {"sts17": "STS17"}), _renamed("9 datasets", {"sts17": "STS17"})
    ('STS17', '9 datasets')
    """
    name, _, _ = cell.partition(" ")
    return titles.get(name, cell)


def with_suites(tables: Sequence[RunTable], suites: tuple[PlannedSuite, ...]) -> Sequence[RunTable]:
    """The tables of a run, told of its suites; as they are where it has none."""
    return [OfSuites(table, suites) for table in tables] if suites else tables


def in_short(suites: Sequence[PlannedSuite]) -> tuple[str, ...]:
    """For a plan: what there is of each suite, and the datasets that are missing with what they hold."""
    return tuple(" ".join((suite.said(), *_missing(suite))) for suite in suites)


def _missing(suite: PlannedSuite) -> Iterator[str]:
    absent = [one for one in suite.parts if not one.present]
    if not absent:
        return
    if len(absent) == len(suite.parts):
        yield "Nothing of it is on this machine, so nothing of it is priced."
    known = [(one.dataset, record.size if (record := entries().get(one.dataset)) else 0) for one in absent]
    listed = ", ".join(f"{name} ({size:,} items)" if size else name for name, size in known)
    yield f"Not counted here: {listed}. `embassay data fetch {suite.name}` fetches what is public."


def notes(suites: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """From a manifest: what a suite lacks, what follows, and the mend; nothing of one that is whole."""
    for told in suites:
        lacking = [one for one in told["parts"] if one["reason"]]
        if not lacking:
            continue
        first = "; ".join(f"{one['dataset']} ({one['reason']})" for one in lacking[:3])
        more = f" and {counted(len(lacking) - 3, 'other')}" if len(lacking) > 3 else ""
        what = f"{told['said']} Missing: {first}{more}."
        yield what, "Means are over what is there, and do not compare with the paper's.", told["mend"]
