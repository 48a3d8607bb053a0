"""Tests of stage `commit_documents`."""
