"""Few programs for many sizes: calls are padded to the next of the sizes that there are.

| file                 | what                                                                  |
|----------------------|-----------------------------------------------------------------------|
| `buckets.py`         | finds out how the sizes of a network may be padded                    |
| `search.py`          | the search for one size: behind its end, at its front, or masked      |
| `graphs.py`          | the network's graphs for numbers of its sizes                         |
| `compare_graphs.py`  | whether one graph is another one with padding                         |
| `masked_graphs.py`   | the graph of a program that masks padding                             |
| `choices.py`         | the buckets that calls choose                                         |
| `automatic.py`       | the model that lets its calls choose buckets                          |
| `named_sizes.py`     | names that a user gives to sizes                                      |
| `bucketed_model.py`  | the model that pads its calls, with arrays of `padded_arrays.py`      |
| `growing_results.py` | memory of results that grow from call to call                         |
"""
