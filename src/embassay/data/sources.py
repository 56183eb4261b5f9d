"""From a name or a path to a dataset: one table, or a folder in BEIR's layout."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import Any

from embassay.data.catalogue import DATASETS
from embassay.data.catalogue.entries import find_table_in_folder
from embassay.data.dataset import Dataset
from embassay.data.flat import SplitRenamedToTestView
from embassay.data.lines import split_reading_from_mapping
from embassay.data.retrieval import GainTable, RerankingRowsFromTables
from embassay.data.rows import RowSource, SourceRow, find_nearest_name, make_missing_column_error, read_row_id
from embassay.data.shapes import (
    PARTS,
    RETRIEVAL_PARTS,
    check_mapping_targets,
    find_missing_columns,
    list_possible_shapes,
    match_pair_columns_by_usual_names,
)
from embassay.data.tables import (
    FORMATS,
    JsonLinesTable,
    find_known_suffix,
    open_table_file,
    open_table_ignoring_unused_options,
)
from embassay.data.views import (
    BinarizedLabelView,
    ChainedSourcesView,
    ConstantCellsView,
    FilteredRowsView,
    JoinedColumnsView,
    PrefixedKeysView,
    RenamedColumnsView,
    SelectedColumnsView,
    SourceView,
    ThresholdLabelView,
    TitlePrependedView,
)
from embassay.errors import DataError, UsageError
from embassay.limits import advise_on_denied_reading, find_path_blocking_access, list_bounded_folder_entries
from embassay.records import SkippedItems


def sample() -> Dataset:
    """48 short documents with two summaries each, questions graded per passage, labelled short texts, scored pairs."""
    return open_sample_dataset(Path(str(files("embassay.data"))) / "sample")


def open_sample_dataset(folder: Path) -> Dataset:
    """The dataset in `folder`: documents, summaries, questions, labelled texts and pairs as JSON Lines.

    Retrieval is over passages, the paragraphs of the documents, with the id `document#number`; the gain of a
    passage is its grade - 1, and 0 if the question does not grade it. The candidates of a question are the
    preferred summaries of the documents on its subject and of those it grades; relevant are those of documents with
    a passage of grade 4 or 5. Pairs of a score of 3 (roughly equivalent) and
    more have the label 1. The preferred summary of a document is the reference for the other, whose relevance
    is its rating of coverage: how much of what matters it keeps.
    """
    texts, summaries, questions, labelled, pairs = (
        JsonLinesTable(folder / f"{name}.jsonl")
        for name in ("documents", "summaries", "questions", "labelled", "pairs")
    )
    document = RenamedColumnsView(texts, {"doc_id": "id", "document": "text"})
    rated = RenamedColumnsView(
        JoinedColumnsView(summaries, document, "doc_id", ("document",)), {"text": "document", "summary": "text"}
    )
    preferred, rest = (FilteredRowsView(rated, {"preferred": frozenset({value})}) for value in ("true", "false"))
    reference = RenamedColumnsView(SelectedColumnsView(preferred, ("doc_id", "summary")), {"references": "summary"})
    second = RenamedColumnsView(pairs, {"text": "text2", "paraphrases": "paraphrases2"})
    passages, grades = SampleParagraphs(texts), SamplePassageGrades(questions)
    judged = SampleDocumentGrades(questions)
    short = RenamedColumnsView(
        SelectedColumnsView(preferred, ("doc_id", "summary", "lang")), {"id": "doc_id", "text": "summary"}
    )
    parts: dict[str, RowSource] = {
        "documents": texts,
        "summarised": RenamedColumnsView(preferred, {"id": "doc_id"}),
        "comparisons": SummaryPairChoiceView(rated),
        "ratings": rated,
        "labelled": labelled,
        "classification": labelled,
        "pairs": pairs,
        "labelled_pairs": ThresholdLabelView(pairs, "score", 3),
        "reranking": ThresholdLabelView(
            RerankingRowsFromTables(short, questions, judged, CandidateDocumentsPerQuestion(judged, texts)), "label", 4
        ),
        "corpus": passages,
        "queries": questions,
        "qrels": grades,
        "summaries": RenamedColumnsView(
            JoinedColumnsView(rest, reference, "doc_id", ("references",)), {"relevance": "coverage"}
        ),
        "paraphrases": ChainedSourcesView((pairs, second, labelled, questions, summaries)),
    }
    return Dataset("sample", parts, gains=GainTable.make_gain_table_from_grade_map("identity"))


# The names of these views, too, are in the key of a corpus that is kept on disk.
class SummaryPairChoiceView(SourceView):
    """The two summaries of each document, in the order of the file, and which of them is preferred."""

    def columns(self) -> tuple[str, ...]:
        """The columns of a comparison."""
        return ("id", "text", "summary_1", "summary_2", "choice", "lang")

    def rows(self, columns: Sequence[str]) -> Iterator[SourceRow]:
        """One row per document."""
        # Two summaries of a document are a row, however far apart they stand.
        waiting: dict[str, SourceRow] = {}
        for second in self.source.rows(("doc_id", "text", "summary", "preferred", "lang")):
            document = read_row_id(second, "doc_id")
            first = waiting.pop(document, None)
            if first is None:
                waiting[document] = second
                continue
            cells = {
                "id": document,
                "text": first.cells["text"],
                "summary_1": first.cells["summary"],
                "summary_2": second.cells["summary"],
                "choice": int(second.cells["preferred"]),
                "lang": first.cells["lang"],
            }
            yield SourceRow(first.path, first.line, {column: cells.get(column) for column in columns})


class SampleParagraphs(SourceView):
    """The paragraphs of each document."""

    def columns(self) -> tuple[str, ...]:
        """The columns of a corpus."""
        return ("id", "text", "lang")

    def rows(self, columns: Sequence[str]) -> Iterator[SourceRow]:
        """One row per paragraph."""
        for path, line, cells in self.source.rows(("id", "text", "lang")):
            for number, paragraph in enumerate(cells["text"].split("\n\n"), 1):
                passage = {**cells, "id": f"{cells['id']}#{number}", "text": paragraph}
                yield SourceRow(path, line, {column: passage.get(column) for column in columns})


class SamplePassageGrades(SourceView):
    """The graded passages of each question."""

    def columns(self) -> tuple[str, ...]:
        """The columns of qrels."""
        return ("query_id", "doc_id", "relevance")

    def rows(self, columns: Sequence[str]) -> Iterator[SourceRow]:
        """One row per question and graded passage."""
        for path, line, cells in self.source.rows(("id", "grades")):
            for passage, grade in cells["grades"].items():
                judgement = {"query_id": cells["id"], "doc_id": passage, "relevance": grade}
                yield SourceRow(path, line, {column: judgement.get(column) for column in columns})


class SampleDocumentGrades(SamplePassageGrades):
    """The graded documents of each question: a document has the grade of its best passage."""

    def rows(self, columns: Sequence[str]) -> Iterator[SourceRow]:
        """One row per question and document."""
        for path, line, cells in self.source.rows(("id", "grades")):
            best: dict[str, int] = {}
            for passage, grade in cells["grades"].items():
                document = passage.partition("#")[0]
                best[document] = max(grade, best.get(document, 0))
            for document, grade in best.items():
                judgement = {"query_id": cells["id"], "doc_id": document, "relevance": grade}
                yield SourceRow(path, line, {column: judgement.get(column) for column in columns})


@dataclass(frozen=True)
class CandidateDocumentsPerQuestion(SourceView):
    """The documents to choose from for each question: all on its subject, and any other that it grades."""

    documents: RowSource

    def columns(self) -> tuple[str, ...]:
        """The columns of candidates by document."""
        return ("query_id", "doc_id")

    def rows(self, columns: Sequence[str]) -> Iterator[SourceRow]:
        """One row per question and document."""
        documents = [str(row.cells["id"]) for row in self.documents.rows(("id",))]
        graded: dict[str, list[SourceRow]] = {}
        for row in self.source.rows(("query_id", "doc_id")):
            graded.setdefault(str(row.cells["query_id"]), []).append(row)
        for question, rows in graded.items():
            # Ids of the sample begin with their subject: `food-01`, `food-q1`.
            subject = question.partition("-")[0]
            shown = [document for document in documents if document.partition("-")[0] == subject]
            for document in dict.fromkeys((*shown, *(str(row.cells["doc_id"]) for row in rows))):
                cells = {"query_id": question, "doc_id": document}
                yield SourceRow(rows[0].path, rows[0].line, {column: cells[column] for column in columns})


def split_table_by_shape(raw: RowSource, mapping: Mapping[str, str], split: str | None) -> dict[str, RowSource]:
    """Shape -> the rows of `raw` under the mapped names, those of `split` where one is named.

    A classification keeps its rows to train on. What the mapping has as `same` is the label of pairs that are alike.
    DataError for a table that no shape can be made of.
    """
    source: RowSource = RenamedColumnsView(raw, {name: column for name, column in mapping.items() if name != "same"})
    if "same" in mapping:
        source = BinarizedLabelView(source, mapping["same"])
    if "title" in mapping:
        source = TitlePrependedView(source)
    columns = source.columns()
    shapes = list_possible_shapes(columns)
    if "text" not in columns and all(find_missing_columns(shape, columns) for shape in shapes):
        raise make_missing_column_error(source, "text")
    if split is None:
        return dict.fromkeys(shapes, source)
    parts: dict[str, RowSource] = dict.fromkeys(shapes, FilteredRowsView(source, {"split": frozenset({split})}))
    if "classification" in parts and not find_missing_columns("classification", columns):
        parts["classification"] = SplitRenamedToTestView(source, split)
    return parts


SIDES = ("train", "test")


def is_folder_of_dataset_tables(folder: Path, split: str | None = None) -> bool:
    """Whether the names in `folder` say that it is in BEIR's layout, or holds both sides of a classification."""
    sides = all(find_table_in_folder(folder, side) for side in ("train", split or "test"))
    return sides or (folder / "qrels").exists() or any(find_table_in_folder(folder, part) for part in RETRIEVAL_PARTS)


