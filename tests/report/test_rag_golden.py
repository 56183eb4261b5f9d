"""The page of a golden set says what its record says, for people."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from embassay.document.blocks import convert_sentence_to_text
from embassay.protocols.rag.golden.summary import GoldenQuerySummary, GoldenRunRecord, JudgeRepeatability
from embassay.report import write_report
from embassay.report.notes import list_run_notes
from embassay.report.rag.golden import (
    describe_golden_verdict,
    golden_set_view,
    say_judge_doubts,
    say_why_judging_stopped,
)
from embassay.report.rag.labels import (
    draw_grade_shares_by_question,
    judge_reliability_bars,
    make_golden_stage_progress_table,
    make_ranking_engine_claims_table,
    make_table_of_human_judge_agreement,
    pick_typical_final_list,
    read_targets_of_ranking_engine,
    say_repeated_judgements,
)
from embassay.report.rag.tables import shorten_judge_name
from embassay.report.record import read_run_record
from embassay.stats import Estimate
from report.pages import printed

from .rag_runs import JUDGE, golden, write_golden_run

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)> & 'q' \"d\" {{ 7*7 }}"


def test_the_verdict_counts_what_is_done_and_what_it_took() -> None:
    """Questions, failures, labels, calls, price, and how sure the engine is."""
    verdict = describe_golden_verdict(golden())
    assert verdict.heading == ("1 of 3 questions have graded, ordered passages",)
    said = " ".join(map(convert_sentence_to_text, verdict.lede))
    assert "1 failed and is not in the set." in said
    assert "8 passages of grade 4 or 5" in said
    assert "68 grades and 36 rankings (36.0 per question) for $1.32" in said
    assert "86.0% of the first 20 belong there, and that at most one of them does not, with probability 0.95" in said


def test_a_judge_at_chance_is_in_the_heading() -> None:
    """Grades of a real model of 1.5B parameters: 57% of pairs as the search, from 39%; a set of a good judge says no
    such thing."""
    doubtful = replace(golden(), rank_agreement=Estimate(0.571, 0.391, 0.712, 56))
    sound = replace(golden(), rank_agreement=Estimate(0.72, 0.61, 0.83, 56))
    headings = [convert_sentence_to_text(describe_golden_verdict(made).heading) for made in (doubtful, sound)]
    assert ["at chance" in heading for heading in headings] == [True, False]
    assert max(map(len, headings)) <= 80


def test_what_was_graded_and_not_ordered_stopped_for_no_reason() -> None:
    """The engine `grades` asks for no order."""
    made = golden()
    assert made.ranking is not None
    assert say_why_judging_stopped(replace(made, ranking=replace(made.ranking, engine="grades"))) == ""
    assert say_why_judging_stopped(made)


def test_a_judge_without_a_price_is_said_so() -> None:
    """Never as free."""
    made = golden()
    assert made.judge is not None
    said = " ".join(
        map(convert_sentence_to_text, describe_golden_verdict(replace(made, judge=replace(made.judge, usd=None))).lede)
    )
    assert "its price is unknown" in said
    assert "$" not in said


def test_the_funnel_counts_both_lists_and_then_narrows() -> None:
    """What both searches found is counted twice in S2 and once in S3."""
    table = make_golden_stage_progress_table(golden())
    assert table is not None
    steps = {str(line.label)[:2]: [entry.text for entry in line.entries[1:]] for line in table.lines}
    assert steps["S2"][:2] == ["300", "150 by vectors, 150 by words"]
    assert [steps[name][0] for name in ("S3", "S4", "S5", "S6")] == ["240", "68", "35", "35"]
    assert convert_sentence_to_text(steps["S4"][3]) == "✕ 1"


def test_strips_have_a_column_for_every_question_with_grades() -> None:
    """One path per grade that occurs; the sentence says the range."""
    drawn = draw_grade_shares_by_question(golden())
    assert drawn is not None
    figure, left = drawn
    assert (figure.drawing.count("<path"), left) == (5, 0)
    assert "1 question" in figure.summary
    many = tuple(GoldenQuerySummary(f"Q{i}", "?", f"q{i:02d}", "done", grades=(1, 0, 0, 0, i % 3)) for i in range(80))
    drawn = draw_grade_shares_by_question(golden(queries=many))
    assert drawn is not None
    assert drawn[1] == 20
    assert draw_grade_shares_by_question(golden(queries=())) is None


def test_failed_questions_stand_with_their_reason(golden_run: Path) -> None:
    """The judge by its short name, the stage named."""
    text = (write_report(golden_run)).read_text("utf-8")
    why = "no grade for d1: simulated:qrels.jsonl gave no answer."
    assert re.search(rf'class="state failed">✕ failed</span>\s<bdi>Q2</bdi> in S4: {re.escape(why)}', text)


def test_notes_are_those_of_the_record_and_failures_are_told_once(golden_run: Path) -> None:
    """The failed, the waiting, and what else the record says."""
    notes = list_run_notes(read_run_record(golden_run))
    assert [note.kind for note in notes] == ["failed", "not run", "warning"]
    assert "Q2 (S4)" in notes[0].what


def test_where_nothing_is_claimed_the_page_says_why() -> None:
    """In the verdict, with the number of questions and what was found of the judge; else nothing."""
    made = golden()
    assert say_judge_doubts(made) == ""
    assert made.ranking is not None
    queries = tuple(
        replace(one, claims={}, doubts=("fixed errors",)) if one.status == "done" else one for one in made.queries
    )
    ranking = replace(made.ranking, claims={}, doubts={"fixed errors": 1})
    made = replace(made, queries=queries, ranking=ranking)
    said = " ".join(map(convert_sentence_to_text, describe_golden_verdict(made).lede))
    assert "Nothing is claimed about the order of 1 of 1 question" in said
    assert "its errors are systematic" in said
    assert "with probability" not in said


def test_claims_stand_beside_the_targets_of_the_engine() -> None:
    """Those that the run was asked for; an engine without targets has none."""
    table = make_ranking_engine_claims_table(golden())
    assert table is not None
    first = {line.label: [entry.text for entry in line.entries] for line in table.lines}
    assert first["P(at most one wrong passage among the first 20)"] == ["0.950", "0.950", "0.950", "0.90", "1 of 1"]
    assert first["share of the first 20 that is right"][-1] == "0 of 1"
    assert read_targets_of_ranking_engine("bayes:surely=0.8")["set_errors_at_most_1"] == 0.8
    assert (
        read_targets_of_ranking_engine("bayes:stop=false")
        == read_targets_of_ranking_engine("locks:stability_turns=5")
        == read_targets_of_ranking_engine("nonsense:x")
        == {}
    )
    assert say_why_judging_stopped(golden()) == "Why it stopped: certain enough (1 question)."


@pytest.mark.parametrize(
    ("repeated", "words"),
    [
        (None, "Nothing was judged twice"),
        (JudgeRepeatability(reason="no question is done"), "Judged again: no question is done."),
        (JudgeRepeatability(5, 1, failed=2), "2 repeats gave no answer"),
    ],
)
def test_what_was_not_repeated_is_said(repeated: JudgeRepeatability | None, words: str) -> None:
    """Silence would read as steadiness."""
    assert words in say_repeated_judgements(repeated)
    assert all("again" not in one.title for one in judge_reliability_bars(golden(repeated=repeated)))


def test_a_figure_without_value_has_its_reason() -> None:
    """Not a bar at 0."""
    nothing = Estimate(None, reason="too few passages")
    made = golden(repeated=JudgeRepeatability(2, 1, exact=nothing))
    mark, value, n, _ = (entry.text for entry in judge_reliability_bars(made)[0].entries)
    assert (mark, value, n) == ("", "n/a (too few passages)", "")


def test_what_a_person_said_is_on_one_scale() -> None:
    """The axis over the column holds for every mark under it: a share is drawn where a correlation of its size is."""
    [one] = golden().human
    shares = replace(one, tau=one.exact, kappa=one.exact, swapped=one.exact, within_one=one.exact)
    table = make_table_of_human_judge_agreement(shares)
    assert len({line.entries[0].text for line in table.lines}) == 1


def test_one_question_stands_in_full(golden_run: Path) -> None:
    """The question, how it was searched, twenty passages in their order with their grades."""
    final = pick_typical_final_list(golden_run, golden())
    assert final is not None
    assert (final.query_id, final.rewrite) == ("Q1", "sea salt cause")
    assert [one.place for one in final.passages] == list(range(1, 21))


def test_a_damaged_list_costs_the_list_alone(tmp_path: Path) -> None:
    """The page shows what is there."""
    run = write_golden_run(tmp_path / "run")
    next((run / "q01").rglob("*.top20.jsonl")).write_text("{")
    assert pick_typical_final_list(run, golden()) is None
    assert "golden-list" not in write_report(run).read_text("utf-8")


@pytest.mark.parametrize(
    "changes",
    [
        {"queries": (), "stages": (), "judge": None, "ranking": None, "labels": {}, "tokens": None, "repeated": None,
         "human": (), "exports": {}, "notes": ()},
        {"human": (), "repeated": None},
        {"queries": (GoldenQuerySummary("Q1", "?", "q01", "waiting"),), "labels": {}},
    ],
)  # fmt: skip
def test_golden_sets_of_every_shape_have_a_report(tmp_path: Path, changes: dict[str, object]) -> None:
    """Nothing done, nothing repeated, nobody asked."""
    run = write_golden_run(tmp_path / "run", golden(**changes))
    text = write_report(run).read_text("utf-8")
    assert "Undefined" not in text
    assert ">None<" not in text


def test_texts_from_data_stay_texts(tmp_path: Path) -> None:
    """Questions, passages, reasons, remarks and notes are escaped wherever they stand."""
    made = golden()
    queries = (
        replace(made.queries[0], query_id=HOSTILE, text=HOSTILE, rewrite=HOSTILE + "!"),
        replace(made.queries[1], query_id=HOSTILE + "2", reason=HOSTILE),
    )
    run = write_golden_run(tmp_path / "run", replace(made, queries=queries, notes=(HOSTILE,)), text=HOSTILE)
    text = write_report(run).read_text("utf-8")
    assert text.count("<script") == 2
    assert "<img" not in text
    assert "{{ 7*7 }}" in text


def test_the_judge_is_called_by_its_file() -> None:
    """A folder of somebody's machine and twenty parameters are no name."""
    assert shorten_judge_name(JUDGE) == "simulated:qrels.jsonl"
    assert shorten_judge_name("openrouter:google/gemma?x=1") == "openrouter:google/gemma"


