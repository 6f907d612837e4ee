#!/usr/bin/env python3
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
"""Writes vectors.json beside it, from docs/spec/envelope.md alone.

This is a second implementation of the format, in another language and with
another cryptographic library, so that the vectors do not merely repeat what
the first one does. It needs the Python package "cryptography".
"""

import base64
import hashlib
import json
import pathlib
import struct

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

PURPOSE = b"hosted-bridge/envelope/v1/"
FORMAT, LOCAL, TRANSIT = b"1", b"\x01", b"\x02"


def fields(*parts):
    return b"".join(struct.pack(">I", len(p)) + p for p in parts)


def user_key(master, salt, uid):
    return HKDF(SHA256(), 32, salt, fields(PURPOSE + b"user-key", uid)).derive(master)


def transit_context(v):
    return hashlib.sha256(fields(b"hosted-bridge/transit/v1", bytes.fromhex(v["salt"]), v["cluster"].encode(),
                                 v["userUID"].encode())).digest()


def transit_key(master, context):
    """What Vault and OpenBao call the KDF hkdf_sha256."""
    return HKDF(SHA256(), 32, None, context).derive(master)


def aad(v, algorithm, purpose, *more):
    names = (v["cluster"].encode(), v["userUID"].encode(), v["secret"].encode())
    return fields(PURPOSE + purpose, FORMAT, algorithm, *names, *more)


def wrap_aad(v, version, algorithm=LOCAL):
    return aad(v, algorithm, b"wrap", struct.pack(">I", version))


def envelope(v, master, version, data_key, wrap_nonce, data_nonce, plaintext, algorithm=LOCAL):
    if algorithm == LOCAL:
        key = user_key(master, bytes.fromhex(v["salt"]), v["userUID"].encode())
    else:
        key = transit_key(master, transit_context(v))
    wrapped = AESGCM(key).encrypt(wrap_nonce, data_key, wrap_aad(v, version, algorithm))
    data = AESGCM(data_key).encrypt(data_nonce, plaintext, aad(v, algorithm, b"data"))
    header = b"HBE" + FORMAT + algorithm + struct.pack(">II", version, len(plaintext))
    return header + wrap_nonce + wrapped + data_nonce + data


def arbitrary(seed, size):
    """Bytes that look like randomness and are the same every time."""
    out = b""
    while len(out) < size:
        out += hashlib.sha256(f"{seed} {len(out)}".encode()).digest()
    return out[:size]


def seal(name, secret="GITHUB_TOKEN", plaintext=b"an example", version=1, cluster="hosted-bridge.example",
         uid="6f1c2f0e-6a57-4d5f-9f0a-0d9f3b8a1c11"):
    master, salt, random = (arbitrary(f"{what} of {name}", size)
                            for what, size in (("master key", 32), ("salt", 32), ("randomness", 56)))
    v = {"name": name, "masterKey": master.hex(), "keyVersion": version, "salt": salt.hex(), "cluster": cluster,
         "userUID": uid, "secret": secret, "random": random.hex()}
    sealed = envelope(v, master, version, random[:32], random[44:], random[32:44], plaintext)
    v |= {"userKey": user_key(master, salt, uid.encode()).hex(), "wrapAAD": wrap_aad(v, version).hex(),
          "dataAAD": aad(v, LOCAL, b"data").hex()}
    if len(plaintext) > 1024:
        return v | {"plaintextSHA256": hashlib.sha256(plaintext).hexdigest(), "plaintextSize": len(plaintext),
                    "envelopeSHA256": hashlib.sha256(sealed).hexdigest()}
    return v | {"plaintext": plaintext.hex(), "envelope": sealed.hex()}


def transit(name, version=1, plaintext=b"an example"):
    master, salt, random = (arbitrary(f"{what} of {name}", size)
                            for what, size in (("master key", 32), ("salt", 32), ("randomness", 56)))
    v = {"name": name, "masterKey": master.hex(), "keyVersion": version, "salt": salt.hex(),
         "cluster": "hosted-bridge.example", "userUID": "6f1c2f0e-6a57-4d5f-9f0a-0d9f3b8a1c11",
         "secret": "GITHUB_TOKEN", "random": random.hex()}
    sealed = envelope(v, master, version, random[:32], random[44:], random[32:44], plaintext, TRANSIT)
    answer = f"vault:v{version}:" + base64.b64encode(sealed[13:73]).decode()
    return v | {"context": transit_context(v).hex(), "wrapAAD": wrap_aad(v, version, TRANSIT).hex(),
                "dataAAD": aad(v, TRANSIT, b"data").hex(), "ciphertext": answer,
                "plaintext": plaintext.hex(), "envelope": sealed.hex()}


