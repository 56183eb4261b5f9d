"""Do old texts lose more by paraphrase, where neither kind is fresh? A real pair of sets, with recorded paraphrases:

    python benchmarks/old_fresh.py FILE [--work runs/old_fresh] > benchmarks/results/old_fresh.md

FILE is the JSONL of intents and sentiments with their paraphrases (repository kinit-sk/llms_vs_nlpaug_data_aug): ATIS
is of 1990, the assistant's requests (`fb`) of about 2018. `embassay pteb run --fresh fb` on both.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import embassay as eb
from embassay.protocols.kernel import tables as numbers

SETS = ("atis", "fb")
MODELS = {"GPT-3.5": "gpt-3.5-turbo", "Llama-3": "Llama-3"}
SYSTEMS = ("minilm", "wordllama", "jaccard", "bm25")
RUNS = 4
Row = Mapping[str, Any]


def main() -> None:
    """Measure, and print the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--work", type=Path, default=Path("runs/old_fresh"))
    asked = parser.parse_args()
    with gzip.open(asked.file, "rt", encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream]
    print("\n".join(page(rows, asked.work)))


def page(rows: Sequence[Row], work: Path) -> Iterator[str]:
    """The page of results."""
    yield "# Old against fresh texts, where neither is fresh"
    yield ""
    yield "Intents of ATIS (1990) and of requests to an assistant (about 2018), half of the texts of each to learn"
    yield f"from, half tested; {RUNS} paraphrases of each by two language models. Both models are younger than both"
    yield "sets, so there is nothing to find: what differs is the data. Points; excess: loss of ATIS minus that of the"
    yield "requests at equal edit distance; beyond: that of a model minus the mean of both metrics without training."
    yield "`embassay pteb run --fresh fb`; written by `benchmarks/old_fresh.py`."
    yield ""
    yield "| Paraphrases by | System | Excess (95%) | Beyond (95%) |"
    yield "|---|---|---:|---:|"
    for title, model in MODELS.items():
        folder = work / title
        files = [_lay_out(rows, name, model, folder) for name in SETS]
        run = eb.pteb.run(
            list(SYSTEMS), paraphraser="recorded", datasets=files, tasks=["classification"], runs=RUNS,
            tokenizer="words", fresh=(SETS[1],), out=folder / "run"
        )  # fmt: skip
        table = run.table("pteb_fresh")
        for line in table.filter(table["edit distance"] == "all").iter_rows(named=True):
            excess, beyond = (
                _said(line, *names) for names in (("excess", "low", "high"), ("beyond", "beyond_low", "beyond_high"))
            )
            yield f"| {title} | {line['system']} | {excess} | {beyond} |"
    yield ""
    yield "The plain excess is below 0 for all, also for the metrics, which never learnt a text: the requests are"
    yield "harder to tell apart once they are paraphrased. Beyond the metrics neither model has any told from 0."
    yield "So a plain excess says nothing alone. Sets of which one is truly younger than the models, with paraphrases,"
    yield "were not to be had: memory itself is not measured here. STS of 2012 to 2017 has no recorded paraphrases."


def _lay_out(rows: Sequence[Row], name: str, model: str, folder: Path) -> Path:
    """The texts of a set that have enough paraphrases, every second to be tested, as a dataset."""
    texts: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for row in rows:
        if row["dataset"] == name and row["model"].startswith(model):
            texts.setdefault((row["original"], row["label"]), []).append((row["run"], row["paraphrase"]))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.jsonl"
    with path.open("w", encoding="utf-8") as stream:
        for place, ((text, label), said) in enumerate(texts.items()):
            paraphrases = [paraphrase for _, paraphrase in sorted(said)]
            if len(paraphrases) >= RUNS:
                split = "train" if place % 2 else "test"
                line = {"id": f"{name}{place}", "text": text, "label": f"c{label}", "lang": "en", "split": split}
                stream.write(json.dumps({**line, "paraphrases": paraphrases}) + "\n")
    return path


def _said(line: Row, value: str, low: str, high: str) -> str:
    if line[value] is None:
        return numbers.NONE
    ends = numbers.format_interval(float(line[low]), float(line[high]), 1)
    return f"{numbers.format_change(float(line[value]), 1)} ({ends})"


if __name__ == "__main__":
    main()
