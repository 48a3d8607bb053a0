"""The model: a GPT with structure embeddings, its attention, and the loss."""
