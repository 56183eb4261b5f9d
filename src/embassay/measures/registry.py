"""Measures by name: `nDCG@10`, `AP@100`, `V-measure`, `Recall(positive='spam')`, and as other tools spell them.

A measure is one function with one decorator: its keyword-only parameters (`cutoff` is what stands after the
@) are the measure's parameters, and the decorator says what `embassay list measures` and the documentation
show.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import partial
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from embassay.errors import UsageError
from embassay.measures.judgements import (
    Gains,
    Graded,
    Judged,
    Retrieved,
    Values,
    check_cutoff,
    convert_grades_to_gains,
    grade,
    judge,
)
from embassay.registry import Registry
from embassay.spec import CALL, Spec, Value

_ALIASES: dict[str, tuple[str, dict[str, Value]]] = {
    "RAnWG": ("RA-nWG", {}),
    "RAnWGNovelty": ("RA-nWG-novelty", {}),
    "Precision4": ("Precision4+", {}),
    "PROC_RA": ("PROC", {}),
    "PROC_NR4": ("PROC", {"of": "N-Recall4+"}),
    "PROC_NR5": ("PROC", {"of": "N-Recall5"}),
    "PROC_P4": ("PROC", {"of": "Precision4+"}),
    "alpha_nDCG": ("alpha-nDCG", {}),
    "α_nDCG": ("alpha-nDCG", {}),
    "MAP": ("AP", {}),
    "MRR": ("RR", {}),
    "NDCG": ("nDCG", {}),
    "map": ("AP", {}),
    "recip_rank": ("RR", {}),
    "ndcg": ("nDCG", {}),
}
_CLASSIFICATION_TOO = {"Recall": "R", "Precision": "P"}
_TREC_EVAL = re.compile(r"(?P<name>ndcg_cut|map_cut|recall|P)[_.](?P<cutoff>\d+)")
_TREC_NAMES = {"ndcg_cut": "nDCG", "map_cut": "AP", "recall": "R", "P": "P"}
_N_RECALL = re.compile(r"N-Recall(?P<level>[1-5])\+")


def canonicalize_measure_spec(spec: Spec) -> Spec:
    """`spec` by the name that the measure has here.

    >>> from embassay.spec import CALL
    >>> for text in ("RAnWG(alpha=0.5)@10", "NRecall(rel=5)@10", "MRR@10", "recall_100"):
    ...     print(CALL.format(canonicalize_measure_spec(CALL.parse(text))))
    RA-nWG(alpha=0.5)@10
    N-Recall5@10
    RR@10
    R@100
    """
    if spec.name in _CLASSIFICATION_TOO and (spec.cutoff is not None or "rel" in spec.params):
        return replace(spec, name=_CLASSIFICATION_TOO[spec.name])
    if spec.cutoff is None and (trec := _TREC_EVAL.fullmatch(spec.name)):
        return replace(spec, name=_TREC_NAMES[trec["name"]], cutoff=int(trec["cutoff"]))
    if level := _N_RECALL.fullmatch(spec.name):
        return _make_canonical_n_recall_spec(spec, int(level["level"]))
    if spec.name in ("NRecall", "N-Recall"):
        return _make_canonical_n_recall_spec(spec, spec.params.get("rel", 4))
    if spec.name in ("RA-nWG", "RAnWG") and spec.params.keys() & {"beta", "occurrence", "ideal"}:
        return replace(spec, name="RA-nWG-novelty")
    name, params = _ALIASES.get(spec.name, (spec.name, {}))
    return replace(spec, name=name, params={**params, **spec.params})


def _make_canonical_n_recall_spec(spec: Spec, level: Value) -> Spec:
    """The companions of the source by their own names, other levels as a parameter."""
    params = {key: value for key, value in spec.params.items() if key != "rel"}
    if level in (4, 5):
        return replace(spec, name="N-Recall4+" if level == 4 else "N-Recall5", params=params)
    return replace(spec, name="N-Recall", params={**params, "rel": level})


Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Measure:
    """A measure with its parameters: call it on what it needs.

    Its text reads back as an equal measure; parameters at their defaults are left out.

    >>> from embassay.measures import MEASURES
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


@dataclass(frozen=True)
class GradedMeasure(Measure):
    """A measure of graded documents: call it on grades, what was retrieved and, for PROC, a pool; for one query or
    many. Or on `Graded`, which holds all of that."""

    def __call__(self, *data: Any) -> Values:
        """One value, or one per graded query."""
        graded = data[0] if data and isinstance(data[0], Graded) else grade(*data)
        return graded.answer(self.compute(graded))


@dataclass(frozen=True)
class DocumentFacetMeasure(GradedMeasure):
    """A measure of the facets of documents: call it on these and what was retrieved, for one query or many. Or on
    `Graded`, which holds both."""

    def __call__(self, *data: Any) -> Values:
        """One value, or one per query with facets."""
        from embassay.measures.facets import grade_facets  # which registers its measures here

        graded = data[0] if data and isinstance(data[0], Graded) else grade_facets(*data)
        return graded.answer(self.compute(graded))


class _MeasureRegistry(Registry[Measure]):
    """Measures by all the names that they go by."""

    def parse_spec(self, text: str) -> Spec:
        """The spec of `text` under the name it has here."""
        spec = canonicalize_measure_spec(self.style.parse(text))
        self.get(spec.name)
        return spec

    def build(self, spec: Spec | str, also: Iterable[str] = (), /, **context: Any) -> Measure:
        """The measure that `spec` names, under any of its names."""
        return super().build(canonicalize_measure_spec(spec) if isinstance(spec, Spec) else spec, also, **context)


