"""Runs as experiment trackers keep them: values, arguments, files; logged once however often it is asked."""
