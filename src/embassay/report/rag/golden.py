"""A golden set, as a page and on a terminal: its questions, its cost, how sure the order is, one question in full."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import TYPE_CHECKING

from embassay.document.blocks import Entry, Line, Sentence, Table, Verdict, plain
from embassay.document.terminal import Column, folded, notes_below, render_table
from embassay.errors import UsageError
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.rag.golden.summary import Figure, Golden, HumanCheck, Query, read_golden
from embassay.report.board import Board
from embassay.report.rag.labels import (
    Bar,
    FinalList,
    Step,
    Strips,
    again,
    answers,
    bars,
    bias,
    checked,
    final_list,
    funnel,
    repeats,
    strips,
)
from embassay.report.rag.notes import CLAIMS, DOUBTS, STOPPED, failed_list, short, told
from embassay.report.record import Record
from embassay.runs.spending import dollars

if TYPE_CHECKING:
    from rich.text import Text

CLAIM_COLUMNS = ("Mean", "Lowest", "Highest", "Stops at", "Reached by")


def claims(golden: Golden) -> Table | None:
    """A row per claim: mean, lowest and highest over questions, and the target; None where nothing is claimed."""
    done = [one.claims for one in golden.queries if one.status == "done" and one.claims]
    wanted, rows = targets(golden.settings.ranking), []
    for name, words in CLAIMS.items():
        values = [one[name] for one in done if name in one]
        if values:
            rows.append(_claim(words.format(top=golden.settings.top), values, wanted.get(name)))
    if not rows:
        return None
    return Table(
        "claims",
        "What the engine expects of its orders",
        "Expected",
        CLAIM_COLUMNS,
        tuple(rows),
        is_sortable=False,
    )


def targets(engine: str) -> Mapping[str, float]:
    """What the engine's claims must reach before it stops; none for engines that claim nothing."""
    from embassay.protocols.rag.ranking.bayes.options import Options
    from embassay.spec import COLON

    try:
        spec = COLON.parse(engine)
        found = Options(**dict(spec.params)) if spec.name == "bayes" else None  # type: ignore[arg-type]
    except (UsageError, TypeError, ValueError):
        found = None
    if found is None or not found.stop:
        return {}
    return {"set_errors_at_most_1": found.surely, "overlap": found.overlap, "tau": found.tau}


def _claim(title: str, values: Sequence[float], target: float | None) -> Line:
    figures = (mean(values), min(values), max(values))
    cells = [Entry(numbers.score(one), exact=f"{one:.6g}") for one in figures]
    if target is None:
        return Line(title, (*cells, Entry(numbers.NONE), Entry(numbers.NONE)))
    reached = sum(one >= target for one in values)
    told = Entry(f"{reached} of {len(values)}", exact=str(reached))
    return Line(title, (*cells, Entry(numbers.score(target, 2), exact=f"{target:g}"), told))


def stops(golden: Golden) -> str:
    """Why the engine asked no more, with how many questions each reason holds for."""
    ranking = golden.ranking
    if ranking is None or not ranking.stopped:
        return ""
    parts = [
        f"{STOPPED.get(word, word)} ({numbers.counted(n, 'question')})" for word, n in ranking.stopped.items()
    ]
    return f"It stopped because: {', '.join(parts)}."


def doubts(golden: Golden) -> str:
    """For how many questions nothing is claimed, and what was found of the judge; empty where there are none."""
    ranking = golden.ranking
    if ranking is None or not ranking.doubts:
        return ""
    done = [one for one in golden.queries if one.status == "done"]
    none = sum(bool(one.doubts) for one in done)
    found = "; ".join(DOUBTS.get(word, word) for word in ranking.doubts)
    head = f"Nothing is claimed of the order of {none} of {numbers.counted(len(done), 'question')}"
    return f"{head}, and none of them was stopped early, because the judge's answers forbid it: {found}."


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
    labels: Table
    labels_said: str
    strips: Strips | None
    answers: Table | None
    judge: tuple[tuple[str, str], ...]
    bars: tuple[Bar, ...]
    again: str
    repeats: Table | None
    bias: tuple[Bar, ...]
    claims: Table | None
    stops: str
    judge_notes: tuple[str, ...]
    calls: str
    human: tuple[tuple[HumanCheck, tuple[Bar, ...]], ...]
    final: FinalList | None
    queries: Table
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


def _labels(golden: Golden) -> Table:
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
    return Table("labels", "Labels of the golden set", "Passages", columns, tuple(rows), is_sortable=False)


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


