"""Stage 3a: fixed C++ vocabulary, trainer, exact encoder, artifact and registry."""
