"""The papers' experiments by name: the commands that repeat them, and their printed tables beside those of a run.

The folder `published` has the numbers of the papers' tables, one a line, transcribed from Goel et al. (SAGE, 2025),
the authors of PTEB, HTEB and HUME, and Dallaire (2025, arXiv 2511.09545). They are as printed, also where a paper
contradicts itself (docs/published.md lists where); `benchmarks/reproducing/printed.py` renews them.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from embassay.data.catalogue.suites import read_all_suites
from embassay.errors import DataError, UsageError
from embassay.interchange.layouts import ALL, LAYOUTS, PaperMeanScope, PaperTableLayout, Row
from embassay.limits import parse_bounded_json, read_bounded_file

Arguments = tuple[tuple[str, str], ...]
"""Options with their values, in the order of the command; an option may stand several times."""
SHORT = {"-s": "--system", "-d": "--dataset", "-p": "--paraphraser", "-t": "--task", "-j": "--judge"}
"""Short options of the commands."""


@dataclass(frozen=True)
class PaperCommand:
    """One command of a paper: `command` without `embassay`, what it is given by default, which of the paper's `tables`
    come of it, and `yours`: options without which there is nothing to do, with what to give them."""

    name: str
    command: tuple[str, ...]
    arguments: Arguments
    tables: str
    yours: Mapping[str, str]
    advised: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Options of the paper's command that name a file of yours: what to call it, and what it is. Without them the
    command does something else, which is said."""

    def list_command_words(self, more: Sequence[str] = ()) -> list[str]:
        """The words of the whole command as it is shown, with the files that are yours to have."""
        given = {_expand_short_command_option(word) for word in more if word.startswith("-")}
        files = [word for name, (file, _) in self.advised.items() if name not in given for word in (name, file)]
        return [*self.words(more), *files]

    def words(self, more: Sequence[str] = ()) -> list[str]:
        """The whole command with more words behind it; an option among these takes the place of the paper's."""
        options = {_expand_short_command_option(word) for word in more if word.startswith("-")}
        options |= {"--baseline"} if "--system" in options else set()  # which is one of the paper's systems
        kept = [
            word
            for name, value in self.arguments
            if _expand_short_command_option(name) not in options
            for word in (name, value)
        ]
        return [*self.command, *kept, *more]

    def list_missing_options(self, more: Sequence[str]) -> list[tuple[str, str]]:
        """The options that are yours to give, and are not among the words."""
        options = {_expand_short_command_option(word) for word in more if word.startswith("-")}
        return [
            (name, about) for name, about in self.yours.items() if _expand_short_command_option(name) not in options
        ]


@dataclass(frozen=True)
class PaperRecipe:
    """A paper: its name in tables, what it is, the suite its datasets are, and its steps, the first the headline's.
    `settings` are arguments of a run of it, by name, that its figures were made with."""

    paper: str
    source: str
    suite: str
    steps: tuple[PaperCommand, ...]
    caveat: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    def step(self, name: str) -> PaperCommand:
        """A step by name, the first for none. UsageError for one that there is not."""
        names = [step.name for step in self.steps]
        if not name:
            return self.steps[0]
        if name not in names:
            raise UsageError(f"{self.paper} has no step {name!r}.", mend=f"Its steps: {', '.join(names)}.")
        return self.steps[names.index(name)]


def _expand_short_command_option(word: str) -> str:
    plain = word.partition("=")[0]
    return SHORT.get(plain, plain)


def _repeat_option(option: str, *values: str) -> Arguments:
    return tuple((option, value) for value in values)


