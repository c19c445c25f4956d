"""HTTP/1.1 connections, from acceptance to closing. This is the only package of the service that uses sockets."""
