"""The paper's headline figures follow from its other tables by our rules (spec section 13, tolerance 0.0011)."""

import csv
from pathlib import Path

import pytest

REFERENCE = Path(__file__).parents[3] / ".." / "shared" / "reference" / "sage"
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not REFERENCE.exists(), reason="the published tables are not beside this checkout"),
]


def table(number):
    with (REFERENCE / f"table{number}.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    name = next(iter(rows[0]))
    return {row[name]: {k: float(v) for k, v in row.items() if k not in (name, "kind") and v} for row in rows}


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def column(row, word):
    return next(value for key, value in row.items() if word in key.lower())


def test_headlines_follow_from_the_tables():
    """Preference = mean of two halves, robustness = mean of datasets, and so on."""
    one, *others = (table(number) for number in range(1, 7))
    two, three, four, five, six = others
    assert len(one) == 9
    for system, row in one.items():
        preference = mean([mean(two[system].values()), mean(three[system].values())])
        assert preference == pytest.approx(column(row, "human"), abs=0.0011)
        assert mean(four[system].values()) == pytest.approx(column(row, "robust"), abs=0.0011)
        sensitivity = mean([mean(five[system].values()), mean(six[system].values())])
        assert sensitivity == pytest.approx(column(row, "sensitiv"), abs=0.0011)
        parts = [column(row, word) for word in ("cluster", "human", "robust", "sensitiv", "retriev")]
        assert mean(parts) == pytest.approx(column(row, "overall"), abs=0.0011)
