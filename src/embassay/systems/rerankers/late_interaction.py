"""Late interaction: each token of the query looks for its best match among a document's tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Role, Tokenizer
from embassay.errors import ModelError, UsageError
from embassay.search.maxsim import compute_maxsim
from embassay.spec import QUERY, Spec, Value
from embassay.systems.cosine import scale_rows_to_unit_length
from embassay.systems.remote.ledger import Ledger

Vectors = NDArray[np.float32]


class TokenVectorEncoder(Protocol):
    """An encoder whose token vectors can be had: MiniLM, WordLlama, Onnx, SentenceTransformer."""

    @property
    def identity(self) -> str: ...

    def encode_token_vectors(self, texts: Sequence[str], *, role: Role | None = None) -> list[Vectors]:
        """The last hidden state of each of a text's own tokens, (tokens, dim) per text: no special tokens, none of a
        prompt; those after the model's limit are cut."""
        ...


class LateInteractionReranker:
    """MaxSim over the token vectors of the encoder `target` (a spec string: `minilm`, `st:ORG/MODEL`).

    score(q, d) = sum over the tokens of q of the largest cosine with a token of d, in [-m, m] for m tokens (Khattab and
    Zaharia, ColBERT, SIGIR 2020). The vectors are those of an ordinary encoder, not trained for this and not projected
    to fewer dimensions as ColBERT's are. All parameters are the encoder's.

    A text without tokens: a document scores -m, below all others, and for a query every document scores 0. Documents'
    token vectors are made for each call and not kept. UsageError for a target that gives no token vectors.
    """

    pairwise = True

    def __init__(
        self,
        target: str,
        *,
        tokenizer: Tokenizer,
        ledger: Ledger | None = None,
        seed: int = 1337,
        name: str = "",
        **encoder: Value,
    ) -> None:
        self._encoder = _open_token_vector_encoder(target, encoder, tokenizer=tokenizer, ledger=ledger, seed=seed)
        self.name = name or f"maxsim:{target}"
        self.identity = f"maxsim/1:{self._encoder.identity}"

    def score(self, query: str, documents: Sequence[str]) -> Vectors:
        """Sums of largest cosines, (n,). ModelError where the encoder fails."""
        if not documents:
            return np.empty(0, dtype=np.float32)
        left = scale_rows_to_unit_length(
            _check_token_vectors_finite(self._encoder.encode_token_vectors([query], role="query")[0])
        )
        right = self._encoder.encode_token_vectors(documents, role="document")
        # One product per document: its score must not depend on the others, by no rounding either.
        return np.array(
            [
                compute_token_max_sim(left, scale_rows_to_unit_length(_check_token_vectors_finite(tokens)))
                for tokens in right
            ],
            dtype=np.float32,
        )


class ColbertReranker:
    """The multi-vector model `target` (ORG/MODEL of the hub, or a folder), with the projection that it was trained
    with: the model's own score of a query, read as queries are, and each document. Parameters are those of the system
    `colbert`.

    A document without text scores -m for the m vectors of the query, below all others. UsageError for parameters that
    cannot be, ModelError where the model cannot be had or fails.
    """

    pairwise = True

    def __init__(self, target: str, *, name: str = "", **model: Any) -> None:
        from embassay.systems.encoders.colbert import ColbertEncoder

        self._model = ColbertEncoder(target, name or f"colbert:{target}", **model)
        self.name, self.identity = self._model.name, f"colbert/1:{self._model.identity}"

    def score(self, query: str, documents: Sequence[str]) -> Vectors:
        """Sums (or means, where the model was trained so) of largest products, (n,). ModelError where the model
        fails."""
        if not documents:
            return np.empty(0, dtype=np.float32)
        query_tokens = _check_token_vectors_finite(self._model.encode([query], role="query")[0])
        texts = [text for text in documents if text]
        vectors = iter(self._model.encode(texts, role="document"))
        nothing = np.empty((0, self._model.width), dtype=np.float32)
        scores = [
            compute_maxsim(query_tokens, _check_token_vectors_finite(next(vectors)) if text else nothing)
            for text in documents
        ]
        over = max(1, len(query_tokens)) if self._model.similarity == "meanmaxsim" else 1
        return np.array(scores, dtype=np.float32) / np.float32(over)


def compute_token_max_sim(query: Vectors, document: Vectors) -> float:
    """The sum over the rows of `query` (m, d) of the largest inner product with a row of `document` (n, d); -m without
    any.

    >>> compute_token_max_sim(np.eye(2, dtype=np.float32),
    ... np.array([[1, 0], [0.6, 0.8]], dtype=np.float32)).__round__(3)
    1.8
    """
    if not len(document):
        return float(-len(query))
    # Without BLAS: its threads wait for each other longer than so small a product takes, many times so where other
    # work has the cores.
    cosines = np.einsum("nd,md->nm", document, query)
    return float(cosines.max(axis=0).sum(dtype=np.float64))


def _check_token_vectors_finite(tokens: Vectors) -> Vectors:
    """The vectors of tokens as they are; ModelError where there are values that are none."""
    if not np.isfinite(tokens).all():
        raise ModelError("The token vectors contain values that are not finite.")
    return tokens


def _open_token_vector_encoder(target: str, params: dict[str, Value], **context: Any) -> TokenVectorEncoder:
    from embassay.systems import open_system

    if not target:
        raise UsageError("The reranker 'maxsim' needs an encoder.", mend="Write maxsim:minilm.")
    spec = QUERY.parse(target)
    system = open_system(QUERY.format(Spec(spec.name, spec.target, {**spec.params, **params})), **context)
    encoder = getattr(system, "encoder", None)
    if not hasattr(encoder, "encode_token_vectors"):
        raise UsageError(
            f"{system.name!r} gives no token vectors, which late interaction needs.",
            mend="Use minilm, wordllama, onnx: or st:, without dims, normalize or quantize.",
        )
    return cast(TokenVectorEncoder, encoder)
