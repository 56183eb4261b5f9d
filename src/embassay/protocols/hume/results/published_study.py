"""Which part of the paper's study a set of result files holds, and by which rule people are scored in it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from embassay.errors import DataError, UsageError
from embassay.protocols.hume.published.evaluations import Evaluation, of_human
from embassay.protocols.hume.published.matrix import by_pair, others
from embassay.protocols.hume.published.study import Model, Study
from embassay.protocols.hume.results.request import Models
from embassay.protocols.hume.scoring.people import POOLED_FIRST, Aggregation

_MEND = "Give the HUME results of the MTEB results repository, those of its baseline/Human with them."


def present(
    evaluations: Sequence[Evaluation], study: Study, models: Models = "study"
) -> tuple[Study, tuple[str, ...]]:
    """The study with the pairs that people have and the models that have all of these, and a note of what is left out.

    With `models` "all" other systems of the files are models too. DataError where people or models are missing
    altogether: there is nothing to compare then.
    """
    human = {key for key, one in by_pair(of_human(evaluations, study)).items() if _scored(one)}
    pairs = {(pair.dataset, pair.lang) for pair in study.pairs} & human
    if not pairs:
        revision = f", revision {study.human_revision}" if study.human_revision else ""
        raise DataError(
            f"The results hold no people ({study.human}{revision})",
            found=_found(evaluations, study),
            mend=_MEND,
        )
    known = list(study.models)
    if models == "all":
        known += [Model(name) for name in others(evaluations, study)]
    lacking = {model.name: _lacking(evaluations, model, pairs) for model in known}
    kept = tuple(model for model in known if not lacking[model.name])
    if not kept:
        raise DataError("The results hold no model on all pairs that people annotated", mend=_MEND)
    _check_names(kept)
    left = len(study.pairs) - len(pairs)
    notes = [f"{left} of {len(study.pairs)} pairs are left out: the results hold no people on them."] * (
        left > 0
    )
    notes += [_note(name, missing, len(pairs)) for name, missing in lacking.items() if missing]
    datasets = tuple(
        replace(one, pairs=tuple(pair for pair in one.pairs if (pair.dataset, pair.lang) in pairs))
        for one in study.datasets
    )
    held = tuple(one for one in datasets if one.pairs)
    return replace(study, datasets=held, models=kept), tuple(notes)


def aggregated(
    evaluations: Sequence[Evaluation], study: Study, aggregation: Aggregation
) -> tuple[Evaluation, ...]:
    """The evaluations with people's main scores by another rule than the files': the `mean` of the annotators' scores,
    or that of the `first`. UsageError for `pooled`, which for clustering and reranking takes the answers themselves."""
    if aggregation == "paper":
        return tuple(evaluations)
    if aggregation == "pooled":
        families = ", ".join(sorted(POOLED_FIRST))
        raise UsageError(
            "Result files hold no answers that could be pooled.",
            mend=f"Use paper, which pools {families}; or mean, or first.",
        )
    people = {id(one) for one in of_human(evaluations, study)}
    return tuple(_by_rule(one, aggregation) if id(one) in people else one for one in evaluations)


def _by_rule(one: Evaluation, aggregation: Aggregation) -> Evaluation:
    each = one.per_experiment
    if len(each) < 2:
        return one
    return replace(one, main_score=each[0] if aggregation == "first" else math.fsum(each) / len(each))


def _check_names(models: Sequence[Model]) -> None:
    """DataError for two models that tables would call the same."""
    for name, count in Counter(one.short for one in models).items():
        if count > 1:
            names = ", ".join(one.name for one in models if one.short == name)
            raise DataError(
                f"{count} models are called {name}", found=names, mend="Give the results of one of them."
            )


def _scored(one: Evaluation) -> bool:
    return not math.isnan(one.main_score)


def _lacking(evaluations: Sequence[Evaluation], model: Model, pairs: set[tuple[str, str]]) -> int:
    own = by_pair(one for one in evaluations if one.system == model.name and _scored(one))
    return len(pairs - own.keys())


def _note(name: str, missing: int, pairs: int) -> str:
    if missing == pairs:
        return f"{name} is left out: the results hold nothing of it."
    return f"{name} is left out: it lacks {missing} of {pairs} pairs, so its mean would not compare."


def _found(evaluations: Sequence[Evaluation], study: Study) -> str:
    revisions = sorted({one.revision for one in evaluations if one.system == study.human})
    if revisions:
        return f"{study.human} in revision {', '.join(revisions)}"
    names = sorted({one.system for one in evaluations})
    return f"{len(names)} systems, {', '.join(names[:3])}" + (" ..." if len(names) > 3 else "")
