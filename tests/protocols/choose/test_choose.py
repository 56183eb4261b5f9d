"""A choice from the command or the call to its rows, its page, and the questions to judge next."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import embassay as eb
from embassay.errors import BudgetExceeded, UsageError
from embassay.parquet import read_parquet
from embassay.protocols.choose import ChoiceOptions
from embassay.protocols.choose.conclusions import (
    SystemAnswers,
    conclude_best_system_choice,
    load_shipped_signal_weights,
)
from embassay.protocols.choose.options import plan_passage_draw_sizes
from embassay.protocols.choose.questions import FAMILIES, make_choice_cell_options, read_user_questions
from embassay.protocols.choose.studies import find_last_study, write_grading_study
from embassay.protocols.hume.store import SubmittedAnswer, open_answer_store
from embassay.protocols.hume.study import read_study
from embassay.protocols.kernel.outcome import Run, RunCell
from embassay.protocols.kernel.session import SilentListener
from embassay.records import ResultRow
from embassay.report.terminal import make_run_terminal_blocks
from embassay.runs.folder import RunFolder
from report.pages import printed
from stub.asking import PLANTED, asking
from stub.server import StubServer

SYSTEMS = ["bm25", "jaccard", "wordllama"]
ITEM_COLUMNS = ["item_id", "variant", "measure", "value"]
HARBOUR = (
    "The harbour master keeps a log of every vessel that enters. Each vessel pays a toll by its length. "
    "The toll was doubled in 1924, and smugglers moved to the next bay."
)
OPTIONS = ChoiceOptions(questions=60, resamples=50)


def corpus(n: int = 70) -> list[dict[str, Any]]:
    """Short passages of three sentences on made subjects."""
    rng = np.random.default_rng(2)
    things = ["harbour", "bakery", "observatory", "library", "vineyard", "quarry", "theatre", "orchard", "mill", "dock"]
    verbs = ["opens", "closes", "repairs", "counts", "paints", "lends", "weighs", "records", "guards", "sells"]
    rows = []
    for place in range(n):
        said = [
            f"The {rng.choice(things)} of ward {place} {rng.choice(verbs)} {int(rng.integers(2, 900))} crates of "
            f"{rng.choice(things)} tools before {rng.choice(['dawn', 'noon', 'dusk'])}."
            for _ in range(3)
        ]
        rows.append({"id": f"p{place}", "title": f"Ward {place}", "text": " ".join(said)})
    return rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("choose")
    (made / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in corpus()))
    return made


@pytest.fixture(scope="module")
def run(folder: Path) -> Run:
    return eb.choose(SYSTEMS, folder / "corpus.jsonl", out=folder / "run", options=OPTIONS)


def told_of(run: Run) -> dict[str, Any]:
    """The choices of a run by corpus."""
    return dict(json.loads((run.path / "comparisons.json").read_text())["choice"])


def rows(run: Run, measure: str) -> dict[str, ResultRow]:
    found = RunFolder(run.path).read_results()
    return {row.system: row for row in found if row.measure == measure and row.dataset and not row.variant}


def test_a_retrieval_set_described_by_tables_is_its_corpus(folder: Path, tmp_path: Path) -> None:
    """As a table of the same documents, question by question."""
    shutil.copy(folder / "corpus.jsonl", tmp_path)
    (tmp_path / "queries.jsonl").write_text('{"id": "q", "text": "Who counts?"}\n', encoding="utf-8")
    (tmp_path / "qrels.jsonl").write_text('{"query_id": "q", "doc_id": "d0", "relevance": 1}\n', "utf-8")
    parts = "".join(f"  - file: {part}.jsonl\n    shapes: [{part}]\n" for part in ("corpus", "queries", "qrels"))
    described = tmp_path / "described.yaml"
    described.write_text(f"name: corpus\ntables:\n{parts}", encoding="utf-8")
    runs = [
        eb.choose(SYSTEMS[:2], source, out=tmp_path / source.stem / "run", options=OPTIONS)
        for source in (described, folder / "corpus.jsonl")
    ]
    values = [{system: row.value for system, row in rows(run, "p_best").items()} for run in runs]
    # Other files, other draws of the belief.
    assert values[0] == pytest.approx(values[1], abs=0.01)


def test_probabilities_sum_to_one_and_the_pick_has_the_least_regret(run: Run) -> None:
    """Every system has P(best), P(near), regret and a difference; references have none."""
    best, regret = rows(run, "p_best"), rows(run, "expected_regret")
    assert set(best) == set(SYSTEMS)
    assert sum(row.value or 0 for row in best.values()) == pytest.approx(1)
    told = told_of(run)["corpus"]
    assert told["pick"] == min(regret, key=lambda one: regret[one].value or 0)
    assert told["expected_regret"] == regret[told["pick"]].value
    assert told["says"] in ("cannot say", told["pick"])
    against = rows(run, "against_pick")
    assert against[told["pick"]].value == 0
    other = next(row for name, row in against.items() if name != told["pick"])
    assert other.ci_low is not None
    assert other.ci_low < (other.value or 0) < (other.ci_high or 0)


def test_what_is_as_good_is_said(folder: Path, tmp_path: Path) -> None:
    """Of two systems that find the same, one is named, and the other beside it."""
    twins = ["bm25", "bm25?k1=1.5"]
    made = eb.choose(twins, folder / "corpus.jsonl", out=tmp_path / "run", options=OPTIONS)
    told = told_of(made)["corpus"]
    assert {told["pick"], *told["as_good"]} == {"bm25", "bm25?k1=1.5"}
    assert f"of the best: {told['as_good'][0]}." in " ".join(printed(make_run_terminal_blocks(made.path)).split())


def test_what_the_weights_were_not_fitted_on_is_said(folder: Path, tmp_path: Path) -> None:
    """Passages without blanks are warned of; of two grades of one passage neither is taken."""
    chinese = tmp_path / "chinese.jsonl"
    rows = ({"text": f"第{i}区的面包店在黎明前出售{i * 7}箱工具。图书馆在中午关门。"} for i in range(60))
    chinese.write_text("".join(json.dumps(row) + "\n" for row in rows))
    made = eb.choose(SYSTEMS[:2], chinese, out=tmp_path / "run", options=OPTIONS)
    assert "no spaces between words" in " ".join(printed(make_run_terminal_blocks(made.path)).split())
    labels = tmp_path / "labels.jsonl"
    labels.write_text(
        "".join(json.dumps({"query": "who sells tools", "doc_id": "p1", "relevance": n}) + "\n" for n in (0, 1))
    )
    with pytest.raises(UsageError, match="judges 'p1' twice"):
        eb.choose(SYSTEMS[:2], folder / "corpus.jsonl", options=replace(OPTIONS, labels=str(labels)))


def test_systems_that_find_nothing_do_not_agree(tmp_path: Path) -> None:
    """Of a text without blanks `words` makes one word: bm25 and jaccard then have no passage but those that happen to
    stand first, the same for both, and that is no agreement."""
    chinese = tmp_path / "chinese.jsonl"
    lines = ({"text": f"第{i}区的面包店在黎明前出售{i * 7}箱工具并且图书馆在中午关门"} for i in range(60))
    chinese.write_text("".join(json.dumps(row) + "\n" for row in lines))
    made = eb.choose(["bm25", "jaccard", "wordllama"], chinese, out=tmp_path / "run", options=OPTIONS)
    agreed = dict(made.table("choice_signals").select("system", "agreement").iter_rows())
    assert agreed["bm25"] == agreed["jaccard"] == 0
    found = rows(made, "found")
    assert found["bm25"].value == found["jaccard"].value == 0


@pytest.mark.parametrize(("place", "judged", "sure"), [(0, 0, False), (1, 0, True), (0, 60, True)])
def test_questions_that_find_nothing_say_nothing(place: int, judged: int, sure: bool) -> None:
    """Two systems that find the same cannot differ by much; where that is nothing, only judgements can say so."""
    asked = [str(one) for one in range(60)]
    ten = {name: {one: frozenset(map(str, range(10))) for one in asked} for name in FAMILIES}
    ranks = {name: dict.fromkeys(asked, place) for name in FAMILIES}
    same = SystemAnswers(ranks, dict.fromkeys(asked[:judged], 1.0), ten)
    found = conclude_best_system_choice("d", "en", {"a": same, "b": same}, 0.03, 1)
    assert (found.is_choice_sure, found.measure_best_system_recovery) == (sure, pytest.approx(place))


def test_few_passages_say_nothing(folder: Path, tmp_path: Path) -> None:
    """Of three passages every system finds the same ten: that is no reason to be sure of one."""
    few = tmp_path / "few.jsonl"
    few.write_text("".join(json.dumps(row) + "\n" for row in corpus(3)))
    made = eb.choose(SYSTEMS[:2], few, out=tmp_path / "run", options=OPTIONS)
    told = told_of(made)["few"]
    assert (told["says"], told["as_good"]) == ("cannot say", [])
    assert "made from only 3 passages, which is too few" in " ".join(
        printed(make_run_terminal_blocks(made.path)).split()
    )


def test_every_family_has_a_score_and_an_interval(run: Run) -> None:
    """The passages asked about are behind each."""
    found = [row for row in RunFolder(run.path).read_results() if row.measure == "found" and row.variant]
    assert {row.variant for row in found} == set(FAMILIES)
    sentence = [row for row in found if row.variant == "sentence" and row.system in SYSTEMS]
    assert all(row.n in plan_passage_draw_sizes(OPTIONS.questions) and row.ci_low is not None for row in sentence)


@pytest.fixture(scope="module")
def wards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Passages enough for two draws."""
    path = tmp_path_factory.mktemp("wards") / "wards.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in corpus(120)))
    return path


