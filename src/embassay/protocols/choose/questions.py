"""What is asked of the systems, and of which passages.

Passages are drawn, and ask of themselves: no labels, no model. A sentence is taken out of a passage and looked for: a
system that understands the passage finds it. Such a question has the passage's own words, which favours systems that
match words; so it is asked again without half of the rare words it shares with its passage. Users' questions come with
their judgements, and a language model writes some more: commissioned, kept, and asked of systems.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from itertools import pairwise, starmap
from math import log
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import RankedCandidates
from embassay.data import Dataset, open_dataset
from embassay.data.documents import read_corpus_passages_with_origin
from embassay.data.judged_runs import read_qrels_entries
from embassay.errors import UsageError
from embassay.limits import WHOLE, parse_json_written_by_embassay, read_bounded_file
from embassay.protocols.choose.options import FEW, ChoiceOptions
from embassay.protocols.choose.studies import STUDY, read_study_questions_and_grades
from embassay.protocols.kernel.tables import ColumnTable
from embassay.protocols.questions import QuestionsOptions
from embassay.protocols.questions import drafts as drafted
from embassay.protocols.questions.drafts import (
    OUTCOMES,
    QuestionDraftWithResult,
    QuestionWriterAndChecker,
    draw_passages_by_kind,
    find_positions_of_near_duplicates,
    group_decided_drafts_by_kind,
    list_passages_without_draft,
    list_writer_and_checker_models,
    load_question_prompt,
    make_question_outcomes_table,
    open_question_writer,
)
from embassay.randomness import make_seeded_generator
from embassay.search.bm25 import split_words
from embassay.systems.remote import Ledger
from embassay.text.chunking import find_code_fences, find_sentence_ends
from embassay.text.prose import ProseSentence, find_prose_sentences

FAMILIES = ("sentence", "half")
"""How a sentence is asked. Titles, keywords, typing errors and words of similar company gave nothing more on public
collections."""
DEPTH = 100
"""Places that are looked at for the passage that a question was made of."""
TIED = 10
"""Passages from which on a tie at the end of a ranking says that the system knows nothing of them."""
MISSED = 150
"""The place of a passage that isn't among those."""
COMMON = 0.1
"""Share of the passages from which on a word says nothing of what a passage is about."""
FEWEST = 3
"""Words that a question has at least."""
LONGEST, SIGNS = 24, 3
"""Words that a question has at most where its passage has no sentence to spare, and signs for a word of scripts without
blanks: of half a page overlap by length tells most."""
TELLING, LEFT = 2, 8
"""Words that a sentence has at least that few passages have, and words that are left of its passage."""


@dataclass(frozen=True)
class PassageQuestion:
    """A question made of a passage, and the row of that passage."""

    row: int
    text: str


@dataclass(frozen=True)
class PassagesAndExtractedQuestions:
    """Passages from which questions were taken out, and the questions by family.

    `readable` are the rows whose question is a whole sentence of prose, of these those that stand alone where some do;
    `halved` of the passages asked have no sentence to spare, and ask with a half; `unasked` were drawn and hold nothing
    that a person could be asked, as code, lists, tables and addresses."""

    texts: tuple[str, ...]
    questions: Mapping[str, tuple[PassageQuestion, ...]]
    halved: int = 0
    unasked: int = 0
    readable: frozenset[int] = frozenset()

    def list_questions_of_first_passages(self, passages: int, after: int = 0) -> dict[str, tuple[PassageQuestion, ...]]:
        """The questions of the first passages of the draw, by family; without those `after` so many."""
        rows = {question.row for question in self.questions.get("sentence", ())[after:passages]}
        asked = (
            (family, tuple(question for question in of_family if question.row in rows))
            for family, of_family in self.questions.items()
        )
        return {family: questions for family, questions in asked if questions}


