"""What a selection will take: paraphrases, and their ratings by every judge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from embassay.protocols.planning import PlannedDataset, PlannedSystem
from embassay.protocols.pteb.judging.chats import Judge
from embassay.protocols.pteb.judging.cost import ANSWER_TOKENS, Asked, of_questions
from embassay.protocols.pteb.judging.rating import shown
from embassay.protocols.pteb.paraphrasing import records
from embassay.protocols.pteb.paraphrasing.llm import LLMParaphraser
from embassay.protocols.pteb.paraphrasing.prompts import judge_prompt
from embassay.protocols.pteb.selection.plan import TASK, Plan
from embassay.protocols.pteb.sources import Source
from embassay.runs.forecast import Forecast, Forecasts
from embassay.systems.remote.tokens import likely_tokens


def forecast(plan: Plan) -> Forecasts:
    """The cost of every candidate and every judge on every dataset: paraphrases are taken to be as long as their
    texts, and ratings not to be there yet. The other judges rate one candidate, or all."""
    return Forecasts(tuple(_cells(plan)))


def _cells(plan: Plan) -> Iterator[Forecast]:
    everyone = plan.request.options.cross_check == "all"
    for dataset in plan.datasets:
        asked = plan.asked(dataset)
        for source in plan.sources:
            yield _paraphrases(plan, source, dataset, asked)
        for judge in plan.judges:
            rated = len(plan.sources) if judge is plan.judges[0] or everyone else 1
            yield _ratings(plan, judge, dataset, asked, rated)


def _paraphrases(
    plan: Plan, source: Source, dataset: PlannedDataset, asked: Sequence[records.Asked]
) -> Forecast:
    head = Forecast(TASK, dataset.name, source.paraphraser.name, len(asked), 0, 0)
    paraphraser = source.paraphraser
    if not isinstance(paraphraser, LLMParaphraser):
        return head
    [seed] = paraphraser.seeds(1, plan.request.seed, dataset=dataset.name)
    fresh = [one for one in asked if not paraphraser.kept(one, seed)]
    questions = [paraphraser.question(one, seed) for one in fresh]
    read = sum(likely_tokens([one.content for one in question.messages]) for question in questions)
    written = likely_tokens([one.text for one in fresh])
    return of_questions(head, paraphraser.chat.model, Asked(len(asked), len(fresh), read, written))


def _ratings(
    plan: Plan, judge: PlannedSystem, dataset: PlannedDataset, asked: Sequence[records.Asked], candidates: int
) -> Forecast:
    n = candidates * len(asked)
    each = likely_tokens([judge_prompt().text, shown("", "")])
    texts = likely_tokens([one.text for one in asked])
    head = Forecast(TASK, dataset.name, judge.name, n, 0, 0)
    chat = Judge(judge.spec, plan.longest).open()
    return of_questions(head, chat, Asked(n, n, n * each + 2 * candidates * texts, n * ANSWER_TOKENS))
