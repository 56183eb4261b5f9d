"""Original and PTEB scores: tables 6 (STS datasets), 9 (tasks), 10 (multilingual), 12 (prompts), and every dataset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import sqrt
from statistics import fmean, variance
from typing import Any

from embassay.contracts import Kind
from embassay.protocols.kernel.tables import Column, ColumnTable, First, Printed, RunTable, Value, csv_text
from embassay.protocols.pteb.drops import (
    BOTH,
    ENGLISH,
    HEADLINES,
    OTHER,
    DatasetUsed,
    LengthBin,
    WordCount,
    against_distance,
    average,
    datasets_used,
    group_of,
    is_run,
    source_of,
)
from embassay.protocols.wordings.scores import CONTROLS, OVERALL
from embassay.records import Result

ORIGINAL = "original"
POINTS = 100
"""Scores are shown in points: 0.7543 is 75.43."""


@dataclass(frozen=True)
class Given:
    """The rows of a run and its comparisons; `kinds` are the systems in display order. `words` is table 1, `lengths`
    the drop by length of (task, dataset, system), `seconds` how long a system took for a run of the STS datasets and
    `peaks` the bytes its process held at most; each may be missing."""

    rows: Sequence[Result]
    kinds: Mapping[str, Kind]
    comparisons: Mapping[str, Any] = field(default_factory=dict)
    words: Sequence[WordCount] = ()
    lengths: Mapping[tuple[str, str, str], Sequence[LengthBin]] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    peaks: Mapping[str, int] = field(default_factory=dict)
    suites: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The paper's suites of the run with their datasets: then tables 6, 9 and 10 are of these alone."""

    def of_paper(self, used: DatasetUsed, *suites: str) -> bool:
        """Whether a dataset is of one of the suites; without suites, every one is."""
        named = [self.suites[name] for name in suites if name in self.suites]
        return not self.suites or any(used.dataset in suite for suite in named)

    @cached_property
    def _values(self) -> dict[tuple[str, ...], Result]:
        return {
            (row.task, row.dataset, row.variant, row.system, row.measure, row.subset): row
            for row in self.rows
        }

    @cached_property
    def datasets(self) -> tuple[DatasetUsed, ...]:
        """The datasets of the run by task."""
        return datasets_used(self.rows)

    @property
    def tasks(self) -> list[str]:
        """The tasks of the run."""
        return list(dict.fromkeys(dataset.task for dataset in self.datasets))

    def find(
        self, task: str, dataset: str, system: str, measure: str, variant: str = "", *, lang: str = ""
    ) -> Result | None:
        """A row over all languages of its dataset, or of one of several."""
        return self._values.get((task, dataset, variant, system, measure, lang))

    def points(
        self, task: str, dataset: str, system: str, measure: str, variant: str = "", *, lang: str = ""
    ) -> float | None:
        """Its value in points, None where there is no row or no value."""
        row = self.find(task, dataset, system, measure, variant, lang=lang)
        return None if row is None else points(row.value)

    def runs(self, used: DatasetUsed, system: str, lang: str, measure: str = "") -> dict[str, list[float]]:
        """The scores of the runs, or their values of another measure, by source, controls beside others left out; of a
        source without a score of some run only those that are there."""
        rows = self._runs.get((used.task, used.dataset, system, measure or used.measure, lang), [])
        worded = [row for row in rows if not is_control(row[0])] or rows
        values: dict[str, list[float]] = {}
        for variant, value in worded:
            values.setdefault(source_of(variant), []).append(value)
        return values

    @cached_property
    def _runs(self) -> dict[tuple[str, ...], list[tuple[str, float]]]:
        by_scope: dict[tuple[str, ...], list[tuple[str, float]]] = {}
        for row in self.rows:
            if is_run(row.variant) and row.value is not None:
                key = (row.task, row.dataset, row.system, row.measure, row.subset)
                by_scope.setdefault(key, []).append((row.variant, row.value))
        return by_scope

    @property
    def labels(self) -> list[str]:
        """The labels of the sources where there are several: `by=NAME`, `prompt=NAME`."""
        return list(
            dict.fromkeys(row.variant for row in self.rows if row.variant.startswith(("by=", "prompt=")))
        )

    def systems(self) -> Iterator[tuple[Kind, str]]:
        """Kind and name of every system, in display order."""
        return ((kind, name) for name, kind in self.kinds.items())


def is_control(variant: str) -> bool:
    """Whether a variant is that of a control among several sources."""
    return source_of(variant).startswith(tuple(f"by={name}" for name in CONTROLS))


