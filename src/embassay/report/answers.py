"""The first screen: the questions a reader comes with, each answered in one line, or said to be open with what would
decide it.

`answers_of` computes everything that a page, a terminal or a print shows of them, once. An answer rests on the paired
resamples that its run kept: *ahead* is the share of them in which the leader scores above every other system; it is
`sure` where the run's own tests leave the leader the first place alone, `likely` from 80 of 100, else open.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Kind
from embassay.document.marks import LogScale, Scale
from embassay.protocols.compare import higher_is_better
from embassay.protocols.kernel import tables
from embassay.protocols.kernel.comparisons import (
    CLASSICAL,
    OVERALL,
    RANKED,
    REFERENCE,
    Standing,
    reaching,
    read_standings,
)
from embassay.protocols.kernel.tables import POINTS, SCORE, Unit
from embassay.report.runs import ReportRun, score_of, summary_of, sweep_of
from embassay.stats import NORMAL, Freedom, freedom_of_difference
from embassay.stats.intervals import items_to_decide, shared_degrees

if TYPE_CHECKING:
    from embassay.protocols.rag.sweep.findings.record import StackFacts

__all__ = ["Answer", "Contender", "answers_of", "recommendation"]

Level = Literal["sure", "likely", "open", "not run"]
LIKELY, NEARLY_ALL = 80, 99.5
"""Resamples of 100 from which a leader is likely first, and from which more than 99 are said."""
LEAST_ITEMS, LEAST_COLLECTIONS = 10, 5
"""Below so many items nothing is decided; below so many collections nothing is sure."""
MOST_MORE = 2000
"""More items than these are no advice."""
MILLISECONDS = Unit(1.0, 1, 0)
TIMES = LogScale(0.1, 10_000.0)
"""Milliseconds on every page alike: from a lookup of static vectors to a call of a slow server."""


@dataclass(frozen=True)
class Question:
    """What a reader asks, also in a word (`short`): `means` says what its score is, `noun` what is counted, `command`
    what answers it."""

    name: str
    short: str
    asks: str
    means: str
    noun: str
    command: str


QUESTIONS = (
    Question("search", "Search", "For search", "evidence among the first passages", "question", "rag score"),
    Question("reworded", "Reworded", "When texts are reworded", "score after paraphrase", "text", "pteb run"),
    Question(
        "damaged",
        "Damaged",
        "When copies are damaged",
        "share of search quality kept",
        "question",
        "sage run -t retrieval",
    ),
    Question(
        "groups", "Grouping", "To group documents", "topics recovered", "collection", "sage run -t clustering"
    ),
    Question("people", "Beside people", "Beside people", "same items for both", "item", "hume sample"),
    Question("price", "Price, speed", "Price and speed", "time of a query", "query", "rag sweep"),
)
PROTOCOLS = ("search", "reworded", "damaged", "groups")
"""Questions of quality, which a recommendation goes by."""


@dataclass(frozen=True)
class Contender:
    """A system's value at a question, its 95% interval where there is one, and the places that its run's tests leave it
    (None without tests)."""

    name: str
    kind: Kind | Literal["human"]
    value: float
    low: float | None
    high: float | None
    ranks: tuple[int, int] | None


@dataclass(frozen=True)
class Answer:
    """One question's line.

    `all` are the systems that one method scored, best first, and `names` those of them that may be first. `ahead` of
    100 resamples, rounded down (100: more than 99.5); `more` items would decide with a chance of 80%, None where they
    hardly would. `slug` is the page with the evidence. `percentile` is that of times. `people` is what people score on
    the same items, and `beside` how often they are above the best system.
    """

    question: Question
    level: Level
    names: tuple[str, ...] = ()
    n: int = 0
    ahead: int | None = None
    more: int | None = None
    all: tuple[Contender, ...] = ()
    unit: Unit = SCORE
    note: str = ""
    slug: str = ""
    percentile: float | None = None
    people: Contender | None = None
    beside: str = ""

    @property
    def top(self) -> tuple[Contender, ...]:
        """The first three; with people among them where people answered."""
        if self.people is None:
            return self.all[:3]
        return tuple(sorted((*self.all[:2], self.people), key=lambda contender: -contender.value))

    @property
    def means(self) -> str:
        """What the score is; of times, that which so many of the queries take at most."""
        if self.percentile is None:
            return self.question.means
        return (
            "half of queries take less"
            if self.percentile == 50
            else f"{self.percentile:g}% of queries take less"
        )

    @property
    def scale(self) -> Scale | LogScale:
        """From 0 to 1 or to 100 points whatever the data are, so that rows can be read alike; of times TIMES."""
        return Scale(0.0, 1.0, 0.25, self.unit.factor) if self.unit is not MILLISECONDS else TIMES

    @property
    def ends(self) -> tuple[str, str]:
        """What stands at both ends of the scale."""
        if self.unit is MILLISECONDS:
            return "0.1 ms", "10 s"
        return "0", "1" if self.unit.factor == 1 else "100"

    @property
    def is_ranked(self) -> bool:
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
        """`minilm`, `minilm or wordllama`, `minilm, bm25 and 3 others`; `not asked` where no run asks."""
        if self.level == "not run":
            return "not asked"
        if len(self.names) > 3:
            return f"{self.names[0]}, {self.names[1]} and {len(self.names) - 2} others"
        return " or ".join(self.names)

    @property
    def said(self) -> str:
        """How sure that is, in a sentence of at most 62 characters without full names."""
        said = self.note or _said(self)
        if not self.beside:
            return said
        return f"{said}. {self.beside.capitalize()}" if ";" in said else f"{said}; {self.beside}"

    @property
    def brief(self) -> str:
        """The same in half a line."""
        noun = f"{self.question.noun}s"
        briefly = {
            "open": f"{self.more:,} more {noun} would" if self.more else _hardly(self),
            "likely": _from(f"{_hundred(self)} of 100", self).replace("from only", "only"),
        }
        return self.note or briefly.get(self.level) or self.said


def _hardly(answer: Answer) -> str:
    return _said(answer) if _few(answer) else f"more {answer.question.noun}s may not"


def _said(answer: Answer) -> str:
    if answer.level == "not run":
        return f"embassay {answer.question.command}"
    noun = answer.question.noun
    more = f"about {answer.more:,} more would decide" if answer.more else ""
    if answer.level == "open":
        few = f"{answer.n} {noun}s are too few" if answer.n != 1 else f"one {noun} is too few"
        if _few(answer) and not more:
            return few
        return f"{few}; {more}" if more else f"more {noun}s may not decide; choose by price or speed"
    if answer.level == "likely" and more and not _few(answer):
        return f"ahead in {_hundred(answer)} of 100; {more}"
    return _from(f"ahead in {_hundred(answer)} of 100 resamples", answer)


def _hundred(answer: Answer) -> str:
    return "over 99" if answer.ahead == 100 else str(answer.ahead)


def _few(answer: Answer) -> bool:
    return answer.question.noun == "collection" and answer.n < LEAST_COLLECTIONS


def _from(ahead: str, answer: Answer) -> str:
    return f"{ahead}, from only {tables.counted(answer.n, answer.question.noun)}" if _few(answer) else ahead


@dataclass(frozen=True)
class Evidence:
    """What a run says of a question: contenders best first, and their paired resamples, (systems, resamples). `note`
    says why it answers nothing after all, `equal` names what knows nothing and scores as much as the leader, `uneven`
    why its systems don't compare; `people` and `beside` are those of an answer. Without an outlook the resamples don't
    tell what more of what is counted would do. `free` are the degrees of the difference of the first two."""

    run: ReportRun
    contenders: tuple[Contender, ...]
    replicates: NDArray[np.float64]
    n: int
    unit: Unit
    note: str = ""
    equal: str = ""
    uneven: str = ""
    people: Contender | None = None
    beside: str = ""
    has_outlook: bool = True
    free: Freedom = NORMAL


def answers_of(runs: Sequence[ReportRun]) -> tuple[Answer, ...]:
    """One answer per question, in their order, from the first of the runs that has evidence; empty where none has."""
    evidence = {question.name: next(_evidence(question.name, runs), None) for question in QUESTIONS[:-1]}
    answers = [_answer(question, evidence[question.name]) for question in QUESTIONS[:-1]]
    if all(answer.level == "not run" for answer in answers):
        return ()
    return (*answers, times_of(runs, answers[0]))


def _evidence(question: str, runs: Sequence[ReportRun]) -> Iterator[Evidence]:
    # Finders before runs: the best kind of evidence in any run comes before a lesser one in the first.
    for find in FINDERS[question]:
        for run in runs:
            evidence = find(run)
            if evidence is not None and len(evidence.contenders) > 1:
                yield evidence


def _answer(question: Question, evidence: Evidence | None) -> Answer:
    if evidence is None:
        return Answer(question, "not run")
    contenders, slug = evidence.contenders, evidence.run.slug
    if evidence.note:
        return Answer(question, "not run", all=contenders, unit=evidence.unit, note=evidence.note, slug=slug)
    if evidence.equal or evidence.uneven:
        note = evidence.uneven or f"knowing nothing ({evidence.equal}) scores as much"
        names = tuple(contender.name for contender in contenders)
        return Answer(
            question, "open", names, evidence.n, all=contenders, unit=evidence.unit, note=note, slug=slug
        )
    ahead, names = _ahead(evidence.replicates), _first(contenders)
    level = _level(question, evidence, names, ahead)
    told = names if level == "open" else names[:1]
    more = _more(evidence, names)
    return Answer(
        question, level, told, evidence.n, ahead, more, contenders, evidence.unit, slug=slug,
        people=evidence.people, beside=evidence.beside,
    )  # fmt: skip


def _first(contenders: Sequence[Contender]) -> tuple[str, ...]:
    """Who may be first; without tests everybody may."""
    return tuple(row.name for row in contenders if row.ranks is None or row.ranks[0] == 1)


def _level(question: Question, evidence: Evidence, names: Sequence[str], ahead: int | None) -> Level:
    collections = question.noun == "collection"
    if ahead is None or (evidence.n < LEAST_ITEMS and not collections):
        return "open"
    if len(names) == 1 and not (collections and evidence.n < LEAST_COLLECTIONS):
        return "sure"
    return "likely" if ahead >= LIKELY else "open"


def _ahead(replicates: NDArray[np.float64]) -> int | None:
    """Of 100 resamples those in which the first row is above every other, rounded down; 100 from 99.5 on."""
    defined = replicates[:, np.isfinite(replicates).all(axis=0)]
    if not defined.size:
        return None
    share = 100 * float((defined[0] > defined[1:].max(axis=0)).mean())
    return 100 if share >= NEARLY_ALL else math.floor(share)


def _more(evidence: Evidence, names: Sequence[str]) -> int | None:
    """How many more items would tell the leader from the next, by the run's own tests, in 80 of 100 studies or more;
    two digits."""
    if len(names) < 2 or not evidence.has_outlook:
        return None
    apart = evidence.replicates[0] - evidence.replicates[1]
    difference = abs(evidence.contenders[0].value - evidence.contenders[1].value)
    apart = apart[np.isfinite(apart)]
    if not difference > 0 or len(apart) < 2:
        return None
    pairs = math.comb(len(evidence.contenders), 2)
    error = evidence.free.error(apart)
    wanted = items_to_decide(error, evidence.n, difference, tests=pairs, df=evidence.free.df)
    if wanted is None or not 0 < wanted <= MOST_MORE:
        return None
    # Two digits and upwards: more would claim to know what is an estimate from one sample.
    step = int(10 ** max(0, math.floor(math.log10(wanted)) - 1))
    return math.ceil(wanted / step) * step


def _at(run: ReportRun, kind: str, task: str, unit: Unit, *, collections: bool = False) -> Evidence | None:
    """The evidence in a run's standings on a task, of the systems that one method scored."""
    if run.record.kind != kind:
        return None
    every = [row for row in read_standings(run.record.path) if row.task == task and not row.dataset]
    # One group only: what two methods scored cannot be ranked together.
    for group in (RANKED, CLASSICAL):
        ours = [row for row in every if row.group == group and row.headline.value is not None]
        if len(ours) > 1:
            scope = task if group == RANKED else f"{task}:{group}"
            references = [row.headline for row in every if row.group == REFERENCE]
            equal = reaching(task, [row.headline for row in ours], references)
            return replace(_of_standings(run, ours, scope, unit, collections), equal=equal)
    return None


