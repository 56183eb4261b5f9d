"""Systems on the items that people annotated, by the ordinary evaluation of each family (spec hume 5)."""
