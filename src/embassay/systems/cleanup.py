"""Cleaning texts before a system sees them, as `?clean=` asks: odd characters, white space, spelling, case.

What a pipeline would do to mend noisy input, so that a run can tell whether it does. Steps are done in one order
however they are written: unicode, whitespace, spelling, case.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import CellPartExecutor, Encoder, Kind, RankedCandidates, Role, Similarity
from embassay.errors import ModelError, UsageError

STEPS = ("unicode", "whitespace", "spelling", "case")
VERSION = 1
"""Raised when a step would make other texts."""
_PLAIN = str.maketrans({
    "‘": "'", "’": "'", "‚": "'", "‛": "'", "“": '"', "”": '"', "„": '"', "‟": '"', "«": '"', "»": '"',
    "‐": "-", "‑": "-", "‒": "-", "–": "-", "—": "-", "―": "-", "…": "..."
})  # fmt: skip
_KEPT = "\t\n"
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_LETTERS = (
    str.maketrans({"0": "o", "1": "i", "3": "e", "4": "a", "5": "s", "7": "t"}),
    str.maketrans({"0": "o", "1": "l", "3": "e", "4": "a", "5": "s", "7": "t"}),
)
"""Letters that digits are written for."""
_SHORT, _LONG = 4, 9
# Queries and pairs come again for every task and every system with this step; corpora would not fit.
_KEPT_TEXTS = 2**13


def normalise_unicode(text: str) -> str:
    """Compatible characters as one (NFKC), quotes and dashes as on a keyboard, no invisible characters.

    >>> normalise_unicode("“ﬁne” — soft\u00adly")
    '"fine" - softly'
    """
    folded = text
    if not text.isascii():
        folded = unicodedata.normalize("NFKC", text.translate(_PLAIN)).translate(_PLAIN)
    return _make_invisible_char_pattern().sub("", folded)


@cache
def _make_invisible_char_pattern() -> re.Pattern[str]:
    """Control and format characters, but tabs and line ends."""
    characters = (c for c in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(c) in ("Cc", "Cf"))
    return re.compile(f"[{''.join(re.escape(c) for c in characters if c not in _KEPT)}]")


def collapse_whitespace(text: str) -> str:
    """One space in place of any run of white space, and none at the ends."""
    return " ".join(text.split())


class EnglishSpellCorrector:
    """Corrects English words by symspellpy and its list of 82,000 words by frequency. ModelError without the package.

    A word in the list stays. Digits within a word are read as letters where that makes one of the list. Of four letters
    and more, another word becomes the most frequent one a single edit away, or two edits for nine letters and more; one
    that begins with its only capital may be a name and stays. A text of which fewer than half of the words are in the
    list is taken for another language, and stays whole.
    """

    def __init__(self) -> None:
        try:
            import symspellpy  # type: ignore[import-untyped]
        except ImportError as error:
            raise ModelError(
                "clean=spelling needs the package symspellpy, which is not installed.",
                mend="Install it: pip install 'embassay[spelling]'",
            ) from error
        from importlib.metadata import version
        from importlib.resources import files

        self.version = f"symspellpy-{version('symspellpy')}"
        self._nearest = symspellpy.Verbosity.TOP
        self._list: Any = symspellpy.SymSpell(max_dictionary_edit_distance=2, prefix_length=7)
        path = files("symspellpy") / "frequency_dictionary_en_82_765.txt"
        self._list.load_dictionary(str(path), 0, 1)
        self._corrected = lru_cache(maxsize=2**16)(self._correct_word)

    def __call__(self, text: str) -> str:
        """The text with its words corrected."""
        words = _WORD.findall(text)
        if 2 * sum(map(self._is_dictionary_word, words)) < len(words):
            return text
        return _WORD.sub(lambda match: self._corrected(match[0]), text)

    def _is_dictionary_word(self, word: str) -> bool:
        return word.isdigit() or word.lower().partition("'")[0] in self._list.words

    def _correct_word(self, word: str) -> str:
        if self._is_dictionary_word(word) or not any(map(str.isalpha, word)):
            return word
        if any(map(str.isdigit, word)):
            read = (word.lower().translate(letters) for letters in _LETTERS)
            word_read = next((w for w in read if w.isalpha() and self._is_dictionary_word(w)), "")
            if word_read:
                return _match_case_of_word(word_read, word)
            mended = word.lower().translate(_LETTERS[0])
        else:
            mended = word.lower()
        # A capital before small letters may begin a name, which no list of words has.
        maybe_name = word[0].isupper() and word[1:].islower()
        if len(mended) < _SHORT or maybe_name or not (mended.isascii() and mended.isalpha()):
            return word
        reach = 2 if len(mended) >= _LONG else 1
        nearest = self._list.lookup(mended, self._nearest, max_edit_distance=reach)
        return _match_case_of_word(nearest[0].term, word) if nearest else word


def _match_case_of_word(made: str, word: str) -> str:
    """The word in the case of the one that it replaces."""
    if len(word) > 1 and word.isupper():
        return made.upper()
    return made[0].upper() + made[1:] if word[0].isupper() else made


@lru_cache(maxsize=1)
def _load_shared_speller() -> EnglishSpellCorrector:
    return EnglishSpellCorrector()


@dataclass(frozen=True)
class TextCleanupSteps:
    """The steps that every system's spec string can ask for: `clean=whitespace,unicode,case,spelling`. UsageError for a
    step that there is not."""

    clean: str = ""

    def __post_init__(self) -> None:
        for name in self._step_names:
            if name not in STEPS:
                near = get_close_matches(name, STEPS, n=1)
                raise UsageError(
                    f"There is no cleaning step called {name!r}.",
                    mend=(f"Did you mean {near[0]}? " if near else "") + f"Available: {', '.join(STEPS)}.",
                )

    @property
    def steps(self) -> tuple[str, ...]:
        """The cleanup steps in the order in which they are done."""
        return tuple(name for name in STEPS if name in self._step_names)

    @cached_property
    def identity(self) -> str:
        """Everything that a cleaned text depends on. ModelError where the words are not to be had."""
        words = f" {_load_shared_speller().version}" if "spelling" in self.steps else ""
        return f"clean/{VERSION}({','.join(self.steps)}){words} unicode={unicodedata.unidata_version}"

    def __call__(self, text: str) -> str:
        """The text, cleaned.

        >>> TextCleanupSteps("case,whitespace")("Two  Words ")
        'two words'
        """
        return _clean_text(self.steps, text)

    def all(self, texts: Sequence[str]) -> list[str]:
        """Each of the texts, cleaned."""
        return [self(text) for text in texts]

    def clean_texts_without_cache(self, texts: Sequence[str]) -> list[str]:
        """The same without a look at what was cleaned before, for whoever takes the time."""
        return [_clean_text.__wrapped__(self.steps, text) for text in texts]

    @property
    def _step_names(self) -> list[str]:
        return [name.strip() for name in self.clean.split(",") if name.strip()]


@lru_cache(maxsize=_KEPT_TEXTS)
def _clean_text(steps: tuple[str, ...], text: str) -> str:
    doing: dict[str, Callable[[str], str]] = {
        "unicode": normalise_unicode, "whitespace": collapse_whitespace, "case": str.lower
    }  # fmt: skip
    for step in steps:
        text = _load_shared_speller()(text) if step == "spelling" else doing[step](text)
    return text


_MANY = ("encode_chunks", "encode_together")
"""Calls with chunks of texts in place of texts."""


class TextCleaningEncoder:
    """`encoder`, which is given every text cleaned. It stands below the cache: a vector is kept under the text as it
    was. What else the encoder says of itself (its price, its limits) is said here too."""

    def __init__(self, encoder: Encoder, cleanup: TextCleanupSteps, *, name: str) -> None:
        self._encoder, self._cleanup, self.name = encoder, cleanup, name
        self.identity = f"{cleanup.identity}:{encoder.identity}"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        attribute = getattr(self._encoder, name)
        if name in _MANY:
            return lambda chunks, **more: attribute(_CleanedTexts(chunks, self._cleanup.all), **more)
        return attribute

    def encode(self, texts: Sequence[str], *, role: Role | None = None) -> NDArray[np.float32]:
        """The vectors of the cleaned texts."""
        return self._encoder.encode(self._cleanup.all(texts), role=role)

    def encode_token_vectors(self, texts: Sequence[str], *, role: Role | None = None) -> list[NDArray[np.float32]]:
        """The token vectors of the cleaned texts, where the encoder has them."""
        encoder: Any = self._encoder
        vectors: list[NDArray[np.float32]] = encoder.encode_token_vectors(self._cleanup.all(texts), role=role)
        return vectors

    def count_truncated(self, texts: Sequence[str]) -> int:
        """How many of the cleaned texts are too long."""
        return self._encoder.count_truncated(self._cleanup.all(texts))


@dataclass(frozen=True)
class _CleanedTexts(Sequence[Any]):
    """Texts, or chunks of them, each cleaned when it is looked at."""

    texts: Sequence[Any]
    clean: Callable[[Any], Any]

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, index: Any) -> Any:
        return self.clean(self.texts[index])


@dataclass(frozen=True)
class _CleanedShard(Sequence[str]):
    """The texts of a shard, cleaned at the first look; it pickles without them."""

    texts: Sequence[str]
    cleanup: TextCleanupSteps

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, index: Any) -> Any:
        return self._cleaned_texts[index]

    def __iter__(self) -> Iterator[str]:
        return iter(self._cleaned_texts)

    def __reduce__(self) -> tuple[Any, ...]:
        return _CleanedShard, (self.texts, self.cleanup)

    @cached_property
    def _cleaned_texts(self) -> list[str]:
        return self.cleanup.all(list(self.texts))


class TextCleaningSimilarity:
    """`system`, a similarity without vectors, which is given every text cleaned."""

    def __init__(self, system: Similarity, cleanup: TextCleanupSteps, *, name: str) -> None:
        self._system, self._cleanup, self.name = system, cleanup, name
        self.identity = f"{cleanup.identity}:{system.identity}"
        if hasattr(system, "search_corpora"):
            self.search_corpora = self._search_cleaned_corpora

    @property
    def kind(self) -> Kind:
        """The kind of the system, as the wrapped one has it."""
        return self._system.kind

    def pairs(self, a: Sequence[str], b: Sequence[str]) -> NDArray[np.float32]:
        """Similarity of the cleaned texts, (n,)."""
        return self._system.pairs(self._cleanup.all(a), self._cleanup.all(b))

    def distances(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Distances of the cleaned texts, condensed."""
        return self._system.distances(self._cleanup.all(texts))

    def search(self, queries: Sequence[str], corpus: Sequence[str], k: int) -> RankedCandidates:
        """The best k of the cleaned corpus for each cleaned query."""
        return self._system.search(self._cleanup.all(queries), self._cleanup.all(corpus), k)

    def search_shards(
        self, queries: Sequence[str], shards: Sequence[Sequence[str]], k: int, *, spread: CellPartExecutor | None = None
    ) -> Iterator[RankedCandidates]:
        """`search` in each shard."""
        return self._system.search_shards(
            self._cleanup.all(queries), self._clean_text_shards_lazily(shards), k, spread=spread
        )

    def _search_cleaned_corpora(
        self, queries: Sequence[str], shards: Sequence[Sequence[str]], each: int, k: int, *,
        spread: CellPartExecutor | None = None
    ) -> Iterator[RankedCandidates]:  # fmt: skip
        system: Any = self._system
        ranked: Iterator[RankedCandidates] = system.search_corpora(
            self._cleanup.all(queries), self._clean_text_shards_lazily(shards), each, k, spread=spread
        )
        return ranked

    def _clean_text_shards_lazily(self, shards: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
        return _CleanedTexts(shards, lambda shard: _CleanedShard(shard, self._cleanup))
