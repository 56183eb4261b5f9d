"""Original and PTEB scores: tables 6 (STS datasets), 9 (tasks), 10 (multilingual), 12 (prompts), and every dataset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from math import sqrt
from statistics import fmean, variance
from typing import Any, NamedTuple

from embassay.contracts import Kind
from embassay.protocols.kernel.tables import (
    Column,
    ColumnTable,
    ComputedColumn,
    First,
    FormattedReportTable,
    RunTable,
    Value,
    format_csv_rows,
    number_column,
    text,
    whole_number_column,
)
from embassay.protocols.pteb.drops import (
    HEADLINES,
    DatasetInTask,
    DatasetWordStatistics,
    ScoresInLengthBin,
    average_words_over_datasets,
    is_paraphrase_run_variant,
    list_used_datasets,
    pair_drops_with_edit_distances,
    parse_source_from_variant,
)
from embassay.protocols.wordings.records import BOTH, ENGLISH, OTHER, classify_language_as_english_or_other
from embassay.protocols.wordings.scores import CONTROLS, OVERALL
from embassay.protocols.wordings.tables import convert_to_points, make_points_column, make_signed_points_column
from embassay.records import ResultRow

ORIGINAL = "original"


@dataclass(frozen=True)
class PtebRunRowsAndComparisons:
    """The rows of a run and its comparisons; `kinds` are the systems in display order. `words` is table 1, `lengths`
    the drop by length of (task, dataset, system), `seconds` how long a system took for a run of the STS datasets and
    `peaks` the bytes its process held at most; each may be missing."""

    rows: Sequence[ResultRow]
    kinds: Mapping[str, Kind]
    comparisons: Mapping[str, Any] = field(default_factory=dict)
    words: Sequence[DatasetWordStatistics] = ()
    lengths: Mapping[tuple[str, str, str], Sequence[ScoresInLengthBin]] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    peaks: Mapping[str, int] = field(default_factory=dict)
    suites: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The paper's suites of the run with their datasets: then tables 6, 9 and 10 are of these alone."""

    def is_dataset_of_suites(self, used: DatasetInTask, *suites: str) -> bool:
        """Whether a dataset is of one of the suites; without suites, every one is."""
        named = [self.suites[name] for name in suites if name in self.suites]
        return not self.suites or any(used.dataset in suite for suite in named)

    @cached_property
    def _rows_by_key(self) -> dict[tuple[str, ...], ResultRow]:
        return {(row.task, row.dataset, row.variant, row.system, row.measure, row.subset): row for row in self.rows}

    @cached_property
    def datasets(self) -> tuple[DatasetInTask, ...]:
        """The datasets of the run by task."""
        return list_used_datasets(self.rows)

    @property
    def tasks(self) -> list[str]:
        """The tasks of the run."""
        return list(dict.fromkeys(dataset.task for dataset in self.datasets))

    def find(
        self, task: str, dataset: str, system: str, measure: str, variant: str = "", *, lang: str = ""
    ) -> ResultRow | None:
        """A row over all languages of its dataset, or of one of several."""
        return self._rows_by_key.get((task, dataset, variant, system, measure, lang))

    def find_value_in_points(
        self, task: str, dataset: str, system: str, measure: str, variant: str = "", *, lang: str = ""
    ) -> float | None:
        """The value of a row in points, None where there is no row or no value."""
        row = self.find(task, dataset, system, measure, variant, lang=lang)
        return None if row is None else convert_to_points(row.value)

    def runs(self, used: DatasetInTask, system: str, lang: str, measure: str = "") -> dict[str, list[float]]:
        """The scores of the runs, or their values of another measure, by source, controls beside others left out; of a
        source without a score of some run only those that are there."""
        rows = self._scores_by_run.get((used.task, used.dataset, system, measure or used.measure, lang), [])
        worded = [row for row in rows if not is_control_paraphraser_variant(row[0])] or rows
        values: dict[str, list[float]] = {}
        for variant, value in worded:
            values.setdefault(parse_source_from_variant(variant), []).append(value)
        return values

    @cached_property
    def _scores_by_run(self) -> dict[tuple[str, ...], list[tuple[str, float]]]:
        by_scope: dict[tuple[str, ...], list[tuple[str, float]]] = {}
        for row in self.rows:
            if is_paraphrase_run_variant(row.variant) and row.value is not None:
                key = (row.task, row.dataset, row.system, row.measure, row.subset)
                by_scope.setdefault(key, []).append((row.variant, row.value))
        return by_scope

    @property
    def labels(self) -> list[str]:
        """The labels of the sources where there are several: `by=NAME`, `prompt=NAME`."""
        return list(dict.fromkeys(row.variant for row in self.rows if row.variant.startswith(("by=", "prompt="))))

    def systems(self) -> Iterator[SystemWithKind]:
        """Every system, in display order."""
        return (SystemWithKind(kind, name) for name, kind in self.kinds.items())


