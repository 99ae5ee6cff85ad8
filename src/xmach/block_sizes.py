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

MANY_ROWS = 200_000  # from here on the rows that a ranker's settings are chosen on are not trained on
HELD_OUT_SHARE = 10  # one row in ten is held out for that at most, and MOST_HELD_OUT rows
TRIAL_REPETITIONS = 8  # of the model that chooses them, at most; with 4 of 8 the sketch got too little weight
NEGATIVES_BY_SKETCH, NEGATIVES_BY_PROFILE = 50, 20  # labels of a training row whose wrong ones are negatives
TERM_ROWS = 50_000  # rows at most that learn what features of label texts are worth
TERM_CANDIDATES = 100  # of each such row: the nearest texts, and the row's own labels
SHORTLISTED_BY_SKETCH, SHORTLISTED_BY_PROFILE = 100, 50  # labels that are looked at twice
SHORTLISTED_BY_TEXT = 200  # with 50, Home Depot's recall@100 fell from 79.9 to 74.9
LEAST_SHARD_LABELS, LABEL_SHARDS = 4096, 64  # labels of a shard of the ranker, at least; shards, at most
POOLED_OCCURRENCES = 200_000  # label occurrences up to which a ranker is trained without worker processes

ANSWER_ROWS = 1024  # rows that `xmach predict` answers and writes at a time
SKETCH_ROWS = 4096  # the most rows whose bucket probabilities a predictor holds at a time
SKETCH_BYTES = 64 * 2**20  # and the most bytes of them
SCANNED_LABELS = 30_000  # up to here a decoder scans: half a millisecond; compiling the pruned search takes seconds
STORED_TABLE_BYTES = 256 * 2**20  # tables up to this size are built by a decoder itself, in about a second
