"""Data types and codecs that the client and the service share.

They cover shapes, dimensions, dtypes, tensors, JSON, MessagePack and problems.
No module in this package imports the client, the service or a web framework.
"""
