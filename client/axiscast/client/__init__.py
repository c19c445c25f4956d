"""The clients of the service: request building and response reading, which perform no IO, and HTTP transports."""
