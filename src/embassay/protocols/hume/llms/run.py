"""Annotates a study with language models: resumes what is unfinished, and keeps every answer the moment it comes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embassay import __version__
from embassay.errors import UsageError
from embassay.protocols.hume.folder.reading import read_study
from embassay.protocols.hume.llms.annotator import LlmAnnotator
from embassay.protocols.hume.llms.answer_file import AnswerFile, answer_file
from embassay.protocols.hume.llms.answers import LLM, Status
from embassay.protocols.hume.llms.plan import Work, open_annotators, plan_work, waiting
from embassay.protocols.hume.llms.prompts import prompt
from embassay.protocols.hume.llms.request import AnnotateRequest
from embassay.protocols.hume.llms.scoring import LLM_FAMILIES
from embassay.protocols.manifest import moment, spent
from embassay.protocols.session import Silent
from embassay.runs.answers import AnswerCache
from embassay.runs.files import to_json, write_atomic
from embassay.runs.folder import RunFolder
from embassay.runs.spending import Spending
from embassay.systems.remote import Ledger

ACCOUNTS = "accounts"
"""The folder beside the answers with what all of them have cost."""


@dataclass(frozen=True)
class Annotated:
    """A model's answers to a task: how many are there of each status, of how many that were asked for."""

    model: str
    task: str
    family: str
    file: Path
    asked: int
    statuses: dict[Status, int]
    tokens: int
    usd: float | None

    def as_dict(self) -> dict[str, Any]:
        """For `--json`."""
        return {**vars(self), "file": str(self.file), "statuses": dict(self.statuses)}


@dataclass(frozen=True)
class Outcome:
    """What a session has come to, model by model and task by task; `spent` as manifests have it, over all sessions;
    `left_out` are tasks that language models do not annotate."""

    path: Path
    annotated: tuple[Annotated, ...]
    spent: dict[str, Any]
    left_out: tuple[str, ...]

    @property
    def failed(self) -> int:
        """Items whose call failed."""
        return sum(one.statuses.get("failed", 0) for one in self.annotated)


def annotate(
    study: Path,
    request: AnnotateRequest,
    *,
    cache: Path | None = None,
    listener: Silent | None = None,
    max_usd: float | None = None,
    replace: bool = False,
) -> Outcome:
    """Have language models answer the items of the study in the folder `study`; answers go to its `llm/`.

    What is answered already is not asked again; calls that failed are. `replace` discards earlier answers of these
    models. `max_usd` limits what all answers of the study's models cost, earlier sessions included.
    Raises UsageError for answers that were given under other settings, BudgetExceeded at the limit and ModelError for a
    model that cannot be had: what has come is kept.
    """
    work = plan_work(read_study(study), request)
    with _accounts(study, max_usd) as (spending, ledger), closing(AnswerCache.open(cache)) as answers:
        annotators = open_annotators(work, ledger, answers)
        files = {one.name: _opened(work, one, fresh=replace) for one in annotators}
        try:
            for one in annotators:
                spending.account = one.name
                _fill(work, one, files[one.name], listener or Silent())
        finally:
            for one in annotators:
                files[one.name].put_in_order()
            spending.close()
            for one in annotators:
                _write_settings(work, one, files[one.name])
        rows = tuple(row for one in annotators for row in _annotated(work, one, files[one.name]))
        left_out = tuple(task.name for task in work.left_out)
        return Outcome(study, rows, spent(spending, max_usd), left_out)


@contextmanager
def _accounts(study: Path, max_usd: float | None) -> Iterator[tuple[Spending, Ledger]]:
    """What the study's models have cost so far, held so that no other process annotates it meanwhile."""
    folder = RunFolder(study / LLM / ACCOUNTS)
    with folder.locked():
        spending = Spending(folder.spending, moment("milliseconds"))
        with closing(spending):
            yield (
                spending,
                Ledger(max_usd=max_usd, spent_usd=spending.counted_usd, journal=spending),
            )


def _opened(work: Work, annotator: LlmAnnotator, *, fresh: bool) -> AnswerFile:
    """The file of a model's answers. UsageError where its settings were others."""
    path = answer_file(work.folder.path, annotator.name, work.request.mode)
    held = _settings_file(path)
    if not fresh and path.exists() and held.exists():
        before = json.loads(held.read_text("utf-8"))["settings"]
        now = json.loads(to_json(work.settings(annotator)))
        if differing := [name for name in now if before.get(name) != now[name]]:
            raise UsageError(
                f"{path} holds answers of other settings: {', '.join(differing)} was {_brief(before, differing)}, now "
                f"{_brief(now, differing)}.",
                mend="Ask anew with --replace, or repeat the old settings to resume.",
            )
    file = AnswerFile(path, work.folder, fresh=fresh)
    _write_settings(work, annotator, file)
    return file


def _brief(settings: dict[str, Any], names: list[str]) -> str:
    return ", ".join(to_json(settings.get(name))[:60] for name in names)


def _fill(work: Work, annotator: LlmAnnotator, file: AnswerFile, listener: Silent) -> None:
    asks = [ask for task in work.tasks for ask in work.asks(task)]
    left = waiting(asks, file.answered())
    kept = f", {len(asks) - len(left)} of {len(asks)} answered before" if len(left) < len(asks) else ""
    if left:
        listener.stage(f"asking {annotator.name}{kept}", len(left), "answers")
    for row in annotator.answers(left, listener.advanced_by):
        file.append(row)


def _annotated(work: Work, annotator: LlmAnnotator, file: AnswerFile) -> Iterator[Annotated]:
    for task in work.tasks:
        asks = work.asks(task)
        rows = [file.rows[key] for ask in asks if (key := (ask.item.id, ask.run)) in file.rows]
        tokens = sum((row.tokens_in or 0) + (row.tokens_out or 0) for row in rows)
        known = all(row.usd is not None for row in rows)
        usd = sum(row.usd or 0.0 for row in rows) if known else None
        statuses = Counter(row.status for row in rows)
        yield Annotated(
            annotator.name,
            task.name,
            task.family,
            file.path,
            len(asks),
            dict(sorted(statuses.items())),
            tokens,
            usd,
        )


def _settings_file(path: Path) -> Path:
    return path.with_suffix(".json")


def _write_settings(work: Work, annotator: LlmAnnotator, file: AnswerFile) -> None:
    """Beside the answers: all that they depend on, every word of the prompts, and who answered."""
    left_out = getattr(annotator.chat.model, "left_out", ())
    said = {
        "embassay": __version__,
        "settings": work.settings(annotator),
        "prompts": {
            task.name: prompt(task, work.request.mode).as_dict()
            for task in work.folder.study.tasks
            if task.family in LLM_FAMILIES
        },
        "answered_by": sorted(annotator.models) or _before(file.path),
        "not_taken": list(left_out),
        "statuses": dict(sorted(Counter(row.status for row in file.rows.values()).items())),
    }
    write_atomic(_settings_file(file.path), to_json(said, indent=1) + "\n")


def _before(path: Path) -> list[str]:
    held = _settings_file(path)
    return list(json.loads(held.read_text("utf-8")).get("answered_by", [])) if held.exists() else []
