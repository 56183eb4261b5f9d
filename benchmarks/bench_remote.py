"""What the client for remote models reaches: throughput, refusals, budget; against the stub server, in a process
of its own. `--quick` asks less."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.request import Request, urlopen

from rich.console import Console
from rich.table import Table
from timing import parse_sizes

from embassay.errors import BudgetExceeded
from embassay.systems import SYSTEMS
from embassay.systems.remote import Ledger

ROOT = Path(__file__).parents[1]
QUICK = "--quick" in sys.argv


@contextmanager
def stub(*arguments: str) -> Iterator[str]:
    """The address of a stub server with these arguments."""
    command = [sys.executable, "-m", "tests.stub", *arguments]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
    finally:
        server.kill()
        server.wait()


def told(url: str, path: str = "counts", method: str = "GET") -> dict[str, object]:
    with urlopen(Request(f"{url}/stub/{path}", method=method)) as answer:
        return json.load(answer)


def encoder(url: str, ledger: Ledger, **params: object):
    """One text per request, so that requests are counted."""
    given = "".join(f"&{key}={value}" for key, value in params.items())
    spec = f"openai:stub-model?base_url={url}/v1&dimensions=64{given}"
    return SYSTEMS.build(spec, name="stub", ledger=ledger)


def asked(one, texts: range) -> tuple[float, float]:
    """Wall and CPU seconds of asking for so many texts."""
    start, cpu = time.perf_counter(), time.process_time()
    done = sum(1 for _ in one.encode_chunks([[f"text {i}"] for i in texts]))
    assert done == len(texts)
    return time.perf_counter() - start, time.process_time() - cpu


def throughput(name: str, ideal: float, *arguments: str, calls: int) -> list[str]:
    """Answers per second, cold and after a warm-up, beside the ideal; the share refused after the warm-up."""
    with stub(*arguments) as url:
        one = encoder(url, Ledger())
        cold = calls // 4
        first, _ = asked(one, range(cold))
        told(url, "forget", "POST")
        seconds, cpu = asked(one, range(cold, cold + calls))
        statuses = told(url)["statuses"]
    refused = statuses.get("429", 0) / sum(statuses.values())
    rate = calls / seconds
    return [
        name, f"{ideal:.0f}", f"{cold / first:.0f}", f"{rate:.0f}", f"{rate / ideal:.0%}", f"{refused:.2%}",
        f"{cpu / calls * 1000:.1f}",
    ]  # fmt: skip


def faults(calls: int) -> list[str]:
    """Every fault at once: requests and retries, seconds, and whether all was answered."""
    with stub("--latency", "0.02", "--faults", "0.09", "--slow", "2.5") as url:
        ledger = Ledger()
        one = encoder(url, ledger, timeout=2, price=1)
        seconds, _ = asked(one, range(calls))
        totals, counts = ledger.map_models_to_call_totals()[one.model], told(url)
    paid_again = int(counts["paid"]) - int(counts["paid_distinct"])
    return [
        f"{calls:,} calls, 9% of requests fail", f"{totals.requests:,}", f"{totals.retries:,}", f"{paid_again:,}",
        str(totals.failed), f"{seconds:.0f}",
    ]  # fmt: skip


def budget(cap: float, price: float) -> list[str]:
    """How near the cap a run is stopped; a request of one text of 2 tokens costs 2 * price / 1e6."""
    with stub("--latency", "0.02") as url:
        ledger = Ledger(max_usd=cap)
        one = encoder(url, ledger, price=price)
        with suppress(BudgetExceeded):
            asked(one, range(10_000))
    return [f"${cap:.2f}", f"${2 * price / 1e6:.4f}", f"${9 * price / 1e6:.4f}", f"${ledger.spent_usd:.4f}"]


def show(title: str, headings: list[str], rows: list[list[str]]) -> None:
    table = Table(title=title)
    for heading in headings:
        table.add_column(heading, justify="left" if heading == headings[0] else "right")
    for row in rows:
        table.add_row(*row)
    Console(width=120).print(table)


def main() -> None:
    parse_sizes(argparse.ArgumentParser(description=__doc__))
    many, few = (400, 100) if QUICK else (8000, 1600)
    show(
        "Answers per second; 200 ms latency",
        ["server", "ideal", "cold", "warm", "of ideal", "refused", "CPU ms/call"],
        [
            throughput("64 at once, others wait", 320, "--latency", "0.2", "--queue", "64", calls=many),
            throughput("64 at once, 429 above", 320, "--latency", "0.2", "--limit", "64", calls=many),
            throughput("8 at once, 429 above", 40, "--latency", "0.2", "--limit", "8", calls=few),
        ],
    )
    show("Faults", ["what", "requests", "retries", "paid again", "failed", "s"], [faults(400 if QUICK else 10_000)])
    show("Budget", ["cap", "a request", "put aside", "spent"], [budget(0.5, 500.0)])


if __name__ == "__main__":
    main()
