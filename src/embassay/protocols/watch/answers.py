"""Answers of a recording that is under way, in a folder beside its file: a kill loses only what was in flight."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Role
from embassay.errors import DataError
from embassay.limits import parse_json_written_by_embassay
from embassay.protocols.kernel.outcome import format_current_utc_time
from embassay.protocols.watch.fingerprint import read_fingerprint
from embassay.runs.embeddings import EmbeddingCache, make_chunk_cache_key
from embassay.runs.folder import RunFolder, format_value_as_json, write_file_atomically
from embassay.runs.spending import RunSpendingJournal
from embassay.runs.store import RerankScoreCache, make_rerank_score_key
from embassay.systems.remote import Ledger

if TYPE_CHECKING:
    from embassay.protocols.watch.respondents import WatchRespondent

ENDING = ".partial"
_STAGES = "stages.json"
_MADE = "made"
"""Holds the digest of the fingerprint that was made of the answers."""
Answers = NDArray[np.float32]


class KeptWatchAnswers:
    """The answers so far, by the `stage` that they belong to: each repeat is an answer of its own. `found` counts those
    that an earlier attempt brought, `ledger` is limited by what all attempts cost."""

    def __init__(self, folder: Path, ledger: Ledger, spending: RunSpendingJournal) -> None:
        self.folder, self.ledger, self.spending = folder, ledger, spending
        self.stage, self.found = "", 0
        self._vectors = EmbeddingCache.open(folder / EmbeddingCache.file)
        self._scores = RerankScoreCache.open(folder / RerankScoreCache.file)
        stages = folder / _STAGES
        self._finished: list[str] = [*parse_json_written_by_embassay(stages.read_bytes())] if stages.is_file() else []
        self.is_resumed = bool(self._finished or self.spending.sum_spending_by_account())

    @property
    def usd(self) -> float | None:
        """Dollars billed to all attempts; None where a price is not known."""
        prices = [spent.usd for spent in self.spending.sum_spending_by_account().values()]
        known = [usd for usd in prices if usd is not None]
        return sum(known) if len(known) == len(prices) else None

    def read_kept_vectors(self, identity: str, role: Role, texts: Sequence[str]) -> Answers | None:
        """The vectors (n, dim) of the texts of a request in this stage; None where there are none."""
        vectors = self._vectors.read(self._make_answer_key(identity, role, texts), (len(texts), None))
        self.found += 0 if vectors is None else len(texts)
        return vectors

    def keep_vectors(self, identity: str, role: Role, texts: Sequence[str], vectors: Answers) -> None:
        """Keep them."""
        self._vectors.write(self._make_answer_key(identity, role, texts), identity, vectors)

    def read_kept_rerank_scores(self, identity: str, question: str, others: Sequence[str]) -> Answers | None:
        """The scores (n,) of the others of an item in this stage; None where there are none."""
        key = make_rerank_score_key(self._join_stage_and_identity(identity), question, others)
        scores = self._scores.read([key], len(others)).get(key)
        self.found += scores is not None
        return scores

    def keep_rerank_scores(self, identity: str, question: str, others: Sequence[str], scores: Answers) -> None:
        """Keep them."""
        self._scores.write(
            identity, {make_rerank_score_key(self._join_stage_and_identity(identity), question, others): scores}
        )

    def is_stage_finished(self, stage: str) -> bool:
        """Whether an earlier attempt finished the stage."""
        return stage in self._finished

    def finish(self, stage: str) -> None:
        """Mark the stage as finished."""
        if stage not in self._finished:
            self._finished.append(stage)
            write_file_atomically(self.folder / _STAGES, format_value_as_json(self._finished))

    def mark_fingerprint_made(self, digest: str) -> None:
        """Mark that the answers are in a fingerprint of this digest, which is about to be saved."""
        write_file_atomically(self.folder / _MADE, digest)

    def close(self) -> None:
        """Release the files."""
        self._vectors.close()
        self._scores.close()

    def _make_answer_key(self, identity: str, role: Role, texts: Sequence[str]) -> bytes:
        return make_chunk_cache_key(self._join_stage_and_identity(identity), role, texts)

    def _join_stage_and_identity(self, identity: str) -> str:
        return f"{self.stage}\n{identity}"


@contextmanager
def enter_answer_stage_if_unfinished(respondent: WatchRespondent, stage: str) -> Iterator[bool]:
    """Answers of the block belong to this stage. Whether an earlier attempt has not finished it."""
    kept = respondent.kept
    if kept is None:
        yield True
        return
    kept.stage = stage
    # What stops the block leaves the stage unfinished.
    yield not kept.is_stage_finished(stage)
    kept.finish(stage)


def find_partial_answers_folder(out: Path) -> Path:
    """Where the answers are kept until the fingerprint is written.

    >>> find_partial_answers_folder(Path("watch/minilm.json")).as_posix()
    'watch/minilm.partial'
    """
    return out.with_name(out.name.removesuffix(".json") + ENDING)


@contextmanager
def open_kept_watch_answers(out: Path, max_usd: float | None = None) -> Iterator[KeptWatchAnswers]:
    """What is kept for a recording to the file `out`, for as long as the block runs. The folder goes once the file
    is there; after an error or a kill it stays. UsageError while another process records to that file."""
    folder = find_partial_answers_folder(out)
    # A kill may have come between the file and the removal.
    _remove_folder_if_fingerprint_written(folder, out)
    with RunFolder(folder).hold_folder_lock():
        spending = RunSpendingJournal(RunFolder(folder).spending_path, format_current_utc_time("milliseconds"))
        ledger = Ledger(max_usd=max_usd, spent_usd=spending.usd_counted_by_limit, journal=spending)
        with closing(spending), closing(KeptWatchAnswers(folder, ledger, spending)) as kept:
            yield kept
    _remove_folder_if_fingerprint_written(folder, out)


def _remove_folder_if_fingerprint_written(folder: Path, out: Path) -> None:
    """Remove the folder if its answers are in the fingerprint that is there."""
    made = folder / _MADE
    if not made.is_file() or not out.is_file():
        return
    with suppress(DataError):
        if read_fingerprint(out).digest != made.read_text("utf-8"):
            return
        # In one step, so that a kill leaves no half of it that would be taken for answers.
        gone = folder.with_name(f".{folder.name}.done")
        shutil.rmtree(gone, ignore_errors=True)
        folder.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)
