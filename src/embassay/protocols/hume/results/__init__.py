"""The run of `hume score`: from a study or from published results to the record, rows and tables of a folder."""
