"""Many engines as one: relQueries are handed out over members that differ in speed, die and come back."""
