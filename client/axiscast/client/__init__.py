"""The clients of a service: request building and response reading without IO, and transports."""
