"""A choice: which system to use on documents without labels, and how sure that is."""

from typing import TYPE_CHECKING

from embassay.registry import make_lazy_getattr

if TYPE_CHECKING:
    from embassay.protocols.choose.options import ChoiceOptions
    from embassay.protocols.choose.protocol import choose

__all__ = ["ChoiceOptions", "choose"]

_HOMES = {"ChoiceOptions": "options", "choose": "protocol"}

__getattr__ = make_lazy_getattr(__name__, _HOMES)