DRAWS = ChoiceOptions(resamples=50, tolerance=0.001)


@pytest.fixture(scope="module")
def drawn(wards: Path) -> Run:
    return eb.choose([*SYSTEMS, "random"], wards, out=wards.parent / "run", options=DRAWS)


def asked_passages(run: Run) -> dict[str, int]:
    """How many passages each system was asked about."""
    found = RunFolder(run.path).read_results()
    return {row.system: row.n for row in found if row.measure == "found" and row.variant == "sentence"}


def test_systems_that_may_be_the_best_are_asked_about_more(drawn: Run) -> None:
    """Those that cannot be are not: they keep the questions of the first draw, and their place is that among the same
    questions."""
    first, last = plan_passage_draw_sizes(DRAWS.questions)
    asked, chances = asked_passages(drawn), rows(drawn, "p_best")
    assert {asked[name] for name in SYSTEMS} <= {first, last}
    assert max(asked[name] for name in SYSTEMS) == last
    assert all((row.value or 0) < 0.1 or asked[name] == last for name, row in chances.items() if name in SYSTEMS)


def test_what_not_all_were_asked_is_not_shown_and_not_judged(wards: Path, tmp_path: Path) -> None:
    """A system that is out after the first draw has no answer to the later questions, which is not a wrong one."""
    options = replace(DRAWS, tolerance=0.001)
    made = eb.choose(["bm25", "bm25?k1=1.5", "wordllama?dims=2"], wards, out=tmp_path / "run", options=options)
    asked = asked_passages(made)
    assert (asked["bm25"], asked["wordllama?dims=2"]) == plan_passage_draw_sizes(DRAWS.questions)[::-1]
    (matrix,) = json.loads((made.path / "matrix.json").read_text())
    assert len(matrix["rows"]) == asked["wordllama?dims=2"]


