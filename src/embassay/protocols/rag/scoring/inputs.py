"""Judgements, runs, pools and answers, read and named: what a scoring starts from; and rankings written for it."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Tokenizer
from embassay.data import open_dataset, sources
from embassay.data.documents import read_corpus_passages_with_origin
from embassay.data.documents.folder import format_path_as_id
from embassay.data.judged_runs import (
    AnswerTextMatcher,
    RunOrQrelsEntries,
    read_entries_in_memory,
    read_qrels_entries,
    read_run_entries,
)
from embassay.data.judged_runs.spans import (
    EvidenceSpan,
    convert_spans_to_document_qrels,
    is_span_judgement_file,
    read_evidence_spans,
    rename_passages_by_evidence,
)
from embassay.data.judged_runs.texts import Judged
from embassay.data.retrieval import advise_grade_map, grade_map
from embassay.data.rows import (
    make_cell_error,
    make_missing_column_error,
    read_number_cell,
    read_row_id,
    read_text_cell,
    read_text_list_cell,
)
from embassay.data.tables import open_table_file
from embassay.data.views import RenamedColumnsView
from embassay.errors import DataError, UsageError
from embassay.measures.judgements import GRADES, RELEVANT, Sources
from embassay.protocols.kernel import inputs as opening
from embassay.protocols.kernel.groups import Labels, group_items_sharing_things
from embassay.protocols.rag.scoring.facets import FacetFileContents, read_judged_facets
from embassay.protocols.rag.scoring.options import ScoreRequest
from embassay.runs.folder import write_file_atomically
from embassay.search.fusion import fuse_by_reciprocal_rank

if TYPE_CHECKING:
    import polars as pl

    from embassay.protocols.live.runs import LiveRetrieverRunOutcome


Ints = NDArray[np.int64]


@dataclass(frozen=True)
class SourcesOfJudgedDocuments:
    """The source of each document by its code, and the graded pool sorted by query: query, grade, source."""

    of: Ints
    query: Ints
    grade: NDArray[np.int8]
    code: Ints

    def on(self, documents: Ints) -> Sources:
        """Look up the sources of ranked `documents` (q, w); codes below 0 are no document."""
        return Sources(np.where(documents < 0, -1, self.of[documents]), self.query, self.grade, self.code)


def find_source_codes_of_documents(codes: Sequence[Ints], texts: Sequence[pl.Series], separator: str) -> Ints:
    """The source of every document code: what stands before the last `separator` in its id, the whole id without one.

    `codes` and `texts` are the columns of all files, each code with its id.
    """
    import polars as pl

    ids = pl.concat([
        pl.DataFrame({"code": code, "text": text.cast(pl.String)}).unique("code")
        for code, text in zip(codes, texts, strict=True)
    ]).unique("code")  # fmt: skip
    sources = ids["text"].str.replace(f"^(.*){_escape_for_polars_regex(separator)}.*$", "$1")
    of = np.zeros(int(ids["code"].max()) + 1, np.int64)  # type: ignore[arg-type]
    of[ids["code"].to_numpy()] = sources.cast(pl.Categorical).to_physical().to_numpy().astype(np.int64)
    return of


def sort_judgements_with_sources_by_query(
    of: Ints, query: Ints, grade: NDArray[np.int8], doc: Ints
) -> SourcesOfJudgedDocuments:
    """The judgements (columns of one length) with their sources, sorted by query."""
    order = np.argsort(query, kind="stable")
    return SourcesOfJudgedDocuments(of, query[order], grade[order], of[doc[order]])


def _escape_for_polars_regex(text: str) -> str:
    """Escape a text for a regular expression of polars, the library that reads the ids."""
    # By code point: `re.escape` escapes for Python, and the library's expressions are Rust's.
    return "".join(f"\\x{{{ord(character):x}}}" for character in text)


def parse_named_path(given: str) -> tuple[str, Path]:
    """The name and the file of a run given as `path` or `name=path`; by itself it is called as its file.

    >>> parse_named_path("runs/bm25.trec.gz"), parse_named_path("mine=runs/x.txt")
    (('bm25', PosixPath('runs/bm25.trec.gz')), ('mine', PosixPath('runs/x.txt')))
    """
    name, equals, rest = given.partition("=")
    # A file whose name has an equals sign is a file.
    if equals and name and rest and not Path(given).exists():
        return _replace_unencodable_characters(name), Path(rest).expanduser()
    path = Path(given).expanduser()
    return _replace_unencodable_characters(strip_format_endings(path.name)), path


def _replace_unencodable_characters(name: str) -> str:
    """Replace in a name what not every file can hold, as half a surrogate pair, by a question mark."""
    return name.encode("utf-8", "replace").decode()


def strip_format_endings(name: str) -> str:
    """A file name without the endings that say its format.

    >>> strip_format_endings("bm25.k1=0.9.trec"), strip_format_endings("qrels.tsv.gz"), strip_format_endings(".trec")
    ('bm25.k1=0.9', 'qrels', '.trec')
    """
    left = name
    # Two endings at most, that of a compression and that of a format.
    for _ in range(2):
        head, dot, end = left.rpartition(".")
        if head and dot and end.lower() in _ENDINGS:
            left = head
    return left


_ENDINGS_IN_WORDS = """
    gz trec run runs qrels qrel res txt tsv csv json jsonl ndjson parquet
