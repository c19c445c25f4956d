"""The wire: op classes, requests and answers, tensors and codecs, shared by client and service.

Knows neither side: nothing here imports the client, the service or a web framework.
"""
