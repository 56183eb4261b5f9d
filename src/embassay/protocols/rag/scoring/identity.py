"""Whether runs and judgements speak of the same queries and documents: ids that match nothing are no run that finds
nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from embassay.data.judged_runs import RunOrQrelsEntries
from embassay.data.judged_runs.forms import CHUNKED, IdSpellingMatch, find_nearest_id_form
from embassay.errors import DataError

if TYPE_CHECKING:
    import polars as pl

FEWEST = 10
"""Judged documents, and documents of a run, from which on a run that has none of the judged is of other passages."""
RARE = 0.02
"""Share of the judged documents, and of a run's, that a run has to have in common with them."""
HARDLY = 0.2
"""Share of the judged queries that a run has to answer to be tested."""
IDLE = "not tested"
"""Ends what is said of a run that answers fewer."""
LOOKED_AT, MANY = 2_000, 200_000
"""Ids of a run that are tried in other forms, against so many judged ones at most."""
ALSO = 0.1
"""Share of a run's documents that have to match in another form for it to be worth a word."""


def make_no_judged_query_error(entries: RunOrQrelsEntries, judged: Sequence[str]) -> DataError:
    """The error for a run without a judged query."""
    queries = entries.frame["query"].unique(maintain_order=True).to_list()
    form = find_nearest_id_form(queries[:LOOKED_AT], judged)
    return DataError(
        "no query of the run is judged", path=entries.path,
        expected=f"queries of the qrels, such as {_format_example_ids(judged)}",
        found=_format_example_ids(queries),
        mend=form.describe_id_spelling_advice if form else "Check that the run and the qrels belong together."
    )  # fmt: skip


def describe_nearly_unanswered_runs(answered: Mapping[str, int], total: int) -> dict[str, str]:
    """The runs that answer hardly any of the `total` judged queries, and what is said of each: a run that broke off is
    not tested, and so is never worse than another."""
    return {
        name: f"it answers {queries:,} of {total:,} judged queries: {IDLE}"
        for name, queries in answered.items()
        if queries < HARDLY * total
    }


def iterate_notes_on_document_id_match(
    runs: Mapping[str, RunOrQrelsEntries], judged: pl.DataFrame, corpus: Collection[str]
) -> Iterator[str]:
    """What is to be said of runs that share few documents with the judgements (`query`, `doc`). DataError for a run
    that has next to none of them, unless the `corpus` or another run shows that its ids are right. Runs that have
    chunks of the judged documents found other passages, none of them judged: they score 0, with a word, unless another
    run would beat them for it."""
    queries, docs = (_distinct_ids(judged[name]) for name in ("query", "doc"))
    held = {
        name: _RunAndJudgedDocuments(entries, _distinct_ids(entries.frame["doc"]), docs)
        for name, entries in runs.items()
    }
    are_all_foreign = all(ids.are_mostly_unjudged for ids in held.values())
    for name, ids in held.items():
        _check_run_query_ids_are_judged(ids.entries, _distinct_ids(ids.entries.frame["query"]), queries)
        form = ids.find_nearest_id_form()
        if not ids.are_mostly_unjudged:
            yield from _note_differently_written_ids(name, ids, form)
            continue
        are_chunks = form is not None and form.words == CHUNKED
        if not (are_chunks and are_all_foreign) and not _are_half_of_ids_in_corpus(ids, corpus):
            enough = max(1, ALSO * min(len(ids.unknown), len(docs)))
            if form is not None and form.matched >= enough:
                raise _make_unjudged_documents_error(ids, form)
            others = [other for other in held.values() if not other.are_mostly_unjudged]
            are_shared = any(bool(other.all.is_in(ids.all.implode()).any()) for other in others)
            if min(len(ids.all), len(docs)) >= FEWEST and not are_shared:
                raise _make_unjudged_documents_error(ids, None)
        few = "Hardly any document" if ids.common else "No document"
        such = f"its ids look like {_format_example_ids(ids.all)}, and the judgements' like {_format_example_ids(docs)}"
        mend = f" {form.describe_id_spelling_advice}" if form is not None and are_chunks else ""
        yield f"{few} of {name} is judged: {such}.{mend}"


class _RunAndJudgedDocuments:
    """The documents of a run, `all` of them once, held against those that are judged."""

    def __init__(self, entries: RunOrQrelsEntries, ids: pl.Series, docs: pl.Series) -> None:
        self.entries, self.all, self.docs = entries, ids, docs
        is_judged = ids.is_in(docs.implode())
        self.common = int(is_judged.sum())
        self.unknown = ids.filter(~is_judged)

    @property
    def are_mostly_unjudged(self) -> bool:
        """Whether next to none is judged, of the run's and of the judged."""
        is_rare = self.common < RARE * len(self.all) and self.common < RARE * len(self.docs)
        return is_rare or not self.common

    def find_nearest_id_form(self) -> IdSpellingMatch | None:
        """Find how those ids that are not judged may be written otherwise."""
        if not len(self.unknown) or len(self.docs) > MANY:
            return None
        return find_nearest_id_form(self.unknown.head(LOOKED_AT).to_list(), self.docs.to_list())


def _are_half_of_ids_in_corpus(ids: _RunAndJudgedDocuments, corpus: Collection[str]) -> bool:
    return bool(corpus) and sum(doc in corpus for doc in ids.all) * 2 >= len(ids.all)


def _check_run_query_ids_are_judged(entries: RunOrQrelsEntries, asked: pl.Series, queries: pl.Series) -> None:
    """DataError where a run answers hardly any judged query, and its other queries are judged ones written
    otherwise."""
    is_judged = asked.is_in(queries.implode())
    common = int(is_judged.sum())
    if common >= HARDLY * len(queries):
        return
    form = find_nearest_id_form(asked.filter(~is_judged).head(LOOKED_AT).to_list(), queries.to_list())
    if form is not None and form.matched > common:
        raise DataError(
            f"almost no query of the run is judged: {common:,} of {len(queries):,}", path=entries.path,
            expected=f"queries of the qrels, such as {_format_example_ids(queries)}",
            found=_format_example_ids(asked), mend=form.describe_id_spelling_advice
        )  # fmt: skip


def _note_differently_written_ids(
    name: str, ids: _RunAndJudgedDocuments, form: IdSpellingMatch | None
) -> Iterator[str]:
    """Note documents that would be judged if they were written otherwise."""
    if form is None or form.matched < max(2, ALSO * min(len(ids.all), LOOKED_AT)):
        return
    yield (
        f"{name}: {form.matched:,} of {len(ids.unknown):,} documents without a grade would have one if ids were "
        f"written the same way: {form.given!r} is {form.known!r} in the judgements ({form.words})."
    )


def _make_unjudged_documents_error(ids: _RunAndJudgedDocuments, form: IdSpellingMatch | None) -> DataError:
    mend = (
        "Check that both use the same passage ids; with --corpus, the run's ids are checked against it. "
        "Judgements of spans (export/spans.jsonl) fit any passages."
    )
    return DataError(
        "no document of the run is judged", path=ids.entries.path,
        expected=f"ids of the judgements, such as {_format_example_ids(ids.docs)}", found=_format_example_ids(ids.all),
        mend=form.describe_id_spelling_advice if form else mend
    )  # fmt: skip


def _distinct_ids(column: pl.Series) -> pl.Series:
    import polars as pl

    return column.cast(pl.String).unique(maintain_order=True)


def _format_example_ids(ids: Iterable[str]) -> str:
    return ", ".join(repr(name) for name, _ in zip(ids, range(3), strict=False))
