"""`tokenizer`: fixed C++ vocabulary, trainer, exact encoder, artifact and registry."""
