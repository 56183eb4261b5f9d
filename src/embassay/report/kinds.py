"""What each kind of run is, in plain words: its paper, its scores and intervals, what its scale means and does not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from importlib import import_module
from typing import Any

from embassay.document.blocks import (
    Block,
    BulletList,
    DefinedTerm,
    Heading,
    PageFactsLine,
    PageLink,
    ParagraphBlock,
    StyledWords,
    TermDefinitions,
    VerdictText,
)
from embassay.protocols.kernel import tables as numbers
from embassay.report.record import FEW, KINDS, RunRecord
from embassay.report.runs import ReportRun, run_kind_title

FILES = (
    "comparisons.json, items/ (one value per item), tables/ (CSV and Markdown), and results.jsonl (every number with "
    "interval and n)"
)


@dataclass(frozen=True)
class ProtocolWording:
    """What the page says of a protocol: how its overall score is made, its page of choices, its files."""

    overall: str
    intervals: str
    pages: str
    files: str = FILES


WORDINGS = {
    "sage": ProtocolWording(
        "The unweighted mean of the five tasks. A system with a missing task has no overall score; the mean of "
        "its finished tasks is shown but not ranked. A task’s score is the mean over its datasets.",
        "95%, bootstrap over the items of each dataset, corrected for bias and small samples; the results name the "
        "unit that is resampled (document, query, comparison or set). Shares have Wilson intervals. A single "
        "clustering set is resampled over its texts, so its interval does not cover other sets.",
        "docs/sage.md",
    ),
    "pteb": ProtocolWording(
        "The unweighted mean of the run’s tasks. A task’s score is the mean over its datasets, and a dataset’s score "
        "is the mean over the paraphraser’s runs; a dataset with several languages is averaged over its languages.",
        "95%, corrected for bias and small samples. For the score and drop of a dataset: two-level bootstrap over "
        "items (original and paraphrases paired) and runs. The drop across datasets also has an interval from "
        "a mixed model with dataset and run as random effects. A dataset with a single clustering set has no "
        "interval over sets.",
        "docs/pteb.md",
    ),
}
WORDINGS["mteb"] = ProtocolWording(
    "The main score of each task, as published. Nothing was run here, and there are no values for single items.",
    "None, because published results lack the items needed for an interval.",
    "docs/interchange.md",
    "results.jsonl (every score) and the published files, unchanged",
)
WORDINGS["calibration"] = ProtocolWording(
    "Skill: 1 − a / b, where a is the log loss of the fitted probabilities on held-out pairs and b that of the base "
    "rate; averaged over datasets. Thresholds and curves are for one system on one dataset.",
    "For a probability: exact, from the binomial bounds of the nearest lower-scoring and higher-scoring pairs. For "
    "a threshold: a guarantee, tested in a fixed order. For skill: 95%, bootstrap over the pairs.",
    "docs/calibration.md",
    f"{FILES}, calibrations/ (one file per system and dataset, for `eb.calibration`)",
)
WORDINGS["choose"] = ProtocolWording(
    "Each system’s chance of being best on these documents, and its expected regret, from signals "
    "whose weights were fitted on labelled public collections; your labels update these estimates.",
    "For a difference: 95%, from the prediction errors on held-out collections; wider if systems disagree.",
    "docs/choose.md",
)
WORDINGS |= {
    "original": replace(
        WORDINGS["pteb"],
        overall="The unweighted mean of the run’s tasks. A task’s score is the mean over its datasets; a dataset "
        "with several languages is averaged over its languages. Nothing was paraphrased.",
        intervals="95%, bootstrap over the items of each dataset, corrected for bias and small samples. A single "
        "clustering set is resampled over its texts.",
    ),
    "hteb": replace(
        WORDINGS["pteb"],
        overall=(
            "Per dataset: the mean score over runs for each transformation; an axis is the unweighted mean of its "
            "transformations, and the total is the unweighted mean of the axes. Over datasets: unweighted means, "
            "without averaging by task first. The original is scored on the items that have a transformed text."
        ),
        intervals="95%, bootstrap over runs and over the items of each dataset (the same items for every "
        "transformation), corrected for bias and small samples.",
        pages="docs/hteb.md",
    ),
    "judge": replace(
        WORDINGS["pteb"],
        overall="Spearman correlation between a judge’s ratings and a dataset’s gold scores, averaged over datasets. "
        "Error: mean distance between rating and gold score on the scale from 0 to 5, over the pairs of all datasets. "
        "Pairs without a rating are left out and counted; if they exceed 5%, no score is given.",
        intervals="95%, bootstrap over the pairs of each dataset, corrected for bias and small samples.",
    ),
    "paraphrasers": replace(
        WORDINGS["pteb"],
        overall=(
            "Similarity between text and paraphrase: the judge’s mean rating, 0 to 5. Edit distance: words changed, "
            "divided by the length of the longer text. Seconds: the server’s time per text. Each is a mean over a "
            "dataset’s distinct texts, then over datasets. If over 5% lack a paraphrase or rating, no value is given."
        ),
        intervals="95%, bootstrap over the texts of each dataset, corrected for bias and small samples.",
    ),
    "validation": replace(
        WORDINGS["pteb"],
        overall="The mean rating of a language averages the mean ratings of its pairs; the mean for all "
        "languages averages their means. Alpha is Krippendorff’s, ordinal.",
        intervals="95%, bootstrap over pairs; Wilson intervals for shares.",
    ),
}
WORDINGS["score"] = ProtocolWording(
    "The mean over queries for which a measure is defined; the others are counted separately. "
    "RA-nWG weights grades 5, 4 and 3 "
    "by how rare they are in a query’s judgements, sums the weights over the first K, and divides by the best sum "
    "of any K documents. PROC is the same for the best K of the run’s own list, or of the given pool; %PROC is the "
    "share of PROC that the run reaches.",
    "95%, bootstrap over queries (queries that share a relevant document are resampled together), corrected for bias "
    "and small samples; the same resamples are used for every run.",
    "docs/rag_score.md",
    FILES.replace("comparisons.json", "score.json (all that this page shows), comparisons.json"),
)
WORDINGS["golden"] = replace(
    WORDINGS["score"],
    overall="S1 rewrites and embeds a question, S2 searches by vectors and by words, S3 merges both lists by "
    "reciprocal rank fusion, S4 has a judge grade every passage from 1 to 5, S5 keeps all passages with the "
    "best grades, S6 has the judge order the kept passages, a few at a time. Claims: how accurate the "
    "ranking engine expects its own order to be.",
    intervals="95%, bootstrap over questions, or over the items for shares of repeated items.",
    pages="docs/golden.md",
    files="golden.json (all that this page shows), a folder per question with the output of each stage, export/ "
    "(qrels, "
    "JSON Lines, BEIR), tables/, results.jsonl, spending.jsonl",
)
WORDINGS["questions"] = replace(
    WORDINGS["score"],
    overall=(
        "Kept: the share of written questions that passed every check. A second call checks whether "
        "the passage answers the question. Of near-duplicate questions, only the first counts."
    ),
    intervals="95%, Wilson interval over the written questions.",
    pages="docs/documents.md",
    files="export/ (queries, corpus, judgements, spans of the evidence), drafts.jsonl (the outcome of each), tables/",
)
WORDINGS["sweep"] = replace(
    WORDINGS["score"],
    overall=(
        "A stack is a combination of encoder, dimensions, index, K candidates, reranker and mode. "
        "Its quality is a mean over queries or, with several datasets, the mean of the dataset means. p50: the "
        "median time over sessions for each query, then the median over queries; p95: over all samples. A stack is "
        "dominated if another stack is no worse in price, time and quality, and better in at least one. "
        "%PROC is the quality reached as a share of what the candidates allow, a ratio of means."
    ),
    intervals="95%, percentile bootstrap over queries (for times, over timed queries), with the same resamples for "
    "every stack. "
    "Win shares: how often the rule selects each stack when queries and timed queries are resampled.",
    pages="docs/sweep_findings.md",
    files="sweep.json (all that this page shows), tables/, results.jsonl",
)
WORDINGS["names"] = replace(
    WORDINGS["score"],
    overall=(
        "A query asks for works by an author on a topic. Name margin: similarity to the right passage minus "
        "similarity to the closer of two impostors on the same topic; for the topic margin, similarity to the "
        "author’s passage on another topic is subtracted instead. "
        "Means are over the queries of each run, then over runs. An ablation "
        "rewrites the same bundles; its percentage is the mean change over rows with a base margin of 0.02 or more. "
        "Retrieval, which is not in the paper, searches the passages of all bundles."
    ),
    intervals="95%, bootstrap over queries, each with all its runs, corrected for bias and small samples.",
    pages="docs/probes.md",
    files=FILES.replace("comparisons.json, ", ""),
)
WORDINGS["noise"] = replace(
    WORDINGS["names"],
    overall="Small talk at five levels surrounds an unchanged question. Drop: the clean question’s similarity to "
    "its meaning (the bare request, or the best passage) minus the noisy question’s. "
    "Recovered: the share of that drop that rewriting recovers. Retrieval measures use the same questions.",
)
WORDINGS["sessions"] = ProtocolWording(
    "Evidence: the share of a question's documents with grade 4 or 5 that all calls of its session found together, "
    "after the first, second, third and last call. Means are over questions that have evidence and a session; the "
    "others are counted. For a replay: bounds, from the first call whose answer differs from the recording.",
    "95%, bootstrap over sessions; Wilson for shares. Differences between two stacks: paired bootstrap over the "
    "questions of both, with Holm-corrected p.",
    "docs/rag_score.md",
    "sessions.jsonl (every session's figures), retrieved/ (answers of a replay), tables/, results.jsonl",
)
WORDINGS["versions"] = ProtocolWording(
    "Current first: among questions whose first passages include either version, the share whose current passage "
    "ranks above its old version; ties count as half. Copies: the share of the first passages that repeat another one. "
    "Both are shown without a remedy, and after applying recency or deduplication to the same lists.",
    "95%, bootstrap over questions, corrected for bias and small samples.",
    "docs/probes.md",
)
WORDINGS["trace"] = ProtocolWording(
    "The share of needed passages (grade 4 or 5) that is lost at each stage: found by no search, dropped by a "
    "later stage, or ranked too low for the prompt.",
    "95%, bootstrap over questions, each with all its passages; exact (Clopper-Pearson) if none or all are lost.",
    "docs/rag_score.md",
    "trace.json (every passage's ranks), tables/, results.jsonl",
)
WORDINGS["hume"] = ProtocolWording(
    "The unweighted mean over all pairs of dataset and language. A pair’s human score: accuracy of the majority "
    "vote (classification); Spearman of the mean rating (STS); mean over annotators of V-measure (clustering) or of "
    "MAP with ties as blocks (reranking). Models are scored on the same items; they get the "
    "number of clusters and labelled examples, which people do not. Percent of human is 100 times the model’s score "
    "divided by people’s. Low agreement: κ or ARI under 0.4, Spearman under 0.6.",
    "For people: Wilson (classification), Fisher z (STS), lowest to highest annotator (clustering, reranking), which "
    "is not a 95% interval; with one annotator, a Wilson interval as if the score were a share. A score outside "
    "the interval is not a test result.",
    "docs/hume.md",
    "summary.json (all that this page shows), tables/ (CSV and Markdown), results.jsonl (every number with its "
    "interval and n)",
)
CORRECTED = "corrected.json"
BY_PEOPLE = (
    "95%, Student’s t over the units that people graded: the judge’s mean, corrected by its distance from people’s "
    "grades on a sample. Each row shows whether its units are completely graded queries or single passages."
)
"""How the intervals of a scoring were made whose judge people’s grades correct."""


def choose_protocol_wording(record: RunRecord) -> ProtocolWording:
    """What the page of methods says of a run: that of its kind, with the intervals that this run has."""
    wording = WORDINGS.get(record.kind, OTHER)
    if record.kind == "score" and (record.path / CORRECTED).is_file():
        return replace(wording, intervals=BY_PEOPLE)
    return wording


OTHER = ProtocolWording(
    "The unweighted mean of the run’s tasks. A task’s score is the mean over its datasets.",
    "95%, bootstrap over the items of each dataset, corrected for bias and small samples.",
    "the protocol’s own page",
)
"""Of a protocol of another package, whose tasks say the rest."""
PAPER_DEFAULTS: Mapping[str, tuple[Any, str]] = {
    "preference_ties": ("second", "how a tie in a comparison counts [A9]"),
    "positive": ("second", "the positive class of precision and recall [A10]"),
    "robustness_edits": ("all", "the extreme edit of each kind, or their average [A14]"),
    "numerize_both_cases": (False, "digits also for capital letters"),
    "delete_next_if_space": (False, "what is deleted at a space [A11]"),
    "edits": ("paper", "how texts are edited [A16]"),
    "needle": ("", "the inserted text; empty: the built-in text [A16]"),
    "text_tokens": (None, "tokens after which the documents of the sensitivity task are cut [A16]"),
    "curve": ("hyperbolic", "expected similarity at size p [A15]"),
    "string_cap": (2000, "largest clustering set for classical metrics"),
    "embedding_cap": (10000, "largest clustering set for embedding models"),
    "retrieval_headline": ("augmented", "the corpus of the retrieval headline [A19]"),
    "ties": ("original", "order of equal scores in an augmented corpus [A18]"),
    "dataset_mean": ("arithmetic", "mean of the retrieval shares over datasets [A20]"),
    "gain": ("linear", "gain of nDCG [A21]"),
    "resamples": (2000, "bootstrap resamples behind every interval"),
}
OPTIONS = {
    "pteb": "embassay.protocols.tasks.task:PtebOptions",
    "original": "embassay.protocols.tasks.task:PtebOptions",
    "hteb": "embassay.protocols.hteb.options:HtebOptions",
    "judge": "embassay.protocols.pteb.options:JudgingRunOptions",
    "paraphrasers": "embassay.protocols.pteb.candidates:ParaphraserSelectionOptions",
    "golden": "embassay.protocols.rag.golden.options:GoldenOptions",
    "questions": "embassay.protocols.questions:QuestionsOptions",
}
"""Where the options of the other commands say their defaults and what they decide."""


def map_options_to_default_and_help(kind: str) -> Mapping[str, tuple[Any, str]]:
    """Every option of a kind of run with its default and what it decides."""
    if kind == "sage":
        return PAPER_DEFAULTS
    if kind not in OPTIONS:
        return {}
    module, _, name = OPTIONS[kind].partition(":")
    return {
        field.name: (field.default, field.metadata["help"]) for field in fields(getattr(import_module(module), name))
    }


@dataclass(frozen=True)
class ProtocolReadingGuide:
    """A protocol's question, its scale, and what may not be read from it."""

    question: str
    means: str
    does_not: tuple[str, ...]


