"""check_file: reads a whole data file and reports its contents and all faults."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from xmach.data.labels.tally import Tally
from xmach.data.options import ReadOptions
from xmach.data.read.formats import open_reader, resolve_format
from xmach.data.read.label_files import with_label_file
from xmach.data.read.lines import is_gzip
from xmach.data.read.rows import Batch, Fault
from xmach.errors import DataFileError, DataFileMissing
from xmach.types import IntArray

MAX_FAULTS = 1000  # faults kept with their message; the rest is counted


@dataclass
class FileReport:
    """The contents of a data file. Shares and medians are over the good rows, without the `bad_rows`."""

    file: str
    format: str
    gzip: bool
    label_file: str | None = None  # if the format has labels in a separate file
    rows: int = 0
    bad_rows: int = 0
    features: int = 0
    labels: int = 0
    nonzeros: int = 0
    label_occurrences: int = 0
    labels_per_row_max: int = 0
    rows_without_labels: int = 0
    rows_without_features: int = 0
    labels_without_rows: int = 0
    labels_with_one_row: int = 0
    rows_per_label_median: float = 0.0  # over the labels that occur
    rows_per_label_max: int = 0
    head_1_percent: float = 0.0  # share of all label occurrences that the most frequent 1% of labels have
    head_10_percent: float = 0.0
    labels_for_half: int = 0  # how many of the most frequent labels make up half of the occurrences
    faults: list[Fault] = field(default_factory=list)  # the first MAX_FAULTS
    faults_by_reason: Counter[str] = field(default_factory=Counter)  # all of them

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong with the file."""
        return not self.faults_by_reason

    @property
    def labels_per_row_mean(self) -> float:
        """Labels per good row."""
        return self.label_occurrences / self.rows if self.rows else 0.0

    def add_fault(self, fault: Fault) -> None:
        """Record a fault."""
        self.faults_by_reason[fault.reason] += 1
        self.bad_rows += fault.rows_lost
        if len(self.faults) < MAX_FAULTS:
            self.faults.append(fault)

    def add_rows(self, batch: Batch) -> None:
        """Count the good rows of a batch."""
        self.rows += len(batch.lines)
        self.nonzeros += len(batch.features) if batch.dense is None else int(np.count_nonzero(batch.dense))
        self.label_occurrences += len(batch.labels)
        self.labels_per_row_max = max(self.labels_per_row_max, int(batch.label_counts.max(initial=0)))
        self.rows_without_labels += int(np.count_nonzero(batch.label_counts == 0))
        if batch.dense is None:
            self.rows_without_features += int(np.count_nonzero(batch.feature_counts == 0))

    def add_label_counts(self, counts: IntArray) -> None:
        """Describe the distribution of rows over labels; counts are of the labels that occur."""
        self.labels = max(self.labels, len(counts))  # a file that cannot be read to the end has no number of labels
        self.labels_without_rows = self.labels - len(counts)
        if not len(counts):
            return
        self.labels_with_one_row = int(np.count_nonzero(counts == 1))
        self.rows_per_label_median = float(np.median(counts))
        self.rows_per_label_max = int(counts.max())
        running = np.cumsum(np.sort(counts)[::-1])
        shares = running / running[-1]
        self.head_1_percent = float(shares[min(-(-self.labels // 100), len(counts)) - 1])
        self.head_10_percent = float(shares[min(-(-self.labels // 10), len(counts)) - 1])
        self.labels_for_half = int(np.searchsorted(shares, 0.5)) + 1

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values, for JSON."""
        faults = [fault._asdict() | {"file": str(fault.file or self.file)} for fault in self.faults]
        by_reason = dict(self.faults_by_reason)
        derived = {"ok": self.ok, "labels_per_row_mean": self.labels_per_row_mean}
        return {**asdict(self), **derived, "faults": faults, "faults_by_reason": by_reason}

    def lines(self) -> list[str]:
        """Return the report as text: the contents, then `FILE:LINE: message` for each fault."""
        packed = ", gzip'd" if self.gzip else ""
        labels_apart = f", labels in {self.label_file}" if self.label_file else ""
        text = [
            f"{self.file}: format {self.format}{packed}{labels_apart}",
            f"{_count(self.rows, 'row')}, {_count(self.features, 'feature')}, {_count(self.labels, 'label')}, "
            f"{_count(self.nonzeros, 'nonzero')}",
        ]
        text += self._distribution() if self.rows else []
        text += [str(DataFileError(f.file or self.file, f.line, f.message, f.column)) for f in self.faults]
        if hidden := self.faults_by_reason.total() - len(self.faults):
            text.append(f"and {_count(hidden, 'fault')} more")
        counted = ", ".join(f"{reason} {count:,}" for reason, count in self.faults_by_reason.most_common())
        text.append("no faults" if self.ok else f"faults: {counted}")
        return text

    def _distribution(self) -> list[str]:
        """Describe labels per row and rows per label."""
        text = [
            f"labels per row: mean {self.labels_per_row_mean:.2f}, max {self.labels_per_row_max:,}",
            f"rows without labels: {self.rows_without_labels:,}; without features: {self.rows_without_features:,}",
            f"rows per label: median {self.rows_per_label_median:g}, max {self.rows_per_label_max:,}; "
            f"labels without rows: {self.labels_without_rows:,}, with one: {self.labels_with_one_row:,}",
        ]
        if self.label_occurrences:
            half = f"{_count(self.labels_for_half, 'label')} {'has' if self.labels_for_half == 1 else 'have'} half"
            text.append(
                f"head: 1% of labels have {self.head_1_percent:.1%} of label occurrences, 10% have "
                f"{self.head_10_percent:.1%}, {half}"
            )
        return text


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def check_file(path: str | os.PathLike[str], format: str = "auto", options: ReadOptions | None = None) -> FileReport:
    """Read a whole data file and report its contents and every fault; raises only if it cannot be opened."""
    source = Path(path)
    report = FileReport(os.fspath(path), "unknown", is_gzip(source))
    tally = Tally()
    try:
        report.format = resolve_format(source, format)
        settled = with_label_file(options or ReadOptions(), source, report.format)
        report.label_file = None if settled.label_file is None else str(settled.label_file)
        reader = open_reader(report.format, settled)
        for batch in reader.batches(source, report.add_fault):
            report.add_rows(batch)
            tally.add(batch.labels)
        report.features, report.labels = reader.n_features, reader.n_labels
    except DataFileMissing:
        raise
    except DataFileError as error:  # the format cannot be detected, or the file is damaged
        report.add_fault(Fault(error.line, "unreadable file", error.message, error.column, 0, Path(error.file)))
    report.add_label_counts(tally.result()[1])
    return report
