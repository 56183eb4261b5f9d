"""Label Studio: tasks and a labelling configuration to import there, and its JSON export read back."""
