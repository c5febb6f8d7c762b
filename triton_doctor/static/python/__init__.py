"""Python text to the intermediate representation: modules, functions, kernels and expressions."""
