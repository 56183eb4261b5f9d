"""Own texts and questions of a fingerprint: what is read, what is drawn, and the lists that a system makes of them; and
of a judge the golden set that it graded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embassay.data import draw, open_dataset
from embassay.data.judged_runs import read_qrels_entries
from embassay.data.sources import prefer_path_over_catalogue
from embassay.errors import DataError, UsageError
from embassay.limits import announce_reading
from embassay.protocols.watch.answers import enter_answer_stage_if_unfinished
from embassay.protocols.watch.distances import make_mask_of_missing_answers
from embassay.protocols.watch.fingerprint import (
    DEPTH,
    Base64NumberArray,
    FingerprintCorpusSize,
    FingerprintItem,
    GoldenSetGrades,
    OwnTopLists,
)
from embassay.protocols.watch.options import FingerprintRequest, OwnTextsAndQuestionsOptions
from embassay.protocols.watch.respondents import VectorRespondent
from embassay.randomness import make_seeded_generator
from embassay.search.exact import exact_search
from embassay.spec import QUERY
from embassay.systems.cosine import scale_rows_to_unit_length

POOL = 20
"""Passages of each question's list that are asked for again: those of the first ten, and who may take their place."""
OTHERS = 200
"""Passages that are in no pool and asked for again: how many of their like push into the lists."""
_BLOCK = 256
Gains = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class OwnPassagesAndQuestions:
    """What was read: all passages that are searched, the questions that are asked, and gains of passages."""

    name: str
    ids: Sequence[str]
    texts: Sequence[str]
    query_ids: Sequence[str]
    queries: Sequence[str]
    gains: Gains
    passages: int
    questions: int

    def items(self, samples: int, seed: int) -> tuple[FingerprintItem, ...]:
        """Make the items to ask: the questions, and passages that are drawn."""
        rows = draw(self.ids, samples, seed)
        asked = (
            FingerprintItem(key, "question", text, role="query", own=True)
            for key, text in zip(self.query_ids, self.queries, strict=True)
        )
        return (*asked, *(FingerprintItem(self.ids[row], "passage", self.texts[row], own=True) for row in rows))

    def restrict_to_question_rows(self, rows: Sequence[int]) -> OwnPassagesAndQuestions:
        """Select these questions alone."""
        ids, texts = ([column[row] for row in rows] for column in (self.query_ids, self.queries))
        return replace(self, query_ids=ids, queries=texts)

    def facts(self) -> FingerprintCorpusSize:
        """Measure how large the corpus is, and how long its passages are."""
        words = [len(text.split()) for text in self.texts]
        spread = np.percentile(words, range(101), method="nearest").astype(int)
        return FingerprintCorpusSize(self.name, self.passages, len(self.texts), self.questions, tuple(map(int, spread)))


def read_own_texts(asked: OwnTextsAndQuestionsOptions) -> OwnPassagesAndQuestions | None:
    """The passages and questions that are named; None where none are. DataError for files that hold none."""
    if asked.corpus is None:
        return None
    dataset = open_dataset(prefer_path_over_catalogue(asked.corpus))
    with announce_reading(dataset.name):
        if asked.queries is None and not dataset.missing("retrieval"):
            data = dataset.load("retrieval").data
            corpus, queries, gains = data.corpus, data.queries, data.qrels
        else:
            corpus, queries, gains = dataset.load("documents").data, None, {}
    if asked.queries is not None:
        queries = open_dataset(prefer_path_over_catalogue(asked.queries)).load("documents").data
        gains = {} if asked.qrels is None else _read_gains_by_question(Path(asked.qrels), queries.ids)
    # A relevant passage that is not searched would make every list look worse.
    judged = {doc for row in gains.values() for doc, gain in row.items() if gain > 0}
    rows = [
        row
        for row in _draw_judged_and_random_passages(corpus.ids, asked.passages, judged, asked.seed)
        if corpus.texts[row].strip()
    ]
    chosen = [] if queries is None else draw(queries.ids, asked.questions, asked.seed)
    return OwnPassagesAndQuestions(
        dataset.name,
        [corpus.ids[row] for row in rows],
        [corpus.texts[row] for row in rows],
        [queries.ids[row] for row in chosen] if queries is not None else [],
        [queries.texts[row] for row in chosen] if queries is not None else [],
        gains, len(corpus.ids), 0 if queries is None else len(queries.ids),
    )  # fmt: skip