def _of_standings(
    run: ReportRun, standings: Sequence[Standing], scope: str, unit: Unit, collections: bool
) -> Evidence:
    sign = 1.0 if higher_is_better(standings[0].measure) else -1.0
    ordered = sorted(
        standings, key=lambda standing: (-sign * (standing.headline.value or 0.0), standing.system)
    )
    lengths = {len(standing.headline.replicates) for standing in ordered}
    replicates = (
        sign * np.stack([standing.headline.replicates for standing in ordered])
        if len(lengths) == 1
        else np.empty((len(ordered), 0))
    )
    kinds, ranges = (
        {system.name: system.kind for system in run.record.systems},
        run.record.scope(scope).ranges,
    )
    contenders = [
        Contender(
            standing.system,
            kinds.get(standing.system, "embedding"),
            float(standing.headline.value or 0.0),
            *standing.headline.interval,
            ranges.get(standing.system),
        )
        for standing in ordered
    ]
    strata = [one.headline.resampled for one in ordered]
    free = freedom_of_difference(*strata[:2], most=shared_degrees(strata))
    evidence = Evidence(run, tuple(contenders), replicates, ordered[0].headline.n, unit, free=free)
    if not collections:
        return evidence
    sets, whole = _collections(run, ordered[0].system)
    return replace(evidence, n=sets, has_outlook=whole or sets >= LEAST_COLLECTIONS)


