"""Published results as rows of a run, and the means over tasks that MTEB's own tables have."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from embassay.data.intake import named_language
from embassay.protocols.kernel.comparisons import OVERALL, Headline, Standing, compared
from embassay.protocols.mteb.document import BLOCK, MAIN, Document, Plain, is_name, languages, number
from embassay.protocols.mteb.survey import MANY, Survey
from embassay.records import Result

PROTOCOL = "mteb"
ALL = "all"
Where = tuple[str, str, str, str, str, str, str]
"""Protocol, task, dataset, subset, lang, variant and system of a row."""
_NOT_SCORES = frozenset({"hf_subset", "languages", "mteb_version"})


def rows_of(
    document: Document,
    survey: Survey,
    measures: Collection[str] = (),
    told: Callable[[str], None] | None = None,
) -> Iterator[Result]:
    """A row for every number of every entry, the main score first, and one for the mean over subsets.

    The task is MTEB's type, the dataset its task. The variant is empty for the split that counts, else `split=NAME`.
    The subset `default` of a task without others is the whole task, and so has an empty subset. `measures` keeps those
    only (and the main score); none, or `all`, keeps every number. What is left out is `told`.
    """
    task, system = survey.tasks[document.task], survey.system(document)
    wanted = () if ALL in measures else measures
    places = list(document.entries())
    own = _own_rows(document, len(places))
    seen: set[tuple[str, str]] = set()
    mains: list[tuple[str, float | None, str]] = []
    for (split, entry), row in zip(places, own, strict=True):
        variant = "" if split == task.split else f"split={split}"
        subset = _subset(entry, sum(split == other for other, _ in places))
        if (variant, subset) in seen:
            if told is not None:
                told(f"the subset {subset or 'default'!r} of {split!r} is there twice: the first counts")
            continue
        seen.add((variant, subset))
        where = (PROTOCOL, task.kind, document.task, subset, _lang(entry), variant, system)
        found = list(_values(where, entry, wanted, _method(document, entry), row))
        yield from found
        if not variant and subset:
            mains.append((found[0].lang, found[0].value, found[0].reason))
    if mains:
        yield _over_subsets((PROTOCOL, task.kind, document.task, "", _shared(mains), "", system), mains)


def _values(
    where: Where, entry: Plain, wanted: Collection[str], method: str, own: Mapping[str, Any] | None
) -> Iterator[Result]:
    n = entry.get("n_items")
    n = n if isinstance(n, int) and not isinstance(n, bool) and n > 0 else 0
    names = [MAIN, *(name for name in entry if name not in _NOT_SCORES and name != MAIN)]
    for name in names:
        raw = entry.get(name)
        if name != MAIN and (number(raw) is None or not is_name(name) or (wanted and name not in wanted)):
            continue
        value, reason = _value(raw)
        if name == MAIN and own is not None:
            yield _with_interval(where, value, reason, own)
            continue
        yield Result(*where, name, value, n, method=method, reason=reason)


def _value(raw: Any) -> tuple[float | None, str]:
    if raw is None:
        return None, "published without a value"
    try:
        value = float(raw)
    except OverflowError:
        value = math.inf
    return (value, "") if math.isfinite(value) else (None, f"published as {value}".replace("nan", "NaN"))


def _with_interval(where: Where, value: float | None, reason: str, own: Mapping[str, Any]) -> Result:
    """The main score of a run of ours, with what MTEB has no place for; anybody may have changed it since."""
    n, seed = (one if isinstance(one := own.get(key), int) else None for key in ("n", "seed"))
    low, high = (_value(number(own.get(key)))[0] for key in ("ci_low", "ci_high"))
    method, said = (
        one if isinstance(one := own.get(key), str) and is_name(one) else "" for key in ("method", "reason")
    )
    return Result(
        *where, MAIN, value, n or 0, low, high, method, seed, said or reason if value is None else ""
    )


def _own_rows(document: Document, entries: int) -> list[Mapping[str, Any] | None]:
    """The row behind each entry's main score, where we wrote the file ourselves."""
    block = document.body.get(BLOCK)
    block = block if isinstance(block, dict) else {}
    rows, main = block.get("rows"), block.get("main")
    if not isinstance(rows, list) or not isinstance(main, list) or len(main) != entries:
        return [None] * entries
    return [
        rows[i] if isinstance(i, int) and 0 <= i < len(rows) and isinstance(rows[i], dict) else None
        for i in main
    ]


