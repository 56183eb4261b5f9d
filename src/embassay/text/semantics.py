"""Two edits of what a text says in words: synonyms, which keep the meaning, and changed facts, which do not.

Both are of English, by lists of ours whose version is part of their identity.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache

Draw = Callable[[int], bytes]
SYNONYMS_VERSION = FACTS_VERSION = 1

_ALIKE = """
    begin start, begins starts, began started, beginning starting
    help assist, helps assists, helped assisted, helping assisting
    buy purchase, buys purchases, bought purchased, buying purchasing
    show demonstrate, shows demonstrates, showed demonstrated, shown demonstrated, showing demonstrating
    get obtain, gets obtains, got obtained, getting obtaining
    need require, needs requires, needed required, needing requiring
    use employ, uses employs, using employing
    allow permit, allows permits, allowed permitted, allowing permitting
    ask inquire, asked inquired, asking inquiring
    choose select, chooses selects, chose selected, chosen selected, choosing selecting
    collect gather, collects gathers, collected gathered, collecting gathering
    construct build, constructs builds, constructed built, constructing building
    explain clarify, explains clarifies, explained clarified, explaining clarifying
    examine inspect, examines inspects, examined inspected, examining inspecting
    happen occur, happens occurs, happened occurred, happening occurring
    improve enhance, improves enhances, improved enhanced, improving enhancing
    increase rise, increases rises
    decrease decline, decreases declines, decreased declined, decreasing declining
    keep retain, keeps retains, kept retained, keeping retaining
    receive accept, receives accepts, receiving accepting
    reply answer, replies answers, replied answered, replying answering
    say state, says states, said stated, saying stating
    try attempt, tries attempts, tried attempted, trying attempting
    vanish disappear, vanishes disappears, vanished disappeared, vanishing disappearing
    big large, bigger larger, biggest largest
    small little, smaller lesser
    fast quick, faster quicker, fastest quickest
    quickly rapidly, often frequently, rarely seldom, nearly almost, mostly mainly, probably likely
    also too, however nevertheless, therefore thus, perhaps maybe, about approximately, entirely completely
    important significant, difficult hard, easy simple, correct right, wrong incorrect, strange odd, famous renowned
    enough sufficient, whole entire, main principal, common usual, rich wealthy, ill sick, glad happy, sad unhappy
    angry furious, brave courageous, clever intelligent, silent quiet, dangerous hazardous, precise exact
    illness disease, illnesses diseases, doctor physician, doctors physicians, child kid, children kids
    car automobile, cars automobiles, town city, towns cities, street road, streets roads, house home, houses homes
    job occupation, jobs occupations, error mistake, errors mistakes, goal aim, goals aims, method approach
    methods approaches, result outcome, results outcomes, part portion, parts portions, reason cause, reasons causes
    story tale, stories tales, answer response, gift present, gifts presents, forest wood, ocean sea, oceans seas
    shop store, shops stores, price cost, prices costs, task duty, tasks duties, chance opportunity
    chances opportunities, amount quantity, amounts quantities, firm company, firms companies, area region
    areas regions, group set, groups sets, kind sort, kinds sorts, trip journey, trips journeys
