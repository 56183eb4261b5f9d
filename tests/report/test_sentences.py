"""The sentences under tables, held against the values that the tables are made of: what a note says is more, ahead,
level or so many has to be so, and no note states a relation that nothing here computes anew."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import embassay as eb
from embassay.document.blocks import (
    Block,
    BulletList,
    CautionNotes,
    ParagraphBlock,
    Table,
    TableCell,
    VerdictText,
    convert_sentence_to_text,
)
from embassay.protocols.compare import compare_systems, list_ranked_system_groups
from embassay.protocols.gate import ThresholdVerdict as Barred
from embassay.protocols.kernel.tables import SCORE
from embassay.protocols.rag.scoring.score import ScoringRecord
from embassay.protocols.rag.sweep.findings import compute_sweep_findings
from embassay.protocols.rag.sweep.findings.record import SweepDatasetFindings, SweepRulesPricesAndSeed
from embassay.protocols.rag.sweep.stacks import SweepRules
from embassay.report.pteb.tables import plot_change_by_original_score
from embassay.report.rag.tables import scoring_view
from embassay.report.terminal import compared_pair_view, gate_verdicts_view, ranked_groups_view
from embassay.stats import compare_replicates, holm
from protocols.rag.sweep.sweeps import drawn as draw_sweep
from stub.ranked import qrels
from stub.ranked import run as ranked

from .random_runs import Drawn
from .random_studies import of_fields, random_run

STATES = re.compile(
    r"\b(beats?|scores (higher|lower)|more|less|fewer|better|worse|ahead|behind|cannot be told apart|lies? within|"
    r"reorders|hybrid pool|"
    r"fastest|slowest|cheapest|highest|lowest|largest|smallest|most|least|best|loses|helps?|enough|tell the two)\b",
    re.IGNORECASE,
)
"""Words that compare."""
NUMBER = r"−?\d+\.\d+"
Forms = Mapping[str, Callable[[re.Match[str]], bool]]
"""How a sentence that compares may read, and whether it is so."""


def sentences(blocks: Iterator[Block]) -> Iterator[str]:
    """What stands under and between the tables; the verdict is walked by its claims."""
    for block in blocks:
        if isinstance(block, CautionNotes):
            yield from (convert_sentence_to_text(note) for note in (*block.notes, *block.more))
        if isinstance(block, BulletList):
            yield from map(convert_sentence_to_text, block.items)
        if isinstance(block, ParagraphBlock):
            yield convert_sentence_to_text(block.said)


def held(said: Iterator[str], forms: Forms, *, passing: str = "") -> int:
    """How many sentences state a relation that holds. `passing` are forms that say how something is done."""
    walked = 0
    for sentence in said:
        if not STATES.search(sentence) or (passing and re.search(passing, sentence)):
            continue
        found = [(match, holds) for form, holds in forms.items() if (match := re.search(form, sentence))]
        assert found, f"nothing computes what is said: {sentence}"
        assert all(holds(match) for match, holds in found), sentence
        walked += len(found)
    return walked


WORLD = 40


class ScoredWorld:
    """Two to four runs of drawn skill, of which one orders the documents of the first again, and one may hold what
    nobody graded."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng([seed, 61])
        judged = qrels(int(rng.integers(12, 40)), seed, documents=int(rng.choice([22, 40])))
        runs = {
            name: ranked(judged, seed * 10 + place, skill=float(rng.choice([0.0, 0.5, 2.0])), documents=WORLD)
            for place, name in enumerate("abcd"[: int(rng.integers(2, 5))])
        }
        noise = float(rng.choice([0.0, 0.5, 5.0]))
        runs["again"] = {
            query: {doc: score + noise * float(rng.normal()) for doc, score in docs.items()}
            for query, docs in runs["a"].items()
        }
        if rng.random() < 0.5:
            runs["strange"] = {
                query: {f"new-{doc}" if place % 2 else doc: score for place, (doc, score) in enumerate(docs.items())}
                for query, docs in runs["a"].items()
            }
        measures = list(rng.permutation(["nDCG@5", "Harm@5", "RA-nWG@5", "PROC@5"]))
        self.runs = runs
        self.score: ScoringRecord = eb.rag.score(judged, runs, measures=measures, resamples=200, seed=seed).record

    def value(self, run: str, measure: str = "") -> float:
        found = self.score.value(run, measure or self.score.headline)
        assert found is not None
        assert found.value is not None
        return found.value

    def first(self, run: str, query: str, k: int) -> set[str]:
        docs = self.runs[run].get(query, {})
        return {doc for doc, _ in sorted(docs.items(), key=lambda pair: -pair[1])[:k]}

    def is_ahead(self, a: str, b: str) -> bool:
        measure = self.score.headline
        ahead = self.value(a) - self.value(b)
        return (ahead < 0) if measure.startswith("Harm") else ahead > 0

    def forms(self) -> Forms:
        """Every sentence of a scoring that compares."""
        name = r"(\w+)"

        def beats(match: re.Match[str]) -> bool:
            a, b, _, gap, p = match.groups()
            known = abs(self.value(a) - self.value(b))
            return self.is_ahead(a, b) and SCORE.text(known) == gap and (p == "<0.001" or float(p) < 0.05)

        def scores(match: re.Match[str]) -> bool:
            a, way, b, gap = match.groups()
            apart = self.value(a) - self.value(b)
            return (way == "higher") == (apart > 0) and SCORE.text(abs(apart)) == gap and self.is_ahead(a, b)

        def level(match: re.Match[str]) -> bool:
            a, b, gap, p = match.groups()
            return SCORE.text(abs(self.value(a) - self.value(b))) == gap and (p != "<0.001" and float(p) >= 0.05)

        def orders(match: re.Match[str]) -> bool:
            b, a, k, gain, way, advice = match.groups()
            apart = self.value(b, f"RA-nWG@{k}") - self.value(a, f"RA-nWG@{k}")
            same = all(self.runs[a][query].keys() == self.runs[b][query].keys() for query in self.runs[a])
            if way == "no higher":
                return same and abs(apart) < 5e-4 and advice != "It helps."
            is_so = (way == "higher") == (apart > 0) and abs(abs(apart) - float(gain)) < 1.1e-3
            return same and is_so and (advice != "It helps." or apart > 0)

        def pool(match: re.Match[str]) -> bool:
            depth, a, b, k, ceiling, gain, way, advice = match.groups()
            alone = max(self.value(run, f"PROC@{k}") for run in (a, b))
            apart = float(ceiling) - alone
            is_so = abs(apart) < 1e-3 if way == "no higher" else (way == "higher") == (apart > 0)
            return (
                int(depth) > 0
                and is_so
                and (advice != "It helps." or apart > 0)
                and (way == "no higher" or abs(abs(apart) - float(gain)) < 1.1e-3)
            )

        def loses(match: re.Match[str]) -> bool:
            run, k, finding, rest = match.groups()
            known = dict(re.findall(rf"(pool loses|ordering loses|the ordering|the pool) ({NUMBER})", rest))
            pool = float(known.get("pool loses") or known["the pool"])
            ordering = float(known.get("ordering loses") or known["the ordering"])
            reached = self.value(run, f"RA-nWG@{k}")
            whole = abs(1 - reached - pool - ordering) < 2e-3
            return whole and {"the pool": pool > ordering, "the ordering": ordering > pool}.get(finding, True)

        gap = rf"({NUMBER})(?: \([^)]*\))?"
        return {
            rf"^{name} beats {name} on (\S+) by {gap}, p (\S+) \(Holm\)": beats,
            rf"^{name} scores (higher|lower) than {name} on \S+ by {gap}.*fewer graded passages": scores,
            rf"^{name} and {name} cannot be told apart on \S+: {gap}, p (\S+) \(Holm\)": level,
            rf"^{name} reorders the documents of {name}: RA-nWG@(\d+) is (?:{gap} )?(no higher|higher|lower).* "
            r"(It helps\.|It does not help\.|Undecided on these queries\.)$": orders,
            rf"^A hybrid pool of (\d+) distinct documents, alternating {name} and {name}, "
            rf"has a PROC@(\d+) of {gap}, (?:{gap} )?"
            r"(no higher|higher|lower).* better run alone\. (It helps\.|It does not help\.|Undecided on .*)$": pool,
            rf"^{name}@(\d+): (the pool|the ordering|both|undecided[^.]*?)(?: loses more| lose)?\.(.*loses.*)$": loses,
        }  # fmt: skip


