"""in-toto statements: what each artifact is and what it was made from. They are signed if a key is configured.

The predicate is SLSA provenance v1. A signed statement is a DSSE envelope; ed25519 signs equal bytes equally.
"""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any, Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from google.protobuf.json_format import MessageToDict
from in_toto_attestation.v1.resource_descriptor import ResourceDescriptor
from in_toto_attestation.v1.statement import Statement

from megacpp_assets.contract.canonical import canonical_json, sha256_bytes
from megacpp_assets.contract.columns import MANIFEST_FILE
from megacpp_assets.contract.errors import EnvironmentLacks
from megacpp_assets.lineage.export.facts import Link

KEY_VARIABLE: Final = "MEGACPP_SIGNING_KEY"
"""Environment variable: path of a file with an ed25519 private key in PEM, without a password."""
PREDICATE: Final = "https://slsa.dev/provenance/v1"
PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"
_BUILD_TYPE: Final = "https://pypi.org/project/megacpp-assets/stage/v1"
_LONGEST_SHOWN: Final = 256
_BUILDER: Final = "https://pypi.org/project/megacpp-assets"


def attestation(link: Link, key: Ed25519PrivateKey | None) -> bytes:
    """Return the statement about an artifact as canonical JSON; with a key, a signed envelope around the statement."""
    payload = canonical_json(_statement(link))
    return canonical_json(_envelope(payload, key)) if key is not None else payload


def signing_key() -> Ed25519PrivateKey | None:
    """Return the private key in the file that `MEGACPP_SIGNING_KEY` names; None if the variable is not set.

    Raises `EnvironmentLacks` if the file cannot be read or holds no such key.
    """
    name = os.environ.get(KEY_VARIABLE)
    if not name:
        return None
    try:
        key = serialization.load_pem_private_key(Path(name).read_bytes(), password=None)
    except OSError as error:
        raise _no_key(f"{error.strerror} at {name if _is_path(name) else 'a value that is no path'}") from error
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise _no_key(f"{type(error).__name__} in {name}") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise _no_key(f"a key of another kind in {name}")
    return key


def _is_path(name: str) -> bool:
    """Return whether `name` may be shown. Somebody may have put the key itself into the variable."""
    return "\n" not in name and "KEY-----" not in name and len(name) < _LONGEST_SHOWN


def _no_key(found: str) -> EnvironmentLacks:
    """Return the error for a file without a usable key. It never shows the content of the file, which may be secret."""
    do = f"openssl genpkey -algorithm ed25519 -out KEY.pem, or unset {KEY_VARIABLE} to export without a signature"
    return EnvironmentLacks(KEY_VARIABLE, expected="the file of an ed25519 private key in PEM", found=found, do=do)


def _statement(link: Link) -> dict[str, Any]:
    manifest = link.manifest
    own = ResourceDescriptor(name=f"{link.path}/{MANIFEST_FILE}", digest={"sha256": link.sha256})
    files = [ResourceDescriptor(name=f"{link.path}/{e.name}", digest={"sha256": e.sha256}) for e in manifest.files]
    predicate = _provenance(link)
    statement = Statement([each.pb for each in (own, *files)], PREDICATE, predicate)
    statement.validate()
    # A protobuf Struct turns every number into a float, so the original predicate replaces the converted one.
    return {**MessageToDict(statement.pb), "predicate": predicate}


def _provenance(link: Link) -> dict[str, Any]:
    manifest = link.manifest
    inputs = [{"name": entry.path, "digest": {"sha256": entry.manifest_sha256}} for entry in manifest.inputs]
    if manifest.stage == "pinned_repos":
        inputs = [{"name": manifest.partition, "digest": {"gitCommit": str(manifest.config["commit"])}}]
    return {
        "buildDefinition": {
            "buildType": _BUILD_TYPE,
            "externalParameters": {"stage": manifest.stage, "partition": manifest.partition},
            "internalParameters": {"config": dict(manifest.config), "fingerprint": manifest.fingerprint},
            "resolvedDependencies": inputs,
        },
        "runDetails": {"builder": {"id": _BUILDER, "version": {manifest.stage: manifest.version or "unknown"}}},
    }


def _envelope(payload: bytes, key: Ed25519PrivateKey) -> dict[str, Any]:
    public = key.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    signature = base64.b64encode(key.sign(signed_bytes(payload))).decode()
    return {
        "payloadType": PAYLOAD_TYPE,
        "payload": base64.b64encode(payload).decode(),
        "signatures": [{"keyid": sha256_bytes(public), "sig": signature}],
    }


def signed_bytes(payload: bytes) -> bytes:
    """DSSE's pre-authentication encoding: the bytes to sign. They bind the payload to its type."""
    kind = PAYLOAD_TYPE.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)
