"""Who puts questions in the words of a search: nobody, rules, or a language model, read strictly and never paid twice.

Rules cut away what people say around a question, and nothing of the question. Phrases are cut where a sentence begins
or ends, never inside it, but for sounds ("um") and asides between commas. A sentence, or the first half of one, is left
out only where it tells of the asker's day, holds no name, number or quotation, and the rest can be understood without
it. Words are never changed, so negations stay as they are.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache, partial
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Protocol

from embassay.contracts import ChatMessage, ChatModel, SamplingSettings
from embassay.data.rows import truncate_to_one_line
from embassay.errors import Unanswered, UsageError, Why
from embassay.protocols.kernel.inputs import read_packaged_prompt
from embassay.protocols.rag.judges import Question
from embassay.randomness import draw_random_bytes
from embassay.registry import Registry
from embassay.runs.folder import digest_json
from embassay.runs.store import CachedChatModel, ChatAnswerCache
from embassay.spec import Value
from embassay.systems.chat import fit_chat_without_thinking_to_context, open_chat_with_options
from embassay.systems.chat.answers import UnfitAnswerError, strip_code_fence
from embassay.systems.remote.ledger import Ledger
from embassay.text.chunking import find_sentence_ends

__all__ = ["REWRITERS", "QuestionRewriter", "build_rewriter_record", "open_rewriter"]

REWRITERS: Registry[QuestionRewriter] = Registry("rewriter", makes=[["rewrite"]])
"""Every rewriter by name; other packages join through the entry-point group `embassay.rewriters`."""

REWRITERS.add("identity", "embassay.protocols.rag.rewriters:IdentityRewriter", "the question unchanged")
REWRITERS.add(
    "rules",
    "embassay.protocols.rag.rewriters:RuleRewriter",
    "removes greetings, politeness, filler, apologies, emoji and digressions (English and French)",
)
REWRITERS.add(
    "llm",
    "embassay.protocols.rag.rewriters:open_llm_rewriter",
    "a language model extracts the core of the question: llm:ollama:gemma3:27b",
    needs="embassay[llm]",
)


def open_rewriter(
    text: str, *, ledger: Ledger | None = None, cache: ChatAnswerCache | Path | None = None, seed: int = 1337
) -> QuestionRewriter:
    """The rewriter that a spec string names: `identity`, `rules`, or `llm:` and any chat model with its parameters
    (`llm:openai:gpt-5-mini?temperature=0`).

    `ledger` is what a model pays from, `cache` the file of kept answers (by default the user's) or the opened cache,
    `seed` names what is drawn. UsageError for unknown names and parameters, ModelError when the key or the package of a
    model is missing.
    """
    return REWRITERS.build(text, ledger=ledger, cache=cache, seed=seed)


class QuestionRewriter(Protocol):
    """A rewriter to the core of what a question asks for (spec rag 4); equal questions, equal results.

    A pack's own rewritings need none: the column `rewrite` of the questions wins.
    """

    @property
    def name(self) -> str:
        """The canonical spec string, as in result files."""
        ...

    @property
    def identity(self) -> str:
        """Everything its rewritings depend on: version of the rules, model, prompt, sampling."""
        ...

    async def rewrite(self, question: Question) -> str:
        """Rewrite the question, to what is never empty.

        A ModelError (Unanswered where a model was asked and gave no rewriting) says why there is none; the question
        itself never takes its place.
        """
        ...


def build_rewriter_record(rewriter: QuestionRewriter) -> Mapping[str, Any]:
    """What a manifest says of a rewriter: name and identity, and model, prompt and sampling of one that has them."""
    facts = getattr(rewriter, "about", None)
    return {"name": rewriter.name, "identity": rewriter.identity, **(facts() if facts else {})}


# Characters that are shown as pictures by themselves, and any that is followed by the selector that makes it one.
_ALONE = (
    "\U0001f000-\U0001faff\u231a\u231b\u23e9-\u23f3\u25fd\u25fe\u2614\u2615\u2648-\u2653\u267f\u2693\u26a1"
    "\u26aa\u26ab\u26bd\u26be\u26c4\u26c5\u26ce\u26d4\u26ea\u26f2\u26f3\u26f5\u26fa\u26fd\u2705\u270a\u270b"
    "\u2728\u274c\u274e\u2753-\u2755\u2757\u2795-\u2797\u27b0\u27bf\u2b1b\u2b1c\u2b50\u2b55"
)
_PICTURE = rf"(?:[{_ALONE}]|[\u00a9\u00ae\u203c-\u3299]\ufe0f)[\ufe0f\u200d\u20e3\U000e0020-\U000e007f\u2640\u2642]*"
_FACE = r"(?<![\w/])(?:[:;=]['’]?-?(?:[()\[\]|/\\*$3]|[DPpOoxXsS](?!\w))+|[xX]D+(?!\w)|<3+|\^_*\^|\(?¯\\_\(ツ\)_/¯\)?)"
_SIGNS = re.compile(rf"(?:{_PICTURE})+|{_FACE}")


_ENDING = re.compile(rf"(?<=[\w’')])(?:\s*(?:(?:{_PICTURE})+|{_FACE}))+\s+(?=[A-ZÀ-Þ])")


def replace_emoji_by_blanks(text: str) -> str:
    """The text with a blank in place of emoji and emoticons.

    >>> replace_emoji_by_blanks("Why? 😀 :-)").split()
    ['Why?']
    """
    return _SIGNS.sub(" ", text)


def replace_sentence_ending_emoji_by_stops(text: str) -> str:
    """The text with a full stop where emoji end a sentence: between a word and a capital.

    >>> replace_sentence_ending_emoji_by_stops("I am lost 😅 What is it")
    'I am lost. What is it'
    """
    return _ENDING.sub(". ", text)


_APOSTROPHE = "['’]"
_USED = re.compile(r"\{([A-Z_]+)\}")
_DEFINED = re.compile(r"([A-Z_]+) = (.*)")
_ELIDED = r"(?<=^[cdjlmnst]['’])|(?<=\W[cdjlmnst]['’])"
_STOP = r"(?:\s*[,;:.!?…–—]+\s*|\s+-+\s+)"


@dataclass(frozen=True)
class QuestionPhrasePatterns:
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
def load_question_phrase_patterns(language: str) -> QuestionPhrasePatterns:
    """The phrases of `english` or `french`."""
    folder = files("embassay.protocols.rag").joinpath("phrase_texts")
    parts = parse_phrase_patterns_by_part(folder.joinpath(f"{language}.txt").read_text("utf-8"))
    return QuestionPhrasePatterns(
        openers=_compile_phrases_at_start(parts["openers"]),
        loose=_compile_ignoring_case(rf"{_join_phrases_as_pattern(parts['loose'])}(?:{_STOP}|\s*$)"),
        lead_ins=_compile_phrases_anywhere(parts["lead-ins"]),
        closers=_make_sentence_end_phrase_pattern(parts["closers"], parts["loose closers"]),
        fillers=_compile_phrases_anywhere(parts["fillers"]),
        asides=_compile_phrases_in_commas(parts["asides"]),
        speaker=_compile_phrases_anywhere(parts["speaker"]),
        digressions=_compile_phrases_anywhere(parts["digressions"]),
        small_talk=_compile_phrases_at_start(parts["small talk"]),
        requests=_compile_phrases_anywhere(parts["requests"]),
        dialogue=_compile_phrases_anywhere(parts["dialogue"]),
        hedging=_compile_phrases_at_start(parts["hedging"]),
        conditions=_compile_phrases_anywhere(parts["conditions"]),
        asking=_compile_phrases_at_start(parts["asking"]),
        pointing=_compile_phrases_anywhere(parts["pointing"]),
        common=frozenset(" ".join(parts["common"]).split()),
    )


def parse_phrase_patterns_by_part(text: str) -> Mapping[str, list[str]]:
    """The lines of each part, what stands for a definition put in its place; lines that begin with # are none.

    >>> parse_phrase_patterns_by_part("WHO = (?:you|they)\\n[asking]  how questions begin\\ndo {WHO} know")
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


def _join_phrases_as_pattern(phrases: Iterable[str]) -> str:
    """One expression for all phrases, the longest that fit first; a blank is any whitespace, an apostrophe either."""
    ordered = sorted(phrases, key=len, reverse=True)
    return "(?:" + "|".join(ordered).replace("'", _APOSTROPHE).replace(" ", r"\s+") + ")"


def _compile_phrases_anywhere(phrases: Iterable[str]) -> re.Pattern[str]:
    """Any of the phrases as whole words, also after an elision ("j'ai"), or being one."""
    return _compile_ignoring_case(rf"(?:(?<![\w'’-])|{_ELIDED}){_join_phrases_as_pattern(phrases)}(?:(?!\w)|(?<!\w))")


def _compile_phrases_at_start(phrases: Iterable[str]) -> re.Pattern[str]:
    """Any of the phrases, with the punctuation after it."""
    return _compile_ignoring_case(rf"{_join_phrases_as_pattern(phrases)}(?!-?\w)[\s,;:.!?…–—]*")


def _make_sentence_end_phrase_pattern(free: Iterable[str], loose: Iterable[str]) -> re.Pattern[str]:
    """Any of the phrases up to the last punctuation, with the punctuation and "and" before it; the `loose` ones only
    after punctuation, or where they are all there is."""
    joined = r"(?:(?:and|but|et|mais)\s+)?"
    return _compile_ignoring_case(
        rf"(?:(?:^\s*|{_STOP}|\s+){joined}{_join_phrases_as_pattern(free)}|(?:^\s*|{_STOP}){joined}{_join_phrases_as_pattern(loose)})"
        r"(?!\w)\s*(?=[.!?…\s]*$)"
    )


def _compile_phrases_in_commas(phrases: Iterable[str]) -> re.Pattern[str]:
    """Any of the phrases between commas or dashes, with those."""
    stop = r"(?:\s*[,…–—]+\s*|\s+-+\s+|\s*\.{2,}\s*)"
    return _compile_ignoring_case(rf"{stop}{_join_phrases_as_pattern(phrases)}(?:{stop}|(?=\s*[.?!]*\s*$))")


def _compile_ignoring_case(expression: str) -> re.Pattern[str]:
    return re.compile(expression, re.IGNORECASE)


VERSION = "1"
"""Raised when any rule or phrase changes."""

_ROUNDS = 8
_OPENERS = 40
_LONGEST = 4_000
_ENOUGH = 3
_QUOTED = re.compile(r"“[^”\n]+”|«[^»\n]+»|\"[^\"\n]+\"|`[^`\n]+`|(?<!\w)'[^'\n]+'(?!\w)|https?://\S+|\S+@\S+\.\w+")
_PRIVATE = 0xE000
_HIDDEN = re.compile("[\ue000-\uf8ff]")
_WORD = re.compile(r"[\w\ue000-\uf8ff]+")
_BRACKETS = re.compile(r"\(([^()]*)\)")
_DOUBLED = re.compile(r"\s+(?=[,.;](?!\w))|,(?=\s*[,.?!])")
_EDGE = " \t\r\n,;:-–—…"
_STRAY = re.compile(r"(?:[\s,;:!?…–—]|[-.](?!\w))+")
_JOINT = r"(?:so|but|however|and|then|anyway|now|donc|mais|cependant|et|alors|or|du\s+coup)"
_JOINED = re.compile(
    rf"(?:\s*[,;:–—…]+\s*|\s+-+\s+|\s*\.{{2,}}\s*)(?:{_JOINT},?\s+)*|\s+(?:{_JOINT},?\s+)+", re.IGNORECASE
)
_TAKEN_BACK = re.compile(r"\b(?:but|however|mais|cependant)\b", re.IGNORECASE)
_CLAUSE_END = re.compile(rf"(?:[,;:–—]\s*|\s-+\s+|(?<!\w){_JOINT},?\s+)\Z", re.IGNORECASE)


def rewrite_by_rules(text: str) -> str:
    """The core of what `text` asks for, in NFC on one line.

    The text itself where nothing would be left, or where it is no question but a letter (over 4,000 characters).

    >>> rewrite_by_rules(
    ...     "Hi all! Sorry to bother you, but could you please tell me what causes jet noise? Thanks 😀"
    ... )
    'what causes jet noise?'
    >>> rewrite_by_rules(
    ...     "Bonjour, je me demandais si vous pourriez me dire d'où vient le bruit des jets. Merci !"
    ... )
    "d'où vient le bruit des jets."
    """
    whole = _join_lines(unicodedata.normalize("NFC", text))
    if len(whole) > _LONGEST:
        return whole
    hidden, quotes = _hide_quotations_and_addresses(whole)
    plain, short = (
        _join_lines(replace_emoji_by_blanks(version))
        for version in (hidden, replace_sentence_ending_emoji_by_stops(hidden))
    )
    for _ in range(_ROUNDS):
        before, short = (short, _drop_personal_sentences_from_text(short, _choose_phrases_by_text_language(short)))
        if short == before:
            break
    if not _WORD.search(short):
        return whole
    if _WORD.findall(short) == _WORD.findall(plain):
        return _restore_quotes(plain, quotes)
    # French sets a blank before ? and !; who wrote none gets none.
    if not re.search(r"\s[?!]", whole):
        short = re.sub(r"\s+(?=[?!])", "", short)
    return _restore_quotes(short, quotes)


def _join_lines(text: str) -> str:
    return " ".join(text.split())


def _hide_quotations_and_addresses(text: str) -> tuple[str, list[str]]:
    """The text with one private character for each quotation and address, and these."""
    quotes: list[str] = []
    if _HIDDEN.search(text):
        return text, quotes

    def hide_quote(match: re.Match[str]) -> str:
        quotes.append(match[0])
        # The private use area has 6,400 characters.
        return chr(_PRIVATE + len(quotes) - 1) if len(quotes) <= 6400 else match[0]

    return _QUOTED.sub(hide_quote, text), quotes


def _restore_quotes(text: str, quotes: list[str]) -> str:
    return _HIDDEN.sub(lambda match: quotes[ord(match[0]) - _PRIVATE], text) if quotes else text


def _choose_phrases_by_text_language(text: str) -> list[QuestionPhrasePatterns]:
    """Those of the language that the text's common words are of; of both where they do not say."""
    words = re.findall(r"[^\W\d_]+", text.lower())
    languages = [load_question_phrase_patterns("english"), load_question_phrase_patterns("french")]
    hits = [sum(word in language.common for word in words) for language in languages]
    return [language for language, n in zip(languages, hits, strict=True) if n == max(hits)]


def _drop_personal_sentences_from_text(text: str, languages: list[QuestionPhrasePatterns]) -> str:
    sentences = [text[start:end] for start, end in pairwise([0, *find_sentence_ends(text)])]
    for phrases in languages:
        sentences = _drop_personal_sentences(sentences, phrases)
    return " ".join(sentences)


def _drop_phrases_from_sentence(sentence: str, phrases: QuestionPhrasePatterns) -> str:
    """The sentence without the phrases around and between its words; empty where it is nothing else."""
    sentence = _BRACKETS.sub(
        lambda match: _keep_bracket_if_relevant(match, phrases), phrases.fillers.sub(" ", sentence)
    )
    for _ in range(_ROUNDS):
        before = sentence = _tidy_sentence(sentence)
        closing = _find_closing_phrase(sentence, phrases)
        if closing and not _WORD.search(sentence[: closing.start()]) and not phrases.lead_ins.search(sentence):
            return ""
        for _ in range(_OPENERS):
            match = phrases.openers.match(sentence) or phrases.loose.match(sentence)
            if match is None:
                break
            sentence = _tidy_sentence(sentence[match.end() :])
        sentence = _tidy_sentence(phrases.asides.sub(" ", sentence))
        sentence = _tidy_sentence(_drop_lead_in_phrase(sentence, phrases))
        if match := _find_closing_phrase(sentence, phrases):
            sentence = _tidy_sentence(sentence[: match.start()] + sentence[match.end() :])
        if sentence == before:
            break
    return _drop_personal_beginning(sentence, phrases)


def _find_closing_phrase(sentence: str, phrases: QuestionPhrasePatterns) -> re.Match[str] | None:
    """The phrase at the end, unless it goes on to ask: "I would be grateful to know ...?"."""
    match = phrases.closers.search(sentence)
    return None if match and "?" in sentence and _count_content_words(match[0], phrases) > _ENOUGH else match


def _keep_bracket_if_relevant(bracketed: re.Match[str], phrases: QuestionPhrasePatterns) -> str:
    """What stands in brackets, unless it says nothing of the question."""
    if len(_WORD.findall(bracketed[1])) < 2:
        return bracketed[0]
    inside = _drop_phrases_from_sentence(bracketed[1], phrases)
    return bracketed[0] if _WORD.search(inside) and not _is_personal_aside(inside, phrases) else " "


def _tidy_sentence(sentence: str) -> str:
    sentence = _DOUBLED.sub("", _join_lines(sentence)).rstrip(_EDGE)
    if stray := _STRAY.match(sentence):
        sentence = sentence[stray.end() :]
    return re.sub(r"[?!]*\?[?!]*", "?", re.sub(r"!{2,}", "!", sentence))


def _drop_lead_in_phrase(sentence: str, phrases: QuestionPhrasePatterns) -> str:
    """What follows the last "could you tell me", and what is before it unless it tells of the asker's day."""
    for match in reversed(list(phrases.lead_ins.finditer(sentence))):
        before, after = sentence[: match.start()], sentence[match.end() :].lstrip(_EDGE)
        says_nothing = not (_count_content_words(before, phrases) or phrases.asking.match(_tidy_sentence(before)))
        if not _count_content_words(after, phrases):
            if says_nothing and not phrases.asking.match(after):
                return ""
            continue
        if says_nothing or _is_personal_aside(before, phrases):
            return after
        if _CLAUSE_END.search(before):
            return before + after
    return _drop_request_phrase(sentence, phrases)


def _drop_request_phrase(sentence: str, phrases: QuestionPhrasePatterns) -> str:
    """The question after any words of the asker that end with a word for asking: "be a dear and tell me why"."""
    for match in phrases.requests.finditer(sentence):
        before, after = sentence[: match.end()], sentence[match.end() :].lstrip(_EDGE)
        if not (
            phrases.asking.match(after) and phrases.dialogue.search(before) and _is_statement_without_details(before)
        ):
            continue
        # "Could you ... tell me why" begins with such a word; "how do I know why" goes on with one.
        inside = _find_word_starts(sentence[: match.start()])[1:]
        if not any(phrases.asking.match(before, place) for place in inside):
            return after
    return sentence


def _find_word_starts(text: str) -> list[int]:
    return [match.start() for match in _WORD.finditer(text)]


def _drop_personal_beginning(sentence: str, phrases: QuestionPhrasePatterns) -> str:
    """The question at the end of a sentence that begins with the asker's day."""
    for joint in _JOINED.finditer(sentence):
        before, after = sentence[: joint.start()], sentence[joint.end() :]
        if phrases.asking.match(after) and _is_self_contained(after, phrases):
            taken_back = _TAKEN_BACK.search(joint[0]) and phrases.hedging.match(before)
            if _is_personal_aside(before, phrases) or (taken_back and _is_statement_without_details(before)):
                return after
    return sentence


def _drop_personal_sentences(sentences: list[str], phrases: QuestionPhrasePatterns) -> list[str]:
    """What is left of the sentences, without those that tell of the asker's day if the others can be understood."""
    left = [(whole, cut) for whole in sentences if _WORD.search(cut := _drop_phrases_from_sentence(whole, phrases))]
    point: list[str] = []
    asked = False
    for whole, cut in left:
        beside = _is_personal_aside(whole, phrases) or _is_personal_aside(cut, phrases)
        if not beside and not (asked and _is_afterthought_about_asker(cut, phrases)):
            point.append(cut)
        asked = asked or "?" in cut or phrases.asking.match(cut) is not None
    return point if point and _is_self_contained(" ".join(point), phrases) else [cut for _, cut in left]


def _is_personal_aside(sentence: str, phrases: QuestionPhrasePatterns) -> bool:
    """Whether a statement is of the asker's day, and has no name, number or quotation that may matter."""
    if not _is_statement_without_details(sentence):
        return False
    if phrases.small_talk.match(sentence.strip()):
        return True
    return bool(phrases.speaker.search(sentence) and phrases.digressions.search(sentence))


def _is_afterthought_about_asker(sentence: str, phrases: QuestionPhrasePatterns) -> bool:
    """Whether a statement after the question tells of the asker and asks for nothing more."""
    asks_on = any(phrases.asking.match(sentence, joint.end()) for joint in _JOINED.finditer(sentence))
    says_what_for = phrases.conditions.search(sentence)
    return (
        not asks_on
        and not says_what_for
        and _is_statement_without_details(sentence)
        and bool(phrases.speaker.search(sentence))
    )


def _is_statement_without_details(sentence: str) -> bool:
    """Whether it is a statement without name, number and quotation."""
    return not (
        "?" in sentence or re.search(r"\d", sentence) or _HIDDEN.search(sentence) or _has_capitalized_name(sentence)
    )


def _has_capitalized_name(sentence: str) -> bool:
    """Whether a word after the first, or a letter after a word's first, is a capital; "I" and days are no names."""
    words = [word for word in re.findall(r"[^\W\d_]+", sentence) if not word.endswith("day")]
    first = not (words[0][1:] or "x").islower() if words else False
    return first or any(word != word.lower() and word != "I" for word in words[1:])


def _is_self_contained(text: str, phrases: QuestionPhrasePatterns) -> bool:
    """Whether a text says what it is about, and points at nothing said before.

    "It" after enough words of its own is about those, unless it is the last word.
    """
    points = any(
        _count_content_words(text[: match.start()], phrases) < _ENOUGH or not _WORD.search(text, match.end())
        for match in phrases.pointing.finditer(text)
    )
    return not points and _count_content_words(text, phrases) >= _ENOUGH


def _count_content_words(text: str, phrases: QuestionPhrasePatterns) -> int:
    """How many words say something of the subject; a quotation counts for enough."""
    words = _WORD.findall(text.lower())
    return sum(_ENOUGH if _HIDDEN.search(word) else word not in phrases.common for word in words)


class IdentityRewriter:
    """A rewriter that leaves the question as it was asked."""

    name = identity = "identity"

    async def rewrite(self, question: Question) -> str:
        """Rewrite the question to itself: see `QuestionRewriter.rewrite`."""
        return question.text


class RuleRewriter:
    """A rewriter that drops what is said around a question in English and French; `rewrite_by_rules`."""

    name = "rules"
    identity = f"rules/{VERSION}/unicode-{unicodedata.unidata_version}"

    async def rewrite(self, question: Question) -> str:
        """See `QuestionRewriter.rewrite`."""
        return rewrite_by_rules(question.text)


PROMPT_VERSION = "1"
"""Raised when a word of the prompt, or how the question is laid out, changes."""

KEY = "rewrite"
_LONGEST_REWRITTEN = 400
"""Characters that a rewriting may always have; beyond, it may not be longer than the question."""
_TOKENS = 8_192


@dataclass(frozen=True)
class RewriteOptions:
    """Options of how a model rewrites: sampling, and the `attempts` at one answer."""

    temperature: float = 0.0
    top_p: float = 1.0
    attempts: int = 6
    asker: ClassVar[str] = "A rewriter"

    def __post_init__(self) -> None:
        if not 0 <= self.temperature <= 2 or not 0 < self.top_p <= 1 or self.attempts < 1:
            raise UsageError(
                f"{self.asker} cannot use temperature={self.temperature}, top_p={self.top_p}, "
                f"attempts={self.attempts}.",
                mend="Use a temperature from 0 to 2, a top_p above 0 and at most 1, and at least 1 attempt.",
            )


class ChatRewriter:
    """A rewriter that asks the chat model `chat`; `seed` names its draws."""

    def __init__(
        self, chat: CachedChatModel, options: RewriteOptions = RewriteOptions(), *, seed: int = 1337, name: str = ""
    ) -> None:
        self._chat, self.options, self._seed = chat, options, seed
        self.name = name or f"llm:{chat.name}"
        self.identity = (
            f"rewriter/1:{chat.identity} {fingerprint_rewriting_prompt()} temperature={options.temperature:g} "
            f"top_p={options.top_p:g} seed={seed}"
        )

    @property
    def model(self) -> ChatModel:
        """The chat model that answers, with its price and limits."""
        return self._chat.model

    def about(self) -> Mapping[str, Any]:
        """What a manifest says of the rewriter: model, sampling, prompt."""
        options = asdict(self.options)
        return {"model": self._chat.name, **options, "prompt": fingerprint_rewriting_prompt()}

    def close(self) -> None:
        """Release the cache of answers."""
        self._chat.cache.close()

    async def rewrite(self, question: Question) -> str:
        """Rewrite a question by the model; Unanswered after so many attempts without a readable answer."""
        return (await self._ask_until_rewriting_readable(question))[0]

    async def seconds(self, question: Question) -> float:
        """Sum the seconds that the calls for a rewriting took when they were made; none is paid twice."""
        return (await self._ask_until_rewriting_readable(question))[1]

    async def _ask_until_rewriting_readable(self, question: Question) -> tuple[str, float]:
        messages, parse = (build_rewriting_messages(question.text), partial(parse_rewriting, question=question.text))
        try:
            return await ask_until_answer_readable(self._chat, messages, self.options, (self._seed, "rewrite"), parse)
        except Unanswered as error:
            raise Unanswered(f"{self.name} gave no readable rewrite {error.message}", error.why) from None


async def ask_until_answer_readable(
    chat: CachedChatModel,
    messages: list[ChatMessage],
    options: RewriteOptions,
    seed: tuple[int, str],
    parse: Callable[[str], str],
) -> tuple[str, float]:
    """What `parse` reads in an answer, and the seconds that the answers took: another draw where it raises Unfit.
    Unanswered, with the last reason, after so many attempts without one; `seed` names the draws."""
    rejected, seconds = "", 0.0
    why: Why = "empty"
    for attempt in range(options.attempts):
        # 31 bits, which is what servers take.
        drawn = int.from_bytes(draw_random_bytes(4, *seed, str(attempt))) >> 1
        try:
            answer = await chat.complete(
                messages, sampling=SamplingSettings(options.temperature, options.top_p, drawn), attempt=attempt
            )
            seconds += answer.usage.seconds
            return parse(answer.text), seconds
        except UnfitAnswerError as error:
            rejected, why = str(error), "empty"
        except Unanswered as error:
            rejected, why = f"{error.why}: {error.message}", error.why
    raise Unanswered(f"in {options.attempts} attempts, the last: {rejected}.", why)


def parse_single_json_text(text: str, key: str) -> str:
    """The one text under `key` that an answer consists of, with single spaces. Unfit for anything else.

    >>> parse_single_json_text('{"rewrite": "causes  of noise"}', "rewrite")
    'causes of noise'
    """
    text = strip_code_fence(text)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise UnfitAnswerError(f"no JSON object: {truncate_to_one_line(text)}" if text else "empty") from None
    if not isinstance(value, dict) or set(value) != {key}:
        raise UnfitAnswerError(f"not an object with only {key!r}: {truncate_to_one_line(text)}")
    answer = value[key]
    if not isinstance(answer, str) or not (answer := " ".join(answer.split())):
        raise UnfitAnswerError(f"no text in {key!r}: {truncate_to_one_line(text)}")
    return answer


def parse_rewriting(text: str, question: str) -> str:
    """Parse the rewriting that an answer consists of: one JSON object with one text and nothing else.

    Unfit for anything else, for an empty text, and for one that is longer than the question and 400
    characters: a rewriting says less, an answer to the question says more.

    >>> parse_rewriting('{"rewrite": "causes of jet noise"}', "Hi! What causes jet noise?")
    'causes of jet noise'
    """
    rewriting = parse_single_json_text(text, KEY)
    if len(rewriting) > max(_LONGEST_REWRITTEN, len(question)):
        raise UnfitAnswerError(f"longer than the question: {truncate_to_one_line(rewriting)}")
    return rewriting


def build_rewriting_messages(question: str) -> list[ChatMessage]:
    """Build the messages that are sent: the instructions, then the question between marked lines."""
    # A mark that no text can know beforehand, so that none can pretend to end the question.
    mark = hashlib.blake2b(question.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    shown = f"[question {mark}]\n{question}\n[end of question {mark}]"
    return [ChatMessage("system", _prompt()), ChatMessage("user", shown)]


def fingerprint_rewriting_prompt() -> str:
    """Fingerprint the rewriting prompt by its version and a digest of every word."""
    return f"rewrite@{PROMPT_VERSION}:{digest_json(_prompt())[:12]}"


_prompt = partial(read_packaged_prompt, "embassay.protocols.rag", "rewrite")


def open_llm_rewriter(
    target: str,
    *,
    ledger: Ledger | None = None,
    cache: ChatAnswerCache | Path | None = None,
    seed: int = 1337,
    **parameters: Value,
) -> ChatRewriter:
    """The model that `target` names (`openai:gpt-5-mini`). Of its parameters those of `RewriteOptions` say how it
    rewrites, the others belong to the model."""
    if not target:
        raise UsageError("The rewriter 'llm' needs a language model.", mend="Write llm:ollama:gemma3:27b.")
    chat, options, name = open_chat_with_options(target, RewriteOptions, parameters, ledger=ledger)
    chat = fit_chat_without_thinking_to_context(chat, _TOKENS)
    answers = cache if isinstance(cache, ChatAnswerCache) else ChatAnswerCache.open(cache)
    return ChatRewriter(CachedChatModel(chat, answers), options, seed=seed, name=f"llm:{name}")
