"""The first screen: the questions a reader comes with, each answered in one line, or said to be open with what would
decide it.

`list_report_answers_from_evidence` computes everything that a page, a terminal or a print shows of them,
once. An answer rests on the
paired resamples that its run kept: *ahead* is the share of them in which the leader scores clearly above every other
system (`clear_lead`); it is `sure` where the run's own tests leave the leader the first place alone, `likely` from 80
of 100, else open.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from embassay.document.marks import LinearScale, LogTimeScale
from embassay.protocols.kernel import tables
from embassay.protocols.kernel.claims import Claim
from embassay.protocols.kernel.tables import SCORE, MeasureFormat
from embassay.report.cards.evidence import (
    LEAST_COLLECTIONS,
    LIKELY,
    Basis,
    RunEvidenceOnQuestion,
    SystemEstimateWithRanks,
    collect_question_evidence,
)
from embassay.report.runs import ReportRun, read_sweep_findings
from embassay.stats import clear_lead
from embassay.stats.intervals import count_items_to_decide

if TYPE_CHECKING:
    from embassay.protocols.rag.sweep.findings.record import StackSummary

__all__ = [
    "ReportQuestionAnswer",
    "SystemEstimateWithRanks",
    "describe_recommended_systems",
    "list_report_answers_from_evidence",
]

Level = Literal["sure", "likely", "open", "not run"]
NEARLY_ALL = 99.5
"""Resamples of 100 from which more than 99 are said."""
LEAST_ITEMS = 10
"""Below so many items nothing is decided."""
NARROW = 2
"""The lowest place that a system may hold and still be the one to use."""
MOST_MORE = 2000
"""More items than these are no advice."""
MILLISECONDS = MeasureFormat(1.0, 1, 0)
TIMES = LogTimeScale(0.1, 10_000.0)
"""Milliseconds on every page alike: from a lookup of static vectors to a call of a slow server."""


@dataclass(frozen=True)
class ReportQuestion:
    """What a reader asks, also in a word (`short`): `means` says what its score is, `noun` what is counted, `command`
    what answers it."""

    name: str
    short: str
    asks: str
    means: str
    noun: str
    command: str


QUESTIONS = (
    ReportQuestion("search", "Search", "For search", "evidence among the first passages", "question", "rag score"),
    ReportQuestion(
        "reworded", "Paraphrases", "When texts are paraphrased", "score after paraphrase", "text", "pteb run"
    ),
    ReportQuestion(
        "damaged",
        "Damaged",
        "When copies are damaged",
        "share of search quality kept",
        "question",
        "sage run -t retrieval",
    ),
    ReportQuestion(
        "groups", "Grouping", "To group documents", "topics recovered", "collection", "sage run -t clustering"
    ),
    ReportQuestion("people", "Against people", "Compared with people", "same items for both", "item", "hume sample"),
    ReportQuestion("price", "Price, speed", "Price and speed", "time of a query", "query", "rag sweep"),
)
PROTOCOLS = ("search", "reworded", "damaged", "groups")
"""Questions of quality, which a recommendation goes by."""


@dataclass(frozen=True)
class ReportQuestionAnswer:
    """The answer to one question of a report, as a line.

    `all` are the systems that one method scored, best first, and `names` those of them that may be first. `ahead` of
    100 resamples, rounded down (100: more than 99.5); `more` items would decide with a chance of 80%, None where they
    hardly would. `slug` is the page with the evidence. `percentile` is that of times. `people` is what people score on
    the same items, and `beside` how often they are above the best system.
    """

    question: ReportQuestion
    level: Level
    names: tuple[str, ...] = ()
    n: int = 0
    ahead: int | None = None
    more: int | None = None
    all: tuple[SystemEstimateWithRanks, ...] = ()
    unit: MeasureFormat = SCORE
    note: str = ""
    slug: str = ""
    percentile: float | None = None
    people: SystemEstimateWithRanks | None = None
    beside: str = ""
    caption: str = ""
    basis: Basis = "quality"
    may: tuple[str, ...] = ()

    @property
    def top(self) -> tuple[SystemEstimateWithRanks, ...]:
        """The first three systems; with people among them where people answered."""
        if self.people is None:
            return self.all[:3]
        return tuple(sorted((*self.all[:2], self.people), key=lambda contender: -contender.point))

    @property
    def means(self) -> str:
        """What the score is; of times, that which so many of the queries take at most."""
        if self.percentile is None:
            return self.caption or self.question.means
        return (
            "half of the queries take less"
            if self.percentile == 50
            else f"{self.percentile:g}% of the queries take less"
        )

    @property
    def scale(self) -> LinearScale | LogTimeScale:
        """From 0 to 1 or to 100 points whatever the data are, so that rows can be read alike; of times TIMES."""
        return LinearScale(0.0, 1.0, 0.25, self.unit.factor) if self.unit is not MILLISECONDS else TIMES

    @property
    def ends(self) -> tuple[str, str]:
        """The words that stand at both ends of the scale."""
        if self.unit is MILLISECONDS:
            return "0.1 ms", "10 s"
        return "0", "1" if self.unit.factor == 1 else "100"

    @property
    def has_ranked_systems(self) -> bool:
        """Whether its run's tests leave places to anybody."""
        return any(contender.ranks for contender in self.all)

    @property
    def heading(self) -> str:
        """Of its column in a table of all systems: the question in a word, and the unit."""
        if self.unit is MILLISECONDS:
            return "Time a query,\N{NO-BREAK SPACE}ms"
        unit = "0 to 1" if self.unit.factor == 1 else "of 100"
        return f"{self.question.short}, {unit.replace(' ', chr(160))}"

    @property
    def answer(self) -> str:
        """`minilm`, `minilm or wordllama`, `minilm, bm25 and 3 others`; `not tested` where no run asks."""
        if self.level == "not run":
            return "not tested"
        if len(self.names) > 3:
            return f"{self.names[0]}, {self.names[1]} and {len(self.names) - 2} others"
        return " or ".join(self.names)

    @property
    def how_sure(self) -> str:
        """How sure that is, in a sentence of at most 62 characters without full names."""
        said = self.note or _explain_lead_certainty(self)
        if not self.beside:
            return said
        return f"{said}. {tables.capitalise_unless_name(self.beside)}" if ";" in said else f"{said}; {self.beside}"

    @property
    def sentence(self) -> str:
        """How sure the answer is, with a capital unless a system's name comes first."""
        return tables.capitalise_unless_name(self.how_sure, [contender.name for contender in self.all])

    @property
    def out(self) -> tuple[str, ...]:
        """The systems that its run's tests rule out as the first, worst last."""
        return tuple(row.name for row in self.all if row.ranks is not None and row.ranks[0] > 1)

    @property
    def has_clear_leader(self) -> bool:
        """Whether the tests leave its leader hardly another place than the first."""
        if not self.all:
            return False
        leader = self.all[0]
        if leader.ranks is None:
            return self.may == (leader.name,)
        return leader.ranks[0] == 1 and leader.ranks[1] <= NARROW

    @property
    def can_recommend_leader(self) -> bool:
        """Whether it is ground enough to use its leader: decided, narrowly, by how good systems are and not by how
        much of that they keep, how they group, or what is believed of them without labels."""
        return self.level in ("sure", "likely") and self.basis == "quality" and self.has_clear_leader

    @property
    def brief_certainty(self) -> str:
        """How sure the answer is, in half a line."""
        noun = f"{self.question.noun}s"
        briefly = {
            "open": f"about {self.more:,} more {noun} needed" if self.more else _say_more_may_not_decide(self),
            "likely": _add_collection_count_if_few(f"{_format_ahead_of_hundred(self)} of 100", self).replace(
                "from only", "only"
            ),
        }
        return self.note or briefly.get(self.level) or self.how_sure