OVER_SETS = re.compile(r"over ([\d,]+) sets?\b")


def _collections(run: ReportRun, system: str) -> tuple[int, bool]:
    """How many collections a system was asked to group, and whether these are what was resampled: a dataset of one is
    resampled over its texts, which says nothing of other collections."""
    methods = {
        row.dataset: row.method
        for row in run.record.rows.values()
        if (row.task, row.system, row.measure, row.subset) == ("clustering", system, "v_measure", "")
        and row.dataset
        and row.variant in ("", "original")
    }
    matches = [OVER_SETS.search(method) for method in methods.values()]
    many = [int(match[1].replace(",", "")) if match else 1 for match in matches]
    return sum(many), all(matches) and bool(matches)


def _scored(run: ReportRun) -> Evidence | None:
    """Of a scoring: its leading measure, with the values and the tests of its record, corrected by people or not."""
    score = score_of(run)
    if score is None:
        return None
    from embassay.protocols.rag.scoring.conclusions import judged_less
    from embassay.protocols.rag.scoring.standings import read_scored
    from embassay.report.rag.tables import TASK, unit_of

    scored = read_scored(run.record.path)
    ours = [
        standing
        for standing in scored.standings
        if standing.measure == score.headline and len(standing.headline.replicates)
    ]
    if len(ours) < 2:
        return None
    evidence = _of_standings(run, ours, TASK, unit_of(score.headline), collections=False)
    other = judged_less(score)
    uneven = f"{other[0]} is judged less: rag golden --add-run" if other is not None else ""
    return replace(evidence, uneven=uneven)


