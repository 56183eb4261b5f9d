"""Golden sets: from questions and a corpus to graded, ordered judgements, stage by stage (spec rag 4).

`embassay.rag.golden` is this package, and a call of it is `golden.protocol.golden`: once any module of a package is
imported, Python lets its name stand for the package, whatever stood there before.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _GoldenModule(ModuleType):
    def __call__(self, *arguments: Any, **named: Any) -> Any:
        from embassay.protocols.rag.golden.protocol import golden

        return golden(*arguments, **named)


sys.modules[__name__].__class__ = _GoldenModule
