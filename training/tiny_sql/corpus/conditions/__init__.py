"""How conditions are said, by the kind of column: as a modifier of a noun, as a predicate, or as keywords."""
