"""Requests and answers."""

from __future__ import annotations

import json
import logging
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient
from tests.serving.conftest import PRODUCTS

from xmach.errors import InputError
from xmach.serving.app import create_app
from xmach.serving.model import Served
from xmach.serving.service import Service
from xmach.serving.settings import TOKEN_VARIABLE, Settings

TOKEN = "a-secret-of-24-characters"


def ask(client: TestClient, **body: Any) -> dict[str, Any]:
    response = client.post("/v1/predict", json=body)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def refusal(client: TestClient, **body: Any) -> str:
    response = client.post("/v1/predict", json=body)
    assert response.status_code == 422, response.text
    problem = response.json()["error"]
    assert problem["code"] == "invalid"
    assert problem["request_id"] == response.headers["x-request-id"]
    return str(problem["message"])


# --- answers


@pytest.mark.parametrize("estimator", [None, "mean", "min", "median", "log"])
@pytest.mark.parametrize("probabilities", [False, True])
def test_answers_are_the_predictors(
    client: TestClient, served: Served, estimator: str | None, probabilities: bool
) -> None:
    texts = ["a red lamp", "", "blue kettle 😀", "unheard of", "赤いランプ"]
    body = {"texts": texts, "k": 4, "probabilities": probabilities}
    answer = ask(client, **body | ({} if estimator is None else {"estimator": estimator}))
    best = served.predictor.top_k(texts, 4, estimator=estimator, probabilities=probabilities)
    assert answer["model"] == served.version
    assert [result["labels"] for result in answer["results"]] == best.labels.tolist()
    np.testing.assert_array_equal(np.float32([result["scores"] for result in answer["results"]]), best.scores)


def test_rows_are_answered_like_the_texts_they_come_from(client: TestClient, served: Served) -> None:
    assert served.predictor.text is not None
    rows = served.predictor.text.transform(["red lamp", "green mug"])
    columns, values = rows.row(0)
    shuffled = np.random.default_rng(0).permutation(len(columns))
    first = {"indices": columns[shuffled].tolist(), "values": values[shuffled].tolist()}
    second = {"indices": rows.row(1)[0].tolist(), "values": rows.row(1)[1].tolist()}
    assert ask(client, rows=[first, second]) == ask(client, texts=["red lamp", "green mug"])


def test_only_candidates_are_answered(client: TestClient) -> None:
    chosen = ["red chair", "blue lamp", "red mug"]
    all_labels = ask(client, texts=["red lamp"], k=len(PRODUCTS))["results"][0]["labels"]
    found = ask(client, texts=["red lamp"], k=5, candidates=chosen)["results"][0]["labels"]
    assert found == [label for label in all_labels if label in chosen]


def test_none_of_the_excluded_is_answered(client: TestClient) -> None:
    all_labels = ask(client, texts=["red lamp"], k=10)["results"][0]["labels"]
    left = ask(client, texts=["red lamp"], k=8, exclude=all_labels[1:3])["results"][0]["labels"]
    assert left == [all_labels[0], *all_labels[3:]]
    some = ask(client, texts=["red lamp"], k=3, candidates=all_labels[:3], exclude=all_labels[:1])
    assert some["results"][0]["labels"] == all_labels[1:3]
    nothing = ask(client, texts=["red lamp"], candidates=all_labels[:1], exclude=all_labels[:1])
    assert nothing["results"] == [{"labels": [], "scores": []}]


def test_no_score_is_below_the_threshold(client: TestClient) -> None:
    result = ask(client, texts=["red lamp"], k=10)["results"][0]
    cut = ask(client, texts=["red lamp"], k=10, threshold=result["scores"][4])["results"][0]
    assert cut["labels"] == result["labels"][: len(cut["labels"])]
    assert len(cut["labels"]) == sum(score >= result["scores"][4] for score in result["scores"])


def test_evidence_is_the_sketch(client: TestClient, served: Served) -> None:
    result = ask(client, texts=["red lamp"], k=3, explain=True, estimator="log")["results"][0]
    sketch = served.predictor.bucket_probabilities(["red lamp"])[0]
    for label, score, shown in zip(result["labels"], result["scores"], result["evidence"], strict=True):
        number = served.predictor.ids_of([label])
        for r in range(6):
            bucket = int(served.predictor.hashes.buckets(number, r)[0])
            assert shown["buckets"][r] == bucket
            assert np.float32(shown["probabilities"][r]) == sketch[r, bucket]
            assert shown["ranks"][r] == 1 + int((sketch[r] > sketch[r, bucket]).sum())
        assert np.log(shown["probabilities"]).mean() == pytest.approx(score, rel=1e-4)


