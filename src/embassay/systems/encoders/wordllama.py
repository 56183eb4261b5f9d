"""WordLlama: the mean of static token vectors, from two files of the wordllama package that are bundled.

The package itself is not needed: it is machine code for some machines and Pythons only, and asks for libraries that
reading two files does not take. `wordllama_files/NOTICE.md` says where the files are from. Licence MIT; the vectors are
derived from the token embeddings of LLaMA-2 and Phi-3.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Role
from embassay.systems.models import read_verified_file

FILES = Path(__file__).with_name("wordllama_files")
_INSTALL = "Install it again: pip install --force-reinstall --no-deps embassay"
_WEIGHTS = "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5"
_TOKENIZER = "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68"


class WordLlamaEncoder:
    """Mean of 256-dimensional token vectors, not normalised; bit for bit as in the wordllama package.

    There is no limit on length (`max_tokens` is None, nothing is cut). A text without tokens has the zero
    vector. ModelError when the bundled files are missing or are not those of version 0.4.0.post1.
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

        files = (
            (FILES / "l2_supercat_256.safetensors", _WEIGHTS),
            (FILES / "l2_supercat_tokenizer_config.json", _TOKENIZER),
        )
        weights, tokenizer = (
            read_verified_file(path, checksum, encoder=self.name, mend=_INSTALL) for path, checksum in files
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

    def encode_token_vectors(
        self,
        texts: Sequence[str],
        *,
        role: Role | None = None,  # noqa: ARG002
    ) -> list[NDArray[np.float32]]:
        """The static vector of each token, (tokens, 256) per text, which knows nothing of its neighbours."""
        encodings = self.tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [self._vectors[encoding.ids] for encoding in encodings]

    def count_truncated(self, texts: Sequence[str]) -> int:  # noqa: ARG002
        """Count the texts that are cut: 0, as no text is too long."""
        return 0