def has_document_files(folder: Path) -> bool:
    """Whether a file in `folder`, or below, is of a kind of document."""
    from embassay.data.documents.folder import has_any_document

    return has_any_document(folder)


def assemble_dataset_parts(tables: Iterable[tuple[Sequence[str], RowSource]]) -> dict[str, RowSource]:
    """Part -> its source. Two sides make a classification; with `top_ranked`, what would be a retrieval set is
    one of candidates to rerank."""
    # One table may have several roles: a test side is a labelled set as well.
    by_role = {role: source for roles, source in tables for role in roles}
    parts = {role: source for role, source in by_role.items() if role not in PARTS}
    if all(side in by_role for side in SIDES):
        sides = (ConstantCellsView(PrefixedKeysView(by_role[side], side), {"split": side}) for side in SIDES)
        parts["classification"] = ChainedSourcesView(tuple(sides))
    tables_of_set = {role: by_role[role] for role in RETRIEVAL_PARTS if role in by_role}
    if "top_ranked" in by_role and len(tables_of_set) == len(RETRIEVAL_PARTS):
        parts["reranking"] = RerankingRowsFromTables(**tables_of_set, top_ranked=by_role["top_ranked"])
        return parts
    return parts | tables_of_set


_TABLES = (".jsonl", ".jsonl.gz")
_QRELS = (".tsv", ".tsv.gz", ".jsonl", ".jsonl.gz")


