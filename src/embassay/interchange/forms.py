"""Runs as files that other tools read: MTEB's, CSV, LaTeX, Parquet, figures."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from embassay import __version__
from embassay.errors import UsageError
from embassay.interchange.mteb import LeftOut, dataset_language, documents_of_run, model_name, revision_of
from embassay.interchange.papers import latex_table
from embassay.interchange.tables import RunTables, find_runs, long_csv, long_parquet, wide_csv, wide_of
from embassay.protocols.kernel.outcome import bibtex
from embassay.protocols.mteb import Document, bundle_of, read_originals, write_documents
from embassay.protocols.mteb.protocol import originals_of
from embassay.protocols.mteb.survey import json_text, model_meta
from embassay.runs.folder import slug, write_atomic

Form = Literal["mteb", "csv", "latex", "parquet", "figures"]
FORMS: tuple[Form, ...] = ("mteb", "csv", "latex", "parquet", "figures")
_ENDS: Mapping[Form, tuple[str, ...]] = {
    "mteb": (".json", ".json.gz"), "csv": (".csv",), "latex": (".tex",), "parquet": (".parquet",),
    "figures": (".svg", ".pdf"),
}  # fmt: skip
Owner = tuple[str, str, str]


@dataclass(frozen=True)
class Exported:
    """What was written, with so many results in it, and what the format has no place for."""

    out: Path
    files: int
    rows: int
    left_out: tuple[LeftOut, ...] = field(default=())


def export(folders: Sequence[Path], form: Form, out: Path, *, table: str = "") -> Exported:
    """Write the runs in `folders` (runs, or folders above runs) to `out`.

    `mteb`: the public layout below the folder `out`, or one bundle where `out` ends in .json or .json.gz. `csv`:
    `results.csv` and a table per run, or all results alone where `out` ends in .csv. `latex`: a table per run, or one
    file with all where `out` ends in .tex; with `table` that table of each run (`sage_table4`) in place of its
    headlines. `parquet`: `results.parquet`, or `out` where it ends so. `figures`: those that each run has numbers for,
    as SVG and PDF, or one where `out` ends in .svg or .pdf; `table` names one. In a folder, and in a file of LaTeX as
    comments, BibTeX of the papers whose methods the runs use. Raises DataError where there is no run, UsageError for
    another format, a table that no run has, or where nothing fits.
    """
    if form not in FORMS:
        raise UsageError(f"There is no format {form!r}.", mend=f"Use one of {', '.join(FORMS)}.")
    single = out.name.endswith(_ENDS[form])
    if out.is_dir() if single else out.is_file():
        raise UsageError(f"{out} is a {'folder' if single else 'file'}.", mend="Choose another --out.")
    if table and form not in ("latex", "figures"):
        raise UsageError(f"A table is chosen, and {form} has all results.", mend="Export it as latex.")
    runs = find_runs(folders)
    if not single:
        write_atomic(out / "references.bib", references(runs))
    if form == "figures":
        return _figures(runs, out, single, table)
    if table:
        return _one_table(runs, table, out, single)
    writers: Mapping[Form, Callable[[Sequence[RunTables], Path, bool], Exported]] = {
        "mteb": _mteb, "csv": _csv, "latex": _latex, "parquet": _parquet,
    }  # fmt: skip
    return writers[form](runs, out, single)


def documents_of_runs(runs: Sequence[RunTables], left_out: list[LeftOut]) -> Iterator[Document]:
    """The runs as documents of MTEB; imported ones as they were published."""
    for run in runs:
        yield from read_originals(run.path) if run.protocol == "mteb" else documents_of_run(run, left_out)


def _mteb(runs: Sequence[RunTables], out: Path, single: bool) -> Exported:
    left_out: list[LeftOut] = []
    documents = documents_of_runs(runs, left_out)
    if single:
        records = bundle_of(documents)
        entries, files = len(records), 1
        if records:
            head = {key: value for run in runs if run.protocol == "mteb" for key, value in _head(run).items()}
            text = json_text({**head, "n": entries, "results": records}, indent=1) + "\n"
            write_atomic(out, gzip.compress(text.encode("ascii"), mtime=0) if out.suffix == ".gz" else text)
    else:
        written = write_documents(documents, out, _metas(runs))
        entries, files = written.entries, written.files + written.models
    if not entries:
        raise UsageError(
            f"Nothing here fits the layout of MTEB: {left_out[0].reason if left_out else 'no results'}.",
            mend="Export it as csv, parquet or latex.",
        )
    rows = sum(len(run.rows) for run in runs) - sum(one.rows for one in left_out)
    return Exported(out, files, rows, tuple(left_out))


def _head(run: RunTables) -> Mapping[str, Any]:
    return originals_of(run.path).head


def _metas(runs: Sequence[RunTables]) -> Mapping[Owner, Mapping[str, Any]]:
    metas: dict[Owner, Mapping[str, Any]] = {}
    for run in runs:
        if run.protocol == "mteb":
            metas |= originals_of(run.path).metas
            continue
        for system in run.manifest.get("systems", ()):
            name, revision = model_name(run.protocol, system["name"]), revision_of(run, system["name"])
            metas[name, revision, ""] = _meta(run, system, name, revision)
    return metas


def _meta(run: RunTables, system: Mapping[str, Any], name: str, revision: str) -> Mapping[str, Any]:
    facts = system.get("facts") or {}
    spoken = {row.lang for row in run.rows if row.system == system["name"]} - {"", "mul"}
    numbers = {"embed_dim": "dims", "max_tokens": "max_tokens", "n_parameters": "parameters"}
    known = {theirs: facts[ours] for theirs, ours in numbers.items() if isinstance(facts.get(ours), int)}
    return model_meta(name, revision, map(dataset_language, spoken), **known)


def _csv(runs: Sequence[RunTables], out: Path, single: bool) -> Exported:
    write_atomic(out if single else out / "results.csv", long_csv(runs))
    if not single:
        for name, run in _named(runs).items():
            write_atomic(out / f"{name}.csv", wide_csv(wide_of(run)))
    return Exported(out, 1 if single else len(runs) + 1, sum(len(run.rows) for run in runs))


def _latex(runs: Sequence[RunTables], out: Path, single: bool) -> Exported:
    tables = {name: wide_of(run) for name, run in _named(runs).items()}
    shown = sum(row is not None for table in tables.values() for cells in table.cells for row in cells)
    if single:
        write_atomic(out, "\n".join(map(latex_table, tables.values())) + commented(references(runs)))
    else:
        for name, table in tables.items():
            write_atomic(out / f"{name}.tex", latex_table(table))
    left = [
        LeftOut(table.run.name, len(table.run.rows) - sum(row is not None for cells in table.cells for row in cells),
                "not in the table of headlines; csv and parquet have every row")
        for table in tables.values()
    ]  # fmt: skip
    return Exported(
        out, 1 if single else len(tables), shown, tuple(left_out for left_out in left if left_out.rows)
    )


def _one_table(runs: Sequence[RunTables], table: str, out: Path, single: bool) -> Exported:
    """The table of that name, as each run wrote it."""
    found = {name: run.path / "tables" / f"{table}.tex" for name, run in _named(runs).items()}
    texts = {name: path.read_text("utf-8") for name, path in found.items() if path.exists()}
    if not texts:
        folders = [run.path / "tables" for run in runs]
        known = sorted({path.stem for folder in folders for path in folder.glob("*.tex")})
        if any((folder / f"{table}.csv").exists() for folder in folders):
            mend = (
                "The run is of an earlier version: repeat its command with the same --out, and it is written."
            )
        else:
            mend = f"There is {', '.join(known) or 'none'}."
        raise UsageError(f"No run has a table {table!r}.", mend=mend)
    if single:
        write_atomic(out, "\n".join(texts.values()) + commented(references(runs)))
    else:
        for name, text in texts.items():
            write_atomic(out / f"{name}-{table}.tex", text)
    left = [
        LeftOut(run.name, len(run.rows), f"has no table {table}")
        for name, run in _named(runs).items() if name not in texts
    ]  # fmt: skip
    rows = sum(line.endswith(r"\\") and "&" in line for text in texts.values() for line in text.splitlines())
    return Exported(out, 1 if single else len(texts), rows - len(texts), tuple(left))


def _figures(runs: Sequence[RunTables], out: Path, single: bool, table: str) -> Exported:
    from embassay.interchange.papers import figures_of

    found = [(name, drawn) for name, run in _named(runs).items() for drawn in figures_of(run, table)]
    if not found:
        raise UsageError(
            f"No run here has numbers for {f'the figure {table}' if table else 'a figure'}.",
            mend="Leave out --table, and every figure there is will be written."
            if table
            else "Export it as csv.",
        )
    if single and len(found) > 1:
        names = ", ".join(dict.fromkeys(drawn.name for _, drawn in found))
        raise UsageError(
            f"There are {len(found)} figures, and {out} is one file.",
            mend=f"Choose a run and a --table ({names}), or name a folder with --out.",
        )
    files: Mapping[Path, bytes] = (
        {out: found[0][1].files[out.suffix.lstrip(".")]}
        if single
        else {
            out / f"{run}-{drawn.name}.{end}": content
            for run, drawn in found
            for end, content in drawn.files.items()
        }
    )
    for path, content in files.items():
        write_atomic(path, content)
    left = tuple(
        LeftOut(f"{run}, figure {drawn.name}", drawn.left, "without a value, or more than it shows")
        for run, drawn in found
        if drawn.left
    )
    return Exported(out, len(files), sum(drawn.rows for _, drawn in found), left)


def references(runs: Sequence[RunTables]) -> str:
    """BibTeX of the papers whose methods the runs use, and where the numbers come from."""
    own = [
        "@software{embassay,", "title = {Embassay: what embeddings, metrics and retrieval stacks understand},",
        f"year = {{2026}},\nversion = {{{__version__}}}\n}}\n",
    ]  # fmt: skip
    return "\n".join(part for part in (bibtex(run.protocol for run in runs), "\n".join(own)) if part)


def commented(text: str) -> str:
    """Lines as comments of LaTeX."""
    return "".join(f"% {line}\n" if line else "%\n" for line in text.splitlines())


def _parquet(runs: Sequence[RunTables], out: Path, single: bool) -> Exported:
    write_atomic(out if single else out / "results.parquet", long_parquet(runs))
    return Exported(out, 1, sum(len(run.rows) for run in runs))


def _named(runs: Sequence[RunTables]) -> dict[str, RunTables]:
    """A file name for each run: its own, with a number where several share one; `results` is taken."""
    found: dict[str, RunTables] = {}
    for run in runs:
        name, number = slug(run.name) or "run", 2
        stem = name
        while name in found or name == "results":
            name, number = f"{stem}-{number}", number + 1
        found[name] = run
    return found