HOW = (
    r"^Intervals: |^Not tested on this data|no list is longer than|is above 1 for|little is left to improve|"
    r"\(grade inversion\)|have more than \d+ documents of grade"
)
"""What is done, what is not, and what the judgements are like."""


def hold_scoring(seed: int) -> int:
    """Every sentence of a scoring, and how alike two runs are."""
    world = ScoredWorld(seed)
    said = list(sentences(scoring_view(world.score, wide=True)))
    for a, b, k, shared in re.findall(rf"(\w+) and (\w+): overlap@(\d+) ({NUMBER})", "\n".join(said)):
        queries = [query for query in world.runs[a] if query in world.runs[b]]
        alike = [len(world.first(a, query, int(k)) & world.first(b, query, int(k))) / int(k) for query in queries]
        assert SCORE.text(float(np.mean(alike))) == shared
    return held(iter(said), world.forms(), passing=HOW)


def test_the_sentences_under_a_scoring_hold() -> None:
    """Of pairs, of rerankings, of pools and of what each run loses; with ties, ungraded passages and Harm first."""
    assert sum(hold_scoring(seed) for seed in range(10)) > 80


@pytest.mark.nightly
def test_the_sentences_under_many_scorings_hold() -> None:
    """The same at length."""
    for seed in range(1000, 1150):
        hold_scoring(seed)


