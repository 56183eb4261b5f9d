"""Whole runs against a model that transforms by rule: scores, weights, failures, resuming (spec hteb 8, 14)."""

import json
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

import embassay as eb
import made_mirror
from embassay.data.catalogue.entries import find_catalogue_entry
from embassay.data.catalogue.suites import read_all_suites
from embassay.errors import BudgetExceeded, UsageError
from embassay.protocols.hteb.exchange import export, import_reference_transformation_files
from embassay.protocols.hteb.options import (
    AXES,
    TRANSFORMATIONS,
    HtebOptions,
    HtebRequest,
    TransformOptions,
    select_axis_transformations,
)
from embassay.protocols.hteb.profiles import (
    TOTAL,
    TransformationScoreLevels,
    TransformationWithSeeds,
    format_axis_part_name,
)
from embassay.protocols.hteb.protocol import HtebPlan, HtebProtocol, open_request_datasets
from embassay.protocols.hteb.slots import read_reference_dataset_settings
from embassay.protocols.wordings.scores import DatasetInRun, SystemInRun, TaskInRun, WordingRunSetup
from embassay.protocols.wordings.sets import ParaphraseSet
from embassay.records import HeadlineComponent
from embassay.report import write_report
from embassay.report.terminal import make_run_terminal_blocks
from embassay.runs.folder import CellRecord
from embassay.systems import SYSTEMS
from embassay.text import open_tokenizer
from hteb_reader import strict
from report.pages import printed
from stub.chat import Reply, echo
from stub.transforming import transforming

QUICK = HtebOptions(resamples=60)


def run(model, path, **more):
    more = {"tokenizer": "words", "options": QUICK, "runs": 1, **more}
    return eb.hteb.run(["wordllama"], transformer=model, out=path, **more)


def rows(done, **where):
    """The rows that fit."""
    found = done.results
    for name, value in where.items():
        found = found.filter(pl.col(name) == value)
    return found.to_dicts()


def value(done, part, measure, system="wordllama", dataset="", task="overall"):
    [row] = rows(done, variant=part, measure=measure, system=system, dataset=dataset, task=task)
    return row["value"]


@pytest.fixture
def finished(transformer, tmp_path, pairs):
    server, model = transformer()
    return server, model, run(model, tmp_path / "run", datasets=[pairs()], runs=2)


def test_axes_are_plain_means_and_the_total_is_theirs(finished):
    """Of each measure, on the dataset and over all; the gap is score minus original."""
    _, _, done = finished
    for measure in ("overall", "delta"):
        of = {part: value(done, part, measure) for part in (*TRANSFORMATIONS, *map(format_axis_part_name, AXES), TOTAL)}
        for axis in AXES:
            assert of[format_axis_part_name(axis)] == pytest.approx(
                np.mean([of[one] for one in select_axis_transformations(axis)])
            )
        assert of[TOTAL] == pytest.approx(np.mean([of[format_axis_part_name(axis)] for axis in AXES]))
    assert value(done, TOTAL, "delta") == pytest.approx(value(done, TOTAL, "overall") - value(done, TOTAL, "original"))
    assert done.manifest["status"] == "finished"


def test_a_run_has_its_tables_report_and_view(finished):
    """Every table that one dataset fills, a page with the profile, and a table on the terminal."""
    _, _, done = finished
    tables = {file.stem for file in done.path.glob("tables/*.csv")}
    assert {"hteb_scores", "hteb_changes", "hteb_cells", "hteb_tests", "hteb_profiles", "hteb_texts"} <= tables
    assert {"hteb_languages", "hteb_groups"} <= tables
    page = write_report(done.path).read_text("utf-8")
    assert "hteb-profiles" in page
    assert all(title in page for title in AXES.values())
    shown = printed(make_run_terminal_blocks(done.path, True), width=160)
    assert "Δ length" in shown


def test_every_row_has_a_value_or_a_reason_and_is_there_once(finished):
    """As in every run."""
    _, _, done = finished
    every = done.results.to_dicts()
    assert all(row["value"] is not None or row["reason"] for row in every)
    keys = [(r["task"], r["dataset"], r["subset"], r["lang"], r["variant"], r["system"], r["measure"]) for r in every]
    assert len(set(keys)) == len(keys)