SCALES = {
    "sage": ProtocolReadingGuide(
        "Does similarity agree with people, resist typos, detect changed meaning and lost text, and work for "
        "clustering and retrieval?",
        "Five tasks, each scored from 0 to 1; higher is better. Overall is their unweighted mean; a system with a "
        "missing task has no overall score.",
        (
            "A system that only ignores noise already has a robustness of 0.333. See the shares.",
            "Sensitivity does not start at 0: the constant baseline, which always answers 1, scores 0.683.",
            "A preference of 0.5 is chance level, not a halfway score.",
            "The retrieval score is a share of the system’s own clean result, so even a poor retriever can score 1. "
            "With few queries, a share can exceed 1 by chance.",
            "Clustering is not corrected for chance, so compare it with the random baseline.",
        ),
    ),
    "pteb": ProtocolReadingGuide(
        "How far does a score drop when every text is paraphrased, over several runs of the paraphraser?",
        "The task’s own measure times 100, on originals and paraphrases. The change is PTEB minus original, so losses "
        "are negative.",
        (
            "A paraphrase that changes the meaning lowers every system’s score: ratings of paraphrases show how far "
            "to trust a loss.",
            "A small loss from a low score is not robustness: a system that finds nothing loses nothing.",
            "Systems without vectors classify and cluster by a different method and are ranked separately.",
            "A different paraphraser or prompt gives a different change; the interval covers only runs of one setup.",
        ),
    ),
    "hteb": ProtocolReadingGuide(
        "How far does a score drop when texts are rewritten in style, length and language?",
        "The task’s own measure times 100, on originals and transformed texts. The change is transformed minus "
        "original, so a loss is negative. A profile is the change on each of three axes.",
        (
            "A transformation that changes the meaning lowers every system’s score: text lengths, unchanged copies "
            "and people’s ratings show how far to trust a loss.",
            "Translation turns cross-lingual pairs into monolingual ones, which makes such data easier, not harder.",
            "Ranks by axis are not tested, and the intervals for a system’s axes come from the same items.",
            "A different transformer gives different texts; the interval covers only runs of the same transformer.",
        ),
    ),
    "original": ProtocolReadingGuide(
        "How well does a system perform each task on the original texts?",
        "The task’s own measure times 100.",
        ("Systems without vectors classify and cluster by a different method and are ranked separately.",),
    ),
    "judge": ProtocolReadingGuide(
        "Which language model rates similarity most like people?",
        "Correlation of its ratings with gold scores, from −1 to 1 (higher is better); error on the scale from 0 to 5 "
        "(lower is better).",
        ("A judge that agrees with people on pairs of sentences may not do so on long paraphrases.",),
    ),
    "paraphrasers": ProtocolReadingGuide(
        "Which language model paraphrases texts and keeps their meaning?",
        "Similarity between text and paraphrase as rated by a judge (0 to 5), and the share of words changed (0 to 1).",
        (
            "A model that copies the text has a similarity of 5, so read similarity and edit distance together.",
            "The ratings are a language model’s, not people’s.",
        ),
    ),
    "validation": ProtocolReadingGuide(
        "Do the paraphrases keep the meaning, according to people?",
        "Mean rating from 0 to 5; 3.0 is the paper’s threshold. Alpha is the raters’ agreement; 1 is perfect.",
        ("A mean above the threshold does not mean that every paraphrase is good: see the shares.",),
    ),
    "golden": ProtocolReadingGuide(
        "Which passages contain the evidence for each question, according to a judge?",
        "Grades from 1 (irrelevant) to 5 (answers the question). Every score based on this set depends on the grades.",
        (
            "If the judge is a language model, have people check a sample before you treat its grades as theirs.",
            "A passage that no search found was never graded, so it counts as unjudged, not as bad.",
        ),
    ),
    "questions": ProtocolReadingGuide(
        "What can users ask about these documents, and where is the answer?",
        "Kept: the share of questions that passed every check, 0 to 1.",
        (
            "A question has one judged passage, the one it was written about; others may answer it too.",
            "Questions from the documents use their own words, which favours systems that match words.",
        ),
    ),
    "score": ProtocolReadingGuide(
        "Do the K passages in the prompt contain the decisive evidence?",
        "RA-nWG from 0 to 1: the value of the first K passages as a share of the best possible K. "
        "N-Recall4+ is the number of good passages found, as a share of those that fit; Harm is the share of poor "
        "passages (lower is better). PROC is the best value that the pool allows, and %PROC is the share of PROC "
        "that is reached.",
        (
            "The order within the first K does not count.",
            "A value of 1 does not mean that an answer is right, only that the evidence is in the prompt.",
            "Equal values based on different judgements do not mean equal quality.",
        ),
    ),
    "sweep": ProtocolReadingGuide(
        "How much quality do time and money buy?",
        "A stack is on the frontier unless another stack is no worse in price, time and quality, and better in at "
        "least one of them. p50 is the median time of a query; one query in twenty takes longer than p95.",
        (
            "Times apply to this machine and corpus; on larger corpora, indexes rank differently.",
            "Prices are as of the date shown next to them.",
            "The recommendation is valid only for its budget.",
        ),
    ),
    "names": ProtocolReadingGuide(
        "Does similarity distinguish names in a text?",
        "Name margin: similarity to the right passage minus similarity to the closer impostor. Above 0, the right "
        "passage ranks higher.",
        (
            "Margins of two systems cannot be compared because each has its own scale; percent changes can.",
            "A smaller margin does not always make retrieval worse, so compare recall.",
        ),
    ),
    "noise": ProtocolReadingGuide(
        "How does small talk around a question affect search?",
        "Drop as a percentage of the clean question's similarity to its meaning; 0 means no drop.",
        ("A drop in similarity matters only if another passage then ranks higher: check the loss in retrieval.",),
    ),
    "hume": ProtocolReadingGuide(
        "How do people perform on the same items, and how well do they agree?",
        "The task’s own measure times 100, for people and systems. Percent of human is a system’s "
        "score as a percentage of people’s.",
        (
            "A system that scores above people is not necessarily better: where annotators disagree, the gold is "
            "uncertain, and the system may only have learned how such labels are made. Check the agreement first.",
            "The range of two annotators is not a 95% interval, and a score outside it is not a test "
            "result. The paired difference is tested.",
            "Percent of human can exceed 100, because it is a ratio of two uncertain numbers.",
            "Models are given the number of clusters and labelled examples; people are not.",
        ),
    ),
    "sessions": ProtocolReadingGuide(
        "How much of the evidence do all of an agent’s searches find together?",
        "From 0 (no document of grade 4 or 5 was found) to 1 (all of them).",
        (
            "More calls find more, so also compare what it took to find all the evidence.",
            "A replay repeats the recorded questions; an agent that saw other answers might have asked other "
            "questions. The bounds show how far that could change the share.",
            "Evidence that was found may not have been used: the answer can still be wrong.",
        ),
    ),
    "versions": ProtocolReadingGuide(
        "Do old versions of a passage outrank the current one, and do copies fill the list?",
        "Current first is a share from 0 to 1; 0.5 is chance, because nothing in a text says which version is current.",
        (
            "The old versions are synthetic: one number, date, status or negation was changed.",
            "A store that uses dates can do better than any ranking of texts here.",
            "Deduplication can keep only the old version: see “only old”.",
        ),
    ),
    "trace": ProtocolReadingGuide(
        "At which stage of the pipeline are needed passages lost?",
        "The share of needed passages lost at a stage, from 0 to 1; these shares and the share in the prompt add up "
        "to 1.",
        (
            "A passage that no search finds cannot be brought back by a reranker.",
            "Only judged passages are traced; others may also answer the question.",
        ),
    ),
    "calibration": ProtocolReadingGuide(
        "How likely are two texts of a given similarity to mean the same, and above what similarity can you accept "
        "them?",
        "Skill is the share of the uncertainty that the similarity removes: 0 is none, 1 is all.",
        (
            "A guarantee holds for pairs like the labelled pairs; the gaps show kinds of pairs for which it does not.",
            "Thresholds of different systems cannot be compared, because each system has its own scale.",
        ),
    ),
    "choose": ProtocolReadingGuide(
        "Which system should search these documents, if nothing has been judged?",
        "P(best) is the chance of being the best of these systems; regret is a system’s expected distance below the "
        "best nDCG@10.",
        (
            "This is a forecast from the documents alone; a measurement needs judged questions.",
            "The forecast was fitted on short English collections; for others, its estimates may be inaccurate.",
        ),
    ),
    "mteb": ProtocolReadingGuide(
        "Which results have been published for these systems?",
        "The main score of each task, as published, from 0 to 1 unless the task has another scale.",
        (
            "Results for single items are not published, so there is no interval, no test and no rank.",
            "Results of different revisions of a model or of the data cannot be compared.",
        ),
    ),
}
"""By the kinds of run."""


