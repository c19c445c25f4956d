"""The sentences about shapes. Each function returns a fact as text, with the names of inputs that its reader knows."""
