"""The accelerator that policies are tested on, and never trained on. Nothing is imported here."""

HELD = "held"
"""Its name."""

HELD_HARDWARE = "num_pes=512,l1_bytes=1024,l2_bytes=262144,noc_bw=128,offchip_bw=32"
"""Its fields, as ``find_hardware`` takes them."""