def explain_how_to_read_report(runs: Sequence[ReportRun]) -> Iterator[Block]:
    """The page of a report: marks and verbs, and the scales of the kinds of run that it has."""
    record = runs[0].record
    kinds = {run.record.kind for run in runs}
    yield PageFactsLine(("How to read this", "marks, words and scales of this report"))
    yield VerdictText(
        ("How to read this report",),
        ((
            "Each number applies to these items and is shown with its uncertainty. Every page gives the finding "
            "first, then a figure and the numbers; ", PageLink("Method", "method"), " explains how each was computed.",
        ),)
    )  # fmt: skip
    yield Heading("Marks and numbers", "reading-marks")
    yield TermDefinitions(tuple(_iterate_glossary_of_interval_marks(record.correction.capitalize())))
    yield Heading("Words with one meaning", "reading-verbs")
    yield TermDefinitions(_explain_report_verbs(record.alpha))
    yield Heading("Where a value is missing", "reading-states")
    yield TermDefinitions(STATES)
    yield Heading("What each scale means, and what it does not", "reading-scales")
    for kind in KINDS:
        if kind in kinds & set(SCALES):
            scale = SCALES[kind]
            yield Heading(run_kind_title(kind), f"reading-{kind}", 3)
            yield ParagraphBlock((StyledWords(scale.question, "b"), f" {scale.means}"), style="")
            yield BulletList(scale.does_not, style="")


