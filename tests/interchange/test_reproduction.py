"""A paper's printed tables beside those of a run, and the commands that repeat a paper."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from embassay.data.catalogue.suites import read_all_suites
from embassay.errors import DataError, UsageError
from embassay.interchange.layouts import LAYOUTS, RAG, format_paper_model_title
from embassay.interchange.reproduction import (
    RECIPES,
    SAGE,
    ReproducedTableValue,
    compare_paper_tables,
    describe_runs_with_differing_settings,
    describe_suite_coverage,
    read_published_numbers,
)

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / ".." / "shared" / "reference"


def written(folder: Path, protocol: str, manifest: dict = {}, /, **tables: str) -> Path:  # noqa: B006 - not changed
    """A folder of a run that has only its manifest and some tables."""
    (folder / "tables").mkdir(parents=True)
    told = {"protocol": protocol, "suites": [{"said": "14 of 15 sets of beir."}], **manifest}
    (folder / "manifest.json").write_text(json.dumps(told))
    for name, text in tables.items():
        (folder / "tables" / f"{name}.csv").write_text(text)
    return folder


def sets_of(suite: str, leave: tuple[str, ...] = (), **arguments: object) -> dict:
    """The manifest of a run on the sets of a suite, without some."""
    members = [member for member in read_all_suites()[suite].members if member.dataset not in leave]
    datasets = [{"name": one.dataset, "tasks": {task: {} for task in one.tasks}} for one in members]
    return {"datasets": datasets, "arguments": arguments}


LIKE = {"limit": None, "options": {"text_tokens": 512, "needle": f"mine.txt {SAGE.settings['needle']}"}}
"""What SAGE's published figures were made with."""

SAGE_1 = """\
kind,system,overall,Human Pref.,robustness,sensitivity,clustering,retrieval
classical,jaccard,0.4,0.6,0.2,0.8,0.1,0.2
"""
PARTS = {"overall", "human_preference", "robustness", "sensitivity", "clustering", "retrieval"}


@pytest.mark.parametrize(
    ("manifest", "alike", "told"),
    [
        (sets_of("sage", **LIKE), PARTS, ""),
        (sets_of("sage", ("scifact",), **LIKE), PARTS - {"overall", "retrieval"}, ""),
        ({"datasets": [{"name": "sample", "tasks": {"robustness": {}}}], "arguments": LIKE}, set(), ""),
        (sets_of("sage", **{**LIKE, "limit": 50}), set(), "--limit 50"),
        (sets_of("sage", **{**LIKE, "options": {"text_tokens": 512, "needle": ""}}), set(), "no --needle"),
        (
            sets_of("sage", **{**LIKE, "options": {"text_tokens": None, "needle": "a.txt 00"}}),
            set(),
            "no --text-tokens and --needle a.txt 00",
        ),
    ],
)
def test_a_mean_is_compared_with_one_over_the_same_sets(tmp_path: Path, manifest, alike, told) -> None:
    """Made as the paper's was; any other stands there without a difference, and is counted."""
    run = written(tmp_path / "run", "sage", manifest, sage_table1=SAGE_1)
    (table,) = compare_paper_tables("SAGE", [run])
    assert {one.column for _, one in table.list_printed_figures_with_values()} == alike
    rows = [row[0].strip() for row in table.body()]
    place = rows.index("here: jaccard")
    shown = dict(zip(table.columns, list(table.body())[place + 1][1:], strict=True))
    assert {column for column, text in shown.items() if text} == alike
    assert ("not compared" in table.describe_differences_from_published()) == (alike != PARTS)
    assert any(told in line for line in describe_runs_with_differing_settings(SAGE, [run])) == bool(told)


def test_the_command_that_is_shown_is_the_one_of_the_page() -> None:
    """With the needle, which is a file of yours; one that is given takes its place."""
    (step,) = SAGE.steps
    assert step.list_command_words()[-2:] == ["--needle", "LOREM.txt"]
    assert "--needle" not in step.words()
    assert step.list_command_words(["--needle", "mine.txt"]).count("--needle") == 1


SAGE_4 = """\
kind,system,billsum,cnn-dailymail,mine
classical,jaccard,0.207,0.1736,0.5
embedding,st:org/voyage-3-large?dims=8,0.3,,0.5
embedding,wordllama,0.25,0.1,0.5
reference,constant,0,0,0
"""


