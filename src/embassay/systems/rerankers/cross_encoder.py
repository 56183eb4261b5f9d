"""Cross-encoders of sentence-transformers: a query and a document are read together, by a local model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.errors import ModelError, UsageError
from embassay.machine import read_requested_device
from embassay.systems.models import (
    PICKLED,
    SAFE_WEIGHTS,
    ModelWeightsLocation,
    find_weights_and_library,
    format_first_error_line,
    import_model_library,
    is_pickle_refusal,
    is_revision_pinned,
)


class CrossEncoder:
    """The cross-encoder `target`: a hub id (ORG/MODEL, at `revision`) or a folder.

    `max_length` is in tokens of query and document together, longer ones are cut; `device` is torch's name for
    one (cuda, mps, cpu), by default $EMBASSAY_DEVICE or the best there is. Code that comes with a model runs only with
    `trust_remote_code` and a pinned `revision`. Scores are the model's logits: what it puts through a sigmoid
    for probabilities would make many good documents equal. ModelError when the model cannot be loaded or does
    not give one score per pair.
    """

    pairwise = True

    def __init__(
        self,
        target: str,
        *,
        revision: str | None = None,
        device: str | None = None,
        max_length: int | None = None,
        batch_size: int = 32,
        trust_remote_code: bool = False,
        name: str = "",
    ) -> None:
        _check_cross_encoder_target(target, revision, trust_remote_code=trust_remote_code)
        weights, library = find_weights_and_library(_import_sentence_transformers, target, revision, system="cross")
        self._target, self._batch_size = target, batch_size
        self._model = _load_model(
            library,
            weights,
            device=device or read_requested_device(),
            max_length=max_length,
            trust_remote_code=trust_remote_code,
        )
        self.name = name or f"cross:{target}"
        self.identity = f"cross-encoder/1:{weights.identity}:max_length={max_length}"
        if (kind := self._model.device.type) != "cpu":  # whose last digits are its own
            self.identity += f":device={kind}"

    def score(self, query: str, documents: Sequence[str]) -> NDArray[np.float32]:
        """The model's logits, (n,), finite. ModelError where it gives none."""
        if not documents:
            return np.empty(0, dtype=np.float32)
        import torch

        # The identity in place of the model's own activation: scores are logits whatever the model does.
        try:
            scores = self._model.predict(
                [(query, document) for document in documents],
                batch_size=self._batch_size,
                activation_fn=torch.nn.Identity(),
                show_progress_bar=False,
            )
        except (RuntimeError, ValueError) as error:
            raise ModelError(f"The cross-encoder {self._target} failed: {format_first_error_line(error)}") from error
        return _check_one_score_each(np.asarray(scores, dtype=np.float32), len(documents), self._target)


def _check_cross_encoder_target(target: str, revision: str | None, *, trust_remote_code: bool) -> None:
    if not target:
        raise UsageError("The reranker 'cross' needs a model.", mend="Write cross:ORG/MODEL or cross:./folder.")
    if trust_remote_code and not is_revision_pinned(revision) and not Path(target).expanduser().is_dir():
        raise UsageError(
            f"Code from the hub runs only at a pinned commit, but none is given for {target}.",
            mend="Read the code, then add revision=COMMIT with all 40 characters.",
        )


def _import_sentence_transformers() -> Any:
    return import_model_library(
        "sentence_transformers", what="Cross-encoders", mend="Install it: pip install 'embassay[torch]'"
    )


def _load_model(library: Any, weights: ModelWeightsLocation, **options: Any) -> Any:
    try:
        return library.CrossEncoder(
            weights.location, revision=weights.commit, local_files_only=weights.cached, **options
        )
    except Exception as error:  # hub, safetensors, transformers and torch have no root in common
        if is_pickle_refusal(error):
            raise ModelError(
                f"The cross-encoder {weights.location} is not loaded: {PICKLED}.", mend=SAFE_WEIGHTS
            ) from error
        raise ModelError(
            f"The cross-encoder {weights.location} cannot be loaded: {format_first_error_line(error)}",
            mend="Check that it is a ranking model and that its files are complete.",
        ) from error


def _check_one_score_each(scores: NDArray[np.float32], n: int, target: str) -> NDArray[np.float32]:
    if scores.ndim == 2 and scores.shape[1] == 1:
        scores = scores[:, 0]
    if scores.shape != (n,):
        raise ModelError(
            f"The cross-encoder {target} returns {scores.shape[-1]} values per pair, not one score.",
            mend="Use a model that was trained for ranking (num_labels=1).",
        )
    if not np.isfinite(scores).all():
        raise ModelError(f"The cross-encoder {target} returned scores that are not finite.")
    return scores