def _people(run: ReportRun) -> Evidence | None:
    """Of a study: systems on the items that people had; scripts that stand in for people are no people."""
    evidence, summary = _at(run, "hume", OVERALL, POINTS), summary_of(run)
    if evidence is None or summary is None:
        return None
    from embassay.report.hume.families import answerers

    if answerers(summary) == "people":
        human = next((place.mean for place in summary.places if place.kind == "human"), None)
        won = next((wins for wins in summary.wins if (wins.by, wins.reference) == ("all", "best")), None)
        beside = f"people lead on {won.wins} of {tables.counted(won.pairs, 'task')}" if won else ""
        if human is None or human.value is None:
            return replace(evidence, beside=beside)
        people = Contender("people", "human", human.value, human.low, human.high, None)
        return replace(evidence, people=people, beside=beside)
    return replace(evidence, note="scripts answered; ask people: hume serve")


FINDERS: Mapping[str, Sequence[Callable[[ReportRun], Evidence | None]]] = {
    "search": (_scored, lambda run: _at(run, "pteb", "retrieval", POINTS)),
    "reworded": (
        lambda run: _at(run, "pteb", OVERALL, POINTS),
        lambda run: _at(run, "hteb", OVERALL, POINTS),
    ),
    "damaged": (
        lambda run: _at(run, "sage", "retrieval", SCORE),
        lambda run: _at(run, "sage", "robustness", SCORE),
    ),
    "groups": (
        lambda run: _at(run, "sage", "clustering", SCORE, collections=True),
        lambda run: _at(run, "pteb", "clustering", POINTS, collections=True),
    ),
    "people": (_people,),
}
"""Where evidence on a question is looked for, the best first."""


