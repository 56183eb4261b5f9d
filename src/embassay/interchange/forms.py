"""Runs as files that other tools read: MTEB's (and back, with what things are called there), CSV, LaTeX, figures."""

from __future__ import annotations

import gzip
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import starmap
from pathlib import Path
from typing import Any, Literal

from embassay import __version__
from embassay.errors import DataError, UsageError
from embassay.interchange.papers import DRAWINGS, make_run_figures, write_latex_table
from embassay.interchange.publication import WRITERS
from embassay.interchange.tables import (
    LoadedRunFolder,
    format_results_as_long_csv,
    format_results_as_parquet,
    format_systems_as_wide_csv,
    load_runs_in_folders,
    make_wide_score_table,
)
from embassay.protocols.hume.exchange.export import MODEL
from embassay.protocols.hume.published.paper import convert_to_iso_639_3
from embassay.protocols.kernel.outcome import format_bibtex_of_protocols
from embassay.protocols.mteb import Document, bundle_of, read_imported_result_documents, write_result_files
from embassay.protocols.mteb.protocol import add_language_script, load_imported_documents_metadata
from embassay.protocols.mteb.survey import (
    BLOCK,
    EVALUATIONS,
    MAIN,
    format_ascii_json,
    load_task_types,
    make_model_meta,
    make_mteb_model_name,
)
from embassay.records import ResultRow
from embassay.runs.folder import digest_json, slugify_name, write_file_atomically

Form = Literal["mteb", "csv", "latex", "parquet", "figures", "eee", "hub"]
FORMS: tuple[Form, ...] = ("mteb", "csv", "latex", "parquet", "figures", "eee", "hub")
_ENDS: Mapping[Form, tuple[str, ...]] = {
    "mteb": (".json", ".json.gz"), "csv": (".csv",), "latex": (".tex",), "parquet": (".parquet",),
    "figures": (".svg", ".pdf"), "eee": (), "hub": ()
}  # fmt: skip
Owner = tuple[str, str, str]


@dataclass(frozen=True)
class Exported:
    """What was written, with so many results in it, and what the format has no place for."""

    out: Path
    files: int
    rows: int
    left_out: tuple[LeftOut, ...] = field(default=())


def export(folders: Sequence[Path], form: Form, out: Path, *, table: str = "", source: str = "") -> Exported:
    """Write the runs in `folders` (runs, or folders above runs) to `out`.

    `mteb`: the public layout below the folder `out`, or one bundle where `out` ends in .json or .json.gz. `csv`:
    `results.csv` and a table per run, or all results alone where `out` ends in .csv. `latex`: a table per run, or one
    file with all where `out` ends in .tex; with `table` that table of each run (`sage_table4`) in place of its
    headlines. `parquet`: `results.parquet`, or `out` where it ends so. `figures`: those that each run has numbers for,
    as SVG and PDF, or one where `out` ends in .svg or .pdf; `table` names one. `eee` and `hub`: the folders of
    `write_evaluations` and `write_hub_files`; `source` is who ran it, or the address that shows it. In the folders of
    the others, and in a file of LaTeX as comments, BibTeX of the papers whose methods the runs use.
    Raises DataError where there is no run, UsageError for another format, a table that no run has, or where nothing
    fits.
    """
    if form not in FORMS:
        raise UsageError(f"There is no format {form!r}.", mend=f"Use one of {', '.join(FORMS)}.")
    single = out.name.endswith(_ENDS[form])
    if out.is_dir() if single else out.is_file():
        raise UsageError(f"{out} is a {'folder' if single else 'file'}.", mend="Choose another --out.")
    if table and form not in ("latex", "figures"):
        raise UsageError(
            f"--table selects one table, but {form} always exports all results.", mend="Export it as latex."
        )
    runs = load_runs_in_folders(folders)
    if form in WRITERS:
        return _export_runs_for_publication(runs, form, out, source)
    if not single:
        write_file_atomically(out / "references.bib", format_bibtex_of_run_papers(runs))
    if form == "figures":
        return _export_figures(runs, out, single, table)
    if table:
        return _export_named_latex_table(runs, table, out, single)
    writers: Mapping[Form, Callable[[Sequence[LoadedRunFolder], Path, bool], Exported]] = {
        "mteb": _export_mteb, "csv": _export_csv, "latex": _export_latex, "parquet": _export_parquet
    }  # fmt: skip
    return writers[form](runs, out, single)


def _export_runs_for_publication(runs: Sequence[LoadedRunFolder], form: Form, out: Path, source: str) -> Exported:
    files, rows, lost = WRITERS[form](runs, out, source)
    return Exported(out, files, rows, tuple(starmap(LeftOut, lost)))


