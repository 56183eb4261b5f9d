"""Static models of model2vec: the mean of token vectors that were distilled from a sentence transformer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Role
from embassay.errors import ModelError, UsageError
from embassay.systems.models import fetch_model_folder, find_model_weights, format_first_error_line

_FILES = ("*.safetensors", "*.json", "*.txt")


@dataclass(eq=False)
class StaticEncoder:
    """The model `target`: ORG/MODEL of the hub at `revision`, or a folder.

    `max_length` is in tokens: by default what the model's configuration or else model2vec says (512), 0 for no
    limit. A role makes no difference. A text without known tokens has the zero vector. ModelError when the model
    or a package is missing, UsageError for a `max_length` that cannot be.
    """

    target: str
    name: str = "static"
    revision: str | None = None
    max_length: int | None = None

    chunk_size = 1024
    uses_roles = False

    def __post_init__(self) -> None:
        if self.max_length is not None and self.max_length < 0:
            raise UsageError(f"max_length must not be negative, found {self.max_length}.", mend="Use 0 for no limit.")
        library = _import_model2vec()
        weights = find_model_weights(self.target, self.revision, system="static")
        folder = fetch_model_folder(weights, _FILES)
        try:
            self._model = library.StaticModel.from_pretrained(folder)
        except Exception as error:  # the library's errors have no root in common
            raise ModelError(
                f"{self.name!r} cannot be loaded as a static model: {format_first_error_line(error)}",
                mend="A model2vec folder contains model.safetensors, tokenizer.json and config.json.",
            ) from error
        chosen = getattr(self._model, "max_length", 512) if self.max_length is None else self.max_length
        self.max_tokens: int | None = chosen or None
        self.dim = int(self._model.dim)
        self.identity = f"static:{weights.identity}:max_length={self.max_tokens}:model2vec={library.__version__}"

    def encode(
        self,
        texts: Sequence[str],
        *,
        role: Role | None = None,  # noqa: ARG002
    ) -> NDArray[np.float32]:
        """Mean token vectors, (n, dim), at length 1 where the model's configuration says so."""
        if not texts:
            return np.empty((0, self.dim), dtype=np.float32)
        means = self._model.encode(list(texts), max_length=self.max_tokens, use_multiprocessing=False)
        return np.asarray(means, dtype=np.float32)

    def count_truncated(self, texts: Sequence[str]) -> int:
        """How many of the texts have more than `max_tokens` tokens."""
        limit = self.max_tokens
        if limit is None or not texts:
            return 0
        tokenizer = self._model.tokenizer
        tokenizer.no_truncation()
        return sum(len(row.ids) > limit for row in tokenizer.encode_batch(list(texts), add_special_tokens=False))


def _import_model2vec() -> Any:
    try:
        import model2vec
    except ImportError as error:
        raise ModelError(
            f"static models need the package {error.name}, which is not installed.",
            mend="Install it: pip install 'embassay[static]'",
        ) from error
    return model2vec