def take_passage_sentences_for_questions(
    texts: Sequence[str], titles: Sequence[str], most: int, seed: int
) -> PassagesAndExtractedQuestions:
    """Take a sentence, and the title where it begins with one, out of up to `most` of the passages: of those with a
    sentence that reads by itself; of the others too where these are few, as in lists of headlines."""
    bodies = list(texts)
    frequency = Counter(word for body in bodies for word in set(split_words(body)))
    order = make_seeded_generator(seed, "choose", "passages").permutation(len(bodies)).tolist()
    given = list(starmap(_strip_leading_title, zip(bodies, titles, strict=True)))
    sentences = list_askable_sentences_by_text(given, frequency, most)
    are_enough = _has_enough_self_contained_passages(sum(map(bool, sentences)), len(bodies), most)
    posed: dict[str, list[PassageQuestion]] = {family: [] for family in FAMILIES}
    readable: list[int] = []
    taken = halved = unasked = 0
    for row in order:
        if taken == most:
            break
        rng = make_seeded_generator(seed, "choose", str(row), bodies[row][:64])
        cut = _take_readable_sentence_out(given[row], sentences[row], rng)
        readable += [row] if cut else []
        cut = cut or (None if are_enough else take_sentence_out(given[row], rng))
        if cut is None:
            unasked += 1
            continue
        taken += 1
        asked, bodies[row], half = cut
        halved += half
        for family, text in iterate_reduced_question_versions(asked, bodies[row], frequency, len(bodies)):
            posed[family].append(PassageQuestion(row, text))
    questions = {name: tuple(group) for name, group in posed.items() if group}
    alone = [row for row in readable if sentences[row][0].stands_alone]
    return PassagesAndExtractedQuestions(tuple(bodies), questions, halved, unasked, frozenset(alone or readable))


def _has_enough_self_contained_passages(readable: int, passages: int, most: int) -> bool:
    """Whether so many passages with a sentence that reads by itself do without the others: as many as are asked, or few
    but a good part, as in documents; not the odd one among headlines."""
    return readable >= most or 2 * readable >= passages or (readable >= FEW and 4 * readable >= passages)


def list_askable_sentences_by_text(
    texts: Sequence[str], frequency: Mapping[str, int], most: int
) -> list[list[ProseSentence]]:
    """Of each text the sentences that can be asked: they are in no other text, leave enough of theirs, and have two
    words or more that few texts have. Those that stand alone, and of a text without one the others where fewer than
    `most` texts have one."""
    read = [find_prose_sentences(text) for text in texts]
    # What stands in two passages would be right in one and wrong in the other.
    times = Counter(sentence for of_text in read for sentence in {prose.text for prose in of_text})
    rare = COMMON * len(texts)

    def can_ask_sentence(text: str, prose: ProseSentence) -> bool:
        telling = sum(frequency.get(word, 0) <= rare for word in set(split_words(prose.text)))
        left = len(split_words(text)) - len(split_words(prose.text))
        return times[prose.text] == 1 and telling >= TELLING and left >= LEFT

    fit = [
        [prose for prose in of_text if can_ask_sentence(text, prose)] for text, of_text in zip(texts, read, strict=True)
    ]
    alone = [[prose for prose in of_text if prose.stands_alone] for of_text in fit]
    if sum(map(bool, alone)) >= most:
        return alone
    return [best or of_text for best, of_text in zip(alone, fit, strict=True)]


def _take_readable_sentence_out(
    body: str, sentences: Sequence[ProseSentence], rng: np.random.Generator
) -> tuple[str, str, bool] | None:
    """One of the sentences as it reads, and the passage without it; None where there is none."""
    if not sentences:
        return None
    prose = sentences[int(rng.integers(len(sentences)))]
    return prose.text, f"{body[: prose.start].rstrip()} {body[prose.end :].lstrip()}".strip(), False


def cut_rankings_at_ties(found: RankedCandidates) -> NDArray[np.int64]:
    """The passages of rankings, -1 from where on they stand in the order of the documents: ten or more that tie with
    the last. A system that finds no word of a question has not found what happens to stand first."""
    is_found = found.indices >= 0
    # Empty places are infinite, so that the lowest score is that of the last passage found.
    last = np.where(is_found, found.scores, np.inf).min(axis=1, keepdims=True)
    tied = is_found & (found.scores <= last)
    return np.where(tied & (tied.sum(axis=1, keepdims=True) >= TIED), -1, found.indices)


