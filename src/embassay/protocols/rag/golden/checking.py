"""The human check of a golden run: a sample to edit, and what the edited file says, kept with the run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from embassay.bounded import read_bounded
from embassay.errors import DataError, UsageError
from embassay.protocols.rag.golden.check_file import FinalList, read_check, write_check
from embassay.protocols.rag.golden.finals import read_final_lists
from embassay.protocols.rag.golden.human import SHARE, draw_questions, score_check
from embassay.protocols.rag.golden.summary import HumanCheck, read_golden, write_golden
from embassay.protocols.rag.plain import made
from embassay.runs.files import digest, slug, to_json, write_atomic

FOLDER = "human"
"""Of what people have said, in the folder of a run."""


@dataclass(frozen=True)
class Sampling:
    """Which questions go into a file, and what of them is shown."""

    share: float = SHARE
    blind: bool = False
    excerpt: int = 800
    seed: int = 1337

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1 or self.excerpt < 1:
            raise UsageError(
                f"A sample cannot have share={self.share}, excerpt={self.excerpt}.",
                mend="Give a share above 0 and at most 1, and an excerpt of 1 or more characters.",
            )


def sample_check(run: Path, out: Path, sampling: Sampling = Sampling()) -> list[FinalList]:
    """Draw questions of a golden run and write their final lists to a file for a person; the lists that went in.

    UsageError for a run without final lists, an ending that is not known, or a file that is there already: it may hold
    somebody's work.
    """
    lists = read_final_lists(run)
    chosen = set(draw_questions([one.query_id for one in lists], sampling.share, sampling.seed))
    drawn = [one for one in lists if one.query_id in chosen]
    if out.exists():
        raise UsageError(f"{out} is there already.", mend="Name another file: this one may have been edited.")
    write_check(out, drawn, blind=sampling.blind, excerpt=sampling.excerpt, seed=sampling.seed)
    return drawn


def score_file(run: Path, file: Path, *, seed: int = 1337) -> HumanCheck:
    """What an edited file says of a golden run, and keep it there. DataError with the line for edits that are none."""
    lists = read_final_lists(run)
    edited, blind = read_check(file, lists)
    checked = {one.query_id for one in edited}
    found = score_check(lists, edited, file=file.name, blind=blind, seed=seed)
    found = replace(found, lists=_seal([one for one in lists if one.query_id in checked]))
    write_atomic(
        run / FOLDER / f"{slug(file.stem)}.json",
        to_json({**asdict(found), "questions": sorted(checked)}) + "\n",
    )
    _into_record(run)
    return found


def read_checks(run: Path) -> tuple[HumanCheck, ...]:
    """What people have said of the run's final lists, by name of their files; of lists that have changed since, no
    more."""
    files = sorted((run / FOLDER).glob("*.json"))
    lists = read_final_lists(run) if files else []
    found = []
    for path in files:
        try:
            plain = json.loads(read_bounded(path).decode("utf-8"))
            checked = set(plain.pop("questions"))
            check = made(HumanCheck, plain)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
            raise DataError(
                "the human check cannot be read", path=path, found=str(error),
                mend="Delete it, and score the edited file again.",
            ) from error  # fmt: skip
        if check.lists == _seal([one for one in lists if one.query_id in checked]):
            found.append(check)
    return tuple(found)


def checked_questions(run: Path) -> int:
    """How many questions people have checked."""
    wanted = {check.lists for check in read_checks(run)}
    names: set[str] = set()
    for path in (run / FOLDER).glob("*.json"):
        plain = json.loads(read_bounded(path).decode("utf-8"))
        names |= set(plain["questions"]) if plain["lists"] in wanted else set()
    return len(names)


def _into_record(run: Path) -> None:
    """Put what people say into the run's record, where there is one."""
    path = run / "golden.json"
    if path.exists():
        golden = read_golden(path)
        labels = {**golden.labels, "n_human_validated": checked_questions(run)}
        write_golden(path, replace(golden, human=read_checks(run), labels=labels))


def _seal(lists: Sequence[FinalList]) -> str:
    return digest([[one.query_id, [[p.doc_id, p.place, p.grade] for p in one.passages]] for one in lists])
