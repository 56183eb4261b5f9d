"""Published results as an ordinary run: manifest, rows, order of systems, and the documents themselves, whole."""

from __future__ import annotations

import gzip
import math
import re
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import chain, starmap
from pathlib import Path
from typing import Any

import numpy as np

from embassay import __version__
from embassay.data.intake import find_language_by_code
from embassay.errors import DataError, UsageError
from embassay.limits import parse_bounded_json
from embassay.protocols.kernel.comparisons import (
    ALPHA,
    CORRECTION,
    OVERALL,
    SystemHeadlineValue,
    SystemStanding,
    compare_headlines_of_all_systems,
    write_standings,
)
from embassay.protocols.kernel.outcome import format_current_utc_time
from embassay.protocols.mteb.survey import (
    BLOCK,
    MAIN,
    MANY,
    MAX_BYTES,
    MEND,
    Document,
    Fault,
    Plain,
    Progress,
    ResultDocumentSurvey,
    SurveyReadingFindings,
    TaskDocumentCounts,
    are_same_json,
    extract_model_facts_from_mteb_meta,
    format_ascii_json,
    format_task_name,
    is_from_every_eval_ever,
    is_printable_name,
    list_entry_languages,
    load_task_types,
    number_or_none,
    read_documents,
)
from embassay.randomness import make_seeded_generator
from embassay.records import ResampledUnitGroup, ResultRow
from embassay.runs.folder import (
    RunFolder,
    collect_hardware_facts,
    digest_json,
    format_value_as_json,
    list_package_versions,
    write_json,
    write_json_lines,
)
from embassay.stats.intervals import t_quantile
from embassay.stats.resampling import DEFAULT_SEED

PROTOCOL = "mteb"
ALL = "all"
Where = tuple[str, str, str, str, str, str, str]
"""Protocol, task, dataset, subset, lang, variant and system of a row."""
_NOT_SCORES = frozenset({"hf_subset", "languages", "mteb_version"})


def make_rows_of_mteb_document(
    document: Document,
    survey: ResultDocumentSurvey,
    measures: Collection[str] = (),
    told: Callable[[str], None] | None = None,
) -> Iterator[ResultRow]:
    """A row for every number of every entry, the main score first, and one for the mean over subsets.

    The task is MTEB's type, the dataset its task. The variant is empty for the split that counts, else `split=NAME`.
    The subset `default` of a task without others is the whole task, and so has an empty subset. `measures` keeps those
    only (and the main score); none, or `all`, keeps every number. What is left out is `told`.
    """
    task, system = survey.tasks[document.task], survey.system(document)
    wanted = () if ALL in measures else measures
    places = list(document.entries())
    own = _find_result_rows_behind_main_scores(document, len(places))
    mains: list[tuple[str, float | None, str]] = []
    # Two rows of one name would be one cell of every table.
    for (split, subset), there in _group_places_by_subset(places).items():
        times, (_, entry) = len(there), places[there[0]]
        variant = "" if split == task.split else f"split={split}"
        where = (PROTOCOL, task.kind, document.task, subset, _read_entry_language(entry), variant, system)
        differ = any(not are_same_json(entry, places[place][1]) for place in there)
        if times > 1 and told is not None:
            counts = (
                "the values differ, so none of them is used; remove the wrong ones" if differ else "it is used once"
            )
            told(f"the subset {subset or 'default'!r} of {split!r} appears {times} times: {counts}")
        if differ:
            values = [ResultRow(*where, MAIN, None, 0, reason=f"published {times} times, with different values")]
        else:
            method = _describe_published_score_source(document, entry)
            values = list(_list_result_rows_of_mteb_entry(where, entry, wanted, method, own[there[0]]))
        values = [_remove_value_out_of_range(value, task.shares) for value in values]
        if told is not None and values[0].reason.endswith(OTHER_SCALE):
            told(f"{split}{f', {subset}' if subset else ''}: {values[0].reason}; correct the file, or leave it out")
        yield from values
        if not variant and subset:
            mains.append((values[0].lang, values[0].value, values[0].reason))
    without = [reason for _, value, reason in mains if value is None]
    if mains and without and len(without) < len(mains) and told is not None:
        told(f"{len(without)} of {len(mains)} subsets have no value ({without[0]}); the mean is over the rest")
    if mains:
        yield _average_subsets(
            (PROTOCOL, task.kind, document.task, "", _find_shared_language(mains), "", system), mains
        )


