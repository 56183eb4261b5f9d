"""What holds for all seven tasks: places, rewording, failures, pairing, plans."""

from __future__ import annotations

import random
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.data import SHAPES, open_dataset
from embassay.errors import UsageError
from embassay.protocols.tasks import TASK_NAMES, TASKS
from embassay.protocols.tasks.task import NOT_ENCODED, PtebOptions, drop_failed_texts_from_paraphrases
from embassay.runs.forecast import CallRecordingSimilarity
from embassay.systems import open_system
from embassay.text import open_tokenizer

SYSTEMS = ("wordllama", "jaccard", "bm25", "levenshtein", "constant", "random")


@pytest.fixture(params=TASK_NAMES)
def task(request):
    return TASKS.build(request.param)


@pytest.fixture
def data(task, sample):
    return sample(task.name)


def system(name):
    return open_system(name, tokenizer=open_tokenizer("words"))


def same(a, b):
    """Whether two records hold the same, arrays included."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if hasattr(a, "__dataclass_fields__"):
        return all(same(getattr(a, one.name), getattr(b, one.name)) for one in fields(a))
    return a == b


def permuted(_, text):
    words = text.split(" ")
    random.Random(text).shuffle(words)
    return " ".join(words)


def test_the_seven_tasks():
    """Under their names, each of shapes that exist, in the order of the specification."""
    assert TASK_NAMES == (
        "sts", "classification", "clustering", "pair_classification", "reranking", "retrieval", "summarization",
    )  # fmt: skip
    headlines = {name: TASKS.build(name).headline for name in TASK_NAMES}
    assert headlines == {
        "sts": "spearman",
        "classification": "accuracy",
        "clustering": "v_measure",
        "pair_classification": "average_precision",
        "reranking": "map",
        "retrieval": "ndcg@10",
        "summarization": "spearman",
    }
    assert {name for name in TASK_NAMES if TASKS.build(name).vectors} == {"classification", "clustering"}
    assert all(set(TASKS.build(name).shapes) <= set(SHAPES) for name in TASK_NAMES)
    with pytest.raises(UsageError, match="Did you mean retrieval"):
        TASKS.build("retreival")


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_system_has_a_score_or_a_reason(task, data, name, context):
    """One headline with its component, and replicates where it has a value; items are columns of one length."""
    outcome = task.evaluate(system(name), data, context())
    headline, component = outcome.scores[0], outcome.components[task.headline]
    assert (headline.measure, headline.variant, headline.subset) == (task.headline, "", "")
    assert (headline.value, headline.n) == (component.value, component.n)
    if headline.value is None:
        assert headline.reason == "the similarity does not vary"
        assert (name, task.headline) == ("constant", "spearman")
    else:
        assert len(component.replicates) == 200
        assert headline.ci_low <= headline.value <= headline.ci_high
    assert {len(column) for column in outcome.items.values()} == {len(outcome.items["item_id"])}
    assert set(outcome.items["variant"]) == {""}


def test_similarity_only_systems_say_by_what_method(task, data, context):
    """Where a task needs vectors, the method column tells who had none."""
    methods = [task.evaluate(system(name), data, context()).scores[0].method for name in ("wordllama", "jaccard")]
    assert (methods[0] != methods[1]) == task.vectors
    if task.vectors:
        assert methods[1].startswith(("10 nearest neighbours", "complete linkage"))


def test_places_are_distinct_and_texts_those_of_the_data(task, data):
    """So a wording can be given to one occurrence of a text."""
    texts = list(task.texts(data))
    assert len({place for place, _ in texts}) == len(texts) > 0
    said = task.reword(data, lambda place, text: f"{place}|{text}").paraphrased
    assert [text for _, text in task.texts(said)] == [f"{place}|{text}" for place, text in texts]


def test_a_copy_changes_nothing(task, data, context):
    """The original is the same object, the score the same to the last bit, and so is every resample's."""
    copied = task.reword(data, lambda _, text: text)
    assert copied.has_nothing_left_out
    assert copied.original is data
    assert same(copied.paraphrased, data)
    assert (copied.kept, copied.items, copied.lost) == (task.size(data), task.size(data), ())
    for name in ("wordllama", "jaccard", "random"):
        first, second = (
            task.evaluate(system(name), side, context()).components[task.headline]
            for side in (copied.original, copied.paraphrased)
        )
        assert first.value == second.value
        assert np.array_equal(first.replicates, second.replicates)


def test_word_order_means_nothing_to_a_bag_of_words(task, data, bag, context):
    """A paraphraser that permutes words takes nothing from a system that does not read their order."""
    worded = task.reword(data, permuted)
    assert not same(worded.paraphrased, data)
    for one in (bag(), system("jaccard"), system("bm25")):
        before, after = (
            task.evaluate(one, side, context()).components[task.headline]
            for side in (worded.original, worded.paraphrased)
        )
        assert before.value == after.value
        assert np.array_equal(before.replicates, after.replicates)


@given(missing=st.sets(st.integers(0, 400), max_size=40))
@pytest.mark.parametrize("name", TASK_NAMES)
def test_what_has_no_wording_is_on_neither_side(name, sample, missing):
    """Both sides hold the same items, those of which every needed text has a wording; labels and scores stay theirs."""
    task, data = TASKS.build(name), sample(name)
    place_of = {place: number for number, (place, _) in enumerate(task.texts(data))}
    gone = {place for place, number in place_of.items() if number in missing}
    result = task.reword(data, lambda place, text: None if place in gone else f"other {text}")
    before, after = dict(task.texts(result.original)), dict(task.texts(result.paraphrased))
    assert before.keys() == after.keys()
    assert all(after[place] == f"other {before[place]}" for place in after)
    assert same(
        result.original, task.reword(result.paraphrased, lambda _, text: text.removeprefix("other ")).paraphrased
    )
    assert (result.kept, result.items) == (task.size(result.original), task.size(data))
    assert result.has_nothing_left_out == (not gone)
    if not gone:
        assert result.original is data


