"""HTTP/1.1 connections, from accepting to closing. This is the only package of the service that uses sockets."""
