"""What a SAGE run was asked to do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from embassay.protocols import request
from embassay.protocols.sage.options import SageOptions

VERSION = 5
"""Raised when the same request would give other numbers; part of every cell's key."""


@dataclass(frozen=True)
class Request(request.Request):
    """The arguments of a SAGE run."""

    options: SageOptions = field(default_factory=SageOptions)

    def as_dict(self) -> dict[str, Any]:
        """The arguments as saved in the manifest and compared on resume."""
        return {**super().as_dict(), "options": self.options.as_dict()}
