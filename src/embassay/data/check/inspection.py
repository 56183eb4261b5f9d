"""The check itself: what is read in which order, and what becomes of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from shlex import quote
from types import MappingProxyType

from embassay.contracts import Tokenizer
from embassay.data.check.figures import (
    NearDuplicateRule,
    RepeatedTextSearch,
    Said,
    TableTexts,
    TableTextsWithLabels,
    list_notes_on_odd_scores,
    read_text_tables,
    summarise_column_text_lengths,
    summarize_data_values,
)
from embassay.data.check.files import (
    CheckedFileProfile,
    ColumnProfile,
    DataCheckReport,
    DataFaultCollector,
    DatasetShapeCheck,
    DocumentFolderCounts,
    RepeatedRowCounts,
    ShapeReachableByMapping,
    SplitTextOverlap,
    TextLengthSummary,
    list_file_oddities,
    profile_data_file,
    suggest_delimited_read_options,
)
from embassay.data.dataset import Dataset
from embassay.data.documents.passages import FolderPassageSource
from embassay.data.language import can_identify_language, detect_language
from embassay.data.lines import MARKS, DelimitedReadOptions, split_reading_from_mapping
from embassay.data.rows import RowSourceFileOrigin, find_nearest_name, skip_and_collect_faulty_rows
from embassay.data.shapes import (
    CALLED,
    RETRIEVAL_PARTS,
    SHAPES,
    find_missing_columns,
    find_missing_columns_by_layout,
    list_possible_shapes,
    match_pair_columns_by_usual_names,
)
from embassay.data.sources import open_dataset, prefer_path_over_catalogue, split_tasks_from_spec
from embassay.data.tables import find_known_suffix, open_table_ignoring_unused_options
from embassay.data.views import TitlePrependedView
from embassay.errors import DataError, UsageError
from embassay.limits import walk_bounded_folder

TASKS: Mapping[str, tuple[str, ...]] = {
    "documents": ("sage sensitivity",),
    "summarised": ("sage robustness",),
    "comparisons": ("sage preference",),
    "ratings": ("sage preference",),
    "labelled": ("sage clustering", "pteb clustering", "hume clustering"),
    "classification": ("pteb classification", "hume classification"),
    "pairs": ("pteb sts", "hume sts"),
    "labelled_pairs": ("pteb pair_classification",),
    "reranking": ("pteb reranking", "hume reranking"),
    "retrieval": ("sage retrieval", "pteb retrieval", "hume reranking"),
    "summaries": ("pteb summarization",),
    "paraphrases": ("pteb, in place of LLM paraphrases",),
}
"""Shape -> the tasks of the protocols that it serves."""

_NEVER = ("id", "lang", "set")
_MOSTLY, _FEW_WORDS = 0.9, 3


PREFERRED = (
    "reranking", "comparisons", "summaries", "pairs", "labelled_pairs", "classification", "labelled", "summarised",
    "ratings", "paraphrases", "documents"
)  # fmt: skip
"""The shapes, that first which says most of a table."""
Facts = Mapping[str, ColumnProfile]
"""What is known of columns, by name."""


def find_near_miss_shapes(
    columns: Sequence[str], mapping: Mapping[str, str], facts: Facts = MappingProxyType({})
) -> tuple[ShapeReachableByMapping, ...]:
    """Find the shapes the table would have if other columns of it were read as those missing.

    `columns` are what can be asked for, `mapping` is the `--map` so far. A column that serves the shape
    already, or is mapped, is not offered for another. Names decide, with `facts` also what the columns hold. Where the
    table has no shape, and no column could give one, the shapes that lack least, without a mend.

    >>> [(miss.shape, miss.mend) for miss in find_near_miss_shapes(["body", "topic"], {})]
    [('documents', '--map text=body'), ('labelled', '--map text=body,label=topic')]
    """
    missing = {shape: find_missing_columns(shape, columns) for shape in list_possible_shapes(columns)}
    mended = tuple(
        ShapeReachableByMapping(shape, TASKS[shape], tuple(offer), f"--map {format_map_options({**mapping, **offer})}")
        for shape, offer in guess_missing_columns(columns, mapping, facts).items()
    )
    if mended or not all(missing.values()):
        return mended
    least = min(map(len, missing.values()))
    return tuple(
        ShapeReachableByMapping(shape, TASKS[shape], names, "")
        for shape, names in missing.items()
        if len(names) == least
    )


def guess_missing_columns(
    columns: Sequence[str], mapping: Mapping[str, str], facts: Facts = MappingProxyType({})
) -> dict[str, dict[str, str]]:
    """Guess the missing columns of each shape: shape -> canonical name -> the table's own."""
    free = [name for name in columns if name not in mapping.values()]
    if len(free) == 1 and set(free[0]) & set(MARKS.values()):
        return {}  # several names, between marks that were not seen
    if facts and all(name.isdecimal() for name in facts):
        shape, likely = _guess_shape_and_columns_by_content([facts[name] for name in free if name in facts])
        return {shape: likely} if likely else {}
    offers = {}
    for shape in list_possible_shapes(columns):
        ways = find_missing_columns_by_layout(shape, columns)
        matches = (_match_missing_columns_by_name(shape, missing, free, facts) for missing in ways if all(ways))
        if offer := next(filter(None, matches), {}):
            offers[shape] = offer
    return offers


