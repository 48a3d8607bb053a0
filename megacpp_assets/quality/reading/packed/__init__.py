"""Reads packed rows, their side files and their sources for the checks."""
