"""Contestants of the product search: MACH and its rivals behind one interface, each in processes of its own."""