def _group_places_by_subset(places: Sequence[tuple[str, Plain]]) -> dict[tuple[str, str], list[int]]:
    """Split and subset -> where a file has it, once unless it was put together badly."""
    entries = Counter(split for split, _ in places)
    by_subset: dict[tuple[str, str], list[int]] = {}
    for place, (split, entry) in enumerate(places):
        # Counted within the split: a task of one subset calls it `default`.
        by_subset.setdefault((split, _read_subset_name(entry, entries[split])), []).append(place)
    return by_subset


OTHER_SCALE = "on another scale"
_BY_SIGN = frozenset(
    {"sts", "summarization", "visual_sts_eng", "visual_sts_multi", "instruction_reranking", "instruction_retrieval"}
)
"""Tasks whose main score goes from -1 to 1: correlations, and p-MRR."""
_SHARE = re.compile(
    r"(?:.*_)?(?:ndcg|map|mrr|recall|precision|hit_rate|accuracy|acc|f1|ap|v_measure|spearman|pearson)(?:_.*)?"
)
"""Measures that no scale but -1 to 1 is usual for."""
_NOISE = 1e-6


@cache
def _list_bounded_task_types() -> frozenset[str]:
    """Types of tasks whose main score is from 0 to 1, or from -1: all of MTEB's but regression."""
    return frozenset(map(format_task_name, load_task_types().values())) - {"regression"}


def _remove_value_out_of_range(row: ResultRow, shares: int) -> ResultRow:
    """The row; without its value where that is none of its measure: in percent, it may be, or broken. `shares` counts
    the main scores of the task from -1 to 1: of a task that nobody knows they say whether its scores are such."""
    value = row.value
    known = row.task in _list_bounded_task_types()
    checked = (known or shares > 0) if row.measure == MAIN else _SHARE.fullmatch(row.measure) is not None
    if value is None or not checked:
        return row
    least = 0.0 if row.measure == MAIN and known and row.task not in _BY_SIGN else -1.0
    if least - _NOISE <= value <= 1 + _NOISE:
        return row
    percent = ", perhaps in percent" if 1 < value <= 100 else ""
    reason = f"published as {value:g}, not from {least:g} to 1{percent}: {OTHER_SCALE}"
    return replace(row, value=None, ci_low=None, ci_high=None, reason=reason)


def _list_result_rows_of_mteb_entry(
    where: Where, entry: Plain, wanted: Collection[str], method: str, saved: Mapping[str, Any] | None
) -> Iterator[ResultRow]:
    n = entry.get("n_items")
    # Others write these files: a number may be a word, and true counts as an int in Python.
    n = n if isinstance(n, int) and not isinstance(n, bool) and n > 0 else 0
    names = [MAIN, *(name for name in entry if name not in _NOT_SCORES and name != MAIN)]
    for name in names:
        raw = entry.get(name)
        if name != MAIN and (
            number_or_none(raw) is None or not is_printable_name(name) or (wanted and name not in wanted)
        ):
            continue
        value, reason = _parse_score_or_reason_for_none(raw)
        if name == MAIN and saved is not None:
            yield _make_main_score_row_from_own_run(where, value, reason, saved)
            continue
        yield ResultRow(*where, name, value, n, method=method, reason=reason)


def _parse_score_or_reason_for_none(raw: Any) -> tuple[float | None, str]:
    if raw is None:
        return None, "published without a value"
    try:
        value = float(raw)
    # JSON has whole numbers of any length.
    except OverflowError:
        value = math.inf
    return (value, "") if math.isfinite(value) else (None, f"published as {value}".replace("nan", "NaN"))


