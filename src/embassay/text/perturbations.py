"""Perturbations by name, and applying them to texts (SAGE, sections 5, 6 and 8).

A perturbation is a function of a text and a random bit stream. The stream is named by the seed, the
perturbation's name and the text's id, so a perturbed text depends neither on order nor on the number of
workers, and is the same in every task and on every platform.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, lru_cache, partial
from math import inf
from operator import itemgetter
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Tokenizer
from embassay.errors import DataError, UsageError
from embassay.randomness import draw_random_bytes
from embassay.registry import Registry
from embassay.spec import COLON, Spec, Value
from embassay.text.channels import CHANNELS_VERSION, damage_letters, simulate_speech_transcript
from embassay.text.semantics import (
    FACTS_VERSION,
    RULES_VERSION,
    SYNONYMS_VERSION,
    Draw,
    negate_in_language,
    replace_facts_in_text,
    replace_synonyms,
)
from embassay.text.tokenizers import encode_as_utf8, find_tokenizer_byte_ends

NEEDLE_VERSION = 1

_OPENING = """\
Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore \
et dolore magna aliqua. Ut enim ad minim veniam, quis nostrud exercitation ullamco laboris nisi ut \
aliquip ex ea commodo consequat. Duis aute irure dolor in reprehenderit in voluptate velit esse \
cillum dolore eu fugiat nulla pariatur. Excepteur sint occaecat cupidatat non proident, sunt in \
culpa qui officia deserunt mollit anim id est laborum."""

# The usual words first: they are drawn most often.
_VOCABULARY = """
    et in ut sed non eu ac at a id vel nec quis sit amet dolor ipsum vitae eget nunc nulla turpis
    tellus quam massa mauris donec lorem elit tempor pellentesque vestibulum aliquam tincidunt diam
    risus sem odio orci justo ante sapien metus enim arcu urna augue purus leo libero velit felis
    lectus magna nisi neque tortor erat mi est ligula lacus consectetur adipiscing viverra pharetra
    ornare faucibus suspendisse volutpat malesuada sollicitudin ullamcorper egestas vulputate congue
    cursus mattis mollis gravida rutrum fermentum blandit feugiat posuere porta dui nisl nibh nullam
    sodales semper varius luctus bibendum dapibus interdum facilisis hendrerit euismod dictum fusce
    cras proin integer vivamus aenean curabitur etiam praesent phasellus maecenas quisque aliquet
    convallis imperdiet lobortis laoreet rhoncus sagittis scelerisque placerat pretium pulvinar
    tristique ultrices venenatis eleifend elementum condimentum consequat commodo accumsan auctor
    dignissim fringilla iaculis lacinia molestie porttitor suscipit vehicula potenti habitasse
    platea nam duis morbi per ad ab aequor aestas amnis anima animus annus aqua arbor ars astrum
    audax aura aurum avis bellum bene bonus brevis caelum campus candor caput carmen carus celer
    cernit clamor classis collis color consul cor corpus crux cum cura decus deinde dis dulcis dum
    dux ensis eros esse ex exitus faber fabula fames fatum ferrum fides finis flamma flos fluctus
    flumen folium fons forma fortis frater frons fugit fulgor gaudium gelidus gens gladius gloria
    gradus habet habitant hac hiems homo honor hora hortus idem ignis imber ingens insula ira iter
    iubet iustus labor lapis latus laus lex liber limen lingua litora litus longus ludus lumen luna
    lux manus mare mater maximus mens mensis miles mirus mons montes mors mos mox mundus murus
    natoque navis nemus niger nihil nix nox nubes numen oculus olim omnis onus opus orbis ordo os
    pallidus panis pars parturient pax pectus pes plenus poena pontus populus primis princeps
    prudens quercus quies radix ramus rapidus ratio regio res rex ridens ripa rosa rota salus
    sanguis saxum sedes senectus serus sic sidus silva sociosqu sol somnus sonus soror spes spiritus
    stella studium suavis sub super taciti tacitus tantus tempestas templum tempus tenebrae tergum
    terra tibi timor torquent turba turris umbra unda urbs vates velum ventus ver verbum veritas via
    vicus vigor vir virtus vis vita votum vox vulnus
