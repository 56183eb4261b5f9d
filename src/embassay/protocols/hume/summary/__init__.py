"""What a HUME run says, as one record: `summary.json`, from which tables, pages and figures are made."""