def test_a_label_is_explained(client: TestClient, served: Served) -> None:
    body = {"text": "a red, large LAMP", "label": "red lamp"}
    why = client.post("/v1/explain", json=body).json()
    assert why["model"] == served.version
    assert why["estimator"] == served.predictor.estimator
    assert [word["word"] for word in why["words"]] == ["a", "red", "large", "LAMP"]
    assert all(body["text"][word["start"] : word["end"]] == word["word"] for word in why["words"])
    effects = {word["word"]: word["effect"] for word in why["words"]}
    whole, without = (served.predictor.top_k([text], len(PRODUCTS)) for text in (body["text"], "a red, large  "))
    fall = float(_score(whole, "red lamp") - _score(without, "red lamp"))
    assert effects["LAMP"] == pytest.approx(fall, abs=1e-5)
    assert effects["LAMP"] > effects["large"]
    assert len(why["repetitions"]) == 6
    assert why["agreeing"] == sum(each["agrees"] for each in why["repetitions"])
    own = served.predictor.ids_of(["red lamp"])
    for rival in why["rivals"]:
        number = served.predictor.ids_of([rival["label"]])
        shared = [r for r in range(6) if served.predictor.hashes.buckets(number, r) == _bucket(served, own, r)]
        assert rival["shared"] == shared != []
    assert [rival["score"] for rival in why["rivals"]] == sorted((r["score"] for r in why["rivals"]), reverse=True)


def _score(best: Any, label: str) -> float:
    return float(best.scores[0][best.labels[0].tolist().index(label)])


def _bucket(served: Served, number: Any, r: int) -> Any:
    return served.predictor.hashes.buckets(number, r)


def test_a_row_is_explained_without_words(client: TestClient) -> None:
    why = client.post("/v1/explain", json={"row": {"indices": [3], "values": [1.0]}, "label": "red lamp"}).json()
    assert why["words"] == []
    assert len(why["repetitions"]) == 6


# --- what is refused


def test_wrong_requests_are_told_what_is_wrong(client: TestClient) -> None:
    assert refusal(client, texts=["a"], k="5") == "k: input should be a valid integer, got '5'"
    assert refusal(client, texts=["a"], k=0).startswith("k: input should be greater than or equal to 1, got 0")
    assert refusal(client, texts=["a"], k=1001) == "k is 1,001, at most 1,000 are allowed"
    assert refusal(client, texts=["a"], extra=1) == "extra: extra inputs are not permitted, got 1"
    assert refusal(client) == "the body: give either 'texts' or 'rows'"
    assert refusal(client, texts=["a"], rows=[]).startswith("rows: list should have at least 1 item")
    assert refusal(client, texts=["a", 3]) == "texts.1: input should be a valid string, got 3"
    assert refusal(client, texts=["a"] * 129) == "the number of inputs is 129, at most 128 are allowed"
    assert refusal(client, texts=["a", "b" * 10_001]) == "texts[1] has 10,001 characters, at most 10,000 are allowed"
    assert refusal(client, texts=["a"], candidates=["no such thing"]) == "'no such thing' is not a label of this model"
    assert refusal(client, texts=["a"], exclude=[7]) == "7 is not a label of this model"
    assert refusal(client, texts=["a"], estimator="best").startswith("estimator: input should be 'mean', 'min'")
    assert refusal(client, texts=["a"], k=101, explain=True) == "the body: with 'explain', k is at most 100"
    assert refusal(client, rows=[{"indices": [1, 2], "values": [1]}]).startswith("row 0 has 2 indices and 1 values")
    assert refusal(client, rows=[{"indices": [5, 5], "values": [1, 1]}]) == "row 0 has an index twice"
    assert "the model's features are 0 to" in refusal(client, rows=[{"indices": [2**30], "values": [1]}])
    assert refusal(client, rows=[{"indices": [-1], "values": [1]}]).startswith("rows.0.indices.0: input should be")
    assert refusal(client, rows=[{"indices": [1], "values": [1e39]}]).startswith("rows.0.values.0: input should be")


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e400"])
def test_numbers_are_finite(client: TestClient, value: str) -> None:
    body = f'{{"rows": [{{"indices": [1], "values": [{value}]}}]}}'
    response = client.post("/v1/predict", content=body, headers={"content-type": "application/json"})
    assert response.status_code == 422
    assert "finite number" in response.json()["error"]["message"]


