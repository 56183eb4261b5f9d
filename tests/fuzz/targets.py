"""Everything that reads what others wrote, as functions of bytes: any bytes give a value or one of our errors.

A target that raises anything else, or hangs, has a fault. `seeds` are inputs that it reads, `words` what its inputs are
made of: both make a fuzzer reach further.
"""

from __future__ import annotations

import gzip

from fuzz import of_documents, of_runs, of_servers, of_texts, readers
from fuzz.target import JSON, YAML, Target, lines

_COLUMNS = ("id", "text", "text2", "label", "summary", "score", "split", "lang", "query", "positive", "negative")
_ROWS = lines(
    {"id": "1", "text": "One fox.", "label": "a", "summary": "Fox.", "score": 1.5},
    {"id": "2", "text": "Two foxes.", "label": "b", "summary": "Foxes.", "score": 3},
)

_OF_USERS: tuple[Target, ...] = (
    Target(
        "jsonl",
        readers.table(".jsonl"),
        (_ROWS, lines({"query": "q", "positive": ["a"], "negative": []})),
        (*JSON, *_COLUMNS),
    ),
    Target(
        "csv",
        readers.table(".csv"),
        (b'id,text,label\n1,One fox.,a\n2,"Two, foxes",b\n',),
        (*_COLUMNS, '"', ",", "\n", "\r"),
    ),
    Target("tsv", readers.table(".tsv"), (b"id\ttext\tlabel\n1\tOne fox.\ta\n",), (*_COLUMNS, '"', "\t", "\n")),
    Target("txt", readers.table(".txt"), (b"text|label\nOne fox.|a\n",), (*_COLUMNS, '"', "|", ";", "\t", "{", "\n")),
    Target("gzip", readers.table(".jsonl.gz"), (), (), lambda: gzip.compress(_ROWS, mtime=0)),
    Target("parquet", readers.table(".parquet"), (), ("PAR1",), readers.parquet),
    Target(
        "beir",
        readers.beir,
        (
            lines({"_id": "d1", "text": "A fox."})
            + b"\n--\n"
            + lines({"_id": "q1", "text": "fox?"})
            + b"\n--\nquery-id\tcorpus-id\tscore\nq1\td1\t1\n",
        ),
        (*JSON, "_id", "\n--\n", "\t", "title"),
    ),
    Target(
        "trec run",
        readers.judged("run", "run.trec"),
        (b"q1 Q0 d1 1 0.5 tag\nq1 Q0 d2 2 0.25 tag\n",),
        (" Q0 ", "\t", "nan", "inf"),
    ),
    Target(
        "json run", readers.judged("run", "run.jsonl"), (lines({"query_id": "q", "doc_id": "d", "score": 1}),), JSON
    ),
    Target(
        "traces",
        readers.traces,
        (
            b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "t", "attributes": [{"key": "input.value", '
            b'"value": {"stringValue": "q"}}, {"key": "openinference.span.kind", '
            b'"value": {"stringValue": "RETRIEVER"}}, '
            b'{"key": "output.value", "value": {"stringValue": "[1]"}}]}]}]}]}\n',
            b'{"type": "RETRIEVER", "traceId": "t", "input": {"query": "q"}, "output": [{"id": "d1"}]}\n',
        ),
        (*JSON, '"attributes"', '"retrieval.documents.0.document.id"', "arrayValue", "kvlistValue"),
    ),
    Target(
        "sessions",
        readers.sessions,
        (b'{"query_id": "q1", "call": 1, "documents": ["d1", {"id": "d2", "score": 1}]}\n',),
        ('"query": ', '"seconds": ', '"cost": 1', "null", "-1"),
    ),
    Target(
        "questions without an answer",
        readers.unanswerable,
        (lines({"id": "near-1", "text": "A fox?", "kind": "near"}),),
        (*JSON, "kind"),
    ),
    Target("facets", readers.facets("facets.qrels"), (b"q1 1 d1 1\nq1 2 d1 0\n",), (" 1 ", "\t", "-1")),
    Target(
        "facet table",
        readers.facets("facets.csv"),
        (b"query_id,doc_id,facet,relevance\nq1,d1,price,1\nq1,d2,place,\n",),
        (*_COLUMNS, "facet", "relevance", ",", "\n"),
    ),
    Target(
        "rated sheet",
        readers.rated_sheet,
        (
            b"task,dataset,language,paraphraser,run,item,part,text,paraphrase,valid\n"
            b"sts,d,,recorded,1337,p1,first,A fox.,One fox.,yes\n",
        ),
        ("yes", "no", "?", "1337", ",", "\n", '"'),
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
        (*YAML, "name", "map", "tables", "where", "join"),
    ),
    Target(
        "sweep",
        readers.sweep,
        (b"datasets: sample\nencoder: wordllama\ndims: [64, full]\nk: [20, 50]\n",),
        (*YAML, "encoder", "dims", "index"),
    ),
    Target(
        "sampling",
        readers.sampling,
        (b"name: s\ntasks:\n  - data: sample\n    n: 10\n",),
        (*YAML, "tasks", "data", "n"),
    ),
    Target(
        "mteb results",
        readers.mteb,
        (
            lines(
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
        (*JSON, "results", "model", "task", "main_score", "scores", "lang"),
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
        (lines({"item_id": "mood-00", "annotator_id": "ann", "value": 1}),),
        (*JSON, "item_id", "annotator_id", "value", "mood-00"),
    ),
    Target(
        "label studio",
        readers.annotations("label-studio", ".json"),
        (),
        (*JSON, "data", "annotations", "result", "completed_by", "value", "choices"),
        lambda: readers.exported("label-studio"),
    ),
    Target(
        "argilla",
        readers.annotations("argilla", ".json"),
        (
            lines(
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
        (*JSON, "responses", "values", "user_id", "status", "label", "id"),
    ),
    Target(
        "guessed annotations", readers.annotations(None, ".json"), (), JSON, lambda: readers.exported("label-studio")
    ),
    Target(
        "study",
        readers.study_file("study.json"),
        (),
        (*JSON, "tasks", "family", "labels", "scale"),
        lambda: readers.study_files()["study.json"],
    ),
    Target(
        "study items",
        readers.study_file("items.jsonl"),
        (),
        (*JSON, "payload", "task", "id"),
        lambda: readers.study_files()["items.jsonl"],
    ),
    Target(
        "study gold",
        readers.study_file("gold.jsonl"),
        (),
        (*JSON, "item_id", "value"),
        lambda: readers.study_files()["gold.jsonl"],
    ),
    Target(
        "paraphrase ratings", readers.ratings, (b"pair_id,rater_id,rating\n1,ann,3\n2,ann,\n",), (",", '"', "rating")
    ),
    Target(
        "manifest",
        readers.run_folder("manifest.json"),
        (),
        (*JSON, "systems", "cells", "protocol", "datasets"),
        lambda: readers.run_files()["manifest.json"],
    ),
    Target(
        "results",
        readers.run_folder("results.jsonl"),
        (),
        (*JSON, "value", "measure", "system"),
        lambda: readers.run_files()["results.jsonl"],
    ),
    Target(
        "calibration",
        of_runs.calibration,
        (),
        (*JSON, "curve", "thresholds", "scores", "spec", "jaccard"),
        of_runs.calibration_file,
    ),
    Target(
        "fingerprint",
        of_runs.fingerprint,
        (),
        (*JSON, "items", "answers", "shape", "lists", "role", "others"),
        of_runs.fingerprint_file,
    ),
    Target(
        "checks",
        of_runs.checks,
        (),
        (*JSON, "verdict", "mask", "impact", "changes", "schema", "event"),
        of_runs.checks_file,
    ),
    Target(
        "comparisons",
        readers.run_folder("comparisons.json"),
        (lines({"scopes": {}}),),
        (*JSON, "scopes", "pairs", "best"),
    ),
    Target("headlines", readers.headlines, (), ("PAR1",), lambda: readers.run_files()["headlines.parquet"]),
    Target(
        "spec of a system",
        readers.spec("QUERY"),
        (b"st:ORG/MODEL?dims=256&normalize=true",),
        ("?", "&", "=", ":", "%2F", "true", "1e5"),
    ),
    Target("spec of a perturbation", readers.spec("COLON"), (b"insertion:p=0.15,q=0",), (":", ",", "=", "'", '"')),
    Target(
        "spec of a measure", readers.spec("CALL"), (b"nDCG(gain='exponential')@10",), ("(", ")", "@", "=", "'", "10")
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
        (b'{"grade": 4}', b'```json\n{"order": ["A", "B", "C"]}\n```', b'{"score": 3.5}', b'{"label": "Joy"}'),
        (*JSON, "```", "order", "label", "rating", "marks"),
    ),
)

TARGETS = (*_OF_USERS, *of_documents.TARGETS, *of_runs.TARGETS, *of_servers.TARGETS, *of_texts.TARGETS)
