"""Certificates for a Dask cluster on other machines: a folder with those of the authority and of this client."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import distributed

from megacpp_assets.contract.errors import EnvironmentLacks

TLS_VARIABLE: Final = "MEGACPP_COMPUTE_TLS"
CERTIFICATE_FILES: Final = ("ca.pem", "cert.pem", "key.pem")


@dataclass(frozen=True, slots=True)
class Certificates:
    """A folder with `CERTIFICATE_FILES`, in PEM: the authority's certificate, the client's, and its private key."""

    folder: Path

    def security(self) -> distributed.Security:
        """Return them for Dask, which then accepts only peers whose certificate this authority signed."""
        authority, certificate, key = (str(self.folder / name) for name in CERTIFICATE_FILES)
        return distributed.Security(  # type: ignore[no-untyped-call]
            tls_ca_file=authority, tls_client_cert=certificate, tls_client_key=key, require_encryption=True
        )


def certificates() -> Certificates | None:
    """Return those of `MEGACPP_COMPUTE_TLS`, or None if it is not set. `EnvironmentLacks` if a file is missing."""
    folder = os.environ.get(TLS_VARIABLE)
    if folder is None:
        return None
    for name in CERTIFICATE_FILES:
        if not Path(folder, name).is_file():
            raise EnvironmentLacks(
                TLS_VARIABLE,
                expected=f"a folder with {', '.join(CERTIFICATE_FILES)}",
                found=f"no {name} in {folder!r}",
                do="put the certificates of the cluster there, or unset it",
            )
    return Certificates(Path(folder))


def is_loopback(host: str) -> bool:
    """Return whether `host` is this machine by its name or number alone; no name is looked up."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
