"""From tables, and what each of them is, to the parts of a dataset."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from embassay.data.candidates import Candidates
from embassay.data.combined import Chained, Prefixed, Stated
from embassay.data.rows import Source
from embassay.data.shapes import PARTS, RETRIEVAL_PARTS

SIDES = ("train", "test")


def assembled(tables: Iterable[tuple[Sequence[str], Source]]) -> dict[str, Source]:
    """Part -> its source. Two sides make a classification; with `top_ranked`, what would be a retrieval set is
    one of candidates to rerank."""
    given = {role: source for roles, source in tables for role in roles}
    parts = {role: source for role, source in given.items() if role not in PARTS}
    if all(side in given for side in SIDES):
        sides = (Stated(Prefixed(given[side], side), {"split": side}) for side in SIDES)
        parts["classification"] = Chained(tuple(sides))
    tables_of_set = {role: given[role] for role in RETRIEVAL_PARTS if role in given}
    if "top_ranked" in given and len(tables_of_set) == len(RETRIEVAL_PARTS):
        parts["reranking"] = Candidates(**tables_of_set, top_ranked=given["top_ranked"])
        return parts
    return parts | tables_of_set
