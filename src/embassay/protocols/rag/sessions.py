"""Sessions of many searches: an agent asks several times per question; what counts is what all its calls surface.

    {"query_id": "q1", "call": 1, "query": "refund time", "documents": ["d7", "d2"], "seconds": 0.2, "cost": 0.001}

A file of such lines, one for each call, is a stack. Evidence are the documents of grade 4 and 5. A retriever can be
asked the recorded queries (`replay`): as soon as it answers otherwise than what was recorded the agent might have asked
something else, so what it surfaces is bounded from there on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embassay.data.judged_runs.content import read_unpacked_bytes, split_nonblank_lines
from embassay.errors import DataError, UsageError
from embassay.limits import parse_json_written_by_embassay
from embassay.protocols.kernel.outcome import Run, make_manifest_of_file_based_run
from embassay.protocols.kernel.request import DATA, option, redeclare_option
from embassay.protocols.kernel.session import check_same_run_arguments
from embassay.protocols.kernel.tables import ColumnTable, number_column, text, whole_number_column, write_tables
from embassay.protocols.rag.scoring.options import ScoreRequest
from embassay.records import ResultRow
from embassay.runs.folder import RunFolder, format_value_as_json, write_file_atomically
from embassay.stats import bootstrap_ci, holm, paired_bootstrap, wilson

if TYPE_CHECKING:
    from embassay.protocols.kernel.session import SilentListener
    from embassay.protocols.live.runs import LiveRetrieverRunOutcome, QuestionsToAsk

PROTOCOL = TASK = "sessions"
ALL = "evidence"
CALLS = (1, 2, 3)
"""The calls after which evidence is looked at, besides the last."""
MARK = "#"
"""Between a question and the number of the call, in the ids of replayed queries."""


@dataclass(frozen=True)
class SessionScoringRequest:
    """Judgements, the files of sessions as `FILE` or `NAME=FILE`, and retrievers that are asked the queries that the
    first of these recorded."""

    qrels: str = redeclare_option(ScoreRequest, "qrels")
    sessions: tuple[str, ...] = option(
        (), "An agent's searches, one line per call, as FILE or NAME=FILE; a --retriever replays the first file.",
        name="--sessions", value="FILE", group=DATA
    )  # fmt: skip
    retrievers: tuple[str, ...] = redeclare_option(ScoreRequest, "retrievers")
    depth: int | None = redeclare_option(ScoreRequest, "depth")
    grades: str | None = redeclare_option(ScoreRequest, "grades")
    split: str | None = redeclare_option(ScoreRequest, "split")
    mapping: Mapping[str, str] = redeclare_option(ScoreRequest, "mapping")
    seed: int = redeclare_option(ScoreRequest, "seed")

    def as_dict(self) -> dict[str, Any]:
        """The arguments as saved in the manifest."""
        return {**asdict(self), "sessions": list(self.sessions), "retrievers": list(self.retrievers)}


@dataclass(frozen=True)
class SessionSearchCall:
    """One search of a session: what was asked, which documents came back, and what it took, where the file says so."""

    query: str
    documents: tuple[str, ...]
    seconds: float | None = None
    usd: float | None = None


Sessions = Mapping[str, tuple[SessionSearchCall, ...]]
"""Question -> its calls, in order."""


def read_search_sessions(path: Path) -> dict[str, tuple[SessionSearchCall, ...]]:
    """The sessions of a file of JSON lines. DataError, with the line, for one that is no call, for two calls of one
    number, and for a call that is several lists joined into one: of those nothing tells what came first. Files are read
    as those of runs are: packed or not, with or without a byte order mark."""
    calls: dict[str, dict[int, SessionSearchCall]] = {}
    for line_number, line in split_nonblank_lines(path, read_unpacked_bytes(path)):
        try:
            row = parse_json_written_by_embassay(line)
        except ValueError as error:
            raise DataError("the line is not valid JSON", path=path, line=line_number, found=str(error)) from None
        key, place, call = _parse_search_call(row, path, line_number)
        of_question = calls.setdefault(key, {})
        place = place or max(of_question, default=0) + 1
        if place in of_question:
            raise DataError(
                f"call {place} of question {key!r} appears twice", path=path, line=line_number,
                mend="Number the calls of a question from 1, or omit the numbers."
            )  # fmt: skip
        of_question[place] = call
    if not calls:
        raise DataError("the file has no calls", path=path, expected='{"query_id": "q1", "documents": ["d1"]}')
    return {key: tuple(by_place[place] for place in sorted(by_place)) for key, by_place in calls.items()}


def _parse_search_call(row: Any, path: Path, line: int) -> tuple[str, int | None, SessionSearchCall]:
    if not isinstance(row, dict) or not isinstance(row.get("documents"), list) or "query_id" not in row:
        raise DataError(
            "the line is not a call", path=path, line=line, found=repr(row)[:80],
            expected='"query_id", a list "documents" and optionally "call"',
            mend="Write one line for each search of a question."
        )  # fmt: skip
    place = row.get("call")
    if place is not None and (isinstance(place, bool) or not isinstance(place, int) or place < 1):
        raise DataError(
            "the call number is invalid", path=path, line=line, expected="1, 2, 3 ...", found=repr(place)[:40]
        )
    documents = tuple(_parse_document_id(entry, path, line) for entry in row["documents"])
    scores = [entry.get("score") for entry in row["documents"] if isinstance(entry, dict)]
    _check_search_lists_not_joined(documents, scores, path, line)
    numbers = [_read_optional_number_of_row(row, name, path, line) for name in ("seconds", "cost")]
    return str(row["query_id"]), place, SessionSearchCall(str(row.get("query") or ""), documents, *numbers)


def _parse_document_id(entry: Any, path: Path, line: int) -> str:
    key = entry.get("id", entry.get("doc_id")) if isinstance(entry, dict) else entry
    if isinstance(key, bool) or not isinstance(key, str | int) or key == "":
        raise DataError(
            "a document has no id", path=path, line=line, expected='"d7" or {"id": "d7"}', found=repr(entry)[:60]
        )
    return str(key)


def _check_search_lists_not_joined(documents: Sequence[str], scores: Sequence[Any], path: Path, line: int) -> None:
    why = ""
    if len(set(documents)) < len(documents):
        twice = next(key for place, key in enumerate(documents) if key in documents[:place])
        why = f"{twice!r} twice"
    values = [value for value in scores if isinstance(value, int | float)]
    turns = [after > before for before, after in pairwise(values)]
    falls = [after < before for before, after in pairwise(values)]
    # Distances rise all along; scores that fall and rise again are two lists.
    if not why and any(turns) and any(falls):
        why = f"scores that rise again at place {turns.index(True) + 2}"
    if why:
        raise DataError(
            "several lists seem to be joined into one", path=path, line=line,
            expected="the list of one search", found=why,
            mend="Write one line per search: joined lists do not show which call found what."
        )  # fmt: skip


def _read_optional_number_of_row(row: Mapping[str, Any], name: str, path: Path, line: int) -> float | None:
    value = row.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:
        raise DataError(f"{name} is not a number", path=path, line=line, found=repr(value)[:40], mend="Omit it.")
    return float(value)


@dataclass(frozen=True)
class SearchSessionMeasures:
    """One session: the share of evidence surfaced `after` each call, by which call all of it was there (`full`, None:
    never) and what that took, the share of later documents and of later queries that repeat earlier ones (None: no
    later call, or no text), and the `low` and `high` bounds of the last share where it was replayed."""

    after: tuple[float, ...]
    full: int | None
    seconds: float | None
    usd: float | None
    repeated: float | None
    asked_again: float | None
    low: float
    high: float

    @property
    def last(self) -> float:
        """The share of evidence surfaced after all calls."""
        return self.after[-1]


def measure_search_session(
    calls: Sequence[SessionSearchCall], evidence: frozenset[str], recorded: Sequence[SessionSearchCall] | None = None
) -> SearchSessionMeasures:
    """Measure a session with some `evidence`; of a replay also against what was `recorded`.

    >>> calls = [SessionSearchCall("a", ("d1", "d2")), SessionSearchCall("b", ("d2", "d3"))]
    >>> figures = measure_search_session(calls, frozenset({"d1", "d3"}))
    >>> figures.after, figures.full, figures.repeated
    ((0.5, 1.0), 2, 0.5)
    """
    seen: set[str] = set()
    after, later, repeats = [], 0, 0
    for place, call in enumerate(calls):
        if place:
            later += len(call.documents)
            repeats += sum(key in seen for key in call.documents)
        seen.update(call.documents)
        after.append(len(seen & evidence) / len(evidence))
    full = next((place for place, share in enumerate(after, 1) if share == 1), None)
    queries = [" ".join(call.query.casefold().split()) for call in calls]
    again = [query in queries[:place] for place, query in enumerate(queries) if place]
    low = high = after[-1]
    if recorded is not None:
        parted = _find_first_call_unlike_recorded(calls, recorded)
        if parted is not None and after[parted] < 1:
            low, high = after[parted], 1.0
    return SearchSessionMeasures(
        tuple(after), full, _sum_field_until_full_evidence(calls, full, "seconds"),
        _sum_field_until_full_evidence(calls, full, "usd"),
        repeats / later if later else None, float(np.mean(again)) if again and all(queries) else None, low, high
    )  # fmt: skip


def _find_first_call_unlike_recorded(
    calls: Sequence[SessionSearchCall], recorded: Sequence[SessionSearchCall]
) -> int | None:
    """The first call that answered otherwise than what was recorded: up to it, queries would have been the same. None
    where no call did."""
    pairs = zip(calls, recorded, strict=True)
    differing = (place for place, (now, then) in enumerate(pairs) if now.documents != then.documents)
    # What the agent would have done after a changed last answer is as open as after any other.
    return next(differing, None)


def _sum_field_until_full_evidence(calls: Sequence[SessionSearchCall], full: int | None, name: str) -> float | None:
    if full is None:
        return None
    values = [getattr(call, name) for call in calls[:full]]
    return None if any(value is None for value in values) else float(sum(values))


@dataclass(frozen=True)
class MeasuredSessionsOfStack:
    """What became of the sessions of a stack, by question; `unjudged` have no evidence by the judgements, `missing`
    questions have evidence and no session, and `failed` were replayed with a call that failed."""

    name: str
    path: str
    figures: Mapping[str, SearchSessionMeasures]
    unjudged: int
    missing: int
    failed: int = 0
    is_replay: bool = False

    def values(self, questions: Sequence[str]) -> NDArray[np.float64]:
        """The share of evidence after all calls, by question, (n,)."""
        return np.array([self.figures[key].last for key in questions])

    def notes(self) -> Iterator[str]:
        """Notes on what is to be known of the stack."""
        for count, why in (
            (self.missing, "questions with evidence have no session, and do not count"),
            (self.unjudged, "sessions belong to questions without judged evidence, and do not count"),
            (self.failed, "sessions had a failed call and do not count"),
        ):
            if count:
                yield f"{self.name}: {count:,} {why}"
        if self.figures and not self.is_replay and all(len(entry.after) == 1 for entry in self.figures.values()):
            yield f"{self.name}: every session has one call. If the agent searched more often, write one line per call"


def measure_sessions_of_stack(
    name: str,
    path: str,
    sessions: Sessions,
    evidence: Mapping[str, frozenset[str]],
    recorded: Sessions | None = None,
    failed: Iterable[str] = (),
) -> MeasuredSessionsOfStack:
    """Measure all sessions of a stack whose question has evidence."""
    lost = set(failed)
    figures = {
        key: measure_search_session(calls, evidence[key], None if recorded is None else recorded[key])
        for key, calls in sorted(sessions.items())
        if key in evidence and key not in lost
    }
    missing = sum(key not in sessions for key in evidence)
    unjudged = sum(key not in evidence for key in sessions)
    return MeasuredSessionsOfStack(
        name, path, figures, unjudged, missing, len(lost & evidence.keys()), recorded is not None
    )


def list_session_result_rows(stack: MeasuredSessionsOfStack, dataset: str, seed: int) -> Iterator[ResultRow]:
    """List result rows of a stack: its measures, each with its interval and n."""
    figures = list(stack.figures.values())
    columns: dict[str, list[float | None]] = {
        f"evidence@call{number}": [entry.after[min(number, len(entry.after)) - 1] for entry in figures]
        for number in CALLS
    }
    columns[ALL] = [entry.last for entry in figures]
    if stack.is_replay:
        columns |= {
            "evidence_low": [entry.low for entry in figures],
            "evidence_high": [entry.high for entry in figures],
        }
    first_missed = [entry for entry in figures if entry.after[0] == 0]
    columns |= {
        "full": [float(entry.full is not None) for entry in figures],
        "recovered": [float(entry.last > 0) for entry in first_missed],
        "calls": [float(len(entry.after)) for entry in figures],
        "calls_to_full": [None if entry.full is None else float(entry.full) for entry in figures],
        "seconds_to_full": [entry.seconds for entry in figures], "usd_to_full": [entry.usd for entry in figures],
        "repeated_documents": [entry.repeated for entry in figures],
        "repeated_queries": [entry.asked_again for entry in figures],
    }  # fmt: skip
    for measure, column in columns.items():
        yield _make_session_column_result(measure, column, stack.name, dataset, seed)


_ABSENT = {
    "recovered": "every first call found evidence", "calls_to_full": "no session found all the evidence",
    "seconds_to_full": "no time is known, or no session found all the evidence",
    "usd_to_full": "no cost is known, or no session found all the evidence",
    "repeated_documents": "no session has a second call", "repeated_queries": "no session has a second call with text",
}  # fmt: skip


def _make_session_column_result(
    measure: str, column: Sequence[float | None], stack: str, dataset: str, seed: int
) -> ResultRow:
    values = [value for value in column if value is not None]
    where = (PROTOCOL, TASK, dataset, "", "", "", stack, measure)
    if not values:
        reason = _ABSENT.get(measure, "no session counts")
        return ResultRow(*where, None, 0, None, None, "", seed, reason)
    if measure in ("full", "recovered"):
        share = wilson(float(np.mean(values)), len(values))
        return ResultRow(*where, share.value, len(values), share.low, share.high, "Wilson over sessions", seed)
    mean = bootstrap_ci(values, seed=seed)
    return ResultRow(*where, mean.value, len(values), mean.low, mean.high, "bootstrap over sessions", seed)


@dataclass(frozen=True)
class StackEvidenceDifference:
    """First minus second in evidence after all calls, over the `n` questions that both have sessions of."""

    first: str
    second: str
    n: int
    difference: float
    low: float
    high: float
    p: float


def compare_stacks_by_session_evidence(
    stacks: Sequence[MeasuredSessionsOfStack], seed: int
) -> list[StackEvidenceDifference]:
    """Every two stacks by the paired bootstrap, p corrected by Holm; pairs with fewer than two shared questions are
    left out."""
    pairs = []
    for first, second in combinations(stacks, 2):
        shared = [key for key in first.figures if key in second.figures]
        if len(shared) < 2:
            continue
        test = paired_bootstrap(first.values(shared), second.values(shared), seed=seed)
        pairs.append(StackEvidenceDifference(first.name, second.name, len(shared), test.point, *test.ends, test.p))
    corrected = holm([pair.p for pair in pairs])
    return [
        StackEvidenceDifference(pair.first, pair.second, pair.n, pair.difference, pair.low, pair.high, p)
        for pair, p in zip(pairs, corrected, strict=True)
    ]


@dataclass(frozen=True)
class StackSessionScores:
    """All scored stacks, the rows of their measures, and their comparisons."""

    dataset: str
    stacks: tuple[MeasuredSessionsOfStack, ...]
    rows: tuple[ResultRow, ...]
    pairs: tuple[StackEvidenceDifference, ...]
    notes: tuple[str, ...] = field(default=())

    def tables(self) -> Iterator[ColumnTable]:
        """Build the tables with a line for each stack, and one for each two stacks."""
        cells: dict[str, dict[str, ResultRow]] = {}
        for row in self.rows:
            cells.setdefault(row.system, {})[row.measure] = row
        replayed = any(stack.is_replay for stack in self.stacks)
        bounds = (
            number_column("at least", "evidence_low.value", 3),
            number_column("at most", "evidence_high.value", 3),
        )
        yield ColumnTable.of(
            "sessions", "Evidence found by sessions", cells.values(), text("stack", f"{ALL}.system"),
            *(number_column(f"call {place}", f"evidence@call{place}.value", 3) for place in CALLS),
            number_column("all calls", f"{ALL}.value", 3), number_column("low", f"{ALL}.ci_low", 3),
            number_column("high", f"{ALL}.ci_high", 3), *(bounds if replayed else ()),
            number_column("full", "full.value", 3),
            number_column("recovered", "recovered.value", 3), whole_number_column("sessions", f"{ALL}.n"),
            note="call N: share of the evidence (grade 4 or 5) found by the first N calls; full: sessions that "
                "found all of it; recovered: among sessions whose first call found none, those that found some later."
        )  # fmt: skip
        yield ColumnTable.of(
            "sessions_effort", "Effort to find all the evidence, and repeats", cells.values(), text(
                "stack", f"{ALL}.system"),
            number_column("calls", "calls.value", 2),
            number_column("calls to full", "calls_to_full.value", 2),
            number_column("seconds to full", "seconds_to_full.value", 2),
            number_column("USD to full", "usd_to_full.value", 4),
            number_column("repeated documents", "repeated_documents.value", 3),
            number_column("repeated queries", "repeated_queries.value", 3),
            note="Means over the sessions that found all the evidence; repeats are shares of later calls."
        )  # fmt: skip
        if self.pairs:
            yield ColumnTable.of(
                "sessions_pairs", "Stacks compared by evidence after all calls", self.pairs, text("first"),
                text("second"), number_column("first minus second", "difference", 3),
                number_column("low", "low", 3),
                number_column("high", "high", 3), number_column("p (Holm)", "p", 3),
                whole_number_column("sessions", "n"),
                note="Paired bootstrap over the questions for which both have sessions."
            )  # fmt: skip


def replay_and_score_sessions(
    request: SessionScoringRequest,
    out: Path | None = None,
    *,
    listener: SilentListener | None = None,
    max_usd: float | None = None,
) -> StackSessionScores:
    """Read, replay and compare sessions. Answers of retrievers are kept in the folder `out`, where asking goes on.

    UsageError and DataError as the readers raise them, and for stacks of one name; ModelError as retrievers do.
    """
    from embassay.protocols.live.runs import ask_retrievers_for_runs
    from embassay.protocols.rag.scoring.inputs import make_run_names_distinct, parse_named_path, strip_format_endings

    named = make_run_names_distinct([parse_named_path(given) for given in request.sessions])
    dataset = strip_format_endings(Path(request.qrels).resolve().name)
    evidence = _read_needed_passages_by_question(request)
    read = {name: read_search_sessions(path) for name, path in named}
    stacks = [measure_sessions_of_stack(name, str(path), read[name], evidence) for name, path in named]
    notes: list[str] = []
    if request.retrievers:
        if out is not None:
            check_same_run_arguments(RunFolder(out), request)
        recorded = next(iter(read.values()))
        asked = prepare_recorded_queries(request, recorded)
        with ask_retrievers_for_runs(request.retrievers, asked, out, listener=listener, max_usd=max_usd) as runs:
            replays, notes = _measure_replayed_sessions(runs, recorded, evidence, request.depth)
        stacks += replays
    if twice := {name for name, _ in named} & {stack.name for stack in stacks[len(named) :]}:
        raise UsageError(f"Two stacks are called {twice.pop()!r}.", mend="Rename one: --retriever new=SPEC.")
    rows = [row for stack in stacks for row in list_session_result_rows(stack, dataset, request.seed)]
    pairs = compare_stacks_by_session_evidence(stacks, request.seed)
    notes += [note for stack in stacks for note in stack.notes()]
    return StackSessionScores(dataset, tuple(stacks), tuple(rows), tuple(pairs), tuple(notes))


def _read_needed_passages_by_question(request: SessionScoringRequest) -> dict[str, frozenset[str]]:
    from embassay.protocols.rag.trace.pipeline import read_needed_passages

    needed = read_needed_passages(Path(request.qrels), request.mapping, request.grades, request.split)
    if not needed:
        raise DataError(
            "no question has evidence", path=request.qrels, expected="a document of grade 4 or 5",
            mend="Choose a grade map with --grades, such as binary."
        )  # fmt: skip
    return {query: frozenset(docs) for query, docs in needed.items()}


def prepare_recorded_queries(request: SessionScoringRequest, recorded: Sessions) -> QuestionsToAsk:
    """The recorded queries, each under the id of its question and the number of its call. UsageError for a call without
    text."""
    from embassay.protocols.live.runs import QuestionsToAsk

    texts = {}
    for key, calls in recorded.items():
        for place, call in enumerate(calls, 1):
            if not call.query:
                raise UsageError(
                    f"Call {place} of question {key!r} has no text, so it cannot be repeated.",
                    mend='Record what the agent asked: "query": "...".',
                )
            texts[f"{key}{MARK}{place}"] = call.query
    depth = request.depth or max(len(call.documents) for calls in recorded.values() for call in calls)
    return QuestionsToAsk(texts, max(1, depth), request.seed)


def _measure_replayed_sessions(
    runs: Sequence[LiveRetrieverRunOutcome],
    recorded: Sessions,
    evidence: Mapping[str, frozenset[str]],
    depth: int | None,
) -> tuple[list[MeasuredSessionsOfStack], list[str]]:
    """Measure the retrievers' answers to the recorded queries, as sessions."""
    stacks, notes = [], []
    for run in runs:
        sessions, failed = _rebuild_sessions_from_replay(run, recorded, depth)
        stacks.append(measure_sessions_of_stack(run.name, str(run.path), sessions, evidence, recorded, failed))
        notes += [f"{run.name}: {note}" for note in run.notes()]
    return stacks, notes


