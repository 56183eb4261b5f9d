"""Perturbations by name, and applying them to texts (SAGE, sections 5, 6 and 8).

A perturbation is a function of a text and a random bit stream. The stream is named by the seed, the
perturbation's name and the text's id, so a perturbed text depends neither on order nor on the number of
workers, and is the same in every task and on every platform.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import Literal

from embassay.contracts import Tokenizer
from embassay.errors import UsageError
from embassay.randomness import random_bytes
from embassay.registry import Registry
from embassay.spec import COLON, Spec, Value
from embassay.text import edits
from embassay.text.edits import NEEDLE_VERSION, Draw, insert_needle, remove_span, text_digest
from embassay.text.negation import RULES_VERSION, negate_in

Kind = Literal["superficial", "semantic", "insertion", "removal"]

SUPERFICIAL = ("capitalize", "delete10", "numerize")
SEMANTIC = ("negate", "sentence_shuffle", "word_shuffle")
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
    return perturbation.apply(text, partial(_stream, seed, perturbation.name, text_id))


def perturb_all(perturbation: Perturbation, texts: Sequence[str], ids: Sequence[str], seed: int) -> list[str]:
    """`perturb` for many texts, `ids[i]` being the id of `texts[i]`."""
    return [
        perturb(perturbation, text, seed=seed, text_id=text_id)
        for text, text_id in zip(texts, ids, strict=True)
    ]


def insertion_variants(shares: Sequence[float]) -> tuple[str, ...]:
    """The insertions of each share at the start, in the middle and at the end.

    >>> insertion_variants([0.15])
    ('insertion:p=0.15,q=0', 'insertion:p=0.15,q=0.5', 'insertion:p=0.15,q=1')
    """
    return tuple(_spelled("insertion", p=p, q=q) for p in shares for q in POSITIONS)


def removal_variants(shares: Sequence[float]) -> tuple[str, ...]:
    """The removals of each share at the start, in the middle and at the end."""
    return tuple(_spelled("removal", p=p, q=q) for p in shares for q in POSITIONS)


def retrieval_variants() -> tuple[str, ...]:
    """The 18 perturbations of every document in the retrieval task (SAGE, section 8)."""
    return (*SUPERFICIAL, *SEMANTIC, *insertion_variants((0.15, 0.5)), *removal_variants((0.15, 0.5)))


def _stream(seed: int, name: str, text_id: str, n: int) -> bytes:
    return random_bytes(n, seed, name, text_id)


def _spelled(name: str, **parameters: Value) -> str:
    return PERTURBATIONS.format(Spec(name, params=parameters))


def _unicode(name: str) -> str:
    """The identity of an edit that depends on the letters this Python knows."""
    return f"{name}/1/unicode-{unicodedata.unidata_version}"


def _without_draws(edit: Callable[[str], str]) -> Callable[[str, Draw], str]:
    return lambda text, _draw: edit(text)


@PERTURBATIONS.register("capitalize", "each character upper case with probability 1/4", kind="superficial")
def _capitalize(exact: bool = False) -> Perturbation:
    name = _spelled("capitalize", exact=True) if exact else "capitalize"
    edit = edits.capitalize_exactly if exact else edits.capitalize
    return Perturbation(name, "superficial", _unicode(name), edit)


@PERTURBATIONS.register("delete10", "every tenth character removed, spaces kept", kind="superficial")
def _delete10(
    spaces: Literal["keep", "next"] = "keep", within: Literal["text", "sentences"] = "text"
) -> Perturbation:
    if within == "sentences":
        name = _spelled("delete10", within=within)
        return Perturbation(name, "superficial", f"{name}/1", edits.delete_tenth_of_sentences)
    if spaces == "keep":
        return Perturbation("delete10", "superficial", "delete10/1", edits.delete_tenth)
    name = _spelled("delete10", spaces=spaces)
    return Perturbation(name, "superficial", f"{name}/1", edits.delete_tenth_or_next)


@PERTURBATIONS.register("numerize", "e, i, a and o become 3, 1, 4 and 0", kind="superficial")
def _numerize(both_cases: bool = False) -> Perturbation:
    name = _spelled("numerize", both_cases=True) if both_cases else "numerize"
    return Perturbation(name, "superficial", f"{name}/1", partial(edits.numerize, both_cases=both_cases))


@PERTURBATIONS.register("negate", "auxiliaries negated, negated ones affirmed", kind="semantic")
def _negate(lang: str = "") -> Perturbation:
    name = _spelled("negate", lang=lang) if lang else "negate"
    return Perturbation(
        name, "semantic", f"{name}/{RULES_VERSION}", _without_draws(partial(negate_in, lang=lang))
    )


@PERTURBATIONS.register("sentence_shuffle", "the sentences in random order", kind="semantic")
def _sentence_shuffle(split: Literal["marks", "lines"] = "marks") -> Perturbation:
    name = "sentence_shuffle" if split == "marks" else _spelled("sentence_shuffle", split=split)
    edit = edits.shuffle_sentences if split == "marks" else edits.shuffle_sentences_of_lines
    return Perturbation(name, "semantic", f"{name}/1", edit)


@PERTURBATIONS.register("word_shuffle", "the words in random order", kind="semantic")
def _word_shuffle(split: Literal["whitespace", "spaces"] = "whitespace") -> Perturbation:
    name = "word_shuffle" if split == "whitespace" else _spelled("word_shuffle", split=split)
    edit = edits.shuffle_words if split == "whitespace" else edits.shuffle_words_at_spaces
    return Perturbation(name, "semantic", f"{name}/1", edit)


@PERTURBATIONS.register("insertion", "p of its length in needle tokens added at q", kind="insertion")
def _insertion(
    tokenizer: Tokenizer, p: float | None = None, q: float | None = None, needle_text: str = ""
) -> Perturbation:
    p, q = _checked("insertion", "p", p, inf), _checked("insertion", "q", q, 1)
    name = _spelled("insertion", p=p, q=q)
    edit = partial(insert_needle, tokenizer=tokenizer, p=p, q=q, given=needle_text)
    whose = f"needle-{text_digest(needle_text)}" if needle_text else f"needle-{NEEDLE_VERSION}"
    identity = f"{name}/{whose}/{tokenizer.identity}"
    return Perturbation(name, "insertion", identity, _without_draws(edit))


@PERTURBATIONS.register("removal", "p of its tokens removed at q", kind="removal")
def _removal(tokenizer: Tokenizer, p: float | None = None, q: float | None = None) -> Perturbation:
    p, q = _checked("removal", "p", p, 1), _checked("removal", "q", q, 1)
    name = _spelled("removal", p=p, q=q)
    edit = partial(remove_span, tokenizer=tokenizer, p=p, q=q)
    return Perturbation(name, "removal", f"{name}/1/{tokenizer.identity}", _without_draws(edit))


def _checked(edit: str, parameter: str, share: float | None, most: float) -> float:
    if share is None or not 0 <= share <= most or share == inf:
        wanted = "a finite number of at least 0" if most == inf else f"a number from 0 to {most:g}"
        raise UsageError(
            f"{edit} needs {parameter}, {wanted}, found {share}.",
            mend=f"Write {edit}:p=0.15,q=0.5, for example.",
        )
    return share
