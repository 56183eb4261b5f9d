"""The scaling model against whole runs: what it says before, what they take, and how far apart the two are.

python benchmarks/scaling_check.py thin FOLDER 6000 SMALLER
python benchmarks/scaling_check.py predict 'FOLDER bm25' 'FOLDER wordllama' 'FOLDER minilm 60'
python benchmarks/scaling_check.py measure

`thin` makes a smaller folder of the same passages: judged ones first, as many as a twentieth, then others as they come.
A run is a folder in BEIR's layout, a system or several joined by +, perhaps a limit, and perhaps the edits. `predict`
writes what the model says to `scaling_checks.json`; `measure` does the runs with `embassay sage run -t retrieval`,
each in a process of its own with a cache of its own, and adds CPU seconds, peak memory and the bytes of the corpus, the
run, the cache and scratch files. What has been measured is not measured again.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scaling_model as model
from scaling_costs import HERE as COSTS
from scaling_costs import edited
from scaling_runs import sage, whole
from scaling_workloads import Corpus

from embassay.protocols.kernel.evaluation import load_task_dataset
from embassay.protocols.kernel.request import DatasetRequest
from embassay.protocols.sage.protocol import SageProtocol
from embassay.protocols.sage.tasks import RETRIEVAL_EDITS, parse_edit_list
from embassay.text import open_tokenizer

HERE = Path(__file__).with_name("scaling_checks.json")
SYSTEMS = {one.name: one for one in (model.BM25, model.WORDLLAMA, model.MINILM)}
COUNTED = 2_000
SEED = 1337


def corpus_of(folder: str, limit: int | None, edits: str) -> Corpus:
    """The size of what a run would search, and the mean length of some of its documents and of their versions."""
    data: Any = load_task_dataset(
        SageProtocol().protocol_import_path, "retrieval", DatasetRequest(folder), limit, SEED
    ).data
    texts = data.corpus.texts
    some = list(texts[:: max(1, len(texts) // COUNTED)])
    tokens = _mean(some)
    letters = sum(len(text.encode()) for text in some) / (tokens * len(some))
    corpus = Corpus(Path(folder).name, len(texts), tokens, len(data), letters=letters)
    if edits == "all":
        return corpus
    lengths = [_mean(version) for version in edited(some[:: max(1, len(some) // 200)])]
    kept = [lengths[0], *(lengths[1 + RETRIEVAL_EDITS.index(edit)] for edit in parse_edit_list(edits))]
    mean, longest = np.mean(kept) / np.mean(lengths), max(kept) / max(lengths)
    return replace(corpus, versions=len(kept), mean=float(mean), longest=longest)


def _mean(texts: Sequence[str]) -> float:
    """Tokens of a text."""
    return float(np.mean([len(ids) for ids in open_tokenizer("cl100k").encode_batch(list(texts))]))


def predicted(run: str, costs: model.Costs) -> dict[str, Any]:
    folder, systems, *more = run.split()
    limit = next((int(one) for one in more if one.isdigit()), None)
    edits = next((one for one in more if not one.isdigit()), "all")
    corpus = corpus_of(folder, limit, edits)
    said = model.run(costs, corpus, *(SYSTEMS[name] for name in systems.split("+")))
    return {
        "system": systems, "documents": corpus.documents, "texts": corpus.texts, "queries": corpus.queries,
        "tokens": round(corpus.tokens, 1), "limit": limit, "edits": edits,
        "predicted": {"seconds": said.seconds, "memory": said.memory, "disk": said.disk, "parts": dict(said.parts)},
        "folder": corpus.name,
    }  # fmt: skip


def measured(check: dict[str, Any], folders: Path) -> dict[str, Any]:
    """The check with what the run took."""
    corpus = folders / check["folder"]
    with tempfile.TemporaryDirectory() as place:
        out, cache = Path(place) / "run", Path(place) / "cache"
        limit = ["--limit", str(check["limit"])] if check["limit"] else []
        more = ["-d", str(corpus), "--seed", str(SEED), "--retrieval-edits", check["edits"], *limit]
        took = whole(sage(check["system"].split("+"), out, *more), cache, out)
    own = 0 if check["limit"] else (corpus / "corpus.jsonl").stat().st_size
    return {**check, "measured": {"seconds": took.seconds, "memory": took.peak, "disk": took.disk + own}}


def thinned(folder: Path, n: int, out: Path) -> None:
    """A folder of `n` of the passages, and the queries that have all their relevant ones among them."""
    rows = [line.split("\t") for line in (folder / "qrels" / "test.tsv").read_text("utf-8").splitlines()]
    wanted: dict[str, set[str]] = {}
    for query, document, _ in rows[1:]:
        wanted.setdefault(query, set()).add(document)
    judged: dict[str, None] = {}
    for documents in wanted.values():
        if len(judged) + len(documents) <= max(3, n // 20):
            judged |= dict.fromkeys(sorted(documents))
    with (folder / "corpus.jsonl").open(encoding="utf-8") as corpus:
        lines = {json.loads(line)["_id"]: line for line in corpus}
    others = [name for name in lines if name not in judged]
    kept = {*judged, *others[: n - len(judged)]}
    asked = {query for query, documents in wanted.items() if documents <= kept}
    (out / "qrels").mkdir(parents=True, exist_ok=True)
    (out / "corpus.jsonl").write_text("".join(line for name, line in lines.items() if name in kept), "utf-8")
    queries = (folder / "queries.jsonl").read_text("utf-8").splitlines(keepends=True)
    (out / "queries.jsonl").write_text("".join(line for line in queries if json.loads(line)["_id"] in asked), "utf-8")
    some = [rows[0], *(row for row in rows[1:] if row[0] in asked)]
    (out / "qrels" / "test.tsv").write_text("".join("\t".join(row) + "\n" for row in some), "utf-8")


def main(arguments: list[str] | None = None) -> list[dict[str, Any]]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=("thin", "predict", "measure"))
    parser.add_argument("runs", nargs="*", help="as above")
    parser.add_argument("--folders", type=Path, default=Path(), help="where the folders are, for measure")
    parser.add_argument("--costs", type=Path, default=COSTS)
    parser.add_argument("--out", type=Path, default=HERE)
    options = parser.parse_args(arguments)
    if options.what == "thin":
        folder, n, out = options.runs
        thinned(Path(folder), int(n), Path(out))
        return []
    if options.what == "predict":
        costs = model.Costs.read(json.loads(options.costs.read_text("utf-8")))
        checks = [predicted(run, costs) for run in options.runs]
        _write(options.out, checks)
    else:
        checks = json.loads(options.out.read_text("utf-8"))
        for place, check in enumerate(checks):
            if "measured" not in check:
                checks[place] = measured(check, options.folders)
                _write(options.out, checks)
                print(json.dumps(checks[place]), flush=True)
    return checks


def _write(path: Path, checks: list[dict[str, Any]]) -> None:
    path.write_text(json.dumps(checks, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
