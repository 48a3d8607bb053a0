"""Parses units with libclang in limited workers, with shared precompiled headers and a cache."""
