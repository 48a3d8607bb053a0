"""Analyses the files of a repository, each by itself and in workers with limits."""
