"""A sweep from Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from embassay.errors import UsageError
from embassay.protocols.outcome import Run
from embassay.protocols.rag.sweep.checks import with_rules
from embassay.protocols.rag.sweep.config import read_config, request_of
from embassay.protocols.rag.sweep.parts import Parts
from embassay.protocols.rag.sweep.plan import plan_of
from embassay.protocols.rag.sweep.prices import price_list
from embassay.protocols.rag.sweep.request import SweepRequest
from embassay.protocols.rag.sweep.session import SweepSession
from embassay.protocols.rag.sweep.stacks import TASK
from embassay.protocols.session import Silent, check_prices, check_same_arguments, lock, opened
from embassay.runs.folder import RunFolder


def sweep(
    config: str | Path | Mapping[str, Any],
    *,
    out: str | Path,
    limit: int | None = None,
    seed: int | None = None,
    force: bool = False,
    listener: Silent | None = None,
    max_usd: float | None = None,
    **rules: Any,
) -> Run:
    """Measure every stack that `config` names, a YAML file or a mapping with its keys, resuming what is unfinished in
    the folder `out`; `read_sweep(out)` then has it all as arrays.

    `limit` queries, `seed`, and of the rules `sla_ms`, `budget` and `target` win over the config's; `force` measures
    anew. Parts that failed are `failed` in the manifest's cells; the same call tries them again. UsageError or
    DataError for what is wrong in the config or the data, before anything is computed, and for an `out` that holds
    another sweep; BudgetExceeded at `max_usd`.
    """
    request = request_of(config) if isinstance(config, Mapping) else read_config(Path(config))
    return carry_out(
        overridden(request, limit=limit, seed=seed, **rules), Path(out), force=force, listener=listener or Silent(),
        max_usd=max_usd,
    )  # fmt: skip


def overridden(
    request: SweepRequest, *, limit: int | None, seed: int | None, exclude_self: bool = False, **rules: Any
) -> SweepRequest:
    """The request with what is given (not None) in place of the config's; with `exclude_self` in all datasets."""
    datasets = tuple(replace(one, exclude_self=one.exclude_self or exclude_self) for one in request.datasets)
    return with_rules(
        replace(
            request,
            datasets=datasets,
            queries=request.queries if limit is None else limit,
            seed=request.seed if seed is None else seed,
        ),
        **rules,
    )


def carry_out(
    request: SweepRequest,
    out: Path,
    *,
    force: bool = False,
    listener: Silent,
    command: str = "",
    max_usd: float | None = None,
) -> Run:
    """Measure a request's stacks into the folder `out`; what is finished there is kept, unless `force` redoes it."""
    prices = price_list(request)
    with opened(out, request, max_usd, check=_check) as (folder, accounts, held):
        parts = Parts(request, accounts.ledger, listener)
        plan = plan_of(parts)
        check_prices(plan.systems, max_usd)
        lock(folder, held)
        session = SweepSession(folder, plan, parts, prices, accounts, command or _python_call(out))
        session.begin(force=force)
        try:
            session.do()
        finally:
            session.end()
    return Run(out)


def _check(folder: RunFolder, request: Any) -> None:
    said = folder.read_manifest()
    if said is not None and (said.get("protocol"), said.get("kind")) != ("rag", TASK):
        raise UsageError(f"{folder.path} holds a run of another kind.", mend="Choose another --out.")
    check_same_arguments(folder, request)


def _python_call(out: Path) -> str:
    return f"embassay.rag.sweep(..., out={str(out)!r})"
