"""One file per resource: the request, the work and the answer. Beside them, what only they share."""
