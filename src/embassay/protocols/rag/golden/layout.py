"""Where everything of a golden run lies: a folder per query, in it one per stage (spec rag 4).

    manifest.json  questions_manifest.json  results.jsonl  golden.json  tables/  export/
    q07/s1_rewrites/q07.json
    q07/s2_candidates/dense/q07.top50.jsonl   q07/s2_candidates/sparse/q07.top50.jsonl
    q07/s3_merge/q07.merge.jsonl
    q07/s4_scores/q07.scores.jsonl
    q07/s5_pruned/q07.top35plus.jsonl
    q07/s6_ranked/q07.top20.jsonl

Beside its files every stage folder has a `manifest.json`, and an empty `_SUCCESS` once it is whole.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from embassay.runs.files import digest, slug

STAGES: Mapping[str, str] = {
    "S1": "s1_rewrites",
    "S2": "s2_candidates",
    "S3": "s3_merge",
    "S4": "s4_scores",
    "S5": "s5_pruned",
    "S6": "s6_ranked",
}
"""The stages in their order, with the name of the folder of each."""
MANIFEST, SUCCESS = "manifest.json", "_SUCCESS"
_NUMBERED = re.compile(r"Q([0-9]{1,9})")


@dataclass(frozen=True)
class QueryFolder:
    """The files of one query; `name` is that of its folder in the folder of the `run`."""

    run: Path
    name: str

    @property
    def path(self) -> Path:
        """Its folder."""
        return self.run / self.name

    def stage(self, stage: str) -> Path:
        """The folder of a stage: `S1` to `S6`."""
        return self.path / STAGES[stage]

    def manifest(self, stage: str) -> Path:
        """What the stage was done with, from and to."""
        return self.stage(stage) / MANIFEST

    def success(self, stage: str) -> Path:
        """An empty file that is there when the stage is whole."""
        return self.stage(stage) / SUCCESS

    @property
    def rewrite(self) -> Path:
        """S1: the question, its rewriting and the vector of that."""
        return self.stage("S1") / f"{self.name}.json"

    def dense(self, k: int) -> Path:
        """S2: the first k by cosine."""
        return self.stage("S2") / "dense" / f"{self.name}.top{k}.jsonl"

    def sparse(self, k: int) -> Path:
        """S2: the first k by BM25."""
        return self.stage("S2") / "sparse" / f"{self.name}.top{k}.jsonl"

    @property
    def merged(self) -> Path:
        """S3: both lists as one, by RRF."""
        return self.stage("S3") / f"{self.name}.merge.jsonl"

    @property
    def scores(self) -> Path:
        """S4: the same passages with their grades."""
        return self.stage("S4") / f"{self.name}.scores.jsonl"

    @property
    def kept_grades(self) -> Path:
        """S4, while it goes on: a line for every verdict, the moment it comes."""
        return self.stage("S4") / f"{self.name}.kept.jsonl"

    def pruned(self, minimum: int) -> Path:
        """S5: the best whole buckets of grades that hold so many passages."""
        return self.stage("S5") / f"{self.name}.top{minimum}plus.jsonl"

    def ranked(self, top: int) -> Path:
        """S6: the first `top` in their final order."""
        return self.stage("S6") / f"{self.name}.top{top}.jsonl"

    @property
    def order(self) -> Path:
        """S6: all passages that S5 kept in their final order."""
        return self.stage("S6") / f"{self.name}.order.jsonl"

    @property
    def calls(self) -> Path:
        """S6: a line for every order that the judge gave, from the moment that it came."""
        return self.stage("S6") / f"{self.name}.calls.jsonl"

    @property
    def checkpoint(self) -> Path:
        """S6: the state of the ranking, for people."""
        return self.stage("S6") / f"{self.name}.checkpoint.json"

    @property
    def preview(self) -> Path:
        """S6: the final order as text to read."""
        return self.stage("S6") / f"{self.name}.preview.md"


def folder_names(ids: Sequence[str]) -> dict[str, str]:
    """Query id -> name of its folder, no two alike even where case does not count.

    `Q7` and `Q07` are q07, and of several that would share a name only the first has it. Any other id becomes a safe
    name after `q_`, so that no folder is mistaken for a file of the run.

    >>> folder_names(["Q7", "Q112", "PLAIN-3", "a/b", "A/B"])
    {'Q7': 'q07', 'Q112': 'q112', 'PLAIN-3': 'q_PLAIN-3', 'a/b': 'q_a_b-230946ed', 'A/B': 'q_A_B-f4ddc50a'}
    """
    names: dict[str, str] = {}
    taken: set[str] = set()
    for key in ids:
        numbered = _NUMBERED.fullmatch(key)
        name = f"q{int(numbered[1]):02d}" if numbered else f"q_{slug(key)}"
        for length in (8, 16, 32):
            if name.casefold() in taken:
                name = f"q_{slug(key)}-{digest(key)[:length]}"
        taken.add(name.casefold())
        names[key] = name
    return names
