"""Sweeps: every combination of encoder, index, depth and reranker, measured for quality, time and money (rag 3).

`embassay.rag.sweep` is this package, and a call of it is `sweep.protocol.measure_sweep_stacks`: see `golden`.
"""

from embassay.registry import make_package_callable_as_function

make_package_callable_as_function(__name__, "measure_sweep_stacks")
