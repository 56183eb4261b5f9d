"""What our own commands wrote and read again: it may have been sent by a stranger, or cut by a full disk."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import tempfile
import warnings
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from fuzz.readers import run_files, study_files
from fuzz.target import JSON, Read, Target, lines

_CELL_WORDS = ("key", "status", "scores", "components", "replicates", "skipped", "counts")


def _run(folder: Path, name: str, content: bytes) -> Path:
    """The written run with one file replaced."""
    for each, known in run_files().items():
        (folder / each).write_bytes(known)
    (folder / name).write_bytes(content)
    return folder


def cell_record(content: bytes, folder: Path) -> object:
    from embassay.runs.folder import RunCell, RunFolder

    cell = RunCell("task", "dataset", "a", "k", 1, None)
    path = RunFolder(folder).get_cell_record_path(cell)
    path.parent.mkdir()
    path.write_bytes(_sealed(content))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return RunFolder(folder).read_cell_record(cell)


def _sealed(content: bytes) -> bytes:
    """With the checksum that fits, where it is an object: what the reader sees behind it is what is tested."""
    from embassay.runs.folder import digest_json

    try:
        plain = json.loads(content)
        rest = {name: value for name, value in plain.items() if name != "checksum"}
        return json.dumps({**rest, "checksum": digest_json(rest)}).encode()
    except (ValueError, AttributeError, RecursionError):
        return content


def a_cell() -> bytes:
    import numpy as np

    from embassay.records import HeadlineComponent, Score, SkippedItems
    from embassay.runs.folder import CellRecord, convert_cell_record_to_json

    record = CellRecord(
        "k", "task", "dataset", "a", "done", "", 1.5, (Score("", "", "m", 0.5, 2),),
        {"m": HeadlineComponent(0.5, 2, np.array([0.25, np.nan]), "")}, (SkippedItems("empty", 1, ("d1",)),), ("slow",),
        {"texts": 2},
    )  # fmt: skip
    return json.dumps(convert_cell_record_to_json(record)).encode()


def spending(content: bytes, folder: Path) -> object:
    from embassay.runs.spending import RunSpendingJournal

    path = folder / "spending.jsonl"
    path.write_bytes(content)
    return RunSpendingJournal(path, "now").sum_spending_by_account()


def calibration(content: bytes, folder: Path) -> object:
    """What `embassay calibrate` saved, and what it says of a score."""
    from embassay.protocols.calibration.probability import calibration as load

    path = folder / "calibration.json"
    path.write_bytes(content)
    return load(path).of([0.5])


def calibration_file() -> bytes:
    """A calibration through three scores."""
    from embassay.protocols.calibration.probability import Calibration, SamenessProbabilityCurve
    from embassay.stats.calibration import AcceptanceThreshold

    lines = (0.0, 0.5, 1.0), (0.1, 0.5, 0.9), (0.0, 0.4, 0.8), (0.2, 0.6, 1.0)
    curve = SamenessProbabilityCurve(
        "beta", 40, 20, 40, *lines, (AcceptanceThreshold("precision", 0.9, 0.95, 0.5, 40, 20, 10, 9),)
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "calibration.json"
        Calibration("jaccard", "jaccard", "jaccard/1", "sample", "f", "words", 1, None, curve).save(path)
        return path.read_bytes()


def fingerprint(content: bytes, folder: Path) -> object:
    """What `embassay watch record` saved."""
    from embassay.protocols.watch.fingerprint import read_fingerprint

    path = folder / "f.json"
    path.write_bytes(content)
    return read_fingerprint(path).digest


def fingerprint_file() -> bytes:
    """One of two words, asked twice more."""
    import numpy as np

    from embassay.protocols.watch.fingerprint import Base64NumberArray, FingerprintItem, SystemAnswerFingerprint
    from embassay.protocols.watch.texts import VERSION

    items = tuple(FingerprintItem(word, "length", word) for word in ("fox", "owl"))
    made = SystemAnswerFingerprint(
        "vectors", "a", "a/1", VERSION, 1, 3, None, 0.0, 2, "words", items, Base64NumberArray.of(np.eye(2, 3)),
        Base64NumberArray.of(np.zeros((2, 2))), {}
    )  # fmt: skip
    return json.dumps(made.as_dict()).encode()


def checks(content: bytes, folder: Path) -> object:
    """What `embassay watch check` keeps."""
    from embassay.protocols.watch.history import read_history_events, read_watch_checks

    path = folder / "f.checks.jsonl"
    path.write_bytes(content)
    return read_watch_checks(path), read_history_events(path)


def checks_file() -> bytes:
    """A check, and a recording before it."""
    from embassay.protocols.watch.history import FingerprintCheck, TextGroupChange
    from embassay.protocols.watch.kinds import AnswerChangeKind

    check = FingerprintCheck(
        "f", "2026-01-01T00:00:00Z", 1, "a", "a/1", "changed", "two are off", 0.0, 0.1, 2, 0, 2, 0.5, 0.0,
        (AnswerChangeKind("pooling", "all"),), (TextGroupChange("length", 2, 2, 0.5),), "11", 0.1, None
    )  # fmt: skip
    return lines({"event": "recorded"}, check.as_dict())


def exported(name: str) -> Read:
    """Every form in which runs leave for other tools."""

    def read(content: bytes, folder: Path) -> object:
        from embassay.errors import EmbassayError
        from embassay.interchange import FORMS, export

        run = folder / "run"
        run.mkdir()
        _run(run, name, content)
        for form in FORMS:
            try:
                export([run], form, folder / f"out-{form}")
            except EmbassayError:
                continue
        return run

    return read


def compared(name: str) -> Read:
    """What `compare` and `gate` read."""

    def read(content: bytes, folder: Path) -> object:
        from embassay.errors import EmbassayError
        from embassay.protocols.compare import compare_systems
        from embassay.protocols.run_values import read_comparable_run
        from embassay.protocols.thresholds import read_results_for_thresholds

        _run(folder, name, content)
        with contextlib.suppress(EmbassayError):
            read_results_for_thresholds(folder)
        return compare_systems(read_comparable_run(folder), "a", "b")

    return read


def served(name: str) -> Read:
    """A folder that `embassay serve` looks at: whatever lies there, the others are served."""

    def read(content: bytes, folder: Path) -> object:
        from embassay.web.leaderboard.library import RunLibrary
        from embassay.web.leaderboard.routes import LeaderboardService

        run = folder / "run"
        run.mkdir()
        _run(run, name, content)
        library = RunLibrary(folder)
        library.refresh_changed_runs()
        service = LeaderboardService(library)
        for line in library.wait_for_snapshot().boards.boards:
            service.page(line.id)
        return service.boards()

    return read


def reported(content: bytes, folder: Path) -> object:
    """The whole page of a run whose results are another's."""
    from embassay.report import write_report

    return write_report(_run(folder, "results.jsonl", content), out=folder / "page.html")


