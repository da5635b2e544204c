"""Building blocks: what patterns of single-table models need beyond entities, keys and plans, one module each.

docs/patterns has the catalogue of patterns, most of which need no more than the kit has. Those that take several
requests in a certain order, or rules that are easy to get wrong, have a block here. What a block does is a `Task`,
which stores with and without async run alike; blocks import nothing but the kit."""
