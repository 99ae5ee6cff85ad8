"""Files to Dataset: a reader for each format, a memory-mapped form on disk, and checks of files."""

from xmach.data.dataset import Dataset
from xmach.data.label_texts import LabelTexts, add_label_texts
from xmach.data.labels.counts import LabelCounts
from xmach.data.labels.filters import answers_to_ask, drop_answers, drop_labels, read_filter
from xmach.data.labels.names import read_label_names
from xmach.data.merging import merge_rows
from xmach.data.options import Columns, ReadOptions
from xmach.data.read.formats import guess_format
from xmach.data.read.label_files import usual_label_file
from xmach.data.read.label_texts import read_label_texts
from xmach.data.read.reading import read_dataset
from xmach.data.read.report import FileReport, check_file
from xmach.data.write.parquet import write_parquet
from xmach.data.write.xmc import write_xmc

__all__ = [
    "Columns",
    "Dataset",
    "FileReport",
    "LabelCounts",
    "LabelTexts",
    "ReadOptions",
    "add_label_texts",
    "answers_to_ask",
    "check_file",
    "drop_answers",
    "drop_labels",
    "guess_format",
    "merge_rows",
    "read_dataset",
    "read_filter",
    "read_label_names",
    "read_label_texts",
    "usual_label_file",
    "write_parquet",
    "write_xmc",
]
