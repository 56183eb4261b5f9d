"""A study annotated by language models, every answer kept the moment it comes; and where people answer beside them.

Every item has several draws of the model. Where all draws agree its answer may stand; people get the others, and a
sample of those that agree. Where people contradict the sample more than may be, the model is biased, and its answers
stand for nothing: people get the task whole. Ours; HUME names it as future work.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from embassay import __version__
from embassay.errors import UsageError
from embassay.protocols.hume.llms.annotator import (
    ItemAnnotationRequest,
    LlmAnnotator,
    LlmAnnotatorOptions,
    build_item_messages,
    task_prompt,
)
from embassay.protocols.hume.llms.answers import (
    LLM,
    LLM_FAMILIES,
    AnswersOfOneLlm,
    LlmAnswerFile,
    Status,
    llm_answer_path,
    read_llm_answers,
)
from embassay.protocols.hume.options import AnnotateRequest, LlmAnswerAcceptanceOptions
from embassay.protocols.hume.published.standings import agreement_trust_level
from embassay.protocols.hume.record import TaskDividedWithLlm, Trust
from embassay.protocols.hume.resampling import agreement_intervals
from embassay.protocols.hume.results.contestants import AnsweredTask, read_answered_tasks
from embassay.protocols.hume.sampling.pools import seeded_order
from embassay.protocols.hume.scoring import people_agreement
from embassay.protocols.hume.study import Family, StudyFolder, StudyTask, read_study
from embassay.protocols.kernel.outcome import format_current_utc_time, summarise_run_spending
from embassay.protocols.kernel.session import SilentListener, make_unknown_price_error
from embassay.runs.folder import RunFolder, format_value_as_json, write_file_atomically, write_json
from embassay.runs.forecast import CellForecast, RunForecast, estimate_server_seconds
from embassay.runs.spending import RunSpendingJournal
from embassay.runs.store import CachedChatModel, ChatAnswerCache
from embassay.stats import wilson
from embassay.stats.intervals import Estimate
from embassay.systems.chat import fit_chat_without_thinking_to_context, open_chat_with_options
from embassay.systems.remote import Ledger
from embassay.systems.remote.ledger import estimate_server_tokens

Why = Literal["agreed", "disagree", "check", "biased", "unread"]
"""Why an item is the model's (`agreed`), or people's: its draws disagree, it is of the sample, the model is biased, an
answer could not be read."""
FAMILIES: tuple[Family, ...] = ("classification", "sts")
"""Families whose items have one answer each. Clusters have none, and documents are judged several at a time."""


@dataclass(frozen=True)
class HybridTaskDivision:
    """A task: of every item why it is whose, and its value where there is one. `contradicted` is the share of the
    sample that people contradict, with Wilson's 95% interval, None where nobody has answered of it yet; `open` are the
    items that wait for people."""

    task: str
    why: Mapping[str, Why]
    values: Mapping[str, Any]
    open: tuple[str, ...]
    contradicted: Estimate | None = None
    biased: bool = field(default=False, kw_only=True)
    llm: str = field(default="", kw_only=True)
    scripts: tuple[str, ...] = field(default=(), kw_only=True)

    @property
    def share_of_people(self) -> float:
        """The share of the items that people answer, 0 to 1."""
        return sum(why != "agreed" for why in self.why.values()) / len(self.why) if self.why else math.nan

    @property
    def count_items_people_can_skip(self) -> int:
        """The items that nobody needs to answer."""
        return sum(why == "agreed" for why in self.why.values())


def divide_task_items(
    task: str,
    family: Family,
    draws: Mapping[str, Sequence[Any]],
    people: Mapping[str, Any],
    options: LlmAnswerAcceptanceOptions | None = None,
) -> HybridTaskDivision:
    """Decide a task. `draws` are item -> the model's answers (None: not read), `people` item -> people's answer as far
    as there is one.

    An answer of people always stands. The sample is drawn with the seed among the items whose draws agree, and does not
    depend on what people said. UsageError for fewer than two draws of an item, and for another family.
    """
    options = options or LlmAnswerAcceptanceOptions()
    if family not in FAMILIES:
        raise UsageError(
            f"{task} is a {family} task.", mend=f"Hybrid annotation supports only {' and '.join(FAMILIES)}."
        )
    if short := [item for item, drawn in draws.items() if len(drawn) < 2]:
        raise UsageError(
            f"{task}: the model answered {short[0]} only once, so its consistency cannot be checked.",
            mend="Request more answers: embassay hume annotate STUDY --llm NAME --runs 3.",
        )
    why: dict[str, Why] = {
        item: _find_agreement_of_repeated_answers(family, drawn, options) for item, drawn in draws.items()
    }
    agreed = [item for item, state in why.items() if state == "agreed"]
    size = min(len(agreed), max(options.least, math.ceil(options.check * len(agreed)))) if options.check else 0
    for place in seeded_order(agreed, options.seed, "hybrid", task)[:size]:
        why[agreed[place]] = "check"
    contradicted = _estimate_llm_people_contradiction_share(
        family, draws, people, [i for i, w in why.items() if w == "check"], options
    )
    # Bias is what the interval says, not the share of a few items.
    biased = contradicted is not None and contradicted.ends[0] > options.most_wrong
    if biased:
        why = {item: "biased" if state == "agreed" else state for item, state in why.items()}
    drawn = {item: pool_item_answers(family, draws[item]) for item, state in why.items() if state == "agreed"}
    values = drawn | {item: value for item, value in people.items() if item in draws}
    waiting = tuple(item for item in draws if item not in values)
    return HybridTaskDivision(task, why, values, waiting, contradicted, biased=biased)


def divide_study_tasks(
    folder: StudyFolder, llm: str = "", options: LlmAnswerAcceptanceOptions | None = None
) -> tuple[HybridTaskDivision, ...]:
    """The tasks of a study that a language model answered, decided with what people answered by now.

    `llm` is its name, which may be left out where one answered. UsageError for another name, for several models without
    one, and for a model with a single draw.
    """
    every = [answer for answer in read_llm_answers(folder) if not llm or answer.model == llm]
    models = ", ".join(dict.fromkeys(answer.model for answer in read_llm_answers(folder)))
    names = dict.fromkeys(llm_answers.model for llm_answers in every)
    if len(names) != 1:
        what = (
            f"{llm!r} has not answered this study"
            if llm
            else "Several models have answered this study"
            if names
            else "No language model has answered this study"
        )
        mend = (
            f"Choose one with --llm: {models}." if models else "Run embassay hume annotate STUDY --llm NAME --runs 3."
        )
        raise UsageError(f"{what}.", mend=mend)
    people = read_answered_tasks(folder, folder.study.tasks, anyone=False)
    tasks = []
    for task in people:
        draws = next(
            (drawn for llm_answers in every if (drawn := group_answers_of_runs_by_item(llm_answers, task))), {}
        )
        if draws and task.task.family in FAMILIES:
            done = divide_task_items(task.task.name, task.task.family, draws, people_consensus(task), options)
            scripts = tuple(worker.id for worker in task.workers if worker.kind == "simulated")
            tasks.append(replace(done, llm=next(iter(names)), scripts=scripts))
    if not tasks:
        raise UsageError(
            f"{next(iter(names))} has not answered any {' or '.join(FAMILIES)} task.",
            mend="Hybrid annotation needs a task with one answer per item.",
        )
    return tuple(tasks)


Owner = Literal["people", "model"]


@dataclass(frozen=True)
class TaskOwnership:
    """Whose a whole task is, by how far people agree on it: theirs where agreement is high, as their answers then are
    reliable; else the model's, where one answered. `agreement` is the headline coefficient of the family with its 95%
    interval over items (None where fewer than two people share an item), `n` the items behind it; `reason` says why.
    """

    task: str
    family: Family
    owner: Owner
    trust: Trust | None
    agreement: float | None
    low: float | None
    high: float | None
    n: int
    people: int
    items: int
    answered: int
    by_model: int
    reason: str

    @property
    def is_agreement_level_certain(self) -> bool:
        """Whether the interval lies on one side of where agreement becomes high."""
        if self.low is None or self.high is None:
            return False
        return (
            agreement_trust_level(self.family, self.low) == "high"
            or agreement_trust_level(self.family, self.high) != "high"
        )


def decide_task_owners(folder: StudyFolder, llm: str = "") -> tuple[TaskOwnership, ...]:
    """Whose each task of a study is by the agreement of people, reranking and clustering among them: the second rule of
    HUME's discussion. Scripts are no people. UsageError where nobody has answered any task."""
    answered = read_answered_tasks(folder, folder.study.tasks, anyone=False)
    models = [answer for answer in read_llm_answers(folder) if not llm or answer.model == llm]
    owned = tuple(_decide_task_owner(task, models) for task in answered)
    if not any(task.people for task in owned):
        raise UsageError("Nobody has answered this study.", mend="Serve it: embassay hume serve STUDY.")
    return owned


