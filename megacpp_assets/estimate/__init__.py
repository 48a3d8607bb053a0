"""Estimates of hours, disk, memory, tokens and cost, from what finished steps of a data root took."""
