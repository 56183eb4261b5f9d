"""Everything that reads what others wrote, as functions of bytes: any bytes give a value or one of our errors.

A target that raises anything else, or hangs, has a fault. `seeds` are inputs that it reads, `words` what its inputs are
made of: both make a fuzzer reach further.
"""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzz import readers
from semblance.errors import SemblanceError


@dataclass(frozen=True)
class Target:
    """`read` gets the input and an empty folder of its own; SemblanceError is all that it may raise."""

    name: str
    read: readers.Read
    seeds: tuple[bytes, ...] = ()
    words: tuple[str, ...] = ()
    made: Callable[[], bytes] | None = None
    """A seed that is written by our own code."""
    may_abort: bool = False
    """Whether a library in machine code ends the process on some inputs (polars on damaged Parquet, which asks for
    exabytes): tests of this process leave such a target to the fuzzer, which has one of its own."""

    def all_seeds(self) -> tuple[bytes, ...]:
        """Inputs that are read without a refusal."""
        return self.seeds if self.made is None else (*self.seeds, self.made())

    def __call__(self, content: bytes) -> None:
        """Read `content`; what is refused is well."""
        with tempfile.TemporaryDirectory(prefix="fuzz") as folder:
            try:
                self.read(content, Path(folder))
            except SemblanceError:
                return


def _lines(*rows: Any) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


_COLUMNS = (
    "id",
    "text",
    "text2",
    "label",
    "summary",
    "score",
    "split",
    "lang",
    "query",
    "positive",
    "negative",
)
_ROWS = _lines(
    {"id": "1", "text": "One fox.", "label": "a", "summary": "Fox.", "score": 1.5},
    {"id": "2", "text": "Two foxes.", "label": "b", "summary": "Foxes.", "score": 3},
)
_JSON = (
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    '"',
    "null",
    "NaN",
    "1e999",
    "true",
    "\\ud800",
    "\\u0000",
    "-0.0",
    "\ufeff",
)
_YAML = (
    ": ",
    "- ",
    "\n",
    "  ",
    "&a ",
    "*a",
    "!!python/object:os.system ",
    "!!binary ",
    "{",
    "}",
    "|",
    "~",
    "yes",
    "1_0",
)

