"""Who does the cells of a run: this process, worker processes beside it, or (`runs.cluster`) a Ray cluster."""
