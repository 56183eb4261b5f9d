"""PTEB's tables: the paper's layout, points, nothing averaged over what is missing."""

from __future__ import annotations

import io

import polars as pl
import pytest

from embassay.protocols.pteb.drops import ScoresInLengthBin, summarise_words_per_text_by_dataset
from embassay.protocols.pteb.tables import PtebRunRowsAndComparisons, make_pteb_tables
from embassay.records import ResultRow
from embassay.stats import Estimate

KINDS = {"minilm": "embedding", "big": "embedding", "bm25": "classical", "constant": "reference"}
SCORES = {"minilm": (0.8, 0.7), "big": (0.9, 0.85), "bm25": (0.6, 0.6), "constant": (0.0, 0.0)}
CELL, SECOND = "paraphrase:seed=1337", "paraphrase:seed=1338"


def row(task, dataset, variant, system, measure, value, *, lang="en", n=100, subset="", ends=(None, None)):
    """A row of results."""
    reason = "" if value is not None else "why"
    return ResultRow(
        "pteb", task, dataset, subset, lang, variant, system, measure, value, n, *ends, "how", 1337, reason
    )


def rows_of(task, dataset, measure, *, lang="en", without=()):
    """What a dataset, or a task over its datasets, has for every system."""
    found = []
    for system, (orig, pteb) in SCORES.items():
        missing = system in without
        delta = None if missing else pteb - orig
        where = (task, dataset)
        found += [
            row(*where, "original", system, measure, orig, lang=lang),
            row(*where, "", system, measure, None if missing else pteb, lang=lang, ends=(0.1, 0.9)),
            row(*where, "", system, "original", None if missing else orig, lang=lang),
            row(*where, "", system, "delta", delta, lang=lang),
            row(*where, "", system, "sd", None if missing else 0.01, lang=lang),
        ]
        if dataset:
            found += [row(*where, variant, system, "delta", delta, lang=lang) for variant in (CELL, SECOND)]
    return found


def made(rows, **more):
    """The tables by name."""
    return {table.name: table for table in make_pteb_tables(PtebRunRowsAndComparisons(rows, KINDS, **more))}


def frame(table):
    """As read from its CSV."""
    return pl.read_csv(io.StringIO(table.as_csv()), infer_schema_length=None)


def line(table, **where):
    """The one line of the CSV with these values."""
    data = frame(table)
    for name, value in where.items():
        data = data.filter(pl.col(name) == value)
    [found] = data.to_dicts()
    return found


def test_table_6_has_the_paper_s_layout():
    """Datasets down, systems across: `Orig. | PTEB`, below it the difference and the spread; averages last."""
    rows = [*rows_of("sts", "STSB", "spearman"), *rows_of("sts", "SICK-R", "spearman")]
    table = made(rows)["pteb_table6"]
    markdown = table.format_table_as_markdown()
    assert "| Dataset | minilm | big | bm25 | constant | Average difference |" in markdown
    assert r"| STSB | 80.00 \| 70.00<br>-10.00 / ±1.00 |" in markdown
    assert r"| Average | 80.00 \| 70.00<br>-10.00 |" in markdown
    assert line(table, dataset="STSB", system="minilm")["pteb"] == pytest.approx(70.0)
    # The average over systems is that of the embeddings, as in the paper.
    assert line(table, dataset="STSB", system="Average")["delta"] == pytest.approx(-7.5)


def test_nothing_missing_is_averaged_away():
    """A system without a score on one dataset has no average, and neither has that dataset over systems."""
    rows = [*rows_of("sts", "STSB", "spearman"), *rows_of("sts", "SICK-R", "spearman", without=["big"])]
    table = made(rows)["pteb_table6"]
    assert line(table, dataset="Average", system="big")["pteb"] is None
    assert line(table, dataset="Average", system="minilm")["pteb"] == pytest.approx(70.0)
    assert line(table, dataset="SICK-R", system="Average")["delta"] is None
    assert line(table, dataset="Average", system="Average")["delta"] is None
    assert r"n/a<br>n/a" in table.format_table_as_markdown()


def test_english_and_other_languages_have_tables_of_their_own():
    """Table 6 is STS in English, table 10 whatever has another language; a pair across two counts as such."""
    rows = [
        *rows_of("sts", "STSB", "spearman"), *rows_of("sts", "STS17", "spearman", lang="eng-ara"),
        *rows_of("reranking", "RuBQ", "map", lang="rus"), *rows_of("retrieval", "ArguAna", "ndcg@10"),
    ]  # fmt: skip
    found = made(rows)
    assert set(frame(found["pteb_table6"])["dataset"]) == {"STSB", "Average"}
    assert set(frame(found["pteb_table10"])["dataset"].drop_nulls()) == {"STS17", "RuBQ"}
    assert line(found["pteb_table10"], task="Average", system="minilm")["delta"] == pytest.approx(-10)