""".split()  # noqa: SIM905 quoted words would fill pages

_BYTES_PER_WORD = 4  # two choose the word, one ends the sentence or the clause, one is spare
_SHORTEST, _LONGEST = 4, 18  # words in a sentence


@lru_cache(maxsize=8)
def make_needle_of_word_count(words: int) -> str:
    """The needle with at least `words` words; a longer one begins with the shorter one.

    >>> make_needle_of_word_count(1)[:27], make_needle_of_word_count(1000).startswith(make_needle_of_word_count(200))
    ('Lorem ipsum dolor sit amet,', True)
    """
    generated = max(0, words - len(_OPENING.split()))
    return " ".join([_OPENING, *_draw_random_word_sentences(generated)])


def make_needle_of_token_count(tokenizer: Tokenizer, count: int) -> str:
    """The first `count` tokens of the needle, at least one."""
    # Every tokenizer gives at least one token per word, and the lengths are powers of two: what a document
    # gets depends on its own length only, not on the documents before it.
    text = make_needle_of_word_count(1 << max(12, count.bit_length()))
    ends = find_tokenizer_byte_ends(tokenizer)(text)
    return text[: ends[count - 1]]  # in ASCII, bytes are characters


def cut_given_needle(text: str, tokenizer: Tokenizer, count: int) -> str:
    """The first `count` tokens of a given needle. UsageError where it has fewer: repeated, it would be another one."""
    ends = find_tokenizer_byte_ends(tokenizer)(text)
    if count > len(ends):
        raise UsageError(
            f"The needle has {len(ends):,} tokens, but a document needs {count:,}.",
            mend="Pass a longer text with --needle, or shorten the documents with --text-tokens.",
        )
    return encode_as_utf8(text)[: ends[count - 1]].decode("utf-8", "replace")


def read_needle(path: str) -> str:
    """The text of a needle file in UTF-8. DataError for one that cannot be read or holds nothing."""
    try:
        text = Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(
            "The needle cannot be read", path=Path(path), expected="a text file in UTF-8", found=reason
        ) from error
    if not text.strip():
        raise DataError("The needle is empty", path=Path(path), expected="a text longer than the documents")
    return text


def text_digest(text: str) -> str:
    """A short name of a text by its bytes, for keys and manifests."""
    return hashlib.blake2b(encode_as_utf8(text), digest_size=8).hexdigest()


def _draw_random_word_sentences(words: int) -> list[str]:
    """Sentences of random words, `words` or a few more in all."""
    stream = draw_random_bytes((words + _LONGEST) * _BYTES_PER_WORD, NEEDLE_VERSION, "needle")
    sentences: list[str] = []
    sentence: list[str] = []
    for at in range(0, len(stream), _BYTES_PER_WORD):
        # The text ends with a whole sentence.
        if at >= words * _BYTES_PER_WORD and not sentence:
            break
        sentence.append(_pick_word_for_draw(int.from_bytes(stream[at : at + 2], "little")))
        # A byte: one word in eight ends the sentence, about one in eleven has a comma.
        chance = stream[at + 2]
        if len(sentence) == _LONGEST or (len(sentence) >= _SHORTEST and chance < 32):
            sentences.append(" ".join(sentence).capitalize() + ".")
            sentence = []
        elif len(sentence) > 1 and chance >= 232:
            sentence[-1] += ","
    return sentences


def _pick_word_for_draw(draw: int) -> str:
    """The word for a draw from 0 to 65535; squared, so that the first words are the frequent ones."""
    return _VOCABULARY[(draw * draw * len(_VOCABULARY)) >> 32]


def compute_floor_of_share(share: float, n: int) -> int:
    """The whole part of `share` of `n`, the share taken as the decimal it is written as.

    >>> int(0.29 * 100), compute_floor_of_share(0.29, 100)
    (28, 29)
    """
    return int(Fraction(repr(float(share))) * n)


def insert_needle(text: str, tokenizer: Tokenizer, p: float, q: float, given: str = "") -> str:
    """Insert the first `floor(p * n)` needle tokens (at least one) at character `floor(q * len(text))` of `text`.

    n counts the tokens of `text`. No separator is added, and the place may be inside a word [A16]. The needle is ours
    unless one is `given`; UsageError where that is too short.
    """
    count = max(1, compute_floor_of_share(p, len(find_tokenizer_byte_ends(tokenizer)(text))))
    at = compute_floor_of_share(q, len(text))
    inserted = cut_given_needle(given, tokenizer, count) if given else make_needle_of_token_count(tokenizer, count)
    return text[:at] + inserted + text[at:]


def first_tokens(text: str, tokenizer: Tokenizer, most: int) -> str:
    """`text` up to its token number `most`; a character that is cut becomes U+FFFD."""
    ends = find_tokenizer_byte_ends(tokenizer)(text)
    return text if len(ends) <= most else encode_as_utf8(text)[: ends[most - 1]].decode("utf-8", "replace")


def remove_token_span(text: str, tokenizer: Tokenizer, p: float, q: float) -> str:
    """Remove `k = floor(p * n)` of the n tokens of `text` (at least one), starting at token `floor(q * (n - k))`.

    A character of which only a part is removed becomes U+FFFD. An empty text stays as it is.
    """
    ends = [0, *find_tokenizer_byte_ends(tokenizer)(text).tolist()]
    n = len(ends) - 1
    count = min(n, max(1, compute_floor_of_share(p, n)))
    start = compute_floor_of_share(q, n - count)
    characters = encode_as_utf8(text)
    return (characters[: ends[start]] + characters[ends[start + count] :]).decode("utf-8", "replace")


_SENTENCE_END = re.compile(r"[.!?]\s+")


def split_sentences(text: str) -> list[str]:
    """The sentences of `text` in order, without the whitespace around them (SAGE, section 5).

    Abbreviations are not known: "Dr. Who" is two sentences. A text without an inner sentence end is one
    sentence, an empty or blank one has none.

    >>> split_sentences("It works. Does it? Yes!")
    ['It works.', 'Does it?', 'Yes!']
    """
    text = text.strip()
    if not text:
        return []
    sentences, start = [], 0
    for match in _SENTENCE_END.finditer(text):
        sentences.append(text[start : match.start() + 1])
        start = match.end()
    sentences.append(text[start:])
    return sentences


def split_sentences_by_lines_and_full_stops(text: str) -> list[str]:
    """The sentences of `text` by the rule of the first author's earlier code (SAGE [A16]): parts between line ends and
    full stops that a space follows, without the whitespace around them, each with a full stop added.

    >>> split_sentences_by_lines_and_full_stops("It works. Does it?\\nYes.")
    ['It works.', 'Does it?.', 'Yes..']
    """
    parts = (part.strip() for line in text.split("\n") for part in line.split(". "))
    return [f"{part}." for part in parts if part not in ("", ".")]


def capitalize_random_quarter(text: str, draw: Draw) -> str:
    """Change each character to upper case with probability 1/4, independently (SAGE, section 5) [A24].

    Character i takes bits 2(i mod 4) and the next of byte i // 4 of the stream, and is raised when both are
    0. A character whose upper case is longer than one character (sharp s, ligatures) stays.
    """
    drawn = np.frombuffer(draw((len(text) + 3) // 4), np.uint8)
    return _uppercase_marked_characters(text, _RAISED_BY.take(drawn, mode="clip").view(np.uint8)[: len(text)])


def capitalize_exact_quarter(text: str, draw: Draw) -> str:
    """A quarter of the characters, rounded down, drawn without replacement, become upper case [A24]."""
    case_bits = np.zeros(len(text), np.uint8)
    case_bits[draw_random_order(len(text), draw)[: len(text) // 4]] = _CASE_BIT
    return _uppercase_marked_characters(text, case_bits)


_CASE_BIT = 0x20  # tells an ASCII letter from its upper case
# Entry b: the case bit, or 0, for each of the four characters that byte b decides, as the bytes of one
# number.
_RAISED_BY: NDArray[np.uint32] = (
    (((np.arange(256)[:, None] >> np.arange(0, 8, 2)) & 3 == 0) * _CASE_BIT).astype(np.uint8).view(np.uint32)
).ravel()


def _uppercase_marked_characters(text: str, case_bits: NDArray[np.uint8]) -> str:
    """`text` with the characters whose `case_bits`, (characters,), are set in upper case."""
    if not text.isascii():
        return _uppercase_marked_unicode_characters(text, case_bits)
    characters = text.encode()
    old = np.frombuffer(characters, np.uint8)
    changed = old ^ np.frombuffer(characters.upper(), np.uint8)
    changed &= case_bits
    changed ^= old
    return changed.tobytes().decode()


def _uppercase_marked_unicode_characters(text: str, case_bits: NDArray[np.uint8]) -> str:
    codes = np.frombuffer(bytearray(text, "utf-32-le", "surrogatepass"), "<u4")
    # Unsigned, codes below "a" wrap around to large numbers: one comparison tests both ends.
    changed = (codes - np.uint32(ord("a")) < 26).view(np.uint8)
    changed *= np.uint8(_CASE_BIT)
    changed &= case_bits
    # The lowest byte of each code: ASCII letters differ from their capitals in one bit of it.
    codes.view(np.uint8)[::4] ^= changed
    beyond_ascii = np.flatnonzero(codes > 127)
    beyond_ascii = beyond_ascii[case_bits[beyond_ascii] != 0]
    if beyond_ascii.size:
        codes[beyond_ascii] = [_uppercase_code_point(code) for code in codes[beyond_ascii].tolist()]
    return codes.tobytes().decode("utf-32-le", "surrogatepass")


@cache
def _uppercase_code_point(code: int) -> int:
    upper = chr(code).upper()
    return ord(upper) if len(upper) == 1 else code


def delete_every_tenth_character(text: str, _draw: Draw) -> str:
    """Delete the characters at positions 10, 20, 30 ... (counted from 1), except spaces (U+0020) [A11]."""
    if not text.isascii():
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
        stays = np.ones(len(text), np.bool_)
        stays[9::10] = codes[9::10] == ord(" ")
        return codes[stays].tobytes().decode("utf-32-le", "surrogatepass")
    characters = bytearray(text, "ascii")
    characters[9::10] = characters[9::10].translate(_ALL_BUT_SPACE_DELETED)
    return characters.translate(None, _DELETED).decode()


_DELETED = b"\xff"  # not in ASCII
_ALL_BUT_SPACE_DELETED = bytes(byte if byte == ord(" ") else _DELETED[0] for byte in range(256))


def delete_tenth_character_or_next(text: str, _draw: Draw) -> str:
    """As `delete_every_tenth_character`; in place of a space, the next character that is none goes, if there is one
    [A11]."""
    parts, start = [], 0
    for position in range(9, len(text), 10):
        while text[position : position + 1] == " ":
            position += 1
        if position >= start:  # ten spaces in a row make two positions meet
            parts.append(text[start:position])
            start = position + 1
    return "".join(parts) + text[start:]


def delete_tenth_characters_of_sentences(text: str, _draw: Draw) -> str:
    """In every sentence (`split_sentences_by_lines_and_full_stops`) the characters at its positions 10, 20, 30 ... are
    removed, a space counting as two; the sentences are joined by a blank line. The rule of the first author's earlier
    code [A16]."""
    edited = []
    for sentence in split_sentences_by_lines_and_full_stops(text):
        characters = list(sentence.replace(" ", "  "))
        del characters[9::10]
        edited.append("".join(characters).replace("  ", " "))
    return "\n\n".join(edited)


_DIGITS = bytes.maketrans(b"eiao", b"3140")
_DIGITS_BOTH_CASES = bytes.maketrans(b"eiaoEIAO", b"31403140")


def replace_letters_by_digits(text: str, _draw: Draw, both_cases: bool = False) -> str:
    """Replace e by 3, i by 1, a by 4 and o by 0; with `both_cases`, capitals too (SAGE, section 5).

    Letters with accents are other characters and stay.
    """
    # In UTF-8 the bytes of these letters stand for nothing else.
    table = _DIGITS_BOTH_CASES if both_cases else _DIGITS
    return text.encode("utf-8", "surrogatepass").translate(table).decode("utf-8", "surrogatepass")


def shuffle_words(text: str, draw: Draw) -> str:
    """Put the words (split at whitespace) in random order, joined by one space (SAGE, section 5)."""
    return " ".join(_shuffle_parts(text.split(), draw))


def shuffle_sentences(text: str, draw: Draw) -> str:
    """Put the sentences in random order, joined by one space (SAGE, section 5); see `split_sentences`."""
    return " ".join(_shuffle_parts(split_sentences(text), draw))


def shuffle_words_at_spaces(text: str, draw: Draw) -> str:
    """What stands between single spaces in random order: line ends stay within their word [A16]."""
    return " ".join(_shuffle_parts(text.split(" "), draw))


def shuffle_sentences_split_at_lines(text: str, draw: Draw) -> str:
    """The sentences by `split_sentences_by_lines_and_full_stops` in random order, joined by a blank line [A16]."""
    return "\n\n".join(_shuffle_parts(split_sentences_by_lines_and_full_stops(text), draw))


def _shuffle_parts(parts: list[str], draw: Draw) -> Sequence[str]:
    """The parts in random order; under two parts take nothing from the stream."""
    if len(parts) < 2:
        return parts
    shuffled: tuple[str, ...] = itemgetter(*draw_random_order(len(parts), draw))(parts)
    return shuffled


def draw_random_order(n: int, draw: Draw) -> list[int]:
    """A random order of n things: that of n little-endian 32-bit keys, equal ones by position."""
    # Sorted keys and not numpy's shuffle, whose stream may differ between its versions.
    keys = np.empty(n, "<u8")
    halves = keys.view("<u4")
    halves[1::2] = np.frombuffer(draw(4 * n), "<u4")
    halves[::2] = np.arange(n)
    keys.sort()
    order: list[int] = halves[::2].tolist()
    return order


Kind = Literal["superficial", "semantic", "insertion", "removal"]

SUPERFICIAL = ("capitalize", "delete10", "numerize")
SEMANTIC = ("negate", "sentence_shuffle", "word_shuffle")
FURTHER_SUPERFICIAL = ("synonyms", "typos", "ocr", "speech")
FURTHER = (*FURTHER_SUPERFICIAL, "facts")
"""Edits beside the paper's six, and which of them keep the meaning."""
POSITIONS = (0.0, 0.5, 1.0)


