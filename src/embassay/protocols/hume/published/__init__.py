"""The published study: its pairs and models, its result files, and the paper's tables made again from them."""