class SystemWithKind(NamedTuple):
    """A system and its kind."""

    kind: Kind
    system: str


def is_control_paraphraser_variant(variant: str) -> bool:
    """Whether a variant is that of a control among several sources."""
    return parse_source_from_variant(variant).startswith(tuple(f"by={name}" for name in CONTROLS))


def has_dataset_non_english_texts(used: DatasetInTask) -> bool:
    """Whether a dataset has texts in another language than English."""
    return any(classify_language_as_english_or_other(lang) in (OTHER, BOTH) for lang in used.languages)


def find_language_of_english_part(used: DatasetInTask) -> str | None:
    """The language (`eng`, `en-en`) of a dataset's English part; empty for all of it, None where it has none."""
    if not has_dataset_non_english_texts(used):
        return ""
    return next((lang for lang in used.languages if classify_language_as_english_or_other(lang) == ENGLISH), None)


def find_task_measure(task: str) -> str:
    """The measure of a task's score."""
    return HEADLINES.get(task, task)


def mean_if_complete(values: Sequence[float | None]) -> float | None:
    """The plain mean; None if any is missing or there are none."""
    numbers = [value for value in values if value is not None]
    return sum(numbers) / len(numbers) if numbers and len(numbers) == len(values) else None


AVERAGE = "Average"
ORIG, PTEB, DELTA, SD = Column("orig"), Column("pteb"), Column("delta", "signed"), Column("sd")


class SystemScoreAndDropPoints(NamedTuple):
    """In points. The first three stand on the items that have a wording; `sd` is that of `pteb` over runs, as in the
    paper, `delta_sd` that of `delta`, and `orig_all` the original score of all items."""

    orig: float | None
    pteb: float | None
    delta: float | None
    sd: float | None
    delta_sd: float | None
    orig_all: float | None


@dataclass(frozen=True)
class SystemGridEntry:
    """One system in one row of the grid: see `SystemScoreAndDropPoints`."""

    label: tuple[str, ...]
    kind: Kind
    system: str
    values: SystemScoreAndDropPoints


@dataclass(frozen=True)
class ScoreGrid(RunTable):
    """Entries row by row. As CSV a line per entry, and with system `Average` the mean difference of the embeddings (of
    all ranked systems where there are none); in Markdown a line per row and a column per system."""

    name: str
    title: str
    labels: tuple[str, ...]
    entries: tuple[SystemGridEntry, ...]
    note: str = ""
    task: str = ""
    suite: str = ""

    def as_csv(self) -> str:
        """The grid as CSV, in full precision and in points."""
        lines: list[Sequence[Value]] = [[*self.labels, "kind", "system", *SystemScoreAndDropPoints._fields]]
        for label in self._list_distinct_score_grid_labels:
            of_row = self._list_grid_entries_with_label(label)
            lines += [[*label, entry.kind, entry.system, *entry.values] for entry in of_row]
            lines.append([*label, "", AVERAGE, None, None, average_delta_over_embeddings(of_row), None, None, None])
        return format_csv_rows(lines)

    def format_table_for_printing(self, first: First | None = None) -> FormattedReportTable:
        """`Orig. | PTEB` and below it the difference and the standard deviation over runs, two decimals."""
        del first  # its cells are changes
        systems = list(dict.fromkeys(entry.system for entry in self.entries))
        body = []
        for label in self._list_distinct_score_grid_labels:
            of_row = {entry.system: entry for entry in self._list_grid_entries_with_label(label)}
            cells = [_format_score_grid_entry(of_row[system]) if system in of_row else "" for system in systems]
            body.append(
                [*label, *cells, DELTA.format_value_for_people(average_delta_over_embeddings(list(of_row.values())))]
            )
        headings = [*(label.capitalize() for label in self.labels), *systems, "Average difference"]
        aligns = "l" * len(self.labels) + "r" * (len(systems) + 1)
        return FormattedReportTable(self.title, headings, aligns, body, self.note)

    @property
    def _list_distinct_score_grid_labels(self) -> list[tuple[str, ...]]:
        return list(dict.fromkeys(entry.label for entry in self.entries))

    def _list_grid_entries_with_label(self, label: tuple[str, ...]) -> list[SystemGridEntry]:
        return [entry for entry in self.entries if entry.label == label]


