"""Repetitions trained on two 'machines' that never meet, joined by copying files, and the same as trained on one."""

import shutil
import tempfile
from pathlib import Path

from sklearn.datasets import load_digits

from xmach.data import Dataset
from xmach.training import MachConfig, fit

data = Dataset.from_arrays(*load_digits(return_X_y=True))
config = MachConfig(n_buckets=5, n_repetitions=4, hidden=(32,), epochs=3)
folder = Path(tempfile.mkdtemp(prefix="xmach-example-"))

fit(data, config, folder / "one-machine")
fit(data, config, folder / "first", only=[0, 1])
fit(data, config, folder / "second", only=[2, 3])
for file in (folder / "second").glob("repetition-*.safetensors"):
    shutil.copy(file, folder / "first")
fit(data, config, folder / "first")  # nothing is missing: it finishes the model

alone, joined = (
    {file.name: file.read_bytes() for file in (folder / name).glob("*.*")} for name in ("one-machine", "first")
)
print(f"{len(alone)} files, the same bytes: {alone == joined}")
shutil.rmtree(folder)
