"""Measures kernels on another machine: objects are built here, a loop and a clock are there.

| file        | what it has                                                     |
|-------------|-----------------------------------------------------------------|
| `runner.py` | what runs there, behind `measure.py`: Python's library, no more |
| `board.py`  | the connection to it                                            |
"""
