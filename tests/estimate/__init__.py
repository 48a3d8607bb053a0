"""Estimates from measured steps."""
