"""Other wordings of texts: who writes them, what is accepted, and how they are kept.

Paraphrasers by spec string: language models, wordings written beforehand, and controls that need nobody.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from embassay.contracts import ChatMessage, ChatModel, Completion
from embassay.data.language import can_identify_language, explain_why_languages_of_texts_differ
from embassay.errors import DataError, UsageError
from embassay.protocols.kernel.inputs import read_packaged_prompt
from embassay.protocols.pteb.checks import describe_lost_number_or_name, explain_wording_as_answer, is_near_copy
from embassay.protocols.pteb.options import PROMPT_NAMES
from embassay.protocols.wordings.protocol import LLMTextRewriter, UnlimitedRunsParaphraser, WordingRequestResult
from embassay.protocols.wordings.records import (
    OF_MEANING,
    REJECTED,
    USABLE,
    Outcome,
    ParaphraseOutcome,
    Paraphraser,
    ParaphraseSamplingAndRetryOptions,
    TextToParaphrase,
)
from embassay.protocols.wordings.refusals import REFUSAL, THINKING, find_mark_added_by_wording
from embassay.protocols.wordings.sets import DatasetOwnParaphrases, open_stored_source
from embassay.randomness import make_seeded_generator
from embassay.records import TextsWithParaphrases
from embassay.registry import Registry
from embassay.runs.folder import digest_json
from embassay.runs.store import CachedChatModel, ChatAnswerCache, ChatQuestion
from embassay.systems.chat import CHAT_MODELS, fit_chat_without_thinking_to_context, open_chat
from embassay.systems.chat.answers import strip_tagged_blocks
from embassay.systems.remote.ledger import Ledger

VERSION = "1"
"""Of our prompts; raised when the words of one of them change."""


@dataclass(frozen=True)
class Prompt:
    """Instructions, sent as the system message; the text follows alone, as the user's.

    `addition` is said after them where a text may not be English; empty for a user's own prompt. `version` is ours, or
    a digest of the words of a user's own.
    """

    name: str
    version: str
    text: str
    addition: str = ""

    def compose_system_message(self, *, multilingual: bool = False) -> str:
        """The whole system message."""
        return f"{self.text} {self.addition}" if multilingual and self.addition else self.text

    @property
    def identity(self) -> str:
        """Its name, its version and a digest of every word."""
        return f"{self.name}@{self.version}:{digest_json([self.text, self.addition])[:12]}"

    def as_dict(self) -> dict[str, str]:
        """As saved in manifests."""
        return asdict(self)


def open_paraphrase_prompt(name: str = "default") -> Prompt:
    """The prompt for paraphrasing called `name`, or the one in the text file of that path.

    A user's own prompt overrides all, the multilingual addition included, and is called by its file's name without the
    ending. UsageError for what is neither, DataError for a file that cannot be read or is blank.
    """
    if name in PROMPT_NAMES:
        return Prompt(name, VERSION, _ours(name), _ours("multilingual"))
    path = Path(name)
    if not path.is_file():
        near = get_close_matches(name, PROMPT_NAMES, n=1)
        raise UsageError(
            f"{name!r} is neither a prompt nor a file.",
            mend=(f"Did you mean {near[0]}? " if near else "")
            + f"Use {', '.join(PROMPT_NAMES)}, or the path of a text file.",
        )
    return _read_own_prompt(path)


def load_similarity_judge_prompt() -> Prompt:
    """The instructions of a judge, who rates the similarity of two texts from 0 to 5 as `{"score": x}`."""
    return Prompt("judge", VERSION, _ours("judge"))


def _read_own_prompt(path: Path) -> Prompt:
    if path.stem in PROMPT_NAMES:
        raise UsageError(
            f"{path} would be called {path.stem!r} in results, but a built-in prompt has that name.",
            mend="Rename the file.",
        )
    try:
        text = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError("the prompt cannot be read", path=path, found=str(error)) from error
    if not text:
        raise DataError("the prompt is empty", path=path, mend="Write instructions into the file.")
    return Prompt(path.stem, digest_json(text)[:12], text)


_ours = partial(read_packaged_prompt, "embassay.protocols.pteb")


PARAPHRASERS: Registry[Paraphraser] = Registry("paraphraser", makes=[["write", "seeds", "about"]])
"""Those that are no language model, which are all paraphrasers too. A factory may ask for `name` (the canonical spec)
and `recorded`. Other packages join through the entry-point group `embassay.paraphrasers`."""


def open_paraphraser(
    text: str,
    *,
    prompt: Prompt | None = None,
    generation: ParaphraseSamplingAndRetryOptions = ParaphraseSamplingAndRetryOptions(),  # noqa: B008 - frozen
    ledger: Ledger | None = None,
    cache: Path | None = None,
    recorded: Mapping[str, TextsWithParaphrases] | None = None,
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

    spec = PARAPHRASERS.style.parse(text)
    prompt = prompt or open_paraphrase_prompt()
    if spec.name in CHAT_MODELS:
        return _open_model_paraphraser(text, prompt, generation, ledger, cache, longest)
    if spec.name not in PARAPHRASERS:
        raise _make_unknown_paraphraser_error(spec.name, text)
    if prompt.name != "default":
        raise UsageError(
            f"The paraphraser {text!r} uses no prompt, but {prompt.name!r} was given.",
            mend="Omit the prompt, or use a language model as the paraphraser.",
        )
    return PARAPHRASERS.build(spec, name=PARAPHRASERS.format(spec), recorded=recorded or {})


def _open_model_paraphraser(
    text: str,
    prompt: Prompt,
    generation: ParaphraseSamplingAndRetryOptions,
    ledger: Ledger | None,
    cache: Path | None,
    longest: int,
) -> Paraphraser:

    chat = adapt_chat_for_rewording(open_chat(text, ledger=ledger), prompt, longest)
    return LLMParaphraser(CachedChatModel(chat, ChatAnswerCache.open(cache)), prompt, generation)


def _make_unknown_paraphraser_error(name: str, text: str) -> UsageError:
    from embassay.systems.models import describe_fix_for_unknown_chat_model

    names = [*(entry.name for entry in PARAPHRASERS), *(entry.name for entry in CHAT_MODELS)]
    near = get_close_matches(name, names, n=2, cutoff=0.5)
    return UsageError(
        f"There is no paraphraser called {name!r}.",
        mend=describe_fix_for_unknown_chat_model(text)
        + (f"Did you mean {' or '.join(near)}? " if near else "")
        + f"Available: {', '.join(names)}.",
    )


@PARAPHRASERS.register("recorded", "the paraphrases in the dataset's own `paraphrases` column")
def _open_recorded_paraphraser(recorded: Mapping[str, TextsWithParaphrases]) -> Paraphraser:
    return DatasetOwnParaphrases(recorded)


@PARAPHRASERS.register("stored", "a set from an earlier run, replayed exactly: stored:FOLDER")
def _open_stored_paraphrases(target: str, name: str, source: str = "") -> Paraphraser:
    if not target:
        raise UsageError("`stored` needs a folder.", mend="Write stored:FOLDER.")
    return open_stored_source(name, target, source)


@PARAPHRASERS.register("copied", "the unchanged text (control)")
def _make_copying_paraphraser() -> Paraphraser:
    return CopyingParaphraser()


@PARAPHRASERS.register(
    "permuted",
    "the words in a different order (control); permuted:FOLDER permutes as many words as the set in FOLDER changed",
)
def _open_permuting_paraphraser(name: str, target: str = "", source: str = "") -> Paraphraser:
    return PermutingParaphraser(name, open_stored_source(name, target, source) if target else None)


class _ControlParaphraser(UnlimitedRunsParaphraser):
    """A paraphraser used as a control: free, with any number of runs."""

    name: str
    identity: str
    remote = False

    def about(self) -> Mapping[str, Any]:
        """Describe nothing: there is no model behind a control."""
        return {}


class CopyingParaphraser(_ControlParaphraser):
    """Returns every text: no drop but what comes from elsewhere."""

    name = identity = "copied"

    def write(
        self,
        asked: Sequence[TextToParaphrase],
        *,
        seed: int,
        run: int,  # noqa: ARG002 - the contract's
        dataset: str = "",  # noqa: ARG002
        hear: Callable[[int], None] = lambda _: None,
    ) -> Iterator[tuple[int, ParaphraseOutcome]]:
        """Give every text as its own paraphrase."""
        for position, text in enumerate(asked):
            yield position, _make_paraphrase_outcome(text, text.text, seed)
        hear(len(asked))


class PermutingParaphraser(_ControlParaphraser):
    """Permutes the words of every text: all of them, or only until the text is as far from its wording, in word edit
    distance, as the wording that `like` has for it. What a model loses here is not for want of other words."""

    def __init__(self, name: str, like: Paraphraser | None = None) -> None:
        self.name, self._like = name, like
        self.identity = "permuted" + (f":{like.identity}" if like is not None else "")

    def seeds(self, runs: int, first: int, *, dataset: str = "") -> tuple[int, ...]:
        """The seeds of the runs: those of `like`, else first, first + 1 ..."""
        if self._like is not None:
            return self._like.seeds(runs, first, dataset=dataset)
        return super().seeds(runs, first)

    def write(
        self,
        asked: Sequence[TextToParaphrase],
        *,
        seed: int,
        run: int,
        dataset: str = "",
        hear: Callable[[int], None] = lambda _: None,
    ) -> Iterator[tuple[int, ParaphraseOutcome]]:
        """Give the texts with their words permuted; `missing` where `like` has no wording."""
        like = dict(self._like.write(asked, seed=seed, run=run, dataset=dataset)) if self._like is not None else {}
        for position, text in enumerate(asked):
            model = like.get(position)
            if model is not None and not model.usable:
                reason = f"{self._like.name if self._like else ''} has none: {model.outcome}"
                yield (position, ParaphraseOutcome(text.text, text.lang, text.place, "", "missing", reason, 0, seed))
                continue
            rng = make_seeded_generator(seed, "permuted", text.place, text.text)
            yield (
                position,
                _make_paraphrase_outcome(text, _permute_words(text.text, rng, model.wording if model else None), seed),
            )
        hear(len(asked))


def _make_paraphrase_outcome(asked: TextToParaphrase, wording: str, seed: int) -> ParaphraseOutcome:
    blank = not asked.text.strip()
    same = wording.strip() == asked.text.strip()
    outcome: Outcome = "copied" if same and not blank else "ok"
    return ParaphraseOutcome(asked.text, asked.lang, asked.place, wording, outcome, attempts=0, seed=seed)


def _permute_words(text: str, rng: np.random.Generator, like: str | None) -> str:
    """The words of `text` in another order; as far from it as `like` is, where there is one."""
    words = text.split()
    if len(words) < 2:
        return text
    if like is None:
        return " ".join(words[i] for i in rng.permutation(len(words)))
    from embassay.measures.correlation import edit_distance

    wanted = edit_distance(text, like)
    moved = rng.permutation(len(words))
    # Turning the places of ever more words moves them all: the distance grows with their number.
    low, high = 0, len(words)
    while low < high:
        middle = (low + high) // 2
        if edit_distance(text, " ".join(_rotate_words(words, moved[:middle]))) < wanted:
            low = middle + 1
        else:
            high = middle
    near = [" ".join(_rotate_words(words, moved[:count])) for count in {max(0, low - 1), low}]
    best = min(near, key=lambda wording: abs(edit_distance(text, wording) - wanted))
    return text if best.split() == words else best


def _rotate_words(words: list[str], places: np.ndarray[Any, np.dtype[np.int64]]) -> list[str]:
    """The words with those at these places passed on by one: each to the next place, the last to the first."""
    turned = list(words)
    for here, there in zip(places, np.roll(places, -1), strict=True):
        turned[there] = words[here]
    return turned


_LICENCES = {
    family: licence
    for licence, families in {
        "Gemma Terms of Use": "gemma embeddinggemma",
        "Apache-2.0": "gpt-oss qwen3 mistral-small magistral-small mistral-nemo mixtral olmo granite smollm",
        "Llama Community License": "llama",
        "MIT": "deepseek-r1 phi3 phi4",
        "CC BY-NC 4.0": "aya command-r",
    }.items()
    for family in families.split()
}
_OPENAI = re.compile(r"openai:(gpt-|chatgpt-|o\d)")


def find_model_licence(spec: str) -> str:
    """The licence of the model in a spec string by its family, as its makers state it; "" where it is not known.

    >>> [find_model_licence(name) for name in ("ollama:gemma3:27b", "openai:gpt-5-mini", "openai:own-model")]
    ['Gemma Terms of Use', "OpenAI's terms of service", '']
    """
    model = spec.partition(":")[2].partition("?")[0].rpartition("/")[2].lower()
    family = max((licence for licence in _LICENCES if model.startswith(licence)), key=len, default="")
    if family:
        return _LICENCES[family]
    return "OpenAI's terms of service" if _OPENAI.match(spec) and "base_url" not in spec else ""


class LLMParaphraser(LLMTextRewriter):
    """A paraphraser that asks the language model `chat` with a prompt."""

    def __init__(self, chat: CachedChatModel, prompt: Prompt, generation: ParaphraseSamplingAndRetryOptions) -> None:
        super().__init__(chat, generation.retries)
        self.prompt, self.generation = prompt, generation

    @property
    def identity(self) -> str:
        """Of the model, the prompt, the sampling and what the gate lets through."""
        drawn = ",".join(f"{key}={value}" for key, value in self.generation.as_dict().items())
        return f"{self.chat.identity} {self.prompt.identity} {drawn}"

    def about(self) -> Mapping[str, Any]:
        """Describe the model as its server names it, its sampling, licence, context and language check."""
        checked = "script and py3langid" if can_identify_language() else "script"
        facts = self.described(licence=find_model_licence(self.name), sampling=self.generation.as_dict())
        return {**facts, "language_check": checked}

    def question(self, asked: TextToParaphrase, seed: int, attempt: int = 0) -> ChatQuestion:
        """What the model is asked for a text in draw number `attempt` of the run with this seed."""
        multilingual = asked.multilingual or asked.lang.split("-")[0].split("_")[0] not in ("en", "eng")
        messages = [
            ChatMessage("system", self.prompt.compose_system_message(multilingual=multilingual)),
            ChatMessage("user", asked.text),
        ]
        return ChatQuestion(
            messages, self.generation.make_answer_sampling(_make_text_seed(asked, seed), attempt), None, attempt
        )

    def is_text_free_of_cost(self, asked: TextToParaphrase, seed: int) -> bool:
        """Whether the first answer is in the cache, or none is needed, so that the text costs nothing, or little."""
        return not asked.text.strip() or self.chat.is_answer_cached(self.question(asked, seed))

    async def reword(self, asked: TextToParaphrase, seed: int) -> ParaphraseOutcome:
        """The outcome of rewording one text that isn't blank."""
        strict, meaning = self.generation.strict_length, self.generation.meaning

        def convert_answer_to_wording_draw(answer: Completion) -> WordingRequestResult:
            verdict = make_paraphrase_verdict_of_answer(
                asked.text, answer.text, lang=asked.lang, strict_length=strict, meaning=meaning
            )
            return WordingRequestResult(verdict.wording, verdict.outcome, verdict.reason)

        drawn = await self.draw(partial(self.question, asked, seed), convert_answer_to_wording_draw)
        rejected = ";".join(reason for reason in drawn.rejected if reason in (*REJECTED, *OF_MEANING))
        return ParaphraseOutcome(
            asked.text, asked.lang, asked.place, drawn.text, drawn.outcome, drawn.reason, drawn.attempts, drawn.seed,
            drawn.seconds, rejected
        )  # fmt: skip


