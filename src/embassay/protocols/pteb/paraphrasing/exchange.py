"""Sets of paraphrases as one file that other tools read, and back.

A JSONL file has a line per text with the wordings of all runs (`text`, `lang`, `dataset`, `paraphrases`, `seeds`): the
shape `paraphrases` of `embassay data`. A CSV file has a line per text and run, whatever came of it; nothing is lost.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from embassay.errors import DataError, UsageError
from embassay.protocols.kernel.tables import csv_row
from embassay.protocols.pteb.paraphrasing.records import USABLE, Outcome, Paraphrase
from embassay.protocols.pteb.paraphrasing.sets import COLUMNS, ParaphraseSet, Source
from embassay.runs.folder import digest, write_atomic

if TYPE_CHECKING:
    from embassay.data.rows import Row

_LONG = ("dataset", "run_seed", *COLUMNS)
Runs = dict[tuple[str, int], list[Paraphrase]]
"""(dataset, seed) -> its rows."""


@dataclass(frozen=True)
class Exported:
    """How many texts were written, and how many not: those without a usable wording in every run, and those that stand
    in the file already with other wordings (of another dataset or language)."""

    texts: int
    incomplete: int = 0
    repeated: int = 0


def export_paraphrases(stored: ParaphraseSet, source: str, file: Path) -> Exported:
    """Write what `source` has of all datasets, as JSONL or CSV by the name of `file`.

    UsageError for another name, or where the set has not the same number of runs for every dataset (JSONL).
    """
    if file.suffix == ".csv":
        return _export_long(stored, source, file)
    if file.suffix == ".jsonl":
        return _export_wide(stored, source, file)
    raise UsageError(f"Cannot export paraphrases to {file}.", mend="Call the file .jsonl or .csv.")


def import_paraphrases(file: Path, folder: Path, *, name: str = "", seed: int = 1337) -> ParaphraseSet:
    """Make a set in `folder` of a file with the columns of either form, in any format that `embassay data` reads, to
    be used as `stored:FOLDER`.

    `name` is what the source is called, by default as the file. Wordings without seeds get `seed`, `seed` + 1 ...
    UsageError where there is a set already, DataError with the line of what cannot be read.
    """
    from embassay.data.tables import table

    if (folder / "manifest.json").exists():
        raise UsageError(f"{folder} has a set of paraphrases already.", mend="Choose another folder.")
    rows = table(file)
    columns = rows.columns()
    name = name or file.name.partition(".")[0]
    if {"text", "wording", "run_seed"} <= set(columns):
        runs = _long_runs(rows.rows(columns), name)
    elif {"text", "paraphrases"} <= set(columns):
        runs = _wide_runs(rows.rows(columns), name, seed)
    else:
        raise DataError(
            "there are no paraphrases in it", path=file,
            expected="columns text and paraphrases, or text, wording and run_seed", found=", ".join(columns),
        )  # fmt: skip
    content = sorted(
        (dataset, run, sorted((one.text, one.wording) for one in own)) for (dataset, run), own in runs.items()
    )
    found = ParaphraseSet.create(folder)
    found.add(Source(name=name, paraphraser=f"imported:{file.name}", identity=f"imported:{digest(content)}"))
    for (dataset, run), own in runs.items():
        found.keep(name, dataset, run, own)
    return found


def _export_wide(stored: ParaphraseSet, source: str, file: Path) -> Exported:
    written: dict[str, tuple[str, ...]] = {}
    lines: list[str] = []
    incomplete = repeated = 0
    for dataset in stored.source(source).datasets:
        seeds = stored.seeds(source, dataset)
        wordings: dict[tuple[str, str, str], dict[int, str]] = defaultdict(dict)
        for seed in seeds:
            for row in stored.rows(source, dataset, seed):
                if row.text.strip():
                    known = wordings[row.text, row.lang, row.place]
                    known |= {seed: row.wording} if row.usable else {}
        for (text, lang, _), own in wordings.items():
            given = tuple(own.get(seed, "") for seed in seeds)
            if not all(one.strip() for one in given):
                incomplete += 1
            elif text in written:
                repeated += written[text] != given
            else:
                written[text] = given
                lines.append(_line(text, lang, dataset, given, seeds))
    write_atomic(file, "".join(lines))
    return Exported(len(written), incomplete, repeated)


def _line(text: str, lang: str, dataset: str, wordings: Sequence[str], seeds: Sequence[int]) -> str:
    row = {"text": text, "lang": lang, "dataset": dataset, "paraphrases": wordings, "seeds": seeds}
    return json.dumps(row, ensure_ascii=False) + "\n"


def _export_long(stored: ParaphraseSet, source: str, file: Path) -> Exported:
    lines = [csv_row(_LONG)]
    texts: set[tuple[str, str, str, str]] = set()
    for dataset in stored.source(source).datasets:
        for seed in stored.seeds(source, dataset):
            for row in stored.rows(source, dataset, seed):
                cells = {"dataset": dataset, "run_seed": seed, **asdict(row)}
                lines.append(csv_row(cells[name] for name in _LONG))
                texts.add((dataset, row.text, row.lang, row.place))
    write_atomic(file, "".join(lines))
    return Exported(len(texts))


def _wide_runs(rows: Iterator[Row], name: str, first: int) -> Runs:
    from embassay.data.rows import text_of, texts_of

    runs: Runs = defaultdict(list)
    for row in rows:
        text = text_of(row, "text")
        if text is None:
            continue
        wordings = texts_of(row, "paraphrases")
        seeds = row.cells.get("seeds") or range(first, first + len(wordings))
        if isinstance(seeds, str) or len(seeds) != len(wordings):
            raise _wrong(row, "seeds", f"a list of {len(wordings)} seeds", repr(seeds))
        for seed, wording in zip(seeds, wordings, strict=True):
            outcome: Outcome = (
                "missing" if not wording else "copied" if wording.strip() == text.strip() else "ok"
            )
            place = (_cell(row, "dataset") or name, int(seed))
            one = Paraphrase(
                text, _cell(row, "lang") or "und", "", wording or "", outcome, attempts=0, seed=int(seed)
            )
            runs[place].append(one)
    return runs


def _long_runs(rows: Iterator[Row], name: str) -> Runs:
    runs: Runs = defaultdict(list)
    for row in rows:
        wording = _cell(row, "wording")
        outcome = _cell(row, "outcome") or ("ok" if wording else "missing")
        if outcome not in get_args(Outcome):
            raise _wrong(row, "outcome", ", ".join(get_args(Outcome)), repr(outcome))
        text = _cell(row, "text")
        if outcome in USABLE and text.strip() and not wording.strip():
            raise _wrong(row, "wording", f"a text, as the outcome is {outcome!r}", "none")
        run = _number(row, "run_seed", None)
        runs[_cell(row, "dataset") or name, int(run)].append(
            Paraphrase(
                text, _cell(row, "lang") or "und", _cell(row, "place"), wording, outcome, _cell(row, "reason"),  # type: ignore[arg-type]
                int(_number(row, "attempts", 0)), int(_number(row, "seed", run)), _number(row, "seconds", 0.0),
                _cell(row, "rejected"),
            )
        )  # fmt: skip
    return runs


def _cell(row: Row, column: str) -> str:
    value = row.cells.get(column)
    if value is not None and not isinstance(value, str):
        raise _wrong(row, column, "a text", repr(value))
    return value or ""


def _number(row: Row, column: str, default: float | None) -> float:
    from embassay.data.rows import number_of

    value = number_of(row, column)
    if value is None and default is None:
        raise _wrong(row, column, "a number", "nothing")
    return default if value is None else value  # type: ignore[return-value]


def _wrong(row: Row, column: str, expected: str, found: str) -> DataError:
    return DataError(f"cannot read {column!r}", path=row.path, line=row.line, expected=expected, found=found)