def _make_main_score_row_from_own_run(
    where: Where, value: float | None, reason: str, saved: Mapping[str, Any]
) -> ResultRow:
    """The main score of a run of ours, with what MTEB has no place for; anybody may have changed it since."""
    n, seed = (text if isinstance(text := saved.get(key), int) else None for key in ("n", "seed"))
    low, high = (_parse_score_or_reason_for_none(number_or_none(saved.get(key)))[0] for key in ("ci_low", "ci_high"))
    method, said = (
        text if isinstance(text := saved.get(key), str) and is_printable_name(text) else ""
        for key in ("method", "reason")
    )
    return ResultRow(*where, MAIN, value, n or 0, low, high, method, seed, said or reason if value is None else "")


def _find_result_rows_behind_main_scores(document: Document, entries: int) -> list[Mapping[str, Any] | None]:
    """The row behind each entry's main score, where we wrote the file ourselves."""
    block = document.body.get(BLOCK)
    block = block if isinstance(block, dict) else {}
    rows, main = block.get("rows"), block.get("main")
    if not isinstance(rows, list) or not isinstance(main, list) or len(main) != entries:
        return [None] * entries
    return [rows[i] if isinstance(i, int) and 0 <= i < len(rows) and isinstance(rows[i], dict) else None for i in main]


def _read_subset_name(entry: Plain, entries: int) -> str:
    name = str(entry.get("hf_subset") or "default")
    return "" if entries == 1 and name == "default" else name


def _read_entry_language(entry: Plain) -> str:
    spoken = list(dict.fromkeys(list_entry_languages(entry)))
    return spoken[0] if len(spoken) == 1 else MANY if spoken else ""


def _find_shared_language(mains: list[tuple[str, float | None, str]]) -> str:
    langs = {lang for lang, _, _ in mains}
    return langs.pop() if len(langs) == 1 else MANY


def _describe_published_score_source(document: Document, entry: Plain) -> str:
    version = _read_name_or_default(
        entry.get("mteb_version") or document.body.get("mteb_version"), "in an unknown version"
    )
    data = _read_name_or_default(document.body.get("dataset_revision"), "unknown")
    return f"as published by mteb {version} on data {data[:12]}; the items are unknown"


def _read_name_or_default(name: Any, otherwise: str) -> str:
    return name if isinstance(name, str) and name and is_printable_name(name) else otherwise


def _average_subsets(where: Where, mains: list[tuple[str, float | None, str]]) -> ResultRow:
    values = [value for _, value, _ in mains if value is not None]
    method = f"mean over {len(mains)} subsets" if len(mains) > 1 else "the only subset"
    missing = len(mains) - len(values)
    if not values:
        reason = f"{missing} of {len(mains)} subsets have no value"
        return ResultRow(*where, MAIN, None, 0, method=method, reason=reason)
    if missing:
        method = f"mean over {len(values)} of {len(mains)} subsets; {missing} without a value"
    return ResultRow(*where, MAIN, math.fsum(values) / len(values), 0, method=method)


WHY = "no test: published scores come without the items behind them"


@dataclass
class MainScores:
    """Main scores of whole tasks, by system, collected from rows as they pass."""

    values: dict[str, dict[str, float | None]] = field(default_factory=dict)
    spreads: dict[tuple[str, str], ScoreStandardError] = field(default_factory=dict)
    """Of scores whose file states an interval, by system and task: Every Eval Ever has them."""

    def add(self, row: ResultRow, *, is_stated: bool = False) -> None:
        """Add the row's value if it is a system's main score on a whole task."""
        if row.measure != MAIN or row.subset or row.variant:
            return
        self.values.setdefault(row.system, {})[row.dataset] = row.value
        if is_stated and row.ci_low is not None and row.ci_high is not None:
            # The interval is read as a normal one, whose half is 1.96 standard errors.
            half = (row.ci_high - row.ci_low) / 2
            self.spreads[row.system, row.dataset] = ScoreStandardError(half / t_quantile(0.975, math.inf), row.n)

    def spread(self, system: str, tasks: Sequence[str]) -> ScoreStandardError | None:
        """The standard error of a mean over tasks with items of their own; None where one is not known."""
        known = [self.spreads.get((system, task)) for task in tasks]
        parts = [part for part in known if part is not None]
        if not parts or len(parts) < len(known):
            return None
        # Of independent means the variances add up.
        error = math.sqrt(math.fsum(part.error**2 for part in parts)) / len(parts)
        return ScoreStandardError(error, sum(part.n for part in parts))


