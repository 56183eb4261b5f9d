"""How noisy the judge is: the share of a pool's pairs that one answer puts the wrong way."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from semblance.protocols.rag.ranking.bayes.options import Options
from semblance.protocols.rag.ranking.bayes.posterior import Posterior, draw
from semblance.protocols.rag.ranking.bayes.prior import spread_of_grades
from semblance.protocols.rag.ranking.bayes.sharing import shared_priors
from semblance.protocols.rag.ranking.report.judged import Floats, Judged, over_queries
from semblance.randomness import generator
from semblance.stats import Estimate

DRAWS = 200
LEAST_CALLS = 5
MOST_QUERIES = 60


def judge_noise(queries: Sequence[Judged], *, seed: int = 0) -> Estimate | None:
    """The mean over queries of the share of all pairs of a pool that one answer of the judge would put against its own
    order without noise; the interval resamples queries. None where no query has 5 answers.

    The model is that of `bayes`, whatever engine asked: Plackett-Luce answers with a bias for places and 2% that are
    any order; queries share what they say of the judge. Less than about .02 cannot be told from none. Only noise that
    is drawn anew in every answer shows: what a judge always gets wrong is taken for its own order.
    """
    posteriors = [_posterior(query) for query in _sample(queries, seed)]
    if not posteriors:
        return None
    if len(posteriors) > 1:
        for posterior, prior in zip(
            posteriors, shared_priors(np.array([one.evidence for one in posteriors])), strict=True
        ):
            posterior.log_prior = prior
    rng = generator(seed, "ranking report", "noise draws")
    shares = [[_misordered(one, rng)] for one in posteriors]
    return over_queries(shares, lambda means: means[..., 0], len(shares), "noise", seed)


def _sample(queries: Sequence[Judged], seed: int) -> list[Judged]:
    """The queries with enough answers, all of one size; 60 at most."""
    fit = [
        query
        for query in queries
        if len(query.calls) >= LEAST_CALLS and len({len(call.shown) for call in query.calls}) == 1
    ]
    if len(fit) <= MOST_QUERIES:
        return fit
    chosen = generator(seed, "ranking report", "noise queries").permutation(len(fit))[:MOST_QUERIES]
    return [fit[i] for i in sorted(chosen)]


def _posterior(query: Judged) -> Posterior:
    options, batch = Options(), len(query.calls[0].shown)
    spread = spread_of_grades([one.grade for one in query.candidates])
    posterior = Posterior(spread, batch, random=options.random, bias=options.bias, gamma=options.gamma)
    orders = np.array([call.order for call in query.calls], dtype=np.int64)
    places = np.array([[call.shown.index(i) for i in call.order] for call in query.calls], dtype=np.float64)
    posterior.learn(orders, 2 * places / (batch - 1) - 1)
    return posterior


def _misordered(posterior: Posterior, rng: np.random.Generator) -> float:
    """The chance that a pair is put the wrong way, over all pairs and draws of the scores."""
    components = posterior.components()
    scores: Floats = draw(components, rng.standard_normal((len(components[0].mode), DRAWS)))[:, :-1]
    above, below = np.triu_indices(scores.shape[1], 1)
    gaps = np.abs(scores[:, above] - scores[:, below])
    return float(np.mean(1 / (1 + np.exp(np.minimum(gaps, 700.0)))))
