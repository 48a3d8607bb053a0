"""Runs a training job on this machine or elsewhere: `client` launches it, `job` runs it, `protocol` joins them."""
