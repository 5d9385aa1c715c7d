"""Small programs, timed: a call that computes next to nothing, one layer of attention."""
