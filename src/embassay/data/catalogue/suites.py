"""Suites: the papers' sets of datasets by one name, and those that users describe.

A suite is data: which datasets, each for which tasks, in which languages and split, what counts as one. `sage.yaml`,
`pteb.yaml`, `hume.yaml` and `hteb.yaml` in the folder `suites` are the papers'; a file of the same form is a suite of
its own, named by its path.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError, model_validator

from embassay.data.catalogue.entries import (
    CatalogueDatasetRecord,
    Names,
    Protocol,
    StrictCatalogueRecord,
    describe_dataset_source,
    find_catalogue_entry,
    read_catalogue_entries,
)
from embassay.data.rows import LIKE, find_nearest_name, format_value_for_error
from embassay.data.sources import split_tasks_from_spec
from embassay.data.yaml import read_yaml
from embassay.errors import DataError, UsageError

_SUFFIXES = (".yaml", ".yml")


class SuiteMemberRecord(StrictCatalogueRecord):
    """One dataset of a suite, or another suite whose members are its own.

    `dataset` is a name of the catalogue, or a path from the file's folder; `tasks`, `lang` and `split` what of it is
    taken, by default what its record says. Members of one `group` count as one set; `title` is the paper's name.
    """

    dataset: str = ""
    suite: str = ""
    tasks: Names = Field(default=[])
    lang: Names = Field(default=[])
    split: str = ""
    group: str = ""
    title: str = ""

    @model_validator(mode="after")
    def _check_dataset_or_suite(self) -> SuiteMemberRecord:
        if bool(self.dataset) == bool(self.suite):
            raise ValueError("exactly one of dataset and suite")
        if self.suite and (self.lang or self.split or self.group or self.title):
            raise ValueError("no lang, split, group or title in a member that is a suite")
        return self


class SuiteRecord(StrictCatalogueRecord):
    """A suite as it is written. `tasks` are those of members that name none."""

    name: str = Field(min_length=1)
    title: str = ""
    source: str = ""
    protocol: Protocol | None = None
    tasks: Names = Field(default=[])
    members: list[SuiteMemberRecord] = Field(min_length=1)


@dataclass(frozen=True)
class SuiteMember:
    """A dataset of a suite, with all that is said of it. No tasks: those of its record, or its columns."""

    dataset: str
    tasks: tuple[str, ...] = ()
    langs: tuple[str, ...] = ()
    split: str = ""
    group: str = ""
    title: str = ""

    @property
    def record(self) -> CatalogueDatasetRecord | None:
        """Its record in the catalogue; None for a path."""
        return read_catalogue_entries().get(self.dataset)

    @property
    def set(self) -> str:
        """The name of the set that it counts as: its group, or itself."""
        return self.group or (self.record.group if self.record else "") or self.dataset

    def spec(self, *, tasks: bool = True) -> str:
        """What `open_dataset` takes, with the tasks or without them."""
        record = self.record
        every = tuple(record.langs) if record else ()
        langs = self.langs if every and set(self.langs) != set(every) else ()
        query = {"lang": ",".join(langs), "split": self.split, "tasks": ",".join(self.tasks if tasks else ())}
        pairs = "&".join(f"{name}={value}" for name, value in query.items() if value)
        return f"{self.dataset}?{pairs}" if pairs else self.dataset

    def as_dict(self) -> dict[str, Any]:
        """For `--json`, with the languages, the split and the group that its record adds."""
        record = self.record
        langs = self.langs or tuple(record.langs or [record.lang] if record else ())
        splits = {table.part: list(table.list_hub_split_names) for table in record.all_tables} if record else {}
        return {
            "dataset": self.dataset, "title": self.title, "tasks": list(self.tasks), "langs": list(langs),
            "split": self.split or _find_scored_split(splits), "group": "" if self.set == self.dataset else self.set,
            # A file that somebody added to a suite has no record in the catalogue.
            "place": describe_dataset_source(record) if record else "file"
        }  # fmt: skip


def _find_scored_split(splits: Mapping[str, Sequence[str]]) -> str:
    """The split that is scored: of judgements, or of the one table that is neither trained on nor searched."""
    parts = [part for part in ("qrels", *splits) if part in splits and part not in ("train", "corpus", "queries")]
    return "+".join(splits[parts[0]]) if parts else ""


@dataclass(frozen=True)
class DatasetSuite:
    """A suite with its members, those of other suites among them, each dataset once."""

    name: str
    title: str
    source: str
    protocol: str
    members: tuple[SuiteMember, ...]
    within: Mapping[str, tuple[SuiteMember, ...]] = field(default_factory=dict)
    """Name -> members of every suite that it is made of, itself included."""

    @property
    def sets(self) -> tuple[str, ...]:
        """The names of the sets that it counts: datasets, those of a group as one."""
        return tuple(dict.fromkeys(member.set for member in self.members))

    def narrow_suite_to_tasks(self, tasks: Iterable[str]) -> DatasetSuite:
        """Narrow the suite to what it has for some tasks; UsageError if that is nothing."""
        wanted = tuple(tasks)
        members = tuple(narrow_members_to_tasks(self.members, wanted))
        if not members:
            known = dict.fromkeys(task for member in self.members for task in member.tasks)
            alike = ((name, task) for name in wanted if (task := find_nearest_name(name, known, LIKE)))
            asked, near = next(alike, ("", ""))
            meant = f" Did you mean {near}{f', not {asked}' if len(wanted) > 1 else ''}?"
            raise UsageError(
                f"The suite {self.name!r} has no datasets for {' or '.join(wanted)}.",
                mend=f"It has datasets for {', '.join(known) or 'no task'}.{meant if near else ''}",
            )
        return replace(self, members=members)


def narrow_members_to_tasks(members: Iterable[SuiteMember], tasks: Sequence[str]) -> Iterator[SuiteMember]:
    """The members for one of the tasks, with those tasks alone; one that names no task stays as it is."""
    for member in members:
        common = tuple(task for task in member.tasks if task in tasks)
        if common or not member.tasks:
            yield replace(member, tasks=common)


@cache
def read_all_suites() -> Mapping[str, DatasetSuite]:
    """Name -> suite of a paper, in the order of the files."""
    files = sorted((Path(__file__).parent / "suites").glob("*.yaml"))
    written = [SuiteRecord.model_validate(facts) for file in files for facts in read_yaml(file)]
    records = {record.name: record for record in written}
    return {name: _make_suite(record, records, None) for name, record in records.items()}


def find_suite(source: str) -> DatasetSuite | None:
    """The suite that a source of data names, None where it names none: a paper's, or a YAML file with `members`.

    `?tasks=` keeps some of its tasks. DataError for a file that is not what it should be, UsageError for a suite or a
    dataset in it that nobody knows.
    """
    named, tasks = split_tasks_from_spec(source)
    suite = read_all_suites().get(named) or _read_own_suite(Path(named).expanduser())
    return suite.narrow_suite_to_tasks(tasks) if suite and tasks else suite


def find_records_and_file_members(names: Iterable[str]) -> tuple[list[CatalogueDatasetRecord], list[str]]:
    """Find the records of named datasets and suites, and the members of suites that are own files.

    UsageError, with the nearest name, for one that is neither.
    """
    records: dict[str, CatalogueDatasetRecord] = {}
    files: list[str] = []
    for name in names:
        suite = find_suite(name)
        for member in suite.members if suite else (SuiteMember(name),):
            if suite and member.record is None:
                files.append(member.dataset)
            else:
                records[member.dataset] = member.record or find_catalogue_entry(member.dataset)
    return list(records.values()), files


def merge_duplicate_suite_members(members: Iterable[SuiteMember]) -> tuple[SuiteMember, ...]:
    """Each dataset once, for the tasks and in the languages of all; the first with a title or a group gives it."""
    by_split: dict[tuple[str, str], SuiteMember] = {}
    for member in members:
        before = by_split.get((member.dataset, member.split))
        by_split[member.dataset, member.split] = member if before is None else _merge_suite_members(before, member)
    return tuple(by_split.values())


def _merge_suite_members(first: SuiteMember, second: SuiteMember) -> SuiteMember:
    return replace(
        first,
        tasks=_merge_name_restrictions(first.tasks, second.tasks),
        langs=_merge_name_restrictions(first.langs, second.langs),
        group=first.group or second.group,
        title=first.title or second.title,
    )


def _merge_name_restrictions(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    """Merge the names of both; none where either means all."""
    return tuple(dict.fromkeys((*first, *second))) if first and second else ()


def _read_own_suite(path: Path) -> DatasetSuite | None:
    if path.suffix not in _SUFFIXES or not path.is_file():
        return None
    content = read_yaml(path)
    if not isinstance(content, dict) or "members" not in content:
        return None
    try:
        record = SuiteRecord.model_validate(content)
    except ValidationError as error:
        raise _make_suite_validation_error(path, error) from error
    if record.name in read_all_suites() or record.name in read_catalogue_entries():
        raise DataError(
            f"the name {record.name!r} is already used by a suite or dataset in the catalogue", path=path,
            mend="Give the suite another name."
        )  # fmt: skip
    return _make_suite(record, {record.name: record}, path)


def _make_suite_validation_error(path: Path, error: ValidationError) -> DataError:
    """Make an error of the first fault in one line: where, what was expected, what was found."""
    fault = error.errors(include_url=False)[0]
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in fault["loc"]).lstrip(".")
    if fault["type"] == "extra_forbidden":
        near = find_nearest_name(str(fault["loc"][-1]), (*SuiteRecord.model_fields, *SuiteMemberRecord.model_fields))
        mend = f"Did you mean {near}?" if near else "Remove it."
        return DataError(f"unknown field {where}.", path=path, mend=mend)
    if fault["type"] == "missing":
        return DataError(f"the field {where} is missing.", path=path, mend="Add it.")
    if fault["type"] in ("model_type", "too_short"):
        return DataError(
            f"{where} is invalid", path=path, found=format_value_for_error(fault["input"]),
            expected="a mapping" if fault["type"] == "model_type" else "at least one member",
            mend="Write each member as - {dataset: my.jsonl} or - {suite: NAME}."
        )  # fmt: skip
    expected = fault["msg"].removeprefix("Value error, ").removeprefix("Input should be ").replace("a valid ", "a ")
    given = "" if fault["type"] == "value_error" else format_value_for_error(fault["input"])
    return DataError(f"{where or 'the suite'} is invalid", path=path, expected=expected, found=given)


def _make_suite(record: SuiteRecord, records: Mapping[str, SuiteRecord], path: Path | None) -> DatasetSuite:
    within: dict[str, tuple[SuiteMember, ...]] = {}
    members = _resolve_suite_members(record, records, path, within, ())
    return DatasetSuite(record.name, record.title or record.name, record.source, record.protocol or "", members, within)


def _resolve_suite_members(
    record: SuiteRecord,
    records: Mapping[str, SuiteRecord],
    path: Path | None,
    within: dict[str, tuple[SuiteMember, ...]],
    above: tuple[str, ...],
) -> tuple[SuiteMember, ...]:
    members: list[SuiteMember] = []
    for member in record.members:
        tasks = tuple(member.tasks or record.tasks)
        if member.dataset:
            name = _resolve_dataset_name_or_path(member, path)
            langs = _return_languages_if_all_known(name, member.lang, path)
            members.append(SuiteMember(name, tasks, langs, member.split, member.group, member.title))
            continue
        if member.suite in (record.name, *above):
            raise DataError(f"the suite {member.suite!r} contains itself", path=path, mend="Remove it.")
        if member.suite in records:
            inner = _resolve_suite_members(records[member.suite], records, path, within, (record.name, *above))
        else:
            paper = _find_suite_by_name(member.suite, path)
            inner = paper.members
            within.update(paper.within)
        members += narrow_members_to_tasks(inner, tasks) if tasks else inner
    within[record.name] = merge_duplicate_suite_members(members)
    return within[record.name]


def _resolve_dataset_name_or_path(record: SuiteMemberRecord, path: Path | None) -> str:
    """Resolve a name of the catalogue to itself, or to a path from the file's folder, or DataError."""
    if record.dataset in read_catalogue_entries():
        return record.dataset
    file = Path(record.dataset).expanduser()
    file = file if file.is_absolute() or path is None else path.parent / file
    if path is None or not file.exists():
        near = find_nearest_name(record.dataset, read_catalogue_entries())
        raise DataError(
            f"there is no dataset {record.dataset!r}", path=path, expected="a catalogue name, or a path relative to "
                "this file's folder", mend=f"Did you mean {near}?" if near else "See `embassay data list`."
        )  # fmt: skip
    if record.lang or record.split:
        raise DataError(
            f"{record.dataset!r} is a file, so lang and split cannot be used", path=path,
            mend="Select its rows in a description instead: where: {lang: en}."
        )  # fmt: skip
    return str(file)


def _return_languages_if_all_known(name: str, langs: Sequence[str], path: Path | None) -> tuple[str, ...]:
    record = read_catalogue_entries().get(name)
    every = (record.langs or [record.lang]) if record else langs
    for lang in langs:
        if lang not in every:
            raise DataError(
                f"the dataset {name!r} has no language {lang!r}", path=path, expected=", ".join(every),
                mend="Use one of these."
            )  # fmt: skip
    return tuple(lang for lang in every if lang in langs)


def _find_suite_by_name(name: str, path: Path | None) -> DatasetSuite:
    if name not in read_all_suites():
        near = find_nearest_name(name, read_all_suites())
        raise DataError(
            f"there is no suite {name!r}", path=path,
            mend=f"{f'Did you mean {near}? ' if near else ''}Run `embassay list suites` to see all suites."
        )  # fmt: skip
    return read_all_suites()[name]