def average_delta_over_embeddings(entries: Sequence[SystemGridEntry]) -> float | None:
    """The mean difference over the embeddings, or over all ranked systems where there are none."""
    ranked = [entry for entry in entries if entry.kind != "reference"]
    embeddings = [entry for entry in ranked if entry.kind == "embedding"]
    return mean_if_complete([embedding.values.delta for embedding in embeddings or ranked])


def make_mean_row_of_grid(entries: Sequence[SystemGridEntry], label: tuple[str, ...]) -> list[SystemGridEntry]:
    """The last row: the mean of every system's column. It has no standard deviation, as in the paper."""
    averages = []
    for system in dict.fromkeys(entry.system for entry in entries):
        mine = [entry for entry in entries if entry.system == system]
        means = _average_score_grids([entry.values for entry in mine])
        averages.append(SystemGridEntry(label, mine[0].kind, system, means._replace(sd=None, delta_sd=None)))
    return averages


def _average_score_grids(rows: Sequence[SystemScoreAndDropPoints]) -> SystemScoreAndDropPoints:
    return SystemScoreAndDropPoints(*map(mean_if_complete, zip(*rows, strict=True)))


def _format_score_grid_entry(entry: SystemGridEntry) -> str:
    values = entry.values
    spread = "" if values.sd is None else f" / ±{SD.format_value_for_people(values.sd)}"
    return (
        f"{ORIG.format_value_for_people(values.orig)} | {PTEB.format_value_for_people(values.pteb)}"
        f"<br>{DELTA.format_value_for_people(values.delta)}{spread}"
    )


PARAPHRASES = "paraphrases"


def make_non_score_tables(given: PtebRunRowsAndComparisons) -> Iterator[ColumnTable]:
    """The tables that are no scores."""
    if given.words:
        yield _make_word_count_table(given)
    if given.seconds and "sts" in given.tasks:
        yield _make_score_and_runtime_table(given)
    yield _make_datasets_table(given)
    if any(row.task == PARAPHRASES for row in given.rows):
        yield _make_paraphrase_quality_table(given)


def _make_word_count_table(given: PtebRunRowsAndComparisons) -> ColumnTable:
    return ColumnTable.of(
        "pteb_table1", "PTEB table 1: words per text",
        [*given.words, {"dataset": AVERAGE, "mean": average_words_over_datasets(given.words)}], text("dataset"),
        number_column("word_count", "mean", 1), number_column("median", decimals=1),
        whole_number_column("most"), whole_number_column("texts"),
    )  # fmt: skip


def _make_score_and_runtime_table(given: PtebRunRowsAndComparisons) -> ColumnTable:
    """Table 8: what a better score costs."""
    measure = find_task_measure("sts")
    return ColumnTable.of(
        "pteb_table8", "PTEB table 8: score and time", given.systems(), text("kind"), text("system"),
        number_column("orig_sts", lambda row: given.find_value_in_points("sts", "", row.system, measure, ORIGINAL)),
        number_column("pteb_sts", lambda row: given.find_value_in_points("sts", "", row.system, measure)),
        number_column("runtime_s", lambda row: given.seconds.get(row.system), 1),
        number_column("peak_rss_gib", partial(_find_system_peak_memory_gib, given)),
        # The paper has it; nothing here measures it.
        number_column("vram_gib", lambda _: None),
        note=("Seconds for one run on the STS datasets, excluding texts that were already encoded. Memory is the "
            "process's peak, including everything loaded before; GPU memory is not measured."),
    )  # fmt: skip


def _find_system_peak_memory_gib(given: PtebRunRowsAndComparisons, row: SystemWithKind) -> float | None:
    peak = given.peaks.get(row.system)
    return None if peak is None else peak / 2**30


