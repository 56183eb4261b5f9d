"""Edits of what a text says: negation by rule, synonyms, which keep the meaning, and changed facts, which do not.

The paper names only is/is not and can/cannot; the list is ours and has a version [A12].

Both are of English, by lists of ours whose version is part of their identity.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property

RULES_VERSION = 2

_AUXILIARIES_IN_WORDS = """
    is are was were has have had does do did will would should could must may might
"""
AUXILIARIES = tuple(_AUXILIARIES_IN_WORDS.split())
"""Each takes ` not` and loses ` not`, `n't` and ` n't`; `can` has rules of its own."""


def build_negation_rules() -> dict[str, str]:
    """The table in lower case, as shown in the documentation: what is found, and what takes its place.

    >>> (build_negation_rules()["is"], build_negation_rules()["isn't"], build_negation_rules()["can"],
    ... build_negation_rules()["won't"])
    ('is not', 'is', 'cannot', 'will')
    """
    table = {"can": "cannot", "cannot": "can", "can not": "can", "can't": "can"}
    for verb in AUXILIARIES:
        contraction = "won't" if verb == "will" else f"{verb}n't"
        table |= {verb: f"{verb} not", f"{verb} not": verb, contraction: verb}
    return table


_AFFIRMATIVE = {"ca": "can", "wo": "will"}  # what n't leaves of can't and won't
_NT = r"\s?[nN]['’][tT]"


def _list_case_spellings(word: str) -> tuple[str, ...]:
    """In lower case, with an initial capital, in capitals."""
    return word, word.capitalize(), word.upper()


def _build_auxiliary_verb_pattern() -> str:
    """Every stem in every spelling as one alternation, longest first.

    Grouped by the first letter, and with the word boundary in front checked behind the stem, so that the
    search can skip to the next possible first letter.
    """
    stems = sorted((*AUXILIARIES, "can"), key=len, reverse=True)
    groups: dict[str, list[str]] = {}
    for stem in (*_AFFIRMATIVE, *stems):
        only_before = rf"(?={_NT}\b)" if stem in _AFFIRMATIVE else ""
        for form in _list_case_spellings(stem):
            boundary = rf"(?<!\w{'.' * len(form)})"
            groups.setdefault(form[0], []).append(form[1:] + only_before + boundary)
    return "|".join(f"{first}(?:{'|'.join(rest)})" for first, rest in groups.items())


_NOT = "(?:" + "|".join(_list_case_spellings("not")) + ")"
_PATTERN = re.compile(rf"({_build_auxiliary_verb_pattern()})(\s+{_NOT}|{_NT}|(?<=[cC][aA][nN]){_NOT})?\b")


def negate_text(text: str) -> str:
    """Negate every auxiliary verb of the table in `text`, and affirm every negated one.

    One alternation, longest first, at word boundaries, in one pass, so that no rule undoes another. Found in
    lower case, with an initial capital and in capitals; the replacement is written the same way. Both
    apostrophes count, and so does the space that tokenised corpora put before `n't`.

    >>> negate_text("It is cold. Can't you see? They did not.")
    'It is not cold. Can you see? They did.'
    """
    return _PATTERN.sub(_negate_matched_auxiliary, text)


def _negate_matched_auxiliary(match: re.Match[str]) -> str:
    stem, negation = match.groups()
    lower = stem.lower()
    if not negation:
        return stem + ("" if lower == "can" else " ") + ("NOT" if stem.isupper() else "not")
    if lower not in _AFFIRMATIVE:
        return str(stem)
    affirmative = _AFFIRMATIVE[lower]
    return affirmative.upper() if stem.isupper() else stem[0] + affirmative[1:]


@dataclass(frozen=True)
class _NegationGrammar:
    """How a language says no: its common finite auxiliaries and modals, and `words` that tell a text is in it.

    Clauses are what stands between punctuation marks. A clause with one of `others` (never, nobody ...) is negative in
    a way that no rule here undoes, and stays.
    """

    verbs: str
    others: str
    words: str
    turn: Callable[[str, re.Pattern[str]], str]

    @cached_property
    def verb_pattern(self) -> re.Pattern[str]:
        """The pattern of the verbs, in lower case or with an initial capital."""
        forms = (form for verb in self.verbs.split() for form in (verb, verb.capitalize()))
        return re.compile(rf"(?<![\w-])(?:{'|'.join(sorted(forms, key=len, reverse=True))})(?!\w)")

    @cached_property
    def other(self) -> re.Pattern[str]:
        """The pattern of the other negative words."""
        return re.compile(rf"\b(?:{'|'.join(self.others.split())})\b", re.IGNORECASE)

    def negate_clauses(self, text: str) -> str:
        """Each clause with its first verb negated, or without its negation."""
        return _CLAUSE.sub(lambda clause: self._negate_clause(clause[0]), text)

    def _negate_clause(self, clause: str) -> str:
        return clause if self.other.search(clause) else self.turn(clause, self.verb_pattern)


_CLAUSE = re.compile(r"[^.,;:!?…()\[\]«»“”„\"\n]+")


def _drop_clause_spans(clause: str, *spans: tuple[int, int]) -> str:
    """The clause without these parts, from left to right; a capital that goes is passed on to what follows."""
    for start, end in reversed(spans):
        rest = clause[end:]
        if clause[start:end].lstrip()[:1].isupper():
            rest = rest[:1].upper() + rest[1:]
        clause = clause[:start] + rest
    return clause


def _insert_before_word(clause: str, at: int, word: str) -> str:
    """The clause with `word` put in at a position, with the capital of what stood there."""
    rest = clause[at:]
    if rest[:1].isupper():
        word, rest = word.capitalize(), rest[:1].lower() + rest[1:]
    return clause[:at] + word + rest


def _negate_german(clause: str, verb: re.Pattern[str]) -> str:
    """`nicht` goes, or stands after the first verb: before one at the end of its clause."""
    if match := re.search(r"\s+nicht\b|\b[Nn]icht\s+", clause):
        return _drop_clause_spans(clause, match.span())
    if not (match := verb.search(clause)):
        return clause
    # The pronoun of a question keeps its place: "Kann er nicht?"
    pronoun = re.match(r"\s+(?:er|sie|es|wir|ich|ihr|man|du)\b", clause[match.end() :])
    at = match.end() + (pronoun.end() if pronoun else 0)
    if clause[at:].strip() or pronoun or not clause[: match.start()].strip():
        return f"{clause[:at]} nicht{clause[at:]}"
    return _insert_before_word(clause, match.start(), "nicht ")


_ES_CLITICS = r"(?:\b(?:[MmTtSs]e|[Ll][eo]|[Ll]es|[NnOo]s|[Nn]os)\s+){0,2}$"


def _negate_spanish(clause: str, verb: re.Pattern[str]) -> str:
    """`no` goes, or stands before the first verb and its pronouns."""
    if match := re.search(r"\b[Nn]o\s+", clause):
        return _drop_clause_spans(clause, match.span())
    for match in verb.finditer(clause):
        ahead = clause[: match.start()]
        # "la era", "una era": a noun.
        if match[0].lower() == "era" and re.search(r"\b(?:la|una|esta|nueva)\s+$", ahead, re.IGNORECASE):
            continue
        pronouns = re.search(_ES_CLITICS, ahead)
        return _insert_before_word(clause, pronouns.start() if pronouns else match.start(), "no ")
    return clause


_FR_CLITICS = r"(?:\b(?:[MmTtSs]e|[Ll][ea]|[Ll]es|[Ll]ui|[Ll]eur|[Ee]n|[Yy])\s+|\b[MmTtSsLl]['’]){0,2}$"
_FR_FULL = re.compile(r"\b([CcJj])e\s+(?=[aeiouéêy])")
_FR_INVERTED = re.compile(r"(?:-t)?-(?:ils?|elles?|on|ce|je|tu|nous|vous)\b")


def _negate_french(clause: str, verb: re.Pattern[str]) -> str:
    """`ne ... pas` goes, or stands around the first verb with its pronouns: before it, and after those inverted."""
    if match := re.search(r"\b[Nn](?:e\s+|['’])", clause):
        second = re.search(r"\s+pas\b", clause[match.end() :])
        if second is None:
            return clause
        at = match.end()
        rest = _drop_clause_spans(clause, match.span(), (at + second.start(), at + second.end()))
        return _FR_FULL.sub(r"\1'", rest)
    for match in verb.finditer(clause):
        if spoken := re.match(r"\s+pas\b", clause[match.end() :]):
            return clause[: match.end()] + clause[match.end() + spoken.end() :]
        elided = re.search(r"(\w*)['’]$", clause[: match.start()])
        # "l'est" is the east, "d'avant" no verb.
        if elided and (elided[1].lower() not in "c j m t s l" or (elided[1].lower(), match[0]) == ("l", "est")):
            continue
        inverted = _FR_INVERTED.match(clause, match.end())
        end = inverted.end() if inverted else match.end()
        # "peut-être" is no verb.
        if clause[end : end + 1] == "-":
            continue
        if elided and elided[1].lower() in "cj":
            full = f"{clause[: elided.end(1)]}e n'"
            return f"{full}{clause[match.start() : end]} pas{clause[end:]}"
        pronouns = re.search(_FR_CLITICS, clause[: match.start()])
        start = pronouns.start() if pronouns else match.start()
        ne = "n'" if clause[start].lower() in "aeiouéêy" else "ne "
        return _insert_before_word(f"{clause[:end]} pas{clause[end:]}", start, ne)
    return clause


_GRAMMARS = {
    "de": _NegationGrammar(
        "ist sind war waren bin bist seid hat haben hatte hatten habe hast wird werden wurde wurden würde "
        "würden kann können konnte konnten könnte könnten muss müssen musste mussten müsste müssten soll "
        "sollen sollte sollten will wollen wollte wollten darf dürfen durfte durften mag mögen möchte möchten",
        "nie niemals nichts niemand niemanden niemandem nirgends kein keine keinen keinem keiner keines weder",
        "der die das und ist nicht ein eine einen einem einer mit von zu zum zur den dem des im auf für sich "
        "auch es sie er wir ich ihr uns wird sind haben kann werden oder aber als bei nach um noch "
        "nur wenn wie kein keine dass",
        _negate_german,
    ),
    "es": _NegationGrammar(
        "es son era eran fue fueron será serán sería serían soy eres somos está están estaba estaban estuvo "
        "estoy ha han había habían he hemos hay hubo habrá habría tiene tienen tenía tenían tuvo tendrá puede "
        "pueden podía podían pudo podrá podrán podría podrían debe deben debía debían debería deberían quiere "
        "quieren va van iba iban",
        "nunca jamás nadie nada ningún ninguna ninguno tampoco",
        "el los las del y que en es un una por con para no se su sus al lo como más son está ha fue pero la "
        "de este esta o muy también ser hay puede",
        _negate_spanish,
    ),
    "fr": _NegationGrammar(
        "est sont était étaient sera seront serait seraient fut furent suis sommes êtes a ont avait avaient "
        "aura auront aurait auraient ai avons avez eut peut peuvent pouvait pouvaient pourra pourront "
        "pourrait pourraient doit doivent devait devaient devra devront devrait devraient veut veulent "
        "voulait voulaient voudrait va vont allait allaient",
        "jamais personne rien aucun aucune nulle",
        "le la les des du de et est une un dans que qui pour pas sur au aux ne ce cette il elle nous vous "
        "avec sont par plus se en je ils elles mais ou son sa ses leur été",
        _negate_french,
    ),
}
"""Tables of grammar terms of each language; a form that is also a common noun is left out (`fait`)."""
_ENGLISH_WORDS = (
    *AUXILIARIES, "the", "of", "and", "to", "that", "it", "for", "with", "this", "from", "by", "be", "not", "can",
    "cannot", "in", "on", "at", "as", "an", "a", "no", "won", *(f"{verb}n" for verb in AUXILIARIES)
)  # fmt: skip
_CODES = {
    **dict.fromkeys(("en", "eng"), "en"), **dict.fromkeys(("de", "deu", "ger"), "de"),
    **dict.fromkeys(("es", "spa"), "es"), **dict.fromkeys(("fr", "fra", "fre"), "fr")
}  # fmt: skip
_LEAST_WORDS = 2
"""A single short word of one language is a word of many others."""
LANGUAGES = ("en", *_GRAMMARS)
"""The languages that have rules."""
_WORDS = {"en": frozenset(_ENGLISH_WORDS)} | {
    lang: frozenset(grammar.words.split()) for lang, grammar in _GRAMMARS.items()
}


def find_negation_language_of_code(lang: str) -> str:
    """The language of `LANGUAGES` that a code (`eng`, `fr-CA`) names; empty where there are no rules for it.

    >>> find_negation_language_of_code("eng"), find_negation_language_of_code(
    ...     "fr-CA"), find_negation_language_of_code("rus")
    ('en', 'fr', '')
    """
    return _CODES.get(re.split(r"[-_]", lang.strip().lower())[0], "")


def detect_language_by_function_words(text: str) -> str:
    """Which of `LANGUAGES` a text is in, by the most of its function words; empty where it has none, or as many of two.
    Of equals English is taken, so that an English text of few words is negated as before.

    >>> (detect_language_by_function_words("Le chat est sur la table."), detect_language_by_function_words(
    ...     "It is cold."),
    ... detect_language_by_function_words("Привет"))
    ('fr', 'en', '')
    """
    counts = Counter(re.findall(r"[^\W\d_]+", text.lower()))
    scores = {lang: sum(counts[word] for word in words) for lang, words in _WORDS.items()}
    most = max(scores.values())
    if scores["en"] < most < _LEAST_WORDS:
        return ""
    best = [lang for lang, count in scores.items() if count == most > 0]
    return best[0] if len(best) == 1 or "en" in best else ""


def negate_in_language(text: str, lang: str = "") -> str:
    """`text` negated by the rules of `lang`, a code, or where that is empty of the language that it is in.

    English as `negate_text`; of German, Spanish and French one verb of each clause, or the negation that is there goes.
    A text in a language without rules stays as it is, and so does one without any verb of the tables.

    >>> negate_in_language("Le ciel est bleu, il n'y a pas de vent.")
    "Le ciel n'est pas bleu, il y a de vent."
    >>> negate_in_language("Das ist gut.", "deu"), negate_in_language("Se puede.", "es")
    ('Das ist nicht gut.', 'No se puede.')
    """
    language = find_negation_language_of_code(lang) if lang else detect_language_by_function_words(text)
    if language == "en":
        return negate_text(text)
    return _GRAMMARS[language].negate_clauses(text) if language else text


Draw = Callable[[int], bytes]
"""The first n bytes of the random stream that belongs to one text and one perturbation."""
SYNONYMS_VERSION = FACTS_VERSION = 1

_ALIKE = """
    begin start, begins starts, began started, beginning starting
    help assist, helps assists, helped assisted, helping assisting
    buy purchase, buys purchases, bought purchased, buying purchasing
    show demonstrate, shows demonstrates, showed demonstrated, shown demonstrated, showing demonstrating
    get obtain, gets obtains, got obtained, getting obtaining
    need require, needs requires, needed required, needing requiring
    use employ, uses employs, using employing
    allow permit, allows permits, allowed permitted, allowing permitting
    ask inquire, asked inquired, asking inquiring
    choose select, chooses selects, chose selected, chosen selected, choosing selecting
    collect gather, collects gathers, collected gathered, collecting gathering
    construct build, constructs builds, constructed built, constructing building
    explain clarify, explains clarifies, explained clarified, explaining clarifying
    examine inspect, examines inspects, examined inspected, examining inspecting
    happen occur, happens occurs, happened occurred, happening occurring
    improve enhance, improves enhances, improved enhanced, improving enhancing
    increase rise, increases rises
    decrease decline, decreases declines, decreased declined, decreasing declining
    keep retain, keeps retains, kept retained, keeping retaining
    receive accept, receives accepts, receiving accepting
    reply answer, replies answers, replied answered, replying answering
    say state, says states, said stated, saying stating
    try attempt, tries attempts, tried attempted, trying attempting
    vanish disappear, vanishes disappears, vanished disappeared, vanishing disappearing
    big large, bigger larger, biggest largest
    small little, smaller lesser
    fast quick, faster quicker, fastest quickest
    quickly rapidly, often frequently, rarely seldom, nearly almost, mostly mainly, probably likely
    also too, however nevertheless, therefore thus, perhaps maybe, about approximately, entirely completely
    important significant, difficult hard, easy simple, correct right, wrong incorrect, strange odd, famous renowned
    enough sufficient, whole entire, main principal, common usual, rich wealthy, ill sick, glad happy, sad unhappy
    angry furious, brave courageous, clever intelligent, silent quiet, dangerous hazardous, precise exact
    illness disease, illnesses diseases, doctor physician, doctors physicians, child kid, children kids
    car automobile, cars automobiles, town city, towns cities, street road, streets roads, house home, houses homes
    job occupation, jobs occupations, error mistake, errors mistakes, goal aim, goals aims, method approach
    methods approaches, result outcome, results outcomes, part portion, parts portions, reason cause, reasons causes
    story tale, stories tales, answer response, gift present, gifts presents, forest wood, ocean sea, oceans seas
    shop store, shops stores, price cost, prices costs, task duty, tasks duties, chance opportunity
    chances opportunities, amount quantity, amounts quantities, firm company, firms companies, area region
    areas regions, group set, groups sets, kind sort, kinds sorts, trip journey, trips journeys
