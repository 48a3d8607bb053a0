"""Stage 2: toolchain, compile database, parsing, structure, chunks, graph, documents."""
