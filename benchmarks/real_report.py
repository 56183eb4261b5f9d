"""One report of all four protocols on real data, by one command.

    python benchmarks/real_report.py --data DATA --out runs/real [--hume-results results.json.gz]

DATA holds the files that `benchmarks/datasets/*.yaml` describe. Every step is a command, printed before it runs, and
goes on where it stopped: run the same line again. `--only STEP` runs one step, `--list` shows them all. What each took
stands in OUT/steps.jsonl. benchmarks/results/all_protocols.md has the figures.

Nobody paraphrases and nobody annotates here, since that takes a language model and people: PTEB runs with its control
`permuted` (the same words in another order), and scripts that err at random answer the study of HUME. The report says
so. With `--hume-results` (the published results of HUME) there are people's real scores beside them.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

HERE = Path(__file__).parent
SYSTEMS = ("minilm", "wordllama", "bm25", "jaccard", "levenshtein", "rouge")
ENCODERS = ("minilm", "wordllama")
RETRIEVERS = ("bm25", "wordllama", "minilm")
SAGE_DATA = (
    "summeval", "squality", "sumpubmed", "sumpubmed_abstracts", "billsum", "cnn_dailymail", "20newsgroups",
    "biomedical", "banking77", "scifact",
)  # fmt: skip
QUICK_DATA = ("summeval", "squality", "sumpubmed", "billsum", "20newsgroups", "biomedical", "banking77")
SAGE_TASKS = ("preference", "robustness", "sensitivity", "clustering", "retrieval")
PAPER_SYSTEMS = ("bm25", "jaccard", "levenshtein", "rouge")
PAPER_DATA = ("sumpubmed", "sumpubmed_abstracts", "billsum", "cnn_dailymail")
PTEB_DATA = ("stsb", "sick_r", "mrpc", "emotion", "banking77_intents", "biomedical", "wikiqa", "scifact")
PTEB_TASKS = ("sts", "pair_classification", "classification", "clustering", "reranking", "retrieval")
SAGE_LIMIT, PTEB_LIMIT, PTEB_RUNS = 200, 300, 3
PROBE_QUERIES, NAME_DRAWS = 50, 5
VOCABULARY = "9b5ad71b2ce5302211f9c61530b329a4922fc6a4"
"""What tiktoken calls the file of cl100k_base in its cache."""


@dataclass(frozen=True)
class Places:
    """Where data come from and where everything goes."""

    data: Path
    out: Path
    hume_results: Path | None
    workers: int = 1
    quick: bool = False


@dataclass(frozen=True)
class Step:
    """A command that resumes by itself, or is done when `makes` is there. `prints` takes what it prints."""

    name: str
    command: tuple[str, ...]
    prints: Path | None = None
    makes: Path | None = None


def main() -> None:
    """Run the steps, or the one that is named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("EMBASSAY_DATA"))
    parser.add_argument("--out", type=Path, default=Path("runs/real"))
    parser.add_argument("--hume-results", type=Path, help="published results of HUME, results.json.gz")
    parser.add_argument("--workers", type=int, default=1, help="processes of SAGE and PTEB; no number changes")
    parser.add_argument("--quick", action="store_true", help="SAGE with four tasks on seven datasets: half the work")
    parser.add_argument("--only", action="append", help="a step; repeatable")
    parser.add_argument("--list", action="store_true", help="show the commands and stop")
    given = parser.parse_args()
    if given.data is None:
        parser.error("name the folder of the data with --data or EMBASSAY_DATA")
    places = Places(given.data.resolve(), given.out, given.hume_results, given.workers, given.quick)
    chosen = [step for step in steps(places) if not given.only or step.name in given.only]
    if not chosen:
        parser.error(f"there is no such step; there are {', '.join(step.name for step in steps(places))}")
    for step in chosen:
        print(f"\n# {step.name}\n{shlex.join(shown(step))}", flush=True)
        if step.makes and step.makes.exists():
            print(f"{step.makes} is there.")
        elif not given.list:
            run(step, places)


def steps(places: Places) -> list[Step]:
    """All steps, in order: cheap ones first, so that a mistake shows early."""
    return [*hume(places), *rag(places), *pteb(places), *sage(places), *told(places)]


def hume(places: Places) -> list[Step]:
    """A study of five real datasets, scripts that answer it, and the systems on the same items."""
    study, config = places.out / "study", HERE / "hume" / "round.yaml"
    sample = embassay("hume-sample", "hume", "sample", "--config", config, "--out", study)
    answers = (sys.executable, str(HERE / "answer_study.py"), str(study))
    made = [
        replace(sample, makes=study / "study.json"),
        Step("hume-answers", answers, makes=study / "annotations"),
        embassay("scripted", "hume", "score", study, *each("-s", SYSTEMS), "--out", places.out / "scripted"),
    ]
    if places.hume_results:
        published = ("--from-mteb", places.hume_results, "--out", places.out / "people")
        made.append(embassay("people", "hume", "score", *published))
    return made


