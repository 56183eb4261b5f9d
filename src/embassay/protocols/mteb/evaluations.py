"""Files of Every Eval Ever (schemas 0.2 and 0.3) as documents of results: one evaluation of one model on one dataset.

Their scores become what MTEB's are: the better the higher, from 0 to 1 where the metric says its bounds. The interval,
n and method of each main score go into our block. Nothing is taken from a score that cannot be placed: it is told.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embassay.errors import DataError
from embassay.protocols.mteb.survey import (
    BLOCK,
    EVALUATIONS,
    MAIN,
    OTHER,
    Document,
    Plain,
    check_result_document,
    is_printable_name,
    number_or_none,
)
from embassay.runs.folder import digest_json
from embassay.stats.intervals import compute_normal_critical_value

Tell = Callable[[str], None]
_PERCENT = ("percent", "percentage", "%")
_KNOWN_SCALES = ((0, 1), (-1, 1))
_LEVEL = 0.95
_MOST = 10_000
"""Results in one file; the largest of the public store has some hundreds."""


@dataclass(frozen=True)
class _StatedScore:
    """A result that can be placed: its evaluation, metric and value, and what is known of its items."""

    task: str
    kind: str
    subset: str
    metric: str
    lower_is_better: bool
    value: float
    interval: tuple[float | None, float | None]
    n: int
    method: str
    seed: int | None
    data: str


def read_every_eval_ever_documents(body: Mapping[str, Any], where: Path, tell: Tell) -> Iterator[Document]:
    """The documents of a file, in the order of their first results. DataError for a file without a model or results."""
    model, revision, evaluator = _read_model_revision_and_evaluator(body, where)
    results = body["evaluation_results"]
    if not isinstance(results, list) or len(results) > _MOST:
        raise DataError(
            "evaluation_results is not a list, or it has too many entries", path=where,
            expected=f"a list of at most {_MOST:,} results", found=type(results).__name__
        )  # fmt: skip
    tasks: dict[str, list[_StatedScore]] = {}
    for place, result in enumerate(results, 1):
        try:
            score = _read_stated_score(result)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            tell(f"result {place} is left out: {error}")
            continue
        if score is not None:
            tasks.setdefault(score.task, []).append(score)
    for task, scores in tasks.items():
        document = Document(model, revision, _make_mteb_result_json_body(task, scores, tell), evaluator)
        yield check_result_document(document, where)


def _read_model_revision_and_evaluator(body: Mapping[str, Any], where: Path) -> tuple[str, str, str]:
    """Model, revision, and who evaluated it: two evaluators of one model are two systems."""
    info, source = body.get("model_info"), body.get("source_metadata")
    model = info.get("id") or info.get("name") if isinstance(info, dict) else None
    if not isinstance(info, dict) or not isinstance(model, str):
        expected = '{"model_info": {"id": ...}}'
        raise DataError("The file names no model", path=where, expected=expected, found=str(info)[:60])
    details = info.get("additional_details")
    stated = details.get("revision") or details.get("sha") if isinstance(details, dict) else None
    revision = stated if isinstance(stated, str) else "unknown"
    evaluator = source.get("source_organization_name") if isinstance(source, dict) else None
    return model, revision, evaluator if isinstance(evaluator, str) and evaluator != "unknown" else ""


def _read_stated_score(result: Mapping[str, Any]) -> _StatedScore | None:
    """None for a mean over datasets that our export wrote: means are computed anew. ValueError where it has
    no place."""
    metric, details, data = (result[key] for key in ("metric_config", "score_details", "source_data"))
    own = details.get("details") or {}
    if own.get("mean_over"):
        return None
    raw = number_or_none(details.get("score"))
    if raw is None or not math.isfinite(raw):
        raise ValueError(f"the score is {details.get('score')!r}, not a number")
    scale, rescaled = _find_score_rescaling_function(metric)
    low, high, method = _find_score_interval(details, float(raw))
    if low is not None and high is not None:
        low, high = scale(low), scale(high)
    sizes = ((details.get("uncertainty") or {}).get("num_samples"), data.get("samples_number"))
    n = next((size for size in map(_parse_item_count, sizes) if size), 0)
    parts = [own.get("method") or method, rescaled]
    return _StatedScore(
        _name_evaluated_task(result, data), _find_task_of_metric(metric),
        str(own.get("subset") or own.get("language") or "default"),
        _find_metric_name(metric), bool(metric.get("lower_is_better")), scale(float(raw)), (low, high), n,
        "; ".join(part for part in parts if part), _parse_whole_number(own.get("seed")), _digest_data_identity(data)
    )  # fmt: skip


def _parse_item_count(size: Any) -> int:
    return size if isinstance(size, int) and not isinstance(size, bool) and size > 0 else 0


def _parse_whole_number(text: Any) -> int | None:
    return int(text) if isinstance(text, str) and text.isdecimal() else None


def _find_score_rescaling_function(metric: Mapping[str, Any]) -> tuple[Callable[[float], float], str]:
    """What takes a score to 0..1, and how that is told; the scores of metrics without bounds stay."""
    least, most = number_or_none(metric.get("min_score")), number_or_none(metric.get("max_score"))
    if least is None and most is None and str(metric.get("metric_unit")).lower() in _PERCENT:
        least, most = 0, 100
    if least is None or most is None or (least, most) in _KNOWN_SCALES:
        return float, ""
    if not math.isfinite(most - least) or most <= least:
        return float, ""
    return lambda score: (score - least) / (most - least), f"rescaled from {least:g} to {most:g}"


def _find_score_interval(details: Mapping[str, Any], score: float) -> tuple[float | None, float | None, str]:
    """The 95% interval: as stated, from another level, or from a standard error; (None, None) where there is none."""
    uncertainty = details.get("uncertainty") or {}
    stated, error = uncertainty.get("confidence_interval") or {}, uncertainty.get("standard_error") or {}
    low, high = number_or_none(stated.get("lower")), number_or_none(stated.get("upper"))
    method = str(stated.get("method") or "")
    if low is not None and high is not None and low <= high:
        if low <= 0 <= high and not low <= score <= high:
            # Seen in the public store: how far the ends are from the score, in place of the ends.
            low, high, method = (
                score + low,
                score + high,
                f"{method}; interval ends were given as distances".lstrip("; "),
            )
        level = number_or_none(stated.get("confidence_level"))
        if level is not None and 0 < level < 1 and level != _LEVEL:
            ratio = compute_normal_critical_value(_LEVEL) / compute_normal_critical_value(level)
            low, high = score - (score - low) * ratio, score + (high - score) * ratio
            method = f"{method}; from the {level:.0%} interval".lstrip("; ")
        return float(low), float(high), method
    spread = number_or_none(error.get("value"))
    if spread is not None and spread >= 0 and math.isfinite(spread):
        half = compute_normal_critical_value(_LEVEL) * spread
        return (score - half, score + half, f"from the standard error ({error.get('method') or 'method not stated'})")
    return None, None, ""


def _name_evaluated_task(result: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    name, dataset = str(result["evaluation_name"]), str(data["dataset_name"])
    return name if dataset.lower() in name.lower() else f"{name} ({dataset})"


def _find_task_of_metric(metric: Mapping[str, Any]) -> str:
    """The task of ours that a metric of ours is of."""
    parts = str(metric.get("metric_id") or "").split(".")
    return parts[2] if parts[0] == "embassay" and len(parts) > 3 else OTHER


def _find_metric_name(metric: Mapping[str, Any]) -> str:
    named = next((text for key in ("metric_name", "metric_id", "metric_kind") if (text := metric.get(key))), "score")
    return str(named)


def _digest_data_identity(data: Mapping[str, Any]) -> str:
    """What tells two sets of items apart: fingerprint, revision or item ids where stated, else the name alone."""
    details = data.get("additional_details") or {}
    known = {key: text for key, text in details.items() if key == "revision" or key.startswith("fingerprint")}
    place = data.get("hf_repo") or data.get("url") or data["dataset_name"]
    return digest_json([place, known, data.get("sample_ids"), data.get("hf_split")])


def _make_mteb_result_json_body(task: str, scores: Sequence[_StatedScore], tell: Tell) -> dict[str, Any]:
    subsets: dict[str, list[_StatedScore]] = {}
    for score in scores:
        subsets.setdefault(score.subset, []).append(score)
    entries, rows = [], []
    for subset, listed in subsets.items():
        entry, row = _make_score_entry(task, subset if len(subsets) > 1 else "default", listed, tell)
        entries.append(entry)
        rows.append(row)
    main = list(range(len(rows)))
    block = {"run": {"task": scores[0].kind}, "rows": rows, "main": main, "source": EVALUATIONS}
    data, scored = scores[0].data, {"test": entries}
    return {"task_name": task, "dataset_revision": data, "mteb_version": None, "scores": scored, BLOCK: block}


def _make_score_entry(
    task: str, subset: str, scores: Sequence[_StatedScore], tell: Tell
) -> tuple[dict[str, Any], Plain]:
    """An entry with its main score, the first metric that rises with quality, and what is known of that one."""
    main = next((score for score in scores if not score.lower_is_better), None)
    entry: dict[str, Any] = {MAIN: None if main is None else main.value, "hf_subset": subset, "languages": []}
    for score in scores:
        if score.metric in entry:
            tell(f"{task} has {score.metric} twice; the first is used")
        elif is_printable_name(score.metric):
            entry[score.metric] = score.value
    if main is None:
        tell(f"{task}: lower {scores[0].metric} is better, so it is kept as a measure but cannot be ranked")
        return entry, {"reason": "less is better"}
    return entry, {
        "n": main.n, "ci_low": main.interval[0], "ci_high": main.interval[1], "method": main.method, "seed": main.seed
    }  # fmt: skip