def test_what_is_decided_at_once_asks_no_more(wards: Path, tmp_path: Path) -> None:
    """Two systems that find the same: whichever, nothing is lost."""
    options = replace(DRAWS, tolerance=0.2)
    made = eb.choose(["bm25", "bm25?k1=1.5"], wards, out=tmp_path / "run", options=options)
    assert set(asked_passages(made).values()) == {plan_passage_draw_sizes(DRAWS.questions)[0]}


def test_draws_that_go_on_decide_as_before(drawn: Run, wards: Path, tmp_path: Path) -> None:
    """Begun again when all is there, or with a cell of the second draw gone: the same bytes."""
    copy = tmp_path / "run"
    shutil.copytree(drawn.path, copy)
    cells = {path: json.loads(path.read_text()) for path in (copy / "cells").iterdir()}
    last = [path for path, cell in cells.items() if cell["system"] == "bm25"]
    for gone in (None, *last):
        if gone:
            gone.unlink()
        again = eb.choose([*SYSTEMS, "random"], wards, out=copy, options=DRAWS)
        for name in ("results.jsonl", "comparisons.json", "to_grade.jsonl"):
            assert (again.path / name).read_bytes() == (drawn.path / name).read_bytes()


def test_the_questions_to_judge_next_have_passages_of_the_corpus(run: Run, folder: Path) -> None:
    """Those on which the contenders differ, as a file that `rag golden --queries` reads."""
    texts = {row["id"] for row in corpus()}
    named = [json.loads(line) for line in (run.path / "to_grade.jsonl").read_text().splitlines()]
    assert 0 < len(named) <= 20
    assert all({one["id"] for one in row["passages"]} <= texts for row in named)
    loaded = eb.data.open_dataset(str(run.path / "to_grade.jsonl")).load("documents")
    assert len(loaded.data) == len(named)


