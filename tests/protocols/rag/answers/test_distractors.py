"""Distractors by number and nearness, answered by quoting readers: what is planted, quoted, and said of the effect."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import embassay as eb
from embassay.errors import UsageError
from embassay.protocols.rag.answers.extraction import NearestSentenceAnswerer
from embassay.protocols.rag.answers.options import AnswerRequest, DistractorCountAndNearness
from embassay.protocols.rag.answers.prompts import SKIPPED, DistractorPlanter, iterate_questions_with_run_passages
from embassay.protocols.rag.answers.protocol import load_graded_retrieval_set
from embassay.protocols.rag.judges import Question
from embassay.search.bm25 import BM25Index

K = 5


@pytest.fixture
def data(tmp_path: Path) -> tuple[Path, Path]:
    """Forty passages, of which those of small numbers share more words with a question, and a run that finds the right
    one first; two more passages are judged of no use."""
    folder = tmp_path / "set"
    (folder / "qrels").mkdir(parents=True)
    extra = ["tide", "moon", "harbour", "ship", "sailor", "water"]
    texts = {
        f"d{place:02d}": f"Notes {place}. The {' '.join(extra[: 6 - place // 8])} of the year." for place in range(40)
    }
    texts |= {"good0": "A tide turns as the moon goes. Sand.", "good1": "A ship waits for the tide. Rope."}
    queries = {"q0": "Why does the tide turn with the moon?", "q1": "What does the ship wait for, the tide?"}
    for name, rows in (("corpus", texts), ("queries", queries)):
        lines = [json.dumps({"_id": key, "text": text}) for key, text in rows.items()]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    rows = ["query-id\tcorpus-id\tscore", "q0\tgood0\t5", "q1\tgood1\t5", "q0\td30\t1", "q1\td31\t1"]
    (folder / "qrels" / "test.tsv").write_text("\n".join(rows) + "\n")
    ranked = {query: [f"good{place}", "d36", "d37", "d38", "d39"] for place, query in enumerate(queries)}
    lines = [f"{q} Q0 {d} {n} {9 - n} mine" for q, own in ranked.items() for n, d in enumerate(own, 1)]
    (tmp_path / "mine.trec").write_text("\n".join(lines) + "\n")
    return folder, tmp_path / "mine.trec"


def answered(data: tuple[Path, Path], out: Path, **more: Any) -> Any:
    arguments = {"distractors": (1, 3), "nearness": ("near", "middle", "random"), "k": K, "resamples": 200, **more}
    readers = ["extract:jaccard", "extract:wordllama"]
    return eb.rag.answer(data[0], [data[1]], readers, "extract", out=out, **arguments)


@pytest.mark.parametrize("more", [{"distractors": (1, 5)}, {"nearness": ("far",)}, {"distractors": (-1,)}])
def test_what_cannot_be_planted(more: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        AnswerRequest("d", ("r",), ("g",), "j", k=5, **more)


def test_one_planting_is_saved_as_ever() -> None:
    """So that a run of an older version goes on."""
    saved = AnswerRequest("d", ("r",), ("g",), "j", k=5, distractors=3).as_dict()
    assert (saved["generator"], saved["distractors"]) == ("g", 3)
    assert "nearness" not in saved
    crossed = AnswerRequest("d", ("r",), ("g", "h"), "j", distractors=(1, 3), nearness=("near", "random"))
    assert crossed.as_dict()["nearness"] == ["near", "random"]
    assert [planting.name for planting in crossed.plantings] == ["1 near", "1 random", "3 near", "3 random"]


def test_near_middle_and_random(data: tuple[Path, Path]) -> None:
    """Never what is useful or the run's own; the smaller number is a part of the larger; the run's last make room."""
    request = AnswerRequest(str(data[0]), (str(data[1]),), ("g",), "j", k=K)
    collection = load_graded_retrieval_set(request)
    planter = DistractorPlanter(collection, BM25Index.of(collection.ids, collection.texts), 7)
    ranking = {"q0": ["good0", "d36", "d37", "d38", "d39"]}
    prompt = next(iter(iterate_questions_with_run_passages(collection, ranking, K, {})))
    shown = {}
    for nearness in ("near", "middle", "random"):
        one, three = (
            planter.plant_prompt_distractors(prompt, DistractorCountAndNearness(number, nearness)) for number in (1, 3)
        )
        assert one.places[:1] == three.places[:1]
        assert (one.planted, three.planted) == (1, 3)
        assert [collection.ids[place] for place in three.places[3:]] == ["good0", "d36"]
        shown[nearness] = [collection.ids[place] for place in three.places[:3]]
        assert not {"good0", "d36", "d37", "d38", "d39"} & set(shown[nearness])
    assert shown["near"][0] == "d30"  # judged of no use
    ranked = [hit.id for hit in planter.index.search(prompt.question.text, 50)]
    free = [key for key in ranked if key not in ("good0", "d36", "d37", "d38", "d39")]
    assert shown["middle"] == free[SKIPPED : SKIPPED + 3]
    other = DistractorPlanter(collection, planter.index, 8).plant_prompt_distractors(
        prompt, DistractorCountAndNearness(3, "random")
    )
    assert [collection.ids[place] for place in other.places[:3]] != shown["random"]


def test_a_quoting_reader() -> None:
    """The nearest sentence, the first of equals; nothing where no word is shared; right is what a reference holds."""
    reader, question = NearestSentenceAnswerer("extract:jaccard"), Question("q", "Where does the heron nest?")

    def answer(*passages: str) -> str:
        return asyncio.run(reader.answer(question, passages)).text

    assert (
        answer("Frogs sing. The heron nest is high.", "Where does the heron nest? Where?")
        == "Where does the heron nest?"
    )
    assert answer("Frogs sing.") == answer() == "NO ANSWER"

    def right(text: str, *reference: str) -> bool:
        return asyncio.run(reader.is_right(question, reference, text))

    assert right("in  TREES", "It nests in trees.")
    assert right("It nests in trees.", "in trees")
    assert not right("in reeds", "It nests in trees.", "")


def test_readers_by_number_by_nearness(data: tuple[Path, Path], tmp_path: Path) -> None:
    """A cell per reader; every effect is that of the items."""
    run = answered(data, tmp_path / "run")
    rows = run.results
    assert set(rows["system"]) == {"mine, extract:jaccard", "mine, extract:wordllama"}
    system = rows.filter(pl.col("system") == "mine, extract:jaccard")
    value = {(row["measure"], row["variant"]): row["value"] for row in system.iter_rows(named=True)}
    names = [f"{number} {nearness}" for number in (1, 3) for nearness in ("near", "middle", "random")]
    [path] = (tmp_path / "run" / "items").rglob("*jaccard*.parquet")
    frame = pl.read_parquet(path)
    items = {
        name: frame.filter(pl.col("measure") == f"accuracy {name}").sort("item_id")["value"].to_numpy()
        for name in names
    }
    plain = frame.filter(pl.col("measure") == "accuracy").sort("item_id")["value"].to_numpy()
    assert value["accuracy", ""] == plain.mean() > 0
    for name, right in items.items():
        assert value["change by distractors", name] == pytest.approx((right - plain).mean())
        assert value[f"Harm@{K}", name] is not None
    for number in (1, 3):
        gap = (items[f"{number} near"] - items[f"{number} random"]).mean()
        assert value["change by nearness", f"{number} near against random"] == pytest.approx(gap)
    # Within a question: 0, 1 and 3 planted, 4/3 on average.
    x = np.array([0, 1, 3]) - 4 / 3
    series = np.stack([plain, items["1 near"], items["3 near"]])
    slope = (x @ series).mean() / (x @ x)
    assert value["accuracy per distractor", "near"] == pytest.approx(slope)
    assert ("accuracy per Harm@5", "") in value
    lines = tmp_path / "run" / "answers" / "mine-extract-jaccard.jsonl"
    kinds = {
        json.loads(line)["kind"]
        for path in (tmp_path / "run" / "answers").glob("*.jsonl")
        for line in path.read_text().splitlines()
    }
    assert kinds == {"plain", *names}, lines


def test_a_run_without_judged_useless_passages_says_so(data: tuple[Path, Path], tmp_path: Path) -> None:
    """Harm counts what was judged: where that never varies there is no slope, and a reason."""
    qrels = data[0] / "qrels" / "test.tsv"
    qrels.write_text("query-id\tcorpus-id\tscore\nq0\tgood0\t5\nq1\tgood1\t5\n")
    rows = answered(data, tmp_path / "run").results
    slopes = rows.filter(pl.col("measure") == "accuracy per Harm@5")
    assert slopes["value"].to_list() == [None, None]
    assert set(slopes["reason"]) == {"the number of distractors per prompt never varies within a question"}


def test_from_the_command_line(data: tuple[Path, Path], tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from embassay.cli.main import build_app_with_commands

    words = f"rag answer -d {data[0]} --run {data[1]} -g extract:jaccard -g extract:rouge -j extract -k 5"
    more = f"--distractors 1 --distractors 3 --nearness near --nearness random --out {tmp_path / 'run'} --json"
    done = CliRunner().invoke(build_app_with_commands(), [*words.split(), *more.split()])
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert {row["variant"] for row in said["results"]} >= {"3 random", "near"}


def test_on_the_sample(tmp_path: Path) -> None:
    """A run of words on the bundled texts, quoted from without any model behind a server."""
    collection = load_graded_retrieval_set(AnswerRequest("sample", (), ("g",), "j"))
    index = BM25Index.of(collection.ids, collection.texts)
    lines = [
        f"{key} Q0 {hit.id} {rank} {-rank} bm25"
        for key, text in zip(collection.query_ids, collection.queries, strict=True)
        for rank, hit in enumerate(index.search(text, 10), 1)
    ]
    (tmp_path / "bm25.trec").write_text("\n".join(lines) + "\n")
    run = eb.rag.answer(
        "sample", [tmp_path / "bm25.trec"], "extract", "extract", out=tmp_path / "run",
        distractors=(1, 5), nearness=("near", "random"), resamples=200
    )  # fmt: skip
    value = {(row["measure"], row["variant"]): row for row in run.results.iter_rows(named=True)}
    assert value["accuracy", ""]["n"] == len(collection.query_ids)
    assert value["accuracy", "5 near"]["value"] < value["accuracy", ""]["value"]
    assert value["Harm@10", "5 near"]["value"] > value["Harm@10", ""]["value"]
    slope = value["accuracy per distractor", "near"]
    assert slope["ci_low"] < slope["value"] < min(slope["ci_high"], 0)
    assert run.manifest["generator"] == {"model": "extract"}
