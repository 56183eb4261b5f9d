"""What is written at the end of every attempt: record, rows, tables, exports and the file for a person to check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from embassay.protocols.rag.golden import record
from embassay.protocols.rag.golden.checking import Sampling, checked_questions, read_checks, sample_check
from embassay.protocols.rag.golden.export import CorpusText, Finished, write_export
from embassay.protocols.rag.golden.gathered import Gathered
from embassay.protocols.rag.golden.results import result_rows, tables
from embassay.protocols.rag.golden.summary import Golden, Repeated, write_golden
from embassay.protocols.rag.golden.work import Work
from embassay.runs.files import write_atomic
from embassay.runs.folder import RunFolder

CHECK = "human_check.csv"


def conclude(
    folder: RunFolder,
    work: Work,
    queries: Sequence[Gathered],
    told: Mapping[str, Mapping[str, Any]],
    *,
    profile: str = "",
    repeated: Repeated | None = None,
) -> Golden:
    """Write everything that follows from the queries that are done. `told` is what each stage took."""
    done = any(one.is_done for one in queries)
    labels = record.labels_of(queries, checked_questions(folder.path) if done else 0)
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
        human=read_checks(folder.path) if done else (),
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


def write_human_check(folder: RunFolder, work: Work) -> None:
    """Write the lists of some questions for a person to edit, unless the file is there already: it may be edited."""
    path, share = folder.path / CHECK, work.request.options.human
    if share and not path.exists() and any(one.folder.success("S6").exists() for one in work.queries):
        sample_check(folder.path, path, Sampling(share, seed=work.request.seed))


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
