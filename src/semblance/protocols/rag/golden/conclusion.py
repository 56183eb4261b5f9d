"""What is written at the end of every attempt: record, rows, tables, exports and the file for a person to check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from semblance.errors import DataError
from semblance.protocols.rag.golden import record
from semblance.protocols.rag.golden.check_file import FinalList, Listed, write_check
from semblance.protocols.rag.golden.export import CorpusText, Finished, write_export
from semblance.protocols.rag.golden.gathered import Gathered
from semblance.protocols.rag.golden.human import draw_questions
from semblance.protocols.rag.golden.results import result_rows, tables
from semblance.protocols.rag.golden.summary import Golden, HumanCheck, Repeated, read_golden, write_golden
from semblance.protocols.rag.golden.work import Work
from semblance.runs.files import write_atomic
from semblance.runs.folder import RunFolder

CHECK = "human_check.csv"


def conclude(
    folder: RunFolder,
    work: Work,
    queries: Sequence[Gathered],
    told: Mapping[str, Mapping[str, Any]],
    *,
    profile: str = "",
    repeated: Repeated | None = None,
    changed: bool = True,
) -> Golden:
    """Write everything that follows from the queries that are done. `told` is what each stage took, `changed` whether
    a final order may be another than before: then what people said of the old ones no longer holds."""
    labels = record.labels_of(queries)
    exports = _export(folder, work, queries)
    golden = Golden(
        settings=record.settings_of(work, profile),
        queries=tuple(map(record.query_of, queries)),
        stages=record.stages_of(told, queries),
        judge=record.judge_of(work, queries, told),
        ranking=record.ranking_of(work.request.engine, queries, work.request.seed),
        labels=labels,
        tokens=record.tokens_of(queries, work.request.tokenizer),
        repeated=repeated,
        human=() if changed else _checked_before(folder),
        exports={name: f"export/{path}" for name, path in exports.items()},
        notes=record.notes_of(work, queries),
        verdict=record.verdict_of(queries, labels),
    )
    write_golden(folder.path / "golden.json", golden)
    folder.write_results(result_rows(golden, work.read.name, work.read.lang))
    for table in tables(golden):
        write_atomic(folder.path / "tables" / f"{table.name}.csv", table.as_csv())
        write_atomic(folder.path / "tables" / f"{table.name}.md", table.as_markdown())
    return golden


def write_human_check(folder: RunFolder, work: Work, queries: Sequence[Gathered]) -> None:
    """Write the lists of some questions for a person to edit, unless the file is there already: it may be edited."""
    path, share = folder.path / CHECK, work.request.options.human
    done = {one.state.id: one for one in queries if one.is_done}
    if not share or path.exists() or not done:
        return
    lists = [
        final_list(done[key], work.request.options.top)
        for key in draw_questions(list(done), share, work.request.seed)
    ]
    write_check(path, lists, seed=work.request.seed)


def final_list(one: Gathered, top: int) -> FinalList:
    """The first `top` of a question, as a person sees them."""
    passages = tuple(
        Listed(row["doc_id"], int(row["final_rank"]), int(row["grade"]), row["text"])
        for row in one.ordered[:top]
        if row["grade"] is not None
    )
    return FinalList(one.state.id, one.state.text, passages)


def _export(folder: RunFolder, work: Work, queries: Sequence[Gathered]) -> dict[str, str]:
    finished = [
        Finished(
            one.state.id, one.state.text, one.rewrite, [row for row in one.rows if row["grade"] is not None]
        )
        for one in queries
        if one.is_done
    ]
    about = {
        "questions": work.request.queries or work.request.dataset,
        "corpus": work.request.corpus or work.request.dataset,
        "encoder": work.encoder.name,
        "judge": work.judge.name,
        "ranking": work.request.engine,
        "seed": work.request.seed,
    }
    return write_export(folder.path / "export", finished, _corpus(work), about)


def _corpus(work: Work) -> list[CorpusText]:
    if work.request.options.chunk is None:
        return [CorpusText(one.id, one.text, one.title) for one in work.read.documents]
    return [CorpusText(key, text) for key, text in zip(work.passages.ids, work.passages.texts, strict=True)]


def _checked_before(folder: RunFolder) -> tuple[HumanCheck, ...]:
    try:
        return read_golden(folder.path / "golden.json").human
    except DataError:
        return ()
