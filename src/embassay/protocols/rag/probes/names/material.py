"""The authors and topics that come with the package, and the user's own."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from embassay.data.cells import key_of
from embassay.data.rows import missing_column
from embassay.data.tables import table
from embassay.errors import DataError
from embassay.protocols.rag.probes.names.bundles import Lang, Material
from embassay.protocols.rag.probes.names.people import Person


def material(lang: Lang, *, people: Path | None = None, topics: Path | None = None) -> Material:
    """A hundred invented authors and a hundred topics in this language, or those of files.

    `people` is a table with the columns given and family, `topics` one with the column topic, in any format that data
    come in; a .txt file has a topic on each line. DataError with the line that cannot be read, UsageError for too few.
    """
    return Material(
        lang,
        tuple(_people(people)) if people else _bundled_people(lang),
        tuple(_topics(topics)) if topics else _bundled_topics(lang),
    )


def _bundled(name: str) -> str:
    return files("embassay.protocols.rag.probes.names").joinpath("lists", name).read_text("utf-8")


def _bundled_people(lang: Lang) -> tuple[Person, ...]:
    rows = csv.DictReader(_bundled(f"people_{lang}.tsv").splitlines(), delimiter="\t")
    return tuple(Person(row["given"], row["family"]) for row in rows)


def _bundled_topics(lang: Lang) -> tuple[str, ...]:
    return tuple(_bundled(f"topics_{lang}.txt").splitlines())


def _people(path: Path) -> Iterator[Person]:
    for given, family in _cells(path, "given", "family"):
        yield Person(given, family)


def _topics(path: Path) -> Iterator[str]:
    if path.suffix != ".txt":
        yield from (topic for (topic,) in _cells(path, "topic"))
        return
    try:
        lines = path.read_text("utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot be read: {error}", path=path, expected="a text file in UTF-8") from None
    yield from filter(None, map(str.strip, lines))


def _cells(path: Path, *columns: str) -> Iterator[tuple[str, ...]]:
    source = table(path)
    for column in columns:
        if column not in source.columns():
            raise missing_column(source, column)
    for row in source.rows(columns):
        yield tuple(key_of(row, column) for column in columns)
