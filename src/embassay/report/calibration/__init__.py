"""What a calibration says, on a terminal and on a page."""