def open_retrieval_folder(folder: Path, mapping: Mapping[str, str], split: str | None, grades: str | None) -> Dataset:
    """The retrieval set in `folder`, whose corpus also serves as documents, or its classification.

    It holds `corpus.jsonl` (or a folder `corpus` of documents), `queries.jsonl` (each also .gz) and
    `qrels/<split>.tsv` or `qrels.tsv` or `qrels.jsonl`. The split is `test` or the only one there is, unless one is
    named; in a single qrels file a named split selects the rows whose `split` is that. With `top_ranked.jsonl` it is a
    set to rerank. A folder without a corpus may hold two tables, `train` and the split (`test` unless one is named).
    DataError for a folder without these files.
    """
    reading, columns = split_reading_from_mapping(mapping)
    sides = [find_table_in_folder(folder, side) for side in ("train", split or "test")]
    if all(sides) and not find_table_in_folder(folder, "corpus"):
        return _open_classification_sides(folder, [path for path in sides if path], mapping, grades)
    paths = {
        part: _find_file_with_any_suffix(folder, part, _TABLES) for part in _list_retrieval_parts_in_tables(folder)
    }
    paths["qrels"], by_column = _find_qrels_file_and_split_kind(folder, split)
    raw = {part: open_table_ignoring_unused_options(path, reading) for part, path in paths.items()}
    skipped: tuple[SkippedItems, ...] = ()
    if "corpus" not in raw:
        from embassay.data.documents.passages import FolderPassageSource

        documents = FolderPassageSource((folder / "corpus").resolve())
        raw["corpus"], skipped = documents, documents.folder_contents.skipped
    for target, column in columns.items():
        if column and not any(column in source.columns() for source in raw.values()):
            raise make_missing_column_error(
                raw["qrels" if target in RETRIEVAL_PARTS["qrels"] else "corpus"], column, target=target
            )
    if ranked := find_table_in_folder(folder, "top_ranked"):
        raw["top_ranked"] = open_table_ignoring_unused_options(ranked, reading)
    tables = {part: _rename_part_columns(part, source, columns) for part, source in raw.items()}
    if split is not None and by_column:
        tables["qrels"] = FilteredRowsView(tables["qrels"], {"split": frozenset({split})})
    parts = assemble_dataset_parts(([part], source) for part, source in tables.items())
    parts["documents"] = tables["corpus"]
    return Dataset(
        folder.resolve().name,
        parts,
        gains=GainTable() if grades is None else GainTable.make_gain_table_from_grade_map(grades),
        settings={"mapping": dict(mapping), "split": split, "grades": grades},
        skipped=skipped,
    )


