"""From a request to the questions of every model, before anything is asked."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any

from embassay.errors import UsageError
from embassay.protocols.hume.folder.formats import Task
from embassay.protocols.hume.folder.reading import StudyFolder
from embassay.protocols.hume.llms.annotator import Ask, LlmAnnotator
from embassay.protocols.hume.llms.prompts import messages, prompt
from embassay.protocols.hume.llms.request import AnnotateRequest, LlmOptions
from embassay.protocols.hume.llms.scoring import LLM_FAMILIES
from embassay.protocols.session import unknown_price
from embassay.runs.answers import AnswerCache, CachedChat
from embassay.systems.chat import open_chat_as
from embassay.systems.remote import Ledger

_ANSWER = 1_024
"""Tokens of a context that are left for the answer."""


@dataclass(frozen=True)
class Work:
    """The study, the tasks that models annotate, and those left out because they cannot."""

    folder: StudyFolder
    request: AnnotateRequest
    tasks: tuple[Task, ...]
    left_out: tuple[Task, ...]

    def asks(self, task: Task) -> list[Ask]:
        """Every item of a task in every run."""
        items = self.folder.items_of(task.name)[: self.request.limit]
        return [Ask(task, item, run) for run in range(self.request.runs) for item in items]

    @property
    def longest(self) -> int:
        """Bytes of the longest question."""
        mode = self.request.mode
        return max(
            sum(len(one.content.encode()) for one in messages(ask.task, mode, ask.item.payload))
            for task in self.tasks
            for ask in self.asks(task)
        )

    def settings(self, annotator: LlmAnnotator) -> dict[str, Any]:
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
                task.name: prompt(task, mode).identity
                for task in self.folder.study.tasks
                if task.family in LLM_FAMILIES
            },
        }


def plan_work(folder: StudyFolder, request: AnnotateRequest) -> Work:
    """What is to be asked of a study. UsageError where no task is left, or one that is named is not there or is one
    of clustering."""
    chosen = [folder.task(name) for name in dict.fromkeys(request.tasks)] or list(folder.study.tasks)
    can = tuple(task for task in chosen if task.family in LLM_FAMILIES)
    left_out = tuple(task for task in chosen if task not in can)
    named = [task.name for task in chosen if request.tasks and task not in can]
    if named or not can:
        raise UsageError(
            f"Language models do not annotate {', '.join(named) or 'the tasks of this study'}: ids of clusters are "
            "hard to ask for consistently.",
            mend=f"Name tasks of {', '.join(LLM_FAMILIES)}.",
        )
    if bare := [task.name for task in can if task.family == "classification" and not task.labels]:
        raise UsageError(f"{bare[0]} has no labels to choose from.", mend="Sample the study again.")
    return Work(folder, request, can, left_out)


def open_annotators(work: Work, ledger: Ledger, cache: AnswerCache) -> list[LlmAnnotator]:
    """The models of a request, each once however it was spelled. UsageError for a name that is not known, and for one
    without a price where the cost is limited; ModelError where a key or a package is missing."""
    request = work.request
    found = {}
    for spec in dict.fromkeys(request.llms):
        chat, options, whole = open_chat_as(spec, LlmOptions, {}, ledger=ledger)
        name = chat.name if options == LlmOptions() else whole
        suit = getattr(chat, "suited", None)
        # Tokenizers of language models make a token of two bytes or more, whatever the language.
        chat = suit(tokens=work.longest // 2 + _ANSWER, think=False) if suit else chat
        if getattr(chat, "price", None) is None and ledger.max_usd is not None:
            raise unknown_price(chat.name)
        found[name] = LlmAnnotator(
            CachedChat(chat, cache), request.mode, options, seed=request.seed, name=name
        )
    return list(found.values())


def waiting(asks: Sequence[Ask], answered: Container[tuple[str, int]]) -> list[Ask]:
    """Those that have no answer yet."""
    return [ask for ask in asks if (ask.item.id, ask.run) not in answered]
