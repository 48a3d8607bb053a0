"""Reads artifacts for their checks with Arrow and numpy, in blocks of bounded size. Imported when a check runs."""
