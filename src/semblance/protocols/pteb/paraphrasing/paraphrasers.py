"""Paraphrasers by spec string: language models, wordings written beforehand, and controls."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from semblance.protocols.pteb.paraphrasing.generation import Generation
from semblance.protocols.pteb.paraphrasing.prompts import Prompt
from semblance.protocols.pteb.paraphrasing.records import Paraphraser
from semblance.records import Paraphrases
from semblance.systems.remote.ledger import Ledger

__all__ = ["Generation", "open_paraphraser"]


def open_paraphraser(
    text: str,
    *,
    prompt: Prompt | None = None,
    generation: Generation = Generation(),  # noqa: B008 - frozen
    ledger: Ledger | None = None,
    cache: Path | None = None,
    recorded: Mapping[str, Paraphrases] | None = None,
    longest: int = 0,
) -> Paraphraser:
    """The paraphraser that a spec string names:

    - any chat model, `ollama:gemma3:27b`, with `prompt` (the default one) and `generation`; answers are kept in the
      answer cache in the file `cache` (by default the user's). `longest` is the UTF-8 bytes of the longest text of the
      whole run, from which a server that must be told gets the size of its context;
    - `recorded`: the wordings that datasets bring themselves (`recorded`: dataset -> its shape `paraphrases`), the
      first for the first run and so on;
    - `stored:FOLDER`: a set of an earlier run, replayed exactly; `stored:FOLDER?source=NAME` where it has several;
    - `copied`, which returns the text, and `permuted`, which permutes its words; `permuted:FOLDER` only as far as the
      wordings of that set are from their texts (controls).

    UsageError for unknown names (with near ones) and parameters, and for a prompt where none is used; DataError for
    a set that cannot be read; ModelError when a key or package is missing.
    """
    raise NotImplementedError
