"""Ways to tell what is the same thing, behind one protocol (``base.Associator``)."""
