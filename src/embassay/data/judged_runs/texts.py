"""Texts that engines answer with, found among the passages of a corpus; and questions by their text.

A text is looked for as it is, then with one kind of difference after another passed over: blanks, then letter case and
the kinds of quotation marks and dashes, then Markdown's marks and the punctuation at the end of words. Signs that mean
something stay: C++ is not C#, +5 not -5, 1.5 not 1,5. Last, a part of a passage is looked for, or a text that holds
one. What fits several passages alike is none of them.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

RUN = 5
"""Words, or signs of a script without blanks, that are compared at a time."""
LEAST = 20
"""Letters from which on a text may be found inside a passage, or a passage inside a text."""
_DENSE = 3
"""Letters that a sign of a script without blanks counts for."""

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u303f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff61-\uff9f"
    "\U00020000-\U0003ffff"
)
"""Thai, Lao, Burmese, Khmer, Chinese, Japanese: signs between which no blank stands."""
_WORDS = re.compile(f"[{_UNSPACED}]|[^\\s{_UNSPACED}]+")
_BETWEEN_SIGNS = re.compile(f"(?<=[{_UNSPACED}])\\s+(?=[{_UNSPACED}])")
_INVISIBLE = re.compile("[\u00ad\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff]")
"""Signs that nobody sees. Not the joiners (U+200C, U+200D), which tell words of some scripts and emoji apart."""
_ALIKE = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u00b4`", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        "\u2026": "...",
    }
)
"""Quotation marks and dashes that converters change into one another."""
_OF_OTHER_WIDTH = re.compile("[\u00a0\u2007\u202f\u3000\ufb00-\ufb06\uff01-\uffee]+")
"""Signs of another width, and ligatures. No other compatible form: a raised 2 is not a 2."""
_HEADING = re.compile(r"(?m)^[ \t]*(?:#{1,6}|[-*+\u2022>])[ \t]+(?=\S)")
_EMPHASIS = re.compile(r"(?<!\w)(\*{1,3}|_{1,3}|~~)(?=\S)(.{1,500}?)(?<=\S)\1(?!\w)", re.DOTALL)
_LINK = re.compile(r"!?\[([^\[\]]{0,500})\]\([^()\s]{0,500}\)")
_ENDS = re.compile(r"(?<=[^\W\d])['\"]*[.,;:!?]+['\"]*(?=\s|$)|(?<=[^\s.,;:!?])[.,;:]+(?=\s|$)")
_CLOSED = "\u3001\u3002\uff0c\uff0e\uff1b\uff1a\uff01\uff1f"
"""Punctuation of Chinese and Japanese."""


def _keep_text_unchanged(text: str) -> str:
    return text


def _normalise_blanks(text: str) -> str:
    """One blank for white space, none between signs of scripts that have none, nothing that nobody sees."""
    seen = _INVISIBLE.sub("", unicodedata.normalize("NFC", text))
    return _BETWEEN_SIGNS.sub("", " ".join(seen.split()))


def _fold_case_and_punctuation(text: str) -> str:
    """Fold letter case, and kinds of quotation mark, of dash and of width."""
    usual = _OF_OTHER_WIDTH.sub(lambda match: unicodedata.normalize("NFKC", match.group()), text)
    return _normalise_blanks(usual.translate(_ALIKE).casefold())


def normalize_text_for_matching(text: str) -> str:
    """A text without what converters change: letter case, blanks, Markdown's marks, quotation marks around words and
    punctuation after them.

    >>> (normalize_text_for_matching("# The  **plug-in** works, with C#."),
    ... normalize_text_for_matching("Set it to +5, not to -5."))
    ('the plug-in works with c#', 'set it to +5 not to -5')
    """
    lines = _HEADING.sub("", html.unescape(text))
    plain = _EMPHASIS.sub(r"\2", _LINK.sub(r"\1", lines))
    folded = _ENDS.sub("", _fold_case_and_punctuation(plain))
    words = [word.strip("'\"") or word for word in folded.split(" ")]
    return " ".join(words).strip(_CLOSED) or folded


_STEPS: tuple[Callable[[str], str], ...] = (
    _keep_text_unchanged,
    _normalise_blanks,
    _fold_case_and_punctuation,
    normalize_text_for_matching,
)


@dataclass(frozen=True)
class PassagesMatchingText:
    """The passages that a text may be: one, several that it fits alike, or none. `is_same` says that they are of one
    text."""

    ids: tuple[str, ...] = ()
    is_same: bool = False


class TextIndexByWording:
    """Texts by their ids, and how they are found."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self._by_step: list[dict[str, list[str]]] = []

    def find_passages_equal_to_text(self, text: str) -> PassagesMatchingText:
        """The texts that are this one, by the first step that finds any."""
        if not _normalise_blanks(text):
            return PassagesMatchingText()
        for number, step in enumerate(_STEPS):
            if ids := self._index_names_by_normalised_text(number).get(step(text)):
                return PassagesMatchingText(tuple(ids), len({self._texts[name] for name in ids}) == 1)
        return PassagesMatchingText()

    def find_alike_texts(self, text: str) -> PassagesMatchingText:
        """The texts that are this one; else those that are cut otherwise, with half of the shorter in common."""
        same = self.find_passages_equal_to_text(text)
        return same if same.ids else self._find_overlapping_texts(text)

    def _index_names_by_normalised_text(self, number: int) -> dict[str, list[str]]:
        while len(self._by_step) <= number:
            step = _STEPS[len(self._by_step)]
            names: dict[str, list[str]] = {}
            for name, text in self._texts.items():
                if _normalise_blanks(text):
                    names.setdefault(step(text), []).append(name)
            self._by_step.append(names)
        return self._by_step[number]

    @cached_property
    def _texts_by_word_run(self) -> dict[tuple[str, ...], list[str]]:
        """The texts by their runs of words."""
        names: dict[tuple[str, ...], list[str]] = {}
        for name, runs in self._word_runs_by_text.items():
            for run in runs:
                names.setdefault(run, []).append(name)
        return names

    @cached_property
    def _word_runs_by_text(self) -> dict[str, frozenset[tuple[str, ...]]]:
        return {name: frozenset(_list_word_ngrams(text)) for name, text in self._texts.items()}

    def _find_overlapping_texts(self, text: str) -> PassagesMatchingText:
        wanted = frozenset(_list_word_ngrams(text))
        if _estimate_comparable_text_length(text) < LEAST or not wanted:
            return PassagesMatchingText()
        votes = Counter(name for run in wanted for name in self._texts_by_word_run.get(run, ()))
        if not votes:
            return PassagesMatchingText()
        most = max(votes.values())
        best = [name for name, count in votes.items() if count == most]
        inside = [name for name, count in votes.items() if count == len(self._word_runs_by_text[name])]
        if most < len(wanted) and len(inside) > 1:
            best = self._drop_inner_passages(inside)
        least = min(len(wanted), *(len(self._word_runs_by_text[name]) for name in best))
        best = [name for name in best if _is_same_text_cut_otherwise(text, self._texts[name])]
        # Less than half of the shorter text in common is no match.
        if 2 * most < least or not best:
            return PassagesMatchingText()
        return PassagesMatchingText(tuple(best), len({self._texts[name] for name in best}) == 1)

    def _drop_inner_passages(self, names: Iterable[str]) -> list[str]:
        """Drop the passages that are inside another of them, all being inside one text."""
        longest = sorted(names, key=lambda name: -len(self._word_runs_by_text[name]))
        kept: list[str] = []
        for name in longest:
            if not any(self._word_runs_by_text[name] < self._word_runs_by_text[other] for other in kept):
                kept.append(name)
        return kept


