"""Growing trees: integer statistics, the growers for rows in memory and in shards, weak trees, deep trees."""
