"""Step 1: how well a language model judges the similarity of two texts (spec/pteb, section 6)."""
