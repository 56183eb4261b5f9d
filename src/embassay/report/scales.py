"""What the scale of each kind of run means, and what it does not mean, in plain words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """A protocol's question, its scale, and what may not be read from it."""

    question: str
    means: str
    does_not: tuple[str, ...]


SCALES = {
    "sage": Scale(
        "Does similarity follow people, survive typos, notice changed meaning, track lost text, cluster and retrieve?",
        "Five tasks from 0 to 1, higher is better; overall is their plain mean, and a system that lacks one has none.",
        (
            "Robustness of 0.333 is not a third of the way: a system that only keeps noise above the summary has it, "
            "whatever it makes of changed meaning. Look at the shares.",
            "Sensitivity does not start at 0: constant, which always answers 1, has 0.683.",
            "Preference of 0.5 is chance, not half of what is possible.",
            "Retrieval is a share of the system’s own clean result: a poor retriever can keep all of little, and a "
            "share above 1 is luck of few queries.",
            "Clustering is not corrected for chance: see what random has.",
        ),
    ),
    "pteb": Scale(
        "How much of a score is left when every text is paraphrased afresh, over several runs of the paraphraser?",
        "The task’s own measure times 100, on original and on paraphrased texts. The drop is paraphrased less "
        "original, so a loss is negative.",
        (
            "A drop is not all the system’s fault: a paraphrase that changes the meaning costs every system. The "
            "ratings of paraphrases say how far to trust it.",
            "A small drop from a low score is no robustness: who finds nothing loses nothing.",
            "Systems without vectors classify and cluster by another method and are ranked by themselves.",
            "Another paraphraser or prompt gives other drops; only runs of this one are in the interval.",
        ),
    ),
    "original": Scale(
        "How well does a system do each task on the texts as they are?",
        "The task’s own measure times 100.",
        ("Systems without vectors classify and cluster by another method and are ranked by themselves.",),
    ),
    "judge": Scale(
        "Which language model rates similarity as people do?",
        "Correlation of its ratings with gold scores, −1 to 1, higher is better; error in steps of 0 to 5, lower is "
        "better.",
        ("A judge that follows people on pairs of sentences is not shown to judge long paraphrases.",),
    ),
    "paraphrasers": Scale(
        "Which language model rewords texts and keeps their meaning?",
        "Similarity of text and paraphrase as a judge rates it, 0 to 5, and the share of words changed, 0 to 1.",
        (
            "High similarity alone is no merit: who copies has 5. Read both columns together.",
            "The ratings are a language model’s, not people’s.",
        ),
    ),
    "validation": Scale(
        "Do people find that the paraphrases keep the meaning?",
        "Mean rating from 0 to 5; 3.0 is the bar of the paper. Alpha says how far raters agree, 1 is fully.",
        ("A mean over the bar does not say that every paraphrase is good: see the shares.",),
    ),
    "golden": Scale(
        "Which passages hold the evidence for each question, by the grades of a judge?",
        "Grades from 1 (nothing to do with it) to 5 (answers it). Everything scored with this set rests on them.",
        (
            "Where the judge is a language model, its grades are not people’s until people have checked a sample.",
            "A passage that no search proposed was never graded: it counts as not judged, not as bad.",
        ),
    ),
    "score": Scale(
        "Does the set of K passages in the prompt hold the decisive evidence?",
        "RA-nWG from 0 to 1: the worth of the first K, of the best that any K could have. N-Recall4+ is the share of "
        "good passages that fit; Harm is the share of poor ones, lower is better. PROC is the best that the pool "
        "allows, and %PROC how much of it is reached.",
        (
            "Order inside the K does not count: the prompt holds all of them.",
            "1 does not mean that an answer is right, only that what is needed is in the prompt.",
            "The same value on two sets of judgements is not the same quality.",
        ),
    ),
    "sweep": Scale(
        "What do time and money buy?",
        "A stack is on the frontier where no other one is as cheap, as fast and as good, and better in one of them. "
        "p50 is the median time of a query, p95 what one of twenty exceeds.",
        (
            "Times are of this machine and this corpus; on larger ones indexes order differently.",
            "Prices are those of the day that stands beside them.",
            "The recommendation is only as good as the budget it was asked for.",
        ),
    ),
    "names": Scale(
        "Does similarity know whose name a text carries?",
        "Name margin: similarity to the right passage less that to the closer impostor. Above 0 the right one wins.",
        (
            "Margins of two systems do not compare: each has a scale of its own. Percents of change do.",
            "A lost margin need not cost retrieval: see recall beside it.",
        ),
    ),
    "noise": Scale(
        "What does small talk around a question do?",
        "Drop in percent of the similarity that the clean question has to what is meant; 0 is no harm.",
        ("A drop in similarity costs only where another passage overtakes: see what retrieval loses.",),
    ),
    "hume": Scale(
        "How do people do on the same items, and how well do they agree?",
        "The task’s own measure times 100 for people and systems. Percent of human is one over the other.",
        (
            "Above people is not better than people: where annotators disagree, gold itself is in doubt, and a system "
            "above them may only have learnt how such labels are made. Read the agreement first.",
            "The range of two annotators is no 95% interval, and lying outside of one is no test. The paired "
            "difference is.",
            "Percent of human can pass 100. It is a ratio of two uncertain numbers.",
            "Models get the number of clusters and labelled examples, which people do not.",
        ),
    ),
    "mteb": Scale(
        "What has been published for these systems?",
        "The main score of each task as it was published, from 0 to 1 where the task has no other scale.",
        (
            "There are no single items behind it, so no interval, no test and no rank.",
            "Results of different revisions of a model or of the data do not compare.",
        ),
    ),
}
"""By the kinds of run."""