@dataclass(frozen=True)
class Perturbation:
    """One edit of texts.

    `name` is its canonical spec string and names its random stream; `identity` adds what its output depends
    on besides (versions of lists, the tokenizer), for cell keys. Equal where both are equal.
    """

    name: str
    kind: Kind
    identity: str
    apply: Callable[[str, Draw], str] = field(compare=False, repr=False)

    def __str__(self) -> str:
        return self.name


PERTURBATIONS: Registry[Perturbation] = Registry("perturbation", COLON, [["apply", "identity"]])


def perturb(perturbation: Perturbation, text: str, *, seed: int, text_id: str) -> str:
    """`text` perturbed: the same bytes for the same perturbation, text, seed and id, on every platform."""
    return perturbation.apply(text, partial(_draw_random_bytes_for_text, seed, perturbation.name, text_id))


def perturb_all(perturbation: Perturbation, texts: Sequence[str], ids: Sequence[str], seed: int) -> list[str]:
    """`perturb` for many texts, `ids[i]` being the id of `texts[i]`."""
    return [perturb(perturbation, text, seed=seed, text_id=text_id) for text, text_id in zip(texts, ids, strict=True)]


def insertion_variants(shares: Sequence[float]) -> tuple[str, ...]:
    """The insertions of each share at the start, in the middle and at the end.

    >>> insertion_variants([0.15])
    ('insertion:p=0.15,q=0', 'insertion:p=0.15,q=0.5', 'insertion:p=0.15,q=1')
    """
    return tuple(_format_edit_spec("insertion", p=p, q=q) for p in shares for q in POSITIONS)


