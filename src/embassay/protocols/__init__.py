"""What composes the parts: one folder per published protocol."""