def make_mteb_documents(runs: Sequence[LoadedRunFolder], left_out: list[LeftOut]) -> Iterator[Document]:
    """The runs as documents of MTEB; imported ones as they were published."""
    for run in runs:
        yield from (
            read_imported_result_documents(run.path)
            if run.protocol_name == "mteb"
            else make_mteb_run_documents(run, left_out)
        )


def _export_mteb(runs: Sequence[LoadedRunFolder], out: Path, single: bool) -> Exported:
    left_out: list[LeftOut] = []
    documents = make_mteb_documents(runs, left_out)
    if single:
        records = bundle_of(documents)
        entries, files = len(records), 1
        if records:
            head = {
                key: value
                for run in runs
                if run.protocol_name == "mteb"
                for key, value in _load_original_mteb_metadata_head(run).items()
            }
            text = format_ascii_json({**head, "n": entries, "results": records}, indent=1) + "\n"
            # No time inside: the same results are the same bytes.
            write_file_atomically(out, gzip.compress(text.encode("ascii"), mtime=0) if out.suffix == ".gz" else text)
    else:
        written = write_result_files(documents, out, _collect_model_metas(runs))
        entries, files = written.entries, written.files + written.models
    if not entries:
        raise UsageError(
            f"Nothing here fits MTEB's layout: {f'rows {left_out[0].reason}' if left_out else 'no results'}.",
            mend="Export it as csv, parquet or latex.",
        )
    rows = sum(len(run.rows) for run in runs) - sum(lost.rows for lost in left_out)
    return Exported(out, files, rows, tuple(left_out))


def _load_original_mteb_metadata_head(run: LoadedRunFolder) -> Mapping[str, Any]:
    return load_imported_documents_metadata(run.path).head


def _collect_model_metas(runs: Sequence[LoadedRunFolder]) -> Mapping[Owner, Mapping[str, Any]]:
    metas: dict[Owner, Mapping[str, Any]] = {}
    for run in runs:
        if run.protocol_name == "mteb":
            metas |= load_imported_documents_metadata(run.path).metas
            continue
        for system in run.manifest.get("systems", ()):
            name, revision = (
                format_mteb_model_name(run.protocol_name, system["name"]),
                make_system_revision(run, system["name"]),
            )
            metas[name, revision, ""] = _make_model_meta(run, system, name, revision)
    return metas


def _make_model_meta(run: LoadedRunFolder, system: Mapping[str, Any], name: str, revision: str) -> Mapping[str, Any]:
    facts = system.get("facts") or {}
    spoken = {row.lang for row in run.rows if row.system == system["name"]} - {"", "mul"}
    numbers = {"embed_dim": "dims", "max_tokens": "max_tokens", "n_parameters": "parameters"}
    known = {theirs: facts[ours] for theirs, ours in numbers.items() if isinstance(facts.get(ours), int)}
    return make_model_meta(name, revision, map(format_mteb_language, spoken), **known)


def _export_csv(runs: Sequence[LoadedRunFolder], out: Path, single: bool) -> Exported:
    write_file_atomically(out if single else out / "results.csv", format_results_as_long_csv(runs))
    if not single:
        for name, run in _map_file_names_to_runs(runs).items():
            write_file_atomically(out / f"{name}.csv", format_systems_as_wide_csv(make_wide_score_table(run)))
    return Exported(out, 1 if single else len(runs) + 1, sum(len(run.rows) for run in runs))


def _export_latex(runs: Sequence[LoadedRunFolder], out: Path, single: bool) -> Exported:
    tables = {name: make_wide_score_table(run) for name, run in _map_file_names_to_runs(runs).items()}
    shown = sum(row is not None for table in tables.values() for cells in table.cells for row in cells)
    if single:
        write_file_atomically(
            out,
            "\n".join(map(write_latex_table, tables.values()))
            + format_latex_comments(format_bibtex_of_run_papers(runs)),
        )
    else:
        for name, table in tables.items():
            write_file_atomically(out / f"{name}.tex", write_latex_table(table))
    left = [
        LeftOut(table.run.name, len(table.run.rows) - sum(row is not None for cells in table.cells for row in cells),
                "that are not headlines; csv and parquet contain every row")
        for table in tables.values()
    ]  # fmt: skip
    return Exported(out, 1 if single else len(tables), shown, tuple(left_out for left_out in left if left_out.rows))


