"""The two rankings of every query, as documents by number and the edit that made a copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from embassay.parquet import read_parquet
from embassay.report.items.groups import REPLACED, Group
from embassay.report.items.texts import LENGTHS, Excerpts, Judged
from embassay.report.record import System
from embassay.runs.folder import RunFolder

VERSIONS = ("original", "augmented")
EDIT_NUMBERS = {"": 0, **{edit: i for i, edit in enumerate(REPLACED, start=1)}}


class Corpus:
    """Documents that occur in a ranking, by number: their ids and excerpts."""

    def __init__(self, excerpts: Excerpts, judged: Judged) -> None:
        self.ids: list[str] = []
        self.texts: list[int] = []
        self._excerpts, self._judged = excerpts, judged
        self._places: dict[str, int] = {}

    def number(self, identifier: str) -> int:
        """The document's number; a new one is added."""
        if identifier not in self._places:
            self._places[identifier] = len(self.ids)
            self.ids.append(identifier)
            text = self._judged.text("document", identifier) or ""
            self.texts.append(self._excerpts.add(text, LENGTHS["document"]))
        return self._places[identifier]


def rankings(
    folder: RunFolder, group: Group, queries: Sequence[str], corpus: Corpus
) -> tuple[list[list[Any]], list[dict[int, float]]]:
    """Per query and system `[documents of the clean ranking, document and edit by turns of the augmented
    one]`,
    and per query the gains of the relevant documents that any system found."""
    found = [_ranked(folder, group, system) for system in group.systems]
    gains: list[dict[int, float]] = []
    made = []
    for query in queries:
        gain: dict[int, float] = {}
        made.append([_one(ranked.get(query, {}), corpus, gain) for ranked in found])
        gains.append(gain)
    return made, gains


Entries = dict[str, dict[str, list[tuple[str, str, float]]]]


def _ranked(folder: RunFolder, group: Group, system: System) -> Entries:
    """Entries (document, edit, gain) by query and version, best first."""
    path = folder.items_path(group.kind.task, group.dataset, system.name, ".rankings")
    if not path.exists():
        return {}
    frame = read_parquet(path).sort("rank", maintain_order=True)
    found: Entries = {}
    for query, version, doc, edit, gain in frame.select(
        "query_id", "version", "doc_id", "edit", "gain"
    ).iter_rows():
        found.setdefault(query, {}).setdefault(version, []).append((doc, edit, gain or 0.0))
    return found


def _one(
    versions: dict[str, list[tuple[str, str, float]]], corpus: Corpus, gain: dict[int, float]
) -> list[list[int]]:
    lists: list[list[int]] = []
    for version in VERSIONS:
        flat: list[int] = []
        for doc, edit, value in versions.get(version, ()):
            number = corpus.number(doc)
            flat += [number] if version == "original" else [number, EDIT_NUMBERS.get(edit, 0)]
            if value > 0 and not edit:
                gain[number] = value
        lists.append(flat)
    return lists
