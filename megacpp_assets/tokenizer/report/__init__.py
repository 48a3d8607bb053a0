"""What is told of a tokenizer: statistics, the page that people read, comparison with another."""
