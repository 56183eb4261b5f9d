"""What annotating will take: the questions without an answer, their tokens, money and time. Nothing is sent."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from embassay.protocols.hume.folder.reading import read_study
from embassay.protocols.hume.llms.annotator import LlmAnnotator
from embassay.protocols.hume.llms.answer_file import AnswerFile, answer_file
from embassay.protocols.hume.llms.plan import Work, open_annotators, plan_work, waiting
from embassay.protocols.hume.llms.request import AnnotateRequest
from embassay.runs.answers import AnswerCache
from embassay.runs.forecast import Forecast, Forecasts, remote_seconds
from embassay.systems.remote import Ledger
from embassay.systems.remote.tokens import likely_tokens

ANSWER_TOKENS = 12
"""Of `{"rating": 3.5}`; a model that thinks writes more. A letter of a ranking takes `PER_DOCUMENT`."""
PER_DOCUMENT = 4


def forecast(
    study: Path, request: AnnotateRequest, ledger: Ledger, *, cache: Path | None = None, replace: bool = False
) -> Forecasts:
    """A cell per model and task; answers that are there, in the study or in the cache, cost nothing. Every item is
    taken to be asked once: retries come on top."""
    work = plan_work(read_study(study), request)
    with closing(AnswerCache.open(cache)) as answers:
        annotators = open_annotators(work, ledger, answers)
        return Forecasts(tuple(cell for one in annotators for cell in _cells(work, one, replace=replace)))


def _cells(work: Work, annotator: LlmAnnotator, *, replace: bool) -> list[Forecast]:
    path = answer_file(work.folder.path, annotator.name, work.request.mode)
    known = {} if replace else AnswerFile(path, work.folder).answered()
    found = []
    for task in work.tasks:
        asks = work.asks(task)
        left = [ask for ask in waiting(asks, known) if not annotator.chat.kept(annotator.question(ask))]
        questions = [annotator.question(ask) for ask in left]
        read = sum(likely_tokens([message.content for message in one.messages]) for one in questions)
        written = sum(
            ANSWER_TOKENS + PER_DOCUMENT * len(ask.item.payload.get("documents", ())) for ask in left
        )
        found.append(
            Forecast(
                task.name,
                work.folder.study.name,
                annotator.name,
                len(asks) // work.request.runs,
                len(asks),
                read + written,
                cached=len(asks) - len(left),
                requests=len(left),
                usd=None if annotator.price is None else annotator.price.usd(read, written),
                seconds=remote_seconds(annotator.chat.model, len(left), read + written),  # type: ignore[arg-type]
                assumed=True,
            )
        )
    return found
