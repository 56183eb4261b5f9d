"""Fit how letters go wrong at a keyboard and in a scan, for the perturbations `typos` and `ocr`.

    pip install codespell pillow rapidfuzz; apt-get install tesseract-ocr fonts-dejavu-core fonts-liberation
    python benchmarks/fit_channels.py > src/embassay/text/channels.json

Typos: the misspellings that codespell collects from source code and documents, those that are one edit away from their
word; each kind of misspelling counts once, however often it is made. OCR: pages of this project's documentation, set in
five fonts, made small, blurred and noisy, and read by Tesseract; what it read is aligned with what was set.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from rapidfuzz.distance import Levenshtein

ROOT = Path(__file__).parent.parent
FONTS = (
    "DejaVuSerif.ttf", "DejaVuSans.ttf", "LiberationSerif-Regular.ttf",
    "LiberationSans-Regular.ttf", "LiberationMono-Regular.ttf",
)  # fmt: skip
SEED, LINES, PER_PAGE, WIDE = 1337, 1_000, 25, 72
LEAST_TYPOS, LEAST_SCANS = 5, 3
"""Fewest cases of an outcome that is kept."""
LONGEST = 2
"""Most characters that a scan takes for others at once."""
SWAPPED = "swapped"
"""The outcome of a letter that changes places with the next one."""
Outcomes = dict[str, Counter[str]]


def main() -> None:
    """Print both tables: what is written -> (how often it goes wrong, what becomes of it, in shares)."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    typed, letters = count_typos()
    scanned, characters, error = count_scans()
    tables = {"typos": shares_of(typed, letters, LEAST_TYPOS), "ocr": shares_of(scanned, characters, LEAST_SCANS)}
    print(json.dumps(tables, ensure_ascii=False, indent=0, sort_keys=True))
    pairs = sum(map(Counter.total, typed.values()))
    print(f"{pairs} misspellings; {error:.1%} of the characters read wrongly", file=sys.stderr)


def shares_of(outcomes: Outcomes, seen: Counter[str], least: int) -> dict[str, list[object]]:
    """Of each key its rate, relative to the mean over all that is written, and the shares of its outcomes."""
    kept = {key: {to: n for to, n in found.items() if n >= least} for key, found in outcomes.items()}
    total = sum(sum(found.values()) for found in kept.values())
    alone = sum(n for key, n in seen.items() if len(key) == 1)
    table: dict[str, list[object]] = {}
    for key, found in kept.items():
        if n := sum(found.values()):
            rate = n / seen[key] / (total / alone)
            table[key] = [round(rate, 3), {to: round(count / n, 3) for to, count in sorted(found.items())}]
    return table


def count_typos() -> tuple[Outcomes, Counter[str]]:
    """What becomes of each letter, and how often it occurs in the words."""
    import codespell_lib

    lines = (Path(codespell_lib.__file__).parent / "data" / "dictionary.txt").read_text("utf-8").splitlines()
    outcomes: Outcomes = defaultdict(Counter)
    letters: Counter[str] = Counter()
    for line in lines:
        wrong, _, right = line.partition("->")
        if not re.fullmatch("[a-z]+", wrong) or not re.fullmatch("[a-z]+", right):
            continue
        if edit := find_edit(right, wrong):
            outcomes[edit[0]][edit[1]] += 1
            letters.update(right)
    return outcomes, letters


def find_edit(right: str, wrong: str) -> tuple[str, str] | None:
    """The letter at the first place where the words part, and what stands for it; None for more than one edit.

    >>> find_edit("tell", "tel"), find_edit("tell", "ttell"), find_edit("tell", "telk"), find_edit("tell", "etll")
    (('l', ''), ('t', 'tt'), ('l', 'k'), ('t', 'swapped'))
    """
    place = next((i for i, (a, b) in enumerate(zip(right, wrong, strict=False)) if a != b), min(len(right), len(wrong)))
    before, letter, after = right[:place], right[place : place + 1], right[place + 1 :]
    if len(wrong) == len(right):
        if wrong == before + wrong[place] + after:
            return letter, wrong[place]
        return (letter, SWAPPED) if wrong == before + after[:1] + letter + after[1:] else None
    if len(wrong) == len(right) - 1:
        return (letter, "") if wrong == before + after else None
    if len(wrong) == len(right) + 1 and wrong == before + wrong[place] + right[place:]:
        # What is added stands behind the letter that was typed last, or before the first one.
        return (right[place - 1], right[place - 1] + wrong[place]) if place else (letter, wrong[0] + letter)
    return None


