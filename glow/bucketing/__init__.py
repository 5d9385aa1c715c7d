"""Few programs for many sizes: calls are padded to the next of the sizes that there are.

`buckets.py` finds out whether a network allows it, of graphs that `compare_graphs.py` compares;
`bucketed_model.py` is the model that does it, with arrays of `padded_arrays.py`, and the memory of
results that grow from call to call (`growing_results.py`).
"""