def _list_retrieval_parts_in_tables(folder: Path) -> tuple[str, ...]:
    """Find the parts that are tables; a folder `corpus` holds documents."""
    is_folder = (folder / "corpus").is_dir() and find_table_in_folder(folder, "corpus") is None
    return ("queries",) if is_folder else ("corpus", "queries")


def _open_classification_sides(
    folder: Path, paths: list[Path], mapping: Mapping[str, str], grades: str | None
) -> Dataset:
    if grades is not None:
        raise UsageError(f"{folder} has no judgements, so --grades cannot be used.", mend="Leave --grades out.")
    reading, columns = split_reading_from_mapping(mapping)
    tables = [
        (
            ["train"] if side == 0 else ["test", "labelled"],
            _rename_part_columns("test", open_table_file(path, reading), columns),
        )
        for side, path in enumerate(paths)
    ]
    settings = {"mapping": dict(mapping), "split": paths[1].name}
    return Dataset(folder.resolve().name, assemble_dataset_parts(tables), settings=settings)


def _rename_part_columns(part: str, raw: RowSource, mapping: Mapping[str, str]) -> RowSource:
    # One mapping is for all tables of the folder: each takes of it what it has.
    present = {target: column for target, column in mapping.items() if not column or column in raw.columns()}
    renamed = RenamedColumnsView(raw, present)
    # After renaming, so that the error offers the mapping that is lacking.
    if missing := find_missing_columns(part, renamed.columns()):
        raise make_missing_column_error(renamed, missing[0])
    return TitlePrependedView(renamed) if part == "corpus" and "title" in renamed.columns() else renamed


