"""The engine `bayes`: as many answers as it takes to know the order, and no more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields

import numpy as np

from embassay.protocols.rag.ranking.bayes.checks import Checks
from embassay.protocols.rag.ranking.bayes.options import Options
from embassay.protocols.rag.ranking.bayes.ranker import BayesRanker
from embassay.protocols.rag.ranking.bayes.sharing import shared_priors
from embassay.protocols.rag.ranking.engine import Candidate, Ranker
from embassay.spec import COLON, Spec


class Bayes:
    """A posterior over all orders, from grades and answers; asked is what tells most of the order and its top."""

    def __init__(self, options: Options = Options()) -> None:  # noqa: B008 - frozen
        self.options = options

    @property
    def name(self) -> str:
        """With the options that are not the default, as `--ranking` takes them."""
        given = {
            one.name: getattr(self.options, one.name)
            for one in fields(self.options)
            if getattr(self.options, one.name) != one.default
        }
        return COLON.format(Spec("bayes", params=given))

    def start(self, candidates: Sequence[Candidate], *, query: str, top: int, seed: int) -> BayesRanker:
        """Begin with a pool."""
        return BayesRanker(candidates, query=query, top=top, seed=seed, options=self.options)

    def share(self, rankers: Mapping[str, Ranker]) -> None:
        """Tell every query what the others' answers say of the judge's sharpness and the grades' reliability, and
        whether they are such as the model expects."""
        asked = [one for one in rankers.values() if isinstance(one, BayesRanker) and one.calls]
        if not self.options.share or len(asked) < 2:
            return
        own = {id(one): one.checks() for one in asked}
        together = sum(own.values(), Checks())
        for ranker, prior in zip(
            asked, shared_priors(np.array([one.posterior.evidence for one in asked])), strict=True
        ):
            ranker.posterior.log_prior, ranker.others = prior, together - own[id(ranker)]
            ranker.refresh()