def test_labels_move_the_choice(run: Run, folder: Path) -> None:
    """Questions of which jaccard alone finds the passages: as their judgements say, or as texts in one file."""
    labels = folder / "labels.jsonl"
    lines = [{"query": f"ward {place} crates tools", "doc_id": f"p{place}", "relevance": 1} for place in range(30)]
    labels.write_text("".join(json.dumps(row) + "\n" for row in lines))
    options = ChoiceOptions(questions=60, resamples=50, labels=str(labels))
    again = eb.choose(SYSTEMS, folder / "corpus.jsonl", out=folder / "labelled", options=options)
    told, before = told_of(again)["corpus"], told_of(run)["corpus"]
    assert (before["judged"], told["judged"]) == (0, 30)
    assert told["p_best"] != before["p_best"]
    ours = [json.loads(line)["id"] for line in (again.path / "to_grade.jsonl").read_text().splitlines()]
    assert not {row["query"] for row in lines} & set(ours)


def test_questions_without_judgements_are_those_to_judge(folder: Path) -> None:
    """The user's own, by their ids."""
    queries = folder / "queries.jsonl"
    queries.write_text("".join(json.dumps({"id": f"q{i}", "text": f"who guards ward {i}"}) + "\n" for i in range(8)))
    options = ChoiceOptions(questions=20, resamples=50, queries=str(queries))
    made = eb.choose(SYSTEMS[:2], folder / "corpus.jsonl", out=folder / "asked", options=options)
    named = [json.loads(line) for line in (made.path / "to_grade.jsonl").read_text().splitlines()]
    assert {row["id"] for row in named} == {f"q{i}" for i in range(8)}


def test_the_same_request_gives_the_same_bytes(run: Run, folder: Path) -> None:
    """In another folder, with two of the cells there before."""
    part = eb.choose(SYSTEMS[:2], folder / "corpus.jsonl", out=folder / "again", options=OPTIONS)
    whole = eb.choose(SYSTEMS, folder / "corpus.jsonl", out=part.path, options=OPTIONS)
    for name in ("results.jsonl", "comparisons.json", "to_grade.jsonl", "tables/choice.csv"):
        assert (whole.path / name).read_bytes() == (run.path / name).read_bytes()


