"""Makes batches of fixed shape from Megatron files and their structure sidecars."""
