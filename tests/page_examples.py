"""The marked fences of a page, and a reader who does what they say, in order, in one shell.

A mark is a comment on the line over a fence:

    <!-- run -->        what the page has the reader do
    <!-- run: exit 1 -->    the same, where this exit code is what the page is about
    <!-- run: stub -->  what needs a paid or local model: run by the tests only, with a server that stands in for it
    <!-- install -->    what a reader does once on a clean machine: left out by the tests, which have all of it
    <!-- serve -->      a command that goes on until the page ends
    <!-- prints -->     the whole standard output of what was run before
    <!-- shows -->      lines of what was seen last, in their order; `...` stands for what differs or is left out
    <!-- browser -->    over a list in the text: what the reader does in a browser, done by a function of that page
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MARKS = ("run", "install", "serve", "prints", "shows")
_MARK = rf"<!-- (?P<mark>{'|'.join(MARKS)})(?:: (?P<how>[\w ]+))? -->"
_FENCE = re.compile(
    rf"^{_MARK}\n+```(?P<kind>\w+)\n(?P<code>.*?)^```$|^<!-- (?P<browser>browser) -->$", re.MULTILINE | re.DOTALL
)
ANY_MARK = re.compile(r"^<!-- (?:browser|(?:run|install|serve|prints|shows)\b.*) -->$", re.MULTILINE)
_PROTOCOL = re.compile(r"^<!-- protocol -->\n<!-- run -->\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)

PYTHON = """
import json, sys
names = {"__name__": "__main__"}
for line in sys.stdin:
    exec(compile(json.loads(line), "<page>", "exec"), names)
    sys.stdout.flush()
    print("\\0", flush=True)
"""
"""An interpreter that is told one block after another, as at a prompt."""


@dataclass(frozen=True)
class Example:
    """One marked fence of a page, and the line it stands on."""

    mark: str
    kind: str
    code: str
    line: int
    how: str = ""


def examples(page: Path) -> list[Example]:
    """The marked fences of a page, in order."""
    text = page.read_text(encoding="utf-8")

    def made(match: re.Match[str]) -> Example:
        line = text[: match.start("browser") if match["browser"] else match.start("code")].count("\n") + 1
        if match["browser"]:
            return Example("browser", "", "", line)
        return Example(match["mark"], match["kind"], match["code"], line, match["how"] or "")

    return [made(match) for match in _FENCE.finditer(text)]


def declared_protocol() -> str:
    """The code of the protocol that docs/extending.md declares, with its table and its page."""
    page = Path(__file__).parents[1] / "docs" / "extending.md"
    (code,) = _PROTOCOL.findall(page.read_text(encoding="utf-8"))
    return str(code)


def marks(page: Path) -> int:
    """How many marks a page has, over fences or not."""
    return len(ANY_MARK.findall(page.read_text(encoding="utf-8")))


def words(page: Path) -> int:
    """How many words there are to read: all but code, output and marks."""
    text = page.read_text(encoding="utf-8")
    return len(re.sub(r"^```.*?^```$|<!--.*?-->", "", text, flags=re.MULTILINE | re.DOTALL).split())


def missing_lines(shown: str, seen: str) -> list[str]:
    """The first lines of `shown` that `seen` does not have after those before; none where all are there in order.

    Blanks at the ends of lines and empty lines do not count. `...` within a line stands for any characters, alone
    on a line for any lines.
    """
    left = iter([line.rstrip() for line in seen.splitlines()])
    for line in shown.splitlines():
        wanted = line.rstrip()
        if wanted in ("", "..."):
            continue
        pattern = re.compile(".*?".join(map(re.escape, wanted.split("..."))))
        if not any(pattern.fullmatch(one) for one in left):
            return [wanted]
    return []


@dataclass
class Reader:
    """Somebody who types what a page says, in one shell and one Python, in `folder` to begin with."""

    folder: Path
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    seconds: float = 600

    def __post_init__(self) -> None:
        self._state = self.folder / ".shell"
        self._python: subprocess.Popen[str] | None = None
        self._served: list[subprocess.Popen[bytes]] = []
        self.printed = self.seen = ""

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *what: object) -> None:
        for one in self._served:
            os.killpg(one.pid, signal.SIGINT)
            one.wait(timeout=30)
        if self._python is not None:
            self._python.kill()
            self._python.communicate()

    def run(self, example: Example) -> int:
        """Do it; the exit code. What it printed is `printed`, with what went to standard error `seen`."""
        if example.kind == "python":
            return self._exec(example.code)
        assert example.kind == "sh", f"line {example.line}: only python and sh can be run"
        done = subprocess.run(
            ["bash", "-c", self._script(example.code)],
            cwd=self.folder,
            env=dict(self.environment),
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=self.seconds,
            text=True,
            check=False,
        )
        self.printed, self.seen = done.stdout, done.stdout + done.stderr
        return done.returncode

    def serve(self, example: Example) -> str:
        """Start a command that goes on, and wait for what it says first; that is also `seen`."""
        told = self.folder / f".served{len(self._served)}"
        with told.open("wb") as out:
            self._served.append(
                subprocess.Popen(
                    ["bash", "-c", self._script(example.code)],
                    cwd=self.folder,
                    env=dict(self.environment),
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    stdin=subprocess.DEVNULL,
                    start_new_session=True,
                )
            )
        self.seen = self.printed = _grown(told, self._served[-1])
        return self.seen

    def where(self) -> Path:
        """The folder the shell is in now."""
        (found,) = [line for line in _lines(self._state) if line.startswith("cd ")][:1] or [f"cd {self.folder}"]
        return Path(shlex.split(found)[1])

    def _script(self, code: str) -> str:
        # What a block exports, and where it went, is there for the next one, as in a terminal that stays open.
        state = shlex.quote(str(self._state))
        kept = f'trap \'{{ echo cd "$(printf %q "$PWD")"; export -p; }} > {state}\' EXIT'
        return f"[ -f {state} ] && . {state}\nset -eo pipefail\n{kept}\n{code}"

    def _exec(self, code: str) -> int:
        if self._python is None:
            command = f"exec python -c {shlex.quote(PYTHON)}"
            self._python = subprocess.Popen(
                ["bash", "-c", f"[ -f {self._state} ] && . {self._state}; {command}"],
                cwd=self.folder,
                env=dict(self.environment),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        assert self._python.stdin is not None
        self._python.stdin.write(json.dumps(code) + "\n")
        self._python.stdin.flush()
        said = list(_until_done(self._python))
        self.printed = self.seen = "".join(said)
        return self._python.poll() or 0


def _until_done(python: subprocess.Popen[str]) -> Iterator[str]:
    assert python.stdout is not None
    for line in python.stdout:
        if line == "\0\n":
            return
        yield line
    python.wait()


def _grown(path: Path, process: subprocess.Popen[Any], seconds: float = 60) -> str:
    """What a file holds once it has not grown for a second; the process must be running then."""
    end, size, since = time.monotonic() + seconds, 0, time.monotonic()
    while time.monotonic() < end:
        if process.poll() is not None:
            raise AssertionError(f"it ended: {path.read_text(encoding='utf-8')}")
        if path.stat().st_size != size:
            size, since = path.stat().st_size, time.monotonic()
        if size and time.monotonic() - since > 1:
            break
        time.sleep(0.05)
    return path.read_text(encoding="utf-8")


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []
