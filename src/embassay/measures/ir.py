"""Our set measures inside ir_measures: importing this module makes them known there.

    import ir_measures
    import embassay.measures.ir

    measure = ir_measures.parse_measure("RAnWG(alpha=0.5)@10")
    ir_measures.iter_calc([measure], qrels, run)

Judgements are grades from 1 to 5. A query for which a measure is undefined has the value NaN, and the aggregate is the
mean over the others, NaN where there are none. The source of a document, for `RAnWGNovelty`, is its `iteration` in the
judgements; a document without a grade is a source of its own. PROC is that of the whole run.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from typing import Any, ClassVar, Literal, get_args, get_origin

from embassay.errors import ModelError
from embassay.measures.judgements import RELEVANT, Facet, grade
from embassay.measures.registry import MEASURES, Measure, evaluate_graded
from embassay.spec import Spec

try:
    import ir_measures
except ImportError as error:
    raise ModelError(
        "The measures cannot be added to ir_measures, which is not installed.",
        mend="Install it: pip install 'embassay[ir]'.",
    ) from error


class DefinedValuesMean(ir_measures.MeanAgg):  # type: ignore[misc]
    """The mean over the queries where the measure is defined."""

    def add(self, value: float) -> None:
        """Count a value, unless it is undefined."""
        if not math.isnan(value):
            super().add(value)


class EmbassayMeasure(ir_measures.Measure):  # type: ignore[misc]
    """A measure of this package, as ir_measures has them."""

    DEFAULT = math.nan

    def aggregator(self) -> DefinedValuesMean:
        return DefinedValuesMean()

    def convert_to_embassay_measure(self) -> Measure:
        """Build the measure of this package that this one stands for."""
        parameters = {key: value for key, value in self.params.items() if key != "cutoff"}
        return MEASURES.build(Spec(self.NAME, "", parameters, self.params["cutoff"]))


class IrMeasuresEvaluator(ir_measures.Evaluator):  # type: ignore[misc]
    """An evaluator for ir_measures, with measures and judgements ready for runs."""

    def __init__(self, measures: Iterable[EmbassayMeasure], qrels: Any) -> None:
        wanted = list(measures)
        self.ours = {str(ours.convert_to_embassay_measure()): ours for ours in wanted}
        self.grades: dict[str, dict[str, int]] = {}
        self.sources: dict[str, dict[str, Hashable]] = {}
        for judgement in ir_measures.util.QrelsConverter(qrels).as_namedtuple_iter():
            self.grades.setdefault(judgement.query_id, {})[judgement.doc_id] = judgement.relevance
            self.sources.setdefault(judgement.query_id, {})[judgement.doc_id] = (judgement.iteration,)
        super().__init__(wanted, set(self.grades))

    def _iter_calc(self, run: Any) -> Iterator[Any]:
        every = ir_measures.util.RunConverter(run).as_dict_of_dict()
        retrieved = {query: every.get(query, {}) for query in self.grades}
        graded = grade(self.grades, retrieved, source=self._map_document_sources(retrieved))
        for name, values in evaluate_graded(list(self.ours), graded).items():
            for query, value in zip(self.grades, values.tolist(), strict=True):
                yield ir_measures.Metric(query_id=query, measure=self.ours[name], value=value)

    def _map_document_sources(self, retrieved: Mapping[str, Mapping[str, float]]) -> Facet | None:
        """Map each query's documents to their sources, if a measure asks for it."""
        if not any(measure.NAME == "RAnWGNovelty" for measure in self.ours.values()):
            return None
        # A key that is no iteration keeps documents without a grade apart from all others.
        apart: dict[str, dict[str, Hashable]] = {
            query: {document: document for document in run} for query, run in retrieved.items()
        }
        merged: dict[str, Mapping[str, Hashable]] = {
            query: alone | self.sources[query] for query, alone in apart.items()
        }
        return merged


class EmbassayProviderForIrMeasures(ir_measures.Provider):  # type: ignore[misc]
    """Computes the measures of this package."""

    NAME = "embassay"
    SUPPORTED_MEASURES: ClassVar[list[EmbassayMeasure]] = []

    def _evaluator(self, measures: Iterable[EmbassayMeasure], qrels: Any) -> IrMeasuresEvaluator:
        return IrMeasuresEvaluator(measures, qrels)


def _declare_measure_to_ir_measures(name: str, ours: str) -> EmbassayMeasure:
    """Declare a measure of this package to ir_measures, with what it can be told."""
    entry = MEASURES.get(ours)
    parameters = dict(_list_measure_parameters(entry.load()))
    kind = type(
        f"_{name}",
        (EmbassayMeasure,),
        {
            "__doc__": entry.summary,
            "__name__": name,
            "NAME": name,
            "PRETTY_NAME": ours,
            "SHORT_DESC": entry.summary,
            "SUPPORTED_PARAMS": parameters,
        },
    )
    declared: EmbassayMeasure = kind()
    return declared


def _list_measure_parameters(function: Any) -> Iterator[tuple[str, Any]]:
    """The parameters of a measure; those of a dataclass in its place."""
    for name, parameter in inspect.signature(function, eval_str=True).parameters.items():
        if is_dataclass(parameter.default) and not isinstance(parameter.default, type):
            yield from _list_measure_parameters(type(parameter.default))
        elif name == "cutoff":
            required = parameter.default is inspect.Parameter.empty
            yield name, ir_measures.ParamInfo(dtype=int, required=required, desc="ranking cutoff threshold")
        else:
            default = RELEVANT if parameter.default is inspect.Parameter.empty else parameter.default
            yield name, _declare_measure_parameter(parameter.annotation, default)


def _declare_measure_parameter(annotation: Any, default: Any) -> Any:
    if get_origin(annotation) is Literal:
        return ir_measures.ParamInfo(choices=get_args(annotation), default=default)
    return ir_measures.ParamInfo(dtype=(int, float) if annotation is float else annotation, default=default)


RAnWG = _declare_measure_to_ir_measures("RAnWG", "RA-nWG")
RAnWGNovelty = _declare_measure_to_ir_measures("RAnWGNovelty", "RA-nWG-novelty")
NRecall = _declare_measure_to_ir_measures("NRecall", "N-Recall")
Precision4 = _declare_measure_to_ir_measures("Precision4", "Precision4+")
Harm = _declare_measure_to_ir_measures("Harm", "Harm")
Hit = _declare_measure_to_ir_measures("Hit", "Hit")
PROC = _declare_measure_to_ir_measures("PROC", "PROC")
DECLARED = (RAnWG, RAnWGNovelty, NRecall, Precision4, Harm, Hit, PROC)


def _register_measures() -> EmbassayProviderForIrMeasures:
    """Register the measures of this package with ir_measures."""
    for ours in DECLARED:
        anything = {name: ir_measures.providers.base.Any() for name in ours.SUPPORTED_PARAMS}
        EmbassayProviderForIrMeasures.SUPPORTED_MEASURES.append(ours(**anything))
        ir_measures.measures.register(ours)
    registered = EmbassayProviderForIrMeasures()
    ir_measures.providers.register(registered)
    ir_measures.DefaultPipeline.providers.append(registered)
    return registered


provider = _register_measures()
