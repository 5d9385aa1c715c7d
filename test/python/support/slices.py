"""Tests of many cases of one kind: `make test` takes one of n cases, `make test-all` all.

Which ones: not each n-th, since what makes cases often takes their kind from the rest of their
number by 2, 3 or 4, of which such a slice would see one alone. What is left out differs in sizes,
networks or targets from what is taken, or is a further test of ONNX's of an operator that has one
there. `pytest FILE` always takes all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import pytest

EVERY: Mapping[str, int] = {
    "test_a_graph_computes_what_the_interpreter_does": 2,
    "test_a_network_computes_what_the_interpreter_does": 2,
    "test_a_network_of_bytes": 2,
    "test_a_random_attention_is_the_interpreters": 3,
    "test_a_random_convolution_is_a_sum_over_the_taps": 3,
    "test_a_random_matmul_is_the_interpreters": 3,
    "test_a_random_product_has_the_interpreters_bits": 3,
    "test_a_random_product_is_exact": 3,
    "test_a_random_product_is_the_interpreters": 2,
    "test_a_random_window_has_the_interpreters_bits": 3,
    "test_a_random_window_is_the_interpreters": 3,
    "test_accuracy": 2,
    "test_bytes": 2,
    "test_bytes_of_numbers": 3,
    "test_convolution_is_exact": 2,
    "test_depthwise_convolution_is_exact": 2,
    "test_forms": 2,
    "test_lowerings_agree": 3,
    "test_native_code": 2,
    "test_native_code_has_the_interpreters_bits": 2,
    "test_native_code_has_the_same_bits": 2,
    "test_native_code_loses_no_test": 3,
    "test_network_agrees_with_onnxruntime": 2,
    "test_network_is_accepted_at_every_level": 3,
    "test_networks_keep_their_results": 2,
    "test_never_worse_than_glow": 2,
    "test_no_kernel_spills": 2,
    "test_operators_give_the_integers_of_onnxruntime": 2,
    "test_passes_keep_results": 2,
    "test_pipeline_on_random_loops": 2,
    "test_printed_programs_give_the_same_bits": 3,
    "test_products_are_exact": 2,
    "test_products_of_attention_assemble": 4,
    "test_quantized_networks": 2,
    "test_quantized_networks_run_in_all_runtimes": 3,
    "test_random_nodes": 2,
    "test_random_rows_are_made_bytes": 3,
    "test_random_rows_are_quantized_as_the_interpreter_does": 3,
    "test_random_rows_are_the_interpreters": 2,
    "test_random_shapes": 2,
    "test_random_steps_are_the_interpreters": 3,
    "test_rows_keep_the_budget": 2,
    "test_signal_to_noise": 2,
    "test_strassen": 2,
    "test_sums_are_the_same_bits": 2,
    "test_texts_make_the_code_of_the_model": 2,
    "test_the_assembler_says_what_the_model_does": 4,
    "test_the_sweep_finds_what_pairs_tell": 3,
    "test_winograd": 2,
    "test_winograd_of_one_axis": 2,
    "test_work_grows_as_the_nodes": 2,
}
"""The n of a test function by its name."""


GOLDEN_RATIO = (5**0.5 - 1) / 2
"""Its multiples, without their integers, are spread evenly, those of all even numbers, too."""


def is_taken(number: int, every: int) -> bool:
    """Whether a slice of one in `every` cases has the case of that number, as it has the first."""
    return number * GOLDEN_RATIO % 1 < 1 / every


def left_out(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """The cases that a slice leaves out; of each function the first is taken."""
    seen = Counter[tuple[str, str]]()
    found: list[pytest.Item] = []
    for item in items:
        function = item.name.partition("[")[0]
        key = str(item.path), function
        if not is_taken(seen[key], EVERY.get(function, 1)):
            found.append(item)
        seen[key] += 1
    return found