def test_failed_encodings_leave_the_rest(task, data, bag, context):
    """The score is that of the data without what could not be encoded, which is counted with its reason."""
    # A letter that few texts have stands for what is too long.
    places = list(task.texts(data))
    mark = places[len(places) // 2][1]
    outcome = task.evaluate(bag(mark), data, context())
    gone = task.reword(data, lambda _, text: None if mark in text else text)
    expected = task.evaluate(bag(), gone.original, context())
    assert not gone.has_nothing_left_out
    assert outcome.scores[0].value == pytest.approx(expected.scores[0].value, abs=1e-12)
    assert outcome.scores[0].n == expected.scores[0].n
    assert "could not be encoded: Too long: 9,000 tokens" in outcome.skipped[0].reason


def test_over_a_twentieth_lost_there_is_no_score(task, data, bag, context):
    """And the reason is plain."""
    headline = task.evaluate(bag("the"), data, context()).scores[0]
    assert headline.value is None
    assert "could not be encoded: Too long: 9,000 tokens (over 5%, so no score)" in headline.reason


def test_nothing_left(task, data, context):
    """No score and its reason, where every text lost its wording."""
    empty = task.reword(data, lambda *_: None)
    assert empty.kept == 0
    headline = task.evaluate(system("wordllama"), empty.paraphrased, context()).scores[0]
    assert (headline.value, headline.n, headline.reason) == (None, 0, "nothing is left to evaluate")


def test_a_rehearsal_hears_what_the_task_asks(task, data, bag, context):
    """The texts and roles of every call, in their order: so a plan can count and fetch them beforehand."""
    heard = []
    task.evaluate(
        CallRecordingSimilarity(lambda texts, role: heard.append((list(texts), role))), data, context(resamples=1)
    )
    real = bag()
    task.evaluate(real, data, context())
    assert heard == real.encoder.calls
    # Every call has each text once, apart from labels' texts that the data repeat.
    assert all(len(texts) == len(set(texts)) for texts, _ in heard)


def test_resamples_are_paired(task, data, context):
    """Systems are resampled alike, so that a difference varies less than its parts do."""
    if task.name == "clustering":
        pytest.skip("three sets are too few to tell")
    one, other = (
        task.evaluate(system(name), data, context()).components[task.headline].replicates
        for name in ("wordllama", "jaccard")
    )
    # The two need not agree item by item; with themselves under another seed they surely do not.
    again = task.evaluate(system("wordllama"), data, context()).components[task.headline].replicates
    assert np.array_equal(one, again)
    assert one.std() > 0
    assert other.shape == one.shape


def test_training_texts_can_keep_their_words():
    """With the test texts alone in other words, the places of training texts are named; otherwise none."""
    unworded = {name: TASKS.build(name).unworded for name in TASK_NAMES}
    assert all(of(PtebOptions()) == () for of in unworded.values())
    tested = PtebOptions(classification_texts="test")
    assert {name for name, of in unworded.items() if of(tested)} == {"classification"}
    assert unworded["classification"](tested) == ("train:",)


def test_both_languages_of_the_sample():
    """Every task has a score in English and in French."""
    from embassay.protocols.tasks.task import PtebContext

    dataset = open_dataset("sample")
    for name in TASK_NAMES:
        task = TASKS.build(name)
        for lang, part in dataset.subsets(task.shapes[0]).items():
            context = PtebContext(f"sample:{lang}", open_tokenizer("words"), 1337, PtebOptions(resamples=20))
            outcome = task.evaluate(system("wordllama"), task.load(part, None, 1337).data, context)
            assert outcome.scores[0].value is not None, (name, lang)


def test_what_cannot_be_encoded_in_one_wording_counts_in_neither(task, data, bag, context):
    """A text that fails as paraphrased leaves both sides, and so does one that fails as it was."""
    places = [place for place, _ in task.texts(data)]
    marked = {places[1]: "unreadable", places[-1]: "fine"}
    both = task.reword(data, lambda place, text: f"{text} {marked.get(place, '')}".strip())
    own = dict(task.texts(data))[places[len(places) // 2]]
    system = bag("unreadable", own)
    for side in (both.original, both.paraphrased):
        task.evaluate(system, side, context())
    rest = drop_failed_texts_from_paraphrases(task, both, system.failures)
    assert not rest.has_nothing_left_out
    assert any(left.reason == NOT_ENCODED for left in rest.lost)
    # Places are numbered anew where candidates drop out, on both sides alike.
    before, after = (dict(task.texts(side)) for side in (rest.original, rest.paraphrased))
    assert before.keys() == after.keys()
    assert not {*before.values(), *after.values()} & system.failures.keys()
    rows = [task.evaluate(system, side, context()).scores[0] for side in (rest.original, rest.paraphrased)]
    assert rows[0].n == rows[1].n
    assert not task.evaluate(system, rest.paraphrased, context()).skipped
    assert drop_failed_texts_from_paraphrases(task, both, {}) is both