@dataclass(frozen=True)
class ScoreStandardError:
    """The standard error of a score, and how many items are behind it; 0 where that is not known."""

    error: float
    n: int


def make_mean_rows(scores: MainScores, survey: ResultDocumentSurvey) -> Iterator[ResultRow]:
    """For every system and type of task the mean over its tasks, and `overall` over all: only where the system has them
    all, since means over other tasks do not compare."""
    for system in survey.systems():
        values = scores.values.get(system, {})
        for kind, tasks in survey.tasks_by_type.items():
            yield _make_mean_result(kind, MAIN, system, values, tasks)
        yield _make_mean_result(OVERALL, OVERALL, system, values, list(survey.tasks))


_DRAWS = 1000
_MANY_ITEMS = 1_000_000
"""Stands for a number of items that is not stated: the test is then a z test."""
UNPAIRED = (
    "unpaired: z test of the difference, from the 95% intervals that the files state; Holm over all pairs. If "
    "systems share items, a paired test would separate more of them"
)


def make_mean_standings(
    rows: Iterable[ResultRow], scores: MainScores, survey: ResultDocumentSurvey
) -> list[SystemStanding]:
    """The means as standings; with replicates, each system's by itself, where the files state intervals."""
    standings = []
    for row in rows:
        tasks = list(survey.tasks) if row.task == OVERALL else survey.tasks_by_type[row.task]
        spread = scores.spread(row.system, tasks) if row.value is not None else None
        headline = SystemHeadlineValue(row.system, row.value, row.n, np.empty(0), row.method, row.reason)
        if row.value is not None and spread is not None:
            rng = make_seeded_generator(DEFAULT_SEED, "published", row.system, row.task)
            noise = rng.standard_normal(_DRAWS)
            # Exactly the stated error, whatever was drawn.
            draws = row.value + spread.error * (noise - noise.mean()) / noise.std()
            strata = (ResampledUnitGroup(spread.n or _MANY_ITEMS, draws - row.value),)
            headline = replace(headline, replicates=draws, strata=strata)
        standings.append(SystemStanding(row.task, "", row.measure, headline))
    return standings


def compare_systems_per_task_type(standings: Sequence[SystemStanding]) -> Mapping[str, object]:
    """What goes into comparisons.json: the order of systems on every type of task, and the ranks they may hold where
    every system states its interval, else why nothing is tested."""
    by_task: dict[str, list[SystemHeadlineValue]] = {}
    for standing in standings:
        by_task.setdefault(standing.task, []).append(standing.headline)
    scopes = {task: _compare_systems_by_published_scores(headlines) for task, headlines in by_task.items()}
    tested = any(scope["pairs"] for scope in scopes.values())
    method, correction = (UNPAIRED, CORRECTION) if tested else (WHY, "")
    return {"alpha": ALPHA, "correction": correction, "method": method, "scopes": scopes}


def _compare_systems_by_published_scores(headlines: Sequence[SystemHeadlineValue]) -> dict[str, Any]:
    scored = [headline for headline in headlines if headline.value is not None]
    without = [headline for headline in scored if not len(headline.replicates)]
    scope = compare_headlines_of_all_systems(headlines)
    if not without:
        return scope
    some = f"no test: {len(without)} of {len(scored)} systems have no interval"
    return {**scope, "reason": WHY if len(without) == len(scored) else some}


def _make_mean_result(
    task: str, measure: str, system: str, own: Mapping[str, float | None], tasks: Sequence[str]
) -> ResultRow:
    where = (PROTOCOL, task, "", "", "", "", system, measure)
    values = [value for name in tasks if (value := own.get(name)) is not None]
    if len(values) < len(tasks):
        return ResultRow(*where, None, len(values), reason=f"has {len(values)} of {len(tasks)} tasks")
    method = f"mean over {len(tasks)} tasks" if len(tasks) > 1 else "one task"
    return ResultRow(*where, math.fsum(values) / len(values), len(values), method=method)