"""
"""Words of one meaning in most places, form by form; each stands for the other."""
_WORD = re.compile(r"[A-Za-z]+")


@cache
def _synonyms() -> Mapping[str, str]:
    """Each word and the one that may stand for it; the first in the list wins."""
    found: dict[str, str] = {}
    for pair in _ALIKE.replace("\n", ",").split(","):
        words = pair.split()
        if len(words) == 2:
            one, other = words
            found.setdefault(one, other)
            found.setdefault(other, one)
    return found


def replace_synonyms(text: str, draw: Draw) -> str:
    """Every word of the list by its synonym, in the case of the word; each with probability 1/2, and the first one if
    none was drawn."""
    places = [match for match in _WORD.finditer(text) if match[0].lower() in _synonyms()]
    drawn = draw(len(places)) if places else b""
    chosen = [place for place, byte in zip(places, drawn, strict=True) if byte < 128] or places[:1]
    return _rewritten(
        text, [(one.start(), one.end(), _as(_synonyms()[one[0].lower()], one[0])) for one in chosen]
    )


def _as(word: str, like: str) -> str:
    """In the case of another word."""
    if len(like) > 1 and like.isupper():
        return word.upper()
    return word.capitalize() if like[0].isupper() else word


def _rewritten(text: str, edits: list[tuple[int, int, str]]) -> str:
    """The text with these spans replaced, which do not overlap and come in order."""
    parts, at = [], 0
    for start, end, new in edits:
        parts += [text[at:start], new]
        at = end
    return "".join([*parts, text[at:]])


_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_COUNTS = (
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "twenty",
)
_SCALES = ("hundred", "thousand", "million", "billion")
_LISTS = (_MONTHS, _DAYS, _COUNTS, _SCALES)
_NAMES = (
    "Amberly",
    "Corvane",
    "Delmore",
    "Estrow",
    "Farrand",
    "Hollis",
    "Kestrin",
    "Morvay",
    "Peltham",
    "Tarrow",
)
"""Of nobody; for a text with a single name."""
_NUMBER = r"\d+(?:[.,]\d+)*"
_FACT = re.compile(
    rf"(?P<number>{_NUMBER})|\b(?P<listed>{'|'.join(one for some in _LISTS for one in some)})\b"
    r"|(?P<name>\b[A-Z][a-z]+(?:-[A-Z][a-z]+)?\b)",
)
_STARTS = re.compile(r"(?:^|[.!?:;\"'“”‘(\[\n]|[-–—]\s)\s*$")
_NEAR_NUMBER = re.compile(r"\d\s*$|^\s*\d")
_MONTH_BEFORE, _MONTH_AFTER = (
    re.compile(one.format("|".join(_MONTHS))) for one in (r"(?:{})\s$", r"\s(?:of )?(?:{})\b")
)
_AMBIGUOUS = {"May", "March"}


def change_facts(text: str, draw: Draw) -> str:
    """Every number, date and name of the text by another one; the same fact becomes the same other everywhere.

    A number keeps its form and its number of digits, a year from 1500 to 2099 moves by 1 to 20 years, and the day of a
    month becomes another from 1 to 28. Months, days
    of the week, counts in words (two to twelve, twenty) and scales (hundred to billion) become others of their list;
    *May* and *March* only beside a number. A name is a word with a capital that does not begin a sentence; the names of
    a text change places in a random order, and a single one becomes one of nobody's.
    """
    facts = list(_facts(text))
    known = list(dict.fromkeys((kind, said) for _, _, kind, said in facts))
    drawn = draw(4 * len(known)) if known else b""
    keys = [int.from_bytes(drawn[4 * i : 4 * i + 4], "little") for i in range(len(known))]
    new = {fact: _other(*fact, key) for fact, key in zip(known, keys, strict=True) if fact[0] != "name"}
    new |= _exchanged([(fact[1], key) for fact, key in zip(known, keys, strict=True) if fact[0] == "name"])
    return _rewritten(text, [(start, end, new[kind, said]) for start, end, kind, said in facts])


def _facts(text: str) -> Iterator[tuple[int, int, str, str]]:
    """Where each fact stands, its kind and its words."""
    for match in _FACT.finditer(text):
        kind, said = str(match.lastgroup), match[0]
        before, after = text[max(0, match.start() - 40) : match.start()], text[match.end() : match.end() + 16]
        if kind == "number" and (before[-1:].isalpha() or after[:1].isalpha()):
            continue  # a part of a word: B12, 3rd
        if kind == "name" and _STARTS.search(before):
            continue
        if kind == "number" and said.isdigit() and 1 <= int(said) <= 31:
            kind = "day" if _MONTH_BEFORE.search(before) or _MONTH_AFTER.match(after) else kind
        if said in _AMBIGUOUS and not (_NEAR_NUMBER.search(before[-8:]) or _NEAR_NUMBER.match(after[:8])):
            continue
        yield match.start(), match.end(), kind, said


def _other(kind: str, said: str, key: int) -> str:
    """Another number, or another word of the same list."""
    if kind == "listed":
        words = next(some for some in _LISTS if said in some)
        return words[(words.index(said) + 1 + key % (len(words) - 1)) % len(words)]
    if kind == "day":
        return str((int(said) + key % 27) % 28 + 1)
    if len(said) == 4 and said.isdigit() and 1500 <= int(said) <= 2099:
        moved = int(said) + (1 + key % 20) * (1 if key & 2**16 else -1)
        return str(min(max(moved, 1400), 2199))
    first, rest = said[0], said[1:]
    # A number of several digits doesn't begin with 0, and one of a single digit may be 0 as well.
    digits = "0123456789" if len(said) == 1 or first == "0" else "123456789"
    return digits[(digits.index(first) + 1 + key % (len(digits) - 1)) % len(digits)] + rest


def _exchanged(names: list[tuple[str, int]]) -> dict[tuple[str, str], str]:
    """Each name and the one in its place: the next one in a random order."""
    if len(names) == 1:
        name, key = names[0]
        others = [one for one in _NAMES if one != name]
        return {("name", name): others[key % len(others)]}
    order = [name for name, _ in sorted(names, key=lambda one: (one[1], one[0]))]
    return {("name", name): order[(place + 1) % len(order)] for place, name in enumerate(order)}
