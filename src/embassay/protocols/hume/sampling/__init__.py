"""A study drawn from data: items of the four families by HUME's rules, gold apart, and what annotators are told.

sample(SampleRequest(name="first", tasks=[TaskRequest(data="sample", family="sts", n=15)]))
"""

from embassay.protocols.hume.sampling.options import LabelText, SampleRequest, TaskRequest
from embassay.protocols.hume.sampling.protocol import (
    NothingAtHand,
    Sampled,
    Twin,
    counted_defects,
    in_words,
    sample,
    stand_ins,
    study_flags,
    twins,
)

__all__ = [
    "LabelText",
    "NothingAtHand",
    "SampleRequest",
    "Sampled",
    "TaskRequest",
    "Twin",
    "counted_defects",
    "in_words",
    "sample",
    "stand_ins",
    "study_flags",
    "twins",
]
