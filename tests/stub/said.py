"""A chat model in this process that says what it is told to."""

from __future__ import annotations

from embassay.contracts import Completion, SamplingSettings, Usage


class Model:
    """Answers one of `says` after another, the last for ever; keeps what it was asked."""

    name = identity = "model"

    def __init__(self, *says):
        self.says, self.asked = list(says), []

    async def complete(self, messages, *, sampling=SamplingSettings(), schema=None):  # noqa: B008
        self.asked.append((messages, sampling, schema))
        said = self.says.pop(0) if len(self.says) > 1 else self.says[0]
        if isinstance(said, Exception):
            raise said
        return Completion(said, None, Usage(9, 1, 1, 0.001), "model-2026", "stop")
