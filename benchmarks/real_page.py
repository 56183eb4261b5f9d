"""benchmarks/results/all_protocols.md from the folder that `real_report.py` filled.

python benchmarks/real_page.py runs/real > benchmarks/results/all_protocols.md
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from embassay.document.blocks import convert_sentence_to_text
from embassay.protocols.compare import SystemRankAtPlace, list_ranked_system_groups, read_comparable_run
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.comparisons import OVERALL
from embassay.report.overview import run_verdict
from embassay.report.runs import ReportRun, read_report_runs

HERE = Path(__file__).parent
RUNS = ("sage", "pteb", "cranfield", "scifact", "sweep", "names", "noise", "scripted", "people")
SCORED = ("sage", "pteb", "cranfield", "scifact", "scripted")
MEASURES = {
    "cranfield": ("RA-nWG@10", "N-Recall4+@10", "Harm@10", "nDCG@10"),
    "scifact": ("RA-nWG@10", "nDCG@10", "R@30"),
}
WORDS = {
    "sage": "SAGE",
    "pteb": "PTEB, with the words of every text in another order",
    "cranfield": "RAG: runs on Cranfield",
    "scifact": "RAG: runs on SciFact",
    "sweep": "RAG: a sweep over both",
    "names": "RAG: whose name it is",
    "noise": "RAG: small talk around SciFact's claims",
    "scripted": "HUME: a study that scripts answered",
    "people": "HUME: the published people and models",
}
GAP = "–"


def main() -> None:
    """Print the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path, help="the folder of the runs")
    out: Path = parser.parse_args().out
    print((HERE / "real_head.md").read_text("utf-8"))
    print("\n".join(taken(out)))
    found = [out / name for name in RUNS if (out / name / "manifest.json").exists()]
    runs = {run.record.path.name: run for run in read_report_runs(found)}
    for path in found:
        print("\n".join(section(path, runs[path.name])))
    print((HERE / "real_tail.md").read_text("utf-8").rstrip())


def taken(out: Path) -> Iterator[str]:
    """CPU time of every step, over all sessions."""
    steps: dict[str, float] = {}
    for line in (out / "steps.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        steps[row["step"]] = steps.get(row["step"], 0) + row["cpu_s"]
    yield from ("| Step | CPU seconds |", "|---|---:|")
    for name, seconds in steps.items():
        if seconds >= 1:
            yield f"| {name} | {seconds:,.0f} |"
    yield f"| together | {sum(steps.values()):,.0f} |"
    yield ""


def section(path: Path, run: ReportRun) -> Iterator[str]:
    """What the run says, as its page of the report has it, and its headlines."""
    verdict = run_verdict(run)
    said = " ".join(convert_sentence_to_text(sentence) for sentence in verdict.lede)
    yield from (f"## {WORDS[path.name]}", "", f"**{convert_sentence_to_text(verdict.heading)}.** {said}", "")
    if path.name in SCORED:
        yield from table(path)
        yield ""


def table(path: Path) -> Iterator[str]:
    """A row per system: every task's headline with its interval, and the ranks that tests leave possible."""
    values = read_comparable_run(path)
    unit = numbers.choose_measure_format_of_protocol(values.protocol_name)
    columns: dict[str, dict[str, str]] = {}
    apart: set[str] = set()
    for one in list_ranked_system_groups(values, measures=MEASURES.get(path.name, ())):
        if one.dataset and path.name not in MEASURES and _over_datasets(values.value_places, one.task):
            continue
        if one.group and one.task != OVERALL:
            apart.update(each.system for each in one.entrants)
        title = one.measure if path.name in MEASURES else one.task
        columns.setdefault(title, {}).update({each.system: cell(each, unit) for each in one.entrants})
    columns = {title: column for title, column in columns.items() if column}
    yield f"| | {' | '.join(columns)} |"
    yield f"|---|{'---:|' * len(columns)}"
    for system in dict.fromkeys(name for column in columns.values() for name in column):
        name = f"{system} †" if system in apart else system
        yield f"| {name} | {' | '.join(column.get(system, GAP) for column in columns.values())} |"
    if apart:
        yield from (
            "",
            "† Without vectors: classified and clustered by another method, and ranked among themselves there.",
        )


def cell(one: SystemRankAtPlace, unit: numbers.MeasureFormat) -> str:
    """Value, interval and ranks."""
    text = unit.text(one.value)
    if one.low is not None and one.high is not None:
        text += f" ({unit.interval(one.low, one.high)})"
    if one.rank_low is not None and one.rank_high is not None:
        text += f" *{numbers.format_rank_range(one.rank_low, one.rank_high)}*"
    return text


def _over_datasets(places: object, task: str) -> bool:
    return any(name == task and not dataset for name, dataset, _ in places)  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
