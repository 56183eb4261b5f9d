"""What `real_models.py` measured, as `benchmarks/results/real_models.md` and the first part of `docs/real_data.md`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embassay.document.blocks import convert_sentence_to_text
from embassay.protocols.rag.golden.summary import read_golden_record
from embassay.protocols.rag.golden.trust import list_judge_warnings
from embassay.report.overview import run_verdict
from embassay.report.runs import read_report_runs
from embassay.runs.folder import RunFolder

Row = Mapping[str, Any]
BEGIN, END = "<!-- models: begin -->", "<!-- models: end -->"
"""Between these lines of docs/real_data.md the part about models is written anew."""
PUBLISHED = {
    ("all-mpnet-base-v2", "stsb"): 83.43, ("all-mpnet-base-v2", "sick_r"): 80.60,
    ("all-mpnet-base-v2", "sts12"): 72.64, ("all-mpnet-base-v2", "sts13"): 83.49,
    ("all-mpnet-base-v2", "sts17_en"): 90.61, ("all-mpnet-base-v2", "banking77_intents"): 92.23,
    ("all-mpnet-base-v2", "20newsgroups"): 50.18, ("all-mpnet-base-v2", "summeval"): 26.25,
}  # fmt: skip
"""PTEB's column Orig. (tables 6 and 9), x 100. Sets of the same name: 20newsgroups is a sample of ours."""
WHOLE = {"stsb": 1379, "sick_r": 4927, "sts12": 3108, "sts13": 1500, "sts17_en": 250, "banking77_intents": 3080}
"""Items of the published sets; a score on fewer is no reproduction."""


@dataclass(frozen=True)
class Section:
    """A run of the command: its folder, what it is called, the rows of its results that a table shows, how they are
    multiplied, and tables of the run that are shown as they are."""

    folder: str
    title: str
    rows: Callable[[Row], bool] = lambda row: False  # noqa: ARG005
    scale: float = 100.0
    tables: tuple[str, ...] = ()


def _main(row: Row) -> bool:
    side = ("sd", "delta", "delta_sd", "delta_runs", "original")
    return bool(row["dataset"]) and not row["variant"] and row["measure"] not in side and row["task"] != "overall"


def _rated(row: Row) -> bool:
    return _main(row) and row["measure"] == "spearman"


def _change(row: Row) -> bool:
    return bool(row["dataset"]) and row["measure"] in ("delta", "original") and row["variant"] in ("", "by=permuted")


SECTIONS = (
    Section("encoders", "Encoders", _main),
    Section("pteb", "Paraphrases by the language model", _change),
    Section("ratings", "Ratings of pairs", _rated),
    Section("ratings-second", "Ratings of pairs by a smaller model", _rated),
    Section("golden-scifact", "Grades of passages: SciFact", tables=("stages",)),
    Section("golden-cranfield", "Grades of passages: Cranfield", tables=("stages",)),
    Section("hteb", "Eight transformations", tables=("hteb_profiles", "hteb_texts")),
    Section("questions-scifact", "Questions written about SciFact", tables=("drafts",)),
    Section("questions-docs", "Questions written about this documentation", tables=("drafts",)),
    Section("choose-scifact", "Choice for SciFact", tables=("choice",)),
    Section("choose-scifact-llm", "Choice for SciFact with a model's questions", tables=("choice",)),
    Section("choose-docs", "Choice for this documentation", tables=("choice",)),
    Section("choose-docs-llm", "Choice for this documentation with a model's questions", tables=("choice",)),
    Section("answers", "Answers with two planted distractors", tables=("rag_answers",)),
    Section("hume", "Annotation by the language model", _main),
    Section("names", "Names", tables=("rag_table10", "rag_table11")),
    Section("noise", "Small talk", tables=("rag_table12",)),
    Section("sage", "SAGE", _main, 1.0),
)


