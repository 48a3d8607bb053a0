"""Stage 1: catalogue, pins, hardened git, licences, file selection."""