def test_the_same_command_asks_for_nothing_again(finished, tmp_path, pairs):
    """A finished run sends nothing, nor does a new folder: answers are kept. The bytes are the same."""
    server, model, done = finished
    asked = sum(server.requests.values())
    again = run(model, tmp_path / "again", datasets=[pairs()], runs=2)
    assert sum(server.requests.values()) == asked
    assert (again.path / "results.jsonl").read_bytes() == (done.path / "results.jsonl").read_bytes()


def test_stored_texts_are_replayed_without_a_model(finished, tmp_path, pairs):
    """All eight transformations of a run, under the same seeds, give the same rows."""
    server, _, done = finished
    asked = sum(server.requests.values())
    again = run(f"stored:{done.path}", tmp_path / "stored", datasets=[pairs()], runs=2)
    assert sum(server.requests.values()) == asked
    assert (again.path / "results.jsonl").read_bytes() == (done.path / "results.jsonl").read_bytes()
    with pytest.raises(UsageError, match="2 runs"):
        run(f"stored:{done.path}", tmp_path / "three", datasets=[pairs()], runs=3)


@pytest.mark.slow
def test_two_workers_make_the_same_bytes(finished, tmp_path, pairs):
    """Every process finds the same texts."""
    _, model, done = finished
    again = run(model, tmp_path / "two", datasets=[pairs()], runs=2, workers=2)
    assert (again.path / "results.jsonl").read_bytes() == (done.path / "results.jsonl").read_bytes()


def test_one_transformation_weighs_a_sixth_or_a_ninth():
    """All scores 0 but one of 90: translation gives 45 and 15, paraphrasing 30 and 10; the original changes nothing."""
    layout = WordingRunSetup(
        (SystemInRun("s", "embedding"),), (DatasetInRun("d", "en", ("sts",)),), (TaskInRun("sts", "spearman"),),
        tuple(TransformationWithSeeds(name, {"d": (1,)}).convert_to_wording_source() for name in TRANSFORMATIONS),
        protocol="hteb",
    )  # fmt: skip

    def total(of, original):
        records = [
            CellRecord(
                name, "sts", "d", "s", "done", "", 0.0, (), {
                    "score": HeadlineComponent(0.9 * (name == of), 10), "original": HeadlineComponent(original, 10),
                }, variant=f"{name}:seed=1",
            )
            for name in TRANSFORMATIONS
        ]  # fmt: skip
        profiles = TransformationScoreLevels(layout, records)
        axis = format_axis_part_name(TRANSFORMATIONS[of].axis)
        return [100 * profiles.on_dataset("sts", "d", "s", part).score.value for part in (axis, TOTAL)]

    for original in (0.0, 0.7):
        assert total("translation", original) == pytest.approx([45, 15])
        assert total("paraphrasing", original) == pytest.approx([30, 10])


def test_a_generator_that_returns_its_input_changes_nothing(transformer, tmp_path):
    """On all seven tasks: every gap is 0, and every text counts as unchanged."""
    _, model = transformer(copying=1.0)
    done = run(model, tmp_path / "run", limit=6, seed=7, transformations=("paraphrasing", "cross_translation"))
    deltas = [row for row in rows(done, measure="delta") if row["variant"] in ("paraphrasing", "cross_translation", "")]
    known = [row["value"] for row in deltas if row["value"] is not None]
    assert len(known) > 20
    assert set(known) == {0.0}
    assert {row["value"] for row in rows(done, measure="unchanged")} == {1.0}


def test_a_generator_that_always_fails(transformer, tmp_path, pairs):
    """As in the reference the score is the original's, with every text failed; by default there is no score."""
    _, model = transformer(failing=1.0)
    kept = run(model, tmp_path / "kept", datasets=[pairs()], on_failure="original", transformations=("expansion",))
    assert value(kept, TOTAL, "overall") == value(kept, TOTAL, "original")
    assert value(kept, TOTAL, "delta") == 0.0
    assert {row["value"] for row in rows(kept, measure="failed")} == {1.0}
    out = run(model, tmp_path / "out", datasets=[pairs()], transformations=("expansion",))
    [row] = rows(out, variant=TOTAL, measure="overall", system="wordllama", task="overall")
    assert row["value"] is None
    assert "could not be rewritten" in row["reason"]


