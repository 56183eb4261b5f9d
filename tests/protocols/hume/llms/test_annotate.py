"""Language models as annotators against a real server: equal to a direct computation, faults or not."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import accuracy_score, average_precision_score

from embassay.errors import BudgetExceeded, ModelError, UsageError
from embassay.protocols.hume.llms.annotator import format_item_for_llm
from embassay.protocols.hume.llms.answers import read_llm_answers, score_llm_answers
from embassay.protocols.hume.llms.protocol import annotate
from embassay.protocols.hume.options import AnnotateRequest
from embassay.protocols.hume.study import read_study
from hume_small import LABELS
from stub import Faults, Problem, StubServer
from stub.annotating import annotating, marks_of, noisy_label, noisy_rating, noisy_scores, order_of

NOISE = {"wrong": 0.3, "spread": 2.0, "misplaced": 1.5}
NAMES = [label.name for label in LABELS]


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")


def llm(stub, **more):
    options = "".join(f"&{name}={value}" for name, value in more.items())
    return f"openai:stub?base_url={stub.url}/v1{options}"


def ask(study, stub, *, options=None, **request):
    spec = llm(stub, **(options or {}))
    return annotate(study, AnnotateRequest((spec,), **request))


def scored(study, task):
    folder = read_study(study)
    (answers,) = read_llm_answers(folder)
    return score_llm_answers(folder.study.task(task).spec, folder.gold(task), answers.of(task))


def direct(study, task, mode="ranking"):
    """The score of the stub's noise without any model, by other libraries."""
    folder = read_study(study)
    spec, gold = folder.study.task(task), folder.gold(task)
    items = {item.id: format_item_for_llm(spec, item.payload) for item in folder.select_task_items(task)}
    if task == "mood":
        said = [noisy_label(NAMES[gold[key]], NAMES, item, NOISE["wrong"]) for key, item in items.items()]
        return accuracy_score([NAMES[gold[key]] for key in items], said)
    if task == "pairs":
        said = [noisy_rating(gold[key], item, NOISE["spread"]) for key, item in items.items()]
        return spearmanr([gold[key] for key in items], said).statistic
    found = []
    for key, item in items.items():
        scores = noisy_scores(gold[key], item, NOISE["misplaced"])
        values = marks_of(scores) if mode == "binary" else scores
        found.append(average_precision_score(np.array(gold[key]) > 0, values))
    return float(np.mean(found))


@pytest.mark.parametrize("mode", ["ranking", "binary"])
@pytest.mark.parametrize("answers", ["schema", "free"])
def test_scores_equal_a_direct_computation(study, known, mode, answers):
    """Labels, ratings, rankings and marks of a model with known errors; clustering is left out."""
    with StubServer(chat=annotating(known, **NOISE)) as stub:
        outcome = ask(study, stub, mode=mode, options={"answers": answers})
    assert outcome.left_out == ("topics",)
    assert outcome.failed == 0
    assert [one.statuses for one in outcome.annotated] == [{"ok": 12}] * 3
    for task in ("mood", "search", "pairs"):
        found = scored(study, task)
        assert found.score == pytest.approx(direct(study, task, mode), abs=1e-12)
        assert found.score < 0.999
        assert found.items == 12


def test_gold_is_never_sent_and_words_are_those_of_people(study, known):
    """The request has title, question, guidelines, labels and what they mean, and the texts; temperature 0, a seed."""
    with StubServer(chat=annotating(known)) as stub:
        ask(study, stub)
        bodies = stub.bodies
    folder = read_study(study)
    for body in bodies:
        assert body["temperature"] == 0
        assert 0 <= body["seed"] < 2**31
        assert body["response_format"]["json_schema"]["strict"]
    moods = [body for body in bodies if "label" in body["response_format"]["json_schema"]["schema"]["properties"]]
    told, said = (message["content"] for message in moods[0]["messages"])
    task = folder.study.task("mood")
    for words in (task.title, task.question, task.guidelines, *(f"{one.name}: {one.description}" for one in LABELS)):
        assert words in told
    assert "A practice text." not in told
    assert '<b>bold & "quoted"</b>, line\ntwo' in said
    assert all(f"mood-{at:02}" not in said for at in range(12))


def test_faults_on_the_way_change_nothing(study, known):
    """429, 500, 503, cut answers and connections: retried below, and the scores are those without faults."""
    faults = Faults(refused=0.08, refused_until=0.08, broken=0.08, overloaded=0.05, truncated=0.08, reset=0.08, seed=3)
    with StubServer(chat=annotating(known, **NOISE), faults=faults) as stub:
        outcome = ask(study, stub)
        assert stub.injected.total() > 5
    assert outcome.failed == 0
    for task in ("mood", "search", "pairs"):
        assert scored(study, task).score == pytest.approx(direct(study, task), abs=1e-12)


