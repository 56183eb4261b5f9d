"""One question at a time: a model writes it about a passage, our checks and a second call decide whether it is kept.

Who writes questions and who checks them: opened, priced, given passages, and every draft kept when it is decided.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from embassay.contracts import ChatMessage, ChatModel, SamplingSettings
from embassay.data.check.figures import NearDuplicateRule, TextMinHashSignatures
from embassay.data.documents import PlacedPassage
from embassay.errors import DataError, TextRefused, Unanswered
from embassay.limits import WHOLE, parse_json_written_by_embassay, read_bounded_file
from embassay.protocols.kernel.inputs import Prompt, compute_fence_mark, fence_text_with_mark, read_packaged_prompt
from embassay.protocols.kernel.plan import PlannedSystem
from embassay.protocols.kernel.session import SilentListener, make_unknown_price_error
from embassay.protocols.kernel.tables import ColumnTable, text, whole_number_column
from embassay.protocols.questions import NEAR, QuestionsOptions
from embassay.protocols.questions.checks import CHECKS, find_question_fault, find_quotation_span, mistype_question
from embassay.randomness import draw_random_bytes
from embassay.runs.execution import CallFailure, run_concurrent_jobs
from embassay.runs.folder import digest_json, format_value_as_json
from embassay.runs.forecast import CellForecast, estimate_server_seconds, forecast_cost_of_remaining_parts
from embassay.runs.spending import format_dollars
from embassay.runs.store import CachedChatModel, ChatAnswerCache
from embassay.systems.chat import fit_chat_without_thinking_to_context, open_chat
from embassay.systems.chat.server import AnswerNeverFitSchema
from embassay.systems.remote import Ledger
from embassay.systems.remote.ledger import estimate_server_tokens

VERSION = "1"
"""Of the prompts and of how a passage is laid out; raised when a word of either changes."""


@dataclass(frozen=True)
class QuestionDraftWithResult:
    """A question and what became of it: `outcome` is kept, or why not. `start` and `end` are the characters of the
    document that answer it; `rejected` are the outcomes of the attempts before."""

    key: str
    kind: str
    passage: str
    document: str
    outcome: str
    question: str = ""
    evidence: str = ""
    answer: str = ""
    start: int | None = None
    end: int | None = None
    attempts: int = 1
    rejected: tuple[str, ...] = ()
    reason: str = ""

    @property
    def is_kept(self) -> bool:
        """Whether the draft is kept: it passed all checks."""
        return self.outcome == KEPT

    @property
    def count_attempts_reaching_check(self) -> int:
        """Attempts that came to the second call, as far as their outcomes say."""
        return sum(name in (KEPT, "not answerable", "answered") for name in (*self.rejected, self.outcome))

    def as_dict(self) -> dict[str, Any]:
        """As a line of `drafts.jsonl`."""
        return {**asdict(self), "rejected": list(self.rejected)}


KEPT = "kept"
OUTCOMES: Mapping[str, str] = {
    KEPT: "passed every check",
    "nothing to ask": "the model found nothing of this kind in the passage",
    "unreadable": "no readable answer",
    "too long": "over 300 characters",
    "speaks of the passage": "it refers to the passage, which users do not see",
    "copied": "its words are copied from the passage",
    "ungrounded": "the words given as evidence do not occur in the passage",
    "wrong language": "it is not in the requested language",
    "not answerable": "the second call finds no answer in the passage",
    "answered": "the second call finds an answer in a passage",
    "of another kind": "it is not the requested kind of question, for example a sentence instead of keywords",
    "near-duplicate": "it repeats an earlier question",
    "refused": "the model or its server refused the text",
}
"""What may become of a question -> what that means."""


def make_question_outcomes_table(
    name: str, title: str, counts: Mapping[str, Mapping[str, int]], outcomes: Sequence[str]
) -> ColumnTable:
    """How many questions of each kind came to each of the `outcomes`, and what these mean."""
    rows = [{"Kind": kind, **dict.fromkeys(outcomes, 0), **of_kind} for kind, of_kind in counts.items()]
    fields = (whole_number_column(outcome.capitalize(), (outcome,)) for outcome in outcomes)
    meanings = [f"{outcome}: {OUTCOMES[outcome]}" for outcome in outcomes if outcome in OUTCOMES and outcome != KEPT]
    return ColumnTable.of(name, title, rows, text("Kind"), *fields, note="; ".join(meanings))


# Its name is in the schema that the model is asked with, so in the key of every kept answer: it stays.
class WriterAnswer(BaseModel):
    """What the writer answers."""

    model_config = ConfigDict(extra="forbid")
    question: str
    evidence: str
    answer: str


# Its name is in the schema that the model is asked with, so in the key of every kept answer: it stays.
class CheckerAnswer(BaseModel):
    """The answer of the model that checks a question."""

    model_config = ConfigDict(extra="forbid")
    answerable: bool
    evidence: str


@cache
def load_question_prompt(kind: str, into: str = "") -> Prompt:
    """The instructions for a kind of question, or for the `check`."""
    read_kind = partial(read_packaged_prompt, "embassay.protocols.questions")
    if kind in ("check", NEAR):
        return Prompt(kind, VERSION, read_kind(kind))
    # A question with typing errors is written as any other about a fact.
    task = read_kind("fact" if kind == "typo" else kind).replace("{lang}", into)
    return Prompt(kind, VERSION, read_kind("write").replace("{kind}", task))


def make_writer_messages(kind: str, passage: PlacedPassage, into: str = "") -> list[ChatMessage]:
    """What the writer is sent: the instructions, then the passage between marked lines."""
    shown = fence_text_with_mark(
        "passage", compute_fence_mark([passage.title, passage.body]), _format_shown_passage(passage)
    )
    return [ChatMessage("system", load_question_prompt(kind, into).text), ChatMessage("user", shown)]


def make_checker_messages(question: str, passage: PlacedPassage) -> list[ChatMessage]:
    """What the checker is sent."""
    mark = compute_fence_mark([question, passage.title, passage.body])
    blocks = (
        fence_text_with_mark("question", mark, question),
        fence_text_with_mark("passage", mark, _format_shown_passage(passage)),
    )
    return [ChatMessage("system", load_question_prompt("check").text), ChatMessage("user", "\n\n".join(blocks))]


def _format_shown_passage(passage: PlacedPassage) -> str:
    return f"{passage.title}\n{passage.body}" if passage.title else passage.body


def _find_quotation_span_in_body(passage: PlacedPassage, evidence: str) -> tuple[int, int] | None:
    """Where the body has a quotation, from what was shown: title and body. Of one that begins in the title, the rest;
    None where the body has nothing of it."""
    if (place := find_quotation_span(passage.body, evidence)) is not None:
        return place
    shown = find_quotation_span(_format_shown_passage(passage), evidence)
    before = len(_format_shown_passage(passage)) - len(passage.body)
    if shown is None or shown[1] <= before:
        return None
    return max(0, shown[0] - before), shown[1] - before


class UnfitDraftError(ValueError):
    """An answer that makes no question: its outcome, and more words."""

    def __init__(self, outcome: str, found: str = "") -> None:
        super().__init__(found)
        self.outcome = outcome


def _ignore_progress() -> None:
    """Ignore the progress: nobody listens."""


def _find_no_passages(_: str) -> Sequence[PlacedPassage]:
    """Find no passages: nothing is searched."""
    return ()


@dataclass(frozen=True)
class QuestionWriterAndChecker:
    """Who writes and who checks; `seed` names the draws. `costs` are the dollars of the answers to a draft (by key)."""

    chat: CachedChatModel
    checker: CachedChatModel
    options: QuestionsOptions
    seed: int
    costs: dict[str, float] = field(default_factory=dict, compare=False)
    heard: Callable[[], None] = field(default=_ignore_progress, compare=False)
    """Called for every answer."""
    search: Callable[[str], Sequence[PlacedPassage]] = field(default=_find_no_passages, compare=False)
    """Question -> the passages most likely to answer it: a question without an answer is checked against each."""
    corpus: str = ""
    """The fingerprint of what is searched."""

    def key(self, kind: str, passage: PlacedPassage) -> str:
        """The key of a draft: 32 digits of all that it depends on."""
        options = self.options.as_dict()
        how = {name: options[name] for name in ("into", "attempts", "copied", "temperature", "top_p")}
        prompts = [load_question_prompt(kind, self.options.into).identity, load_question_prompt("check").identity]
        source = [passage.id, passage.title, passage.body, passage.document, passage.start, passage.lang]
        if kind == NEAR:
            source.append(self.corpus)
        return digest_json([kind, source, how, CHECKS, prompts, self.chat.identity, self.checker.identity, self.seed])[
            :32
        ]

    async def draft_question(self, kind: str, passage: PlacedPassage) -> QuestionDraftWithResult:
        """A question about the passage, drawn anew until one is kept or the attempts are used up. ModelError for a
        model that cannot be had, BudgetExceeded when the money ends."""
        head = QuestionDraftWithResult(
            self.key(kind, passage), kind, passage.id, passage.document or passage.id, "unreadable"
        )
        rejected: list[str] = []
        for attempt in range(self.options.attempts):
            try:
                fields = await self._attempt_to_write_question(kind, passage, attempt)
                return replace(head, outcome=KEPT, attempts=attempt + 1, rejected=tuple(rejected), **fields)
            except UnfitDraftError as unfit:
                rejected.append(unfit.outcome)
                head = replace(head, outcome=unfit.outcome, reason=str(unfit), attempts=attempt + 1)
                if unfit.outcome == "nothing to ask":
                    break
        # The last refusal is the outcome itself.
        return replace(head, rejected=tuple(rejected[:-1]))

    async def _attempt_to_write_question(self, kind: str, passage: PlacedPassage, attempt: int) -> dict[str, Any]:
        options, key = self.options, self.key(kind, passage)
        sampling = SamplingSettings(options.temperature, options.top_p, self._derive_seed("write", attempt))
        messages = make_writer_messages(kind, passage, options.into)
        written = await self._ask_model(self.chat, messages, sampling, WriterAnswer, attempt, key)
        question = " ".join(written.question.split())
        fault = find_question_fault(question, kind, passage, options)
        if fault:
            raise UnfitDraftError(*fault)
        place = _find_quotation_span_in_body(passage, written.evidence)
        if place is None:
            raise UnfitDraftError("ungrounded", written.evidence)
        if kind == NEAR:
            await self._check_question_unanswered(question, passage, attempt, key)
        elif not await self._is_answered_by_passage(question, passage, attempt, key):
            raise UnfitDraftError("not answerable", question)
        start, end = place
        return {
            "question": mistype_question(question, self.seed, passage.id) if kind == "typo" else question,
            "evidence": passage.body[start:end], "answer": " ".join(written.answer.split()),
            "start": passage.start + start, "end": passage.start + end
        }  # fmt: skip

    async def _is_answered_by_passage(self, question: str, passage: PlacedPassage, attempt: int, key: str) -> bool:
        """Whether the checker finds an answer in the passage, and quotes it."""
        # The check shall not depend on luck, however freely the question was written.
        careful = SamplingSettings(0.0, 1.0, self._derive_seed("check", attempt))
        messages = make_checker_messages(question, passage)
        checked = await self._ask_model(self.checker, messages, careful, CheckerAnswer, attempt, key)
        return checked.answerable and find_quotation_span(_format_shown_passage(passage), checked.evidence) is not None

    async def _check_question_unanswered(self, question: str, passage: PlacedPassage, attempt: int, key: str) -> None:
        """UnfitDraft where the checker finds an answer in the passage or in one that a search finds."""
        others = [hit for hit in self.search(question) if hit.id != passage.id]
        for candidate in (passage, *others):
            if await self._is_answered_by_passage(question, candidate, attempt, key):
                raise UnfitDraftError("answered", candidate.id)

    async def _ask_model(
        self,
        chat: CachedChatModel,
        messages: Sequence[ChatMessage],
        sampling: SamplingSettings,
        schema: Any,
        attempt: int,
        key: str,
    ) -> Any:
        try:
            answer = await chat.complete(messages, sampling=sampling, schema=schema, attempt=attempt)
            self.heard()
            self.costs[key] = self.costs.get(key, 0.0) + (answer.usage.usd or 0.0)
            return answer.parsed if answer.parsed is not None else schema.model_validate_json(answer.text)
        except ValidationError as error:
            raise UnfitDraftError("unreadable", str(error).partition("\n")[0]) from None
        except TextRefused as error:
            outcome = "unreadable" if isinstance(error, AnswerNeverFitSchema | Unanswered) else "refused"
            raise UnfitDraftError(outcome, error.message) from None

    def _derive_seed(self, what: str, attempt: int) -> int:
        # 31 bits, which is what servers take.
        return int.from_bytes(draw_random_bytes(4, self.seed, "questions", what, str(attempt)), "big") >> 1


DRAFTS = "drafts.jsonl"
"""The file of a run with every draft that is decided."""
FIRST = 25
"""Questions from which on what they took says what others will take."""
_ANSWER = 700
"""Tokens that an answer may have."""
SEARCHED = 3
"""Passages, beside its own, that may not answer a question without an answer."""
_WRITTEN, _CHECKED = 70, 35
"""Tokens of usual answers."""
Drawn = Mapping[str, Sequence[PlacedPassage]]
"""Kind of question -> the passages that it is to be asked about."""


def open_question_writer(
    llm: str, checker: str, options: QuestionsOptions, seed: int, cache: Path | None, ledger: Ledger | None
) -> QuestionWriterAndChecker:
    """The chat model that writes and the one that checks (empty: the same), with their kept answers. ModelError for one
    that cannot be opened."""
    answers = ChatAnswerCache.open(cache)
    chat = CachedChatModel(_open_chat_model(llm, ledger), answers)
    return QuestionWriterAndChecker(
        chat, CachedChatModel(_open_chat_model(checker, ledger), answers) if checker else chat, options, seed
    )


def _open_chat_model(spec: str, ledger: Ledger | None) -> ChatModel:
    chat = open_chat(spec, ledger=ledger)
    return fit_chat_without_thinking_to_context(chat, _ANSWER + 4_000)


def list_writer_and_checker_models(
    llm: str, checker: str, writer: QuestionWriterAndChecker, ledger: Ledger | None
) -> tuple[PlannedSystem, ...]:
    """Both as a manifest tells them. UsageError where the cost is limited and a price is not known."""
    roles = [(llm, writer.chat, "writes questions")]
    if checker:
        roles.append((checker, writer.checker, "checks that the passage answers each question"))
    systems = []
    for spec, chat, role in roles:
        price = getattr(chat.model, "price", None)
        if price is None and ledger is not None and ledger.max_usd is not None:
            raise make_unknown_price_error(chat.name)
        facts: dict[str, Any] = {"summary": role}
        if price is not None:
            facts["usd_per_million_input"] = price.usd_per_million_input
            facts["usd_per_million_output"] = price.usd_per_million_output
        systems.append(PlannedSystem(spec, chat.name, chat.identity, "llm", facts))
    return tuple(systems)


def draw_passages_by_kind(
    passages: Sequence[PlacedPassage], kinds: Sequence[str], options: QuestionsOptions, seed: int, corpus: str
) -> dict[str, tuple[PlacedPassage, ...]]:
    """Kind -> the passages that a model is to ask about, drawn by id and seed; none twice while there are others.
    DataError where none is long enough."""
    fit = [passage for passage in passages if len(passage.body.split()) >= options.words]
    used: dict[str, int] = {}
    drawn = {}
    for kind in kinds:
        ranked = sorted(fit, key=lambda p: (used.get(p.id, 0), draw_random_bytes(8, seed, "questions", kind, p.id)))
        drawn[kind] = tuple(ranked[: options.n])
        used |= {passage.id: used.get(passage.id, 0) + 1 for passage in drawn[kind]}
    if drawn and not fit:
        raise DataError(
            f"no passage has {options.words} words", path=corpus, mend="Allow shorter passages: --words 10."
        )  # fmt: skip
    return drawn


def forecast_writer_calls_for_drafts(
    head: CellForecast,
    writer: QuestionWriterAndChecker,
    kind: str,
    drawn: Sequence[PlacedPassage],
    done: Mapping[str, QuestionDraftWithResult],
) -> Iterator[CellForecast]:
    """`head` for the writer and for the checker, for the drafts of a kind that are not `done` (by key): as many calls
    of each as those took that are, if there are enough to tell; else one of each, as if the first were kept."""
    asked = [passage for passage in drawn if writer.key(kind, passage) not in done]
    first = len(done) < FIRST
    tried = 1.0 if first else float(np.mean([draft.attempts for draft in done.values()]))
    checked = 1.0 if first else float(np.mean([draft.count_attempts_reaching_check for draft in done.values()]))
    passages = 1 + SEARCHED if kind == NEAR else 1
    sent = (
        (writer.chat, [make_writer_messages(kind, p, writer.options.into) for p in asked], _WRITTEN, tried),
        (writer.checker, [make_checker_messages("?" * 60, p) for p in asked], _CHECKED, checked * passages),
    )
    for chat, calls, written, tries in sent:
        model: Any = chat.model
        price, out = getattr(model, "price", None), round(tries * written * len(asked))
        read = round(tries * sum(estimate_server_tokens([message.content for message in call]) for call in calls))
        requests = round(tries * len(asked))
        yield replace(
            head, system=chat.name, items=len(asked), texts=len(asked), tokens=read + out,
            requests=requests, usd=None if price is None else price.usd(read, out),
            seconds=estimate_server_seconds(model, requests, read + out, out), assumed=True
        )  # fmt: skip


def describe_forecast_uncertainty(
    cells: Sequence[CellForecast], writer: QuestionWriterAndChecker, done: Mapping[str, QuestionDraftWithResult]
) -> str:
    """What a forecast of questions leaves open: how many attempts there will be. Empty where nothing is to be paid."""
    usd = sum(cell.usd or 0.0 for cell in cells)
    if not usd:
        return ""
    most = writer.options.attempts
    when = f"After {FIRST}, {2 * FIRST}, {4 * FIRST} ... questions, the run estimates the total cost."
    if len(done) >= FIRST:
        more = format_dollars(usd)
        return f"Questions: {more} more if they take as many attempts as the first {len(done):,}. {when}"
    return (
        f"Questions: {format_dollars(usd)} if every first draft is kept, {format_dollars(most * usd)} if all {most} "
        f"attempts are needed each time. {when}"
    )


def list_passages_without_draft(
    writer: QuestionWriterAndChecker, drawn: Drawn, drafts: Container[str]
) -> list[tuple[str, PlacedPassage]]:
    """Kinds and passages whose draft is not there."""
    return [(kind, p) for kind, passages in drawn.items() for p in passages if writer.key(kind, p) not in drafts]


def group_decided_drafts_by_kind(
    writer: QuestionWriterAndChecker, drawn: Drawn, drafts: Mapping[str, QuestionDraftWithResult]
) -> dict[str, list[QuestionDraftWithResult]]:
    """Kind -> the drafts of its passages that are decided, in the order of the draw."""
    return {
        kind: [drafts[key] for passage in passages if (key := writer.key(kind, passage)) in drafts]
        for kind, passages in drawn.items()
    }


def draft_missing_questions(
    writer: QuestionWriterAndChecker,
    drawn: Drawn,
    path: Path,
    drafts: dict[str, QuestionDraftWithResult],
    listener: SilentListener,
    ledger: Ledger | None = None,
) -> dict[tuple[str, str], str]:
    """Have every question written and checked that is not among `drafts`, which gain it and which the file `path` keeps
    the moment it is decided. Kind and passage -> why it has no draft: a call that failed, which the next attempt tries
    again. After the first 25, 50, 100 ... the `listener` hears what all will cost by the `ledger`. ModelError for a
    model that cannot be had, BudgetExceeded when the money ends."""
    asked = _interleave_passages_by_question_kind(list_passages_without_draft(writer, drawn, drafts))
    listener.stage("writing questions", len(asked), "questions")
    return asyncio.run(
        _write_missing_drafts(replace(writer, heard=listener.heard), asked, path, drafts, listener, ledger)
    )


def _interleave_passages_by_question_kind(
    asked: Sequence[tuple[str, PlacedPassage]],
) -> list[tuple[str, PlacedPassage]]:
    """The first of every kind, the second of every kind, and so on: the first then cost what all do."""
    by_kind: dict[str, list[tuple[str, PlacedPassage]]] = {}
    for pair in asked:
        by_kind.setdefault(pair[0], []).append(pair)
    turns = zip_longest(*by_kind.values())
    return [pair for turn in turns for pair in turn if pair is not None]


async def _write_missing_drafts(
    writer: QuestionWriterAndChecker,
    asked: Sequence[tuple[str, PlacedPassage]],
    path: Path,
    drafts: dict[str, QuestionDraftWithResult],
    listener: SilentListener,
    ledger: Ledger | None,
) -> dict[tuple[str, str], str]:
    failed: dict[tuple[str, str], str] = {}
    before, written = 0.0 if ledger is None else ledger.spent_usd, []
    with path.open("a", encoding="utf-8") as stream:
        for start, end in pairwise(_list_question_counts_for_cost_update(len(asked))):
            jobs = (partial(writer.draft_question, kind, passage) for kind, passage in asked[start:end])
            async for position, draft in run_concurrent_jobs(jobs, progress=listener.advanced_by):
                kind, passage = asked[start + position]
                if isinstance(draft, CallFailure):
                    failed[kind, passage.id] = draft.reason
                    continue
                drafts[draft.key] = draft
                written.append(draft)
                stream.write(format_value_as_json(draft.as_dict()) + "\n")
                stream.flush()
            # Nothing is in flight here, so what is spent is what these have cost.
            usd = 0.0 if ledger is None else ledger.spent_usd - before
            if ledger is not None and usd and written and end < len(asked):
                costs = [writer.costs.get(draft.key, 0.0) for draft in written]
                most = None if ledger.max_usd is None else ledger.max_usd - before
                listener.reckoned(
                    forecast_cost_of_remaining_parts(costs, len(asked) - len(failed), usd).format_cost_forecast_line(
                        most
                    )
                )
    return failed


def _list_question_counts_for_cost_update(n: int) -> list[int]:
    """Where the cost of all is reckoned anew: after 25, twice as many, and so on.

    >>> _list_question_counts_for_cost_update(120)
    [0, 25, 50, 100, 120]
    """
    ends, end = [0], FIRST
    while end < n:
        ends.append(end)
        end *= 2
    return [*ends, n]


def find_positions_of_near_duplicates(texts: Sequence[str], threshold: float) -> list[int]:
    """The places of texts that are, or nearly are, an earlier one: equal but for case and spaces, or with a Jaccard
    index of their runs of 5 characters of `threshold` or more."""
    first: dict[str, int] = {}
    repeats = set()
    for place, question in enumerate(texts):
        if first.setdefault(" ".join(question.casefold().split()), place) != place:
            repeats.add(place)
    if len(texts) > 1 and threshold < 1:
        repeats |= {pair.second for pair in TextMinHashSignatures(texts, NearDuplicateRule(threshold)).pairs()}
    return sorted(repeats)


def read_question_drafts(path: Path) -> dict[str, QuestionDraftWithResult]:
    """The drafts of a file by key. A last line that a kill cut off is passed over; DataError for any other that is
    none."""
    if not path.is_file():
        return {}
    drafts = {}
    content = read_bounded_file(path, WHOLE)
    lines = content.split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            draft = _read_stored_question_draft(parse_json_written_by_embassay(line))
        except (ValueError, TypeError, KeyError) as error:
            if number == len(lines):
                # So that what is appended next does not continue the broken line.
                path.write_bytes(content[: len(content) - len(line)])
                break
            raise DataError(
                "this line is not a draft", path=path, line=number, found=str(error), mend="Remove the line."
            ) from error
        drafts[draft.key] = draft
    return drafts


def _read_stored_question_draft(row: Mapping[str, Any]) -> QuestionDraftWithResult:
    draft = QuestionDraftWithResult(**{**row, "rejected": tuple(row["rejected"])})
    words = (draft.key, draft.kind, draft.passage, draft.document, draft.outcome, draft.question)
    if not all(isinstance(word, str) for word in words):
        raise TypeError("a field is not a string")
    return draft
