"""`bayes`: refinement of an order by a posterior over all judged orders. Its options load without its kernels."""