def _say_more_may_not_decide(answer: ReportQuestionAnswer) -> str:
    return (
        _explain_lead_certainty(answer)
        if _has_evidence_from_few_collections(answer)
        else f"more {answer.question.noun}s may not help"
    )


def _explain_lead_certainty(answer: ReportQuestionAnswer) -> str:
    if answer.level == "not run":
        return f"embassay {answer.question.command}"
    noun = answer.question.noun
    more = f"about {answer.more:,} more would decide" if answer.more else ""
    if answer.level == "open":
        few = f"{answer.n} {noun}s are too few" if answer.n != 1 else f"one {noun} is too few"
        if _has_evidence_from_few_collections(answer) and not more:
            return few
        return f"{few}; {more}" if more else f"more {noun}s may not help; choose by price or speed"
    if answer.level == "likely" and more and not _has_evidence_from_few_collections(answer):
        return f"clearly ahead in {_format_ahead_of_hundred(answer)} of 100 resamples; {more}"
    return _add_collection_count_if_few(f"clearly ahead in {_format_ahead_of_hundred(answer)} of 100 resamples", answer)


def _format_ahead_of_hundred(answer: ReportQuestionAnswer) -> str:
    return "over 99" if answer.ahead == 100 else str(answer.ahead)


def _has_evidence_from_few_collections(answer: ReportQuestionAnswer) -> bool:
    return answer.question.noun == "collection" and answer.n < LEAST_COLLECTIONS


