"""The PTEB page of the report, and those of judges, paraphrasers and human validation."""