@pytest.mark.parametrize(
    ("systems", "options", "said"),
    [
        (SYSTEMS, {"kinds": "fact"}, "--llm is missing"),
        (SYSTEMS, {"llm": "openai:stub", "kinds": "facts"}, "Did you mean fact"),
        (SYSTEMS, {"llm": "openai:stub", "kinds": "language"}, "need a language"),
        (["bm25"], {}, "needs at least two systems"),
        (SYSTEMS, {"labels": "ids.tsv"}, "their texts are missing"),
        (SYSTEMS, {"labels": "foreign.jsonl"}, "None of the 1 judged passages"),
        (SYSTEMS, {"labels": "ids.tsv", "queries": "others.jsonl"}, "No judged question"),
    ],
)
def test_mistakes_are_told_before_any_work(
    folder: Path, systems: list[str], options: dict[str, str], said: str
) -> None:
    """One system, judgements that fit nothing."""
    (folder / "ids.tsv").write_text("query-id\tcorpus-id\tscore\nq1\tp1\t1\n")
    (folder / "foreign.jsonl").write_text('{"query": "a question", "doc_id": "elsewhere", "relevance": 1}\n')
    (folder / "others.jsonl").write_text('{"id": "x", "text": "another question"}\n')
    files = ("labels", "queries")
    named: dict[str, Any] = {name: str(folder / value) if name in files else value for name, value in options.items()}

    def wrong() -> Run:
        return eb.choose(systems, folder / "corpus.jsonl", out=folder / "wrong", options=ChoiceOptions(**named))

    with pytest.raises(UsageError, match=said):
        wrong()
    assert not (folder / "wrong").exists()


def test_passages_without_words_can_be_chosen_for_by_nobody(tmp_path: Path) -> None:
    """No question, no choice, and the reason."""
    (tmp_path / "tiny.jsonl").write_text('{"text": "one"}\n{"text": "two"}\n')
    made = eb.choose(SYSTEMS[:2], tmp_path / "tiny.jsonl", out=tmp_path / "run")
    assert told_of(made) == {}
    assert all("enough words" in row.reason for row in rows(made, "found").values())
    assert "No choice could be made" in printed(make_run_terminal_blocks(tmp_path / "run"))


