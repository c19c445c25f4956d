"""The clients of the service: request building and response reading, which do no IO, and the HTTP transports."""