def _queries(queries: Sequence[Query]) -> Table:
    """Every question with its counts."""
    columns = ("State", "Pool", "Grade 5", "4", "3", "2", "1", "Ordered", "Calls")
    return Table(
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


CHECK = "human_check.csv"
TERMINAL_COLUMNS = (
    Column("Quantity"), Column("Median", right=True), Column("Mean", right=True), Column("From", right=True),
    Column("To", right=True), Column("What it is", wraps=True),
)  # fmt: skip
Cells = list["str | Text"]


def render_golden(
    golden: Golden, run: Path, *, width: int = 80, wide: bool = False, unicode: bool = True
) -> Text:
    """A golden set as text: verdict, table, notes and paths, within `width` columns unless `wide`."""
    from rich.text import Text

    verdict = verdict_of(golden)
    parts = [Text("\n").join(folded(plain(verdict.heading), width, unicode, "bold"))]
    lede = " ".join(map(plain, verdict.lede))
    parts += [Text("\n").join(folded(lede, width, unicode))] if lede else []
    parts.append(render_table(TERMINAL_COLUMNS, list(_rows(golden)), width=width, wide=wide, unicode=unicode))
    parts += notes_below(_notes(golden), width=width, wide=wide, unicode=unicode)
    parts.append(Text("\n".join(_paths(golden, run))))
    return Text("\n\n").join(parts)


def _rows(golden: Golden) -> Iterator[Cells]:
    """Labels, calls, claims and steadiness, one row each."""
    for name, title in LABELS:
        found = (golden.labels.get(f"{name}_{of}") for of in ("median", "mean"))
        values = (numbers.NONE if one is None else f"{one:.1f}" for one in found)
        yield [title, *values, "", "", "passages per question"]
    calls = [one.calls for one in golden.queries if one.status == "done"]
    if any(calls):
        spread = (f"{median(calls):g}", f"{mean(calls):.1f}", str(min(calls)), str(max(calls)))
        yield ["Calls", *spread, "orders by the judge per question"]
    yield from _claims(golden)
    yield from _steadiness(golden)


def _claims(golden: Golden) -> Iterator[Cells]:
    """What the engine claims: that for which it has a target, or all where it has none."""
    done = [one.claims for one in golden.queries if one.status == "done"]
    wanted = targets(golden.settings.ranking)
    for name in wanted or CLAIMS:
        values = [one[name] for one in done if name in one]
        if values:
            figures = (median(values), mean(values), min(values), max(values))
            aim = f"; stops at {wanted[name]:g}" if wanted else ""
            words = CLAIMS[name].format(top=golden.settings.top) + aim
            yield ["Claimed", *(numbers.score(one) for one in figures), words]


def _steadiness(golden: Golden) -> Iterator[Cells]:
    """What was judged twice: the value and its interval."""
    again, ranking = golden.repeated, golden.ranking
    found: list[tuple[str, Figure | None, str]] = []
    if again is not None and not again.reason:
        found.append(("Same grade", again.exact, "share of passages graded twice"))
        found.append(("Turned round", again.discordant, "share of pairs that a repeat orders otherwise"))
    if ranking is not None and ranking.contradictions is not None:
        found.append(
            ("Contradicted", ranking.contradictions.share, "share of pairs shown twice and put both ways")
        )
    for title, one, what in found:
        if one is not None and one.value is not None:
            ends = ("" if end is None else numbers.score(end) for end in (one.low, one.high))
            yield [title, "", numbers.score(one.value), *ends, f"{what}; 95% interval"]


def _notes(golden: Golden) -> Iterator[str]:
    if golden.failed:
        total = numbers.counted(len(golden.queries), "question")
        yield f"{len(golden.failed)} of {total} failed: {failed_list(golden.failed)}."
    if said := stops(golden):
        yield said
    if said := doubts(golden):
        yield said
    yield from golden.ranking.notes if golden.ranking is not None else ()
    if golden.repeated is None or golden.repeated.reason:
        why = golden.repeated.reason if golden.repeated is not None else "--repeat asks some items again"
        yield f"Nothing was judged twice: {why}."
    if golden.tokens is not None:
        one = golden.tokens
        yield (
            f"Tokens per candidate ({one.tokenizer}): mean {one.mean:.1f}, SD {one.sd:.1f}, n = {numbers.count(one.n)}."
        )
    yield from (note for note in golden.notes if not (golden.failed and "questions failed" in note))


def _paths(golden: Golden, run: Path) -> Iterator[str]:
    if "qrels" in golden.exports:
        yield f"Judgements: {run / golden.exports['qrels']}"
    check = run / CHECK
    if check.exists():
        yield f"For a person to edit: {check}, then embassay rag check score {run} {check}"
    report = run / "report.html"
    if report.exists():
        yield f"Report: {report}"