def count_scans() -> tuple[Outcomes, Counter[str], float]:
    """What becomes of characters and pairs of them, how often each occurs, and the share that was read wrongly."""
    outcomes: Outcomes = defaultdict(Counter)
    seen: Counter[str] = Counter()
    wrong = 0
    lines = list(document_lines())
    for number, start in enumerate(range(0, len(lines), PER_PAGE)):
        page = lines[start : start + PER_PAGE]
        for right, read in align_lines(page, scan_page(page, number)):
            seen.update(right)
            seen.update(map("".join, pairwise(right)))
            for key, to in confusions(right, read):
                outcomes[key][to] += 1
                wrong += len(key)
    return outcomes, seen, wrong / sum(n for key, n in seen.items() if len(key) == 1)


def document_lines() -> Iterator[str]:
    """Lines of prose of the documentation, drawn at random."""
    prose = [
        re.sub(r"\s+", " ", re.sub(r"[*`_#|\[\]()<>]", "", line)).strip()
        for path in sorted((ROOT / "docs").glob("*.md"))
        for line in path.read_text("utf-8").splitlines()
    ]
    whole = [line[:WIDE] for line in prose if len(line) > 50 and line.isascii()]
    yield from random.Random(SEED).sample(whole, LINES)


def scan_page(lines: Sequence[str], number: int) -> list[str]:
    """What Tesseract reads of the lines, set in a font of small size and damaged."""
    import numpy as np
    from PIL import Image, ImageDraw, ImageFilter, ImageFont

    rng = np.random.default_rng([SEED, number])
    font = ImageFont.truetype(FONTS[number % len(FONTS)], 22)  # found among the fonts of the system
    page = Image.new("L", (1150, 40 * len(lines) + 40), 255)
    pen = ImageDraw.Draw(page)
    for place, line in enumerate(lines):
        pen.text((20, 20 + 40 * place), line, font=font, fill=0)
    small = page.resize((int(page.width * 0.62), int(page.height * 0.62)), Image.Resampling.BILINEAR)
    blurred = small.filter(ImageFilter.GaussianBlur(0.5 + 0.2 * (number % 4)))
    noisy = np.asarray(blurred, float) + rng.normal(0, 18, (blurred.height, blurred.width))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.png"
        Image.fromarray(noisy.clip(0, 255).astype("uint8")).save(path)
        read = subprocess.run(
            ["tesseract", str(path), "-", "--psm", "6", "-l", "eng"], check=True, capture_output=True, text=True
        )
    return [" ".join(line.split()) for line in read.stdout.splitlines() if line.strip()]


def align_lines(lines: Sequence[str], read: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each line with that of the same page that is like it; one that was lost has none."""
    for line in lines:
        nearest = max(read, key=lambda other: Levenshtein.normalized_similarity(line, other), default="")
        if Levenshtein.normalized_similarity(line, nearest) > 0.7:
            yield line, nearest


def confusions(right: str, read: str) -> Iterator[tuple[str, str]]:
    """What was taken for what, at most LONGEST characters for as many; blanks that were lost or added too."""
    for step in Levenshtein.opcodes(right, read):
        key, to = right[step.src_start : step.src_end], read[step.dest_start : step.dest_end]
        if step.tag == "insert" and step.src_start:
            key = right[step.src_start - 1]
            to = key + to
        if step.tag != "equal" and key and len(key) <= LONGEST and len(to) <= LONGEST and to.isascii():
            yield key, to


if __name__ == "__main__":
    main()
