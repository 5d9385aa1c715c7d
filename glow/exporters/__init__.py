"""Programs in the formats of others; this file has what tools say before they load one."""

WEIGHT_FORMS = RESOURCE, ARGUMENTS, PARAMETERS = ("resource", "arguments", "parameters")
"""Where the weights of a program go; see `glow.exporters.programs.weights`."""

PROGRAM_FORMATS = {"stablehlo": "StableHLO", "linalg": "linalg on tensors"}
"""The dialects that a graph is written in, by the names that the tools give them."""
