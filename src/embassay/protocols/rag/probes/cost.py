"""What a probe takes before it is carried out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from embassay.protocols.forecasting import Forecaster
from embassay.protocols.rag.golden.cost import ANSWER_TOKENS
from embassay.protocols.rag.probes.noise.questions import questions
from embassay.protocols.rag.probes.noise.rewriting import Rewritings
from embassay.protocols.rag.probes.noise.wordings import small_talk
from embassay.protocols.rag.probes.plan import Plan
from embassay.runs.forecast import Forecast, Forecasts, remote_seconds
from embassay.systems.remote.tokens import likely_tokens
from embassay.text import open_tokenizer


def forecast(plan: Plan, *, measure: bool = True) -> Forecasts:
    """The cost of every cell, and of a language model's rewritings. With `measure`, systems on this machine are timed
    on a few texts, for which they are loaded here."""
    return Forecasts((*_rewriting(plan), *_cells(plan, measure=measure)))


def _cells(plan: Plan, *, measure: bool) -> Iterator[Forecast]:
    tokenizer = open_tokenizer(plan.request.tokenizer)
    forecaster = Forecaster(plan.systems, tokenizer, plan.request.seed, plan.cache, measure=measure)
    for effort in plan.efforts:
        yield from forecaster.cells(effort())


def _rewriting(plan: Plan) -> Iterator[Forecast]:
    for rewriter in plan.rewriters:
        model: Any = getattr(rewriter, "model", None)
        for dataset in plan.datasets if model is not None else ():
            waiting = wanted(plan, dataset.name) - set(_kept(plan, rewriter.identity))
            read, written = likely_tokens(list(waiting)), ANSWER_TOKENS["rewrite"] * len(waiting)
            read += PROMPT * len(waiting)
            price = getattr(model, "price", None)
            yield Forecast(
                "rewriting", dataset.name, rewriter.name, len(waiting), len(waiting), read + written,
                requests=len(waiting), usd=None if price is None else price.usd(read, written),
                seconds=remote_seconds(model, len(waiting), read + written), assumed=True,
            )  # fmt: skip


PROMPT = 260
"""Tokens of the instructions that go with every question, about."""


def wanted(plan: Plan, dataset: str) -> set[str]:
    """The texts of a dataset that are to be rewritten."""
    job = next(cell.job for cell in plan.cells if cell.dataset == dataset)
    own = questions(plan.request, job.source, job.lang)
    noisy = small_talk(own, plan.request.runs, plan.request.seed)
    return {text for one in noisy for run in one.texts for text in run if text is not None}


def _kept(plan: Plan, identity: str) -> set[str]:
    return set(Rewritings(plan.cells[0].job.folder, identity).read())
