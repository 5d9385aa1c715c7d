"""Rules for what x86 CPUs alone have."""
