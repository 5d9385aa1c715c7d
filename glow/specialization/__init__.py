"""What a model that compiles at its calls is compiled from, what is known of it by then, and what
is evaluated instead.
"""
