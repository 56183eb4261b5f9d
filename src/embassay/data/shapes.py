"""The shapes tasks ask for, and the columns each needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from embassay.data.lines import READING
from embassay.data.rows import find_nearest_name
from embassay.errors import UsageError

AXES = ("overall", "accuracy", "coverage", "coherence")
"""Rating axes that are recognised by their plain name (spec sage 4b); any other is a column `axis.NAME`."""

SHAPES: Mapping[str, tuple[str, ...]] = {
    "documents": ("text",),
    "summarised": ("text", "summary"),
    "comparisons": ("text", "summary_1", "summary_2", "choice"),
    "ratings": ("text", "summary"),
    "labelled": ("text", "label"),
    "classification": ("text", "label", "split"),
    "pairs": ("text", "text2", "score"),
    "labelled_pairs": ("text", "text2", "label"),
    "reranking": ("query", "text", "label"),
    "retrieval": (),
    "summaries": ("text", "references", "summary", "relevance"),
    "paraphrases": ("text", "paraphrases"),
}
"""Shape -> the columns it needs; ratings need one axis more, and retrieval is made of the parts below."""

TASKS: Mapping[str, str] = {
    "documents": "sensitivity", "summarised": "robustness", "comparisons": "preference", "ratings": "preference",
    "labelled": "clustering", "classification": "classification", "pairs": "sts",
    "labelled_pairs": "pair_classification", "reranking": "reranking", "retrieval": "retrieval",
    "summaries": "summarization"
}  # fmt: skip
"""Shape -> the task of the protocols that asks for it."""

OTHERWISE: Mapping[str, tuple[str, ...]] = {
    "reranking": ("query", "positive", "negative"),
    "summaries": ("text", "references", "summaries", "relevance"),
    "top_ranked": ("query_id", "doc_id"),
}
"""Shape or part -> the columns that do as well: lists where the others are single values, or the reverse."""

FOREIGN: Mapping[str, frozenset[str]] = dict.fromkeys(
    ("documents", "summarised", "labelled", "classification"), frozenset({"text2", "query", "references"})
)
"""Shape -> columns that show a table is something else: a label beside `text2` is the label of a pair."""

RETRIEVAL_PARTS: Mapping[str, tuple[str, ...]] = {
    "corpus": ("id", "text"),
    "queries": ("id", "text"),
    "qrels": ("query_id", "doc_id", "relevance"),
}
"""The three tables of a retrieval set -> the columns each needs."""

PARTS: Mapping[str, tuple[str, ...]] = {
    **RETRIEVAL_PARTS,
    "top_ranked": ("query_id", "doc_ids"),
    "train": ("text", "label"),
    "test": ("text", "label"),
}
"""What a table may be besides a shape of its own -> the columns it needs then."""

_OTHERS = {
    "text": """
        body content contents sentence sentence1 sentence_1 sent1 document article passage review comment
        message post tweet utterance abstract question1 premise desired_answer reference_answer
        correct_answer target_answer atext answer_text passage_text candidate answer description texts
        sentences title question question_text summary
    """,
    "text2": "sentence2 sentence_2 sent2 question2 hypothesis text_2 student_answer other",
    "label": """
        topic category class intent tag target labels queue sentiment emotion group cluster is_duplicate
        duplicate gold_label label_text relevance categories primary_category subject genre section
        is_relevant relevant
    """,
    "score": """
        similarity similarity_score relatedness_score relatedness rating gold score_avg avg_score mean_score
        average_score score_me grade
    """,
    "summary": "highlights teaser headline tldr abstract short",
    "summary_1": "summary_a response_a first",
    "summary_2": "summary_b response_b second",
    "choice": "preference preferred winner",
    "query": "question qtext question_text query_text anchor claim",
    "positive": "positives pos",
    "negative": "negatives neg",
    "split": "fold partition subset",
    "references": "human_summaries reference gold_summary",
    "summaries": "machine_summaries system_summaries",
    "relevance": "rating ratings scores score",
}
CALLED: Mapping[str, tuple[str, ...]] = {column: tuple(names.split()) for column, names in _OTHERS.items()}
"""Column -> names that others give it, the likeliest first."""

PAIRS = (
    *(("sentence1", "sentence2"), ("sentence_1", "sentence_2"), ("sentence_a", "sentence_b")),
    *(("sent1", "sent2"), ("sent_1", "sent_2"), ("s1", "s2"), ("question1", "question2")),
    *(("text1", "text2"), ("text_1", "text_2"), ("text_a", "text_b")),
)
"""What the two texts of a pair are called elsewhere."""
_RATED_IN_WORDS = """
    score similarity similarity_score relatedness_score relatedness rating gold sim gold_score
"""
RATED = tuple(_RATED_IN_WORDS.split())
ALIKE = ("label", "is_duplicate", "duplicate", "gold_label")
"""What their score, and the label of 0 or 1, are called beside them."""

_OPTIONAL_IN_WORDS = """
    id title lang split set doc_ids text2 paraphrases2
