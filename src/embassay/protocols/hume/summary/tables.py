"""Tables of the record beyond the paper's: agreement, every annotator, and the items they disagree on most."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from embassay.protocols.hume.study import Answers, Family, Gold, Item
from embassay.protocols.hume.summary.record import Agreement, Annotator, Disputed, PairRecord, Summary
from embassay.protocols.kernel.tables import Column, ColumnTable, Value

PAIR = tuple(Column(name, "text") for name in ("family", "dataset", "lang"))
Cells = tuple[tuple[str, str], ...]
"""Columns of further coefficients: the name, and `_low` or `_high` for an end of its interval."""
ONE_ANNOTATOR = "one annotator"
_EXTRAS = (
    "fleiss_kappa", "cohen_kappa", "percent_agreement", "alpha", "ari", "v_measure", "spearman", "kendall", "pearson",
    "absolute_difference", "spearman_sd", "comparisons", "skipped", "dropped",
)  # fmt: skip
_CONVENTIONS = ("paper", "pooled", "mean", "first", "tie_aware", "display_order", "expected")
"""The order of columns; what the record has besides comes after, by name."""
_WHOLE = frozenset({"comparisons", "skipped", "dropped"})


def agreement_table(summary: Summary) -> ColumnTable:
    """Table `agreement`: per pair the coefficient of its family with interval and band, and all others known."""
    cells = _cells([pair.agreement for pair in summary.pairs if pair.agreement])
    columns = (
        *PAIR, Column("annotators", decimals=0), Column("items", decimals=0), Column("annotations", decimals=0),
        Column("coefficient", "text"), Column("value", decimals=3), Column("low", decimals=3),
        Column("high", decimals=3), Column("band", "text"), Column("trust", "text"),
        *(Column(name + end, decimals=0 if name in _WHOLE else 3) for name, end in cells),
        Column("answered_by", "text"), Column("reason", "text"),
    )  # fmt: skip
    rows = tuple(_agreement_row(pair, cells) for pair in summary.pairs)
    note = "Agreement takes two annotators. The coefficient's own value stands under value, the others beside it."
    if any(pair.agreement and pair.agreement.value.low is not None for pair in summary.pairs):
        note += " Intervals are bootstrap over items, with these annotators."
    return ColumnTable("agreement", "HUME: how well annotators agree", columns, rows, note)


def annotators_table(summary: Summary) -> ColumnTable:
    """Table `annotators`: a row per annotator and pair, with the human scores that every convention makes of them."""
    names = _ordered((name for pair in summary.pairs for name in pair.conventions), _CONVENTIONS)
    columns = (
        *PAIR, Column("measure", "text"), Column("annotator", "text"), Column("answered_by", "text"),
        Column("items", decimals=0), Column("score", decimals=1), Column("human", decimals=1),
        *(Column(f"by_{name}", decimals=1) for name in names), Column("seconds_per_item", decimals=1),
        Column("flagged", decimals=0), Column("counts", decimals=0),
    )  # fmt: skip
    rows = tuple(
        _annotator_row(pair, one, names)
        for pair in summary.pairs
        for one in (*pair.annotators, *pair.left_out)
    )
    note = (
        "Score is the annotator's own; human is the pair's score, by the paper's rule unless the run chose another. "
        "by_pooled scores the answers put together, by_mean averages the scores of annotators. Who answered too "
        "few items does not count (0)."
    )
    return ColumnTable("annotators", "HUME: annotators and conventions", columns, rows, note)


def answered_by(annotators: Iterable[Annotator]) -> str:
    """`people`, `simulated` where scripts answered, or both."""
    kinds = {one.kind for one in annotators}
    return " and ".join(
        word for kind, word in (("person", "people"), ("simulated", "simulated")) if kind in kinds
    )


def _agreement_row(pair: PairRecord, cells: Cells) -> tuple[Value, ...]:
    found = pair.agreement
    who = answered_by(pair.annotators)
    if found is None:
        empty: tuple[Value, ...] = (None,) * len(cells)
        return (
            pair.family, pair.dataset, pair.lang, len(pair.annotators), pair.n, None, "", None, None, None, "", "",
            *empty, who, ONE_ANNOTATOR if len(pair.annotators) == 1 else "",
        )  # fmt: skip
    bar = found.value
    return (
        pair.family, pair.dataset, pair.lang, found.annotators, found.items, found.annotations, found.coefficient,
        bar.value, bar.low, bar.high, found.band, pair.trust or "", *(_extra(found, *cell) for cell in cells),
        who, bar.reason,
    )  # fmt: skip


def _cells(found: Sequence[Agreement]) -> Cells:
    """Every further coefficient, and the ends of its interval where any pair has one."""
    sure = {name for one in found for name, bar in one.intervals.items() if bar.low is not None}
    names = _ordered((name for one in found for name in one.extras), _EXTRAS)
    return tuple((name, end) for name in names for end in (("", "_low", "_high") if name in sure else ("",)))


def _extra(found: Agreement, name: str, end: str) -> float | None:
    if not end:
        return found.extras.get(name)
    bar = found.intervals.get(name)
    return None if bar is None else bar.low if end == "_low" else bar.high


def _annotator_row(pair: PairRecord, one: Annotator, names: tuple[str, ...]) -> tuple[Value, ...]:
    conventions = (pair.conventions.get(name) for name in names)
    return (
        pair.family, pair.dataset, pair.lang, pair.measure, one.id, answered_by([one]), one.items, 100 * one.score,
        points(pair.human.value), *(points(value) for value in conventions), one.seconds, one.flagged,
        int(one in pair.annotators),
    )  # fmt: skip


def points(value: float | None) -> float | None:
    """A fraction in points of 100; None stays."""
    return None if value is None else 100 * value


def _ordered(found: Iterable[str], order: tuple[str, ...]) -> tuple[str, ...]:
    names = set(found)
    return (*(name for name in order if name in names), *sorted(names - set(order)))


MOST = 5
LONGEST = 400
"""Characters of a text that are kept."""
_TEXTS = ("text", "text1", "text2", "query")


def disputed(
    family: Family, items: Sequence[Item], gold: Gold, answers: Answers, *, most: int = MOST
) -> tuple[Disputed, ...]:
    """Up to `most` items that annotators answered differently, the most disputed first, ties by id.

    How far they are apart, from 0 to 1: classification, the share of pairs of annotators with other labels; STS, the
    widest distance of two ratings over that of all ratings of the task; reranking, the share of documents that two
    annotators marked differently, mean over pairs; clustering, the share of other items that one put with this item
    and the other did not, mean over pairs. Items with fewer than two answers are none.

    >>> items = [Item("a", "t", "eng", {"text": "so so"}), Item("b", "t", "eng", {"text": "good"})]
    >>> answers = {"ann": {"a": "pos", "b": "pos"}, "bob": {"a": "neg", "b": "pos"}}
    >>> [(one.item, one.apart) for one in disputed("classification", items, {"a": "neg", "b": "pos"}, answers)]
    [('a', 1.0)]
    """
    apart = _APART[family]
    found = []
    for item in items:
        given = {name: own[item.id] for name, own in answers.items() if item.id in own}
        distance = apart(item.id, given, answers) if len(given) > 1 else 0.0
        if distance > 0:
            found.append((distance, item, given))
    found.sort(key=lambda one: (-one[0], one[1].id))
    return tuple(
        Disputed(
            item=item.id, texts=_texts(item), gold=_said(gold.get(item.id)),
            answers={name: _said(value) for name, value in given.items()}, apart=distance,
        )
        for distance, item, given in found[:most]
    )  # fmt: skip


def _of_pairs(given: Mapping[str, Any], distance: Callable[[str, str], float]) -> float:
    """The mean distance over all pairs of annotators."""
    names = list(given)
    pairs = [(one, other) for i, one in enumerate(names) for other in names[i + 1 :]]
    return sum(distance(one, other) for one, other in pairs) / len(pairs)


def _labels(_: str, given: Mapping[str, Any], __: Answers) -> float:
    return _of_pairs(given, lambda one, other: float(given[one] != given[other]))


def _ratings(_: str, given: Mapping[str, Any], answers: Answers) -> float:
    every = [value for own in answers.values() for value in own.values()]
    widest = max(every) - min(every)
    return float(max(given.values()) - min(given.values())) / widest if widest else 0.0


def _marks(_: str, given: Mapping[str, Any], __: Answers) -> float:
    def distance(one: str, other: str) -> float:
        differ = sum(a != b for a, b in zip(given[one], given[other], strict=True))
        return float(differ / len(given[one]))

    return _of_pairs(given, distance)


def _groups(item: str, given: Mapping[str, Any], answers: Answers) -> float:
    def distance(one: str, other: str) -> float:
        common = [id for id in answers[one] if id in answers[other] and id != item]
        apart = sum((answers[one][id] == given[one]) != (answers[other][id] == given[other]) for id in common)
        return apart / len(common) if common else 0.0

    return _of_pairs(given, distance)


_APART: Mapping[Family, Callable[[str, Mapping[str, Any], Answers], float]] = {
    "classification": _labels, "sts": _ratings, "reranking": _marks, "clustering": _groups
}  # fmt: skip


def _texts(item: Item) -> tuple[str, ...]:
    found = [str(item.payload[name]) for name in _TEXTS if item.payload.get(name)]
    return tuple(text if len(text) <= LONGEST else text[:LONGEST].rstrip() + " …" for text in found)


def _said(value: Any) -> str:
    """An answer in words: marks by the places of the documents, shown order, that were marked.

    >>> _said((0, 1, 1)), _said((0, 0)), _said(3.0), _said("joy"), _said(None)
    ('2, 3', 'none', '3', 'joy', '')
    """
    if value is None:
        return ""
    if isinstance(value, tuple):
        return ", ".join(str(place) for place, mark in enumerate(value, start=1) if mark) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)
