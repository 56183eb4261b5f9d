"""Questions that documents ask of themselves: titles, headings, questions with their answers, sentences taken out.

No model writes them, so they cost nothing and are the same everywhere; but they are made of the documents' own words,
which favours systems that match words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from embassay.errors import UsageError
from embassay.randomness import draw_random_bytes
from embassay.text.prose import find_prose_sentences

KINDS = ("title", "heading", "faq", "sentence")
CRUMBS = " > "
"""What stands between the headings in the title of a passage."""
_WORD = re.compile(r"\w+")
_HASHES = re.compile(r"^[ \t]*#{1,6}[ \t]+(?P<title>[^\n]+?)[ \t#]*$", re.MULTILINE)
_ASKED = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]+|[-*+][ \t]+|\d+[.)][ \t]+)?(?:\*\*|__)?(?:Q(?:uestion)?[ \t]*\d*[.:)][ \t]*)?"
    r"(?P<asked>[^\n?？#|]{8,200}[?？])(?:\*\*|__)?[ \t]*$\n?",
    re.MULTILINE | re.IGNORECASE,
)
_LEAST_WORDS, _MOST_WORDS = 6, 40
"""Of a sentence that is taken out."""
_LEFT = 8
"""Words that must be left of a passage, so that there is something to find."""


@dataclass(frozen=True)
class TitledPassage:
    """A passage: `title` stands before its body (the document's title and the headings, between `CRUMBS`); passages of
    one `document` come one after the other, and belong together."""

    id: str
    body: str
    title: str = ""
    document: str = ""

    @property
    def full_text(self) -> str:
        """The full text that is searched: title and body (spec sage 8)."""
        return " ".join(filter(None, (self.title, self.body)))


@dataclass(frozen=True)
class PseudoQuestion:
    """A question made of the corpus: `answers` are the ids of the passages that it should find, the one that it is from
    first, and `start` and `end` where it stood in that one's body (None for a title)."""

    kind: str
    text: str
    answers: tuple[str, ...]
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True)
class PseudoQuestions:
    """The questions by kind, and the passages without what was taken out to ask it, in their order. `rejected` is
    kind -> reason -> how many that might have been asked were not."""

    questions: tuple[PseudoQuestion, ...]
    passages: tuple[TitledPassage, ...]
    rejected: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


def make_pseudo_questions(
    passages: Sequence[TitledPassage],
    *,
    kinds: Sequence[str] = KINDS,
    limit: int | None = None,
    seed: int = 1337,
    whole: Container[str] = (),
) -> PseudoQuestions:
    """The questions that `passages` ask of themselves, at most `limit` of each kind, drawn with `seed`.

    - title: a document's title finds the document's passages;
    - heading: a heading below the title finds the passages under it;
    - faq: a line that ends in a question mark finds what follows it;
    - sentence: a sentence finds the passage that it was taken out of, one in each passage.

    What is asked is taken out of every passage, so no question is answered by itself: search `passages` of the result,
    not those given. Titles and headings of fewer than two words, and anything that stands in two documents, ask
    nothing, and the passages `whole` (by id) give no sentence away. The draw depends on ids and seed alone, not on the
    order. UsageError for a kind that isn't known.
    """
    for kind in kinds:
        if kind not in KINDS:
            raise UsageError(f"There is no kind of question called {kind!r}.", mend=f"Kinds are {', '.join(KINDS)}.")
    making = _PseudoQuestionMaker(passages, limit, seed, whole)
    for kind in KINDS:
        if kind in kinds:
            making.add(kind)
    return PseudoQuestions(tuple(making.asked), tuple(making.passages), making.rejected)


Found = tuple[PseudoQuestion, int]
"""A question, and the place of the passage that it is from."""


