"""From a frame to its answer: dispatch, what handlers share, and where requests wait."""
