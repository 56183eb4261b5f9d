"""The answers of the first screen: who leads, how sure that is, what would decide it, and what to use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from scipy.stats import t

import embassay as eb
from embassay.protocols.kernel.comparisons import OVERALL, SystemHeadlineValue, SystemStanding, write_standings
from embassay.protocols.kernel.tables import SCORE
from embassay.report import write_report
from embassay.report.answers import (
    MOST_MORE,
    QUESTIONS,
    ReportQuestionAnswer,
    _answer_from_evidence,
    build_query_time_answer,
    describe_recommended_systems,
    list_report_answers_from_evidence,
)
from embassay.report.cards.evidence import RunEvidenceOnQuestion, SystemEstimateWithRanks, _make_human_study_evidence
from embassay.report.overview import make_overview_page
from embassay.report.runs import ReportRun, read_report_runs
from embassay.report.terminal import render_report_answers
from embassay.stats import Freedom
from stub.ranked import by_query

from .hume_run import study, write_hume_run
from .sweep_run import write_sweep_run

MakeRun = Callable[..., Path]
BY_NAME = {one.name: one for one in QUESTIONS}


def evidence(
    gap: float, ranks: Sequence[tuple[int, int] | None], *, n: int = 100, note: str = "", more: float = 0.3
) -> RunEvidenceOnQuestion:
    """Systems a, b, c ... `gap` standard errors apart, in 4,000 resamples; a third one far behind."""
    error = np.random.default_rng(5).normal(size=(len(ranks), 4000)) / np.sqrt(2)
    values = np.array([0.5 + 0.01 * gap, 0.5, *(0.5 - more,) * (len(ranks) - 2)])
    contenders = tuple(
        SystemEstimateWithRanks(float(value), name=name, kind="embedding", ranks=rank)
        for name, value, rank in zip("abcdefg", values, ranks, strict=False)
    )
    return RunEvidenceOnQuestion(
        cast(ReportRun, SimpleNamespace(slug="score")), contenders, values[:, None] + 0.01 * error, n, SCORE, note
    )


def test_sure_is_what_the_runs_tests_say() -> None:
    """The first place alone is sure; without it as much is likely. The tag and the table cannot disagree."""
    sure = _answer_from_evidence(BY_NAME["search"], evidence(4, [(1, 1), (2, 2)]))
    assert (sure.level, sure.names, sure.ahead, sure.more) == ("sure", ("a",), 100, None)
    likely = _answer_from_evidence(BY_NAME["search"], evidence(2.0, [(1, 2), (1, 2)]))
    assert (likely.level, likely.names) == ("likely", ("a",))
    # Phi(2.0 - 0.84): a leader is picked because it is ahead, so its lead counts from 0.84 standard errors on.
    assert likely.ahead in range(84, 91)
    assert _answer_from_evidence(BY_NAME["search"], evidence(1.5, [(1, 2), (1, 2)])).level == "open"


def test_open_names_all_that_may_be_first_and_what_would_decide() -> None:
    """n (2.8 se / (d - 1.3 se))^2 - n more items: at a gap of 2.5 standard errors 4.44 n, to two digits."""
    found = _answer_from_evidence(BY_NAME["search"], evidence(0.6, [(1, 2), (1, 2), (3, 3)]))
    assert (found.level, found.names) == ("open", ("a", "b"))
    assert found.answer == "a or b"
    wanted = _answer_from_evidence(BY_NAME["search"], evidence(2.5, [(1, 2), (1, 2)])).more
    assert wanted == pytest.approx(444, rel=0.1)
    assert wanted is not None
    assert wanted % 10 == 0


def test_few_units_that_were_resampled_need_more() -> None:
    """Two runs leave one degree of freedom: what more items buy is told by Student's t, as the test is."""
    known = evidence(2.5, [(1, 2), (1, 2)], n=4)
    more = _answer_from_evidence(BY_NAME["search"], known).more
    few = _answer_from_evidence(BY_NAME["search"], replace(known, free=Freedom(1.0))).more
    assert more is not None
    wanted = (more + known.n) * ((t.ppf(0.975, 1) + t.ppf(0.8, 1)) / 2.8) ** 2 - known.n
    assert few == pytest.approx(wanted, rel=0.1)