def _decide_task_owner(task: AnsweredTask, models: Sequence[AnswersOfOneLlm]) -> TaskOwnership:
    persons = {worker.id for worker in task.workers if worker.kind == "person"}
    answers = {name: given for name, given in task.answers.items() if name in persons and given}
    family, name = task.task.family, task.task.name
    agreement = people_agreement(family, answers)
    value = None if math.isnan(agreement.value) or agreement.annotators < 2 else float(agreement.value)
    interval = Estimate(None)
    if value is not None:
        interval = agreement_intervals(family, answers).get(agreement.coefficient, interval)
    trust = agreement_trust_level(family, value)
    read = {row.item_id for of in models for row in of.of(name) if row.status == "ok"}
    owner: Owner = "people" if trust in (None, "high") or not read else "model"
    return TaskOwnership(
        name, family, owner, trust, value, interval.low, interval.high, 0 if value is None else agreement.items,
        len(answers), len(task.items), len({item for given in answers.values() for item in given}), len(read),
        _explain_who_answers_task(trust, len(answers), bool(read))
    )  # fmt: skip


def _explain_who_answers_task(trust: Trust | None, people: int, has_model: bool) -> str:
    if trust is None:
        few = (
            "nobody has answered"
            if not people
            else "only one person has answered"
            if people == 1
            else "people share no items"
        )
        return f"agreement is unknown: {few}"
    if trust == "high":
        return "people agree"
    return f"agreement is {trust}" + ("" if has_model else ", and no model has answered")