def write(out: Path, checkout: Path) -> None:
    """Both pages from the runs that are there."""
    path = checkout / "benchmarks" / "results" / "real_models.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    before = path.read_text("utf-8") if path.is_file() else HEAD
    path.write_text(merged(before, "\n".join(page(out, before))), encoding="utf-8")
    guide = checkout / "docs" / "real_data.md"
    if not guide.is_file():
        return
    before, _, rest = guide.read_text("utf-8").partition(BEGIN)
    told, _, after = rest.partition(END)
    # A bullet may go over several lines.
    bullets = " ".join(told.split()).replace(" - **", "\n- **").splitlines()
    lines = {line.partition(".**")[0]: line for line in bullets}
    # What is not among these runs stays as it was told.
    lines |= {line.partition(".**")[0]: line for line in summary(out)}
    guide.write_text("\n".join([f"{before}{BEGIN}\n", *lines.values(), f"\n{END}{after}"]), encoding="utf-8")


def summary(out: Path) -> Iterator[str]:
    """What each run says first, a line each."""
    for section, heading, _ in verdicts(out):
        yield f"- **{section.title}.** {heading}."


HEAD = """# Real models

Written by `benchmarks/real_models.py`; every table has n and, where there is one, the 95% interval.
"""


def merged(before: str, made: str) -> str:
    """A page with the sections that were made in place of those of the same heading; all others, and what stands above
    them, stay as they are: what was measured on another day, or is written by hand.

    >>> merged("# Page\\n\\n## A\\n\\nold\\n\\n## B\\n\\nby hand\\n", "## A\\n\\nnew\\n\\n## C\\n\\nmore")
    '# Page\\n\\n## A\\n\\nnew\\n\\n## B\\n\\nby hand\\n\\n## C\\n\\nmore\\n'
    """
    head, *old = before.split("\n## ")
    sections = {text.partition("\n")[0]: text for text in old}
    sections |= {text.partition("\n")[0]: text for text in f"\n{made}".split("\n## ")[1:]}
    return "\n\n## ".join(text.strip() for text in (head, *sections.values())) + "\n"


def page(out: Path, before: str = "") -> Iterator[str]:
    """Every run with its tables. Of the page `before`, steps that are not among these runs keep their lines."""
    yield from ("## Steps", "", "| Part | Step | Seconds | Requests | Tokens |", "|---|---|---:|---:|---:|")
    told = before.partition("## Steps\n")[2].partition("\n## ")[0].splitlines()
    for pattern, made in ((_TOOK, taken(out)), (_ENDED, failures(out))):
        yield from (lines_by_step(told, pattern) | lines_by_step(made, pattern)).values()
        yield ""
    for section, heading, sentences in verdicts(out):
        path = out / section.folder
        day = json.loads((path / "manifest.json").read_text("utf-8"))["updated"][:10]
        yield from (f"## {section.title}", "", f"**{heading}.** {sentences}", "", f"Run of {day}.", "")
        rows = [row for row in read_results(path) if section.rows(row)]
        if rows:
            yield from (*table(rows, section.scale), "")
        if section.folder == "encoders":
            yield from published(rows)
        yield from warnings(path)
        for name in section.tables:
            yield from embedded(path / "tables" / f"{name}.md")
    yield from set_by_set(out, "encoders", "Encoders on sets of other kinds", _main)
    yield from set_by_set(out, "pteb", "Paraphrased: clusters, candidates and queries", _change)
    yield from people(out)
    for name in ("cranfield", "scifact"):
        yield from orders(name, out / f"orders-{name}.json")
    yield from engines(out / "engines-cranfield.json")
    yield from injections(out)
    yield from hybrid(out / "hybrid.json")


def verdicts(out: Path) -> Iterator[tuple[Section, str, str]]:
    """The heading and the sentences of the report's page of every run that is there."""
    for section in SECTIONS:
        if not has_ended(out / section.folder):
            continue
        (run,) = read_report_runs([out / section.folder])
        verdict = run_verdict(run)
        said = " ".join(convert_sentence_to_text(sentence) for sentence in verdict.lede)
        yield section, short(convert_sentence_to_text(verdict.heading)), short(said)


