"""Original and PTEB scores: tables 6 (STS datasets), 9 (tasks), 10 (multilingual), 12 (prompts), and every dataset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import sqrt
from statistics import fmean, variance

from embassay.protocols.kernel.tables import Column, ColumnTable, Value
from embassay.protocols.pteb.analysis import DatasetUsed, against_distance
from embassay.protocols.pteb.summary.layout import OVERALL
from embassay.protocols.pteb.tables.grid import (
    AVERAGE,
    ORIGINAL,
    Entry,
    Given,
    Grid,
    Values,
    average_entries,
    english_part,
    headline,
    is_multilingual,
    mean,
    points,
)
from embassay.records import Result

OTHER_METHOD = (
    "Systems without vectors classify by neighbours and cluster by linkage: these scores, and averages with them, do "
    "not compare with those of embeddings."
)

ENGLISH_ONLY = "English alone, as in the paper: what has other languages is in table 10."


def score_tables(given: Given) -> Iterator[Grid | ColumnTable]:
    """All tables of scores that the rows can fill."""
    english = [
        (one, lang) for one in given.datasets if one.task == "sts" and (lang := english_part(one)) is not None
    ]
    if english:
        rows = [
            entry for one, lang in english
            for entry in _entries(given, one, (_called(one, lang),), lang)
        ]  # fmt: skip
        yield Grid(
            "pteb_table6", "PTEB table 6: STS in English, Spearman x 100", ("dataset",),
            (*rows, *average_entries(rows, (AVERAGE,))),
        )  # fmt: skip
    yield _by_task(given)
    others = [one for one in given.datasets if is_multilingual(one)]
    if others:
        rows = [entry for one in others for entry in _entries(given, one, (one.task, one.dataset))]
        yield Grid(
            "pteb_table10", "PTEB table 10: datasets with other languages than English, x 100",
            ("task", "dataset"), (*rows, *average_entries(rows, (AVERAGE, ""))),
        )  # fmt: skip
    yield _by_dataset(given)
    if given.labels:
        yield _by_source(given)
    if any("prompt=" in label for label in given.labels) and "sts" in given.tasks:
        yield _prompts(given)


def _by_task(given: Given) -> Grid:
    """Table 9: the tasks in English, as in the paper, so that its STS is the average of table 6.

    Where a task, or the run, has nothing in English or nothing else, the mean over its datasets and the standard
    deviation over runs are those of the run's own rows.
    """
    english = [(one, lang) for one in given.datasets if (lang := english_part(one)) is not None]
    mixed = bool(english) and any(is_multilingual(one) for one in given.datasets)
    rows: list[Entry] = []
    for task in given.tasks:
        parts = [(one, lang) for one, lang in english if one.task == task]
        used = parts if mixed else [(one, "") for one in given.datasets if one.task == task]
        if not used:
            continue
        label = (task, _called(*used[0]) if len(used) == 1 else f"{len(used)} datasets")
        whole = [one for one in given.datasets if one.task == task]
        if used == [(one, "") for one in whole]:
            rows += _entries(given, DatasetUsed(task, "", (), headline(task)), label)
        else:
            rows += [Entry(label, kind, name, _mean(given, used, name)) for kind, name in given.systems()]
    if mixed:
        rows += average_entries(rows, (AVERAGE, ""))
    else:
        rows += _entries(given, DatasetUsed(OVERALL, "", (), OVERALL), (AVERAGE, ""))
    apart = any(scope.endswith(":classical") for scope in given.comparisons.get("scopes", {}))
    note = " ".join(filter(None, (OTHER_METHOD if apart else "", ENGLISH_ONLY if mixed else "")))
    return Grid("pteb_table9", "PTEB table 9: tasks, x 100", ("task", "dataset"), tuple(rows), note)


def _called(used: DatasetUsed, lang: str) -> str:
    return f"{used.dataset} {lang}".strip()


def _mean(given: Given, used: Sequence[tuple[DatasetUsed, str]], system: str) -> Values:
    """The mean over these parts of datasets, and the standard deviations of it and of its change over runs."""
    parts = [_values(given, one, system, lang) for one, lang in used]
    orig, pteb, delta, whole = (mean([part[place] for part in parts]) for place in (0, 1, 2, 5))
    sd, delta_sd = (
        points(_spread([given.runs(one, system, lang, measure) for one, lang in used]))
        for measure in ("", "delta")
    )
    return orig, pteb, delta, sd, delta_sd, whole


def _spread(parts: Sequence[Mapping[str, Sequence[float]]]) -> float | None:
    """`parts` hold, by source, the score of every run. The sample standard deviation over runs of their mean, of the
    runs that all have; over several sources the root of the mean variance. None where a source has one run."""
    variances = []
    for source in dict.fromkeys(name for part in parts for name in part):
        of_source = [part.get(source, ()) for part in parts]
        common = min(map(len, of_source))
        if common < 2:
            return None
        variances.append(
            variance([fmean(runs) for runs in zip(*(one[:common] for one in of_source), strict=True)])
        )
    return sqrt(fmean(variances)) if variances else None


def _entries(given: Given, used: DatasetUsed, label: tuple[str, ...], lang: str = "") -> Iterator[Entry]:
    """Every system on a dataset or one of its languages, or on all of a task where the dataset is empty."""
    for kind, system in given.systems():
        yield Entry(label, kind, system, _values(given, used, system, lang))


def _values(given: Given, used: DatasetUsed, system: str, lang: str = "") -> Values:
    where = (used.task, used.dataset, system)
    return (
        given.points(*where, "original", lang=lang),
        given.points(*where, used.measure, lang=lang),
        given.points(*where, "delta", lang=lang),
        given.points(*where, "sd", lang=lang),
        given.points(*where, "delta_sd", lang=lang),
        given.points(*where, used.measure, ORIGINAL, lang=lang),
    )


def _by_dataset(given: Given) -> ColumnTable:
    """Every dataset of every task with the intervals, one line per system."""
    rows: list[tuple[Value, ...]] = []
    for one in given.datasets:
        for kind, system in given.systems():
            orig, pteb, delta, sd, delta_sd, whole = _values(given, one, system)
            score = given.find(one.task, one.dataset, system, one.measure)
            rows.append(
                (one.task, one.dataset, kind, system, orig, pteb, *_ends(score), delta,
                 *_ends(given.find(one.task, one.dataset, system, "delta")), sd, delta_sd, whole,
                 score.method if score else "", score.reason if score else "")
            )  # fmt: skip
    columns = (
        *(Column(name, "text") for name in ("task", "dataset", "kind", "system")),
        Column("orig"), Column("pteb"), Column("pteb_low"), Column("pteb_high"), Column("delta", "signed"),
        Column("delta_low", "signed"), Column("delta_high", "signed"), Column("sd"), Column("delta_sd"),
        Column("orig_all"),
        Column("method", "text"), Column("reason", "text"),
    )  # fmt: skip
    return ColumnTable("scores_by_dataset", "Every dataset, x 100, with 95% intervals", columns, tuple(rows))


def _ends(row: Result | None) -> tuple[float | None, float | None]:
    return (points(row.ci_low), points(row.ci_high)) if row else (None, None)


def _by_source(given: Given) -> ColumnTable:
    """Paraphrasers and prompts crossed: every task in the wordings of each."""
    rows: list[tuple[Value, ...]] = []
    for label in ("", *given.labels):
        for task, measure in [*((task, headline(task)) for task in given.tasks), (OVERALL, OVERALL)]:
            for kind, system in given.systems():
                values = (given.points(task, "", system, name, label) for name in (measure, "delta", "sd"))
                rows.append((label or "all but controls", task, kind, system, *values))
    names = [Column(name, "text") for name in ("source", "task", "kind", "system")]
    own = (Column("pteb"), Column("delta", "signed"), Column("sd"))
    return ColumnTable("scores_by_source", "By paraphraser and prompt, x 100", (*names, *own), tuple(rows))


def _prompts(given: Given) -> ColumnTable:
    """Table 12, and the range over prompts: how much the wording of the instruction matters."""
    distances: dict[str, dict[str, float]] = {}
    for point in against_distance(given.rows).points:
        distances.setdefault(point.source, {})[point.dataset] = point.edit_distance
    labels = [label for label in given.labels if "prompt=" in label]
    names = [one.dataset for one in given.datasets if one.task == "sts"]
    edits = {label: mean([distances.get(label, {}).get(name) for name in names]) for label in labels}
    rows: list[tuple[Value, ...]] = []
    for kind, system in given.systems():
        scores = [given.points("sts", "", system, headline("sts"), label) for label in labels]
        rows += [
            (label, kind, system, score, edits[label]) for label, score in zip(labels, scores, strict=True)
        ]
        known = [score for score in scores if score is not None]
        whole = len(known) == len(scores)
        rows.append(("range", kind, system, max(known) - min(known) if whole else None, None))
    columns = (
        Column("prompt", "text"), Column("kind", "text"), Column("system", "text"), Column("pteb_sts_score"),
        Column("edit_distance"),
    )  # fmt: skip
    return ColumnTable("pteb_table12", "PTEB table 12: prompts, STS score x 100", columns, tuple(rows))