"""
_ENDINGS = frozenset(_ENDINGS_IN_WORDS.split())


@dataclass(frozen=True)
class JudgementGrades1To5:
    """Judgements as grades: a frame with `query`, `doc` and `grade` (1 to 5), each query and document once.

    `dropped` judgements have a value that the map leaves out, `repeated` ones stand there twice alike.
    """

    frame: pl.DataFrame
    grade_map: str
    dropped: int
    repeated: int


def map_judgement_grades(qrels: RunOrQrelsEntries, grades: str | None) -> JudgementGrades1To5:
    """The judgements through the grade map `grades`, `identity` if it is None.

    DataError for a value that the map does not have (naming one that fits), for a query and document with two
    judgements that differ, and where nothing is left. Without a map, judgements that are all the lowest grade are one
    too: that is how binary qrels look on this scale.
    """
    import polars as pl

    table = grade_map(grades or "identity")
    values = qrels.frame["value"].unique().to_list()
    unknown = [value for value in values if value not in table]
    if unknown or (grades is None and values == [1.0]):
        raise _make_grade_map_error(qrels, grades, table, values, unknown)
    kept = {float(value): grade for value, grade in table.items() if grade is not None}
    frame = qrels.frame.with_row_index("row").filter(pl.col("value").is_in(list(kept)))
    if not len(frame):
        raise qrels.make_entry_error(0, "the grade map drops every judgement", mend="Choose another with --grades.")
    frame = frame.with_columns(
        pl.col("value").replace_strict(list(kept), list(kept.values()), return_dtype=pl.Int8).alias("grade")
    )
    single = frame
    if _may_have_repeated_judgements(frame):
        _check_repeated_grades_agree(qrels, frame)
        single = frame.unique(["query", "doc"], keep="first", maintain_order=True)
    return JudgementGrades1To5(
        single.select("query", "doc", "grade"), grades or "identity",
        len(qrels.frame) - len(frame), len(frame) - len(single)
    )  # fmt: skip


def group_related_queries(
    judgements: JudgementGrades1To5, queries: Sequence[str], questions: Mapping[str, str]
) -> Labels | None:
    """The group of each of the `queries`, (q,): those that share a relevant document, and those of the same words as
    far as their texts are known; None where every query is by itself."""
    import polars as pl

    relevant = judgements.frame.filter(pl.col("grade") >= RELEVANT).select(
        pl.col("query").cast(pl.String), pl.col("doc").cast(pl.String)
    )
    documents: dict[str, list[str]] = {}
    for query, doc in relevant.iter_rows():
        documents.setdefault(query, []).append(doc)
    return group_items_sharing_things(
        [documents.get(query, ()) for query in queries], [questions.get(query, "") for query in queries]
    )


def count_documents_by_grade(grade: NDArray[np.int8]) -> tuple[int, ...]:
    """How many are of grade 1, 2, 3, 4, 5."""
    return tuple(int(np.count_nonzero(grade == level)) for level in GRADES)


def _make_grade_map_error(
    qrels: RunOrQrelsEntries,
    grades: str | None,
    table: Mapping[float, int | None],
    values: Iterable[float],
    unknown: list[float],
) -> Exception:
    if not unknown:
        return qrels.make_entry_error(
            0, "every judgement is 1, the lowest of five grades", expected="grades from 1 to 5", found="only 1",
            mend="If 1 means relevant, add --grades binary; if 1 is a grade, add --grades identity."
        )  # fmt: skip
    first = int(qrels.frame["value"].is_in(unknown).arg_true()[0])
    value = qrels.frame["value"][first]
    named = f"the grade map {grades}" if grades else "the grades 1 to 5"
    return qrels.make_entry_error(
        first, f"the judgement is not in {named}", expected=", ".join(f"{value_:g}" for value_ in sorted(table)),
        found=f"{value:g}", mend=advise_grade_map(values)
    )  # fmt: skip


def _may_have_repeated_judgements(frame: pl.DataFrame) -> bool:
    """False where no query and document stand there twice; by hashes, so it may be true for others as well."""
    import polars as pl

    pair = pl.col("query").hash(1) ^ pl.col("doc").hash(2)
    return int(frame.select(pair.n_unique()).item()) < len(frame)


def _check_repeated_grades_agree(qrels: RunOrQrelsEntries, frame: pl.DataFrame) -> None:
    """DataError for the first line that judges a query and document otherwise than a line before."""
    import polars as pl

    first = pl.col("grade").first().over("query", "doc")
    differing = frame.with_columns(first.alias("before")).filter(pl.col("grade") != pl.col("before"))
    if len(differing):
        row = differing.row(0, named=True)
        before = frame.filter((pl.col("query") == row["query"]) & (pl.col("doc") == row["doc"]))["value"][0]
        raise qrels.make_entry_error(
            row["row"], f"query {row['query']!r} and document {row['doc']!r} have two different judgements",
            expected=f"{before:g}, as before", found=f"{row['value']:g}",
            mend="Keep one judgement per query and document."
        )  # fmt: skip


def read_answer_correctness_file(path: Path, mapping: Mapping[str, str]) -> dict[str, float]:
    """Query -> how right its answer is, 0 to 1, from JSONL, CSV, TSV or Parquet with `query_id` and `correct`.

    DataError with its line for a row without one of them, a value outside 0 to 1 and a query that appears twice with
    different ones. `mapping` is target column -> the file's.
    """
    source = open_table_file(path)
    names = {target: mapping.get(target, target) for target in ("query_id", "correct")}
    for target, name in names.items():
        if name not in source.columns():
            raise make_missing_column_error(source, name, target=target)
    right: dict[str, float] = {}
    for row in source.rows(tuple(names.values())):
        query = read_row_id(row, names["query_id"])
        cell = row.cells.get(names["correct"])
        value = float(cell) if isinstance(cell, bool) else read_number_cell(row, names["correct"])
        if value is None or not 0 <= value <= 1:
            raise make_cell_error(row, names["correct"], "a number from 0 to 1")
        if right.setdefault(query, value) != value:
            raise DataError(
                f"query {query!r} has two different answers", path=path, line=row.line,
                expected=f"{right[query]:g}, as before", found=f"{value:g}", mend="Keep one row per query."
            )  # fmt: skip
    return right


def list_answer_correctness_by_query(
    answers: Mapping[str, float], queries: Sequence[str], where: str
) -> NDArray[np.float64]:
    """The correctness of each query's answer, (q,), NaN for one without; DataError if none has one."""
    values = np.array([answers.get(query, np.nan) for query in queries], dtype=np.float64)
    if ((values < 0) | (values > 1)).any():
        raise DataError("an answer is not between 0 and 1", path=where, mend="Use 0 (wrong) to 1 (right).")
    if np.isnan(values).all():
        raise DataError(
            "no answer belongs to a judged query", path=where, expected=f"queries such as {queries[0]!r}",
            found=", ".join(map(repr, list(answers)[:3])), mend="Check that answers and qrels belong together."
        )  # fmt: skip
    return values