def _make_datasets_table(given: PtebRunRowsAndComparisons) -> ColumnTable:
    return ColumnTable.of(
        "pteb_table13", "PTEB table 13: datasets", given.datasets, text("task"), text("dataset"),
        text("languages", lambda used: "; ".join(used.languages)), text("metric", "measure"),
    )  # fmt: skip


class ParaphraseQualityRow(NamedTuple):
    """What came of the texts of a dataset and language in one run of a paraphraser, by measure."""

    paraphraser: str
    run: str
    dataset: str
    lang: str
    results: dict[str, ResultRow]


def _make_paraphrase_quality_table(given: PtebRunRowsAndComparisons) -> ColumnTable:
    """What came of the texts of every dataset, language, paraphraser and run."""
    rows: dict[tuple[str, ...], ParaphraseQualityRow] = {}
    measures: dict[str, ComputedColumn] = {}
    for result in given.rows:
        if result.task == PARAPHRASES:
            key = result.system, result.variant, result.dataset, result.lang
            rows.setdefault(key, ParaphraseQualityRow(*key, {})).results[result.measure] = result
            find = partial(_find_paraphrase_quality_value, result.measure)
            measures[result.measure] = number_column(result.measure, find, 3)
    return ColumnTable.of(
        "paraphrase_quality", "Texts by outcome", rows.values(), text("paraphraser"), text("run"),
        text("dataset"), text("lang"),
        whole_number_column("texts", lambda row: max(result.n for result in row.results.values())),
        *measures.values(),
    )  # fmt: skip


def _find_paraphrase_quality_value(measure: str, row: ParaphraseQualityRow) -> float | None:
    result = row.results.get(measure)
    return None if result is None else result.value


OTHER_METHOD = (
    "Systems without vectors classify by neighbours and cluster by linkage, so these scores, and "
    "averages that include them, are not comparable with those of embeddings."
)

ENGLISH_SUITE, MULTILINGUAL_SUITE = "pteb-en", "pteb-multi"
ENGLISH_ONLY = "English only, as in the paper; datasets with other languages are in table 10."


def make_score_tables(given: PtebRunRowsAndComparisons) -> Iterator[ScoreGrid | ColumnTable]:
    """All tables of scores that the rows can fill."""
    english = [(dataset, lang) for dataset, lang in _list_datasets_with_english_part(given) if dataset.task == "sts"]
    if english:
        rows = [
            entry
            for dataset, lang in english
            for entry in _make_system_score_grid_entries(
                given, dataset, (_format_dataset_with_language(dataset, lang),), lang
            )
        ]
        yield ScoreGrid(
            "pteb_table6", "PTEB table 6: STS in English, Spearman x 100", ("dataset",),
            (*rows, *make_mean_row_of_grid(rows, (AVERAGE,))), task="sts", suite=ENGLISH_SUITE
        )  # fmt: skip
    yield _make_english_task_score_grid(given)
    others = [
        dataset
        for dataset in given.datasets
        if has_dataset_non_english_texts(dataset) and given.is_dataset_of_suites(dataset, MULTILINGUAL_SUITE)
    ]
    if others:
        rows = [
            entry
            for used in others
            for entry in _make_system_score_grid_entries(given, used, (used.task, used.dataset))
        ]
        yield ScoreGrid(
            "pteb_table10", "PTEB table 10: datasets in languages other than English, x 100",
            ("task", "dataset"), (*rows, *make_mean_row_of_grid(rows, (AVERAGE, ""))), suite=MULTILINGUAL_SUITE
        )  # fmt: skip
    yield _make_dataset_score_table(given)
    if given.labels:
        yield _make_scores_by_paraphraser_table(given)
    if any("prompt=" in label for label in given.labels) and "sts" in given.tasks:
        yield _make_prompts_table(given)