def format_map_options(mapping: Mapping[str, str]) -> str:
    """Format a mapping as `--map` takes it."""
    return ",".join(f"{target}={column}" for target, column in mapping.items())


def _match_missing_columns_by_name(
    shape: str, missing: Sequence[str], columns: Sequence[str], facts: Facts
) -> dict[str, str]:
    """Missing column -> the column that may hold it; empty if one has none, or what they hold speaks against it."""
    matched: dict[str, str] = {}
    for target in missing:
        needed = () if target == "text" and "summary" not in SHAPES[shape] else ("summary",)
        taken = {*(CALLED.keys() - {"summary"}), *needed, *_NEVER, *matched.values()}
        lower = {name.lower(): name for name in columns if name not in taken}
        called = [lower[name] for name in CALLED.get(target, ()) if name in lower]
        near = lower.get(find_nearest_name(target, lower), "")
        column = (
            _prefer_column_with_longer_texts(called, facts) if target == "text" else next(iter(called), "")
        ) or near
        if target == "label" and column in facts and not _is_repetitive_column(facts[column]):
            column = next(
                (name for name in lower.values() if name in facts and _is_repetitive_column(facts[name])), column
            )
        if not column:
            return {}
        matched[target] = column
    return matched if _is_plausible_shape(shape, matched, columns, facts) else {}


def _is_repetitive_column(column: ColumnProfile) -> bool:
    """Whether a column holds a few short values again and again, as labels do."""
    filled = sum(column.kinds.values()) - column.kinds.get("empty", 0)
    few = column.distinct is not None and 1 < column.distinct <= filled / 2
    return few and column.words <= _FEW_WORDS


def _prefer_column_with_longer_texts(called: Sequence[str], facts: Facts) -> str:
    """Pick the first of these columns, unless another holds texts that are twice as long or longer."""
    if not called:
        return ""
    if any(name not in facts for name in called):
        return called[0]
    most = max(called, key=lambda name: facts[name].words)
    return most if facts[most].words >= 2 * facts[called[0]].words else called[0]


def _is_plausible_shape(shape: str, matched: Mapping[str, str], columns: Sequence[str], facts: Facts) -> bool:
    """Whether what the columns hold fits: a summary is shorter than its text, and where one column asks and another
    answers, a label is about both. No column may be of objects: columns are read from the top of a row."""
    if any(
        _compute_share_of_value_kind(facts[column], "object") > _MOSTLY
        for column in matched.values()
        if column in facts
    ):
        return False
    if shape in ("summarised", "ratings") and {matched.get("text", "text"), "summary"} <= facts.keys():
        text, summary = facts[matched.get("text", "text")], facts[matched.get("summary", "summary")]
        return text.words > summary.words
    if shape in ("labelled", "classification"):
        lower = {name.lower() for name in columns}
        asks = lower & {"query", *CALLED["query"]}
        answers = (lower & {"text", *CALLED["text"], *CALLED["text2"]}) - asks - {"title", "summary"}
        return not (asks and answers)
    return True