def _find_qrels_file_and_split_kind(folder: Path, split: str | None) -> tuple[Path, bool]:
    """Find the qrels file, and whether a split is a column of it rather than its name."""
    if not (folder / "qrels").is_dir():
        return _find_file_with_any_suffix(folder, "qrels", _QRELS), True
    files = {
        _file_stem(path): path
        for path in sorted(list_bounded_folder_entries((folder / "qrels").iterdir(), folder))
        if path.name.endswith(_QRELS)
    }
    # Of several never train by itself: systems may have been trained on it.
    chosen = split or ("test" if "test" in files else next(iter(files)) if len(files) == 1 else "")
    if chosen not in files:
        near = find_nearest_name(chosen, files)
        raise DataError(
            f"there are no qrels for the split {chosen!r}" if chosen else "there are several splits, none called test",
            path=folder / "qrels",
            found=", ".join(files) or "no qrels file",
            mend=f"Choose a split with --split {near or next(iter(files), 'NAME')}.",
        )
    return files[chosen], False


def _find_file_with_any_suffix(folder: Path, stem: str, suffixes: tuple[str, ...]) -> Path:
    for suffix in suffixes:
        if (path := folder / (stem + suffix)).is_file():
            return path
    names = sorted(path.name for path in list_bounded_folder_entries(folder.iterdir(), folder))
    raise DataError(
        f"the folder has no {stem} file",
        path=folder,
        expected="corpus.jsonl, queries.jsonl and qrels/<split>.tsv, qrels.tsv or qrels.jsonl, plain or .gz",
        found=", ".join(names[:8]) + (", ..." if len(names) > 8 else "") if names else "nothing",
        mend="Pass a folder in BEIR's layout, or one of its files.",
    )


def _file_stem(path: Path) -> str:
    return path.name.removesuffix(find_known_suffix(path.name))


_DESCRIPTIONS = (".yaml", ".yml")
_COMPARED = 1000
"""Names of a folder that a wrong one is compared with."""
_NOTHING: Mapping[str, str] = {}


def open_dataset(
    spec: str | Path, *, mapping: Mapping[str, str] = _NOTHING, split: str | None = None, grades: str | None = None
) -> Dataset:
    """The dataset that `spec` names: a catalogue name, or a path to a table, a BEIR folder or a description.

    `?tasks=sts,clustering` at its end chooses what a protocol takes it for; otherwise a record of the catalogue
    says so, and of your own data the columns.

    `mapping` is target column -> source column; a mapped column wins over one called like its target, and `id` mapped
    to nothing has rows numbered. `quoting`, `header` and `delimiter` in it say how a table of lines and marks is read.
    `split` keeps the rows whose column `split` is that (in a BEIR folder, the qrels of that name). `grades`
    is a grade map (spec rag 1.1); without it the relevance in the file is the gain.

    A registered name is that dataset even if a file is called the same (write `./name` for the file). Raises
    UsageError for a spec that is neither, a mapping of unknown columns and options the dataset does not take,
    DataError for files that are not what they should be. Cells are checked when a shape is loaded.
    """
    check_mapping_targets(mapping)
    source, tasks = split_tasks_from_spec(str(spec))
    opened = _open_dataset_spec(source, mapping, split, grades)
    return replace(opened, tasks={"": tasks}) if tasks else opened


BUNDLED = "sample"
"""The dataset that commands take where none is named; a path of the name is written ./sample."""


def prefer_path_over_catalogue(spec: str, place: Path | None = None) -> str:
    """What a user names: where it is a path that holds data and a name of the catalogue or a suite as well, `./spec`,
    with a warning; else as it is. `place` is where the path leads from a folder other than this.

    A suite's members and a manifest's datasets are no user's words, and mean the catalogue.
    """
    from embassay.data.catalogue.suites import read_all_suites

    name = spec.partition("?")[0]
    if name == BUNDLED or not (name.partition(":")[0] in DATASETS or name in read_all_suites()):
        return spec
    if not _has_data_at_path(place or Path(name)):
        return spec
    kind = "suite" if name in read_all_suites() else "dataset"
    warnings.warn(
        f"{name!r} is read from your own {place or './' + name}. To use the catalogue's {kind} of that name, "
        "run in another folder, or rename yours.", RuntimeWarning, stacklevel=2
    )  # fmt: skip
    return f"./{spec}"


