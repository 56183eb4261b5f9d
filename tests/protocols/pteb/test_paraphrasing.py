"""Opening paraphrasers by name."""

from __future__ import annotations

import pytest

from embassay.errors import DataError, UsageError
from embassay.protocols.pteb.paraphrasing import open_paraphrase_prompt, open_paraphraser
from embassay.protocols.wordings.records import ParaphraseSamplingAndRetryOptions


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("recorde", "Did you mean recorded"),
        ("olama:gemma3", "Did you mean ollama"),
        ("zzz", "Available: recorded, stored, copied, permuted, openai, ollama"),
        ("stored", "stored:FOLDER"),
        ("copied:x", "takes nothing after ':'"),
        ("permuted?words=3", "no parameter 'words'"),
    ],
)
def test_what_is_no_paraphraser(text, said):
    """Is told with near names and what there is."""
    with pytest.raises(UsageError, match=said):
        open_paraphraser(text)


def test_no_set(tmp_path):
    """Where a set is named that is not there."""
    with pytest.raises(DataError, match="no set of paraphrases"):
        open_paraphraser(f"stored:{tmp_path}")


def test_a_prompt_where_none_is_used():
    """Would change nothing, so it is refused; the default one is passed everywhere."""
    with pytest.raises(UsageError, match="uses no prompt, but 'variant1' was given"):
        open_paraphraser("copied", prompt=open_paraphrase_prompt("variant1"))
    assert open_paraphraser("copied", prompt=open_paraphrase_prompt()).name == "copied"


@pytest.mark.parametrize("wrong", [{"temperature": -1}, {"top_p": 0}, {"top_p": 1.1}, {"retries": -1}])
def test_sampling_that_cannot_be(wrong):
    """Is refused before anything is asked."""
    with pytest.raises(UsageError, match="Cannot sample"):
        ParaphraseSamplingAndRetryOptions(**wrong)


def test_ollama_gets_a_context_and_no_thinking():
    """Large enough for the longest text and its paraphrase, in steps, unless the spec says otherwise; the size is told
    and is no part of the identity."""
    pytest.importorskip("httpx2")
    models = [open_paraphraser("ollama:gemma3:27b", longest=longest) for longest in (100, 29_000, 60_000)]
    assert [model.about()["num_ctx"] for model in models] == [4096, 32_768, 65_536]
    assert len({model.identity for model in models}) == 1
    assert "num_ctx=suited:think=False" in models[0].identity
    own = open_paraphraser("ollama:gemma3:27b?num_ctx=8192&think=true", longest=29_000)
    assert own.about()["num_ctx"] == 8192
    assert "num_ctx=8192:think=True" in own.identity
    assert own.about()["licence"] == "Gemma Terms of Use"