def _add_collection_count_if_few(ahead: str, answer: ReportQuestionAnswer) -> str:
    few = tables.format_noun_count(answer.n, answer.question.noun)
    return (
        f"{ahead.removesuffix(' resamples')}, from only {few}" if _has_evidence_from_few_collections(answer) else ahead
    )


def list_report_answers_from_evidence(runs: Sequence[ReportRun]) -> tuple[ReportQuestionAnswer, ...]:
    """One answer per question, in their order, from the first of the runs that has evidence; empty where none has."""
    # A sweep and a choice are told by their own recommendation, which knows the limits; beside others they answer too.
    if len(runs) == 1 and runs[0].record.kind in ("sweep", "choose"):
        return ()
    evidence = {
        question.name: next(collect_question_evidence(question.name, runs), None) for question in QUESTIONS[:-1]
    }
    answers = [_answer_from_evidence(question, evidence[question.name]) for question in QUESTIONS[:-1]]
    if all(answer.level == "not run" for answer in answers):
        return ()
    return (*answers, build_query_time_answer(runs, answers[0]))


def _answer_from_evidence(question: ReportQuestion, evidence: RunEvidenceOnQuestion | None) -> ReportQuestionAnswer:
    if evidence is None:
        return ReportQuestionAnswer(question, "not run")
    contenders, slug = evidence.contenders, evidence.run.slug
    blank = ReportQuestionAnswer(
        question, "not run", all=contenders, unit=evidence.unit, slug=slug, caption=evidence.means,
        basis=evidence.basis
    )  # fmt: skip
    if evidence.note:
        return replace(blank, note=evidence.note)
    if evidence.equal or evidence.uneven:
        note = evidence.uneven or f"{evidence.equal} scores just as well"
        names = tuple(contender.name for contender in contenders)
        return replace(
            blank, level="open", names=names, n=evidence.n, note=note, may=_list_possible_leaders(contenders)
        )
    names = evidence.may or _list_possible_leaders(contenders, evidence.floor)
    ahead = _compute_percent_of_resamples_ahead(evidence) if evidence.chance is None else evidence.chance
    level = _rate_answer_certainty(question, evidence, ahead)
    told = names if level == "open" else names[:1]
    return replace(
        blank, level=level, names=told, n=evidence.n, ahead=ahead,
        more=evidence.needed or _count_items_to_tell_leader(evidence, names),
        note=evidence.told, people=evidence.people, beside=evidence.beside, may=names
    )  # fmt: skip


def _list_possible_leaders(
    contenders: Sequence[SystemEstimateWithRanks], floor: float | None = None
) -> tuple[str, ...]:
    """List who may be first; without tests everybody may, but nobody who does not pass a reference."""
    able = [row.name for row in contenders if row.ranks is None or row.ranks[0] == 1]
    above = {row.name for row in contenders if floor is None or row.point > floor}
    return tuple(name for name in able if name in above) or tuple(able)


