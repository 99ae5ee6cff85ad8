"""How much is held in memory at a time. The code that works in blocks and the memory planner both read it here."""

LANES = 64  # linear buckets that are trained in step: their weights lie side by side
PART_GROUPS = 4  # groups of LANES buckets in one part of a repetition
PROBED_BUCKETS = 2 * LANES  # linear buckets that the choice of cost and passes trains
MOST_PROBED_ROWS, MOST_HELD_OUT = 50_000, 5_000  # rows that they are trained on, and that they are compared on
VALIDATION_ROWS = 1024  # validation rows in one forward pass
SCALING_ROWS = 65_536  # rows read at a time while a scaler is fitted, so that a memory map is never read whole
COUNTED_LABELS = 1 << 22  # label occurrences counted at a time: counting copies them
COUNTED_TOKENS = 1 << 22  # distinct tokens of a kind that learning a vocabulary counts at a time, by default
HASHED_LABELS = 1 << 20  # labels hashed at a time

ANSWER_ROWS = 1024  # rows that `xmach predict` answers and writes at a time
SKETCH_ROWS = 4096  # the most rows whose bucket probabilities a predictor holds at a time
SKETCH_BYTES = 64 * 2**20  # and the most bytes of them
SCANNED_LABELS = 30_000  # up to here a decoder scans: half a millisecond; compiling the pruned search takes seconds
STORED_TABLE_BYTES = 256 * 2**20  # tables up to this size are built by a decoder itself, in about a second