def is_multilingual(used: DatasetUsed) -> bool:
    """Whether a dataset has texts in another language than English."""
    return any(group_of(lang) in (OTHER, BOTH) for lang in used.languages)


def english_part(used: DatasetUsed) -> str | None:
    """The language (`eng`, `en-en`) of a dataset's English part; empty for all of it, None where it has none."""
    if not is_multilingual(used):
        return ""
    return next((lang for lang in used.languages if group_of(lang) == ENGLISH), None)


def headline(task: str) -> str:
    """The measure of a task's score."""
    return HEADLINES.get(task, task)


def points(value: float | None) -> float | None:
    """A fraction in points."""
    return None if value is None else POINTS * value


def mean(values: Sequence[float | None]) -> float | None:
    """The plain mean; None if any is missing or there are none."""
    numbers = [value for value in values if value is not None]
    return sum(numbers) / len(numbers) if numbers and len(numbers) == len(values) else None


AVERAGE = "Average"
ORIG, PTEB, DELTA, SD = Column("orig"), Column("pteb"), Column("delta", "signed"), Column("sd")
VALUES = (ORIG, PTEB, DELTA, SD, Column("delta_sd"), Column("orig_all"))
Values = tuple[float | None, ...]
"""Of `VALUES`, in points. The first three stand on the items that have a wording; `sd` is that of `pteb` over runs, as
in the paper, `delta_sd` that of `delta`, and `orig_all` the original score of all items."""


@dataclass(frozen=True)
class Entry:
    """One system in one row of the grid: see `Values`."""

    label: tuple[str, ...]
    kind: Kind
    system: str
    values: Values


@dataclass(frozen=True)
class Grid(RunTable):
    """Entries row by row. As CSV a line per entry, and with system `Average` the mean difference of the embeddings (of
    all ranked systems where there are none); in Markdown a line per row and a column per system."""

    name: str
    title: str
    labels: tuple[str, ...]
    entries: tuple[Entry, ...]
    note: str = ""
    task: str = ""
    suite: str = ""

    def as_csv(self) -> str:
        """Full precision, in points."""
        lines: list[Sequence[Value]] = [[*self.labels, "kind", "system", *(column.name for column in VALUES)]]
        for label in self._rows:
            of_row = self._of(label)
            lines += [[*label, entry.kind, entry.system, *entry.values] for entry in of_row]
            lines.append([*label, "", AVERAGE, None, None, average_delta(of_row), None, None, None])
        return csv_text(lines)

    def printed(self, first: First | None = None) -> Printed:
        """`Orig. | PTEB` and below it the difference and the standard deviation over runs, two decimals."""
        del first  # its cells are changes
        systems = list(dict.fromkeys(entry.system for entry in self.entries))
        body = []
        for label in self._rows:
            of_row = {entry.system: entry for entry in self._of(label)}
            cells = [_written(of_row[system]) if system in of_row else "" for system in systems]
            body.append([*label, *cells, DELTA.written(average_delta(list(of_row.values())))])
        headings = [*(label.capitalize() for label in self.labels), *systems, "Average difference"]
        aligns = "l" * len(self.labels) + "r" * (len(systems) + 1)
        return Printed(self.title, headings, aligns, body, self.note)

    @property
    def _rows(self) -> list[tuple[str, ...]]:
        return list(dict.fromkeys(entry.label for entry in self.entries))

    def _of(self, label: tuple[str, ...]) -> list[Entry]:
        return [entry for entry in self.entries if entry.label == label]


def average_delta(entries: Sequence[Entry]) -> float | None:
    """The mean difference over the embeddings, or over all ranked systems where there are none."""
    ranked = [entry for entry in entries if entry.kind != "reference"]
    embeddings = [entry for entry in ranked if entry.kind == "embedding"]
    return mean([embedding.values[2] for embedding in embeddings or ranked])


def average_entries(entries: Sequence[Entry], label: tuple[str, ...]) -> list[Entry]:
    """The last row: the mean of every system's column. It has no standard deviation, as in the paper."""
    averages = []
    for system in dict.fromkeys(entry.system for entry in entries):
        mine = [entry for entry in entries if entry.system == system]
        orig, pteb, delta, whole = (mean([entry.values[place] for entry in mine]) for place in (0, 1, 2, 5))
        averages.append(Entry(label, mine[0].kind, system, (orig, pteb, delta, None, None, whole)))
    return averages


def _written(entry: Entry) -> str:
    orig, pteb, delta, sd = entry.values[:4]
    spread = "" if sd is None else f" / ±{SD.written(sd)}"
    return f"{ORIG.written(orig)} | {PTEB.written(pteb)}<br>{DELTA.written(delta)}{spread}"