def test_the_english_part_of_a_dataset_is_in_table_6():
    """As STS17 in the paper: its English pairs in table 6, all of it in table 10."""
    rows = [
        *rows_of("sts", "STS17", "spearman", lang="mul"),
        row("sts", "STS17", "original", "minilm", "spearman", 0.9, lang="eng-eng", subset="eng-eng"),
        row("sts", "STS17", "", "minilm", "spearman", 0.85, lang="eng-eng", subset="eng-eng"),
        row("sts", "STS17", "original", "minilm", "spearman", 0.7, lang="eng-ara", subset="eng-ara"),
    ]
    found = made(rows)
    assert line(found["pteb_table6"], dataset="STS17 eng-eng", system="minilm")["pteb"] == pytest.approx(85)
    assert line(found["pteb_table6"], dataset="STS17 eng-eng", system="big")["pteb"] is None
    assert line(found["pteb_table10"], dataset="STS17", system="minilm")["pteb"] == pytest.approx(70)


def test_table_9_is_of_the_run_s_own_rows_and_says_what_does_not_compare():
    """A line per task and the overall one; a note where systems were evaluated by another method."""
    rows = [
        *rows_of("sts", "STSB", "spearman"), *rows_of("sts", "", "spearman"),
        *rows_of("classification", "Banking77", "accuracy"), *rows_of("classification", "", "accuracy"),
        *rows_of("overall", "", "overall"),
    ]  # fmt: skip
    table = made(rows, comparisons={"scopes": {"overall:classical": {}}})["pteb_table9"]
    assert frame(table)["task"].unique(maintain_order=True).to_list() == ["sts", "classification", "Average"]
    assert "by neighbours" in table.format_table_as_markdown()
    assert line(table, task="Average", system="big")["sd"] == pytest.approx(1.0)
    assert "by neighbours" not in made(rows)["pteb_table9"].format_table_as_markdown()


def several(task, dataset, measure, **by_language):
    """The rows of a dataset in several languages: `by_language` is language -> scores of minilm in two runs."""
    found = rows_of(task, dataset, measure, lang="mul")
    for lang, runs in by_language.items():
        where = {"lang": lang, "subset": lang}
        found += [
            row(task, dataset, "original", "minilm", measure, 0.9, **where),
            row(task, dataset, "", "minilm", measure, sum(runs) / 2, **where),
            row(task, dataset, "", "minilm", "delta", sum(runs) / 2 - 0.9, **where),
            *(
                row(task, dataset, one, "minilm", measure, run, **where)
                for one, run in zip((CELL, SECOND), runs, strict=True)
            ),
        ]
    return found


def test_table_9_does_not_average_languages_that_the_paper_separates():
    """As in the paper: English in table 9, whose STS is the average of table 6, and other languages in table 10."""
    rows = [
        *rows_of("sts", "STSB", "spearman"), *several("sts", "STS17", "spearman", en=(0.6, 0.8), de=(0.1, 0.1)),
        *rows_of("sts", "", "spearman"), *rows_of("overall", "", "overall"),
        *(row("sts", "STSB", one, "minilm", "spearman", 0.7) for one in (CELL, SECOND)),
        *rows_of("reranking", "RuBQ", "map", lang="ru"), *rows_of("reranking", "", "map"),
    ]  # fmt: skip
    found = made(rows)
    ninth = line(found["pteb_table9"], task="sts", system="minilm")
    sixth = line(found["pteb_table6"], dataset="Average", system="minilm")
    assert all(ninth[name] == pytest.approx(sixth[name]) for name in ("orig", "pteb", "delta"))
    assert ninth["pteb"] == pytest.approx(70)
    # Over the runs the means of .7 with .6 and with .8 are .65 and .75.
    assert ninth["sd"] == pytest.approx(100 * 0.1 / 2**0.5)
    assert set(frame(found["pteb_table9"])["task"]) == {"sts", "Average"}
    assert set(frame(found["pteb_table10"])["dataset"].drop_nulls()) == {"STS17", "RuBQ"}
    assert "English only" in found["pteb_table9"].format_table_as_markdown()


