"""What a person needs to believe a verdict: tables, timelines, diffs, logs, commands.

Pure renderers over a history.
"""
