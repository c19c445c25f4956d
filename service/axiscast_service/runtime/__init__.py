"""What a worker has to give: its memory."""
