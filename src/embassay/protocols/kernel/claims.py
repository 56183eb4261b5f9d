"""What is said of what: a claim is a record, from which a sentence, a mark or a table cell is made.

A protocol or a page first states its claims and then words them, so whatever a reader is told can be held against the
tables: `tests/claims.py` does so for every relation. The verdict of a page carries its claims
(`document.blocks.Verdict`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from embassay.protocols.kernel.tables import format_small_count_in_words

Relation = Literal[
    "first", "may be first", "last", "beats", "higher", "level", "untested", "most", "least", "near least", "less",
    "keeps", "misses", "falls", "rises", "open", "above", "below", "inside", "is", "counts"
]  # fmt: skip
"""What stands between the subject and the `others`:

- `first`, `may be first`, `last`: the ranks that the tests leave it among all of `others` are 1, begin with 1, or are
  the last place alone; `n` of the `of` that are ranked may be first;
- `beats`: its value is better than that of each of the others, and a test tells the two apart;
- `higher`: its value is better than that of each, and nothing is tested;
- `level`: no test tells it from any of the others;
- `untested`: no resample changes its distance from the others, so that there is nothing to test;
- `most`, `least`: none of the others has more, or less, of the measure (quality; time, price);
- `near least`: it has more than the least of the others, by at most `margin`;
- `less`: it has less of the measure than each of the others, by more than `margin`;
- `keeps`, `misses`: its value against the limit `margin`;
- `falls`, `rises`: its change of the measure is below, or above, 0 with its whole interval; `open`: neither;
- `above`, `below`, `inside`: its value and the interval of the others (people);
- `is`: the measure of it is `value`, from `low` to `high`;
- `counts`: so many (`n`) of `of`, whatever the `kind` says.
"""


@dataclass(frozen=True)
class Claim:
    """A claim about results: how a `subject` stands to `others` by a `measure`.

    `value` is that of the subject where the claim states it, or its distance from the others, with the interval from
    `low` to `high`; `margin` a distance or a limit, `n` of `of` what is counted. `kind` tells claims of one run apart,
    where the same relation is stated of several things. Of those that may be first, `below` are left out as they score
    no better than a reference.
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
    low: float | None = None
    high: float | None = None
    below: int = 0


VERBS: dict[Relation, str] = {
    "first": "beats every other",
    "may be first": "may be first",
    "last": "is beaten by every other",
    "beats": "beats",
    "higher": "scores higher than",
    "level": "cannot be told apart from",
    "falls": "loses",
    "rises": "gains",
    "open": "changes by",
}
"""The verb of a relation, on every page alike."""
LOWER = "scores lower than"
"""The same as `higher`, by a measure of which less is better."""


MISSING_LABELS = "the gap may only reflect missing labels. Grade them: embassay rag golden --add-run."
"""Why the one that is `higher` is not said to beat the other, where fewer passages of that one are graded."""
EQUAL = 1e-12
"""An interval that is no wider is none: every resample gives the same."""


def make_count_claim(kind: str, n: int, of: int, subject: str = "") -> Claim:
    """Make a claim that so many of so many are what `kind` says."""
    return Claim(subject, "counts", "", n=n, of=of, kind=kind)


def make_value_claim(
    subject: str, measure: str, value: float | None, low: float | None = None, high: float | None = None, *,
    kind: str = ""
) -> Claim:  # fmt: skip
    """Make a claim of what a measure of the subject is."""
    return Claim(subject, "is", measure, value=value, low=low, high=high, kind=kind)


def make_leader_claims(
    measure: str, first: Sequence[str], ranked: Sequence[str], *, alone: bool = False, kind: str = "", below: int = 0
) -> tuple[Claim, ...]:
    """Who may be first of those that are ranked: one claim each. `alone`: the first one beats all others. `below` more
    may be by the tests, and score no better than a reference.

    >>> [claim.relation for claim in make_leader_claims("nDCG@10", ["a"], ["a", "b"], alone=True)]
    ['first']
    """
    relation: Relation = "first" if alone and len(first) == 1 else "may be first"
    return tuple(
        Claim(
            name, relation, measure, tuple(other for other in ranked if other != name), n=len(first), of=len(ranked),
            kind=kind, below=below,
        )
        for name in first
    )  # fmt: skip