class _PseudoQuestionMaker:
    """The passages as they lose what is asked, and the questions so far; what can be asked is told from those given."""

    def __init__(self, passages: Sequence[TitledPassage], limit: int | None, seed: int, whole: Container[str]) -> None:
        self.given, self.passages = passages, list(passages)
        self.limit, self.seed = limit, seed
        self._at = {passage.id: i for i, passage in enumerate(passages)}
        self.asked: list[PseudoQuestion] = []
        self.rejected: dict[str, dict[str, int]] = {}
        self._taken = {i for i, passage in enumerate(passages) if passage.id in whole}

    def add(self, kind: str) -> None:
        """Add all questions of a kind, or as many of them as are drawn."""
        rejected = Counter[str]()
        makers: dict[str, Callable[[Counter[str]], Iterator[Found]]] = {
            "title": self._find_title_questions, "heading": self._find_heading_questions,
            "faq": self._find_faq_questions, "sentence": self._make_pseudo_questions_from_sentences
        }  # fmt: skip
        candidates = list(makers[kind](rejected))
        # By the passage's id, so that the order of the files decides nothing.
        ranked = sorted(
            candidates, key=lambda pair: draw_random_bytes(8, self.seed, "questions", kind, pair[0].answers[0])
        )
        drawn = ranked if self.limit is None else ranked[: self.limit]
        for question, i in sorted(drawn, key=lambda pair: pair[1]):
            if self._remove_question_from_passages(question, i):
                self.asked.append(question)
            else:
                rejected["too little text would be left"] += 1
        self.rejected[kind] = dict(rejected)

    def _find_title_questions(self, rejected: Counter[str]) -> Iterator[Found]:
        yield from self._find_questions_from_title_parts(0, rejected)

    def _find_heading_questions(self, rejected: Counter[str]) -> Iterator[Found]:
        for depth in range(1, 7):
            yield from self._find_questions_from_title_parts(depth, rejected)

    def _find_questions_from_title_parts(self, depth: int, rejected: Counter[str]) -> Iterator[Found]:
        """The names at this depth of the titles, each with the passages below it."""
        under: dict[tuple[str, ...], list[int]] = {}
        owners: dict[str, set[tuple[str, ...]]] = {}
        for i, text in enumerate(self.given):
            names = text.title.split(CRUMBS) if text.title else []
            if len(names) > depth:
                key = (text.document or text.id, *names[: depth + 1])
                under.setdefault(key, []).append(i)
                owners.setdefault(_join_casefolded_words(names[depth]), set()).add(key)
        for key, places in under.items():
            if len(_WORD.findall(key[-1])) < 2:
                rejected["fewer than two words"] += 1
            elif len(owners[_join_casefolded_words(key[-1])]) > 1:
                rejected["in two places"] += 1
            else:
                ids = tuple(self.given[i].id for i in places)
                yield PseudoQuestion("heading" if depth else "title", key[-1], ids), places[0]

    def _find_faq_questions(self, rejected: Counter[str]) -> Iterator[Found]:
        times = Counter(
            _join_casefolded_words(match["asked"]) for text in self.given for match in _ASKED.finditer(text.body)
        )
        for i, text in enumerate(self.given):
            for match, following in pairwise([*_ASKED.finditer(text.body), None]):
                assert match is not None
                end = len(text.body) if following is None else following.start()
                if times[_join_casefolded_words(match["asked"])] > 1:
                    rejected["in two places"] += 1
                elif len(_WORD.findall(text.body[match.end() : end])) < _LEFT:
                    rejected["too little text would be left"] += 1
                else:
                    yield (_make_pseudo_question_from_span(text, "faq", match.start("asked"), match.end("asked")), i)

    def _make_pseudo_questions_from_sentences(self, rejected: Counter[str]) -> Iterator[Found]:
        spans = [[(prose.start, prose.end) for prose in find_prose_sentences(text.body)] for text in self.given]
        times = Counter(
            key
            for text, inside in zip(self.given, spans, strict=True)
            for key in {_join_casefolded_words(text.body[a:b]) for a, b in inside}
        )
        for i, (text, inside) in enumerate(zip(self.given, spans, strict=True)):
            fit = [(a, b) for a, b in inside if _LEAST_WORDS <= len(_WORD.findall(text.body[a:b])) <= _MOST_WORDS]
            once = [(a, b) for a, b in fit if times[_join_casefolded_words(text.body[a:b])] == 1]
            if not once:
                rejected["no unique sentence of 6 to 40 words"] += 1
                continue
            drawn = int.from_bytes(draw_random_bytes(8, self.seed, "sentence", text.id), "big") % len(once)
            yield _make_pseudo_question_from_span(text, "sentence", *once[drawn]), i

    def _remove_question_from_passages(self, question: PseudoQuestion, i: int) -> bool:
        """Take it out of the passages it finds; False, and nothing is changed, where too little would be left."""
        if question.start is None:
            places = [self._at[answer] for answer in question.answers]
            return self._change_passages_if_enough_left(
                places, lambda text: _remove_name_from_passage_title(text, question.text)
            )
        if i in self._taken or not self._change_passages_if_enough_left(
            [i], lambda text: _remove_asked_line(text, question.text)
        ):
            return False
        self._taken.add(i)
        return True

    def _change_passages_if_enough_left(
        self, places: Sequence[int], change: Callable[[TitledPassage], TitledPassage]
    ) -> bool:
        changed = [change(self.passages[place]) for place in places]
        if len(_WORD.findall(changed[0].body)) < _LEFT:
            return False
        for place, text in zip(places, changed, strict=True):
            self.passages[place] = text
        return True


def _make_pseudo_question_from_span(text: TitledPassage, kind: str, start: int, end: int) -> PseudoQuestion:
    return PseudoQuestion(kind, text.body[start:end].strip(), (text.id,), start, end)


def _join_casefolded_words(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))


def _remove_asked_line(text: TitledPassage, asked: str) -> TitledPassage:
    """Without the line or sentence; where it was, a space."""
    return replace(text, body=_cut_out_asked_text(text.body, asked))


def _cut_out_asked_text(body: str, asked: str) -> str:
    before, _, after = body.partition(asked)
    return f"{before.rstrip(' ')} {after.lstrip(' ')}".strip()


def _remove_name_from_passage_title(text: TitledPassage, name: str) -> TitledPassage:
    """Without this name in its title and as a heading in its body."""
    names = [part for part in text.title.split(CRUMBS) if part != name]
    plain = _join_casefolded_words(name)
    body = _HASHES.sub(lambda match: "" if _join_casefolded_words(match["title"]) == plain else match[0], text.body)
    return replace(text, title=CRUMBS.join(names), body=body.strip())
