"""What a run shows while it works, and at its end."""
