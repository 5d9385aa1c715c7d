"""Graphs as programs in the dialects of other compilers: what all of these have in common.

| file            | holds                                                              |
|-----------------|--------------------------------------------------------------------|
| `operations.py` | operations of foreign dialects                                     |
| `weights.py`    | where weights go: the text, arguments, or a file of parameters     |
| `writer.py`     | the function under construction: operations, values                |
| `export.py`     | what is taken apart before, the walk, and what cannot be said      |
| `text.py`       | the text, and the file that belongs to it                          |
"""

from glow.exporters.programs.export import Format as Format
from glow.exporters.programs.export import Program as Program
from glow.exporters.programs.export import export_program as export_program
