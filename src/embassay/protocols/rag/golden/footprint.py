"""What the searches of a golden set will hold in memory at most, and what reading its corpus does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from embassay.protocols.footprint import dimensions, footprint, vectors
from embassay.protocols.rag.words_footprint import words_bytes
from embassay.runs.promise import Footprint

SHARD = 65_536
"""Passages whose vectors are in memory at a time."""
_READ, _PACKED = 4, 5
"""Bytes in memory for each byte of a corpus in a file, and in a packed one for each of what is unpacked."""
_TABLES = 300
"""Bytes of a passage in the tables that find its vector by its text."""
_ROW = 3_000
"""Bytes of what is written of a passage that was found, beside its text."""


def searching(system: Any, passages: Sequence[str], queries: Sequence[str], depth: int) -> Footprint:
    """S2 on these passages, which are in memory: the vectors of a shard, the index of the words of the queries, and
    the `depth` best of both searches."""
    shard, dim = min(SHARD, len(passages)), dimensions(system)
    parts = {
        f"the vectors of {shard:,} passages": vectors(shard + len(queries), dim) + shard * _TABLES,
        "words": words_bytes(passages, len(passages), queries),
        "what was found": 2 * depth * len(queries) * _ROW,
    }
    return footprint(parts, "Judge a smaller corpus, or fewer questions (--limit)")


def reading(files: Iterable[Path]) -> Footprint:
    """The corpus in these files, which is held whole from beginning to end; nothing of a table of a hub is known."""
    size = sum(
        one.stat().st_size * (_READ * _PACKED if one.suffix in (".gz", ".parquet") else _READ)
        for one in files
        if one.is_file()
    )
    return Footprint({"the corpus, which a golden set holds whole": size}, "Judge a smaller corpus")
