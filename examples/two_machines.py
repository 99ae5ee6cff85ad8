"""Repetitions trained on two 'machines' that never meet, joined by copying files, and the same as trained on one."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from sklearn.datasets import dump_svmlight_file, load_digits

folder = Path(tempfile.mkdtemp(prefix="xmach-example-"))
pixels, digits = load_digits(return_X_y=True)
dump_svmlight_file(pixels, digits, str(folder / "digits.svm"))


def train(model: str, *options: str) -> None:
    network = ("--buckets", "5", "--repetitions", "4", "--hidden", "32", "--epochs", "3", "--format", "svmlight")
    command = [sys.executable, "-m", "xmach", "train", folder / "digits.svm", "--model", folder / model]
    subprocess.run([*command, *network, *options], check=True)


train("one-machine")
train("first", "--only", "0-1")
train("second", "--only", "2-3")
for file in (folder / "second").glob("repetition-*.safetensors"):
    shutil.copy(file, folder / "first")
train("first")  # nothing is missing: it writes the manifest

alone, joined = (
    {file.name: file.read_bytes() for file in (folder / name).glob("*.*")} for name in ("one-machine", "first")
)
print(f"{len(alone)} files, the same bytes: {alone == joined}")
shutil.rmtree(folder)
