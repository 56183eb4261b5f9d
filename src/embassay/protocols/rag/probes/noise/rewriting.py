"""Having noisy questions rewritten, once for all systems; what is there is kept in the run's folder."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

from embassay.protocols.opening import charged
from embassay.protocols.rag.judges.contract import Question
from embassay.protocols.rag.rewriting import Rewriter
from embassay.protocols.session import Silent
from embassay.runs.files import digest, to_json, write_atomic
from embassay.runs.many_calls import Failure, all_of
from embassay.systems.remote import Ledger
from embassay.systems.remote.home import wait_for


class Rewritings:
    """Text -> rewriting of one rewriter, in a file of the run."""

    def __init__(self, folder: Path, identity: str) -> None:
        self.path = folder / "rewritings" / f"{digest(identity)[:16]}.json"

    def read(self) -> Mapping[str, str]:
        """All that are there."""
        try:
            found: Mapping[str, str] = json.loads(self.path.read_text("utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        return found

    def complete(
        self, rewriter: Rewriter, texts: Iterable[str], listener: Silent, ledger: Ledger | None
    ) -> Mapping[str, str]:
        """Have the texts rewritten that are not there; text -> why of those that cannot be. What comes is kept, also
        when the money ends (BudgetExceeded) or the model cannot be had (ModelError)."""
        found = dict(self.read())
        waiting = [one for one in dict.fromkeys(texts) if one not in found]
        failed: dict[str, str] = {}
        if not waiting:
            return failed
        listener.stage(f"rewriting by {rewriter.name}", len(waiting), "questions")

        async def rewrite() -> None:
            jobs = [partial(rewriter.rewrite, Question(str(i), text)) for i, text in enumerate(waiting)]
            async for place, outcome in all_of(jobs, progress=listener.advanced_by):
                if isinstance(outcome, Failure):
                    failed[waiting[place]] = outcome.reason
                else:
                    found[waiting[place]] = outcome

        try:
            with charged(ledger, rewriter.name):
                wait_for(rewrite)
        finally:
            ordered = {text: found[text] for text in sorted(found)}
            write_atomic(self.path, to_json(ordered, indent=1) + "\n")
        return failed
