"""Which licence a file is under."""
