"""The sentences about shapes. Each function returns a fact as text, with the names of the inputs in the reader's code."""
