"""Step 2: which language model to paraphrase with (spec/pteb, section 7)."""
