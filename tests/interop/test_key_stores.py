"""Key stores that Java's own keytool has made."""

import subprocess
from pathlib import Path

import pytest

from ottla.keystores import UnreadableStore, read_key_store, read_trust_store

pytestmark = pytest.mark.java

PASSWORD = "changeit"


def keytool(store: Path, *arguments: str, form: str = "PKCS12") -> None:
    command = ["keytool", *arguments, "-storetype", form, "-keystore", str(store), "-storepass", PASSWORD]
    subprocess.run(command, check=True, capture_output=True)


def make_key(store: Path, name: str, form: str = "PKCS12") -> None:
    keytool(
        store, "-genkeypair", "-keyalg", "EC", "-alias", name, "-dname", f"CN={name}", "-keypass", PASSWORD, form=form
    )


def test_a_key_store_of_several_keys_is_refused_since_nobody_says_which_one_is_meant(tmp_path: Path) -> None:
    store = tmp_path / "keys.p12"
    make_key(store, "one")
    assert read_key_store(store.read_bytes(), PASSWORD).chain_pem.count(b"BEGIN CERTIFICATE") == 1
    make_key(store, "two")
    with pytest.raises(UnreadableStore, match="2 private keys"):
        read_key_store(store.read_bytes(), PASSWORD)


def test_a_trust_store_has_what_keytool_has_put_into_it(tmp_path: Path) -> None:
    trusted = tmp_path / "trusted.p12"
    for name in ("one", "two"):
        make_key(tmp_path / f"{name}.p12", name)
        certificate = str(tmp_path / f"{name}.crt")
        keytool(tmp_path / f"{name}.p12", "-exportcert", "-alias", name, "-file", certificate)
        keytool(trusted, "-importcert", "-noprompt", "-alias", name, "-file", certificate)
    assert read_trust_store(trusted.read_bytes(), PASSWORD).count("BEGIN CERTIFICATE") == 2


def test_a_jks_store_is_read_once_it_is_converted_as_the_error_says(tmp_path: Path) -> None:
    old, new = tmp_path / "old.jks", tmp_path / "new.p12"
    make_key(old, "one", form="JKS")
    with pytest.raises(UnreadableStore, match="keytool -importkeystore"):
        read_key_store(old.read_bytes(), PASSWORD)
    command = [
        "keytool",
        "-importkeystore",
        "-srckeystore",
        str(old),
        "-destkeystore",
        str(new),
        "-deststoretype",
        "PKCS12",
    ]
    secrets = ["-srcstorepass", PASSWORD, "-deststorepass", PASSWORD]
    subprocess.run([*command, *secrets], check=True, capture_output=True)
    assert b"BEGIN PRIVATE KEY" in read_key_store(new.read_bytes(), PASSWORD).key_pem
