"""HTTP/1.1 connections, from accept to close. The only package that uses sockets."""
