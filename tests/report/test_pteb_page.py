"""What the PTEB page says and draws, against the rows it comes from."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from embassay.document.blocks import ParagraphBlock, VerdictText, convert_sentence_to_text
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.tables import POINTS
from embassay.report.board import build_record_board
from embassay.report.notes import list_run_notes
from embassay.report.overview import board_verdict
from embassay.report.pteb.conclusions import TASKS, ParaphraseLosses, paraphrase_drop_table, pteb_verdict
from embassay.report.pteb.drops import PtebPage, make_pteb_page_content
from embassay.report.pteb.notes import pteb_notes
from embassay.report.record import RunRecord, read_run_record
from embassay.runs.folder import RunFolder

MakePteb = Callable[..., Path]


def page(run: Path) -> PtebPage:
    record = read_run_record(run)
    made = make_pteb_page_content(record, build_record_board(record))
    assert made is not None
    return made


def verdict(run: Path) -> VerdictText:
    record = read_run_record(run)
    return pteb_verdict(record, build_record_board(record))


def sentences(made: VerdictText) -> list[str]:
    return [convert_sentence_to_text(made.heading), *map(convert_sentence_to_text, made.lede)]


def printed(record: RunRecord) -> Iterator[str]:
    """Everything that a sentence may say of the rows: points with one decimal, both ways round."""
    for row in record.rows.values():
        for value in (row.value, row.ci_low, row.ci_high):
            if value is not None:
                yield from (POINTS.format_value_in_text(value), POINTS.format_value_in_text(-value))
    for held in record.compared["rank_stability"].values():
        yield numbers.format_score(held.get("tau_original") or 0.0, 2)


def test_headlines_are_those_of_the_protocol() -> None:
    """The report names each task and its headline as the protocol does."""
    from embassay.protocols.tasks import TASKS as PROTOCOL

    assert [(one.name, one.headline) for one in TASKS] == [
        (entry.name, PROTOCOL.build(entry.name).headline) for entry in PROTOCOL
    ]


@pytest.mark.parametrize(
    ("lost", "heading"),
    [
        ({}, "Every system loses points when texts are paraphrased: "),
        (
            {"jaccard": -0.05, "bm25": 0.0},
            "2 of 4 scores fall when texts are paraphrased; the loss is certain for two; one gains",
        ),
        (
            dict.fromkeys(("aster-large", "birch-base", "jaccard", "bm25"), 0.0),
            "2 of 4 scores fall when texts are paraphrased; the loss is certain for none",
        ),
    ],
)
def test_the_heading_counts_those_whose_interval_lies_under_zero(
    make_pteb: MakePteb, lost: dict[str, float], heading: str
) -> None:
    """All, some or none of the ranked systems lose points for sure."""
    assert convert_sentence_to_text(verdict(make_pteb(lost=lost, items=False)).heading).startswith(heading)


def test_every_number_of_the_verdict_is_in_the_results(pteb_run: Path) -> None:
    """Drops, intervals and tau are those of the rows; nothing is worked out for the sentence."""
    record = read_run_record(pteb_run)
    known = set(printed(record))
    for sentence in sentences(verdict(pteb_run)):
        for number in re.findall(r"(?<![\w.])[−+]?\d+\.\d+", sentence):
            assert number.lstrip("+") in known or number in known, sentence


def test_one_system_loses_by_name(make_pteb: MakePteb) -> None:
    """With one system the heading names it and what it loses."""
    run = make_pteb(systems={"aster-large": "embedding"}, items=False)
    heading, amount, *_ = sentences(verdict(run))
    assert re.fullmatch(r"aster-large loses \d\.\d points when texts are paraphrased", heading)
    assert "95% interval" in amount


def test_an_unfinished_task_leaves_no_overall_drop(make_pteb: MakePteb) -> None:
    """Where no system has every task, the page says on which tasks there are drops."""
    systems = ("aster-large", "birch-base", "jaccard", "bm25")
    run = make_pteb(failed=tuple(("retrieval", name) for name in systems), items=False)
    assert sentences(verdict(run)) == [
        "No system has a score on every task, so there is no overall drop",
        "Drops are available for STS, Classification.",
    ]


def test_the_ranking_of_the_overview_is_of_paraphrased_texts(pteb_run: Path) -> None:
    """Encoders are ranked among themselves where another method stands behind the others' scores."""
    record = read_run_record(pteb_run)
    board = build_record_board(record)
    assert (
        convert_sentence_to_text(board_verdict(record, board).heading)
        == "aster-large beats every other encoder on paraphrased texts"
    )
    assert [row.label for row in board.ranked] == ["aster-large", "birch-base"]
    assert [(row.label, row.rank) for row in board.apart] == [("jaccard", "1"), ("bm25", "2")]
    assert board.ranked[0].lead.text == POINTS.text(record.value("overall", "aster-large", "overall") or 0.0)


