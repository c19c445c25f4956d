"""What is answered, with no IO: check, compare, translate, and what they say beside the shapes."""
