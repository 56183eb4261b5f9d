"""Questions about documents, each with the passage that answers it (spec rag 12).

A call of this package, which `embassay.rag.questions` is, is `protocol.questions`: see `golden`.
"""

from embassay.registry import make_package_callable_as_function

make_package_callable_as_function(__name__, "questions")