def _rate_answer_certainty(question: ReportQuestion, evidence: RunEvidenceOnQuestion, ahead: int | None) -> Level:
    collections = question.noun == "collection"
    if ahead is None or (evidence.n < LEAST_ITEMS and not collections):
        return "open"
    is_alone = evidence.contenders[0].ranks == (1, 1)
    if is_alone and evidence.chance is None and not (collections and evidence.n < LEAST_COLLECTIONS):
        return "sure"
    return "likely" if ahead >= LIKELY else "open"


def _compute_percent_of_resamples_ahead(evidence: RunEvidenceOnQuestion) -> int | None:
    """Of 100 resamples those in which the first is clearly above every other, rounded down; 100 from 99.5 on."""
    defined = evidence.replicates[:, np.isfinite(evidence.replicates).all(axis=0)]
    if defined.shape[1] < 2:
        return None
    share = 100 * clear_lead(defined, evidence.free)
    return 100 if share >= NEARLY_ALL else math.floor(share)


def _count_items_to_tell_leader(evidence: RunEvidenceOnQuestion, names: Sequence[str]) -> int | None:
    """How many more items would tell the leader from the next, by the run's own tests, in 80 of 100 studies or more;
    two digits."""
    if len(names) < 2 or not evidence.has_outlook:
        return None
    apart = evidence.replicates[0] - evidence.replicates[1]
    difference = abs(evidence.contenders[0].point - evidence.contenders[1].point)
    apart = apart[np.isfinite(apart)]
    if not difference > 0 or len(apart) < 2:
        return None
    pairs = math.comb(len(evidence.contenders), 2)
    error = evidence.free.error(apart)
    wanted = count_items_to_decide(error, evidence.n, difference, tests=pairs, df=evidence.free.df)
    if wanted is None or not 0 < wanted <= MOST_MORE:
        return None
    # Two digits and upwards: more would claim to know what is an estimate from one sample.
    step = int(10 ** max(0, math.floor(math.log10(wanted)) - 1))
    return math.ceil(wanted / step) * step


def build_query_time_answer(runs: Sequence[ReportRun], search: ReportQuestionAnswer) -> ReportQuestionAnswer:
    """How long a query takes, of a sweep: each encoder's fastest stack. A system that search rules out is not chosen,
    however fast it is."""
    question = QUESTIONS[-1]
    swept = next(((run, result) for run in runs if (result := read_sweep_findings(run)) is not None), None)
    if swept is None:
        return ReportQuestionAnswer(question, "not run")
    run, findings = swept
    fastest: dict[str, StackSummary] = {}
    for stack in findings.parts[0].stacks:
        name = str(stack.axes.get("encoder") or "")
        # The fastest stack of each: the question is what an encoder can cost, not what one of its stacks does.
        if name and (name not in fastest or stack.latency < fastest[name].latency):
            fastest[name] = stack
    kinds = {system.name: system.kind for each in runs for system in each.record.systems}
    ordered = sorted(fastest.items(), key=lambda pair: (pair[1].latency, pair[0]))
    top = tuple(
        SystemEstimateWithRanks(
            *(facts.latency, facts.latency_low, facts.latency_high), name=name, kind=kinds.get(name, "embedding")
        )
        for name, facts in ordered
    )
    able = [row for row in top if search.level == "not run" or row.name in search.may]
    if not able:
        return ReportQuestionAnswer(question, "not run")
    words = _describe_query_times(able, fastest)
    beaten = {row.name for row in search.all} - {*search.may}
    ruled = [row.name for row in top if row.name in beaten and row.point < able[0].point]
    if ruled:
        words += f"; {ruled[0]} is faster but retrieves less well"
    n = len(findings.parts[0].stacks)
    first = (able[0].name,)
    level, percentile = _rate_query_time_certainty(able), findings.asked.percentile
    return ReportQuestionAnswer(question, level, first, n, None, None, top, MILLISECONDS, words, run.slug, percentile)


def _rate_query_time_certainty(able: Sequence[SystemEstimateWithRanks]) -> Level:
    if len(able) < 2:
        return "sure"
    first, second = able[:2]
    if first.high is None or second.low is None:
        return "likely"
    return "sure" if first.high < second.low else "open"