@pytest.mark.parametrize("body", [b"", b"{", b"[1]", b'"x"', b"\xff\xfe", b"null", b"{}" * 2])
def test_what_is_no_request_is_told_so(client: TestClient, body: bytes) -> None:
    response = client.post("/v1/predict", content=body, headers={"content-type": "application/json"})
    assert response.status_code in (400, 422)
    assert response.json()["error"]["message"]


def test_a_body_that_is_no_utf8_is_told_where(client: TestClient) -> None:
    body = '{"texts": ["café"]}'.encode("latin-1")
    response = client.post("/v1/predict", content=body, headers={"content-type": "application/json"})
    assert response.status_code == 422
    assert response.json()["error"]["message"] == "the body is no JSON: byte 15 is no UTF-8"


def test_a_bad_request_among_good_ones_harms_nobody(client: TestClient, served: Served) -> None:
    from xmach.serving.answering import answer
    from xmach.serving.messages import PredictRequest

    asks = [
        PredictRequest(texts=["red lamp"]),
        PredictRequest(texts=["x"], candidates=["nothing"]),
        PredictRequest(texts=["blue mug"], k=2),
    ]
    first, wrong, last = answer(served, asks)
    assert isinstance(wrong, InputError)
    for body, given in ((first, asks[0]), (last, asks[2])):
        assert isinstance(body, bytes)
        assert json.loads(body) == ask(client, texts=given.texts, k=given.k)


def test_other_methods_types_and_places(client: TestClient) -> None:
    assert client.get("/v1/predict").status_code == 405
    assert client.post("/v1/predict", content=b"x").status_code == 415
    assert client.get("/nowhere").status_code == 404
    assert client.get("/page/../settings.py").status_code == 404
    assert client.get("/page/settings.py").status_code == 404


def test_a_large_body_is_refused_by_its_length_and_by_its_bytes(client: TestClient) -> None:
    heavy = {"content-type": "application/json"}
    assert client.post("/v1/predict", content=b" " * (2**20 + 1), headers=heavy).status_code == 413
    response = client.post("/v1/predict", content=(b" " * 2**16 for _ in range(17)), headers=heavy)
    assert response.status_code == 413
    assert response.json()["error"]["code"] == "body_too_large"


# --- around them


def test_the_model_card(client: TestClient, served: Served) -> None:
    (card,) = client.get("/v1/models").json()["models"]
    assert card["version"] == served.version
    assert (card["labels"], card["buckets"], card["repetitions"]) == (len(PRODUCTS), 20, 6)
    assert card["hidden"] == [16]
    assert card["text"] is True
    assert card["metrics"] is None
    assert set(card["examples"]) <= set(PRODUCTS)


def test_the_last_evaluation_and_the_examples_are_on_the_card(own_folder: Path) -> None:
    from xmach.store import ModelStore

    for value in (0.1, 0.2):
        ModelStore(own_folder).add_evaluation({"file": "t.csv", "rows": 3, "metrics": {"precision@1": value}})
    (own_folder / "examples.txt").write_text("red things\n\nblue things\n", encoding="utf-8")
    card = Served.open(own_folder).card
    assert card["metrics"] == {"file": "t.csv", "rows": 3, "values": {"precision@1": 0.2}}
    assert card["examples"] == ["red things", "blue things"]


def test_probes_and_meters(client: TestClient) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ready"}
    ask(client, texts=["a", "b"])
    meters = client.get("/metrics")
    assert meters.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert 'xmach_requests_total{path="/v1/predict",status="200"} 1.0' in meters.text
    assert "xmach_batch_inputs_sum 2.0" in meters.text


def test_request_ids_are_kept_or_made(client: TestClient) -> None:
    given = client.get("/healthz", headers={"x-request-id": "my-id.7"})
    assert given.headers["x-request-id"] == "my-id.7"
    for bad in ("", "two words", "x" * 65, "<script>"):
        made = client.get("/healthz", headers={"x-request-id": bad}).headers["x-request-id"]
        assert len(made) == 32


