"""Questions about documents, each with the passage that answers it (spec rag 12).

A call of this package, which `embassay.rag.questions` is, is `protocol.questions`: see `golden`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _QuestionsModule(ModuleType):
    def __call__(self, *arguments: Any, **named: Any) -> Any:
        from embassay.protocols.rag.questions.protocol import questions

        return questions(*arguments, **named)


sys.modules[__name__].__class__ = _QuestionsModule
