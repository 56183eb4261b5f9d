"""Whether runs and judgements speak of the same queries and documents: ids that match nothing are no run that finds
nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from embassay.data.judged_runs import Entries
from embassay.data.judged_runs.forms import Form, nearest_form
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
LOOKED_AT = 2_000
"""Ids that are tried in other forms."""
ALSO = 0.1
"""Share of a run's documents that have to match in another form for it to be worth a word."""


def foreign_queries(entries: Entries, judged: Sequence[str]) -> DataError:
    """The error for a run without a judged query."""
    queries = entries.frame["query"].unique(maintain_order=True).to_list()
    form = nearest_form(queries[:LOOKED_AT], judged)
    return DataError(
        "no query of the run is judged", path=entries.path, expected=f"queries of the qrels, such as {_shown(judged)}",
        found=_shown(queries), mend=form.told if form else "Check that the run and the qrels belong together.",
    )  # fmt: skip


def idle_runs(answered: Mapping[str, int], total: int) -> dict[str, str]:
    """The runs that answer hardly any of the `total` judged queries, and what is said of each: a run that broke off is
    not tested, and so is never worse than another."""
    return {
        name: f"it answers {queries:,} of {total:,} judged queries: {IDLE}"
        for name, queries in answered.items()
        if queries < HARDLY * total
    }


def own_documents(runs: Mapping[str, Entries]) -> Iterator[str]:
    """A word on runs in which most queries find the document that has their own id: few tasks mean that."""
    import polars as pl

    for name, entries in runs.items():
        frame = entries.frame.select(pl.col("query", "doc").cast(pl.String))
        finding = frame.filter(pl.col("query") == pl.col("doc"))["query"].n_unique()
        if finding and finding * 2 >= frame["query"].n_unique():
            asked = "query finds" if finding == 1 else "queries find"
            yield f"{name}: {finding:,} {asked} the document with its own id: --exclude-self leaves that out."


def check_identity(
    runs: Mapping[str, Entries], judged: pl.DataFrame, corpus: Collection[str]
) -> Iterator[str]:
    """What is to be said of runs that share few documents with the judgements (`query`, `doc`). DataError for a run
    that has next to none of them, unless the `corpus` or another run shows that its ids are right."""
    queries, docs = (_distinct(judged[name]) for name in ("query", "doc"))
    own = {name: _distinct(entries.frame["doc"]) for name, entries in runs.items()}
    sound = set().union(*(ids.keys() for ids in own.values() if not _is_foreign(ids, docs)))
    for name, entries in runs.items():
        asked = _distinct(entries.frame["query"])
        _check_queries(entries, asked, queries)
        ids = own[name]
        unknown = [doc for doc in ids if doc not in docs][:LOOKED_AT]
        form = nearest_form(unknown, docs) if unknown and len(docs) <= 100 * LOOKED_AT else None
        if not _is_foreign(ids, docs):
            yield from _partly(name, ids, unknown, form)
            continue
        is_of_corpus = bool(corpus) and sum(doc in corpus for doc in ids) * 2 >= len(ids)
        if (
            form is not None
            and form.matched >= max(1, ALSO * min(len(unknown), len(docs)))
            and not is_of_corpus
        ):
            raise _foreign_documents(entries, ids, docs, form)
        if min(len(ids), len(docs)) >= FEWEST and not is_of_corpus and not sound & ids.keys():
            raise _foreign_documents(entries, ids, docs, None)
        few = "No document" if not any(doc in docs for doc in ids) else "Hardly a document"
        yield f"{few} of {name} is judged: its ids are such as {_shown(ids)}, those of the judgements {_shown(docs)}."


def _is_foreign(ids: Collection[str], docs: Collection[str]) -> bool:
    common = sum(doc in docs for doc in ids)
    return (common < RARE * len(ids) and common < RARE * len(docs)) or not common


def _check_queries(entries: Entries, asked: Collection[str], queries: Collection[str]) -> None:
    """DataError where a run answers hardly any judged query, and its other queries are judged ones written
    otherwise."""
    common = sum(query in queries for query in asked)
    if common >= HARDLY * len(queries):
        return
    form = nearest_form([query for query in asked if query not in queries][:LOOKED_AT], queries)
    if form is not None and form.matched > common:
        raise DataError(
            f"hardly a query of the run is judged: {common:,} of {len(queries):,}", path=entries.path,
            expected=f"queries of the qrels, such as {_shown(queries)}", found=_shown(asked), mend=form.told,
        )  # fmt: skip


def _partly(name: str, ids: Collection[str], unknown: Sequence[str], form: Form | None) -> Iterator[str]:
    """A word on documents that would be judged if they were written otherwise."""
    if form is None or form.matched < max(2, ALSO * min(len(ids), LOOKED_AT)):
        return
    yield (
        f"{name}: {form.matched:,} of {len(unknown):,} documents without a grade would have one if ids were written "
        f"alike: {form.given!r} is {form.known!r} in the judgements ({form.words})."
    )


def _foreign_documents(
    entries: Entries, ids: Iterable[str], docs: Iterable[str], form: Form | None
) -> DataError:
    mend = (
        "Check that their ids are of the same passages; with --corpus the ids of a run are held against it. Judgements "
        "of spans fit any passages (export/spans.jsonl)."
    )
    return DataError(
        "no document of the run is judged", path=entries.path,
        expected=f"ids of the judgements, such as {_shown(docs)}", found=_shown(ids), mend=form.told if form else mend,
    )  # fmt: skip


def _distinct(column: pl.Series) -> dict[str, None]:
    import polars as pl

    return dict.fromkeys(column.cast(pl.String).unique(maintain_order=True).to_list())


def _shown(ids: Iterable[str]) -> str:
    return ", ".join(repr(name) for name, _ in zip(ids, range(3), strict=False))