def times_of(runs: Sequence[ReportRun], search: Answer) -> Answer:
    """How long a query takes, of a sweep: each encoder's fastest stack. A system that search rules out is not chosen,
    however fast it is."""
    question = QUESTIONS[-1]
    swept = next(((run, result) for run in runs if (result := sweep_of(run)) is not None), None)
    if swept is None:
        return Answer(question, "not run")
    run, findings = swept
    fastest: dict[str, StackFacts] = {}
    for stack in findings.parts[0].stacks:
        name = str(stack.axes.get("encoder") or "")
        # The fastest stack of each: the question is what an encoder can cost, not what one of its stacks does.
        if name and (name not in fastest or stack.latency < fastest[name].latency):
            fastest[name] = stack
    kinds = {system.name: system.kind for each in runs for system in each.record.systems}
    ordered = sorted(fastest.items(), key=lambda pair: (pair[1].latency, pair[0]))
    top = tuple(
        Contender(
            name, kinds.get(name, "embedding"), facts.latency, facts.latency_low, facts.latency_high, None
        )
        for name, facts in ordered
    )
    able = [row for row in top if search.level == "not run" or row.name in _contending(search)]
    if not able:
        return Answer(question, "not run")
    words = _said_of_time(able, fastest)
    if ruled := [row.name for row in top if row not in able and row.value < able[0].value]:
        words += f"; {ruled[0]} is faster, finds less"
    n = len(findings.parts[0].stacks)
    first = (able[0].name,)
    level, percentile = _sure_of_time(able), findings.asked.percentile
    return Answer(question, level, first, n, None, None, top, MILLISECONDS, words, run.slug, percentile)


def _contending(search: Answer) -> set[str]:
    """Who may be first for search."""
    return {
        *search.names,
        *(contender.name for contender in search.all if contender.ranks and contender.ranks[0] == 1),
    }


def _sure_of_time(able: Sequence[Contender]) -> Level:
    if len(able) < 2:
        return "sure"
    first, second = able[:2]
    if first.high is None or second.low is None:
        return "likely"
    return "sure" if first.high < second.low else "open"


def _said_of_time(able: Sequence[Contender], stacks: Mapping[str, StackFacts]) -> str:
    times = [f"{_ms(able[0])} a query", *(f"{contender.name} {_ms(contender)}" for contender in able[1:2])]
    usd = {contender.name: stacks[contender.name].cost for contender in able[:2]}
    if not any(usd.values()):
        return ", ".join(times) + ("; both cost nothing" if len(usd) > 1 else "; it costs nothing")
    return (
        ", ".join(times) + "; " + ", ".join(f"{name} ${value:.4g} per 1,000" for name, value in usd.items())
    )