def test_texts_of_one_collection_are_not_counted_as_collections(tmp_path: Path) -> None:
    """A file without sets is one collection however many texts it has: no answer is sure, and none is foreseen."""
    rows = [{"text": f"{['tide', 'bee'][n % 2]} {n} {n * 7}", "label": n % 2} for n in range(24)]
    given: dict[str, Any] = {"datasets": [rows], "tasks": ["clustering"], "tokenizer": "words"}
    found = eb.sage.run(["jaccard", "levenshtein"], out=tmp_path / "run", **given)
    answer = next(
        one
        for one in list_report_answers_from_evidence(read_report_runs([cast(Path, found.path)]))
        if one.question.name == "groups"
    )
    assert answer.n == 1
    assert answer.level != "sure"
    assert answer.more is None
    assert "collections" not in answer.how_sure


def test_a_difference_near_nothing_is_no_advice_to_collect() -> None:
    """Nor is one that chance may have made alone; and no advice is for more than 2,000 items."""
    assert _answer_from_evidence(BY_NAME["search"], evidence(1.2, [(1, 2), (1, 2)])).more is None
    assert _answer_from_evidence(BY_NAME["search"], evidence(0.05, [(1, 2), (1, 2)])).more is None
    assert _answer_from_evidence(BY_NAME["search"], evidence(0.0, [(1, 2), (1, 2)])).more is None
    most = _answer_from_evidence(BY_NAME["search"], evidence(2.2, [(1, 2), (1, 2)], n=100)).more
    assert most is not None
    assert most <= MOST_MORE


def test_few_items_decide_nothing_and_few_collections_are_never_sure() -> None:
    """Under ten items even a clear leader is open; of three collections it is likely, which is said."""
    assert _answer_from_evidence(BY_NAME["search"], evidence(6, [(1, 1), (2, 2)], n=9)).level == "open"
    grouped = _answer_from_evidence(BY_NAME["groups"], evidence(6, [(1, 1), (2, 2)], n=3))
    assert grouped.level == "likely"
    assert "3 collections" in grouped.how_sure
    assert _answer_from_evidence(BY_NAME["groups"], evidence(6, [(1, 1), (2, 2)], n=5)).level == "sure"


def test_many_that_may_be_first_are_counted() -> None:
    """Four and more: the best two by name."""
    found = _answer_from_evidence(BY_NAME["search"], evidence(0.1, [(1, 5)] * 5, more=0.001))
    assert found.answer == "a, b and 3 others"


def test_without_tests_everybody_may_be_first() -> None:
    """A run that ranks nobody, as where retrieval cannot separate, is never sure."""
    assert _answer_from_evidence(BY_NAME["damaged"], evidence(9, [None, None])).level == "likely"
    assert len(_answer_from_evidence(BY_NAME["damaged"], evidence(0.1, [None, None])).names) == 2


def test_nobody_leads_where_knowing_nothing_scores_as_much() -> None:
    """However sure the resamples are of the order: all stay open, and the reference is named."""
    found = _answer_from_evidence(BY_NAME["damaged"], replace(evidence(9, [(1, 1), (2, 2)]), equal="constant"))
    assert (found.level, found.names, found.more) == ("open", ("a", "b"), None)
    assert "constant" in found.how_sure
    assert len(found.how_sure) <= 62


def test_nobody_leads_for_search_over_a_run_that_is_judged_less(tmp_path: Path) -> None:
    """Half of what the second run found was never graded."""
    judged = {f"q{i}": {f"d{j}": 1 + (i + j) % 5 for j in range(10)} for i in range(60)}
    old = {query: list(grades) for query, grades in judged.items()}
    new = {query: [f"new{j}" if j % 2 else f"d{j}" for j in range(10)] for query in judged}
    for name, how in (("zero", "open"), ("condense", "")):
        runs = {"old": by_query(old), "new": by_query(new)}
        eb.rag.score(by_query(judged), runs, resamples=500, unjudged=name, out=tmp_path / name)
        search = next(
            one
            for one in list_report_answers_from_evidence(read_report_runs([tmp_path / name]))
            if one.question.name == "search"
        )
        assert ("fewer graded passages" in search.note) == bool(how)
        assert search.level == how or not how


