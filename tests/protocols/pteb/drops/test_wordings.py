"""Figure 8 and figure 5: drops against edit distance, and paraphrases side by side."""

from __future__ import annotations

import pytest

from embassay.measures import edit_distance
from embassay.protocols.pteb.drops import draw_texts_with_wordings, pair_drops_with_edit_distances
from embassay.protocols.wordings.records import ParaphraseOutcome
from embassay.records import ResultRow, SkippedItems


def row(task: str, dataset: str, variant: str, system: str, measure: str, value: float, n: int = 100) -> ResultRow:
    return ResultRow("pteb", task, dataset, "", "eng", variant, system, measure, value, n, -0.9, 0.9)


def rows_of(source: str, distance: float, delta: float, system: str = "minilm") -> list[ResultRow]:
    seeds = [f"paraphrase:{source},seed={seed}" for seed in (1337, 1338)]
    return [
        row("sts", "stsb", "original", system, "spearman", 0.8),
        row("sts", "stsb", source, system, "delta", delta),
        *(row("sts", "stsb", variant, system, "delta", delta) for variant in seeds),
        row("paraphrases", "stsb", seeds[0], source, "edit_distance", distance - 0.1, 100),
        row("paraphrases", "stsb", seeds[1], source, "edit_distance", distance + 0.1, 100),
    ]


def test_one_point_per_source() -> None:
    """Mean distance over the texts of all runs, mean drop over runs, and the run's interval."""
    rows = [*rows_of("by=gemma", 0.8, -0.05), *rows_of("by=oss", 0.55, -0.03), *rows_of("by=qwen", 0.6, -0.02)]
    found = pair_drops_with_edit_distances(rows)
    assert found.missing == ()
    assert [(p.source, p.system, p.distances) for p in found.points] == [
        ("by=gemma", "minilm", 200),
        ("by=oss", "minilm", 200),
        ("by=qwen", "minilm", 200),
    ]
    assert [p.edit_distance for p in found.points] == pytest.approx([0.8, 0.55, 0.6])
    assert [p.delta for p in found.points] == pytest.approx([-0.05, -0.03, -0.02])
    assert (found.points[0].ci_low, found.points[0].ci_high) == (-0.9, 0.9)
    [(system, correlation, n)] = found.correlations
    assert (system, n) == ("minilm", 3)
    assert correlation == pytest.approx(-0.5)


def test_a_drop_without_a_distance_is_counted() -> None:
    """It has no place in the figure."""
    rows = [one for one in rows_of("by=gemma", 0.8, -0.05) if one.task != "paraphrases"]
    found = pair_drops_with_edit_distances(rows)
    assert found.points == ()
    assert found.missing == (SkippedItems("no edit distance", 1, ("minilm sts/stsb by=gemma",)),)


def wording(text: str, given: str, outcome: str = "ok") -> ParaphraseOutcome:
    return ParaphraseOutcome(text, "eng", "", given, outcome)  # type: ignore[arg-type]


TEXTS = [f"text number {i} has some words in it" for i in range(30)]
RUNS = {
    1337: [wording(text, f"{text} said in other words") for text in TEXTS],
    1338: [wording(text, text, "copied") for text in reversed(TEXTS)],
    1339: [wording(text, "", "refused") for text in TEXTS],
}


def test_every_run_stands_beside_the_text() -> None:
    """In the order of the runs, with what could not be worded shown as that."""
    found = draw_texts_with_wordings(RUNS, count=6)
    assert len(found) == 6
    for one in found:
        first, second, third = one.wordings
        assert [first.seed, second.seed, third.seed] == [1337, 1338, 1339]
        assert first.edit_distance == edit_distance(one.text, first.wording)
        assert second.edit_distance == 0
        assert (third.wording, third.outcome, third.edit_distance) == ("", "refused", None)
        assert one.distinct_wording_count == 2


def test_the_draw_depends_on_the_texts_and_the_seed_alone() -> None:
    """Not on the order of the file; another seed draws others."""
    again = {seed: list(reversed(given)) for seed, given in RUNS.items()}
    assert {one.text for one in draw_texts_with_wordings(RUNS)} == {one.text for one in draw_texts_with_wordings(again)}
    assert {one.text for one in draw_texts_with_wordings(RUNS)} != {
        one.text for one in draw_texts_with_wordings(RUNS, seed=1)
    }


def test_texts_that_can_be_read_come_first() -> None:
    """One-word and very long texts stand there only where there are no others."""
    odd = ["word", " ".join(["long"] * 99)]
    runs = {1337: [wording(text, "other words") for text in [*odd, *TEXTS[:2]]]}
    assert {one.text for one in draw_texts_with_wordings(runs, count=2)} == set(TEXTS[:2])
    assert len(draw_texts_with_wordings(runs, count=9)) == 4


def test_texts_that_a_run_did_not_ask_are_left_out() -> None:
    """There is nothing to show beside them; no run, no texts."""
    runs = {1: [wording("a b c d e", "x"), wording("f g h i j", "y")], 2: [wording("f g h i j", "z")]}
    assert [one.text for one in draw_texts_with_wordings(runs)] == ["f g h i j"]
    assert draw_texts_with_wordings({}) == ()
