"""What a corpus is pinned to: references, releases and tokenizers; promotion and removal, which change it."""
