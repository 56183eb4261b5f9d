"""What a reader of a PTEB run has to know: controls, texts without a score, runs that stopped, too few runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.tables import POINTS
from embassay.protocols.wordings.records import USABLE
from embassay.report.pteb.conclusions import PARAPHRASE, find_only_control_source, list_control_paraphraser_labels
from embassay.report.record import RunRecord, count_text_outcomes

Found = tuple[str, str, str, str]
"""Kind, what happened, what follows, what helps."""
COPIES = 0.01


def pteb_notes(record: RunRecord) -> Iterator[Found]:
    """Notes on a PTEB run, the gravest first."""
    yield from _control_only_notes(record)
    yield from _unscored_cell_notes(record)
    yield from _paraphrase_outcome_notes(record)
    yield from _iterate_notes_on_foreign_paraphrases(record)
    yield from _imprecise_drop_notes(record)
    yield from _note_precision_reached_by_until_ci(record)
    yield from _few_runs_notes(record)


def _count_paraphrase_outcomes(record: RunRecord) -> Counter[str]:
    """How many paraphrases came to what, of all sources but controls."""
    aside = list_control_paraphraser_labels(record)
    sources = record.paraphraser_entries
    return count_text_outcomes(source for source in sources if source.get("label", "") not in aside)


def _control_only_notes(record: RunRecord) -> Iterator[Found]:
    """Note that nobody paraphrased: all wordings come from a control."""
    if name := find_only_control_source(record):
        how = {"permuted": "were reordered", "copied": "were not changed"}[name]
        yield (
            "control",
            f"No text was paraphrased: the words of every text {how} (the control {name}).",
            "Drops show how much a score depends on word order; they show nothing about paraphrases."
            if name == "permuted"
            else "Drops are 0, except for texts that were left out.",
            "Paraphrase with a language model: -p ollama:gemma3:27b.",
        )


def _unscored_cell_notes(record: RunRecord) -> Iterator[Found]:
    """Note the cells that were done and have no score, by reason."""
    missing: dict[tuple[str, str], set[str]] = {}
    for (task, dataset, subset, variant, system, measure), row in record.rows.items():
        headline = variant.startswith(PARAPHRASE) and measure not in ("delta", "original")
        ranked = system in record.systems_by_name and record.systems_by_name[system].ranked
        if headline and ranked and not subset and row.value is None and row.reason:
            missing.setdefault((f"{task} on {dataset}", row.reason), set()).add(system)
    for (where, reason), systems in missing.items():
        who = numbers.format_noun_count(len(systems), "system")
        yield "no score", f"No score for {who} on {where}: {reason}.", "", ""


def _paraphrase_outcome_notes(record: RunRecord) -> Iterator[Found]:
    counts = _count_paraphrase_outcomes(record)
    total = sum(counts.values())
    failed = {name: count for name, count in counts.most_common() if name not in USABLE}
    if failed:
        told = ", ".join(f"{numbers.format_count(count)} {name}" for name, count in failed.items())
        lost = sum(failed.values())
        follows = "Their items are left out of both scores in that run."
        if record.arguments.get("on_failure") == "original":
            follows = "The original text replaces them, which makes drops smaller."
        share = numbers.format_share_with_count(lost / total, total)
        yield "lost", f"{share} {'of the ' * (total >= 100)}paraphrases cannot be used: {told}.", follows, ""
    if copied := counts.get("copied", 0):
        share = numbers.format_share_with_count(copied / total, total)
        kept = "left out" if record.arguments.get("exclude_copied") else "kept"
        if copied >= COPIES * total:
            yield (
                "copied",
                f"{share} {'of the ' * (total >= 100)}paraphrases are identical to their text and are {kept}.",
                "Copies make drops smaller.",
                "",
            )


def _iterate_notes_on_foreign_paraphrases(record: RunRecord) -> Iterator[Found]:
    """Note the sets that were written for other data."""
    for warning in record.manifest.get("paraphrases", {}).get("warnings", ()):
        yield "other data", warning, "", ""


def _imprecise_drop_notes(record: RunRecord) -> Iterator[Found]:
    """Note the datasets whose drops are not known as well as --until-ci asked."""
    points = record.arguments.get("until_ci")
    for dataset, reason in record.manifest.get("paraphrases", {}).get("stopped", {}).items():
        happened = f"Some drops on {dataset} are not known to within ±{points:g} points over runs."
        yield "few runs", happened, f"No more runs: {reason.rstrip('.')}.", ""


def _note_precision_reached_by_until_ci(record: RunRecord) -> Iterator[Found]:
    """Note what --until-ci narrowed, and what it cannot, by each dataset's least known system."""
    if record.arguments.get("until_ci") is None:
        return
    widest: dict[str, tuple[float, float, str]] = {}
    for (task, dataset, subset, variant, system, measure), row in record.rows.items():
        whole = record.find(task, system, "delta", dataset=dataset) if measure == "delta_runs" else None
        ranked = system in record.systems_by_name and record.systems_by_name[system].ranked
        if subset or variant or whole is None or not ranked:
            continue
        if row.ci_low is None or row.ci_high is None or whole.ci_low is None or whole.ci_high is None:
            continue
        widths = ((row.ci_high - row.ci_low) / 2, (whole.ci_high - whole.ci_low) / 2, system)
        # Tuples compare by the width over runs first, which is what --until-ci narrows.
        widest[f"{dataset} ({task})"] = max(widths, widest.get(f"{dataset} ({task})", widths))
    for where, (runs, both, system) in widest.items():
        yield (
            "until-ci",
            f"On {where}, the change of {system} is known to within ±{POINTS.format_value_in_text(runs)} points "
            f"over runs, and to within ±{POINTS.format_value_in_text(both)} over items and runs.",
            "--until-ci reduces only the noise of paraphrasing.",
            "More items narrow the rest.",
        )


def _few_runs_notes(record: RunRecord) -> Iterator[Found]:
    runs = {
        # By seed: several sources with one run each are one run still.
        variant.rpartition("seed=")[2]
        for _, _, _, variant, _, _ in record.rows
        if variant.startswith(PARAPHRASE)
    }
    if len(runs) == 1:
        yield (
            "small n", "There is one run.", "The score on other paraphrases is unknown.",
            "Use --runs 6, or as many as the set of paraphrases has."
        )  # fmt: skip