def test_a_folder_of_documents_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From Markdown to a choice, without a network: the answer first."""
    from embassay.cli.main import build_app_with_commands

    for row in corpus(30):
        (tmp_path / "docs").mkdir(exist_ok=True)
        (tmp_path / "docs" / f"{row['id']}.md").write_text(f"# {row['title']}\n\n{row['text']}\n")
    monkeypatch.chdir(tmp_path)
    asked = ["choose", "docs", "-s", "bm25", "-s", "wordllama", "--out", "run"]
    done = CliRunner().invoke(build_app_with_commands("choose"), asked)
    assert done.exit_code == 0, done.output
    first = done.stdout.splitlines()[0]
    assert first.startswith(("Use ", "Undecided"))
    assert "P(best)" in done.stdout
    page = (tmp_path / "run" / "report.html").read_text()
    assert "Which system, and how certain" in page
    shutil.rmtree(tmp_path / "run")
    assert CliRunner().invoke(build_app_with_commands("choose"), [*asked, "--dry-run"]).exit_code == 0
    assert not (tmp_path / "run").exists()


def written(stub: StubServer, more: str = "", **options: Any) -> ChoiceOptions:
    """Options with questions by a stub."""
    spec = f"openai:stub?base_url={stub.url}/v1{more}"
    return ChoiceOptions(questions=20, resamples=50, llm=spec, written_per_kind=4, **options)


def test_questions_by_a_model_are_one_more_witness(folder: Path, tmp_path: Path) -> None:
    """What is kept is asked of every system over whole passages, counts in the belief, and is told with its price;
    what is bad is counted and not asked. Done again, the judge is not asked of the model and the bytes are the same."""
    with StubServer(chat=asking(dict.fromkeys(PLANTED, 0.1))) as stub:
        options = written(stub, "&price=1&price_output=2", kinds="fact,typo")
        made = eb.choose(SYSTEMS, folder / "corpus.jsonl", out=tmp_path / "run", options=options, max_usd=1.0)
        calls = stub.requests.total()
        before = {name: (made.path / name).read_bytes() for name in ("results.jsonl", "comparisons.json")}
        eb.choose(SYSTEMS, folder / "corpus.jsonl", out=made.path, options=options, max_usd=1.0)
        assert stub.requests.total() == calls > 0
    assert {name: (made.path / name).read_bytes() for name in before} == before
    said = made.manifest["questions"]
    [drafts] = said["drafts"].values()
    assert sum(sum(own.values()) for own in drafts.values()) == said["wanted"]["corpus"] == 8
    assert (
        sum(own.get("kept", 0) for own in drafts.values())
        == said["kept"]["corpus"]
        == told_of(made)["corpus"]["written"]
    )
    asked = [json.loads(line) for line in (made.path / "model_questions.jsonl").read_text().splitlines()]
    assert len(asked) == said["kept"]["corpus"]
    texts = {row["id"]: row["text"] for row in corpus()}
    assert all(one["evidence"] in texts[one["passage"]] for one in asked)
    families = {row.variant for row in RunFolder(made.path).read_results() if row.measure == "found"}
    assert families >= {f"model: {one['kind']}" for one in asked}
    assert made.manifest["spent"]["usd"] > 0
    shown = " ".join(printed(make_run_terminal_blocks(made.path)).split())
    assert "A third signal is" in shown
    # Eight at most: a real model's two moved P(best) by 11 points.
    assert "so few can mislead" in shown
    named = [json.loads(line) for line in (made.path / "to_grade.jsonl").read_text().splitlines()]
    assert {row["id"] for row in named} <= {one["id"] for one in asked}


def test_without_a_model_nothing_is_changed_by_its_signal(run: Run) -> None:
    """No vote, no table of drafts, no fact in the manifest."""
    assert told_of(run)["corpus"]["written"] == 0
    assert "questions" not in run.manifest
    assert not (run.path / "tables" / "choice_drafts.csv").exists()


def test_a_model_that_writes_only_bad_questions_has_no_part(folder: Path, tmp_path: Path) -> None:
    """The choice is that of the documents, and it is said."""
    with StubServer(chat=asking(always="copied")) as stub:
        made = eb.choose(
            SYSTEMS[:2], folder / "corpus.jsonl", out=tmp_path / "run", options=written(stub, kinds="fact")
        )
    assert told_of(made)["corpus"]["written"] == 0
    assert made.manifest["status"] == "finished"
    assert "do not count in the choice" in " ".join(printed(make_run_terminal_blocks(made.path)).split())


def test_money_that_ends_while_questions_are_written_keeps_them(folder: Path, tmp_path: Path) -> None:
    """A second attempt with more pays for the rest alone."""
    with StubServer(chat=asking()) as stub:
        options = written(stub, "&price=100&price_output=100", kinds="fact")
        with pytest.raises(BudgetExceeded):
            eb.choose(SYSTEMS[:2], folder / "corpus.jsonl", out=tmp_path / "run", options=options, max_usd=0.2)
        assert RunFolder(tmp_path / "run").read_manifest()["status"] == "partial"
        made = eb.choose(SYSTEMS[:2], folder / "corpus.jsonl", out=tmp_path / "run", options=options, max_usd=20.0)
    assert made.manifest["status"] == "finished"
    assert told_of(made)["corpus"]["written"] > 0
    keys = [json.loads(line)["key"] for line in (made.path / "drafts.jsonl").read_text().splitlines()]
    assert len(keys) == len(set(keys)) == 4


def test_a_golden_set_goes_on_from_a_choice(run: Run, folder: Path) -> None:
    """Its pools have what the likeliest systems found, and its lowest grade is no gain."""
    from embassay.report.rag.choice import suggest_golden_set_commands
    from embassay.report.record import read_run_record

    golden, again = suggest_golden_set_commands(read_run_record(run.path))
    words = golden.split()
    added = [Path(words[place + 1]) for place, word in enumerate(words) if word == "--add-run"]
    assert {path.stem for path in added} <= {*SYSTEMS}
    named = {json.loads(line)["id"]: line for line in (run.path / "to_grade.jsonl").read_text().splitlines()}
    for path in added:
        for line in path.read_text().splitlines():
            one = json.loads(line)
            passages = {each["id"] for each in json.loads(named[one["query_id"]])["passages"]}
            assert {each["id"] for each in one["documents"]} <= passages
            assert len(one["documents"]) <= 10
    judged = {key: json.loads(line)["passages"] for key, line in named.items()}
    qrels = folder / "qrels.tsv"
    grades = [
        f"{key}\t{doc['id']}\t{1 if place else 5}" for key, docs in judged.items() for place, doc in enumerate(docs)
    ]
    qrels.write_text("\n".join(["query-id\tcorpus-id\tscore", *grades]) + "\n")
    eb.rag.golden(
        "wordllama", f"simulated:{qrels}", corpus=folder / "corpus.jsonl", queries=run.path / "to_grade.jsonl",
        ranking="grades", options=eb.rag.GoldenOptions(depth=10), add_runs=added, out=folder / "golden",
    )  # fmt: skip
    options = replace(OPTIONS, labels=str(folder / "golden"))
    labelled = eb.choose(SYSTEMS, folder / "corpus.jsonl", out=folder / "run-labelled", options=options)
    assert told_of(labelled)["corpus"]["judged"] > 0
    assert "--labels" in again
    gains = read_user_questions(make_choice_cell_options(options, "")).qrels
    assert min(min(own.values()) for own in gains.values()) == 0


def test_the_shipped_weights_are_those_of_the_signals() -> None:
    """And name what they were fitted on."""
    fit = load_shipped_signal_weights()
    assert fit.weights.weights.shape == (1,)
    assert fit.weights.weights[0] > 0
    assert len(fit.collections) >= 8
    assert {"scifact", "cranfield", "med"} <= set(fit.collections)
    assert np.linalg.eigvalsh(fit.weights.covariance).min() > 0


def test_where_nothing_can_be_asked_nothing_is_to_be_judged(tmp_path: Path) -> None:
    """A single passage asks no question that tells systems apart: no empty file, and no commands that would fail."""
    lone = [{"id": "a", "text": "The shop opens at nine on every day but Sunday, when nobody is there to sell it."}]
    made = eb.choose(SYSTEMS[:2], lone, out=tmp_path / "run", tokenizer="words", options=OPTIONS)
    assert not (made.path / "to_grade.jsonl").exists()
    text = printed(make_run_terminal_blocks(made.path))
    assert "Undecided" in text
    assert "To judge next" not in text


class Long:
    """An encoder of an object, whose vectors' lengths count for a dot product."""

    def __init__(self, similarity: str) -> None:
        self.similarity_fn_name, self.identity = similarity, f"long/{similarity}"

    def encode(self, texts: list[str]) -> Any:
        counts = [[text.lower().count(letter) for letter in "etaoinsr"] for text in texts]
        return np.array(counts, dtype=float).reshape(len(texts), 8)


