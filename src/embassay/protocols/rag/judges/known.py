"""Judgements that are known already: grades 1 to 5 by query and document, from a qrels file or a folder with one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from embassay.data.grades import grade_map
from embassay.data.judged_runs import read_qrels
from embassay.errors import DataError

Grades = Mapping[str, Mapping[str, int]]

_CODE = "code"
"""How some collections call the column of the judgements; looked for where no column is named and none is usual."""


def read_known(path: Path, grades: str = "identity", column: str = "") -> Grades:
    """The grades in a file of judgements, or in the qrels of a folder (see `read_qrels`), through a grade map (spec rag
    1.1; `grades` as in `--grades`); `column` is the one they stand in. Rows whose value the map drops are left out.

    DataError, with file and line, for what cannot be read, a value that is not in the map, or two grades of one pair.
    """
    entries = read_qrels(path.expanduser(), {"relevance": column or _CODE})
    values = grade_map(grades)
    known: dict[str, dict[str, int]] = {}
    for row, (query, doc, value) in enumerate(entries.frame.iter_rows()):
        if value not in values:
            raise entries.fault(
                row, "the judgement is not in the grade map",
                expected=", ".join(f"{one:g}" for one in values), found=f"{value:g}",
                mend="Name a fitting map with grades=, or write one as value=grade,...",
            )  # fmt: skip
        grade = values[value]
        if grade is not None and known.setdefault(query, {}).setdefault(doc, grade) != grade:
            raise entries.fault(
                row, f"query {query!r} and document {doc!r} are judged twice, differently",
                expected=f"grade {known[query][doc]}, as before", found=f"grade {grade}",
                mend="Keep one judgement of each query and document.",
            )  # fmt: skip
    if not known:
        raise DataError(
            "no judgement is left",
            path=path,
            mend="The grade map drops all of them: name another with grades=.",
        )
    return known
