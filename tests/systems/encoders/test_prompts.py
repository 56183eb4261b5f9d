"""Which prompt a text gets."""

from __future__ import annotations

from embassay.systems.encoders.batches import RolePrompts, choose_role_prompts
from embassay.systems.models import find_known_model

E5 = find_known_model("intfloat/e5-base-v2")


def test_what_is_known_serves_where_the_model_says_nothing():
    """E5's configuration has no prompts; sentence-transformers then has empty ones."""
    chosen = choose_role_prompts({}, own={"query": "", "document": None}, known=E5)
    assert chosen == RolePrompts("query: ", "passage: ", "query: ")
    assert (chosen.has_different_prompts_by_role, chosen.longest_prompt) == (True, "passage: ")
    assert [chosen.of(role) for role in ("query", "document", None)] == ["query: ", "passage: ", "query: "]


def test_the_models_own_prompts_come_before_what_is_known():
    """Each role by itself; a document's may be called passage; the default one is for any role without one."""
    own = {"query": "Q: ", "passage": "P: ", "sts": "S: "}
    assert choose_role_prompts({}, own=own, known=E5) == RolePrompts("Q: ", "P: ", "query: ")
    assert choose_role_prompts({}, own=own, default="sts", known=E5) == RolePrompts("Q: ", "P: ", "S: ")
    assert choose_role_prompts({}, own={"sts": "S: "}, default="sts") == RolePrompts("S: ", "S: ", "S: ")


def test_a_prompt_for_a_task_is_for_texts_without_a_role():
    """By the task's own name, then by the usual one; pair classification has that of classification (spec hteb 7)."""
    own = {"query": "Q: ", "clustering": "c: ", "Clustering": "C: ", "Classification": "L: ", "any": "A: "}
    plain = {
        task: choose_role_prompts({}, own=own, default="any", task=task).plain
        for task in ("", "clustering", "classification", "pair_classification", "sts")
    }
    assert plain == {
        "": "A: ", "clustering": "c: ", "classification": "L: ", "pair_classification": "L: ", "sts": "A: ",
    }  # fmt: skip
    chosen = choose_role_prompts({None: "mine: "}, own=own, task="clustering")
    assert (chosen.query, chosen.plain) == ("Q: ", "mine: ")


def test_the_user_has_the_last_word():
    """An empty prompt is none."""
    given = {"query": "ask: ", "document": "", None: None}
    assert choose_role_prompts(given, own={"document": "D: "}, known=E5) == RolePrompts("ask: ", "", "query: ")


def test_without_prompts_a_role_makes_no_difference():
    """So vectors are kept only once."""
    assert not choose_role_prompts({}, own={}).has_different_prompts_by_role
