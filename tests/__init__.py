"""Tests mirror the package; helpers are imported as `tests.<package>.<module>`."""