def removal_variants(shares: Sequence[float]) -> tuple[str, ...]:
    """The removals of each share at the start, in the middle and at the end."""
    return tuple(_format_edit_spec("removal", p=p, q=q) for p in shares for q in POSITIONS)


def retrieval_variants() -> tuple[str, ...]:
    """The variants of every document in the retrieval task: 18 perturbations (SAGE, section 8)."""
    return (*SUPERFICIAL, *SEMANTIC, *insertion_variants((0.15, 0.5)), *removal_variants((0.15, 0.5)))


def _draw_random_bytes_for_text(seed: int, name: str, text_id: str, n: int) -> bytes:
    return draw_random_bytes(n, seed, name, text_id)


def _format_edit_spec(name: str, **parameters: Value) -> str:
    return PERTURBATIONS.format(Spec(name, params=parameters))


def _make_edit_name_with_unicode_version(name: str) -> str:
    """The identity of an edit that depends on the letters this Python knows."""
    return f"{name}/1/unicode-{unicodedata.unidata_version}"


def _add_unused_draw_argument(edit: Callable[[str], str]) -> Callable[[str, Draw], str]:
    return lambda text, _draw: edit(text)


@PERTURBATIONS.register("capitalize", "each character upper-cased with probability 1/4", kind="superficial")
def _make_capitalize_edit(exact: bool = False) -> Perturbation:
    name = _format_edit_spec("capitalize", exact=True) if exact else "capitalize"
    edit = capitalize_exact_quarter if exact else capitalize_random_quarter
    return Perturbation(name, "superficial", _make_edit_name_with_unicode_version(name), edit)


