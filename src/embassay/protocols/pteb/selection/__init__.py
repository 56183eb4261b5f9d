"""Step 2: which language model to paraphrase with (spec/pteb, section 7).

Every candidate paraphrases every distinct text of the datasets once. Rows have the task `paraphrasers`, the candidate
as their system, and per dataset

    similarity       headline: mean rating by the judge of (text, paraphrase), 0 to 5
    edit_distance    mean normalised word edit distance of text and paraphrase, 0 to 1
    seconds          mean seconds of a text's answers, all attempts together
    length_ratio     mean of the paraphrase's characters over the text's
    copied, failed   shares of the texts that came back as they were, that got no usable paraphrase
    failed_ratings   share of the paraphrases that got no rating

With an empty dataset they are unweighted means over datasets, and `similarity_hl` is the Hodges-Lehmann estimate over
the dataset means. Variant `judge=NAME` has the similarity by another judge (table 5). The manifest's `selection` holds
the rule, what it says and why. The paraphrases are kept in `paraphrases/`, as a run of PTEB keeps its own, so that
`stored:RUN?source=NAME` replays them. `choice.py` is the rule, `criteria.py` scores a dataset, `run.py` is the run.
"""