def _draw_judged_and_random_passages(ids: Sequence[str], most: int, judged: set[str], seed: int) -> list[int]:
    """Draw all passages that are judged, then others at random up to so many."""
    if len(ids) <= most:
        return list(range(len(ids)))
    first = [row for row, key in enumerate(ids) if key in judged]
    rest = [row for row, key in enumerate(ids) if key not in judged]
    more = draw([ids[row] for row in rest], max(0, most - len(first)), seed)
    return sorted([*first, *(rest[row] for row in more)])


def _read_gains_by_question(path: Path, queries: Sequence[str]) -> Gains:
    gains: dict[str, dict[str, float]] = {}
    for query, doc, value in read_qrels_entries(path).frame.select("query", "doc", "value").iter_rows():
        gains.setdefault(query, {})[doc] = max(0.0, float(value))
    if not gains.keys() & set(queries):
        raise DataError(
            "No judgement belongs to a question in --queries", path=path, expected=f"ids such as {queries[0]!r}",
            found=repr(min(gains, default="")), mend="Each query_id must be the id of a question."
        )  # fmt: skip
    return gains


def make_own_question_top_lists(
    own: OwnPassagesAndQuestions,
    respondent: VectorRespondent,
    questions: NDArray[np.float32],
    rows: Sequence[int],
    seed: int,
) -> OwnTopLists:
    """The top lists of the questions, whose vectors (q, dim) are `rows` of a fingerprint, among all passages, and which
    of these to ask for again."""
    vectors = _encode_passages(own.texts, respondent, seed)
    told = np.flatnonzero(~make_mask_of_missing_answers(vectors))
    # Lists are of cosines, as a search of normalised vectors has them.
    units = scale_rows_to_unit_length(vectors[told])
    ranked = exact_search(scale_rows_to_unit_length(questions), units, min(POOL, len(told)))
    first = np.append(told, -1)[ranked.indices]
    place_of = {key: row for row, key in enumerate(own.ids)}
    relevant = [
        (question, place_of[doc], gain)
        for question, key in enumerate(own.query_ids)
        for doc, gain in own.gains.get(key, {}).items()
        if gain > 0 and doc in place_of and not np.isnan(vectors[place_of[doc], 0])
    ]
    pool = sorted({*first[first >= 0].tolist(), *(row for _, row, _ in relevant)})
    rest = np.setdiff1d(told, pool)
    drawn = np.sort(make_seeded_generator(seed, "watch", "others").permutation(rest)[:OTHERS])
    at = {row: place for place, row in enumerate(pool)}
    lists = np.full((len(rows), DEPTH), -1, dtype=np.int32)
    depth = min(DEPTH, first.shape[1])
    lists[:, :depth] = [[at[row] for row in line] for line in first[:, :depth].tolist()]
    scores = np.full((len(rows), DEPTH + 1), np.nan, dtype=np.float32)
    scores[:, : min(DEPTH + 1, first.shape[1])] = ranked.scores[:, : DEPTH + 1]
    return OwnTopLists(
        tuple(own.texts[row] for row in pool), Base64NumberArray.of(vectors[pool], "f2"),
        tuple(own.texts[row] for row in drawn), Base64NumberArray.of(vectors[drawn], "f2"), len(rest) - len(drawn),
        tuple(rows),
        Base64NumberArray.of(lists, "i4"), Base64NumberArray.of(scores),
        tuple((question, at[row], float(gain)) for question, row, gain in relevant), _list_ideal_gains_per_question(own)
    )  # fmt: skip


def _list_ideal_gains_per_question(own: OwnPassagesAndQuestions) -> tuple[tuple[float, ...], ...]:
    gains = ([gain for gain in own.gains.get(key, {}).values() if gain > 0] for key in own.query_ids)
    return tuple(tuple(map(float, sorted(row, reverse=True)[:DEPTH])) for row in gains)


def _encode_passages(texts: Sequence[str], respondent: VectorRespondent, seed: int) -> NDArray[np.float32]:
    """Vectors of all passages as documents, (n, dim), NaN where one is refused."""
    rng = make_seeded_generator(seed, "watch", "passages")
    blocks = []
    with enter_answer_stage_if_unfinished(respondent, "passages"):
        for start in range(0, len(texts), _BLOCK):
            block = texts[start : start + _BLOCK]
            blocks.append(respondent.encode(block, ["document"] * len(block), rng).values)
    return np.concatenate(blocks)


PASSAGES = 10
"""Passages of a question that the judge is asked for: they stand for all that it graded."""
GROUP = "golden"
"""What the items of a golden set are called among the texts of a fingerprint."""


