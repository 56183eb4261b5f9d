"""The stages of a golden run: where a query's artefacts lie, how far it has come, doing a stage for many.

    manifest.json  questions_manifest.json  results.jsonl  golden.json  tables/  export/
    q07/s1_rewrites/q07.json
    q07/s2_candidates/dense/q07.top50.jsonl   q07/s2_candidates/sparse/q07.top50.jsonl
    q07/s3_merge/q07.merge.jsonl
    q07/s4_scores/q07.scores.jsonl
    q07/s5_pruned/q07.top35plus.jsonl
    q07/s6_ranked/q07.top20.jsonl

Beside its files every stage folder has a `manifest.json`, and an empty `_SUCCESS` once it is whole.

What a stage makes of a query is written to a temporary name and renamed, then a manifest says what it was made with,
from and into, then an empty `_SUCCESS` says that all is there. A stage is skipped only where `_SUCCESS` is there and
the manifest's parameters and the SHA-256 of its inputs are the present ones; otherwise it and all later ones are done
again (spec rag 4).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from embassay.errors import DataError
from embassay.limits import WHOLE, parse_json_written_by_embassay, read_bounded_file
from embassay.protocols.kernel.outcome import format_current_utc_time
from embassay.runs.folder import digest_json, format_value_as_json, slugify_name, write_file_atomically

STAGES: Mapping[str, str] = {
    "S1": "s1_rewrites",
    "S2": "s2_candidates",
    "S3": "s3_merge",
    "S4": "s4_scores",
    "S5": "s5_pruned",
    "S6": "s6_ranked",
}
"""The stages in their order, with the name of the folder of each."""
MANIFEST, SUCCESS = "manifest.json", "_SUCCESS"
_NUMBERED = re.compile(r"Q([0-9]{1,9})")


@dataclass(frozen=True)
class SingleQueryFolder:
    """The files of one query; `name` is that of its folder in the folder of the `run`."""

    run: Path
    name: str

    @property
    def path(self) -> Path:
        """The path of the query's folder."""
        return self.run / self.name

    def stage(self, stage: str) -> Path:
        """The path of the folder of a stage: `S1` to `S6`."""
        return self.path / STAGES[stage]

    def manifest(self, stage: str) -> Path:
        """The path of what the stage was done with, from and to."""
        return self.stage(stage) / MANIFEST

    def stage_success_path(self, stage: str) -> Path:
        """The path of an empty file that is there when the stage is whole."""
        return self.stage(stage) / SUCCESS

    @property
    def rewrite_path(self) -> Path:
        """The path in S1 of the question, its rewriting and the vector of that."""
        return self.stage("S1") / f"{self.name}.json"

    def dense_hits_path(self, k: int) -> Path:
        """The path in S2 of the first k by cosine."""
        return self.stage("S2") / "dense" / f"{self.name}.top{k}.jsonl"

    def sparse_hits_path(self, k: int) -> Path:
        """The path in S2 of the first k by BM25."""
        return self.stage("S2") / "sparse" / f"{self.name}.top{k}.jsonl"

    @property
    def passages_from_runs_path(self) -> Path:
        """The path of what runs brought: a line of `run`, `doc_id` and `rank` for each passage."""
        return self.path / "added.jsonl"

    @property
    def fused_list_path(self) -> Path:
        """The path in S3 of both lists as one, by RRF."""
        return self.stage("S3") / f"{self.name}.merge.jsonl"

    @property
    def scores(self) -> Path:
        """The path in S4 of the scores: the same passages with their grades."""
        return self.stage("S4") / f"{self.name}.scores.jsonl"

    @property
    def kept_verdicts_path(self) -> Path:
        """The path in S4, while it goes on, of a line for every verdict, the moment it comes."""
        return self.stage("S4") / f"{self.name}.kept.jsonl"

    def get_path_of_best_grade_buckets(self, minimum: int) -> Path:
        """The path in S5 of the best whole buckets of grades that hold so many passages."""
        return self.stage("S5") / f"{self.name}.top{minimum}plus.jsonl"

    def ranked(self, top: int) -> Path:
        """The path in S6 of the first `top` in their final order."""
        return self.stage("S6") / f"{self.name}.top{top}.jsonl"

    @property
    def order(self) -> Path:
        """The path in S6 of all passages that S5 kept, in their final order."""
        return self.stage("S6") / f"{self.name}.order.jsonl"

    @property
    def calls(self) -> Path:
        """The path in S6 of the judge's orders, a line for each from the moment that it came."""
        return self.stage("S6") / f"{self.name}.calls.jsonl"

    @property
    def ranking_checkpoint_path(self) -> Path:
        """The path in S6 of the state of the ranking, for people."""
        return self.stage("S6") / f"{self.name}.checkpoint.json"

    @property
    def ranking_preview_path(self) -> Path:
        """The path in S6 of the final order as text to read."""
        return self.stage("S6") / f"{self.name}.preview.md"


