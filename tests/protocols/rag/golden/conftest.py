"""A small pack: questions on four subjects, documents that answer some of them, and what is known of both."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

SUBJECTS = {
    "tea": "green tea leaves steeped in hot water",
    "bees": "honey bees dance to show where flowers are",
    "tides": "the moon pulls the sea and makes tides",
    "glass": "sand melts in a furnace and becomes glass",
}
_TIMES = re.compile(r'"(?:ts|cut_ts)": "[^"]*"')


@dataclass(frozen=True)
class Pack:
    """Its files; `arguments` are those of `golden` that read them."""

    folder: Path

    @property
    def arguments(self) -> dict:
        return {"corpus": self.folder / "corpus.jsonl", "queries": self.folder / "queries.jsonl"}

    def judge(self, **more) -> str:
        """A simulated judge that knows the grades."""
        said = "&".join(f"{key}={value}" for key, value in more.items())
        return f"simulated:{self.folder / 'qrels.tsv'}" + (f"?{said}" if said else "")


def make_pack(folder: Path, per_subject: int = 6) -> Pack:
    folder.mkdir(parents=True)
    corpus, queries, qrels = [], [], ["query-id\tcorpus-id\tscore"]
    for number, (subject, text) in enumerate(SUBJECTS.items(), start=1):
        queries.append({"id": f"Q{number}", "text": f"What is known of {subject}?", "tags": [subject]})
        for i in range(per_subject):
            key = f"{subject}-{i}"
            words = " ".join(text.split()[: 3 + i])
            corpus.append({"id": key, "title": subject, "text": f"{words}. Note {i}.", "year": 1900 + i})
            qrels.append(f"Q{number}\t{key}\t{min(5, i + 1)}")
    for name, rows in (("corpus", corpus), ("queries", queries)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    (folder / "qrels.tsv").write_text("\n".join(qrels) + "\n", encoding="utf-8")
    return Pack(folder)


def artefacts(run: Path) -> dict[str, str]:
    """What a run has made, time stamps aside: the files of all stages, the export, the rows and the tables."""
    paths = [*run.glob("q*/*/**/*"), *run.glob("export/**/*"), run / "results.jsonl", *run.glob("tables/*")]
    skipped = {"manifest.json", "stages.csv", "stages.md", "stages.tex", "README.md"}
    return {
        path.relative_to(run).as_posix(): _TIMES.sub('"ts"', path.read_text("utf-8"))
        for path in sorted(paths)
        if path.is_file() and path.name not in skipped
    }
