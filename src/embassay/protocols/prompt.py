"""What a language model is told, with all that identifies it."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from embassay.runs.files import digest


@dataclass(frozen=True)
class Prompt:
    """The instructions of one kind of call, sent as the system message."""

    kind: str
    version: str
    text: str

    @property
    def identity(self) -> str:
        """Its kind, its version and a digest of every word.

        >>> Prompt("grade", "1", "Grade it.").identity
        'grade@1:c1eb52586be0'
        """
        return f"{self.kind}@{self.version}:{digest(self.text)[:12]}"

    def as_dict(self) -> dict[str, str]:
        """As saved in a manifest."""
        return {**asdict(self), "identity": self.identity}
