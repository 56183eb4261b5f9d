"""Other names of measures: those of ir_measures and trec_eval, and short ones."""

from __future__ import annotations

import re
from dataclasses import replace

from embassay.spec import Spec, Value

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


def canonical(spec: Spec) -> Spec:
    """`spec` by the name that the measure has here.

    >>> from embassay.spec import CALL
    >>> for text in ("RAnWG(alpha=0.5)@10", "NRecall(rel=5)@10", "MRR@10", "recall_100"):
    ...     print(CALL.format(canonical(CALL.parse(text))))
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
        return _n_recall(spec, int(level["level"]))
    if spec.name in ("NRecall", "N-Recall"):
        return _n_recall(spec, spec.params.get("rel", 4))
    if spec.name in ("RA-nWG", "RAnWG") and spec.params.keys() & {"beta", "occurrence", "ideal"}:
        return replace(spec, name="RA-nWG-novelty")
    name, params = _ALIASES.get(spec.name, (spec.name, {}))
    return replace(spec, name=name, params={**params, **spec.params})


def _n_recall(spec: Spec, level: Value) -> Spec:
    """The companions of the source by their own names, other levels as a parameter."""
    params = {key: value for key, value in spec.params.items() if key != "rel"}
    if level in (4, 5):
        return replace(spec, name="N-Recall4+" if level == 4 else "N-Recall5", params=params)
    return replace(spec, name="N-Recall", params={**params, "rel": level})
