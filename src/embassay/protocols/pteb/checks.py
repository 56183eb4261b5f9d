"""Whether a wording still says what its text says: answers in its place, remarks around it, lost slots, copies.

A rule of thumb each, for English; what they catch of people's labels, and what they cost, is measured by
`benchmarks/paraphrase_checks.py` (docs/paraphrases.md).
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping

_APOSTROPHE = r"['’]?"
# Possessive: commas could be tried as either part, each way.
_ASKS = re.compile(
    r"\A\W*+(please |can you |could you |would you |so |and |but |then |ok |okay |hey |hi |,)*"
    r"(what|when|where|which|who|whom|whose|why|how|is|are|am|was|were|do|does|did|can|could|will|would|shall|should|may"
    rf"|might|must|has|have|had|isn{_APOSTROPHE}t|aren{_APOSTROPHE}t|won{_APOSTROPHE}t|what{_APOSTROPHE}s"
    rf"|how{_APOSTROPHE}s|where{_APOSTROPHE}s|who{_APOSTROPHE}s|at what|in what|on what|in which|for how|to what)\b",
    re.IGNORECASE,
)
_REQUESTS = re.compile(
    r"\b(please|tell me|let me know|give me|show me|find( me)?|look up|check|list|explain|describe|inform|provide"
    r"|remind|help me|get me|need|want|would like|wish|wonder(ing)?|curious|like to know|interested in|looking for"
    rf"|seeking|want(ed)? to know|share|i{_APOSTROPHE}d like|desire|inquir\w+|enquir\w+|request\w*|requir\w+)\b",
    re.IGNORECASE,
)
ASSISTANT = re.compile(
    rf"\b(i{_APOSTROPHE}m|i am) (very |so )?(sorry|afraid)\b[^.?!]{{0,40}}?\b(i|but|we)\b"
    rf"|\A(i|we) apologi[sz]e\b|\A(sorry|apologies)\b.{{0,30}}\b(i|we)\b"
    r"|\bas an ai\b|\bai (language )?model\b|\blanguage model\b|\bvirtual assistant\b"
    rf"|\b(i{_APOSTROPHE}m|i am) (not )?programmed\b|\bi (do not|don{_APOSTROPHE}t) have (access|enough|any)\b"
    r"|\bso (that )?(i|we) (can|could|may) (better )?(assist|help)( you)?\b|\b(assist|help) you (better|further|with)\b"
    r"|\bhow (can|may) i (help|assist)\b|\bmay i (know|have|ask)\b"
    r"|\bi (need|require) (some )?more (information|context|details)"
    r"|\b(can|could|would) you (please )?(provide|specify|clarify|confirm|share|give)( me)?( with)?"
    r"( the| your| more| some| any| additional)? ?(\w+ ){0,3}(information|details|context|name|location|number|account)"
    r"|\Aplease (provide|specify|clarify|confirm)\b|\bcan you be more specific\b"
    r"|\bdo you have (any|a) specific\b|\bi (can ?not|can{0,1}t) (answer|provide|respond|determine|find)\b",
    re.IGNORECASE,
)
"""The voice of an assistant that answers or asks back, in place of a wording."""
ASKS_BACK = re.compile(
    r"\byour\b|\b(would|do|are|have|did|were|could|can) you (like|want|wish|need|prefer|have|looking|sure|able|ready"
    r"|tried|considered|know|interested|referring|trying|describe)\b|\byou (would|want|are|wish|need|prefer|have|can"
    r"|like|specify|require|may|should)\b|\bhelp you\b|\bassist you\b|\bfor you\b",
    re.IGNORECASE,
)
"""Who is spoken to has changed: the text is told to who sent it."""
_SENDER = re.compile(r"\b(i|me|my|mine|we|us|our)\b", re.IGNORECASE)
_ADDRESSED = re.compile(r"\b(you|your|yours|u)\b", re.IGNORECASE)
FRAME = re.compile(
    r"\A\W*(altered|alteration|paraphrased?( (text|sentence|version))?|rephrased|reworded|rewritten|output|answer"
    r"|here('s| is| are)\b[^:]{0,60})\s*:"
    r"|\b(justification|explanation|check|note|alteration|addition|deletion)\s*:\s"
    r"|\((addition|deletion|alteration|note)\b[^)]{0,1000}\)|'''|\bthe alteration\b|\balteration (of|is|has)\b"
    r"|\bmeaning of the (original )?sentence\b|\bthe (paraphrased|original|altered) (sentence|text)\b",
    re.IGNORECASE,
)
"""What models put around a wording, or say of it."""


def explain_wording_as_answer(text: str, wording: str) -> str:
    """Why the wording answers its text, speaks to who sent it or tells of itself, in place of rewording; empty where it
    does not.

    A text that asks may become a request, and the other way round; a statement in its place is an answer. Marks that
    the text has itself do not count.

    >>> explain_wording_as_answer("what is my bank's number", "the number of the bank is 555 1234")
    'a statement instead of a question'
    >>> explain_wording_as_answer("what is my bank's number", "please tell me the number of my bank")
    ''
    """
    for what, marks in (("it responds like an assistant", ASSISTANT), ("it talks about itself", FRAME)):
        mark = marks.search(wording)
        if mark and not marks.search(text):
            return f"{what}: {mark[0]!r}"
    mark = ASKS_BACK.search(wording)
    if mark and not _ADDRESSED.search(text) and not _SENDER.search(wording.replace("may i", "").replace("can i", "")):
        return f"it asks back: {mark[0]!r}"
    if is_question(text) and not is_question(wording) and not _REQUESTS.search(wording):
        return "a statement instead of a question"
    return ""


def is_question(text: str) -> bool:
    """Whether a text is a question by its first word or its last sign."""
    return text.rstrip().endswith("?") or _ASKS.match(text) is not None


def is_near_copy(text: str, wording: str) -> bool:
    """Whether a wording differs from its text in case, punctuation and spaces alone.

    >>> is_near_copy("Will it rain in  Rome ?", "will it rain in Rome")
    True
    """
    return _keep_letters_and_digits(text) == _keep_letters_and_digits(wording)


def _keep_letters_and_digits(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(sign for sign in folded if sign.isalnum())


_UNITS: Mapping[str, int] = {
    word: value
    for value, words in enumerate(
        (
            "zero", "one first", "two second", "three third", "four fourth", "five fifth", "six sixth", "seven seventh",
            "eight eighth", "nine ninth", "ten tenth", "eleven eleventh", "twelve twelfth", "thirteen thirteenth",
            "fourteen fourteenth", "fifteen fifteenth", "sixteen sixteenth", "seventeen seventeenth",
            "eighteen eighteenth", "nineteen nineteenth",
        )
    )
    for word in words.split()
}  # fmt: skip
_TENS: Mapping[str, int] = {
    word: 10 * (place + 2)
    for place, words in enumerate(
        ("twenty twentieth", "thirty thirtieth", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
    )
    for word in words.split()
}  # fmt: skip
_FREE = {"one", "first", "second"}
"""Numbers that are words as well."""
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+", re.UNICODE)


def count_numbers_by_value(text: str) -> Counter[str]:
    """The numbers of a text by value, digits and English words alike; ``one``, ``first`` and ``second`` are none.

    >>> sorted(count_numbers_by_value("a table for nine on August 21st at 5:30, twenty-two people"))
    ['21', '22', '30', '5', '9']
    """
    counts: Counter[str] = Counter()
    tens = 0
    for part in _NUMBER.findall(text.casefold()):
        if part[0].isdigit():
            counts.update(str(int(digits)) for digits in re.findall(r"\d+", part))
        # `twenty` was counted as 20 when it was read; with `two` behind it, it is 22.
        elif tens and 0 < _UNITS.get(part, 0) < 10:
            counts[str(tens)] -= 1
            counts[str(tens + _UNITS[part])] += 1
        elif part in _TENS or (part in _UNITS and part not in _FREE):
            counts[str(_TENS.get(part, _UNITS.get(part, 0)))] += 1
        tens = _TENS.get(part, 0)
    # A unary plus drops the counts of 0, of tens that became another number.
    return +counts


_NAME = re.compile(r"[^\W\d_][\w'’.-]*", re.UNICODE)
_MONTHS_IN_WORDS = """
    january february march april may june july august september october november december monday tuesday wednesday
    thursday friday saturday sunday i i'm i'd i'll
