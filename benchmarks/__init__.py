"""TorusDB beside its peers: the same data, the same load, one run. `python -m benchmarks run --help`."""