def _describe_query_times(able: Sequence[SystemEstimateWithRanks], stacks: Mapping[str, StackSummary]) -> str:
    times = [
        f"{_format_query_time(able[0])} a query",
        *(f"{contender.name} {_format_query_time(contender)}" for contender in able[1:2]),
    ]
    usd = {contender.name: stacks[contender.name].cost for contender in able[:2]}
    if not any(usd.values()):
        return ", ".join(times) + ("; both cost nothing" if len(usd) > 1 else "; it costs nothing")
    return ", ".join(times) + "; " + ", ".join(f"{name} ${value:.4g} per 1,000" for name, value in usd.items())


def _format_query_time(contender: SystemEstimateWithRanks) -> str:
    write = MILLISECONDS.text if contender.point < 10 else MILLISECONDS.format_value_in_text
    return f"{write(contender.point)} ms"


@dataclass(frozen=True)
class SystemPlaceInAnswer:
    """A system's part in an answer: the places it may take, its value and interval, and whether it may be first."""

    rank: str = ""
    text: str = ""
    interval: str = ""
    first: bool = False


def list_system_places_per_answer(
    answers: Sequence[ReportQuestionAnswer],
) -> tuple[tuple[ReportQuestionAnswer, ...], tuple[tuple[str, str, tuple[SystemPlaceInAnswer, ...]], ...]]:
    """The answers that have values, and every system with its place in each, an empty one where it has none: in the
    order of the first answer, then of those that follow."""
    asked = tuple(answer for answer in answers if answer.all)
    kinds = {contender.name: contender.kind for answer in asked for contender in answer.all}
    by_run = [
        {contender.name: _make_system_place_in_answer(answer, contender) for contender in answer.all}
        for answer in asked
    ]
    return asked, tuple(
        (name, kind, tuple(by_name.get(name, SystemPlaceInAnswer()) for by_name in by_run))
        for name, kind in kinds.items()
    )


def _make_system_place_in_answer(
    answer: ReportQuestionAnswer, contender: SystemEstimateWithRanks
) -> SystemPlaceInAnswer:
    rank = tables.format_rank_range(*contender.ranks) if contender.ranks else ""
    interval = "" if contender.low is None else answer.unit.interval(*contender.ends)
    return SystemPlaceInAnswer(
        rank,
        answer.unit.text(contender.point),
        interval,
        contender.ranks is not None and contender.ranks[0] == 1 and contender.name in answer.may,
    )


def describe_recommended_systems(answers: Sequence[ReportQuestionAnswer]) -> tuple[str, str]:
    """What to use, or why these runs do not say so; and what they leave open. Both empty without answers.

    It goes by the questions of quality that are decided narrowly, and never averages over them.
    """
    quality = [answer for answer in answers if answer.question.name in PROTOCOLS]
    left = [answer for answer in quality if answer.level == "open"]
    never = [answer for answer in answers if answer.level == "not run"]
    if not any(answer.level != "not run" for answer in quality):
        return "", ""
    use = _say_which_to_use(quality) or _say_no_system_chosen(quality, answers)
    return f"{use}.", " ".join(_say_open_and_untested_questions(left, never))


def recommendation_claims(answers: Sequence[ReportQuestionAnswer]) -> tuple[Claim, ...]:
    """What the recommendation rests on: of every system to use, that it leads on a question, or may be first there."""
    quality = [answer for answer in answers if answer.question.name in PROTOCOLS]
    return tuple(
        Claim(name, "may be first", answer.question.name, answer.may, kind=answer.level)
        for name, grounds in _find_recommended_systems(quality).items()
        for answer in grounds
    )


def _find_recommended_systems(quality: Sequence[ReportQuestionAnswer]) -> dict[str, list[ReportQuestionAnswer]]:
    """The systems to use, each with the questions that it leads: those that recommend it, then others that it leads. A
    system that the tests rule out for search is not one of them."""
    ruled = {name for answer in quality if answer.question.name == "search" for name in answer.out}
    grounds = [answer for answer in quality if answer.can_recommend_leader and answer.names[0] not in ruled]
    winners: dict[str, list[ReportQuestionAnswer]] = {}
    for answer in grounds:
        winners.setdefault(answer.names[0], []).append(answer)
    for answer in quality:
        # What a system leads besides is worth a word; it is no reason to use it.
        if answer not in grounds and answer.level in ("sure", "likely") and answer.names[0] in winners:
            winners[answer.names[0]].append(answer)
    return winners


