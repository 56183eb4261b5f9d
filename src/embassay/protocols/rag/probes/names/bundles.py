"""Bundles: a query for the works of an author on a topic, and five passages of which one is right (spec rag 5.1)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from embassay.errors import UsageError
from embassay.protocols.rag.probes.names.people import Person
from embassay.randomness import random_bytes

T = TypeVar("T")
_PLACE = re.compile(r"\{[AT]\}")
Lang = Literal["en", "fr"]
CANDIDATES = ("C1", "C2a", "C2b", "C3", "C4")
"""Right author and topic; two impostors on the topic; right author, other topic; other author, other topic."""
LABELS = {"en": "Author:", "fr": "Auteur :"}
QUERIES = {
    "en": (
        "Which works by {A} on {T}?",
        "What has {A} written on {T}?",
        "I am looking for publications by {A} on {T}.",
    ),
    "fr": (
        "Quels travaux de {A} sur {T} ?",
        "Qu'a écrit {A} sur {T} ?",
        "Je cherche des publications de {A} sur {T}.",
    ),
}
TITLES = {
    "en": ("Research paper: '{T}'.", "Scientific article: '{T}'."),
    "fr": ("Article de recherche : « {T} ».", "Publication scientifique : « {T} »."),
}


@dataclass(frozen=True)
class Bundle:
    """One query with its five passages, not yet written out.

    `impostors` sign C2a, C2b and C4; C3 and C4 are on the `other` topic. `query` is a form with {A} and {T}, `title`
    one with {T}; the author stands after it, behind a label. All five passages have one form.
    """

    index: int
    lang: Lang
    author: Person
    impostors: tuple[Person, Person, Person]
    topic: str
    other: str
    query: str
    title: str

    @property
    def signers(self) -> tuple[Person, ...]:
        """Who signs each of the five passages."""
        first, second, third = self.impostors
        return self.author, first, second, self.author, third

    @property
    def topics(self) -> tuple[str, ...]:
        """What each of the five passages is on."""
        return self.topic, self.topic, self.topic, self.other, self.other

    @property
    def label(self) -> str:
        """What stands before the author of a passage."""
        return LABELS[self.lang]


@dataclass(frozen=True)
class Written:
    """A bundle as texts: the query and the five passages in the order of `CANDIDATES`."""

    query: str
    passages: tuple[str, ...]


Named = Callable[[Person], str]


def write(
    bundle: Bundle,
    in_query: Named = lambda person: person.name,
    in_passage: Named | None = None,
    *,
    author_first: bool = False,
) -> Written:
    """The texts of a bundle, its authors named by these functions (passages as the query where only that is given).

    >>> from embassay.protocols.rag.probes.names.people import Person
    >>> one = Bundle(0, "en", Person("Ann", "Hill"), (Person("B", "C"),) * 3, "tides", "ants", *EXAMPLE_FORMS)
    >>> write(one).query, write(one).passages[0]
    ('Which works by Ann Hill on tides?', "Research paper: 'tides'. Author: Ann Hill.")
    """
    named = in_passage or in_query
    passages = []
    for person, topic in zip(bundle.signers, bundle.topics, strict=True):
        parts = [bundle.title.replace("{T}", topic), f"{bundle.label} {_ended(named(person))}"]
        passages.append(" ".join(reversed(parts) if author_first else parts))
    return Written(_filled(bundle.query, in_query(bundle.author), bundle.topic), tuple(passages))


EXAMPLE_FORMS = (QUERIES["en"][0], TITLES["en"][0])


@dataclass(frozen=True)
class Material:
    """What bundles are made of: authors and topics in a language. UsageError for too few of either."""

    lang: Lang
    people: tuple[Person, ...]
    topics: tuple[str, ...]

    def __post_init__(self) -> None:
        people, topics = set(self.people), set(self.topics)
        if len(people) < 4 or len(topics) < 2:
            raise UsageError(
                f"A probe cannot be made of {len(people)} authors and {len(topics)} topics.",
                mend="It needs 4 different authors and 2 different topics at least.",
            )


def bundles(material: Material, queries: int, *, seed: int) -> list[Bundle]:
    """The bundles of one run: author and topic of a query are the same in every run; impostors, the other topic and
    the forms are drawn anew from `seed`, for each query from a stream of its own.

    >>> people = tuple(Person("A", name) for name in ("B", "C", "D", "E"))
    >>> [one.author.family for one in bundles(Material("en", people, ("x", "y")), 5, seed=1)]
    ['B', 'C', 'D', 'E', 'B']
    """
    people, topics = tuple(dict.fromkeys(material.people)), tuple(dict.fromkeys(material.topics))
    made = []
    for index in range(queries):
        stream = ("bundle", material.lang, str(index))
        author, topic = people[index % len(people)], topics[index % len(topics)]
        first, second, third = _drawn([one for one in people if one != author], 3, seed, *stream, "impostors")
        (other,) = _drawn([one for one in topics if one != topic], 1, seed, *stream, "topic")
        (query,) = _drawn(QUERIES[material.lang], 1, seed, *stream, "query")
        (title,) = _drawn(TITLES[material.lang], 1, seed, *stream, "title")
        made.append(Bundle(index, material.lang, author, (first, second, third), topic, other, query, title))
    return made


def _drawn(of: Sequence[T], n: int, seed: int, *names: str) -> list[T]:
    """`n` of them, no two of one place, by the raw stream of these names: equal in every version of everything."""
    left, found = list(of), []
    for i in range(n):
        place = int.from_bytes(random_bytes(8, seed, *names, str(i)), "big") % len(left)
        found.append(left.pop(place))
    return found


def _ended(name: str) -> str:
    """A name at the end of a sentence: an initial's stop is not doubled."""
    return name if name.endswith(".") else f"{name}."


def _filled(form: str, author: str, topic: str) -> str:
    return _PLACE.sub(lambda place: author if place[0] == "{A}" else topic, form)
