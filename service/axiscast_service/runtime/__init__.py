"""The resources of a worker process: memory, threads and time."""
