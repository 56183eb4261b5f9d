"""The eight transformations on three axes, the languages they go to, and what a model is told (spec hteb 2-5)."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from embassay.data.intake import named_language
from embassay.protocols.kernel.inputs import Prompt

VERSION = "1"
"""Of our prompts; raised when the words of one of them change."""

Direction = Literal["longer", "shorter", ""]


@dataclass(frozen=True)
class Transformation:
    """One way to rewrite a text: the prompts of its steps, in their order; what it is meant to do to the length; and
    whether every text has a language drawn for itself (`drawn`), or the whole dataset one (`common`)."""

    name: str
    axis: str
    steps: tuple[str, ...]
    length: Direction = ""
    drawn: bool = False
    common: bool = False


TRANSFORMATIONS: Mapping[str, Transformation] = {
    one.name: one
    for one in (
        Transformation("paraphrasing", "style", ("paraphrasing",)),
        Transformation("backtranslation", "style", ("translation", "translation"), drawn=True),
        Transformation("style_change", "style", ("style_change",)),
        Transformation("expansion", "length", ("expansion",), "longer"),
        Transformation("summarise", "length", ("summarise",), "shorter"),
        Transformation("summarised_expansion", "length", ("expansion", "summarise"), "longer"),
        Transformation("translation", "language", ("translation",), common=True),
        Transformation("cross_translation", "language", ("translation",), drawn=True),
    )
}
AXES: Mapping[str, str] = {"style": "Lexical and style", "length": "Length", "language": "Language"}
"""Axis -> what people call it."""
TARGETS = ("Spanish", "French", "German", "Turkish", "Arabic")
PIVOTS = ("English", *TARGETS)
UNKNOWN = "the language of the input"
"""In place of a source language that nobody states."""
ORIGINALLY = "the original language of the message"
"""Where a text of an unknown language is translated back."""


def on_axis(axis: str, chosen: Sequence[str] = tuple(TRANSFORMATIONS)) -> tuple[str, ...]:
    """The transformations of an axis that were chosen.

    >>> on_axis("language")
    ('translation', 'cross_translation')
    """
    return tuple(one for one in chosen if TRANSFORMATIONS[one].axis == axis)


def language_of_dataset(dataset: str, seed: int, candidates: Sequence[str]) -> str:
    """The one language that a dataset is translated to in the run with this seed (spec hteb 4).

    >>> [language_of_dataset("stsbenchmark-sts", seed, TARGETS) for seed in (1337, 1338, 1339)]
    ['Arabic', 'Arabic', 'Arabic']
    """
    named = json.dumps({"dataset": dataset, "seed_transform": seed}, sort_keys=True, separators=(",", ":"))
    return candidates[int(hashlib.sha256(named.encode()).hexdigest(), 16) % len(candidates)]


def language_of_text(seed: int, ordinal: int, candidates: Sequence[str]) -> str:
    """The language drawn for the text with this ordinal, by CPython's generator as in the reference (spec hteb 4).

    >>> [language_of_text(1337, ordinal, TARGETS) for ordinal in range(4)]
    ['Arabic', 'German', 'French', 'German']
    """
    return random.Random(seed + ordinal).choice(candidates)


def own_seed(seed: int, ordinal: int) -> int:
    """A seed of a text's own, of 31 bits: neighbouring runs and texts have nothing in common."""
    return (
        int.from_bytes(hashlib.blake2b(f"{seed}\0{ordinal}".encode(), digest_size=8).digest()) % 2_000_000_000
    )


def candidates(languages: Sequence[str], own: Sequence[str]) -> tuple[str, ...]:
    """The languages without a text's own; all of them where none is left.

    >>> candidates(TARGETS, ["German"])
    ('Spanish', 'French', 'Turkish', 'Arabic')
    """
    return tuple(one for one in languages if one not in own) or tuple(languages)


_PARTS = re.compile(r"[-+/, ]+")
_ARABIC = {"arb": "Modern Standard Arabic", "arq": "Algerian Arabic", "ary": "Moroccan Arabic"}


def names_of(label: str, *, varieties: bool = False) -> tuple[str, ...]:
    """The English names of the languages that a label names, `eng_Latn`, `en-de`, `amh`; unknown parts are left out.

    Varieties of Arabic are Arabic; with `varieties` they have names of their own, as in the reference, which may
    therefore translate them to Arabic.

    >>> names_of("en-de"), names_of("ary"), names_of("ary", varieties=True), names_of("und")
    (('English', 'German'), ('Arabic',), ('Moroccan Arabic',), ())
    """
    found = (_name(part, varieties) for part in _PARTS.split(label) if part)
    return tuple(dict.fromkeys(name for name in found if name))


@cache
def _name(code: str, varieties: bool) -> str:
    own = code.partition("_")[0].lower()
    if own in _ARABIC:
        return _ARABIC[own] if varieties else "Arabic"
    language = named_language(own)
    short = language.prefer_macrolanguage().language or ""
    return _known().get(short) or _known().get(language.language or "") or ""


@cache
def _known() -> Mapping[str, str]:
    """Code -> English name."""
    lines = files(__package__).joinpath("languages.txt").read_text("utf-8").splitlines()
    return dict(line.split(" ", 1) for line in lines if line)


@cache
def prompt(step: str) -> Prompt:
    """The instruction of a step; that of `translation` has the places {source} and {target}."""
    text = files(__package__).joinpath("prompt_texts", f"{step}.txt").read_text("utf-8").strip()
    return Prompt(step, VERSION, text)


def instruction(step: str, source: str = "", target: str = "") -> str:
    """What the system message says.

    >>> "from English to German." in instruction("translation", "English", "German")
    True
    """
    return prompt(step).text.replace("{source}", source or UNKNOWN).replace("{target}", target or ORIGINALLY)
