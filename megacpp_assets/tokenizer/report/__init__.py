"""Reports about a tokenizer: statistics, a page for people, comparison with another tokenizer."""
