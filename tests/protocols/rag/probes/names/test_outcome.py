"""Rows of a name probe: the specification's examples, and what must hold of any."""

from __future__ import annotations

import numpy as np
import pytest

from embassay.protocols.rag.probes import names as names
from embassay.protocols.rag.probes.names import RightPassageMargins
from embassay.protocols.rag.probes.resampling import SharedResamplesContext
from embassay.records import Score
from embassay.text import open_tokenizer

CONTEXT = SharedResamplesContext("bundled-en", open_tokenizer("words"), 1, 500)


def rows(name: np.ndarray, topic: np.ndarray | None = None, **retrieval: np.ndarray) -> dict[tuple[str, str], Score]:
    """Rows by variant and measure, of (conditions, runs, queries)."""
    conditions = ["base", "gibberish_name", "initials_form"][: len(name)]
    topic = np.ones_like(name) if topic is None else topic
    found = names.build_name_probe_outcome(conditions, RightPassageMargins(name, topic, topic), retrieval, CONTEXT)
    return {(one.variant, one.measure): one for one in found.scores}


def test_the_example_of_changes() -> None:
    """(.20->.05), (.10->.04), (.015->0), (.30->.06), spec rag 5.3."""
    found = rows(np.array([[[0.20, 0.10, 0.015, 0.30]], [[0.05, 0.04, 0.0, 0.06]]]))
    assert found["gibberish_name", names.PERCENT].value == pytest.approx(-71.666667, abs=1e-6)
    assert found["gibberish_name", names.OF_MEANS].value == pytest.approx(-75.0)
    assert found["gibberish_name", names.EXCLUDED].value == 0.25
    assert found["gibberish_name", names.ABSOLUTE].value == pytest.approx(-0.11625)


def test_the_example_of_run_means() -> None:
    name = np.array([[[0.161], [0.158], [0.163], [0.157], [0.161]]])
    found = rows(name)
    assert found["", names.HEADLINE].value == pytest.approx(0.160)
    assert found["", names.SD].value == pytest.approx(0.002449, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "topic", "ratio"),
    [(0.175, 0.305, 0.574), (0.160, 0.298, 0.537), (0.139, 0.260, 0.535), (0.164, 0.277, 0.592)],
)
def test_published_ratios(name: float, topic: float, ratio: float) -> None:
    """Spec rag 6, item 8."""
    found = rows(np.full((1, 2, 3), name), np.full((1, 2, 3), topic))
    assert round(found["", names.RATIO].value or 0, 3) == ratio


def test_percents_pool_rows_and_resample_queries() -> None:
    """A query with one usable row counts one row, not as much as a query with two."""
    base = np.array([[0.1, 0.2], [0.01, 0.2]])
    ablated = np.array([[0.05, 0.2], [0.0, 0.1]])
    found = rows(np.stack([base, ablated]))
    assert found["gibberish_name", names.PERCENT].value == pytest.approx((-50 + 0 - 50) / 3)
    assert found["gibberish_name", names.PERCENT].n == 2
    assert found["gibberish_name", names.EXCLUDED].n == 4


def test_no_usable_row_has_a_reason() -> None:
    found = rows(np.full((2, 2, 3), 0.001))
    assert found["gibberish_name", names.PERCENT].reason == names.TOO_SMALL
    assert found["gibberish_name", names.EXCLUDED].value == 1


def test_a_lost_query_is_left_out_everywhere() -> None:
    name = np.random.default_rng(1).uniform(0.1, 0.3, (2, 3, 8))
    whole = rows(name[..., :7])
    name[..., 7] = np.nan
    found = rows(name)
    for key in (("", "d_name"), ("gibberish_name", names.PERCENT), ("gibberish_name", names.SD)):
        assert found[key].value == pytest.approx(whole[key].value)


def test_the_headline_and_the_items() -> None:
    name = np.random.default_rng(1).uniform(0.1, 0.3, (3, 2, 5))
    recall = np.random.default_rng(2).uniform(0, 1, (3, 2, 5))
    found = names.build_name_probe_outcome(
        ["base", "gibberish_name", "initials_form"],
        RightPassageMargins(name, name, name),
        {"N-Recall4+@10": recall},
        CONTEXT,
    )
    assert (found.scores[0].measure, found.scores[0].variant) == ("d_name", "")
    assert found.items["item_id"][:6] == ["000@0", "001@0", "002@0", "003@0", "004@0", "000@1"]
    assert len(found.items["value"]) == 3 * 2 * 5 * 4
    row = next(i for i, one in enumerate(found.items["variant"]) if one == "initials_form")
    assert found.items["value"][row] == pytest.approx(name[2, 0, 0])


def test_links_find_what_is_there() -> None:
    """Recall that falls with the margin correlates over queries and over conditions."""
    rng = np.random.default_rng(3)
    name = rng.uniform(0.2, 0.4, (6, 1, 60)) - np.linspace(0, 0.2, 6)[:, None, None]
    conditions = ["base", "hard_name_mask", "gibberish_name", "remove_label", "initials_form", "case_punct_perturb"]
    found = names.build_name_probe_outcome(
        conditions, RightPassageMargins(name, name, name), {"N-Recall4+@10": name}, CONTEXT
    )
    rows = {(one.variant, one.measure): one for one in found.scores}
    link = "Spearman(d_name change, N-Recall4+@10 change)"
    assert rows["remove_label", link].value == pytest.approx(1)
    assert rows["conditions", link].value == pytest.approx(1)
    assert rows["conditions", link].n == 5