def hold_sweep(part: SweepDatasetFindings, asked: SweepRulesPricesAndSeed) -> int:
    """Every note of a sweep's part that counts or compares."""
    chosen = next((stack for stack in part.stacks if stack.id == part.recommendation.stack), None)

    def keeps(stack: Any) -> bool:
        value = stack.value(asked.measure)
        return (
            value is not None
            and (asked.sla_ms is None or stack.latency <= asked.sla_ms)
            and (asked.budget is None or stack.cost <= asked.budget)
            and (asked.target is None or value >= asked.target - 1e-9)
        )

    def near(match: re.Match[str]) -> bool:
        n, noun, verb = match.groups()
        assert chosen is not None
        close = [
            stack
            for stack in part.stacks
            if stack is not chosen and keeps(stack) and abs(stack.latency - chosen.latency) <= asked.jitter_ms
        ]
        return int(n) == len(close) and (noun, verb) == (("stack", "differs") if n == "1" else ("stacks", "differ"))

    return held(iter(part.notes), {r"^(\d+) feasible (stacks?) (differs?) in latency": near}, passing="too few|machine")


def test_the_notes_under_a_sweep_hold() -> None:
    """How many stacks are as fast, under limits and jitter of any kind."""
    walked = 0
    for seed in range(40):
        rng = np.random.default_rng([seed, 62])
        rules = SweepRules(
            sla_ms=float(rng.uniform(5, 500)) if rng.random() < 0.5 else None,
            budget=float(rng.choice([0.3, 2.0])) if rng.random() < 0.4 else None,
            jitter_ms=float(rng.choice([1.0, 20.0, 75.0])),
        )
        axes = {"encoder": ("wordllama", "minilm"), "k": (50, 100), "reranker": ("none", "cross")}
        found = compute_sweep_findings(draw_sweep({"sea": 12}, rules, axes=axes, seed=seed), resamples=30)
        walked += sum(hold_sweep(part, found.asked) for part in found.parts)
    assert walked > 15


