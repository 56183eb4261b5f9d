"""What datasets that are not on this machine would take, so that the price is known before gigabytes are fetched.

Each is planned in miniature, twice: everything that a cell counts grows in proportion to at most two amounts of the
data (documents and queries, say), and two sizes tell how fast. The catalogue says how much there really is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from embassay.data import Dataset
from embassay.data.catalogue.entries import CatalogueDatasetRecord, read_catalogue_entries
from embassay.data.catalogue.miniature import (
    DatasetItemCounts,
    choose_representative_shape,
    compute_dataset_sizes_from_record,
    write_miniature_dataset,
)
from embassay.data.catalogue.suites import SuiteMember, find_suite
from embassay.data.sources import split_tasks_from_spec
from embassay.errors import AbsentData
from embassay.protocols.kernel.inputs import open_request_dataset
from embassay.protocols.kernel.plan import PlannedSuite
from embassay.runs.forecast import CellForecast, RunForecast

CHARACTERS = 12_000
"""Of all texts of a miniature together, roughly: long ones are few."""
FEWEST, MOST = 12, 48
OTHERS = 12
"""Queries or texts to train with in the smaller miniature of a dataset that has such; the other has twice as many."""
_PAIRWISE = ("clustering",)
"""Tasks whose time without vectors grows with the square of the texts, up to a cap that is the protocol's."""

Foresee = Callable[[Any, bool], RunForecast]
"""From a request to what it takes, planned as if it were carried out; and whether systems are timed for it."""


@dataclass(frozen=True)
class AbsentDataset:
    """A dataset of the catalogue that is not here: the languages and the tasks that are wanted of it."""

    record: CatalogueDatasetRecord
    langs: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()

    @property
    def planned_sizes(self) -> tuple[DatasetItemCounts, ...]:
        """The sizes in which it is planned: two where what it takes depends on two amounts."""
        languages = len(self.langs or self.record.langs) or 1
        longest = max(self.record.chars.values())
        fitting = min(MOST, round(CHARACTERS / longest))
        # Every language needs some rows of each label and score.
        main = max(FEWEST, 5 * languages, fitting)
        if not compute_dataset_sizes_from_record(self.record).other:
            return (DatasetItemCounts(main),)
        # To be ranked again, every query needs candidates to choose from.
        main = max(main, 4 * OTHERS)
        return DatasetItemCounts(main, OTHERS), DatasetItemCounts(main, 2 * OTHERS)


def find_absent_datasets(request: Any) -> dict[str, AbsentDataset]:
    """Source -> dataset for what a request names of the catalogue, by itself and not in a suite, and is not here."""
    absent: dict[str, AbsentDataset] = {}
    for source in dict.fromkeys(request.datasets):
        named = parse_spec_as_absent_dataset(source)
        if named is None or find_suite(source) is not None:
            continue
        if not is_dataset_present_or_fetchable(source, lambda name: open_request_dataset(request.dataset(name))):
            absent[source] = named
    return absent


def is_dataset_present_or_fetchable(source: str, opened: Callable[[str], Dataset]) -> bool:
    """Whether a dataset of the catalogue is on this machine, or can be fetched."""
    try:
        opened(source).shapes()
    except AbsentData:
        return False
    return True


def parse_spec_as_absent_dataset(source: str) -> AbsentDataset | None:
    """A name of the catalogue with what is wanted of it, should it not be here; None for a file and any other name."""
    named, tasks = split_tasks_from_spec(source)
    name, _, query = named.partition("?")
    if name not in read_catalogue_entries() or Path(named).expanduser().exists():
        return None
    settings = dict(part.partition("=")[::2] for part in query.split("&") if part)
    langs = tuple(filter(None, settings.get("lang", "").split(",")))
    return AbsentDataset(read_catalogue_entries()[name], langs, tasks)


def list_absent_suite_datasets(suites: Sequence[PlannedSuite], request: Any) -> list[AbsentDataset]:
    """What the suites of a plan lack, each dataset once for the tasks of all."""
    members = {
        member.dataset: member
        for source in request.datasets
        if (suite := find_suite(source)) is not None
        for member in suite.members
    }
    tasks: dict[str, dict[str, None]] = {}
    for planned in suites:
        for part in planned.parts:
            if not part.present and part.dataset in members:
                tasks.setdefault(part.dataset, {}).update(dict.fromkeys(part.tasks))
    return [_make_absent_dataset(members[name], tuple(names)) for name, names in tasks.items() if members[name].record]


def _make_absent_dataset(member: SuiteMember, tasks: tuple[str, ...]) -> AbsentDataset:
    assert member.record is not None
    return AbsentDataset(member.record, member.langs, tasks)


def forecast_absent_datasets(
    absent: Sequence[AbsentDataset],
    request: Any,
    foresee: Foresee,
    *,
    drawn: Callable[[str], int | None],
    protocol: str,
    by_task: bool,
) -> list[CellForecast]:
    """What the absent datasets would take.

    `foresee` plans a request; `drawn` is how many items of a task are drawn at most; with `by_task` a dataset is taken
    only for the tasks that are wanted of it, by default those that its record names for `protocol`.
    """
    with TemporaryDirectory(prefix="embassay-plan-") as folder:
        plan = _AbsentDatasetForecasts(Path(folder), request, foresee, protocol, by_task)
        first = plan.cells(absent, 0, timed=True)
        second = plan.cells([item for item in absent if len(item.planned_sizes) > 1], 1, timed=False)
    by_name = {item.record.name: item for item in absent}
    return [
        _forecast_cell_from_miniature(cell, second.get(key), by_name[cell.dataset], drawn)
        for key, cell in first.items()
    ]


