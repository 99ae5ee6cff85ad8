"""Serve a model over HTTP and ask it: `xmach serve` in one process, ten lines of standard Python in another."""

import json
import re
import subprocess
import sys
import urllib.request

from xmach import MACHClassifier
from xmach.synthetic import Shop

titles = Shop(n_products=500).titles()
model = MACHClassifier(n_buckets=100, n_repetitions=6, hidden=(), features="text", epochs=5)
model.fit(titles, [[title] for title in titles]).save("shop")

command = [sys.executable, "-m", "xmach", "serve", "shop", "--port", "0"]
with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
    address = next(found.group() for line in server.stderr if (found := re.search(r"http://[\w.:]+", line)))

    body = json.dumps({"texts": ["blue running shoes"], "k": 3}).encode()
    request = urllib.request.Request(f"{address}/v1/predict", body, {"content-type": "application/json"})
    with urllib.request.urlopen(request) as response:
        answer = json.load(response)
    for label, score in zip(answer["results"][0]["labels"], answer["results"][0]["scores"], strict=True):
        print(f"{score:8.3f}  {label}")

    server.terminate()  # it answers what it has taken, and ends
print("ended with", server.returncode)