_MPNET = "st:sentence-transformers/all-mpnet-base-v2"
_WORDS = _repeat_option("-p", "ollama:gemma3:27b")
_CANDIDATES = ("ollama:gemma3:27b", "ollama:gpt-oss:20b", "ollama:qwen3:32b")
_ENGLISH = (
    _MPNET,
    "st:google/embeddinggemma-300m",
    "st:mixedbread-ai/mxbai-embed-large-v1",
    "st:intfloat/e5-mistral-7b-instruct",
    "st:Qwen/Qwen3-Embedding-8B",
)
_OTHERS = (
    "st:sentence-transformers/paraphrase-multilingual-mpnet-base-v2",
    "st:google/embeddinggemma-300m",
    "st:intfloat/multilingual-e5-large-instruct",
    "st:Qwen/Qwen3-Embedding-8B",
)
_SIZES = tuple(f"ollama:gemma3:{size}" for size in ("270m", "1b", "4b", "12b", "27b"))
_SAGE_SYSTEMS = (
    "openai:text-embedding-3-small", "openai:text-embedding-3-large", "cohere:embed-v4.0", "voyage:voyage-3-large",
    "gemini:gemini-embedding-001", "levenshtein", "rouge", "jaccard", "bm25"
)  # fmt: skip
_PROBED = ("openai:text-embedding-3-large", "voyage:voyage-3.5")
_NOISED = ("openai:text-embedding-3-large", "openai:text-embedding-3-small")

_LOREM = (
    "the Lorem Ipsum from the first author's earlier code (25,526 tokens), which docs/published.md uses; "
    "without it, Embassay inserts its own text, and tables 5 and 6 differ"
)
_NEEDLE = "8045a309bb0a3293"
"""The digest of that text, as manifests have it."""

SAGE = PaperRecipe(
    "SAGE",
    "Goel, Lee, Ramchandran: SAGE, 2025",
    "sage",
    (
        PaperCommand(
            "run",
            ("sage", "run"),
            (("-d", "sage"), *_repeat_option("-s", *_SAGE_SYSTEMS), ("--text-tokens", "512")),
            "tables 1 to 6",
            {},
            {"--needle": ("LOREM.txt", _LOREM)},
        ),
    ),
    "The paper does not name the documents left out, the seeds, or the versions of the models behind the APIs.",
    {"limit": None, "text_tokens": 512, "needle": _NEEDLE},
)
PTEB = PaperRecipe(
    "PTEB",
    "PTEB, 2025",
    "pteb",
    (
        PaperCommand(
            "english",
            ("pteb", "run"),
            (("-d", "pteb-en"), *_WORDS, *_repeat_option("-s", *_ENGLISH), ("--baseline", _MPNET)),
            "tables 1, 6 to 9 and 14",
            {},
        ),
        PaperCommand(
            "multilingual",
            ("pteb", "run"),
            (("-d", "pteb-multi"), *_WORDS, *_repeat_option("-s", *_OTHERS), ("--languages", "pooled")),
            "table 10",
            {},
        ),
        PaperCommand(
            "judges", ("pteb", "judge"), (("-d", "pteb-sts"), *_repeat_option("-j", *_CANDIDATES)), "table 2", {}
        ),
        PaperCommand("sizes", ("pteb", "judge"), (("-d", "pteb-sts"), *_repeat_option("-j", *_SIZES)), "table 3", {}),
        PaperCommand(
            "paraphrasers",
            ("pteb", "paraphrasers"),
            (
                ("-d", "pteb-sts"),
                *_repeat_option("-p", *_CANDIDATES),
                ("--judge", "ollama:gemma3:27b"),
                *_repeat_option("--cross-judge", *_CANDIDATES[1:], "ollama:mistral-small3.2:24b"),
            ),
            "tables 4 and 5",
            {},
        ),
        PaperCommand("prompts", ("pteb", "prompts"), (("-d", "pteb-sts"), *_WORDS, ("-s", _MPNET)), "table 12", {}),
    ),
    "The paper's prompts and paraphrases are not published. Its table 10 pools languages. For table 11 "
    "(human ratings), use `embassay pteb validate`.",
)
_HTEB_SYSTEMS = {"-s": "any system: the paper's 16 models are named only in tables that could not be read"}
_HTEB_STEPS = tuple(
    PaperCommand(
        name, ("hteb", "run", "--reference"), (("-d", suite), ("--transformer", transformer)), tables, _HTEB_SYSTEMS
    )
    for name, suite, transformer, tables in (
        ("english", "hteb-en", "ollama:gemma3:27b", "scores on the English datasets"),
        ("multilingual", "hteb-multi", "ollama:gemma3:27b", "scores on the multilingual datasets"),
        ("texts", "banking77", "stored:TEXTS", "outcomes for the published Banking77 texts"),
    )
)
HTEB = PaperRecipe(
    "HTEB", "Frank, Afli: HTEB, EMNLP 2026, arXiv 2605.28190", "hteb", _HTEB_STEPS,
    "The paper's score tables could not be read, but the counts in the authors' Banking77 files (generated "
    "by Gemma 4 31B) can be compared. Import these files with `embassay hteb import FOLDER --out TEXTS`."
)  # fmt: skip
RAG = PaperRecipe(
    "RAG",
    "Dallaire: Practical RAG Evaluation, arXiv 2511.09545, 2025",
    "",
    (
        PaperCommand(
            "sweep",
            ("rag", "sweep", "paper"),
            (),
            "sections 5.1 to 5.5, A.1, A.5 to A.9",
            {"-d": "your corpus with queries and grades: the paper's corpus is not published"},
        ),
        PaperCommand(
            "names", ("rag", "probe", "names"), _repeat_option("-s", *_PROBED), "sections 4.1, 4.2, A.2 and A.3", {}
        ),
        PaperCommand("noise", ("rag", "probe", "noise"), _repeat_option("-s", *_NOISED), "sections 4.4 and A.4", {}),
    ),
    "The paper's corpus and questions are not published. Prices and sizes can be compared, but quality "
    "depends on your data.",
)
HUME = PaperRecipe(
    "HUME", "HUME, 2025", "hume",
    (PaperCommand("score", ("hume", "score"), (), "tables 1 to 13",
          {"--from-mteb": "the public files of embeddings-benchmark/results (a bundle or its folders)",
           "--llm-scores": "a folder with tables 10 to 12 as CSV"}),),
    "Add -s MODEL to compare your own model with people and the published models."
)  # fmt: skip