def _iterate_glossary_of_interval_marks(correction: str) -> Iterator[DefinedTerm]:
    yield _make_glossary_term(
        "reading-interval", "The tick and the bar",
        "The tick is the value on these items. The bar is its 95% interval: of 100 intervals made from items of the "
        "same kind, about 95 contain the true value.",
        "It covers the random choice of items (in PTEB, also of runs), not other data or languages, another "
        "paraphraser or judge, wrong gold labels, or a model that has seen the data. It does not show where 95% of the "
        "items are. A value without a bar, such as a price, has no interval."
    )  # fmt: skip
    yield _make_glossary_term(
        "reading-rank", "Rank 1–2",
        "The ranks that the system could hold: first at best, second at worst. Pairs of systems are compared on the "
        f"same items, and p is corrected for the number of pairs ({correction}).",
        "Two systems with rank 1–2 may differ; these items cannot show which is better. More items narrow the range."
    )  # fmt: skip
    yield _make_glossary_term(
        "reading-overlap",
        "Bars that overlap",
        "Overlap shows nothing: both systems saw the same items, and items that are hard for one tend to be hard "
        "for the other. The difference is tested and has its own interval.",
    )
    yield _make_glossary_term(
        "reading-bold",
        "Bold",
        "The best value for a task before rounding, and all values that cannot be told apart from it.",
    )
    yield _make_glossary_term(
        "reading-n",
        "n, and grey values",
        f"n is the number of items behind a value. With n under {FEW}, the value is grey and is never "
        "a headline finding; under 50, an interval is only a rough guide.",
    )
    yield _make_glossary_term(
        "reading-points",
        "Points and percent",
        "A point is a hundredth of the scale: 81.4 points are 0.814. A loss of 4 points is not a loss of 4 percent.",
    )
    yield _make_glossary_term(
        "reading-reference",
        "constant and random",
        "Baselines that ignore the text: constant always answers 1, and random answers at random. They are "
        "never ranked. A system that scores no higher than a baseline has shown nothing on that task.",
    )
    yield _make_glossary_term(
        "reading-items", "One item", "A single item helps you see why. To see which system is better, use all n items."
    )