def select_names_above_references(
    names: Sequence[str], value: Callable[[str], float | None], floor: float | None, *, is_less_better: bool = False
) -> tuple[str, ...]:
    """Those that score better than `floor`, what the best reference scores, which knows nothing; all of them where
    none does, or where there is no reference.

    >>> select_names_above_references(["a", "b"], {"a": 0.2, "b": 0.6}.get, 0.5)
    ('b',)
    >>> select_names_above_references(["a"], {"a": 0.2}.get, 0.5)
    ('a',)
    """
    if floor is None:
        return tuple(names)
    sign = -1 if is_less_better else 1
    return tuple(name for name in names if sign * (value(name) or 0.0) > sign * floor) or tuple(names)


def make_pair_comparison_claim(
    measure: str, a: str, b: str, difference: float, low: float | None, high: float | None, *,
    apart: bool, is_less_better: bool = False
) -> Claim:  # fmt: skip
    """What a test says of two: the better one beats the other, or they cannot be told apart. `value` is a minus b, and
    where one beats the other the better minus the worse.

    >>> make_pair_comparison_claim("overall", "a", "b", -0.2, -0.3, -0.1, apart=True).subject
    'b'
    """
    if not apart:
        is_certain = low is not None and high is not None and high - low <= EQUAL
        relation: Relation = "untested" if is_certain else "level"
        return Claim(a, relation, measure, (b,), difference, low=low, high=high)
    is_ahead = (difference < 0) == is_less_better
    if is_ahead:
        return Claim(a, "beats", measure, (b,), difference, low=low, high=high)
    return Claim(b, "beats", measure, (a,), -difference, low=_negate_or_none(high), high=_negate_or_none(low))


def make_change_claim(
    subject: str, measure: str, value: float, low: float | None, high: float | None, *, kind: str = ""
) -> Claim:
    """Make a claim whether a change is surely below or above 0, or neither.

    >>> (make_change_claim("a", "delta", -0.2, -0.3, -0.1).relation,
    ... make_change_claim("a", "delta", -0.2, None, None).relation)
    ('falls', 'open')
    """
    relation: Relation = "open"
    if low is not None and high is not None:
        relation = "falls" if high < 0 else "rises" if low > 0 else "open"
    return Claim(subject, relation, measure, value=value, low=low, high=high, kind=kind)


def split_first_place_sentence_at_name(
    claim: Claim, on: str, *, every: str = "system", noun: str = "system", anyone: str = "system"
) -> tuple[str, str]:
    """The sentence on who is first, alone may be, or may be beside others: what stands before the name of the subject,
    and after it; all before where nobody is named. `every` names those that the first one beats, `noun` those that may
    be first, `anyone` what is ranked.

    >>> split_first_place_sentence_at_name(Claim("a", "first", "", ("b",), n=1, of=2), " on texts")
    ('', ' beats every other system on texts')
    """
    if claim.relation == "first":
        return "", f" {VERBS['first']} {every}{on}"
    on += describe_leaders_beating_baselines(claim)
    if claim.n == 1:
        return "Only ", f" {VERBS['may be first']}{on}"
    if claim.n == claim.of:
        everyone = "both" if claim.n == 2 else f"all {format_small_count_in_words(claim.n)}"
        return f"No {anyone} stands out{on}: {everyone} {VERBS['may be first']}", ""
    return f"{format_small_count_in_words(claim.n).capitalize()} {noun}s {VERBS['may be first']}{on}", ""


def describe_leaders_beating_baselines(claim: Claim) -> str:
    """Say that leaders beat the baselines too, where other possible leaders do not.

    >>> describe_leaders_beating_baselines(Claim("a", "may be first", "", n=1, of=3, below=1))
    ' and scores above the baselines'
    """
    return f" and {'scores' if claim.n == 1 else 'score'} above the baselines" if claim.below else ""


def select_claims_of_kind(claims: Iterable[Claim], *kinds: str) -> Iterator[Claim]:
    """Those of a kind, in their order."""
    return (claim for claim in claims if claim.kind in kinds)


def _negate_or_none(value: float | None) -> float | None:
    return None if value is None else -value