def make_records_of_tasks_divided_with_llm(tasks: Sequence[HybridTaskDivision]) -> tuple[TaskDividedWithLlm, ...]:
    """The record of the tasks, which terminal and report are made from."""
    return tuple(
        TaskDividedWithLlm(
            task=task.task,
            llm=task.llm,
            items=len(task.why),
            counts=dict(Counter(task.why.values())),
            contradicted=Estimate(value=None, reason="nobody has answered any item in the sample yet")
            if (wrong := task.contradicted) is None
            else replace(wrong, method="Wilson"),
            biased=task.biased,
            open=len(task.open),
            scripts=task.scripts,
        )
        for task in tasks
    )


def write_hybrid_answers(path: Path, tasks: Sequence[HybridTaskDivision]) -> None:
    """A line per item: task, whose it is and why, and its value, null while it waits for people."""
    lines = (
        format_value_as_json({"task": task.task, "item_id": item, "why": why, "value": task.values.get(item)}) + "\n"
        for task in tasks
        for item, why in task.why.items()
    )
    write_file_atomically(path, "".join(lines))


def group_answers_of_runs_by_item(answers: AnswersOfOneLlm, task: AnsweredTask) -> dict[str, list[Any]]:
    """Item -> the answers of every run, None for one that was not read; items nobody asked about have no entry."""
    draws: dict[str, list[Any]] = {}
    for row in sorted(answers.of(task.task.name), key=lambda row: row.run):
        draws.setdefault(row.item_id, []).append(row.value if row.status == "ok" else None)
    return {item: draws[item] for item in task.items if item in draws}