MEASURES: Registry[Measure] = _MeasureRegistry("measure", CALL, [["spec", "compute"]])


def measure(
    name: str, *, direction: Literal["higher", "lower"], range: str, needs: str, undefined: str, source: str
) -> Callable[[Function], Function]:
    """Register a function as the measure `name`; a first parameter `Judged` makes it one of rankings, `Graded` one
    of graded documents."""

    def decorate(function: Function) -> Function:
        facts = {"direction": direction, "range": range, "needs": needs, "undefined": undefined, "source": source}
        MEASURES.register(name, **facts)(_make_measure_factory(name, function, has_facets="facets" in needs))
        return function

    return decorate


def evaluate(
    measures: Sequence[str | Measure], qrels: Mapping[str, Gains], retrieved: Mapping[str, Retrieved]
) -> dict[str, NDArray[np.float64]]:
    """Compute several ranking measures of many queries, ranked once: measure -> values in the order of `qrels`.

    Rules for ties, missing documents and undefined queries are those of `judge` and of each measure.
    Raises UsageError for a measure that is not one of rankings.

    >>> evaluate(["nDCG@10", "P@1"], {"q": {"a": 1}}, {"q": ["b", "a"]})
    {'nDCG@10': array([0.63092975]), 'P@1': array([0.])}
    """
    if not isinstance(qrels, Mapping) or not isinstance(retrieved, Mapping):
        raise UsageError(
            "`evaluate` needs measures, judgements by query and retrieved documents by query, but found "
            f"{type(measures).__name__}, {type(qrels).__name__} and {type(retrieved).__name__}.",
            mend="Write evaluate(['nDCG@10'], {'q1': {'d1': 1}}, {'q1': ['d1', 'd2']}).",
        )
    judged = judge(qrels, retrieved)
    return {str(wanted): _require_ranking_measure(wanted).compute(judged) for wanted in measures}


def evaluate_graded(measures: Sequence[str | Measure], graded: Graded) -> dict[str, NDArray[np.float64]]:
    """Compute several measures of many queries graded from 1 to 5: measure as given -> values (q,), NaN if undefined.

    Takes the set measures and those of rankings; for the latter the gain is grade - 1 and a document is relevant from
    grade 4 on, or from the grade `rel` of the measure.
    Raises UsageError for a measure of something else.

    >>> from embassay.measures import grade
    >>> found = grade({"q": {"a": 5, "b": 4, "c": 1}}, {"q": ["c", "a"]})
    >>> evaluate_graded(["Harm@2", "R@2"], found)
    {'Harm@2': array([0.5]), 'R@2': array([0.5])}
    """
    judged: list[Judged] = []
    values = {}
    for wanted in measures:
        built = MEASURES.build(wanted) if isinstance(wanted, str) else wanted
        if isinstance(built, GradedMeasure):
            values[str(wanted)] = built.compute(graded)
        else:
            judged = judged or [convert_grades_to_gains(graded)]  # ranked once, for whichever measures need it
            values[str(wanted)] = _require_ranking_measure(built, wanted).compute(judged[0])
    return values


def _require_ranking_measure(given: str | Measure, called: str | Measure = "") -> RankingMeasure:
    built = MEASURES.build(given) if isinstance(given, str) else given
    if not isinstance(built, RankingMeasure):
        raise UsageError(
            f"{called or given} is not a measure of rankings.",
            mend="`embassay list measures` shows what each measure needs.",
        )
    return built


def _make_measure_factory(name: str, function: Callable[..., Any], *, has_facets: bool) -> Callable[..., Measure]:
    parameters = list(inspect.signature(function, eval_str=True).parameters.values())
    options = [parameter for parameter in parameters if parameter.kind is inspect.Parameter.KEYWORD_ONLY]
    if any(parameter.name == "cutoff" and parameter not in options for parameter in parameters):
        raise UsageError(
            f"The cutoff of the measure {name} is not a keyword-only parameter, so it cannot be passed.",
            mend=f"Write def {function.__name__}({parameters[0].name}, *, cutoff: int | None = None).",
        )
    kinds: dict[Any, type[Measure]] = {Judged: RankingMeasure, Graded: GradedMeasure}
    kind = DocumentFacetMeasure if has_facets else kinds.get(parameters[0].annotation, Measure)

    def build_measure(**given: Any) -> Measure:
        chosen = _select_non_default_options(options, given)
        if "cutoff" in chosen and chosen["cutoff"] is None:
            raise UsageError(f"The measure {name} needs a cutoff.", mend=f"Write {name}@10.")
        cutoff = given.get("cutoff")
        check_cutoff(cutoff)
        chosen.pop("cutoff", None)
        return kind(Spec(name, "", chosen, cutoff), partial(function, **given))

    # The registry reads what a measure takes from its factory, as of any other entry.
    build_measure.__doc__, build_measure.__module__ = function.__doc__, function.__module__
    build_measure.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    return build_measure


def _select_non_default_options(options: Sequence[inspect.Parameter], given: Mapping[str, Any]) -> dict[str, Value]:
    """Select the options that are given and not the default; of a dataclass its fields."""
    chosen: dict[str, Value] = {}
    for option in options:
        value = given.get(option.name, option.default)
        if is_dataclass(option.default) and not isinstance(option.default, type):
            values = {part.name: getattr(value, part.name) for part in fields(option.default)}
            usual = {part.name: getattr(option.default, part.name) for part in fields(option.default)}
        else:
            values, usual = {option.name: value}, {option.name: option.default}
        chosen |= {name: setting for name, setting in values.items() if setting != usual[name]}
    return chosen
