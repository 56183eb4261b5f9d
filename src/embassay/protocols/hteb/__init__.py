"""HTEB: what eight transformations on three axes leave of a benchmark's scores, so that a model has a profile.

Frank, Afli, "The Harder Text Embedding Benchmark (HTEB): Beyond One-dimensional Static Robustness", EMNLP 2026.
"""

from typing import TYPE_CHECKING

from embassay.registry import make_lazy_getattr

if TYPE_CHECKING:
    from embassay.protocols.hteb.options import HtebOptions, HtebRequest, TransformOptions
    from embassay.protocols.hteb.protocol import run, transform

__all__ = ["HtebOptions", "HtebRequest", "TransformOptions", "run", "transform"]

_HOMES = {
    "HtebOptions": "options",
    "HtebRequest": "options",
    "TransformOptions": "options",
    "run": "protocol",
    "transform": "protocol",
}

__getattr__ = make_lazy_getattr(__name__, _HOMES)