def rag(places: Places) -> list[Step]:
    """Rankings scored by people's judgements, a sweep, and both probes."""
    judged = places.data / "retrieval"
    kinds = {
        "cranfield": ("--map", "relevance=code", "--grades", "cranfield"),
        "scifact": ("--split", "dev", "--grades", "binary"),
    }
    made = []
    for name, options in kinds.items():
        made.append(ranked(places, name))
        found = [places.out / "runs" / name / f"{one}.trec" for one in (*RETRIEVERS, "rrf")]
        score = ("rag", "score", "--qrels", judged / name / "qrels.jsonl.gz", *options, *each("--run", found))
        made.append(embassay(name, *score, "--out", places.out / name))
    made.append(embassay("sweep", "rag", "sweep", HERE / "real_sweep.yaml", "--out", places.out / "sweep"))
    names = (*each("-s", ENCODERS), "--queries", PROBE_QUERIES, "--runs", NAME_DRAWS)
    made.append(embassay("names", "rag", "probe", "names", *names, "--out", places.out / "names"))
    noise = (*each("-s", ENCODERS), *datasets(["scifact"]), "--limit", PROBE_QUERIES)
    return [*made, embassay("noise", "rag", "probe", "noise", *noise, "--out", places.out / "noise")]


def ranked(places: Places, name: str) -> Step:
    """The first 100 documents of every query by each system, and their fusion."""
    command = (sys.executable, HERE / "rag_runs.py", HERE / "datasets" / f"{name}.yaml")
    options = (*each("-s", RETRIEVERS), "--out", places.out / "runs")
    fusion = places.out / "runs" / name / "rrf.trec"
    return Step(f"{name}-runs", tuple(map(str, (*command, *options))), makes=fusion)


def pteb(places: Places) -> list[Step]:
    """Eight datasets, six tasks, and the control of paraphrasing."""
    options = ("-p", "permuted", "--runs", PTEB_RUNS, "--limit", PTEB_LIMIT)
    asked = (*each("-s", SYSTEMS), *datasets(PTEB_DATA), *each("-t", PTEB_TASKS), *options)
    return [embassay("pteb", "pteb", "run", *asked, "--workers", places.workers, "--out", places.out / "pteb")]


def sage(places: Places) -> list[Step]:
    """All five tasks; quickly without retrieval, for which every document is encoded in 19 wordings."""
    data = QUICK_DATA if places.quick else SAGE_DATA
    tasks = SAGE_TASKS[:-1] if places.quick else SAGE_TASKS
    asked = (*each("-s", SYSTEMS), *datasets(data), *each("-t", tasks), "--limit", SAGE_LIMIT)
    whole = embassay("sage", "sage", "run", *asked, "--workers", places.workers, "--out", places.out / "sage")
    return [whole, *paper(places)]


def paper(places: Places) -> list[Step]:
    """SAGE's tables 4 to 6 as close to the paper as the data allow: its first author's needle, texts of 512 tokens."""
    needle = places.data / "needle" / "lorem.txt"
    asked = (*each("-s", PAPER_SYSTEMS), *datasets(PAPER_DATA), "-t", "robustness", "-t", "sensitivity")
    how = ("--needle", needle, "--text-tokens", 512, "--out", places.out / "paper")
    return [embassay("paper", "sage", "run", *asked, *how)]


def told(places: Places) -> list[Step]:
    """One report of all, and every comparison as a table."""
    parts = ["sage", "pteb", "scifact", "cranfield", "sweep", "names", "noise", "scripted"]
    parts += ["people"] if places.hume_results else []
    page = embassay("report", "report", *(places.out / part for part in parts), "--out", places.out / "report.html")
    compared = [
        embassay(f"compare-{part}", "compare", places.out / part, prints=places.out / f"compare-{part}.txt")
        for part in ("sage", "pteb", "scifact", "cranfield", "scripted")
    ]
    return [page, *compared]


def embassay(name: str, *arguments: object, prints: Path | None = None) -> Step:
    """A command of the package, by this interpreter."""
    return Step(name, (sys.executable, "-m", "embassay", *map(str, arguments)), prints)


def each(option: str, values: Sequence[object]) -> list[object]:
    """An option once for every value."""
    return [word for value in values for word in (option, value)]


def datasets(names: Sequence[str]) -> list[object]:
    """The descriptions beside this file."""
    return each("-d", [HERE / "datasets" / f"{name}.yaml" for name in names])


def shown(step: Step) -> list[str]:
    """The command as somebody would type it."""
    first = {sys.executable: "python"}
    words = [first.get(word, word) for word in step.command]
    return words[2:] if words[1:3] == ["-m", "embassay"] else words


def run(step: Step, places: Places) -> None:
    """Run a step, note what it took, and stop where it failed."""
    environment = os.environ | {"EMBASSAY_DATA": str(places.data), **vocabulary(places)}
    places.out.mkdir(parents=True, exist_ok=True)
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    caught = subprocess.PIPE if step.prints else None
    done = subprocess.run(step.command, env=environment, check=False, stdout=caught, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = sum(getattr(after, part) - getattr(before, part) for part in ("ru_utime", "ru_stime"))
    took = {
        "step": step.name,
        "exit": done.returncode,
        "wall_s": round(time.perf_counter() - start, 1),
        "cpu_s": round(spent, 1),
    }
    with (places.out / "steps.jsonl").open("a", encoding="utf-8") as log:
        log.write(json.dumps(took) + "\n")
    if step.prints:
        step.prints.write_text(done.stdout, encoding="utf-8")
    if done.returncode:
        sys.exit(done.returncode)


def vocabulary(places: Places) -> dict[str, str]:
    """Where tiktoken finds the vocabulary of cl100k, if it comes with the data."""
    source = places.data / "tokenizer" / "cl100k_base.tiktoken"
    if not source.exists() or "TIKTOKEN_CACHE_DIR" in os.environ:
        return {}
    folder = places.out / "tokenizer"
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / VOCABULARY).exists():
        shutil.copyfile(source, folder / VOCABULARY)
    return {"TIKTOKEN_CACHE_DIR": str(folder)}


if __name__ == "__main__":
    main()
