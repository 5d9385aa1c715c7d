"""A model as programs, of which most have one: what is imported until a value is missing.

| file                  | holds                                                     |
|-----------------------|-----------------------------------------------------------|
| `steps.py`            | the next program of a model, and what it waits for        |
| `program_importer.py` | inputs, outputs, and the walk from one end to the next    |
| `starts.py`           | where a program begins, and ends for want of a value      |
| `inner_values.py`     | what of the node at that place is read behind it          |
| `evaluated_rest.py`   | what is behind the last value, computed without a program |
| `chains.py`           | products of it that are compiled, whatever their rows are |
"""
