"""Runs placed on judgements: which grade stands at which rank, and how much RA-nWG hangs on its constants.

Ranking is trec_eval's: highest score first, compared in single precision, equal scores by document id, highest (last
in the alphabet) first. Of a document that a query has twice the better ranked line counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, starmap
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embassay.data.judged_runs import RunOrQrelsEntries, sort_run_entries_by_score
from embassay.measures import evaluate_graded, sensitivity_grid
from embassay.measures.judgements import ABSENT, GRADES, UNJUDGED, FacetsOfQueryDocuments, Graded, treat_unjudged
from embassay.measures.sets import SystemRankingUnderWeightSetting
from embassay.protocols.rag.scoring.identity import make_no_judged_query_error
from embassay.protocols.rag.scoring.inputs import (
    JudgementGrades1To5,
    ScoringInputs,
    SourcesOfJudgedDocuments,
    find_source_codes_of_documents,
    sort_judgements_with_sources_by_query,
)
from embassay.protocols.rag.scoring.score import MeasuredRun, RaNwgSensitivityCell, RunQueryMeasureColumns

if TYPE_CHECKING:
    import polars as pl


Ints = NDArray[np.int64]
NOBODY = -1
"""In `documents`: a place beyond the end of the list."""


@dataclass(frozen=True)
class GradedHits:
    """Graded documents that a run found, columns of one length: query, rank (from 1), grade and document by code."""

    query: Ints
    rank: Ints
    grade: NDArray[np.int8]
    document: Ints


@dataclass(frozen=True)
class RunOnJudgedQueries:
    """One run on the judged queries. `documents` (q, w) are codes of what stands at each rank; `sizes` (q,) how many
    documents each query has. The rest is counted for `RunReadingStatistics`."""

    name: str
    graded: Graded
    documents: Ints
    sizes: Ints
    hits: GradedHits
    lines: int
    unknown: int
    repeated: int
    tied: int


@dataclass(frozen=True)
class RunsOnJudgedQueries:
    """The judged queries, in the order of the qrels, and every run on them."""

    queries: tuple[str, ...]
    counts: Ints
    runs: tuple[RunOnJudgedQueries, ...]


@dataclass(frozen=True)
class _CodedRun:
    """Queries and documents of a file as codes, with the scores or grades."""

    query: Ints
    doc: Ints
    frame: pl.DataFrame


def align_runs_with_judged_queries(
    inputs: ScoringInputs, judgements: JudgementGrades1To5, separator: str | None = None
) -> RunsOnJudgedQueries:
    """Place every run of `inputs` on the judged queries; DataError for a run or pool without any.

    With a `separator` the runs know which documents are of one source: see `source_codes`.
    """
    import polars as pl

    pools = [pool for pool in inputs.pools if pool is not None]
    distinct = {id(entries): entries for entries in (*inputs.runs.values(), *pools)}
    frames = [judgements.frame, *(entries.frame for entries in distinct.values())]
    files = len(frames)
    if inputs.facets is not None:
        frames.append(inputs.facets.facet_frame)
    query_codes, doc_codes = (
        _number_equal_texts_across_columns([frame[name] for frame in frames]) for name in ("query", "doc")
    )
    coded = list(starmap(_CodedRun, zip(query_codes, doc_codes, frames, strict=True)))
    # Judged queries get the numbers 0, 1, 2 ... in their order of appearance, the others none.
    judged = judgements.frame["query"].unique(maintain_order=True)
    first = pl.Series(coded[0].query).unique(maintain_order=True).to_numpy()
    numbers = np.full(max(int(codes.query.max()) for codes in coded) + 1, -1)
    numbers[first] = np.arange(len(first))
    key = _GradeLookup(numbers[coded[0].query], coded[0].doc, judgements.frame["grade"].to_numpy(), len(judged))
    by_file = dict(zip(distinct, coded[1:files], strict=True))
    placed = {
        id_: _align_run_with_judged_queries(entries, by_file[id_], numbers, key, judged)
        for id_, entries in distinct.items()
    }
    runs = [
        _attach_pool_to_run(replace(placed[id(run)], name=name), None if pool is None else placed[id(pool)])
        for (name, run), pool in zip(inputs.runs.items(), inputs.pools, strict=True)
    ]
    if inputs.facets is not None:
        runs = [_attach_document_facets_to_run(run, numbers, coded[files]) for run in runs]
    if separator is not None:
        of = find_source_codes_of_documents([file.doc for file in coded], [frame["doc"] for frame in frames], separator)
        grades = judgements.frame["grade"].to_numpy()
        sources = sort_judgements_with_sources_by_query(of, numbers[coded[0].query], grades, coded[0].doc)
        runs = [_attach_document_sources(run, sources) for run in runs]
    return RunsOnJudgedQueries(tuple(judged.to_list()), key.counts, tuple(runs))


class _GradeLookup:
    """A lookup of judgements, sorted so that the grade of a query's document is found at once."""

    def __init__(self, query: Ints, doc: Ints, grade: NDArray[np.int8], queries: int) -> None:
        keys = _pack_query_and_document_codes(query, doc)
        order = np.argsort(keys)
        self._keys, self._grades = keys[order], grade[order]
        self.queries = queries
        # Query and grade as one number.
        cells = query * len(GRADES) + grade - 1
        self.counts = np.bincount(cells, minlength=queries * len(GRADES)).reshape(queries, len(GRADES))

    def grades(self, query: Ints, doc: Ints) -> NDArray[np.int8]:
        """Look up the grade of each query and document, `UNJUDGED` where there is none."""
        keys = _pack_query_and_document_codes(query, doc)
        # What lies beyond the last key is compared with that, and differs.
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[at] == keys, self._grades[at], np.int8(UNJUDGED))


