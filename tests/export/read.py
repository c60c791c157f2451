"""read.py torch|numpy FOLDER... -- reads what models.c exported, strictly: is it what attic computes?"""
import importlib
import json
import struct
import sys

import numpy
from forward import gpt2, llama, merge


def load(path):
    data, kind = open(path, "rb").read(), {"F32": "<f4", "I32": "<i4"}
    begin = 8 + struct.unpack("<Q", data[:8])[0]
    for name, x in json.loads(data[8:begin]).items():
        if name != "__metadata__":
            values = numpy.frombuffer(data[begin:][slice(*x["data_offsets"])], kind[x["dtype"]])
            yield name, xp.asarray(values.reshape(x["shape"]).copy())


def run(c, w, ids):
    used = []
    model = {"gpt2": gpt2, "llama": llama}[c["model_type"]]
    y = model(xp, c, lambda name: used.append(name) or w[name], ids)
    assert sorted(used) == sorted(w), f"not read once: {sorted(set(w) ^ set(used)) or used}"
    return y


xp = importlib.import_module(sys.argv[1])
for folder in sys.argv[2:]:
    c, w = json.load(open(folder + "/config.json")), dict(load(folder + "/model.safetensors"))
    attic = dict(load(folder + "/attic.safetensors"))
    error, ids = abs(run(c, w, attic["ids"]) - attic["logits"]).max(), attic["prompt"]
    while ids.shape[1] < attic["greedy"].shape[1]:
        ids = xp.concatenate([ids, run(c, w, ids)[:, -1:].argmax(-1)], 1)
    adapter = dict(load(folder + "/adapter/adapter_model.safetensors"))
    merge(w, json.load(open(folder + "/adapter/adapter_config.json")), adapter)
    merged = abs(run(c, w, attic["ids"]) - attic["adapted"]).max()
    print(f"  {folder.split('/')[-1]:14} logits within {error:.0e}, with adapters {merged:.0e}")
    assert max(error, merged) < 1e-5 and ids.tolist() == attic["greedy"].tolist(), folder