def find_passage_ranks(top: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """The place of passage `rows[i]` in the ranking `top[i]`, from 1; 0 where it is not among those."""
    hits = top == rows[:, None]
    return np.where(hits.any(axis=1), hits.argmax(axis=1) + 1, 0)


def compute_ndcg_of_single_passage(places: NDArray[np.int64]) -> NDArray[np.float64]:
    """nDCG of questions that one passage answers: 1 / log2(rank + 1), 0 where it was not found."""
    return np.where(places > 0, 1 / np.log2(np.maximum(places, 1) + 1), 0.0)


def compute_nearness_to_first_rank(places: NDArray[np.int64]) -> NDArray[np.float64]:
    """How near the first place each passage was: 1 - log rank / log 150, from 0 (not found) to 1 (first). Its mean
    tells systems apart also where none finds much among the first ten."""
    return np.asarray(1 - np.log(np.where(places > 0, places, MISSED)) / log(MISSED))


def take_sentence_out(body: str, rng: np.random.Generator) -> tuple[str, str, bool] | None:
    """A sentence and the passage without it; of a passage of one sentence its first or last words, at most half of
    them, and True. None where too few words would be left on either side."""
    ends = list(find_sentence_ends(body))
    code = find_code_fences(body)
    spans = [
        (a, b) for a, b in pairwise([0, *ends]) if _is_askable_prose(body, a, b) and not _overlaps_any_span(code, a, b)
    ]
    if len(spans) < 2:
        parts = split_text_at_blanks(body)
        if code or not _is_askable_prose(body, 0, len(body)) or len(parts) < 2 * (FEWEST + 1):
            return None
        longest = LONGEST * (SIGNS if is_text_without_spaces(body) else 1)
        middle = len(parts) // 2
        # Short passages are cut in their middle, long ones after the words of a sentence, from either end.
        first = int(rng.integers(2))
        cut = max(middle, len(parts) - longest) if first else min(middle, longest)
        halves = (
            join_texts_with_spacing_of_script(parts[:cut], body),
            join_texts_with_spacing_of_script(parts[cut:], body),
        )
        return halves[first], halves[1 - first], True
    start, end = spans[int(rng.integers(len(spans)))]
    return body[start:end].strip(), f"{body[:start].rstrip()} {body[end:].lstrip()}".strip(), False


_MARKED = ("#", "|", "```", "~~~", "<", "- ", "* ", "+ ", "@", "$ ", ".. ", "::")
"""What a line of Markdown or reStructuredText begins with that is no prose."""
_TEMPLATE = re.compile(r"\{[{%#]|[}%#]\}|<%|%>|\$\{|<\?php")
_ADDRESS = re.compile(r"\b(?:https?|ftp|file)://\S+|\bwww\.\S+|\S+@\S+\.\w+")
_SIGNS = re.compile(r"[{}<>=|\\;$#@]")


def _is_askable_prose(body: str, start: int, end: int) -> bool:
    """Whether the characters `start` to `end` can be asked: no part of a heading, a table's row, a list's entry, code
    or a template, five words or more without addresses, and few signs among them."""
    line = body[body.rfind("\n", 0, start) + 1 : end]
    prose = _ADDRESS.sub(" ", body[start:end]).strip()
    if line.startswith(_MARKED) or prose.startswith(_MARKED) or _TEMPLATE.search(prose):
        return False
    return len(split_words(prose)) >= FEWEST + 2 and 12 * len(_SIGNS.findall(prose)) <= len(prose)


def _overlaps_any_span(places: Sequence[tuple[int, int]], start: int, end: int) -> bool:
    return any(start < last and first < end for first, last in places)


def iterate_reduced_question_versions(
    asked: str, rest: str, frequency: Mapping[str, int], n: int
) -> Iterator[tuple[str, str]]:
    """The sentence, and what is left without half of the rare words that it shares with its passage, where that is
    enough."""
    yield "sentence", asked
    parts, passage_words = split_text_at_blanks(asked), set(split_words(rest))
    telling = {key for part in parts for key in split_words(part) if frequency[key] <= COMMON * n}
    rare = sorted(telling, key=lambda key: (frequency[key], key))
    shared = [key for key in rare if key in passage_words]
    gone = set(shared[: (len(shared) + 1) // 2])
    left = [part for part in parts if not set(split_words(part)) & gone]
    if len(left) >= FEWEST:
        yield "half", join_texts_with_spacing_of_script(left, asked)


def split_text_at_blanks(text: str) -> list[str]:
    """The parts of a text between blanks; of one without blanks its words."""
    parts = text.split()
    return split_words(text) if is_text_without_spaces(text) else parts


def is_text_without_spaces(text: str) -> bool:
    """Whether a text is written without blanks, as Chinese and Japanese are."""
    return 4 * len(text.split()) < len(split_words(text))


def join_texts_with_spacing_of_script(parts: Sequence[str], text: str) -> str:
    """The parts as a text written like `text`: with blanks, or without."""
    return ("" if is_text_without_spaces(text) else " ").join(parts)


def _strip_leading_title(text: str, title: str) -> str:
    title = title.strip()
    if title and text.lstrip().casefold().startswith(title.casefold()):
        return text.lstrip()[len(title) :].lstrip(" .\n:-") or text
    return text


@dataclass(frozen=True, eq=False)
class TitledPassages:
    """The passages of a corpus with the titles of those that have one ("" of others)."""

    ids: Sequence[str]
    texts: Sequence[str]
    titles: Sequence[str]

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class UserQuestionsWithJudgements:
    """Questions of users by id, and their judgements where there are any."""

    queries: Mapping[str, str]
    qrels: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, eq=False)
class SearchedPassages:
    """The passages that are searched, and the questions that they ask of themselves."""

    ids: Sequence[str]
    texts: Sequence[str]
    titles: Sequence[str]
    probe: PassagesAndExtractedQuestions

    def format_passage_for_people(self, row: int, *, asked: bool = False) -> str:
        """A passage under its title; `asked`: without the sentence that it asks with."""
        title, text = self.titles[row].strip(), (self.probe.texts if asked else self.texts)[row]
        given = _strip_leading_title(text, title)
        return f"{title}\n\n{given}" if title else given

    def remove_asked_sentences(self, queries: Mapping[str, str]) -> tuple[list[str], frozenset[str]]:
        """The texts without the sentences that are asked of them, each by the id of its passage, and the ids of these
        questions. Judged questions of the documents are asked as they were before: their sentence is not there."""
        texts, own = list(self.texts), set[str]()
        for row, doc in enumerate(self.ids):
            if doc in queries:
                given = _strip_leading_title(texts[row], self.titles[row])
                # As it was when the sentence was taken out: without the title before it.
                spans = [prose for prose in find_prose_sentences(given) if prose.text == queries[doc]]
                if spans:
                    before = texts[row][: len(texts[row]) - len(given)]
                    rest = f"{given[: spans[0].start].rstrip()} {given[spans[0].end :].lstrip()}"
                    texts[row] = f"{before}{rest}".strip()
                    own.add(doc)
        return texts, frozenset(own)

    def select_searched_judgements(self, asked: UserQuestionsWithJudgements) -> dict[str, dict[str, float]]:
        """The judgements of passages that are searched, of questions with a relevant one."""
        searched = set(self.ids)
        qrels = {
            query: {doc: gain for doc, gain in asked.qrels.get(query, {}).items() if doc in searched}
            for query in asked.queries
        }
        return {query: grades for query, grades in qrels.items() if any(gain > 0 for gain in grades.values())}


def draw_searched_passages(data: TitledPassages, options: ChoiceOptions, seed: int) -> SearchedPassages:
    """The passages that are drawn, all that are judged among them."""
    return _draw_searched_passages_with_judged(data, make_choice_cell_options(options, ""), seed)


@lru_cache(maxsize=4)
def _draw_searched_passages_with_judged(data: TitledPassages, options: ChoiceOptions, seed: int) -> SearchedPassages:
    asked = read_user_questions(options) if options.labels else UserQuestionsWithJudgements({}, {})
    judged = {doc for grades in asked.qrels.values() for doc in grades}
    n = len(data)
    first = [row for row, doc in enumerate(data.ids) if doc in judged] if judged else []
    if judged and not first:
        doc = min(judged)
        raise UsageError(
            f"None of the {len(judged):,} judged passages (such as {doc!r}) is in the corpus.",
            mend="Use the corpus ids in the judgements; `embassay data check` shows them.",
        )
    if n > options.passages:
        taken = set(first)
        # All that is judged, then others by lot: a judgement of a passage that is not searched would be lost.
        order = make_seeded_generator(seed, "choose", "draw").permutation(n).tolist()
        rest = [row for row in order if row not in taken][: max(0, options.passages - len(first))]
        rows = sorted([*first, *rest])
    else:
        rows = list(range(n))
    ids, texts, titles = ([column[row] for row in rows] for column in (data.ids, data.texts, data.titles))
    return SearchedPassages(
        ids, texts, titles, take_passage_sentences_for_questions(texts, titles, options.questions, seed)
    )


@lru_cache(maxsize=4)
def read_user_questions(options: ChoiceOptions) -> UserQuestionsWithJudgements:
    """The user's questions and judgements. UsageError where questions are named by ids and the texts are nowhere."""
    qrels: dict[str, dict[str, float]] = {}
    path = find_judgements_folder(options.labels) if options.labels else Path()
    if options.labels and (path / STUDY).is_file():
        return UserQuestionsWithJudgements(*read_study_questions_and_grades(path))
    if options.labels:
        frame = read_qrels_entries(path).frame
        for query, doc, value in frame.select("query", "doc", "value").iter_rows():
            grade = qrels.setdefault(query, {}).setdefault(doc, float(value))
            if grade != float(value):
                raise UsageError(
                    f"{options.labels} judges {doc!r} twice for {query!r}: {grade:g} and {float(value):g}.",
                    mend="Keep one of them; `embassay hume serve --adjudicator` settles disagreements.",
                )
    bundled = path / "queries.jsonl"
    if options.queries or (options.labels and bundled.is_file()):
        loaded = open_dataset(options.queries or str(bundled)).load("documents").data
        queries = dict(zip(loaded.ids, loaded.texts, strict=True))
        if qrels and not qrels.keys() & queries.keys():
            raise UsageError(
                f"No judged question (such as {min(qrels)!r}) is in {options.queries or bundled}.",
                mend="Each query_id in the judgements must be the id of a question.",
            )
        return UserQuestionsWithJudgements(queries, qrels)
    if qrels and not any(" " in query for query in qrels):
        raise UsageError(
            f"{options.labels} names questions by ids such as {min(qrels)!r}, but their texts are missing.",
            mend="Add --queries FILE, or put the questions' texts into a column query of the judgements.",
        )
    return UserQuestionsWithJudgements({query: query for query in qrels}, qrels)


def find_judgements_folder(name: str) -> Path:
    """Where judgements are read: of a run of `rag golden`, or of a file that it exported, the folder whose judgements
    are gains, for the lowest of its grades, 1, is that of passages which are not relevant."""
    path = Path(name).expanduser()
    for export in (path / "export", path if path.is_dir() else path.parent):
        if (export / "golden.jsonl").is_file() and (export / "beir").is_dir():
            return export / "beir"
    return path


FILE = "model_questions.jsonl"
"""The file of a run with the questions that were kept."""
BY_MODEL = "model: "
"""What the names of families of such questions begin with; their kind follows."""


@dataclass(frozen=True)
class ChooseProtocolCellOptions(ChoiceOptions):
    """The options as cells get them, with the file of what a model has written (empty: nothing), and how many passages
    a system is asked about."""

    written: str = ""
    asked: int = 0


def make_choice_cell_options(options: ChoiceOptions, written: str, asked: int = 0) -> ChooseProtocolCellOptions:
    """The options of a run for its cells, which ask about all passages that give a question or the first `asked`."""
    own = {field.name: getattr(options, field.name) for field in fields(ChoiceOptions)}
    return ChooseProtocolCellOptions(**own, written=written, asked=asked or options.questions)


@dataclass(frozen=True)
class ModelWrittenQuestion:
    """A question by a model: its kind, and the id of the passage that it is about."""

    id: str
    kind: str
    text: str
    passage: str


@dataclass(frozen=True)
class QuestionWritingTask:
    """What a model is to write about the passages of one dataset."""

    dataset: str
    writer: QuestionWriterAndChecker
    drawn: drafted.Drawn

    def has_undecided_questions(self, drafts: Container[str]) -> bool:
        """Whether some question is not decided."""
        return bool(list_passages_without_draft(self.writer, self.drawn, drafts))

    def rows(self, drafts: Mapping[str, QuestionDraftWithResult]) -> list[dict[str, Any]]:
        """The questions that are kept, by kind in the order of the draw; of near repeats the first."""
        numbered = [
            (f"{kind}-{number}", draft)
            for kind, of_kind in group_decided_drafts_by_kind(self.writer, self.drawn, drafts).items()
            for number, draft in enumerate(of_kind, 1)
            if draft.is_kept
        ]
        gone = set(
            find_positions_of_near_duplicates([draft.question for _, draft in numbered], self.writer.options.near)
        )
        return [
            {
                "dataset": self.dataset,
                "id": key,
                "kind": draft.kind,
                "text": draft.question,
                "passage": draft.passage,
                "document": draft.document,
                "start": draft.start,
                "end": draft.end,
                "evidence": draft.evidence,
                "answer": draft.answer,
            }
            for place, (key, draft) in enumerate(numbered)
            if place not in gone
        ]

    def counts(self, drafts: Mapping[str, QuestionDraftWithResult]) -> dict[str, dict[str, int]]:
        """Count the drafts by kind and outcome."""
        kept_ids = {row["id"] for row in self.rows(drafts)}
        counts: dict[str, dict[str, int]] = {}
        for kind, of_kind in group_decided_drafts_by_kind(self.writer, self.drawn, drafts).items():
            outcomes = counts.setdefault(kind, {})
            for number, draft in enumerate(of_kind, 1):
                repeats = draft.is_kept and f"{kind}-{number}" not in kept_ids
                name = "near-duplicate" if repeats else draft.outcome
                outcomes[name] = outcomes.get(name, 0) + 1
        return counts


def open_choice_question_writer(
    options: ChoiceOptions, seed: int, cache: Path | None, ledger: Ledger | None
) -> QuestionWriterAndChecker:
    """Who writes and who checks. ModelError for a model that cannot be opened, UsageError for one without a price where
    the cost is limited."""
    how = QuestionsOptions(n=options.written_per_kind, into=options.into)
    writer = open_question_writer(options.llm, options.checker, how, seed, cache, ledger)
    list_writer_and_checker_models(options.llm, options.checker, writer, ledger)
    return writer


def make_question_commission(
    writer: QuestionWriterAndChecker, kinds: Sequence[str], dataset: Dataset, name: str, searched: Container[str]
) -> QuestionWritingTask:
    """Draw passages of those that are `searched` (ids). DataError where none is long enough."""
    passages = [passage for passage in read_corpus_passages_with_origin(dataset) if passage.id in searched]
    return QuestionWritingTask(name, writer, draw_passages_by_kind(passages, kinds, writer.options, writer.seed, name))


def read_written_questions(path: str, dataset: str) -> tuple[ModelWrittenQuestion, ...]:
    """The questions of a run's file about one dataset; none where there is no file."""
    if not path or not Path(path).is_file():
        return ()
    rows = [
        parse_json_written_by_embassay(line)
        for line in read_bounded_file(Path(path), WHOLE).splitlines()
        if line.strip()
    ]
    return tuple(
        ModelWrittenQuestion(row["id"], row["kind"], row["text"], row["passage"])
        for row in rows
        if row["dataset"] == dataset
    )


def build_written_questions_record(
    commissions: Sequence[QuestionWritingTask], drafts: Mapping[str, QuestionDraftWithResult], failed: Mapping[Any, str]
) -> dict[str, Any]:
    """What a manifest says of the questions: who wrote and checked them by which prompts, and what became of them."""
    if not commissions:
        return {}
    first = commissions[0]
    writer, options = first.writer, first.writer.options
    prompts = [load_question_prompt(kind, options.into).as_dict() for kind in (*first.drawn, "check")]
    return {
        "by": writer.chat.name, "identity": writer.chat.identity, "checker": writer.checker.name,
        "checker_identity": writer.checker.identity, "prompts": prompts,
        "kept": {job.dataset: len(job.rows(drafts)) for job in commissions},
        "wanted": {job.dataset: sum(map(len, job.drawn.values())) for job in commissions},
        "drafts": {job.dataset: job.counts(drafts) for job in commissions},
        "failed": {f"{kind} {passage}": reason for (kind, passage), reason in failed.items()}
    }  # fmt: skip


def make_draft_outcome_tables(
    commissions: Sequence[QuestionWritingTask], drafts: Mapping[str, QuestionDraftWithResult]
) -> Iterator[ColumnTable]:
    """Make the tables of what became of the drafts."""
    for job in commissions:
        counts = job.counts(drafts)
        outcomes = [name for name in OUTCOMES if any(name in of_kind for of_kind in counts.values())]
        yield make_question_outcomes_table("choice_drafts", "Generated questions by outcome", counts, outcomes)