"""
"""Words of one meaning in most places, form by form; each stands for the other."""
_WORD = re.compile(r"[A-Za-z]+")


@cache
def _read_synonym_table() -> Mapping[str, str]:
    """Each word and the one that may stand for it; the first in the list wins."""
    partners: dict[str, str] = {}
    for pair in _ALIKE.replace("\n", ",").split(","):
        words = pair.split()
        if len(words) == 2:
            word, partner = words
            partners.setdefault(word, partner)
            partners.setdefault(partner, word)
    return partners


def replace_synonyms(text: str, draw: Draw) -> str:
    """Replace each word of the list by its synonym with probability 1/2, keeping its case, or the first one if none is
    drawn."""
    matches = [match for match in _WORD.finditer(text) if match[0].lower() in _read_synonym_table()]
    drawn = draw(len(matches)) if matches else b""
    # 128 of a byte's 256 values: a probability of 1/2.
    chosen = [match for match, byte in zip(matches, drawn, strict=True) if byte < 128] or matches[:1]
    return _apply_text_edits(
        text,
        [
            (match.start(), match.end(), _match_case_of_word(_read_synonym_table()[match[0].lower()], match[0]))
            for match in chosen
        ],
    )


def _match_case_of_word(word: str, like: str) -> str:
    """In the case of another word."""
    if len(like) > 1 and like.isupper():
        return word.upper()
    return word.capitalize() if like[0].isupper() else word


def _apply_text_edits(text: str, edits: list[tuple[int, int, str]]) -> str:
    """The text with these spans replaced, which do not overlap and come in order."""
    parts, at = [], 0
    for start, end, new in edits:
        parts += [text[at:start], new]
        at = end
    return "".join([*parts, text[at:]])


_MONTHS_IN_WORDS = """
    January February March April May June July August September October November December
