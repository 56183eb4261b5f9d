"""Measures of other people's programs, through ir_measures: RBP, alpha-nDCG, NRBP.

ir_measures finds the program (cwl-eval, pyndeval; the extra `ir` brings both). Here graded rankings become its
judgements and runs, and a query without a relevant document becomes undefined, as everywhere in this package.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from embassay.errors import ModelError
from embassay.measures.judgements import (
    ABSENT,
    GRADES,
    RELEVANT,
    Facet,
    Floats,
    Graded,
    Ints,
    One,
    Pools,
    Values,
    grade,
    order_in_group,
)
from embassay.measures.registry import measure
from embassay.measures.sets import from_grade, known_sources

_borrowed = partial(
    measure,
    direction="higher",
    range="[0, 1]",
    undefined="no document has the grade `rel` or a higher one",
)


@_borrowed("RBP", needs="grades, ranking", source="Moffat and Zobel 2008; cwl-eval through ir_measures")
def _rbp(graded: Graded, *, p: float = 0.8, rel: int = RELEVANT) -> Floats:
    """Rank-biased precision: relevant documents by the chance that a reader who goes on with `p` sees them."""
    return _through(graded, "RBP", rel, p=p)


@_borrowed(
    "alpha-nDCG", needs="grades, ranking, sources", source="Clarke et al. 2008; pyndeval through ir_measures"
)
def _alpha_ndcg(graded: Graded, *, cutoff: int, alpha: float = 0.5, rel: int = RELEVANT) -> Floats:
    """nDCG in which a document of a source that stands above already is worth less by `alpha`."""
    known_sources(graded)
    return _through(graded, "alpha_nDCG", rel, cutoff=cutoff, alpha=alpha)


@_borrowed(
    "NRBP", needs="grades, ranking, sources", source="Clarke et al. 2009; pyndeval through ir_measures"
)
def _nrbp(graded: Graded, *, alpha: float = 0.5, beta: float = 0.5, rel: int = RELEVANT) -> Floats:
    """Rank-biased precision in which a document of a source that stands above already is worth less by `alpha`."""
    known_sources(graded)
    return _through(graded, "NRBP", rel, alpha=alpha, beta=beta)


def rbp(grades: Pools, retrieved: One, p: float = 0.8, level: int = RELEVANT) -> Values:
    """Rank-biased precision over the whole list: (1 - p) times the sum of p^(rank - 1) over relevant documents.

    A document is relevant from the grade `level` on. Range 0 to 1, higher is better; it is not divided by what is
    possible. NaN where no document is relevant. Other arguments as for `ra_nwg`. Source: Moffat and Zobel 2008, by
    cwl-eval through ir_measures; ModelError where they are not installed.
    """
    graded = grade(grades, retrieved)
    return graded.answer(_rbp(graded, p=p, rel=level))


def alpha_ndcg(
    grades: Pools, retrieved: One, k: int, source: Facet, alpha: float = 0.5, level: int = RELEVANT
) -> Values:
    """alpha-nDCG@k: each document of a source that stands above is worth 1 - `alpha` of the one before.

    `source` as for `ra_nwg_novelty`, other arguments as for `rbp`. Range 0 to 1, higher is better. Source: Clarke et
    al. 2008, by pyndeval through ir_measures; its ideal is the usual greedy one.
    """
    graded = grade(grades, retrieved, source=source)
    return graded.answer(_alpha_ndcg(graded, cutoff=k, alpha=alpha, rel=level))


def nrbp(
    grades: Pools,
    retrieved: One,
    source: Facet,
    alpha: float = 0.5,
    beta: float = 0.5,
    level: int = RELEVANT,
) -> Values:
    """NRBP: rank-biased precision with persistence `beta`, repeated sources discounted by `alpha`.

    Arguments as for `alpha_ndcg`. Range 0 to 1, higher is better. Source: Clarke et al. 2009, by pyndeval through
    ir_measures.
    """
    graded = grade(grades, retrieved, source=source)
    return graded.answer(_nrbp(graded, alpha=alpha, beta=beta, rel=level))


def library_for(what: str) -> Any:
    """The package ir_measures; ModelError with the mend where it is not installed."""
    try:
        import ir_measures
    except ImportError as error:
        raise ModelError(
            f"{what} need the package ir-measures.", mend="Install it: pip install 'embassay[ir]'."
        ) from error
    return ir_measures


def _through(graded: Graded, name: str, rel: int, **parameters: float) -> Floats:
    """The values of a measure of ir_measures, (q,)."""
    library = library_for(f"{name} and its like")
    defined = from_grade(graded.counts, rel) > 0
    wanted = getattr(library, name)(rel=int(rel), **parameters)
    if not library.DefaultPipeline.supports(wanted):
        raise ModelError(
            f"ir_measures has nothing here to compute {name} with.",
            mend="Install cwl-eval (RBP) and pyndeval (alpha-nDCG, NRBP): pip install 'embassay[ir]'.",
        )
    values = np.zeros(len(graded.counts))
    if defined.any():
        for one in library.iter_calc([wanted], _qrels(graded, library.Qrel), _run(graded, library.ScoredDoc)):
            values[int(one.query_id)] = one.value
    return np.where(defined, values, np.nan)


def _qrels(graded: Graded, record: Callable[..., Any]) -> list[Any]:
    """The graded pools; a document is named by its grade, its source and its number among such."""
    if graded.sources is None:
        cells = np.repeat(np.arange(graded.counts.size), graded.counts.ravel())
        query, level = cells // len(GRADES), cells % len(GRADES) + 1
        code = np.zeros(len(cells), dtype=np.int64)
    else:
        query, code = graded.sources.query, graded.sources.code
        level = graded.sources.grade.astype(np.int64)
    columns = (query, level, code, _numbered(query, level, code))
    return [
        record(str(q), f"{g}-{c}-{n}", g, str(c))
        for q, g, c, n in zip(*(column.tolist() for column in columns), strict=True)
    ]


def _run(graded: Graded, record: Callable[..., Any]) -> list[Any]:
    """What was retrieved, under the same names; scores fall with the rank."""
    query, rank = np.nonzero(graded.top != ABSENT)
    level = graded.top[query, rank].astype(np.int64)
    code = np.zeros(len(query), np.int64) if graded.sources is None else graded.sources.top[query, rank]
    columns = (query, rank, level, code, _numbered(query, level, code))
    return [
        record(str(q), f"{g}-{c}-{n}", float(-r))
        for q, r, g, c, n in zip(*(column.tolist() for column in columns), strict=True)
    ]


def _numbered(*keys: Ints) -> Ints:
    """1, 2, 3 ... among the entries that are equal in all `keys`."""
    order = np.lexsort(keys)
    changes = np.any([np.diff(key[order]) != 0 for key in keys], axis=0)
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = order_in_group(np.concatenate([[0], np.cumsum(changes)])[: len(order)])
    return numbers
