"""The same operation in another framework, with the code."""
