"""The probe of versions: does the current passage rank above an old one, and how much of a list do copies hold?

Two corpora are searched: all passages with an old version of some, and all passages with copies of the same. Which of
two versions is current stands in no text, as in most stores: what ranks it first is luck, unless the stack looks at
dates. So every figure stands beside those of two remedies, applied to the same lists: recency (of near-duplicates the
newest takes the best rank) and deduplication (of near-duplicates only the best ranked stays).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Similarity
from embassay.protocols.kernel.estimates import Items, Lost, estimate, make_undefined_score
from embassay.protocols.kernel.evaluation import Fields, Task, TaskContext, loader
from embassay.protocols.kernel.forecast import (
    count_vector_dimensions,
    estimate_text_memory_bytes,
    estimate_token_bytes_of_texts,
    sum_memory_footprint,
    vector_bytes,
)
from embassay.protocols.kernel.outcome import Run
from embassay.protocols.kernel.plan import Plan
from embassay.protocols.kernel.tables import ColumnTable, RunTable, number_column, text, whole_number_column
from embassay.protocols.live.systems import RetrieverProtocol
from embassay.protocols.rag.probes.options import DocumentVersionsProbeRequest, VersionsOptions
from embassay.protocols.rag.probes.twins import (
    CHANGES,
    NearDuplicateGroups,
    QuestionWithOldVersionAndCopies,
    make_old_versions_and_copies,
)
from embassay.protocols.tasks.task import make_task_outcome
from embassay.records import HeadlineComponent, ResultRow, RetrievalSet, Score, TaskOutcome
from embassay.registry import Registry
from embassay.runs.memory import WorkMemoryEstimate
from embassay.text.semantics import find_negation_language_of_code

HEADLINE, ONLY_OLD, COPIES, DISTINCT = "current_first", "only_old", "copies_share", "distinct_passages"
REMEDIES = ("", "recency", "deduplicated", "both")
"""The lists as they are, and after each remedy; `both` keeps the newest of near-duplicates."""

Values = NDArray[np.float64]


def evaluate(system: Similarity, data: RetrievalSet, context: TaskContext) -> TaskOutcome:
    """Probe one system on one retrieval dataset; items are the questions with twins."""
    options = context.options
    lang = context.lang if find_negation_language_of_code(context.lang) else ""
    twins, left = make_old_versions_and_copies(data, options.questions, options.copies, context.seed, lang)
    items, ids = Items(), [data.queries.ids[twin.query] for twin in twins]
    if not twins:
        row = make_undefined_score(
            HEADLINE, 0, "no question has a passage with a number, date, status or verb to change"
        )
        return TaskOutcome((row,), {HEADLINE: HeadlineComponent(None, 0, reason=row.reason)}, items.columns)
    asked = [data.queries.texts[twin.query] for twin in twins]
    lost = Lost(system, ids, "questions")
    with_old = [*data.corpus.texts, *(twin.old for twin in twins)]
    lists = _search_deep_lists(system, asked, with_old, options)
    lost.note_items_with_unencoded_text(asked)
    if lost.too_many_lost_reason:
        return lost.make_task_outcome_without_score(HEADLINE, items)
    values = dict(_measure_version_ranking(lists, twins, len(data.corpus.texts), with_old, options))
    with_copies = [*data.corpus.texts, *(copied for twin in twins for copied in twin.copies)]
    values |= dict(
        _measure_copies_and_distinct_passages(
            _search_deep_lists(system, asked, with_copies, options), with_copies, options
        )
    )
    for (measure, variant), column in values.items():
        column[lost.rows] = np.nan
        items.add(ids, column, measure, variant)
    scores = list(_make_score_rows_per_remedy(values, [twin.change for twin in twins], context))
    head = next(score for score in scores if (score.measure, score.variant) == (HEADLINE, ""))
    known = estimate(values[HEADLINE, ""][:, None], lambda means: means[..., 0], context, HEADLINE, share=False)
    warnings = [f"skipped {left:,} questions without an unused passage that could be changed"] if left else []
    return make_task_outcome(
        HEADLINE, known if head.value is not None else head.reason, items, n=head.n,
        scores=[score for score in scores if score is not head], skipped=lost.skipped, warnings=warnings,
        counts={"questions": len(twins)}
    )  # fmt: skip


def _search_deep_lists(
    system: Similarity, asked: Sequence[str], corpus: Sequence[str], options: VersionsOptions
) -> list[list[tuple[int, float]]]:
    """For each question position and score of passages, deep enough that a list without copies is still full."""
    depth = min(len(corpus), options.cutoff * (1 + options.copies))
    ranked = system.search(asked, corpus, depth)
    return [
        [(place, score) for place, score in zip(places, scores, strict=True) if place >= 0]
        for places, scores in zip(ranked.indices.tolist(), ranked.scores.tolist(), strict=True)
    ]


def _measure_version_ranking(
    lists: Sequence[Sequence[tuple[int, float]]],
    twins: Sequence[QuestionWithOldVersionAndCopies],
    originals: int,
    corpus: Sequence[str],
    options: VersionsOptions,
) -> Iterator[tuple[tuple[str, str], Values]]:
    """Measure and remedy -> a value for each question; NaN where neither version is in the list."""
    shape = (len(twins),)
    columns = {(name, remedy): np.full(shape, np.nan) for name in (HEADLINE, ONLY_OLD) for remedy in REMEDIES}
    near = NearDuplicateGroups(corpus, options.near)
    for row, (hits, twin) in enumerate(zip(lists, twins, strict=True)):
        places = [place for place, _ in hits]
        groups = near.of(places)
        old = originals + row
        scores = dict(hits)
        tied = scores.get(old, 0.0) == scores.get(twin.current, 1.0)
        for remedy in REMEDIES:
            # Old versions, of any passage, stand behind all others in the corpus.
            first = apply_duplicate_remedy_to_ranking(places, groups, remedy, originals)[: options.cutoff]
            if old not in first and twin.current not in first:
                continue
            is_first = old not in first or (twin.current in first and first.index(twin.current) < first.index(old))
            # Of equal scores the order in the corpus decides, which says nothing.
            is_even = tied and remedy in ("", "deduplicated")
            columns[HEADLINE, remedy][row] = 0.5 if is_even else float(is_first)
            halved = is_even and remedy and old not in first
            columns[ONLY_OLD, remedy][row] = 0.5 if halved else float(twin.current not in first)
    yield from columns.items()


def apply_duplicate_remedy_to_ranking(
    places: Sequence[int], groups: Sequence[int], remedy: str, originals: int
) -> list[int]:
    """A list (positions in the corpus, best first) after a remedy; those of one of the `groups` are near-duplicates,
    and positions from `originals` on are old.

    >>> [apply_duplicate_remedy_to_ranking([9, 3, 1], [0, 1, 0], remedy, 5) for remedy in REMEDIES]
    [[9, 3, 1], [1, 3, 9], [9, 3], [1, 3]]
    """
    if not remedy:
        return list(places)
    members: dict[int, list[int]] = {}
    for place, group in zip(places, groups, strict=True):
        members.setdefault(group, []).append(place)
    if remedy in ("recency", "both"):
        for of_group in members.values():
            # Current before old, else as ranked.
            of_group.sort(key=lambda place: place >= originals)
    if remedy == "recency":
        following = {group: iter(of_group) for group, of_group in members.items()}
        return [next(following[group]) for group in groups]
    return [of_group[0] for of_group in members.values()]


def _measure_copies_and_distinct_passages(
    lists: Sequence[Sequence[tuple[int, float]]], corpus: Sequence[str], options: VersionsOptions
) -> Iterator[tuple[tuple[str, str], Values]]:
    """The share of the first places that repeat another of them, and how many different passages they hold; as they
    are, and deduplicated."""
    columns = {
        (name, remedy): np.full(len(lists), np.nan)
        for name in (COPIES, DISTINCT) for remedy in ("", "deduplicated")
    }  # fmt: skip
    near = NearDuplicateGroups(corpus, options.near)
    for row, hits in enumerate(lists):
        places = [place for place, _ in hits]
        groups = near.of(places)
        for remedy in ("", "deduplicated"):
            first = apply_duplicate_remedy_to_ranking(places, groups, remedy, len(corpus))[: options.cutoff]
            if not first:
                continue
            distinct = len(set(near.of(first)))
            columns[COPIES, remedy][row] = 1 - distinct / len(first)
            columns[DISTINCT, remedy][row] = distinct
    yield from columns.items()


def _make_score_rows_per_remedy(
    values: Mapping[tuple[str, str], Values], changes: Sequence[str], context: TaskContext
) -> Iterator[Score]:
    """A row for each measure and remedy, and the headline by kind of change as subset."""
    kinds = np.array(changes)
    for (measure, variant), column in values.items():
        yield _make_score_of_measure_column(column, measure, variant, "", context)
        if measure == HEADLINE:
            for change in CHANGES:
                if (kinds == change).any():
                    yield _make_score_of_measure_column(
                        np.where(kinds == change, column, np.nan), measure, variant, change, context
                    )


def _make_score_of_measure_column(
    column: Values, measure: str, variant: str, subset: str, context: TaskContext
) -> Score:
    n = int((~np.isnan(column)).sum())
    if not n:
        reason = "neither version is among the first passages of any question"
        return make_undefined_score(measure, 0, reason, variant=variant, subset=subset)
    share = estimate(column[:, None], lambda means: means[..., 0], context, measure, share=False)
    return share.score(measure, variant=variant, subset=subset)


def make_versions_task() -> Task:
    """Does the current version rank first, and what do copies crowd out?"""

    def map_query_field_to_texts(data: RetrievalSet) -> Fields:
        return {"text": (data.queries.ids, data.queries.texts)}

    return Task(
        "versions", "Versions", ("retrieval",), HEADLINE, 1, evaluate, loader("retrieval"), map_query_field_to_texts
    )


TASKS: Registry[Task] = Registry("task", makes=[("name", "headline")])
TASKS.add(
    "versions", "embassay.protocols.rag.probes.versions:make_versions_task", "old versions and copies in the corpus"
)


class OldVersionsProbe(RetrieverProtocol):
    """Old versions and copies: what ranks first, and what a list is full of."""

    name, version, tasks, paper, options = "versions", 1, TASKS, ("versions",), VersionsOptions
    request = DocumentVersionsProbeRequest
    kinds = {"versions": "search"}  # noqa: RUF012 - as the others declare it

    def texts(self, task: Any, data: RetrievalSet, options: Any) -> int:
        """Count the texts that a system sees: the corpus with old versions and copies, and questions."""
        del task
        questions = min(int(options.questions), len(data.queries))
        return 2 * len(data.corpus) + questions * (2 + int(options.copies))

    def needed(
        self, task: str, system: Similarity, data: RetrievalSet, fields: Any, options: Any
    ) -> WorkMemoryEstimate:
        """Estimate the memory for the corpus with its twins, and what they become."""
        del task, fields
        dim, n = count_vector_dimensions(system), len(data.corpus) + options.questions * (1 + options.copies)
        parts = {"texts": 2 * estimate_text_memory_bytes(data.corpus.texts)}
        parts |= (
            {"vectors": 2 * vector_bytes(n, dim)}
            if dim
            else {"tokens": 2 * estimate_token_bytes_of_texts(data.corpus.texts)}
        )
        return sum_memory_footprint(parts, "Use a smaller corpus.")

    def format_python_call(self, request: Any, out: Any) -> str:
        """The call from Python that makes the run, for its manifest."""
        return (
            f"embassay.rag.probe_versions({list(request.systems)!r}, datasets={list(request.datasets)!r}, "
            f"out={str(out)!r})"
        )

    def tables(self, plan: Plan, rows: Sequence[ResultRow]) -> Iterator[RunTable]:
        """Make the tables: what ranks first by remedy and kind of change, and what copies hold."""
        yield from super().tables(plan, rows)
        yield build_outdated_version_remedy_table(rows)
        yield build_version_change_type_table(rows)
        yield make_copies_share_table(rows)


def probe_versions(
    systems: Sequence[Any] | Mapping[str, Any],
    *,
    datasets: Sequence[Any] | Mapping[str, Any] = ("sample",),
    out: str | Path | None = None,
    **arguments: Any,
) -> Run:
    """Does the current passage rank above an old version of it, and how much of a list do copies hold?

    Arguments are those of `TaskProtocol.run`; `options` are `VersionsOptions`.
    """
    return OldVersionsProbe().run(systems, datasets=datasets, out=out, **arguments)


def build_outdated_version_remedy_table(rows: Sequence[ResultRow]) -> ColumnTable:
    """How often the current version is first, and how often only the old one is there, by remedy."""
    cells: dict[tuple[str, ...], dict[str, ResultRow]] = {}
    for row in rows:
        if row.measure in (HEADLINE, ONLY_OLD) and row.dataset and not row.subset:
            cells.setdefault((row.dataset, row.system, row.variant), {})[row.measure] = row
    return ColumnTable.of(
        "versions_remedies", "Current version compared with the old version", cells.values(),
        text("dataset", f"{HEADLINE}.dataset"), text("system", f"{HEADLINE}.system"),
        text("remedy", lambda cell: cell[HEADLINE].variant or "none"),
        number_column("current first", f"{HEADLINE}.value", 3), number_column("low", f"{HEADLINE}.ci_low", 3),
        number_column("high", f"{HEADLINE}.ci_high", 3), number_column("only old", f"{ONLY_OLD}.value", 3),
        whole_number_column("questions", f"{HEADLINE}.n"),
        note="current first: share of questions whose current passage ranks above its old version (chance: 0.5); only "
            "old: share whose list has only the old version. Questions whose list has neither version are left out."
    )  # fmt: skip


def build_version_change_type_table(rows: Sequence[ResultRow]) -> ColumnTable:
    """How often the current version is first, by what the old one changes."""
    kept = [row for row in rows if row.measure == HEADLINE and row.subset and not row.variant and row.dataset]
    return ColumnTable.of(
        "versions_changes", "Current version first, by type of change", kept, text("dataset"), text("system"),
        text("change", "subset"), number_column("current first", "value", 3),
        number_column("low", "ci_low", 3),
        number_column("high", "ci_high", 3), whole_number_column("questions", "n"), note="Lists without a remedy."
    )  # fmt: skip


def make_copies_share_table(rows: Sequence[ResultRow]) -> ColumnTable:
    """Tabulate the share of the list that copies hold, and how many different passages are left."""
    cells: dict[tuple[str, ...], dict[str, ResultRow]] = {}
    for row in rows:
        if row.measure in (COPIES, DISTINCT) and row.dataset:
            cells.setdefault((row.dataset, row.system, row.variant), {})[row.measure] = row
    return ColumnTable.of(
        "versions_copies", "Share of copies in the list", cells.values(), text("dataset", f"{COPIES}.dataset"),
        text("system", f"{COPIES}.system"), text("remedy", lambda cell: cell[COPIES].variant or "none"),
        number_column("copies", f"{COPIES}.value", 3),
        number_column("different passages", f"{DISTINCT}.value", 2),
        whole_number_column("questions", f"{COPIES}.n"),
        note="Share of the top passages that repeat another one, and the number of different passages."
    )  # fmt: skip