def test_a_run_without_english_has_its_own_rows_in_table_9():
    """Nothing is separated where there is nothing to separate from."""
    rows = [*rows_of("reranking", "RuBQ", "map", lang="ru"), *rows_of("reranking", "", "map")]
    table = made([*rows, *rows_of("overall", "", "overall")])["pteb_table9"]
    assert line(table, task="reranking", system="minilm")["sd"] == pytest.approx(1)
    assert "English only" not in table.format_table_as_markdown()


def test_every_dataset_with_its_intervals_and_reasons():
    """Ours: one line per task, dataset and system, in points."""
    rows = rows_of("sts", "STSB", "spearman", without=["bm25"])
    table = made(rows)["scores_by_dataset"]
    found = line(table, system="minilm")
    assert (found["pteb_low"], found["pteb_high"], found["method"]) == (10, 90, "how")
    assert line(table, system="bm25")["reason"] == "why"


def prompted(prompt, score, distance):
    """The rows of a prompt for one system."""
    variant = f"paraphrase:prompt={prompt},seed=1337"
    return [
        row("sts", "STSB", variant, "minilm", "delta", score - 0.8),
        row("sts", "", f"prompt={prompt}", "minilm", "spearman", score),
        row("sts", "", f"prompt={prompt}", "minilm", "delta", score - 0.8),
        row("paraphrases", "STSB", variant, "ollama:gemma3:27b", "edit_distance", distance),
    ]


def test_table_12_and_the_range_over_prompts():
    """Score and edit distance of every prompt (the paper's numbers), and 0.92 points between them."""
    printed = {
        "default": (0.7492, 0.81),
        "variant1": (0.7424, 0.82),
        "variant2": (0.7482, 0.82),
        "variant3": (0.7516, 0.84),
    }
    rows = [row("sts", "STSB", "original", "minilm", "spearman", 0.8)]
    for prompt, values in printed.items():
        rows += prompted(prompt, *values)
    found = made(rows)
    table = found["pteb_table12"]
    one = line(table, prompt="prompt=variant1", system="minilm")
    assert (one["pteb_sts_score"], one["edit_distance"]) == (pytest.approx(74.24), pytest.approx(0.82))
    assert line(table, prompt="range", system="minilm")["pteb_sts_score"] == pytest.approx(0.92)
    assert line(table, prompt="range", system="big")["pteb_sts_score"] is None
    source = line(found["scores_by_source"], source="prompt=default", system="minilm", task="sts")
    assert source["delta"] == pytest.approx(-5.08)
    assert len(frame(found["drop_by_edit_distance"])) == 4


ANALYSIS = {
    "shift": 0.0717, "ci_low": None, "ci_high": None, "statistic": 1.0, "p": 0.0078, "p_holm": 0.0156, "n": 9,
    "method": "exact signed-rank test",
}  # fmt: skip


def test_tables_7_and_14():
    """The shift in points, STS first, the method of the test in words; table 7 says that it is optimistic."""
    scope = {
        "baseline": "big", "datasets": ["STSB"], "reason": "",
        "systems": [
            {"system": "minilm", "pooled": ANALYSIS, "averaged": ANALYSIS, "reason": ""},
            {"system": "bm25", "pooled": None, "averaged": None, "reason": "no score"},
        ],
    }  # fmt: skip
    comparisons = {"baseline": {"system": "big", "scopes": {"overall": scope, "sts": scope}}}
    found = made(rows_of("sts", "STSB", "spearman"), comparisons=comparisons)
    assert "optimistic" in found["pteb_table7"].format_table_as_markdown()
    assert "| sts | big | minilm | +7.17 | n/a | n/a | 0.0156 |" in found["pteb_table14"].format_table_as_markdown()
    assert frame(found["pteb_table14"])["scope"].to_list() == ["sts", "sts", "overall", "overall"]
    assert line(found["pteb_table14"], scope="sts", system="bm25")["method"] == "no score"


def test_rank_tables():
    """Whose rank holds: by scope and by system."""
    scope = {
        "systems": ["big", "minilm"], "original": [0.9, 0.8], "pteb": [0.85, 0.7], "original_rank": [1, 2],
        "rank": [1, 2], "rank_low": [1, 1], "rank_high": [2, 2], "beats": [[None, 0.9], [0.1, None]],
        "tau_original": 1.0, "tau_low": 0.5, "tau_high": 1.0, "tau_runs": 1.0, "tau_runs_min": 1.0,
        "tau_sources": None, "tau_sources_min": None, "reason": "",
    }  # fmt: skip
    stability = {"sts": scope, "overall": {"systems": ["big"], "reason": "fewer than two systems with a value"}}
    found = made(rows_of("sts", "STSB", "spearman"), comparisons={"rank_stability": stability})
    assert (
        "| sts | 2 | 1.00 | 0.50 | 1.00 | 1.00 | 1.00 | n/a | n/a |"
        in found["rank_stability"].format_table_as_markdown()
    )
    assert "fewer than two" in found["rank_stability"].format_table_as_markdown()
    assert line(found["rank_intervals"], system="big")["p_above_next"] == 0.9
    assert line(found["rank_intervals"], system="minilm")["rank_low"] == 1


