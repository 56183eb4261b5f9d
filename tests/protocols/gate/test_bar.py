"""What a bar may look like."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import UsageError
from embassay.protocols.thresholds import RequiredResultScore, parse_score_threshold

NAMES = st.text("abz019:/?=&._-+", min_size=1, max_size=20)


@given(
    NAMES, st.sampled_from([">=", "<=", ">", "<"]), st.floats(-100, 100), st.sampled_from(["value", "lower", "upper"])
)
def test_a_bar_reads_back(system: str, sign: str, number: float, end: str) -> None:
    """Any system's name, also one with parameters, and any number as it is printed."""
    rounded = float(f"{number:g}")
    bar = RequiredResultScore(
        "rag", "score", "RA-nWG@10", system, sign, rounded, end, {"variant": "insertion:p=0.15,q=0"}
    )  # type: ignore[arg-type]
    assert parse_score_threshold(bar.text) == bar


@pytest.mark.parametrize(
    "text",
    ["", "sage.overall", "sage.overall[x]", "sage.overall[x]>=", "sage.overall[x]=0.4", "sage[x]>=1", "sage.o[]>=1",
     "sage.o[x]>=1e", "sage.o[x]>=0.4@middle", "[x]>=1"],
)  # fmt: skip
def test_what_is_none(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_score_threshold(text)
    assert "sage.overall[minilm]>=0.45@lower" in caught.value.mend
