"""Paraphrasing through a server that takes 200 ms for every answer: how much faster than one text after another, what a
kill costs, and what comes of a model that fails, copies and rambles. `--quick` asks less.

The server is the tests' stub, in a process of its own on the same machine; so are the clients.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

from rich.console import Console
from rich.table import Table
from timing import parse_sizes

from embassay.protocols.pteb.paraphrasing import open_paraphraser
from embassay.protocols.wordings.records import ParaphraseOutcome, TextToParaphrase, measure_wording_quality

ROOT = Path(__file__).parents[1]
LATENCY = 0.2
TEXTS = 200 if "--quick" in sys.argv else 20_000


def texts(count: int) -> list[TextToParaphrase]:
    places = ("in the old house", "near a small river", "behind the new station", "on the market square")
    return [
        TextToParaphrase(f"Two people are walking {places[i % 4]} with dog number {i}, and a man says hello.", "en")
        for i in range(count)
    ]


@contextmanager
def stub(*arguments: str) -> Iterator[str]:
    """The address of a server that paraphrases."""
    command = [sys.executable, "-m", "tests.stub", "--latency", str(LATENCY), "--paraphrase", *arguments]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
    finally:
        server.kill()
        server.wait()


def told(url: str) -> dict[str, int]:
    with urlopen(f"{url}/stub/counts") as answer:
        return json.load(answer)


def written(spec: str, cache: Path, count: int) -> list[ParaphraseOutcome]:
    return [one for _, one in open_paraphraser(spec, cache=cache).write(texts(count), seed=1337, run=0)]


def child(spec: str, cache: Path, count: int) -> subprocess.Popen[bytes]:
    """The same in another process, which can be killed."""
    return subprocess.Popen([sys.executable, __file__, "--child", spec, str(cache), str(count)])


def speed(kind: str, path: str, folder: Path) -> list[str]:
    with stub() as url:
        start, cpu = time.perf_counter(), time.process_time()
        rows = written(f"{kind}:m?base_url={url}{path}", folder / f"{kind}.sqlite", TEXTS)
        seconds, busy = time.perf_counter() - start, time.process_time() - cpu
    assert Counter(row.outcome for row in rows) == {"ok": TEXTS}
    start = time.perf_counter()
    written(f"{kind}:m?base_url={url}{path}", folder / f"{kind}.sqlite", TEXTS)
    again = time.perf_counter() - start
    serial = TEXTS * LATENCY
    return [
        kind, f"{TEXTS:,}", f"{serial:,.0f}", f"{seconds:.0f}", f"1/{serial / seconds:.0f}",
        f"{busy / TEXTS * 1000:.1f}", f"{again:.1f}",
    ]  # fmt: skip


def killed(folder: Path) -> list[str]:
    """Killed when about a third is there; then once more to the end."""
    with stub() as url:
        spec, cache = f"openai:m?base_url={url}/v1", folder / "killed.sqlite"
        process = child(spec, cache, TEXTS)
        while told(url)["paid"] < TEXTS // 3:
            time.sleep(0.2)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        time.sleep(2 * LATENCY)
        before = told(url)
        assert child(spec, cache, TEXTS).wait() == 0
        after = told(url)
    twice = after["paid"] - after["paid_distinct"]
    return [f"{before['paid']:,}", f"{after['paid'] - before['paid']:,}", str(twice), str(before["most"])]


def spoilt(folder: Path) -> list[str]:
    with stub("--failing", "0.03", "--copying", "0.02", "--long", "0.01") as url:
        rows = written(f"openai:m?base_url={url}/v1", folder / "spoilt.sqlite", TEXTS)
    found = measure_wording_quality(rows)
    counts = [found.outcomes.get(one, 0) / TEXTS for one in ("refused", "copied", "too long")]
    return [*(f"{one:.2%}" for one in counts), f"{found.lost:.2%}", f"{found.retries:,}"]


def show(title: str, headings: list[str], rows: list[list[str]]) -> None:
    table = Table(title=title)
    for heading in headings:
        table.add_column(heading, justify="left" if heading == headings[0] else "right")
    for row in rows:
        table.add_row(*row)
    Console(width=120).print(table)


def main() -> None:
    os.environ.setdefault("OPENAI_API_KEY", "none")
    if "--child" in sys.argv:
        spec, cache, count = sys.argv[-3:]
        written(spec, Path(cache), int(count))
        return
    parse_sizes(argparse.ArgumentParser(description=__doc__))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        show(
            f"{TEXTS:,} paraphrases, {LATENCY * 1000:.0f} ms each",
            ["server", "texts", "serial s", "s", "of serial", "CPU ms/text", "again s"],
            [speed("openai", "/v1", folder), speed("ollama", "", folder)],
        )
        show(
            "Killed and resumed",
            ["answered before the kill", "asked after it", "asked twice", "most in flight"],
            [killed(folder)],
        )
        show(
            "A model that fails 3%, copies 2%, writes ten times as much 1%",
            ["refused", "copied", "too long", "without a wording", "retries"],
            [spoilt(folder)],
        )


if __name__ == "__main__":
    main()
