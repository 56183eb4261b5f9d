"""A whole run: recorded, drawn from a model, stored; resumed, refused, and the same bytes however it was done."""

import json
import os
import shutil
import subprocess
import sys
from statistics import fmean, stdev

import polars as pl
import pytest

import embassay as eb
from embassay.errors import UsageError
from embassay.protocols.tasks import TASK_NAMES
from embassay.protocols.wordings.sets import ParaphraseSet
from embassay.report import write_report
from embassay.report.terminal import make_run_terminal_blocks
from embassay.runs.folder import RunFolder
from report.pages import printed
from stub.paraphrasing import paraphrasing

OPTIONS = eb.pteb.PtebOptions(languages="pooled", resamples=100)
QUICK = eb.pteb.PtebOptions(resamples=100)
RECORDED = {"tokenizer": "words", "runs": 3, "options": OPTIONS}
MEASURED = "pteb_table8"
"""The one table of seconds."""


def content(path):
    """Everything that a run must reproduce."""
    files = [path / "results.jsonl", path / "comparisons.json", *sorted(path.glob("tables/*"))]
    files += sorted(path.glob("items/**/*.parquet"))
    return {str(file.relative_to(path)): file.read_bytes() for file in files if not file.name.startswith(MEASURED)}


def values(run, **where):
    """(system, measure) -> value, of the rows that fit."""
    rows = run.results
    for name, value in where.items():
        rows = rows.filter(pl.col(name) == value)
    return {(row["system"], row["measure"]): row["value"] for row in rows.iter_rows(named=True)}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    os.environ["EMBASSAY_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    return eb.pteb.run(["wordllama", "bm25"], out=tmp_path_factory.mktemp("runs") / "one", **RECORDED)


def test_the_sample_has_all_seven_tasks(recorded):
    """Every task with every system: the original and three runs; all tables that one run can fill."""
    manifest = recorded.manifest
    assert manifest["status"] == "finished"
    assert [cell["status"] for cell in manifest["cells"]] == ["done"] * (7 * 4 * 4)
    rows = RunFolder(recorded.path).read_results()
    assert len({row.key for row in rows}) == len(rows)
    assert all(row.value is not None or row.reason for row in rows)
    for task in TASK_NAMES:
        found = {row.variant for row in rows if row.task == task and row.dataset and row.measure != "sd"}
        assert found == {"", "original", *(f"paraphrase:seed={seed}" for seed in (1337, 1338, 1339))}
    tables = {file.stem for file in recorded.path.glob("tables/*.csv")}
    assert {f"pteb_table{n}" for n in (1, 6, 7, 8, 9, 13)} <= tables
    assert "pteb_table14" not in tables, "one dataset of STS: nothing to test its mean by"
    assert {"rank_stability", "drop_mixed", "paraphrase_quality", "drop_by_length"} <= tables


def test_summary_rows_are_plain_means_of_the_runs(recorded):
    """PTEB = mean over runs, delta = PTEB - original, sd = sample standard deviation (spec 5)."""
    rows = recorded.results.filter((pl.col("task") == "retrieval") & (pl.col("dataset") == "sample"))
    for system in ("wordllama", "bm25"):
        own = rows.filter(pl.col("system") == system)
        by_variant = {r["variant"]: r["value"] for r in own.iter_rows(named=True) if r["measure"] == "ndcg@10"}
        runs = [value for variant, value in by_variant.items() if variant.startswith("paraphrase")]
        summary = {r["measure"]: r["value"] for r in own.iter_rows(named=True) if r["variant"] == ""}
        assert len(runs) == 3
        assert summary["ndcg@10"] == pytest.approx(fmean(runs))
        assert summary["delta"] == pytest.approx(fmean(runs) - by_variant["original"])
        assert summary["sd"] == pytest.approx(stdev(runs))


def test_a_plain_score_needs_no_paraphrases(recorded, tmp_path):
    """Score, interval and rank on the texts as they are, equal to the original scores of a run with paraphrases."""
    out = eb.pteb.run(
        ["bm25", "jaccard"], original_only=True, tasks=("sts", "pair_classification"), tokenizer="words",
        options=eb.pteb.PtebOptions(languages="pooled", resamples=200), out=tmp_path / "plain",
    )  # fmt: skip
    rows = out.results.filter(pl.col("dataset") == "")
    assert set(out.results["variant"]) == {"", "original"}
    assert not {"delta", "sd"} & set(out.results["measure"])
    assert rows.filter(pl.col("system") == "bm25")["ci_low"].is_not_null().all()
    ranks = json.loads((out.path / "comparisons.json").read_text())["scopes"]["overall"]
    assert len(ranks["rank_low"]) == 2
    assert not (out.path / "paraphrases").exists()
    both = eb.pteb.run(
        ["bm25", "jaccard"], runs=1, tasks=("sts", "pair_classification"), tokenizer="words",
        options=eb.pteb.PtebOptions(languages="pooled", resamples=200), out=tmp_path / "both",
    )  # fmt: skip
    original = both.results.filter((pl.col("variant") == "original") & (pl.col("dataset") == ""))
    plain = {(task, system): value for task, system, value in rows.select("task", "system", "value").iter_rows()}
    assert plain == {(one["task"], one["system"]): one["value"] for one in original.to_dicts()}
    shown = printed(make_run_terminal_blocks(out.path), width=100)
    assert "paraphrased" not in shown
    assert "changes by" not in shown
    page = write_report(out.path).read_text()
    assert "Nothing was paraphrased" in page
    assert "are paraphrased" not in page


def test_the_same_arguments_resume_and_change_nothing(recorded):
    """A finished run is read, not repeated."""
    before = content(recorded.path)
    again = eb.pteb.run(["wordllama", "bm25"], out=recorded.path, **RECORDED)
    assert content(again.path) == before
    assert again.manifest["sessions"][-1]["cells_done"] == 0


def test_a_run_grows_by_systems(tmp_path):
    """Paraphrases and cells are kept; the bytes are those of one run of all."""
    small = {**RECORDED, "tasks": ["sts"]}
    eb.pteb.run(["bm25"], out=tmp_path / "grown", **small)
    grown = eb.pteb.run(["jaccard", "bm25"], out=tmp_path / "grown", **small)
    whole = eb.pteb.run(["jaccard", "bm25"], out=tmp_path / "whole", **small)
    assert content(grown.path) == content(whole.path)
    first, second = grown.manifest["sessions"]
    assert second["cells_done"] == len(grown.manifest["cells"]) - first["cells_done"]


@pytest.mark.parametrize(
    ("change", "named"), [({"runs": 2}, "runs"), ({"paraphraser": "copied"}, "paraphrasers"), ({"seed": 1}, "seed")]
)
def test_other_arguments_are_refused(recorded, change, named):
    """What differs is named."""
    with pytest.raises(UsageError, match=f"other arguments: .*{named} was"):
        eb.pteb.run(["wordllama", "bm25"], out=recorded.path, **{**RECORDED, **change})


def test_more_runs_than_recordings_are_a_usage_error(tmp_path):
    """The sample has three paraphrases of each text; nothing is written."""
    with pytest.raises(UsageError, match="3 recorded paraphrases per text, but 4 runs need"):
        eb.pteb.run(["bm25"], out=tmp_path / "run", tokenizer="words", runs=4)
    assert not (tmp_path / "run").exists()


def test_an_interrupted_run_ends_with_the_same_bytes(recorded, tmp_path):
    """Half of the cells and a torn line of results gone: the resumed run is the uninterrupted one."""
    before, path = content(recorded.path), tmp_path / "copy"
    shutil.copytree(recorded.path, path)
    for cell in sorted(path.glob("cells/*.json"))[::2]:
        cell.unlink()
    (path / "results.jsonl").write_text('{"torn')
    eb.pteb.run(["wordllama", "bm25"], out=path, **RECORDED)
    assert content(path) == before


@pytest.mark.slow
def test_workers_and_hash_seeds_change_no_byte(tmp_path, monkeypatch):
    """Two processes, another PYTHONHASHSEED: the same bytes."""
    monkeypatch.setenv("EMBASSAY_CACHE", str(tmp_path / "cache"))
    tasks = ["sts", "retrieval"]
    one = eb.pteb.run(["wordllama", "bm25"], tasks=tasks, out=tmp_path / "one", **{**RECORDED, "runs": 2})
    code = (
        "import sys, embassay as eb\n"
        "if __name__ == '__main__':\n"
        "    options = eb.pteb.PtebOptions(languages='pooled', resamples=100)\n"
        "    given = dict(tokenizer='words', runs=2, options=options, workers=2)\n"
        f"    eb.pteb.run(['wordllama', 'bm25'], tasks={tasks}, out=sys.argv[1], **given)\n"
    )
    script, path = tmp_path / "run.py", tmp_path / "two"
    script.write_text(code)
    environment = {**os.environ, "PYTHONHASHSEED": "271"}
    subprocess.run([sys.executable, script, path], env=environment, check=True, timeout=300)
    assert content(path) == content(one.path)


def test_a_set_is_replayed_exactly_without_a_model(recorded, tmp_path):
    """`stored:FOLDER` gives the same scores, run by run."""
    again = eb.pteb.run(["bm25"], paraphraser=f"stored:{recorded.path}", out=tmp_path / "again", **RECORDED)
    before, after = (values(run, system="bm25", task="overall", variant="") for run in (recorded, again))
    assert before == after
    assert before
    assert not (tmp_path / "again" / "spending.jsonl").exists()


def test_a_paraphraser_that_returns_its_input_changes_nothing(tmp_path):
    """Delta 0, sd 0 and edit distance 0 for every task and system (spec 13.5); every text is counted as a copy."""
    run = eb.pteb.run(
        ["wordllama", "levenshtein"], paraphraser="copied", out=tmp_path / "run", tokenizer="words", runs=2,
        options=OPTIONS,
    )  # fmt: skip
    found = run.results.filter(pl.col("measure").is_in(["delta", "sd"]) & pl.col("value").is_not_null())
    assert set(found["task"]) == {*TASK_NAMES, "overall"}
    assert found["value"].abs().max() < 1e-12
    quality = values(run, task="paraphrases", subset="", variant="paraphrase:seed=1337")
    assert (quality["copied", "edit_distance"], quality["copied", "copied"]) == (0.0, 1.0)


def test_excluded_copies_leave_nothing(tmp_path):
    """`exclude_copied` takes the copies out of both sides; where all are copies there is no score, and a reason."""
    run = eb.pteb.run(
        ["bm25"], paraphraser="copied", out=tmp_path / "run", tokenizer="words", runs=2, tasks=("sts",),
        exclude_copied=True, options=OPTIONS,
    )  # fmt: skip
    rows = run.results.filter((pl.col("measure") == "spearman") & (pl.col("variant") == "paraphrase:seed=1337"))
    assert set(rows["value"]) == {None}
    assert all(rows["reason"])


class TestWithAModel:
    """Real calls to a server that rewords."""

    def test_seeds_prompts_and_texts_are_those_of_the_spec(self, rewording, by, tmp_path):
        """Seeds 1337..1342, the prompt as the system message, one text per call; the corpus is never sent; nothing but
        paraphrasing sees another seed (spec 13.6, 13.7)."""
        bodies, behaviour = [], paraphrasing()

        def chat(turn):
            bodies.append(turn.body)
            return behaviour(turn)

        run = eb.pteb.run(
            ["wordllama"], paraphraser=by(rewording(chat=chat)), out=tmp_path / "run", tokenizer="words",
            options=OPTIONS, tasks=("retrieval", "classification"),
        )  # fmt: skip
        assert {body["seed"] for body in bodies} == set(range(1337, 1343))
        assert all([m["role"] for m in body["messages"]] == ["system", "user"] for body in bodies)
        assert {body["temperature"] for body in bodies} == {0.8}
        sample = eb.data.open_dataset("sample")
        queries, sides = sample.load("retrieval").data, sample.load("classification").data
        sent = {body["messages"][1]["content"] for body in bodies}
        assert sent == {*queries.queries.texts, *sides.train.texts, *sides.test.texts}
        assert not sent & set(queries.corpus.texts)
        assert {row["seed"] for row in run.results.iter_rows(named=True) if row["task"] != "paraphrases"} == {1337}

    def test_failures_leave_both_sides_item_by_item(self, rewording, by, scored, tmp_path):
        """The rule of design.md: a pair with a failed text is in neither side; copies stay; each is counted."""
        server = rewording(failing=0.03, copying=0.1, long=0.01)
        rows = [*_many_pairs(100)]
        path = _write(tmp_path / "many.jsonl", rows)
        run = eb.pteb.run(
            ["levenshtein"],
            paraphraser=by(server),
            datasets=[path],
            out=tmp_path / "run",
            tokenizer="words",
            runs=2,
            options=QUICK,
        )
        known = ParaphraseSet.open(run.path)
        source = next(iter(known.sources))
        for seed in (1337, 1338):
            wording = {row.text: row for row in known.rows(source, "many", seed)}
            lost = {r["id"] for r in rows if not (wording[r["text"]].usable and wording[r["text2"]].usable)}
            folder = run.path / "items" / "sts" / "many" / "levenshtein"
            before, after = (pl.read_parquet(next(folder.glob(f"{name}*"))) for name in ("original", f"*{seed}"))
            assert set(before["item_id"]) == {r["id"] for r in rows}
            assert set(after["item_id"]) == {r["id"] for r in rows} - lost
            assert lost
            copies = [row for row in wording.values() if row.outcome == "copied"]
            assert copies
            assert all(row.wording == row.text for row in copies)
        assert {"refused", "too long", "ok", "copied"} == set(_outcomes(run, "many", 1337))
        kept = run.results.filter(
            (pl.col("measure") == "original") & (pl.col("system") == "levenshtein")
            & pl.col("variant").str.starts_with("paraphrase")
        )  # fmt: skip
        assert kept["n"].to_list() == [len(rows) - len(lost)] * 2
        # Every column stands on the items that were kept, so they add up; the original of all items is apart.
        for where in ({"dataset": "many"}, {"dataset": ""}):
            row = {
                (one["variant"], one["measure"]): one["value"]
                for one in run.results.to_dicts()
                if one["system"] == "levenshtein" and one["task"] == "sts" and one["dataset"] == where["dataset"]
            }
            assert row["", "spearman"] - row["", "original"] == pytest.approx(row["", "delta"], abs=1e-12)
            assert row["original", "spearman"] != pytest.approx(row["", "original"], abs=1e-6)
        table = run.table("pteb_table9").row(0, named=True)
        assert table["pteb"] - table["orig"] == pytest.approx(table["delta"])
        assert table["orig_all"] == pytest.approx(100 * row["original", "spearman"])
        assert table["delta_sd"] == pytest.approx(100 * row["", "delta_sd"])

    def test_six_percent_failures_are_no_score(self, rewording, by, tmp_path):
        """Over 5% of the texts: no score for any system, with the share and the kind of failure; the original stays."""
        path = _write(tmp_path / "many.jsonl", [*_many_pairs(60)])
        run = eb.pteb.run(
            ["levenshtein"], paraphraser=by(rewording(failing=0.08)), datasets=[path], out=tmp_path / "run",
            tokenizer="words", runs=2, options=QUICK,
        )  # fmt: skip
        rows = run.results.filter((pl.col("system") == "levenshtein") & (pl.col("dataset") == "many"))
        assert rows.filter(pl.col("variant") == "original")["value"].null_count() == 0
        scores = rows.filter(pl.col("variant").str.starts_with("paraphrase"))
        assert scores["value"].null_count() == len(scores)
        assert all("could not be rewritten" in reason and "over 5%" in reason for reason in scores["reason"])

    def test_original_in_place_of_failures_is_an_option(self, rewording, by, tmp_path):
        """`on_failure` as in the authors' code: all items stay, and the failures are still counted."""
        path = _write(tmp_path / "many.jsonl", [*_many_pairs(60)])
        run = eb.pteb.run(
            ["levenshtein"], paraphraser=by(rewording(failing=0.08)), datasets=[path], out=tmp_path / "run",
            tokenizer="words", runs=2, on_failure="original", options=QUICK,
        )  # fmt: skip
        scores = run.results.filter(pl.col("variant").str.starts_with("paraphrase") & (pl.col("measure") == "spearman"))
        assert set(scores.filter(pl.col("system") == "levenshtein")["n"]) == {60}
        assert _outcomes(run, "many", 1337)["refused"] > 0

    def test_two_paraphrasers_and_two_prompts_are_crossed(self, rewording, by, scored, tmp_path):
        """Every source has its runs and its own mean; the score is the mean over sources."""
        server = rewording()
        run = eb.pteb.run(
            ["bm25"], paraphraser=[by(server), by(server, "other")], datasets=[scored], out=tmp_path / "run",
            tokenizer="words", runs=2, prompts=("default", "variant1"), options=QUICK,
        )  # fmt: skip
        rows = run.results.filter((pl.col("system") == "bm25") & (pl.col("dataset") == "scored"))
        rows = rows.filter(pl.col("measure") == "spearman")
        runs = rows.filter(pl.col("variant").str.starts_with("paraphrase:by="))
        assert len(runs) == 8
        assert runs.filter(pl.col("variant").str.contains("prompt=variant1"))["value"].n_unique() > 1
        whole = rows.filter(pl.col("variant") == "")["value"].item()
        assert whole == pytest.approx(runs["value"].mean())

    def test_what_is_kept_is_never_asked_again(self, rewording, by, scored, tmp_path):
        """Another system on the same paraphrases in another folder: no request, the answers are in the cache."""
        server = rewording()
        given = {"paraphraser": by(server), "datasets": [scored], "tokenizer": "words", "runs": 2, "options": QUICK}
        eb.pteb.run(["bm25"], out=tmp_path / "one", **given)
        asked = sum(server.requests.values())
        run = eb.pteb.run(["levenshtein"], out=tmp_path / "two", **given)
        assert asked == 2 * len({row[side] for row in _rows(scored) for side in ("text", "text2")})
        assert sum(server.requests.values()) == asked
        told = run.manifest["paraphrases"]["sources"][0]
        assert told["prompt"]["name"] == "default"
        assert told["about"]["sampling"]["temperature"] == 0.8

    def test_until_ci_stops_where_a_direct_computation_says(self, rewording, by, scored, tmp_path):
        """Runs are added while t(.975, R-1) sd / sqrt(R) of any system's drop is over the points asked for."""
        from math import sqrt

        from scipy.stats import t

        run = eb.pteb.run(
            ["bm25", "levenshtein"], paraphraser=by(rewording()), datasets=[scored], out=tmp_path / "run",
            tokenizer="words", runs=2, until_ci=6.0, max_runs=18, options=QUICK,
        )  # fmt: skip
        rows = run.results.filter((pl.col("measure") == "delta") & pl.col("variant").str.starts_with("paraphrase"))
        drops = {
            system: rows.filter((pl.col("system") == system) & (pl.col("subset") == ""))["value"].to_list()
            for system in ("bm25", "levenshtein")
        }
        runs = len(drops["bm25"])

        def wide(n):
            return max(100 * t.ppf(0.975, n - 1) * stdev(d[:n]) / sqrt(n) for d in drops.values()) > 6.0

        assert 2 < runs < 18
        assert [wide(n) for n in range(2, runs + 1)] == [True] * (runs - 2) + [False]


def test_languages_are_scored_alone_and_averaged(rewording, by, pairs, write_rows, tmp_path):
    """A language's rows have its name; the dataset's is their plain mean; pooled is one problem over all [A9]."""
    path = write_rows("two", [*pairs("en"), *pairs("de")])
    given = {"paraphraser": by(rewording()), "datasets": [path], "tokenizer": "words", "runs": 2}
    run = eb.pteb.run(["bm25"], out=tmp_path / "each", **given)
    rows = run.results.filter((pl.col("system") == "bm25") & (pl.col("measure") == "spearman"))
    one = rows.filter((pl.col("variant") == "paraphrase:seed=1337") & (pl.col("dataset") == "two"))
    by_lang = {row["subset"]: row["value"] for row in one.iter_rows(named=True)}
    assert by_lang[""] == pytest.approx((by_lang["en"] + by_lang["de"]) / 2)
    assert set(one["lang"]) == {"mul", "en", "de"}
    pooled = eb.pteb.run(["bm25"], out=tmp_path / "pooled", **given, options=eb.pteb.PtebOptions(languages="pooled"))
    assert set(pooled.results["subset"]) == {""}


def _many_pairs(n):
    for i in range(n):
        yield {
            "id": f"p{i}", "lang": "en", "text": f"the man in house {i} says that help is near",
            "text2": f"a woman in house {i + i % 7} said that {'help' if i % 3 else 'money'} is near",
            "score": round(5 - i % 7 * 0.5 - (i % 3 == 0), 1),
        }  # fmt: skip


def _write(path, rows):
    import json

    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def _rows(path):
    import json

    return [json.loads(line) for line in path.read_text().splitlines()]


def _outcomes(run, dataset, seed):
    return run.manifest["paraphrases"]["sources"][0]["outcomes"][dataset][str(seed)]