def test_sage_row_by_row(tmp_path: Path) -> None:
    """Rows by the paper's names; the difference of what would be printed; models that the paper has not come last."""
    (table,) = compare_paper_tables("SAGE", [written(tmp_path / "run", "sage", sage_table4=SAGE_4)])
    assert table.columns == ("billsum", "cnn_dailymail", "scientific_papers")
    body = {row[0].strip(): row[1:] for row in table.body()}
    rows = [row[0].strip() for row in table.body()]
    place = rows.index("Jaccard Similarity")
    assert [list(row) for row in table.body()][place : place + 3] == [
        ["Jaccard Similarity", "0.185", "0.174", "0.128"],
        ["  here: jaccard", "0.207", "0.174", ""],
        ["  difference", "+0.022", "+0.000", ""],
    ]
    assert body["here: st:org/voyage-3-large?dims=8"] == ["0.300", "", ""]
    assert rows[-1] == "here: wordllama"
    assert "constant" not in " ".join(rows)
    found = {(label, one.column): one for label, one in table.list_printed_figures_with_values()}
    assert found["jaccard", "cnn_dailymail"].verdict == "exact"
    assert found["jaccard", "billsum"].difference == pytest.approx(0.022)
    assert table.describe_differences_from_published().startswith(
        "3 of 27 published values have a counterpart here; 1 of 3 comparisons"
    )
    assert "+0.022 (Jaccard Similarity, billsum)" in table.describe_differences_from_published()
    told = table.as_dict()
    assert (told["printed"], len(told["compared"]), len(told["others"])) == (27, 3, 1)
    assert table.markdown().count("\n| ") == 1 + 1 + 9 + 2 * 2 + 1


def test_pteb_has_rows_of_set_and_model(tmp_path: Path) -> None:
    """Sets by their titles, the STS sets as one row with how many they are, and no mean over other models."""
    six = "dataset,kind,system,orig,pteb,delta,sd\nsts12,embedding,st:x/all-mpnet-base-v2,72.6,60,-12.6,1\n"
    nine = (
        "task,dataset,kind,system,orig,pteb,delta,sd\n"
        "sts,5 datasets,embedding,st:x/all-mpnet-base-v2,80.35,75,-5.35,1\n"
        "sts,5 datasets,,Average,,,-9,\n"
        ",,embedding,st:x/Qwen3-Embedding-8B,69.59,66.02,-3.57,\n"
    )
    run = written(tmp_path / "run", "pteb", sets_of("pteb-en"), pteb_table6=six, pteb_table9=nine)
    six, nine = compare_paper_tables("PTEB", [run])
    assert {one.row for _, one in six.list_printed_figures_with_values()} == {"STS12, all-mpnet-base-v2"}
    labels = {line.row: line.label for line in nine.lines}
    compared_rows = {one.row for _, one in nine.list_printed_figures_with_values()}
    assert compared_rows == set(labels)
    assert labels == {
        "9 STS datasets, all-mpnet-base-v2": "st:x/all-mpnet-base-v2 (5 datasets)",
        "Average, qwen3-embedding-8b": "st:x/Qwen3-Embedding-8B",
    }
    assert all(line.row for line in nine.lines)


STACKS = """\
Dataset,Stack,Encoder,Dimensions,Index,K,Reranker,Mode,"USD per 1,000",RA-nWG@10
mine,a,voyage:voyage-3.5,1024,flat,50,voyage:rerank-2.5,dense,1.29,0.7
mine,b,voyage:voyage-3.5,1024,hnsw-int8,50,voyage:rerank-2.5,dense,1.29,0.7
mine,c,wordllama,256,flat,50,none,dense,0,0.6
mine,d,wordllama,256,flat,20,none,hybrid,0,0.5
"""


def test_a_sweep_has_the_papers_stacks(tmp_path: Path) -> None:
    """By encoder, dimensions, reranker and depth in an exact index; the six methods whatever the encoder is."""
    tables = {
        one.layout.table: one
        for one in compare_paper_tables("RAG", [written(tmp_path / "run", "rag", rag_stacks=STACKS)])
    }
    ((_, cost),) = tables["5.5 scenarios"].list_printed_figures_with_values()
    assert (cost.row, cost.published, cost.printed_difference) == (
        "voyage-3.5, 1024, rerank-2.5, K=50",
        "1.25",
        "+0.04",
    )
    # How good what was found is depends on the corpus, which is not the paper's.
    assert {(line.label, line.row, *line.apart) for line in tables["5.1 stacks"].lines if line.row} == {
        ("a", "Rerank-2.5", "ra_nwg@10"), ("c", "Dense-Only", "ra_nwg@10"),
    }  # fmt: skip