def _export_named_latex_table(runs: Sequence[LoadedRunFolder], table: str, out: Path, single: bool) -> Exported:
    """The table of that name, as each run wrote it."""
    paths = {name: run.path / "tables" / f"{table}.tex" for name, run in _map_file_names_to_runs(runs).items()}
    texts = {name: path.read_text("utf-8") for name, path in paths.items() if path.exists()}
    if not texts:
        folders = [run.path / "tables" for run in runs]
        names = sorted({path.stem for folder in folders for path in folder.glob("*.tex")})
        if any((folder / f"{table}.csv").exists() for folder in folders):
            mend = "The run is from an earlier version. Repeat its command with the same --out to add it."
        else:
            mend = f"Available tables: {', '.join(names) or 'none'}."
        raise UsageError(f"No run has a table {table!r}.", mend=mend)
    if single:
        write_file_atomically(out, "\n".join(texts.values()) + format_latex_comments(format_bibtex_of_run_papers(runs)))
    else:
        for name, text in texts.items():
            write_file_atomically(out / f"{name}-{table}.tex", text)
    left = [
        LeftOut(run.name, len(run.rows), f"has no table {table}")
        for name, run in _map_file_names_to_runs(runs).items() if name not in texts
    ]  # fmt: skip
    rows = sum(line.endswith(r"\\") and "&" in line for text in texts.values() for line in text.splitlines())
    return Exported(out, 1 if single else len(texts), rows - len(texts), tuple(left))


def _describe_available_figures(runs: Sequence[LoadedRunFolder]) -> str:
    """List the names of the figures that there are, as --table takes them."""
    from embassay.interchange.side_by_side import NAME, NUMBER

    numbers = {
        NAME: NUMBER,
        **{drawing.table: drawing.paper_figure_name for drawing in DRAWINGS if drawing.paper_figure_name},
    }
    names = dict.fromkeys(drawn.name for run in runs for drawn in make_run_figures(run))
    said = [f"{name} ({numbers[name]})" if numbers.get(name, name) != name else name for name in names]
    return f"Available figures: {', '.join(said)}." if said else "Export it as csv."


def _export_figures(runs: Sequence[LoadedRunFolder], out: Path, single: bool, table: str) -> Exported:

    figures = [
        (name, drawn) for name, run in _map_file_names_to_runs(runs).items() for drawn in make_run_figures(run, table)
    ]
    if not figures:
        raise UsageError(
            f"No run here has data for {f'the figure {table}' if table else 'a figure'}.",
            mend=_describe_available_figures(runs) if table else "Export it as csv.",
        )
    if single and len(figures) > 1:
        names = ", ".join(dict.fromkeys(drawn.name for _, drawn in figures))
        raise UsageError(
            f"There are {len(figures)} figures, but {out} is one file.",
            mend=f"Choose a run and a --table ({names}), or name a folder with --out.",
        )
    files: Mapping[Path, bytes] = (
        {out: figures[0][1].files[out.suffix.lstrip(".")]}
        if single
        else {
            out / f"{run}-{drawn.name}.{end}": content for run, drawn in figures for end, content in drawn.files.items()
        }
    )
    for path, content in files.items():
        write_file_atomically(path, content)
    left = tuple(
        LeftOut(f"{run}, figure {drawn.name}", drawn.left, "without a value, or too many for the figure")
        for run, drawn in figures
        if drawn.left
    )
    return Exported(out, len(files), sum(drawn.rows for _, drawn in figures), left)


def format_bibtex_of_run_papers(runs: Sequence[LoadedRunFolder]) -> str:
    """BibTeX of the papers whose methods the runs use, and where the numbers come from."""
    papers = [
        "@software{embassay,", "title = {Embassay: what embeddings, metrics and retrieval stacks understand},",
        f"year = {{2026}},\nversion = {{{__version__}}}\n}}\n"
    ]  # fmt: skip
    return "\n".join(
        part for part in (format_bibtex_of_protocols(run.protocol_name for run in runs), "\n".join(papers)) if part
    )


def format_latex_comments(text: str) -> str:
    """Lines as comments of LaTeX."""
    return "".join(f"% {line}\n" if line else "%\n" for line in text.splitlines())


def _export_parquet(runs: Sequence[LoadedRunFolder], out: Path, single: bool) -> Exported:
    write_file_atomically(out if single else out / "results.parquet", format_results_as_parquet(runs))
    return Exported(out, 1, sum(len(run.rows) for run in runs))


