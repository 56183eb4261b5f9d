"""Weights that are a pickle: torch reads those that hold tensors only, and nothing here reads any others."""

from __future__ import annotations

PICKLED = "its weights are a pickle of more than tensors, which could run code on this machine"
SAFE_WEIGHTS = "Take the model as safetensors; do not load this file by other means either."


def is_pickle(error: BaseException | None) -> bool:
    """Whether torch refused weights for what it would have to run. Its own words say how to run it all the same."""
    while error is not None:
        if "weights_only" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False
