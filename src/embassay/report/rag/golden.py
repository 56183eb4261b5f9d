"""The page of a golden set: how many questions, what it cost, how sure the order is, and one question in full."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from embassay.protocols import numbers
from embassay.protocols.rag.golden.summary import Golden, HumanCheck, Query, read_golden
from embassay.report.board import Board
from embassay.report.matrix import Entry, Line, Matrix
from embassay.report.rag.finals import FinalList, final_list
from embassay.report.rag.funnel import Step, Strips, funnel, strips
from embassay.report.rag.judging import Bar, again, answers, bars, bias, checked, repeats
from embassay.report.rag.ordering import claims, doubts, stops
from embassay.report.rag.words import short, told
from embassay.report.record import Record
from embassay.report.verdict import Sentence, Verdict
from embassay.runs.spending import dollars

LABELS = (("grade5_count", "Grade 5"), ("grade4_count", "Grade 4"), ("grade4plus5_count", "Grade 4 or 5"))
SHARE = "grade4plus5_pool_prevalence"
LACKING = (
    ("queries_without_grade5", "none of grade 5"),
    ("queries_without_grade4plus5", "none of grade 4 or 5"),
)


@dataclass(frozen=True)
class GoldenPage:
    """The content of the page; parts that the run does not have are empty or None."""

    facts: tuple[str, ...]
    verdict: Verdict
    failed: tuple[tuple[Query, str], ...]
    funnel: tuple[Step, ...]
    tokens: str
    labels: Matrix
    labels_said: str
    strips: Strips | None
    answers: Matrix | None
    judge: tuple[tuple[str, str], ...]
    bars: tuple[Bar, ...]
    again: str
    repeats: Matrix | None
    bias: tuple[Bar, ...]
    claims: Matrix | None
    stops: str
    judge_notes: tuple[str, ...]
    calls: str
    human: tuple[tuple[HumanCheck, tuple[Bar, ...]], ...]
    final: FinalList | None
    queries: Matrix
    exports: tuple[tuple[str, str], ...]
    settings: tuple[tuple[str, str], ...]


def golden_page(record: Record, _: Board) -> GoldenPage | None:
    """The page of a record; None before its record is written. DataError where that is damaged."""
    if not (record.path / "golden.json").exists():
        return None
    golden = read_golden(record.path / "golden.json")
    return GoldenPage(
        facts=_facts(golden, record),
        verdict=verdict_of(golden),
        failed=tuple((one, told(one, golden.settings.judge)) for one in golden.failed),
        funnel=funnel(golden),
        tokens=_tokens(golden),
        labels=_labels(golden),
        labels_said=_labels_said(golden),
        strips=strips(golden),
        answers=answers(golden.judge),
        judge=_judge(golden),
        bars=bars(golden),
        again=again(golden.repeated),
        repeats=repeats(golden.repeated),
        bias=bias(golden.ranking),
        claims=claims(golden),
        stops=stops(golden),
        judge_notes=golden.ranking.notes if golden.ranking is not None else (),
        calls=_calls_each(golden),
        human=tuple((one, checked(one)) for one in golden.human),
        final=final_list(record.path, golden),
        queries=_queries(golden.queries),
        exports=tuple(golden.exports.items()),
        settings=_settings(golden),
    )


def golden_verdict(record: Record, _: Board) -> Verdict:
    """The finding of the run in a record."""
    if not (record.path / "golden.json").exists():
        return Verdict(("Nothing finished yet",))
    return verdict_of(read_golden(record.path / "golden.json"))


def verdict_of(golden: Golden) -> Verdict:
    """How many questions are done; what they hold, what judging took, how sure the order is."""
    done = [one for one in golden.queries if one.status == "done"]
    heading = (
        f"{len(done)} of {numbers.counted(len(golden.queries), 'question')} have graded, ordered passages"
    )
    lede: list[Sentence] = []
    if golden.failed:
        left = len(golden.failed)
        lede.append((f"{left} failed and {'is' if left == 1 else 'are'} not in the set.",))
    good = golden.labels.get("grade4plus5_count_median")
    if done and good is not None:
        lede.append((f"The median question has {good:g} passage{'' if good == 1 else 's'} of grade 4 or 5.",))
    lede += [(text,) for text in (_cost(golden), _sure(golden), doubts(golden)) if text]
    return Verdict((heading,), tuple(lede))


def _cost(golden: Golden) -> str:
    """What the judge was asked, and for how much."""
    judge = golden.judge
    if judge is None:
        return ""
    counts = {one.kind: one.calls for one in judge.answers}
    each = golden.ranking.calls_per_query if golden.ranking else None
    per = f" ({each:.1f} per question)" if each else ""
    grades, orders = (numbers.counted(counts.get(kind, 0), kind) for kind in ("grade", "order"))
    if judge.usd is None:
        return f"The judge gave {grades} and {orders}{per}; its price is not known."
    return f"The judge gave {grades} and {orders}{per} for {dollars(judge.usd)}."


def _sure(golden: Golden) -> str:
    """The claims in a sentence; empty where the engine makes none."""
    ranking = golden.ranking
    if ranking is None or not ranking.claims:
        return ""
    parts, top = [], golden.settings.top
    if (overlap := ranking.claims.get("overlap")) is not None:
        parts.append(f"{numbers.percent(overlap, 1)} of the first {top} belong there")
    if (chance := ranking.claims.get("set_errors_at_most_1")) is not None:
        parts.append(f"at most one of them does not with probability {chance:.2f}")
    done = [one for one in golden.queries if one.status == "done"]
    about = f"over {sum(bool(one.claims) for one in done)} of {numbers.counted(len(done), 'question')}"
    return (
        f"{ranking.engine} expects of the judge's own order, in the mean {about}: {'; '.join(parts)}."
        if parts
        else ""
    )


def _facts(golden: Golden, record: Record) -> tuple[str, ...]:
    datasets = [one["name"] for one in record.manifest.get("datasets", ())]
    return (
        "RAG, golden set", *datasets, numbers.counted(len(golden.queries), "question"),
        f"judged by {short(golden.settings.judge)}", f"ordered by {golden.settings.ranking}",
        *([f"profile {golden.settings.profile}"] if golden.settings.profile else []),
    )  # fmt: skip


def _tokens(golden: Golden) -> str:
    one = golden.tokens
    if one is None:
        return ""
    return (
        f"Tokens per candidate as the judge reads it, question and passage: mean {one.mean:.1f}, SD {one.sd:.1f}"
        + (
            f", median {one.median:g}, largest {numbers.count(one.largest)}"
            if one.median is not None and one.largest
            else ""
        )
        + f"; n = {numbers.count(one.n)}, counted by {one.tokenizer}."
    )


def _labels(golden: Golden) -> Matrix:
    """The paper's layout: median and mean of grade 5, grade 4 and both, and their share of the pool."""

    def cell(name: str, sign: str = "") -> Entry:
        value = golden.labels.get(name)
        if value is None:
            return Entry("n/a", why="no question is done")
        return Entry(f"{value:.1f}{sign}", exact=f"{value:.6g}")

    rows = [
        Line(title, (*(cell(f"{name}_{of}") for name, _ in LABELS), cell(f"{SHARE}_{of}_percent", "%")))
        for of, title in (("median", "Median per question"), ("mean", "Mean per question"))
    ]
    columns = (*(title for _, title in LABELS), "Their share of the pool")
    return Matrix("labels", "Labels of the golden set", "Passages", columns, tuple(rows), is_sorted=True)


