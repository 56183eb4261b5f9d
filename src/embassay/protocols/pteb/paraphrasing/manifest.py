"""The manifest of a set of paraphrases: who wrote what for which data, with a checksum of every file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError

from embassay.errors import DataError
from embassay.limits import read_bounded


class File(BaseModel):
    """The wordings of one run on one dataset. `digest` is of their content, `sha256` of the file, `outcomes` count
    texts."""

    seed: int
    file: str
    sha256: str
    digest: str
    texts: int
    outcomes: dict[str, int]


class Kept(BaseModel):
    """What there is of one dataset, whose data had this fingerprint."""

    fingerprint: str = ""
    runs: list[File] = Field(default_factory=list)


class Source(BaseModel):
    """Who wrote wordings: a paraphraser with a prompt.

    `name` is what the set calls it, unique in the set; `paraphraser` its spec and `identity` all its wordings depend
    on; `prompt` its name, version and words (`Prompt.as_dict`; None where there is none); `about` what is told of the
    model: `model` as its server names it, `sampling`, `licence`.
    """

    name: str
    paraphraser: str
    identity: str
    prompt: dict[str, str] | None = None
    about: dict[str, Any] = Field(default_factory=dict)
    datasets: dict[str, Kept] = Field(default_factory=dict)

    def files(self, dataset: str) -> tuple[File, ...]:
        """The runs on a dataset; none for one that it has not."""
        return tuple(self.datasets[dataset].runs) if dataset in self.datasets else ()

    def put(self, dataset: str, fingerprint: str, file: File) -> None:
        """Add a run on a dataset, in place of one with the same seed."""
        kept = self.datasets.setdefault(dataset, Kept())
        kept.fingerprint = fingerprint or kept.fingerprint
        kept.runs = sorted(
            [*(one for one in kept.runs if one.seed != file.seed), file], key=lambda one: one.seed
        )


class SetManifest(BaseModel):
    """The file `manifest.json` of a set."""

    format: Literal["embassay-paraphrases"] = "embassay-paraphrases"
    version: Literal[1] = 1
    sources: list[Source] = Field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> SetManifest:
        """The manifest in a file; DataError with what is wrong with it."""
        try:
            return cls.model_validate_json(read_bounded(path))
        except (OSError, ValidationError) as error:
            raise DataError(
                "the manifest of the paraphrases cannot be read", path=path, found=_first(error),
                mend="Get the folder again, or run with a paraphraser into a new one.",
            ) from error  # fmt: skip


def _first(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    one = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, one['loc'])) or 'the whole'}: {one['msg']}"
