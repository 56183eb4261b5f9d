"""Published figures of the four papers and of mteb, beside what this code gives for them."""