RECIPES: Mapping[str, PaperRecipe] = {"sage": SAGE, "pteb": PTEB, "hteb": HTEB, "rag": RAG, "hume": HUME}


Verdict = Literal["exact", "within rounding", "differs"]
FROM_ROUNDED = {
    ("HUME", "table 2"), ("HUME", "table 13"), ("SAGE", "table 1"), ("RAG", "5.2 %PROC"), ("RAG", "5.3 indexes"),
    ("RAG", "A.1 efficiency"), ("RAG", "A.3 name over topic"), ("RAG", "4.4 noise"),
    *(("PTEB", f"table {number}") for number in (2, 6, 9, 10, 14))
}  # fmt: skip
"""Tables that are made here from other printed figures: these are rounded, so the last digit may be one off."""
LAST_PLACE = 1.05
"""Units of the last printed digit, and a little for floats."""
HEAD = ("table", "row", "column", "published")


@dataclass(frozen=True)
class PrintedPaperFigure:
    """A figure of a paper: the table, row and column it stands in, and the text that is printed."""

    table: str
    row: str
    column: str
    published: str


@cache
def read_published_numbers(paper: str) -> tuple[PrintedPaperFigure, ...]:
    """The figures of `SAGE`, `PTEB`, `HTEB`, `RAG` or `HUME`, in the order of its tables."""
    path = Path(__file__).parent / "published" / f"{paper.lower()}.csv"
    with path.open(encoding="utf-8", newline="") as stream:
        return tuple(PrintedPaperFigure(**row) for row in csv.DictReader(stream))


@dataclass(frozen=True)
class ReproducedTableValue:
    """`published` is the text that is printed, `ours` a number as text; `row` and `column` name the cell."""

    paper: str
    table: str
    row: str
    column: str
    published: str
    ours: str

    @property
    def verdict(self) -> Verdict:
        """`exact`: ours, rounded to the printed digits, is what is printed; `within rounding`: made from rounded
        figures, and one unit beside it."""
        if float(self.rounded_value) == float(self.published):
            return "exact"
        rounded = (self.paper, self.table) in FROM_ROUNDED
        return "within rounding" if rounded and abs(self.difference) <= LAST_PLACE * self.unit else "differs"

    @property
    def rounded_value(self) -> str:
        """Our value, rounded to the digits that are printed."""
        mantissa, exponent = _split_exponent(self.published)
        return f"{float(self.ours):.{_count_decimals(mantissa)}{'e' if exponent else 'f'}}"

    @property
    def difference(self) -> float:
        """Our number minus the published one."""
        return float(self.ours) - float(self.published)

    @property
    def printed_difference(self) -> str:
        """Ours as it would be printed minus published, with the printed digits and a sign; two digits of a p-value.

        >>> ReproducedTableValue("SAGE", "table 4", "a", "b", "0.335", "0.3331").printed_difference
        '-0.002'
        """
        mantissa, exponent = _split_exponent(self.published)
        difference = float(self.rounded_value) - float(self.published)
        return f"{difference:+.1e}" if exponent else f"{difference:+.{_count_decimals(mantissa)}f}"

    @property
    def unit(self) -> float:
        """What one step of the last printed digit is worth."""
        mantissa, exponent = _split_exponent(self.published)
        return float(f"1e{int(exponent or 0) - _count_decimals(mantissa)}")


