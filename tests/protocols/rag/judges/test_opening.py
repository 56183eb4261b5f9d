"""Judges by spec string."""

from __future__ import annotations

import pytest

from embassay.errors import UsageError
from embassay.protocols.rag.judges import JUDGES, build_judge_record, is_language_model_spec, open_judge
from embassay.protocols.rag.judges.chat import ChatJudge


def test_a_language_model_is_a_judge_as_it_stands():
    """Its parameters and those of judging in one spec; what it is called does not depend on their order."""
    pytest.importorskip("openai")
    one = open_judge("openai:m?base_url=http://127.0.0.1:9/v1&temperature=0.5&attempts=2")
    assert isinstance(one, ChatJudge)
    assert (one.options.temperature, one.options.attempts) == (0.5, 2)
    other = open_judge("llm:openai:m?attempts=2&temperature=0.5&base_url=http://127.0.0.1:9/v1")
    assert (one.name, one.identity) == (other.name, other.identity)
    assert one.name == "openai:m?attempts=2&base_url=http://127.0.0.1:9/v1&temperature=0.5"
    assert build_judge_record(one)["top_p"] == 1.0
    one.close()
    other.close()


@pytest.mark.parametrize(
    ("spec", "what"),
    [
        ("simulatd:x", "Did you mean simulated"), ("olama:gemma3", "Did you mean ollama"), ("llm", "llm:ollama:gemma3"),
        ("openai:m?temperatur=1", "temperature, top_p, answers, attempts"), ("simulated", "simulated:FILE"),
        ("openai:m?temperature=9", "temperature from 0 to 2"), ("openai:m?answers=json", "free, schema"),
    ],
)  # fmt: skip
def test_specs_that_name_none(spec, what, monkeypatch):
    """Say what there is."""
    pytest.importorskip("openai")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with pytest.raises(UsageError, match=what):
        open_judge(spec)


def test_which_judges_cost():
    assert is_language_model_spec("ollama:gemma3:27b")
    assert is_language_model_spec("llm:openai:x")
    assert not is_language_model_spec("recorded:x")
    assert not is_language_model_spec("simulated:x")


def test_the_registry():
    assert [one.name for one in JUDGES] == ["llm", "recorded", "simulated"]
