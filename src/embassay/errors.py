"""Every error Embassay raises on purpose, on one page.

EmbassayError            exit code
├── UsageError            2    the command or call cannot mean anything
├── ModelError            3    a system under test, or what it needs, failed
│   └── TextRefused       3    a server will never take this text; the item is left out, the run goes on
│       └── Unanswered    3    a language model was asked and gave nothing that is an answer
├── DataError             4    a file is wrong, or may not be read or written (file, line, expected, found)
│   └── AbsentData        4    a dataset of the catalogue is not on this machine, and cannot be fetched now
├── BudgetExceeded        5    stopped by a limit; resumable
└── Interrupted           130  stopped by the user; resumable
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal


class EmbassayError(Exception):
    """The root of Embassay's errors: one line that says what is wrong and one that says the mend."""

    exit_code = 1

    def __init__(self, message: str, *, mend: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.mend = mend

    def __str__(self) -> str:
        return f"{self.message} {self.mend}".strip()


class UsageError(EmbassayError):
    """The command line, configuration or call cannot be carried out as written."""

    exit_code = 2


class ModelError(EmbassayError):
    """A system under test could not be loaded or failed while working."""

    exit_code = 3


class TextRefused(ModelError):
    """A server refuses a call for its texts (too long, not allowed), and always will: 400, 413, 422 and the like.

    The failure of an item, never of the server or the account (401, 404, a dead server are a plain ModelError):
    caches ask for the texts of such a call one by one, and protocols leave out and count those that fail.
    """


Why = Literal["cut", "withheld", "declined", "empty", "thinking"]


class Unanswered(TextRefused):
    """A language model did its work and there is no answer: it was `cut` at its longest, `withheld` by a filter,
    `declined`, `empty`, or nothing but `thinking`. Another draw, with another seed, may bring one."""

    def __init__(self, message: str, why: Why = "empty") -> None:
        super().__init__(message)
        self.why: Why = why


class DataError(EmbassayError):
    """A dataset does not hold what it should.

    `path` and `line` (1-based, None where lines make no sense) say where; `what` is wrong, and `expected` and
    `found` say how.
    """

    exit_code = 4

    def __init__(
        self,
        message: str,
        *,
        path: Path | str | None = None,
        line: int | None = None,
        expected: str = "",
        found: str = "",
        mend: str = "",
    ) -> None:
        where = "" if path is None else f"{path}:{line}: " if line is not None else f"{path}: "
        facts = "; ".join(f"{name} {what}" for name, what in (("expected", expected), ("found", found)) if what)
        end = f" ({facts})." if facts else "." if mend and message[-1:].isalnum() else ""
        super().__init__(f"{where}{message}{end}", mend=mend)
        self.path, self.line, self.what, self.expected, self.found = path, line, message, expected, found


class AbsentData(DataError):
    """A dataset of the catalogue is not on this machine, and cannot be fetched now: no network, no library that reads
    the hub, or no hub that holds it. A suite does without it, and says `briefly` why; a plan goes by what the catalogue
    says of it."""

    def __init__(self, message: str, *, briefly: str = "", **facts: Any) -> None:
        super().__init__(message, **facts)
        self.briefly = briefly or self.what.rstrip(".")


class BudgetExceeded(EmbassayError):
    """A limit set by the user was reached; finished work is kept and the run resumes."""

    exit_code = 5


class Interrupted(EmbassayError):
    """The user stopped the run; finished work is kept and the run resumes."""

    exit_code = 130
