"""The page of HUME says what its record says: every number in a sentence is there, agreement beside every lead."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import spearmanr

from embassay.document.blocks import Table, convert_sentence_to_text
from embassay.errors import DataError
from embassay.protocols.hume.record import Summary, TaskDividedWithLlm, read_summary, write_tasks_divided_with_llm
from embassay.report import write_report
from embassay.report.board import build_record_board
from embassay.report.hume.conclusions import describe_hume_verdict, hume_notes, hume_view, pairs_above_people_heading
from embassay.report.hume.families import (
    COEFFICIENT,
    POINTS,
    keep_pairs_by_best_model_side,
    list_ranked_models_per_pair,
    make_family_means_table,
)
from embassay.report.hume.gap import HumePage, hume_page
from embassay.report.record import read_run_record
from embassay.stats import Estimate
from report.pages import printed

from .hume_run import published, study, summary, write_hume_run

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of four pairs with simulated annotators."""
    return write_hume_run(tmp_path_factory.mktemp("hume") / "small")


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The 26 pairs of the paper."""
    return write_hume_run(tmp_path_factory.mktemp("hume") / "paper", published())


def page(run: Path) -> HumePage:
    record = read_run_record(run)
    return hume_page(record, build_record_board(record))


def numbers_of(made: Summary) -> set[str]:
    """Every number of a record as it may be printed, signs left out."""
    found: set[str] = {str(len(made.pairs)), str(len(made.places)), "95"}

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            for one in value.values():
                walk(one)
        elif isinstance(value, list):
            for one in value:
                walk(one)
        elif isinstance(value, int) and not isinstance(value, bool):
            found.add(str(value))
        elif isinstance(value, float):
            found.update({POINTS.text(abs(value)), COEFFICIENT.text(abs(value))})

    walk(made.model_dump(mode="json"))
    return found


def counts_of(made: Summary) -> set[str]:
    """How many pairs are in each state that a sentence counts."""
    every = list_ranked_models_per_pair(made)
    above = keep_pairs_by_best_model_side(every, "above")
    counted = [len(above), sum(one.pair.trust == "low" for one in above), sum(one.pair.trust is None for one in above)]
    low = sum(one.trust == "low" for one in made.pairs)
    leads = [POINTS.text(abs(gap)) for one in every if (gap := one.gap()) is not None]
    return {*map(str, (*counted, low, max(0, low - 2), sum(bool(one.side) for one in every))), *leads}


@pytest.mark.parametrize("made", [published(), study(), study(kind="person")], ids=["paper", "simulated", "people"])
def test_every_number_of_the_verdict_is_in_the_record(made: Summary) -> None:
    verdict = describe_hume_verdict(made)
    text = " ".join([convert_sentence_to_text(verdict.heading), *map(convert_sentence_to_text, verdict.lede)])
    for name in (*(pair.name for pair in made.pairs), *(one.system.rpartition("/")[2] for one in made.places)):
        text = text.replace(name, "")
    text = re.sub(r"\S+/\S+", "", text)
    known = numbers_of(made) | counts_of(made)
    assert [number for number in re.findall(r"\d+(?:\.\d+)?", text) if number not in known] == []


def test_the_published_verdict_is_that_of_the_paper() -> None:
    """12 of the 14 stars are above people; rank 4 of 14; five of the twelve on noise."""
    verdict = describe_hume_verdict(published())
    assert verdict.heading == ("A model is above people’s interval on 12 of 26 pairs, 5 with low agreement",)
    assert convert_sentence_to_text(verdict.lede[0]).startswith(
        "Over all 26 pairs, people score 77.6 and rank 4 of 14 by the mean; jasper"
    )
    assert "STS22 (ara)" in convert_sentence_to_text(verdict.lede[-1])


@pytest.mark.parametrize("made", [published(), study(), study(kind="person")])
def test_a_model_above_people_is_never_named_without_agreement(made: Summary) -> None:
    """Neither in the heading nor where the largest lead is told; nobody is called superhuman."""
    verdict = describe_hume_verdict(made)
    said = convert_sentence_to_text(verdict.heading)
    assert len(said) <= 80
    assert "agreement" in said
    leads = [
        convert_sentence_to_text(one)
        for one in verdict.lede
        if "largest lead of a model" in convert_sentence_to_text(one)
    ]
    assert leads
    assert all("agreement" in one for one in leads)
    html = " ".join([said, *map(convert_sentence_to_text, verdict.lede)])
    assert "superhuman" not in html


@pytest.mark.parametrize(
    ("trusts", "expected"),
    [
        (("low",), "A model is above people’s interval on 1 of 2 pairs, agreement fair 0.30"),
        ((None,), "A model is above people’s interval on 1 of 2 pairs, agreement unknown"),
        (("high", "low"), "A model is above people’s interval on 2 of 2 pairs, 1 with low agreement"),
        (("low", "low"), "A model is above people’s interval on 2 of 2 pairs, all with low agreement"),
        (("high", "high"), "A model is above people’s interval on 2 of 2 pairs, none with low agreement"),
        ((None, "high"), "A model is above people’s interval on 2 of 2 pairs, agreement unknown on 1"),
        ((None, None), "A model is above people’s interval on 2 of 2 pairs, agreement unknown"),
        ((), "No model is above people’s interval on any of 2 pairs"),
    ],
)
def test_the_heading_says_how_far_leads_can_be_trusted(trusts: tuple[str | None, ...], expected: str) -> None:
    every = [_with(trusts[i] if i < len(trusts) else "high", above=i < len(trusts)) for i in range(2)]
    assert (
        pairs_above_people_heading(list_ranked_models_per_pair(summary("two", "study", tuple(every), {})), "people")
        == expected
    )


def _with(trust: str | None, *, above: bool) -> Any:
    """A pair of this trust with a model above people, or inside their interval."""
    agreed = {"low": 0.3, "high": 0.8, None: None}[trust]
    one = study(kind="person").pairs[1]
    model = one.models[0].model_copy(update={"outside": above})
    agreement = (
        None
        if agreed is None
        else one.agreement.model_copy(  # type: ignore[union-attr]
            update={"value": replace(one.agreement.value, value=agreed)}  # type: ignore[union-attr]
        )
    )
    return one.model_copy(update={"models": (model,), "trust": trust, "agreement": agreement})


def test_simulated_annotators_are_named_everywhere(small: Path) -> None:
    """In the heading, the first note, the chart's caption and every row of an annotator; never as people."""
    made = page(small)
    assert "simulated annotators" in convert_sentence_to_text(made.verdict.heading)
    assert made.notes[0].kind == "simulated"
    assert made.notes[0].what.startswith("All annotators are simulated")
    assert all(one.simulated for one in made.annotators.rows)
    html = write_report(small).read_text("utf-8")
    section = html[html.index("id=hume ") : html.index("id=method ")]
    assert section.count(">simulated<") == len(made.annotators.rows)
    assert "Simulated annotators and models on the same items" in section


