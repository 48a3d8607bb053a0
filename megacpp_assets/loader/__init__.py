"""Fixed-shape batches from Megatron files and their structure sidecars."""
