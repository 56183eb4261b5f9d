"""A run on a Ray cluster: its cells are tasks, its encoders pools of actors, its results written by the driver alone.

driver ── engine ── cells (tasks of one CPU) ── parts of a cell (tasks) and chunks of texts (actors)
   └───── desk: an actor beside the driver that hears how far cells are, opens encoders and keeps the cache
"""
