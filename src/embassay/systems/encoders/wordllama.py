"""WordLlama: the mean of static token vectors, from the files inside the wordllama package.

The package's own loader looks for its tokenizer in a folder that the wheel does not have and then goes to the
network; its files are read here instead, and nothing of the package is imported. Licence MIT; the vectors are
derived from the token embeddings of LLaMA-2 and Phi-3.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Role
from embassay.systems.models import package_folder, verified

_INSTALL = "Install it again: pip install --force-reinstall --no-deps wordllama==0.4.0.post1"
_WEIGHTS = "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5"
_TOKENIZER = "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68"


class WordLlama:
    """Mean of 256-dimensional token vectors, not normalised: bit for bit what the wordllama package gives.

    There is no limit on length (`max_tokens` is None, nothing is cut). A text without tokens has the zero
    vector. ModelError when the package's files are missing or are not those of version 0.4.0.post1.
    """

    name = "wordllama"
    identity = f"wordllama:{_WEIGHTS[:16]}:{_TOKENIZER[:16]}"
    dim = 256
    max_tokens = None
    chunk_size = 1024
    uses_roles = False

    def __init__(self) -> None:
        from safetensors.numpy import load
        from tokenizers import Tokenizer

        folder = package_folder("wordllama", encoder=self.name, mend=_INSTALL)
        files = (
            (folder / "weights" / "l2_supercat_256.safetensors", _WEIGHTS),
            (folder / "tokenizers" / "l2_supercat_tokenizer_config.json", _TOKENIZER),
        )
        weights, tokenizer = (
            verified(path, checksum, encoder=self.name, mend=_INSTALL) for path, checksum in files
        )
        self._vectors: NDArray[np.float32] = load(weights)["embedding.weight"].astype(np.float32)
        self.tokenizer = Tokenizer.from_buffer(tokenizer)
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()

    def encode(
        self,
        texts: Sequence[str],
        *,
        role: Role | None = None,  # noqa: ARG002
    ) -> NDArray[np.float32]:
        """Mean token vectors, (n, 256); the role makes no difference."""
        means = np.zeros((len(texts), self.dim), dtype=np.float32)
        encodings = self.tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        for mean, encoding in zip(means, encodings, strict=True):
            ids = encoding.ids
            if ids:
                np.divide(self._vectors[ids].sum(axis=0), np.float32(len(ids)), out=mean)
        return means

    def encode_tokens(
        self,
        texts: Sequence[str],
        *,
        role: Role | None = None,  # noqa: ARG002
    ) -> list[NDArray[np.float32]]:
        """The static vector of each token, (tokens, 256) per text, which knows nothing of its neighbours."""
        encodings = self.tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [self._vectors[encoding.ids] for encoding in encodings]

    def count_truncated(self, texts: Sequence[str]) -> int:  # noqa: ARG002
        """0: no text is too long."""
        return 0