def _labels_said(golden: Golden) -> str:
    labels = golden.labels
    parts = [
        f"{int(value)} of {int(labels.get('n_queries') or 0)} have {what}"
        for name, what in (
            ("queries_without_grade5", "none of grade 5"),
            ("queries_without_grade4plus5", "none of grade 4 or 5"),
        )
        if (value := labels.get(name)) is not None
    ]
    return "; ".join(parts)


def _judge(golden: Golden) -> tuple[tuple[str, str], ...]:
    one = golden.judge
    if one is None:
        return ()
    tokens = f"{numbers.count(one.input_tokens)}, {numbers.count(one.output_tokens)}" if one.requests else ""
    found = [
        ("judge", one.name), ("model", one.model if one.model != one.name else ""),
        ("temperature, top p", "" if one.temperature is None else f"{one.temperature:g}, {one.top_p}"),
        *((f"instructions, {kind}", said) for kind, said in one.prompts.items()),
        ("tokens in, out", tokens),
        ("asked now, from the cache", f"{one.asked}, {one.cached}" if one.asked is not None else ""),
        ("cost", "price not known" if one.usd is None else dollars(one.usd)),
    ]  # fmt: skip
    return tuple((name, value) for name, value in found if value)


def _calls_each(golden: Golden) -> str:
    """The spread of calls over questions."""
    calls = sorted(one.calls for one in golden.queries if one.status == "done")
    if not calls or not calls[-1]:
        return ""
    middle = calls[len(calls) // 2]
    return f"Calls per question: median {middle}, from {calls[0]} to {calls[-1]}, {numbers.count(sum(calls))} in all."


def _queries(queries: Sequence[Query]) -> Matrix:
    """Every question with its counts."""
    columns = ("State", "Pool", "Grade 5", "4", "3", "2", "1", "Ordered", "Calls")
    return Matrix(
        "questions", "Every question", "Question", columns, tuple(_query(one) for one in queries), digits=0
    )


def _query(one: Query) -> Line:
    counts = (one.pool, *(reversed(one.grades) if one.grades else (None,) * 5), one.kept, one.calls)
    why = f"{one.stage}: {one.reason}" if one.reason else "not there yet"
    cells = (_count(value, why if one.status != "done" and not value else "") for value in counts)
    return Line(one.query_id, (Entry(one.status), *cells))


def _count(value: int | None, why: str) -> Entry:
    if value is None or why:
        return Entry(numbers.NONE, why=why or "no grades")
    return Entry(numbers.count(value), exact=str(value))


def _settings(golden: Golden) -> tuple[tuple[str, str], ...]:
    one = golden.settings
    named = [
        ("corpus", one.corpus), ("questions", one.queries), ("encoder", one.encoder), ("rewriter", one.rewriter),
        ("ranking", one.ranking), ("first places that matter", str(one.top)),
        ("least passages to order", str(one.minimum)), ("seed", str(one.seed)),
    ]  # fmt: skip
    named += [
        (f"{stage} {name}", str(value))
        for stage, values in one.parameters.items()
        for name, value in values.items()
        if value is not None
    ]
    return tuple(named)
