"""What is kept on disk: compiled objects, whole models, the runtime's own code."""