Given = str | Path | Mapping[str, Any]
"""A file, or query -> documents in memory; a polars frame too."""


@dataclass(frozen=True)
class ScoringInputs:
    """`runs` by name, in the order given; `pools` as many, None where a run's own list is its pool."""

    name: str
    qrels: RunOrQrelsEntries
    runs: Mapping[str, RunOrQrelsEntries]
    pools: tuple[RunOrQrelsEntries | None, ...]
    notes: tuple[str, ...] = ()
    judge: RunOrQrelsEntries | None = None
    """A judge's grades, which the `qrels` of people correct."""
    corpus: Collection[str] = ()
    """The ids of all passages, where the corpus is known."""
    questions: Mapping[str, str] = field(default_factory=dict)
    """The words of the questions by id, where they are known."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """The passages by id, where they are known."""
    facets: FacetFileContents | None = None
    live: Mapping[str, LiveRetrieverRunOutcome] = field(default_factory=dict)
    """By name the runs for which a retriever was asked."""


def read_scoring_inputs(request: ScoreRequest, live: Sequence[LiveRetrieverRunOutcome] = ()) -> ScoringInputs:
    """The files of a request, each read once, with the `live` runs of its retrievers. UsageError for two runs of one
    name or a mapping that no file has."""
    named = make_run_names_distinct([*map(parse_named_path, request.runs), *((run.name, run.path) for run in live)])
    qrels_path = Path(request.qrels).expanduser()
    if any(path == qrels_path for _, path in named):
        raise UsageError(
            f"{request.qrels} was given both as judgements and as a run.", mend="Use --run for the retrieved documents."
        )
    library = open_corpus_lookup(request.corpus, request.queries)
    judged = _read_judgements(qrels_path, request)
    known = _make_answer_text_matcher(library, judged, request)
    read: dict[Path, RunOrQrelsEntries] = {}
    pooled = () if _is_union_pool_requested(request.pools) else request.pools
    for path in (*(path for _, path in named), *(Path(pool).expanduser() for pool in pooled)):
        if path not in read:
            read[path] = read_run_entries(path, request.mapping, known)
    pools = [read[Path(pool).expanduser()] for pool in pooled]
    inputs = _assemble_scoring_inputs(request, judged, {name: read[path] for name, path in named}, pools, library)
    return replace(inputs, live={run.name: run for run in live})


def read_judged_questions(request: ScoreRequest) -> dict[str, str]:
    """Id -> text of the questions that have a judgement; all of them where judgements are of spans of documents.
    DataError where none has one."""
    questions = read_question_texts(request.queries)
    judged = _read_judgements(Path(request.qrels).expanduser(), request)
    if judged.entries is None:
        return questions
    ids = dict.fromkeys(judged.entries.frame["query"].to_list())
    if missing := [query for query in ids if query not in questions]:
        raise DataError(
            f"{len(missing):,} of {len(ids):,} judged questions have no text", path=request.queries,
            expected=f"the question {missing[0]!r}", found=", ".join(list(questions)[:3]),
            mend="Give a file with all judged questions to --queries."
        )  # fmt: skip
    return {query: questions[query] for query in ids}


@dataclass(frozen=True)
class _NamedJudgements:
    """What judgements are called, and their entries; of spans of documents the file."""

    name: str
    entries: RunOrQrelsEntries | None
    spans: Path | None = None


def _read_judgements(qrels: Path, request: ScoreRequest) -> _NamedJudgements:
    name = strip_format_endings(qrels.resolve().name)
    if is_span_judgement_file(qrels):
        return _NamedJudgements(name, None, qrels)
    return _NamedJudgements(name, read_qrels_entries(qrels, request.mapping, split=request.split))


def _make_answer_text_matcher(
    library: CorpusTextsAndOrigins | None, judged: _NamedJudgements, request: ScoreRequest
) -> AnswerTextMatcher:
    """Make what engines' answers are matched with: the corpus and questions, and what is judged."""

    def map_judged_values_by_query() -> Judged:
        files = [judged.entries] if judged.entries is not None else []
        if request.judge_grades is not None:
            files.append(read_qrels_entries(Path(request.judge_grades).expanduser(), request.mapping))
        values: dict[str, dict[str, float]] = {}
        for entries in reversed(files):
            for query, doc, value in entries.frame.select("query", "doc", "value").iter_rows():
                values.setdefault(query, {})[doc] = value
        return values

    if library is None:
        return AnswerTextMatcher({}, {}, map_judged_values_by_query)
    return replace(library.known, judge=map_judged_values_by_query)


