"""What a HUME run found, in words and on a terminal, and what to know before trusting it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from embassay.document.blocks import (
    Block,
    CautionNotes,
    Column,
    ParagraphBlock,
    Sentence,
    SystemNameInSentence,
    Table,
    VerdictText,
    convert_sentence_to_text,
    join_names_with_and,
    make_number_columns,
)
from embassay.protocols.hume.llms.protocol import TaskOwnership
from embassay.protocols.hume.record import (
    DatasetLanguageRecord,
    Summary,
    TaskDividedWithLlm,
    read_summary,
    read_tasks_divided_with_llm,
)
from embassay.protocols.hume.results.markdown import POINTS, describe_kind_of_answerers
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.claims import Claim, make_count_claim
from embassay.report.board import SystemBoard
from embassay.report.hume.differences import make_outlook_table_of_undecided_pairs
from embassay.report.hume.families import (
    DatasetLanguageModelScores,
    format_agreement,
    format_first_pair_names,
    format_interval_ends,
    format_percent_of_human_if_agreed,
    format_score_in_points,
    format_score_with_interval,
    has_interval_over_annotators,
    keep_pairs_by_best_model_side,
    list_models_of_hume_record,
    list_ranked_models_per_pair,
    make_family_means_table,
)
from embassay.report.notes import list_run_notes
from embassay.report.record import FEW, RunRecord, read_run_record, shorten_names_to_labels
from embassay.report.terminal import say_where_report_is
from embassay.stats import Estimate

MOST = 80
"""Characters of a heading."""


def hume_verdict(record: RunRecord, _: SystemBoard) -> VerdictText:
    """The verdict on the HUME run in a record. DataError where `summary.json` is missing or damaged."""
    return describe_hume_verdict(read_summary(record.path))


def describe_hume_verdict(summary: Summary) -> VerdictText:
    """Describe the verdict on a HUME run: the heading and up to four sentences."""
    every, who = list_ranked_models_per_pair(summary), describe_kind_of_answerers(summary)
    label = shorten_names_to_labels(list_models_of_hume_record(summary))
    if summary.pairs and all(pair.human.value is None for pair in summary.pairs):
        return _gold_only_verdict(summary, label)
    if not any(models.models for models in every):
        return _people_only_verdict(summary, who)
    sides, overall = make_claims_of_datasets_by_model_side(every), _state_overall_human_place(summary)
    extremes, wins = _make_largest_lead_claims(every), _make_dataset_win_claims(summary, every)
    sentences = (
        *_say_overall_human_place(summary, overall, who, label),
        *_disagreement_sentences(every),
        *_say_largest_leads(every, extremes, who, label),
        *_say_pairs_won_by_people_or_model(wins, who),
    )
    return VerdictText(
        (pairs_above_people_heading(every, who),), sentences[:4], (*sides.values(), *overall, *extremes, *wins)
    )


def make_claims_of_datasets_by_model_side(every: Sequence[DatasetLanguageModelScores]) -> dict[str, Claim]:
    """On how many of the pairs that have an interval of people the best model is above it, and below it; and of those
    above, on how many people agree little, and on how many their agreement is unknown."""
    known = [models for models in every if models.side]
    above, below = (keep_pairs_by_best_model_side(every, "above"), keep_pairs_by_best_model_side(every, "below"))
    return {
        "above": make_count_claim("above", len(above), len(known)),
        "below": make_count_claim("below", len(below), len(known)),
        "low": make_count_claim("low", sum(models.pair.trust == "low" for models in above), len(above)),
        "unknown": make_count_claim("unknown", sum(models.pair.trust is None for models in above), len(above)),
    }


def pairs_above_people_heading(every: Sequence[DatasetLanguageModelScores], who: str) -> str:
    """On how many pairs a model is above the interval of people, with what is known of their agreement there.

    `A model is above people’s interval on 12 of 26 pairs, 5 with low agreement`
    """
    ends = "people’s interval" if who == "people" else f"{who}’ interval"
    claims = make_claims_of_datasets_by_model_side(every)
    above, below = claims["above"], claims["below"]
    if not above.of:
        return f"Models cannot be compared with {who} because there is no interval"
    if above.of == 1:
        [only] = (models for models in every if models.side)
        where, clause = f" on {only.pair.name}", f", {_describe_agreement(only)}"
        subject = f"A model is above {ends}" if above.n else f"No model is above {ends}"
        fits = len(subject) + len(where) + len(clause) <= MOST
        return subject + (where if fits else "") + clause
    if not above.n and below.n:
        said = f"Every model is below {ends} on {below.n} of {below.of} pairs"
        clause = f", {_say_annotator_agreement(keep_pairs_by_best_model_side(every, 'below'))}"
        return said + (clause if len(said) + len(clause) <= MOST else "")
    if not above.n:
        return f"No model is above {ends} on any of {above.of} pairs"
    agreement = _say_annotator_agreement(keep_pairs_by_best_model_side(every, "above"))
    said = f"{ends} on {above.n} of {above.of} pairs, {agreement}"
    long = f"A model is above {said}"
    return long if len(long) <= MOST else f"Models top {said}"


def _describe_agreement(models: DatasetLanguageModelScores) -> str:
    agreement = models.pair.agreement
    return f"agreement {format_agreement(models.pair)}" if agreement is not None else "agreement unknown"


def _say_annotator_agreement(beside: Sequence[DatasetLanguageModelScores]) -> str:
    """Say how far people agree on these pairs."""
    if len(beside) == 1:
        return _describe_agreement(beside[0])
    low = sum(models.pair.trust == "low" for models in beside)
    unknown = sum(models.pair.trust is None for models in beside)
    if low or not unknown:
        return f"{'all' if low == len(beside) else low or 'none'} with low agreement"
    return "agreement unknown" + (f" on {unknown}" if unknown < len(beside) else "")


def _gold_only_verdict(summary: Summary, label: Mapping[str, str]) -> VerdictText:
    """The verdict where only gold stands beside systems and language models, pair by pair."""
    sentences: list[Sentence] = []
    for pair in summary.pairs:
        given = [system for system in (*pair.llms, *pair.models) if system.score.value is not None]
        ordered = sorted(given, key=lambda system: -(system.score.value or 0.0))
        for best in ordered[:1]:
            behind = f", the best of {len(ordered)}" if len(ordered) > 1 else ""
            sentences.append(
                (
                    f"{pair.name}: ",
                    _name_labelled_system(best.system, label),
                    f" has {format_score_with_interval(best.score)}{behind}.",
                )
            )
    how_many = numbers.format_noun_count(len(summary.pairs), "pair")
    return VerdictText((f"No annotations: {how_many} scored against gold only",), tuple(sentences[:4]))


def _people_only_verdict(summary: Summary, who: str) -> VerdictText:
    pairs = summary.pairs
    if not pairs:
        return VerdictText(("Nothing has been scored yet",), (("The run has no dataset-language pairs.",),))
    first = f"{who.capitalize()} score {format_score_with_interval(pairs[0].human)} on {pairs[0].name}."
    how_many = numbers.format_noun_count(len(pairs), "pair")
    return VerdictText(
        (f"{who.capitalize()} are scored on {how_many}, but there is no model to compare with",),
        ((first,), ("Add models to the command to score them on the same items.",)),
        (make_count_claim("scored", len(pairs), len(pairs)),),
    )


def _state_overall_human_place(summary: Summary) -> tuple[Claim, ...]:
    """The mean and the place of people over two pairs or more, and the best model beside them."""
    human = next((place for place in summary.places if place.kind == "human"), None)
    ranked = [place for place in summary.places if place.rank is not None]
    if human is None or human.rank is None or len(ranked) < 2 or len(summary.pairs) < 2:
        return ()
    models = [place for place in ranked if place.kind != "human"]
    best = min(models, key=lambda place: place.rank or 0)
    others = tuple(place.system for place in models if place is not best)
    place = Claim(
        PEOPLE, "is", "mean", value=human.mean.value, low=human.mean.low, high=human.mean.high, n=human.rank,
        of=len(ranked), kind="place"
    )  # fmt: skip
    over = make_count_claim("pairs", human.mean.n or len(summary.pairs), len(summary.pairs))
    return place, Claim(best.system, "most", "mean", others, best.mean.value), over


def _say_overall_human_place(
    summary: Summary, claims: Sequence[Claim], who: str, label: Mapping[str, str]
) -> Iterator[Sentence]:
    if not claims:
        return
    human = next(place for place in summary.places if place.kind == "human")
    place, best, over = claims
    ends = format_interval_ends(human.mean)
    score = format_score_in_points(human.mean) + (
        f" (95% {ends})" if ends and not has_interval_over_annotators(human.mean) else f" ({ends})" if ends else ""
    )
    pairs = _format_answered_pair_count(over.n, over.of)
    yield (
        f"Over {pairs}, {who} score {score} and rank {place.n} of {place.of} by the mean; ",
        _name_labelled_system(best.subject, label),
        f", the {'best model' if place.n > 1 else 'next best'}, scores {POINTS.text(best.value or 0.0)}.",
    )


def _format_answered_pair_count(known: int, pairs: int) -> str:
    """`all 26 pairs`; `4 of 5 pairs` where people answered no more."""
    return f"{known} of {pairs} pairs" if 0 < known < pairs else f"all {pairs} pairs"


def _disagreement_sentences(every: Sequence[DatasetLanguageModelScores]) -> Iterator[Sentence]:
    low = [models.pair for models in every if models.pair.trust == "low"]
    if low:
        yield (f"Annotator agreement is low on {format_first_pair_names(low, 3)}, so do not rank models there.",)
    elif every and all(models.pair.trust is None for models in every):
        yield ("Agreement is unknown on every pair, so it is unclear how far people's scores can be trusted.",)


def _make_largest_lead_claims(every: Sequence[DatasetLanguageModelScores]) -> tuple[Claim, ...]:
    """The largest lead of a model over people, and that of people over the best model, of all pairs."""
    gaps = {models.pair.name: (gap, models) for models in every if (gap := models.gap()) is not None}
    if not gaps:
        return ()
    claims = []
    gap, lowest = min(gaps.values(), key=lambda item: item[0])
    if gap < 0 and lowest.best is not None:
        others = tuple(name for name in gaps if name != lowest.pair.name)
        claims.append(Claim(lowest.pair.name, "least", "gap", others, gap, kind=lowest.best.system))
    gap, highest = max(gaps.values(), key=lambda item: item[0])
    if gap > 0 and highest.best is not None:
        others = tuple(name for name in gaps if name != highest.pair.name)
        claims.append(Claim(highest.pair.name, "most", "gap", others, gap, kind=highest.best.system))
    return tuple(claims)


def _say_largest_leads(
    every: Sequence[DatasetLanguageModelScores], claims: Sequence[Claim], who: str, label: Mapping[str, str]
) -> Iterator[Sentence]:
    """The largest lead of a model, and that of people, with interval and agreement."""
    by_name = {models.pair.name: models for models in every}
    for claim in claims:
        pair, best = by_name[claim.subject].pair, by_name[claim.subject].best
        assert best is not None
        if claim.relation == "least":
            yield (
                "The largest lead of a model is on ", pair.name, ": ", _name_labelled_system(claim.kind, label),
                f" {format_score_in_points(best.score)} against {format_score_with_interval(pair.human)} for {who} "
                f"(agreement: {format_agreement(pair)})."
            )  # fmt: skip
        else:
            yield (
                f"The largest lead of {who} is {POINTS.change(claim.value or 0.0)} points, on {pair.name}: "
                f"{format_score_with_interval(pair.human)} against {format_score_in_points(best.score)} for ",
                _name_labelled_system(claim.kind, label), "."
            )  # fmt: skip


def _make_dataset_win_claims(summary: Summary, every: Sequence[DatasetLanguageModelScores]) -> tuple[Claim, ...]:
    """By scores alone, on how many pairs the best model is above people, and people above it and above the median."""
    ahead = sum(gap < 0 for models in every if (gap := models.gap()) is not None)
    won = {wins.reference: wins for wins in summary.wins if wins.by == "all"}
    if "best" not in won or "median" not in won or not won["best"].wins < won["best"].pairs > 1:
        return ()
    pairs = won["best"].pairs
    return (
        make_count_claim("model ahead", ahead, pairs),
        make_count_claim("people above best", won["best"].wins, pairs),
        make_count_claim("people above median", won["median"].wins, won["median"].pairs),
    )


def _say_pairs_won_by_people_or_model(claims: Sequence[Claim], who: str) -> Iterator[Sentence]:
    """Say how many pairs are won by scores alone, which count otherwise than by the interval."""
    if claims:
        ahead, best, middle = claims
        yield (
            f"By score alone, the best model is ahead of {who} on {ahead.n} of {ahead.of} pairs; {who} are ahead of "
            f"it on {best.n} and ahead of the median model on {middle.n}.",
        )


PEOPLE = "people"
"""The subject of a claim about those who answered."""


def _name_labelled_system(system: str, label: Mapping[str, str]) -> SystemNameInSentence:
    return SystemNameInSentence(label.get(system, system), -1)


NoteParts = tuple[str, str, str, str]
SMALL = 30


def hume_notes(summary: Summary) -> Iterator[NoteParts]:
    """Kind, what, consequence and mend of every note, the gravest first."""
    yield from _simulation_notes(summary)
    yield from _iterate_failed_answer_notes(summary)
    yield from _list_notes_of_low_agreement_pairs(summary.pairs)
    yield from _single_annotator_notes(summary.pairs)
    yield from _few_items_notes(summary.pairs)
    yield from _iterate_flagged_answer_notes(summary.pairs)
    yield from _dataset_notes(summary.pairs)
    for note in summary.notes:
        yield "warning", note, "", ""


def _dataset_notes(pairs: Sequence[DatasetLanguageRecord]) -> Iterator[NoteParts]:
    """Notes on what is known of the data, once for all pairs that it is known of."""
    where: dict[str, list[DatasetLanguageRecord]] = {}
    for pair in pairs:
        for flag in pair.flags:
            where.setdefault(flag.rstrip("."), []).append(pair)
    for flag, flagged in where.items():
        yield "warning", f"{format_first_pair_names(flagged)}: {flag}.", "", ""


def _simulation_notes(summary: Summary) -> Iterator[NoteParts]:
    scripts = {who.id for pair in summary.pairs for who in pair.annotators if who.kind == "simulated"}
    people = {who.id for pair in summary.pairs for who in pair.annotators if who.kind == "person"}
    if scripts:
        every = "All" if not people else f"{len(scripts)} of {len(scripts) + len(people)}"
        yield (
            "simulated",
            f"{every} annotators are simulated: scripts answered, not people.",
            "Their scores show that the measurement works but say nothing about people.",
            "To have people annotate, run embassay hume serve.",
        )


def _iterate_failed_answer_notes(summary: Summary) -> Iterator[NoteParts]:
    scores = [system_score for pair in summary.pairs for system_score in (*pair.models, *pair.llms)]
    label = shorten_names_to_labels(tuple(dict.fromkeys(system_score.system for system_score in scores)))
    lost: dict[str, int] = {}
    for score in scores:
        if score.failed:
            lost[score.system] = lost.get(score.system, 0) + score.failed
    for system, count in lost.items():
        yield (
            "partial",
            f"Missing or unreadable: {numbers.format_noun_count(count, 'answer')} by {label[system]}.",
            "A missing label counts as wrong; a missing rating or ranking is left out.",
            "Repeat the annotate command to request them again.",
        )
    missing = [
        (pair, system_score)
        for pair in summary.pairs
        for system_score in (*pair.models, *pair.llms)
        if system_score.score.value is None
    ]
    for pair, score in missing[:4]:
        why = score.score.reason.rstrip(".") or "no reason was recorded"
        yield (
            "failed",
            f"{label[score.system]} has no score on {pair.name} ({why}).",
            "It therefore has no mean over all pairs.",
            "",
        )
    if len(missing) > 4:
        yield "failed", f"More missing scores: {len(missing) - 4}.", "", ""


def _list_notes_of_low_agreement_pairs(pairs: Sequence[DatasetLanguageRecord]) -> Iterator[NoteParts]:
    noisy = [pair for pair in pairs if pair.superhuman_on_noise]
    low = [pair for pair in pairs if pair.trust == "low" and not pair.superhuman_on_noise]
    if noisy:
        above = "a model outscores annotators whose agreement is low"
        yield (
            "noise",
            f"On {_format_pair_count(noisy)}, {above}: {format_first_pair_names(noisy, 5)}.",
            "The model may have learned labels that people do not share, which does not make it better.",
            noisy[0].advice or "Improve the task or drop it.",
        )
    if low:
        yield (
            "noise", f"Annotator agreement is low on {_format_pair_count(low)}: {format_first_pair_names(low, 5)}.",
            "Model rankings mean little there.", low[0].advice or "Improve the task or drop it."
        )  # fmt: skip


def _single_annotator_notes(pairs: Sequence[DatasetLanguageRecord]) -> Iterator[NoteParts]:
    alone = [pair for pair in pairs if len(pair.annotators) == 1]
    if alone:
        of = f"{len(alone)} of {numbers.format_noun_count(len(pairs), 'pair')}"
        named = f" ({format_first_pair_names(alone)})" if len(alone) <= 4 else ""
        shares = any(record.family in ("clustering", "reranking") and record.human.low is not None for record in alone)
        yield (
            "one annotator",
            f"{of} {'has' if len(alone) == 1 else 'have'} one annotator{named}.",
            "Agreement is unknown there"
            + ("; for clustering and reranking, the interval treats the score as a proportion." if shares else "."),
            "Two or more people are needed.",
        )


def _few_items_notes(pairs: Sequence[DatasetLanguageRecord]) -> Iterator[NoteParts]:
    tiny = [pair for pair in pairs if pair.n < FEW]
    small = [pair for pair in pairs if FEW <= pair.n < SMALL]
    for few, follows in (
        (tiny, "There are too few items to compare models with people."),
        (small, "Intervals are wide."),
    ):
        if few:
            least = min(record.n for record in few)
            names = format_first_pair_names(few)
            yield (
                "small n",
                f"{_format_pair_count(few).capitalize()} with few items (smallest n: {least}): {names}.",
                follows, "Use more items if possible."
            )  # fmt: skip


def _iterate_flagged_answer_notes(pairs: Sequence[DatasetLanguageRecord]) -> Iterator[NoteParts]:
    count = sum(annotator.flagged for pair in pairs for annotator in pair.annotators)
    if count:
        yield (
            "flagged", f"Annotators flagged {numbers.format_noun_count(count, 'answer')} as broken or "
            "impossible to judge.",
            "The study’s annotations list them with reasons.", "Check them before you trust the gold."
        )  # fmt: skip


def _format_pair_count(pairs: Sequence[DatasetLanguageRecord]) -> str:
    return numbers.format_noun_count(len(pairs), "pair")


_LEADERS = 5


MOST_OPEN = 3
"""Pairs of which it is told what more items would buy, unless all are asked for."""


def hume_view(run: Path, wide: bool = False, price: float | None = None) -> Iterator[Block]:
    """A HUME run; what more labels would cost at a `price` each. DataError where the folder has no `summary.json`."""
    folder = Path(run)
    summary = read_summary(folder)
    label = shorten_names_to_labels(list_models_of_hume_record(summary))
    yield describe_hume_verdict(summary)
    yield _make_pair_results_table(summary, label)
    if wide:
        yield _ranked_places_table(summary, label)
    undecided = make_outlook_table_of_undecided_pairs(
        summary, list_ranked_models_per_pair(summary), None if wide else MOST_OPEN, price
    )
    if undecided is not None:
        yield ParagraphBlock(f"{undecided.title}:")
        yield undecided
    yield from view_items_divided_between_llm_people(read_tasks_divided_with_llm(folder))
    notes = [note.plain for note in list_run_notes(read_run_record(folder))]
    notes += [*_llm_notes(summary, label), *_iterate_notes_on_leading_ranks(summary, label)]
    yield CautionNotes(tuple(notes), more=tuple(_explain_table_signs(summary)))
    yield from say_where_report_is(folder, "tables")


SHARED = ("agreed", "check", "disagree", "unread", "biased")
"""Why an item is the model's or people's, in the order of the columns."""


def view_items_divided_between_llm_people(tasks: Sequence[TaskDividedWithLlm]) -> Iterator[Block]:
    """View what `hume hybrid` found: which items people must answer; nothing without tasks."""
    if not tasks:
        return
    heads: list[str | Column] = [
        "Task", *make_number_columns("Open", "People’s share", "Contradicted, 95%", "The model’s", "Sample",
            "Draws differ"),
        *make_number_columns("Not read", "Biased")
    ]  # fmt: skip
    rows = [
        [
            task.task,
            numbers.format_count(task.open),
            numbers.format_percent(task.share_of_people) if task.items else numbers.NONE,
            _format_contradiction_rate(task.contradicted),
            *(numbers.format_count(task.counts.get(name, 0)) for name in SHARED),
        ]
        for task in tasks
    ]
    yield Table.of("divided", heads, rows)
    saved, every = sum(task.counts.get("agreed", 0) for task in tasks), sum(task.items for task in tasks)
    waiting = sum(task.open for task in tasks)
    yield ParagraphBlock(
        f"{numbers.format_count(saved)} of {numbers.format_noun_count(every, 'item')} need no annotator; "
        f"{numbers.format_count(waiting)} still {'needs' if waiting == 1 else 'need'} one."
    )
    if scripts := list(dict.fromkeys(name for task in tasks for name in task.scripts)):
        yield ParagraphBlock(
            f"Scripted answers do not count here: {convert_sentence_to_text(join_names_with_and(scripts))}."
        )
    if biased := [task.task for task in tasks if task.biased]:
        named = convert_sentence_to_text(join_names_with_and(biased))
        yield ParagraphBlock(
            f"{named}: people contradict the model on the sample, so the model's answers are not used."
        )


def task_owners_view(tasks: Sequence[TaskOwnership]) -> Iterator[Block]:
    """View what `hume hybrid --by agreement` found: who owns each task, and how sure that is."""
    heads: list[str | Column] = ["Task", "Whose", *make_number_columns("Agreement, 95%", "n", "People", "Model"), "Why"]
    rows = [
        [
            task.task,
            task.owner,
            _format_task_agreement(task),
            numbers.format_count(task.n),
            f"{numbers.format_count(task.answered)} of {numbers.format_count(task.items)}",
            numbers.format_count(task.by_model),
            task.reason,
        ]
        for task in tasks
    ]
    yield Table.of("owners", heads, rows)
    theirs = sum(task.owner == "people" for task in tasks)
    yield ParagraphBlock(f"People keep {theirs} of {numbers.format_noun_count(len(tasks), 'task')}.")
    if unsure := [task.task for task in tasks if task.agreement is not None and not task.is_agreement_level_certain]:
        named = convert_sentence_to_text(join_names_with_and(unsure))
        crosses = "its interval crosses" if len(unsure) == 1 else "their intervals cross"
        yield ParagraphBlock(f"{named}: {crosses} the threshold for high agreement, so more answers may change this.")


def _format_task_agreement(task: TaskOwnership) -> str:
    if task.agreement is None:
        return numbers.NONE
    ends = "" if task.low is None or task.high is None else f" {numbers.format_interval(task.low, task.high)}"
    return f"{numbers.format_score(task.agreement)}{ends}"


def _format_contradiction_rate(bar: Estimate) -> str:
    if bar.value is None or bar.low is None:
        return "not yet"
    low, high = bar.ends
    return f"{numbers.format_percent(bar.value)} ({numbers.format_interval(100 * low, 100 * high, 0)}%)"


def _make_pair_results_table(summary: Summary, label: Mapping[str, str]) -> Table:
    who = describe_kind_of_answerers(summary).capitalize().removesuffix(" annotators")
    heads: list[str | Column] = [
        "Pair", *make_number_columns("n", f"{who}, 95%"), "Agreement",
        *make_number_columns("Best", "Difference"), "Model",
        *make_number_columns("Of people", "Paired, 95%")
    ]  # fmt: skip
    return Table.of(
        "pairs", heads, (_make_dataset_pair_row(standing, label) for standing in list_ranked_models_per_pair(summary))
    )


def _make_dataset_pair_row(models: DatasetLanguageModelScores, label: Mapping[str, str]) -> list[str]:
    pair, best = models.pair, models.best
    agreement = format_agreement(pair) + (" !" if pair.trust == "low" else "")
    people = (
        f"{format_score_in_points(pair.human)} "
        f"{format_interval_ends(pair.human)}{' r' if has_interval_over_annotators(pair.human) else '  '}"
    )
    cells = [pair.name, numbers.format_count(pair.n), people, agreement]
    if best is None:
        return [*cells, numbers.NONE, numbers.NONE, "no model", numbers.NONE, numbers.NONE]
    gap, paired = models.gap(), best.difference
    return [
        *cells, format_score_in_points(best.score) + ("*" if best.outside else " "),
        numbers.NONE if gap is None else POINTS.change(-gap), label[best.system],
        format_percent_of_human_if_agreed(pair, best.percent_of_human),
        numbers.NONE if paired is None else format_interval_ends(paired)
    ]  # fmt: skip


def _ranked_places_table(summary: Summary, label: Mapping[str, str]) -> Table:
    rows = (
        [
            numbers.NONE if place.rank is None else str(place.rank),
            describe_kind_of_answerers(summary).capitalize()
            if place.kind == "human"
            else label.get(place.system, place.system),
            format_score_in_points(place.mean) if place.mean.value is not None else place.mean.reason or "n/a",
            place.kind,
        ]
        for place in summary.places
    )
    return Table.of(
        "places", (*make_number_columns("Place"), "Who", *make_number_columns("Mean over pairs"), "Kind"), rows, at=1
    )


def _llm_notes(summary: Summary, label: Mapping[str, str]) -> Iterator[str]:
    means = make_family_means_table(summary)
    if means is None:
        return
    scores = ", ".join(
        f"{label[row.name]} {POINTS.text(row.mean_over_all_pairs.value)}"
        for row in means.llms
        if row.mean_over_all_pairs.value is not None
    )
    people = means.people.mean_over_all_pairs.value
    beside = (
        "" if people is None else f"; {describe_kind_of_answerers(summary)} on the same pairs {POINTS.text(people)}"
    )
    yield (
        f"Language models as annotators, mean over {numbers.format_noun_count(means.pairs, 'pair')}: {scores}{beside}."
    )


def _iterate_notes_on_leading_ranks(summary: Summary, label: Mapping[str, str]) -> Iterator[str]:
    ranked = [place for place in summary.places if place.rank is not None][:_LEADERS]
    if len(summary.pairs) < 2 or len(ranked) < 2:
        return
    who = describe_kind_of_answerers(summary)
    named = (
        f"{place.rank} {who if place.kind == 'human' else label.get(place.system, place.system)} "
        f"{format_score_in_points(place.mean)}"
        for place in ranked
    )
    yield f"Ranks by the mean over pairs: {', '.join(named)}."


def _explain_table_signs(summary: Summary) -> Iterator[str]:
    every: Sequence[DatasetLanguageModelScores] = list_ranked_models_per_pair(summary)
    if any(models.best is not None and models.best.outside for models in every):
        yield (
            f"* outside the interval of {describe_kind_of_answerers(summary)}. This is not a significance test, "
            "because the model’s uncertainty is ignored."
        )
    if any(has_interval_over_annotators(models.pair.human) for models in every):
        yield ("r: range from the lowest to the highest annotator, not a 95% interval. All other intervals are at 95%.")
    if any(models.pair.trust == "low" for models in every):
        yield "! low agreement: kappa or ARI under 0.4, Spearman under 0.6."
    yield f"Points are 100 times the measure. Difference: best model minus {describe_kind_of_answerers(summary)}."
