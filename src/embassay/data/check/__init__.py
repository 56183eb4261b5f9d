"""What a user's own data are, what they can be used for, and what is wrong with them.

    Check("reviews.csv", mapping={"text": "body"}).report().usable

Everything is read by the readers that a run uses, so a check and a run cannot disagree.
"""

from embassay.data.check.figures import NearDuplicateRule
from embassay.data.check.files import DataCheckReport
from embassay.data.check.inspection import DataCheckRequest

__all__ = ["DataCheckReport", "DataCheckRequest", "NearDuplicateRule"]