def _guess_shape_and_columns_by_content(columns: Sequence[ColumnProfile]) -> tuple[str, dict[str, str]]:
    """The shape that columns without names seem to have, by what they hold, and which is what; nothing without a
    column of texts."""
    rows = max((sum(column.kinds.values()) for column in columns), default=0)
    numbers = [
        column for column in columns if _compute_share_of_value_kind(column, "number") > _MOSTLY and not column.binary
    ]
    binary = [column for column in columns if column.binary]
    words = [column for column in columns if _compute_share_of_value_kind(column, "text") > _MOSTLY]
    texts = [word for word in words if word.words > _FEW_WORDS] or sorted(words, key=lambda column: -column.words)[:1]
    labels = [word for word in words if word not in texts and word.distinct is not None and word.distinct <= rows / 2]
    fractions = [number for number in numbers if "." in number.example] or [
        number for number in numbers if number.distinct is not None
    ]
    if len(texts) > 1:
        first, second = texts[:2]
        pair = {"text": first.name, "text2": second.name}
        # A query comes again with each of its candidates.
        if binary and first.distinct is not None and 2 * first.distinct <= rows:
            return "reranking", {"query": first.name, "text": second.name, "label": binary[0].name}
        if fractions:
            # A score has fewer values than a number that counts or identifies.
            return "pairs", {**pair, "score": min(fractions, key=lambda column: column.distinct or rows).name}
        if binary:
            return "labelled_pairs", {**pair, "label": binary[0].name}
    if texts and (
        classes := labels or binary or [number for number in numbers if (number.distinct or rows) <= rows / 2]
    ):
        return "labelled", {
            "text": texts[0].name,
            "label": min(classes, key=lambda column: column.distinct or rows).name,
        }
    return "documents", {"text": texts[0].name} if texts else {}


def _compute_share_of_value_kind(column: ColumnProfile, kind: str) -> float:
    filled = sum(column.kinds.values()) - column.kinds.get("empty", 0)
    return column.kinds.get(kind, 0) / filled if filled else 0.0


_CONSEQUENCE = "no row can be used"


def _ignore_progress(doing: str, done: int, total: int) -> None:
    """Listens to progress and says nothing."""


