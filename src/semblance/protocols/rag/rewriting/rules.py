"""Rewriting by rules: what people say around a question is cut away, and nothing of the question.

Phrases are cut where a sentence begins or ends, never inside it, but for sounds ("um") and asides between commas. A
sentence, or the first half of one, is left out only where it tells of the asker's day, holds no name, number or
quotation, and the rest can be understood without it. Words are never changed, so negations stay as they are.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

from semblance.protocols.rag.rewriting.emoji import without_emoji
from semblance.protocols.rag.rewriting.phrases import Phrases, open_phrases
from semblance.text.prose import sentence_ends

VERSION = "1"
"""Raised when any rule or phrase changes."""

_ROUNDS = 8
_ENOUGH = 3
_QUOTED = re.compile(
    r"“[^”\n]+”|«[^»\n]+»|\"[^\"\n]+\"|`[^`\n]+`|(?<!\w)'[^'\n]+'(?!\w)|https?://\S+|\S+@\S+\.\w+"
)
_PRIVATE = 0xE000
_HIDDEN = re.compile("[\ue000-\uf8ff]")
_NAME = re.compile(r"(?<=\w)\W+(?!I\b)[^\W\d_a-z]\w*(?<!day)|\w[A-ZÀ-Ý]", re.UNICODE)
_WORD = re.compile(r"[\w\ue000-\uf8ff]+")
_EDGE = " \t\r\n,;:-–—…"
_STRAY = re.compile(r"(?:[\s,;:!?…–—]|[-.](?!\w))+")
_JOINT = r"(?:so|but|and|then|anyway|now|donc|mais|et|alors|or|du\s+coup)"
_JOINED = re.compile(
    rf"(?:\s*[,;:–—…]+\s*|\s+-+\s+|\s*\.{{2,}}\s*)(?:{_JOINT},?\s+)*|\s+(?:{_JOINT},?\s+)+", re.IGNORECASE
)
_CLAUSE_END = re.compile(rf"(?:[,;:–—]\s*|\s-+\s+|(?<!\w){_JOINT},?\s+)\Z", re.IGNORECASE)


def rewrite_by_rules(text: str) -> str:
    """The core of what `text` asks for, in NFC on one line; the text itself where nothing would be left.

    >>> rewrite_by_rules("Hi all! Sorry to bother you, but could you please tell me what causes jet noise? Thanks 😀")
    'what causes jet noise?'
    >>> rewrite_by_rules("Bonjour, je me demandais si vous pourriez me dire d'où vient le bruit des jets. Merci !")
    "d'où vient le bruit des jets."
    """
    whole = _one_line(unicodedata.normalize("NFC", text))
    hidden, quotes = _hide_quotes(whole)
    short = _one_line(without_emoji(hidden))
    for _ in range(_ROUNDS):
        before, short = short, _shortened(short, _phrases(short))
        if short == before:
            break
    if _WORD.findall(short) in ([], _WORD.findall(hidden)):
        return whole  # only signs would change, or nothing would be left
    if not re.search(r"\s[?!]", whole):
        short = re.sub(r"\s+(?=[?!])", "", short)
    return _shown(short, quotes)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _hide_quotes(text: str) -> tuple[str, list[str]]:
    """The text with one private character for each quotation and address, and these."""
    quotes: list[str] = []
    if _HIDDEN.search(text):
        return text, quotes

    def hide(match: re.Match[str]) -> str:
        quotes.append(match[0])
        return chr(_PRIVATE + len(quotes) - 1) if len(quotes) <= 6400 else match[0]

    return _QUOTED.sub(hide, text), quotes


def _shown(text: str, quotes: list[str]) -> str:
    return _HIDDEN.sub(lambda match: quotes[ord(match[0]) - _PRIVATE], text) if quotes else text


def _phrases(text: str) -> list[Phrases]:
    """Those of the language that the text's common words are of; of both where they do not say."""
    words = re.findall(r"[^\W\d_]+", text.lower())
    languages = [open_phrases("english"), open_phrases("french")]
    hits = [sum(word in language.common for word in words) for language in languages]
    return [language for language, n in zip(languages, hits, strict=True) if n == max(hits)]