"""
_MONTHS = frozenset(_MONTHS_IN_WORDS.split())


def find_proper_names(text: str) -> frozenset[str]:
    """Words with a capital that do not begin a sentence, case-folded: names as English writes them. Abbreviations of up
    to three capitals are left out, for a wording may write them out; a text in capitals has none.

    >>> sorted(find_proper_names("Book a table in Osage City, OH, for May"))
    ['city', 'osage']
    """
    words = list(_NAME.finditer(text))
    kept = []
    for match in words:
        word = match[0].strip(".'’-")
        begins = text[: match.start()].rstrip()[-1:] in ("", ".", "!", "?", ":", '"', "'")
        if begins or not word[:1].isupper() or word.casefold() in _MONTHS or (word.isupper() and len(word) <= 3):
            continue
        kept.append(word.removesuffix("'s").removesuffix("’s").casefold())
    # A title, or a text all in capitals: its capitals tell nothing.
    return frozenset(kept) if len(kept) < 0.7 * max(1, len(words)) else frozenset()


def describe_lost_number_or_name(text: str, wording: str) -> str:
    """Which number or name of the text its wording has lost, or which number it has added; empty where neither.

    A name counts as kept where the wording holds it in any case, within another word too.

    >>> describe_lost_number_or_name("a table for nine in Osage City", "a table for 9 people in Osage")
    "the name 'city' is missing"
    >>> describe_lost_number_or_name("a table for nine", "a table for ten")
    "the number '9' is missing"
    """
    before, after = count_numbers_by_value(text), count_numbers_by_value(wording)
    if lost := sorted(set(before) - set(after)):
        return f"the number {lost[0]!r} is missing"
    folded = _keep_letters_and_digits(wording)
    if gone := sorted(name for name in find_proper_names(text) if _keep_letters_and_digits(name) not in folded):
        return f"the name {gone[0]!r} is missing"
    if added := sorted(set(after) - set(before)):
        return f"the number {added[0]!r} was added"
    source = _keep_letters_and_digits(text)
    new = sorted(name for name in find_proper_names(wording) if _keep_letters_and_digits(name) not in source)
    return f"the name {new[0]!r} was added" if new and find_proper_names(text) else ""