def people_consensus(task: AnsweredTask) -> dict[str, Any]:
    """Item -> what people say together: of labels the one most give, of ratings the mean; a tie is the smallest.
    Scripts are no people: what they say may be the gold."""
    by_item: dict[str, list[Any]] = {}
    for name in (worker.id for worker in task.workers if worker.kind == "person"):
        for item, value in task.answers[name].items():
            by_item.setdefault(item, []).append(value)
    return {item: pool_item_answers(task.task.family, values) for item, values in by_item.items()}


def pool_item_answers(family: Family, values: Sequence[Any]) -> Any:
    """One answer of several, as people's are made one: the label that most give (of equals the smallest), the mean
    rating.

    >>> pool_item_answers("classification", ["b", "a", "b"]), pool_item_answers("classification", ["b", "a"])
    ('b', 'a')
    >>> pool_item_answers("sts", [1, 2])
    1.5
    """
    if family == "sts":
        return math.fsum(map(float, values)) / len(values)
    counts = Counter(map(str, values))
    return min(counts, key=lambda count: (-counts[count], count))


def _find_agreement_of_repeated_answers(
    family: Family, draws: Sequence[Any], options: LlmAnswerAcceptanceOptions
) -> Why:
    if any(draw is None for draw in draws):
        return "unread"
    if family == "sts":
        return "agreed" if max(map(float, draws)) - min(map(float, draws)) <= options.tolerance else "disagree"
    return "agreed" if len(set(map(str, draws))) == 1 else "disagree"


def _estimate_llm_people_contradiction_share(
    family: Family,
    draws: Mapping[str, Sequence[Any]],
    people: Mapping[str, Any],
    sample: Sequence[str],
    options: LlmAnswerAcceptanceOptions,
) -> Estimate | None:
    answered = [item for item in sample if item in people]
    if not answered:
        return None
    wrong = sum(
        _do_answers_differ(family, pool_item_answers(family, draws[item]), people[item], options) for item in answered
    )
    return wilson(wrong / len(answered), len(answered))


def _do_answers_differ(family: Family, one: Any, other: Any, options: LlmAnswerAcceptanceOptions) -> bool:
    return abs(float(one) - float(other)) > options.tolerance if family == "sts" else str(one) != str(other)


ACCOUNTS = "accounts"
"""The folder beside the answers with what all of them have cost."""


@dataclass(frozen=True)
class LlmTaskAnswerCounts:
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
class LlmAnnotationSessionTotals:
    """What a session has come to, model by model and task by task; `spent` as manifests have it, over all sessions;
    `left_out` are tasks that language models do not annotate."""

    path: Path
    annotated: tuple[LlmTaskAnswerCounts, ...]
    spent: dict[str, Any]
    left_out: tuple[str, ...]

    @property
    def failed(self) -> int:
        """The number of items whose call to the model failed."""
        return sum(task.statuses.get("failed", 0) for task in self.annotated)


