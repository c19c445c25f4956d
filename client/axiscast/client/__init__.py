"""The client: calls as requests, answers as they come, and the two shells around them."""
