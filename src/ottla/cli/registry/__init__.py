"""`ottla registry`: a schema registry as a process."""
