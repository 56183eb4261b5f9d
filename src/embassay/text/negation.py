"""Negation by rule: affirmative auxiliaries become negative and negative ones affirmative, in one pass.

The paper names only is/is not and can/cannot; the list is ours and has a version [A12].
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

RULES_VERSION = 2

AUXILIARIES = (
    "is", "are", "was", "were", "has", "have", "had", "does", "do", "did",
    "will", "would", "should", "could", "must", "may", "might",
)  # fmt: skip
"""Each takes ` not` and loses ` not`, `n't` and ` n't`; `can` has rules of its own."""


def rules() -> dict[str, str]:
    """The table in lower case, as shown in the documentation: what is found, and what takes its place.

    >>> rules()["is"], rules()["isn't"], rules()["can"], rules()["won't"]
    ('is not', 'is', 'cannot', 'will')
    """
    table = {"can": "cannot", "cannot": "can", "can not": "can", "can't": "can"}
    for verb in AUXILIARIES:
        contraction = "won't" if verb == "will" else f"{verb}n't"
        table |= {verb: f"{verb} not", f"{verb} not": verb, contraction: verb}
    return table


_AFFIRMATIVE = {"ca": "can", "wo": "will"}  # what n't leaves of can't and won't
_NT = r"\s?[nN]['’][tT]"


def _spellings(word: str) -> tuple[str, ...]:
    """In lower case, with an initial capital, in capitals."""
    return word, word.capitalize(), word.upper()


def _stems() -> str:
    """Every stem in every spelling as one alternation, longest first.

    Grouped by the first letter, and with the word boundary in front checked behind the stem, so that the
    search can skip to the next possible first letter.
    """
    stems = sorted((*AUXILIARIES, "can"), key=len, reverse=True)
    groups: dict[str, list[str]] = {}
    for stem in (*_AFFIRMATIVE, *stems):
        only_before = rf"(?={_NT}\b)" if stem in _AFFIRMATIVE else ""
        for form in _spellings(stem):
            boundary = rf"(?<!\w{'.' * len(form)})"
            groups.setdefault(form[0], []).append(form[1:] + only_before + boundary)
    return "|".join(f"{first}(?:{'|'.join(rest)})" for first, rest in groups.items())


_NOT = "(?:" + "|".join(_spellings("not")) + ")"
_PATTERN = re.compile(rf"({_stems()})(\s+{_NOT}|{_NT}|(?<=[cC][aA][nN]){_NOT})?\b")


def negate(text: str) -> str:
    """`text` with every auxiliary of the table negated, every negated one affirmed.

    One alternation, longest first, at word boundaries, in one pass, so that no rule undoes another. Found in
    lower case, with an initial capital and in capitals; the replacement is written the same way. Both
    apostrophes count, and so does the space that tokenised corpora put before `n't`.

    >>> negate("It is cold. Can't you see? They did not.")
    'It is not cold. Can you see? They did.'
    """
    return _PATTERN.sub(_replacement, text)


def _replacement(match: re.Match[str]) -> str:
    stem, negation = match.groups()
    lower = stem.lower()
    if not negation:
        return stem + ("" if lower == "can" else " ") + ("NOT" if stem.isupper() else "not")
    if lower not in _AFFIRMATIVE:
        return str(stem)
    affirmative = _AFFIRMATIVE[lower]
    return affirmative.upper() if stem.isupper() else stem[0] + affirmative[1:]


@dataclass(frozen=True)
class _Grammar:
    """How a language says no: its common finite auxiliaries and modals, and `words` that tell a text is in it.

    Clauses are what stands between punctuation marks. A clause with one of `others` (never, nobody ...) is negative in
    a way that no rule here undoes, and stays.
    """

    verbs: str
    others: str
    words: str
    turn: Callable[[str, re.Pattern[str]], str]

    @cached_property
    def verb(self) -> re.Pattern[str]:
        """Its verbs in lower case or with an initial capital."""
        forms = (form for verb in self.verbs.split() for form in (verb, verb.capitalize()))
        return re.compile(rf"(?<![\w-])(?:{'|'.join(sorted(forms, key=len, reverse=True))})(?!\w)")

    @cached_property
    def other(self) -> re.Pattern[str]:
        """Its other negative words."""
        return re.compile(rf"\b(?:{'|'.join(self.others.split())})\b", re.IGNORECASE)

    def negate(self, text: str) -> str:
        """Each clause with its first verb negated, or without its negation."""
        return _CLAUSE.sub(lambda clause: self._turned(clause[0]), text)

    def _turned(self, clause: str) -> str:
        return clause if self.other.search(clause) else self.turn(clause, self.verb)


_CLAUSE = re.compile(r"[^.,;:!?…()\[\]«»“”„\"\n]+")


def _without(clause: str, *spans: tuple[int, int]) -> str:
    """The clause without these parts, from left to right; a capital that goes is passed on to what follows."""
    for start, end in reversed(spans):
        rest = clause[end:]
        if clause[start:end].lstrip()[:1].isupper():
            rest = rest[:1].upper() + rest[1:]
        clause = clause[:start] + rest
    return clause


def _before(clause: str, at: int, word: str) -> str:
    """The clause with `word` put in at a position, with the capital of what stood there."""
    rest = clause[at:]
    if rest[:1].isupper():
        word, rest = word.capitalize(), rest[:1].lower() + rest[1:]
    return clause[:at] + word + rest


def _german(clause: str, verb: re.Pattern[str]) -> str:
    """`nicht` goes, or stands after the first verb: before one at the end of its clause."""
    if found := re.search(r"\s+nicht\b|\b[Nn]icht\s+", clause):
        return _without(clause, found.span())
    if not (found := verb.search(clause)):
        return clause
    # The pronoun of a question keeps its place: "Kann er nicht?"
    pronoun = re.match(r"\s+(?:er|sie|es|wir|ich|ihr|man|du)\b", clause[found.end() :])
    at = found.end() + (pronoun.end() if pronoun else 0)
    if clause[at:].strip() or pronoun or not clause[: found.start()].strip():
        return f"{clause[:at]} nicht{clause[at:]}"
    return _before(clause, found.start(), "nicht ")


_ES_CLITICS = r"(?:\b(?:[MmTtSs]e|[Ll][eo]|[Ll]es|[NnOo]s|[Nn]os)\s+){0,2}$"


def _spanish(clause: str, verb: re.Pattern[str]) -> str:
    """`no` goes, or stands before the first verb and its pronouns."""
    if found := re.search(r"\b[Nn]o\s+", clause):
        return _without(clause, found.span())
    for found in verb.finditer(clause):
        ahead = clause[: found.start()]
        # "la era", "una era": a noun.
        if found[0].lower() == "era" and re.search(r"\b(?:la|una|esta|nueva)\s+$", ahead, re.IGNORECASE):
            continue
        pronouns = re.search(_ES_CLITICS, ahead)
        return _before(clause, pronouns.start() if pronouns else found.start(), "no ")
    return clause


_FR_CLITICS = r"(?:\b(?:[MmTtSs]e|[Ll][ea]|[Ll]es|[Ll]ui|[Ll]eur|[Ee]n|[Yy])\s+|\b[MmTtSsLl]['’]){0,2}$"
_FR_FULL = re.compile(r"\b([CcJj])e\s+(?=[aeiouéêy])")
_FR_INVERTED = re.compile(r"(?:-t)?-(?:ils?|elles?|on|ce|je|tu|nous|vous)\b")


def _french(clause: str, verb: re.Pattern[str]) -> str:
    """`ne ... pas` goes, or stands around the first verb with its pronouns: before it, and after those inverted."""
    if found := re.search(r"\b[Nn](?:e\s+|['’])", clause):
        second = re.search(r"\s+pas\b", clause[found.end() :])
        if second is None:
            return clause
        at = found.end()
        rest = _without(clause, found.span(), (at + second.start(), at + second.end()))
        return _FR_FULL.sub(r"\1'", rest)
    for found in verb.finditer(clause):
        if spoken := re.match(r"\s+pas\b", clause[found.end() :]):
            return clause[: found.end()] + clause[found.end() + spoken.end() :]
        elided = re.search(r"(\w*)['’]$", clause[: found.start()])
        # "l'est" is the east, "d'avant" no verb.
        if elided and (
            elided[1].lower() not in "c j m t s l" or (elided[1].lower(), found[0]) == ("l", "est")
        ):
            continue
        inverted = _FR_INVERTED.match(clause, found.end())
        end = inverted.end() if inverted else found.end()
        # "peut-être" is no verb.
        if clause[end : end + 1] == "-":
            continue
        if elided and elided[1].lower() in "cj":
            full = f"{clause[: elided.end(1)]}e n'"
            return f"{full}{clause[found.start() : end]} pas{clause[end:]}"
        pronouns = re.search(_FR_CLITICS, clause[: found.start()])
        start = pronouns.start() if pronouns else found.start()
        ne = "n'" if clause[start].lower() in "aeiouéêy" else "ne "
        return _before(f"{clause[:end]} pas{clause[end:]}", start, ne)
    return clause


_GRAMMARS = {
    "de": _Grammar(
        "ist sind war waren bin bist seid hat haben hatte hatten habe hast wird werden wurde wurden würde "
        "würden kann können konnte konnten könnte könnten muss müssen musste mussten müsste müssten soll "
        "sollen sollte sollten will wollen wollte wollten darf dürfen durfte durften mag mögen möchte möchten",
        "nie niemals nichts niemand niemanden niemandem nirgends kein keine keinen keinem keiner keines weder",
        "der die das und ist nicht ein eine einen einem einer mit von zu zum zur den dem des im auf für sich "
        "auch es sie er wir ich ihr uns wird sind haben kann werden oder aber als bei nach um noch "
        "nur wenn wie kein keine dass",
        _german,
    ),
    "es": _Grammar(
        "es son era eran fue fueron será serán sería serían soy eres somos está están estaba estaban estuvo "
        "estoy ha han había habían he hemos hay hubo habrá habría tiene tienen tenía tenían tuvo tendrá puede "
        "pueden podía podían pudo podrá podrán podría podrían debe deben debía debían debería deberían quiere "
        "quieren va van iba iban",
        "nunca jamás nadie nada ningún ninguna ninguno tampoco",
        "el los las del y que en es un una por con para no se su sus al lo como más son está ha fue pero la "
        "de este esta o muy también ser hay puede",
        _spanish,
    ),
    "fr": _Grammar(
        "est sont était étaient sera seront serait seraient fut furent suis sommes êtes a ont avait avaient "
        "aura auront aurait auraient ai avons avez eut peut peuvent pouvait pouvaient pourra pourront "
        "pourrait pourraient doit doivent devait devaient devra devront devrait devraient veut veulent "
        "voulait voulaient voudrait va vont allait allaient",
        "jamais personne rien aucun aucune nulle",
        "le la les des du de et est une un dans que qui pour pas sur au aux ne ce cette il elle nous vous "
        "avec sont par plus se en je ils elles mais ou son sa ses leur été",
        _french,
    ),
}
"""Tables of grammar terms of each language; a form that is also a common noun is left out (`fait`)."""
_ENGLISH_WORDS = (
    *AUXILIARIES, "the", "of", "and", "to", "that", "it", "for", "with", "this", "from", "by", "be", "not", "can",
    "cannot", "in", "on", "at", "as", "an", "a", "no", "won", *(f"{verb}n" for verb in AUXILIARIES),
)  # fmt: skip
_CODES = {
    **dict.fromkeys(("en", "eng"), "en"), **dict.fromkeys(("de", "deu", "ger"), "de"),
    **dict.fromkeys(("es", "spa"), "es"), **dict.fromkeys(("fr", "fra", "fre"), "fr"),
}  # fmt: skip
_LEAST_WORDS = 2
"""A single short word of one language is a word of many others."""
LANGUAGES = ("en", *_GRAMMARS)
"""The languages that have rules."""
_WORDS = {"en": frozenset(_ENGLISH_WORDS)} | {
    lang: frozenset(one.words.split()) for lang, one in _GRAMMARS.items()
}


def language_of(lang: str) -> str:
    """The language of `LANGUAGES` that a code (`eng`, `fr-CA`) names; empty where there are no rules for it.

    >>> language_of("eng"), language_of("fr-CA"), language_of("rus")
    ('en', 'fr', '')
    """
    return _CODES.get(re.split(r"[-_]", lang.strip().lower())[0], "")


def language_in(text: str) -> str:
    """Which of `LANGUAGES` a text is in, by the most of its function words; empty where it has none, or as many of two.
    Of equals English is taken, so that an English text of few words is negated as before.

    >>> language_in("Le chat est sur la table."), language_in("It is cold."), language_in("Привет")
    ('fr', 'en', '')
    """
    counts = Counter(re.findall(r"[^\W\d_]+", text.lower()))
    found = {lang: sum(counts[word] for word in words) for lang, words in _WORDS.items()}
    most = max(found.values())
    if found["en"] < most < _LEAST_WORDS:
        return ""
    best = [lang for lang, count in found.items() if count == most > 0]
    return best[0] if len(best) == 1 or "en" in best else ""


def negate_in(text: str, lang: str = "") -> str:
    """`text` negated by the rules of `lang`, a code, or where that is empty of the language that it is in.

    English as `negate`; of German, Spanish and French one verb of each clause, or the negation that is there goes. A
    text in a language without rules stays as it is, and so does one without any verb of the tables.

    >>> negate_in("Le ciel est bleu, il n'y a pas de vent.")
    "Le ciel n'est pas bleu, il y a de vent."
    >>> negate_in("Das ist gut.", "deu"), negate_in("Se puede.", "es")
    ('Das ist nicht gut.', 'No se puede.')
    """
    known = language_of(lang) if lang else language_in(text)
    if known == "en":
        return negate(text)
    return _GRAMMARS[known].negate(text) if known else text
