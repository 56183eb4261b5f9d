"""Documents of a folder, what engines answer with, judgements of spans, and drafts of questions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from fuzz.target import JSON, YAML, Read, Target, lines


def document(name: str) -> Read:
    """A file in a folder of documents, read and cut; HTML without the process that it is read in."""

    def read(content: bytes, folder: Path) -> object:
        from embassay.data import open_dataset
        from embassay.data.documents.folder import FolderFile
        from embassay.data.documents.markup import (
            UnreadableDocumentError,
            cut_pictures_fix_line_ends,
            detect_and_decode_text,
            extract_html_text_title_and_language,
            find_declared_charset,
        )
        from embassay.data.documents.passages import read_document, split_into_passages

        (folder / "docs").mkdir()
        (folder / "docs" / "beside.txt").write_text("A document that is always there.")
        try:
            if name.endswith(".html"):
                text, title, _ = extract_html_text_title_and_language(
                    cut_pictures_fix_line_ends(detect_and_decode_text(content, find_declared_charset(content))[0])
                )
                (folder / "docs" / "read.md").write_text(f"# {title}\n{text}", "utf-8", "replace")
                return open_dataset(str(folder / "docs")).load("documents")
            path = folder / "docs" / name
            path.write_bytes(content)
            kind = "Markdown" if name.endswith(".md") else "text"
            found = read_document(FolderFile(name, path, kind, len(content)))
            for one in split_into_passages(found):
                assert found.text[one.start : one.end] == one.body
        except UnreadableDocumentError:
            pass
        return open_dataset(str(folder / "docs")).load("documents")

    return read


def engine(content: bytes, folder: Path) -> object:
    """What an engine answered, with a corpus to find texts in and without one."""
    from embassay.data.judged_runs import AnswerTextMatcher, read_run_entries

    path = folder / "run.json"
    path.write_bytes(content)
    found = read_run_entries(path, {}, AnswerTextMatcher({"d1": "One fox runs."}, {"q1": "Who runs?"}))
    assert len(read_run_entries(path).frame) == len(found.frame)
    return found


def spans(content: bytes, folder: Path) -> object:
    """Judgements of spans, and a run held against them."""
    from embassay.data.judged_runs import read_entries_in_memory
    from embassay.data.judged_runs.spans import (
        convert_spans_to_document_qrels,
        is_span_judgement_file,
        read_evidence_spans,
        rename_passages_by_evidence,
    )

    path = folder / "spans.jsonl"
    path.write_bytes(content)
    is_span_judgement_file(path)
    found = read_evidence_spans(path)
    return convert_spans_to_document_qrels(found, path), rename_passages_by_evidence(
        read_entries_in_memory({"q": ["x"]}, "run", "r"), found, {"x": ("d", 0, 9)}
    )


def drafts(content: bytes, folder: Path) -> object:
    """What a run of questions has written down so far, its last line cut off or not."""
    from embassay.protocols.questions.drafts import read_question_drafts

    path = folder / "drafts.jsonl"
    path.write_bytes(content)
    return read_question_drafts(path)


def _draft() -> bytes:
    from embassay.protocols.questions.drafts import QuestionDraftWithResult

    return lines(
        QuestionDraftWithResult("k", "fact", "d#1", "d", "kept", "Who runs?", "One fox runs.", "a fox", 0, 13).as_dict()
    )


_MARKUP = ("# ", "\n---\n", "+++\n", "<p>", "</main>", "<nav>", "<!--", "<script>", "&#x", "&amp", "charset=utf-7")
_ANSWERS = ("query_id", "documents", "page_content", "metadata", "hits", "_id", "_score", "source_nodes", "node", "id_")
_KEPT: Callable[[], bytes] = _draft

TARGETS: tuple[Target, ...] = (
    Target(
        "markdown document", document("a.md"),
        (b"---\ntitle: Foxes\nlang: en\n---\n# Foxes\n\nOne fox. Two foxes.\n", b"+++\ntitle = 'F'\n+++\nA fox."),
        (*YAML, *_MARKUP, "title", "lang"),
    ),
    Target("text document", document("a.txt"), ("Größe, Mühe und Füchse.".encode("cp1252"),), ("\ufeff", "\0", "\x85")),
    Target(
        "html document", document("a.html"),
        (b"<html lang=en><title>T</title><main><h1>A</h1><p>B<br>C<pre>D</pre><table><tr><td>E",), _MARKUP,
    ),
    Target(
        "engine", engine,
        (
            lines({"query_id": "q1", "documents": [{"page_content": "One fox runs.", "metadata": {"id": "d1"}}]}),
            json.dumps({"q1": {"hits": {"hits": [{"_id": "d1", "_score": 2.5}]}}}).encode(),
            lines({"user_input": "Who runs?", "retrieved_contexts": ["One fox runs."]}),
        ),
        (*JSON, *_ANSWERS),
    ),
    Target(
        "spans", spans, (lines({"query_id": "q", "document": "d", "start": 0, "end": 9, "relevance": 5}),),
        (*JSON, "query_id", "start", "end", "1e400"),
    ),
    Target("drafts", drafts, (), (*JSON, "outcome", "rejected"), _KEPT),
)  # fmt: skip
