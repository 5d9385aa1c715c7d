"""Programs in the formats of others; this file has what tools say before they load one."""

WEIGHT_FORMS = RESOURCE, ARGUMENTS, PARAMETERS = ("resource", "arguments", "parameters")
"""Where the weights of a program go; see `glow.exporters.programs.weights`."""

UPSTREAM_LOOPS = "upstream-loops"
"""Not a dialect of graphs: a compiled network, in dialects of upstream."""

PROGRAM_FORMATS = {
    "stablehlo": "StableHLO",
    "linalg": "linalg on tensors",
    "tosa": "TOSA 1.0",
    UPSTREAM_LOOPS: "loops with a main function that other programs call",
}
"""What graphs are written as, by the names that the tools give them."""
