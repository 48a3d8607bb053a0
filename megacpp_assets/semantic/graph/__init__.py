"""Cuts files into chunks and links the chunks of all files to a graph of uses."""
