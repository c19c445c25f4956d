"""One HTTP/1.1 connection, from accept to close. The only package that knows sockets."""