def _shortened(text: str, languages: list[Phrases]) -> str:
    sentences = [text[start:end] for start, end in pairwise([0, *sentence_ends(text)])]
    for phrases in languages:
        cut = [_cut(sentence, phrases) for sentence in sentences]
        sentences = _to_the_point([sentence for sentence in cut if _WORD.search(sentence)], phrases)
    return " ".join(sentences)


def _cut(sentence: str, phrases: Phrases) -> str:
    """The sentence without the phrases around and between its words."""
    sentence = re.sub(r",(?:\s*,)+", ",", phrases.fillers.sub(" ", sentence))
    while (plain := phrases.asides.sub(" ", sentence)) != sentence:
        sentence = plain
    for _ in range(_ROUNDS):
        before = sentence = _tidy(sentence)
        while match := phrases.openers.match(sentence) or phrases.loose.match(sentence):
            sentence = _tidy(sentence[match.end() :])
        sentence = _tidy(_without_lead_in(sentence, phrases))
        if match := phrases.closers.search(sentence):
            sentence = _tidy(sentence[: match.start()] + sentence[match.end() :])
        if sentence == before:
            break
    return _without_beginning(sentence, phrases)


def _tidy(sentence: str) -> str:
    sentence = re.sub(r"\s+(?=[,;](?!\w))", "", _one_line(sentence)).rstrip(_EDGE)
    if stray := _STRAY.match(sentence):
        sentence = sentence[stray.end() :]
    return re.sub(r"[?!]*\?[?!]*", "?", re.sub(r"!{2,}", "!", sentence))


def _without_lead_in(sentence: str, phrases: Phrases) -> str:
    """What follows the last "could you tell me", and what is before it unless it tells of the asker's day."""
    for match in reversed(list(phrases.lead_ins.finditer(sentence))):
        before, after = sentence[: match.start()], sentence[match.end() :].lstrip(_EDGE)
        if not _content(after, phrases):
            continue
        if not _WORD.search(before) or _is_beside(before, phrases):
            return after
        if _CLAUSE_END.search(before):
            return before + after
    return sentence


def _without_beginning(sentence: str, phrases: Phrases) -> str:
    """The question at the end of a sentence that begins with the asker's day."""
    for joint in _JOINED.finditer(sentence):
        before, after = sentence[: joint.start()], sentence[joint.end() :]
        if phrases.asking.match(after) and _stands_alone(after, phrases) and _is_beside(before, phrases):
            return after
    return sentence


def _to_the_point(sentences: list[str], phrases: Phrases) -> list[str]:
    """The sentences without those that tell of the asker's day, if the others can be understood alone."""
    point = [sentence for sentence in sentences if not _is_beside(sentence, phrases)]
    return point if point and _stands_alone(" ".join(point), phrases) else sentences


def _is_beside(sentence: str, phrases: Phrases) -> bool:
    """Whether a statement is of the asker's day, and has no name, number or quotation that may matter."""
    if "?" in sentence or re.search(r"\d", sentence) or _HIDDEN.search(sentence) or _NAME.search(sentence):
        return False
    if phrases.small_talk.match(sentence):
        return True
    return bool(phrases.speaker.search(sentence) and phrases.digressions.search(sentence))


def _stands_alone(text: str, phrases: Phrases) -> bool:
    """Whether a text says what it is about, and points at nothing said before.

    "It" after enough words of its own is about those, unless it is the last word.
    """
    points = any(
        _content(text[: match.start()], phrases) < _ENOUGH or not _WORD.search(text, match.end())
        for match in phrases.pointing.finditer(text)
    )
    return not points and _content(text, phrases) >= _ENOUGH


def _content(text: str, phrases: Phrases) -> int:
    """How many words say something of the subject; a quotation counts for enough."""
    words = _WORD.findall(text.lower())
    return sum(_ENOUGH if _HIDDEN.search(word) else word not in phrases.common for word in words)