def test_a_choice_compares_vectors_as_their_model_was_made_for(tmp_path: Path) -> None:
    """The same vectors rank otherwise by dot product than by cosine, and each as by direct computation."""
    rows, first = corpus(), {}
    for similarity in ("dot", "cosine"):
        systems = {"mine": Long(similarity), "jaccard": "jaccard"}
        out = tmp_path / similarity
        eb.choose(systems, rows, out=out, tokenizer="words", options=OPTIONS)
        (path,) = [file for file in out.glob("**/*rankings*.parquet") if "mine" in str(file)]
        first[similarity] = pl.read_parquet(path).filter(pl.col("rank") == 1)["doc_id"].to_list()
    assert first["dot"] != first["cosine"]


def test_people_judge_what_tells_most_and_their_marks_count(run: Run, folder: Path) -> None:
    """The run has a study of the questions to judge, in which nothing says who found a passage; what people mark on its
    pages is judged questions of the next choice, whose sentences are not in the passages that are searched."""
    rows = [json.loads(line) for line in (run.path / "to_grade.jsonl").read_text().splitlines()]
    study = read_study(run.path / "study")
    assert [item.payload["query"] for item in study.items] == [row["text"] for row in rows]
    assert not any(system in (run.path / "study" / "items.jsonl").read_text() for system in SYSTEMS)
    assert all(0 < len(item.payload["documents"]) <= 8 for item in study.items)
    own = [
        (item.payload["query"], one["text"])
        for item in study.items for one in item.payload["documents"] if one["id"] == item.payload["query_id"]
    ]  # fmt: skip
    assert own
    assert not any(question in text for question, text in own)
    with pytest.raises(UsageError, match="Nobody has marked"):
        eb.choose(
            SYSTEMS, folder / "corpus.jsonl", out=folder / "early",
            options=replace(OPTIONS, labels=str(run.path / "study")),
        )  # fmt: skip
    with closing(open_answer_store(study)) as store:
        store.add_annotator("ann")
        for number, item in enumerate(study.items[:-1]):
            marks = [int(one["id"] == item.payload["query_id"]) for one in item.payload["documents"]]
            store.save("ann", "passages", SubmittedAnswer(item.id, marks if number else [0] * len(marks), 1))
    options = replace(OPTIONS, labels=str(run.path / "study"))
    again = eb.choose(SYSTEMS, folder / "corpus.jsonl", out=folder / "marked", options=options)
    expected = [
        item.payload["query_id"]
        for item in study.items[1:-1]
        if any(one["id"] == item.payload["query_id"] for one in item.payload["documents"])
    ]
    assert told_of(again)["corpus"]["judged"] == len(expected)
    # One relevant passage: nDCG@10 says its place. With the sentence in it, each would be the first.
    labelled = read_parquet(RunFolder(again.path).locate_cell_items("choice", "corpus", "jaccard"), ITEM_COLUMNS)
    gains = {item: value for item, variant, _, value in labelled.iter_rows() if variant == "labels"}
    assert set(gains) == set(expected)
    places = [round(2 ** (1 / gain) - 1, 6) for gain in gains.values() if gain]
    assert {place % 1 for place in places} == {0.0}
    assert max(places) > 1 or len(places) < len(gains)
    ours = [json.loads(line)["id"] for line in (again.path / "to_grade.jsonl").read_text().splitlines()]
    assert not set(expected) & set(ours)


