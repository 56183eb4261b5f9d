"""A full round on real data: language models on STS-B, TweetEval and Cranfield, equal to a direct computation."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import accuracy_score, average_precision_score

from embassay.protocols.hume.llms.annotator import format_item_for_llm
from embassay.protocols.hume.llms.answers import read_llm_answers, score_llm_answers
from embassay.protocols.hume.llms.protocol import annotate
from embassay.protocols.hume.options import AnnotateRequest
from embassay.protocols.hume.sampling import draw_study
from embassay.protocols.hume.sampling.options import read_sampling_config
from embassay.protocols.hume.study import read_study, write_study
from stub import Faults, StubServer
from stub.annotating import annotating, marks_of, noisy_label, noisy_rating, noisy_scores

ROUND = Path(__file__).parents[4] / "benchmarks" / "hume" / "round.yaml"
DATA = Path(os.environ.get("EMBASSAY_DATA", Path(__file__).parents[5] / "shared" / "data"))


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """40 items of each; skipped where the data are not beside the checkout."""
    if not (DATA / "sts").exists():
        pytest.skip("the development datasets are not here")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EMBASSAY_DATA", str(DATA))
        drawn = draw_study(read_sampling_config(ROUND))
    return write_study(tmp_path_factory.mktemp("round") / "study", drawn.study, drawn.items, drawn.gold)


def gold_by_texts(folder):
    known = {}
    for task in folder.study.tasks:
        names, gold = {label.value: label.name for label in task.labels}, folder.gold(task.name)
        for item in folder.select_task_items(task.name):
            texts = tuple(item.payload.values())
            if task.family == "reranking":
                texts = (item.payload["query"], *(one["text"] for one in item.payload["documents"]))
            known[texts] = names.get(gold[item.id], gold[item.id]) if task.labels else gold[item.id]
    return known


def direct(folder, task, mode):
    """The score of the stub's errors by other libraries, without a model."""
    gold = folder.gold(task.name)
    items = {item.id: format_item_for_llm(task, item.payload) for item in folder.select_task_items(task.name)}
    if task.family == "classification":
        names, true = [one.name for one in task.labels], {one.value: one.name for one in task.labels}
        said = [noisy_label(true[gold[key]], names, item, 0.25) for key, item in items.items()]
        return accuracy_score([true[gold[key]] for key in items], said)
    if task.family == "sts":
        said = [noisy_rating(gold[key], item, 2.5) for key, item in items.items()]
        return spearmanr([gold[key] for key in items], said).statistic
    scores = {key: noisy_scores(gold[key], item, 1.5) for key, item in items.items()}
    found = [
        average_precision_score(np.array(gold[key]) > 0, marks_of(own) if mode == "binary" else own)
        for key, own in scores.items()
    ]
    return float(np.mean(found))


@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.parametrize("mode", ["ranking", "binary"])
def test_scores_equal_a_direct_computation(study, mode, monkeypatch):
    """With first answers that cannot be read, and faults on the way."""
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    folder = read_study(study)
    faults = Faults(refused=0.05, broken=0.05, truncated=0.05, reset=0.05, seed=11)
    chat = annotating(gold_by_texts(folder), wrong=0.25, spread=2.5, misplaced=1.5, malformed=0.15)
    with StubServer(chat=chat, faults=faults) as stub:
        request = AnnotateRequest((f"openai:stub?base_url={stub.url}/v1&answers=free",), mode=mode)
        outcome = annotate(study, request)
        assert stub.injected.total() > 10
    assert set(outcome.left_out) == {"sib200-eng", "sib200-dan"}
    assert outcome.failed == 0
    (answers,) = (one for one in read_llm_answers(folder) if one.mode == mode)
    for name in ("stsb", "emotion", "cranfield"):
        task = folder.study.task(name)
        found = score_llm_answers(task.spec, folder.gold(name), answers.of(name))
        assert found.score == pytest.approx(direct(folder, task, mode), abs=1e-12)
        assert found.items == len(folder.select_task_items(name)) == found.statuses["ok"]
        print(mode, name, round(found.score, 6))
