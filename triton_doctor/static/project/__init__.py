"""Modules to a project: names resolved, launches linked to kernels, and what each answer depends on."""