def adapt_chat_for_rewording(chat: ChatModel, prompt: Prompt, longest: int) -> ChatModel:
    """The model as paraphrasers want it where it can be set and the user did not: without thinking, and reading texts
    of up to `longest` UTF-8 bytes whole."""
    instructions = len(prompt.compose_system_message(multilingual=True).encode())
    # Tokenizers of language models make a token of two bytes or more, whatever the language; the answer is as long.
    return fit_chat_without_thinking_to_context(chat, (instructions + longest) // 2 + longest // 2 + 256)


def _make_text_seed(asked: TextToParaphrase, seed: int) -> int:
    """The run's seed; for a text that has a place, one derived from both."""
    if not asked.place:
        return seed
    # Small enough for servers that take 31 bits, further attempts included.
    drawn = hashlib.blake2b(f"{seed}\0{asked.place}".encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(drawn) % 2_000_000_000


TIMES_LONGER, ALWAYS_ALLOWED = 5, 40
"""An answer may have so many times the characters of its text, and always so many: the paraphrase of one word is
often longer than five."""


@dataclass(frozen=True)
class ParaphraseVerdict:
    """What an answer is: `wording` where it is usable, else the `reason` why not."""

    outcome: Outcome
    wording: str = ""
    reason: str = ""

    @property
    def usable(self) -> bool:
        """Whether `wording` may stand for the text."""
        return self.outcome in USABLE


def compute_answer_length_limit(text: str, *, strict: bool = False) -> int:
    """The characters that an answer may have: 5 times those of the text, and 40 always unless `strict`.

    >>> compute_answer_length_limit("Hello"), compute_answer_length_limit("Hello", strict=True)
    (40, 25)
    """
    return max(TIMES_LONGER * len(text), 0 if strict else ALWAYS_ALLOWED)


def make_paraphrase_verdict_of_answer(
    text: str, answer: str, *, lang: str = "und", strict_length: bool = False, meaning: bool = False
) -> ParaphraseVerdict:
    """The answer to `text` without blocks of thinking and white space around it, or why it cannot be used.

    Rejected are, in this order: nothing (`empty`), what is left of thinking (`thinking`), more characters than
    `compute_answer_length_limit` (`too long`), sentences in which assistants decline (`refused`) and another language
    (`wrong language`); with `meaning` also what answers the text or speaks of itself (`answered`) and what loses or
    adds a number or a name (`slot lost`). Marks that the text has itself do not count against its wording. The text
    again, but for case, spaces and punctuation, is `copied`, and usable.

    >>> make_paraphrase_verdict_of_answer("A red fox ran.", "<think>Hm.</think> A crimson fox was running.").wording
    'A crimson fox was running.'
    >>> make_paraphrase_verdict_of_answer("A red fox ran.", "I'm sorry, but I can't help with that.").outcome
    'refused'
    """
    # Half a character, which servers can send as JSON, can be in no file.
    answer = answer.encode("utf-8", "replace").decode()
    wording = answer.strip() if strip_tagged_blocks(text) != text else strip_tagged_blocks(answer).strip()
    if not wording:
        return ParaphraseVerdict("empty", reason="nothing but thinking" if answer.strip() else "an empty answer")
    if wording == text.strip() or is_near_copy(text, wording):
        return ParaphraseVerdict("copied", wording)
    if mark := find_mark_added_by_wording(THINKING, text, wording):
        return ParaphraseVerdict("thinking", reason=f"it thinks aloud: {mark!r}")
    allowed = compute_answer_length_limit(text, strict=strict_length)
    if len(wording) > allowed:
        return ParaphraseVerdict("too long", reason=f"{len(wording)} characters for {len(text)}, {allowed} allowed")
    if mark := find_mark_added_by_wording(REFUSAL, text, wording):
        return ParaphraseVerdict("refused", reason=f"the model declined: {mark!r}")
    if fault := explain_why_languages_of_texts_differ(text, wording, lang):
        return ParaphraseVerdict("wrong language", reason=fault)
    if meaning and (fault := explain_wording_as_answer(text, wording)):
        return ParaphraseVerdict("answered", reason=fault)
    if meaning and (fault := describe_lost_number_or_name(text, wording)):
        return ParaphraseVerdict("slot lost", reason=fault)
    return ParaphraseVerdict("ok", wording)
