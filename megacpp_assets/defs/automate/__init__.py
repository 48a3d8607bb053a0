"""Runs that start by themselves: the sensor of releases and the nightly runs."""