_SCRIPT = {"kor": "Hang", **dict.fromkeys(("crh", "gmv", "gof", "nan"), "Latn")}
"""Scripts that MTEB takes for a language and Unicode's data do not."""


def add_language_script(lang: str) -> str:
    """A language with its script; Latin where no other is known.

    >>> add_language_script("ara"), add_language_script("nob"), add_language_script("srp-Latn")
    ('ara-Arab', 'nob-Latn', 'srp-Latn')
    """
    if "-" in lang:
        return lang
    return f"{lang}-{_SCRIPT.get(lang) or find_language_by_code(lang).maximize().script or 'Latn'}"


FAULTS = "faults.jsonl"


@dataclass(frozen=True)
class Imported:
    """What became of a source: files read, documents, systems, tasks, rows written, and what could not be read."""

    folder: Path
    files: int
    documents: int
    systems: int
    tasks: int
    rows: int
    faults: tuple[Fault, ...]
    warnings: tuple[str, ...] = ()


def import_results(
    source: Path,
    out: Path,
    *,
    measures: Collection[str] = (),
    max_bytes: int = MAX_BYTES,
    progress: Progress | None = None,
    command: str = "",
) -> Imported:
    """Make the run folder `out` of the published results in `source` (see `read_documents`).

    One run with all systems; `measures` names the numbers beside the main score that become rows (none: all). Broken
    files are counted, and told of in `faults.jsonl`. Raises DataError where nothing could be read, UsageError where
    `out` holds something else.
    """
    folder, reading, survey = RunFolder(out), SurveyReadingFindings(), ResultDocumentSurvey()
    _check_folder_may_hold_import(folder)
    documents = read_documents(source, reading, max_bytes=max_bytes, progress=progress)
    first = next(documents, None)
    if first is None:
        raise _make_no_results_error(source, reading.faults)
    with folder.hold_folder_lock():
        write_original_documents(
            out, _add_documents_to_survey(chain([first], documents), survey), reading.metas, reading.head
        )
        rows, means, scores = _write_result_rows(folder, survey, measures, reading, progress)
        standings = make_mean_standings(means, scores, survey)
        write_standings(out, standings)
        write_json(out / "comparisons.json", compare_systems_per_task_type(standings))
        _write_reading_faults_as_json_lines(out / FAULTS, reading.faults)
        folder.write_manifest(make_import_manifest(source, out, survey, reading, sorted(measures), command))
    systems, tasks = len(survey.systems()), len(survey.tasks)
    faults = tuple(reading.faults)
    warnings = tuple(
        f"{name}: {what}" for name, task in survey.tasks.items() for what in _list_item_mismatch_warnings(task)
    )
    return Imported(out, reading.files, survey.documents, systems, tasks, rows + len(means), faults, warnings)


def _add_documents_to_survey(documents: Iterable[Document], survey: ResultDocumentSurvey) -> Iterator[Document]:
    for document in documents:
        survey.add(document)
        yield document


def _write_result_rows(
    folder: RunFolder,
    survey: ResultDocumentSurvey,
    measures: Collection[str],
    reading: SurveyReadingFindings,
    progress: Progress | None,
) -> tuple[int, list[ResultRow], MainScores]:
    """Write results.jsonl row by row, from the documents kept: which split counts is known only when all are read."""
    rows, scores = 0, MainScores()
    # Row by row into a file beside: a clone of the public repository may not fit the memory.
    part = folder.results.with_name(".results.jsonl.part")
    with part.open("w", encoding="utf-8") as stream:
        for place, document in enumerate(read_imported_result_documents(folder.path)):
            if progress is not None:
                progress("writing rows", place, survey.documents)
            told = partial(_note_reading_fault, reading, f"{document.model}, {document.task}")
            is_stated = is_from_every_eval_ever(document)
            for row in make_rows_of_mteb_document(document, survey, measures, told):
                scores.add(row, is_stated=is_stated)
                stream.write(format_value_as_json(vars(row)) + "\n")
                rows += 1
        means = list(make_mean_rows(scores, survey))
        stream.writelines(format_value_as_json(vars(row)) + "\n" for row in means)
    part.replace(folder.results)
    return rows, means, scores


