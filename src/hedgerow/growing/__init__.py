"""Growing: rules, statistics and memory for trees, and the reference grower."""
