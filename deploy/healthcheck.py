"""Exit with status 0 if the service in this container responds to GET /livez with 200.

It runs every few seconds, so it imports little.
"""

import os
import socket
import sys

host = os.environ.get("AXISCAST_HOST", "").strip()
if host in ("", "0.0.0.0"):
    host = "127.0.0.1"
elif host == "::":
    host = "::1"
port = int(os.environ.get("AXISCAST_PORT", "").strip() or 8000)

try:
    with socket.create_connection((host, port), timeout=2) as connection:
        if os.environ.get("AXISCAST_TLS_CERTIFICATE", "").strip():
            import ssl

            context = ssl.create_default_context()
            # It asks itself, by an address that the certificate need not have.
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            connection = context.wrap_socket(connection)
        connection.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        status = connection.makefile("rb").readline(100).split()[1:2]
except OSError as error:
    sys.exit(f"no answer from {host} port {port}: {error}")
if status != [b"200"]:
    sys.exit(f"/livez answered {status}")
