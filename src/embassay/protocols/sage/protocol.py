"""A SAGE run from request to finished folder, and the texts kept beside its items.

A corpus that lies in a file isn't copied into every run: kept are the queries, the judged documents and, when cells
have ended, the documents that some system has found. A task whose items are the documents themselves keeps none of
them.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from embassay.data.stream import lies_in_file
from embassay.parquet import read_parquet
from embassay.protocols.kernel.estimates import cell_rows
from embassay.protocols.kernel.outcome import Run
from embassay.protocols.kernel.session import (
    Conclusion,
    Evaluate,
    Session,
    Silent,
    check_prices,
    kinds,
    lock,
    opened,
)
from embassay.protocols.sage import work
from embassay.protocols.sage.conclusions import standings, summarise
from embassay.protocols.sage.options import Request
from embassay.protocols.sage.plan import Plan, forecast, make_plan
from embassay.protocols.sage.tables import tables
from embassay.records import Result, RetrievalSet
from embassay.runs.cells import CellRecord
from embassay.runs.engines.contract import Workers
from embassay.runs.folder import RunFolder, write_columns
from embassay.runs.forecast import Forecasts


def run(
    systems: Sequence[str],
    *,
    datasets: Sequence[str | Path] = ("sample",),
    tasks: Sequence[str] = (),
    out: str | Path,
    workers: Workers = 1,
    cache: Path | None = None,
    listener: Silent | None = None,
    max_usd: float | None = None,
    **arguments: Any,
) -> Run:
    """Evaluate systems with SAGE, resuming what is unfinished in `out`, and return the run.

    Further arguments are those of `Request`: mapping, split, grades, limit, seed (1337), tokenizer ("cl100k"),
    options. `max_usd` limits what the run may cost, earlier sessions in `out` included. Raises UsageError when `out`
    holds a run of other arguments, BudgetExceeded when the limit is reached: what is finished is kept.
    """
    request = Request(tuple(systems), tuple(tasks), tuple(str(one) for one in datasets), **arguments)
    listener = listener or Silent()
    return carry_out(request, Path(out), workers=workers, cache=cache, listener=listener, max_usd=max_usd)


def carry_out(
    request: Request,
    out: Path,
    *,
    workers: Workers = 1,
    cache: Path | None = None,
    listener: Silent,
    command: str = "",
    max_usd: float | None = None,
) -> Run:
    """`run` for a request that is made."""
    with opened(out, request, max_usd) as (folder, accounts, held):
        plan = make_plan(request, cache, accounts.ledger)
        check_prices(plan.systems, max_usd)
        lock(folder, held)
        command = command or python_call(request, out)
        session = Session(folder, plan, _Sage(), accounts, workers=workers, command=command)
        session.begin(listener)
        keep_texts(plan, folder)
        try:
            session.do(listener)
            keep_found_texts(plan, folder)
        finally:
            session.end()
    return Run(out)


def python_call(request: Request, out: Path) -> str:
    """The call that makes the run, for its manifest."""
    return (
        f"embassay.sage.run({list(request.systems)!r}, datasets={list(request.datasets)!r}, out={str(out)!r})"
    )


class _Sage:
    """What SAGE adds to a session."""

    protocol = "sage"
    evaluate: Evaluate = staticmethod(work.evaluate)

    def forecast(self, plan: Plan, *, measure: bool) -> Forecasts:
        return forecast(plan, measure=measure)

    def rows(self, plan: Plan, record: CellRecord) -> list[Result]:
        headline, lang = work.task(record.task).headline, plan.lang(record.dataset)
        return cell_rows("sage", record, headline, lang=lang, seed=plan.request.seed)

    def conclude(self, plan: Plan, records: Sequence[CellRecord], rows: Sequence[Result]) -> Conclusion:
        summary, comparisons = summarise(plan, list(records))
        made = tuple(tables([*rows, *summary], kinds(plan)))
        return Conclusion(summary, comparisons, made, tuple(standings(plan, list(records))))


Columns = dict[str, list[str]]


def keep_texts(plan: Plan, folder: RunFolder) -> None:
    """Keep the texts that each task judges beside its items, once."""
    for dataset in plan.datasets:
        for one in dataset.tasks:
            folder.keep_texts(one.task, dataset.name, partial(_texts, plan, dataset.source, one.task))


def keep_found_texts(plan: Plan, folder: RunFolder) -> None:
    """Add the documents of large corpora that systems have found since."""
    for dataset in plan.datasets:
        for one in dataset.tasks:
            paths = (
                folder.items_path(one.task, dataset.name, system.name, ".rankings") for system in plan.systems
            )
            found = {str(doc) for path in paths for doc in _found(path)}
            path = folder.texts_path(one.task, dataset.name)
            if not found <= _kept(path):
                write_columns(path, _texts(plan, dataset.source, one.task, found))


def _texts(plan: Plan, source: str, name: str, found: Iterable[str] = ()) -> Columns:
    request = plan.request
    limit = request.options.drawn(name, request.limit)
    data = work.load(name, request.dataset(source), limit, request.seed).data
    wanted = {*found, *_judged(data)}
    columns: Columns = {"item_id": [], "field": [], "text": []}
    for field, (ids, texts) in work.task(name).fields(data).items():
        kept_ids, kept = few(ids, texts, wanted) if lies_in_file(texts) else (ids, texts)
        columns["item_id"] += kept_ids
        columns["field"] += [field] * len(kept_ids)
        columns["text"] += kept
    return columns


def few(ids: Sequence[str], texts: Sequence[str], wanted: Container[str]) -> tuple[list[str], list[str]]:
    """The wanted ids and their texts, in the order of the corpus; the ids are read once, of the texts only those."""
    places = {key: place for place, key in enumerate(ids) if key in wanted}
    return list(places), [texts[place] for place in places.values()]


def _judged(data: Any) -> Iterable[str]:
    qrels: Mapping[str, Mapping[str, float]] = data.qrels if isinstance(data, RetrievalSet) else {}
    return (doc for grades in qrels.values() for doc in grades)


def _found(path: Path) -> Iterable[Any]:
    return read_parquet(path, ["doc_id"])["doc_id"].unique().to_list() if path.exists() else ()


def _kept(path: Path) -> set[str]:
    if not path.exists():
        return set()
    frame = read_parquet(path, ["item_id", "field"])
    return set(frame.filter(frame["field"] == "document")["item_id"].to_list())
