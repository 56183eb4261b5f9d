"""The sample dataset that comes with the package: documents on six subjects, in every shape."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from embassay.data.dataset import Dataset
from embassay.data.retrieval import Candidates, Gains
from embassay.data.rows import Row, Source, key_of
from embassay.data.tables import JsonLines
from embassay.data.views import Chained, Filtered, Joined, Labelled, Renamed, Selected, View


def sample() -> Dataset:
    """48 short documents with two summaries each, questions graded per passage, labelled short texts, scored pairs."""
    return sample_from(Path(str(files("embassay.data"))) / "sample")


def sample_from(folder: Path) -> Dataset:
    """The dataset in `folder`: documents, summaries, questions, labelled texts and pairs as JSON Lines.

    Retrieval is over passages, the paragraphs of the documents, with the id `document#number`; the gain of a
    passage is its grade - 1, and 0 if the question does not grade it. The candidates of a question are the
    preferred summaries of the documents on its subject and of those it grades; relevant are those of documents with
    a passage of grade 4 or 5. Pairs of a score of 3 (roughly equivalent) and
    more have the label 1. The preferred summary of a document is the reference for the other, whose relevance
    is its rating of coverage: how much of what matters it keeps.
    """
    texts, summaries, questions, labelled, pairs = (
        JsonLines(folder / f"{name}.jsonl")
        for name in ("documents", "summaries", "questions", "labelled", "pairs")
    )
    document = Renamed(texts, {"doc_id": "id", "document": "text"})
    rated = Renamed(
        Joined(summaries, document, "doc_id", ("document",)), {"text": "document", "summary": "text"}
    )
    preferred, other = (Filtered(rated, {"preferred": frozenset({value})}) for value in ("true", "false"))
    reference = Renamed(Selected(preferred, ("doc_id", "summary")), {"references": "summary"})
    second = Renamed(pairs, {"text": "text2", "paraphrases": "paraphrases2"})
    passages, grades = Passages(texts), Grades(questions)
    judged = DocumentGrades(questions)
    short = Renamed(Selected(preferred, ("doc_id", "summary", "lang")), {"id": "doc_id", "text": "summary"})
    parts: dict[str, Source] = {
        "documents": texts,
        "summarised": Renamed(preferred, {"id": "doc_id"}),
        "comparisons": Choices(rated),
        "ratings": rated,
        "labelled": labelled,
        "classification": labelled,
        "pairs": pairs,
        "labelled_pairs": Labelled(pairs, "score", 3),
        "reranking": Labelled(Candidates(short, questions, judged, Shown(judged, texts)), "label", 4),
        "corpus": passages,
        "queries": questions,
        "qrels": grades,
        "summaries": Renamed(Joined(other, reference, "doc_id", ("references",)), {"relevance": "coverage"}),
        "paraphrases": Chained((pairs, second, labelled, questions, summaries)),
    }
    return Dataset("sample", parts, gains=Gains.from_grades("identity"))


class Choices(View):
    """The two summaries of each document, in the order of the file, and which of them is preferred."""

    def columns(self) -> tuple[str, ...]:
        """The columns of a comparison."""
        return ("id", "text", "summary_1", "summary_2", "choice", "lang")

    def rows(self, columns: Sequence[str]) -> Iterator[Row]:
        """One row per document."""
        waiting: dict[str, Row] = {}
        for second in self.source.rows(("doc_id", "text", "summary", "preferred", "lang")):
            document = key_of(second, "doc_id")
            first = waiting.pop(document, None)
            if first is None:
                waiting[document] = second
                continue
            cells = {
                "id": document,
                "text": first.cells["text"],
                "summary_1": first.cells["summary"],
                "summary_2": second.cells["summary"],
                "choice": int(second.cells["preferred"]),
                "lang": first.cells["lang"],
            }
            yield Row(first.path, first.line, {column: cells.get(column) for column in columns})


class Passages(View):
    """The paragraphs of each document."""

    def columns(self) -> tuple[str, ...]:
        """The columns of a corpus."""
        return ("id", "text", "lang")

    def rows(self, columns: Sequence[str]) -> Iterator[Row]:
        """One row per paragraph."""
        for path, line, cells in self.source.rows(("id", "text", "lang")):
            for number, paragraph in enumerate(cells["text"].split("\n\n"), 1):
                passage = {**cells, "id": f"{cells['id']}#{number}", "text": paragraph}
                yield Row(path, line, {column: passage.get(column) for column in columns})


class Grades(View):
    """The graded passages of each question."""

    def columns(self) -> tuple[str, ...]:
        """The columns of qrels."""
        return ("query_id", "doc_id", "relevance")

    def rows(self, columns: Sequence[str]) -> Iterator[Row]:
        """One row per question and graded passage."""
        for path, line, cells in self.source.rows(("id", "grades")):
            for passage, grade in cells["grades"].items():
                judgement = {"query_id": cells["id"], "doc_id": passage, "relevance": grade}
                yield Row(path, line, {column: judgement.get(column) for column in columns})


class DocumentGrades(Grades):
    """The graded documents of each question: a document has the grade of its best passage."""

    def rows(self, columns: Sequence[str]) -> Iterator[Row]:
        """One row per question and document."""
        for path, line, cells in self.source.rows(("id", "grades")):
            best: dict[str, int] = {}
            for passage, grade in cells["grades"].items():
                document = passage.partition("#")[0]
                best[document] = max(grade, best.get(document, 0))
            for document, grade in best.items():
                judgement = {"query_id": cells["id"], "doc_id": document, "relevance": grade}
                yield Row(path, line, {column: judgement.get(column) for column in columns})


@dataclass(frozen=True)
class Shown(View):
    """The documents to choose from for each question: all on its subject, and any other that it grades."""

    documents: Source

    def columns(self) -> tuple[str, ...]:
        """The columns of candidates by document."""
        return ("query_id", "doc_id")

    def rows(self, columns: Sequence[str]) -> Iterator[Row]:
        """One row per question and document."""
        documents = [str(row.cells["id"]) for row in self.documents.rows(("id",))]
        graded: dict[str, list[Row]] = {}
        for row in self.source.rows(("query_id", "doc_id")):
            graded.setdefault(str(row.cells["query_id"]), []).append(row)
        for question, rows in graded.items():
            subject = question.partition("-")[0]
            shown = [one for one in documents if one.partition("-")[0] == subject]
            for document in dict.fromkeys((*shown, *(str(row.cells["doc_id"]) for row in rows))):
                cells = {"query_id": question, "doc_id": document}
                yield Row(rows[0].path, rows[0].line, {column: cells[column] for column in columns})
