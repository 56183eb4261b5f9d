"""Golden sets: from questions and a corpus to graded, ordered judgements, stage by stage (spec rag 4).

`embassay.rag.golden` is this package, and a call of it is `golden.protocol.golden`: once any module of a package is
imported, Python lets its name stand for the package, whatever stood there before.
"""

from embassay.registry import make_package_callable_as_function

make_package_callable_as_function(__name__, "golden")
