"""Questions in a statement: asked, and replaced by the SQL that answers them."""
