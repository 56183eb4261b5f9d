"""The change on valid paraphrases alone: a sheet for people, and what their ratings of a few items say of all."""
