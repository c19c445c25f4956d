"""What each request passes before and after its endpoint: ids, logs, limits, keys, hosts, media types."""
