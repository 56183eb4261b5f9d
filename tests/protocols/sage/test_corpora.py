"""Versions of a corpus in shards: the texts are those of the whole, wherever a shard is made."""

from dataclasses import replace

import cloudpickle
import pytest

from embassay.errors import UsageError
from embassay.protocols.sage.options import SageOptions
from embassay.protocols.sage.retrieval import CorpusVersions
from embassay.protocols.sage.tasks import (
    RETRIEVAL_EDITS,
    compute_total_version_length_ratio,
    edit_documents,
    parse_edit_list,
)
from embassay.records import Documents
from embassay.search import exact as sharding

CORPUS = Documents(
    tuple(f"d{i}" for i in range(10)), tuple(f"It is the text number {i}, and it can go on. " * 3 for i in range(10))
)


@pytest.fixture
def shards_of_four(monkeypatch):
    monkeypatch.setattr(sharding, "SHARD", 4)


@pytest.mark.usefixtures("shards_of_four")
def test_shards_side_by_side_are_the_edited_corpus(context):
    """Every version in order, each text as the edit of the whole corpus has it; here and in another process."""
    made = context()
    corpora = CorpusVersions(CORPUS, made)
    assert (len(corpora), corpora.versions, corpora.shards_per_version, corpora.shard_offsets) == (57, 19, 3, [0, 4, 8])
    sent = [cloudpickle.loads(cloudpickle.dumps(shard)) for shard in corpora]
    for shards in (corpora, sent):
        texts = [text for shard in shards for text in shard]
        expected = [*CORPUS.texts, *(t for edit in RETRIEVAL_EDITS for t in edit_documents(edit, CORPUS, made))]
        assert texts == expected
    with pytest.raises(IndexError):
        corpora[57]


def test_a_shard_makes_its_texts_once_and_travels_without_them(context, monkeypatch):
    """Asked for its length it makes nothing."""
    from embassay.protocols.sage import tasks

    calls = []
    monkeypatch.setattr(tasks, "perturb_all", lambda *given: calls.append(given) or ["x"] * len(given[1]))
    corpora = CorpusVersions(CORPUS, context())
    shard = corpora[3]
    calls.clear()
    before = len(cloudpickle.dumps(shard))
    assert len(shard) == 10
    assert not calls
    assert list(shard) == shard[:] == ["x"] * 10
    assert len(calls) == 1
    assert len(cloudpickle.dumps(shard)) == before


@pytest.mark.usefixtures("shards_of_four")
def test_progress_by_shards(context):
    """When the next shard is asked for, the one before is done: in the end, all texts are."""
    heard = []
    shards = iter(CorpusVersions(CORPUS, replace(context(retrieval_edits="negate"), advance=heard.append)))
    next(shards)
    assert heard == []
    next(shards)
    assert heard == [4]
    list(shards)
    assert heard == [4, 4, 2, 4, 4, 2]


def test_a_choice_of_edits(context):
    """In the order of the paper and spelled in one way; all 18 are no choice."""
    made = context(retrieval_edits="insertion:p=0.15,q=1,  delete10,capitalize")
    assert CorpusVersions(CORPUS, made).edits == ("capitalize", "delete10", "insertion:p=0.15,q=1")
    assert compute_total_version_length_ratio(made) == pytest.approx(4.15)
    assert made.options.as_dict()["retrieval_edits"] == "capitalize,delete10,insertion:p=0.15,q=1"
    assert len(parse_edit_list("removal,negate")) == 7
    everything = SageOptions(retrieval_edits=",".join(reversed(RETRIEVAL_EDITS)))
    assert everything == SageOptions()
    assert "retrieval_edits" not in everything.as_dict()


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("capitalise", "Did you mean capitalize"),
        ("", "no edit ''"),
        ("delete10,", "no edit ''"),
        ("insertion:p=0.3,q=1", "Available:"),
    ],
)
def test_refuses_edits_that_are_none(names, message):
    """What is known is named."""
    with pytest.raises(UsageError, match=message):
        SageOptions(retrieval_edits=names)
