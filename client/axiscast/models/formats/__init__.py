"""The output formats of a report: terminal text, messages, SARIF logs and GitHub annotations."""
