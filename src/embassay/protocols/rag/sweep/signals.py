"""What routing looks at before it asks for more candidates: margins, entropy, noise, and how a query hangs on a name.

Each signal is a number per query, NaN where the query or the stack has none. Source: spec rag 3.5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Role
from embassay.data import draw
from embassay.data.rows import make_cell_error, make_missing_column_error, read_row_id
from embassay.data.tables import open_table_file
from embassay.errors import UsageError
from embassay.protocols.rag.probes.bundles import (
    CONDITIONS,
    TITLES,
    AuthorName,
    BundleQueryAndPassages,
    NameProbeQuerySpecification,
    make_or_read_authors_and_topics,
)
from embassay.protocols.rag.probes.names import LEAST_MARGIN
from embassay.protocols.rag.probes.options import Lang
from embassay.protocols.rag.probes.questions import LEVELS, add_small_talk_to_question, read_small_talk_phrases

Floats = NDArray[np.float64]
Embed = Callable[[Sequence[str], Role], NDArray[np.float32]]
"""Texts and their role to vectors of length 1, (n, dim)."""
# Spec rag 3.5: the margin is s1 - s10, and the entropy is that of 50 scores.
MARGIN_RANK = 10
ENTROPY_OF = 50


def compute_margins_of_first_over_tenth(scores: Sequence[Sequence[float]]) -> Floats:
    """Compute the first score less the tenth of each list, (q,); NaN for a shorter one. Spec rag 3.5."""
    return np.array(
        [score[0] - score[MARGIN_RANK - 1] if len(score) >= MARGIN_RANK else np.nan for score in scores],
        dtype=np.float64,
    )


def compute_score_entropies(scores: Sequence[Floats | None]) -> Floats:
    """How undecided a reranker is on the first 50 candidates, (q,): the entropy of the softmax of its scores over its
    maximum, 0 to 1; NaN where there is none or fewer than two. Spec rag 3.5.

    >>> float(compute_score_entropies([np.array([2.0, 1.0, 0.0, 0.0])])[0].round(6))
    0.756481
    """
    return np.array([_compute_entropy_or_nan(score) for score in scores], dtype=np.float64)


def compute_score_entropy(scores: Floats) -> float:
    """Entropy of the softmax (temperature 1) of a reranker's scores over its largest possible value: 0 where one
    candidate has it all, 1 where all are alike. Source: spec rag 3.5.

    >>> round(compute_score_entropy(np.array([2.0, 1.0, 0.0, 0.0])), 6)
    0.756481
    """
    if len(scores) < 2:
        return 0.0
    # Less the greatest: exp cannot overflow, and the shares stay as they are.
    shares = np.exp(scores - np.max(scores))
    shares = shares / shares.sum()
    # 0 log 0 counts as 0.
    positive = shares[shares > 0]
    return float(-(positive * np.log(positive)).sum() / np.log(len(scores)))


def _compute_entropy_or_nan(scores: Floats | None) -> float:
    return float("nan") if scores is None or len(scores) < 2 else compute_score_entropy(scores[:ENTROPY_OF])


def measure_cosines_after_adding_small_talk(
    ids: Sequence[str], texts: Sequence[str], vectors: NDArray[np.float32], lang: str, seed: int, embed: Embed
) -> Floats:
    """Measure the cosine of each query (`vectors`, length 1) with itself in much small talk, (q,).

    English where no language or several are stated; NaN
    in a language that we have no small talk in."""
    lang = "en" if lang in ("", "und", "mul") else lang[:2]
    if lang not in read_small_talk_phrases():
        return np.full(len(texts), np.nan)
    loud = [
        add_small_talk_to_question(text, len(LEVELS) - 1, lang=lang, seed=seed, key=key)  # type: ignore[arg-type]
        for key, text in zip(ids, texts, strict=True)
    ]
    cosines = np.einsum("qd,qd->q", vectors, embed(loud, "query"), dtype=np.float64)
    return np.asarray(cosines)


def read_author_names_by_query(path: Path) -> Mapping[str, tuple[AuthorName, str]]:
    """Read by query id whose name a query has, and its topic ("" where the file does not say).

    The columns are `query_id` and `author`, or `given` and `family`; `topic` may be there. DataError, with the line,
    for a query that appears twice and for an author without a name.
    """
    source = open_table_file(path)
    columns = source.columns()
    named = ("author",) if "author" in columns else ("given", "family")
    for column in ("query_id", *named):
        if column not in columns:
            raise make_missing_column_error(source, "author" if column in ("given", "family") else column)
    named_by: dict[str, tuple[AuthorName, str]] = {}
    for row in source.rows(("query_id", *named, *(["topic"] if "topic" in columns else []))):
        key, author = (read_row_id(row, "query_id"), " ".join(read_row_id(row, column).strip() for column in named))
        if key in named_by:
            raise make_cell_error(row, "query_id", "each query once")
        given, _, family = author.strip().rpartition(" ")
        named_by[key] = AuthorName(given, family), str(row.cells.get("topic") or "").strip()
    return named_by


def check_ablation_name(name: str) -> None:
    """Check that an ablation of this name exists; else UsageError."""
    if name not in CONDITIONS or name == "base":
        names = ", ".join(condition for condition in CONDITIONS if condition != "base")
        raise UsageError(f"There is no ablation {name!r}.", mend=f"Use one of {names}.")


def measure_name_margin_changes(
    names: Mapping[str, tuple[AuthorName, str]],
    queries: Mapping[str, str],
    condition: str,
    seed: int,
    embed: Embed,
    lang: Lang = "en",
) -> Floats:
    """Measure an ablation's change of each query's name margin, (q,): -0.6 is a fall by 60%.

    The margin is the query's cosine with a passage of its author on its topic, less that with the nearer of two
    impostors on the same topic (spec rag 5.1). NaN for a query without a name in `names`, for one that does not hold
    it, and where the margin is below 0.02 to begin with: there is nothing to fall.
    """
    rows = {
        key: row
        for row, key in enumerate(queries)
        if key in names and _is_author_named_in_query(queries[key], names[key][0])
    }
    changes = np.full(len(queries), np.nan)
    if not rows:
        return changes
    of = [_make_name_probe_bundle(key, row, queries[key], names[key], seed, lang) for key, row in rows.items()]
    before = _compute_right_author_margins([CONDITIONS["base"].write(bundle, seed) for bundle in of], embed)
    after = _compute_right_author_margins([CONDITIONS[condition].write(bundle, seed) for bundle in of], embed)
    with np.errstate(divide="ignore", invalid="ignore"):
        changes[list(rows.values())] = np.where(before >= LEAST_MARGIN, (after - before) / before, np.nan)
    return changes


def _is_author_named_in_query(query: str, author: AuthorName) -> bool:
    return author.name.strip().casefold() in query.casefold()


def _make_name_probe_bundle(
    key: str, row: int, query: str, named: tuple[AuthorName, str], seed: int, lang: Lang
) -> NameProbeQuerySpecification:
    author, topic = named
    name = author.name.strip()
    at = query.casefold().find(name.casefold())
    form = f"{query[:at]}{{A}}{query[at + len(name) :]}"
    bundled = make_or_read_authors_and_topics(lang)
    others = [person for person in bundled.people if person != author]
    # Drawn by the query's id, so that another selection of queries has the same impostors.
    chosen = draw([f"{key}|{person.name}" for person in others], 3, seed)
    first, second, third = (others[place] for place in chosen)
    topic = topic or " ".join(form.replace("{A}", " ").split())
    other = next(candidate for candidate in bundled.topics if candidate != topic)
    return NameProbeQuerySpecification(row, lang, author, (first, second, third), topic, other, form, TITLES[lang][0])


def _compute_right_author_margins(written: Sequence[BundleQueryAndPassages], embed: Embed) -> Floats:
    asked = embed([text.query for text in written], "query")
    cosines = [
        np.einsum("qd,qd->q", asked, embed([text.passages[place] for text in written], "document"), dtype=np.float64)
        for place in range(3)
    ]
    return np.asarray(cosines[0] - np.maximum(cosines[1], cosines[2]))