def _make_english_task_score_grid(given: PtebRunRowsAndComparisons) -> ScoreGrid:
    """Table 9: the tasks in English, as in the paper, so that its STS is the average of table 6.

    Where a task, or the run, has nothing in English or nothing else, the mean over its datasets and the standard
    deviation over runs are those of the run's own rows.
    """
    english = _list_datasets_with_english_part(given)
    mixed = bool(english) and any(has_dataset_non_english_texts(dataset) for dataset in given.datasets)
    rows: list[SystemGridEntry] = []
    for task in given.tasks:
        parts = [(dataset, lang) for dataset, lang in english if dataset.task == task]
        used = parts if mixed else [(dataset, "") for dataset in given.datasets if dataset.task == task]
        if not used:
            continue
        label = (task, _format_dataset_with_language(*used[0]) if len(used) == 1 else f"{len(used)} datasets")
        whole = [dataset for dataset in given.datasets if dataset.task == task]
        if used == [(dataset, "") for dataset in whole]:
            rows += _make_system_score_grid_entries(given, DatasetInTask(task, "", (), find_task_measure(task)), label)
        else:
            rows += [
                SystemGridEntry(label, kind, name, _average_system_over_datasets(given, used, name))
                for kind, name in given.systems()
            ]
    if mixed:
        rows += make_mean_row_of_grid(rows, (AVERAGE, ""))
    else:
        rows += _make_system_score_grid_entries(given, DatasetInTask(OVERALL, "", (), OVERALL), (AVERAGE, ""))
    apart = any(scope.endswith(":classical") for scope in given.comparisons.get("scopes", {}))
    note = " ".join(filter(None, (OTHER_METHOD if apart else "", ENGLISH_ONLY if mixed else "")))
    return ScoreGrid(
        "pteb_table9", "PTEB table 9: tasks, x 100", ("task", "dataset"), tuple(rows), note,
        suite=ENGLISH_SUITE if mixed else ""
    )  # fmt: skip


def _list_datasets_with_english_part(given: PtebRunRowsAndComparisons) -> list[tuple[DatasetInTask, str]]:
    """The datasets with English texts, each with the language that these are; with suites, theirs alone."""
    return [
        (dataset, lang)
        for dataset in given.datasets
        if given.is_dataset_of_suites(dataset, "pteb-sts", ENGLISH_SUITE)
        and (lang := find_language_of_english_part(dataset)) is not None
    ]


def _format_dataset_with_language(used: DatasetInTask, lang: str) -> str:
    return f"{used.dataset} {lang}".strip()


def _average_system_over_datasets(
    given: PtebRunRowsAndComparisons, used: Sequence[tuple[DatasetInTask, str]], system: str
) -> SystemScoreAndDropPoints:
    """The mean over these parts of datasets, and the standard deviations of it and of its change over runs."""
    means = _average_score_grids(
        [_collect_original_and_paraphrase_values(given, dataset, system, lang) for dataset, lang in used]
    )
    sd, delta_sd = (
        convert_to_points(
            _compute_deviation_of_mean_over_runs([given.runs(dataset, system, lang, measure) for dataset, lang in used])
        )
        for measure in ("", "delta")
    )
    return means._replace(sd=sd, delta_sd=delta_sd)


def _compute_deviation_of_mean_over_runs(parts: Sequence[Mapping[str, Sequence[float]]]) -> float | None:
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


def _make_system_score_grid_entries(
    given: PtebRunRowsAndComparisons, used: DatasetInTask, label: tuple[str, ...], lang: str = ""
) -> Iterator[SystemGridEntry]:
    """Every system on a dataset or one of its languages, or on all of a task where the dataset is empty."""
    for kind, system in given.systems():
        yield SystemGridEntry(label, kind, system, _collect_original_and_paraphrase_values(given, used, system, lang))


def _collect_original_and_paraphrase_values(
    given: PtebRunRowsAndComparisons, used: DatasetInTask, system: str, lang: str = ""
) -> SystemScoreAndDropPoints:
    where = (used.task, used.dataset, system)
    return SystemScoreAndDropPoints(
        given.find_value_in_points(*where, "original", lang=lang),
        given.find_value_in_points(*where, used.measure, lang=lang),
        given.find_value_in_points(*where, "delta", lang=lang),
        given.find_value_in_points(*where, "sd", lang=lang),
        given.find_value_in_points(*where, "delta_sd", lang=lang),
        given.find_value_in_points(*where, used.measure, ORIGINAL, lang=lang),
    )


class SystemDatasetScore(NamedTuple):
    """A system on a dataset: its `values`, and the results behind its score and its drop."""

    used: DatasetInTask
    kind: Kind
    system: str
    values: SystemScoreAndDropPoints
    score: ResultRow | None
    drop: ResultRow | None


