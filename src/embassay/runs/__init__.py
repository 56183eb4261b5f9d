"""How work is done and kept: cells, folders, caches, execution."""