def test_the_page_has_a_policy_and_no_outside_address(client: TestClient) -> None:
    page = client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "http://" not in page.text
    assert "https://" not in page.text


def test_a_token_is_asked_for_and_not_logged(
    folder: Path, served: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, TOKEN)
    caplog.set_level(logging.DEBUG)
    with TestClient(create_app(Service(Settings(folder), served))) as client:
        body = {"texts": ["a secret query"]}
        for headers in ({}, {"authorization": TOKEN}, {"authorization": f"Bearer {TOKEN}x"}):
            response = client.post("/v1/predict", json=body, headers=headers)
            assert response.status_code == 401
            assert response.headers["www-authenticate"] == "Bearer"
        assert client.get("/v1/models").status_code == 401
        assert client.get("/metrics").status_code == 401
        for path in ("/", "/healthz", "/readyz", "/openapi.json"):
            assert client.get(path).status_code == 200
        assert client.post("/v1/predict", json=body, headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
    said = caplog.text + " ".join(str(vars(record)) for record in caplog.records)
    assert TOKEN not in said
    assert "secret query" not in said


def test_tokens_come_from_a_file_and_short_ones_are_refused(tmp_path: Path, folder: Path) -> None:
    file = tmp_path / "token"
    file.write_text(TOKEN + "\n", encoding="utf-8")
    assert Settings(folder, token_file=file).token() == TOKEN
    file.write_text("short", encoding="utf-8")
    with pytest.raises(InputError, match="at least 16 printable ASCII characters; this one has 5"):
        Settings(folder, token_file=file).token()
    with pytest.raises(InputError, match="the token cannot be read"):
        Settings(folder, token_file=tmp_path / "none").token()


def test_other_sites_pages_may_call_only_if_named(folder: Path, served: Served, client: TestClient) -> None:
    origin = {"origin": "https://shop.example"}
    assert "access-control-allow-origin" not in client.get("/v1/models", headers=origin).headers
    with TestClient(create_app(Service(Settings(folder, origins=("https://shop.example",)), served))) as open_client:
        allowed = open_client.get("/v1/models", headers=origin)
        assert allowed.headers["access-control-allow-origin"] == "https://shop.example"
        other = open_client.get("/v1/models", headers={"origin": "https://other.example"})
        assert "access-control-allow-origin" not in other.headers


def test_a_fault_of_ours_is_no_traceback_for_the_caller(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any) -> list[bytes]:
        raise RuntimeError("bang")

    monkeypatch.setattr("xmach.serving.batching.answer", broken)
    response = client.post("/v1/predict", json={"texts": ["a"]})
    assert response.status_code == 500
    assert "bang" not in response.text
    assert response.json()["error"]["request_id"] == response.headers["x-request-id"]
    assert "bang" in caplog.text


def test_an_answer_that_takes_too_long_is_given_up(
    folder: Path, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    going = threading.Event()

    def slow(*_: Any) -> list[bytes]:
        going.wait(30)
        return [b"{}"]

    monkeypatch.setattr("xmach.serving.batching.answer", slow)
    with TestClient(create_app(Service(Settings(folder, timeout=0.2), served))) as client:
        response = client.post("/v1/predict", json={"texts": ["a"]})
        going.set()
    assert (response.status_code, response.headers["retry-after"]) == (503, "1")
    assert response.json()["error"]["message"] == "it took too long; try again"


def test_a_model_of_numbers_says_that_it_takes_no_texts(tmp_path: Path) -> None:
    from xmach import MACHClassifier

    features = np.eye(4, dtype=np.float32)
    MACHClassifier(n_buckets=2, n_repetitions=2, hidden=(), epochs=1).fit(features, [0, 1, 2, 3]).save(tmp_path / "m")
    with TestClient(create_app(Service(Settings(tmp_path / "m"), Served.open(tmp_path / "m")))) as client:
        assert "was not trained on texts" in refusal(client, texts=["a"])
        labels = ask(client, rows=[{"indices": [2], "values": [1]}], k=4)["results"][0]["labels"]
        assert sorted(labels) == [0, 1, 2, 3]
        card = client.get("/v1/models").json()["models"][0]
        assert card["text"] is False
        assert card["examples"] == []
