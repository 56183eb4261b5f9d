"""The name probe's texts: authors, topics, bundles of a query and five passages, ablations (spec rag 5.1, 5.2)."""

from __future__ import annotations

import csv
import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import chain, count
from pathlib import Path
from typing import Literal, TypeVar

from embassay.data.rows import make_missing_column_error, read_row_id
from embassay.data.tables import open_table_file
from embassay.errors import DataError, UsageError
from embassay.protocols.rag.probes.options import Lang
from embassay.randomness import draw_random_bytes

_VOWELS, _CONSONANTS = "aeiou", "bcdfghjklmnpqrstvwxyz"
_GIVEN = re.compile(r"[^\s-]+")


@dataclass(frozen=True)
class AuthorName:
    """The name of an author, given and family."""

    given: str
    family: str

    @property
    def name(self) -> str:
        """Given name first."""
        return f"{self.given} {self.family}"

    @property
    def family_name_first(self) -> str:
        """The name with the family name first.

        >>> AuthorName("Alice", "Dupont").family_name_first
        'Dupont, Alice'
        """
        return f"{self.family}, {self.given}"

    @property
    def name_with_initials(self) -> str:
        """The name with given names as initials, hyphens kept.

        >>> AuthorName("Jean-Pierre", "Martin").name_with_initials
        'J.-P. Martin'
        """
        return f"{_GIVEN.sub(lambda match: f'{match[0][0]}.', self.given)} {self.family}"


def vary_case_and_punctuation_of_name(name: str) -> str:
    """The name in capitals, small letters or with capital initials, whichever its hash says; with straight apostrophes
    and a blank for every hyphen.

    >>> vary_case_and_punctuation_of_name("Alice Dupont"), vary_case_and_punctuation_of_name("Jean-Pierre O’Neil")
    ('ALICE DUPONT', "Jean Pierre O'Neil")
    """
    digest = hashlib.blake2b(name.encode(), digest_size=8).digest()
    # By the name alone, so that an author is written in one way in all passages and runs.
    mode = (str.upper, str.lower, str.title)[int.from_bytes(digest, "big") % 3]
    return mode(name.replace("’", "'").replace("-", " "))


def make_pseudonyms(names: list[str], seed: int) -> dict[str, str]:
    """`ID-` and six hexadecimal digits for each of the names, no two alike.

    >>> make_pseudonyms(["Alice Dupont"], 12345)
    {'Alice Dupont': 'ID-9DC4BD'}
    """
    identifiers: dict[str, str] = {}
    taken: set[str] = set()
    for name in dict.fromkeys(names):
        tries = chain([f"{seed}|{name}"], (f"{seed}|{name}|{number}" for number in count(1)))
        identifiers[name] = next(key for key in map(_hash_to_identifier, tries) if key not in taken)
        taken.add(identifiers[name])
    return identifiers


