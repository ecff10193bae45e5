"""From the board to the viewer: mirrors, hub, sessions, and their protocol."""
