"""A network that finds rows of its input, another number of them in each call."""

FOUND = """
    zero = Constant<value_float = 0.0>()
    column = Constant<value_int = 0>()
    first = Gather<axis = 1>(x, column)
    flags = Greater(first, zero)
    places0 = NonZero(flags)
    flat = Constant<value_ints = [-1]>()
    places = Reshape(places0, flat)
    rows = Gather(x, places)
"""
"""The rows of x that begin with a positive number, and their places."""
