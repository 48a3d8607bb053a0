"""The model and its step on TPUs, by JAX: the weights, names and checkpoints are those of the other devices."""
