"""A study drawn from data: items of the four families by HUME's rules, gold apart, and what annotators are told.

sample(SampleRequest(name="first", tasks=[TaskRequest(data="sample", family="sts", n=15)]))
"""

from embassay.protocols.hume.sampling.options import LabelWordAndMeaning, StudySampleRequest, TaskSampleRequest
from embassay.protocols.hume.sampling.protocol import (
    NoSuiteDataAvailable,
    SampledStudy,
    TrainingTextMatch,
    count_items_by_defect,
    describe_item_defects,
    describe_task_item_defects,
    draw_study,
    find_training_twins,
    replace_absent_datasets_by_miniatures,
)

__all__ = [
    "LabelWordAndMeaning",
    "NoSuiteDataAvailable",
    "SampledStudy",
    "StudySampleRequest",
    "TaskSampleRequest",
    "TrainingTextMatch",
    "count_items_by_defect",
    "describe_item_defects",
    "describe_task_item_defects",
    "draw_study",
    "find_training_twins",
    "replace_absent_datasets_by_miniatures",
]