def _align_run_with_judged_queries(
    entries: RunOrQrelsEntries, codes: _CodedRun, numbers: Ints, judged: _GradeLookup, queries: pl.Series
) -> RunOnJudgedQueries:
    query = numbers[codes.query]
    is_judged = query >= 0
    if not is_judged.any():
        raise make_no_judged_query_error(entries, queries.to_list())
    ranked, tied = _rank_run_entries(query[is_judged], codes.doc[is_judged], codes.frame.filter(is_judged))
    query_of, doc = ranked
    single = _find_first_document_copies(query_of, doc)
    repeated = len(query_of) - len(single)
    query_of, doc = query_of[single], doc[single]
    # Rows stand query by query, so a rank is the row less the first row of its query.
    sizes = np.bincount(query_of, minlength=judged.queries)
    rank = np.arange(len(query_of)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    grade = judged.grades(query_of, doc)
    shape = (judged.queries, int(sizes.max()))
    top, documents = np.full(shape, np.int8(ABSENT)), np.full(shape, NOBODY)
    top[query_of, rank], documents[query_of, rank] = grade, doc
    graded = grade != UNJUDGED
    return RunOnJudgedQueries(
        "",
        Graded(judged.counts, top, names=tuple(queries.to_list())),
        documents,
        sizes,
        GradedHits(query_of[graded], rank[graded] + 1, grade[graded], doc[graded]),
        len(entries.frame),
        len(np.unique(codes.query[~is_judged])),
        repeated,
        tied,
    )


def _rank_run_entries(query: Ints, doc: Ints, frame: pl.DataFrame) -> tuple[tuple[Ints, Ints], int]:
    """Queries and documents, best first within each query; and how many documents share a score with another."""
    import polars as pl

    coded = frame.select("doc", "value").with_columns(query=pl.Series(query), code=pl.Series(doc))
    ordered = sort_run_entries_by_score(coded)
    query, doc, score = (ordered[name].to_numpy() for name in ("query", "code", "score"))
    same = (query[1:] == query[:-1]) & (score[1:] == score[:-1])
    tied = int(np.count_nonzero(np.append(same, False) | np.append(False, same)))
    return (query, doc), tied


def _find_first_document_copies(query: Ints, doc: Ints) -> Ints:
    """Where each query's document stands first."""
    import polars as pl

    keys = _pack_query_and_document_codes(query, doc)
    if pl.Series(keys).n_unique() == len(keys):
        return np.arange(len(keys))
    # In the order of the file again.
    return np.sort(np.unique(keys, return_index=True)[1])


def _attach_pool_to_run(run: RunOnJudgedQueries, pool: RunOnJudgedQueries | None) -> RunOnJudgedQueries:
    if pool is None:
        return run
    return replace(
        run, graded=replace(run.graded, pool=count_pool_grades(pool.hits, run.graded), pool_sizes=pool.sizes)
    )


def _attach_document_sources(run: RunOnJudgedQueries, sources: SourcesOfJudgedDocuments) -> RunOnJudgedQueries:
    return replace(run, graded=replace(run.graded, sources=sources.on(run.documents)))


def _attach_document_facets_to_run(run: RunOnJudgedQueries, numbers: Ints, facets: _CodedRun) -> RunOnJudgedQueries:
    """Attach to a run the facets of its documents, and of all others; a document is its code."""
    query = numbers[facets.query]
    order = np.argsort(query, kind="stable")
    [facet] = _number_equal_texts_across_columns([facets.frame["facet"]])
    top = np.where(run.documents == NOBODY, ABSENT, run.documents)
    table = FacetsOfQueryDocuments(top, query[order], facets.doc[order], facet[order])
    return replace(run, graded=replace(run.graded, facets=table))


def count_pool_grades(hits: GradedHits, graded: Graded) -> Ints:
    """Count how many documents of grade 1, 2, 3, 4, 5 the hits of each query are: (q, 5)."""
    cells = hits.query * len(GRADES) + hits.grade - 1
    return np.bincount(cells, minlength=graded.counts.size).reshape(graded.counts.shape)


def _number_equal_texts_across_columns(columns: Sequence[pl.Series]) -> list[Ints]:
    """Texts of several columns as numbers, equal for equal texts."""
    import polars as pl

    together = pl.concat([column.rename("text") for column in columns]).cast(pl.Categorical)
    codes = together.to_physical().to_numpy().astype(np.int64)
    return np.split(codes, np.cumsum([len(column) for column in columns])[:-1])


def _pack_query_and_document_codes(query: Ints, doc: Ints) -> NDArray[np.uint64]:
    return query.astype(np.uint64) << np.uint64(32) | doc.astype(np.uint64)


def compute_ra_nwg_sensitivity(
    board: RunsOnJudgedQueries, cutoffs: Iterable[int], unjudged: str
) -> tuple[RaNwgSensitivityCell, ...]:
    """24 cells for each cutoff: the value of every run, their order, its tau against the default's, and the change."""
    return tuple(chain.from_iterable(_compute_ra_nwg_sensitivity_at_cutoff(board, k, unjudged) for k in cutoffs))


def _compute_ra_nwg_sensitivity_at_cutoff(
    board: RunsOnJudgedQueries, k: int, unjudged: str
) -> Iterable[RaNwgSensitivityCell]:
    grid = sensitivity_grid({run.name: run.graded for run in board.runs}, k, unjudged=unjudged)  # type: ignore[arg-type]
    usual = grid.cells[grid.default]
    for i, cell in enumerate(grid.cells):
        yield RaNwgSensitivityCell(
            k, cell.alpha, cell.cap4, cell.cap3, {name: _nan_to_none(value) for name, value in cell.scores.items()},
            cell.order, _nan_to_none(cell.tau), _find_largest_change_from_usual_setting(cell, usual), i == grid.default
        )  # fmt: skip


def _find_largest_change_from_usual_setting(
    cell: SystemRankingUnderWeightSetting, usual: SystemRankingUnderWeightSetting
) -> float | None:
    changes = [abs(cell.scores[name] - usual.scores[name]) for name in cell.scores]
    return max((change for change in changes if not math.isnan(change)), default=None)


def _nan_to_none(value: float) -> float | None:
    return None if math.isnan(value) else value


Floats = NDArray[np.float64]
_MANY = 5
"""Among so many runs fusions are looked for, and unions made."""
DEPTHS = {10: 50, 30: 100}
"""The source's advice: candidates to fetch for a cutoff (spec rag 9)."""


@dataclass(frozen=True)
class PoolOfTwoRuns:
    """A pool made of two runs: the run `fused`, or where there is none their lists taken in turn. It holds `depth`
    distinct documents, as many as the lists it is compared with: halves of two lists share documents, and would lose
    for being fewer."""

    a: str
    b: str
    cutoff: int
    depth: int
    fused: str = ""

    @property
    def hybrid_gain_column(self) -> str:
        """The name of the column of what the pool holds more than the better of the two at that depth."""
        return f"hybrid gain {self.a} {self.b} {self.fused}@{self.cutoff}"

    @property
    def hybrid_ceiling_column(self) -> str:
        """The name of the column of the pool's ceiling (PROC)."""
        return f"hybrid PROC {self.a} {self.b} {self.fused}@{self.cutoff}"


@dataclass(frozen=True)
class ColumnsToResampleByRun:
    """Columns by run, under names of their own, and those of them to resample: run, column, and a second run for the
    difference (empty: none)."""

    columns: Mapping[str, Mapping[str, RunQueryMeasureColumns]]
    wanted: tuple[tuple[str, str, str], ...]
    unions: tuple[PoolOfTwoRuns, ...]

    def add_columns_to_measured_run(self, measured: MeasuredRun) -> MeasuredRun:
        """The run's values with these columns beside them."""
        return replace(measured, columns={**measured.columns, **self.columns.get(measured.run, {})})


def compute_columns_for_run_resampling(
    board: RunsOnJudgedQueries, cutoffs: Sequence[int], unjudged: Any
) -> ColumnsToResampleByRun:
    """All columns that readings and guidance need."""
    columns = {
        run.name: {
            **compute_ordering_loss_columns(run.graded, cutoffs, unjudged),
            **compute_advised_depth_loss_columns(run, cutoffs),
        }
        for run in board.runs
    }
    pools = list_pool_unions_to_compare(board, cutoffs)
    for run, more in compute_ceiling_and_gain_of_unions(board, pools):
        columns[run] |= more
    wanted = [(run, name, "") for run, of_run in columns.items() for name in of_run]
    for a, b in combinations(board.runs, 2):
        if have_same_documents(a, b):
            reached = [map_loss_names_to_columns(k)["reached"] for k in cutoffs]
            wanted += [pair for name in reached for pair in ((a.name, name, b.name), (b.name, name, a.name))]
    return ColumnsToResampleByRun(columns, tuple(wanted), pools)


def map_loss_names_to_columns(k: int) -> dict[str, str]:
    """Name the column of each loss that is measured at `k`."""
    names = ("reached", "ceiling", "share", "pool", "ordering", "excess", "total")
    return {name: f"reading {name}@{k}" for name in names}


def compute_ordering_loss_columns(
    graded: Graded, cutoffs: Iterable[int], unjudged: Any
) -> dict[str, RunQueryMeasureColumns]:
    """The columns of `map_loss_names_to_columns` for every cutoff: `excess` is what the ordering loses more than the
    pool."""
    columns: dict[str, RunQueryMeasureColumns] = {}
    for k in cutoffs:
        values = evaluate_graded([f"RA-nWG@{k}", f"PROC@{k}"], treat_unjudged(graded, unjudged, k))
        reached, ceiling = values.values()
        names = map_loss_names_to_columns(k)
        losses = {
            "reached": reached, "ceiling": ceiling, "pool": 1 - ceiling, "ordering": ceiling - reached,
            "excess": 2 * ceiling - reached - 1, "total": 1 - reached
        }  # fmt: skip
        columns |= {names[name]: RunQueryMeasureColumns(value, (value,)) for name, value in losses.items()}
        columns[names["share"]] = RunQueryMeasureColumns(reached, (reached, ceiling))
    return columns


def name_depth_loss_column(k: int) -> str:
    """Name the column of what is lost if only the source's number of candidates is fetched for `k`."""
    return f"depth loss@{k}"


def compute_advised_depth_loss_columns(
    run: RunOnJudgedQueries, cutoffs: Iterable[int]
) -> dict[str, RunQueryMeasureColumns]:
    """What PROC loses if the list is cut at the depth that the source advises; for cutoffs it has advice for and lists
    that are deeper."""
    columns: dict[str, RunQueryMeasureColumns] = {}
    for k in cutoffs:
        if k in DEPTHS and run.graded.pool is None and run.documents.shape[1] > DEPTHS[k]:
            whole, cut = (
                _compute_pool_ceiling(run.graded, pool, k)
                for pool in (None, _count_pool_grades_to_depth(run, DEPTHS[k]))
            )
            columns[name_depth_loss_column(k)] = RunQueryMeasureColumns(whole - cut, (whole - cut,))
    return columns


def list_pool_unions_to_compare(board: RunsOnJudgedQueries, cutoffs: Iterable[int]) -> tuple[PoolOfTwoRuns, ...]:
    """The unions worth looking at, where runs' own lists are their pools: fusions among the runs, or else every two
    runs that are deep enough."""
    free = [run for run in board.runs if run.graded.pool is None]
    fusions = _find_fused_runs(free) if len(free) <= _MANY else []
    if fusions:
        return tuple(
            PoolOfTwoRuns(a.name, b.name, k, min(run.documents.shape[1] for run in (a, b, c)), c.name)
            for k in cutoffs
            for a, b, c in fusions
        )
    pools = []
    for k in cutoffs:
        deep = [run for run in free if run.documents.shape[1] >= 2 * k]
        for a, b in combinations(deep[:_MANY], 2):
            if not have_same_documents(a, b):
                pools.append(PoolOfTwoRuns(a.name, b.name, k, min(a.documents.shape[1], b.documents.shape[1])))
    return tuple(pools)


def compute_ceiling_and_gain_of_unions(
    board: RunsOnJudgedQueries, made: Sequence[PoolOfTwoRuns]
) -> list[tuple[str, dict[str, RunQueryMeasureColumns]]]:
    """For each union, by its first run: the columns of its ceiling and of its gain over the better of the two."""
    by_name = {run.name: run for run in board.runs}
    pairs = []
    for union in made:
        a, b = by_name[union.a], by_name[union.b]
        alone = [
            _compute_pool_ceiling(run.graded, _count_pool_grades_to_depth(run, union.depth), union.cutoff)
            for run in (a, b)
        ]
        # The better of the two over all queries, not query by query, which no single run could be.
        better = max(alone, key=lambda values: float(np.nansum(values)))
        pool = (
            _count_pool_grades_to_depth(by_name[union.fused], union.depth)
            if union.fused
            else _merge_alternately(a, b, union.depth)
        )
        proc = _compute_pool_ceiling(a.graded, pool, union.cutoff)
        gain = proc - better
        pairs.append(
            (
                union.a,
                {
                    union.hybrid_ceiling_column: RunQueryMeasureColumns(proc, (proc,)),
                    union.hybrid_gain_column: RunQueryMeasureColumns(gain, (gain,)),
                },
            )
        )
    return pairs


def _find_fused_runs(
    runs: Sequence[RunOnJudgedQueries],
) -> list[tuple[RunOnJudgedQueries, RunOnJudgedQueries, RunOnJudgedQueries]]:
    """Runs with all their documents from two others, which both bring some that the other lacks: (a, b, fusion)."""
    keys = {run.name: _encode_query_document_pairs(run) for run in runs}
    within = {(c.name, a.name): np.isin(keys[c.name], keys[a.name]) for c in runs for a in runs if c is not a}
    fusions = []
    for c in runs:
        for a, b in combinations([run for run in runs if run is not c], 2):
            in_a, in_b = within[c.name, a.name], within[c.name, b.name]
            if (in_a | in_b).all() and not in_a.all() and not in_b.all():
                fusions.append((a, b, c))
    return fusions


def _encode_query_document_pairs(run: RunOnJudgedQueries) -> NDArray[np.int64]:
    """Query and document of all that a run has, as one number each."""
    query, rank = np.nonzero(run.documents != NOBODY)
    return np.asarray(query << 32 | run.documents[query, rank])


def have_same_documents(a: RunOnJudgedQueries, b: RunOnJudgedQueries) -> bool:
    """Say whether one run is the other reordered, with the same documents for every query."""
    if a.documents.shape != b.documents.shape or not np.array_equal(a.sizes, b.sizes):
        return False
    return bool((np.sort(a.documents, axis=1) == np.sort(b.documents, axis=1)).all())


def _compute_pool_ceiling(graded: Graded, pool: NDArray[np.int64] | None, k: int) -> Floats:
    return evaluate_graded([f"PROC@{k}"], replace(graded, pool=pool, pool_sizes=None))[f"PROC@{k}"]


def _count_pool_grades_to_depth(run: RunOnJudgedQueries, depth: int) -> NDArray[np.int64]:
    return count_pool_grades(_filter_hits(run.hits, run.hits.rank <= depth), run.graded)


def _merge_alternately(a: RunOnJudgedQueries, b: RunOnJudgedQueries, depth: int) -> NDArray[np.int64]:
    """The pool of the first `depth` distinct documents of both lists: the first of each, the second, and so on."""
    width = max(run.documents.shape[1] for run in (a, b))
    padded = [
        np.pad(run.documents, ((0, 0), (0, width - run.documents.shape[1])), constant_values=NOBODY) for run in (a, b)
    ]
    # Interleaved: the first of a, the first of b, the second of a, and so on.
    turns = np.stack(padded, axis=2).reshape(len(a.documents), -1)
    query, turn = np.nonzero(turns != NOBODY)
    keys = query << 32 | turns[query, turn]
    new = np.zeros(turns.shape, dtype=bool)
    # np.unique gives the first turn of each document.
    first = np.unique(keys, return_index=True)[1]
    new[query[first], turn[first]] = True
    chosen = keys[(new & (np.cumsum(new, axis=1) <= depth))[query, turn]]
    parts = [_filter_hits(run.hits, np.isin(run.hits.query << 32 | run.hits.document, chosen)) for run in (a, b)]
    query, document, grade = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("query", "document", "grade")
    )
    _, once = np.unique(query << 32 | document, return_index=True)
    return count_pool_grades(GradedHits(query[once], once, grade[once], document[once]), a.graded)


def _filter_hits(hits: GradedHits, keep: NDArray[np.bool_]) -> GradedHits:
    return GradedHits(hits.query[keep], hits.rank[keep], hits.grade[keep], hits.document[keep])
