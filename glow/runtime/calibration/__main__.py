"""`python -m glow.runtime.calibration`: measures this machine for the cache folder."""

from glow.runtime.calibration.background import measure_here

if __name__ == "__main__":
    measure_here()