def hold_pair(seed: int) -> int:
    """The notes under two systems of a run: what its ranks say of them, and how many tests are corrected together."""
    drawn = Drawn("pteb", seed)
    if len(drawn.names) < 3:
        return 0
    a, b = drawn.names[:2]
    made = compare_systems(random_run(drawn), a, b)
    first = next((row for row in made.contrasts if not row.dataset and row.difference is not None), made.contrasts[0])
    headlines = drawn.headlines[first.task]
    names = [name for name in drawn.names if headlines[name].value is not None]
    draws = np.stack([headlines[name].replicates for name in names])

    def among(match: re.Match[str]) -> bool:
        n, told, p = match.groups()
        values = [headlines[name].value or 0.0 for name in names]
        tests = compare_replicates(
            draws, values, strata=[headlines[name].list_separately_resampled_strata for name in names]
        )
        adjusted = holm([test.p for test in tests])
        own = next(q for test, q in zip(tests, adjusted, strict=True) if {names[test.a], names[test.b]} == {a, b})
        said = own < 0.001 if p == "<0.001" else abs(own - float(p)) < 6e-4
        return int(n) == len(tests) and (told == "tell") == (own < 0.05) and said

    forms = {r"The run's ranks test all (\d+) pairs \(Holm\): they (tell|do not tell) the two apart, p (\S+)\.$": among}
    how = "^Detectable|^Where a headline|^Differences|no test|no verdict|What more items"
    return held(sentences(compared_pair_view(made, "pteb")), forms, passing=how)


def test_the_notes_under_two_systems_hold() -> None:
    """p among all pairs of the run is computed anew."""
    assert sum(hold_pair(seed) for seed in range(60)) > 10


def test_bold_is_who_may_be_first() -> None:
    """In a table of all systems the mark, the heading and the tests agree; whoever is under a reference has none."""
    marked = 0
    for seed in range(60):
        _, tables = of_fields(seed)
        blocks = list(ranked_groups_view(list(list_ranked_system_groups(random_run(Drawn("pteb", seed)))), "pteb"))
        for said, table in pairwise(blocks):
            if not (isinstance(said, VerdictText) and isinstance(table, Table) and said.claims):
                continue
            bold = {row.label for row in table.lines if any(_is_bold(cell) for cell in row.entries)}
            assert {convert_sentence_to_text(cast(Any, name)) for name in bold} == tables.first(said.claims[0].measure)
            marked += len(bold)
    assert marked > 60


def _is_bold(cell: Any) -> bool:
    return isinstance(cell, TableCell) and cell.bold


def test_what_more_items_would_buy_is_computed_from_the_row() -> None:
    """The interval shrinks with the root of the items."""
    rng = np.random.default_rng(63)
    for _ in range(40):
        value, half = rng.uniform(0.3, 0.7), rng.uniform(0.02, 0.2)
        n, bar = int(rng.integers(20, 400)), round(float(value + rng.uniform(-0.9, 0.9) * half), 3)
        text = f"sage.preference[a]>={bar}"
        row = Barred(value, value - half, value + half, n, bar=text, met=value >= bar, near=True)
        [told] = [text for text in sentences(gate_verdicts_view([row])) if "undecided" in text]
        for more, shown in re.findall(rf"with (\d+) more ± ({NUMBER})", told):
            assert float(shown) == pytest.approx(half * (n / (n + int(more))) ** 0.5, abs=6e-4)
        assert f"at n {n}" in told


@pytest.mark.parametrize(
    ("drops", "said"),
    [
        ((-0.02, -0.051, 0.01, 0.0, 0.0, -0.003), "The largest loss, 5.1 points, is for s1 on d1, from 81.0."),
        ((0.02, 0.051, 0.01, 0.0, 0.0, 0.003), "No score falls."),
    ],
)
def test_the_largest_loss_is_one(drops: tuple[float, ...], said: str) -> None:
    """Where every score rises or stays, none is the largest loss."""
    points = {
        (f"s{place}", f"d{place}"): SimpleNamespace(
            drop=drop, before=SimpleNamespace(value=0.8 + place / 100), dataset=f"d{place}",
            row=SimpleNamespace(label=f"s{place}", system=SimpleNamespace(kind="embedding")),
        )
        for place, drop in enumerate(drops)
    }  # fmt: skip
    missing = SimpleNamespace(drop=None, before=SimpleNamespace(value=None))
    losses = SimpleNamespace(
        rows=[SimpleNamespace(name=name, system=SimpleNamespace(ranked=True)) for name, _ in points],
        board=SimpleNamespace(tasks=[SimpleNamespace(name="sts")]),
        record=SimpleNamespace(datasets=lambda task: [dataset for _, dataset in points]),
        find_dataset_loss=lambda row, task, dataset: points.get((row.name, dataset), missing),
    )
    found = plot_change_by_original_score(cast(Any, losses))
    assert found is not None
    assert found.summary.endswith(said)
