"""Under which terms language models are given out, which bear on sharing what they write."""

from __future__ import annotations

import re

_GEMMA, _LLAMA = "Gemma Terms of Use", "Llama Community License"
_LICENCES = {
    "gemma": _GEMMA,
    "embeddinggemma": _GEMMA,
    "gpt-oss": "Apache-2.0",
    "qwen3": "Apache-2.0",
    "mistral-small": "Apache-2.0",
    "magistral-small": "Apache-2.0",
    "mistral-nemo": "Apache-2.0",
    "mixtral": "Apache-2.0",
    "llama": _LLAMA,
    "deepseek-r1": "MIT",
    "phi3": "MIT",
    "phi4": "MIT",
    "olmo": "Apache-2.0",
    "granite": "Apache-2.0",
    "smollm": "Apache-2.0",
    "aya": "CC BY-NC 4.0",
    "command-r": "CC BY-NC 4.0",
}
_OPENAI = re.compile(r"openai:(gpt-|chatgpt-|o\d)")


def licence_of(spec: str) -> str:
    """The licence of the model in a spec string by its family, as its makers state it; "" where it is not known.

    >>> licence_of("ollama:gemma3:27b"), licence_of("openai:gpt-5-mini"), licence_of("openai:own-model")
    ('Gemma Terms of Use', "OpenAI's terms of service", '')
    """
    model = spec.partition(":")[2].partition("?")[0].rpartition("/")[2].lower()
    family = max((one for one in _LICENCES if model.startswith(one)), key=len, default="")
    if family:
        return _LICENCES[family]
    return "OpenAI's terms of service" if _OPENAI.match(spec) and "base_url" not in spec else ""
