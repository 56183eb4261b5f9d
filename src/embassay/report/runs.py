"""The runs of one report: found under folders, read once, numbered and named together, with what cards ask of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from embassay.contracts import Kind
from embassay.document.blocks import Block, VerdictText
from embassay.errors import DataError, EmbassayError
from embassay.registry import Registry, RegistryEntry
from embassay.report.board import BoardRow, SystemBoard, build_record_board, is_protocol_with_task_board
from embassay.report.record import (
    KINDS,
    RunRecord,
    SystemOfRun,
    list_run_names_from_folders,
    read_run_record,
    shorten_names_to_labels,
)
from embassay.runs.folder import MANIFEST, find_run_folders

if TYPE_CHECKING:
    from embassay.protocols.hume.record import Summary
    from embassay.protocols.rag.scoring.score import ScoringRecord
    from embassay.protocols.rag.sweep.findings.record import SweepFindings


@dataclass(frozen=True)
class UnreadFolder:
    """A folder that a report leaves out, and why."""

    path: Path
    reason: str


@dataclass(frozen=True)
class RunCollection:
    """The runs, and the folders beside them that cannot be read."""

    records: tuple[RunRecord, ...]
    left: tuple[UnreadFolder, ...] = ()


def find_run_records(paths: Sequence[Path]) -> RunCollection:
    """The runs that `paths` are, or that lie anywhere in them, each once.

    A damaged run fails where it was named itself; found in a folder of runs it is left out and told of, if there are
    others. DataError where a path holds no run.
    """
    records: dict[Path, RunRecord] = {}
    left: dict[Path, UnreadFolder] = {}
    for path in paths:
        for folder, record in _find_runs_in_path(path):
            if isinstance(record, RunRecord):
                records.setdefault(folder.resolve(), record)
            else:
                left.setdefault(folder.resolve(), UnreadFolder(folder, record.what))
    return RunCollection(tuple(records.values()), tuple(left.values()))


def _find_runs_in_path(path: Path) -> list[tuple[Path, RunRecord | DataError]]:
    """The run that a path is, or all in it: each with its record or why there is none."""
    if (path / MANIFEST).exists() or not path.is_dir():
        return [(path, read_run_record(path))]
    records: list[tuple[Path, RunRecord | DataError]] = []
    for folder in find_run_folders(path):
        try:
            records.append((folder, read_run_record(folder)))
        except DataError as error:
            records.append((folder, error))
    if any(isinstance(run, RunRecord) for _, run in records):
        return records
    raise next((data_error for _, data_error in records if isinstance(data_error, DataError)), _make_no_run_error(path))


def _make_no_run_error(path: Path) -> DataError:
    return DataError(
        "there is no run here", path=path, expected="the folder of a run, or a folder that contains runs",
        mend="Name the folder that a run command wrote with --out."
    )  # fmt: skip


PAGES: Registry[Iterable[Block]] = Registry("page")
"""The pages of a report by kind of run, in the order of the navigation, with the question of each kind. A page is
"module:function": called with a run, and whether the report is of it alone, it yields blocks. Pages of one `group`
stand together under its name. Another package brings that of its protocol by the entry-point group `embassay.pages`."""
for _kind, _page, _asks, _facts in (
    ("sage", "sage.similarity:sage_page", "Similarity under change", {"title": "SAGE"}),
    ("pteb", "pteb.drops:make_pteb_page_content", "Paraphrased at evaluation time", {"title": "PTEB", "group": "PTEB"}),
    ("hteb", "hteb.profile:hteb_page", "Style, length and language", {"title": "HTEB", "group": "PTEB"}),
    ("original", "overview:build_external_tasks_page", "Scores on the original texts",
        {"title": "PTEB, original texts"}),
    ("judge", "pteb.models:judge_page", "Language models that rate", {"title": "Judges", "group": "PTEB"}),
    ("paraphrasers", "pteb.models:make_paraphraser_selection_page", "Language models that paraphrase",
        {"title": "Paraphrasers", "group": "PTEB"}),
    ("validation", "pteb.models:make_human_validation_page", "People on the paraphrases",
        {"title": "Validation", "group": "PTEB"}),
    ("golden", "rag.golden:golden_page", "Judgements of passages", {"title": "Golden set", "group": "RAG"}),
    ("questions", "rag.questions:questions_page", "Questions about documents",
        {"title": "Questions", "group": "RAG"}),
    ("score", "rag.scoring:make_scoring_page_blocks", "Evidence among the first K", {"title": "RAG", "group": "RAG"}),
    ("sweep", "rag.sweep:read_sweep_page", "Price, time and quality", {"title": "Sweep", "group": "RAG"}),
    ("names", "rag.name_probe:name_probe_page", "Names against impostors", {"title": "Names", "group": "RAG"}),
    ("noise", "rag.probes:noise_page", "Small talk around questions", {"title": "Noise", "group": "RAG"}),
    ("sessions", "rag.scoring:search_sessions_page", "Sessions of many searches",
        {"title": "Sessions", "group": "RAG"}),
    ("versions", "rag.probes:passage_versions_page", "Old versions and copies", {"title": "Versions", "group": "RAG"}),
    ("trace", "rag.trace:retrieval_trace_page", "Where needed passages are lost", {"title": "Trace", "group": "RAG"}),
    ("hume", "hume.gap:hume_page", "People on the same items", {"title": "HUME"}),
    ("mteb", "mteb:mteb_page", "Scores as published", {"title": "MTEB"}),
    ("calibration", "calibration.thresholds:calibration_page", "What a similarity means", {"title": "Calibration"}),
    ("choose", "rag.choice:choice_page", "Which system, without labels", {"title": "Choice"})
):  # fmt: skip
    PAGES.add(_kind, f"embassay.report.{_page}", _asks, **_facts)


def find_kind_page_entry(kind: str) -> RegistryEntry[Iterable[Block]] | None:
    """Find what is declared as the page of a kind of run; None where nobody brings one."""
    try:
        if kind not in KINDS:
            PAGES.get(kind).load()  # its module may say more of it than an entry point can
        return PAGES.get(kind)
    except EmbassayError:
        return None


def run_kind_title(kind: str) -> str:
    """What a kind of run is called."""
    entry = find_kind_page_entry(kind)
    return dict(entry.facts).get("title", kind) if entry else kind


@dataclass(frozen=True)
class ReportRun:
    """One run of a report.

    `mark` ends the ids of its parts where every run has such a part; the first has none. `called` tells it from the
    other runs of its kind, of which it is the one at `place`, from 1. `left`: folders that the report leaves out, told
    by its first run. `alone`: the report has no other.
    """

    record: RunRecord
    board: SystemBoard
    mark: str = ""
    called: str = ""
    place: int = 1
    left: tuple[UnreadFolder, ...] = ()
    alone: bool = True

    @property
    def title(self) -> str:
        """The title of the run: its protocol or command, with its own name where others are of its kind."""
        title = run_kind_title(self.record.kind)
        return f"{title} ({self.called})" if self.called else title

    @property
    def slug(self) -> str:
        """The address of its page: the kind, with a number from the second run of a kind on."""
        return self.record.kind + self.ending

    @property
    def ending(self) -> str:
        """What ends the ids of its page."""
        return "" if self.place == 1 else f"-{self.place}"

    @cached_property
    def load_external_page_or_reason(self) -> tuple[tuple[Block, ...], str]:
        """The blocks of the page that another package brings for this kind of run, or why there are none."""
        from embassay.document import html, terminal  # nobody else here has a use for templates

        kind = self.record.kind
        try:
            if kind in KINDS or kind not in PAGES:
                return (), ""
            page = PAGES.get(kind)
            with page.blame_package_for_errors("making its page"):
                blocks = tuple(page.load()(self, self.alone))
                if odd := [block for block in blocks if not isinstance(block, get_args(Block))]:
                    raise TypeError(f"it yields {odd[0]!r:.60}, which is not a block of embassay.document.blocks")
                if sum(isinstance(block, VerdictText) for block in blocks) > 1:
                    raise ValueError("a page can have only one VerdictText")
                html.render_blocks_as_html(blocks)
                terminal.draw_terminal_blocks(terminal.select_blocks_for_terminal(blocks))
            return blocks, ""
        except Exception as error:  # whatever is wrong with it, the others' pages are shown
            return (), getattr(error, "message", "") or f"{type(error).__name__}: {error}"


def read_report_runs(paths: Sequence[Path]) -> tuple[ReportRun, ...]:
    """The runs that the paths are or hold, in the order of a report, each once: of two folders with the same results
    the later one is left out, and told of. DataError for a path without a run.
    """
    records = find_run_records(paths)
    kept: list[RunRecord] = []
    left = list(records.left)
    for record in sorted(records.records, key=_run_sort_key):
        twin = next((other for other in kept if _is_same_run(other, record)), None)
        if twin is None:
            kept.append(record)
        else:
            left.append(UnreadFolder(record.path, f"it has the same results as {twin.path}"))
    runs = attach_boards_to_records(kept)
    return (replace(runs[0], left=tuple(left)), *runs[1:])


def attach_boards_to_records(records: Sequence[RunRecord]) -> tuple[ReportRun, ...]:
    """The records with their boards. A system has the same number and label in all of them."""
    names = dict.fromkeys(system.name for record in records for system in record.systems)
    numbered = {name: i for i, name in enumerate(names)}
    called = _list_distinguishing_run_names(records)
    kinds = {system.name: system.kind for record in records for system in record.systems if system.kind != "run"}
    made: list[ReportRun] = []
    for i, record in enumerate(records):
        systems = tuple(
            replace(system, index=numbered[system.name], kind=_find_system_kind(system, kinds))
            for system in record.systems
        )
        shared = record if systems == record.systems else replace(record, systems=systems)
        before = sum(run.record.kind == record.kind for run in made)
        alone = len(records) == 1
        run = ReportRun(shared, build_record_board(shared), called=called[i], place=before + 1, alone=alone)
        made.append(replace(run, mark=f"-{run.slug}" if made else ""))
    return tuple(made)


def _find_system_kind(system: SystemOfRun, known: Mapping[str, Kind]) -> Kind:
    """The kind of a system. A file of rankings says none: that of the system of its name, in this report or of ours,
    and `hybrid` where names joined by + are of words and of vectors."""
    if system.kind != "run":
        return system.kind
    from embassay.systems import SYSTEMS

    ours = {entry.name: dict(entry.facts).get("kind") for entry in SYSTEMS}
    names = [system.name] if system.name in known else system.name.split("+")
    kinds = {known.get(name) or ours.get(name) for name in names}
    if kinds == {"embedding", "classical"}:
        return "hybrid"
    return next((kind for kind in KINDS_OF_RANKINGS if kinds == {kind}), "run")


KINDS_OF_RANKINGS: tuple[Kind, ...] = ("embedding", "classical", "hybrid", "llm")


def _list_distinguishing_run_names(records: Sequence[RunRecord]) -> list[str]:
    """What each run is called among those of its kind; nothing where it is the only one."""
    called = [""] * len(records)
    for kind in {record.kind for record in records}:
        places = [i for i, record in enumerate(records) if record.kind == kind]
        if len(places) > 1:
            names = list_run_names_from_folders(kind, [records[i].path for i in places])
            for i, name in zip(places, names, strict=True):
                called[i] = name
    return called


def _is_same_run(first: RunRecord, second: RunRecord) -> bool:
    """Whether two folders hold the results of one run: something is finished, and all of it is equal."""
    return first.kind == second.kind and bool(first.rows) and first.rows == second.rows


def list_report_systems_with_labels(runs: Sequence[ReportRun]) -> tuple[tuple[SystemOfRun, str], ...]:
    """Every system of the report by its number, with its label."""
    by_index = {system.index: system for run in reversed(runs) for system in run.record.systems}
    label = shorten_names_to_labels([by_index[index].name for index in sorted(by_index)])
    return tuple((by_index[index], label[by_index[index].name]) for index in sorted(by_index))


def list_board_rows(runs: Sequence[ReportRun]) -> tuple[BoardRow, ...]:
    """The board rows of every system, in the order of the boards, each system once."""
    by_name: dict[str, BoardRow] = {}
    for run in runs:
        for row in run.board.rows:
            by_name.setdefault(row.system.name, row)
    return tuple(sorted(by_name.values(), key=lambda row: not row.system.ranked))


def _run_sort_key(record: RunRecord) -> tuple[bool, int, str, str]:
    """Runs that have finished something first, then by kind, then by folder."""
    known = KINDS.index(record.kind) if record.kind in KINDS else len(KINDS)
    return not _can_run_lead_report(record), known, record.kind, str(record.path.absolute())


def _can_run_lead_report(record: RunRecord) -> bool:
    """Whether it can lead a report: of SAGE and PTEB a ranked system has a score over its datasets."""
    if not is_protocol_with_task_board(record.kind):
        return bool(record.rows)
    ranked = {system.name for system in record.list_non_reference_systems}
    return any(not key[1] and key[4] in ranked and row.value is not None for key, row in record.rows.items())


SCORE, SUMMARY, FINDINGS = "score.json", "summary.json", "sweep.json"


def read_hume_summary(run: ReportRun) -> Summary | None:
    """The record of a HUME run; None for another run, or where it is not written yet."""
    path = run.record.path / SUMMARY
    return (
        _read_summary_cached(run.record.path, *_stat_time_and_size(path))
        if run.record.kind == "hume" and path.is_file()
        else None
    )


def read_scoring(run: ReportRun) -> ScoringRecord | None:
    """The record of a scoring; None for another run, or where it is not written yet."""
    path = run.record.path / SCORE
    return (
        _read_scoring_record_cached(path, *_stat_time_and_size(path))
        if run.record.kind == "score" and path.is_file()
        else None
    )


def read_sweep_findings(run: ReportRun) -> SweepFindings | None:
    """The record of a sweep; None for another run, or where it is not written yet."""
    path = run.record.path / FINDINGS
    if run.record.kind != "sweep" or not path.is_file():
        return None
    from embassay.protocols.rag.sweep.findings.record import read_findings

    return read_findings(path)


def _stat_time_and_size(path: Path) -> tuple[int, int]:
    state = path.stat()
    return state.st_mtime_ns, state.st_size


@lru_cache(maxsize=4)
def _read_summary_cached(folder: Path, _written: int, _size: int) -> Summary:
    from embassay.protocols.hume.record import read_summary

    return read_summary(folder)


@lru_cache(maxsize=4)
def _read_scoring_record_cached(path: Path, _written: int, _size: int) -> ScoringRecord:
    from embassay.protocols.rag.scoring.score import read_scoring_record

    return read_scoring_record(path)