def annotate(
    study: Path,
    request: AnnotateRequest,
    *,
    cache: Path | None = None,
    listener: SilentListener | None = None,
    max_usd: float | None = None,
    replace: bool = False,
) -> LlmAnnotationSessionTotals:
    """Have language models answer the items of the study in the folder `study`; answers go to its `llm/`.

    What is answered already is not asked again; calls that failed are. `replace` discards earlier answers of these
    models. `max_usd` limits what all answers of the study's models cost, earlier sessions included.
    Raises UsageError for answers that were given under other settings, BudgetExceeded at the limit and ModelError for a
    model that cannot be had: what has come is kept.
    """
    work = plan_annotation_work(read_study(study), request)
    with (
        _hold_study_spending_and_ledger(study, max_usd) as (spending, ledger),
        closing(ChatAnswerCache.open(cache)) as answers,
    ):
        annotators = open_llm_annotators(work, ledger, answers)
        files = {who.name: _open_llm_answer_file(work, who, fresh=replace) for who in annotators}
        try:
            for annotator in annotators:
                spending.account = annotator.name
                _ask_missing_answers(work, annotator, files[annotator.name], listener or SilentListener())
        finally:
            for annotator in annotators:
                files[annotator.name].write_llm_answers_in_study_order()
            spending.close()
            for annotator in annotators:
                _write_answer_settings(work, annotator, files[annotator.name])
        rows = tuple(row for who in annotators for row in _count_llm_task_answers(work, who, files[who.name]))
        left_out = tuple(task.name for task in work.left_out)
        return LlmAnnotationSessionTotals(study, rows, summarise_run_spending(spending, max_usd), left_out)


@contextmanager
def _hold_study_spending_and_ledger(study: Path, max_usd: float | None) -> Iterator[tuple[RunSpendingJournal, Ledger]]:
    """Open the study's record of spending and its ledger, held by one process at a time."""
    folder = RunFolder(study / LLM / ACCOUNTS)
    with folder.hold_folder_lock():
        spending = RunSpendingJournal(folder.spending_path, format_current_utc_time("milliseconds"))
        with closing(spending):
            yield (spending, Ledger(max_usd=max_usd, spent_usd=spending.usd_counted_by_limit, journal=spending))


def _open_llm_answer_file(work: LlmAnnotationWork, annotator: LlmAnnotator, *, fresh: bool) -> LlmAnswerFile:
    """The file of a model's answers. UsageError where its settings were others."""
    path = llm_answer_path(work.folder.path, annotator.name, work.request.mode)
    held = _answer_settings_path(path)
    if not fresh and path.exists() and held.exists():
        before = json.loads(held.read_text("utf-8"))["settings"]
        # By way of JSON, so that tuples compare as the lists that the file has.
        now = json.loads(format_value_as_json(work.collect_llm_answer_settings(annotator)))
        if differing := [name for name in now if before.get(name) != now[name]]:
            raise UsageError(
                f"{path} contains answers made with different settings: {', '.join(differing)} was "
                f"{_format_settings_briefly(before, differing)}, now {_format_settings_briefly(now, differing)}.",
                mend="Request new answers with --replace, or repeat the old settings to resume.",
            )
    file = LlmAnswerFile(path, work.folder, fresh=fresh)
    _write_answer_settings(work, annotator, file)
    return file


def _format_settings_briefly(settings: dict[str, Any], names: list[str]) -> str:
    return ", ".join(format_value_as_json(settings.get(name))[:60] for name in names)


def _ask_missing_answers(
    work: LlmAnnotationWork, annotator: LlmAnnotator, file: LlmAnswerFile, listener: SilentListener
) -> None:
    asks = [ask for task in work.tasks for ask in work.list_annotation_requests(task)]
    left = list_unanswered_items(asks, file.answered())
    kept = f", {len(asks) - len(left)} of {len(asks)} answered before" if len(left) < len(asks) else ""
    if left:
        listener.stage(f"asking {annotator.name}{kept}", len(left), "answers")
    for row in annotator.answers(left, listener.advanced_by):
        file.append(row)


