"""The resources of a worker process: memory, threads and the event loop's time."""