def _subset(entry: Plain, entries: int) -> str:
    name = str(entry.get("hf_subset") or "default")
    return "" if entries == 1 and name == "default" else name


def _lang(entry: Plain) -> str:
    spoken = list(dict.fromkeys(languages(entry)))
    return spoken[0] if len(spoken) == 1 else MANY if spoken else ""


def _shared(mains: list[tuple[str, float | None, str]]) -> str:
    langs = {lang for lang, _, _ in mains}
    return langs.pop() if len(langs) == 1 else MANY


def _method(document: Document, entry: Plain) -> str:
    version = _said(entry.get("mteb_version") or document.body.get("mteb_version"), "of an unknown version")
    data = _said(document.body.get("dataset_revision"), "unknown")
    return f"as published by mteb {version} on data {data[:12]}; its items are not known"


def _said(name: Any, otherwise: str) -> str:
    return name if isinstance(name, str) and name and is_name(name) else otherwise


def _over_subsets(where: Where, mains: list[tuple[str, float | None, str]]) -> Result:
    values = [value for _, value, _ in mains if value is not None]
    method = f"mean over {len(mains)} subsets" if len(mains) > 1 else "the only subset"
    if len(values) < len(mains):
        reason = f"{len(mains) - len(values)} of {len(mains)} subsets have no value"
        return Result(*where, MAIN, None, 0, method=method, reason=reason)
    return Result(*where, MAIN, math.fsum(values) / len(values), 0, method=method)


WHY = "no test: published scores come without the items behind them"


@dataclass
class MainScores:
    """Main scores of whole tasks, by system, collected from rows as they pass."""

    values: dict[str, dict[str, float | None]] = field(default_factory=dict)

    def add(self, row: Result) -> None:
        """Keep the row's value if it is a system's main score on a whole task."""
        if row.measure == MAIN and not row.subset and not row.variant:
            self.values.setdefault(row.system, {})[row.dataset] = row.value


def mean_rows(scores: MainScores, survey: Survey) -> Iterator[Result]:
    """For every system and type of task the mean over its tasks, and `overall` over all: only where the system has them
    all, since means over other tasks do not compare."""
    for system in survey.systems():
        own = scores.values.get(system, {})
        for kind, tasks in survey.kinds.items():
            yield _mean(kind, MAIN, system, own, tasks)
        yield _mean(OVERALL, OVERALL, system, own, list(survey.tasks))


def standings_of(rows: Iterable[Result]) -> list[Standing]:
    """The means as standings without replicates."""
    return [Standing(row.task, "", row.measure, _headline(row)) for row in rows]


def comparisons_of(standings: Sequence[Standing]) -> Mapping[str, object]:
    """What goes into comparisons.json: the order of systems on every type of task, and why nothing is tested."""
    by_task: dict[str, list[Headline]] = {}
    for one in standings:
        by_task.setdefault(one.task, []).append(one.headline)
    scopes = {task: {**compared(headlines), "reason": WHY} for task, headlines in by_task.items()}
    return {"alpha": 0.05, "correction": "", "method": WHY, "scopes": scopes}


def _mean(
    task: str, measure: str, system: str, own: Mapping[str, float | None], tasks: Sequence[str]
) -> Result:
    where = (PROTOCOL, task, "", "", "", "", system, measure)
    values = [value for name in tasks if (value := own.get(name)) is not None]
    if len(values) < len(tasks):
        return Result(*where, None, len(values), reason=f"has {len(values)} of {len(tasks)} tasks")
    method = f"mean over {len(tasks)} tasks" if len(tasks) > 1 else "one task"
    return Result(*where, math.fsum(values) / len(values), len(values), method=method)


def _headline(row: Result) -> Headline:
    return Headline(row.system, row.value, row.n, np.empty(0), row.method, row.reason)


_SCRIPT = {"kor": "Hang", **dict.fromkeys(("crh", "gmv", "gof", "nan"), "Latn")}
"""Scripts that MTEB takes for a language and Unicode's data do not."""


def with_script(lang: str) -> str:
    """A language with its script; Latin where no other is known.

    >>> with_script("ara"), with_script("nob"), with_script("srp-Latn")
    ('ara-Arab', 'nob-Latn', 'srp-Latn')
    """
    if "-" in lang:
        return lang
    return f"{lang}-{_SCRIPT.get(lang) or named_language(lang).maximize().script or 'Latn'}"
