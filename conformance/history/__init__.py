"""The recorded history of a case, and time travel in it. Pure: no cluster, no clock."""
