"""Questions that a corpus does not answer: those of it with a changed value (near), and those of other domains (far).

No model writes them. A near question has its entity, number, date or version changed so that no passage has the new
value beside the question's other words. That is a check of words: a passage that says the same in others is not seen.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from embassay.randomness import draw_random_bytes

VALUES = ("version", "date", "number", "entity")
"""What is changed in a near question, in the order in which a piece of text is taken for one of them."""
MOST_NEAR, MOST_FAR = 0.3, 0.5
"""Share of a question's words, weighted by how rare they are, from which a passage may answer it: of the words beside
the new value of a near one, and of all words of a far one."""
_TRIES = 40
_NO_NAME = re.compile(r"-[a-z]|['’]s?$")
_WORD = re.compile(r"\w+")
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December"
)  # fmt: skip
_PATTERNS: Mapping[str, re.Pattern[str]] = {
    "version": re.compile(
        r"(?<![\w.])v?\d+(?:\.\d+){2,3}(?![\w.]*\d)|(?<=[Vv]ersion )\d+(?:\.\d+)*|\bv\d+(?:\.\d+)?\b"
    ),
    "date": re.compile(rf"\b(?:1[5-9]|20)\d\d\b(?![.,]\d)|\b(?:{'|'.join(_MONTHS)})\b(?= \d)"),
    "number": re.compile(r"(?<![\w.,-])\d+(?:[.,]\d+)*(?![\w.]*\w)"),
    "entity": re.compile(r"(?<=[\w,;:)] )(?:[A-Z][\w'’-]*\w(?: (?=[A-Z]))?)+"),
}


@dataclass(frozen=True)
class QuestionWithChangedValue:
    """A question with its value `was` become `now`; `of` is the id of the question that it was made of."""

    of: str
    text: str
    value: str
    was: str
    now: str


@dataclass(frozen=True)
class GeneratedUnanswerableQuestions:
    """What was made, and how many questions nothing could be made of, by reason."""

    questions: tuple[QuestionWithChangedValue, ...]
    rejected: Mapping[str, int] = field(default_factory=dict)


class PassageWordCoverage:
    """Which share of some words a passage has, of passages as texts (n,)."""

    def __init__(self, passages: Sequence[str]) -> None:
        self.passages = passages
        rows: dict[str, list[int]] = {}
        for row, passage in enumerate(passages):
            for word in set(_split_words(passage)):
                rows.setdefault(word, []).append(row)
        self._rows = {word: np.array(places, dtype=np.int64) for word, places in rows.items()}

    def find_rows_with_words(self, text: str) -> NDArray[np.int64]:
        """The passages (rows) that have every word of a text."""
        words = _split_words(text)
        none = np.zeros(0, dtype=np.int64)
        rows = self._rows.get(words[0], none) if words else none
        for word in words[1:]:
            rows = np.intersect1d(rows, self._rows.get(word, none), assume_unique=True)
        return rows

    def most(self, words: Sequence[str], rows: NDArray[np.int64] | None = None) -> float:
        """The largest share of the words that one passage has, of all passages or of `rows`; each word counts by how
        rare it is, as in BM25. 0 where there is no word."""
        n = len(self.passages)
        if rows is not None and not len(rows):
            return 0.0
        share, total = np.zeros(n), 0.0
        for word in dict.fromkeys(words):
            places = self._rows.get(word, np.zeros(0, dtype=np.int64))
            # BM25's idf, log(1 + (n - df + 0.5) / (df + 0.5)).
            weight = float(np.log1p((n - len(places) + 0.5) / (len(places) + 0.5)))
            share[places] += weight
            total += weight
        picked = share if rows is None else share[rows]
        return float(picked.max()) / total if len(picked) and total else 0.0

    def list_words_found_in_passages(self, text: str) -> list[str]:
        """The words of a text that a passage has."""
        return [word for word in _split_words(text) if word in self._rows]

    @cached_property
    def entity_names(self) -> tuple[str, ...]:
        """Names within sentences of the passages, each once, sorted."""
        pattern = _PATTERNS["entity"]
        names = {match[0] for passage in self.passages for match in pattern.finditer(passage)}
        # "DNA-bound" and "WHO's" are made of names, and none.
        return tuple(sorted(name for name in names if not _NO_NAME.search(name)))


def make_unanswerable_questions(
    questions: Sequence[tuple[str, str]], cover: PassageWordCoverage, limit: int, seed: int
) -> GeneratedUnanswerableQuestions:
    """Up to `limit` of the `questions` (id, text) with a value changed, in the order of a draw by id and `seed`, each
    kind of value (`VALUES`) as often as there are questions with one."""
    ranked = sorted(questions, key=lambda pair: draw_random_bytes(8, seed, "near", pair[0]))
    made: dict[str, list[QuestionWithChangedValue]] = {value: [] for value in VALUES}
    rejected = Counter[str]()
    texts = {" ".join(_split_words(text)) for _, text in questions}
    for key, text in ranked:
        # Twice as many leave a choice among the kinds of value.
        if sum(map(len, made.values())) >= 2 * limit:
            break
        spots = list(find_changeable_values(text))
        if not spots:
            rejected["no entity, number, date or version"] += 1
            continue
        # The kind that has fewest so far, so that all of them come in.
        spots.sort(key=lambda spot: len(made[spot[0]]))
        changed = _make_question_unanswerable(key, text, spots, cover, seed, texts)
        if changed is None:
            rejected["a passage may answer every changed version"] += 1
            continue
        texts.add(" ".join(_split_words(changed.text)))
        made[changed.value].append(changed)
    turns = _interleave_changed_questions_by_kind(made)
    return GeneratedUnanswerableQuestions(tuple(turns[:limit]), dict(rejected))


def _interleave_changed_questions_by_kind(
    made: Mapping[str, list[QuestionWithChangedValue]],
) -> list[QuestionWithChangedValue]:
    longest = max(map(len, made.values()))
    return [of_value[turn] for turn in range(longest) for of_value in made.values() if turn < len(of_value)]


def find_changeable_values(text: str) -> Iterator[tuple[str, int, int]]:
    """What may be changed in a text: kind of value, start and end; no part of one is another.

    >>> list(find_changeable_values("Did Ada ship 2.1.0 in 1999?"))
    [('version', 13, 18), ('date', 22, 26), ('entity', 4, 7)]
    """
    taken: list[tuple[int, int]] = []
    words = _WORD.findall(text)
    # Of a title in capitals nothing tells what is a name.
    titled = sum(word[0].isupper() for word in words) > len(words) / 2
    for kind in VALUES:
        if kind == "entity" and titled:
            continue
        for match in _PATTERNS[kind].finditer(text):
            if all(match.end() <= start or match.start() >= end for start, end in taken):
                taken.append(match.span())
                yield kind, *match.span()


def _make_question_unanswerable(
    key: str, text: str, spots: Sequence[tuple[str, int, int]], cover: PassageWordCoverage, seed: int, texts: set[str]
) -> QuestionWithChangedValue | None:
    """With the first value, of the first spot, that no passage has beside the question's other words."""
    for kind, start, end in spots:
        was = text[start:end]
        # Words of no passage, such as those of asking, would only make a passage look less like an answer.
        rest = cover.list_words_found_in_passages(text[:start] + " " + text[end:])
        for now in _propose_other_values(kind, was, cover, seed, key):
            new = text[:start] + now + text[end:]
            is_new = " ".join(_split_words(new)) not in texts and now.casefold() not in text.casefold()
            if is_new and cover.most(rest, cover.find_rows_with_words(now)) < MOST_NEAR:
                return QuestionWithChangedValue(key, new, kind, was, now)
    return None


