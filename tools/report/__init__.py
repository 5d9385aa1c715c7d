"""Pictures and pages of programs for people; see `docs/inspect.md`.

| file             | makes                                                   |
|------------------|---------------------------------------------------------|
| `html.py`        | pages and tables; one file each, nothing from a network |
| `graph.py`       | nodes and edges of a function of any level              |
| `layout.py`      | places for nodes: one layer below the other             |
| `graph_svg.py`   | the drawn graph                                         |
| `memory_svg.py`  | the drawn memory plan                                   |
| `graph_diff.py`  | two graphs side by side (`glow-opt --graph-diff`)       |
| `page.py`        | the page of `glow report`                               |
"""