def has_ended(path: Path) -> bool:
    """Whether a run has results, and is no more at work."""
    manifest = path / "manifest.json"
    if not manifest.is_file() or not (path / "results.jsonl").is_file():
        return False
    return bool(json.loads(manifest.read_text("utf-8"))["status"] in ("finished", "partial"))


def read_results(path: Path) -> list[Row]:
    """The rows of a run."""
    return [row.as_dict() for row in RunFolder(path).read_results()]


def read_steps(out: Path) -> list[Row]:
    """What the command noted of every step, in all its sessions."""
    log = out / "steps.jsonl"
    return [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.is_file() else []


def table(rows: Sequence[Row], scale: float) -> Iterator[str]:
    """A line for each dataset, variant and measure, a column for each system, and n."""
    systems = list(dict.fromkeys(row["system"] for row in rows if row["system"] not in ("constant", "random")))
    lines: dict[tuple[str, ...], dict[str, Row]] = {}
    for row in rows:
        key = tuple(row[name] for name in ("task", "dataset", "variant", "measure"))
        lines.setdefault(key, {})[row["system"]] = row
    yield f"| Task | Set | Texts | Measure | {' | '.join(map(short, systems))} | n |"
    yield f"|---|---|---|---|{'---:|' * (len(systems) + 1)}"
    for key, by_system in lines.items():
        cells = [cell(by_system.get(system), scale) for system in systems]
        n = max(row["n"] for row in by_system.values())
        yield f"| {' | '.join(map(short, key))} | {' | '.join(cells)} | {n} |"


def cell(row: Row | None, scale: float) -> str:
    """The value with its interval."""
    if row is None or row["value"] is None:
        return "n/a"
    digits = 1 if scale > 1 else 3
    text = f"{scale * row['value']:.{digits}f}"
    if row["ci_low"] is None:
        return text
    return f"{text} ({scale * row['ci_low']:.{digits}f} to {scale * row['ci_high']:.{digits}f})"


def published(rows: Iterable[Row]) -> Iterator[str]:
    """Ours beside what was published, and why they differ."""
    yield from ("| Model | Set | Published | Ours | Items | |", "|---|---|---:|---:|---:|---|")
    for row in rows:
        known = PUBLISHED.get((short(row["system"]), row["dataset"]))
        if known is None or row["value"] is None:
            continue
        ours, whole = 100 * row["value"], WHOLE.get(row["dataset"])
        word = "exact" if abs(ours - known) <= 0.005 else "within rounding" if abs(ours - known) <= 0.05 else "differs"
        other = f"{row['n']} items" + (f", not {whole}" if whole else " of a sample of ours")
        note = word if row["n"] == whole else f"{other}: no reproduction"
        yield f"| {short(row['system'])} | {row['dataset']} | {known:.2f} | {ours:.2f} | {row['n']} | {note} |"
    yield ""


def warnings(path: Path) -> Iterator[str]:
    """What a golden run says against its judge."""
    if (path / "golden.json").is_file():
        for text in list_judge_warnings(read_golden_record(path / "golden.json")):
            yield from (f"*{text}*", "")


def embedded(path: Path) -> Iterator[str]:
    """A table of the run, with models by their names."""
    if path.is_file():
        yield from (short(path.read_text("utf-8").strip()), "")


def set_by_set(out: Path, part: str, title: str, is_shown: Callable[[Row], bool]) -> Iterator[str]:
    """The runs of a part that has one for each set, in one table."""
    # Not every folder of that beginning: `pteb-valid` is of several sets, and told by hand.
    named = sorted((Path(__file__).parent / "datasets").glob("*.yaml"))
    runs = [run for path in named if has_ended(run := out / f"{part}-{path.stem}")]
    rows = [row for path in runs for row in read_results(path) if is_shown(row)]
    if rows:
        yield from (f"## {title}", "", *table(rows, 100.0), "")
    if part == "encoders" and any((short(row["system"]), row["dataset"]) in PUBLISHED for row in rows):
        yield from published(rows)


def people(out: Path) -> Iterator[str]:
    """The judge beside people's judgements."""
    found = {
        path.stem.removeprefix("people-"): json.loads(path.read_text("utf-8")) for path in out.glob("people-*.json")
    }
    if not found:
        return
    yield from ("## The judge's grades beside people's", "")
    yield "| Set | Questions | Passages | Relevant | Graded 4, 5 | Ungraded | Kappa | AUC, judge | AUC, search |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    for name, one in found.items():
        counts = (one[key] for key in ("questions", "passages", "relevant", "graded_4_or_5", "ungraded"))
        kappa = "n/a" if one["kappa"] is None else f"{one['kappa']:.2f}"
        if ends := one.get("kappa_interval"):
            kappa += f" ({ends[0]:.2f} to {ends[1]:.2f})"
        areas = (area(one[f"auc_{who}"]) for who in ("judge", "search"))
        yield f"| {name} | {' | '.join(map(str, counts))} | {kappa} | {' | '.join(areas)} |"
    yield ""


def area(found: Sequence[float | None]) -> str:
    """An AUC with its interval and its pairs."""
    value, low, high, pairs = found
    if value is None:
        return "n/a"
    return f"{value:.2f}" + ("" if low is None else f" ({low:.2f} to {high:.2f})") + f", {pairs} pairs"


def orders(name: str, path: Path) -> Iterator[str]:
    """Systems by the judge's golden set and by people's."""
    if not path.is_file():
        return
    noted = json.loads(path.read_text("utf-8"))
    systems = noted["systems"]
    tau = "n/a" if systems["tau"] is None else f"{systems['tau']:.2f}"
    yield from (f"## The order of systems: {name}", "")
    yield (
        f"nDCG@10 by the judge's golden set and by people, on {systems['questions']} of {systems['of']} questions. "
        f"Kendall's tau-b of the two orders: {tau}."
    )
    yield from ("", "| System | By the judge | By people |", "|---|---:|---:|")
    for system, by in sorted(systems["rows"].items(), key=lambda row: -row[1]["people"]):
        yield f"| {system} | {by['judge']:.3f} | {by['people']:.3f} |"
    yield ""


def engines(path: Path) -> Iterator[str]:
    """Passages of a question in the order of each engine, and by people."""
    if not path.is_file():
        return
    yield from ("## The order of passages: cranfield", "")
    yield "nDCG@10 by people of the passages that were kept, in the order of each engine, of grades and of the search."
    yield from ("", "| Engine | Questions | Orders asked | Engine | Grades | Search | Engine less grades |")
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for row in json.loads(path.read_text("utf-8"))["engines"]:
        value, low, high = row["over_grades"]
        ends = "" if low is None else f" ({low:+.3f} to {high:+.3f})"
        means = " | ".join(f"{row[key]:.3f}" for key in ("engine", "grades", "search"))
        yield f"| {row['ranking']} | {row['questions']} | {row['calls']} | {means} | {value:+.3f}{ends} |"
    yield ""


def hybrid(path: Path) -> Iterator[str]:
    """What comes of the model's labels where its three draws agree, and people's elsewhere."""
    if not path.is_file():
        return
    noted = json.loads(path.read_text("utf-8"))
    yield from ("## Its labels where three draws agree, people's elsewhere", "")
    yield (
        f"Emotion, {noted['items']} texts, three draws at temperature 0.7, equal on {noted['agreed']}. The model's "
        "answers are real; people are drawn, right as often as the first column says, 200 times. Accuracy against gold."
    )
    yield from (
        "",
        "| People right | Policy | People's share of the work | Accuracy | Called biased |",
        "|---:|---|---:|---:|---:|",
    )
    for row in noted["rows"]:
        accuracy = f"{100 * row['accuracy']:.1f}" + (f" (SD {100 * row['sd']:.1f})" if row["sd"] else "")
        yield (f"| {row['people']:.0%} | {row['policy']} | {row['share']:.0%} | {accuracy} | {row['biased']:.0%} |")
    yield ""


def injections(out: Path) -> Iterator[str]:
    """The share of useless passages that get grade 4 or 5, with the defence and without."""
    path = out / "injections.json"
    if not path.is_file():
        return
    yield from ("## Injections, with our defence and without", "")
    yield "Passages of no use to the question, with an instruction at their end: how many get grade 4 or 5."
    yield from (
        "",
        "| Attack | Prompt | Grade 4 or 5 | 95% | Mean grade | n | Ungraded |",
        "|---|---|---:|---|---:|---:|---:|",
    )
    noted = json.loads(path.read_text("utf-8"))
    for row in noted["rows"]:
        which = "ours" if row["defended"] else "without marks and rule"
        share = row["share"]
        ends = "" if share is None else f"{100 * share[1]:.0f}% to {100 * share[2]:.0f}%"
        mean = "n/a" if row["mean"] is None else f"{row['mean']:.1f}"
        yield f"| {row['attack']} | {which} | {row['high']} | {ends} | {mean} | {row['n']} | {row['ungraded']} |"
    yield ""
    yield from effect(noted.get("effect", {}))


def effect(noted: Mapping[str, Sequence[float | None]]) -> Iterator[str]:
    """How many grades the attacks add, and how many the defence prevents."""
    words = {"ours": "with our prompt", "without": "without marks and rule", "prevented": "prevented by the defence"}
    for name, (value, low, high, n) in noted.items():
        if value is not None:
            ends = f"{low:+.2f} to {high:+.2f}"
            yield f"- Grades that an attack adds to a passage, {words[name]}: {value:+.2f} ({ends}), n = {n}."
    if noted:
        yield ""


_TOOK = r"\| [a-z]+ \| (\S+) \|.*"
_ENDED = r"- `(\S+)` ended with .*"


def lines_by_step(lines: Iterable[str], pattern: str) -> dict[str, str]:
    """The lines that have the pattern, by the step that they are about.

    >>> lines_by_step(["## Steps", "- `pteb` ended with exit code 3."], _ENDED)
    {'pteb': '- `pteb` ended with exit code 3.'}
    """
    return {found[1]: line for line in lines if (found := re.fullmatch(pattern, line))}


def taken(out: Path) -> Iterator[str]:
    """Seconds of every step over all its sessions, and what was sent."""
    steps: dict[tuple[str, str], float] = {}
    for row in read_steps(out):
        steps[row["part"], row["step"]] = steps.get((row["part"], row["step"]), 0.0) + row["wall_s"]
    for (part, step), seconds in steps.items():
        requests, tokens = sent(out / ("hume" if step == "hume-score" else step))
        yield f"| {part} | {step} | {seconds:,.0f} | {requests:,} | {tokens:,} |"


def sent(path: Path) -> tuple[int, int]:
    """Requests and tokens that a run's manifest counts."""
    manifest = path / "manifest.json"
    if not manifest.is_file():
        return 0, 0
    systems = json.loads(manifest.read_text("utf-8")).get("spent", {}).get("systems", {}).values()
    tokens = sum(one["input_tokens"] + one.get("output_tokens", 0) for one in systems)
    return sum(one["requests"] for one in systems), tokens


def failures(out: Path) -> Iterator[str]:
    """Steps that did not end well the last time."""
    last = {row["step"]: row for row in read_steps(out)}
    for row in last.values():
        if row["exit"]:
            yield f"- `{row['step']}` ended with exit code {row['exit']}."


_SPEC = re.compile(r"(?:llm:)?(?:openai|ollama|st|onnx):(?:[^\s|?&,;`]*/)?([^\s|?/,;`]+)(?:\?[^\s|,;`)]*)?")


def short(text: str) -> str:
    """Models by their own names: where they lie, or who serves them, is not the reader's.

    >>> short("st:/where/all-mpnet-base-v2 and openai:qwen?base_url=http://127.0.0.1:8091/v1&concurrency=4")
    'all-mpnet-base-v2 and qwen'
    """
    return _SPEC.sub(r"\1", text)
