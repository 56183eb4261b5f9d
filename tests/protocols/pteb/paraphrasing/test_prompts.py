"""The instructions: what they must say, when the addition is said, and a user's own."""

from __future__ import annotations

import pytest

from embassay.errors import DataError, UsageError
from embassay.protocols.pteb.options import PROMPT_NAMES
from embassay.protocols.pteb.paraphrasing import load_similarity_judge_prompt, open_paraphrase_prompt


@pytest.mark.parametrize("name", PROMPT_NAMES)
def test_what_every_prompt_says(name):
    """Other words, the same meaning, one version, nothing else and no reasoning; each in its own words."""
    text = open_paraphrase_prompt(name).text.lower()
    for sign in (("paraphrase", "word"), ("mean", "says"), ("one", "single"), ("reason", "think aloud")):
        assert any(one in text for one in sign), sign


def test_they_differ():
    """The variants are rewordings, with identities of their own."""
    prompts = [open_paraphrase_prompt(name) for name in PROMPT_NAMES]
    assert len({one.text for one in prompts}) == len({one.identity for one in prompts}) == 4


def test_the_multilingual_addition():
    """Is said after the instructions, and only when asked for."""
    prompt = open_paraphrase_prompt()
    assert prompt.compose_system_message() == prompt.text
    assert prompt.compose_system_message(multilingual=True) == f"{prompt.text} {prompt.addition}"
    assert "language of the input" in prompt.addition


def test_a_prompt_of_ones_own(tmp_path):
    """Overrides all, the addition included; its version follows its words."""
    file = tmp_path / "formal.txt"
    file.write_text("Rewrite formally.\n", encoding="utf-8")
    prompt = open_paraphrase_prompt(str(file))
    assert (prompt.name, prompt.text) == ("formal", "Rewrite formally.")
    assert prompt.compose_system_message(multilingual=True) == "Rewrite formally."
    file.write_text("Rewrite casually.\n", encoding="utf-8")
    assert open_paraphrase_prompt(str(file)).version != prompt.version


def test_what_is_no_prompt(tmp_path):
    """Near names are suggested; a blank file and one that takes a name of ours are refused."""
    with pytest.raises(UsageError, match="Did you mean variant1"):
        open_paraphrase_prompt("varaint1")
    (tmp_path / "blank.txt").write_text(" \n", encoding="utf-8")
    with pytest.raises(DataError, match="blank"):
        open_paraphrase_prompt(str(tmp_path / "blank.txt"))
    (tmp_path / "default.txt").write_text("x", encoding="utf-8")
    with pytest.raises(UsageError, match="Rename the file"):
        open_paraphrase_prompt(str(tmp_path / "default.txt"))


def test_the_judge_is_told_the_scale():
    """0 to 5, as one JSON object."""
    text = load_similarity_judge_prompt().text
    assert "0 to 5" in text
    assert '{"score": NUMBER}' in text
    assert load_similarity_judge_prompt().compose_system_message(multilingual=True) == text