@PERTURBATIONS.register("delete10", "every tenth character removed, spaces kept", kind="superficial")
def _make_delete_tenth_edit(
    spaces: Literal["keep", "next"] = "keep", within: Literal["text", "sentences"] = "text"
) -> Perturbation:
    if within == "sentences":
        name = _format_edit_spec("delete10", within=within)
        return Perturbation(name, "superficial", f"{name}/1", delete_tenth_characters_of_sentences)
    if spaces == "keep":
        return Perturbation("delete10", "superficial", "delete10/1", delete_every_tenth_character)
    name = _format_edit_spec("delete10", spaces=spaces)
    return Perturbation(name, "superficial", f"{name}/1", delete_tenth_character_or_next)


@PERTURBATIONS.register("numerize", "e, i, a and o become 3, 1, 4 and 0", kind="superficial")
def _make_digits_for_letters_edit(both_cases: bool = False) -> Perturbation:
    name = _format_edit_spec("numerize", both_cases=True) if both_cases else "numerize"
    return Perturbation(name, "superficial", f"{name}/1", partial(replace_letters_by_digits, both_cases=both_cases))


@PERTURBATIONS.register("negate", "auxiliary verbs negated, or affirmed if negated", kind="semantic")
def _make_negate_edit(lang: str = "") -> Perturbation:
    name = _format_edit_spec("negate", lang=lang) if lang else "negate"
    return Perturbation(
        name, "semantic", f"{name}/{RULES_VERSION}", _add_unused_draw_argument(partial(negate_in_language, lang=lang))
    )


