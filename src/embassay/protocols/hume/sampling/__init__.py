"""A study drawn from data: items of the four families by HUME's rules, gold apart, and what annotators are told.

sample(SampleRequest(name="first", tasks=[TaskRequest(data="sample", family="sts", n=15)]))
"""

from embassay.protocols.hume.sampling.options import LabelText, SampleRequest, TaskSampleRequest
from embassay.protocols.hume.sampling.protocol import (
    NoSuiteDataAvailable,
    SampledStudy,
    TrainingTwin,
    count_defects,
    describe_defects,
    describe_study_defects,
    draw_study,
    find_training_twins,
    write_miniatures,
)

__all__ = [
    "LabelText",
    "NoSuiteDataAvailable",
    "SampleRequest",
    "SampledStudy",
    "TaskSampleRequest",
    "TrainingTwin",
    "count_defects",
    "describe_defects",
    "describe_study_defects",
    "draw_study",
    "find_training_twins",
    "write_miniatures",
]