def test_answers_that_are_no_text_are_drawn_again_with_the_next_seeds(transformer, tmp_path, pairs):
    """Three retries by default, each a new draw; then the text has failed, and is counted by its kind."""
    server, model = transformer(empty=1.0)
    done = run(model, tmp_path / "run", datasets=[pairs(4)], transformations=("summarise",), on_failure="original")
    assert sum(server.requests.values()) == 8 * 4
    rows = ParaphraseSet.open(done.path).rows("summarise", "pairs", 1337)
    assert {(row.outcome, row.attempts, row.seed) for row in rows} == {("invalid text", 4, 1340)}


def test_a_corpus_is_transformed_title_and_body_apart(transformer, tmp_path):
    """Or not at all with queries-only: then no document and no candidate is ever sent."""
    seen = []

    def noting(turn):
        seen.append(turn.last)
        return transforming()(turn)

    _, model = transformer(chat=noting)
    data = tmp_path / "data"
    data.mkdir()
    docs = [{"id": f"d{i}", "title": f"Title {i}", "text": f"the body of number {i}"} for i in range(8)]
    queries = [{"id": f"q{i}", "text": f"which is number {i}?"} for i in range(4)]
    qrels = [{"query_id": f"q{i}", "doc_id": f"d{i}", "relevance": 1} for i in range(4)]
    for name, found in (("corpus", docs), ("queries", queries), ("qrels", qrels)):
        (data / f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in found), "utf-8")
    run(model, tmp_path / "all", datasets=[str(data)], transformations=("summarise",))
    assert {"Title 3", "the body of number 3", "which is number 3?"} <= set(seen)
    assert "Title 3 the body of number 3" not in seen
    seen.clear()
    only = HtebOptions(resamples=60, corpus="queries-only")
    run(model, tmp_path / "few", datasets=[str(data)], transformations=("expansion",), options=only)
    assert set(seen) == {one["text"] for one in queries}


def test_ordinals_of_pairs_count_left_sentences_first(pairs):
    """Left i is i and right i is n + i; blanks have none."""
    request = HtebRequest((), datasets=(str(pairs(5)),))
    plan = HtebPlan(request, (), open_request_datasets(request)[0])
    [slots] = plan.list_task_slots(plan.datasets[0])
    assert [row[3] for row in slots.rows] == list(range(10))
    assert [row[0] for row in slots.rows[:5]] == [f"first:p{i}" for i in range(5)]


def test_clustering_starts_from_the_seed_of_its_run(transformer, tmp_path):
    """On both sides, so that nothing is lost where nothing changes; `fixed` starts all runs alike."""
    _, model = transformer(copying=1.0)
    data = tmp_path / "groups.jsonl"
    lines = [{"id": f"t{i}", "text": f"{'river boat' if i % 3 else 'court law'} {i * 37 % 11}", "label": f"l{i % 5}"}
             for i in range(40)]  # fmt: skip
    data.write_text("".join(json.dumps(one) + "\n" for one in lines), "utf-8")
    more = {"datasets": [str(data)], "tasks": ["clustering"], "runs": 3, "transformations": ("paraphrasing",)}
    moving = run(model, tmp_path / "moving", **more)
    fixed = run(model, tmp_path / "fixed", **more, options=HtebOptions(resamples=60, evaluation_seed="fixed"))
    for done in (moving, fixed):
        own = [row for row in rows(done, measure="delta", system="wordllama") if "seed=" in row["variant"]]
        assert {row["value"] for row in own} == {0.0}
    starts = [row["value"] for row in rows(fixed, measure="original", system="wordllama") if "seed=" in row["variant"]]
    assert len(set(starts)) == 1