@dataclass
class DataCheckRequest:
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
    near: NearDuplicateRule | None = field(default_factory=NearDuplicateRule)
    tokenizer: Tokenizer | None = None
    say: Said = _ignore_progress

    def report(self) -> DataCheckReport:
        """All there is to say. UsageError for a spec or an option that means nothing, and DataError where
        `against` cannot be read; what is wrong with the data themselves is in the report."""
        stops = DataFaultCollector()
        dataset = self._open_dataset_or_none(stops)
        folder = find_document_folder(dataset)
        paths, (reading, _) = (
            [] if folder else self._list_dataset_files(dataset),
            split_reading_from_mapping(self.mapping),
        )
        files = tuple(
            profile_data_file(path, stops.add, self._make_reading_notice(path.name), reading) for path in paths
        )
        odd = [remark for file in files for remark in list_file_oddities(file)]
        better, notes = self._suggest_options_to_read_files(files)
        odd += notes
        usual = [self._match_usual_columns([column.name for column in file.columns]) for file in files]
        odd += [f"read as {format_map_options(mapping)} (no --map needed)" for mapping in usual if mapping]
        shapes = tuple(self._check_dataset_shapes(dataset, stops, odd)) if dataset else ()
        held = list(read_text_tables(dataset, self._make_reading_notice("texts"))) if dataset else []
        odd.extend(remark for table in held if (remark := table.describe_unchecked_table_part()))
        repeats, overlaps = self._find_repeats_and_overlaps(held, odd)
        usable = any(shape.ready for shape in shapes)
        guessed = self._guess_possible_column_mapping(dataset, files, better)
        return DataCheckReport(
            self.spec,
            usable,
            _list_dataset_languages(dataset),
            files,
            shapes,
            self._list_nearly_matching_data_shapes(guessed, bool(stops.list_faults())),
            stops.list_faults(),
            tuple(dict.fromkeys(odd)),
            tuple(self._iterate_text_length_summaries(held)),
            repeats,
            overlaps,
            self.near.threshold if self.near else None,
            f"embassay rag questions --corpus {quote(self.spec)}"
            if folder
            else self._suggest_check_command(guessed, better, stops, usable=usable)
            or self._suggest_run_command(shapes, stops),
            self._summarize_document_folder(folder) if folder else None,
        )

    def _summarize_document_folder(self, folder: FolderPassageSource) -> DocumentFolderCounts:
        """Summarize what a folder of documents holds, and the languages they seem to be in."""
        files, languages, looked_at = folder.folder_contents, Counter[str](), 0
        can_tell = can_identify_language()
        for document in islice(folder.read_documents(), LOOKED_AT if can_tell else 0):
            looked_at += 1
            languages[detect_language(document.text)] += 1
            self.say("telling languages", looked_at, min(len(files.ids), LOOKED_AT))
        return DocumentFolderCounts(
            files.documents, files.characters, folder.chunking.limit, folder.chunking.overlap, files.skipped,
            files.encodings, files.suffixes, files.langs, dict(languages.most_common()) if can_tell else None,
            looked_at, files.notes
        )  # fmt: skip

    def _suggest_options_to_read_files(
        self, files: tuple[CheckedFileProfile, ...]
    ) -> tuple[DelimitedReadOptions, list[str]]:
        """How the only file, or both sides of a folder, are better read, and what is to be said of that."""
        asked, _ = split_reading_from_mapping(self.mapping)
        better = [suggest_delimited_read_options(Path(file.path), asked) for file in files]
        notes = list(dict.fromkeys(line for path in files for line in _list_reading_notes(Path(path.path), asked)))
        if not better or len({reading for reading, _ in better}) > 1:
            return asked, notes
        return better[0][0], [*notes, *(line for _, lines in better for line in lines)]

    def _guess_possible_column_mapping(
        self, dataset: Dataset | None, files: tuple[CheckedFileProfile, ...], better: DelimitedReadOptions
    ) -> _PossibleColumnMapping | None:
        """What the columns of the file could be, as it is better read; None for what is none or several: of a
        folder only both sides of a classification are tables of their own."""
        retrieval = dataset and set(RETRIEVAL_PARTS) & set(dataset.parts)
        shared = {tuple(column.name for column in file.columns) for file in files}
        if not files or retrieval or len(shared) > 1:
            return None
        if len(files) > 1 and not any(Path(file.path).name.startswith("train.") for file in files):
            return None
        reading, columns = split_reading_from_mapping(self.mapping)
        first = files[0]
        if better != reading:
            first = profile_data_file(Path(first.path), lambda _error: None, lambda _rows: None, better)
            columns = {} if better.header != reading.header else columns
        if not first.columns:
            return None
        names = tuple(column.name for column in first.columns)
        columns = {**columns, **self._match_usual_columns(names)}
        mapped = {target: column for target, column in columns.items() if not column or column in names}
        named = tuple(name for name in dict.fromkeys((*mapped, *names)) if mapped.get(name, name))
        return _PossibleColumnMapping(
            (*named, "split") if len(files) > 1 else named, {**better.make_map_option_dict(), **mapped},
            {column.name: column for column in first.columns}, len(files) > 1
        )  # fmt: skip

    def _match_usual_columns(self, columns: Sequence[str]) -> dict[str, str]:
        """Match the columns of a table of pairs with what they are taken for without being told."""
        return match_pair_columns_by_usual_names(columns, split_reading_from_mapping(self.mapping)[1])

    def _suggest_check_command(
        self,
        guessed: _PossibleColumnMapping | None,
        better: DelimitedReadOptions,
        stops: DataFaultCollector,
        *,
        usable: bool,
    ) -> str:
        """Suggest the check to try next; empty where this one reads all that is there."""
        if guessed is None:
            return ""
        mapping = dict(guessed.mapping)
        if any(fault.what.startswith("id ") and "twice" in fault.what for fault in stops.list_faults()):
            mapping["id"] = ""
        if not usable or better != split_reading_from_mapping(self.mapping)[0]:
            offers = {
                shape: columns for shape, columns in guessed.guess_columns_by_shape().items() if shape in PREFERRED
            }
            best = next((offers[shape] for shape in PREFERRED if shape in offers), {})
            has = any(
                not find_missing_columns(shape, guessed.columns) for shape in list_possible_shapes(guessed.columns)
            )
            mapping |= best if best and (not has or guessed.only_sides) else {}
        mapped = {**self.mapping, **self._match_usual_columns(tuple(guessed.facts))}
        if mapping == mapped or any(set(",=") & set(column) for column in mapping.values()):
            return ""
        return f"embassay data check {quote(self.spec)} --map {quote(format_map_options(mapping))}"

    def _suggest_run_command(self, shapes: Sequence[DatasetShapeCheck], stops: DataFaultCollector) -> str:
        """Suggest the run to try on data that need nothing else; empty where something would stop it."""
        served = {task for shape in shapes if shape.ready for task in shape.tasks}
        rest = f"-s wordllama -s bm25 -d {quote(self.spec)}"
        if self.mapping:
            rest += f" --map {quote(format_map_options(self.mapping))}"
        if stops.list_faults():
            return ""
        if any(task.startswith("sage ") for task in served):
            return f"embassay sage run {rest}"
        return f"embassay pteb run {rest} --original-only" if any(" " in task for task in served) else ""

    def _open_dataset_or_none(self, stops: DataFaultCollector) -> Dataset | None:
        try:
            with skip_and_collect_faulty_rows(lambda _error: None):  # the reading of the file meets the rows again
                return self._open_dataset(self.spec, self.split)
        except DataError as error:
            stops.add(error)
            return None

    def _open_dataset(self, spec: str, split: str | None) -> Dataset:
        return open_dataset(prefer_path_over_catalogue(spec), mapping=self.mapping, split=split, grades=self.grades)

    def _list_dataset_files(self, dataset: Dataset | None) -> list[Path]:
        """List the files of the dataset; of one that cannot be opened, those that lie there."""
        if dataset:
            origins = [origin for source in dataset.parts.values() for origin in source.list_origins()]
            return list(dict.fromkeys(origin.path for origin in origins if isinstance(origin, RowSourceFileOrigin)))
        path = Path(split_tasks_from_spec(self.spec)[0]).expanduser()
        if path.is_dir():
            return sorted(
                file
                for parent, _folders, names in walk_bounded_folder(path)
                for name in names
                if find_known_suffix(name)
                and (file := Path(parent, name)).is_file()
                and not _is_readme_or_licence_file(file)
            )
        return [] if path.name.lower().endswith((".yaml", ".yml")) else [path]

    def _make_reading_notice(self, what: str) -> Callable[[int], None]:
        return lambda rows: self.say(f"reading {what}", rows, 0)

    def _check_dataset_shapes(
        self, dataset: Dataset, stops: DataFaultCollector, odd: list[str]
    ) -> Iterator[DatasetShapeCheck]:
        for shape in dataset.shapes():
            self.say(f"loading {shape}", 0, 0)
            ready = _check_dataset_shape(dataset, shape, stops, odd)
            # How files are read is said once, with what else there is to know of them.
            yield replace(ready, warnings=tuple(warning for warning in ready.warnings if warning not in odd))

    def _list_nearly_matching_data_shapes(
        self, guessed: _PossibleColumnMapping | None, stopped: bool
    ) -> tuple[ShapeReachableByMapping, ...]:
        """List a table's near-miss shapes: the parts of a folder are known by the names of its files."""
        if guessed is None:
            return ()
        misses = find_near_miss_shapes(guessed.columns, guessed.mapping, guessed.facts)
        return tuple(
            miss
            for miss in misses
            if (miss.mend or not stopped) and (not guessed.only_sides or miss.shape == "classification")
        )

    def _iterate_text_length_summaries(self, held: list[TableTexts]) -> Iterator[TextLengthSummary]:
        for table in held:
            yield from summarise_column_text_lengths(
                table, self.tokenizer, lambda done, total: self.say("counting tokens", done, total)
            )

    def _find_repeats_and_overlaps(
        self, held: list[TableTexts], odd: list[str]
    ) -> tuple[tuple[RepeatedRowCounts, ...], tuple[SplitTextOverlap, ...]]:
        """Find the repeats of every table, and its overlaps: with `against`, else between its splits."""
        if self.against is not None:
            return self._find_repeats_and_split_overlaps(
                held,
                list(read_text_tables(self._open_dataset(self.against, None), self._make_reading_notice("texts"))),
                odd,
            )
        if self.split is not None and held:
            # Texts of the other splits are what those of this one may overlap with.
            held = list(read_text_tables(self._open_dataset(self.spec, None), self._make_reading_notice("texts")))
        compared = [RepeatedTextSearch(table.texts(), self.near, self.say) for table in held]
        repeats = tuple(
            comparison.find_repeated_rows(self.split if self.split in table.sides else None)
            for comparison, table in zip(compared, held, strict=True)
        )
        overlaps = (overlap for comparison in compared for overlap in comparison.measure_split_text_overlaps())
        return repeats, tuple(overlap for overlap in overlaps if self.split in (None, overlap.of, overlap.within))

    def _find_repeats_and_split_overlaps(
        self, held: list[TableTexts], theirs: list[TableTexts], odd: list[str]
    ) -> tuple[tuple[RepeatedRowCounts, ...], tuple[SplitTextOverlap, ...]]:
        repeats, overlaps = [], []
        for table in held:
            fitting = [two for two in theirs if set(two.columns) == set(table.columns)]
            twin = next((two for two in fitting if two.name == table.name), next(iter(fitting), None))
            if twin is None:
                names = ", ".join(table.columns)
                odd.append(f"{self.against}: no table to compare with {table.name} (columns {names}).")
            joined = _join_rows_of_two_tables(table, self.spec, twin, str(self.against))
            comparison = RepeatedTextSearch(joined, self.near, self.say)
            repeats.append(comparison.find_repeated_rows(self.spec))
            overlaps += [comparison.overlap(self.spec, str(self.against))] if twin else []
        return tuple(repeats), tuple(overlaps)