def test_people_are_people_where_people_answered(tmp_path: Path) -> None:
    made = page(write_hume_run(tmp_path / "run", study(kind="person")))
    assert made.who == "people"
    assert all(note.kind != "simulated" for note in made.notes)


def test_the_chart_has_every_pair_with_its_numbers(paper: Path) -> None:
    """Points with one decimal, exact values in full, agreement as a word and where it is low a warning."""
    made, record = page(paper), read_summary(paper)
    rows = {(one.dataset, one.lang): one for _, rows in made.chart.groups for one in rows}
    assert len(rows) == 26
    for pair in record.pairs:
        row = rows[pair.dataset, pair.lang]
        assert row.people == f"{100 * (pair.human.value or 0.0):.1f}"
        assert [float(one) for one in row.people_exact.split(",")] == pytest.approx(
            [100 * (one or 0.0) for one in (pair.human.value, pair.human.low, pair.human.high)], rel=1e-5
        )
        assert row.low == (pair.trust == "low")
        assert (row.agreement == "one annotator") == (pair.agreement is None)
    assert [title for title, _ in made.chart.groups] == [
        "Classification, accuracy", "Clustering, V-measure", "Reranking, MAP", "STS, Spearman"
    ]  # fmt: skip
    assert made.chart.has_ranges


def test_sides_are_those_of_the_record(paper: Path) -> None:
    """Fourteen outside: twelve above, two below."""
    every = list_ranked_models_per_pair(read_summary(paper))
    assert [len(keep_pairs_by_best_model_side(every, side)) for side in ("above", "below", "inside")] == [12, 2, 12]


def test_noisy_pairs_have_agreement_and_advice(paper: Path) -> None:
    made = page(paper)
    assert {one.name for one in made.noisy} == {
        "Emotion (eng)", "MultiSent (eng)", "ArXiv (eng)", "SIB200 (eng)", "STSB (eng)"
    }  # fmt: skip
    assert all(one.above and one.agreement and one.advice for one in made.noisy)


def test_places_and_wins_are_those_of_the_record(paper: Path) -> None:
    made, record = page(paper), read_summary(paper)
    assert made.places is not None
    assert [one.place for one in made.places.groups[0][1]] == [str(one.rank) for one in record.places]
    assert [one.label for one in made.places.groups[0][1]][3] == "People"
    assert [one.text for one in made.wins[0].rows] == ["4 of 26", "16 of 26", "16 of 26"]
    assert [panel.title for panel in made.wins] == [
        "All pairs, against the", "By task family", "By dataset group", "By language"
    ]  # fmt: skip