def _map_file_names_to_runs(runs: Sequence[LoadedRunFolder]) -> dict[str, LoadedRunFolder]:
    """A file name for each run: its own, with a number where several share one; `results` is taken."""
    by_name: dict[str, LoadedRunFolder] = {}
    for run in runs:
        name, number = slugify_name(run.name) or "run", 2
        stem = name
        # results.csv has the rows of all runs.
        while name in by_name or name == "results":
            name, number = f"{stem}-{number}", number + 1
        by_name[name] = run
    return by_name


VERSION = 1
FITTING = ("sage", "pteb", "score", "hume")
"""Runs that score systems on datasets; others measure something else, which MTEB has no place for."""
Numbered = tuple[int, ResultRow]


@dataclass(frozen=True)
class LeftOut:
    """Rows that a format has no place for: how many, of which run, and why."""

    run: str
    rows: int
    reason: str


def make_mteb_run_documents(run: LoadedRunFolder, left_out: list[LeftOut]) -> Iterator[Document]:
    """A document for each system, task and dataset: an entry for each subset and language that has a headline.

    `main_score` is the headline, NaN where it has no value; the other measures stand beside it, those of variants as
    `VARIANT/MEASURE`. The rows themselves (intervals, n, seeds, reasons) are in our block. Rows without a dataset, or
    without a headline, do not fit: they go to `left_out`.
    """
    if run.kind not in FITTING:
        left_out.append(
            LeftOut(run.name, len(run.rows), f"of a {run.kind} run, which measures something MTEB has no task for")
        )
        return
    groups: dict[tuple[str, str, str], list[Numbered]] = {}
    over = 0
    for place, row in enumerate(run.rows):
        if row.dataset:
            groups.setdefault((row.system, row.task, row.dataset), []).append((place, row))
        else:
            over += 1
    if over:
        left_out.append(LeftOut(run.name, over, "that cover several datasets, but MTEB has one file per dataset"))
    headless = 0
    for rows in groups.values():
        document = _make_mteb_document(run, rows)
        if document is None:
            headless += len(rows)
        else:
            yield document
    if headless:
        left_out.append(LeftOut(run.name, headless, "of a task without a headline on the dataset"))


def results_of(documents: Iterable[Document]) -> list[ResultRow]:
    """The results of our own runs in documents of MTEB, as they were exported and in that order; documents of others
    have none. Raises DataError for a block that is not as we write it."""
    placed: list[tuple[str, int, ResultRow]] = []
    for document in documents:
        block = document.body.get(BLOCK)
        if not isinstance(block, dict) or "rows" not in block or block.get("source") == EVALUATIONS:
            continue
        try:
            if block["version"] != VERSION:
                raise ValueError(f"version {block['version']}")
            run = str(block["run"]["manifest"])
            for place, row in zip(block["places"], block["rows"], strict=True):
                placed.append((run, int(place), ResultRow(**row)))
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(
                f"The block {BLOCK!r} of {document.model}, {document.task} is not in the format of Embassay "
                f"{__version__}",
                found=str(error)[:80], mend="Export the run again."
            ) from error  # fmt: skip
    # Backwards, so that a run keeps the place of its first row: runs come back in the order of the export.
    runs = {run: place for place, run in reversed(list(enumerate(run for run, _, _ in placed)))}
    return [row for _, _, row in sorted(placed, key=lambda row: (runs[row[0]], row[1]))]


def make_system_revision(run: LoadedRunFolder, system: str) -> str:
    """Make the revision of a system: a fingerprint of its identity, the same in all runs of it."""
    identities = {system["name"]: system.get("identity") for system in run.manifest.get("systems", ())}
    return digest_json(identities.get(system) or system)[:12]


def _make_mteb_document(run: LoadedRunFolder, rows: Sequence[Numbered]) -> Document | None:
    first = rows[0][1]
    headline = run.find_headline_measure_of_task(first.task) or next(
        (row.measure for _, row in rows if not row.variant), None
    )
    # What MTEB takes for the main score of each language.
    heads = [i for i, (_, row) in enumerate(rows) if not row.variant and row.measure == headline]
    if not heads:
        return None
    block = {
        "version": VERSION,
        "run": {
            "protocol": run.protocol_name, "kind": run.kind, "name": run.name, "task": first.task,
            "dataset": first.dataset, "system": first.system, "headline": headline, "seed": first.seed,
            "manifest": run.manifest_digest, "embassay": run.manifest.get("embassay"),
        },
        "main": heads,
        "places": [place for place, _ in rows],
        "rows": [vars(row) for _, row in rows]
    }  # fmt: skip
    body = {
        "dataset_revision": run.fingerprint(first.dataset),
        "task_name": format_mteb_task_name(
            run.kind, first.task, first.dataset, published=_is_hume_run_from_result_files(run)
        ),
        "mteb_version": None,
        "scores": {"test": [_make_mteb_score_entry(rows[i][1], rows) for i in heads]},
        "evaluation_time": _find_cell_seconds(run, first),
        "kg_co2_emissions": None,
        BLOCK: block,
    }
    return Document(
        format_mteb_model_name(run.protocol_name, first.system), make_system_revision(run, first.system), body
    )


