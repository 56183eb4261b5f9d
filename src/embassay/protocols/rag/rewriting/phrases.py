"""What people say around a question, by language: read from a file of regular expressions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_APOSTROPHE = "['’]"
_USED = re.compile(r"\{([A-Z_]+)\}")
_DEFINED = re.compile(r"([A-Z_]+) = (.*)")
_ELIDED = r"(?<=^[cdjlmnst]['’])|(?<=\W[cdjlmnst]['’])"
_STOP = r"(?:\s*[,;:.!?…–—]+\s*|\s+-+\s+)"


@dataclass(frozen=True)
class Phrases:
    """The phrases of one language, compiled; what each is for stands in the file."""

    openers: re.Pattern[str]
    loose: re.Pattern[str]
    lead_ins: re.Pattern[str]
    closers: re.Pattern[str]
    fillers: re.Pattern[str]
    asides: re.Pattern[str]
    speaker: re.Pattern[str]
    digressions: re.Pattern[str]
    small_talk: re.Pattern[str]
    requests: re.Pattern[str]
    dialogue: re.Pattern[str]
    hedging: re.Pattern[str]
    conditions: re.Pattern[str]
    asking: re.Pattern[str]
    pointing: re.Pattern[str]
    common: frozenset[str]


@cache
def open_phrases(language: str) -> Phrases:
    """The phrases of `english` or `french`."""
    folder = files("embassay.protocols.rag.rewriting").joinpath("phrase_texts")
    parts = read_phrases(folder.joinpath(f"{language}.txt").read_text("utf-8"))
    return Phrases(
        openers=_beginning(parts["openers"]),
        loose=_compiled(rf"{_any(parts['loose'])}(?:{_STOP}|\s*$)"),
        lead_ins=_anywhere(parts["lead-ins"]),
        closers=_ending(parts["closers"], parts["loose closers"]),
        fillers=_anywhere(parts["fillers"]),
        asides=_between_commas(parts["asides"]),
        speaker=_anywhere(parts["speaker"]),
        digressions=_anywhere(parts["digressions"]),
        small_talk=_beginning(parts["small talk"]),
        requests=_anywhere(parts["requests"]),
        dialogue=_anywhere(parts["dialogue"]),
        hedging=_beginning(parts["hedging"]),
        conditions=_anywhere(parts["conditions"]),
        asking=_beginning(parts["asking"]),
        pointing=_anywhere(parts["pointing"]),
        common=frozenset(" ".join(parts["common"]).split()),
    )


def read_phrases(text: str) -> Mapping[str, list[str]]:
    """The lines of each part, what stands for a definition put in its place; lines that begin with # are none.

    >>> read_phrases("WHO = (?:you|they)\\n[asking]  how questions begin\\ndo {WHO} know")
    {'asking': ['do (?:you|they) know']}
    """
    definitions: dict[str, str] = {}
    parts: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        whole = _USED.sub(lambda match: definitions[match[1]], line)
        if line.startswith("[") and "]  " in line:
            lines = parts.setdefault(line[1:].partition("]")[0], [])
        elif not parts and (defined := _DEFINED.fullmatch(whole)):
            definitions[defined[1]] = defined[2]
        else:
            lines.append(whole)
    return parts


def _any(phrases: Iterable[str]) -> str:
    """One expression for all phrases, the longest that fit first; a blank is any whitespace, an apostrophe either."""
    ordered = sorted(phrases, key=len, reverse=True)
    return "(?:" + "|".join(ordered).replace("'", _APOSTROPHE).replace(" ", r"\s+") + ")"


def _anywhere(phrases: Iterable[str]) -> re.Pattern[str]:
    """Any of the phrases as whole words, also after an elision ("j'ai"), or being one."""
    return _compiled(rf"(?:(?<![\w'’-])|{_ELIDED}){_any(phrases)}(?:(?!\w)|(?<!\w))")


def _beginning(phrases: Iterable[str]) -> re.Pattern[str]:
    """Any of the phrases, with the punctuation after it."""
    return _compiled(rf"{_any(phrases)}(?!-?\w)[\s,;:.!?…–—]*")


def _ending(free: Iterable[str], loose: Iterable[str]) -> re.Pattern[str]:
    """Any of the phrases up to the last punctuation, with the punctuation and "and" before it; the `loose` ones only
    after punctuation, or where they are all there is."""
    joined = r"(?:(?:and|but|et|mais)\s+)?"
    return _compiled(
        rf"(?:(?:^\s*|{_STOP}|\s+){joined}{_any(free)}|(?:^\s*|{_STOP}){joined}{_any(loose)})"
        r"(?!\w)\s*(?=[.!?…\s]*$)"
    )


def _between_commas(phrases: Iterable[str]) -> re.Pattern[str]:
    """Any of the phrases between commas or dashes, with those."""
    stop = r"(?:\s*[,…–—]+\s*|\s+-+\s+|\s*\.{2,}\s*)"
    return _compiled(rf"{stop}{_any(phrases)}(?:{stop}|(?=\s*[.?!]*\s*$))")


def _compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression, re.IGNORECASE)