PARAPHRASES = "paraphrases"


def described_tables(given: Given) -> Iterator[ColumnTable]:
    """The tables that are no scores."""
    if given.words:
        yield _words(given)
    if given.seconds and "sts" in given.tasks:
        yield _resources(given)
    yield _datasets(given)
    if any(row.task == PARAPHRASES for row in given.rows):
        yield _quality(given)


def _words(given: Given) -> ColumnTable:
    rows: list[tuple[Value, ...]] = [
        (word.dataset, word.mean, word.median, word.most, word.texts) for word in given.words
    ]
    rows.append((AVERAGE, average(given.words), None, None, None))
    columns = (
        Column("dataset", "text"), Column("word_count", decimals=1), Column("median", decimals=1),
        Column("most", decimals=0), Column("texts", decimals=0)
    )  # fmt: skip
    return ColumnTable("pteb_table1", "PTEB table 1: words per text", columns, tuple(rows))


def _resources(given: Given) -> ColumnTable:
    """Table 8: what a better score costs."""
    rows = tuple(
        (
            kind, system, given.points("sts", "", system, headline("sts"), ORIGINAL),
            given.points("sts", "", system, headline("sts")), given.seconds.get(system),
            None if system not in given.peaks else given.peaks[system] / 2**30, None,
        )
        for kind, system in given.systems()
    )  # fmt: skip
    columns = (
        Column("kind", "text"), Column("system", "text"), Column("orig_sts"), Column("pteb_sts"),
        Column("runtime_s", decimals=1), Column("peak_rss_gib", decimals=2), Column("vram_gib", decimals=2)
    )  # fmt: skip
    note = (
        "Seconds for one run of the STS datasets, texts that were encoded before not again. Memory is the most that "
        "the process held, with all that was loaded before; that of a GPU is not measured."
    )
    return ColumnTable("pteb_table8", "PTEB table 8: score and time", columns, rows, note)


def _datasets(given: Given) -> ColumnTable:
    rows = tuple(
        (used.task, used.dataset, "; ".join(used.languages), used.measure) for used in given.datasets
    )
    columns = tuple(Column(name, "text") for name in ("task", "dataset", "languages", "metric"))
    return ColumnTable("pteb_table13", "PTEB table 13: datasets", columns, rows)


def _quality(given: Given) -> ColumnTable:
    """What came of the texts of every dataset, language, paraphraser and run."""
    quality = [row for row in given.rows if row.task == PARAPHRASES]
    measures = list(dict.fromkeys(row.measure for row in quality))
    results = {(row.system, row.variant, row.dataset, row.lang, row.measure): row for row in quality}
    rows: list[tuple[Value, ...]] = []
    for key in dict.fromkeys(key[:-1] for key in results):
        values = [results.get((*key, measure)) for measure in measures]
        n = max(row.n for row in values if row is not None)
        rows.append((*key, n, *(None if row is None else row.value for row in values)))
    sources = [Column(name, "text") for name in ("paraphraser", "run", "dataset", "lang")]
    figures = [Column(measure, decimals=3) for measure in measures]
    columns = (*sources, Column("texts", decimals=0), *figures)
    return ColumnTable("paraphrase_quality", "What came of the texts", columns, tuple(rows))


OTHER_METHOD = (
    "Systems without vectors classify by neighbours and cluster by linkage: these scores, and averages with them, do "
    "not compare with those of embeddings."
)

ENGLISH_SUITE, MULTILINGUAL_SUITE = "pteb-en", "pteb-multi"
ENGLISH_ONLY = "English alone, as in the paper: what has other languages is in table 10."