@PERTURBATIONS.register("sentence_shuffle", "the sentences in random order", kind="semantic")
def _make_sentence_shuffle_edit(split: Literal["marks", "lines"] = "marks") -> Perturbation:
    name = "sentence_shuffle" if split == "marks" else _format_edit_spec("sentence_shuffle", split=split)
    edit = shuffle_sentences if split == "marks" else shuffle_sentences_split_at_lines
    return Perturbation(name, "semantic", f"{name}/1", edit)


@PERTURBATIONS.register("word_shuffle", "the words in random order", kind="semantic")
def _make_word_shuffle_edit(split: Literal["whitespace", "spaces"] = "whitespace") -> Perturbation:
    name = "word_shuffle" if split == "whitespace" else _format_edit_spec("word_shuffle", split=split)
    edit = shuffle_words if split == "whitespace" else shuffle_words_at_spaces
    return Perturbation(name, "semantic", f"{name}/1", edit)


@PERTURBATIONS.register("synonyms", "listed words replaced by synonyms, each with probability 1/2", kind="superficial")
def _make_synonyms_edit() -> Perturbation:
    return Perturbation("synonyms", "superficial", f"synonyms/{SYNONYMS_VERSION}", replace_synonyms)


_SOME, _ALIKE = 0.05, 0.1
"""The share of letters, or of words that sound alike, that go wrong where none is given."""


