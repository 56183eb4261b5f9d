"""The commands of docs/papers.csv on the sample: each is typed once, and what a command needs is made before it.

A name in braces is a folder or file of the workspace. The command that has it behind --out makes it; `FILES` are made
here, of what others made, and `{chat}` is a language model on this machine.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from shutil import copytree

from embassay.data import open_dataset
from stub.annotating import blocks
from stub.chat import Turn
from stub.paraphrasing import paraphrasing

Row = Mapping[str, str]
NAME = re.compile(r"\{([\w.-]+)\}")
MADE = re.compile(r"(?:--out|hume sample .*--out) \{([\w.-]+)\}")
CHAT = "chat"
"""What a language model's name begins with; `{chat-4b}` is one that says its size."""


def answer(turn: Turn) -> str:
    """A model that does what the commands ask: rates pairs by their lengths, takes the first label, ranks documents as
    they come, and paraphrases all else."""
    told = turn.messages[0]["content"]
    if "<text1>" in turn.last:
        return json.dumps({"score": len(turn.last) % 6})
    if '{"label"' in told:
        return json.dumps({"label": re.findall(r"^- (.+?)(?::|$)", told.partition("Labels:")[2], re.MULTILINE)[0]})
    if '{"rating"' in told:
        return json.dumps({"rating": len(turn.last) % 6})
    if '{"ranking"' in told or '{"relevant"' in told:
        letters = [name.removeprefix("document ") for name, _ in blocks(turn.last)[1:]]
        key = "relevant" if '{"relevant"' in told else "ranking"
        return json.dumps({key: letters})
    reply = paraphrasing()(turn)
    assert isinstance(reply, str)
    return reply


@dataclass
class Workspace:
    """A folder in which commands are run, each once; `said` is what each printed. `chat` is the language model, with
    braces where its name stands."""

    folder: Path
    command: Sequence[str]
    rows: Sequence[Row]
    chat: str = ""
    said: dict[str, str] = field(default_factory=dict)

    def run(self, line: str) -> str:
        """What `embassay LINE` prints; its needs are met before."""
        if line in self.said:
            return self.said[line]
        made = set(MADE.findall(line))
        for name in NAME.findall(line):
            if name not in made and not name.startswith(CHAT):
                self.make(name)
        written = NAME.sub(lambda name: self._written(name[1]), line)
        environment = {
            **os.environ, "COLUMNS": "140", "NO_COLOR": "1", "OPENAI_API_KEY": "none", "PYTHONIOENCODING": "utf-8",
            "EMBASSAY_CACHE": str(self.folder / "cache"),
        }  # fmt: skip
        done = subprocess.run(
            [*self.command, *shlex.split(written)], cwd=self.folder, env=environment, capture_output=True,
            text=True, encoding="utf-8", check=False, timeout=170,
        )  # fmt: skip
        assert done.returncode == 0, (written, done.stdout[-1500:], done.stderr[-1500:])
        assert "Traceback" not in done.stderr, done.stderr[-1500:]
        self.said[line] = done.stdout
        return done.stdout

    def _written(self, name: str) -> str:
        return self.chat.format(name) if name.startswith(CHAT) else str(self.folder / name)

    def make(self, name: str) -> Path:
        """A folder or file of the workspace, made now where it is not there."""
        path = self.folder / name
        if name in FILES:
            if not path.exists():
                FILES[name](self, path)
            return path
        if path.exists():
            return path
        # The first that makes it; a later one with the same folder goes on with it.
        line = next(row["run"] for row in self.rows if name in MADE.findall(row["run"]))
        self.run(line)
        return path


def write_pairs(path: Path, rows: slice) -> Path:
    """Some pairs of the sample as a file of their own."""
    data = open_dataset("sample").load("pairs").data
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["text", "text2", "score"])
        writer.writerows(list(zip(data.first, data.second, data.scores.tolist(), strict=True))[rows])
    return path


def _write_run(of: Workspace, path: Path) -> None:
    """What a search by shared words finds of the passages that the golden set has graded."""
    graded = of.make("golden") / "export" / "qrels.tsv"
    with graded.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.reader(stream, delimiter="\t"))[1:]
    by_query: dict[str, list[str]] = {}
    for query, doc, *_ in rows:
        by_query.setdefault(query, []).append(doc)
    lines = [
        f"{query} Q0 {doc} {rank} {-rank} words"
        for query, docs in by_query.items()
        for rank, doc in enumerate(sorted(docs), 1)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _write_facets(of: Workspace, path: Path) -> None:
    """A facet for each passage of the run, the first two of a question with the same."""
    lines = [line.split() for line in (of.make("run.trec")).read_text("utf-8").splitlines()]
    rows = [(query, doc, f"nugget {max(int(rank), 2)}") for query, _, doc, rank, *_ in lines]
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([("query_id", "doc_id", "facet"), *rows])


def _write_ratings(of: Workspace, path: Path) -> None:
    """The sheet of a run, with every fifth paraphrase called invalid."""
    with (of.make("pteb") / "tables" / "pteb_to_rate.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows({**row, "valid": "no" if at % 5 == 0 else "yes"} for at, row in enumerate(rows))


def _copy_sweep(_: Workspace, path: Path) -> None:
    """The sweep that is bundled, with an approximate index where it can be had."""
    written = files("embassay.protocols.rag.sweep").joinpath("sample.yaml").read_text("utf-8")
    index = "[flat, hnsw-f32]" if find_spec("faiss") else "[flat]"
    path.write_text(written.replace("index: [flat]", f"index: {index}"), encoding="utf-8")


def _simulate_people(of: Workspace, path: Path) -> None:
    """A study that scripts answered: marked as simulated."""
    copytree(of.make("drawn"), path)
    of.run("hume simulate {study}")


def _answer_twice(of: Workspace, path: Path) -> None:
    """A study that a model answered, and as far as it knows people: the scripts' answers without their mark."""
    copytree(of.make("drawn"), path)
    of.run("hume export {study} --format csv --out {scripts.csv}")
    said = (of.folder / "scripts.csv").read_text("utf-8").replace("simulated-", "ann").replace(",simulated,", ",,")
    (of.folder / "people.csv").write_text(said, encoding="utf-8")
    of.run("hume import {llm-study} {people.csv}")
    of.run("hume annotate {llm-study} --llm {chat} --runs 2")


FILES: Mapping[str, Callable[[Workspace, Path], None]] = {
    "old.csv": lambda _, path: write_pairs(path, slice(0, None, 2)),
    "mine.csv": lambda _, path: write_pairs(path, slice(1, None, 2)),
    "run.trec": _write_run,
    "facets.csv": _write_facets,
    "ann.csv": _write_ratings,
    "sweep.yaml": _copy_sweep,
    "study": _simulate_people,
    "llm-study": _answer_twice,
}
