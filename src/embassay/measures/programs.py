"""Measures that Dallaire recommends beside its own: RBP, UDCG, and alpha-nDCG and NRBP through ir_measures.

ir_measures asks pyndeval; the extra `ir` brings both. Here graded rankings become its judgements and runs, and a query
without a relevant document becomes undefined, as everywhere in this package.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from embassay.errors import ModelError, UsageError
from embassay.measures.judgements import (
    ABSENT,
    GRADES,
    RELEVANT,
    AllRetrieved,
    Facet,
    Floats,
    Graded,
    Ints,
    Pools,
    Unjudged,
    Values,
    count_retrieved_documents,
    count_retrieved_grades,
    count_up_within_sorted_groups,
    divide_where_positive,
    grade,
    treat_unjudged,
)
from embassay.measures.registry import measure
from embassay.measures.sets import check_grade, count_from_grade_up, require_document_sources

_of_relevant = partial(measure, direction="higher", range="[0, 1]", undefined="no document has grade `rel` or higher")


@_of_relevant("RBP", needs="grades, ranking", source="Moffat and Zobel 2008")
def _rbp(graded: Graded, *, p: float = 0.8, rel: int = RELEVANT) -> Floats:
    """Rank-biased precision: relevant documents by the chance that a reader who goes on with `p` sees them."""
    if not 0 <= p < 1:
        raise UsageError(f"p is {p}, but it must be a probability of at least 0 and below 1.")
    defined = count_from_grade_up(graded.counts, rel) > 0
    seen = p ** np.arange(graded.top.shape[1], dtype=np.float64)
    # (1 - p) times the sum of p^(rank - 1) over the relevant documents.
    values = (1 - p) * ((graded.top >= rel) @ seen)
    return np.where(defined, values, np.nan)


@_of_relevant("alpha-nDCG", needs="grades, ranking, sources", source="Clarke et al. 2008; pyndeval through ir_measures")
def _alpha_ndcg(graded: Graded, *, cutoff: int, alpha: float = 0.5, rel: int = RELEVANT) -> Floats:
    """nDCG in which a document of a source that stands above already is worth less by `alpha`."""
    require_document_sources(graded)
    return _compute_with_ir_measures(graded, "alpha_nDCG", rel, cutoff=cutoff, alpha=alpha)


@_of_relevant("NRBP", needs="grades, ranking, sources", source="Clarke et al. 2009; pyndeval through ir_measures")
def _compute_novelty_rank_biased_precision(
    graded: Graded, *, alpha: float = 0.5, beta: float = 0.5, rel: int = RELEVANT
) -> Floats:
    """Rank-biased precision in which a document of a source that stands above already is worth less by `alpha`."""
    require_document_sources(graded)
    return _compute_with_ir_measures(graded, "NRBP", rel, alpha=alpha, beta=beta)


def rbp(grades: Pools, retrieved: AllRetrieved, p: float = 0.8, level: int = RELEVANT) -> Values:
    """Rank-biased precision over the whole list: (1 - p) times the sum of p^(rank - 1) over relevant documents.

    Documents of grade `level` or higher are relevant. Range 0 to 1, higher is better; the value is not divided by the
    best possible. NaN where no document is relevant. UsageError for a `p` outside of [0, 1). Other arguments as for
    `ra_nwg`. Source: Moffat and Zobel 2008.
    """
    graded = grade(grades, retrieved)
    return graded.answer(_rbp(graded, p=p, rel=level))


def alpha_ndcg(
    grades: Pools, retrieved: AllRetrieved, k: int, source: Facet, alpha: float = 0.5, level: int = RELEVANT
) -> Values:
    """alpha-nDCG@k: each further document of a source is worth 1 - `alpha` times the one before it.

    `source` is as for `ra_nwg_novelty`, other arguments as for `rbp`. Range 0 to 1, higher is better. Source: Clarke et
    al. 2008, by pyndeval through ir_measures, with the usual greedy ideal. ModelError where they are not
    installed.
    """
    graded = grade(grades, retrieved, source=source)
    return graded.answer(_alpha_ndcg(graded, cutoff=k, alpha=alpha, rel=level))


def nrbp(
    grades: Pools, retrieved: AllRetrieved, source: Facet, alpha: float = 0.5, beta: float = 0.5, level: int = RELEVANT
) -> Values:
    """NRBP: rank-biased precision with persistence `beta` and repeated sources discounted by `alpha`.

    Arguments as for `alpha_ndcg`. Range 0 to 1, higher is better. Source: Clarke et al. 2009, by pyndeval through
    ir_measures.
    """
    graded = grade(grades, retrieved, source=source)
    return graded.answer(_compute_novelty_rank_biased_precision(graded, alpha=alpha, beta=beta, rel=level))


def import_ir_measures(what: str) -> Any:
    """The package ir_measures; ModelError with the mend where it is not installed."""
    try:
        import ir_measures
    except ImportError as error:
        raise ModelError(
            f"{what} need the package ir-measures.", mend="Install it: pip install 'embassay[ir]'."
        ) from error
    return ir_measures


def _compute_with_ir_measures(graded: Graded, name: str, rel: int, **parameters: float) -> Floats:
    """The values of a measure of ir_measures, (q,)."""
    library = import_ir_measures(f"{name} and its like")
    defined = count_from_grade_up(graded.counts, rel) > 0
    theirs = getattr(library, name)(rel=int(rel), **parameters)
    if not library.DefaultPipeline.supports(theirs):
        raise ModelError(
            f"ir_measures has no installed provider for {name}.", mend="Install pyndeval: pip install 'embassay[ir]'."
        )
    values = np.zeros(len(graded.counts))
    if defined.any():
        for row in library.iter_calc(
            [theirs], _build_ir_measures_qrels(graded, library.Qrel), _build_ir_measures_run(graded, library.ScoredDoc)
        ):
            values[int(row.query_id)] = row.value
    return np.where(defined, values, np.nan)


def _build_ir_measures_qrels(graded: Graded, record: Callable[..., Any]) -> list[Any]:
    """Build the qrels of ir_measures from the graded pools."""
    if graded.sources is None:
        cells = np.repeat(np.arange(graded.counts.size), graded.counts.ravel())
        query, level = cells // len(GRADES), cells % len(GRADES) + 1
        code = np.zeros(len(cells), dtype=np.int64)
    else:
        query, code = graded.sources.query, graded.sources.code
        level = graded.sources.grade.astype(np.int64)
    columns = (query, level, code, _number_equal_entries(query, level, code))
    return [
        record(str(q), f"{g}-{c}-{n}", g, str(c))
        for q, g, c, n in zip(*(column.tolist() for column in columns), strict=True)
    ]


def _build_ir_measures_run(graded: Graded, record: Callable[..., Any]) -> list[Any]:
    """Build the run of ir_measures from what was retrieved, its scores falling with the rank."""
    query, rank = np.nonzero(graded.top != ABSENT)
    level = graded.top[query, rank].astype(np.int64)
    code = np.zeros(len(query), np.int64) if graded.sources is None else graded.sources.top[query, rank]
    columns = (query, rank, level, code, _number_equal_entries(query, level, code))
    return [
        record(str(q), f"{g}-{c}-{n}", float(-r))  # distinct scores: nothing is left to their rule for ties
        for q, r, g, c, n in zip(*(column.tolist() for column in columns), strict=True)
    ]


def _number_equal_entries(*keys: Ints) -> Ints:
    """Number entries 1, 2, 3 ... among those that are equal in all `keys`."""
    # A stable sort: entries that are equal in all keys are numbered in the order given.
    order = np.lexsort(keys)
    changes = np.any([np.diff(key[order]) != 0 for key in keys], axis=0)
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = count_up_within_sorted_groups(np.concatenate([[0], np.cumsum(changes)])[: len(order)])
    return numbers


UDCG_SOURCE = "Trappolini et al. 2025, arXiv 2510.21440"


@measure(
    "UDCG",
    direction="higher",
    range="[0.4174297935376853, 0.7310585786300049]",
    needs="grades, ranking",
    undefined="nothing was retrieved",
    source=f"{UDCG_SOURCE}; the distraction per grade is our assumption",
)
def compute_udcg(
    graded: Graded,
    *,
    cutoff: int,
    rel: int = RELEVANT,
    gamma: float = 1 / 3,
    third: float = 1.0,
    second: float = 0.5,
    unjudged: Unjudged = "zero",
) -> Floats:
    """Utility of the first documents less their distraction, between the two ends of a logistic curve.

    The logistic function of the mean over them of 1 for a relevant one and of -gamma times its distraction for another.
    In the source utility and distraction are how surely a model answers from that passage alone. Where that was not
    measured grades stand in: relevant is 1; of the others grade 3 distracts by `third`, grade 2 by `second`, grade 1
    and no grade not at all. `measured_udcg` takes measured ones. As there, the order of the first does not matter.

    >>> from embassay.measures import evaluate_graded, grade
    >>> found = grade({"q": {"a": 5, "b": 3, "c": 1}}, {"q": ["a", "b", "c"]})
    >>> evaluate_graded(["UDCG@3"], found)["UDCG@3"].round(6).tolist()
    [0.555328]
    """
    check_grade(rel)
    treated = treat_unjudged(graded, unjudged, cutoff)
    counts, sizes = count_retrieved_grades(treated, cutoff), count_retrieved_documents(treated, cutoff)
    # By grade, from 1 on; a grade of 4 or 5 that `rel` makes irrelevant distracts as grade 3 does.
    distraction = np.array([0.0, second, third, third, third])
    gains = np.where(np.arange(1, 6) >= rel, 1.0, -gamma * distraction)
    return 1 / (1 + np.exp(-divide_where_positive(counts @ gains, sizes)))


def measured_udcg(relevant: ArrayLike, answered: ArrayLike, *, gamma: float = 1 / 3) -> float:
    """UDCG of one query, from what a model does with each single passage: `relevant` (k,) are truth values, `answered`
    (k,) is 1 minus the probability that it abstains. UsageError for other shapes, and for what
    is no probability; NaN for no passages.

    >>> round(measured_udcg([True, False], [0.9, 0.6]), 6)
    0.586618
    """
    is_relevant, sure = np.asarray(relevant, dtype=bool), np.asarray(answered, dtype=np.float64)
    if is_relevant.ndim != 1 or is_relevant.shape != sure.shape or not ((sure >= 0) & (sure <= 1)).all():
        raise UsageError(
            f"UDCG takes a truth value and a probability per passage, not {is_relevant.shape} and {sure.shape}.",
            mend="Give two lists of the same length.",
        )
    if not len(sure):
        return float("nan")
    return float(1 / (1 + np.exp(-np.where(is_relevant, sure, -gamma * sure).mean())))


def udcg(grades: Pools, retrieved: AllRetrieved, k: int, gamma: float = 1 / 3, unjudged: Unjudged = "zero") -> Values:
    """UDCG@k: the utility of the first `k` documents to a model that reads them all, minus their distraction.

    Range 0.417 to 0.731, higher is better, NaN where nothing was retrieved. See `compute_udcg`, of the measure `UDCG`,
    for     what grades stand for, and `measured_udcg` for a model's own values.

    >>> round(float(udcg({"a": 5, "b": 3, "c": 1}, ["a", "b", "c"], 3)), 6)
    0.555328
    """
    graded = grade(grades, retrieved)
    return graded.answer(compute_udcg(graded, cutoff=k, gamma=gamma, unjudged=unjudged))
