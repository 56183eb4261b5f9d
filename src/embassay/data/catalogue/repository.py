"""Any dataset of the hub as one table: `hub:ORG/NAME`."""

from __future__ import annotations

from collections.abc import Mapping

from embassay.data.catalogue.hub import HubTable, Place
from embassay.data.dataset import Dataset
from embassay.data.one_table import parts_of_table
from embassay.errors import UsageError


def open_repository(
    target: str,
    *,
    mapping: Mapping[str, str],
    split: str | None = None,
    config: str = "",
    revision: str = "main",
) -> Dataset:
    """One split (`test`, or the only one there is) of one configuration of the repository `target`.

    UsageError without a repository, DataError where the hub cannot be reached or has no such thing.
    """
    if not target:
        raise UsageError("`hub:` needs the name of a repository.", mend="Write hub:ORG/NAME?config=NAME.")
    place = Place(target, revision, (config,) if config else (), (split or "test",), only=split is None)
    instead = "Check the name, ?config= and --split; or download its files and name them with -d PATH."
    table = HubTable(place, None, streamed=False, instead=instead)
    return Dataset(target, parts_of_table(table, mapping, None), settings={"mapping": dict(mapping)})