def _has_data_at_path(path: Path) -> bool:
    """Whether a path is a file, or a folder of tables or documents; one of runs is none."""
    if path.is_file():
        return True
    if not path.is_dir() or any(path.glob("manifest.json")) or any(path.glob("*/manifest.json")):
        return False
    return is_folder_of_dataset_tables(path) or has_document_files(path)


def split_tasks_from_spec(spec: str) -> tuple[str, tuple[str, ...]]:
    """A spec without its `?tasks=`, and the tasks that stand there; none where it has no such part.

    >>> split_tasks_from_spec("pairs.csv?tasks=sts,clustering"), split_tasks_from_spec("sts17?lang=en-en&tasks=sts")
    (('pairs.csv', ('sts', 'clustering')), ('sts17?lang=en-en', ('sts',)))
    """
    head, mark, tail = spec.rpartition("?")
    # A file's name may have a ? in it.
    if not mark or Path(spec).expanduser().exists():
        return spec, ()
    if tail.startswith("task="):
        raise UsageError(f"{spec!r} uses task= instead of tasks=.", mend=f"Write {head}?tasks={tail[5:]}.")
    if "tasks=" not in tail:
        return spec, ()
    parts = tail.split("&")
    names = [name.strip() for part in parts if part.startswith("tasks=") for name in part[6:].split(",")]
    if not all(names):
        raise UsageError(f"Cannot read the tasks of {spec!r}.", mend=f"Write {head}?tasks=sts,clustering.")
    rest = "&".join(part for part in parts if not part.startswith("tasks="))
    return f"{head}?{rest}" if rest else head, tuple(dict.fromkeys(names))


def _open_dataset_spec(spec: str, mapping: Mapping[str, str], split: str | None, grades: str | None) -> Dataset:
    # First, so that a file that somebody puts there does not change what a name means.
    if spec.partition("?")[0].partition(":")[0] in DATASETS:
        return _open_catalogue_dataset(spec, {"mapping": mapping, "split": split, "grades": grades})
    path = Path(spec).expanduser()
    if (blocked := find_path_blocking_access(path)) is not None:
        raise DataError("you have no permission to read this", path=blocked, mend=advise_on_denied_reading(blocked))
    if not path.exists():
        if documents := _open_chunked_documents(spec, mapping, split, grades):
            return documents
        raise _make_unknown_dataset_error(spec, path)
    if path.is_dir():
        return _open_data_folder(path, mapping, split, grades)
    if path.name.lower().endswith(_DESCRIPTIONS):
        from embassay.data.description import open_described_dataset

        if mapping:
            raise UsageError(f"{spec} maps its own columns, so --map cannot be used.", mend="Edit its `map`.")
        return open_described_dataset(path, split, grades)
    return _open_table_dataset(path, mapping, split, grades)


def _open_data_folder(path: Path, mapping: Mapping[str, str], split: str | None, grades: str | None) -> Dataset:
    """Open a folder of tables that say what they are, else one of documents."""
    if not is_folder_of_dataset_tables(path, split) and has_document_files(path):
        return _open_documents(path, "", mapping, split, grades)
    return open_retrieval_folder(path, mapping, split, grades)


def _open_chunked_documents(
    spec: str, mapping: Mapping[str, str], split: str | None, grades: str | None
) -> Dataset | None:
    """The documents of `DIR?chunk=200&overlap=20`; None where there is no such folder."""
    head, mark, query = spec.rpartition("?")
    folder = Path(head).expanduser()
    return _open_documents(folder, query, mapping, split, grades) if mark and folder.is_dir() else None


def _open_documents(
    folder: Path, query: str, mapping: Mapping[str, str], split: str | None, grades: str | None
) -> Dataset:
    from embassay.data.documents.passages import USUAL, open_document_folder, parse_chunking_options

    for flag, value in (("--map", mapping), ("--split", split), ("--grades", grades)):
        if value:
            raise UsageError(
                f"{folder} is read as a folder of documents, so {flag} cannot be used.",
                mend=f"Leave {flag} out, or pass a table in the folder.",
            )
    return open_document_folder(folder, parse_chunking_options(query, f"{folder}?{query}") if query else USUAL)


