"""Keys of Timeloop's architectures: what is read, what is noted, and what costs nothing here."""

from __future__ import annotations

OF_NODES = (
    *("name", "class", "subclass", "attributes", "spatial", "constraints"),
    *("required_actions", "area_share"),
)
"""Keys of nodes; ``sparse_optimizations`` is noted."""

CYCLE = "global_cycle_seconds"
DUMMY = "dummy_storage"
"""The class of what keeps nothing."""

UNLIMITED = 2**31 - 1
"""Depth of a memory without limit: the front end wants one, and Timeloop takes 32 bits."""

# Words a cycle, whatever the tool's sheet says (src/model/buffer.cpp of NVlabs/timeloop).
RATES = {
    "read_bandwidth": "read_bw",
    "write_bandwidth": "write_bw",
    "shared_bandwidth": "bw",
}
"""Attributes of bandwidths, and our field of each."""

ACTIONS = {
    "read": ("random_read", "read"),
    "write": ("random_fill", "random_write", "fill", "write"),
    "compute": ("mac_random", "mult_random", "mac", "mult", "compute"),
}
"""Actions of an ``ERT`` for each of ours, in the order in which Timeloop looks for them."""

SYNONYMS = {
    "datawidth": ("datawidth", "word_bits", "word_width"),
    "width": ("width", "memory_width", "data_storage_width"),
    "depth": ("depth", "memory_depth", "data_storage_depth"),
    "block_size": ("block_size", "n_words"),
}
"""Names that Timeloop has for one attribute (the same file)."""

USED = (
    *(name for names in SYNONYMS.values() for name in names),
    *(*RATES, "cluster_size", "multiple_buffering", CYCLE),
)
"""Attributes that are read."""

# Attributes that Timeloop counts with, and that are said otherwise here or not at all.
INSTEAD = {
    **dict.fromkeys(("entries", "sizeKB"), "say the capacity as depth and width"),
    **dict.fromkeys(
        ("bandwidth", "rw_bandwidth"),
        "say read_bandwidth and write_bandwidth, or shared_bandwidth",
    ),
    "per_dataspace_bandwidth_consumption_scale": "all words of a memory take the same of a port",
    **dict.fromkeys(
        ("network_fill_latency", "network_drain_latency"), "networks take no time of their own"
    ),
}
"""Attributes that are refused, and why."""

OF_SPARSE = (
    *("metadata_datawidth", "metadata_word_bits", "metadata_block_size", "metadata_width"),
    *("metadata_storage_width", "metadata_depth", "metadata_storage_depth"),
    *("metadata_counter_width", "compression_supported", "decompression_supported"),
    *("concordant_compressed_tile_traversal", "tile_partition_supported"),
)
"""Attributes of sparse tensors; they are noted."""

OF_ESTIMATES = (
    *("technology", "latency", "cycle_time", "type", "multiplier_width", "adder_width"),
    *("num_banks", "n_banks", "num_ports", "n_ports", "nports", "n_rd_ports", "n_wr_ports"),
    *("n_rdwr_ports", "update_fifo_depth", "n_pipeline_stages", "cluster_area", "action_name"),
    *("per_datatype_ERT", "multicast_factor_argument", "network_read", "network_fill"),
    *("network_drain", "network_update", "network_operand", "network_result"),
    *("n_PE_cols", "n_PE_rows", "n_DAC_cycles", "DAC_datawidth", "ADC_datawidth"),
    *("cell_datawidth", "vector_access_energy", "addr_gen_energy"),
)
"""Attributes of estimates of energy and area, and of names, in public files: of no effect here."""