@dataclass(frozen=True)
class _AbsentDatasetForecasts:
    folder: Path
    request: Any
    foresee: Foresee
    protocol: str
    by_task: bool

    def cells(
        self, absent: Sequence[AbsentDataset], which: int, *, timed: bool
    ) -> Mapping[tuple[str, str, str], CellForecast]:
        """(task, dataset, system) -> what each dataset takes in the first or second of its sizes."""
        if not absent:
            return {}
        place = self.folder / str(which)
        sources = tuple(self._write_miniature_source(item, item.planned_sizes[which], place) for item in absent)
        # Mappings, splits and limits are of the real data: the miniature has canonical columns and no more than it has.
        settings: dict[str, Any] = {"mapping": {}, "split": None, "grades": None, "limit": None}
        known = {name: value for name, value in settings.items() if hasattr(self.request, name)}
        forecasts = self.foresee(replace(self.request, datasets=sources, **known), timed)
        return {(cell.task, cell.dataset, cell.system): cell for cell in forecasts.cells}

    def _write_miniature_source(self, absent: AbsentDataset, size: DatasetItemCounts, folder: Path) -> str:
        path = write_miniature_dataset(absent.record, absent.langs, size, folder)
        named: Mapping[Any, Sequence[str]] = absent.record.protocols
        tasks = absent.tasks or tuple(named.get(self.protocol, ()))
        return f"{path}?tasks={','.join(tasks)}" if tasks and self.by_task else str(path)


def _forecast_cell_from_miniature(
    small: CellForecast, taller: CellForecast | None, absent: AbsentDataset, drawn: Callable[[str], int | None]
) -> CellForecast:
    """The cell of a dataset, from its cells in miniature."""
    real = compute_dataset_sizes_from_record(absent.record, absent.langs, drawn(small.task))
    size = absent.planned_sizes[0]
    # A task that draws fewer items than the miniature has saw no more of it.
    seen = min(size.main, drawn(small.task) or size.main) if taller is None else size.main
    grown = taller or small

    def extrapolate_from_two_measurements(low: float, high: float) -> float:
        by_other = (high - low) / OTHERS if taller else 0.0
        by_main = (low - by_other * size.other) / seen
        return max(0.0, by_main * real.main + by_other * real.other)

    def extrapolate_forecast_field(name: str) -> int:
        return round(extrapolate_from_two_measurements(getattr(small, name), getattr(grown, name)))

    texts = extrapolate_forecast_field("texts")
    requests = None if small.requests is None else -(-texts * small.requests // max(1, small.texts))
    usd = None if small.usd is None or grown.usd is None else extrapolate_from_two_measurements(small.usd, grown.usd)
    scaled = replace(
        small, items=extrapolate_forecast_field("items"), texts=texts, tokens=extrapolate_forecast_field("tokens"),
        cached=0, requests=requests, usd=usd,
        disk_bytes=extrapolate_forecast_field("disk_bytes"), memory_bytes=0, exact=False, fetched=False
    )  # fmt: skip
    return replace(scaled, seconds=_scale_cell_seconds(small, scaled, absent, real))


def _scale_cell_seconds(
    small: CellForecast, scaled: CellForecast, absent: AbsentDataset, real: DatasetItemCounts
) -> float | None:
    """The time of a cell; None where it cannot be told from the miniature's."""
    if small.seconds is None:
        return None
    if small.requests is not None:
        return small.seconds * scaled.requests / max(1, small.requests) if scaled.requests else 0.0
    encodes = small.disk_bytes > 0 or small.cached > 0
    if encodes:
        return small.seconds * scaled.tokens / max(1, small.tokens)
    if small.task in _PAIRWISE:
        return None
    if choose_representative_shape(absent.record) == "retrieval" and small.task == "retrieval":
        # Every query is compared with every document.
        return small.seconds * (real.main * real.other) / (absent.planned_sizes[0].main * OTHERS)
    return small.seconds * scaled.texts / max(1, small.texts)


def describe_datasets_sized_by_catalogue(names: Sequence[str], mark: str = "") -> str:
    """Say in a sentence what was planned by the catalogue, with the `mark` of its figures."""
    return f"Not on this machine, so planned with sizes from the catalogue{mark}: {', '.join(names)}"


def describe_absent_datasets(absent: Sequence[AbsentDataset], named: Collection[str]) -> Iterator[str]:
    """For a plan: what of it goes by the catalogue; how to fetch those that are `named` by themselves."""
    names = dict.fromkeys(item.record.name for item in absent)
    if names:
        yield f"{describe_datasets_sized_by_catalogue(tuple(names), mark=' (~)')}."
    if alone := [name for name in names if name in named]:
        yield f"`embassay data fetch {' '.join(alone)}` fetches the public ones."
