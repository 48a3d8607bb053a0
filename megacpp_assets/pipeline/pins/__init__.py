"""What a corpus is pinned to: references of repositories, releases upstream, and tokenizers."""