def read_texts_for_hit_matching(request: ScoreRequest) -> AnswerTextMatcher:
    """Read what the answers of engines are matched with, from the files of a request."""
    library = open_corpus_lookup(request.corpus, request.queries)
    return _make_answer_text_matcher(library, _read_judgements(Path(request.qrels).expanduser(), request), request)


def list_manifest_systems_and_datasets(
    inputs: ScoringInputs, task: str, n: int, source: str = ""
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What manifests say of the runs, as systems, and of the `n` judged queries of a task, as datasets; `source` is
    where the judgements are from, if not from the file that was read."""
    systems = [
        {
            "name": name,
            "kind": "run",
            "identity": hash_run_or_qrels_entries([run]),
            "facts": {"path": run.path, **_build_live_run_record(inputs, name)},
        }
        for name, run in inputs.runs.items()
    ]
    dataset = {
        "name": inputs.name, "source": source or inputs.qrels.path, "lang": "",
        "fingerprint": hash_run_or_qrels_entries([inputs.qrels]),
        "tasks": {task: {"n": n, "skipped": [], "warnings": []}}
    }  # fmt: skip
    return systems, [dataset]


def _build_live_run_record(inputs: ScoringInputs, name: str) -> dict[str, Any]:
    return {"live": inputs.live[name].facts} if name in inputs.live else {}


def _is_union_pool_requested(pools: Sequence[Any]) -> bool:
    return list(map(str, pools)) == [UNION] and not Path(UNION).exists()


def _assemble_scoring_inputs(
    request: ScoreRequest,
    judgements: _NamedJudgements,
    runs: Mapping[str, RunOrQrelsEntries],
    pools: Sequence[RunOrQrelsEntries],
    library: CorpusTextsAndOrigins | None,
) -> ScoringInputs:
    """Runs with their judgements, by evidence where those are of spans, and with the pool that is asked for."""
    lists = [*runs.values(), *pools]
    judged = judgements.entries
    read = [*lists, *([] if judged is None else [judged])]
    notes = [f"{Path(run.path).name}: {note}." for run in _iterate_distinct_run_lists(read) for note in run.notes]
    if judgements.spans is not None:
        spans = read_evidence_spans(judgements.spans)
        held, told = _replace_passages_by_found_evidence(spans, lists, library)
        judged = convert_spans_to_document_qrels(spans, judgements.spans)
        notes += told
        runs, pools = dict(zip(runs, held, strict=False)), held[len(runs) :]
    if _is_union_pool_requested(request.pools):
        pools = [_pool_all_runs(runs)]
    if len({pool.path for pool in pools}) > 1:
        notes.append(
            "The runs have different pools, so their PROC and %PROC cannot be compared. Use --pool union "
            "to give them all one pool."
        )
    assert judged is not None  # a file that is not of spans was read
    graded = request.judge_grades
    judge = None if graded is None else read_qrels_entries(Path(graded).expanduser(), request.mapping)
    texts = {} if library is None else library.known.passages
    questions = {} if library is None else library.known.questions
    pooled = _assign_pools_to_runs(pools, len(runs))
    facets = None if request.facets is None else read_judged_facets(Path(request.facets), request.mapping)
    return ScoringInputs(
        judgements.name, judged, runs, pooled, tuple(notes), judge, texts.keys(), questions, texts, facets
    )


def _iterate_distinct_run_lists(lists: Sequence[RunOrQrelsEntries]) -> Iterator[RunOrQrelsEntries]:
    lists_seen: list[RunOrQrelsEntries] = []
    for entries in lists:
        if not any(entries is other for other in lists_seen):
            lists_seen.append(entries)
            yield entries


UNION = "union"
"""The pool of all runs together."""


def _pool_all_runs(runs: Mapping[str, RunOrQrelsEntries]) -> RunOrQrelsEntries:
    """Pool what any run retrieved, each query and document once, at its best rank."""
    import polars as pl

    rank = pl.col("value").rank("ordinal", descending=True).over("query").cast(pl.Float64)
    ranked = [run.frame.select("query", "doc", (-rank).alias("value")) for run in runs.values()]
    best = pl.concat(ranked).group_by("query", "doc", maintain_order=True).agg(pl.col("value").max())
    return RunOrQrelsEntries(UNION, "union of the runs", best)


def _replace_passages_by_found_evidence(
    spans: Sequence[EvidenceSpan], lists: Sequence[RunOrQrelsEntries], library: CorpusTextsAndOrigins | None
) -> tuple[list[RunOrQrelsEntries], list[str]]:
    """Lists by the evidence they found, and what is to be said of that. DataError where nobody knows where any passage
    of one is from."""
    documents = {span.document for span in spans}
    held, notes = [], []
    for run in lists:
        places = {
            doc: (_match_document_to_judged_name(place[0], documents), *place[1:]) for doc, place in run.places.items()
        }
        evidence = rename_passages_by_evidence(run, spans, {**({} if library is None else library.places), **places})
        if evidence.unplaced == len(run.frame):
            raise DataError(
                "the judgements are spans of documents, but the origin of the run's passages is unknown",
                path=run.path, mend="Give the corpus that they come from: --corpus DIR, or DIR?chunk=100."
            )  # fmt: skip
        held.append(evidence.run)
        matched = f"{evidence.matched:,} of {len(run.frame):,} passages contain judged evidence"
        lost = f"; the origin of {evidence.unplaced:,} is unknown" if evidence.unplaced else ""
        notes.append(f"{Path(run.path).name}: {matched}{lost}.")
    return held, list(dict.fromkeys(notes))


def _match_document_to_judged_name(document: str, names: Collection[str]) -> str:
    """A document as the judgements call it, by the most of its path: an engine says the whole path of its file, and
    says it with the blanks that an id must not hold."""
    if document in names:
        return document
    plain = document.replace("\\", "/")
    paths = [f"/{plain}", f"/{format_path_as_id(plain)}"]
    ending = (name for name in names if any(path.endswith(f"/{name}") for path in paths))
    return max(ending, key=len, default=document)


@dataclass(frozen=True)
class CorpusTextsAndOrigins:
    """A corpus and its questions: what texts are matched with, and where passages are from."""

    known: AnswerTextMatcher
    places: Mapping[str, tuple[str, int, int]]


def open_corpus_lookup(corpus: str, queries: str) -> CorpusTextsAndOrigins | None:
    """The passages of a corpus (a folder of documents, a table or a dataset) and the questions of a table, whatever of
    both is named; None for neither. UsageError and DataError as openings raise them."""
    if not corpus and not queries:
        return None
    texts, places = {}, {}
    for p in (
        read_corpus_passages_with_origin(open_dataset(sources.prefer_path_over_catalogue(corpus))) if corpus else ()
    ):
        texts[p.id] = p.body
        places[p.id] = (p.document or p.id, p.start, p.start + len(p.body))
    return CorpusTextsAndOrigins(AnswerTextMatcher(texts, read_question_texts(queries) if queries else {}), places)


def read_question_tags(name: str) -> dict[str, tuple[str, ...]]:
    """Id -> tags of the questions in a table with `tags` (a list, or a text with commas). DataError where none has."""
    source = RenamedColumnsView(open_table_file(Path(name).expanduser()))
    for column in ("id", "tags"):
        if column not in source.columns():
            raise make_missing_column_error(source, column)
    tagged = {}
    for row in source.rows(("id", "tags")):
        value = row.cells.get("tags")
        parts = value.split(",") if isinstance(value, str) else [tag for tag in read_text_list_cell(row, "tags") if tag]
        if tags := tuple(dict.fromkeys(part.strip() for part in parts if part.strip())):
            tagged[read_row_id(row, "id")] = tags
    if not tagged:
        raise DataError("no question has a tag", path=name, mend="Omit --by-tag, or add tags.")
    return tagged


def read_question_texts(name: str) -> dict[str, str]:
    """Read the id and text of the questions in a table."""
    source = RenamedColumnsView(open_table_file(Path(name).expanduser()))
    for column in ("id", "text"):
        if column not in source.columns():
            raise make_missing_column_error(source, column)
    return {
        read_row_id(row, "id"): text for row in source.rows(("id", "text")) if (text := read_text_cell(row, "text"))
    }


def make_scoring_inputs(
    qrels: Any, runs: Mapping[str, Any], pools: Sequence[Any], request: ScoreRequest
) -> ScoringInputs:
    """The same from objects: each a path, query -> documents, or a polars frame."""
    if not runs:
        raise UsageError("There is no run to score.", mend="Give a mapping of names to runs.")
    library = open_corpus_lookup(request.corpus, request.queries)
    judged = (
        _read_judgements(Path(qrels).expanduser(), request)
        if isinstance(qrels, str | Path)
        else _NamedJudgements("qrels", read_entries_in_memory(qrels, "qrels", "qrels"))
    )
    known = _make_answer_text_matcher(library, judged, request)
    read = {
        _replace_unencodable_characters(name): _read_run_from_path_or_memory(run, name, request.mapping, known)
        for name, run in runs.items()
    }
    pooled = (
        []
        if _is_union_pool_requested(pools)
        else [_read_run_from_path_or_memory(pool, "pool", request.mapping, known) for pool in pools]
    )
    return _assemble_scoring_inputs(request, judged, read, pooled, library)


def hash_run_or_qrels_entries(entries: Iterable[RunOrQrelsEntries]) -> str:
    """Hash with SHA-256 the entries that were read, in order, whatever the files are called."""
    import polars as pl

    total = hashlib.sha256()
    for entry in entries:
        # A separator that hardly any id has, so that "a", "bc" and "ab", "c" differ.
        hashes = entry.frame.select(pl.concat_str("query", "doc", "value", separator="\x1f")).to_series()
        total.update("\n".join(hashes.to_list()).encode())
    return total.hexdigest()


def drop_own_documents_from_inputs(inputs: ScoringInputs) -> tuple[ScoringInputs, dict[str, int]]:
    """The inputs without entries of a query's own document, and how many each run had of them. DataError where no
    judgement is left."""
    import polars as pl

    def drop_own_entries(entries: RunOrQrelsEntries) -> RunOrQrelsEntries:
        left = entries.frame.with_row_index("row").filter(
            pl.col("query").cast(pl.String) != pl.col("doc").cast(pl.String)
        )
        places = left["row"].to_list()
        return replace(
            entries, frame=left.drop("row"), line_of=lambda row: entries.line_of(places[row] if places else row)
        )

    qrels, runs = (drop_own_entries(inputs.qrels), {name: drop_own_entries(run) for name, run in inputs.runs.items()})
    if not len(qrels.frame):
        raise inputs.qrels.make_entry_error(
            0, "every judgement is about a query's own document", mend="Omit --exclude-self."
        )
    pools = tuple(None if pool is None else drop_own_entries(pool) for pool in inputs.pools)
    gone = {name: len(inputs.runs[name].frame) - len(run.frame) for name, run in runs.items()}
    return replace(inputs, qrels=qrels, runs=runs, pools=pools), gone


def count_queries_ranking_own_document_first(inputs: ScoringInputs, grades: pl.DataFrame) -> dict[str, tuple[int, int]]:
    """Of every run in how many of its queries the first document has the query's own id and is not among those that
    `grades` has as relevant; and how many queries it answers. Runs without such a query are left out."""
    import polars as pl

    relevant = grades.filter(pl.col("grade") > 1).select("query", "doc")
    selves = {}
    for name, run in inputs.runs.items():
        best = run.frame.filter(pl.col("value") == pl.col("value").max().over("query"))
        own = best.filter(pl.col("query").cast(pl.String) == pl.col("doc").cast(pl.String))
        first = own.join(relevant, on=("query", "doc"), how="anti")["query"].n_unique()
        if first:
            selves[name] = first, run.frame["query"].n_unique()
    return selves


def _read_run_from_path_or_memory(
    run: Any, name: str, mapping: Mapping[str, str], known: AnswerTextMatcher
) -> RunOrQrelsEntries:
    if isinstance(run, str | Path):
        return read_run_entries(Path(run).expanduser(), mapping, known)
    return read_entries_in_memory(run, "run", name)


def _assign_pools_to_runs(pools: Sequence[RunOrQrelsEntries], runs: int) -> tuple[RunOrQrelsEntries | None, ...]:
    if len(pools) not in (0, 1, runs):
        raise UsageError(
            f"There are {len(pools)} pools for {runs} runs.",
            mend="Give one pool for all runs, or one per run, in the same order.",
        )
    return tuple(pools) if len(pools) == runs else (pools[0] if pools else None,) * runs


def make_run_names_distinct(named: Sequence[tuple[str, Path]]) -> list[tuple[str, Path]]:
    """The runs under names of their own: those of one file name get their folder's before it. UsageError where that
    tells none apart."""
    names = [name for name, _ in named]
    apart = [(name if names.count(name) == 1 else f"{path.resolve().parent.name}/{name}", path) for name, path in named]
    names = [name for name, _ in apart]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"Two runs are called {twice!r}.", mend="Rename one: --run first=a.trec --run second=b.trec")
    return apart


Retrieved = Mapping[str, Sequence[tuple[str, float]]]
"""Query id -> (passage id, score), best first."""


def retrieve_passages(
    system: str, passages: Mapping[str, str], questions: Mapping[str, str], k: int, *, tokenizer: Tokenizer
) -> Retrieved:
    """The `k` passages (id -> text) that a system finds most similar to each question (id -> text)."""
    opened = opening.SystemWithCachedVectors(
        system, tokenizer=tokenizer, seed=0, cache=None, advance=lambda _: None, compared="own"
    ).system
    ids = list(passages)
    ranked = opened.search(list(questions.values()), list(passages.values()), min(k, len(ids)))
    return {
        question: [(ids[place], score) for place, score in zip(places, scores, strict=True) if place >= 0]
        for question, places, scores in zip(questions, ranked.indices.tolist(), ranked.scores.tolist(), strict=True)
    }


def fuse_runs(runs: Sequence[Retrieved], k: int, c: float = 60.0) -> Retrieved:
    """Fuse rankings into one by reciprocal rank fusion, the first `k` of each query."""
    return {
        query: [
            (hit.id, hit.score)
            for hit in fuse_by_reciprocal_rank([[key for key, _ in run[query]] for run in runs], c)[:k]
        ]
        for query in runs[0]
    }


def write_trec(path: Path, name: str, run: Retrieved) -> Path:
    """The ranking as a TREC run file. UsageError for ids with white space, which the format cannot hold.

    Equal scores are told apart, in the order of the ranking, by the least that single precision can hold: readers go
    by scores in that precision, not by ranks.
    """
    rows = []
    for query, hits in run.items():
        last = np.float32(np.inf)
        for rank, (key, score) in enumerate(hits, start=1):
            # The score itself where it is lower than the one before.
            last = min(np.float32(score), np.nextafter(last, np.float32(-np.inf)))
            if query.split() != [query] or key.split() != [key]:
                raise UsageError(
                    f"A TREC run cannot contain the ids {query!r} and {key!r}.", mend="Use ids without spaces."
                )
            rows.append(f"{query} Q0 {key} {rank} {last} {name}\n")
    write_file_atomically(path, "".join(rows))
    return path