def published(name: str) -> Read:
    """Results of MTEB, in a folder of their layout, imported as a run."""

    def read(content: bytes, folder: Path) -> object:
        from embassay.interchange import import_results, read_results

        place = folder / "results" / "org__model" / "1"
        place.mkdir(parents=True)
        (place / "Task.json").write_bytes(DOCUMENT)
        (place / name).write_bytes(content)
        read_results(folder)
        return import_results(folder, folder / "out")

    return read


DOCUMENT = lines({
    "dataset_revision": "1", "task_name": "STS12", "mteb_version": "2.0.0", "evaluation_time": 1.5,
    "scores": {"test": [
        {"hf_subset": "default", "languages": ["eng-Latn"], "main_score": 0.5, "cosine_spearman": 0.5, "x": None}
    ]},
})  # fmt: skip
EVALUATION = lines({
    "schema_version": "0.3.0", "model_info": {"id": "a/b", "name": "b", "additional_details": {"revision": "1"}},
    "source_metadata": {"source_organization_name": "x"},
    "evaluation_results": [{
        "evaluation_name": "quiz", "source_data": {"dataset_name": "quiz", "samples_number": 3},
        "metric_config": {"lower_is_better": False, "min_score": 0, "max_score": 100, "metric_unit": "percent"},
        "score_details": {"score": 65.0, "details": {"seed": "1"}, "uncertainty": {
            "confidence_interval": {"lower": 60, "upper": 70, "confidence_level": 0.9}, "num_samples": 9,
            "standard_error": {"value": 0.1},
        }},
    }],
})  # fmt: skip
META = lines({"name": "org/model", "revision": "1", "n_parameters": 10, "languages": ["eng-Latn"]})


