"""From what a sweep has measured to what it says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path

import numpy as np

from embassay.errors import DataError
from embassay.protocols.kernel.tables import write_tables
from embassay.protocols.rag.sweep.findings.advice import effects, guidance
from embassay.protocols.rag.sweep.findings.depth import routes, steps
from embassay.protocols.rag.sweep.findings.facts import indexes, stack_facts
from embassay.protocols.rag.sweep.findings.ground import Ground, jitter_of
from embassay.protocols.rag.sweep.findings.recommendation import frontiers, recommend, scenarios
from embassay.protocols.rag.sweep.findings.record import (
    FILE,
    Asked,
    Findings,
    Frontier,
    Left,
    Part,
    StackFacts,
    write_findings,
)
from embassay.protocols.rag.sweep.findings.tables import tables
from embassay.protocols.rag.sweep.findings.verdict import lede, notes, told_alternatives, verdict
from embassay.protocols.rag.sweep.stacks import Rules, Sweep
from embassay.protocols.rag.tradeoffs import JITTER_MS
from embassay.records import Result

RESAMPLES = 2000
PROTOCOL, TASK = "rag", "sweep"


def conclude(sweep: Sweep, folder: Path) -> Findings:
    """Compute what the sweep says, write `sweep.json` and `tables/` into `folder`, and return it.

    The same sweep gives the same bytes. Errors as for `findings_of`.
    """
    findings = findings_of(sweep)
    write_tables(folder, tables(findings))
    write_findings(folder / FILE, findings)
    return findings


def findings_of(sweep: Sweep, *, resamples: int = RESAMPLES) -> Findings:
    """Everything the sweep says. DataError where nothing was measured; UsageError where the measure that decides is not
    among those measured."""
    measured = list(dict.fromkeys(one.dataset for one in sweep.measured))
    if not measured:
        raise DataError(
            "the sweep has measured nothing", found=f"{len(sweep.skipped)} combinations, all skipped or failed",
            mend="Look at the reasons of what was skipped, and run the sweep again.",
        )  # fmt: skip
    blank = [name for name in measured if not _is_defined(sweep, name)]
    decided = [name for name in measured if name not in blank] or measured
    scopes = [[name] for name in decided]
    if len(decided) > 1 and _shared(sweep, decided):
        scopes.insert(0, decided)
    jitter, measures_jitter = sweep.rules.jitter_ms, sweep.rules.jitter_ms is None
    if jitter is None:
        jitter = jitter_of([one.times.total for one in sweep.measured], sweep.rules.percentile)
    counted = jitter or 0.0 if measures_jitter else 0.0
    sweep = replace(sweep, rules=replace(sweep.rules, jitter_ms=JITTER_MS if jitter is None else jitter))
    grounds = [Ground(sweep, names, resamples, measured_jitter_ms=counted) for names in scopes]
    rules = {one.name: getattr(sweep.rules, one.name) for one in fields(Rules)}
    asked = Asked(
        **rules, priced_on=sweep.priced_on, prices=dict(sweep.prices), seed=sweep.seed, resamples=resamples,
        jitter_measured=measures_jitter and jitter is not None, load=sweep.load, cores=sweep.cores,
    )  # fmt: skip
    left = tuple(Left(one.configuration.id, one.dataset, one.reason, one.failed) for one in sweep.skipped)
    first, *others = (_part(ground, asked, left) for ground in grounds)
    said = (f"{sweep.rules.measure} is defined for no query of {name}, which is left out." for name in blank)
    if blank != measured:
        first = replace(first, notes=(*first.notes, *said))
    return Findings(asked, grounds[0].measures, (first, *others), left, asdict(sweep.counts))


def result_rows(findings: Findings) -> list[Result]:
    """Every measure, the price and the times of each stack on each dataset (empty: over all) as rows."""
    return [row for part in findings.parts for stack in part.stacks for row in _rows(findings, part, stack)]


def _is_defined(sweep: Sweep, dataset: str) -> bool:
    """Whether the measure that decides has a value there; where it was not measured that is said elsewhere."""
    found = [one.quality.get(sweep.rules.measure) for one in sweep.measured if one.dataset == dataset]
    return any(values is None or not np.isnan(values).all() for values in found)


def _shared(sweep: Sweep, datasets: Sequence[str]) -> bool:
    """Whether some stack is on all datasets."""
    counts = Counter(one.configuration.id for one in sweep.measured)
    return any(n == len(datasets) for n in counts.values())


def _part(ground: Ground, asked: Asked, left: Sequence[Left]) -> Part:
    recommendation = recommend(ground)
    found = tuple(frontiers(ground))
    shapes = [rows[0].times.total.shape for rows in ground.rows.values()]
    part = Part(
        dataset=ground.datasets[0] if len(ground.datasets) == 1 else "",
        datasets=ground.datasets,
        queries=sum(ground.queries.values()),
        timed=sum(shape[1] for shape in shapes),
        sessions=max(shape[0] for shape in shapes),
        stacks=tuple(_placed(one, found) for one in stack_facts(ground)),
        frontiers=found,
        recommendation=replace(recommendation, alternatives=told_alternatives(recommendation, asked)),
        steps=tuple(steps(ground)),
        effects=tuple(effects(ground)),
        scenarios=tuple(scenarios(ground)),
        routes=tuple(routes(ground)),
        indexes=tuple(indexes(ground)),
        guidance=guidance(ground),
    )
    return replace(
        part, verdict=verdict(part), lede=tuple(lede(part, asked)), notes=tuple(notes(part, asked, left))
    )


def _placed(stack: StackFacts, found: Sequence[Frontier]) -> StackFacts:
    """The stack with the names of the frontiers that it is on."""
    return replace(stack, on=tuple(one.name for one in found if stack.id in one.stacks))


def _rows(findings: Findings, part: Part, stack: StackFacts) -> list[Result]:
    def row(measure: str, value: float | None, n: int, low: float | None = None, high: float | None = None,
            method: str = "", reason: str = "") -> Result:  # fmt: skip
        return Result(
            PROTOCOL, TASK, part.dataset, "", "", "", stack.id, measure, value, n, low, high, method,
            findings.asked.seed, reason,
        )  # fmt: skip

    method = f"95% percentile bootstrap over queries, {findings.asked.resamples} resamples"
    rows = []
    for one in stack.quality:
        value = one.value
        rows.append(row(one.measure, value.value, value.n, value.low, value.high, method, value.reason))
        if one.reached is not None:
            share = one.reached
            rows.append(
                row(
                    f"PROC {one.measure}",
                    one.ceiling,
                    value.n,
                    reason="" if one.ceiling is not None else "undefined",
                )
            )
            rows.append(
                row(f"%PROC {one.measure}", share.value, share.n, share.low, share.high, method, share.reason)
            )
    rows.append(row("usd_per_1000", stack.cost, part.queries))
    for time in stack.times:
        rows += [
            row(f"{time.stage}_p50_ms", time.p50, time.samples),
            row(f"{time.stage}_p95_ms", time.p95, time.samples),
        ]
    return rows
