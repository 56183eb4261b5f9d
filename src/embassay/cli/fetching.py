"""From names of datasets to a filled mirror, and what the user sees of it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from embassay.cli.waiting import Waiting
from embassay.errors import DataError, Interrupted, UsageError

if TYPE_CHECKING:
    from embassay.data.catalogue.entry import EntryRecord
    from embassay.data.catalogue.fetch import Fetched


def fetch_all(names: Sequence[str], protocol: str, task: str, *, json: bool) -> None:
    """Fetch the named datasets, or those of a protocol and a task; of the latter what needs an agreement is only said.

    DataError at the end if one could not be fetched, Interrupted on Ctrl-C; the others are kept.
    """
    from embassay.data.catalogue.mirror import mirror_folder

    fetched: list[Fetched] = []
    failed: list[DataError] = []
    try:
        with Waiting() as waiting:
            for record in _records(names, protocol, task):
                _fetch_one(record, fetched, failed, waiting)
    except KeyboardInterrupt:
        raise Interrupted(
            f"Stopped. What is whole is kept in {mirror_folder()}.",
            mend="The same command goes on from there.",
        ) from None
    _show(fetched, json=json)
    if failed:
        raise DataError(
            f"{len(failed)} of the datasets could not be fetched; the first: {failed[0].message}",
            mend=failed[0].mend,
        )


def _fetch_one(
    record: EntryRecord, fetched: list[Fetched], failed: list[DataError], waiting: Waiting
) -> None:
    from embassay.data.catalogue.fetch import fetch

    if record.hub and not record.is_pinned:
        _say(f"{record.name}: no revision is pinned, so what you get may differ from what others got")
    try:
        fetched += fetch(record, lambda doing, done, total: waiting(doing, done, total or 0))
    except DataError as error:
        _say(f"{record.name}: {error.message}")
        failed.append(error)


def _records(names: Sequence[str], protocol: str, task: str) -> list[EntryRecord]:
    from embassay.data.catalogue.entries import entries, entry
    from embassay.data.catalogue.overview import overviews

    if bool(names) == bool(protocol or task):
        raise UsageError(
            "Name the datasets to fetch, or a protocol or task whose datasets are meant.",
            mend="For example: embassay data fetch stsbenchmark; embassay data fetch --protocol pteb.",
        )
    if names:
        return [entry(name) for name in dict.fromkeys(names)]
    used = [entries()[one.name] for one in overviews(protocol, task) if one.name in entries()]
    for record in used:
        if not record.hub:
            _say(f"{record.name}: left out, it must be fetched by hand. {record.by_hand}")
    return [record for record in used if record.hub]


def _show(fetched: Sequence[Fetched], *, json: bool) -> None:
    if json:
        from dataclasses import asdict
        from json import dumps

        typer.echo(dumps([{**asdict(one), "path": str(one.path)} for one in fetched]))
        return
    for one in fetched:
        rows = "was there" if one.rows is None else f"{one.rows:,} rows"
        typer.echo(f"{one.dataset} {one.table}: {rows}, {one.path}")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