def _make_glossary_term(place: str, title: str, means: str, does_not: str = "") -> DefinedTerm:
    """A word or mark of the report: what it means, and what it does not. `place` is its address on the page."""
    return DefinedTerm(title, f"{means} {does_not}".strip(), place)


def _explain_report_verbs(alpha: float) -> tuple[DefinedTerm, ...]:
    """Explain the verbs of the report, with the one meaning that each has."""
    return (
        _make_glossary_term(
            "reading-beats", "beats", f"The corrected p of the difference is under {alpha}.",
            "The difference may be small: check its interval.",
        ),
        _make_glossary_term(
            "reading-apart", "cannot be told apart from", f"The corrected p is {alpha} or more.",
            "This does not show that the two are equal.",
        ),
        _make_glossary_term(
            "reading-first", "may be first", "Its rank range includes 1.",
            "Several systems may be first at once.",
        ),
        _make_glossary_term(
            "reading-loses", "loses 4.1 points (3.3–4.9)", "The change, with its 95% interval.",
            "If the interval includes 0, there may be no loss.",
        )
    )  # fmt: skip


STATES = (
    _make_glossary_term(
        "reading-failed", "✕ failed", "A cell failed for the reason shown. The score is missing, not 0."
    ),
    _make_glossary_term(
        "reading-partial", "◐ partial", "Some datasets of the task are missing, so the task has no score."
    ),
    _make_glossary_term("reading-not-run", "not run", "Planned, but not run yet. Repeat the command to continue."),
    _make_glossary_term("reading-undefined", "n/a", "Not defined, for example a correlation of equal ratings."),
    _make_glossary_term("reading-none", numbers.NONE, "There is no such value, for example the dimensions of bm25."),
)
