"""Inputs near those that a target reads: hypothesis edits a seed, or makes bytes of its own."""

from __future__ import annotations

from hypothesis import strategies as st

from fuzz.target import Target

Edit = tuple[str, float, float, bytes]
"""What is done, where it begins and ends (shares of the length), and what is put there."""


def inputs(target: Target) -> st.SearchStrategy[bytes]:
    """Bytes for a target: mostly a seed with one to six edits."""
    pieces = st.one_of(
        st.sampled_from([word.encode("utf-8", "surrogatepass") for word in target.words] or [b"\x00"]),
        st.binary(max_size=8),
        st.text(max_size=8).map(lambda text: text.encode("utf-8", "replace")),
    )
    share = st.floats(0, 1, allow_nan=False)
    edits = st.lists(
        st.tuples(st.sampled_from(("put", "cut", "replace", "repeat", "end")), share, share, pieces),
        min_size=1, max_size=6,
    )  # fmt: skip
    edited = st.tuples(st.sampled_from(target.all_seeds()), edits).map(lambda pair: edited_by(*pair))
    return st.one_of(edited, edited, edited, st.binary(max_size=200))


def edited_by(content: bytes, edits: list[Edit]) -> bytes:
    """The content after the edits, one after another."""
    for what, first, second, piece in edits:
        low, high = sorted((int(first * len(content)), int(second * len(content))))
        match what:
            case "put":
                content = content[:low] + piece + content[low:]
            case "cut":
                content = content[:low] + content[high:]
            case "replace":
                content = content[:low] + piece + content[min(high, low + len(piece)) :]
            case "repeat":
                content = content[:high] + content[low:high] + content[high:]
            case _:
                content = content[:high]
    return content