def _count_llm_task_answers(
    work: LlmAnnotationWork, annotator: LlmAnnotator, file: LlmAnswerFile
) -> Iterator[LlmTaskAnswerCounts]:
    for task in work.tasks:
        asks = work.list_annotation_requests(task)
        rows = [file.rows[key] for ask in asks if (key := (ask.item.id, ask.run)) in file.rows]
        tokens = sum((row.tokens_in or 0) + (row.tokens_out or 0) for row in rows)
        priced = all(row.usd is not None for row in rows)
        usd = sum(row.usd or 0.0 for row in rows) if priced else None
        statuses = Counter(row.status for row in rows)
        yield LlmTaskAnswerCounts(
            annotator.name, task.name, task.family, file.path, len(asks), dict(sorted(statuses.items())), tokens, usd
        )  # fmt: skip


def _answer_settings_path(path: Path) -> Path:
    return path.with_suffix(".json")


def _write_answer_settings(work: LlmAnnotationWork, annotator: LlmAnnotator, file: LlmAnswerFile) -> None:
    """Write beside the answers all that they depend on: settings, prompts and who answered."""
    left_out = getattr(annotator.chat.model, "left_out", ())
    settings = {
        "embassay": __version__,
        "settings": work.collect_llm_answer_settings(annotator),
        "prompts": {
            task.name: task_prompt(task, work.request.mode).as_dict()
            for task in work.folder.study.tasks
            if task.family in LLM_FAMILIES
        },
        "answered_by": sorted(annotator.models) or _read_answered_models(file.path),
        "not_taken": list(left_out),
        "statuses": dict(sorted(Counter(row.status for row in file.rows.values()).items())),
    }
    write_json(_answer_settings_path(file.path), settings)


def _read_answered_models(path: Path) -> list[str]:
    held = _answer_settings_path(path)
    return list(json.loads(held.read_text("utf-8")).get("answered_by", [])) if held.exists() else []


_ANSWER = 1_024
"""Tokens of a context that are left for the answer."""


@dataclass(frozen=True)
class LlmAnnotationWork:
    """The study, the tasks that models annotate, and those left out because they cannot."""

    folder: StudyFolder
    request: AnnotateRequest
    tasks: tuple[StudyTask, ...]
    left_out: tuple[StudyTask, ...]

    def list_annotation_requests(self, task: StudyTask) -> list[ItemAnnotationRequest]:
        """The requests to annotate every item of a task in every run."""
        items = self.folder.select_task_items(task.name)[: self.request.limit]
        return [ItemAnnotationRequest(task, item, run) for run in range(self.request.runs) for item in items]

    @property
    def longest_question_bytes(self) -> int:
        """Bytes of the longest question."""
        mode = self.request.mode
        return max(
            sum(len(message.content.encode()) for message in build_item_messages(ask.task, mode, ask.item.payload))
            for task in self.tasks
            for ask in self.list_annotation_requests(task)
        )

    def collect_llm_answer_settings(self, annotator: LlmAnnotator) -> dict[str, Any]:
        """All that a model's answers depend on: answers by other settings are never mixed with these."""
        mode = self.request.mode
        return {
            "model": annotator.name,
            "mode": mode,
            "seed": self.request.seed,
            "temperature": annotator.options.temperature,
            "answers": annotator.options.answers,
            "study": self.folder.study.content,
            "prompts": {
                task.name: task_prompt(task, mode).identity
                for task in self.folder.study.tasks
                if task.family in LLM_FAMILIES
            },
        }


def plan_annotation_work(folder: StudyFolder, request: AnnotateRequest) -> LlmAnnotationWork:
    """What is to be asked of a study. UsageError where no task is left, or one that is named is not there or is one
    of clustering."""
    chosen = [folder.task(name) for name in dict.fromkeys(request.tasks)] or list(folder.study.tasks)
    can = tuple(task for task in chosen if task.family in LLM_FAMILIES)
    left_out = tuple(task for task in chosen if task not in can)
    named = [task.name for task in chosen if request.tasks and task not in can]
    if named or not can:
        raise UsageError(
            f"Language models cannot annotate {', '.join(named) or 'the tasks of this study'}, because "
            "they do not name clusters consistently.",
            mend=f"Choose tasks of these families: {', '.join(LLM_FAMILIES)}.",
        )
    if bare := [task.name for task in can if task.family == "classification" and not task.labels]:
        raise UsageError(f"{bare[0]} has no labels to choose from.", mend="Sample the study again.")
    return LlmAnnotationWork(folder, request, can, left_out)


