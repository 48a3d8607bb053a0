"""What other people's training scripts use: one mixture of a data root as rows, files and a tokenizer."""