TARGETS: tuple[Target, ...] = (
    Target(
        "jsonl",
        readers.table(".jsonl"),
        (_ROWS, _lines({"query": "q", "positive": ["a"], "negative": []})),
        (*_JSON, *_COLUMNS),
    ),
    Target(
        "csv",
        readers.table(".csv"),
        (b'id,text,label\n1,One fox.,a\n2,"Two, foxes",b\n',),
        (*_COLUMNS, '"', ",", "\n", "\r"),
    ),
    Target(
        "tsv", readers.table(".tsv"), (b"id\ttext\tlabel\n1\tOne fox.\ta\n",), (*_COLUMNS, '"', "\t", "\n")
    ),
    Target("gzip", readers.table(".jsonl.gz"), (), (), lambda: gzip.compress(_ROWS, mtime=0)),
    Target("parquet", readers.table(".parquet"), (), ("PAR1",), readers.parquet, may_abort=True),
    Target(
        "beir",
        readers.beir,
        (
            _lines({"_id": "d1", "text": "A fox."})
            + b"\n--\n"
            + _lines({"_id": "q1", "text": "fox?"})
            + b"\n--\nquery-id\tcorpus-id\tscore\nq1\td1\t1\n",
        ),
        (*_JSON, "_id", "\n--\n", "\t", "title"),
    ),
    Target(
        "trec run",
        readers.judged("run", "run.trec"),
        (b"q1 Q0 d1 1 0.5 tag\nq1 Q0 d2 2 0.25 tag\n",),
        (" Q0 ", "\t", "nan", "inf"),
    ),
    Target(
        "json run",
        readers.judged("run", "run.jsonl"),
        (_lines({"query_id": "q", "doc_id": "d", "score": 1}),),
        _JSON,
    ),
    Target("qrels", readers.judged("qrels", "qrels.txt"), (b"q1 0 d1 3\nq1 0 d2 0\n",), (" 0 ", "\t", "-1")),
    Target(
        "beir qrels",
        readers.judged("qrels", "qrels.tsv"),
        (b"query-id\tcorpus-id\tscore\nq1\td1\t1\n",),
        ("\t", "score"),
    ),
    Target(
        "description",
        readers.description,
        (b"name: mine\ntables:\n  - file: rows.jsonl\n    shapes: [labelled]\n",),
        (*_YAML, "name", "map", "tables", "where", "join"),
    ),
    Target(
        "sweep",
        readers.sweep,
        (b"datasets: sample\nencoder: wordllama\ndims: [64, full]\nk: [20, 50]\n",),
        (*_YAML, "encoder", "dims", "index"),
    ),
    Target(
        "sampling",
        readers.sampling,
        (b"name: s\ntasks:\n  - data: sample\n    n: 10\n",),
        (*_YAML, "tasks", "data", "n"),
    ),
    Target(
        "mteb results",
        readers.mteb,
        (
            _lines(
                {
                    "n": 1,
                    "results": [
                        {
                            "model": "a/b",
                            "revision": "1",
                            "task": "HUMESTS12",
                            "hf_subset": "default",
                            "languages": ["eng-Latn"],
                            "main_score": 0.5,
                            "scores": {"main_score": 0.5},
                        }
                    ],
                }
            ),
        ),
        (*_JSON, "results", "model", "task", "main_score", "scores", "lang"),
    ),
    Target(
        "annotations csv",
        readers.annotations("csv", ".csv"),
        (b"item_id,annotator_id,value\nmood-00,ann,1\n",),
        ("item_id", ",", '"'),
    ),
    Target(
        "annotations jsonl",
        readers.annotations("jsonl", ".jsonl"),
        (_lines({"item_id": "mood-00", "annotator_id": "ann", "value": 1}),),
        (*_JSON, "item_id", "annotator_id", "value", "mood-00"),
    ),
    Target(
        "label studio",
        readers.annotations("label-studio", ".json"),
        (),
        (*_JSON, "data", "annotations", "result", "completed_by", "value", "choices"),
        lambda: readers.exported("label-studio"),
    ),
    Target(
        "argilla",
        readers.annotations("argilla", ".json"),
        (
            _lines(
                [
                    {
                        "id": "mood-00",
                        "label.responses": ["1"],
                        "label.responses.users": ["u"],
                        "label.responses.status": ["submitted"],
                    }
                ]
            ),
        ),
        (*_JSON, "responses", "values", "user_id", "status", "label", "id"),
    ),
    Target(
        "guessed annotations",
        readers.annotations(None, ".json"),
        (),
        _JSON,
        lambda: readers.exported("label-studio"),
    ),
    Target(
        "study",
        readers.study_file("study.json"),
        (),
        (*_JSON, "tasks", "family", "labels", "scale"),
        lambda: readers.study_files()["study.json"],
    ),
    Target(
        "study items",
        readers.study_file("items.jsonl"),
        (),
        (*_JSON, "payload", "task", "id"),
        lambda: readers.study_files()["items.jsonl"],
    ),
    Target(
        "study gold",
        readers.study_file("gold.jsonl"),
        (),
        (*_JSON, "item_id", "value"),
        lambda: readers.study_files()["gold.jsonl"],
    ),
    Target(
        "paraphrase ratings",
        readers.ratings,
        (b"pair_id,rater_id,rating\n1,ann,3\n2,ann,\n",),
        (",", '"', "rating"),
    ),
    Target(
        "manifest",
        readers.run_folder("manifest.json"),
        (),
        (*_JSON, "systems", "cells", "protocol", "datasets"),
        lambda: readers.run_files()["manifest.json"],
    ),
    Target(
        "results",
        readers.run_folder("results.jsonl"),
        (),
        (*_JSON, "value", "measure", "system"),
        lambda: readers.run_files()["results.jsonl"],
    ),
    Target(
        "comparisons",
        readers.run_folder("comparisons.json"),
        (_lines({"scopes": {}}),),
        (*_JSON, "scopes", "pairs", "best"),
    ),
    Target(
        "headlines",
        readers.headlines,
        (),
        ("PAR1",),
        lambda: readers.run_files()["headlines.parquet"],
        may_abort=True,
    ),
    Target(
        "spec of a system",
        readers.spec("QUERY"),
        (b"st:ORG/MODEL?dims=256&normalize=true",),
        ("?", "&", "=", ":", "%2F", "true", "1e5"),
    ),
    Target(
        "spec of a perturbation", readers.spec("COLON"), (b"insertion:p=0.15,q=0",), (":", ",", "=", "'", '"')
    ),
    Target(
        "spec of a measure",
        readers.spec("CALL"),
        (b"nDCG(gain='exponential')@10",),
        ("(", ")", "@", "=", "'", "10"),
    ),
    Target(
        "system",
        readers.system,
        (b"openai:text-embedding-3-large?dimensions=256",),
        ("?", "&", "=", ":", "wordllama", "bm25"),
    ),
    Target(
        "measure",
        readers.measure,
        (b"RA-nWG@10", b"nDCG(gain='exponential')@10", b"Harm(rel=2)@5"),
        ("@", "(", ")", "RA-nWG", "PROC"),
    ),
    Target(
        "options",
        readers.small_texts,
        (b"text=body,label=topic", b"2=5,1=3,0=1", b"sage.overall[a]>=0.4@lower"),
        ("=", ",", ">=", "[", "]", "@"),
    ),
    Target(
        "answers",
        readers.answers,
        (
            b'{"grade_1_5": 4}',
            b'```json\n{"order": ["A", "B", "C"]}\n```',
            b'{"score": 3.5}',
            b'{"label": "Joy"}',
        ),
        (*_JSON, "```", "order", "label", "rating", "marks"),
    ),
)