def _propose_other_values(kind: str, was: str, cover: PassageWordCoverage, seed: int, key: str) -> Iterator[str]:
    """Up to `_TRIES` values of the same form, in a drawn order."""
    if kind == "entity":
        size = len(was.split())
        others = [name for name in cover.entity_names if len(name.split()) == size and name != was]
        others.sort(key=lambda name: draw_random_bytes(8, seed, "near", key, name))
        yield from others[:_TRIES]
        return
    if was in _MONTHS:
        others = [month for month in _MONTHS if month != was]
        yield from sorted(others, key=lambda month: draw_random_bytes(8, seed, "near", key, month))
        return
    yield from _list_shifted_values(kind, was, draw_random_bytes(2 * _TRIES, seed, "near", key, was))


def _list_shifted_values(kind: str, was: str, draws: bytes) -> Iterator[str]:
    """Other values of the form of `was`, one for every two bytes of the `draws`."""
    change: Callable[[str, int], str] = _shift_year if kind == "date" else _shift_last_digits
    if was in _MONTHS:
        change = _pick_month_by_draw
    for place in range(0, len(draws), 2):
        now = change(was, int.from_bytes(draws[place : place + 2], "big"))
        if now != was:
            yield now


def change_first_value_of_kind(text: str, kind: str, seed: int, key: str) -> str | None:
    """The text with its first value of a kind (`number`, `date`) changed to another of the same form, by a draw for
    `key`; None where it has none."""
    spot = next((place for place in find_changeable_values(text) if place[0] == kind), None)
    if spot is None:
        return None
    _, start, end = spot
    draws = draw_random_bytes(2 * _TRIES, seed, "values", key, kind)
    now = next(_list_shifted_values(kind, text[start:end], draws), None)
    return None if now is None else text[:start] + now + text[end:]


def _pick_month_by_draw(_: str, draw: int) -> str:
    return _MONTHS[draw % len(_MONTHS)]


def _shift_year(was: str, draw: int) -> str:
    return str(int(was) + (draw % 23) - 11)


def _shift_last_digits(was: str, draw: int) -> str:
    """The last group of digits become another of as many digits: `2.1.0` is `2.1.7`, `40` is `83`."""
    match = list(re.finditer(r"\d+", was))[-1]
    digits = match[0]
    lowest = 10 ** (len(digits) - 1) if len(digits) > 1 else 1
    drawn = str(lowest + draw % (10 ** len(digits) - lowest))
    return was[: match.start()] + drawn + was[match.end() :]


def load_off_topic_questions() -> tuple[str, ...]:
    """Our own questions of many domains, in English."""
    lines = files("embassay.text").joinpath("far_questions.txt").read_text("utf-8").splitlines()
    return tuple(line.strip() for line in lines if line.strip())


def draw_questions_unlike_passages(
    questions: Sequence[str], cover: PassageWordCoverage, limit: int, seed: int
) -> GeneratedUnanswerableQuestions:
    """Up to `limit` of the `questions`, drawn by `seed`, that share few words with any passage; the first of equal
    ones."""
    ranked = sorted(dict.fromkeys(questions), key=lambda text: draw_random_bytes(8, seed, "far", text))
    drawn: list[QuestionWithChangedValue] = []
    rejected = 0
    for text in ranked:
        if len(drawn) == limit:
            break
        if cover.most(_split_words(text)) >= MOST_FAR:
            rejected += 1
            continue
        drawn.append(QuestionWithChangedValue("", text, "", "", ""))
    reasons = {"a passage has most of its words": rejected} if rejected else {}
    return GeneratedUnanswerableQuestions(tuple(drawn), reasons)


def _split_words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
