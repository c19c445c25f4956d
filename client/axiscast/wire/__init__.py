"""Shapes, dimensions, dtypes, tensors, codecs (JSON, MessagePack) and problems, shared by client and service.

Knows neither side: nothing here imports the client, the service or a web framework.
"""
