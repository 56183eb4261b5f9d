"""The check itself: what is read in which order, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from embassay.bounded import bounded_entries
from embassay.contracts import Tokenizer
from embassay.data.check.figures import figures, odd_scores
from embassay.data.check.files import describe, remarks
from embassay.data.check.near import Nearness
from embassay.data.check.repeats import Comparison, Said, Texts
from embassay.data.check.report import File, Lengths, NearMiss, Overlap, Repeats, Report, Shape
from embassay.data.check.shapes import TASKS, near_misses
from embassay.data.check.stops import Stops
from embassay.data.check.texts import Table, lengths, tables
from embassay.data.dataset import Dataset
from embassay.data.faults import collecting
from embassay.data.opening import open_dataset
from embassay.data.rows import File as FileOrigin
from embassay.data.shapes import RETRIEVAL_PARTS
from embassay.data.tables import known_suffix
from embassay.errors import DataError

_CONSEQUENCE = "no row can be used"


def _silent(doing: str, done: int, total: int) -> None:
    """Listens to progress and says nothing."""


@dataclass
class Check:
    """A check of the data that `spec` names, with the options a run has besides.

    `against` names other data to look for the same texts in, `near` says what counts as almost equal (None: don't
    look), `tokenizer` what lengths are counted in (None: words). `say` is told what is done: doing, done, total (0
    where that is not known).
    """

    spec: str
    mapping: Mapping[str, str] = field(default_factory=dict)
    split: str | None = None
    grades: str | None = None
    against: str | None = None
    near: Nearness | None = field(default_factory=Nearness)
    tokenizer: Tokenizer | None = None
    say: Said = _silent

    def report(self) -> Report:
        """All there is to say. UsageError for a spec or an option that means nothing, and DataError where
        `against` cannot be read; what is wrong with the data themselves is in the report."""
        stops = Stops()
        dataset = self._opened(stops)
        files = tuple(describe(path, stops.add, self._reading(path.name)) for path in self._paths(dataset))
        odd = [remark for file in files for remark in remarks(file)]
        shapes = tuple(self._shapes(dataset, stops, odd)) if dataset else ()
        own = list(tables(dataset, self._reading("texts"))) if dataset else []
        odd.extend(remark for table in own if (remark := table.remark()))
        repeats, overlaps = self._repeated(own, odd)
        return Report(
            self.spec,
            any(shape.ready for shape in shapes),
            _langs(dataset),
            files,
            shapes,
            self._near_misses(dataset, files, bool(stops.faults())),
            stops.faults(),
            tuple(dict.fromkeys(odd)),
            tuple(self._lengths(own)),
            repeats,
            overlaps,
            self.near.threshold if self.near else None,
        )

    def _opened(self, stops: Stops) -> Dataset | None:
        try:
            with collecting(lambda _error: None):  # the reading of the file meets the rows again
                return self._open(self.spec, self.split)
        except DataError as error:
            stops.add(error)
            return None

    def _open(self, spec: str, split: str | None) -> Dataset:
        return open_dataset(spec, mapping=self.mapping, split=split, grades=self.grades)

    def _paths(self, dataset: Dataset | None) -> list[Path]:
        """The files of the dataset; of one that cannot be opened, those that lie there."""
        if dataset:
            origins = [origin for source in dataset.parts.values() for origin in source.origins()]
            return list(dict.fromkeys(one.path for one in origins if isinstance(one, FileOrigin)))
        path = Path(self.spec).expanduser()
        if path.is_dir():
            return sorted(
                file
                for file in bounded_entries(path.rglob("*"), path)
                if file.is_file() and known_suffix(file.name)
            )
        return [] if path.name.lower().endswith((".yaml", ".yml")) else [path]

    def _reading(self, what: str) -> Callable[[int], None]:
        return lambda rows: self.say(f"reading {what}", rows, 0)

    def _shapes(self, dataset: Dataset, stops: Stops, odd: list[str]) -> Iterator[Shape]:
        for shape in dataset.shapes():
            self.say(f"loading {shape}", 0, 0)
            yield _shape(dataset, shape, stops, odd)

    def _near_misses(
        self, dataset: Dataset | None, files: tuple[File, ...], stopped: bool
    ) -> tuple[NearMiss, ...]:
        """Of a table: the parts of a folder are known by the names of its files."""
        if len(files) != 1 or not files[0].columns or (dataset and set(RETRIEVAL_PARTS) & set(dataset.parts)):
            return ()
        if dataset:
            columns = next(iter(dataset.parts.values())).columns()
        else:
            columns = tuple(column.name for column in files[0].columns)
        misses = near_misses(columns, self.mapping)
        return tuple(miss for miss in misses if miss.mend or not stopped)

    def _lengths(self, own: list[Table]) -> Iterator[Lengths]:
        for table in own:
            yield from lengths(
                table, self.tokenizer, lambda done, total: self.say("counting tokens", done, total)
            )

    def _repeated(self, own: list[Table], odd: list[str]) -> tuple[tuple[Repeats, ...], tuple[Overlap, ...]]:
        """Repeats of every table, and what it shares: with `against`, else between its splits."""
        if self.against is not None:
            return self._shared(
                own, list(tables(self._open(self.against, None), self._reading("texts"))), odd
            )
        if self.split is not None and own:
            # Texts of the other splits are what those of this one may overlap with.
            own = list(tables(self._open(self.spec, None), self._reading("texts")))
        found = [Comparison(table.texts(), self.near, self.say) for table in own]
        repeats = tuple(
            one.repeats(self.split if self.split in table.sides else None)
            for one, table in zip(found, own, strict=True)
        )
        overlaps = (overlap for one in found for overlap in one.overlaps())
        return repeats, tuple(one for one in overlaps if self.split in (None, one.of, one.within))

    def _shared(
        self, own: list[Table], others: list[Table], odd: list[str]
    ) -> tuple[tuple[Repeats, ...], tuple[Overlap, ...]]:
        repeats, overlaps = [], []
        for table in own:
            fitting = [one for one in others if set(one.columns) == set(table.columns)]
            other = next((one for one in fitting if one.name == table.name), next(iter(fitting), None))
            if other is None:
                names = ", ".join(table.columns)
                odd.append(f"{self.against}: no table with just {names}, to compare {table.name} with.")
            both = _together(table, self.spec, other, str(self.against))
            comparison = Comparison(both, self.near, self.say)
            repeats.append(comparison.repeats(self.spec))
            overlaps += [comparison.overlap(self.spec, str(self.against))] if other else []
        return tuple(repeats), tuple(overlaps)


def _shape(dataset: Dataset, shape: str, stops: Stops, odd: list[str]) -> Shape:
    """What a run would get of `shape`; what stops it goes to `stops`."""
    try:
        with collecting(lambda error: stops.add(error, shape)):
            loaded = dataset.load(shape)
    except DataError as error:
        if error.what != _CONSEQUENCE or not stops.of(shape):
            stops.add(error, shape)
        return Shape(shape, TASKS[shape], False, 0)
    odd.extend(odd_scores(loaded.data))
    return Shape(
        shape,
        TASKS[shape],
        not stops.of(shape),
        len(loaded.data),
        loaded.skipped,
        loaded.warnings,
        figures(loaded.data),
    )


def _langs(dataset: Dataset | None) -> tuple[str, ...]:
    if dataset is None or dataset.declared_lang:
        return (dataset.declared_lang,) if dataset else ()
    with collecting(lambda _error: None):
        try:
            return dataset.langs
        except DataError:
            return ()


def _together(table: Table, side: str, other: Table | None, other_side: str) -> Texts:
    """The rows of two tables, one after the other, each on a side of its own."""
    rows = [(table, side), *([(other, other_side)] if other else [])]
    return Texts(
        table.name,
        [key for one, _ in rows for key in one.ids],
        [text for one, _ in rows for text in one.rows],
        [where for one, where in rows for _ in one.rows],
        [label for one, _ in rows for label in one.labels],
    )
