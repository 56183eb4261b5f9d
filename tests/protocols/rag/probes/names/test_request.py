"""Requests of a name probe say what is wrong before anything is done."""

from __future__ import annotations

from typing import Any

import pytest

from embassay.errors import UsageError
from embassay.protocols.rag.probes.bundles import CONDITIONS
from embassay.protocols.rag.probes.options import NamesRequest


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"langs": ("de",)}, "de"),
        ({"conditions": ("giberish_name",)}, "gibberish_name"),
        ({"queries": 0}, "queries is 0"),
        ({"runs": 0}, "runs is 0"),
    ],
)
def test_what_is_wrong_is_named(wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError) as raised:
        NamesRequest(("bm25",), **wrong)
    assert told in str(raised.value)


def test_the_base_is_always_asked_for() -> None:
    assert NamesRequest(("bm25",)).wanted_conditions == tuple(CONDITIONS)
    chosen = NamesRequest(("bm25",), conditions=("remove_label", "hard_name_mask"))
    assert chosen.wanted_conditions == ("base", "hard_name_mask", "remove_label")
    assert NamesRequest(("bm25",), limit=7).size == 7
    assert NamesRequest(("bm25",), queries=5, limit=7).size == 5
