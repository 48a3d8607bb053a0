"""A pair of a .bin and a .idx file: its format, a strict reader, and a streaming writer."""
