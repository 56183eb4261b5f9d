"""Labels of systems."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from embassay.report.record import LONGEST, shorten_names_to_labels


@given(st.lists(st.text(min_size=1, max_size=200), unique=True, max_size=12))
def test_labels_are_short_and_distinct(names: list[str]) -> None:
    """Each name has a label of its own that fits a table."""
    made = shorten_names_to_labels(names)
    assert list(made) == names
    assert len(set(made.values())) == len(names)
    assert all(len(label) <= LONGEST for label in made.values())


def test_the_organisation_goes_first() -> None:
    """A name over 28 characters loses what stands before the last slash, but keeps its parameters."""
    name = "st:some-organisation/model-large-v2?dims=256"
    assert shorten_names_to_labels([name])[name] == "model-large-v2?dims=256"


def test_how_a_model_is_served_goes_too() -> None:
    """Address and price say nothing of what it answers; two servers of one model are still told apart."""
    name = "openai:embedding-model?base_url=http://127.0.0.1:8000/v1&dimensions=64&price=2"
    assert shorten_names_to_labels([name])[name] == "openai:embedding-model?dimensions=64"
    other = name.replace("8000", "9000")
    assert len(set(shorten_names_to_labels([name, other]).values())) == 2


def test_the_organisation_stays_where_it_tells_two_apart() -> None:
    """Two names that would share a label keep more."""
    names = ["st:first-organisation/embedding-model", "st:second-organisation/embedding-model"]
    assert list(shorten_names_to_labels(names).values()) == names
