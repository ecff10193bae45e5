"""Redis: the Lua scripts and the one class that calls them."""