def test_lengths_can_be_enforced(transformer, tmp_path, pairs):
    """A model that never expands is asked until its retries end; by default what it says is taken, and counted."""
    _, model = transformer(chat=lambda turn: json.dumps({"transformed_text": turn.last[:5]}))
    taken = run(model, tmp_path / "taken", datasets=[pairs(4)], transformations=("expansion",))
    table = pl.read_csv(taken.path / "tables" / "hteb_texts.csv")
    assert table["wrong way %"].to_list() == [100.0]
    strict = TransformOptions(length="enforced", retries=1)
    refused = run(model, tmp_path / "refused", datasets=[pairs(4)], transformations=("expansion",), generation=strict)
    kept = ParaphraseSet.open(refused.path).rows("expansion", "pairs", 1337)
    assert {(row.outcome, row.attempts) for row in kept} == {("wrong length", 2)}


def test_a_cut_answer_is_no_text(transformer, tmp_path, pairs):
    """However much of it can be read."""
    _, model = transformer(chat=lambda _: Reply('{"transformed_text": "The ferry was sold', finish="length"))
    options = TransformOptions(retries=1)
    done = run(model, tmp_path / "run", datasets=[pairs(4)], transformations=("expansion",), generation=options)
    kept = ParaphraseSet.open(done.path).rows("expansion", "pairs", 1337)
    assert {row.outcome for row in kept} == {"cut"}
    assert [row["value"] for row in rows(done, measure="delta")] == [None] * len(rows(done, measure="delta"))


def test_the_price_is_told_before_and_kept_to(transformer, tmp_path, pairs, monkeypatch):
    """Within a tenth, where the server counts tokens as the run's tokenizer does. What two transformations ask alike is
    paid once; a limit that is too low stops the run, and what was answered is kept."""
    tokenizer = open_tokenizer("words")
    monkeypatch.setattr("stub.chat.tokens", lambda text: len(tokenizer.encode_batch([text])[0]))
    server, model = transformer(more="&price=1000")
    request = HtebRequest(
        ("wordllama",), datasets=(str(pairs()),), tokenizer="words", transformer=model, runs=2, options=QUICK
    )
    foreseen = HtebProtocol().forecast_run_cost(request)
    calls = sum(cell.requests or 0 for cell in foreseen.cells)
    assert 2 * 32 * 8 < calls <= 2 * 32 * 9
    with pytest.raises(BudgetExceeded):
        run(model, tmp_path / "run", datasets=[pairs()], runs=2, max_usd=foreseen.usd / 3)
    asked = sum(server.requests.values())
    assert 0 < asked < calls
    done = run(model, tmp_path / "run", datasets=[pairs()], runs=2, max_usd=1.2 * foreseen.usd)
    assert sum(server.requests.values()) == calls
    assert done.manifest["spent"]["usd"] == pytest.approx(foreseen.usd, rel=0.1)


class Lengths:
    """Three numbers of a text, whose lengths differ; the role is noted, and changes nothing."""

    name, identity, dim, max_tokens, similarity_fn_name = "lengths", "lengths/1", 3, None, "dot"

    def __init__(self):
        self.roles = set()

    def encode(self, texts, *, role=None):
        self.roles.add(role)
        return np.array([[len(text), text.count("e"), text.count(" ") + 1] for text in texts], np.float32)

    def count_truncated(self, texts):
        return 0


class Prompted(Lengths):
    """Ships a prompt for STS; `seen` has the texts that come with it."""

    seen: ClassVar[set[str]] = set()
    similarity_fn_name = "cosine"

    def __init__(self, task=""):
        super().__init__()
        self.task, self.identity = task, f"prompted/{task}"

    def with_task_prompt(self, task, name):
        return Prompted(task)

    def encode(self, texts, *, role=None):
        if self.task == "sts":
            self.seen.update(texts)
        return super().encode(texts, role=role)


