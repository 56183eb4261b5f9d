"""Paraphrasers by spec string: language models, wordings written beforehand, and controls."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path

from embassay.errors import UsageError
from embassay.protocols.pteb.paraphrasing.controls import Copied, Permuted
from embassay.protocols.pteb.paraphrasing.generation import Generation
from embassay.protocols.pteb.paraphrasing.prompts import Prompt, open_prompt
from embassay.protocols.pteb.paraphrasing.records import Paraphraser
from embassay.protocols.pteb.paraphrasing.written import Recorded, open_stored
from embassay.records import Paraphrases
from embassay.registry import Registry
from embassay.systems.remote.ledger import Ledger

__all__ = ["PARAPHRASERS", "Generation", "open_paraphraser"]

PARAPHRASERS: Registry[Paraphraser] = Registry("paraphraser", makes=[["write", "seeds", "about"]])
"""Those that are no language model, which are all paraphrasers too. A factory may ask for `name` (the canonical spec)
and `recorded`. Other packages join through the entry-point group `embassay.paraphrasers`."""


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

    UsageError for unknown names (with near ones) and parameters, and for another than the default prompt where none
    is used; DataError for a set that cannot be read; ModelError when a key or package is missing.
    """
    from embassay.systems.chat import CHAT_MODELS

    spec = PARAPHRASERS.style.parse(text)
    prompt = prompt or open_prompt()
    if spec.name in CHAT_MODELS:
        return _model(text, prompt, generation, ledger, cache, longest)
    if spec.name not in PARAPHRASERS:
        raise _unknown(spec.name)
    if prompt.name != "default":
        raise UsageError(
            f"The paraphraser {text!r} uses no prompt, and {prompt.name!r} was given.",
            mend="Leave the prompt out, or name a language model.",
        )
    return PARAPHRASERS.build(spec, name=PARAPHRASERS.format(spec), recorded=recorded or {})


def _model(
    text: str, prompt: Prompt, generation: Generation, ledger: Ledger | None, cache: Path | None, longest: int
) -> Paraphraser:
    from embassay.protocols.pteb.paraphrasing.llm import LLMParaphraser, suited
    from embassay.runs.answers import AnswerCache, CachedChat
    from embassay.systems.chat import open_chat

    chat = suited(open_chat(text, ledger=ledger), prompt, longest)
    return LLMParaphraser(CachedChat(chat, AnswerCache.open(cache)), prompt, generation)


def _unknown(name: str) -> UsageError:
    from embassay.systems.chat import CHAT_MODELS

    known = [*(entry.name for entry in PARAPHRASERS), *(entry.name for entry in CHAT_MODELS)]
    near = get_close_matches(name, known, n=2, cutoff=0.5)
    return UsageError(
        f"There is no paraphraser called {name!r}.",
        mend=(f"Did you mean {' or '.join(near)}? " if near else "") + f"There are {', '.join(known)}.",
    )


@PARAPHRASERS.register("recorded", "the wordings in a dataset's own column `paraphrases`")
def _recorded(recorded: Mapping[str, Paraphrases]) -> Paraphraser:
    return Recorded(recorded)


@PARAPHRASERS.register("stored", "a set of an earlier run, replayed exactly: stored:FOLDER")
def _stored(target: str, name: str, source: str = "") -> Paraphraser:
    if not target:
        raise UsageError("`stored` names no folder.", mend="Write stored:FOLDER.")
    return open_stored(name, target, source)


@PARAPHRASERS.register("copied", "the text again (control)")
def _copied() -> Paraphraser:
    return Copied()


@PARAPHRASERS.register(
    "permuted", "the words in another order (control); permuted:FOLDER as far as in that set"
)
def _permuted(name: str, target: str = "", source: str = "") -> Paraphraser:
    return Permuted(name, open_stored(name, target, source) if target else None)
