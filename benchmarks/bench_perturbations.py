"""Perturbations: megabytes per second of CPU, deriving the randomness of every text included.

The peer is nlpaug with the nearest augmenter it has; without nlpaug installed the peer columns stay empty.
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from string import ascii_uppercase

from real_text import DATA, SAMPLE
from rich.console import Console
from rich.table import Table
from timing import Comparison, compare

from embassay.text import PERTURBATIONS, SEMANTIC, SUPERFICIAL, Perturbation, perturb_all, split_sentences
from embassay.text.semantics import build_negation_rules
from embassay.text.tokenizers import WordTokenizer

Augment = Callable[[str], object]
SPANS = ("insertion:p=0.5,q=0.5", "removal:p=0.5,q=0.5")
PEER_CHARACTERS = 60_000


@dataclass(frozen=True)
class Rate:
    """Megabytes of UTF-8 per second of CPU: median and range over the repeats; the peer on fewer texts."""

    corpus: str
    perturbation: str
    median: float
    lowest: float
    highest: float
    peer: Comparison | None


def read(path: Path, *fields: str) -> list[str]:
    content = path.read_bytes()
    lines = gzip.decompress(content) if path.suffix == ".gz" else content
    return [" ".join(row[field] for field in fields) for row in map(json.loads, lines.splitlines())]


def corpora(data: Path) -> dict[str, list[str]]:
    """Abstracts and whole articles; the sample's documents where the development data are absent."""
    if not data.is_dir():
        return {"sample": read(SAMPLE / "documents.jsonl", "text")}
    return {
        "SciFact": read(data / "retrieval" / "scifact" / "corpus.jsonl.gz", "title", "text"),
        "SumPubMed": read(data / "summarization" / "sumpubmed_150.jsonl.gz", "text"),
    }


def peers() -> dict[str, Augment]:
    """nlpaug's nearest augmenters, told to change as much; empty without nlpaug."""
    if find_spec("nlpaug") is None:
        return {}
    from nlpaug.augmenter import char, word
    from nlpaug.augmenter.sentence.random import RandomSentAug

    all_words = {"aug_word_p": 1.0, "aug_word_max": None, "aug_char_max": None, "min_char": 1}
    groups = [[found, put] for found, put in build_negation_rules().items() if "not" in put]
    return {
        "capitalize": char.RandomCharAug(
            action="substitute", candidates=list(ascii_uppercase), aug_char_p=0.25, **all_words
        ).augment,
        "delete10": char.RandomCharAug(action="delete", aug_char_p=0.1, **all_words).augment,
        "numerize": char.OcrAug(aug_char_p=1.0, **all_words).augment,
        "negate": word.ReservedAug(reserved_tokens=groups, aug_p=1.0, aug_max=None).augment,
        "word_shuffle": word.RandomWordAug(action="swap", aug_p=1.0, aug_max=None).augment,
        "sentence_shuffle": RandomSentAug(mode="random", aug_p=1.0, aug_max=None, tokenizer=split_sentences).augment,
    }


def cpu_seconds(work: Callable[[], object]) -> float:
    """CPU time of one call: what one core gives, whatever else the machine does."""
    start = time.process_time()
    work()
    return time.process_time() - start


def measure(corpus: str, texts: list[str], perturbation: Perturbation, augment: Augment | None, repeats: int) -> Rate:
    ids = [str(number) for number in range(len(texts))]
    megabytes = sum(len(text.encode("utf-8", "replace")) for text in texts) / 1e6

    def ours() -> None:
        perturb_all(perturbation, texts, ids, 1337)

    rates = [megabytes / cpu_seconds(ours) for _ in range(repeats)]
    some = texts[: 1 + sum(end < PEER_CHARACTERS for end in accumulate(map(len, texts)))]
    peer = augment and compare(
        perturbation.name,
        lambda: perturb_all(perturbation, some, ids[: len(some)], 1337),
        lambda: [augment(text) for text in some],
        3,
    )
    return Rate(corpus, perturbation.name, statistics.median(rates), min(rates), max(rates), peer or None)


def show(rows: list[Rate]) -> None:
    table = Table(title="Perturbations, MB per second of CPU")
    for heading in ("corpus", "perturbation"):
        table.add_column(heading)
    for heading in ("MB/s", "min..max", "times nlpaug", "min..max"):
        table.add_column(heading, justify="right")
    for row in rows:
        peer = row.peer
        table.add_row(
            row.corpus,
            row.perturbation,
            f"{row.median:.1f}",
            f"{row.lowest:.1f}..{row.highest:.1f}",
            f"{peer.ratio:.0f}" if peer else "",
            f"{peer.lowest:.0f}..{peer.highest:.0f}" if peer else "",
        )
    Console(width=120).print(table)


def main(arguments: list[str] | None = None) -> list[Rate]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer texts and repeats")
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args(arguments)
    augmenters = peers()
    if not augmenters:
        print("nlpaug is not installed: ours only.")
    rows = []
    for corpus, texts in corpora(options.data).items():
        for name in (*SUPERFICIAL, *SEMANTIC, *SPANS):
            perturbation = PERTURBATIONS.build(name, tokenizer=WordTokenizer())
            some = texts[:500] if options.quick else texts
            repeats = 3 if options.quick else 9
            rows.append(measure(corpus, some, perturbation, augmenters.get(name), repeats))
    show(rows)
    return rows


if __name__ == "__main__":
    main()
