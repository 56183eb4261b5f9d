"""What scoring systems on a study takes, before it is done."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from embassay.protocols.forecasting import Forecaster, Work
from embassay.protocols.hume.models import work
from embassay.protocols.hume.models.families import texts_of
from embassay.protocols.hume.models.footprint import needed
from embassay.protocols.hume.results.plan import Plan
from embassay.runs.forecast import Forecast, Forecasts, tokens_of
from embassay.text import open_tokenizer

TIMED = 4_000
"""Texts of a run from which its systems are timed before it begins: to time a system takes as long as a small run."""


def forecast(plan: Plan, *, measure: bool = True) -> Forecasts:
    """The cost of every cell. With `measure`, systems on this machine are timed on a few texts, for which they are
    loaded here."""
    return Forecasts(tuple(_cells(plan, measure=measure)) if plan.systems else ())


def _cells(plan: Plan, *, measure: bool) -> Iterator[Forecast]:
    tokenizer = open_tokenizer(plan.request.tokenizer)
    forecaster = Forecaster(plan.systems, tokenizer, plan.request.seed, plan.cache, measure=measure)
    for dataset in plan.datasets:
        job: work.Job = next(cell.job for cell in plan.cells if cell.dataset == dataset.name)
        data, family = work.held(job.study, job.content, job.task, job.settings)
        texts = texts_of(data)
        tokens, _ = tokens_of(texts, tokenizer)
        wanted = Work(
            family, dataset.name, dataset.tasks[0].n, len(texts), tokens, partial(work.rehearse, job), texts,
            kind="distances" if family == "clustering" else "pairs",
            footprint=partial(needed, data=data, resamples=job.resamples),
        )  # fmt: skip
        yield from forecaster.cells(wanted)
