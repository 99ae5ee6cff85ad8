"""Files to Dataset: readers for the XMC and svmlight formats, a saved form that is memory-mapped, and file checks."""

from xmach.data.dataset import Dataset
from xmach.data.formats import guess_format
from xmach.data.options import Columns, ReadOptions
from xmach.data.reading import read_dataset
from xmach.data.report import FileReport, check_file
from xmach.data.xmc_writer import write_xmc

__all__ = ["Columns", "Dataset", "FileReport", "ReadOptions", "check_file", "guess_format", "read_dataset", "write_xmc"]
