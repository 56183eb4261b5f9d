"""Sweeps: every combination of encoder, index, depth and reranker, measured for quality, time and money (rag 3).

`embassay.rag.sweep` is this package, and a call of it is `sweep.protocol.sweep_stacks`: see `golden`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _SweepModule(ModuleType):
    def __call__(self, *arguments: Any, **named: Any) -> Any:
        from embassay.protocols.rag.sweep.protocol import sweep_stacks

        return sweep_stacks(*arguments, **named)


sys.modules[__name__].__class__ = _SweepModule