def open_llm_annotators(work: LlmAnnotationWork, ledger: Ledger, cache: ChatAnswerCache) -> list[LlmAnnotator]:
    """The models of a request, each once however it was spelled. UsageError for a name that is not known, and for one
    without a price where the cost is limited; ModelError where a key or a package is missing."""
    request = work.request
    annotators = {}
    for spec in dict.fromkeys(request.llms):
        chat, options, whole = open_chat_with_options(spec, LlmAnnotatorOptions, {}, ledger=ledger)
        name = chat.name if options == LlmAnnotatorOptions() else whole
        # Tokenizers of language models make a token of two bytes or more, whatever the language.
        chat = fit_chat_without_thinking_to_context(chat, work.longest_question_bytes // 2 + _ANSWER)
        if getattr(chat, "price", None) is None and ledger.max_usd is not None:
            raise make_unknown_price_error(chat.name)
        annotators[name] = LlmAnnotator(
            CachedChatModel(chat, cache), request.mode, options, seed=request.seed, name=name
        )
    return list(annotators.values())


def list_unanswered_items(
    asks: Sequence[ItemAnnotationRequest], answered: Container[tuple[str, int]]
) -> list[ItemAnnotationRequest]:
    """The requested items that have no answer yet."""
    return [ask for ask in asks if (ask.item.id, ask.run) not in answered]


ANSWER_TOKENS = 12
"""Of `{"rating": 3.5}`; a model that thinks writes more. A letter of a ranking takes `PER_DOCUMENT`."""
PER_DOCUMENT = 4


def forecast_annotation(
    study: Path, request: AnnotateRequest, ledger: Ledger, *, cache: Path | None = None, replace: bool = False
) -> RunForecast:
    """A cell per model and task; answers that are there, in the study or in the cache, cost nothing. Every item is
    taken to be asked once: retries come on top."""
    work = plan_annotation_work(read_study(study), request)
    with closing(ChatAnswerCache.open(cache)) as answers:
        annotators = open_llm_annotators(work, ledger, answers)
        return RunForecast(
            tuple(
                cell
                for annotator in annotators
                for cell in _forecast_llm_annotation_cells(work, annotator, replace=replace)
            )
        )


def _forecast_llm_annotation_cells(
    work: LlmAnnotationWork, annotator: LlmAnnotator, *, replace: bool
) -> list[CellForecast]:
    path = llm_answer_path(work.folder.path, annotator.name, work.request.mode)
    answered = {} if replace else LlmAnswerFile(path, work.folder).answered()
    cells = []
    for task in work.tasks:
        asks = work.list_annotation_requests(task)
        left = [
            ask
            for ask in list_unanswered_items(asks, answered)
            if not annotator.chat.is_answer_cached(annotator.question(ask))
        ]
        questions = [annotator.question(ask) for ask in left]
        read = sum(estimate_server_tokens([message.content for message in asked.messages]) for asked in questions)
        written = sum(ANSWER_TOKENS + PER_DOCUMENT * len(ask.item.payload.get("documents", ())) for ask in left)
        model: Any = annotator.chat.model
        cells.append(
            CellForecast(
                task.name,
                work.folder.study.name,
                annotator.name,
                len(asks) // work.request.runs,
                len(asks),
                read + written,
                cached=len(asks) - len(left),
                requests=len(left),
                usd=None if annotator.token_price is None else annotator.token_price.usd(read, written),
                seconds=estimate_server_seconds(model, len(left), read + written, written),
                assumed=True,
            )
        )
    return cells