"""
_OPTIONAL = tuple(_OPTIONAL_IN_WORDS.split())


def map_pair_columns_to_canonical_names(columns: Iterable[str], mapping: Mapping[str, str]) -> dict[str, str]:
    """Canonical name -> column of a table of pairs under the names that others use; empty for any other table.

    Both texts and the one thing that is said of them must be there, and neither a `text` nor a mapping that says what
    is what: nothing is guessed. Capitals do not matter.

    >>> map_pair_columns_to_canonical_names(["Sentence1", "Sentence2", "Score"], {})
    {'text': 'Sentence1', 'text2': 'Sentence2', 'score': 'Score'}
    >>> (map_pair_columns_to_canonical_names(["sentence1", "sentence2", "score", "text"], {}),
    ... map_pair_columns_to_canonical_names(["question", "answer"], {}))
    ({}, {})
    """
    lower = {name.lower(): name for name in columns}
    if {"text", "query"} & lower.keys() or {"text", "text2", "score", "label"} & mapping.keys():
        return {}
    both = [pair for pair in PAIRS if set(pair) <= lower.keys()]
    targets = [("score", name) for name in RATED if name in lower] or [
        ("label", name) for name in ALIKE if name in lower
    ]
    if len(both) != 1 or len(targets) != 1:
        return {}
    (first, second), ((target, name),) = both[0], targets
    return {"text": lower[first], "text2": lower[second], target: lower[name]}


_SIDES = (("summary1", "summary2"), ("summary_a", "summary_b"), ("response_a", "response_b"))


def match_pair_columns_by_usual_names(columns: Iterable[str], mapping: Mapping[str, str]) -> dict[str, str]:
    """Canonical name -> column of a table of pairs, or of comparisons of two summaries, under the names that others
    use; empty for any other table.

    >>> match_pair_columns_by_usual_names(["text", "summary1", "summary2", "choice"], {})
    {'summary_1': 'summary1', 'summary_2': 'summary2'}
    """
    names = tuple(columns)
    return map_pair_columns_to_canonical_names(names, mapping) or _match_summary_comparison_columns(names, mapping)


def _match_summary_comparison_columns(columns: Sequence[str], mapping: Mapping[str, str]) -> dict[str, str]:
    """Match the two summaries' columns, where the text and the choice are called so, or are mapped."""
    lower = {name.lower(): name for name in columns}
    known = lower.keys() | mapping.keys()
    if {"summary_1", "summary_2"} & known or not {"text", "choice"} <= known:
        return {}
    both = [sides for sides in _SIDES if set(sides) <= lower.keys()]
    if len(both) != 1:
        return {}
    first, second = both[0]
    return {"summary_1": lower[first], "summary_2": lower[second]}


def find_axis_columns(columns: Iterable[str]) -> dict[str, str]:
    """Axis name -> its column, the recognised four first.

    >>> find_axis_columns(["text", "axis.fluency", "overall"])
    {'overall': 'overall', 'fluency': 'axis.fluency'}
    """
    names = set(columns := tuple(columns))
    axes = {axis: axis for axis in AXES if axis in names}
    return axes | {name.removeprefix("axis."): name for name in columns if name.startswith("axis.")}


def find_missing_columns(part: str, columns: Sequence[str]) -> tuple[str, ...]:
    """The columns that `part` (a flat shape or one of PARTS) needs and `columns` lacks, by the nearest layout."""
    return find_missing_columns_by_layout(part, columns)[0]


def find_missing_columns_by_layout(part: str, columns: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Find the missing columns by every layout of `part`, the nearest first.

    >>> find_missing_columns_by_layout("reranking", ["query", "neg"])
    (('text', 'label'), ('positive', 'negative'))
    """
    layouts = [PARTS.get(part) or SHAPES[part], *([OTHERWISE[part]] if part in OTHERWISE else [])]
    without = [tuple(column for column in layout if column not in columns) for layout in layouts]
    axes = ("axis.NAME",) if part == "ratings" and not find_axis_columns(columns) else ()
    return tuple(missing + axes for missing in sorted(without, key=len))


def list_possible_shapes(columns: Iterable[str]) -> tuple[str, ...]:
    """The flat shapes that a table of these columns may have; whether it has all they need is another question.

    >>> "labelled" in list_possible_shapes(["text", "text2", "label"])
    False
    """
    names = frozenset(columns)
    return tuple(shape for shape in SHAPES if shape != "retrieval" and not names & FOREIGN.get(shape, frozenset()))


def check_mapping_targets(mapping: Mapping[str, str]) -> None:
    """UsageError if the mapping names a column that no shape has."""
    columns = {column for part in (SHAPES, OTHERWISE, PARTS) for needed in part.values() for column in needed}
    columns |= {*AXES, *_OPTIONAL, *READING, "same"}
    for target in mapping:
        if target not in columns and target.removeprefix("axis.") in ("", target):
            near = find_nearest_name(target, columns)
            raise UsageError(
                f"No task reads a column called {target!r} (in --map {target}={mapping[target]}).",
                mend=(f"Did you mean {near}? " if near else "")
                + f"Columns are {', '.join(sorted(columns))} and axis.NAME.",
            )


def check_shape_name_is_known(shape: str) -> None:
    """UsageError if there is no such shape."""
    if shape not in SHAPES:
        near = find_nearest_name(shape, SHAPES)
        raise UsageError(
            f"There is no shape called {shape!r}.",
            mend=f"{f'Did you mean {near}? ' if near else ''}Shapes are {', '.join(SHAPES)}.",
        )
