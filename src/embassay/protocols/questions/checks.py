"""What a written question has to pass that needs no model: its length, its words, its language, its kind."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from embassay.data.documents import PlacedPassage
from embassay.data.language import explain_why_languages_of_texts_differ, explain_why_text_not_in_language
from embassay.protocols.questions import QuestionsOptions
from embassay.randomness import draw_random_bytes

CHECKS = 3
"""Of the checks; raised when a question is kept or refused that was not before."""
_WORD = re.compile(r"\w+")
_REPORT = r"(?:study|paper|research|report|experiment|trial|review|survey|investigation|work)"
_SPEAKS_OF_IT = re.compile(
    r"\b(?:this|the|that|given|above|these) (?:passage|text|document|excerpt|paragraph|article|author)s?\b"
    rf"|\bthis {_REPORT}\b|\bthese (?:studies|papers|experiments|trials)\b"
    # "the study of jets", "the paper by Smith" are named; a paper alone may be what is written on.
    rf"|\bthe (?!paper\b|work\b|research\b){_REPORT}\b(?! (?:of|on|about|by|from|into|called|titled|that|which)\b)"
    r"|\bthe paper (?:reports?|proposes?|describes?|claims?|says?|finds?|presents?|concludes?|discuss(?:es)?|argues?)\b"
    r"|\b(?:does|did|do) the paper\b|\bthe (?:researchers|investigators)\b(?! (?:of|who|at|from)\b)",
    re.IGNORECASE,
)
_ASKS = (
    r"(?:what|which|who|whose|whom|when|where|why|how|is|are|was|were|do|does|did|can|could|should|would|will|has"
    r"|have)"
)
_FULL_QUESTION = re.compile(rf"\W*{_ASKS}\b", re.IGNORECASE)
_OF_ITS_KIND: Mapping[str, re.Pattern[str]] = {
    "procedure": re.compile(
        r"\b(?:how|steps?|procedures?|process|methods?|instructions?|ways? (?:to|of)"
        r"|what (?:must|should|do|does) \w+ do)\b",
        re.IGNORECASE,
    ),
    "comparison": re.compile(
        r"\b(?:than|differ\w*|compar\w*|versus|vs|between|or|rather|instead|prefer\w*|more|less|fewer|better|worse|same|"
        r"both|unlike|relative|which of|most|least|contrast|distinguish\w*|advantages?|(?:larg|small|bigg|high|low|"
        r"long|short|fast|slow|old|young|new|great|strong|weak|earli|lat|cheap|heavi|light|warm|cold|thick)(?:er|est))\b",
        re.IGNORECASE,
    ),
}
"""What an English question of a kind has at least."""
_KEYWORDS = 8
"""Words beyond which nobody speaks of keywords; the prompt asks for six at most."""
_LONGEST = 300
_RUN = 6
"""Words in a row that are a copy however long the question."""


def find_question_fault(
    question: str, kind: str, passage: PlacedPassage, options: QuestionsOptions
) -> tuple[str, str] | None:
    """Why a question is not kept, and more words; None where it passes the checks that need no model."""
    if not question:
        return "nothing to ask", ""
    if len(question) > _LONGEST:
        return "too long", f"{len(question)} characters"
    if _SPEAKS_OF_IT.search(question):
        return "speaks of the passage", question
    if not is_of_question_kind(question, kind):
        return "of another kind", question
    wrong = (
        explain_why_text_not_in_language(question, options.into) if kind == "language"
        else explain_why_languages_of_texts_differ(passage.body, question, passage.lang or "und")
    )  # fmt: skip
    if wrong:
        return "wrong language", f"{wrong}: {question}"
    if is_copy_of_passage(question, passage.body, kind, options.copied):
        return "copied", question
    return None


def is_of_question_kind(question: str, kind: str) -> bool:
    """Whether a question may be of its kind: keywords are no sentence, in any language; a procedure or a comparison
    asks for one, where the question is English.

    >>> (is_of_question_kind("ship engine fuel", "keywords"),
    ... is_of_question_kind("What fuel does the ship burn?", "keywords"))
    (True, False)
    """
    if kind == "keywords":
        is_sentence = _FULL_QUESTION.match(question) or question.rstrip().endswith(("?", "？", "؟"))
        return not is_sentence and len(_split_words(question)) <= _KEYWORDS
    pattern = _OF_ITS_KIND.get(kind)
    return pattern is None or not _FULL_QUESTION.match(question) or bool(pattern.search(question))


def is_copy_of_passage(question: str, body: str, kind: str, most: float) -> bool:
    """Whether the longest run of words that a question shares with the passage is six words or more, or over `most` of
    a question of four words or more; of keywords, whether all three or more of them are such a run.

    >>> is_copy_of_passage("what does the engine burn at night", "The engine burn at night is low.", "fact", 0.6)
    True
    """
    asked = _split_words(question)
    run = measure_longest_shared_run(asked, _split_words(body))
    if kind == "keywords":
        return len(asked) >= 3 and run == len(asked)
    return run >= _RUN or (len(asked) >= 4 and run > most * len(asked))


def measure_longest_shared_run(asked: Sequence[str], words: Sequence[str]) -> int:
    """The most of the words `asked` that stand in a row in `words`, in the same order.

    >>> measure_longest_shared_run("a b c d".split(), "x b c y d".split())
    2
    """
    # A row of the table of the longest common run; only the row before it is needed.
    before = [0] * (len(asked) + 1)
    best = 0
    for word in words:
        now = [0] * (len(asked) + 1)
        for place, own_word in enumerate(asked, 1):
            if own_word == word:
                now[place] = before[place - 1] + 1
        best, before = max(best, *now), now
    return best


def _split_words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


_AROUND = " \t\n\"'“”‘’«»„…."
_MARKDOWN = "*_`~"
"""Marks of emphasis, code and strokes."""
_UNMARKED = str.maketrans("", "", _MARKDOWN)


def find_quotation_span(body: str, quote: str) -> tuple[int, int] | None:
    """Start and end of a quotation in a passage, whatever its whitespace, case, quotation marks and marks of Markdown,
    which models leave out; None where it does not stand there, or is shorter than two letters.

    >>> find_quotation_span("It burns  oil at night.", '"burns oil..."')
    (3, 13)
    >>> find_quotation_span("- **Negatives** are the `query`'s own.", "Negatives are the query's own.")
    (4, 37)
    """
    if (span := _find_span_of_quoted_words(body, quote)) is not None:
        return span
    kept = [place for place, sign in enumerate(body) if sign not in _MARKDOWN]
    bare = "".join(body[place] for place in kept)
    span = _find_span_of_quoted_words(bare, quote.translate(_UNMARKED))
    return None if span is None else (kept[span[0]], kept[span[1] - 1] + 1)


def _find_span_of_quoted_words(body: str, quote: str) -> tuple[int, int] | None:
    words = quote.strip(_AROUND).split()
    if sum(map(len, words)) < 2:
        return None
    match = re.search(r"\s+".join(map(re.escape, words)), body, re.IGNORECASE)
    return None if match is None else match.span()


def mistype_question(question: str, seed: int, key: str) -> str:
    """The question with one typing error, two where it has eight words or more: two neighbouring letters within a word
    of four letters or more exchanged, or one left out."""
    words = question.split(" ")
    long = [place for place, word in enumerate(words) if len(word) >= 4 and word.isalpha()]
    draws = draw_random_bytes(12, seed, "typing errors", key)
    for number in range(min(len(long), 1 + (len(words) >= 8))):
        # Three bytes an error: which of the words that are left, where in it, and of which kind.
        at, where, how = draws[3 * number : 3 * number + 3]
        word = words[place := long.pop(at % len(long))]
        i = 1 + where % (len(word) - 2)
        swapped = word[:i] + word[i + 1] + word[i] + word[i + 2 :]
        # Two equal letters exchanged make no error, so one is left out.
        words[place] = swapped if how % 2 and swapped != word else word[:i] + word[i + 1 :]
    return " ".join(words)
