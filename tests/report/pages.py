"""Every block of a page, those within others included; the tables by their ids; what a terminal shows of blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from embassay.document.blocks import Block, CollapsibleBlocks, StyledBlockGroup, TabbedBlocks, Table
from embassay.document.terminal import draw_terminal_blocks

T = TypeVar("T", bound=Block)


def every(blocks: Iterable[Block], kind: type[T]) -> list[T]:
    """The blocks of a kind, in the order of the page."""
    return [one for one in _flat(blocks) if isinstance(one, kind)]


def tables(blocks: Iterable[Block]) -> dict[str, Table]:
    """The tables of a page."""
    return {table.id: table for table in every(blocks, Table)}


def printed(blocks: Iterable[Block], **room: Any) -> str:
    """Blocks as a terminal shows them."""
    return draw_terminal_blocks(blocks, **room).plain


def _flat(blocks: Iterable[Block]) -> Iterator[Block]:
    for block in blocks:
        yield block
        if isinstance(block, StyledBlockGroup | CollapsibleBlocks):
            yield from _flat(block.blocks)
        if isinstance(block, TabbedBlocks):
            yield from _flat(one for _, own in block.panes for one in own)