def test_scripts_are_no_people() -> None:
    """What they answered is shown, and the question is not asked."""
    found = _answer_from_evidence(BY_NAME["people"], evidence(9, [(1, 1), (2, 2)], note="scripts answered"))
    assert (found.level, found.answer, len(found.top)) == ("not run", "not tested", 2)


def test_people_stand_among_the_systems_with_how_often_they_lead() -> None:
    """In the order of scores, at most two systems beside them; one semicolon, whatever else is said."""
    people = SystemEstimateWithRanks(0.507, name="people", kind="human")
    found = replace(evidence(4, [(1, 1), (2, 2), (3, 3)]), people=people, beside="people lead on 2 of 4 tasks")
    sure = _answer_from_evidence(BY_NAME["people"], found)
    assert [one.name for one in sure.top] == ["a", "people", "b"]
    assert sure.names == ("a",)
    assert "2 of 4" in sure.how_sure
    more = replace(found, replicates=evidence(2.2, [(1, 2), (1, 2)]).replicates)
    likely = _answer_from_evidence(
        BY_NAME["people"], replace(more, contenders=evidence(2.2, [(1, 2), (1, 2)]).contenders)
    )
    assert likely.level == "likely"
    assert likely.how_sure.count(";") == 1
    assert str(likely.more) in likely.how_sure


def test_people_of_a_study_are_those_of_its_record(tmp_path: Path) -> None:
    """Their mean and the pairs that they win; of a study that scripts answered there are none."""
    for kind in ("person", "simulated"):
        made = study(kind=kind)
        folder = write_hume_run(tmp_path / kind, made)
        names = [one.system for one in made.places if one.kind == "embedding"]
        draws = np.random.default_rng(0).normal(0, 0.01, (len(names), 200))
        write_standings(
            folder,
            [
                SystemStanding(OVERALL, "", name, SystemHeadlineValue(name, 0.7, 40, 0.7 + drawn, "bootstrap"))
                for name, drawn in zip(names, draws, strict=True)
            ],
        )
        evidence_of = _make_human_study_evidence(read_report_runs([folder])[0])
        assert evidence_of is not None
        found = _answer_from_evidence(BY_NAME["people"], evidence_of)
        human = next(one.mean for one in made.places if one.kind == "human")
        won = next(one for one in made.wins if (one.by, one.reference) == ("all", "best"))
        if kind == "person":
            assert found.people is not None
            assert found.people.value == human.value
            assert f"{won.wins} of {won.pairs}" in found.how_sure
        else:
            assert (found.people, found.level) == (None, "not run")


@pytest.mark.slow
def test_a_faster_encoder_that_search_rules_out_is_named(tmp_path: Path) -> None:
    """It is never the answer, which says that it is faster. Times stand on one scale on every page."""
    write_sweep_run(tmp_path / "sweep")
    runs = read_report_runs([tmp_path / "sweep"])
    free = build_query_time_answer(runs, ReportQuestionAnswer(BY_NAME["search"], "not run"))
    fast, slow = free.all[:2]
    assert free.names == (fast.name,)
    search = replace(
        _answer_from_evidence(BY_NAME["search"], evidence(4, [(1, 1), (2, 2)])), names=(slow.name,), may=(slow.name,),
        all=(slow, fast),
    )  # fmt: skip
    found = build_query_time_answer(runs, search)
    assert found.names == (slow.name,)
    assert fast.name in found.how_sure
    assert [free.scale.at(one) for one in (0.1, 10_000)] == [0, 100]