def make_reproduced_figure(
    paper: str, table: str, row: str, column: str, published: str, ours: float | str
) -> ReproducedTableValue:
    """A figure of ours to eight digits, or as the code writes it."""
    text = ours if isinstance(ours, str) else f"{ours:.8g}"
    return ReproducedTableValue(paper, table, row, column, published, text)


def _split_exponent(text: str) -> tuple[str, str]:
    mantissa, _, exponent = text.partition("e")
    return mantissa, exponent


def _count_decimals(mantissa: str) -> int:
    return len(mantissa.partition(".")[2])


REFERENCE = "reference"
"""The kind of rows that know nothing: `constant` and `random`; no paper has them."""


@dataclass(frozen=True)
class RunLineInPaperTable:
    """A line of a run in a table of a paper: the paper's `row`, or none, whose line it is, and its values by column.
    `apart` are the columns whose value is of other data than the printed one."""

    row: str
    label: str
    values: Mapping[str, float]
    apart: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ReproducedTable:
    """A table of `paper` with the lines of runs: `columns` and `rows` as printed, `printed` by row and column."""

    paper: str
    layout: PaperTableLayout
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    printed: Mapping[tuple[str, str], str]
    lines: tuple[RunLineInPaperTable, ...]

    @property
    def title(self) -> str:
        """The title of the table: its name and what it is of."""
        return f"{self.paper} {self.layout.table}: {self.layout.title}"

    def list_printed_figures_with_values(self) -> Iterator[tuple[str, ReproducedTableValue]]:
        """List every printed figure that a line has a value for, with whose line it is."""
        for line in self.lines:
            for column, value in line.values.items():
                if column not in line.apart and (text := self.printed.get((line.row, column))):
                    yield (
                        line.label,
                        make_reproduced_figure(self.paper, self.layout.table, line.row, column, text, value),
                    )

    def describe_differences_from_published(self) -> str:
        """Summarise how many figures are reproduced here, and how far off these are."""
        lines = [line for _, line in self.list_printed_figures_with_values()]
        cells = {(line.row, line.column) for line in lines}
        told = f"{len(cells)} of {len(self.printed)} published values have a counterpart here"
        if apart := sum(bool(line.row) * len(line.apart & line.values.keys()) for line in self.lines):
            told += f"; {apart} more {'is' if apart == 1 else 'are'} from other data and not compared"
        if not lines:
            return f"{told}."
        same = sum(line.verdict == "exact" for line in lines)
        told = f"{told}; {same} of {len(lines)} comparisons match exactly."
        far = max(lines, key=lambda line: abs(line.difference) / line.unit)
        return told if same == len(lines) else f"{told} Furthest: {far.printed_difference} ({far.row}, {far.column})."

    def body(self) -> Iterator[list[str]]:
        """Rows to print: the paper's, and below each the lines that are of it with their differences; then the
        others. A column that a line has no value for is empty."""
        by_row = {one.row: [line for line in self.lines if line.row == one.row] for one in self.lines}
        for row in self.rows:
            yield [row, *(self.printed.get((row, column), "") for column in self.columns)]
            for line in by_row.get(row, ()):
                yield [
                    f"  here: {line.label}",
                    *(self._format_reproduced_value_or_difference(line, column) for column in self.columns),
                ]
                yield [
                    "  difference",
                    *(self._format_reproduced_value_or_difference(line, column, off=True) for column in self.columns),
                ]
        for line in by_row.get("", ()):
            yield [
                f"here: {line.label}",
                *(self._format_reproduced_value_or_difference(line, column) for column in self.columns),
            ]

    def _format_reproduced_value_or_difference(
        self, line: RunLineInPaperTable, column: str, *, off: bool = False
    ) -> str:
        """A value of a line with the digits that are printed there, or in its column; or what it is off."""
        value, text = line.values.get(column), self.printed.get((line.row, column), "")
        if value is None or (off and (not text or column in line.apart)):
            return ""
        like = text or next(one for (_, name), one in self.printed.items() if name == column)
        printed = make_reproduced_figure(self.paper, self.layout.table, line.row, column, like, value)
        return printed.printed_difference if off else printed.rounded_value

    def markdown(self) -> str:
        """Format the table as Markdown, with its title and what was found."""
        rows = [["", *self.columns], ["---", *["---:"] * len(self.columns)], *self.body()]
        lines = [f"| {' | '.join(cell.strip().replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
        return "\n".join([f"**{self.title}**", "", *lines, "", self.describe_differences_from_published()])

    def as_dict(self) -> dict[str, Any]:
        """For `--json`: every figure with a line, and the lines that the paper has no row for."""
        compared = [
            {"row": line.row, "column": line.column, "here": label, "published": line.published,
             "ours": float(line.ours), "difference": line.difference}
            for label, line in self.list_printed_figures_with_values()
        ]  # fmt: skip
        others = [{"here": line.label, **line.values} for line in self.lines if not line.row]
        return {"table": self.layout.table, "title": self.layout.title, "printed": len(self.printed),
                "compared": compared, "others": others}  # fmt: skip


def compare_paper_tables(paper: str, runs: Sequence[Path]) -> list[ReproducedTable]:
    """The tables of a paper that the runs have a part of, in the paper's order, with the lines of all runs.

    UsageError for a folder that is no run, and for runs that have nothing of the paper.
    """
    of_runs = [(run, _read_run_manifest(run)) for run in runs]
    tables = [
        beside
        for layout in LAYOUTS[paper]
        if (beside := _make_reproduced_paper_table(paper, layout, of_runs)) is not None
    ]
    if not tables:
        told = ", ".join(f"{run} ({manifest.get('protocol', 'no protocol')})" for run, manifest in of_runs)
        raise UsageError(
            f"No table of {paper} can be computed from {told}.",
            mend=f"For the commands that create its tables, run `embassay reproduce {paper.lower()}`.",
        )
    return tables


def describe_runs_with_differing_settings(recipe: PaperRecipe, runs: Iterable[Path]) -> list[str]:
    """List the settings of every run that differ from those of the paper's command."""
    return [
        f"{run} was made with {' and '.join(told)}, so means over its datasets are not compared."
        for run in runs
        if (told := list_setting_deviations(recipe, _read_run_manifest(run)))
    ]


def describe_suite_coverage(runs: Iterable[Path]) -> list[str]:
    """What the runs have of the suites that they name: `14 of 15 sets of beir.`"""
    return [str(suite["said"]) for run in runs for suite in _read_run_manifest(run).get("suites", ())]


def _read_run_manifest(run: Path) -> Mapping[str, Any]:
    path = run / "manifest.json"
    if not path.is_file():
        raise UsageError(f"{run} is not a run folder: it has no manifest.json.", mend="Name a folder written by --out.")
    try:
        content = parse_bounded_json(read_bounded_file(path))
    except ValueError as error:
        raise DataError(f"is not JSON: {error}", path=path, mend="Use the original run folder.") from error
    if not isinstance(content, dict):
        raise DataError("is not a JSON object", path=path, mend="Use the original run folder.")
    return content


def _make_reproduced_paper_table(
    paper: str, layout: PaperTableLayout, runs: Sequence[tuple[Path, Mapping[str, Any]]]
) -> ReproducedTable | None:
    figures = [cell for cell in read_published_numbers(paper) if cell.table == layout.table]
    columns = {cell.column.lower(): cell.column for cell in figures}
    names = {cell.row.lower(): cell.row for cell in figures}
    lines: dict[tuple[str, str], RunLineInPaperTable] = {}
    for run, manifest in runs:
        for path in sorted((run / "tables").glob(f"{layout.file}.csv")):
            for line in _read_paper_table_lines(path, layout, columns, names):
                label = line.label if len(runs) == 1 else f"{line.label}, {run.name}"
                apart = _find_columns_over_other_datasets(line, layout, manifest, RECIPES[paper.lower()])
                lines.setdefault((line.row, label), RunLineInPaperTable(line.row, label, line.values, apart))
    if not any(line.row or layout.others for line in lines.values()):
        return None
    return ReproducedTable(
        paper,
        layout,
        tuple(columns.values()),
        tuple(names.values()),
        _index_published_cells(figures),
        tuple(lines.values()),
    )


def _find_columns_over_other_datasets(
    line: RunLineInPaperTable, layout: PaperTableLayout, manifest: Mapping[str, Any], recipe: PaperRecipe
) -> frozenset[str]:
    """The columns of a line whose printed figure is a mean over sets that the run has not, or not as the paper had
    them."""
    others = bool(list_setting_deviations(recipe, manifest))
    apart = set()
    for column in line.values:
        over = layout.over(line.row, column)
        if over is not None and (others or not _has_whole_suite(manifest, over)):
            apart.add(column)
    return frozenset(apart)


def _has_whole_suite(manifest: Mapping[str, Any], over: PaperMeanScope) -> bool:
    """Whether a run has all sets of a suite for a task, and no other."""
    if not over.suite:
        return False
    wanted = {
        (member.dataset, task)
        for member in read_all_suites()[over.suite].members
        for task in member.tasks
        if over.task in (ALL, task)
    }
    names = {name for name, _ in wanted}
    there = set()
    for dataset in manifest.get("datasets", ()):
        # What judges and paraphrasers are tried on has no tasks.
        tasks = dataset.get("tasks") or [task for name, task in wanted if name == dataset.get("name")]
        there |= {(dataset.get("name"), task) for task in tasks if over.task in (ALL, task)}
        if not dataset.get("tasks") and dataset.get("name") not in names:
            return False
    return there == wanted


def list_setting_deviations(recipe: PaperRecipe, manifest: Mapping[str, Any]) -> list[str]:
    """List in words the settings of a run that deviate from the paper's command."""
    arguments = manifest.get("arguments") or {}
    options = {**arguments, **(arguments.get("options") or {})}
    told = []
    for name, value in recipe.settings.items():
        given = options.get(name) or None
        if name in options and str(given).rpartition(" ")[2] != str(value):
            option = f"--{name.replace('_', '-')}"
            told.append(f"{option} {given}" if given is not None else f"no {option}")
    return told


def _index_published_cells(figures: Iterable[PrintedPaperFigure]) -> Mapping[tuple[str, str], str]:
    return {(cell.row, cell.column): cell.published for cell in figures}


def _read_paper_table_lines(
    path: Path, layout: PaperTableLayout, columns: Mapping[str, str], names: Mapping[str, str]
) -> Iterator[RunLineInPaperTable]:
    """The lines of a table that belong to the paper's, and with `others` those that do not."""
    with path.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            if row.get("kind") == REFERENCE:
                continue
            where = _find_paper_row(row, layout, path)
            name = names.get(where.lower(), "")
            if name or (where and layout.others):
                counted = f" ({row['dataset']})" if row.get("dataset", "").endswith(" datasets") else ""
                label = row[layout.label] if name or counted else where
                yield RunLineInPaperTable(
                    name, f"{label}{counted}", _map_paper_columns_to_row_values(row, layout, columns)
                )


def _find_paper_row(row: Row, layout: PaperTableLayout, path: Path) -> str:
    """The paper's row of a line; DataError where the table lacks a column that says it."""
    try:
        row[layout.label]
        return layout.row(row)
    except KeyError as error:
        raise DataError(
            f"has no column {error.args[0]!r}", path=path, mend="The run was made by a different version. Run it again."
        ) from error


def _map_paper_columns_to_row_values(
    row: Row, layout: PaperTableLayout, columns: Mapping[str, str]
) -> dict[str, float]:
    texts = {columns.get(layout.column(name).lower()): text for name, text in row.items() if text}
    return {
        name: number for name, text in texts.items() if name and (number := _parse_number_or_none(text)) is not None
    }


def _parse_number_or_none(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


__all__ = [
    "RECIPES",
    "PaperCommand",
    "PaperRecipe",
    "PrintedPaperFigure",
    "ReproducedTable",
    "ReproducedTableValue",
    "compare_paper_tables",
    "read_published_numbers",
]
