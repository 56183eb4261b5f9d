"""Everything a sweep says: frontiers, a recommendation and how sure it is, computed from what was measured (rag 3).

`compute_and_write_findings(sweep,
    folder)` computes it and writes `sweep.json` and `tables/`; `findings_of(sweep)` only computes;
`make_findings_result_rows(findings)` are its values as rows of `results.jsonl`.
"""

from embassay.protocols.rag.sweep.findings.conclusions import (
    compute_and_write_findings,
    compute_sweep_findings,
    make_findings_result_rows,
)
from embassay.protocols.rag.sweep.findings.record import SweepFindings, read_findings, write_findings

__all__ = [
    "SweepFindings",
    "compute_and_write_findings",
    "compute_sweep_findings",
    "make_findings_result_rows",
    "read_findings",
    "write_findings",
]