def rewrap(v, version):
    master, nonce = arbitrary("next master key", 32), arbitrary("rewrap nonce", 12)
    random = bytes.fromhex(v["random"])
    return {"name": "the first vector under a later key", "of": v["name"], "masterKey": master.hex(),
            "keyVersion": version, "random": nonce.hex(),
            "envelope": envelope(v, master, version, random[:32], nonce, random[32:44],
                                 bytes.fromhex(v["plaintext"])).hex()}


def refused(v):
    e = bytes.fromhex(v["envelope"])
    other = dict(v, secret="GITHUB_TOKEN_2")
    moved = dict(v, userUID=v["userUID"][:-1], secret=v["userUID"][-1] + v["secret"])
    master, r = bytes.fromhex(v["masterKey"]), bytes.fromhex(v["random"])
    sealed_as = lambda w: envelope(w, master, 1, r[:32], r[44:], r[32:44], b"an example")
    flip = lambda i, bit=1: e[:i] + bytes([e[i] ^ bit]) + e[i + 1:]
    put = lambda i, part: e[:i] + part + e[i + len(part):]
    return [{"name": n, "envelope": b.hex(), "error": err} for n, b, err in [
        ("nothing", b"", "malformed"),
        ("another magic", put(0, b"hbe"), "malformed"),
        ("an earlier format", put(3, b"0"), "unknown format"),
        ("a later format", put(3, b"2"), "unknown format"),
        ("the magic and a later format alone", b"HBE2", "unknown format"),
        ("another algorithm", put(4, b"\x02"), "unknown algorithm"),
        ("key version zero", put(5, b"\0\0\0\0"), "malformed"),
        ("a key version above the highest", put(5, b"\x80\0\0\0"), "malformed"),
        ("a key version that the ring has not", put(5, b"\0\0\0\x02"), "unknown key version"),
        ("a size that is one too small", put(9, struct.pack(">I", 9)), "malformed"),
        ("a size that is one too large", put(9, struct.pack(">I", 11)), "malformed"),
        ("a size above the largest", put(9, b"\xff\xff\xff\xff"), "malformed"),
        ("one byte cut off", e[:-1], "malformed"),
        ("one byte behind", e + b"\0", "malformed"),
        ("one byte cut off and the size changed to it", put(9, struct.pack(">I", 9))[:-1], "refused"),
        ("one byte behind and the size changed to it", put(9, struct.pack(">I", 11)) + b"\0", "refused"),
        ("a bit of the wrap's nonce", flip(13), "refused"),
        ("a bit of the wrapped key", flip(25), "refused"),
        ("a bit of the wrap's tag", flip(72), "refused"),
        ("a bit of the data's nonce", flip(73), "refused"),
        ("a bit of the data", flip(85), "refused"),
        ("a bit of the data's tag", flip(len(e) - 1, 0x80), "refused"),
        ("sealed for another name", sealed_as(other), "refused"),
        ("the boundary between user and name moved", sealed_as(moved), "refused"),
        ("sealed for a SharedServer with the user's UID", sealed_as(dict(v, userUID="shared/" + v["userUID"])), "refused"),
    ]]


def main():
    sealed = [
        seal("a token"),
        seal("an empty secret", plaintext=b""),
        seal("one byte", plaintext=b"\x00"),
        seal("every byte value", secret="credentials.json", plaintext=bytes(range(256))),
        seal("a late key version", version=258),
        seal("the highest key version", version=2**31 - 1),
        seal("the shortest names", secret="a", cluster="c", uid="u"),
        seal("the longest names", secret="s" * 253, cluster="c" * 253, uid="u" * 253),
        seal("a secret of a SharedServer", secret="PAY_TOKEN", uid="shared/6f1c2f0e-6a57-4d5f-9f0a-0d9f3b8a1c11"),
        seal("the largest secret", plaintext=bytes(i % 251 for i in range(64 << 10))),
    ]
    document = {"seal": sealed, "rewrap": [rewrap(sealed[0], 2)], "refused": refused(sealed[0]),
                "transit": [transit("by transit"), transit("by a late version", version=258),
                            transit("nothing, by transit", plaintext=b"")]}
    path = pathlib.Path(__file__).with_name("vectors.json")
    path.write_text(json.dumps(document, indent=2) + "\n")


main()
