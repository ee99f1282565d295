"""The order of some items, or the first few of them, by as few comparisons of pairs as may be."""