def _is_hume_run_from_result_files(run: LoadedRunFolder) -> bool:
    """Whether a HUME run was made of result files (`hume score --from-mteb`), and not of a study of one's own."""
    return run.protocol_name == "hume" and "results" in (run.manifest.get("arguments") or {})


def _make_mteb_score_entry(head: ResultRow, rows: Sequence[Numbered]) -> dict[str, Any]:
    of_head = [row for _, row in rows if (row.subset, row.lang) == (head.subset, head.lang)]
    return {
        **{format_mteb_score_name(row.variant, row.measure): row.value for row in of_head if row.value is not None},
        MAIN: math.nan if head.value is None else head.value,
        "hf_subset": head.subset or "default",
        "languages": [format_mteb_language(head.lang)],
    }


def _find_cell_seconds(run: LoadedRunFolder, first: ResultRow) -> float | None:
    cells: Iterable[Mapping[str, Any]] = run.manifest.get("cells") or ()
    where = (first.task, first.dataset, first.system)
    times = [
        cell.get("seconds") for cell in cells if (cell.get("task"), cell.get("dataset"), cell.get("system")) == where
    ]
    numbers = [value for value in times if isinstance(value, int | float)]
    return math.fsum(numbers) if numbers else None


_TITLES = {"sage": "SAGE", "pteb": "PTEB", "score": "RAG", "hume": "HUME"}
_MEASURES = {
    "ndcg": "ndcg_at", "nDCG": "ndcg_at", "AP": "map_at", "RR": "mrr_at", "R": "recall_at", "P": "precision_at",
    "Hit": "hit_rate_at"
}  # fmt: skip
"""Measures with a cutoff that MTEB has too, by its name."""
_ALIKE = {"average_precision": "ap"}
_UNSAID = {"mul": "mul-Zyyy", "": "und-Zyyy"}
"""ISO 639-3 and 15924 for many languages and for one nobody named: MTEB leaves out an entry without any."""


def format_mteb_model_name(protocol: str, system: str) -> str:
    """A system as MTEB's `organization/model`; people are its baseline.

    >>> format_mteb_model_name("sage", "minilm"), format_mteb_model_name("hume", "Human")
    ('embassay/minilm', 'baseline/Human')
    """
    return MODEL if (protocol, system) == ("hume", "Human") else make_mteb_model_name(system)


def format_mteb_task_name(kind: str, task: str, dataset: str, *, published: bool = False) -> str:
    """The name of a task: one of ours, since the items, or how they are scored, are not those of MTEB's; but MTEB's own
    where the scores are its `published` ones.

    >>> format_mteb_task_name("hume", "sts", "STS12", published=True), format_mteb_task_name("pteb", "sts", "STS12")
    ('HUMESTS12', 'PTEB-sts-STS12')
    >>> format_mteb_task_name("score", "score", "qrels")
    'RAG-qrels'
    """
    if published and f"HUME{dataset}" in load_task_types():
        return f"HUME{dataset}"
    return "-".join([_TITLES.get(kind, kind), *([] if task == kind else [task]), dataset])


def format_mteb_score_name(variant: str, measure: str) -> str:
    """A measure by MTEB's name where it has one, behind its variant.

    >>> (format_mteb_score_name("", "nDCG@10"), format_mteb_score_name("original", "v_measure"),
    ... format_mteb_score_name("", "RA-nWG@5"))
    ('ndcg_at_10', 'original/v_measure', 'RA-nWG@5')
    """
    cut = re.fullmatch(r"(\w+)@(\d+)", measure)
    name = f"{_MEASURES[cut[1]]}_{cut[2]}" if cut and cut[1] in _MEASURES else _ALIKE.get(measure, measure)
    return f"{variant}/{name}" if variant else name


def format_mteb_language(lang: str) -> str:
    """A language with its script, as MTEB writes it.

    >>> format_mteb_language("en"), format_mteb_language("mul")
    ('eng-Latn', 'mul-Zyyy')
    """
    return _UNSAID.get(lang) or add_language_script(convert_to_iso_639_3(lang))
