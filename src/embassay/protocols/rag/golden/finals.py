"""The final lists of a golden run, read from its folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from embassay.errors import DataError, UsageError
from embassay.protocols.rag.golden.check_file import FinalList, Listed
from embassay.protocols.rag.golden.layout import QueryFolder
from embassay.protocols.rag.golden.stages import read_rows
from embassay.runs.folder import RunFolder


def read_final_lists(run: Path) -> list[FinalList]:
    """The first places of every question that is done, in the order of the run.

    UsageError where there is no golden set, or none of its questions is done; DataError for a damaged one.
    """
    manifest = RunFolder(run).read_manifest()
    if manifest is None or (manifest.get("protocol"), manifest.get("kind")) != ("rag", "golden"):
        raise UsageError(
            f"There is no golden set in {run}.", mend="Give the folder that `embassay rag golden` wrote."
        )
    try:
        top = int(manifest["arguments"]["options"]["top"])
        cells = [(cell["query_id"], cell["folder"]) for cell in manifest["cells"]]
    except (KeyError, TypeError, ValueError) as error:
        raise DataError("the manifest is not whole", path=run / "manifest.json", found=repr(error)) from error
    # A name, not a path: what somebody sends as a run leads nowhere else.
    folders = [(query, QueryFolder(run, Path(str(name)).name)) for query, name in cells]
    done = [(query, folder) for query, folder in folders if folder.success("S6").exists()]
    if not done:
        raise UsageError(
            f"No question of {run} is done.",
            mend="Finish it: the same `embassay rag golden` command resumes.",
        )
    return [read_final_list(query, folder.ranked(top)) for query, folder in done]


def read_final_list(query: str, path: Path) -> FinalList:
    """The final list of one question, in the file `path`. DataError where it cannot be read."""
    try:
        rows = read_rows(path)
        passages = tuple(_listed(row) for row in rows)
        question = str(rows[0]["question"]) if rows else ""
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            "the final list cannot be read", path=path, found=str(error), mend="Redo it with --from-stage S6."
        ) from error
    return FinalList(query, question, passages)


def _listed(row: dict[str, Any]) -> Listed:
    return Listed(str(row["doc_id"]), int(row["final_rank"]), row["grade"], str(row["text"]))
