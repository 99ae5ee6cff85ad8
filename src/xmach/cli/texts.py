"""The options that say how text becomes rows, and the learning of a vocabulary from a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from xmach.cli.arguments import whole_numbers
from xmach.cli.progress import Meter, say
from xmach.config import AUTO
from xmach.errors import ModelError, ParameterError

if TYPE_CHECKING:
    from xmach.data import ReadOptions
    from xmach.features import HashedText, VocabularyText

Values = Literal["binary", "counts", "tfidf"]
VocabularyOption = Annotated[
    str | None,
    typer.Option(
        "--vocabulary",
        metavar="SIZES",
        help="Text: how many of the most frequent words, bigrams and trigrams to learn, and how many slots for the "
        "others: 125000,20000,70000,500000, or paper, which is the same.",
    ),
]
ValuesOption = Annotated[
    Values | None,
    typer.Option("--values", help="Text: whether, how often, or tf-idf; of unit length unless --scaling says else."),
]


def text_features(features: int | None, vocabulary: str | None, values: Values | None) -> HashedText | VocabularyText:
    """What is to make rows of texts; a vocabulary is still to be learned."""
    from xmach.features import HashedText, VocabularyText

    width, binary = features or HashedText.n_features, values == "binary"
    if vocabulary is None:
        return HashedText(width, binary=binary)
    return VocabularyText(width, *vocabulary_sizes(vocabulary), binary=binary)


def vocabulary_sizes(vocabulary: str) -> tuple[int, int, int, int]:
    """`paper`, or words, bigrams, trigrams and slots for others as given."""
    from xmach.features import VocabularyText

    paper = VocabularyText()
    sizes = (*paper.sizes, paper.unknown)
    if vocabulary != "paper":
        such_as = f"{','.join(map(str, sizes))}, or paper"
        given = whole_numbers(vocabulary, "--vocabulary", such_as)
        if len(given) != len(sizes) or min(given) < 0 or not any(given[:3]):
            raise ParameterError(
                f"--vocabulary takes the numbers of words, bigrams, trigrams and slots for others, such as {such_as}; "
                f"got {vocabulary!r}"
            )
        sizes = given[0], given[1], given[2], given[3]
    return sizes


def check_text_options(text: str | None, vocabulary: str | None, values: Values | None) -> None:
    """Raise ParameterError if options of texts are given, but rows are numbers."""
    for option, given in (("--vocabulary", vocabulary), ("--values", values)):
        if given is not None and text is None:
            raise ParameterError(f"{option} is for text; name its column with --text")


def scaling_of(values: Values | None, scaling: str | None) -> str | None:
    """The scaling that `--values` implies unless `--scaling` is given."""
    if values is None:
        return scaling
    if values == "tfidf" and scaling not in (None, AUTO, "tfidf"):
        raise ParameterError(f"--values tfidf is a scaling by itself; leave out --scaling {scaling}")
    implied = "tfidf" if values == "tfidf" else "l2"
    return implied if scaling in (None, AUTO) else scaling


def learn_vocabulary(text: VocabularyText, file: Path, name: str, options: ReadOptions, cache: Path) -> VocabularyText:
    """The vocabulary of a file's texts; kept in the cache, so that going on with a model does not learn it again."""
    from dataclasses import replace

    from xmach.data.read.reading import cache_key, read_texts
    from xmach.store.tensors import read_tensors, write_tensors

    place = cache / f"{cache_key(file, name, replace(options, text=text))}.vocabulary"
    if place.exists():
        try:
            arrays, about = read_tensors(place, verify=True)
            return text.with_keys(arrays["keys"], about["slack"])
        except (ModelError, KeyError, ValueError):
            say(f"{place}: damaged; the vocabulary is learned again")
    learner = text.learner()
    with Meter(f"learning the vocabulary of {file.name}", "B") as meter:
        for texts in read_texts(file, name, options, meter.update):
            learner.add(texts)
    learned = text.learned(learner)
    write_tensors(place, learned.arrays(), {"slack": list(learned.slack)})
    counts = zip(learned.found, ("words", "bigrams", "trigrams"), learned.slack, strict=True)
    say("vocabulary: " + ", ".join(_described(*each) for each in counts))
    return learned


def _described(found: int, kind: str, slack: int) -> str:
    return f"{found:,} {kind}" + (f" (counts up to {slack:,} too low: many distinct ones)" if slack else "")
