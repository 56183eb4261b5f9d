"""What folders are called to tell them apart: their ends."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def tails(folders: Sequence[Path]) -> tuple[str, ...]:
    """The name of each folder, with as many of the folders above it as tell them apart; equal for a folder that is
    given twice.

    >>> tails([Path("runs/may"), Path("runs/june")])
    ('may', 'june')
    >>> tails([Path("may/sage"), Path("june/sage")])
    ('may/sage', 'june/sage')
    """
    parts = [folder.absolute().parts for folder in folders]
    depth = 1
    while depth < max(map(len, parts)) and len({one[-depth:] for one in parts}) < len(set(parts)):
        depth += 1
    return tuple("/".join(one[-depth:]) for one in parts)
