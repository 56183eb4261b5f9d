"""Authors, and the ways in which a name is written or disguised."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from itertools import chain, count

from embassay.errors import UsageError

_VOWELS, _CONSONANTS = "aeiou", "bcdfghjklmnpqrstvwxyz"
_GIVEN = re.compile(r"[^\s-]+")


@dataclass(frozen=True)
class Person:
    """An author."""

    given: str
    family: str

    @property
    def name(self) -> str:
        """Given name first."""
        return f"{self.given} {self.family}"

    @property
    def inverted(self) -> str:
        """Family name first.

        >>> Person("Alice", "Dupont").inverted
        'Dupont, Alice'
        """
        return f"{self.family}, {self.given}"

    @property
    def with_initials(self) -> str:
        """Given names as initials, hyphens kept.

        >>> Person("Jean-Pierre", "Martin").with_initials
        'J.-P. Martin'
        """
        return f"{_GIVEN.sub(lambda match: f'{match[0][0]}.', self.given)} {self.family}"


def in_other_case(name: str) -> str:
    """The name in capitals, small letters or with capital initials, whichever its hash says; with straight apostrophes
    and a blank for every hyphen.

    >>> in_other_case("Alice Dupont"), in_other_case("Jean-Pierre O’Neil")
    ('ALICE DUPONT', "Jean Pierre O'Neil")
    """
    digest = hashlib.blake2b(name.encode(), digest_size=8).digest()
    mode = (str.upper, str.lower, str.title)[int.from_bytes(digest, "big") % 3]
    return mode(name.replace("’", "'").replace("-", " "))


def pseudonyms(names: list[str], seed: int) -> dict[str, str]:
    """`ID-` and six hexadecimal digits for each of the names, no two alike.

    >>> pseudonyms(["Alice Dupont"], 12345)
    {'Alice Dupont': 'ID-9DC4BD'}
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in dict.fromkeys(names):
        tries = chain([f"{seed}|{name}"], (f"{seed}|{name}|{again}" for again in count(1)))
        found[name] = next(one for one in map(_identifier, tries) if one not in taken)
        taken.add(found[name])
    return found


def near_miss(name: str, distance: int) -> str:
    """The name with `distance` letters changed: a vowel into the next vowel, a consonant into the next consonant.

    The letters are spread over the name; their case is kept, their accents are dropped. The Levenshtein distance is
    `distance`. UsageError for a name of fewer letters.

    >>> [near_miss("Alice Dupont", d) for d in (1, 2, 3)]
    ['Alice Fupont', 'Alide Duqont', 'Aloce Fupunt']
    """
    letters = [place for place, character in enumerate(name) if character.isalpha()]
    if len(letters) < distance:
        raise UsageError(
            f"The name {name!r} has too few letters to change {distance} of them.",
            mend="Leave it out of --people, or name other ablations with --condition.",
        )
    written = list(name)
    for i in range(1, distance + 1):
        place = letters[i * len(letters) // (distance + 1)]
        written[place] = _next_letter(name[place])
    return "".join(written)


def _identifier(text: str) -> str:
    return f"ID-{hashlib.sha256(text.encode()).hexdigest()[:6].upper()}"


def _next_letter(letter: str) -> str:
    base = unicodedata.normalize("NFD", letter)[0]
    for alphabet in (_VOWELS, _CONSONANTS):
        if base.lower() in alphabet:
            following = alphabet[(alphabet.index(base.lower()) + 1) % len(alphabet)]
            return following.upper() if base.isupper() else following
    return "A" if letter.isupper() else "a"