@pytest.mark.parametrize("answers", ["schema", "free"])
def test_what_cannot_be_read_is_asked_once_more_and_then_counted(study, known, answers):
    """Wrong in classification, left out of STS; a first answer that is none changes nothing."""
    with StubServer(chat=annotating(known, malformed=0.4)) as stub:
        outcome = ask(study, stub, options={"answers": answers})
        once = stub.requests["/v1/chat/completions"]
    assert [one.statuses for one in outcome.annotated] == [{"ok": 12}] * 3
    assert 36 < once < 72
    assert [scored(study, task).score for task in ("mood", "search")] == [1.0, 1.0]

    with StubServer(chat=annotating(known, never=0.4)) as stub:
        request = AnnotateRequest((llm(stub, answers=answers),), tasks=("mood", "pairs"))
        outcome = annotate(study, request, replace=True)
        lost = {one.task: one.statuses["unparsed"] for one in outcome.annotated}
        assert all(0 < count < 12 for count in lost.values())
        assert stub.requests["/v1/chat/completions"] >= 24 + sum(lost.values())
    (path,) = {one.file for one in outcome.annotated}
    (answers_read,) = read_llm_answers(read_study(study), [path])
    folder = read_study(study)
    mood = score_llm_answers(folder.study.task("mood").spec, folder.gold("mood"), answers_read.of("mood"))
    assert mood.score == pytest.approx(1 - lost["mood"] / 12)
    assert mood.scores["f1"] <= 1
    assert mood.failed == lost["mood"]
    pairs = score_llm_answers(folder.study.task("pairs").spec, folder.gold("pairs"), answers_read.of("pairs"))
    assert pairs.runs[0].items == 12 - lost["pairs"]
    assert pairs.score == pytest.approx(1)


def test_a_ranking_without_all_letters_is_made_whole_in_display_order(study, known):
    """After one retry; the row says so."""
    with StubServer(chat=annotating(known, partial=1.0)) as stub:
        outcome = ask(study, stub, tasks=("search",))
        assert stub.requests["/v1/chat/completions"] == 24
    assert outcome.annotated[0].statuses == {"completed": 12}
    folder = read_study(study)
    (answers,) = read_llm_answers(folder)
    for row in answers.rows:
        item = next(one for one in folder.items if one.id == row.item_id)
        gold = folder.gold("search")[row.item_id]
        order = order_of(gold)
        assert row.value == [*order[:-2], *sorted(order[-2:])], item
        assert row.reason == "2 missing"


def test_a_failed_call_is_no_answer(study, known):
    """It has no value, its item is left out, above 5% there is no score, and the next session tries it again."""
    with StubServer(chat=annotating(known, refusing=0.3)) as stub:
        outcome = ask(study, stub)
        assert outcome.failed > 3
        found = scored(study, "mood")
        assert np.isnan(found.score)
        assert "have no answer" in found.reason
        before = stub.requests["/v1/chat/completions"]
        stub.chat = annotating(known)
        again = ask(study, stub)
        assert stub.requests["/v1/chat/completions"] - before == outcome.failed
    assert again.failed == 0
    assert scored(study, "mood").score == 1


def test_nothing_is_asked_twice_and_the_bytes_are_the_same(study, known, tmp_path):
    """A second session sends nothing; a study with a fresh folder gets the same file from the cache."""
    with StubServer(chat=annotating(known, **NOISE)) as stub:
        first = ask(study, stub, runs=2)
        sent = stub.requests["/v1/chat/completions"]
        assert sent == 72
        path = first.annotated[0].file
        content = path.read_bytes()
        ask(study, stub, runs=2)
        assert path.read_bytes() == content
        path.unlink()
        ask(study, stub, runs=2)
        assert path.read_bytes() == content
        assert stub.requests["/v1/chat/completions"] == sent
        ask(study, stub, runs=3)
        assert stub.requests["/v1/chat/completions"] == sent + 36
    assert len(scored(study, "mood").runs) == 3


def test_a_line_that_a_crash_cut_is_asked_again(study, known):
    """And no other: the file ends as it would have."""
    with StubServer(chat=annotating(known)) as stub:
        outcome = ask(study, stub)
        path = outcome.annotated[0].file
        whole = path.read_bytes()
        path.write_bytes(whole[:-40])
        ask(study, stub)
        assert path.read_bytes() == whole
        assert stub.requests["/v1/chat/completions"] == 36


def test_other_settings_are_refused_until_replaced(study, known):
    """The seed is part of what an answer depends on."""
    with StubServer(chat=annotating(known)) as stub:
        ask(study, stub, tasks=("mood",))
        with pytest.raises(UsageError, match="different settings: seed was 1337, now 7"):
            ask(study, stub, tasks=("mood",), seed=7)
        spec = llm(stub)
        annotate(study, AnnotateRequest((spec,), tasks=("mood",), seed=7), replace=True)
        assert stub.requests["/v1/chat/completions"] == 24


