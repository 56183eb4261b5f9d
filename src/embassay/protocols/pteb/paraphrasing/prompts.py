"""The instructions that paraphrasers and judges get: own texts, kept as files, with a version (docs/pteb.md, [A1])."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path

from embassay.errors import DataError, UsageError
from embassay.runs.folder import digest

VERSION = "1"
"""Of our prompts; raised when the words of one of them change."""
PROMPT_NAMES = ("default", "variant1", "variant2", "variant3")
"""The prompts for paraphrasing: the usual one, and the rewordings of it for prompt sensitivity (table 12)."""


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

    def instructions(self, *, multilingual: bool = False) -> str:
        """The whole system message."""
        return f"{self.text} {self.addition}" if multilingual and self.addition else self.text

    @property
    def identity(self) -> str:
        """Its name, its version and a digest of every word."""
        return f"{self.name}@{self.version}:{digest([self.text, self.addition])[:12]}"

    def as_dict(self) -> dict[str, str]:
        """As saved in manifests."""
        return asdict(self)


def open_prompt(name: str = "default") -> Prompt:
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
            f"There is no prompt called {name!r}, and no such file.",
            mend=(f"Did you mean {near[0]}? " if near else "")
            + f"Use {', '.join(PROMPT_NAMES)}, or the path of a text file.",
        )
    return _own(path)


def judge_prompt() -> Prompt:
    """The instructions of a judge, who rates the similarity of two texts from 0 to 5 as `{"score": x}`."""
    return Prompt("judge", VERSION, _ours("judge"))


def _own(path: Path) -> Prompt:
    if path.stem in PROMPT_NAMES:
        raise UsageError(
            f"{path} would be called {path.stem!r} in results, which is a prompt of Embassay's.",
            mend="Rename the file.",
        )
    try:
        text = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError("the prompt cannot be read", path=path, found=str(error)) from error
    if not text:
        raise DataError("the prompt is blank", path=path, mend="Write the instructions into it.")
    return Prompt(path.stem, digest(text)[:12], text)


def _ours(name: str) -> str:
    texts = files("embassay.protocols.pteb.paraphrasing").joinpath("prompt_texts")
    return texts.joinpath(f"{name}.txt").read_text("utf-8").strip()