def lines(made: GoldenRunRecord, run: Path, **options: object) -> list[str]:
    return printed(golden_set_view(made, run), **options).splitlines()  # type: ignore[arg-type]


def test_the_terminal_has_verdict_table_notes_and_paths(golden_run: Path) -> None:
    """One table, nothing wider than the terminal but a path, the reason of what is missing."""
    found = lines(golden(), golden_run)
    assert found[0] == "1 of 3 questions have graded, ordered passages"
    text = "\n".join(found)
    assert re.search(r"Grade 4 or 5 +8\.0 +8\.0", text)
    assert "stops at 0.9" in text
    assert "- 1 of 3 questions failed: Q2 (S4)." in text
    assert text.count("─" * 20) >= 1
    assert all(len(line) <= 80 for line in found if str(golden_run) not in line)
    assert f"Judgements: {golden_run / 'export/qrels.tsv'}" in text


def test_the_terminal_knows_ascii_and_empty_runs(golden_run: Path) -> None:
    """No sign beyond ASCII where there is none; a run with nothing done says so."""
    assert "\n".join(lines(golden(), golden_run, unicode=False)).isascii()
    empty = golden(
        queries=(GoldenQuerySummary("Q1", "?", "q01", "waiting"),), labels={}, ranking=None, judge=None, repeated=None,
        tokens=None, notes=(), exports={},
    )  # fmt: skip
    assert lines(empty, golden_run)[0] == "0 of 1 question has graded, ordered passages"