@PERTURBATIONS.register("typos", "a share p of the letters mistyped", kind="superficial")
def _make_typos_edit(p: float = _SOME) -> Perturbation:
    return _make_channel_edit("typos", p, _SOME, partial(damage_letters, channel="typos"))


@PERTURBATIONS.register("ocr", "a share p of the characters misread in a scan", kind="superficial")
def _make_ocr_error_perturbation(p: float = _SOME) -> Perturbation:
    return _make_channel_edit("ocr", p, _SOME, partial(damage_letters, channel="ocr"))


@PERTURBATIONS.register(
    "speech", "like a speech recogniser's output; words that sound alike swapped with probability p", kind="superficial"
)
def _make_speech_edit(p: float = _ALIKE) -> Perturbation:
    return _make_channel_edit("speech", p, _ALIKE, simulate_speech_transcript)


def _make_channel_edit(edit: str, p: float, usual: float, damage: Callable[..., str]) -> Perturbation:
    name = edit if p == usual else _format_edit_spec(edit, p=_check_share(edit, "p", p, 1))
    return Perturbation(name, "superficial", f"{name}/{CHANNELS_VERSION}", partial(damage, share=p))


@PERTURBATIONS.register("facts", "numbers, dates and names replaced by others", kind="semantic")
def _make_facts_edit() -> Perturbation:
    return Perturbation("facts", "semantic", f"facts/{FACTS_VERSION}", replace_facts_in_text)


@PERTURBATIONS.register(
    "insertion", "needle tokens inserted at position q, p times as many as the text has", kind="insertion"
)
def _make_needle_insertion_edit(
    tokenizer: Tokenizer, p: float | None = None, q: float | None = None, needle_text: str = ""
) -> Perturbation:
    p, q = _check_share("insertion", "p", p, inf), _check_share("insertion", "q", q, 1)
    name = _format_edit_spec("insertion", p=p, q=q)
    edit = partial(insert_needle, tokenizer=tokenizer, p=p, q=q, given=needle_text)
    whose = f"needle-{text_digest(needle_text)}" if needle_text else f"needle-{NEEDLE_VERSION}"
    identity = f"{name}/{whose}/{tokenizer.identity}"
    return Perturbation(name, "insertion", identity, _add_unused_draw_argument(edit))


@PERTURBATIONS.register("removal", "a share p of the tokens removed at position q", kind="removal")
def _make_token_removal_edit(tokenizer: Tokenizer, p: float | None = None, q: float | None = None) -> Perturbation:
    p, q = _check_share("removal", "p", p, 1), _check_share("removal", "q", q, 1)
    name = _format_edit_spec("removal", p=p, q=q)
    edit = partial(remove_token_span, tokenizer=tokenizer, p=p, q=q)
    return Perturbation(name, "removal", f"{name}/1/{tokenizer.identity}", _add_unused_draw_argument(edit))


def _check_share(edit: str, parameter: str, share: float | None, most: float) -> float:
    if share is None or not 0 <= share <= most or share == inf:
        allowed = "a finite number of at least 0" if most == inf else f"a number from 0 to {most:g}"
        raise UsageError(
            f"{edit} needs {parameter}, {allowed}, found {share}.", mend=f"Write {edit}:p=0.15,q=0.5, for example."
        )
    return share
