"""A model card per system, over all runs of a report: what it is good at, where it breaks, against people, against its
price, what is not known, and how to run it again."""
