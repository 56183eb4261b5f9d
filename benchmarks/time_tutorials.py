"""How long each tutorial takes a reader who starts from nothing and follows its words only.

    python benchmarks/time_tutorials.py                       # all five
    python benchmarks/time_tutorials.py researcher --keep     # one; leaves its home folder behind
    python benchmarks/time_tutorials.py --write               # puts the table into docs/tutorials/index.md

Each tutorial gets an empty HOME with the checkout as committed in `~/embassay`, no cache of any kind (pip's neither)
and none of this environment's variables but those that say how to reach a package index. Every marked block is run in
order, the installation included; what the page shows is compared with what is seen. Blocks that need a paid model are
left out, as the page says. Where the page asks for answers in a browser, a Chromium gives them (Playwright has to be
installed here), and `--pause` seconds (default 6) are added for each, which is the time a person thinks.

Reading is counted at 200 words a minute, without code and output; nothing is read while a command runs. Beside the
clock's time stands processor time, which other work on the machine hardly changes; it is what `--write` writes.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import chromium  # noqa: E402
from page_annotator import annotate, right_answers  # noqa: E402
from page_examples import Example, Reader, examples, missing_lines, words  # noqa: E402

TUTORIALS = ROOT / "docs" / "tutorials"
USERS = ("rag_engineer", "researcher", "benchmark_builder", "platform_team", "programmer")
WORDS_A_MINUTE = 200
KINDS = ("install", "run", "browser")
KEPT = ("PATH", "LANG", "LC_ALL", "PIP_CERT", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS",
        "PIP_CONFIG_FILE", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
        "http_proxy", "https_proxy", "no_proxy")  # fmt: skip


@dataclass(frozen=True)
class Taken:
    """What a tutorial takes: words to read, and seconds of the installation, of commands and of a person's answers.

    `clock` is what passed here, with whatever else the machine was doing; `busy` is processor time.
    """

    user: str
    words: int
    clock: dict[str, float]
    busy: dict[str, float]

    def minutes(self, seconds: dict[str, float]) -> float:
        """All of it, reading included."""
        return sum(seconds.values()) / 60 + self.words / WORDS_A_MINUTE


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("users", nargs="*", help="which tutorials; default: all")
    parser.add_argument("--pause", type=float, default=6.0, help="seconds that a person thinks about an answer")
    parser.add_argument("--keep", action="store_true", help="leave the home folders behind")
    parser.add_argument("--write", action="store_true", help="write the table into docs/tutorials/index.md")
    given = parser.parse_args()
    taken = [timed(user, given.pause, given.keep) for user in given.users or USERS]
    table = "\n".join(row(one) for one in taken)
    print(table)
    if given.write:
        write(taken)


def timed(user: str, pause: float, keep: bool) -> Taken:
    """Follow one tutorial in a home of its own."""
    page = TUTORIALS / f"{user}.md"
    home = Path(tempfile.mkdtemp(prefix=f"tutorial-{user}-"))
    checkout(home / "embassay")
    clock, busy = dict.fromkeys(KINDS, 0.0), dict.fromkeys(KINDS, 0.0)
    print(f"== {user}, {words(page)} words, in {home}", flush=True)
    spent = cpu_seconds()
    try:
        with Reader(home, environment(home), seconds=1200) as reader:
            for example in examples(page):
                began = time.perf_counter()
                kind, thought = step(reader, example, pause)
                if kind is None:
                    continue
                took, spent, before = time.perf_counter() - began + thought, cpu_seconds(), spent
                clock[kind] += took
                # A person's answers take the time to think; the browser's processor time is nobody's.
                busy[kind] += thought or spent - before
                print(f"{took:7.1f} s, processor {spent - before:5.1f} s: {title(example)}", flush=True)
        # What went on until the page ended: its interpreter, and what it served.
        busy["run"] += cpu_seconds() - spent
    finally:
        if not keep:
            shutil.rmtree(home, ignore_errors=True)
    return Taken(user, words(page), clock, busy)


def cpu_seconds() -> float:
    """Processor time of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def step(reader: Reader, example: Example, pause: float) -> tuple[str | None, float]:
    """Do one block: what kind of time it took (None: none), and seconds to add to those of the clock."""
    if example.how == "stub":
        reader.seen = ""
        return None, 0.0
    if example.mark == "browser":
        return "browser", pause * in_browser(reader)
    if example.mark == "serve":
        reader.serve(example)
        return "run", 0.0
    if example.mark in ("shows", "prints"):
        missing = missing_lines(example.code, reader.seen)
        if reader.seen and missing:
            sys.exit(f"line {example.line}: {missing[0]!r} was not seen in\n{reader.seen}")
        return None, 0.0
    wanted = int(example.how.partition("exit ")[2] or 0)
    code = reader.run(example)
    if code != wanted:
        sys.exit(f"line {example.line}: exit code {code}\n{reader.seen}")
    return ("install" if example.mark == "install" else "run"), 0.0


def in_browser(reader: Reader) -> int:
    """Two people answer the study whose links were just shown; how many answers they gave."""
    links = dict(re.findall(r"^(ann|bob) +(http\S+)$", reader.seen, re.MULTILINE))
    known = right_answers(reader.where() / "study")
    labels = sum(isinstance(gold, str) for gold in known.values())
    with chromium.opened() as browser:
        given = annotate(browser, links["ann"], known)
        return given + annotate(browser, links["bob"], known, lambda place: place < labels and place % 2 == 0)


def checkout(target: Path) -> None:
    """The tree as committed, without its history: what somebody downloads."""
    target.mkdir()
    archive = subprocess.Popen(["git", "archive", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE)
    subprocess.run(["tar", "-x", "-C", str(target)], stdin=archive.stdout, check=True)
    if archive.wait():
        sys.exit("git archive failed")


def environment(home: Path) -> dict[str, str]:
    """An account that was made a minute ago."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    kept["PATH"] = os.pathsep.join(
        part for part in kept["PATH"].split(os.pathsep) if not Path(part).is_relative_to(ROOT)
    )
    return kept | {"HOME": str(home), "PIP_NO_CACHE_DIR": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def title(example: Example) -> str:
    """What a block is called in the list of steps."""
    if example.mark == "browser":
        return "answers in the browser"
    return example.code.strip().splitlines()[-1 if example.mark == "install" else 0][:80]


def row(taken: Taken) -> str:
    """A line for people."""
    clock, busy = (
        ", ".join(f"{kind} {of[kind]:.0f} s" for kind in KINDS) + f": {taken.minutes(of):.1f} min in all"
        for of in (taken.clock, taken.busy)
    )
    return f"{taken.user}: reading {taken.words / WORDS_A_MINUTE:.1f} min; by the clock {clock}; processor {busy}"


def write(taken: list[Taken]) -> None:
    """Put the figures into the index, each into the row that links its tutorial."""
    index = TUTORIALS / "index.md"
    text = index.read_text(encoding="utf-8")
    for one in taken:
        figure = f" {one.minutes(one.busy):.1f} min |"
        link = re.compile(rf"^(\|.*\({one.user}\.md\) \|).*$", re.MULTILINE)
        text = link.sub(lambda found, new=figure: found[1] + new, text)
    index.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
