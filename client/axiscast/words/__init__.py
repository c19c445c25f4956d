"""The sentences about shapes. Each function returns a fact as text, with the reader's names of the inputs."""
