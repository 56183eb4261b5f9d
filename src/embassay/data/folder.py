"""A folder in BEIR's layout (corpus, queries and qrels), or of texts to train with and to test with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from embassay.bounded import bounded_entries
from embassay.data.assembly import assembled
from embassay.data.dataset import Dataset
from embassay.data.delimited import reading_of
from embassay.data.grades import Gains
from embassay.data.rows import Source, missing_column, nearest
from embassay.data.shapes import RETRIEVAL_PARTS, missing_columns
from embassay.data.tables import FORMATS, known_suffix, table, table_of
from embassay.data.views import Filtered, Renamed, Titled
from embassay.errors import DataError, UsageError

_TABLES = (".jsonl", ".jsonl.gz")
_QRELS = (".tsv", ".tsv.gz", ".jsonl", ".jsonl.gz")


def open_folder(folder: Path, mapping: Mapping[str, str], split: str | None, grades: str | None) -> Dataset:
    """The retrieval set in `folder`, whose corpus also serves as documents, or its classification.

    It holds `corpus.jsonl`, `queries.jsonl` (each also .gz) and `qrels/<split>.tsv` or `qrels.tsv` or
    `qrels.jsonl`. The split is `test` or the only one there is, unless one is named; in a single qrels file a
    named split selects the rows whose `split` is that. With `top_ranked.jsonl` it is a set to rerank. A folder
    without a corpus may hold two tables, `train` and the split (`test` unless one is named). DataError for a
    folder without these files.
    """
    reading, columns = reading_of(mapping)
    sides = [_table(folder, side) for side in ("train", split or "test")]
    if all(sides) and not _table(folder, "corpus"):
        return _sides(folder, [path for path in sides if path], mapping, grades)
    paths = {part: _only(folder, part, _TABLES) for part in ("corpus", "queries")}
    paths["qrels"], by_column = _qrels(folder, split)
    raw = {part: table_of(path, reading) for part, path in paths.items()}
    for target, column in columns.items():
        if column and not any(column in source.columns() for source in raw.values()):
            raise missing_column(
                raw["qrels" if target in RETRIEVAL_PARTS["qrels"] else "corpus"], column, target=target
            )
    if ranked := _table(folder, "top_ranked"):
        raw["top_ranked"] = table_of(ranked, reading)
    tables = {part: _part(part, source, columns) for part, source in raw.items()}
    if split is not None and by_column:
        tables["qrels"] = Filtered(tables["qrels"], {"split": frozenset({split})})
    parts = assembled(([part], source) for part, source in tables.items())
    parts["documents"] = tables["corpus"]
    return Dataset(
        folder.resolve().name,
        parts,
        gains=Gains() if grades is None else Gains.from_grades(grades),
        settings={"mapping": dict(mapping), "split": split, "grades": grades},
    )


def _sides(folder: Path, paths: list[Path], mapping: Mapping[str, str], grades: str | None) -> Dataset:
    if grades is not None:
        raise UsageError(
            f"{folder} has no judgements, so --grades cannot be used.", mend="Leave --grades out."
        )
    reading, columns = reading_of(mapping)
    tables = [
        (["train"] if side == 0 else ["test", "labelled"], _part("test", table(path, reading), columns))
        for side, path in enumerate(paths)
    ]
    settings = {"mapping": dict(mapping), "split": paths[1].name}
    return Dataset(folder.resolve().name, assembled(tables), settings=settings)


def _table(folder: Path, stem: str) -> Path | None:
    return next((path for suffix in FORMATS if (path := folder / (stem + suffix)).is_file()), None)


def _part(part: str, raw: Source, mapping: Mapping[str, str]) -> Source:
    own = {target: column for target, column in mapping.items() if not column or column in raw.columns()}
    renamed = Renamed(raw, own)
    if missing := missing_columns(part, renamed.columns()):
        raise missing_column(renamed, missing[0])
    return Titled(renamed) if part == "corpus" and "title" in renamed.columns() else renamed


def _qrels(folder: Path, split: str | None) -> tuple[Path, bool]:
    """The qrels file, and whether a split is a column of it rather than its name."""
    if not (folder / "qrels").is_dir():
        return _only(folder, "qrels", _QRELS), True
    files = {
        _stem(path): path
        for path in sorted(bounded_entries((folder / "qrels").iterdir(), folder))
        if path.name.endswith(_QRELS)
    }
    chosen = split or ("test" if "test" in files else next(iter(files)) if len(files) == 1 else "")
    if chosen not in files:
        near = nearest(chosen, files)
        raise DataError(
            f"there are no qrels for the split {chosen!r}"
            if chosen
            else "there are several splits, none called test",
            path=folder / "qrels",
            found=", ".join(files) or "no qrels file",
            mend=f"Name a split with --split {near or next(iter(files), 'NAME')}.",
        )
    return files[chosen], False


def _only(folder: Path, stem: str, suffixes: tuple[str, ...]) -> Path:
    for suffix in suffixes:
        if (path := folder / (stem + suffix)).is_file():
            return path
    found = sorted(path.name for path in bounded_entries(folder.iterdir(), folder))
    raise DataError(
        f"the folder has no {stem} file",
        path=folder,
        expected="corpus.jsonl, queries.jsonl and qrels/<split>.tsv, qrels.tsv or qrels.jsonl, plain or .gz",
        found=", ".join(found[:8]) + (", ..." if len(found) > 8 else "") if found else "nothing",
        mend="Give a folder in BEIR's layout, or one file of it.",
    )


def _stem(path: Path) -> str:
    return path.name.removesuffix(known_suffix(path.name))
