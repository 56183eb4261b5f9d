"""Twins of passages: an old version with one thing changed, and copies that say the same; keyed, so that ranks tell."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from embassay.randomness import draw_random_bytes
from embassay.records import RetrievalSet
from embassay.text.chunking import find_sentence_ends
from embassay.text.semantics import negate_in_language
from embassay.text.unanswerable import change_first_value_of_kind

CHANGES = ("number", "date", "status", "negation")
"""What an old version says otherwise."""
_STATUS_IN_WORDS = """
    active inactive, valid invalid, open closed, enabled disabled, available unavailable, required optional,
    allowed forbidden, approved rejected, supported unsupported, public private, mandatory voluntary, current former,
    increased decreased, increases decreases, increase decrease, higher lower, high low, positive negative,
    minimum maximum, significant insignificant, effective ineffective, present absent, complete incomplete,
    permanent temporary, safe unsafe, stable unstable
"""
_PAIRS = [(pair.split()[0], pair.split()[1]) for pair in _STATUS_IN_WORDS.split(",")]
STATUS: Mapping[str, str] = {**dict(_PAIRS), **{second: first for first, second in _PAIRS}}
_STATUS_WORD = re.compile(rf"\b(?:{'|'.join(sorted(STATUS, key=len, reverse=True))})\b")


@dataclass(frozen=True)
class QuestionWithOldVersionAndCopies:
    """A question, the position of its current passage in the corpus, the old version of it and what that changes, and
    the copies."""

    query: int
    current: int
    change: str
    old: str
    copies: tuple[str, ...]


def make_old_versions_and_copies(
    data: RetrievalSet, limit: int, copies: int, seed: int, lang: str = ""
) -> tuple[list[QuestionWithOldVersionAndCopies], int]:
    """Twins for up to `limit` questions, drawn by `seed`, each with a passage of its own, its most relevant one; of
    every kind of change as many as there can be. Besides, for how many questions none could be made."""
    places = {key: place for place, key in enumerate(data.corpus.ids)}
    order = sorted(range(len(data.queries)), key=lambda row: draw_random_bytes(8, seed, "twins", data.queries.ids[row]))
    counts = dict.fromkeys(CHANGES, 0)
    used: set[int] = set()
    twins: list[QuestionWithOldVersionAndCopies] = []
    left = 0
    for row in order:
        if len(twins) == limit:
            break
        place = _find_best_unused_passage(data.qrels.get(data.queries.ids[row], {}), places, used)
        changed = None if place is None else _make_least_used_text_change(data, place, counts, seed, lang)
        if place is None or changed is None:
            left += 1
            continue
        used.add(place)
        counts[changed[0]] += 1
        copied = tuple(
            make_copy_with_print_version_line(data.corpus.texts[place], number) for number in range(1, copies + 1)
        )
        twins.append(QuestionWithOldVersionAndCopies(row, place, *changed, copied))
    return twins, left


def _find_best_unused_passage(grades: Mapping[str, float], places: Mapping[str, int], used: set[int]) -> int | None:
    ranked = sorted((-gain, key) for key, gain in grades.items() if gain > 0 and key in places)
    return next((places[key] for _, key in ranked if places[key] not in used), None)


def _make_least_used_text_change(
    data: RetrievalSet, place: int, counts: Mapping[str, int], seed: int, lang: str
) -> tuple[str, str] | None:
    """The first change that the text allows, of those that were made least often."""
    text, key = data.corpus.texts[place], data.corpus.ids[place]
    edits: Mapping[str, Callable[[], str | None]] = {
        "number": lambda: change_first_value_of_kind(text, "number", seed, key),
        "date": lambda: change_first_value_of_kind(text, "date", seed, key),
        "status": lambda: make_text_with_reversed_status(text),
        "negation": lambda: negate_first_negatable_sentence(text, lang),
    }
    for change in sorted(CHANGES, key=lambda name: counts[name]):
        old = edits[change]()
        if old is not None and old != text:
            return change, old
    return None


def make_text_with_reversed_status(text: str) -> str | None:
    """The text with its first word of status turned round; None where it has none.

    >>> make_text_with_reversed_status("The account is active until it is closed.")
    'The account is inactive until it is closed.'
    """
    match = _STATUS_WORD.search(text)
    return None if match is None else text[: match.start()] + STATUS[match[0]] + text[match.end() :]


def negate_first_negatable_sentence(text: str, lang: str = "") -> str | None:
    """The text with the first sentence that the rules of negation change negated; None where they change none."""
    start = 0
    for end in [*find_sentence_ends(text), len(text)]:
        sentence = text[start:end]
        negated = negate_in_language(sentence, lang)
        if negated != sentence:
            return text[:start] + negated + text[end:]
        start = end
    return None


def make_copy_with_print_version_line(text: str, number: int) -> str:
    """A copy as a crawler keeps it: the same text with a line of its own.

    >>> make_copy_with_print_version_line("The shop opens at nine.", 2)
    'The shop opens at nine. Page 2 of the print version.'
    """
    return f"{text} Page {number} of the print version."


class NearDuplicateGroups:
    """Which texts of a list nearly repeat an earlier one: by the Jaccard index of their runs of five characters."""

    def __init__(self, texts: Sequence[str], near: float) -> None:
        self._texts, self._near = texts, near
        self._runs: dict[int, frozenset[str]] = {}

    def of(self, places: Sequence[int]) -> list[int]:
        """For each text (its position) of a list the place in the list of the first that it nearly repeats, its own
        where it repeats none."""
        leaders: list[int] = []
        first: list[int] = []
        for row, place in enumerate(places):
            leader = next((other for other in leaders if self._are_near_copies(places[other], place)), row)
            if leader == row:
                leaders.append(row)
            first.append(leader)
        return first

    def _are_near_copies(self, first: int, second: int) -> bool:
        one_side, other = self._list_character_ngrams(first), self._list_character_ngrams(second)
        smaller, larger = sorted((len(one_side), len(other)))
        if smaller < self._near * larger:
            return False
        shared = len(one_side & other)
        return shared >= self._near * (smaller + larger - shared)

    def _list_character_ngrams(self, place: int) -> frozenset[str]:
        if place not in self._runs:
            text = " ".join(self._texts[place].casefold().split())
            self._runs[place] = frozenset(text[at : at + 5] for at in range(max(1, len(text) - 4)))
        return self._runs[place]
