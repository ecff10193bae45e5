"""What watches over the boards: rebuilds, and who decides that one is due."""