LOOKED_AT = 2_000
"""Documents whose language is looked for."""


def find_document_folder(dataset: Dataset | None) -> FolderPassageSource | None:
    """Find the folder of documents that a dataset is; None where it is none."""
    part = dataset.parts.get("corpus") if dataset else None
    inside = part.source if isinstance(part, TitlePrependedView) else part
    return inside if isinstance(inside, FolderPassageSource) else None


@dataclass(frozen=True)
class _PossibleColumnMapping:
    """The columns of a table as it could be read: those that can be asked for, the `--map` for that, and what they
    hold. `only_sides`: it is one side of a classification."""

    columns: tuple[str, ...]
    mapping: dict[str, str]
    facts: Facts
    only_sides: bool

    def guess_columns_by_shape(self) -> dict[str, dict[str, str]]:
        """Guess what other columns could be, by shape."""
        offers = guess_missing_columns(self.columns, self.mapping, self.facts)
        return {name: own for name, own in offers.items() if not self.only_sides or name == "classification"}


def _list_reading_notes(path: Path, reading: DelimitedReadOptions) -> tuple[str, ...]:
    """List what a run says of how the file is read."""
    try:
        return tuple(
            note
            for origin in open_table_ignoring_unused_options(path, reading).list_origins()
            for note in getattr(origin, "notes", ())
        )
    except (DataError, UsageError):
        return ()


