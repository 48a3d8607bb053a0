"""The embedded sample: eight small C and C++ repositories, written for this project."""
