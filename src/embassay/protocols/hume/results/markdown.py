"""The report of a study as Markdown: what it says, people beside the best model of each pair, and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from embassay.protocols.hume.published.standings import PairWithPeopleRank, compare_people_with_models
from embassay.protocols.hume.record import DatasetLanguageRecord, SeparationSampleSize, Summary
from embassay.protocols.hume.tables import name_annotator_kind
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.claims import Claim, make_count_claim, make_value_claim
from embassay.protocols.kernel.tables import MeasureFormat
from embassay.runs.folder import write_file_atomically
from embassay.stats import Estimate

FILE = "report.md"
_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~])")
_ALIGNED = ("---", "---:", "---:", "---", "---", "---:", "---:")


def render_markdown_report(summary: Summary) -> str:
    """Render a summary as Markdown: verdict, main table, flags and advice."""
    parts = [
        f"# {escape_markdown(summary.title)}",
        *_warn_of_simulated_annotators(summary),
        "## What it says",
        "\n".join(f"- {escape_markdown(finding.text)}" for finding in list_verdict_findings(summary)),
        "## Pairs",
        _format_pairs_table(summary),
        _explain_table_columns(summary),
    ]
    for title, lines in (
        ("## Flags", [*_list_annotation_flag_sentences(summary)]),
        ("## What to do", [*_advice_lines(summary)]),
    ):
        if lines:
            parts += [title, "\n".join(f"- {escape_markdown(line)}" for line in lines)]
    return "\n\n".join(parts) + "\n"


def write_markdown_report(folder: Path, summary: Summary) -> Path:
    """Write `report.md` of a run and return it."""
    write_file_atomically(folder / FILE, render_markdown_report(summary))
    return folder / FILE


def escape_markdown(text: str) -> str:
    """Text on one line, with what Markdown or HTML would read as markup escaped.

    >>> print(escape_markdown("a|b <b>"))
    a\\|b \\<b\\>
    """
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _warn_of_simulated_annotators(summary: Summary) -> Iterator[str]:
    if summary.simulated:
        kinds = {annotator.kind for pair in summary.pairs for annotator in pair.annotators}
        who = "All" if kinds == {"simulated"} else "Some"
        yield (
            f"**{who} annotators are simulated: scripts answered, not people.** Their scores show that the "
            "measurement works but say nothing about people."
        )


def _format_pairs_table(summary: Summary) -> str:
    headings = ("pair", "n", describe_kind_of_answerers(summary), "agreement", "best model", "gap", "ceiling")
    rows = [headings, _ALIGNED, *(_format_pair_row(model) for model in compare_people_with_models(summary))]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _format_pair_row(beside: PairWithPeopleRank) -> tuple[str, ...]:
    pair, standing = beside.pair, beside.standing
    best, gap = numbers.NONE, numbers.NONE
    if standing:
        mark = "\\*" if _is_outside_people_interval(pair, standing.best_model) else ""
        best = f"{escape_markdown(standing.best_model)} {POINTS.text(standing.best)}{mark}"
        gap = POINTS.change(standing.gap())
    return (
        escape_markdown(pair.name),
        str(pair.n),
        _format_score_with_interval(pair.human),
        escape_markdown(_format_agreement(pair)),
        best,
        gap,
        _format_score_with_interval(pair.ceiling) if pair.ceiling else numbers.NONE,
    )


def _is_outside_people_interval(pair: DatasetLanguageRecord, system: str) -> bool:
    return any(score.outside for score in pair.list_model_and_llm_scores if score.system == system)


def _format_score_with_interval(bar: Estimate) -> str:
    if bar.value is None:
        return "n/a"
    return POINTS.text(bar.value) + ("" if bar.low is None else f" ({POINTS.interval(*bar.ends)})")


def _format_agreement(pair: DatasetLanguageRecord) -> str:
    agreement = pair.agreement
    if agreement is None or agreement.value.value is None:
        return (agreement.value.reason if agreement else "") or (
            "one annotator" if len(pair.annotators) == 1 else "n/a"
        )
    return f"{agreement.band} {numbers.format_score(agreement.value.value, 2)} ({agreement.coefficient})"


def _explain_table_columns(summary: Summary) -> str:
    methods = sorted({pair.human.method for pair in summary.pairs if pair.human.method})
    who = describe_kind_of_answerers(summary)
    sentences = f"Scores are x 100. Gap is {who} minus the best model. \\* marks scores outside the interval of {who}."
    sentences += " Ceiling: one annotator scored against the others."
    return sentences + (f" Intervals: {escape_markdown('; '.join(methods))}." if methods else "")


def _list_annotation_flag_sentences(summary: Summary) -> Iterator[str]:
    for pair in summary.pairs:
        yield from (f"{pair.name}: {flag.rstrip('.')}." for flag in pair.flags)
    yield from summary.notes


def _advice_lines(summary: Summary) -> Iterator[str]:
    for advice in dict.fromkeys(pair.advice for pair in summary.pairs if pair.advice):
        names = ", ".join(pair.name for pair in summary.pairs if pair.advice == advice)
        yield f"{names}: {advice}"
    for pair in summary.pairs:
        if pair.need and (sentence := _describe_items_needed_to_separate(pair, pair.need)):
            yield f"{pair.name}: {sentence}"


def _describe_items_needed_to_separate(pair: DatasetLanguageRecord, need: SeparationSampleSize) -> str:
    if need.items is not None and need.items <= pair.n:
        return (
            f"{numbers.format_noun_count(pair.n, 'item')} are enough to distinguish {need.system} from "
            f"{describe_kind_of_answerers(pair)}."
        )
    ways = []
    if need.items is not None:
        ways.append(f"{numbers.format_noun_count(need.items, 'item')} ({pair.n} now) with these annotators")
    if need.annotators:
        now = len(pair.annotators)
        ways.append(f"{numbers.format_noun_count(need.annotators, 'annotator')} ({now} now) with these items")
    sentence = f"separating {need.system} takes about {', or '.join(ways)}." if ways else ""
    least = (
        f"This study could detect a difference of {POINTS.format_value_in_text(need.smallest)}."
        if need.smallest
        else ""
    )
    return " ".join(filter(None, (sentence, least, need.note)))


POINTS = MeasureFormat(100.0, 1, 1)
_NAMED = 5


@dataclass(frozen=True)
class PeopleFinding:
    """A sentence on people beside models, and what it states."""

    text: str
    claims: tuple[Claim, ...] = ()


def list_verdict_findings(summary: Summary) -> Iterator[PeopleFinding]:
    """The verdict: places, models beyond the interval of people, how people agree, and wins."""
    every, who = compare_people_with_models(summary), describe_kind_of_answerers(summary)
    if not summary.pairs:
        yield PeopleFinding("The run has no dataset-language pairs.")
        return
    yield from _iterate_overall_people_findings(summary, who)
    yield from _list_findings_on_models_beyond_people(every, who)
    yield from _agreement_findings(summary.pairs)
    yield from _list_pairs_won_by_people_findings(summary, who)
    yield from _list_agreement_gap_findings(summary)


def describe_kind_of_answerers(of: Summary | DatasetLanguageRecord) -> str:
    """Name those who answered: `people`, `simulated annotators`, or `annotators` for both."""
    pairs = of.pairs if isinstance(of, Summary) else (of,)
    kinds = name_annotator_kind(annotator for pair in pairs for annotator in pair.annotators)
    return {"people": "people", "simulated": "simulated annotators", "": "people"}.get(kinds, "annotators")


def _iterate_overall_people_findings(summary: Summary, who: str) -> Iterator[PeopleFinding]:
    human = next((place for place in summary.places if place.kind == "human" and place.rank is not None), None)
    ranked = [place for place in summary.places if place.rank is not None and place.kind != "human"]
    if human is None or human.mean.value is None or human.rank is None or not ranked:
        return
    best = min(ranked, key=lambda place: place.rank or 0)
    others = tuple(place.system for place in ranked if place is not best)
    place = make_count_claim("place", human.rank, len(ranked) + 1, human.system)
    people = make_value_claim(human.system, "mean", human.mean.value)
    leader = Claim(best.system, "most", "mean", others, best.mean.value)
    yield PeopleFinding(
        f"Over {numbers.format_noun_count(human.mean.n or len(summary.pairs), 'pair')}, {who} score "
        f"{POINTS.format_value_in_text(human.mean.value)} and rank {place.n} of {place.of}; the best model, "
        f"{leader.subject}, scores {POINTS.format_value_in_text(leader.value or 0.0)}.",
        (place, people, leader),
    )


def _list_findings_on_models_beyond_people(every: Sequence[PairWithPeopleRank], who: str) -> Iterator[PeopleFinding]:
    bounded = [beside for beside in every if beside.standing and beside.pair.human.low is not None]
    if not bounded:
        yield PeopleFinding(f"Nothing can be compared because no pair has both a model and an interval of {who}.")
        return
    above = [
        beside.pair for beside in bounded if _get_best_model_score_or_zero(beside) > (beside.pair.human.high or 0.0)
    ]
    below = [
        beside.pair for beside in bounded if _get_best_model_score_or_zero(beside) < (beside.pair.human.low or 0.0)
    ]
    over = make_count_claim("above", len(above), len(bounded))
    under = make_count_claim("below", len(below), len(bounded))
    yield PeopleFinding(
        f"The best model is above the interval of {who} on {over.n} of {numbers.format_noun_count(over.of, 'pair')} "
        f"and below it on {under.n}. A score outside an interval is not a significance test.",
        (over, under),
    )
    noise = [pair for pair in above if pair.superhuman_on_noise]
    if noise:
        little = make_count_claim("low", len(noise), len(above))
        yield PeopleFinding(
            f"Agreement is low on {little.n} of the pairs with a model above the interval: {name_first_pairs(noise)}. "
            "A model that outscores people who disagree may have learned labels that they do not share.",
            (little,),
        )


def _get_best_model_score_or_zero(beside: PairWithPeopleRank) -> float:
    return beside.standing.best if beside.standing else 0.0


def _agreement_findings(pairs: Sequence[DatasetLanguageRecord]) -> Iterator[PeopleFinding]:
    trusted = [pair for pair in pairs if pair.trust]
    alone = len(pairs) - len(trusted)
    if trusted:
        levels = tuple(
            make_count_claim(f"{word} agreement", sum(pair.trust == word for pair in trusted), len(trusted))
            for word in ("high", "medium", "low")
        )
        high, medium, low = (claim.n for claim in levels)
        yield PeopleFinding(
            f"Agreement is high on {high}, medium on {medium} and low on {low} of "
            f"{numbers.format_noun_count(len(trusted), 'pair')}. Trust comparisons most where it is high.",
            levels,
        )
    if alone:
        unknown = make_count_claim("unknown agreement", alone, len(pairs))
        yield PeopleFinding(f"Agreement is unknown on {numbers.format_noun_count(unknown.n, 'pair')}.", (unknown,))


def _list_pairs_won_by_people_findings(summary: Summary, who: str) -> Iterator[PeopleFinding]:
    won = {wins.reference: wins for wins in summary.wins if wins.by == "all"}
    if {"best", "median"} <= won.keys():
        best, middle = (
            make_count_claim(f"people above {name}", won[name].wins, won[name].pairs) for name in ("best", "median")
        )
        yield PeopleFinding(
            f"{who.capitalize()} are above the best model on {best.n} of {best.of} pairs and "
            f"above the median model on {middle.n}.",
            (best, middle),
        )


def _list_agreement_gap_findings(summary: Summary) -> Iterator[PeopleFinding]:
    bar = summary.agreement_against_gap
    if bar is None or bar.value is None:
        return
    p = summary.agreement_against_gap_p
    tail = f", p {'' if p < 0.001 else '= '}{numbers.format_p_value(p)}" if p is not None else ""
    yield PeopleFinding(
        f"Agreement and the best model's lead have a Spearman correlation of {numbers.format_score(bar.value, 2)} "
        f"over {bar.n} pairs{tail}. Below 0, models lead most where people agree least.",
        (make_value_claim("agreement", "correlation with the lead", bar.value),),
    )


def name_first_pairs(pairs: Sequence[DatasetLanguageRecord]) -> str:
    """The first few pairs by name, and how many more."""
    first = ", ".join(pair.name for pair in pairs[:_NAMED])
    return first + (f" and {len(pairs) - _NAMED} more" if len(pairs) > _NAMED else "")