def _say_which_to_use(quality: Sequence[ReportQuestionAnswer]) -> str:
    """What to use, and for what; empty where no question is ground enough."""
    winners = {
        name: [WHERE[answer.question.name] for answer in grounds]
        for name, grounds in _find_recommended_systems(quality).items()
    }
    if len(winners) == 1:
        ((name, where),) = winners.items()
        said = [IN_GROUPING if place == WHERE["groups"] else place for place in where]
        return f"On texts like these, use {name}: it leads {_join_with_and(said)}"
    return "On texts like these, use " + "; ".join(
        f"{name} {_join_with_and(where)}" for name, where in winners.items()
    ) if winners else ""  # fmt: skip


def _say_no_system_chosen(quality: Sequence[ReportQuestionAnswer], answers: Sequence[ReportQuestionAnswer]) -> str:
    """Say that these data choose no system: who may be first, who is out, and what would decide."""
    answered = [answer for answer in quality if answer.level != "not run"]
    main = next((answer for answer in answered if answer.basis in ("quality", "choice")), None)
    if main is None:
        return _say_quality_unasked(quality, answered)
    names = main.may
    if main.basis == "choice" and main.level == "likely":
        return f"Search was not tested; `choose` picks {main.names[0]} ({main.note})"
    if len(names) < 2:
        return f"{names[0]} may be first {WHERE[main.question.name]}, but that is not certain: {main.how_sure}"
    many = [*names[:2], f"{len(names) - 2} others"] if len(names) > 3 else names
    among = f"{'between' if len(names) == 2 else 'among'} {_join_with_and(many)}"
    fast = next((row.names[0] for row in answers if row.question.name == "price" and row.names), "")
    out = f"; ruled out: {_join_with_and(_list_first_few_names(main.out))}" if main.out else ""
    decide = f"; about {main.more:,} more {main.question.noun}s would decide" if main.more else ""
    faster = f"; choose {fast}, the fastest" if fast in names and not decide else ""
    return f"These data do not decide {among}{out}{decide}{faster}"


def _say_quality_unasked(quality: Sequence[ReportQuestionAnswer], answered: Sequence[ReportQuestionAnswer]) -> str:
    """Say that nobody asked how good systems are, who may be first, who is out, and what would decide."""
    first = "; ".join(f"{WHERE[answer.question.name]}, {_say_possible_leaders(answer)}" for answer in answered)
    never_first = set.intersection(*(set(answer.out) for answer in answered))
    out = [name for name in answered[0].out if name in never_first]
    ruled = f"; ruled out everywhere: {_join_with_and(_list_first_few_names(out))}" if out else ""
    command = f"embassay {quality[0].question.command}"
    opening = "These runs do not show which system retrieves best, so none is recommended"
    return f"{opening}: {first}{ruled}. To choose, run {command}"


def _say_possible_leaders(answer: ReportQuestionAnswer) -> str:
    """Say who may be first, or that nobody leads."""
    return "no system leads" if answer.note else f"{_join_with_and(_list_first_few_names(answer.may))} may be first"


def _list_first_few_names(names: Sequence[str], most: int = 3) -> list[str]:
    """List the first few names, and how many more there are."""
    return [*names[:most], *([f"{len(names) - most} others"] if len(names) > most else [])]


WHERE = {
    "search": "for search",
    "reworded": "where texts are paraphrased",
    "damaged": "where copies are damaged",
    "groups": "for grouping documents",
}
IN_GROUPING = "in grouping documents"
"""What a system leads in, which is not what it is used for."""


def _say_open_and_untested_questions(
    left: Sequence[ReportQuestionAnswer], never: Sequence[ReportQuestionAnswer]
) -> Iterator[str]:
    if left:
        yield f"Undecided: {'; '.join(answer.question.asks.lower() for answer in left)}."
    if never:
        yield f"Not tested: {'; '.join(answer.question.asks.lower() for answer in never)}."


def _join_with_and(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
