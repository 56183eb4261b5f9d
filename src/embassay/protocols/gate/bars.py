"""Bars on scores and on ends of intervals: how one is written and what it means."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from embassay.errors import UsageError

End = Literal["value", "lower", "upper"]
OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt
}  # fmt: skip
KEYS = ("dataset", "variant", "lang", "subset")
_BAR = re.compile(
    r"^\s*(?P<protocol>[a-z]+)\.(?P<what>[^\[\]]+)\[(?P<inside>[^\[\]]*)\]\s*(?P<sign>>=|<=|>|<)\s*"
    r"(?P<number>[-+0-9.eE]+)\s*(?:@\s*(?P<end>lower|upper|value))?\s*$"
)
_KEY = re.compile(rf",\s*({'|'.join(KEYS)})\s*=")
_MEND = "Write PROTOCOL.TASK[SYSTEM]>=NUMBER, for example 'sage.overall[minilm]>=0.45@lower'."


@dataclass(frozen=True)
class Bar:
    """A row of results, by protocol, task, measure (empty: the task's headline), system and other columns, and what its
    value or an end of its 95% interval must be."""

    protocol: str
    task: str
    measure: str
    system: str
    sign: str
    number: float
    end: End = "value"
    where: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """As it is written."""
        what = f"{self.task}.{self.measure}" if self.measure else self.task
        inside = "".join(f",{key}={value}" for key, value in self.where.items())
        end = "" if self.end == "value" else f"@{self.end}"
        return f"{self.protocol}.{what}[{self.system}{inside}]{self.sign}{self.number:g}{end}"

    def met(self, value: float) -> bool:
        """Whether a value clears it."""
        return OPERATORS[self.sign](value, self.number)


def read_bar(text: str) -> Bar:
    """A bar from its text. Raises UsageError where it is none.

    >>> bar = read_bar("rag.score.RA-nWG@10[bm25, dataset=qrels] >= 0.6@lower")
    >>> bar.task, bar.measure, bar.system, dict(bar.where), bar.number, bar.end
    ('score', 'RA-nWG@10', 'bm25', {'dataset': 'qrels'}, 0.6, 'lower')
    >>> bar.text
    'rag.score.RA-nWG@10[bm25,dataset=qrels]>=0.6@lower'
    """
    found = _BAR.match(text)
    if found is None:
        raise UsageError(f"{text!r} is no bar.", mend=_MEND)
    try:
        number = float(found["number"])
    except ValueError:
        raise UsageError(f"{found['number']!r} in {text!r} is no number.", mend=_MEND) from None
    task, _, measure = found["what"].strip().partition(".")
    system, *rest = _KEY.split(found["inside"])
    if not task or not system.strip():
        raise UsageError(f"{text!r} names no {'system' if task else 'task'}.", mend=_MEND)
    where = {key: value.strip() for key, value in zip(rest[::2], rest[1::2], strict=True)}
    end: End = found["end"] or "value"  # type: ignore[assignment]
    return Bar(found["protocol"], task, measure, system.strip(), found["sign"], number, end, where)
