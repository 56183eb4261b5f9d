"""Chunking: megabytes per second of CPU on whole articles, beside semantic-text-splitter where it is installed.

Both get the same limit, overlap and counter of tokens, and texts in turn. The peer is written in Rust; it cuts at the
largest unit that fits (paragraphs, sentences, words), so its chunks may begin inside a sentence.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

from bench_perturbations import read
from real_text import DATA, SAMPLE
from rich.console import Console
from rich.table import Table

from embassay.errors import ModelError
from embassay.text import Chunking, chunk, open_tokenizer, token_ends
from embassay.text.tokenizers import TokenEndFinder

Spans = list[tuple[int, int]]
Cut = Callable[[str], Spans]


@dataclass(frozen=True)
class Row:
    """Who cut, with which tokens; MB/s of CPU (median, least, most); chunks, their tokens, the tokens they share with
    the one before, and the share of the letters that is in no chunk."""

    who: str
    tokens: str
    rates: tuple[float, float, float]
    chunks: int
    mean: float
    sd: float
    shared: float
    short: float
    lost: float


def texts(data: Path, quick: bool) -> list[str]:
    articles = data / "summarization" / "sumpubmed_150.jsonl.gz"
    found = read(articles, "text") if articles.exists() else read(SAMPLE / "documents.jsonl", "text")
    return found[:20] if quick else found


def ours(ends: TokenEndFinder, chunking: Chunking) -> Cut:
    return lambda text: [(one.start, one.end) for one in chunk(text, chunking=chunking, ends=ends)]


def peer(name: str, ends: TokenEndFinder, chunking: Chunking) -> Cut:
    from semantic_text_splitter import TextSplitter

    if name == "cl100k":
        splitter = TextSplitter.from_tiktoken_model("gpt-4", chunking.limit, overlap=chunking.overlap)
    else:
        splitter = TextSplitter.from_callback(lambda text: len(ends(text)), chunking.limit, overlap=chunking.overlap)

    def cut(text: str) -> Spans:
        return [(start, start + len(body)) for start, body in splitter.chunk_indices(text)]

    return cut


def measure(who: str, tokens: str, cut: Cut, ends: TokenEndFinder, articles: Sequence[str], repeats: int) -> Row:
    megabytes = sum(len(text.encode()) for text in articles) / 1e6
    rates = []
    for _ in range(repeats + 1):
        start = time.process_time()
        spans = [cut(text) for text in articles]
        rates.append(megabytes / (time.process_time() - start))
    sizes, shared, letters, lost = [], [], 0, 0
    for text, found in zip(articles, spans, strict=True):
        sizes += [len(ends(text[start:end])) for start, end in found]
        shared += [len(ends(text[start:end])) if start < end else 0 for (_, end), (start, _) in pairwise(found)]
        covered = bytearray(len(text))
        for start, end in found:
            covered[start:end] = b"\1" * (end - start)
        gaps = [one for one, hit in zip(text, covered, strict=True) if not hit]
        letters, lost = letters + len(text), lost + sum(not one.isspace() for one in gaps)
    measured = rates[1:]
    return Row(
        who, tokens, (statistics.median(measured), min(measured), max(measured)), len(sizes),
        statistics.mean(sizes), statistics.stdev(sizes), statistics.mean(shared),
        sum(one < 70 for one in shared) / len(shared), lost / letters,
    )  # fmt: skip


def show(rows: Sequence[Row]) -> None:
    table = Table(title="Chunks of at most 430 tokens that share 70")
    for heading in ("who", "tokens"):
        table.add_column(heading)
    for heading in ("MB/s", "min..max", "chunks", "tokens, mean ± SD", "shared", "below 70", "lost"):
        table.add_column(heading, justify="right")
    for row in rows:
        rate, low, high = row.rates
        table.add_row(
            row.who, row.tokens, f"{rate:.2f}", f"{low:.2f}..{high:.2f}", f"{row.chunks:,}",
            f"{row.mean:.0f} ± {row.sd:.0f}", f"{row.shared:.0f}", f"{row.short:.1%}", f"{row.lost:.1%}",
        )  # fmt: skip
    Console(width=120).print(table)


def main(arguments: list[str] | None = None) -> list[Row]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer texts and repeats")
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args(arguments)
    articles, repeats = texts(options.data, options.quick), 2 if options.quick else 5
    with_peer = find_spec("semantic_text_splitter") is not None
    if not with_peer:
        print("semantic-text-splitter is not installed: ours only.")
    rows, chunking = [], Chunking(headings="none")
    for name in ("words", "cl100k"):
        try:
            ends = token_ends(open_tokenizer(name))
        except ModelError as error:
            print(f"Without {name}: {error}")
            continue
        rows.append(measure("embassay", name, ours(ends, chunking), ends, articles, repeats))
        if with_peer:
            cut = peer(name, ends, chunking)
            rows.append(measure("semantic-text-splitter", name, cut, ends, articles, max(1, repeats // 3)))
    show(rows)
    return rows


if __name__ == "__main__":
    main()