def _note_reading_fault(reading: SurveyReadingFindings, where: str, what: str) -> None:
    reading.faults.append(Fault.of(where, what))


def _write_reading_faults_as_json_lines(path: Path, faults: Sequence[Fault]) -> None:
    path.unlink(missing_ok=True)
    if faults:
        write_json_lines(path, map(vars, faults))


def _check_folder_may_hold_import(folder: RunFolder) -> None:
    """An import may replace an import, and nothing else."""
    if folder.path.is_file():
        raise UsageError(f"{folder.path} is a file.", mend="Name a folder with --out.")
    manifest = folder.read_manifest()
    if manifest is not None and manifest.get("protocol") != PROTOCOL:
        raise UsageError(
            f"{folder.path} contains a run of {manifest.get('protocol')}.", mend="Choose another --out folder."
        )


def _make_no_results_error(source: Path, faults: Sequence[Fault]) -> DataError:
    if not faults:
        return DataError("No MTEB results were found", path=source, mend=MEND)
    fault, more = faults[0], len(faults) - 1
    also = f" {more:,} more files or records are broken." if more else ""
    return DataError(f"Nothing could be read. {fault.reason}{also}", path=None, mend=MEND)


Fields = dict[str, Any]
KIND = "published"


def make_import_manifest(
    source: Path,
    out: Path,
    survey: ResultDocumentSurvey,
    reading: SurveyReadingFindings,
    measures: Sequence[str],
    command: str,
) -> Fields:
    """The manifest: a run without cells, since nothing was computed; its datasets are the tasks of MTEB."""
    now = format_current_utc_time()
    return {
        "embassay": __version__,
        "protocol": PROTOCOL,
        "name": out.resolve().name,
        "status": "finished",
        "created": now,
        "updated": now,
        "command": command,
        "arguments": {"source": str(source), "measures": list(measures), "seed": None, "limit": None},
        "tokenizer": {"name": "", "identity": ""},
        "systems": _make_system_records(survey, reading),
        "datasets": list(starmap(_make_dataset_record, survey.tasks.items())),
        "hardware": collect_hardware_facts(),
        "versions": list_package_versions(),
        "cells": [],
        "sessions": [],
        "imported": {"files": reading.files, "documents": survey.documents, "faults": len(reading.faults)},
        "problems": {"failed_cells": 0, "unread": len(reading.faults)},
    }


def _make_system_records(survey: ResultDocumentSurvey, reading: SurveyReadingFindings) -> list[Fields]:
    return [
        {
            "name": name,
            "kind": KIND,
            "identity": f"{owner[0]}@{owner[1]}",
            "facts": {
                "kind": KIND,
                "revision": owner[1],
                **extract_model_facts_from_mteb_meta(reading.metas.get(owner, {})),
            },
        }
        for name, owner in survey.systems().items()
    ]


def _make_dataset_record(name: str, task: TaskDocumentCounts) -> Fields:
    return {
        "name": name,
        "source": PROTOCOL,
        "lang": task.lang,
        "fingerprint": _fingerprint_revisions(task.revisions),
        "split": task.split,
        "tasks": {task.kind: {"n": 0, "skipped": [], "warnings": _list_differing_data_warnings(task)}},
    }


def _fingerprint_revisions(revisions: Counter[str]) -> str:
    return next(iter(revisions)) if len(revisions) == 1 else digest_json(sorted(revisions))


def _list_item_mismatch_warnings(task: TaskDocumentCounts) -> list[str]:
    """Where systems of a task were not scored on the same items: their difference is of the items too."""
    warnings = []
    if len(task.sizes) > 1:
        several = ", ".join(f"{n:,} ({systems})" for n, systems in sorted(task.sizes.items()))
        warnings.append(f"the items differ; number of items (systems): {several}")
    if task.sizes and len(task.revisions) > 1:
        warnings.append(f"the items differ: scores come from {len(task.revisions)} versions of the data")
    return warnings


