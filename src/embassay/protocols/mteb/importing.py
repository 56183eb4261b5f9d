"""Published results as an ordinary run: manifest, rows, order of systems, and the documents themselves, whole."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

from embassay.errors import DataError, UsageError
from embassay.protocols.mteb.document import Document
from embassay.protocols.mteb.json_text import MAX_BYTES, MEND
from embassay.protocols.mteb.manifest import manifest_of
from embassay.protocols.mteb.means import MainScores, comparisons_of, mean_rows, standings_of
from embassay.protocols.mteb.originals import keep_all, read_originals
from embassay.protocols.mteb.reading import Fault, Progress, Reading, read_documents
from embassay.protocols.mteb.rows import PROTOCOL, rows_of
from embassay.protocols.mteb.survey import Survey
from embassay.protocols.standings import write_standings
from embassay.records import Result
from embassay.runs.files import to_json, write_atomic
from embassay.runs.folder import RunFolder

FAULTS = "faults.jsonl"


@dataclass(frozen=True)
class Imported:
    """What became of a source: files read, documents, systems, tasks, rows written, and what could not be read."""

    folder: Path
    files: int
    documents: int
    systems: int
    tasks: int
    rows: int
    faults: tuple[Fault, ...]


def import_results(
    source: Path,
    out: Path,
    *,
    measures: Collection[str] = (),
    max_bytes: int = MAX_BYTES,
    progress: Progress | None = None,
    command: str = "",
) -> Imported:
    """Make the run folder `out` of the published results in `source` (see `read_documents`).

    One run with all systems; `measures` names the numbers beside the main score that become rows (none: all). Broken
    files are counted, and told of in `faults.jsonl`. Raises DataError where nothing could be read, UsageError where
    `out` holds something else.
    """
    folder, reading, survey = RunFolder(out), Reading(), Survey()
    _check_out(folder)
    documents = read_documents(source, reading, max_bytes=max_bytes, progress=progress)
    first = next(documents, None)
    if first is None:
        raise _nothing(source, reading.faults)
    with folder.locked():
        keep_all(out, _counted(chain([first], documents), survey), reading.metas, reading.head)
        rows, means = _write_rows(folder, survey, measures, reading, progress)
        standings = standings_of(means)
        write_standings(out, standings)
        write_atomic(out / "comparisons.json", to_json(comparisons_of(standings), indent=1) + "\n")
        _write_faults(out / FAULTS, reading.faults)
        folder.write_manifest(manifest_of(source, out, survey, reading, sorted(measures), command))
    systems, tasks = len(survey.systems()), len(survey.tasks)
    faults = tuple(reading.faults)
    return Imported(out, reading.files, survey.documents, systems, tasks, rows + len(means), faults)


def _counted(documents: Iterable[Document], survey: Survey) -> Iterator[Document]:
    for document in documents:
        survey.add(document)
        yield document


def _write_rows(
    folder: RunFolder, survey: Survey, measures: Collection[str], reading: Reading, progress: Progress | None
) -> tuple[int, list[Result]]:
    """Write results.jsonl row by row, from the documents kept: which split counts is known only when all are read."""
    rows, scores = 0, MainScores()
    part = folder.results.with_name(".results.jsonl.part")
    with part.open("w", encoding="utf-8") as stream:
        for place, document in enumerate(read_originals(folder.path)):
            if progress is not None:
                progress("writing rows", place, survey.documents)
            told = partial(_tell, reading, f"{document.model}, {document.task}")
            for row in rows_of(document, survey, measures, told):
                scores.add(row)
                stream.write(to_json(vars(row)) + "\n")
                rows += 1
        means = list(mean_rows(scores, survey))
        stream.writelines(to_json(vars(row)) + "\n" for row in means)
    part.replace(folder.results)
    return rows, means


def _tell(reading: Reading, where: str, what: str) -> None:
    reading.faults.append(Fault.of(where, what))


def _write_faults(path: Path, faults: Sequence[Fault]) -> None:
    path.unlink(missing_ok=True)
    if faults:
        write_atomic(path, "".join(to_json(vars(one)) + "\n" for one in faults))


def _check_out(folder: RunFolder) -> None:
    """An import may replace an import, and nothing else."""
    if folder.path.is_file():
        raise UsageError(f"{folder.path} is a file.", mend="Name a folder with --out.")
    manifest = folder.read_manifest()
    if manifest is not None and manifest.get("protocol") != PROTOCOL:
        raise UsageError(
            f"{folder.path} holds a run of {manifest.get('protocol')}.", mend="Choose another --out folder."
        )


def _nothing(source: Path, faults: Sequence[Fault]) -> DataError:
    if not faults:
        return DataError("No results of MTEB were found", path=source, mend=MEND)
    one, more = faults[0], len(faults) - 1
    also = f" {more:,} more files or records are broken too." if more else ""
    return DataError(f"Nothing could be read. {one.reason}{also}", path=None, mend=MEND)
