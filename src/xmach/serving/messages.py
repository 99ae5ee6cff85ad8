"""Requests and answers as the HTTP interface has them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, StrictBool, StrictInt, StrictStr, model_validator

EXPLAINED = 100  # labels of an input whose evidence is given at most
_NAMES = 10_000  # candidates of a request

Estimator = Literal["mean", "min", "median", "log"]
Label = StrictStr | StrictInt
Index = Annotated[StrictInt, Field(ge=0, lt=2**31)]
Number = Annotated[FiniteFloat, Field(ge=-3.4e38, le=3.4e38)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class RowMessage(_Strict):
    """A sparse row: features by index, and their values."""

    indices: list[Index]
    values: list[Number]


class PredictRequest(_Strict):
    """Texts, or rows where the model takes features; and what is wanted of each."""

    texts: list[StrictStr] | None = Field(None, min_length=1, examples=[["steel drill"]])
    rows: list[RowMessage] | None = Field(None, min_length=1)
    k: StrictInt = Field(5, ge=1, description="Labels of an input.")
    estimator: Estimator | None = Field(
        None, description="Rank by the sketch alone; if left out: by the model's ranker or own way."
    )
    candidates: list[Label] | None = Field(None, min_length=1, max_length=_NAMES, description="Only these labels.")
    exclude: list[Label] = Field([], max_length=_NAMES, description="None of these labels.")
    threshold: Number | None = Field(None, description="The least score of a label.")
    probabilities: StrictBool = Field(False, description="Scores as estimates of the probability.")
    explain: StrictBool = Field(False, description=f"With each label's buckets; k is at most {EXPLAINED}.")

    @model_validator(mode="after")
    def _one_kind(self) -> PredictRequest:
        if (self.texts is None) == (self.rows is None):
            raise ValueError("give either 'texts' or 'rows'")
        if self.explain and self.k > EXPLAINED:
            raise ValueError(f"with 'explain', k is at most {EXPLAINED}")
        return self

    @property
    def n_inputs(self) -> int:
        """How many texts or rows."""
        return len(self.texts or self.rows or ())


class ExplainRequest(_Strict):
    """One text or row, and the label to explain."""

    text: StrictStr | None = Field(None, examples=["steel drill"])
    row: RowMessage | None = None
    label: Label
    estimator: Estimator | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> ExplainRequest:
        if (self.text is None) == (self.row is None):
            raise ValueError("give either 'text' or 'row'")
        return self

    @property
    def n_inputs(self) -> int:
        """One."""
        return 1


class Evidence(BaseModel):
    """A label's bucket in each of the R repetitions."""

    buckets: list[int]
    probabilities: list[float]
    ranks: list[int] = Field(description="Of the bucket among all of its repetition; 1 is the best.")


class Result(BaseModel):
    """The best labels of one input, best first."""

    labels: list[str | int]
    scores: list[float]
    evidence: list[Evidence] | None = Field(None, description="With `explain` only.")


class PredictResponse(BaseModel):
    """The results in the order of the inputs, and the version of the model that gave them."""

    model: str
    results: list[Result]


class Repetition(BaseModel):
    """What one repetition says of a label."""

    repetition: int
    bucket: int
    probability: float
    rank: int
    agrees: bool


class Rival(BaseModel):
    """A label that shares buckets with the explained one, in these repetitions."""

    label: str | int
    score: float
    shared: list[int]


class Word(BaseModel):
    """A word of the text, and how much the score falls without it."""

    word: str
    start: int
    end: int
    effect: float


class ExplainResponse(BaseModel):
    """Why a label has its score."""

    model: str
    label: str | int
    score: float
    estimator: str
    agreeing: int
    repetitions: list[Repetition]
    rivals: list[Rival]
    words: list[Word]
    parts: dict[str, float]  # what each part adds to a ranker's score, before the sigmoid; empty without a ranker


class LastEvaluation(BaseModel):
    """What `xmach evaluate` found last."""

    file: str
    rows: int
    values: dict[str, float]


class ModelCard(BaseModel):
    """What a model is."""

    version: str
    name: str
    labels: int
    buckets: int
    repetitions: int
    features: int
    learner: str
    hidden: list[int]
    loss: str
    estimator: str
    multilabel: bool
    text: bool
    bytes: int
    loaded: str
    metrics: LastEvaluation | None
    examples: list[str]


class ModelsResponse(BaseModel):
    """The models that are served: one."""

    models: list[ModelCard]


class Problem(BaseModel):
    """What went wrong."""

    code: str
    message: str
    request_id: str


class ErrorResponse(BaseModel):
    """Every answer that is not a success."""

    error: Problem


class Status(BaseModel):
    """How the server is."""

    status: str


def problem_body(code: str, message: str, request_id: str) -> dict[str, Any]:
    """An `ErrorResponse`, plain."""
    return {"error": {"code": code, "message": message, "request_id": request_id}}