def _list_differing_data_warnings(task: TaskDocumentCounts) -> list[str]:
    warnings = _list_item_mismatch_warnings(task)[:1] if len(task.sizes) > 1 else []
    if len(task.revisions) > 1:
        several = ", ".join(f"{name[:12] or 'unknown'} ({n})" for name, n in task.revisions.most_common(5))
        warnings.append(f"scores come from {len(task.revisions)} versions of the data: {several}")
    if len(task.splits) > 1:
        others = ", ".join(sorted(set(task.splits) - {task.split}))
        warnings.append(f"the split {task.split} is used; {others} are kept as variants")
    return warnings


FILE = "originals.jsonl.gz"
Owner = tuple[str, str, str]


@dataclass(frozen=True)
class ImportedMetadata:
    """What came with the documents: accounts of models by model, revision and experiment, and the head of a bundle."""

    metas: Mapping[Owner, Mapping[str, Any]]
    head: Mapping[str, Any]


class AtomicDocumentWriter:
    """Writes documents as they come, to a file that is there only once all is written."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._part = self._path.with_name(f".{FILE}.part")
        self._raw = self._part.open("wb")
        # No name and no time inside: the same documents are the same bytes.
        self._stream = gzip.GzipFile(filename="", mode="wb", fileobj=self._raw, compresslevel=4, mtime=0)

    def keep(self, document: Document) -> None:
        """Write a document to the file."""
        self._write_json_line({"document": vars(document)})

    def close(self, metas: Mapping[Owner, Mapping[str, Any]], head: Mapping[str, Any]) -> None:
        """Add what came with the documents, and put the file in its place."""
        for owner, meta in sorted(metas.items()):
            self._write_json_line({"meta": {"owner": list(owner), "body": meta}})
        self._write_json_line({"head": head})
        self._stream.close()
        self._raw.close()
        self._part.replace(self._path)

    def drop(self) -> None:
        """Leave nothing behind."""
        self._stream.close()
        self._raw.close()
        self._part.unlink(missing_ok=True)

    def _write_json_line(self, line: Mapping[str, Any]) -> None:
        self._stream.write((format_ascii_json(line) + "\n").encode("ascii"))


def read_imported_result_documents(folder: Path) -> Iterator[Document]:
    """The documents that a run was imported from, in their order. DataError where the run has none, or broken ones."""
    for line in _read_gzipped_json_lines(folder / FILE):
        if "document" in line:
            yield Document(**line["document"])


def load_imported_documents_metadata(folder: Path) -> ImportedMetadata:
    """Load the metadata that came with the imported documents."""
    metas: dict[Owner, Mapping[str, Any]] = {}
    head: Mapping[str, Any] = {}
    for line in _read_gzipped_json_lines(folder / FILE):
        if "meta" in line:
            model, revision, experiment = line["meta"]["owner"]
            metas[model, revision, experiment] = line["meta"]["body"]
        head = line.get("head", head)
    return ImportedMetadata(metas, head)


def write_original_documents(
    folder: Path, documents: Iterable[Document], metas: Mapping[Owner, Mapping[str, Any]], head: Mapping[str, Any]
) -> None:
    """Write all documents of an import, with what their reading adds to `metas` and `head`."""
    keeper = AtomicDocumentWriter(folder)
    try:
        for document in documents:
            keeper.keep(document)
    except BaseException:
        keeper.drop()
        raise
    keeper.close(metas, head)


def _read_gzipped_json_lines(path: Path) -> Iterator[dict[str, Any]]:
    try:
        with gzip.open(path, "rt", encoding="ascii") as stream:
            for line in stream:
                yield parse_bounded_json(line, halves=True)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise DataError(
            "The documents of this run cannot be read", path=path, found=str(error)[:80],
            mend="Import them again with the same --out."
        ) from error  # fmt: skip