def score_tables(given: Given) -> Iterator[Grid | ColumnTable]:
    """All tables of scores that the rows can fill."""
    english = [(dataset, lang) for dataset, lang in _english(given) if dataset.task == "sts"]
    if english:
        rows = [
            entry for dataset, lang in english
            for entry in _entries(given, dataset, (_called(dataset, lang),), lang)
        ]  # fmt: skip
        yield Grid(
            "pteb_table6", "PTEB table 6: STS in English, Spearman x 100", ("dataset",),
            (*rows, *average_entries(rows, (AVERAGE,))), task="sts", suite=ENGLISH_SUITE
        )  # fmt: skip
    yield _by_task(given)
    others = [
        dataset
        for dataset in given.datasets
        if is_multilingual(dataset) and given.of_paper(dataset, MULTILINGUAL_SUITE)
    ]
    if others:
        rows = [entry for used in others for entry in _entries(given, used, (used.task, used.dataset))]
        yield Grid(
            "pteb_table10", "PTEB table 10: datasets with other languages than English, x 100",
            ("task", "dataset"), (*rows, *average_entries(rows, (AVERAGE, ""))), suite=MULTILINGUAL_SUITE
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
    english = _english(given)
    mixed = bool(english) and any(is_multilingual(dataset) for dataset in given.datasets)
    rows: list[Entry] = []
    for task in given.tasks:
        parts = [(dataset, lang) for dataset, lang in english if dataset.task == task]
        used = parts if mixed else [(dataset, "") for dataset in given.datasets if dataset.task == task]
        if not used:
            continue
        label = (task, _called(*used[0]) if len(used) == 1 else f"{len(used)} datasets")
        whole = [dataset for dataset in given.datasets if dataset.task == task]
        if used == [(dataset, "") for dataset in whole]:
            rows += _entries(given, DatasetUsed(task, "", (), headline(task)), label)
        else:
            rows += [Entry(label, kind, name, _mean(given, used, name)) for kind, name in given.systems()]
    if mixed:
        rows += average_entries(rows, (AVERAGE, ""))
    else:
        rows += _entries(given, DatasetUsed(OVERALL, "", (), OVERALL), (AVERAGE, ""))
    apart = any(scope.endswith(":classical") for scope in given.comparisons.get("scopes", {}))
    note = " ".join(filter(None, (OTHER_METHOD if apart else "", ENGLISH_ONLY if mixed else "")))
    return Grid(
        "pteb_table9", "PTEB table 9: tasks, x 100", ("task", "dataset"), tuple(rows), note,
        suite=ENGLISH_SUITE if mixed else ""
    )  # fmt: skip


def _english(given: Given) -> list[tuple[DatasetUsed, str]]:
    """The datasets with English texts, each with the language that these are; with suites, theirs alone."""
    return [
        (dataset, lang)
        for dataset in given.datasets
        if given.of_paper(dataset, "pteb-sts", ENGLISH_SUITE) and (lang := english_part(dataset)) is not None
    ]


def _called(used: DatasetUsed, lang: str) -> str:
    return f"{used.dataset} {lang}".strip()


def _mean(given: Given, used: Sequence[tuple[DatasetUsed, str]], system: str) -> Values:
    """The mean over these parts of datasets, and the standard deviations of it and of its change over runs."""
    parts = [_values(given, dataset, system, lang) for dataset, lang in used]
    orig, pteb, delta, whole = (mean([part[place] for part in parts]) for place in (0, 1, 2, 5))
    sd, delta_sd = (
        points(_spread([given.runs(dataset, system, lang, measure) for dataset, lang in used]))
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
            variance([fmean(runs) for runs in zip(*(runs_of[:common] for runs_of in of_source), strict=True)])
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
    for dataset in given.datasets:
        for kind, system in given.systems():
            orig, pteb, delta, sd, delta_sd, whole = _values(given, dataset, system)
            score = given.find(dataset.task, dataset.dataset, system, dataset.measure)
            rows.append(
                (dataset.task, dataset.dataset, kind, system, orig, pteb, *_ends(score), delta,
                 *_ends(given.find(dataset.task, dataset.dataset, system, "delta")), sd, delta_sd, whole,
                 score.method if score else "", score.reason if score else "")
            )  # fmt: skip
    columns = (
        *(Column(name, "text") for name in ("task", "dataset", "kind", "system")),
        Column("orig"), Column("pteb"), Column("pteb_low"), Column("pteb_high"), Column("delta", "signed"),
        Column("delta_low", "signed"), Column("delta_high", "signed"), Column("sd"), Column("delta_sd"),
        Column("orig_all"),
        Column("method", "text"), Column("reason", "text")
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
    names = [dataset.dataset for dataset in given.datasets if dataset.task == "sts"]
    edits = {label: mean([distances.get(label, {}).get(name) for name in names]) for label in labels}
    rows: list[tuple[Value, ...]] = []
    for kind, system in given.systems():
        scores = [given.points("sts", "", system, headline("sts"), label) for label in labels]
        rows += [
            (label, kind, system, score, edits[label]) for label, score in zip(labels, scores, strict=True)
        ]
        numbers = [score for score in scores if score is not None]
        whole = len(numbers) == len(scores)
        rows.append(("range", kind, system, max(numbers) - min(numbers) if whole else None, None))
    columns = (
        Column("prompt", "text"), Column("kind", "text"), Column("system", "text"), Column("pteb_sts_score"),
        Column("edit_distance")
    )  # fmt: skip
    return ColumnTable("pteb_table12", "PTEB table 12: prompts, STS score x 100", columns, tuple(rows))
