"""From a corpus, queries and qrels to a retrieval set."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from itertools import islice

from embassay.data.cells import key_of, text_of
from embassay.data.faults import fault
from embassay.data.grades import Gains
from embassay.data.intake import Intake, nothing_usable
from embassay.data.rows import Row, Source
from embassay.data.sampling import Draw, check_limit
from embassay.data.streamed.reading import limited, read_corpus, recorded
from embassay.errors import DataError
from embassay.records import Documents, RetrievalSet

Judgements = Mapping[str, Mapping[str, float]]


def retrieval_set(
    parts: Mapping[str, Source], gains: Gains, intake: Intake, limit: int | None, seed: int
) -> RetrievalSet:
    """The corpus, the queries with a relevant document in it, and their judgements.

    `limit` counts documents: all that are relevant to a query are kept, even beyond the limit, and seeded
    random others fill up (spec sage 8). Empty documents are kept and counted; queries are never drawn.
    """
    check_limit(limit)
    queries = _queries(parts["queries"], intake, seed)
    judged = _judgements(parts["qrels"], gains, queries, intake)
    relevant = {doc for grades in judged.values() for doc, gain in grades.items() if gain > 0}
    whole = read_corpus(parts["corpus"], _text, intake, "texts, blank ones empty")
    wanted = {doc for grades in judged.values() for doc in grades}
    known = wanted.intersection(whole.ids)
    _note_unknown(parts["qrels"], judged, known, intake)
    kept = [query for query in queries if _is_answerable(query, judged, known, intake)]
    if not kept:
        raise nothing_usable(parts["queries"], len(queries), intake.tally.skipped())
    corpus = recorded(limited(whole, limit, seed, relevant), intake)
    present = known if limit is None else known.intersection(corpus.ids)
    return RetrievalSet(
        corpus,
        Documents(tuple(kept), tuple(queries[query] for query in kept)),
        {query: {doc: gain for doc, gain in judged[query].items() if doc in present} for query in kept},
    )


def _queries(source: Source, intake: Intake, seed: int) -> dict[str, str]:
    def parse(row: Row, key: str) -> str | None:
        text = text_of(row, "text")
        if text is None:
            intake.tally.skip("queries without text", key)
        return text

    return dict(intake.read(source, ["text"], parse, Draw(None, seed)))


def _judgements(source: Source, gains: Gains, queries: Container[str], intake: Intake) -> Judgements:
    judged: dict[str, dict[str, float]] = {}
    unknown: dict[str, None] = {}
    for row in source.rows(("query_id", "doc_id", "relevance")):
        try:
            query, doc = key_of(row, "query_id"), key_of(row, "doc_id")
            if query not in queries:
                unknown[query] = None
                intake.tally.skip("judgements of unknown queries", f"{query} {doc}")
                continue
            gain = gains.of(row, f"{query} {doc}", intake.tally)
        except DataError as error:
            fault(error)
            continue
        if gain is not None and judged.setdefault(query, {}).setdefault(doc, gain) != gain:
            fault(_judged_twice(row, query, doc, judged[query][doc], gain))
    if unknown and not judged:
        raise _foreign(source, "query", unknown)
    if not judged:
        raise nothing_usable(source, 0, intake.tally.skipped())
    return judged


def _text(row: Row, _key: str, _intake: Intake) -> str:
    return text_of(row, "text") or ""


def _note_unknown(source: Source, judged: Judgements, known: Container[str], intake: Intake) -> None:
    unknown = [(query, doc) for query, grades in judged.items() for doc in grades if doc not in known]
    if unknown and len(unknown) == sum(len(grades) for grades in judged.values()):
        raise _foreign(source, "document", (doc for _, doc in unknown))
    for query, doc in unknown:
        intake.tally.skip("judgements of unknown documents", f"{query} {doc}")


def _is_answerable(query: str, judged: Judgements, known: Container[str], intake: Intake) -> bool:
    if query not in judged:
        intake.tally.skip("queries without judgements", query)
        return False
    if not any(gain > 0 and doc in known for doc, gain in judged[query].items()):
        intake.tally.skip("queries without a relevant document in the corpus", query)
        return False
    return True


def _judged_twice(row: Row, query: str, doc: str, before: float, gain: float) -> DataError:
    return DataError(
        f"query {query!r} and document {doc!r} are judged twice, differently",
        path=row.path,
        line=row.line,
        expected=f"a gain of {before:g}, as before",
        found=f"{gain:g}",
        mend="Keep one judgement of each query and document.",
    )


def _foreign(source: Source, what: str, ids: Iterable[str]) -> DataError:
    return DataError(
        f"no judgement names a known {what}",
        path=source.path,
        expected=f"ids of the {what} file",
        found=", ".join(islice(ids, 3)),
        mend="Check that qrels, queries and corpus belong together.",
    )
