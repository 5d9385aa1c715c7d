"""What padding does to a network: which elements of which values are not those of the input.

A call of fewer words than a program was compiled for may run on it if the inputs are padded, and
if nothing that is kept depends on what stands beyond their end: behind the last word, or before
the first one, where the length is that of the past of a language model.

| file                  | what                                                             |
|-----------------------|------------------------------------------------------------------|
| `verify_padding.py`   | the pass: padding of the inputs in, padding of the results out   |
| `mask_padding.py`     | the pass that lets no node see padding                           |
| `mask_steps.py`       | gates that keep the states of layers over padding                |
| `separate_rows.py`    | the pass that numbers elements by row, whatever rows are as long |
| `mask_pads.py`        | edges, mirrored where a padded axis ends                         |
| `counts.py`           | numbers that are made of the size of a padded axis               |
| `padded_value.py`     | which axes of a value are padded, and what stands there          |
| `element_range.py`    | ranges of elements, through functions of elements                |
| `placing.py`          | operands that meet on the axes of a result, and refusals         |
| `rules.py`            | one rule for each kind of node                                   |
| `movement_rules.py`   | the rules of nodes that move elements                            |
| `lookup_rules.py`     | the rules of nodes that read or write at places that are data    |
| `mask_lookups.py`     | such places, moved to where a padded axis ends                   |
| `product_rules.py`    | the rules of nodes that multiply matrices                        |
| `window_rules.py`     | the rules of convolutions and poolings                           |
| `stored_values.py`    | what is padded of constants                                      |
| `relative_shifts.py`  | scores by distance, moved to the words that they are of          |
"""

from __future__ import annotations

from glow.passes.lazy_passes import lazy_passes

PASSES = lazy_passes(
    "glow.passes.graph.padding", "verify_padding", "mask_padding", "separate_rows"
)
"""Pass name to factory."""