def test_the_limit_of_cost_stops_and_a_higher_one_goes_on(study, known):
    """What was answered is kept and paid once; the account counts all sessions."""
    price = {"price": 1, "price_output": 1, "rpm": 100000}
    with StubServer(chat=annotating(known), latency=0.01) as stub:
        spec = llm(stub, **price)
        with pytest.raises(BudgetExceeded):
            annotate(study, AnnotateRequest((spec,)), max_usd=0.004)
        kept = stub.paid.total()
        assert 0 < kept < 36
        path = next((study / "llm").glob("*.jsonl"))
        assert len(path.read_text().splitlines()) == kept
        outcome = annotate(study, AnnotateRequest((spec,)), max_usd=5.0)
        assert stub.paid.total() == 36
    assert outcome.spent["usd"] == pytest.approx(sum(one.usd for one in outcome.annotated))
    with pytest.raises(UsageError, match="price of 'openai:nobody' is unknown"):
        annotate(study, AnnotateRequest(("openai:nobody",)), max_usd=1.0)


def test_a_model_that_cannot_be_had_is_an_error(study):
    """What its calls left behind says that they failed, and has no value."""
    with StubServer(keys={"another"}) as stub, pytest.raises(ModelError):
        ask(study, stub)
    (answers,) = read_llm_answers(read_study(study))
    assert {(row.status, row.value) for row in answers.rows} == {("failed", None)}


def test_beside_the_answers_is_every_word_of_the_prompts(study, known):
    """With their hashes, which rows carry too."""
    with StubServer(chat=annotating(known)) as stub:
        outcome = ask(study, stub, mode="binary")
    path = outcome.annotated[0].file
    said = json.loads(path.with_suffix(".json").read_text())
    assert said["prompts"]["search"]["text"].startswith("You are an annotator")
    assert '{"relevant"' in said["prompts"]["search"]["text"]
    identities = {json.loads(line)["prompt"] for line in path.read_text().splitlines()}
    assert identities == {one["identity"] for one in said["prompts"].values()}
    assert said["answered_by"] == ["stub"]


def test_clustering_cannot_be_asked_for(study):
    """Named, it is refused."""
    with pytest.raises(UsageError, match="cannot annotate topics"):
        annotate(study, AnnotateRequest(("ollama:x",), tasks=("topics",)))


def test_ollama_hears_the_schema_and_reads_whole_questions(study, known):
    """Its context is made long enough, thinking is off, and the answer is bound."""
    with StubServer(chat=annotating(known)) as stub:
        spec = f"ollama:gemma3:27b?base_url={stub.url}"
        outcome = annotate(study, AnnotateRequest((spec,)))
        body = stub.bodies[0]
    assert [one.statuses for one in outcome.annotated] == [{"ok": 12}] * 3
    assert outcome.spent["usd"] == 0
    assert body["options"]["num_ctx"] >= 4096
    assert body["options"]["temperature"] == 0
    assert body["think"] is False
    assert body["format"]["additionalProperties"] is False


@pytest.mark.filterwarnings("ignore:.*does not accept temperature")
def test_a_model_that_takes_no_temperature_is_asked_without(study, known):
    """And the file beside the answers says so."""
    annotator = annotating(known)

    def behaviour(turn):
        if "temperature" in turn.body:
            raise Problem(400, "Unsupported value: 'temperature' does not support 0 with this model.")
        return annotator(turn)

    with StubServer(chat=behaviour) as stub:
        outcome = ask(study, stub, tasks=("mood",))
    assert outcome.annotated[0].statuses == {"ok": 12}
    assert json.loads(outcome.annotated[0].file.with_suffix(".json").read_text())["not_taken"] == ["temperature"]


def test_two_models_and_two_modes_are_kept_apart(study, known):
    """A file for each; what both cost is one account."""
    with StubServer(chat=annotating(known)) as stub:
        place = f"base_url={stub.url}/v1&price=1&price_output=1"
        specs = tuple(f"openai:{name}?{place}" for name in ("one", "two"))
        annotate(study, AnnotateRequest((*specs, f"{specs[0]}&temperature=0.0"), tasks=("search",)))
        outcome = annotate(study, AnnotateRequest(specs, mode="binary", tasks=("search",)))
        assert stub.requests["/v1/chat/completions"] == 48
    every = read_llm_answers(read_study(study))
    assert sorted({one.mode for one in every}) == ["binary", "ranking"]
    assert len(every) == 4
    assert len(outcome.spent["systems"]) == 2