def _make_dataset_score_table(given: PtebRunRowsAndComparisons) -> ColumnTable:
    """Every dataset of every task with the intervals, one line per system."""
    rows = []
    for used in given.datasets:
        for kind, system in given.systems():
            where = used.task, used.dataset, system
            score, drop = (given.find(*where, measure) for measure in (used.measure, "delta"))
            rows.append(
                SystemDatasetScore(
                    used, kind, system, _collect_original_and_paraphrase_values(given, used, system), score, drop
                )
            )
    return ColumnTable.of(
        "scores_by_dataset", "Every dataset, x 100, with 95% intervals", rows,
        text("task", "used.task"), text("dataset", "used.dataset"), text("kind"), text("system"),
        number_column("orig", "values.orig"), number_column("pteb", "values.pteb"),
        make_points_column("pteb_low", "score.ci_low"),
        make_points_column("pteb_high", "score.ci_high"), number_column("delta", "values.delta", style="signed"),
        make_signed_points_column("delta_low", "drop.ci_low"), make_signed_points_column("delta_high", "drop.ci_high"),
        number_column("sd", "values.sd"), number_column("delta_sd", "values.delta_sd"),
        number_column("orig_all", "values.orig_all"),
        text("method", "score.method"), text("reason", "score.reason"),
    )  # fmt: skip


class SystemTaskAndParaphraseSource(NamedTuple):
    """A system on a task in the wordings of a source, with the `measure` of its score."""

    label: str
    task: str
    measure: str
    kind: Kind
    system: str


def _make_scores_by_paraphraser_table(given: PtebRunRowsAndComparisons) -> ColumnTable:
    """Paraphrasers and prompts crossed: every task in the wordings of each."""
    tasks = [*((task, find_task_measure(task)) for task in given.tasks), (OVERALL, OVERALL)]
    rows = [
        SystemTaskAndParaphraseSource(label, *task, *system)
        for label in ("", *given.labels)
        for task in tasks
        for system in given.systems()
    ]

    def find_points_from_source(row: SystemTaskAndParaphraseSource, measure: str) -> float | None:
        return given.find_value_in_points(row.task, "", row.system, measure, row.label)

    return ColumnTable.of(
        "scores_by_source", "By paraphraser and prompt, x 100", rows,
        text("source", lambda row: row.label or "all but controls"), text("task"), text("kind"), text("system"),
        number_column("pteb", lambda row: find_points_from_source(row, row.measure)),
        number_column("delta", lambda row: find_points_from_source(row, "delta"), style="signed"),
        number_column("sd", lambda row: find_points_from_source(row, "sd")),
    )  # fmt: skip


class SystemScoreByPrompt(NamedTuple):
    """A system in the wordings of a prompt, or its range over prompts."""

    prompt: str
    kind: Kind
    system: str
    score: float | None
    edit_distance: float | None = None


def _make_prompts_table(given: PtebRunRowsAndComparisons) -> ColumnTable:
    """Table 12, and the range over prompts: how much the wording of the instruction matters."""
    distances: dict[str, dict[str, float]] = {}
    for point in pair_drops_with_edit_distances(given.rows).points:
        distances.setdefault(point.source, {})[point.dataset] = point.edit_distance
    labels = [label for label in given.labels if "prompt=" in label]
    names = [dataset.dataset for dataset in given.datasets if dataset.task == "sts"]
    edits = {label: mean_if_complete([distances.get(label, {}).get(name) for name in names]) for label in labels}
    rows: list[SystemScoreByPrompt] = []
    for kind, system in given.systems():
        scores = {
            label: given.find_value_in_points("sts", "", system, find_task_measure("sts"), label) for label in labels
        }
        rows += [SystemScoreByPrompt(label, kind, system, score, edits[label]) for label, score in scores.items()]
        rows.append(SystemScoreByPrompt("range", kind, system, _compute_value_range(list(scores.values()))))
    return ColumnTable.of(
        "pteb_table12", "PTEB table 12: prompts, STS score x 100", rows, text("prompt"), text("kind"), text("system"),
        number_column("pteb_sts_score", "score"), number_column("edit_distance"),
    )  # fmt: skip


def _compute_value_range(scores: Sequence[float | None]) -> float | None:
    """The highest minus the lowest; None if any is missing."""
    numbers = [score for score in scores if score is not None]
    return max(numbers) - min(numbers) if len(numbers) == len(scores) else None
