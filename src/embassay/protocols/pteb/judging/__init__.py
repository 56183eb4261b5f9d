"""Step 1: how well a language model judges the similarity of two texts (spec/pteb, section 6).

Rows of a judge run have the task `judge`, the judge as their system, and values as fractions or on the scale 0 to 5:

    spearman                       headline: correlation of rating and gold over the pairs of a dataset
    spearman, words=11-20          the same of the pairs with so many words on average (figure 4)
    mae, gold=[1,2)                mean |rating - gold| on 0 to 5, of the pairs with such a gold score (figure 3)
    mae                            the same of all pairs
    failed                         share of the pairs for which no rating came

With an empty dataset they are the unweighted mean over datasets, but `mae` and `failed`, which pool the pairs. Rows of
the system `mean of judges` average the judges of a run. `rating.py` asks and reads, `agreement.py` scores a dataset,
`run.py` is the run.
"""
