"""What the scripts share. The packages beside this one import it; it imports none of them."""
