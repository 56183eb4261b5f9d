"""What a watch says, on a terminal and on a page."""