def test_dumbbells_have_a_tick_per_run_and_the_largest_loss_first(pteb_run: Path) -> None:
    """One row per dataset, a circle at the original, a tick at the score of every run."""
    record = read_run_record(pteb_run)
    for chart in page(pteb_run).dumbbells:
        drops = [one.loss.drop for one in chart.rows]
        assert drops == sorted(drops)
        assert {one.name for one in chart.rows} == {"small-sts", "news-sts", "intents", "manuals"}
        for one in chart.rows:
            assert one.mark.count("1v14") == len(one.loss.runs) == 3
            assert one.mark.count("<circle") == 1
            task = one.loss.task
            assert task is not None
            variants = [f"paraphrase:seed={seed}" for seed in (1337, 1338, 1339)]
            assert list(one.loss.runs) == [
                record.value(task.name, chart.row.system.name, task.headline, dataset=one.name, variant=variant)
                for variant in variants
            ]


def test_drops_are_printed_once_from_full_values(pteb_run: Path) -> None:
    """The change is that of the row, not the difference of two rounded numbers."""
    record = read_run_record(pteb_run)
    losses = ParaphraseLosses(record, build_record_board(record))
    loss = losses.find_overall_loss(losses.rows[0])
    row = record.find("overall", "aster-large", "delta")
    assert row is not None
    assert loss.format_drop_in_points == POINTS.change(row.value or 0.0)
    assert loss.spread == f"± {POINTS.text(record.value('overall', 'aster-large', 'sd') or 0.0)}"


def test_a_failed_cell_has_a_word_and_a_reason_everywhere(make_pteb: MakePteb) -> None:
    """No drop, never 0: the state stands in the chart, the table and the gaps."""
    made = page(make_pteb(failed=(("sts", "birch-base"),), items=False))
    birch = next(chart for chart in made.dumbbells if chart.title == "birch-base")
    missing = [one for one in birch.rows if one.loss.drop is None]
    assert [one.name for one in birch.rows[-2:]] == [one.name for one in missing] == ["small-sts", "news-sts"]
    assert missing[0].loss.after.text == "✕ failed"
    assert missing[0].loss.after.reason.endswith("out of memory")
    (box,) = made.missing
    first = next(one for one in box.blocks if isinstance(one, ParagraphBlock))
    assert "birch-base, STS: ✕ failed" in convert_sentence_to_text(first.said)


def test_tables_over_tasks_and_over_the_datasets_of_a_task(pteb_run: Path) -> None:
    """Table 9's layout first, then table 6's for a task of several datasets; the first column is their mean."""
    tables = page(pteb_run).scores
    assert [table.columns for table in tables] == [
        ("Mean of tasks", "STS", "Classification", "Retrieval"),
        ("Mean", "small-sts", "news-sts"),
    ]
    assert all(len(line.losses) == len(table.columns) for table in tables for line in table.rows)
    assert tables[0].rows[0].losses[1].drop == tables[1].rows[0].losses[0].drop


def test_the_baseline_plot_is_the_system_less_the_baseline(pteb_run: Path) -> None:
    """The protocol's shift is the other way round; ends of its interval change places."""
    stored = json.loads((pteb_run / "comparisons.json").read_text())["baseline"]["scopes"]["overall"]["systems"][0]
    plot = page(pteb_run).baseline[0]
    averaged, pooled = plot.rows[:2]
    assert plot.baseline.label == "aster-large"
    assert (averaged.shift, averaged.low) == (-stored["averaged"]["shift"], None)
    assert (pooled.low, pooled.shift, pooled.high) == (
        -stored["pooled"]["ci_high"], -stored["pooled"]["shift"], -stored["pooled"]["ci_low"],
    )  # fmt: skip
    assert "optimistic" in pooled.analysis
    assert "optimistic" not in averaged.analysis


def test_scopes_of_one_dataset_are_not_plotted_beside_others(pteb_run: Path) -> None:
    """An average over runs of one dataset is one number: only scopes of two datasets or more are drawn."""
    assert {plot.title for plot in page(pteb_run).baseline} == {"All tasks", "Semantic similarity (STS)"}
    assert all(plot.datasets > 1 for plot in page(pteb_run).baseline)


def test_stability_says_how_often_a_system_stands_above_another(pteb_run: Path) -> None:
    """A heat cell per pair, none on the diagonal; tau-b in words."""
    first = page(pteb_run).stability[0]
    assert "original and paraphrased scores: 1.00" in first.said
    for i, row in enumerate(first.rows):
        assert row.beats[i] == (numbers.NONE, 0, None)
    assert [table.title for table in page(pteb_run).stability] == ["All tasks", "All tasks, classical metrics"]


