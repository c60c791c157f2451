"""forward.py -- GPT-2 and Llama as Hugging Face defines them, for read.py.

c is config.json, w(name) a tensor, and xp PyTorch or NumPy, which have all functions that are used here.
"""
from math import pi


def attention(xp, q, k, v):
    """[B,H,T,D], causal"""
    B, H, T, D = q.shape
    e = xp.exp(q @ k.swapaxes(2, 3) / D**0.5) * xp.tril(xp.ones((T, T), dtype=q.dtype))
    return (e / e.sum(-1, keepdims=True) @ v).swapaxes(1, 2).reshape(B, T, H * D)


def heads(y, n):
    B, T, C = y.shape
    return y.reshape(B, T, n, C // n).swapaxes(1, 2)


def gpt2(xp, c, w, ids):
    def norm(x, name):
        x = x - x.mean(-1, keepdims=True)
        x = x / ((x * x).mean(-1, keepdims=True) + c["layer_norm_epsilon"]) ** 0.5
        return x * w(name + ".weight") + w(name + ".bias")

    def conv1d(x, name):
        return x @ w(name + ".weight") + w(name + ".bias")

    def act(x):
        if c["activation_function"] == "silu":
            return x / (1 + xp.exp(-x))
        assert c["activation_function"] == "gelu_new"
        return x / 2 * (1 + xp.tanh((2 / pi) ** 0.5 * (x + 0.044715 * x**3)))

    E, C = w("transformer.wte.weight"), c["n_embd"]
    x = E[ids] + w("transformer.wpe.weight")[: ids.shape[1]]
    for i in range(c["n_layer"]):
        h = f"transformer.h.{i}."
        qkv = conv1d(norm(x, h + "ln_1"), h + "attn.c_attn")
        q, k, v = (heads(qkv[..., j * C : j * C + C], c["n_head"]) for j in range(3))
        x = x + conv1d(attention(xp, q, k, v), h + "attn.c_proj")
        x = x + conv1d(act(conv1d(norm(x, h + "ln_2"), h + "mlp.c_fc")), h + "mlp.c_proj")
    head = E if c["tie_word_embeddings"] else w("lm_head.weight")
    return norm(x, "transformer.ln_f") @ head.T


def frequencies(xp, c, D):
    theta = c["rope_theta"] ** (-xp.arange(0, D, 2, dtype=xp.float64) / D)
    s = c.get("rope_scaling")
    if s is None:
        return theta
    assert s["rope_type"] == "llama3"
    turns = s["original_max_position_embeddings"] * theta / (2 * pi)
    low, high = s["low_freq_factor"], s["high_freq_factor"]
    keep = xp.clip((turns - low) / (high - low), 0, 1)
    return keep * theta + (1 - keep) * theta / s["factor"]


def llama(xp, c, w, ids):
    H, KV, E = c["num_attention_heads"], c["num_key_value_heads"], w("model.embed_tokens.weight")
    half = c["hidden_size"] // H // 2
    angle = xp.arange(ids.shape[1], dtype=xp.float64)[:, None] * frequencies(xp, c, 2 * half)
    cos, sin = (xp.asarray(f(angle), dtype=E.dtype) for f in (xp.cos, xp.sin))
    assert not c["attention_bias"] and not c["mlp_bias"] and c["hidden_act"] == "silu"

    def rotate(x):
        a, b = x[..., :half], x[..., half:]
        return xp.concatenate([a * cos - b * sin, b * cos + a * sin], -1)

    def norm(x, name):
        return x / ((x * x).mean(-1, keepdims=True) + c["rms_norm_eps"]) ** 0.5 * w(name + ".weight")

    def linear(x, name):
        return x @ w(name + ".weight").T

    x, group = E[ids], [i * KV // H for i in range(H)]
    for i in range(c["num_hidden_layers"]):
        h = f"model.layers.{i}."
        n = norm(x, h + "input_layernorm")
        q = rotate(heads(linear(n, h + "self_attn.q_proj"), H))
        k = rotate(heads(linear(n, h + "self_attn.k_proj"), KV))
        v = heads(linear(n, h + "self_attn.v_proj"), KV)
        x = x + linear(attention(xp, q, k[:, group], v[:, group]), h + "self_attn.o_proj")
        n = norm(x, h + "post_attention_layernorm")
        gate = linear(n, h + "mlp.gate_proj")
        gate = gate / (1 + xp.exp(-gate))
        x = x + linear(gate * linear(n, h + "mlp.up_proj"), h + "mlp.down_proj")
    head = E if c["tie_word_embeddings"] else w("lm_head.weight")
    return norm(x, "model.norm") @ head.T


def merge(w, c, adapter):
    """PEFT: w becomes w + alpha/r B A for each module that is named; c is adapter_config.json"""

    def key_of(keys):
        return next((k for k in keys if ("." + module).endswith("." + k)), None)

    for name in [k for k in adapter if ".lora_A." in k]:
        module = name[len("base_model.model.") : -len(".lora_A.weight")]
        A, B = adapter.pop(name), adapter.pop(name.replace(".lora_A.", ".lora_B."))
        r = c["rank_pattern"].get(key_of(c["rank_pattern"]), c["r"])
        alpha = c["alpha_pattern"].get(key_of(c["alpha_pattern"]), c["lora_alpha"])
        assert key_of(c["target_modules"]) and A.shape[0] == r == B.shape[1], module
        delta = alpha / r * (B @ A)
        conv1d = c["fan_in_fan_out"] and module != "lm_head"  # [in,out]
        w[module + ".weight"] = w[module + ".weight"] + (delta.T if conv1d else delta)
    assert not adapter, f"left over: {list(adapter)}"