def _rebuild_sessions_from_replay(
    run: LiveRetrieverRunOutcome, recorded: Sessions, depth: int | None
) -> tuple[dict[str, tuple[SessionSearchCall, ...]], set[str]]:
    """Rebuild sessions from answers to replayed queries, and list questions with a failed call."""
    from embassay.data.judged_runs import rank_passages_by_question, read_run_entries

    listed = rank_passages_by_question(read_run_entries(run.path))
    sessions = {
        key: tuple(
            _make_replayed_call(call, listed.get(f"{key}{MARK}{place}", []), depth)
            for place, call in enumerate(calls, 1)
        )
        for key, calls in recorded.items()
    }
    return sessions, {key.rpartition(MARK)[0] for key in run.failed}


def _make_replayed_call(
    call: SessionSearchCall, hits: Sequence[tuple[str, float]], depth: int | None
) -> SessionSearchCall:
    """The answer to a recorded query: `depth` documents, or as many as were recorded, since the agent saw no more. Of a
    query that brought nothing nobody knows how many were wanted, and all count."""
    most = depth or len(call.documents) or len(hits)
    return SessionSearchCall(call.query, tuple(doc for doc, _ in hits[:most]))


def write_session_run_folder(
    scored: StackSessionScores, request: SessionScoringRequest, out: Path, command: str = ""
) -> Run:
    """A run's folder: results, tables, the figures of each session, manifest. UsageError where `out` holds a run of
    other arguments."""
    folder = RunFolder(out)
    check_same_run_arguments(folder, request)
    with folder.hold_folder_lock():
        folder.write_results(list(scored.rows))
        write_file_atomically(folder.path / "comparisons.json", format_value_as_json({"scopes": {}}) + "\n")
        write_tables(folder.path, scored.tables())
        lines = (
            format_value_as_json({"stack": stack.name, "query_id": key, **asdict(figures)})
            for stack in scored.stacks
            for key, figures in stack.figures.items()
        )
        write_file_atomically(folder.path / "sessions.jsonl", "".join(line + "\n" for line in lines))
        folder.write_manifest(_make_sessions_manifest(folder, scored, request, command))
    return Run(folder.path)


def _make_sessions_manifest(
    folder: RunFolder, scored: StackSessionScores, request: SessionScoringRequest, command: str
) -> dict[str, Any]:
    n = max(len(stack.figures) for stack in scored.stacks)
    systems = [
        {"name": stack.name, "kind": "run", "identity": stack.name, "facts": {"path": stack.path}}
        for stack in scored.stacks
    ]
    tasks = {TASK: {"n": n, "skipped": [], "warnings": list(scored.notes)}}
    dataset = {"name": scored.dataset, "source": request.qrels, "lang": "", "fingerprint": "", "tasks": tasks}
    cells = (
        {
            "key": stack.name, "task": TASK, "dataset": scored.dataset, "system": stack.name, "status": "done",
            "reason": "", "seconds": None, "counts": {"sessions": len(stack.figures), "missing": stack.missing},
            "skipped": [], "warnings": list(stack.notes()),
        }
        for stack in scored.stacks
    )  # fmt: skip
    return make_manifest_of_file_based_run(
        folder, PROTOCOL, command, request.as_dict(), systems=systems, datasets=[dataset], cells=cells
    )
