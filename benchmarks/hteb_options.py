"""What each option of HTEB does to a score: every trap with its value `reference` and with ours, on real data whose
texts are transformed by the tests' rule-based model. It shows where an option counts and in which direction; a language
model's texts would give other sizes. `--full` takes more items, `--only WORD` the traps with it in their names; the
data are in ../shared/data, or $EMBASSAY_DATA.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from rich.console import Console
from rich.table import Table

import embassay as eb
from embassay.protocols.hteb.options import HtebOptions, TransformOptions
from embassay.systems import open_system
from embassay.text import open_tokenizer
from stub import StubServer
from stub.transforming import transforming

DATA = Path(os.environ.get("EMBASSAY_DATA", Path(__file__).parents[2] / "shared" / "data"))
ITEMS = 400 if "--full" in sys.argv else 100
ONLY = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else ""
SYSTEM = "wordllama"


class Dotted:
    """wordllama as a model that is compared by dot product: its vectors' lengths differ."""

    name, similarity_fn_name = SYSTEM, "dot"

    def __init__(self) -> None:
        self.encoder: Any = open_system(SYSTEM, tokenizer=open_tokenizer("words"), seed=1337)
        self.identity = f"{self.encoder.identity} dot"

    def encode(self, texts: list[str]) -> Any:
        """Its vectors as they are."""
        return self.encoder.encoder.encode(texts)


def joined(names: list[str], target: Path) -> str:
    """Several files of pairs as one of several languages."""
    with target.open("w", encoding="utf-8") as out:
        for name in names:
            with gzip.open(DATA / name, "rt", encoding="utf-8") as stream:
                for number, line in enumerate(stream):
                    row = json.loads(line)
                    out.write(json.dumps({**row, "id": f"{row['lang']}{number}"}) + "\n")
    return str(target)


def cases(folder: Path) -> Iterator[tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]]:
    """(what, how the model behaves, the arguments of ours, those of the reference)."""
    sts17 = joined([f"sts/sts17_{one}_test.jsonl.gz" for one in ("ar-ar", "ar-en", "en-en")], folder / "sts17.jsonl")
    stsb = {"datasets": [str(DATA / "sts/stsb_en_test.jsonl.gz")], "transformations": ("paraphrasing", "expansion")}
    med = {"datasets": [str(DATA / "retrieval/med")], "transformations": ("summarise", "expansion"), "runs": 1}
    crane = {
        "datasets": [str(DATA / "retrieval/cranfield")],
        "transformations": ("cross_translation",),
        "runs": 1,
        "mapping": {"relevance": "code"},
    }
    news = {"datasets": [str(DATA / "clustering/20newsgroups_sample.jsonl.gz?tasks=clustering")]}
    drawn = {"datasets": [sts17], "transformations": ("cross_translation",)}
    texts = {"datasets": [sts17], "transformations": ("paraphrasing", "summarise", "translation")}
    yield "failed texts (4% fail)", {"failing": 0.04}, stsb, {**stsb, "on_failure": "original"}
    yield "languages pooled", {}, texts, {**texts, "options": HtebOptions(languages="reference")}
    yield "whole corpus", {}, {**med, "options": HtebOptions(corpus="queries-only")}, med
    yield (
        "title and body in two languages", {}, crane, {**crane, "generation": TransformOptions(documents="reference")},
    )  # fmt: skip
    yield (
        "k-means from each run's seed", {},
        {**news, "transformations": ("paraphrasing",), "options": HtebOptions(evaluation_seed="fixed")},
        {**news, "transformations": ("paraphrasing",)},
    )  # fmt: skip
    yield "neighbouring seeds", {}, {**drawn, "generation": TransformOptions(seeds="independent")}, drawn
    ranked = {
        "datasets": [str(DATA / "reranking/wikiqa_test.jsonl.gz?tasks=reranking")],
        "transformations": ("paraphrasing", "translation"),
        "systems": [Dotted()],
    }
    yield "candidates by dot product", {}, ranked, {**ranked, "options": HtebOptions(candidates="reference")}
    english = {**texts, "datasets": [joined(["sts/sts17_en-en_test.jsonl.gz"], folder / "english.jsonl")]}
    yield "other languages in an English set (as SemRel)", {}, english, texts
    short = {**stsb, "transformations": ("expansion",)}
    yield (
        "lengths accepted (30% copied)", {"copying": 0.3},
        {**short, "generation": TransformOptions(length="enforced", retries=1)}, short,
    )  # fmt: skip


def figures(model: str, out: Path, arguments: dict[str, Any]) -> list[str]:
    """Original, total, change with its interval, and the standard deviation over runs, in points."""
    more = {"systems": [SYSTEM], "runs": 3, "limit": ITEMS, "tokenizer": "words", **arguments}
    done = eb.hteb.run(transformer=model, out=out, **more)
    rows = {
        row["measure"]: row
        for row in done.results.to_dicts()
        if (row["task"], row["variant"], row["system"]) == ("overall", "", SYSTEM)
    }
    delta = rows["delta"]
    if delta["value"] is None:
        return ["no score", "", "", ""]
    low, high = delta["ci_low"], delta["ci_high"]
    sd = rows["sd"]["value"]
    return [
        f"{100 * rows['original']['value']:.2f}", f"{100 * rows['overall']['value']:.2f}",
        f"{100 * delta['value']:+.2f} ({100 * low:+.2f} to {100 * high:+.2f})" if low is not None else "",
        "" if sd is None else f"{100 * sd:.2f}",
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="400 items instead of 100")
    parser.add_argument("--only", help="traps whose name has this in it")
    parser.parse_args()
    if not DATA.is_dir():
        sys.exit(f"There is no {DATA}: set EMBASSAY_DATA.")
    table = Table("Trap", "Value", "Original", "Total", "Change, 95%", "sd", title=f"{SYSTEM}, {ITEMS} items")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["EMBASSAY_CACHE"] = str(folder / "cache")
        chosen = [case for case in cases(folder) if ONLY in case[0]]
        for number, (what, behaviour, ours, reference) in enumerate(chosen):
            with StubServer(chat=transforming(**behaviour)) as server:
                model = f"ollama:ruler?base_url={server.url}&name=stub{number}"
                table.add_row(what, "ours", *figures(model, folder / f"{number}-ours", ours))
                table.add_row("", "reference", *figures(model, folder / f"{number}-reference", reference))
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
