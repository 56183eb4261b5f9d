"""The needle inserted into documents, and text added or removed in tokens (SAGE, section 6).

It opens with the standard Lorem ipsum and goes on with sentences of random Latin words, without repeating,
for as long as the longest document needs. A repeated paragraph would change the scores of set-based metrics
[A16]. Another text can take its place.
"""

from __future__ import annotations

import hashlib
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

from embassay.contracts import Tokenizer
from embassay.errors import DataError, UsageError
from embassay.randomness import random_bytes
from embassay.text.tokenizers import as_utf8, piece_ends

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
def needle_text(words: int) -> str:
    """The needle with at least `words` words; a longer one begins with the shorter one.

    >>> needle_text(1)[:27], needle_text(1000).startswith(needle_text(200))
    ('Lorem ipsum dolor sit amet,', True)
    """
    generated = max(0, words - len(_OPENING.split()))
    return " ".join([_OPENING, *_sentences(generated)])


def needle(tokenizer: Tokenizer, count: int) -> str:
    """The first `count` tokens of the needle, at least one."""
    # Every tokenizer gives at least one token per word, and the lengths are powers of two: what a document
    # gets depends on its own length only, not on the documents before it.
    text = needle_text(1 << max(12, count.bit_length()))
    ends = piece_ends(tokenizer)(text)
    return text[: ends[count - 1]]  # in ASCII, bytes are characters


def needle_of(text: str, tokenizer: Tokenizer, count: int) -> str:
    """The first `count` tokens of a given needle. UsageError where it has fewer: repeated, it would be another one."""
    ends = piece_ends(tokenizer)(text)
    if count > len(ends):
        raise UsageError(
            f"The needle has {len(ends):,} tokens, and a document needs {count:,} of it.",
            mend="Give a longer text with --needle, or cut the documents with --text-tokens.",
        )
    return as_utf8(text)[: ends[count - 1]].decode("utf-8", "replace")


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
    return hashlib.blake2b(as_utf8(text), digest_size=8).hexdigest()


def _sentences(words: int) -> list[str]:
    """Sentences of random words, `words` or a few more in all."""
    stream = random_bytes((words + _LONGEST) * _BYTES_PER_WORD, NEEDLE_VERSION, "needle")
    sentences: list[str] = []
    sentence: list[str] = []
    for at in range(0, len(stream), _BYTES_PER_WORD):
        if at >= words * _BYTES_PER_WORD and not sentence:
            break
        sentence.append(_word(int.from_bytes(stream[at : at + 2], "little")))
        chance = stream[at + 2]
        if len(sentence) == _LONGEST or (len(sentence) >= _SHORTEST and chance < 32):
            sentences.append(" ".join(sentence).capitalize() + ".")
            sentence = []
        elif len(sentence) > 1 and chance >= 232:
            sentence[-1] += ","
    return sentences


def _word(draw: int) -> str:
    """The word for a draw from 0 to 65535; squared, so that the first words are the frequent ones."""
    return _VOCABULARY[(draw * draw * len(_VOCABULARY)) >> 32]


def floor_share(share: float, n: int) -> int:
    """The whole part of `share` of `n`, the share taken as the decimal it is written as.

    >>> int(0.29 * 100), floor_share(0.29, 100)
    (28, 29)
    """
    return int(Fraction(repr(float(share))) * n)


def insert_needle(text: str, tokenizer: Tokenizer, p: float, q: float, given: str = "") -> str:
    """`text` with the first `floor(p * n)` needle tokens (at least one) at character `floor(q * len(text))`.

    n counts the tokens of `text`. No separator is added, and the place may be inside a word [A16]. The needle is ours
    unless one is `given`; UsageError where that is too short.
    """
    count = max(1, floor_share(p, len(piece_ends(tokenizer)(text))))
    at = floor_share(q, len(text))
    inserted = needle_of(given, tokenizer, count) if given else needle(tokenizer, count)
    return text[:at] + inserted + text[at:]


def first_tokens(text: str, tokenizer: Tokenizer, most: int) -> str:
    """`text` up to its token number `most`; a character that is cut becomes U+FFFD."""
    ends = piece_ends(tokenizer)(text)
    return text if len(ends) <= most else as_utf8(text)[: ends[most - 1]].decode("utf-8", "replace")


def remove_span(text: str, tokenizer: Tokenizer, p: float, q: float) -> str:
    """`text` without `k = floor(p * n)` of its n tokens (at least one), from token `floor(q * (n - k))` on.

    A character of which only a part is removed becomes U+FFFD. An empty text stays as it is.
    """
    ends = [0, *piece_ends(tokenizer)(text).tolist()]
    n = len(ends) - 1
    count = min(n, max(1, floor_share(p, n)))
    start = floor_share(q, n - count)
    characters = as_utf8(text)
    return (characters[: ends[start]] + characters[ends[start + count] :]).decode("utf-8", "replace")