def test_a_study_that_was_answered_is_kept(run: Run, folder: Path) -> None:
    """Another one is written beside it."""
    row = {"id": "p1", "text": "a question", "passages": [{"id": "p2", "text": "a passage"}]}
    first = write_grading_study(folder, [row], {"p1": [["p2"]]}, 7)
    assert first == folder / "study"
    assert write_grading_study(folder, [{**row, "text": "another"}], {"p1": [["p2"]]}, 7) == first
    with closing(open_answer_store(read_study(first))) as store:
        store.add_annotator("ann")
    second = write_grading_study(folder, [row], {"p1": [["p2"]]}, 7)
    assert second == folder / "study-2" == find_last_study(folder)
    assert write_grading_study(folder, [{**row, "text": "another"}], {"p1": [["p2"]]}, 7) == first


def test_passages_are_shown(tmp_path: Path) -> None:
    """Their ids, texts under their headings, and questions; no system is needed."""
    from embassay.cli.main import build_app_with_commands

    (tmp_path / "a.md").write_text(f"# Harbours\n\n{HARBOUR}\n")
    asked = ["choose", str(tmp_path), "--show-passages", "3"]
    done = CliRunner().invoke(build_app_with_commands("choose"), asked)
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("a.md#1\n\n    Harbours\n")
    [shown] = [
        json.loads(line)
        for line in CliRunner().invoke(build_app_with_commands("choose"), [*asked, "--json"]).stdout.splitlines()
    ]
    assert (shown["id"], shown["text"]) == ("a.md#1", f"Harbours\n\n{HARBOUR}")
    assert shown["question"] in HARBOUR
    assert list(tmp_path.iterdir()) == [tmp_path / "a.md"]


class Hearer(SilentListener):
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.systems: list[str] = []

    def interim(self, line: str) -> None:
        """What stands already."""
        self.lines.append(line)

    def started(self, cell: RunCell) -> None:
        """Which is in work."""
        self.systems.append(cell.system)


def test_who_may_be_best_is_told_while_others_are_to_come(tmp_path: Path) -> None:
    """From the second answer on, with chances that sum to 1, and not once more at the end."""
    heard = Hearer()
    systems = ["bm25", "jaccard", "levenshtein"]
    eb.choose(systems, "sample", out=tmp_path / "run", listener=heard, seed=1)
    assert len(heard.lines) == 1
    (line,) = heard.lines
    last = [name for name in heard.systems if name in systems][-1]
    assert line.endswith(f"To come: {last}.")
    chances = [int(word.strip("()%,.")) for word in line.split() if "%" in word]
    assert len(chances) == 2
    assert abs(sum(chances) - 100) <= 1