def test_mixed_effects_table():
    """The drop with its wider interval, in points, and what it comes from."""
    rows = [
        *rows_of("sts", "STSB", "spearman"),
        row("sts", "", "", "minilm", "delta_mixed", -0.1, ends=(-0.2, 0.0), n=18),
        row("sts", "", "", "minilm", "delta_sd:datasets", 0.03),
    ]
    found = line(made(rows)["drop_mixed"], system="minilm")
    assert (found["delta"], found["ci_low"], found["sd_datasets"], found["n"]) == (-10, -20, pytest.approx(3), 18)
    assert found["sd_runs"] is None


def test_what_drops_go_with():
    """By original score, language, edit distance and length; references are not among them."""
    bins = [
        ScoresInLengthBin("1-10", 50, 0.8, 0.7, Estimate(-0.1, -0.2, float("nan"), 50, "how")),
        ScoresInLengthBin("11-20", 3, None, None, None, reason="fewer than 10"),
    ]
    found = made(rows_of("sts", "STSB", "spearman"), lengths={("sts", "STSB", "minilm"): bins})
    assert line(found["drop_by_score"], group="80 to 100")["cells"] == 2
    assert "more room to fall" in found["drop_by_score"].format_table_as_markdown()
    assert line(found["drop_by_language"], group="English")["cells"] == 3
    assert "drop_by_edit_distance" not in found
    short = line(found["drop_by_length"], words="1-10")
    assert (short["delta"], short["ci_low"], short["ci_high"]) == (-10, -20, None)
    assert line(found["drop_by_length"], words="11-20")["reason"] == "fewer than 10"


def test_controls_are_no_drops():
    """The text again changes nothing, and that is no finding about drops; it is a point of figure 8."""
    rows = [
        row("sts", "STSB", "original", "minilm", "spearman", 0.8),
        row("sts", "STSB", "paraphrase:by=gemma,seed=1337", "minilm", "delta", -0.1),
        row("sts", "STSB", "paraphrase:by=copied,seed=1337", "minilm", "delta", 0.0),
        row("paraphrases", "STSB", "paraphrase:by=gemma,seed=1337", "gemma", "edit_distance", 0.7),
        row("paraphrases", "STSB", "paraphrase:by=copied,seed=1337", "copied", "edit_distance", 0.0),
    ]
    found = made(rows)
    assert line(found["drop_by_score"], group="80 to 100")["delta"] == pytest.approx(-10)
    assert len(frame(found["drop_by_edit_distance"])) == 2


def test_quality_of_the_wordings():
    """A line per paraphraser, run, dataset and language, a column per measure."""
    rows = [
        *rows_of("sts", "STSB", "spearman"),
        row("paraphrases", "STSB", CELL, "recorded", "edit_distance", 0.8, n=50),
        row("paraphrases", "STSB", CELL, "recorded", "failed", 0.04, n=52),
        row("paraphrases", "STSB", SECOND, "recorded", "edit_distance", None, n=0),
    ]
    table = made(rows)["paraphrase_quality"]
    found = line(table, run=CELL)
    assert (found["texts"], found["edit_distance"], found["failed"], found["lang"]) == (52, 0.8, 0.04, "en")
    assert line(table, run=SECOND)["edit_distance"] is None


def test_words_time_and_datasets():
    """Tables 1, 8 and 13."""
    rows = [*rows_of("sts", "STSB", "spearman"), *rows_of("sts", "", "spearman")]
    found = made(
        rows,
        words=summarise_words_per_text_by_dataset({"STSB": ["a b c", "d"], "SICK-R": ["a b c d"]}),
        seconds={"minilm": 135.0},
    )
    assert line(found["pteb_table1"], dataset="Average")["word_count"] == 3.0
    assert line(found["pteb_table8"], system="minilm")["runtime_s"] == 135.0
    assert line(found["pteb_table8"], system="minilm")["orig_sts"] == pytest.approx(80)
    assert line(found["pteb_table13"], dataset="STSB")["metric"] == "spearman"


def test_no_rows_no_tables():
    """A run that was killed at once has none."""
    assert made([]) == {}