def cache_row(content: bytes, folder: Path) -> object:
    """Rows whose seal fits: a neighbour who may write the cache can make them."""
    from embassay.runs.embeddings import EmbeddingCache
    from embassay.runs.store import ChatAnswerCache, RerankScoreCache, compute_keyed_content_hash

    key = b"k" * 32
    answers, vectors = ChatAnswerCache.open(folder / "answers"), EmbeddingCache.open(folder / "vectors")
    pairs = RerankScoreCache.open(folder / "pairs")
    try:
        answers._execute_change(
            "INSERT INTO answers VALUES (?, ?, ?, ?)", key, "m", compute_keyed_content_hash(key, content), content
        )
        vectors._execute_change(
            "INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?)",
            key,
            "e",
            1,
            len(content) // 4,
            compute_keyed_content_hash(key, content),
            content,
        )
        pairs._execute_change(
            "INSERT INTO scores VALUES (?, ?, ?, ?)", key, "r", compute_keyed_content_hash(key, content), content
        )
        vectors.read(key, (1, len(content) // 4))
        return (
            answers.read(key),
            pairs.read([key], 1),
            answers.summarise_cache_contents(),
            vectors.summarise_cache_contents(),
            pairs.summarise_cache_contents(),
        )
    finally:
        for store in (answers, vectors, pairs):
            store.close()


def cache_file(content: bytes, folder: Path) -> object:
    """A cache's file with the content written over some of it; the first two bytes say where."""
    from embassay.runs.store import ChatAnswerCache

    path = folder / "answers.sqlite"
    whole = bytearray(_cache())
    place = int.from_bytes(content[:2], "little") * 8 % len(whole)
    whole[place : place + len(content) - 2] = content[2:]
    path.write_bytes(whole)
    store = ChatAnswerCache.open(path)
    try:
        return store.read(b"k" * 32), store.summarise_cache_contents(), store.clear("m")
    finally:
        store.close()


@lru_cache(maxsize=1)
def _cache() -> bytes:
    from embassay.contracts import Completion, Usage
    from embassay.runs.store import ChatAnswerCache

    with tempfile.TemporaryDirectory() as folder:
        store = ChatAnswerCache.open(Path(folder) / "answers.sqlite")
        store.write(b"k" * 32, "m", Completion("yes", None, Usage(1, 1, 1, 0.0), "m", "stop"))
        store.close()
        return store.path.read_bytes()


def golden_record(content: bytes, folder: Path) -> object:
    from embassay.protocols.rag.golden.summary import read_golden_record

    path = folder / "golden.json"
    path.write_bytes(content)
    return read_golden_record(path)


@lru_cache(maxsize=1)
def a_golden() -> bytes:
    from embassay.protocols.rag.golden.summary import (
        GoldenQuerySummary,
        GoldenRunRecord,
        GoldenRunSettings,
        RankingEngineRunSummary,
        TokensPerCandidate,
        write_golden_record,
    )

    golden = GoldenRunRecord(
        GoldenRunSettings(
            "c", "q", "wordllama", "identity", "simulated", "bayes", 1337, parameters={"S2": {"depth": 50}}
        ),
        (GoldenQuerySummary("1", "Why?", "q01", "done", grades=(9, 8), claims={"tau": 0.9}),),
        (), None, RankingEngineRunSummary("bayes", 1, 1.0, {"cap": 1}), {}, TokensPerCandidate("words", 1.0, 1.0, 8),
        None, (), {},
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        write_golden_record(Path(folder) / "golden.json", golden)
        return (Path(folder) / "golden.json").read_bytes()


def golden_lines(content: bytes, folder: Path) -> object:
    """Artefacts, the log of a judge's answers, and the manifest of a stage."""
    from embassay.errors import EmbassayError
    from embassay.protocols.rag.golden.refinement import JudgeCallLog
    from embassay.protocols.rag.golden.stages import SingleQueryFolder, read_json_line_rows, read_stage_manifest

    path = folder / "calls.jsonl"
    path.write_bytes(content)
    with contextlib.suppress(EmbassayError):
        read_json_line_rows(path)
    of_query = SingleQueryFolder(folder, "q01")
    of_query.manifest("S1").parent.mkdir(parents=True)
    of_query.manifest("S1").write_bytes(content)
    read_stage_manifest(of_query, "S1")
    return JudgeCallLog(path, {"judge": "j"}).entries


def golden_settings(content: bytes, folder: Path) -> object:
    from embassay.protocols.rag.golden.options import make_golden_request, resolve_golden_settings

    path = folder / "embassay.toml"
    path.write_bytes(content)
    return make_golden_request(
        resolve_golden_settings({"encoder": "wordllama", "judge": "simulated"}, environment={}, config=path)
    )


def recorded_judge(content: bytes, folder: Path) -> object:
    from embassay.protocols.rag.judges.simulation import read_recorded_judgements

    path = folder / "judge.jsonl"
    path.write_bytes(content)
    return read_recorded_judgements(path)


def checked_by_people(content: bytes, folder: Path) -> object:
    from embassay.protocols.rag.golden.final_lists import FinalListPassage, QuestionFinalList, read_human_check_file

    path = folder / "check.csv"
    path.write_bytes(content)
    return read_human_check_file(path, [QuestionFinalList("1", "Why?", (FinalListPassage("d1", 1, 5, "So."),))])


def _check_seed() -> bytes:
    from embassay.protocols.rag.golden.final_lists import FinalListPassage, QuestionFinalList, write_human_check_file

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "check.csv"
        write_human_check_file(path, [QuestionFinalList("1", "Why?", (FinalListPassage("d1", 1, 5, "So."),))])
        return path.read_bytes()


def small_records(content: bytes, folder: Path) -> object:
    """Times of a sweep, and a summary of a study."""
    from embassay.errors import EmbassayError
    from embassay.protocols.hume.record import read_summary
    from embassay.protocols.rag.sweep.config import LatencySettings
    from embassay.protocols.rag.sweep.measurement import QueryLatencyRecorder

    (folder / "one.json").write_bytes(content)
    (folder / "summary.json").write_bytes(content)
    with contextlib.suppress(EmbassayError):
        read_summary(folder)
    return QueryLatencyRecorder(folder, LatencySettings()).read("one")


def llm_rows(content: bytes, folder: Path) -> object:
    """What a language model answered to a study, kept in its folder."""
    from embassay.protocols.hume.llms.answers import LlmAnswerFile
    from embassay.protocols.hume.study import read_study

    for name, known in study_files().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(known)
    path = folder / "llm.jsonl"
    path.write_bytes(content)
    return LlmAnswerFile(path, read_study(folder)).answered()


def llm_scores(content: bytes, folder: Path) -> object:
    from embassay.protocols.hume.published.tables import read_llm_scores

    path = folder / "scores.csv"
    path.write_bytes(content)
    return read_llm_scores([path])


def paraphrase_set(content: bytes, folder: Path) -> object:
    """The manifest of a set, and what it says lies beside it."""
    from embassay.protocols.wordings.sets import ParaphraseSet

    for name, known in _set_files().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(known)
    (folder / "manifest.json").write_bytes(content)
    stored = ParaphraseSet.open(folder)
    return [
        stored.rows(name, dataset, seed)
        for name in stored.sources
        for dataset in ("sample",)
        for seed in stored.list_kept_seeds(name, dataset)
    ]


@lru_cache(maxsize=1)
def _set_files() -> Mapping[str, bytes]:
    from embassay.protocols.wordings.sets import import_paraphrases

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "sample.csv"
        file.write_bytes(PARAPHRASES)
        made = Path(folder) / "set"
        import_paraphrases(file, made)
        return {str(path.relative_to(made)): path.read_bytes() for path in made.rglob("*") if path.is_file()}


PARAPHRASES = b"text,lang,dataset,wording,run_seed\nA fox.,en,sample,One fox.,1337\n"


def paraphrase_file(content: bytes, folder: Path) -> object:
    from embassay.protocols.wordings.sets import import_paraphrases

    path = folder / "p.csv"
    path.write_bytes(content)
    return import_paraphrases(path, folder / "set")


def transformed_metadata(content: bytes, folder: Path) -> object:
    """The metadata of a file in the layout of HTEB's authors, beside one record."""
    import polars as pl

    from embassay.protocols.hteb.exchange import import_reference_transformation_files

    place = folder / "root" / "org~2Fmodel" / "banking77" / "translation" / "1337"
    place.mkdir(parents=True, exist_ok=True)
    (place / "metadata.JSON").write_bytes(content)
    record = pl.Series([{"text": "One fox.", "label": 1}])
    pl.DataFrame({"original": record, "translation_seed_1337": record}).write_parquet(place / "data.parquet")
    return import_reference_transformation_files(folder / "root", folder / "set")


_METADATA = {
    "generator_model": "org/model", "transformation": "translation", "dataset": "banking77", "seed_transform": 1337,
    "generation_datetime": None, "max_model_length": 4096, "max_tokens": 512, "max_retries": 3,
    "generation_statistics": {
        "records_total": 1, "records_targeted": 1, "text_fields_total": 1, "records_with_fallback": 0,
        "text_fields_with_fallback": 0, "unchanged_outputs": 0, "retried_text_fields": 0,
        "recovered_after_retry_text_fields": 0, "fallback_reasons": {},
    },
}  # fmt: skip


def validation_key(content: bytes, folder: Path) -> object:
    """The study of a paraphraser whose key is another's, sealed as it should be."""
    from embassay.protocols.pteb.validation.study import FORMAT, SCHEMA, read_study
    from embassay.protocols.wordings.pairs import LanguageAcceptanceRules

    facts: dict[str, Any] = {"format": FORMAT, "schema": SCHEMA, "sha256": {}}
    for name, text in (
        ("rules.json", json.dumps(LanguageAcceptanceRules().as_dict()).encode()),
        ("key.jsonl", content),
    ):
        (folder / name).write_bytes(text)
        facts["sha256"][name] = hashlib.sha256(text).hexdigest()
    (folder / "study.json").write_text(json.dumps(facts))
    return read_study(folder)


def page_parts(content: bytes, folder: Path) -> object:
    """Tables beside a run, and a description of its data."""
    from embassay.document.blocks import file_tables
    from embassay.report.method import find_dataset_licence

    (folder / "tables").mkdir()
    (folder / "tables" / "t.md").write_bytes(content)
    (folder / "tables" / "t.csv").write_bytes(content)
    (folder / "data.yaml").write_bytes(content)
    return file_tables(folder), find_dataset_licence(str(folder / "data.yaml"))


def _of_run(name: str) -> Callable[[], bytes]:
    return lambda: run_files()[name]


_MANIFEST: tuple[str, ...] = (
    *JSON,
    "systems",
    "cells",
    "protocol",
    "datasets",
    "fingerprint",
    "name",
    "identity",
    "..",
)
_RESULTS: tuple[str, ...] = (*JSON, "value", "measure", "system", "task", "reason", "ci_low")
_LINE: dict[str, Any] = {
    "item_id": "mood-00", "task": "mood", "run": 0, "mode": "ranking", "model": "m", "status": "ok", "value": 1,
    "text": "joy", "prompt": "p",
}  # fmt: skip

_PAIR = {"pair_id": "p1", "lang": "eng", "kind": "pair", "text": "A fox.", "text2": "One fox.", "expected": None}
TARGETS: tuple[Target, ...] = (
    Target("cell record", cell_record, (), (*JSON, *_CELL_WORDS), a_cell),
    Target(
        "spending", spending,
        (lines({"session": "s", "begun": True, "open": 1, "account": "a", "usd": 0.5},
               {"closed": 1, "account": "a", "usd": 0.1}),),
        (*JSON, "open", "closed", "account", "usd", "session", "begun"),
    ),
    Target("exported manifest", exported("manifest.json"), (), _MANIFEST, _of_run("manifest.json")),
    Target("exported results", exported("results.jsonl"), (), _RESULTS, _of_run("results.jsonl")),
    Target("exported comparisons", exported("comparisons.json"), (lines({"scopes": {}}),), (*JSON, "scopes", "pairs")),
    Target("compared manifest", compared("manifest.json"), (), _MANIFEST, _of_run("manifest.json")),
    Target("compared results", compared("results.jsonl"), (), _RESULTS, _of_run("results.jsonl")),
    Target("served manifest", served("manifest.json"), (), _MANIFEST, _of_run("manifest.json")),
    Target("served results", served("results.jsonl"), (), _RESULTS, _of_run("results.jsonl")),
    Target("report", reported, (), _RESULTS, _of_run("results.jsonl")),
    Target("mteb document", published("Task.json"), (DOCUMENT,), (*JSON, "scores", "main_score", "languages", "test")),
    Target("mteb account", published("model_meta.json"), (META,), (*JSON, "name", "revision", "..", "/")),
    Target(
        "mteb bundle", published("Bundle.json"),
        (lines({"results": [{"model": "a/b", "revision": "1", **json.loads(DOCUMENT)}]}),), (*JSON, "results"),
    ),
    Target("every eval ever", published("Evaluation.json"), (EVALUATION,), (*JSON, "score", "lower", "upper", "test")),
    Target("mteb packed", published("Task.json.gz"), (), (), lambda: gzip.compress(DOCUMENT, mtime=0)),
    Target(
        "cache row", cache_row,
        (lines({"text": "t", "model": "m", "finish": "stop", "usage": {}}), b"\x00\x00\x80\x3f", b"\x00\x00\xc0\x7f"),
        (*JSON, "usage", "text"),
    ),
    Target(
        "cache file", cache_file, (b"\x00\x00SQLite", b"\x10\x00\xff\xff"), ("SQLite format 3", "CREATE TABLE", "\x00"),
    ),
    Target("golden record", golden_record, (), (*JSON, "queries", "grades", "schema"), a_golden),
    Target(
        "golden lines", golden_lines,
        (lines({"judge": "j"}, {"round": 1, "place": 0, "shown": ["a"], "order": ["a"], "attempts": 1, "rejected": [],
                                "missing": 0, "unknown": 0}, {"round": 2, "failed": "x"}),),
        (*JSON, "round", "order", "failed"),
    ),
    Target(
        "golden settings", golden_settings, (b'[golden]\ndepth = 30\njudge = "simulated"\n',),
        ("[golden]", "=", "depth", "profile", '"'),
    ),
    Target(
        "recorded judge", recorded_judge,
        (lines({"query_id": "1", "doc_id": "d", "grade": 5}, {"query_id": "1", "order": ["d", "e"]}),),
        (*JSON, "grade", "order", "score", "place", "draw"),
    ),
    Target("human check", checked_by_people, (), (",", ";", '"', "place", "grade", "item"), _check_seed),
    Target("small records", small_records, (lines({"samples": [[1.0, 2.0]]}),), (*JSON, "samples", "tasks")),
    Target("llm rows", llm_rows, (lines(_LINE),), (*JSON, *_LINE)),
    Target(
        "llm scores", llm_scores, (b"dataset,lang,human,gpt\nSTS12,eng,90.1,80.5\n",), (",", '"', "nan", "inf", "eng"),
    ),
    Target(
        "paraphrase set", paraphrase_set, (), (*JSON, "sources", "files", "path", "../"),
        lambda: _set_files()["manifest.json"],
    ),
    Target(
        "paraphrase file", paraphrase_file, (PARAPHRASES, b'text,paraphrases\nA.,"[""B.""]"\n'),
        (",", '"', "wording", "run_seed"),
    ),
    Target("transformed metadata", transformed_metadata, (lines(_METADATA),), (*JSON, *_METADATA)),
    Target("validation key", validation_key, (lines(_PAIR),), (*JSON, *_PAIR)),
    Target(
        "page parts", page_parts, (b"**T**\n\n| a | b |\n|---|---|\n| x | 1.5 |\n\nNote.\n", b"licence: CC0\n"),
        ("|", "\\|", "<br>", "**", "\n", "licence: "),
    ),
)  # fmt: skip
