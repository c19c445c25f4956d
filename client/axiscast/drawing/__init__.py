"""Answers as text for a terminal and as SVG pictures."""
