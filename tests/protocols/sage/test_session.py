"""A whole run: its files, resuming, refusing, and the same bytes however it was done."""

import json
import os
import re
import subprocess
import sys
from contextlib import nullcontext
from datetime import datetime, timedelta
from itertools import count

import polars as pl
import pytest

import embassay as eb
from embassay.errors import DataError, ModelError, UsageError
from embassay.runs.folder import RunFolder

SYSTEMS = ["bm25", "wordllama"]
SMALL = {"tokenizer": "words", "limit": 12, "options": eb.sage.SageOptions(resamples=100)}


def content(path):
    """Everything a run must reproduce: results, comparisons, tables, items."""
    kept = ("results.jsonl", "comparisons.json")
    files = [path / name for name in kept] + sorted(path.glob("tables/*")) + sorted(path.glob("items/**/*.parquet"))
    return {str(file.relative_to(path)): file.read_bytes() for file in files}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    os.environ["EMBASSAY_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    return eb.sage.run(SYSTEMS, out=tmp_path_factory.mktemp("runs") / "one", **SMALL)


def test_a_run_leaves_every_file(finished):
    """Manifest, results, comparisons, items per cell, texts and tables are there."""
    manifest = finished.manifest
    assert manifest["status"] == "finished"
    assert len(manifest["cells"]) == 5 * 4
    assert {cell["status"] for cell in manifest["cells"]} == {"done"}
    assert len(list(finished.path.glob("items/*/sample/*[!s].parquet"))) >= 20
    for number in range(1, 7):
        assert (finished.path / "tables" / f"sage_table{number}.md").exists()


def test_rows_are_complete(finished):
    """Every row is unique, has n, and a value or a reason; every task has one headline per system."""
    rows = RunFolder(finished.path).read_results()
    assert len({row.key for row in rows}) == len(rows)
    assert all(row.value is not None or row.reason for row in rows)
    for task in ("preference", "robustness", "sensitivity", "clustering", "retrieval", "overall"):
        headline = [r for r in rows if r.task == task and not r.dataset and r.measure != "mean_of_present"]
        assert sorted(row.system for row in headline) == ["bm25", "constant", "random", "wordllama"]
    for row in rows:
        if row.value is not None and row.ci_low is not None:
            assert row.ci_low - 1e-9 <= row.ci_high


def test_constant_is_undefined_on_ratings_and_so_overall(finished):
    """The reference row that never varies has no correlation, and says so."""
    rows = finished.results.filter(pl.col("system") == "constant", pl.col("task") == "overall")
    overall = rows.filter(pl.col("measure") == "overall")
    assert overall["value"].to_list() == [None]
    assert "does not vary" in overall["reason"][0]
    assert rows.filter(pl.col("measure") == "mean_of_present")["n"].to_list() == [4]


def test_overall_is_the_mean_of_the_five(finished):
    """Table 1: overall = unweighted mean of the tasks (SAGE table 1)."""
    table = finished.table("sage_table1").filter(pl.col("system") == "bm25")
    parts = [table[name][0] for name in ("Clustering", "Human Pref.", "Robustness", "Sensitivity", "Retrieval")]
    assert table["Overall"][0] == pytest.approx(sum(parts) / 5)


def test_compare_is_antisymmetric(finished):
    """a - b and b - a are one comparison; an unknown system is a UsageError."""
    one, other = finished.compare("bm25", "wordllama"), finished.compare("wordllama", "bm25")
    assert one.leading.difference == -other.leading.difference
    assert (one.leading.low, one.leading.high) == (-other.leading.high, -other.leading.low)
    with pytest.raises(UsageError, match="nobody"):
        finished.compare("bm25", "nobody")
    with pytest.raises(UsageError, match="no table"):
        finished.table("nope")


def test_the_same_arguments_resume_and_change_nothing(finished):
    """A finished run is read, not repeated: the same bytes, and nothing is encoded again."""
    before = content(finished.path)
    again = eb.sage.run(SYSTEMS, out=finished.path, **SMALL)
    assert content(again.path) == before
    session = again.manifest["sessions"][-1]
    assert (session["cells_done"], session["texts_encoded"]) == (0, 0)


@pytest.mark.parametrize(
    ("change", "named"),
    [({"seed": 1}, "seed"), ({"limit": 5}, "limit"), ({"tokenizer": "words", "tasks": ["robustness"]}, "tasks")],
)
def test_other_arguments_are_refused(finished, change, named):
    """What differs is named, with both values."""
    with pytest.raises(UsageError, match=f"other arguments: .*{named} was"):
        eb.sage.run(SYSTEMS, out=finished.path, **{**SMALL, **change})


def test_a_run_grows_by_systems_tasks_and_datasets(tmp_path, monkeypatch):
    """More of each are added to the folder, what is done stays, and the bytes are those of one run of all."""
    monkeypatch.chdir(tmp_path)
    rows = [{"text": f"note {n} on {'tides' if n % 3 else 'bees'} {n * n}", "label": n % 2} for n in range(30)]
    (tmp_path / "notes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    small = {**SMALL, "limit": 6}
    eb.sage.run(["jaccard"], out="grown", datasets=["sample"], tasks=["clustering"], **small)
    more = {"datasets": ["sample", "notes.jsonl"], "tasks": ["robustness", "clustering"], **small}
    grown = eb.sage.run(["levenshtein", "jaccard"], out="grown", **more)
    assert content(grown.path) == content(eb.sage.run(["levenshtein", "jaccard"], out="whole", **more).path)
    first, second = grown.manifest["sessions"]
    cells = len(grown.manifest["cells"])
    assert (first["cells_done"], second["cells_done"]) == (3, cells - 3)
    assert grown.manifest["arguments"]["systems"] == ["levenshtein", "jaccard"]
    assert len(grown.manifest["forecast"]["cells"]) == cells
    assert grown.manifest["status"] == "finished"
    with pytest.raises(UsageError, match="other arguments: systems was"):
        eb.sage.run(["jaccard", "rouge"], out="grown", **more)


@pytest.mark.parametrize(
    "lost",
    [
        "half the cells",
        "a torn results line",
        "a damaged cell",
        "an edited cell",
        "the manifest's end",
        "half of a cell",
        "half of the texts",
    ],
)
def test_an_interrupted_run_ends_with_the_same_bytes(finished, tmp_path, lost):
    """Whatever a crash left behind, the resumed run is the uninterrupted one."""
    import shutil

    before = content(finished.path)
    path = tmp_path / "copy"
    shutil.copytree(finished.path, path)
    cells = sorted((path / "cells").iterdir())
    if lost == "half the cells":
        for file in cells[::2]:
            file.unlink()
        shutil.rmtree(path / "tables")
    elif lost == "a torn results line":
        data = (path / "results.jsonl").read_bytes()
        (path / "results.jsonl").write_bytes(data[: len(data) // 2])
        cells[0].unlink()
    elif lost == "a damaged cell":
        cells[3].write_bytes(cells[3].read_bytes()[:100])
    elif lost == "an edited cell":
        cells[3].write_text(re.sub(r'"value": 0\.\d', '"value": 0.9', cells[3].read_text()))
    elif lost.startswith("half of"):
        folder = path / ("texts" if lost.endswith("texts") else "items")
        file = sorted(folder.rglob("*.parquet"))[0]
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    else:
        (path / "comparisons.json").unlink()
    with pytest.warns(RuntimeWarning, match="will be computed again") if lost.endswith("cell") else nullcontext():
        eb.sage.run(SYSTEMS, out=path, **SMALL)
    assert content(path) == before


@pytest.mark.slow
def test_same_bytes_with_more_workers_and_another_environment(finished, tmp_path):
    """Neither worker processes nor PYTHONHASHSEED, locale, time zone, a missing HOME or a cold cache change a byte."""
    script = (
        "import sys, embassay as eb\n"
        "if __name__ == '__main__':\n"
        f"    eb.sage.run({SYSTEMS!r}, out=sys.argv[1], workers=2, tokenizer='words', limit=12,\n"
        "               options=eb.sage.SageOptions(resamples=100))\n"
    )
    (tmp_path / "script.py").write_text(script)
    environment = {**os.environ, "PYTHONHASHSEED": "2", "EMBASSAY_CACHE": str(tmp_path / "cache")}
    environment |= {"LC_ALL": "C", "TZ": "Pacific/Auckland"}
    environment.pop("HOME", None)
    subprocess.run([sys.executable, str(tmp_path / "script.py"), str(tmp_path / "run")], env=environment, check=True)
    assert content(tmp_path / "run") == content(finished.path)


def test_a_broken_system_fails_alone(tmp_path, monkeypatch):
    """A system that fails is a failed cell with its reason; the others have values, and ranks leave it out."""
    from embassay.systems.lexical.bm25 import BM25

    def broken(self, texts):
        raise ModelError("No distances today.")

    monkeypatch.setattr(BM25, "distances", broken)
    run = eb.sage.run(["bm25", "jaccard"], out=tmp_path / "run", tasks=["clustering", "robustness"], **SMALL)
    assert run.manifest["status"] == "partial"
    results = run.results.filter(pl.col("task") == "clustering", pl.col("dataset") == "")
    by_system = dict(zip(results["system"], zip(results["value"], results["reason"], strict=True), strict=True))
    assert by_system["bm25"] == (None, "sample: No distances today.")
    assert by_system["jaccard"][0] is not None
    monkeypatch.undo()
    again = eb.sage.run(["bm25", "jaccard"], out=tmp_path / "run", tasks=["clustering", "robustness"], **SMALL)
    assert again.manifest["status"] == "finished"


def test_a_clock_that_is_put_back_gives_no_negative_time(tmp_path, monkeypatch):
    """Nothing ends before it began, though every look at the clock finds an hour less."""
    hours = count()

    class Clock(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime(2026, 11, 23, 12, tzinfo=tz) - timedelta(hours=next(hours))

    monkeypatch.setattr("embassay.protocols.kernel.outcome.datetime", Clock)
    manifest = eb.sage.run(["jaccard"], out=tmp_path / "run", tasks=["clustering"], **SMALL).manifest
    (session,) = manifest["sessions"]
    assert next(hours) > 1
    assert session["started"] <= session["ended"]
    assert manifest["created"] <= manifest["updated"]
    assert session["seconds"] >= 0
    assert all(cell["seconds"] >= 0 for cell in manifest["cells"])


def test_datasets_join_the_tasks_they_have_columns_for(tmp_path):
    """A file of texts and labels joins sensitivity and clustering; asking for another task is a usage error."""
    path = tmp_path / "notes.jsonl"
    rows = [
        {"text": f"note number {i} on {'tea' if i % 2 else 'coffee'} and more", "label": str(i % 2)} for i in range(12)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = eb.sage.run(["levenshtein"], datasets=[path], out=tmp_path / "run", tokenizer="words")
    assert {cell["task"] for cell in run.manifest["cells"]} == {"sensitivity", "clustering"}
    overall = run.results.filter(pl.col("measure") == "overall", pl.col("system") == "levenshtein")
    assert overall["reason"][0] == "preference was not part of the run"
    with pytest.raises(UsageError, match=r"robustness lacks summary.*--map"):
        eb.sage.run(["levenshtein"], datasets=[path], tasks=["robustness"], out=tmp_path / "two", tokenizer="words")


def test_nothing_is_written_when_a_name_is_wrong(tmp_path):
    """Systems and datasets are opened before the run begins."""
    with pytest.raises(UsageError, match="Did you mean"):
        eb.sage.run(["bm52"], out=tmp_path / "run", tokenizer="words")
    with pytest.raises((UsageError, DataError), match="nowhere"):
        eb.sage.run(["bm25"], datasets=["nowhere.jsonl"], out=tmp_path / "run", tokenizer="words")
    assert not (tmp_path / "run").exists()


def test_the_cap_of_documents_holds_for_the_tasks_that_edit_them():
    """Robustness and sensitivity take as many, the other tasks what --limit leaves; the smaller of the two counts."""
    from embassay.protocols import sage
    from embassay.protocols.sage.protocol import make_plan

    def sizes(cap, limit):
        options = sage.SageOptions(document_cap=cap)
        request = sage.Request(("jaccard",), limit=limit, tokenizer="words", options=options)
        return {one.task: one.n for one in make_plan(request).datasets[0].tasks}

    whole, capped, both = sizes(None, None), sizes(6, None), sizes(6, 4)
    assert capped == {**whole, "robustness": 6, "sensitivity": 6}
    assert both["robustness"] == both["sensitivity"] == 4
    assert "document_cap" not in sage.SageOptions().as_dict()
    with pytest.raises(UsageError, match="document_cap is 0"):
        sage.SageOptions(document_cap=0)