def _check_dataset_shape(dataset: Dataset, shape: str, stops: DataFaultCollector, odd: list[str]) -> DatasetShapeCheck:
    """Check what a run would get of `shape`; what stops it goes to `stops`."""
    try:
        with skip_and_collect_faulty_rows(lambda error: stops.add(error, shape)):
            loaded = dataset.load(shape)
    except DataError as error:
        if error.what != _CONSEQUENCE or not stops.of(shape):
            stops.add(error, shape)
        return DatasetShapeCheck(shape, TASKS[shape], False, 0)
    odd.extend(list_notes_on_odd_scores(loaded.data))
    return DatasetShapeCheck(
        shape,
        TASKS[shape],
        not stops.of(shape),
        len(loaded.data),
        loaded.skipped,
        loaded.warnings,
        summarize_data_values(loaded.data),
    )


def _is_readme_or_licence_file(path: Path) -> bool:
    """Whether a text file is about the others."""
    return path.name.lower().startswith(("readme", "licen", "notes."))


def _list_dataset_languages(dataset: Dataset | None) -> tuple[str, ...]:
    if dataset is None or dataset.declared_lang:
        return (dataset.declared_lang,) if dataset else ()
    with skip_and_collect_faulty_rows(lambda _error: None):
        try:
            return dataset.langs
        except DataError:
            return ()


def _join_rows_of_two_tables(
    table: TableTexts, side: str, other: TableTexts | None, other_side: str
) -> TableTextsWithLabels:
    """Join the rows of two tables, one after the other, each on a side of its own."""
    # Near repeats within one table and between two are found in one pass, over both.
    rows = [(table, side), *([(other, other_side)] if other else [])]
    return TableTextsWithLabels(
        table.name,
        [key for table, _ in rows for key in table.ids],
        [text for table, _ in rows for text in table.rows],
        [where for table, where in rows for _ in table.rows],
        [label for table, _ in rows for label in table.labels],
    )
