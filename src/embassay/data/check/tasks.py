"""Which tasks a shape serves, and which shapes only lack a `--map`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from embassay.data.check.findings import Column, NearMiss
from embassay.data.delimited import MARKS
from embassay.data.rows import nearest
from embassay.data.shapes import CALLED, SHAPES, missing_columns, table_shapes

TASKS: Mapping[str, tuple[str, ...]] = {
    "documents": ("sage sensitivity",),
    "summarised": ("sage robustness",),
    "comparisons": ("sage preference",),
    "ratings": ("sage preference",),
    "labelled": ("sage clustering", "pteb clustering", "hume clustering"),
    "classification": ("pteb classification", "hume classification"),
    "pairs": ("pteb sts", "hume sts"),
    "labelled_pairs": ("pteb pair_classification",),
    "reranking": ("pteb reranking", "hume reranking"),
    "retrieval": ("sage retrieval", "pteb retrieval", "hume reranking"),
    "summaries": ("pteb summarization",),
    "paraphrases": ("pteb, in place of an LLM that paraphrases",),
}
"""Shape -> the tasks of the protocols that it serves."""

_NEVER = ("id", "lang", "set")
_MOSTLY, _FEW_WORDS = 0.9, 3


PREFERRED = (
    "reranking", "comparisons", "summaries", "pairs", "labelled_pairs", "classification", "labelled", "summarised",
    "ratings", "paraphrases", "documents",
)  # fmt: skip
"""The shapes, that first which says most of a table."""
Facts = Mapping[str, Column]
"""What is known of columns, by name."""


def near_misses(
    columns: Sequence[str], mapping: Mapping[str, str], facts: Facts = MappingProxyType({})
) -> tuple[NearMiss, ...]:
    """The shapes that the table would have if other columns of it were read as those that are missing.

    `columns` are what can be asked for, `mapping` is the `--map` so far. A column that serves the shape
    already, or is mapped, is not offered for another. Names decide, with `facts` also what the columns hold. Where the
    table has no shape, and no column could give one, the shapes that lack least, without a mend.

    >>> [(miss.shape, miss.mend) for miss in near_misses(["body", "topic"], {})]
    [('documents', '--map text=body'), ('labelled', '--map text=body,label=topic')]
    """
    missing = {shape: missing_columns(shape, columns) for shape in table_shapes(columns)}
    mended = tuple(
        NearMiss(shape, TASKS[shape], missing[shape], f"--map {written({**mapping, **found})}")
        for shape, found in guesses(columns, mapping, facts).items()
    )
    if mended or not all(missing.values()):
        return mended
    least = min(map(len, missing.values()))
    return tuple(
        NearMiss(shape, TASKS[shape], names, "") for shape, names in missing.items() if len(names) == least
    )


def guesses(
    columns: Sequence[str], mapping: Mapping[str, str], facts: Facts = MappingProxyType({})
) -> dict[str, dict[str, str]]:
    """Shape -> the missing columns it would be given, canonical name -> the table's own."""
    free = [name for name in columns if name not in mapping.values()]
    if len(free) == 1 and set(free[0]) & set(MARKS.values()):
        return {}  # several names, between marks that were not seen
    if facts and all(name.isdecimal() for name in facts):
        shape, found = _by_content([facts[name] for name in free if name in facts])
        return {shape: found} if found else {}
    given = {}
    for shape in table_shapes(columns):
        missing = missing_columns(shape, columns)
        if missing and (found := _by_name(shape, missing, free, facts)):
            given[shape] = found
    return given


def written(mapping: Mapping[str, str]) -> str:
    """A mapping as `--map` takes it."""
    return ",".join(f"{target}={column}" for target, column in mapping.items())


def _by_name(shape: str, missing: Sequence[str], columns: Sequence[str], facts: Facts) -> dict[str, str]:
    """Missing column -> the column that may hold it; empty if one has none, or what they hold speaks against it."""
    found: dict[str, str] = {}
    for target in missing:
        needed = () if target == "text" and "summary" not in SHAPES[shape] else ("summary",)
        taken = {*(CALLED.keys() - {"summary"}), *needed, *_NEVER, *found.values()}
        lower = {name.lower(): name for name in columns if name not in taken}
        called = [lower[name] for name in CALLED.get(target, ()) if name in lower]
        near = lower.get(nearest(target, lower), "")
        column = (_longest(called, facts) if target == "text" else next(iter(called), "")) or near
        if not column:
            return {}
        found[target] = column
    return found if _makes_sense(shape, found, columns, facts) else {}


def _longest(called: Sequence[str], facts: Facts) -> str:
    """The first of these columns, unless another holds texts that are twice as long or longer."""
    if not called:
        return ""
    if any(name not in facts for name in called):
        return called[0]
    most = max(called, key=lambda name: facts[name].words)
    return most if facts[most].words >= 2 * facts[called[0]].words else called[0]


def _makes_sense(shape: str, found: Mapping[str, str], columns: Sequence[str], facts: Facts) -> bool:
    """Whether what the columns hold fits: a summary is shorter than its text, and where one column asks and another
    answers, a label is about both."""
    if shape in ("summarised", "ratings") and {found.get("text", "text"), "summary"} <= facts.keys():
        text, summary = facts[found.get("text", "text")], facts[found.get("summary", "summary")]
        return text.words > summary.words
    if shape in ("labelled", "classification"):
        lower = {name.lower() for name in columns}
        asks = lower & {"query", *CALLED["query"]}
        answers = (lower & {"text", *CALLED["text"], *CALLED["text2"]}) - asks - {"title", "summary"}
        return not (asks and answers)
    return True


def _by_content(columns: Sequence[Column]) -> tuple[str, dict[str, str]]:
    """The shape that columns without names seem to have, by what they hold, and which is what; nothing without a
    column of texts."""
    rows = max((sum(one.kinds.values()) for one in columns), default=0)
    numbers = [one for one in columns if _share(one, "number") > _MOSTLY and not one.binary]
    binary = [one for one in columns if one.binary]
    words = [one for one in columns if _share(one, "text") > _MOSTLY]
    texts = [one for one in words if one.words > _FEW_WORDS] or sorted(words, key=lambda one: -one.words)[:1]
    labels = [
        one for one in words if one not in texts and one.distinct is not None and one.distinct <= rows / 2
    ]
    fractions = [one for one in numbers if "." in one.example] or [
        one for one in numbers if one.distinct is not None
    ]
    if len(texts) > 1:
        first, second = texts[:2]
        both = {"text": first.name, "text2": second.name}
        if binary and first.distinct is not None and 2 * first.distinct <= rows:
            return "reranking", {"query": first.name, "text": second.name, "label": binary[0].name}
        if fractions:
            return "pairs", {**both, "score": min(fractions, key=lambda one: one.distinct or rows).name}
        if binary:
            return "labelled_pairs", {**both, "label": binary[0].name}
    if texts and (
        found := labels or binary or [one for one in numbers if (one.distinct or rows) <= rows / 2]
    ):
        return "labelled", {
            "text": texts[0].name,
            "label": min(found, key=lambda one: one.distinct or rows).name,
        }
    return "documents", {"text": texts[0].name} if texts else {}


def _share(column: Column, kind: str) -> float:
    filled = sum(column.kinds.values()) - column.kinds.get("empty", 0)
    return column.kinds.get(kind, 0) / filled if filled else 0.0