def test_gaps_fall_within_their_language(paper: Path) -> None:
    """The largest lead of people first; Arabic, where people lead most, is the first group."""
    best, middle = page(paper).gaps
    assert best.groups[0][0] == "ara"
    for chart in (best, middle):
        for _, rows in chart.groups:
            gaps = [float(one.exact) for one in rows]
            assert gaps == sorted(gaps, reverse=True)
    assert sum(float(one.exact) > 0 for _, rows in best.groups for one in rows) == 4
    assert sum(float(one.exact) > 0 for _, rows in middle.groups for one in rows) == 16


def test_difficulty_counts_all_pairs(paper: Path) -> None:
    assert page(paper).difficulty.said == (
        "Of 26 pairs: 18 easy, 6 moderate, 2 hard. Hard: ArXiv (eng), Emotion (eng)."
    )


def test_language_models_stand_beside_people_on_the_same_pairs(paper: Path) -> None:
    """Means over 19 pairs, every pair once; people's are those of the paper."""
    found = make_family_means_table(read_summary(paper))
    assert found is not None
    assert found.pairs == 19
    assert [POINTS.text(mean.value or 0.0) for mean in found.people.means] == ["79.1", "88.3", "76.5", "81.2"]
    made = page(paper).llms
    assert made is not None
    assert made.left_out == "clustering"
    assert made.rows[-1].label == "Best model per family"
    assert [small for _, small, _ in made.rows[-1].cells][1] == "multilingual-e5-large"


def test_the_same_pairs_being_hard_is_told_from_five_pairs_on(paper: Path, small: Path) -> None:
    """Spearman over the pairs of both, as scipy has it; too few pairs say nothing."""
    record, made = read_summary(paper), page(paper).llms
    assert made is not None
    pairs = [pair for pair in record.pairs if pair.llms]
    for row in made.rows[1:-1]:
        own = [one.score.value for pair in pairs for one in pair.llms if one.system == row.label]
        found = spearmanr([pair.human.value for pair in pairs], own)
        assert float(row.cells[-1][2]) == pytest.approx(found.statistic, abs=1e-5)
    few = page(small).llms
    assert few is not None
    assert not few.has_rho


def test_differences_are_corrected_and_say_how_annotators_agree(small: Path) -> None:
    """p by Holm over the systems of the pair; a model above annotators who agree little is said to be so."""
    plots = page(small).against
    assert [plot.title for plot in plots][1] == "TweetEval emotion (eng), agreement fair 0.31"
    first = {one.label: one for one in plots[1].rows}["wordllama"]
    assert first.p == "0.012"
    assert first.words == "above simulated annotators, whose agreement is low"
    assert {one.words for one in plots[0].rows} == {
        "below simulated annotators", "cannot be told apart from simulated annotators"
    }  # fmt: skip


def test_published_results_have_no_item_by_item_part(paper: Path) -> None:
    made = page(paper)
    assert made.against == ()
    assert made.ceilings is None
    assert made.lead is not None


def test_disputed_items_show_what_each_answered(small: Path, paper: Path) -> None:
    """Pair by pair; published results have no items."""
    made = page(small).disputes
    assert [one.title for one in made] == ["STS-B (eng)", "TweetEval emotion (eng)", "Cranfield lakes (eng)"]
    assert made[0].rows[0].answers == (("annotator-1", "5"), ("annotator-2", "1"))
    assert made[0].rows[0].apart == "80%"
    assert page(paper).disputes == ()


def test_notes_name_failures_counts_and_mends(small: Path) -> None:
    found = list(hume_notes(read_summary(small)))
    assert [kind for kind, *_ in found] == [
        "simulated", "partial", "noise", "one annotator", "flagged", "warning", "warning"
    ]  # fmt: skip
    assert "2 answers by " in found[1][1]
    assert all(follows and mend for kind, _, follows, mend in found if kind != "warning")


def test_few_items_are_grey_and_said(tmp_path: Path) -> None:
    run = write_hume_run(tmp_path / "run", study(n=6))
    assert all(one.few for _, rows in page(run).chart.groups for one in rows)
    assert "small n" in [kind for kind, *_ in hume_notes(read_summary(run))]


def _without(made: Summary, what: str) -> Summary:
    changes: dict[str, Any] = {
        "models": {"models": ()}, "llms": {"llms": ()}, "agreement": {"agreement": None, "trust": None},
        "annotators": {"annotators": (), "agreement": None, "trust": None, "conventions": {}},
        "interval": {"human": replace(made.pairs[0].human, low=None, high=None)},
        "nobody": {
            "human": Estimate(None, reason="nobody answered"),
            "difficulty": None, "annotators": (), "agreement": None, "trust": None, "conventions": {},
        },
    }[what]  # fmt: skip
    pairs = tuple(pair.model_copy(update=changes) for pair in made.pairs)
    return made.model_copy(update={"pairs": pairs, "places": () if what in ("models", "nobody") else made.places})