"""
_MONTHS = tuple(_MONTHS_IN_WORDS.split())
_DAYS_IN_WORDS = """
    Monday Tuesday Wednesday Thursday Friday Saturday Sunday
"""
_DAYS = tuple(_DAYS_IN_WORDS.split())
_COUNTS_IN_WORDS = """
    two three four five six seven eight nine ten eleven twelve twenty
"""
_COUNTS = tuple(_COUNTS_IN_WORDS.split())
_SCALES = ("hundred", "thousand", "million", "billion")
_LISTS = (_MONTHS, _DAYS, _COUNTS, _SCALES)
_NAMES = ("Amberly", "Corvane", "Delmore", "Estrow", "Farrand", "Hollis", "Kestrin", "Morvay", "Peltham", "Tarrow")
"""Of nobody; for a text with a single name."""
_NUMBER = r"\d+(?:[.,]\d+)*"
_FACT = re.compile(
    rf"(?P<number>{_NUMBER})|\b(?P<listed>{'|'.join(one for some in _LISTS for one in some)})\b"
    r"|(?P<name>\b[A-Z][a-z]+(?:-[A-Z][a-z]+)?\b)"
)
_STARTS = re.compile(r"(?:^|[.!?:;\"'“”‘(\[\n]|[-–—]\s)\s*$")
_NEAR_NUMBER = re.compile(r"\d\s*$|^\s*\d")
_MONTH_BEFORE, _MONTH_AFTER = (
    re.compile(one.format("|".join(_MONTHS))) for one in (r"(?:{})\s$", r"\s(?:of )?(?:{})\b")
)
_AMBIGUOUS = {"May", "March"}


def replace_facts_in_text(text: str, draw: Draw) -> str:
    """Replace every number, date and name of the text by another; the same fact gets the same replacement everywhere.

    A number keeps its form and its number of digits, a year from 1500 to 2099 moves by 1 to 20 years, and the day of a
    month becomes another from 1 to 28. Months, days
    of the week, counts in words (two to twelve, twenty) and scales (hundred to billion) become others of their list;
    *May* and *March* only beside a number. A name is a word with a capital that does not begin a sentence; the names of
    a text change places in a random order, and a single one becomes one of nobody's.
    """
    facts = list(_find_facts(text))
    distinct = list(dict.fromkeys((kind, words) for _, _, kind, words in facts))
    drawn = draw(4 * len(distinct)) if distinct else b""
    keys = [int.from_bytes(drawn[4 * i : 4 * i + 4], "little") for i in range(len(distinct))]
    new = {
        fact: _draw_replacement_number_or_word(*fact, key)
        for fact, key in zip(distinct, keys, strict=True)
        if fact[0] != "name"
    }
    new |= _map_each_name_to_another(
        [(fact[1], key) for fact, key in zip(distinct, keys, strict=True) if fact[0] == "name"]
    )
    return _apply_text_edits(text, [(start, end, new[kind, words]) for start, end, kind, words in facts])


def _find_facts(text: str) -> Iterator[tuple[int, int, str, str]]:
    """Where each fact stands, its kind and its words."""
    for match in _FACT.finditer(text):
        kind, words = str(match.lastgroup), match[0]
        before, after = text[max(0, match.start() - 40) : match.start()], text[match.end() : match.end() + 16]
        if kind == "number" and (before[-1:].isalpha() or after[:1].isalpha()):
            continue  # a part of a word: B12, 3rd
        if kind == "name" and _STARTS.search(before):
            continue
        if kind == "number" and words.isdigit() and 1 <= int(words) <= 31:
            kind = "day" if _MONTH_BEFORE.search(before) or _MONTH_AFTER.match(after) else kind
        if words in _AMBIGUOUS and not (_NEAR_NUMBER.search(before[-8:]) or _NEAR_NUMBER.match(after[:8])):
            continue
        yield match.start(), match.end(), kind, words


def _draw_replacement_number_or_word(kind: str, text: str, key: int) -> str:
    """Another number, or another word of the same list."""
    if kind == "listed":
        words = next(listed for listed in _LISTS if text in listed)
        return words[(words.index(text) + 1 + key % (len(words) - 1)) % len(words)]
    if kind == "day":
        return str((int(text) + key % 27) % 28 + 1)
    if len(text) == 4 and text.isdigit() and 1500 <= int(text) <= 2099:
        moved = int(text) + (1 + key % 20) * (1 if key & 2**16 else -1)
        return str(min(max(moved, 1400), 2199))
    first, rest = text[0], text[1:]
    # A number of several digits doesn't begin with 0, and one of a single digit may be 0 as well.
    digits = "0123456789" if len(text) == 1 or first == "0" else "123456789"
    return digits[(digits.index(first) + 1 + key % (len(digits) - 1)) % len(digits)] + rest


def _map_each_name_to_another(names: list[tuple[str, int]]) -> dict[tuple[str, str], str]:
    """Each name and the one in its place: the next one in a random order."""
    if len(names) == 1:
        name, key = names[0]
        strangers = [other for other in _NAMES if other != name]
        return {("name", name): strangers[key % len(strangers)]}
    order = [name for name, _ in sorted(names, key=lambda name: (name[1], name[0]))]
    return {("name", name): order[(i + 1) % len(order)] for i, name in enumerate(order)}