def misspell_name(name: str, distance: int) -> str:
    """The name with `distance` letters changed: a vowel into the next vowel, a consonant into the next consonant.

    The letters are spread over the name; their case is kept, their accents are dropped. The Levenshtein distance is
    `distance`. UsageError for a name of fewer letters.

    >>> [misspell_name("Alice Dupont", d) for d in (1, 2, 3)]
    ['Alice Fupont', 'Alide Duqont', 'Aloce Fupunt']
    """
    letters = [place for place, character in enumerate(name) if character.isalpha()]
    if len(letters) < distance:
        raise UsageError(
            f"The name {name!r} has too few letters to change {distance} of them.",
            mend="Remove it from --people, or choose other ablations with --condition.",
        )
    written = list(name)
    for i in range(1, distance + 1):
        place = letters[i * len(letters) // (distance + 1)]
        written[place] = _find_next_vowel_or_consonant(name[place])
    return "".join(written)


def _hash_to_identifier(text: str) -> str:
    return f"ID-{hashlib.sha256(text.encode()).hexdigest()[:6].upper()}"


def _find_next_vowel_or_consonant(letter: str) -> str:
    base = unicodedata.normalize("NFD", letter)[0]
    for alphabet in (_VOWELS, _CONSONANTS):
        if base.lower() in alphabet:
            following = alphabet[(alphabet.index(base.lower()) + 1) % len(alphabet)]
            return following.upper() if base.isupper() else following
    return "A" if letter.isupper() else "a"


T = TypeVar("T")
_PLACE = re.compile(r"\{[AT]\}")
CANDIDATES = ("C1", "C2a", "C2b", "C3", "C4")
"""Right author and topic; two impostors on the topic; right author, other topic; other author, other topic."""
LABELS = {"en": "Author:", "fr": "Auteur :"}
QUERIES = {
    "en": (
        "Which works by {A} on {T}?",
        "What has {A} written on {T}?",
        "I am looking for publications by {A} on {T}.",
    ),
    "fr": ("Quels travaux de {A} sur {T} ?", "Qu'a écrit {A} sur {T} ?", "Je cherche des publications de {A} sur {T}."),
}
TITLES = {
    "en": ("Research paper: '{T}'.", "Scientific article: '{T}'."),
    "fr": ("Article de recherche : « {T} ».", "Publication scientifique : « {T} »."),
}


@dataclass(frozen=True)
class NameProbeQuerySpecification:
    """One query with its five passages, not yet written out.

    `impostors` sign C2a, C2b and C4; C3 and C4 are on the `other` topic. `query` is a form with {A} and {T}, `title`
    one with {T}; the author stands after it, behind a label, and the `body` of the passage, if any, comes last. All
    five passages have one form.
    """

    index: int
    lang: Lang
    author: AuthorName
    impostors: tuple[AuthorName, AuthorName, AuthorName]
    topic: str
    other: str
    query: str
    title: str
    body: str = ""

    @property
    def passage_signers(self) -> tuple[AuthorName, ...]:
        """Who signs each of the five passages."""
        first, second, third = self.impostors
        return self.author, first, second, self.author, third

    @property
    def passage_topics(self) -> tuple[str, ...]:
        """What each of the five passages is on."""
        return self.topic, self.topic, self.topic, self.other, self.other

    @property
    def label(self) -> str:
        """What stands before the author of a passage."""
        return LABELS[self.lang]


@dataclass(frozen=True)
class BundleQueryAndPassages:
    """A bundle as texts: the query and the five passages in the order of `CANDIDATES`."""

    query: str
    passages: tuple[str, ...]


Named = Callable[[AuthorName], str]


def compose_bundle_texts(
    bundle: NameProbeQuerySpecification,
    in_query: Named = lambda person: person.name,
    in_passage: Named | None = None,
    *,
    author_first: bool = False,
) -> BundleQueryAndPassages:
    """The texts of a bundle, its authors named by these functions (passages as the query where only that is given).

    >>> from embassay.protocols.rag.probes.bundles import AuthorName
    >>> one = NameProbeQuerySpecification(0, "en", AuthorName("Ann", "Hill"), (AuthorName("B", "C"),) * 3,
    ...     "tides", "ants",
    ... *EXAMPLE_FORMS)
    >>> compose_bundle_texts(one).query, compose_bundle_texts(one).passages[0]
    ('Which works by Ann Hill on tides?', "Research paper: 'tides'. Author: Ann Hill.")
    """
    named = in_passage or in_query
    passages = []
    for person, topic in zip(bundle.passage_signers, bundle.passage_topics, strict=True):
        parts = [bundle.title.replace("{T}", topic), f"{bundle.label} {_end_sentence_with_name(named(person))}"]
        head = " ".join(reversed(parts) if author_first else parts)
        passages.append(f"{head} {bundle.body}" if bundle.body else head)
    return BundleQueryAndPassages(
        _fill_text_template(bundle.query, in_query(bundle.author), bundle.topic), tuple(passages)
    )


EXAMPLE_FORMS = (QUERIES["en"][0], TITLES["en"][0])


@dataclass(frozen=True)
class BundleAuthorsAndTopics:
    """What bundles are made of: authors and topics in a language. UsageError for too few of either."""

    lang: Lang
    people: tuple[AuthorName, ...]
    topics: tuple[str, ...]

    def __post_init__(self) -> None:
        people, topics = set(self.people), set(self.topics)
        if len(people) < 4 or len(topics) < 2:
            raise UsageError(
                f"Not enough different authors ({len(people)}) or topics ({len(topics)}).",
                mend="Give at least 4 different authors and 2 different topics.",
            )


def make_name_probe_bundles(
    material: BundleAuthorsAndTopics, queries: int, *, seed: int
) -> list[NameProbeQuerySpecification]:
    """The bundles of one run: author and topic of a query are the same in every run; impostors, the other topic and
    the forms are drawn anew from `seed`, for each query from a stream of its own.

    >>> people = tuple(AuthorName("A", name) for name in ("B", "C", "D", "E"))
    >>> [one.author.family for one in make_name_probe_bundles(BundleAuthorsAndTopics("en", people, ("x", "y")),
    ... 5, seed=1)]
    ['B', 'C', 'D', 'E', 'B']
    """
    people, topics = tuple(dict.fromkeys(material.people)), tuple(dict.fromkeys(material.topics))
    drawn = []
    for index in range(queries):
        stream = ("bundle", material.lang, str(index))
        author, topic = people[index % len(people)], topics[index % len(topics)]
        first, second, third = _draw_distinct_items(
            [person for person in people if person != author], 3, seed, *stream, "impostors"
        )
        (other,) = _draw_distinct_items([new for new in topics if new != topic], 1, seed, *stream, "topic")
        (query,) = _draw_distinct_items(QUERIES[material.lang], 1, seed, *stream, "query")
        (title,) = _draw_distinct_items(TITLES[material.lang], 1, seed, *stream, "title")
        drawn.append(
            NameProbeQuerySpecification(
                index, material.lang, author, (first, second, third), topic, other, query, title
            )
        )
    return drawn


def _draw_distinct_items(of: Sequence[T], n: int, seed: int, *names: str) -> list[T]:
    """`n` of them, no two of one place, by the raw stream of these names: equal in every version of everything."""
    left, drawn = list(of), []
    for i in range(n):
        place = int.from_bytes(draw_random_bytes(8, seed, *names, str(i)), "big") % len(left)
        drawn.append(left.pop(place))
    return drawn


def _end_sentence_with_name(name: str) -> str:
    """A name at the end of a sentence: an initial's stop is not doubled."""
    return name if name.endswith(".") else f"{name}."


def _fill_text_template(form: str, author: str, topic: str) -> str:
    return _PLACE.sub(lambda place: author if place[0] == "{A}" else topic, form)


def make_or_read_authors_and_topics(
    lang: Lang, *, people: Path | None = None, topics: Path | None = None
) -> BundleAuthorsAndTopics:
    """A hundred invented authors and a hundred topics in this language, or those of files.

    `people` is a table with the columns given and family, `topics` one with the column topic, in any format that data
    come in; a .txt file has a topic on each line. DataError with the line that cannot be read, UsageError for too few.
    """
    return BundleAuthorsAndTopics(
        lang,
        tuple(_read_author_table(people)) if people else _list_packaged_author_names(lang),
        tuple(_read_topic_list(topics)) if topics else _list_packaged_topics(lang),
    )


def _read_packaged_file(name: str) -> str:
    return files("embassay.protocols.rag.probes").joinpath("lists", name).read_text("utf-8")


def _list_packaged_author_names(lang: Lang) -> tuple[AuthorName, ...]:
    rows = csv.DictReader(_read_packaged_file(f"people_{lang}.tsv").splitlines(), delimiter="\t")
    return tuple(AuthorName(row["given"], row["family"]) for row in rows)


def _list_packaged_topics(lang: Lang) -> tuple[str, ...]:
    return tuple(_read_packaged_file(f"topics_{lang}.txt").splitlines())


def _read_author_table(path: Path) -> Iterator[AuthorName]:
    for given, family in _iterate_table_column_cells(path, "given", "family"):
        yield AuthorName(given, family)


def _read_topic_list(path: Path) -> Iterator[str]:
    if path.suffix != ".txt":
        yield from (topic for (topic,) in _iterate_table_column_cells(path, "topic"))
        return
    try:
        lines = path.read_text("utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot be read: {error}", path=path, expected="a UTF-8 text file") from None
    yield from filter(None, map(str.strip, lines))


def _iterate_table_column_cells(path: Path, *columns: str) -> Iterator[tuple[str, ...]]:
    source = open_table_file(path)
    for column in columns:
        if column not in source.columns():
            raise make_missing_column_error(source, column)
    for row in source.rows(columns):
        yield tuple(read_row_id(row, column) for column in columns)


Group = Literal["base", "identity", "orthography", "layout"]
_MASKS = {"en": "AUTHOR", "fr": "AUTEUR"}
_LABEL = re.compile(r"(?:Author:|Auteur ?:)\s*")
_STOPS = re.compile(r"\s?([:;!?])")
_NARROW_SPACE = "\u202f"


@dataclass(frozen=True)
class BundleWritingCondition:
    """A way to write a bundle; random choices, where there are any, follow from the seed of the run."""

    name: str
    group: Group
    summary: str
    write: Callable[[NameProbeQuerySpecification, int], BundleQueryAndPassages]
    seeded: bool = False
    """Whether the seed makes a difference to it."""


def _mask_bundle_authors(bundle: NameProbeQuerySpecification, _: int) -> BundleQueryAndPassages:
    mask = f"{_MASKS[bundle.lang]}_{bundle.index % 1000:03d}"
    return compose_bundle_texts(bundle, lambda _: mask)


def _replace_authors_by_pseudonyms(bundle: NameProbeQuerySpecification, seed: int) -> BundleQueryAndPassages:
    identifiers = make_pseudonyms([person.name for person in bundle.passage_signers], seed)
    return compose_bundle_texts(bundle, lambda person: identifiers[person.name])


def _give_impostors_misspelled_names(bundle: NameProbeQuerySpecification, _: int) -> BundleQueryAndPassages:
    missed = [AuthorName("", misspell_name(bundle.author.name, distance)) for distance in (1, 2, 3)]
    other = dict(zip(bundle.impostors, missed, strict=True))
    return compose_bundle_texts(
        bundle, in_passage=lambda person: other[person].family if person in other else person.name
    )


def _remove_author_labels(bundle: NameProbeQuerySpecification, _: int) -> BundleQueryAndPassages:
    return _apply_change_to_bundle_texts(compose_bundle_texts(bundle), lambda text: _LABEL.sub("", text))


def _remove_bundle_diacritics(bundle: NameProbeQuerySpecification, _: int) -> BundleQueryAndPassages:
    return (
        compose_bundle_texts(bundle)
        if bundle.lang == "en"
        else _apply_change_to_bundle_texts(compose_bundle_texts(bundle), remove_diacritics)
    )


def _mix_unicode_forms_in_bundle(bundle: NameProbeQuerySpecification, _: int) -> BundleQueryAndPassages:
    plain = compose_bundle_texts(bundle)
    passages = tuple(_STOPS.sub(rf"{_NARROW_SPACE}\1", unicodedata.normalize("NFD", text)) for text in plain.passages)
    return BundleQueryAndPassages(unicodedata.normalize("NFC", plain.query), passages)


CONDITIONS: Mapping[str, BundleWritingCondition] = {
    condition.name: condition
    for condition in (
        BundleWritingCondition(
            "base", "base", "names, label and layout unchanged", lambda bundle, _: compose_bundle_texts(bundle)
        ),
        BundleWritingCondition(
            "hard_name_mask", "identity", "every author replaced by the same token", _mask_bundle_authors
        ),
        BundleWritingCondition(
            "gibberish_name",
            "identity",
            "every author replaced by a six-digit identifier",
            _replace_authors_by_pseudonyms,
            seeded=True,
        ),
        BundleWritingCondition(
            "edit_distance_near_miss",
            "identity",
            "impostors differ from the author by 1 to 3 letters",
            _give_impostors_misspelled_names,
        ),
        BundleWritingCondition("remove_label", "layout", "no label before the author", _remove_author_labels),
        BundleWritingCondition(
            "strip_diacritics", "orthography", "letters without accents (French)", _remove_bundle_diacritics
        ),
        BundleWritingCondition(
            "initials_form",
            "orthography",
            "given names as initials",
            lambda bundle, _: compose_bundle_texts(bundle, lambda person: person.name_with_initials),
        ),
        BundleWritingCondition(
            "name_order_inversion",
            "orthography",
            "family name first in the passages",
            lambda bundle, _: compose_bundle_texts(bundle, in_passage=lambda person: person.family_name_first),
        ),
        BundleWritingCondition(
            "case_punct_perturb",
            "orthography",
            "names in a different case, without hyphens and curly apostrophes",
            lambda bundle, _: compose_bundle_texts(
                bundle, lambda person: vary_case_and_punctuation_of_name(person.name)
            ),
        ),
        BundleWritingCondition(
            "author_position_shift",
            "layout",
            "the author before the title in the passages",
            lambda bundle, _: compose_bundle_texts(bundle, author_first=True),
        ),
        BundleWritingCondition(
            "unicode_normalization_stress",
            "orthography",
            "passages decomposed (NFD), with narrow spaces before : ; ! ?",
            _mix_unicode_forms_in_bundle,
        ),
    )
}
"""By name, `base` first."""


def remove_diacritics(text: str) -> str:
    """The text without combining marks: NFD, no category Mn, NFC. Ligatures stay.

    >>> remove_diacritics("Forêt, œuvre")
    'Foret, œuvre'
    """
    decomposed = unicodedata.normalize("NFD", text)
    stripped = "".join(character for character in decomposed if unicodedata.category(character) != "Mn")
    return unicodedata.normalize("NFC", stripped)


def _apply_change_to_bundle_texts(
    written: BundleQueryAndPassages, change: Callable[[str], str]
) -> BundleQueryAndPassages:
    return BundleQueryAndPassages(change(written.query), tuple(map(change, written.passages)))