def make_query_folder_names(ids: Sequence[str]) -> dict[str, str]:
    """Query id -> name of its folder, no two alike even where case does not count.

    `Q7` and `Q07` are q07, and of several that would share a name only the first has it. Any other id becomes a safe
    name after `q_`, so that no folder is mistaken for a file of the run.

    >>> make_query_folder_names(["Q7", "Q112", "PLAIN-3", "a/b", "A/B"])
    {'Q7': 'q07', 'Q112': 'q112', 'PLAIN-3': 'q_PLAIN-3', 'a/b': 'q_a_b-230946ed', 'A/B': 'q_A_B-f4ddc50a'}
    """
    names: dict[str, str] = {}
    taken: set[str] = set()
    for key in ids:
        numbered = _NUMBERED.fullmatch(key)
        name = f"q{int(numbered[1]):02d}" if numbered else f"q_{slugify_name(key)}"
        # 8 digits of a digest collide some day; 32 are the whole of it.
        for length in (8, 16, 32):
            if name.casefold() in taken:
                name = f"q_{slugify_name(key)}-{digest_json(key)[:length]}"
        taken.add(name.casefold())
        names[key] = name
    return names


@dataclass(frozen=True)
class QueryStatusWithLastStage:
    """A query: `status` is done, failed (in `stage`, for a `reason`) or not run; of the latter `stage` is the last that
    is done, empty for none. `counts` are those of all its stages that are done."""

    id: str
    text: str
    folder: SingleQueryFolder
    status: str
    stage: str = ""
    reason: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)

    def is_stage_done(self, stage: str) -> bool:
        """Whether this stage is done."""
        return self.status == "done" or (self.status == "not run" and self.stage >= stage) or self.stage > stage


States = Sequence[QueryStatusWithLastStage]


def make_query_stage_statuses(
    queries: Sequence[QueryWithFolder], failed: Mapping[str, tuple[str, str]]
) -> tuple[QueryStatusWithLastStage, ...]:
    """The states of the queries, of which some have `failed` (id -> stage and reason)."""
    return tuple(_make_query_stage_status(asked, failed.get(asked.id)) for asked in queries)


def _make_query_stage_status(asked: QueryWithFolder, failure: tuple[str, str] | None) -> QueryStatusWithLastStage:
    done = []
    for stage in STAGES:
        if not asked.folder.stage_success_path(stage).exists():
            break
        done.append(stage)
    counts: dict[str, int] = {}
    for stage in done:
        counts |= (read_stage_manifest(asked.folder, stage) or {}).get("counts", {})
    if failure is not None:
        return QueryStatusWithLastStage(asked.id, asked.text, asked.folder, "failed", *failure, counts)
    status = "done" if len(done) == len(STAGES) else "not run"
    return QueryStatusWithLastStage(asked.id, asked.text, asked.folder, status, done[-1] if done else "", "", counts)


Plain = Mapping[str, Any]


@dataclass(frozen=True)
class StageInputFile:
    """A file that a stage reads: its path (within the run for what the run made itself) and its SHA-256."""

    path: str
    sha256: str


@dataclass(frozen=True)
class QueryStageOutput:
    """What a stage made of one query: the content of each file, and counts of what is in them."""

    files: Mapping[Path, str]
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class QueryWithFolder:
    """A query of the run and its folder."""

    id: str
    text: str
    folder: SingleQueryFolder


Done = Callable[[QueryWithFolder, QueryStageOutput], None]


class GoldenStage(Protocol):
    """A stage with its settings."""

    @property
    def stage(self) -> str:
        """The name of the stage, `S1` to `S6`."""
        ...

    @property
    def parameters(self) -> Plain:
        """All settings that its artefacts depend on, as JSON values."""
        ...

    def inputs(self, asked: QueryWithFolder) -> Sequence[StageInputFile]:
        """The files that it reads for a query, as they are now."""
        ...

    def do(self, waiting: Sequence[QueryWithFolder], done: Done) -> Mapping[str, str]:
        """Do the stage for these queries, calling `done` for each as soon as it is; query id -> reason for those that
        it could not be done for."""
        ...


@dataclass(frozen=True)
class QueriesDoneByStage:
    """How a stage went: queries it was done for now, and before, and why it failed for others."""

    done: tuple[str, ...]
    kept: tuple[str, ...]
    failed: Mapping[str, str]


def run_stage_for_unfinished_queries(
    step: GoldenStage, queries: Sequence[QueryWithFolder], run_id: str
) -> QueriesDoneByStage:
    """Do the stage for the queries that it is not done for already."""
    inputs = {asked.id: tuple(step.inputs(asked)) for asked in queries}
    waiting = [query for query in queries if not is_stage_complete(step, query.folder, inputs[query.id])]
    kept = {query.id for query in queries} - {query.id for query in waiting}
    for asked in waiting:
        mark_stages_undone_from(asked.folder, step.stage)
    done: list[str] = []

    def complete_query_stage(asked: QueryWithFolder, product: QueryStageOutput) -> None:
        write_stage_output(step, asked, inputs[asked.id], product, run_id)
        done.append(asked.id)

    failed = step.do(waiting, complete_query_stage) if waiting else {}
    return QueriesDoneByStage(tuple(done), tuple(query.id for query in queries if query.id in kept), dict(failed))