def _is_same_text_cut_otherwise(text: str, passage: str) -> bool:
    """Whether two texts are parts of one, or one of the other: they have half of the shorter in common, word for word,
    and before and after it one of them ends. A word that differs within is another text."""
    here, there = (
        _WORDS.findall(normalize_text_for_matching(text)),
        _WORDS.findall(normalize_text_for_matching(passage)),
    )
    places: dict[tuple[str, ...], list[int]] = {}
    for place in range(len(there) - RUN + 1):
        places.setdefault(tuple(there[place : place + RUN]), []).append(place)
    shifts = {
        other - place
        for place in range(len(here) - RUN + 1)
        for other in places.get(tuple(here[place : place + RUN]), ())
    }
    return here == there or any(_are_overlapping_words_equal(here, there, shift) for shift in shifts)


def _are_overlapping_words_equal(here: Sequence[str], there: Sequence[str], shift: int) -> bool:
    """Whether all words that stand over one another are the same, `there` moved by `shift`; the first and the last may
    be cut off within."""
    start, end = max(0, -shift), min(len(here), len(there) - shift)
    pairs = [(here[place], there[place + shift]) for place in range(start, end)]
    if 2 * len(pairs) < min(len(here), len(there)):
        return False
    if any(a != b for a, b in pairs[1:-1]):
        return False
    (first, other_first), (last, other_last) = pairs[0], pairs[-1]
    begin_together, end_together = shift == 0, len(here) == len(there) - shift
    begins = not begin_together and _is_prefix_of_other_word(first[::-1], other_first[::-1])
    ends = not end_together and _is_prefix_of_other_word(last, other_last)
    return (first == other_first or begins) and (last == other_last or ends)


