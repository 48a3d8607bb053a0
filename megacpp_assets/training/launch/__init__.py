"""How a training job gets to where it runs, and what becomes of it: the same for every launcher."""
