"""Which tasks a shape serves, and which shapes only lack a `--map`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from embassay.data.check.report import NearMiss
from embassay.data.rows import nearest
from embassay.data.shapes import missing_columns, table_shapes

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
    "retrieval": ("sage retrieval", "pteb retrieval"),
    "summaries": ("pteb summarization",),
    "paraphrases": ("pteb, in place of an LLM that paraphrases",),
}
"""Shape -> the tasks of the protocols that it serves."""

CALLED: Mapping[str, tuple[str, ...]] = {
    "text": (
        *("body", "content", "contents", "sentence", "sentence1", "sentence_1", "sent1", "document", "article"),
        *("passage", "review", "comment", "message", "post", "tweet", "utterance", "abstract", "question1"),
        *("premise", "description", "texts", "sentences", "title"),
    ),
    "text2": ("sentence2", "sentence_2", "sent2", "question2", "hypothesis", "text_2", "other"),
    "label": (
        *("topic", "category", "class", "intent", "tag", "target", "labels", "queue", "sentiment", "emotion"),
        *("group", "cluster", "is_duplicate", "duplicate", "gold_label", "label_text", "relevance"),
    ),
    "score": ("similarity", "similarity_score", "relatedness_score", "relatedness", "rating", "gold"),
    "summary": ("highlights", "teaser", "headline", "tldr", "abstract", "short"),
    "summary_1": ("summary_a", "response_a", "first"),
    "summary_2": ("summary_b", "response_b", "second"),
    "choice": ("preference", "preferred", "winner"),
    "query": ("question", "anchor", "claim"),
    "positive": ("positives", "pos"),
    "negative": ("negatives", "neg"),
    "split": ("fold", "partition", "subset"),
    "references": ("human_summaries", "reference", "gold_summary"),
    "summaries": ("machine_summaries", "system_summaries"),
    "relevance": ("rating", "ratings", "scores", "score"),
}  # fmt: skip
"""Column -> names that others give it, the likeliest first."""

_NEVER = ("id", "lang", "set")


def near_misses(columns: Sequence[str], mapping: Mapping[str, str]) -> tuple[NearMiss, ...]:
    """The shapes that the table would have if other columns of it were read as those that are missing.

    `columns` are what can be asked for, `mapping` is the `--map` so far. A column that serves the shape
    already, or is mapped, is not offered for another. Where the table has no shape, and no column could give one,
    the shapes that lack least, without a mend.

    >>> [(miss.shape, miss.mend) for miss in near_misses(["body", "topic"], {})]
    [('documents', '--map text=body'), ('labelled', '--map text=body,label=topic')]
    """
    missing = {shape: missing_columns(shape, columns) for shape in table_shapes(columns)}
    free = [name for name in columns if name not in mapping.values()]
    mended = tuple(
        NearMiss(shape, TASKS[shape], names, f"--map {_written({**mapping, **found})}")
        for shape, names in missing.items()
        if names and (found := _found(names, free))
    )
    if mended or not all(missing.values()):
        return mended
    least = min(map(len, missing.values()))
    return tuple(
        NearMiss(shape, TASKS[shape], names, "") for shape, names in missing.items() if len(names) == least
    )


def _found(missing: Sequence[str], columns: Sequence[str]) -> dict[str, str]:
    """Missing column -> the column that may hold it; empty if one of them has none."""
    found: dict[str, str] = {}
    for target in missing:
        lower = {name.lower(): name for name in columns if name not in (*CALLED, *_NEVER, *found.values())}
        alias = next((lower[name] for name in CALLED.get(target, ()) if name in lower), "")
        column = alias or lower.get(nearest(target, lower), "")
        if not column:
            return {}
        found[target] = column
    return found


def _written(mapping: Mapping[str, str]) -> str:
    return ",".join(f"{target}={column}" for target, column in mapping.items())