def test_the_paraphrases_are_told_by_dataset_with_their_outcomes(pteb_run: Path) -> None:
    """Means over runs with the least and the most; failures by kind."""
    made = page(pteb_run)
    assert [one.dataset for one in made.quality] == ["small-sts", "news-sts", "intents", "manuals"]
    assert {one.runs for one in made.quality} == {3}
    assert made.quality[0].rejected.startswith("too long ")
    assert made.outcomes == (("recorded", "488 ok, 4 too long"),)


def test_wordings_stand_side_by_side_with_failures_named(pteb_run: Path) -> None:
    """Each text with every run's wording and its edit distance; a run without one says why."""
    boxes = page(pteb_run).wordings
    assert [box.title for box in boxes] == ["small-sts", "news-sts", "intents", "manuals"]
    for box in boxes:
        for text in box.texts:
            assert [one.seed for one in text.wordings] == [1337, 1338, 1339]
            assert all((one.edit_distance is None) == (one.outcome == "too long") for one in text.wordings)


def test_damaged_paraphrases_cost_only_their_part_of_the_page(make_pteb: MakePteb) -> None:
    """The page says that they cannot be shown, and which file it is."""
    run = make_pteb()
    next((run / "paraphrases").rglob("*.parquet")).write_bytes(b"damaged")
    made = page(run)
    assert made.wordings == ()
    assert "were changed after they were written" in made.wordings_reason
    assert made.dumbbells


def test_several_sources_are_told_apart(make_pteb: MakePteb) -> None:
    """Drops by source beside each other, quality and wordings by source; ticks of all runs."""
    made = page(make_pteb(labels=("by=gemma", "by=qwen")))
    assert made.by_source is not None
    assert made.by_source.columns == ("by=gemma", "by=qwen")
    assert made.several_sources
    assert {len(one.loss.runs) for one in made.dumbbells[0].rows} == {6}
    assert page(make_pteb(items=False)).by_source is None


def test_runs_of_controls_are_no_part_of_the_ticks(make_pteb: MakePteb) -> None:
    """A copier beside a paraphraser has a column of its own; the score's runs are the paraphraser's."""
    run = make_pteb(labels=("by=gemma", "by=copied"))
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["paraphrases"]["sources"][1]["paraphraser"] = "copied"
    (run / "manifest.json").write_text(json.dumps(manifest))
    assert {len(one.loss.runs) for one in page(run).dumbbells[0].rows} == {3}
    assert "(4 of 492) of the paraphrases cannot be used" in " ".join(
        note.what for note in list_run_notes(read_run_record(run))
    )


def test_notes_count_what_could_not_be_used(pteb_run: Path, make_pteb: MakePteb) -> None:
    """Failed paraphrases by kind and what follows; a single run is told."""
    lost = next(note for note in list_run_notes(read_run_record(pteb_run)) if note.kind == "lost")
    assert lost.plain == (
        "0.8% (4 of 492) of the paraphrases cannot be used: 4 too long. Their items are left out of both scores in "
        "that run."
    )
    single = make_pteb(runs=1, items=False)
    assert "There is one run." in [note.what for note in list_run_notes(read_run_record(single))]


def test_a_run_over_the_limit_of_failures_has_no_score_and_the_reason(make_pteb: MakePteb) -> None:
    """A done cell without a value is told with its reason, once for all systems."""
    run = make_pteb(items=False)
    folder = RunFolder(run)
    reason = "7 of 80 texts (8.8%) could not be rewritten"
    rows = [
        type(row)(**{**row.as_dict(), "value": None, "ci_low": None, "ci_high": None, "reason": reason})
        if (row.dataset, row.variant, row.measure) == ("manuals", "paraphrase:seed=1338", "ndcg@10")
        else row
        for row in folder.read_results()
    ]
    folder.write_results(rows)
    found = [note.plain for note in list_run_notes(read_run_record(run)) if note.kind == "no score"]
    assert found == [f"No score for 4 systems on retrieval on manuals: {reason}."]


def _points(svg: str) -> int:
    """How many points a drawing has; a hollow one is drawn twice."""
    drawn = re.findall(r'<path class="of ([^"]*)" d="([^"]*)"', svg)
    return sum(path.count("h0") for name, path in drawn if not name.endswith(" in"))


def test_changes_against_original_scores_have_a_point_each(pteb_run: Path, make_pteb: MakePteb) -> None:
    """A point per ranked system and dataset; too few are not drawn."""
    against = page(pteb_run).against
    assert against is not None
    assert against.n == _points(against.svg) == 16
    small = make_pteb(systems={"aster-large": "embedding"}, datasets={"sts": ("one",)}, items=False)
    assert page(small).against is None