@pytest.mark.parametrize("what", ["models", "llms", "agreement", "annotators", "interval", "nobody"])
@pytest.mark.parametrize("pairs", [4, 1])
def test_runs_that_lack_a_part_have_a_report(tmp_path: Path, what: str, pairs: int) -> None:
    """Each missing thing is left out or said, never None or nan."""
    made = _without(study(kind="person"), what)
    made = made.model_copy(
        update={
            "pairs": made.pairs[:pairs],
            "wins": made.wins if pairs == 4 and what not in ("models", "nobody") else (),
        }
    )
    text = write_report(write_hume_run(tmp_path / "run", made)).read_text("utf-8")
    assert not re.search(r">\s*(None|nan)\b", text)
    assert "Undefined" not in text


def test_hostile_names_are_text(tmp_path: Path) -> None:
    """Of systems, datasets and titles."""
    run = write_hume_run(tmp_path / "run", study(judge=HOSTILE, name=HOSTILE), name="safe")
    text = write_report(run).read_text("utf-8")
    assert "<img" not in text
    assert "<script>alert" not in text
    assert "&lt;img src=x" in text


def test_a_damaged_record_is_said_so(tmp_path: Path) -> None:
    run = write_hume_run(tmp_path / "run")
    (run / "summary.json").write_text('{"title": 3}')
    with pytest.raises(DataError, match="cannot be read"):
        write_report(run)
    (run / "summary.json").unlink()
    with pytest.raises(DataError, match="no summary"):
        write_report(run)


def test_groups_of_people_and_languages_stand_on_the_page(tmp_path: Path) -> None:
    """Where the run has tables of them: people by what they said of themselves always, levels where there are two."""
    run = write_hume_run(tmp_path / "groups")
    tables = run / "tables"
    tables.mkdir(exist_ok=True)
    (tables / "hume_profiles.md").write_text(
        "**HUME: annotators by what they said about themselves**\n\n| family | dataset | group | score | reason |\n"
        "|---|---|---|---:|---|\n| sts | pairs | native | 81.5 | n/a |\n"
    )
    level = "| level | class | pairs | human | gap | gap_low | reason |\n|---|---|---:|---:|---:|---:|---|\n"
    title = "**HUME: people and models by language resource level**\n\n"
    (tables / "hume_resources.md").write_text(title + level + "| high | all | 3 | 79.6 | -6.4 | n/a | few |\n")
    assert [one.id for one in page(run).groups] == ["hume-profiles"]
    (tables / "hume_resources.md").write_text(
        title + level + "| high | all | 3 | 79.6 | -6.4 | n/a | few |\n| low | all | 1 | 60.1 | 2.0 | n/a | few |\n"
    )
    people, languages = page(run).groups
    assert [one.title for one in people.heads] == ["dataset", "group", "score"]
    assert [convert_sentence_to_text(one.text) for one in people.lines[0].entries] == ["pairs", "native", "81.5"]
    assert [one.title for one in languages.heads] == ["class", "pairs", "human", "gap"]
    html = write_report([run], out=tmp_path / "report.html").read_text("utf-8")
    assert html.count(people.title) >= 1
    assert "81.5" in html


def test_items_of_a_model_and_of_people_stand_on_the_page(tmp_path: Path) -> None:
    """The blocks that a terminal shows, from the same record; a run without one has no such part."""
    run = write_hume_run(tmp_path / "hume")
    assert page(run).divided == ()
    wrong = Estimate(value=0.1, low=0.02, high=0.4, n=10, method="Wilson")
    write_tasks_divided_with_llm(
        run,
        [
            TaskDividedWithLlm(
                task="mood",
                llm="gpt",
                items=40,
                counts={"agreed": 23, "check": 10, "disagree": 7},
                contradicted=wrong,
                biased=False,
                open=9,
            ),
            TaskDividedWithLlm(
                task="sts", llm="gpt", items=30, counts={"biased": 30}, contradicted=wrong, biased=True, open=11
            ),
        ],
    )
    shown = [one for one in page(run).divided if isinstance(one, Table)]
    assert [[line.label, line.entries[3].text, line.entries[0].text] for line in shown[0].lines] == [
        ["mood", "23", "9"], ["sts", "0", "11"],
    ]  # fmt: skip
    text, html = printed(hume_view(run, wide=True), wide=True), write_report(run).read_text("utf-8")
    for said in ("23 of 70 items", "20 still need one", "sts: people contradict"):
        assert said in text.replace("\n", " ")
        assert said in html
    assert "id=hume-hybrid" in html
    assert "id=hume-hybrid" not in write_report(write_hume_run(tmp_path / "other")).read_text("utf-8")
