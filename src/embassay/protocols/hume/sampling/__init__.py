"""A study drawn from data: items of the four families by HUME's rules, gold apart, and what annotators are told.

sample(SampleRequest(name="first", tasks=[TaskRequest(data="sample", family="sts", n=15)]))
"""

from embassay.protocols.hume.sampling.options import (
    LabelWordAndMeaning,
    StudySampleRequest,
    TaskSampleRequest,
)
from embassay.protocols.hume.sampling.protocol import (
    LeakedTrainingText,
    NoSuiteDataAvailable,
    SampledStudy,
    count_items_by_defect,
    describe_item_defects,
    describe_task_item_defects,
    draw_study,
    find_training_twins,
    write_miniature_datasets,
)

__all__ = [
    "LabelWordAndMeaning",
    "LeakedTrainingText",
    "NoSuiteDataAvailable",
    "SampledStudy",
    "StudySampleRequest",
    "TaskSampleRequest",
    "count_items_by_defect",
    "describe_item_defects",
    "describe_task_item_defects",
    "draw_study",
    "find_training_twins",
    "write_miniature_datasets",
]
