"""What a person needs to believe a verdict: pure renderers over a history."""