def parse_mapping(text: str) -> dict[str, str]:
    """The mapping written as `--map target=source,target=source`; UsageError if it is not.

    >>> parse_mapping("text=body,label=topic")
    {'text': 'body', 'label': 'topic'}
    """
    mapping: dict[str, str] = {}
    for part in text.split(","):
        target, _, column = (piece.strip() for piece in part.partition("="))
        nothing = not column and not (target == "id" and "=" in part)  # `id=` numbers the rows
        if not target or nothing or target in mapping:
            raise UsageError(
                f"Cannot read {part!r} in --map {text}.",
                mend="Write each target once: --map text=body,label=topic. If there are no ids, write id=.",
            )
        mapping[target] = column
    return mapping


def _open_table_dataset(path: Path, mapping: Mapping[str, str], split: str | None, grades: str | None) -> Dataset:
    if grades is not None:
        raise UsageError(f"{path} has no judgements, so --grades cannot be used.", mend="Leave --grades out.")
    reading, columns = split_reading_from_mapping(mapping)
    source = open_table_file(path, reading)
    name = path.name[: len(path.name) - len(find_known_suffix(path.name))]
    usual = match_pair_columns_by_usual_names(source.columns(), columns)
    settings = {"mapping": {**mapping, **usual}, "split": split}
    return Dataset(name, split_table_by_shape(source, {**columns, **usual}, split), settings=settings)


def _open_catalogue_dataset(spec: str, options: Mapping[str, Any]) -> Dataset:
    name = DATASETS.parse_spec(spec).name
    # The builder's own arguments say which options it takes; a list beside them would fall behind.
    taken = inspect.signature(DATASETS.get(name).load()).parameters
    for option, value in options.items():
        if value and option not in taken:
            flag = {"mapping": "--map"}.get(option, f"--{option}")
            raise UsageError(f"The dataset {name!r} does not accept {flag}.", mend=f"Leave {flag} out.")
    return DATASETS.build(spec, **options)


def _make_unknown_dataset_error(spec: str, path: Path) -> UsageError:
    from embassay.data.catalogue.suites import read_all_suites

    if spec in read_all_suites():
        return UsageError(
            f"{spec!r} is a suite of {len(read_all_suites()[spec].members)} datasets, but one dataset is needed here.",
            mend=f"Run `embassay data show {spec}` to list them.",
        )
    if "://" in spec:
        hub = "hub:" + "/".join(spec.partition("datasets/")[2].split("/")[:2])
        on_hub = spec.startswith(("hf://datasets/", "https://huggingface.co/datasets/"))
        return UsageError(
            f"{spec!r} is a URL, but Embassay does not download data from URLs.",
            mend=f"Read it from the Hugging Face hub: -d {hub}" if on_hub else f"Download it first: curl -LO {spec}",
        )
    names = [*(entry.name for entry in DATASETS), *read_all_suites()]
    several = spec.replace(",", " ").split()
    if len(several) > 1 and all(name in names or Path(name).expanduser().exists() for name in several):
        return UsageError(
            f"{spec!r} contains {len(several)} datasets.",
            mend=f"Give each dataset its own -d: {' '.join(f'-d {name}' for name in several)}",
        )
    folder = path.parent
    files = (
        # A folder of a million files must not make a slip of the pen slow.
        [str(folder / entry.name) for entry in islice(folder.iterdir(), _COMPARED)] if folder.is_dir() else []
    )
    near = [*get_close_matches(spec, names, n=2, cutoff=0.5), *get_close_matches(str(path), files, n=2, cutoff=0.7)]
    hint = f"Did you mean {' or '.join(near)}? " if near else ""
    return UsageError(
        f"The catalogue has no dataset called {spec!r}, and there is no file or folder {str(path)!r}.",
        mend=f"{hint}Run `embassay data list` to see the catalogue, or pass a folder in BEIR's layout, "
        f"a description (.yaml) or a table ({', '.join(FORMATS)}).",
    )