def test_the_recommendation_goes_by_what_is_decided() -> None:
    """One system where one leads; each where several do; none where all is open, and then the faster."""
    by = {name: _answer_from_evidence(BY_NAME[name], evidence(4, [(1, 1), (2, 2)])) for name in ("search", "reworded")}
    use, _ = describe_recommended_systems([*by.values()])
    assert use.count("use a") == 1
    assert "b" not in use.replace("like these", "").split()
    other = replace(by["reworded"], names=("b",))
    alone = replace(by["search"], all=by["search"].all[:1])
    both, _ = describe_recommended_systems([alone, other])
    assert "a for search" in both
    assert "b where texts are paraphrased" in both
    unsure = _answer_from_evidence(BY_NAME["search"], evidence(0.1, [(1, 2), (1, 2)]))
    fast = ReportQuestionAnswer(BY_NAME["price"], "sure", ("b",))
    neither, rest = describe_recommended_systems([unsure, fast, ReportQuestionAnswer(BY_NAME["groups"], "not run")])
    assert "do not decide between a or b" in neither.replace("and", "or")
    assert neither.endswith("choose b, the fastest.")
    assert "search" in rest
    assert "to group documents" in rest
    assert describe_recommended_systems([]) == ("", "")


@pytest.fixture
def runs(plain_run: Path, pteb_run: Path, score_run: Path) -> list[ReportRun]:
    """A run of three protocols."""
    return read_report_runs([plain_run, pteb_run, score_run])


def test_every_number_is_one_of_the_runs(runs: list[ReportRun]) -> None:
    """The values of the top three are rows or standings of the run that is linked; sure is who has rank 1 alone."""
    answers = list_report_answers_from_evidence(runs)
    assert [one.question.name for one in answers] == [one.name for one in QUESTIONS]
    asked = [one for one in answers if one.level != "not run"]
    assert asked
    by_slug = {run.slug: run for run in runs}
    for one in asked:
        values = {round(row.value, 9) for row in by_slug[one.slug].record.rows.values() if row.value is not None}
        shown: list[Any] = [round(top.value, 9) for top in one.top]
        assert shown == sorted(shown, reverse=True)
        if one.question.name == "search":
            assert set(shown) <= values
        if one.level == "sure":
            assert one.top[0].ranks == (1, 1)


def test_the_same_resamples_whenever_it_is_asked(runs: list[ReportRun]) -> None:
    """Two readings of the same runs say the same."""
    first, again = list_report_answers_from_evidence(runs), list_report_answers_from_evidence(runs)
    assert [(one.ahead, one.more, one.names) for one in first] == [(one.ahead, one.more, one.names) for one in again]


def test_the_page_and_the_terminal_say_the_same(runs: list[ReportRun], tmp_path: Path) -> None:
    """Names and questions of the record, on a page of several runs; a page of one keeps its verdict."""
    folders = [run.record.path for run in runs]
    page = write_report(folders, out=tmp_path / "r.html").read_text("utf-8")
    text = render_report_answers(runs, width=80).plain
    for one in list_report_answers_from_evidence(runs):
        assert one.question.asks in page
        assert one.question.short in text
        for name in one.names[:2]:
            assert name in page
            assert name in text
    assert max(map(len, text.splitlines())) <= 80
    assert "Which system should I use" in page
    assert "Which system should I use" not in write_report(folders[:1], out=tmp_path / "one.html").read_text("utf-8")


def test_one_run_answers_by_question_below_its_finding(make_run: MakeRun, score_run: Path) -> None:
    """From two questions on; with one, the finding is the answer."""
    run = make_run(tasks=("clustering", "retrieval"), systems={"a": "embedding", "b": "embedding"})
    draws = np.random.default_rng(0).normal(0, 0.01, (4, 500))
    places = [(task, name) for task in ("clustering", "retrieval") for name in ("a", "b")]
    write_standings(
        run,
        [
            SystemStanding(task, "", task, SystemHeadlineValue(name, 0.5, 48, 0.5 + drawn, "bootstrap"))
            for (task, name), drawn in zip(places, draws, strict=True)
        ],
    )
    page = make_overview_page(read_report_runs([run]))
    assert [one.question.name for one in page.answers] == ["damaged", "groups"]
    html = write_report(run).read_text("utf-8")
    assert html.index("overview-title") < html.index("<table class=answers>")
    assert ".answers" in html.partition("</style>")[0]
    assert make_overview_page(read_report_runs([score_run])).answers == ()