def test_changes_against_edit_distance_need_three_distances(pteb_run: Path, make_pteb: MakePteb) -> None:
    """A point per ranked system, task, dataset and source; one dataset says nothing of distance."""
    distance = page(pteb_run).distance
    assert distance is not None
    assert distance.n == _points(distance.svg) == 16
    sources = page(make_pteb(labels=("by=gemma", "by=qwen"), items=False)).distance
    assert sources is not None
    assert sources.n == 32
    assert page(make_pteb(datasets={"sts": ("one",)}, items=False)).distance is None


def test_changes_by_source_are_signed(make_pteb: MakePteb) -> None:
    """What is gained has a plus."""
    lost = dict.fromkeys(("aster-large", "birch-base", "jaccard", "bm25"), -0.05)
    table = page(make_pteb(labels=("by=a", "by=b"), lost=lost)).by_source
    assert table is not None
    assert {one.text[0] for line in table.lines[:4] for one in line.entries} == {"+"}


def test_a_control_is_no_paraphrase(make_pteb: MakePteb) -> None:
    """Where only a control reworded, heading, sentences and the first note say so."""
    run = make_pteb(items=False)
    manifest = json.loads((run / "manifest.json").read_text("utf-8"))
    manifest["paraphrases"]["sources"] = [{"paraphraser": "permuted", "label": ""}]
    (run / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    said = " ".join(sentences(verdict(run)))
    assert "points when words are reordered" in said
    assert "paraphrased" not in said
    kinds = [kind for kind, *_ in pteb_notes(read_run_record(run))]
    assert kinds[0] == "control"


def test_columns_stand_on_the_same_items(make_pteb: MakePteb) -> None:
    """Before, after and change add up at every level; the spread beside the change is its own; the original of all
    items is shown where it is another number."""
    run = make_pteb()
    rows = [
        replace(row, value=row.value + 0.01)
        if row.variant == "original" and row.value is not None and not row.dataset
        else row
        for row in RunFolder(run).read_results()
    ]
    RunFolder(run).write_results(rows)
    record = read_run_record(run)
    board = build_record_board(record)
    losses = ParaphraseLosses(record, board)
    for row in board.ranked:
        levels = [losses.find_overall_loss(row), *(losses.find_task_loss(row, task) for task in board.tasks)]
        for one in levels:
            assert one.after.value is not None
            assert one.before.value is not None
            assert one.drop is not None
            assert one.after.value - one.before.value == pytest.approx(one.drop, abs=1e-12)
            assert one.delta_sd is not None
            assert one.delta_sd.value is not None
            assert one.format_drop_spread_over_runs == f"± {POINTS.text(one.delta_sd.value)}"
            assert one.format_original_score_of_all_items == POINTS.text(one.before.value + 0.01)
    table = paraphrase_drop_table(record, board, wide=False)
    assert "Orig., all items" in [column.title for column in table.heads]
    assert {len(line.entries) for line in table.lines} == {len(table.heads)}


def test_until_ci_tells_both_intervals(make_pteb: MakePteb) -> None:
    """What it narrowed, over runs, beside what stays open, over items and runs: of the system known least."""
    run = make_pteb()
    assert not [one for one in pteb_notes(read_run_record(run)) if one[0] == "until-ci"]
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["arguments"]["until_ci"] = 0.5
    (run / "manifest.json").write_text(json.dumps(manifest))
    record = read_run_record(run)
    told = [one for one in pteb_notes(record) if one[0] == "until-ci"]
    assert len(told) == sum(len(record.datasets(task.name)) for task in build_record_board(record).tasks)
    known = {
        measure: {
            system: (row.ci_high - row.ci_low) / 2
            for (_, dataset, _, variant, system, of), row in record.rows.items()
            if of == measure and dataset == "manuals" and not variant and record.systems_by_name[system].ranked
            and row.ci_low is not None and row.ci_high is not None
        }
        for measure in ("delta_runs", "delta")
    }  # fmt: skip
    widest = max(known["delta_runs"], key=lambda one: (known["delta_runs"][one], known["delta"][one], one))
    found = next(one[1] for one in told if "manuals" in one[1])
    for part in (widest, *(POINTS.format_value_in_text(known[name][widest]) for name in known)):
        assert part in found


def test_a_system_with_drops_is_not_said_to_have_none(make_pteb: MakePteb) -> None:
    """Where one task failed, the others are counted; where a task lacks a dataset, that is said."""
    board = build_record_board(read_run_record(make_pteb(failed=(("retrieval", "bm25"),))))
    assert board.row("bm25").note == "2 of 3 tasks finished"
