"""A plan as its summary and its tables see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from embassay.protocols.pteb.plan import Plan
from embassay.protocols.pteb.slices import task
from embassay.protocols.pteb.sources import Source
from embassay.protocols.pteb.summary import Layout, RunDataset, RunSource, RunSystem, RunTask


def layout_of(
    plan: Plan, sources: Sequence[Source], seeds: Mapping[tuple[str, str], tuple[int, ...]]
) -> Layout:
    """The systems, datasets, tasks and sources of a plan, with the seeds of the runs so far."""
    request = plan.request
    return Layout(
        tuple(RunSystem(one.name, one.kind, one.kind == "embedding") for one in plan.systems),
        tuple(
            RunDataset(
                one.name, one.lang, tuple(part.task for part in one.tasks),
                tuple(dict.fromkeys(lang for langs in one.languages.values() for lang in langs)),
            )
            for one in plan.datasets
        ),
        tuple(RunTask(name, task(name).headline, task(name).vectors) for name in plan.tasks),
        tuple(
            RunSource(
                source.label, {one.name: seeds[source.name, one.name] for one in plan.datasets},
                control=source.is_control,
            )
            for source in sources
        ),
        request.baseline,
        request.seed,
        request.options.resamples,
    )  # fmt: skip
