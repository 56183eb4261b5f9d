"""Measures by name: `nDCG@10`, `AP@100`, `V-measure`, `Recall(positive='spam')`.

A measure is one function with one decorator: its keyword-only parameters (`cutoff` is what stands after the
@) are the measure's parameters, and the decorator says what `semblance list measures` and the documentation
show.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from semblance.errors import UsageError
from semblance.measures.judged import Gains, Judged, Retrieved, Values, check_cutoff, judge
from semblance.registry import Registry
from semblance.spec import CALL, Spec, Value

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Measure:
    """A measure with its parameters: call it on what it needs.

    Its text reads back as an equal measure; parameters at their defaults are left out.

    >>> from semblance.measures import MEASURES
    >>> measure = MEASURES.build("V-measure(beta=1)")
    >>> str(measure), measure([0, 0, 1, 1], [5, 5, 7, 7])
    ('V-measure', 1.0)
    """

    spec: Spec
    compute: Callable[..., Any] = field(compare=False, repr=False)

    def __str__(self) -> str:
        return CALL.format(self.spec)

    def __call__(self, *data: Any) -> Any:
        """The value for the data that the registry's `needs` names, in that order."""
        return self.compute(*data)


@dataclass(frozen=True)
class RankingMeasure(Measure):
    """A measure of rankings: call it on judgements and what was retrieved, for one query or many."""

    def __call__(self, *data: Any) -> Values:
        """One value, or one per judged query."""
        judged = judge(*data)
        return judged.answer(self.compute(judged))


MEASURES: Registry[Measure] = Registry("measure", CALL, [["spec", "compute"]])


def measure(
    name: str,
    *,
    direction: Literal["higher", "lower"],
    range: str,
    needs: str,
    undefined: str,
    source: str,
) -> Callable[[Function], Function]:
    """Register a function as the measure `name`; a first parameter `Judged` makes it one of rankings."""

    def decorate(function: Function) -> Function:
        facts = {
            "direction": direction,
            "range": range,
            "needs": needs,
            "undefined": undefined,
            "source": source,
        }
        MEASURES.register(name, **facts)(_factory(name, function))
        return function

    return decorate


def evaluate(
    measures: Sequence[str | Measure],
    qrels: Mapping[str, Gains],
    retrieved: Mapping[str, Retrieved],
) -> dict[str, NDArray[np.float64]]:
    """Several ranking measures of many queries, ranked once: measure -> values in the order of `qrels`.

    Rules for ties, missing documents and undefined queries are those of `judge` and of each measure.
    Raises UsageError for a measure that is not one of rankings.

    >>> evaluate(["nDCG@10", "P@1"], {"q": {"a": 1}}, {"q": ["b", "a"]})
    {'nDCG@10': array([0.63092975]), 'P@1': array([0.])}
    """
    judged = judge(qrels, retrieved)
    return {str(given): _ranking(given).compute(judged) for given in measures}


def _ranking(given: str | Measure) -> RankingMeasure:
    built = MEASURES.build(given) if isinstance(given, str) else given
    if not isinstance(built, RankingMeasure):
        raise UsageError(
            f"{given} is not a measure of rankings.",
            mend="`semblance list measures` shows what each one needs.",
        )
    return built


def _factory(name: str, function: Callable[..., Any]) -> Callable[..., Measure]:
    parameters = list(inspect.signature(function, eval_str=True).parameters.values())
    options = [one for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY]
    kind = RankingMeasure if parameters[0].annotation is Judged else Measure

    def factory(**given: Any) -> Measure:
        chosen: dict[str, Value] = {
            one.name: given[one.name] for one in options if given.get(one.name, one.default) != one.default
        }
        if "cutoff" in chosen and chosen["cutoff"] is None:
            raise UsageError(f"The measure {name} needs a cutoff.", mend=f"Write {name}@10.")
        cutoff = given.get("cutoff")
        check_cutoff(cutoff)
        chosen.pop("cutoff", None)
        return kind(Spec(name, "", chosen, cutoff), partial(function, **given))

    factory.__doc__, factory.__module__ = function.__doc__, function.__module__
    factory.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    return factory