@dataclass(frozen=True)
class GradedQuestion:
    """A question of a golden set, its text as the judge read it, and the passages that have a grade, 1 to 5."""

    id: str
    text: str
    passages: tuple[str, ...]
    grades: tuple[int, ...]


@dataclass(frozen=True)
class GoldenSetSample:
    """The questions that are asked for again, each with the passages drawn, of so many `questions` and `passages` that
    have a grade."""

    name: str
    drawn: tuple[GradedQuestion, ...]
    questions: int
    passages: int

    def items(self) -> tuple[FingerprintItem, ...]:
        """Make the items that the judge is asked."""
        return tuple(
            FingerprintItem(f"golden {asked.id}", GROUP, asked.text, "query", own=True, others=asked.passages)
            for asked in self.drawn
        )

    def labels(self, items: Sequence[FingerprintItem], width: int) -> GoldenSetGrades:
        """What the golden set says of the items that come from it, `width` passages each at most."""
        rows = tuple(row for row, item in enumerate(items) if item.group == GROUP)
        grades = np.zeros((len(rows), width), dtype=np.int32)
        for row, asked in zip(grades, self.drawn, strict=True):
            row[: len(asked.grades)] = asked.grades
        return GoldenSetGrades(self.name, self.questions, self.passages, rows, Base64NumberArray.of(grades, "i4"))


def sample_golden_set_for_judge(request: FingerprintRequest) -> GoldenSetSample | None:
    """The part of the golden set that the judge is asked for, drawn at random; None where none is named.

    UsageError for a golden set of another judge, DataError for a folder that holds none.
    """
    if request.golden is None:
        return None
    from embassay.protocols.rag.golden.summary import read_golden_record

    folder = Path(request.golden).expanduser()
    made = read_golden_record(folder / "golden.json")
    if _split_judge_and_model(made.settings.judge) != _split_judge_and_model(request.name):
        raise UsageError(
            f"The golden set in {folder} was graded by {made.settings.judge}, not by {request.name}.",
            mend="Watch the judge that graded it, or leave out --golden.",
        )
    asked_as = str(dict(made.settings.parameters.get("S4", {})).get("judge_question", "original"))
    graded = _read_graded_questions(
        folder / "export" / "golden.jsonl", "rewrite" if asked_as == "rewrite" else "question"
    )
    seed = request.own.seed
    chosen = draw([asked.id for asked in graded], request.own.questions, seed)
    drawn = tuple(_sample_passages_of_question(graded[row], seed) for row in chosen)
    return GoldenSetSample(folder.name, drawn, len(graded), sum(len(asked.grades) for asked in graded))


def _split_judge_and_model(text: str) -> tuple[str, str | None]:
    """A judge without the parameters that say where and how it is asked."""
    spec = QUERY.parse(text)
    return spec.name, spec.target


def _read_graded_questions(path: Path, field: str) -> list[GradedQuestion]:
    from embassay.protocols.rag.golden.stages import read_json_line_rows

    if not path.is_file():
        raise DataError(
            "This golden set has no graded passages", path=path, expected="one line per graded passage",
            found="no such file", mend="Run the same `embassay rag golden` command to finish it."
        )  # fmt: skip
    questions: dict[str, tuple[str, list[str], list[int]]] = {}
    for row in read_json_line_rows(path):
        try:
            key, text, passage, grade = (str(row["query_id"]), str(row[field]), str(row["text"]), row["grade"])
            if grade is not None and (type(grade) is not int or not 1 <= grade <= 5):
                raise ValueError(f"grade {grade!r}")
        except (KeyError, ValueError) as error:
            raise DataError(
                "A line is not a graded passage", path=path, expected=f"query_id, {field}, text, and grade 1 to 5",
                found=str(error), mend="Run the same `embassay rag golden` command to write the file again."
            ) from error  # fmt: skip
        if grade is not None:
            _, passages, grades = questions.setdefault(key, (text, [], []))
            passages.append(passage)
            grades.append(grade)
    if not questions:
        raise DataError("This golden set has no graded passages", path=path, mend="Finish it, or leave out --golden.")
    return [
        GradedQuestion(key, text, tuple(passages), tuple(grades)) for key, (text, passages, grades) in questions.items()
    ]


def _sample_passages_of_question(asked: GradedQuestion, seed: int) -> GradedQuestion:
    order = make_seeded_generator(seed, "watch", GROUP, asked.id).permutation(len(asked.passages))
    places = sorted(order[:PASSAGES].tolist())
    passages, grades = (tuple(column[place] for place in places) for column in (asked.passages, asked.grades))
    return GradedQuestion(asked.id, asked.text, passages, grades)