def _ms(contender: Contender) -> str:
    return f"{MILLISECONDS.text(contender.value) if contender.value < 10 else MILLISECONDS.said(contender.value)} ms"


@dataclass(frozen=True)
class Place:
    """A system's part in an answer: the places it may take, its value and interval, and whether it may be first."""

    rank: str = ""
    text: str = ""
    interval: str = ""
    first: bool = False


def places(
    answers: Sequence[Answer],
) -> tuple[tuple[Answer, ...], tuple[tuple[str, str, tuple[Place, ...]], ...]]:
    """The answers that have values, and every system with its place in each, an empty one where it has none: in the
    order of the first answer, then of those that follow."""
    asked = tuple(answer for answer in answers if answer.all)
    kinds = {contender.name: contender.kind for answer in asked for contender in answer.all}
    by_run = [{contender.name: _place(answer, contender) for contender in answer.all} for answer in asked]
    return asked, tuple(
        (name, kind, tuple(by_name.get(name, Place()) for by_name in by_run)) for name, kind in kinds.items()
    )


def _place(answer: Answer, contender: Contender) -> Place:
    rank = tables.rank(*contender.ranks) if contender.ranks else ""
    bounded = contender.low is not None and contender.high is not None
    interval = answer.unit.interval(contender.low or 0.0, contender.high or 0.0) if bounded else ""
    return Place(
        rank,
        answer.unit.text(contender.value),
        interval,
        contender.ranks is not None and contender.ranks[0] == 1,
    )


def recommendation(answers: Sequence[Answer]) -> tuple[str, str]:
    """One sentence that says what to use, and what it leaves open; both empty without answers.

    It goes by the questions of quality that are sure or likely, and never averages over them.
    """
    quality = [answer for answer in answers if answer.question.name in PROTOCOLS]
    decided = [answer for answer in quality if answer.level in ("sure", "likely")]
    left = [answer for answer in quality if answer.level == "open"]
    never = [answer for answer in answers if answer.level == "not run"]
    if not answers or not (decided or left):
        return "", ""
    return f"{_use(decided, left, answers)}.", " ".join(_rest(left, never))


def _use(decided: Sequence[Answer], left: Sequence[Answer], answers: Sequence[Answer]) -> str:
    winners: dict[str, list[str]] = {}
    for row in decided:
        winners.setdefault(row.names[0], []).append(WHERE[row.question.name])
    if not winners:
        names = left[0].names
        many = [*names[:2], f"{len(names) - 2} others"] if len(names) > 3 else names
        among = f"{'between' if len(names) == 2 else 'among'} {_listed(many)}"
        fast = next((row.names[0] for row in answers if row.question.name == "price" and row.names), "")
        return f"These data do not choose {among}" + (f"; take the faster, {fast}" if fast else "")
    if len(winners) == 1:
        ((name, where),) = winners.items()
        said = [IN_GROUPING if place == WHERE["groups"] else place for place in where]
        return f"On texts like these, use {name}: it leads {_listed(said)}"
    return "On texts like these, use " + "; ".join(
        f"{name} {_listed(where)}" for name, where in winners.items()
    )


WHERE = {
    "search": "for search",
    "reworded": "where texts are reworded",
    "damaged": "where copies are damaged",
    "groups": "to group documents",
}
IN_GROUPING = "in grouping documents"
"""What a system leads in, which is not what it is used for."""


def _rest(left: Sequence[Answer], never: Sequence[Answer]) -> Iterator[str]:
    if left:
        yield f"Still open: {', '.join(answer.question.name for answer in left)}."
    if never:
        yield f"Not asked: {', '.join(answer.question.name for answer in never)}."


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