HTEB_TEXTS = """\
transformation,dataset,seed,texts,unchanged %,failed %,retried %
backtranslation,banking77,1337,13069,12.059071083,0.0,0.5
backtranslation,banking77,1338,50,12.0,0.0,0.0
backtranslation,sample,1337,13069,12.0,0.0,0.0
"""


def test_of_hteb_the_whole_texts_of_banking77_compare(tmp_path: Path) -> None:
    """Shares of the published counts: 1,576 of 13,069. A draw of 50, and other data, are not set beside them."""
    (table,) = compare_paper_tables("HTEB", [written(tmp_path / "run", "hteb", hteb_texts=HTEB_TEXTS)])
    found = {one.column: (one.row, one.published, one.verdict) for _, one in table.list_printed_figures_with_values()}
    row = "backtranslation, seed 1337"
    assert found == {
        "texts": (row, "13069", "exact"),
        "unchanged %": (row, f"{100 * 1576 / 13069:.4f}", "exact"),
        "failed %": (row, "0.0000", "exact"),
        "retried %": (row, "0.0000", "differs"),
    }


def test_several_runs_stand_beside_one_another(tmp_path: Path) -> None:
    """Each with its name, and what each has of its suites."""
    runs = [written(tmp_path / name, "sage", sage_table4=SAGE_4) for name in ("one", "two")]
    (table,) = compare_paper_tables("SAGE", runs)
    assert {line.label for line in table.lines if line.row == "Jaccard Similarity"} == {"jaccard, one", "jaccard, two"}
    assert describe_suite_coverage(runs) == ["14 of 15 sets of beir."] * 2


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    """No run, a run of something else, a table of another version, a manifest that is none."""
    with pytest.raises(UsageError, match="it has no manifest"):
        compare_paper_tables("SAGE", [tmp_path])
    with pytest.raises(UsageError, match=r"No table of HUME can be computed from .*sage"):
        compare_paper_tables("HUME", [written(tmp_path / "run", "sage", sage_table4=SAGE_4)])
    with pytest.raises(DataError, match="has no column 'system'"):
        compare_paper_tables("SAGE", [written(tmp_path / "old", "sage", sage_table4="kind,name\nclassical,bm25\n")])
    (written(tmp_path / "odd", "sage") / "manifest.json").write_text("{")
    with pytest.raises(DataError, match="is not JSON"):
        compare_paper_tables("SAGE", [tmp_path / "odd"])


def test_a_recipe_gives_way_to_options() -> None:
    """Options of one's own take the place of the paper's, by either name; the others stay."""
    english = RECIPES["pteb"].step("")
    words = english.words(["-s", "minilm", "--limit", "9"])
    assert words.count("-s") == 1
    assert "--baseline" not in words  # one of the paper's models
    assert words[-4:] == ["-s", "minilm", "--limit", "9"]
    assert tuple(words[2:4]) == ("-d", "pteb-en")
    assert "-d" not in english.words(["--dataset=mine.csv"])
    assert RECIPES["rag"].step("sweep").list_missing_options(["--dataset", "x"]) == []
    with pytest.raises(UsageError, match="no step 'judge'"):
        RECIPES["pteb"].step("judge")


def test_names_are_the_papers() -> None:
    """Every layout has printed figures, and every printed figure a layout."""
    for paper, layouts in LAYOUTS.items():
        assert {one.table for one in read_published_numbers(paper)} == {one.table for one in layouts}
    assert len({(one.table, one.file) for one in RAG}) == len(RAG)
    assert format_paper_model_title("cohere:embed-v4.0") == "embed-v4.0"


def test_printed_figures_are_those_of_the_page() -> None:
    """What docs/published.csv has under the same table, row and column is the same text."""
    known = {
        (paper, one.table, one.row, one.column): one.published
        for paper in LAYOUTS
        for one in read_published_numbers(paper)
    }
    with (ROOT / "docs" / "published.csv").open(encoding="utf-8", newline="") as stream:
        rows = [ReproducedTableValue(**row) for row in csv.DictReader(stream)]
    both = [one for one in rows if (one.paper, one.table, one.row, one.column) in known]
    assert len(both) > 800
    assert [one.published for one in both] == [known[one.paper, one.table, one.row, one.column] for one in both]


@pytest.mark.shared
@pytest.mark.skipif(not REFERENCE.is_dir(), reason="the published tables are not beside this checkout")
def test_printed_figures_are_the_transcribed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package carries what is in the transcribed tables, figure by figure."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from reproducing.printed import every

    for paper, found in every(REFERENCE).items():
        assert tuple(found) == read_published_numbers(paper)