def is_stage_complete(step: GoldenStage, folder: SingleQueryFolder, inputs: Sequence[StageInputFile]) -> bool:
    """Whether the stage is whole for a query, with the present parameters and inputs."""
    if not folder.stage_success_path(step.stage).exists():
        return False
    manifest = read_stage_manifest(folder, step.stage)
    if manifest is None or manifest["parameters"] != json.loads(format_value_as_json(step.parameters)):
        return False
    if [file["sha256"] for file in manifest["inputs"]] != [file.sha256 for file in inputs]:
        return False
    return all((folder.run / output["path"]).is_file() for output in manifest["outputs"])


def write_stage_output(
    step: GoldenStage, asked: QueryWithFolder, inputs: Sequence[StageInputFile], product: QueryStageOutput, run_id: str
) -> None:
    """Write what the stage made of a query, then its manifest, then `_SUCCESS`."""
    folder = asked.folder
    for path, content in product.files.items():
        write_file_atomically(path, content)
    _delete_other_files(folder.stage(step.stage), keep=product.files)
    manifest = {
        "run_id": run_id,
        "qid": asked.id,
        "stage": step.stage,
        "parameters": step.parameters,
        "counts": dict(product.counts),
        "inputs": [{"path": file.path, "sha256": file.sha256} for file in inputs],
        "outputs": [
            {"path": path.relative_to(folder.run).as_posix(), "sha256": hash_sha256(content.encode())}
            for path, content in product.files.items()
        ],
        "finished_at": format_current_utc_time(),
    }
    write_file_atomically(folder.manifest(step.stage), format_value_as_json(manifest, indent=1) + "\n")
    write_file_atomically(folder.stage_success_path(step.stage), "")


def mark_stages_undone_from(folder: SingleQueryFolder, stage: str) -> None:
    """Say that this stage and all later ones are not done, the last first: a kill leaves no gap."""
    for later in reversed(list_stages_from(stage)):
        folder.stage_success_path(later).unlink(missing_ok=True)


def delete_stages_from(folder: SingleQueryFolder, stage: str) -> None:
    """`mark_stages_undone_from`, and leave nothing of what these stages made: what was judged is judged again."""
    mark_stages_undone_from(folder, stage)
    for later in list_stages_from(stage):
        if folder.stage(later).is_dir():
            _delete_other_files(folder.stage(later), keep=())
            folder.manifest(later).unlink(missing_ok=True)


def list_stages_from(stage: str) -> tuple[str, ...]:
    """The stage and all later ones.

    >>> list_stages_from("S5")
    ('S5', 'S6')
    """
    names = tuple(STAGES)
    return names[names.index(stage) :]


def read_stage_manifest(folder: SingleQueryFolder, stage: str) -> dict[str, Any] | None:
    """What the manifest of a stage says; None where there is none that can be read."""
    try:
        manifest = parse_json_written_by_embassay(read_bounded_file(folder.manifest(stage)).decode("utf-8"))
        return manifest if {"parameters", "inputs", "outputs", "counts"} <= manifest.keys() else None
    except (DataError, OSError, ValueError, AttributeError):
        return None


def hash_stage_input_file(path: Path, run: Path) -> StageInputFile:
    """A file of the run as an input. DataError where it is not there."""
    try:
        return StageInputFile(path.relative_to(run).as_posix(), hash_sha256(read_bounded_file(path, WHOLE)))
    except OSError as error:
        raise DataError(
            "a file of an earlier stage cannot be read", path=path, found=error.strerror or str(error),
            mend=f"Redo that stage with --from-stage {_find_stage_of_path(path)}."
        ) from error  # fmt: skip


def read_json_line_rows(path: Path) -> list[dict[str, Any]]:
    """The JSON objects of an artefact, a line each; DataError with the line for one that is none."""
    rows = []
    # Not splitlines of a text: a passage may hold one of the other line separators of Unicode.
    for number, line in enumerate(read_bounded_file(path, WHOLE).removesuffix(b"\n").split(b"\n"), start=1):
        if not line:
            continue
        try:
            row = parse_json_written_by_embassay(line)
            if not isinstance(row, dict):
                raise ValueError("not an object")
        except ValueError as error:
            raise DataError(
                "the line is not a JSON object", path=path, line=number, found=str(error),
                mend=f"Redo its stage with --from-stage {_find_stage_of_path(path)}."
            ) from error  # fmt: skip
        rows.append(row)
    return rows


def hash_sha256(content: bytes) -> str:
    """The SHA-256 hash of the content, as 64 hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def _delete_other_files(folder: Path, keep: Iterable[Path]) -> None:
    """Remove what earlier settings left: a list of another depth must not be taken for this one."""
    kept = set(keep)
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path not in kept and path.name not in (MANIFEST, SUCCESS):
            path.unlink()


def _find_stage_of_path(path: Path) -> str:
    return next((stage for stage, name in STAGES.items() if name in path.parts), "S1")
