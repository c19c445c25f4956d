"""Formats of a report: terminal text, messages, SARIF and GitHub annotations."""
