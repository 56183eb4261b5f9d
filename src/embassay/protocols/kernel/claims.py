"""What is said of what: a claim is a record, from which a sentence, a mark or a table cell is made.

A protocol or a page first states its claims and then words them, so whatever a reader is told can be held against the
tables: `tests/claims.py` does so for every relation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Relation = Literal[
    "first", "may be first", "last", "beats", "higher", "level", "most", "least", "near least", "less", "keeps",
    "misses", "counts",
]  # fmt: skip
"""What stands between the subject and the `others`:

- `first`, `may be first`, `last`: the ranks that the tests leave it among all of `others` are 1, begin with 1, or are
  the last place alone;
- `beats`: its value is better than that of each of the others, and a test tells the two apart;
- `higher`: its value is better than that of each, and nothing is tested;
- `level`: no test tells it from any of the others;
- `most`, `least`: none of the others has more, or less, of the measure (quality; time, price);
- `near least`: it has more than the least of the others, by at most `margin`;
- `less`: it has less of the measure than each of the others, by more than `margin`;
- `keeps`, `misses`: its value against the limit `margin`;
- `counts`: so many (`n`) of `of`, whatever the measure says.
"""


@dataclass(frozen=True)
class Claim:
    """`subject` stands in a `relation` to `others` by a `measure`.

    `value` is that of the subject where the claim states it, `margin` a distance or a limit, `n` of `of` what is
    counted. `kind` tells claims of one run apart, where the same relation is stated of several things.
    """

    subject: str
    relation: Relation
    measure: str
    others: tuple[str, ...] = ()
    value: float | None = None
    margin: float = 0.0
    n: int = 0
    of: int = 0
    kind: str = ""


VERBS: dict[Relation, str] = {
    "first": "beats every other",
    "may be first": "may be first",
    "last": "is beaten by every other",
    "beats": "beats",
    "higher": "scores higher than",
    "level": "cannot be told apart from",
}
"""The verb of a relation, on every page alike."""
