"""Plans, and the steps that derive a plan from shapes: alignment, relations and resolution.

No module in this package depends on a framework.
"""