def test_a_models_prompt_for_a_task_is_used_where_asked(transformer, tmp_path):
    """By default none is; with `reference` in STS alone, which the model has one for, originals and transformations."""
    _, model = transformer(copying=0.0)
    SYSTEMS.add("prompted", Prompted)
    pairs, classes = tmp_path / "pairs.jsonl", tmp_path / "classes.jsonl"
    texts = ["eels see trees", "a fox", "the long river", "two kings"]
    pairs.write_text("".join(json.dumps({"id": str(i), "text1": one, "text2": texts[i - 1], "score": i}) + "\n"
                             for i, one in enumerate(texts)), "utf-8")  # fmt: skip
    classes.write_text("".join(json.dumps({"id": str(i), "text": f"class {i}", "label": "ab"[i % 2], "split":
                               ["train", "test"][i // 6]}) + "\n" for i in range(12)), "utf-8")  # fmt: skip
    for value in ("role", "reference"):
        Prompted.seen.clear()
        eb.hteb.run(
            ["prompted"], transformer=model, datasets=[pairs, classes], out=tmp_path / value, runs=1,
            tokenizer="words", transformations=("paraphrasing",),
            options=HtebOptions(resamples=60, prompts=value),
        )  # fmt: skip
        assert set(texts) <= Prompted.seen if value == "reference" else not Prompted.seen
    assert not any(text.startswith("class") for text in Prompted.seen)
    assert len(Prompted.seen) > len(texts)


@pytest.mark.parametrize("by", ["dot", "euclidean", "cosine"])
def test_candidates_are_compared_by_cosine_or_as_the_model_compares(transformer, tmp_path, by):
    """As in the reference: by the model's own similarity, its queries told from its documents. Worked out by hand."""
    _, model = transformer(copying=1.0)
    path = tmp_path / "rank.jsonl"
    sides = {"positive": ["eels see trees"], "negative": ["a fox", "the long river of the north bends to the east"]}
    path.write_text("".join(json.dumps({"id": f"q{i}", "query": q, **sides}) + "\n"
                            for i, q in enumerate(["eel", "rivers"])), "utf-8")  # fmt: skip
    found = {}
    for value in ("cosine", "reference"):
        system = Lengths()
        system.similarity_fn_name = by
        system.identity = f"lengths/{by}"
        done = eb.hteb.run(
            [system], transformer=model, datasets=[path], out=tmp_path / value, runs=1, tokenizer="words",
            transformations=("paraphrasing",), options=HtebOptions(resamples=60, candidates=value),
        )  # fmt: skip
        [row] = rows(
            done, measure="original", system="lengths", dataset="rank", task="reranking", variant="paraphrasing"
        )
        found[value] = row["value"]
        assert ({"query", "document"} <= system.roles) == (value == "reference")

    def precision(compare):
        encode = Lengths().encode
        values = []
        for query in ("eel", "rivers"):
            [asked] = encode([query])
            scores = [compare(asked, one) for one in encode([*sides["positive"], *sides["negative"]])]
            values.append(1 / (1 + sum(score >= scores[0] for score in scores[1:])))
        return np.mean(values)

    def cosine(a, b):
        return a @ b / np.linalg.norm(a) / np.linalg.norm(b)

    compared = {"dot": lambda a, b: a @ b, "euclidean": lambda a, b: -np.linalg.norm(a - b), "cosine": cosine}
    assert found["cosine"] == pytest.approx(precision(cosine))
    assert found["reference"] == pytest.approx(precision(compared[by]))
    assert (found["cosine"] == found["reference"]) == (by == "cosine")


@pytest.mark.parametrize(("semrel", "languages"), [("english", 1), ("reference", 14)])
def test_the_english_suite_has_semrel_in_english_or_as_the_reference_in_all_languages(
    tmp_path, monkeypatch, semrel, languages
):
    """And the multilingual suite in all; once, where both are asked for."""
    monkeypatch.setenv("EMBASSAY_DATA", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for name in ("semrel2024", "biosses", "stsbenchmark", "sts17", "indic-sts"):
        made_mirror.write_mirror(find_catalogue_entry(name), tmp_path, told=made_mirror.sentences)
    options = HtebOptions(semrel=semrel)
    for suite, expected in (("hteb-en", languages), ("hteb-multi", 14), ("hteb", 14)):
        request = HtebRequest((), datasets=(suite,), tasks=("sts",), options=options)
        datasets, _ = open_request_datasets(request)
        [one] = [dataset for dataset in datasets if dataset.name == "semrel2024"]
        assert len(one.languages["sts"]) == expected


@pytest.mark.slow
def test_every_set_of_the_paper_runs_and_is_written_as_the_authors_would(transformer, tmp_path, monkeypatch):
    """All 31 from a small mirror; each is scored, and its files have the paper's name, revision and clustering."""
    monkeypatch.setenv("EMBASSAY_DATA", str(tmp_path / "mirror"))
    for one in read_all_suites()["hteb"].members:
        made_mirror.write_mirror(one.record, tmp_path / "mirror", size=6, told=made_mirror.sentences)
    _, model = transformer()
    more = {"transformations": ("translation",), "options": HtebOptions(resamples=20)}
    done = eb.hteb.run(
        ["jaccard"], transformer=model, datasets=["hteb"], out=tmp_path / "run", runs=1, tokenizer="words", **more
    )
    scored = rows(done, variant=TOTAL, measure="delta", system="jaccard")
    assert len({row["dataset"] for row in scored if row["dataset"] and row["value"] is not None}) == 31
    request = HtebRequest((), datasets=("hteb",), options=more["options"])
    written = export(ParaphraseSet.open(done.path), request, tmp_path / "files", generator="org/model")
    found = [strict(one.path, one.path.with_name("metadata.JSON"))[0] for one in written]
    assert {one["dataset"] for one in found} == {one.title for one in read_all_suites()["hteb"].members}
    formats = [read_reference_dataset_settings()[one["dataset"]].get("format") for one in found]
    assert [one.get("clustering_format") for one in found] == formats
    assert len(import_reference_transformation_files(tmp_path / "files", tmp_path / "set").texts) == 31


def test_a_system_that_is_no_member_of_a_family_is_refused(pairs):
    """Before any work."""
    request = HtebRequest(
        ("wordllama",), datasets=(str(pairs()),), families=(("x", (("a", 1.0), ("b", 2.0))),), tokenizer="words"
    )
    with pytest.raises(UsageError, match="'a'"):
        HtebProtocol().forecast_run_cost(request)


def test_an_unknown_transformer_is_refused_with_those_there_are(tmp_path, pairs):
    """In one line."""
    with pytest.raises(UsageError, match="nobody"):
        run("nobody", tmp_path / "run", datasets=[pairs()])


def test_more_runs_until_every_change_is_known(transformer, tmp_path, pairs):
    """At most as many as are allowed."""
    _, model = transformer()
    more = {"datasets": [pairs()], "transformations": ("paraphrasing", "style_change")}
    done = run(model, tmp_path / "run", runs=2, until_ci=0.1, max_runs=4, **more)
    seeds = done.manifest["transformations"]["sources"][0]["seeds"]["pairs"]
    assert seeds == [1337, 1338, 1339, 1340]
    assert "pairs" in done.manifest["transformations"]["stopped"]


def test_echo_without_json_is_no_text(transformer, tmp_path, pairs):
    """A model that does not keep to the form is refused, unless no form was asked for."""
    _, model = transformer(chat=echo)
    more = {"datasets": [pairs(4)], "transformations": ("paraphrasing",), "on_failure": "original"}
    strict = run(model, tmp_path / "strict", **more, generation=TransformOptions(retries=0))
    assert {one.outcome for one in ParaphraseSet.open(strict.path).rows("paraphrasing", "pairs", 1337)} == {
        "invalid JSON"
    }
    free = run(model, tmp_path / "free", **more, generation=TransformOptions(structured=False))
    assert {one.outcome for one in ParaphraseSet.open(free.path).rows("paraphrasing", "pairs", 1337)} == {"copied"}


def test_texts_that_have_nothing_recorded_are_found_before_the_run(tmp_path):
    """All but 14 pairs of the sample have none; with one task that has them the others are left without a score."""
    wanted = {"transformer": "recorded", "runs": 1, "tokenizer": "words", "transformations": ("summarise",)}
    with pytest.raises(UsageError, match=r"-t sts --limit 14"):
        eb.hteb.run(["jaccard"], datasets=["sample"], out=tmp_path / "all", **wanted)
    some = eb.hteb.run(
        ["jaccard"], datasets=["sample"], out=tmp_path / "some", tasks=["sts", "clustering"], limit=14,
        options=HtebOptions(resamples=60, languages="reference"), **wanted,
    )  # fmt: skip
    values = {row["task"]: row["value"] for row in rows(some, measure="original", system="jaccard", dataset="sample")}
    assert values["sts"] is not None
    assert values.get("clustering") is None
