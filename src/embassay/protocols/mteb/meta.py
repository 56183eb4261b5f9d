"""What MTEB is told of a model: `model_meta.json`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from embassay.protocols.mteb.document import is_name

OWNER = "embassay"
_UNKNOWN = (
    "release_date", "n_parameters", "memory_usage_mb", "max_tokens", "embed_dim", "license", "open_weights",
    "public_training_code", "public_training_data", "similarity_fn_name", "use_instructions", "training_datasets",
)  # fmt: skip
"""Fields that MTEB wants to be there, null where nobody knows."""


def model_meta(name: str, revision: str, languages: Iterable[str], **known: Any) -> dict[str, Any]:
    """The account of a model as `mteb.ModelMeta` reads it; `known` fills fields of those it has."""
    return {
        "name": name,
        "revision": revision,
        "languages": sorted(set(languages)) or None,
        "loader": None,
        "framework": [],
        **dict.fromkeys(_UNKNOWN),
        **known,
    }


def published_name(system: str) -> str:
    """A system's name as MTEB wants it, `organization/model`: ours where it names none.

    >>> published_name("minilm"), published_name("intfloat/e5-base")
    ('embassay/minilm', 'intfloat/e5-base')
    """
    return system if "/" in system else f"{OWNER}/{system}"


def facts_of(meta: Mapping[str, Any]) -> dict[str, Any]:
    """What an account says of a model, by our names: dims, max_tokens, parameters, licence, released."""
    size = meta.get("embed_dim")
    found = {
        "dims": max((one for one in size if isinstance(one, int)), default=None)
        if isinstance(size, list)
        else size,
        "max_tokens": meta.get("max_tokens"),
        "parameters": meta.get("n_parameters"),
        "licence": meta.get("license"),
        "released": meta.get("release_date"),
    }
    return {key: plain for key, value in found.items() if (plain := _plain(value)) is not None}


def _plain(value: Any) -> float | str | None:
    """A number or a name; None for what is neither."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else value if math.isfinite(value) else None
    if isinstance(value, str):
        return value if is_name(value) else None
    return value if isinstance(value, int) else None