def _is_prefix_of_other_word(word: str, other: str) -> bool:
    """Whether one word is the other with letters cut off from its end."""
    shorter, longer = sorted((word, other), key=len)
    return longer.startswith(shorter) and longer[len(shorter) :].isalnum()


def _list_word_ngrams(text: str) -> Iterable[tuple[str, ...]]:
    """The runs of words of a text; all of it where it has fewer."""
    words = _WORDS.findall(normalize_text_for_matching(text))
    if len(words) < RUN:
        return [tuple(words)] if words else []
    return (tuple(words[place : place + RUN]) for place in range(len(words) - RUN + 1))


def _estimate_comparable_text_length(text: str) -> int:
    dense = sum(len(word) == 1 and re.match(f"[{_UNSPACED}]", word) is not None for word in _WORDS.findall(text))
    return len(text.strip()) + (_DENSE - 1) * dense


Judged = Mapping[str, Mapping[str, float]]
"""Query -> document -> what it was judged."""


@dataclass
class AnswerTextMatcher:
    """What answers are held against: id -> text of passages and of questions, and what is judged.

    It counts the items of answers that were found by their text (`matched`), that are in no passage (`unmatched`), and
    that fit several alike (`ambiguous`); the last two stay in the run, as documents that nobody judged.
    """

    passages: Mapping[str, str]
    questions: Mapping[str, str] = field(default_factory=dict)
    judge: Callable[[], Judged] = dict
    """Gives what is judged, once it is asked for: few files need it, and it is large."""
    matched: int = 0
    unmatched: int = 0
    ambiguous: int = 0

    def __post_init__(self) -> None:
        self._passages, self._questions = (TextIndexByWording(self.passages), TextIndexByWording(self.questions))

    @cached_property
    def judged_texts(self) -> Judged:
        """What is judged."""
        return self.judge()

    @cached_property
    def document_ids(self) -> frozenset[str]:
        """The ids that a document may have: of the corpus, else of the judgements."""
        return frozenset(self.passages) or frozenset(doc for docs in self.judged_texts.values() for doc in docs)

    def question(self, asked: str) -> str:
        """The id of a question given by its id or its text; as given where it is neither, or fits several."""
        if asked in self.questions or asked in self.judged_texts:
            return asked
        names = self._questions.find_passages_equal_to_text(asked).ids
        judged = [name for name in names if name in self.judged_texts]
        chosen = names if len(names) == 1 else judged
        return chosen[0] if len(chosen) == 1 else asked

    def is_known_question(self, asked: str) -> bool:
        """Whether it is the id of a question that is asked or judged, or its text."""
        return self.question(asked) in self.judged_texts or self.question(asked) in self.questions

    def find_passage_by_text(self, text: str) -> str | None:
        """The passage with this text, or the one that it is a part of; None where there is none or several fit."""
        # Of several passages with this text, none can be told to be the one that was meant.
        ids = self._passages.find_alike_texts(text).ids
        return ids[0] if len(ids) == 1 else None

    def place(self, text: str, query: str, taken: Iterable[str] = ()) -> str | None:
        """The passage that a text is in an answer to `query`, counted; None where there is none or several fit.

        Passages of one text are one to a reader: of these a judged one is it, if no two of them were judged
        differently, and each is only once in an answer (`taken`)."""
        match = self._passages.find_alike_texts(text)
        name = match.ids[0] if len(match.ids) == 1 else self._choose_among_equal_passages(match, query, set(taken))
        if name is not None:
            self.matched += 1
        elif match.ids:
            self.ambiguous += 1
        else:
            self.unmatched += 1
        return name

    def _choose_among_equal_passages(self, match: PassagesMatchingText, query: str, taken: set[str]) -> str | None:
        grades = {name: self.judged_texts.get(query, {}).get(name) for name in match.ids}
        judged = [name for name, grade in grades.items() if grade is not None]
        if not match.is_same or len({grades[name] for name in judged}) > 1:
            return None
        free = [name for name in (*judged, *match.ids) if name not in taken]
        return free[0] if free and judged else None
